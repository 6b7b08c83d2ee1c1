"""Rules with error control keep their level when honest raters use the scale the way people do."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import RULES, RatingsView, RuleOptions, error_controlled_flags, screen
from heartfelt.snapshot import Snapshot
from tests.screening.planted import planted
from tests.screening.styles import STYLES, Design, honest_study

MEASURED = ("longest-run", "spread", "identical-answers", "straight-lining")


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_no_style_is_taken_for_carelessness(style: str) -> None:
    """20 studies a style in the designs that flagged a quarter to nine tenths of them; docs/screening.md has 200."""
    counts: Counter[str] = Counter()
    for seed in range(20):
        design = (Design(12, 40, 4, 5), Design(48, 40, 5, 9))[seed % 2]
        view = RatingsView.of(honest_study(design, style, seed))
        for rule in MEASURED:
            counts[rule] += bool(RULES[rule].apply(view, RuleOptions(seed=seed))["flagged"].any())
    # With a true rate of 5%, 4 or more of 20 come up in 1.6% of runs.
    assert max(counts.values()) <= 3, counts


@pytest.mark.slow
def test_rules_that_report_a_standard_are_not_counted_as_findings() -> None:
    assert {name for name in RULES if not RULES[name].error_controlled} == {
        "anchor",
        "bias",
        "bt500",
        "mushra",
        "p913",
        "shared-browser",
    }
    snap, _ = planted({"random": 0.1}, n=60, seed=4, per_cell=1, mix={"bias_sd": 1.5})
    panel = screen(snap, "flag-only, collusion=off")
    by_standard = set(panel.flagged_by_standards())
    assert by_standard - set(panel.flagged())
    assert set(panel.flagged()) == set(error_controlled_flags(panel.flags)["rater"])
    assert panel.counts.flagged == len(panel.flagged())
    rules = {row["rule"]: row["error_controlled"] for row in panel.to_json()["rules"]}
    assert not rules["bt500"]
    assert rules["spread"]


@pytest.mark.slow
def test_a_narrow_rater_who_listens_is_described_and_not_flagged() -> None:
    snap, _ = planted(n=30, seed=1)
    narrow = 5 + ((pl.col("value") - 5) / 4).round()
    ratings = snap.ratings.with_columns(value=pl.when(pl.col("rater") == "rater_03").then(narrow).otherwise("value"))
    rows = RULES["spread"].apply(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=ratings))
    mine = rows.filter(pl.col("rater") == "rater_03")
    assert (mine["value"] < mine["threshold"]).any()
    assert not mine["flagged"].any()
    assert mine["words"].str.contains("a narrow use of the scale").any()


@pytest.mark.slow
def test_a_narrow_rater_who_does_not_listen_is_flagged() -> None:
    snap, _ = planted(n=30, seed=1)
    rng = np.random.default_rng(1)
    noise = pl.Series(rng.choice([4.0, 5.0, 5.0, 5.0, 6.0], snap.ratings.height))
    ratings = snap.ratings.with_columns(value=pl.when(pl.col("rater") == "rater_03").then(noise).otherwise("value"))
    table = RULES["spread"].apply(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=ratings))
    assert set(table.filter("flagged")["rater"]) == {"rater_03"}
