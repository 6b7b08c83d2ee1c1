"""What an editor reads first: findings before designs, what screening could judge, and counts that agree with each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.analysis import AnalyzeOptions, Summary, analyze
from heartfelt.analysis.compared_sets.strengths import comparison_results
from heartfelt.analysis.compared_sets.traces import trace_results
from heartfelt.analysis.findings.comparisons import ChoiceAgreement, ComparisonQuestion, TraceQuestion
from heartfelt.analysis.summary import Crossfit, HalfAlpha, HeldOutAlpha, SensitivityFigure
from heartfelt.analysis.text.methods_text import collected
from heartfelt.analysis.text.verdict import bottom_line, next_step
from heartfelt.analysis.text.verdict_comparisons import sentences as comparison_sentences
from heartfelt.analysis.text.verdict_raters import sentences as rater_sentences
from heartfelt.report.sections.opening import raters_fact
from heartfelt.screening import screen
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.study import parse_study
from tests.analysis.made import answers, snapshot, stimuli
from tests.facts import mentions
from tests.screening.styles import Design, as_snapshot

pytestmark = pytest.mark.slow

NONE = Estimate.missing("not asked")


@pytest.fixture(scope="module")
def summary() -> Summary:
    table = stimuli(24)
    rows = answers("conveyance", table, raters=8)
    return analyze(snapshot("conveyance", table, rows), AnalyzeOptions(resamples=100)).summary


def flagging(summary: Summary, **rules: int) -> Summary:
    """The summary with so many raters flagged by each rule, nobody by two."""
    names = [f"{rule.replace('_', '-')}: words" for rule, count in rules.items() for _ in range(count)]
    flagged = {f"r{at}": (name,) for at, name in enumerate(names)}
    return replace(summary, screening=replace(summary.screening, flagged=flagged))


def test_raters_flagged_are_in_the_bottom_line_from_a_twentieth_on(summary: Summary) -> None:
    large = replace(summary, counts=replace(summary.counts, raters=40))
    assert mentions(bottom_line(flagging(large, informativeness=2)), "2 of 40 raters", "2")
    assert "flagged" not in bottom_line(flagging(large, informativeness=1))
    excluded = flagging(large, informativeness=2)
    excluded = replace(excluded, screening=replace(excluded.screening, dropped=("r0", "r1")))
    assert "flagged" not in bottom_line(excluded)


def test_the_findings_behind_the_flags_add_up(summary: Summary) -> None:
    text = " ".join(rater_sentences(flagging(summary, informativeness=1, straight_lining=2, spread=1, change=1)))
    assert mentions(text, "5 of 8 raters", "1", "2")
    both = flagging(summary, informativeness=1, change=1)
    reasons = {**both.screening.flagged, "r0": ("informativeness: a", "collusion: b"), "r2": ("collusion: b",)}
    both = replace(both, screening=replace(both.screening, flagged=reasons, collusion=(("r0", "r2"),)))
    assert mentions(" ".join(rater_sentences(both)), "3 of 8 raters", "1", "2", "1 group")


def test_one_flagged_rater_is_not_one_of_them(summary: Summary) -> None:
    def step(flagged: int, dropped: int) -> str:
        made = flagging(summary, informativeness=flagged)
        names = tuple(made.screening.flagged)[:dropped]
        return next_step(replace(made, screening=replace(made.screening, dropped_by_default=names)))

    again = "`--policy default` repeats the analysis without"
    assert step(1, 1) == f"Review the flagged rater; {again} them."
    assert step(3, 3) == f"Review the 3 flagged raters; {again} them."
    assert step(3, 2) == f"Review the 3 flagged raters; {again} 2 of them."


def judged(summary: Summary, **judged_by: int) -> Summary:
    """The summary without flags, each rule with so many raters judged."""
    rules = {
        name.replace("_", "-"): replace(
            summary.screening.rules.get(name.replace("_", "-"), summary.screening.rules["informativeness"]),
            rule=name.replace("_", "-"),
            judged=count,
            flagged=0,
            power=None,
            why_missing=() if count else ("fewer than 8 trials",),
        )
        for name, count in judged_by.items()
    }
    return replace(summary, screening=replace(summary.screening, flagged={}, rules=rules))


@pytest.mark.parametrize(
    ("judged_by", "words"),
    [
        (
            {"informativeness": 0, "spread": 0, "longest_run": 2},
            "1 of 3 rules could be applied (longest-run to 2 of 8 raters); whether answers depend on the stimuli is not known"
            " (fewer than 8 trials).",
        ),
        ({"informativeness": 8, "spread": 8, "bt500": 0}, "2 of 2 rules could be applied, each to all 8 raters."),
        ({"informativeness": 8}, "1 of 1 rule could be applied, to all 8 raters."),
        ({"informativeness": 8, "choice_agreement": 0}, "1 of 2 rules could be applied, to all 8 raters."),
        (
            {"informativeness": 3, "choice_agreement": 0},
            "1 of 2 rules could be applied (informativeness to 3 of 8 raters).",
        ),
        ({"spread": 0, "longest_run": 0}, "none of 2 rules could be applied."),
        ({"bt500": 8}, "no rule was applied."),
    ],
)
def test_where_nobody_is_flagged_it_says_what_could_be_judged(
    summary: Summary, judged_by: dict[str, int], words: str
) -> None:
    made = judged(summary, **judged_by)
    assert f"No rater is flagged: {words}" in " ".join(rater_sentences(made))
    assert raters_fact(made).meaning == f"{words[0].upper()}{words[1:]}"


def test_pure_noise_says_that_nobody_could_be_judged_by_what_was_played() -> None:
    rng = np.random.default_rng(3)
    shown = [rng.permutation(20) for _ in range(12)]
    given = [rng.integers(1, 10, (20, 1)).astype(float) for _ in range(12)]
    made = analyze(as_snapshot(Design(12, 20, 12, questions=1), shown, given), AnalyzeOptions(resamples=100))
    text = " ".join(made.summary.verdict)
    assert (
        "whether answers depend on the stimuli is not known (the others' answers do not tell these stimuli apart)"
        in text
    )
    assert "answers at random would be flagged" not in text


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "winner,loser\na,b\nc,d\ne,f\n",
            "Collect comparisons that link the stimuli: strengths in preference need wins and losses that connect them.",
        ),
        (
            "rater,stimulus,pleasant\nr1,a,3\nr1,b,4\nr2,c,5\nr2,d,2\n",
            "Have some stimuli rated by a second rater: without that, nobody knows how reliable the ratings are.",
        ),
    ],
)
def test_labels_that_do_not_exist_are_not_recommended(tmp_path: Path, rows: str, words: str) -> None:
    table = tmp_path / "table.csv"
    table.write_text(rows)
    options = {} if rows.startswith("winner") else {"value": "pleasant", "scale": "1-5"}
    made = analyze(heartfelt.read(table, **options), AnalyzeOptions(resamples=100)).summary
    assert next_step(made) == words
    assert "at most 0" not in " ".join(made.verdict)


def test_constant_raters_have_one_count_and_its_denominator(summary: Summary) -> None:
    assert summary.checks is not None
    checks = replace(summary.checks, constant_raters=("r0", "r1", "r2"), raters_judged=7)
    made = replace(flagging(summary, straight_lining=2), checks=checks)
    text = " ".join(rater_sentences(made))
    assert "2 with one answer throughout" in text
    assert mentions(text, "3", "7 raters", "5", "r0, r1", "r2", "2")
    assert "always give" not in " ".join(rater_sentences(replace(flagging(summary, change=1), checks=checks)))


def test_alpha_that_does_not_change_is_not_said_to_change(summary: Summary) -> None:
    def changed(without: float) -> str:
        rows = (
            SensitivityFigure(
                figure="alpha_interval",
                question="valence",
                of=None,
                model=None,
                with_all=Estimate(value=0.001),
                without=Estimate(value=without),
            ),
        )
        held_out = (
            HeldOutAlpha(
                question="valence",
                figure="alpha_interval",
                with_all=0.0,
                without=0.0,
                rise=0.0,
                halves=(HalfAlpha(0.0, 0.0),),
            ),
        )
        screening = replace(summary.screening, dropped_by_default=("r1",))
        made = replace(summary, screening=screening, sensitivity=rows, crossfit=Crossfit((1, 1), held_out))
        return " ".join(rater_sentences(made))

    assert "alpha changes" not in changed(0.004)
    assert mentions(changed(0.006), ".00", ".01")


def test_inferred_people_are_called_so(summary: Summary) -> None:
    assert "8 people gave" in " ".join(rater_sentences(summary))
    source = replace(summary.source, inferred_raters="equal questionnaires: the source has no ids")
    made = replace(summary, source=source)
    words = "(inferred from equal questionnaires: the source has no ids) gave"
    assert f"8 people {words}" in " ".join(rater_sentences(made))
    assert f"8 raters {words}" in collected(made, snapshot("conveyance", stimuli(2), []).study)


def choices(votes: dict[tuple[str, str], tuple[float, ...]]) -> Snapshot:
    """Answers to pairs of stimuli, in favour of the first, each by a rater of their own."""
    rows = [
        (f"r{r}", name, "better", value if place == 1 else 1 - value, f"{a}{b}", place)
        for (a, b), values in votes.items()
        for r, value in enumerate(values)
        for place, name in enumerate((a, b), 1)
    ]
    columns = ["rater", "stimulus", "question", "value", "trial", "place"]
    ratings = pl.DataFrame(rows, schema=columns, orient="row")
    study = parse_study(
        "name: pairs\nscales: {which: {type: choice, ties: true}}\n"
        "questions: [{id: better, text: Which, scale: which}]\nsets: {type: pair}\n"
    )
    return Snapshot.build(study, stimuli=ratings.select("stimulus").unique(), ratings=ratings)


def test_where_pairs_give_no_order_majorities_come_first(summary: Summary) -> None:
    snap = choices(
        {
            ("a", "b"): (1.0, 1.0, 0.0),
            ("c", "d"): (0.5, 0.5, 1.0),
            ("e", "f"): (0.0, 0.5, 1.0),
            ("g", "h"): (0.0, 0.0, 0.0),
        }
    )
    (result,) = comparison_results(snap)
    assert result.agreement is not None
    assert (result.agreement.judged_twice, result.agreement.with_majority, result.agreement.majority_tie) == (4, 3, 1)
    made = replace(summary, comparisons=(result,), anova=(), mixed=(), quadrants=None, reliability={})
    assert mentions(bottom_line(made), "50% of 4 pairs", "stimuli")
    first, *rest = comparison_sentences(made)
    assert mentions(first, "2 of 4 pairs", "1", "1 none")
    assert any("give no strengths" in sentence for sentence in rest)


def test_comparisons_without_raters_are_by_nobody(summary: Summary) -> None:
    own = ChoiceAgreement(
        pairs=1,
        judged_twice=0,
        with_majority=0,
        majority_tie=0,
        unanimous=NONE,
        two_answers=NONE,
        with_the_others=NONE,
        alpha=NONE,
    )
    counts = ComparisonQuestion(
        question="better", scale="choice", trials=100, raters=0, why_no_strengths="reasons", agreement=own
    )
    text = " ".join(comparison_sentences(replace(summary, comparisons=(counts,))))
    assert text == "100 comparisons on better give no strengths: reasons."


def course(ceiling: float, question: str = "valence") -> TraceQuestion:
    two = Estimate(value=ceiling / 4, low=0.0, high=1.0)
    return TraceQuestion(
        question=question,
        raters=9,
        traces=90,
        timed=False,
        pairwise=two,
        leave_one_out=two,
        ceiling=Estimate(value=ceiling, low=0.0, high=1.0),
        one_rater=two,
        lags={},
        stimuli=(),
    )


def test_a_course_that_is_hardly_shared_leaves_only_the_means(summary: Summary) -> None:
    both = replace(summary, traces=(course(0.34), course(0.2, "arousal")), anova=(), mixed=(), quadrants=None)
    assert mentions(bottom_line(both), ".09", ".05")
    one = bottom_line(replace(both, traces=(course(0.49), course(0.5, "arousal"))))
    assert mentions(one, "time", "raters", ".12")
    assert mentions(one, "raters", "time", ".12")
    assert "only the mean" not in one


def test_traces_that_never_move_run_over_or_repeat_are_counted() -> None:
    courses = [
        [0.1, 0.2, 0.3],
        [0.1, 0.2, 0.3],
        [0.5, 0.5, 0.5],
        [0.5, 0.5, 0.5],
        [0.1, 0.2, 0.3, 0.4],
        [0.3, 0.1, 0.2],
    ]
    study = parse_study(
        "name: t\nscales: {t: {type: trace, low: 0, high: 1, rate: 1}}\nquestions: [{id: v, text: v, scale: t}]\n"
    )
    traces = pl.DataFrame(
        {
            "rater": [f"r{r}" for r in range(6)],
            "stimulus": "s",
            "question": "v",
            "samples": pl.Series(courses, dtype=pl.List(pl.Float32)),
        }
    )
    ratings = traces.select(
        "rater", "stimulus", "question", pl.col("samples").list.mean().cast(pl.Float64).alias("value")
    )
    snap = Snapshot.build(study, stimuli=pl.DataFrame({"stimulus": ["s"]}), ratings=ratings, traces=traces)
    (result,) = trace_results(snap)
    assert (result.constant, result.overlong, result.duplicate) == (2, 1, 1)
    timed = Snapshot.build(study, stimuli=snap.stimuli, ratings=ratings, traces=traces.with_columns(rate=pl.lit(1.0)))
    assert trace_results(timed)[0].overlong == 0
    late = traces.with_columns(pl.concat_list(pl.lit(None, pl.Float32), "samples").alias("samples"))
    started_late = Snapshot.build(study, stimuli=snap.stimuli, ratings=ratings, traces=late)
    assert trace_results(started_late)[0].duplicate == 1, "traces that begin with a gap are still compared"


def test_nobody_is_judged_by_a_standard_on_fewer_than_twenty_answers() -> None:
    rng = np.random.default_rng(5)
    shown = [np.arange(trials) for trials in (2, 19, 20, *[40] * 9)]
    given = [rng.integers(1, 10, (mine.size, 1)).astype(float) for mine in shown]
    flags = screen(as_snapshot(Design(12, 40, 12, questions=1), shown, given), "flag-only").flags
    for rule in ("bt500", "p913"):
        reasons = dict(flags.filter(pl.col("rule") == rule).select("rater", "why_missing").iter_rows())
        assert [rater for rater, why in reasons.items() if why] == ["r000", "r001"]
        assert mentions(reasons["r000"], "20 answers", "5%")
