"""What the verdict says first, what it says of chance, noise and selection, and which questions it speaks of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.analysis.data.material import prepare
from heartfelt.analysis.summary import ParallelPair
from heartfelt.analysis.systems.means import stimulus_scores, without_noise
from heartfelt.analysis.systems.quadrants import chance_of_hits
from heartfelt.analysis.text.highlights import covered, main_questions
from heartfelt.analysis.text.verdict import reliability_sentences, verdict
from heartfelt.analysis.text.verdict_raters import sentences as rater_sentences
from heartfelt.report.analysis import charts_of
from heartfelt.report.sections import reliability as sections
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.study import Question, Study
from heartfelt.study.scales.scale import AnyScale, Categories, Ordered, Points, YesNo
from tests.analysis.made import Row, answers, snapshot, stimuli, study, summary_of
from tests.facts import mentions

QUICK = AnalyzeOptions(resamples=100)
SCHEMA = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}


def made(scale: AnyScale, rows: list[Row], names: list[str], table: pl.DataFrame) -> Snapshot:
    asked = Study(name="made", scales={"s": scale}, questions=[Question(id=n, text=n, scale="s") for n in names])
    return Snapshot.build(asked, stimuli=table, ratings=pl.DataFrame(rows, schema=SCHEMA, orient="row"))


def group(found: Analysis, name: str) -> str:
    return " ".join(summary_of(found)["verdict_groups"][name])


@pytest.fixture(scope="module")
def noise() -> Analysis:
    """Systems of which one was rated higher by every rater, whatever the stimulus ids say; stimuli are mixed up."""
    rng = np.random.default_rng(0)
    rows: list[Row] = [(f"r{r}", f"s{i}", "quality", float(rng.integers(1, 6))) for r in range(12) for i in range(24)]
    rows += [(f"flat{r}", f"s{i}", "quality", 3.0) for r in range(3) for i in range(24)]
    return analyze(made(Points(type="points", points=5), rows, ["quality"], stimuli(24)), QUICK)


@pytest.mark.slow
def test_the_bottom_line_comes_first_and_the_rest_is_grouped(noise: Analysis) -> None:
    groups = summary_of(noise)["verdict_groups"]
    assert set(groups) == {"bottom_line", "systems", "reliability", "raters", "next_step"}
    assert summary_of(noise)["verdict"] == [
        groups["bottom_line"],
        *groups["systems"],
        *groups["reliability"],
        *groups["raters"],
    ]


@pytest.mark.slow
def test_ratings_without_information_are_the_first_sentence(noise: Analysis) -> None:
    first = summary_of(noise)["verdict"][0]
    assert first.startswith("The ratings carry no detectable information about the stimuli")
    assert mentions(first, "3", "15 raters", "5")
    assert "mixed up" in first
    assert "out of step" in first
    assert "which includes zero" in group(noise, "reliability")
    assert ".9 needs" not in " ".join(summary_of(noise)["verdict"])


@pytest.mark.slow
def test_the_worst_comes_before_a_significant_f(noise: Analysis) -> None:
    """Even where systems differ significantly."""
    row = next(row for row in noise.summary.anova or () if row.effect == "system")
    model = next(row for row in noise.summary.mixed or () if row.effect == "system")
    summary = replace(noise.summary, anova=(replace(row, f=12.0, p=0.0001),), mixed=(replace(model, f=12.0, p=0.0001),))
    result = verdict(summary)
    assert result.bottom_line.startswith("The ratings carry no detectable information")
    assert any("Systems differ" in sentence for sentence in result.systems)


@pytest.mark.slow
def test_only_some_questions_without_information() -> None:
    table = stimuli(24)
    rng = np.random.default_rng(2)
    rows = [row for row in answers("opinion", table, raters=10) if row[2] == "quality"]
    rows += [(f"r{r}", f"s{i}", "alignment", float(rng.integers(1, 6))) for r in range(10) for i in range(24)]
    first = summary_of(analyze(snapshot("opinion", table, rows), QUICK))["verdict"][0]
    assert "the ratings of alignment carry no detectable information about the stimuli" in first
    assert "the labels are" in first


@pytest.mark.slow
def test_answers_that_are_all_the_same() -> None:
    rows: list[Row] = [(f"r{r}", f"s{i}", "match", 1.0) for r in range(4) for i in range(8)]
    first = summary_of(analyze(snapshot("yes-no", stimuli(8), rows), QUICK))["verdict"][0]
    assert first.startswith("All answers on match are the same")


@pytest.mark.slow
def test_an_unbounded_number_of_raters_is_not_printed(noise: Analysis) -> None:
    trust = replace(
        (noise.summary.reliability or {})["quality"],
        icc2=Estimate(value=0.001, low=1e-5, high=0.01),
        icc2k=Estimate(value=0.01, low=0.0, high=0.1),
        raters_needed={"0.9": 10_000},
        raters_needed_between={"0.9": (900, None)},
    )

    def words(between: tuple[int | None, int | None], needed: int) -> str:
        own = replace(trust, raters_needed={"0.9": needed}, raters_needed_between={"0.9": between})
        return " ".join(reliability_sentences(replace(noise.summary, reliability={"quality": own})))

    assert ".9 needs" not in words((900, None), 10_000)
    assert mentions(words((40, 90), 60), ".9", "60 raters", "40", "90")
    assert ".9 needs 60 raters per stimulus." in words((60, 60), 60)
    assert mentions(words((1, 1000), 1), ".9", "1 rater", "1", "1,000")
    assert mentions(words((40, 1001), 600), ".9", "40 raters")
    assert "10,000" not in str(sections._needed({"quality": trust}))
    bounded = replace(trust, raters_needed_between={"0.9": (40, 90)}, raters_needed={"0.9": 60, "0.8": None})
    assert "60 (40 to 90)" in str(sections._needed({"quality": bounded}))


@pytest.mark.slow
def test_ratings_asked_for_because_of_the_answers_are_reported() -> None:
    rng = np.random.default_rng(4)
    rows: list[Row] = []
    for i in range(80):
        truth = rng.normal()
        first, second = rng.choice(8, 2, replace=False)
        yes = truth + rng.normal() > 0.3
        rows.append((f"r{first}", f"s{i}", "match", float(yes)))
        if yes:
            rows.append((f"r{second}", f"s{i}", "match", float(truth + rng.normal() > 0.3)))
    selected = analyze(snapshot("yes-no", stimuli(80), rows), QUICK)
    assert "How many ratings a stimulus has depends on its answers" in group(selected, "reliability")
    assert summary_of(selected)["checks"]["ratings_per_item"]["match"]["answers"]["significant"]
    table = stimuli(24)
    honest = analyze(snapshot("yes-no", table, answers("yes-no", table)), QUICK)
    assert "depends on its answers" not in group(honest, "reliability")


@pytest.fixture(scope="module")
def clips() -> Analysis:
    table = stimuli(48)
    rows = answers("conveyance", table, raters=14, seed=3)
    rng = np.random.default_rng(9)
    rows += [
        (f"careless{k}", f"s{i}", q, float(rng.integers(1, 10)))
        for k in range(3)
        for i in range(48)
        for q in ("valence", "arousal")
    ]
    return analyze(snapshot("conveyance", table, rows), QUICK)


@pytest.mark.slow
def test_pairs_are_those_of_the_model_in_the_sentence(clips: Analysis) -> None:
    for row in summary_of(clips)["anova"]:
        if row["effect"] != "system" or row["model"] != "system + intent":
            continue
        pairs = [
            pair
            for pair in summary_of(clips)["pairwise"]
            if pair["model"] == "system + intent" and pair["outcome"] == row["outcome"]
        ]
        assert pairs
        assert {pair["df"] for pair in pairs} == {row["df"][1]}
        assert {pair["method"] for pair in pairs} == {"Tukey-Kramer, adjusted means"}


@pytest.mark.slow
def test_chance_stands_next_to_the_hit_rate(clips: Analysis) -> None:
    chance = summary_of(clips)["quadrants"]["hit_rate_by_chance"]
    assert 0.1 < chance["share"] < 0.45
    assert 0 < chance["p"] <= 1
    assert "; chance " in group(clips, "systems")
    assert set(summary_of(clips)["quadrants"]["hit_rate_by_system_by_chance"]) == {"M0", "M1", "M2"}


def test_chance_by_hand() -> None:
    """Two systems; hits by chance are the products of the shares within each, and perfect hits are beyond it."""
    intended = ["a", "a", "b", "b"] * 10
    perceived = [*intended[:20], *(["a"] * 20)]
    system = ["x"] * 20 + ["y"] * 20
    result = chance_of_hits(intended, perceived, system, 0)
    assert result is not None
    assert result.share == pytest.approx((20 * 0.5 + 20 * 0.5) / 40)
    assert result.p is not None
    assert result.p < 0.001
    always = chance_of_hits(["a"] * 5, ["a"] * 5, ["x"] * 5, 0)
    assert always is not None
    assert always.p is None


def test_chance_of_many_agrees_with_deals() -> None:
    from heartfelt.analysis.systems import quadrants

    rng = np.random.default_rng(1)
    intended = [str(k) for k in rng.integers(0, 4, 400)]
    perceived = [
        name if rng.random() < 0.06 else str(other)
        for name, other in zip(intended, rng.integers(0, 4, 400), strict=True)
    ]
    system = [str(k) for k in rng.integers(0, 3, 400)]
    dealt = chance_of_hits(intended, perceived, system, 0)
    many = pytest.MonkeyPatch()
    many.setattr(quadrants, "MOST_DRAWN", 100)
    normal = chance_of_hits(intended, perceived, system, 0)
    many.undo()
    assert dealt is not None
    assert normal is not None
    assert dealt.share == normal.share
    assert dealt.p == pytest.approx(normal.p, abs=0.03)


@pytest.mark.slow
def test_the_ceiling_is_given_by_question(clips: Analysis) -> None:
    assert "Ceiling: valence r = ." in group(clips, "reliability")


@pytest.mark.slow
def test_absolute_deviations_are_said_to_hold_noise_and_corrected(clips: Analysis) -> None:
    assert "without rating noise" in group(clips, "systems")
    for row in summary_of(clips)["questions"]:
        assert row["absolute_deviation_corrected"]["value"] < row["absolute_deviation"]["value"]
        assert row["absolute_deviation_corrected"]["low"] is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("centre", "spread", "noise"), [(0.0, 1.0, 0.6), (1.0, 1.0, 0.8), (0.5, 0.5, 0.5), (2.0, 0.3, 1.0)]
)
def test_the_corrected_deviation_is_that_without_noise(centre: float, spread: float, noise: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(centre, spread, 20_000)
    seen = true + rng.normal(0, noise, true.size)
    result = float(without_noise(seen, np.full(true.size, noise**2)).mean())
    want, plain = float(np.abs(true).mean()), float(np.abs(seen).mean())
    assert abs(result - want) < 0.04
    assert abs(result - want) <= abs(plain - want) + 0.01
    assert without_noise(seen, np.zeros(true.size)) == pytest.approx(np.abs(seen))


def test_no_ratings_twice_no_noise_known() -> None:
    table = stimuli(12)
    rows: list[Row] = [("r", f"s{i}", q, float(1 + i % 9)) for i in range(12) for q in ("valence", "arousal")]
    layout = stimulus_scores(prepare(snapshot("conveyance", table, rows)).questions[0])
    assert "noise of the means is unknown" in str(layout.changes(np.ones(12, dtype=bool), "corrected"))


@pytest.mark.slow
def test_the_rise_in_alpha_is_cross_fitted(clips: Analysis) -> None:
    assert summary_of(clips)["screening"]["dropped_by_default"]
    result = summary_of(clips)["crossfit"]
    assert len(result["left_out"]) == 2
    rows = {row["question"]: row for row in result["questions"]}
    assert set(rows) == {"valence", "arousal"}
    for row in rows.values():
        assert row["figure"] == "alpha_interval"
        assert row["rise"] == pytest.approx(row["without"] - row["with_all"])
        assert row["with_all"] == pytest.approx(np.mean([half["with_all"] for half in row["halves"]]))
    words = group(clips, "raters")
    assert "on held-out stimuli" in words


@pytest.mark.slow
def test_raters_chosen_by_agreement_alone_gain_nothing_on_held_out_stimuli() -> None:
    """Everybody answers at random: leaving out the ten who agree least raises alpha in sample, and not on other stimuli."""
    from heartfelt.stats.agreement import alpha

    rng = np.random.default_rng(0)
    rater, item = (grid.ravel() for grid in np.meshgrid(np.arange(30), np.arange(60)))
    value = rng.integers(1, 6, rater.size).astype(float)
    first = item < 30
    mean = np.bincount(item, value) / 30
    others = (mean[item] * 30 - value) / 29
    worst = sorted(
        range(30), key=lambda r: np.corrcoef(value[first & (rater == r)], others[first & (rater == r)])[0, 1]
    )[:10]
    retained = ~np.isin(rater, worst)
    rises = []
    for half in (first, ~first):
        rows = [alpha(rater[rows], item[rows], value[rows], "interval").value for rows in (half, half & retained)]
        rises.append((rows[1] or 0.0) - (rows[0] or 0.0))
    assert rises[0] > 0.02 > rises[1]


@pytest.mark.slow
def test_raters_who_gave_nothing_are_not_counted_as_having_rated() -> None:
    table = stimuli(12)
    base = snapshot("opinion", table, answers("opinion", table, raters=6))
    people = pl.DataFrame({"rater": [*(f"r{k}" for k in range(6)), "silent", "also silent"]})
    result = analyze(Snapshot.build(base.study, stimuli=table, ratings=base.ratings, raters=people), QUICK)
    counts = summary_of(result)["counts"]
    assert (counts["raters"], counts["raters_kept"], counts["raters_without_ratings"]) == (6, 6, 2)
    assert "6 people gave" in group(result, "raters")
    assert "2 listed raters gave none" in group(result, "raters")
    assert "8 raters" not in " ".join(summary_of(result)["verdict"])
    assert "6 raters gave" in summary_of(result)["methods"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "present"),
    [
        (Ordered(type="ordered", categories=["bad", "poor", "fair", "good", "excellent"]), False),
        (Ordered(type="ordered", categories=["not_present", "weakly", "strongly"]), True),
        (Ordered(type="ordered", categories=["normal", "loud", "very loud"]), False),
        (Categories(type="categories", categories=["none", "sad", "awe"]), False),
        (Categories(type="categories", categories=["left", "right"]), False),
        (YesNo(type="yes-no"), True),
    ],
)
def test_present_is_said_only_where_something_can_be_present(scale: AnyScale, present: bool) -> None:
    rng = np.random.default_rng(0)
    top = len(scale.labels())
    rows: list[Row] = [
        (f"r{r}", f"s{i}", "q", float((i + (rng.random() < 0.3)) % top)) for r in range(5) for i in range(12)
    ]
    result = analyze(made(scale, rows, ["q"], stimuli(12)), QUICK)
    every = summary_of(result)["breakdown"]["all"][0]
    assert (every["present"]["value"] is not None) == present
    assert ("binary" in summary_of(result)["agreement"]["q"]) == (present and top > 2)
    section = sections.agreement(result, charts_of(result))
    assert section is not None
    assert (">present<" in section.html) == present


@pytest.mark.slow
def test_an_ordered_scale_leads_with_an_ordinal_coefficient() -> None:
    rng = np.random.default_rng(1)
    scale = Ordered(type="ordered", categories=["bad", "poor", "fair", "good", "excellent"])
    rows: list[Row] = [
        (f"r{r}", f"s{i}", "q", float(np.clip(round(i % 5 + rng.normal()), 0, 4))) for r in range(6) for i in range(20)
    ]
    result = analyze(made(scale, rows, ["q"], stimuli(20)), QUICK)
    assert summary_of(result)["agreement"]["q"]["leading"] == "alpha_ordinal"
    sentence = next(s for s in summary_of(result)["verdict"] if s.startswith("On q,"))
    assert "Krippendorff's alpha, ordinal," in sentence
    assert "Fleiss" not in " ".join(summary_of(result)["verdict"])
    section = sections.agreement(result, charts_of(result))
    assert section is not None
    assert section.html.index("alpha (ordinal)") < section.html.index("Fleiss")
    panels = charts_of(result)["agreement"].panels  # type: ignore[union-attr]  # a chart: the study has categories
    assert panels[0].title == "Krippendorff's alpha (ordinal)"


def many(count: int, scale: AnyScale, top: int) -> Snapshot:
    rng = np.random.default_rng(5)
    names = [f"q{k}" for k in range(count)]
    rows: list[Row] = [
        (
            f"r{r}",
            f"s{i}",
            name,
            float(np.clip(round((i % 3 if k == count - 1 else i // 3 % top) + rng.normal()), 0, top - 1)),
        )
        for k, name in enumerate(names)
        for i in range(18)
        for r in range(4)
    ]
    return made(scale, rows, names, stimuli(18))


@pytest.mark.slow
def test_four_questions_stand_for_themselves() -> None:
    result = analyze(many(4, YesNo(type="yes-no"), 2), QUICK)
    assert list(main_questions(result.summary)) == ["q0", "q1", "q2", "q3"]
    assert not any("4 questions" in sentence for sentence in summary_of(result)["verdict"])
    words = group(result, "reliability")
    for name in ("q0", "q1", "q2", "q3"):
        assert f"On {name}, " in words


@pytest.mark.slow
def test_of_many_questions_those_that_matter_are_spoken_of_and_the_rest_summed_up() -> None:
    result = analyze(many(9, Ordered(type="ordered", categories=["bad", "fair", "good"]), 3), QUICK)
    chosen, rest = covered(result.summary)
    assert len(chosen) == 4
    assert chosen[0] == "q8"
    assert "Of the other 5 questions" in group(result, "reliability")
    assert mentions(group(result, "systems"), "5 questions", "systems")
    sizes = {row["outcome"]: row["eta_squared"] for row in summary_of(result)["anova"] if row["effect"] == "system"}
    assert min(sizes[name] for name in chosen) >= max(sizes[name] for name in rest)


@pytest.mark.slow
def test_questions_with_references_come_first() -> None:
    base = study("conveyance")
    extra = [Question(id=f"x{k}", text="x", scale="s") for k in range(5)]
    both = base.changed(questions=[*extra, *base.questions])
    table = stimuli(24)
    rows = answers("conveyance", table)
    rows += [(r, s, f"x{k}", v) for r, s, q, v in rows if q == "valence" for k in range(5)]
    ratings = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    summary = analyze(Snapshot.build(both, stimuli=table, ratings=ratings), QUICK).summary
    assert set(covered(summary)[0][:2]) == {"valence", "arousal"}


@pytest.mark.slow
def test_a_policy_that_leaves_raters_out_is_named_with_counts(clips: Analysis) -> None:
    result = analyze(clips.all_ratings, AnalyzeOptions(policy="default", resamples=100))
    dropped = len(summary_of(result)["screening"]["dropped"])
    assert dropped
    total = summary_of(result)["counts"]["raters"]
    first = summary_of(result)["verdict"][0]
    answers = result.summary.answers_used
    assert answers.share < 0.9
    assert f"Only {answers.used:,} of {answers.total:,} answers used" in first
    assert f"{dropped} raters excluded by the policy 'default'" in first
    words = group(result, "raters")
    assert f"The policy 'default' excluded {dropped} of {total} raters" in words
    assert f"those of the other {total - dropped}" in words
    assert "flagged by the default policy: F =" not in " ".join(summary_of(result)["verdict"])
    assert "excluded" not in summary_of(clips)["verdict"][0]


@pytest.mark.slow
def test_parallel_sequences_come_with_their_figures_and_standards_are_not_headlines(clips: Analysis) -> None:
    screening = replace(
        clips.summary.screening,
        flagged={"r0": ("collusion: parallel",), "r1": ("collusion: parallel",)},
        flagged_by_standards={"r2": ("bt500: x",)},
        collusion=(("r0", "r1"),),
        parallel=(
            ParallelPair(raters=("r0", "r1"), positions=12, correlation=0.9, share=0.46, expected_share=0.21, p=0.001),
        ),
        not_judged=("r3", "r4"),
    )
    words = " ".join(rater_sentences(replace(clips.summary, screening=screening)))
    assert "2 of 17 raters are flagged" in words
    assert mentions(words, "2", "1 group", "46%")
    assert mentions(words, "2 raters", "judged")
