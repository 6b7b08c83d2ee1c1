"""How many answers the figures rest on: every answer of the source is used or counted under one reason."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.data.answers_used import BLANK, POST_SCREENED, PROBES, REPEATED, AnswersUsed, answers_used
from heartfelt.analysis.data.material import prepare
from heartfelt.analysis.text.verdict import bottom_line, next_step
from heartfelt.screening import screen
from heartfelt.screening.policy import parse_policy
from heartfelt.serialization import from_json, to_json
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.study.model import RepeatProbe
from tests import compared as sets
from tests.analysis.made import answers, snapshot, stimuli
from tests.analysis.test_probes import snapshot as probed
from tests.facts import mentions

QUICK = AnalyzeOptions(resamples=100)


def counted(source: Snapshot, policy: str = "flag-only") -> AnswersUsed:
    panel = screen(source, parse_policy(policy))
    return answers_used(prepare(panel.snapshot()), panel)


def with_ratings(
    base: Snapshot, ratings: pl.DataFrame, ledger: pl.DataFrame | None = None, study: Study | None = None
) -> Snapshot:
    return Snapshot.build(study or base.study, stimuli=base.stimuli, ratings=ratings, ledger=ledger)


@pytest.fixture(scope="module")
def base() -> Snapshot:
    table = stimuli(12)
    return snapshot("opinion", table, answers("opinion", table, raters=6))


def test_every_answer_is_used_where_nothing_is_left_out(base: Snapshot) -> None:
    result = counted(base)
    assert (result.used, result.total, result.not_used) == (base.survey.ratings, base.survey.ratings, {})
    assert result.words == f"{base.survey.ratings:,} of {base.survey.ratings:,} answers used"
    assert result.because == ""


def test_blanks_and_what_reading_left_out_count_in_the_total(base: Snapshot) -> None:
    n = base.survey.ratings
    blank = base.ratings.with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("value")).alias("value")
    )
    ledger = pl.DataFrame(
        {
            "what": ["row", "rating", "row", "rater", "stimulus"],
            "reason": ["unreadable", "unreadable", "does not meet the condition", "declined", "no media"],
            "stage": ["import"] * 5,
            "ratings": [None, None, 30, None, None],
        },
        schema_overrides={"ratings": pl.Int64},
    )
    result = counted(with_ratings(base, blank, ledger=ledger))
    assert result.not_used == {"unreadable": 2, "does not meet the condition": 30, BLANK: 5}
    assert (result.used, result.total) == (n - 5, n + 32)
    assert mentions(result.reasons[0], "30", "condition")


@pytest.mark.slow
def test_repeats_and_rare_items_are_not_behind_the_figures(base: Snapshot) -> None:
    again = base.ratings.head(7).with_columns(repeat=pl.lit(1))
    ratings = pl.concat([base.ratings.with_columns(repeat=pl.lit(0)), again])
    every = counted(with_ratings(base, ratings))
    assert (every.not_used, every.used) == ({}, ratings.height)
    tested = base.study.changed(probes=[RepeatProbe(type="repeat", id="again")])
    assert counted(with_ratings(base, ratings, study=tested)).not_used == {REPEATED: 7}
    study = base.study.changed(design=base.study.design.model_copy(update={"minimum_ratings": 3}))
    first = pl.col("stimulus") == base.ratings["stimulus"][0]
    few = pl.concat(
        [base.ratings.filter(~first), base.ratings.filter(first).group_by("question").head(2)], how="diagonal"
    )
    short = Snapshot.build(study, stimuli=base.stimuli, ratings=few)
    sizes = few.group_by("stimulus", "question").len()["len"]
    rare = int(sizes.filter(sizes < 3).sum())
    assert rare >= 2
    assert counted(short).not_used == {"items with fewer than 3 ratings": rare}


def test_a_choice_between_two_is_one_answer() -> None:
    arena = sets.arena()
    result = counted(arena)
    assert result.used == result.total == arena.survey.ratings // 2


@pytest.mark.slow
def test_listeners_excluded_by_post_screening_are_counted() -> None:
    made = analyze(sets.mushra(careless=1), QUICK)
    (listener,) = made.summary.comparisons[0].mushra.excluded  # type: ignore[index,union-attr]  # one MUSHRA question
    graded = made.all_ratings.ratings.filter(pl.col("rater") == listener).height
    assert made.summary.answers_used.not_used == {POST_SCREENED: graded}


def test_excluded_raters_are_named_with_their_policy(base: Snapshot) -> None:
    panel = screen(base, parse_policy("flag-only"), exclude=["r0"])
    result = answers_used(prepare(panel.snapshot()), panel)
    gone = base.ratings.filter(pl.col("rater") == "r0").height
    assert result.not_used == {"1 rater excluded by the policy 'flag-only'": gone}


@pytest.mark.slow
def test_few_used_answers_are_bad_news(base: Snapshot) -> None:
    made = analyze(base, QUICK).summary
    assert from_json(AnswersUsed, to_json(made.answers_used)) == made.answers_used
    assert "answers used" not in bottom_line(made)
    few = replace(made, answers_used=AnswersUsed(80, 100, {BLANK: 20}))
    assert mentions(bottom_line(few), "80 of 100 answers", "20")
    assert "20" in next_step(few)
    assert next_step(few) != next_step(made)
    edge = replace(made, answers_used=AnswersUsed(90, 100, {BLANK: 10}))
    assert bottom_line(edge) == bottom_line(made)


@pytest.mark.slow
def test_answers_to_probes_are_used_for_screening_only() -> None:
    source = probed(1.0)
    result = counted(source)
    assert result.not_used == {PROBES: result.total - result.used}
    assert result.total == source.survey.ratings
