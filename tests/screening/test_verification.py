"""Who accepts planted drafts is flagged, who looks is not; the power is that of the formula."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from heartfelt.screening import RULES, RatingsView, RuleOptions, screen
from heartfelt.screening.rules.verification import _tolerated, advise_planting, at_least, detection_power
from heartfelt.snapshot import Snapshot
from tests.facts import mentions
from tests.screening.verifying import Panel, drafted_study, verified_panel

SOURCE = "scipy.stats.binom and poisson_binom; benchmarks/draft_evidence.py for the error rates of docs/screening.md"
STAMPING = RULES["rubber-stamping"]


def flagged(panel: Panel, seed: int, rule: str = "rubber-stamping") -> list[str]:
    view = RatingsView.of(verified_panel(panel, seed))
    return RULES[rule].apply(view, RuleOptions()).filter("flagged")["rater"].to_list()


def test_the_tail_is_that_of_independent_draws() -> None:
    assert at_least(np.full(9, 0.2)) == pytest.approx(stats.binom.sf(np.arange(-1, 9), 9, 0.2))
    mixed = np.array([0.2, 0.5, 0.9])
    assert at_least(mixed)[3] == pytest.approx(0.2 * 0.5 * 0.9)
    assert at_least(mixed)[1] == pytest.approx(1 - 0.8 * 0.5 * 0.1)
    assert at_least(np.zeros(0)).tolist() == [1.0]


@pytest.mark.slow
def test_who_accepts_everything_is_found_and_who_looks_is_not() -> None:
    """At the usual design: forty images, seven fields, a draft in twenty planted. docs/screening.md has more."""
    found = careful = 0
    for seed in range(20):
        names = flagged(Panel(stampers=2), seed)
        found += len({"r000", "r001"} & set(names))
        careful += len(set(names) - {"r000", "r001"})
    assert found >= 39
    assert careful / (20 * 22) < 0.05
    assert careful <= 2, "nearly none, by Bonferroni's correction"


@pytest.mark.slow
def test_honest_misses_of_a_field_that_is_hard_to_judge_are_tolerated() -> None:
    """Everybody accepts nine in ten errors in one field of two: those who accept them all in it are not flagged for it."""
    assert not any(flagged(Panel(fields=2, images=100, hard=0.9, stampers=0), seed) for seed in range(5))


@pytest.mark.slow
def test_power_is_the_share_that_is_found() -> None:
    assert detection_power(0.05, 140, 24) == pytest.approx(0.92, abs=0.01)
    assert detection_power(0.05, 280, 24) > 0.99
    assert detection_power(0.05, 280, 24, miss=0.2) < 0.05 / 24
    assert detection_power(0.0, 280, 24) == 0.0
    hits = sum("r000" in flagged(Panel(images=20, raters=12), seed) for seed in range(40))
    expected = detection_power(0.05, 140, 12)
    assert hits / 40 == pytest.approx(expected, abs=3 * (expected * (1 - expected) / 40) ** 0.5)


@pytest.mark.parametrize(("stampers", "tolerated"), [(1, 0.2), (2, 0.6)])
def test_from_half_the_raters_on_those_who_accept_everything_count(stampers: int, tolerated: float) -> None:
    """Four raters meet ten planted drafts each; a careful one accepts two."""
    accepted = [10] * stampers + [2] * (4 - stampers)
    counts = pl.DataFrame({"rater": list("abcd"), "field": "f", "n": [10] * 4, "k": accepted})
    assert counts.with_columns(_tolerated(0.2))["tolerated"][3] == pytest.approx(tolerated)


def test_too_few_planted_drafts_are_no_evidence() -> None:
    snapshot = verified_panel(Panel(raters=6, images=4, fields=2, planted=0.2, hidden=0.0), 2)
    table = STAMPING.apply(snapshot)
    few = table.filter(pl.col("why_missing").is_not_null())
    assert few.height
    assert few["why_missing"].str.contains("accepting every one could be chance").all()
    none = STAMPING.apply(verified_panel(Panel(raters=6, images=4, planted=0.0), 2))
    assert none["why_missing"].to_list() == ["no rater met a planted draft"]


@pytest.mark.slow
def test_two_hundred_drafts_in_a_minute_are_noticed() -> None:
    """By the time for each draft, or by the clock of the server where that was not recorded."""
    panel = Panel(raters=10, images=30, planted=0.0, stampers=1)
    assert flagged(panel, 4, "hasty-verification") == ["r000"]
    snapshot = verified_panel(panel, 4)
    quick = pl.col("verified_by") == "r000"
    start = pl.col("at").min()
    at = pl.when(quick).then(start + (pl.col("at") - start) / 17).otherwise("at").alias("at")
    fields = snapshot.fields.drop("seconds").with_columns(at)
    slower = fields.group_by("verified_by").agg(pl.col("at").max() - pl.col("at").min())
    assert slower.filter(quick)["at"].item().total_seconds() < 65, "210 drafts in a minute"
    made = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, fields=fields)
    table = RULES["hasty-verification"].apply(made)
    assert table.filter("flagged")["rater"].to_list() == ["r000"]
    bare = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, fields=fields.drop("at"))
    assert RULES["hasty-verification"].apply(bare)["why_missing"].to_list() == [
        "no times of verifications were recorded"
    ]


@pytest.mark.slow
def test_screening_reports_without_dropping() -> None:
    snapshot = verified_panel(Panel(raters=12, images=40, planted=0.1), 8)
    panel = screen(snapshot)
    assert "rubber-stamping" in " ".join(panel.flagged()["r000"])
    assert panel.dropped == ()
    assert screen(snapshot, "default").dropped == ()
    assert screen(snapshot, "strict").dropped == ("r000",)
    row = panel.flags.filter((pl.col("rule") == "rubber-stamping") & (pl.col("rater") == "r000"))
    assert row["value"].item() == 1.0
    assert row["threshold"].item() < 1.0
    assert "planted drafts, which belong to other stimuli" in row["words"].item()


@pytest.mark.slow
def test_a_study_without_drafts_is_as_before() -> None:
    from tests.screening.styles import Design, honest_study

    snapshot = honest_study(Design(6, 10, 3, 5), "plain", 1)
    assert not STAMPING.applies(RatingsView.of(snapshot))
    assert STAMPING.apply(snapshot)["why_missing"].to_list() == ["the study has no drafts"]
    assert "rubber-stamping" not in screen(snapshot).ranking.columns


def test_a_study_that_plants_too_little_is_told_what_would_do() -> None:
    study = drafted_study(7)
    few = study.changed(design=study.design.model_copy(update={"stimuli_per_rater": 10, "ratings_per_item": 3}))
    assert advise_planting(study, 100, 700) == []
    (line,) = advise_planting(few, 100, 700)
    assert "3.5 of the 70 drafts" in line
    assert mentions(line, "planted_drafts", "0.1", "90%")
    assert detection_power(0.1, 70, 30) >= 0.9 > detection_power(0.075, 70, 30)
    one = study.changed(design=study.design.model_copy(update={"stimuli_per_rater": 1}))
    assert "More drafts for each rater" in advise_planting(one, 100, 100)[0]
    none = study.changed(design=study.design.model_copy(update={"planted_drafts": 0.0}))
    assert "no drafts are planted" in advise_planting(none, 100, 700)[0]
