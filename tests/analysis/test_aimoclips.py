"""The real AImoclips ratings: what the paper printed comes out, and so does what it left out."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.analysis.systems.effects import model_pairs
from heartfelt.snapshot import Snapshot
from tests.analysis.made import summary_of
from tests.facts import mentions

SOURCE = (
    "Go, Han, Choi, Choi, Nam and Park (2025), AImoclips, HCMIR25: tables and text; type II sums of squares on"
    " unrounded clip means checked against statsmodels (anova_lm, typ=2)"
)

pytestmark = pytest.mark.data


def effect(clips: Analysis, outcome: str, deviation: str, model: str, name: str) -> dict[str, Any]:
    key = (outcome, deviation, model, name)
    return next(
        row
        for row in summary_of(clips)["anova"]
        if (row["outcome"], row["deviation"], row["model"], row["effect"]) == key
    )


@pytest.mark.parametrize(
    ("outcome", "deviation", "model", "name", "df", "f", "eta"),
    [
        ("valence", "signed", "system + intent", "system", [5, 974], "150.53", "0.123"),
        ("arousal", "signed", "system + intent", "system", [5, 974], "39.44", "0.0836"),
        ("valence", "absolute", "quadrant + system", "quadrant", [3, 982], "29.27", "0.0814"),
        ("arousal", "absolute", "quadrant + system", "quadrant", [3, 982], "14.62", "0.0421"),
    ],
)
def test_published_effects_to_the_printed_digit(
    clips: Analysis, outcome: str, deviation: str, model: str, name: str, df: list[int], f: str, eta: str
) -> None:
    row = effect(clips, outcome, deviation, model, name)
    assert row["df"] == df
    assert f"{row['f']:.2f}" == f
    assert f"{row['eta_squared']:.{len(eta) - 2}f}" == eta
    assert row["n"] == 991


def test_published_counts(clips: Analysis) -> None:
    counts = summary_of(clips)["counts"]
    assert (counts["rated"], counts["ratings"], counts["raters"]) == (991, 6162, 111)
    assert (counts["stimuli"], counts["unrated"], counts["answers"]) == (1008, 17, 12324)
    assert counts["ratings_per_item"] == {"4": 67, "5": 205, "6": 315, "7": 270, "8": 117, "9": 17}
    assert counts["ratings_by_question"] == {"valence": 6162, "arousal": 6162}


@pytest.mark.parametrize("question", ["valence", "arousal"])
def test_eight_pairs_of_systems_differ(clips: Analysis, question: str) -> None:
    pairs = [
        row
        for row in summary_of(clips)["pairwise"]
        if (row["outcome"], row["deviation"], row["factor"], row["method"])
        == (question, "signed", "system", "Tukey-Kramer")
    ]
    assert len(pairs) == 15
    assert sum(row["significant"] for row in pairs) == 8


EMMEANS = "R 4.2.2, emmeans 1.8.4.1: pairs(emmeans(lm(deviation ~ system + intent), 'system'), adjust = 'tukey')"


@pytest.mark.parametrize(
    ("question", "differ", "pair", "printed"),
    [
        ("valence", 12, ("AudioLDM2", "Mustango"), (0.335376930341, 0.04067024484, 0.63008361585, 0.01512655397)),
        ("valence", 12, ("Suno", "Udio"), (-0.009190762005, -0.30345880295, 0.28507727894, 0.9999992106)),
        ("arousal", 9, ("StableAudio", "Udio"), (-0.3701956226, -0.68280184299, -0.05758940223, 0.009737660653)),
        ("arousal", 9, ("AudioLDM2", "Mustango"), (-0.2844224105, -0.59893505986, 0.03009023891, 0.1025838633)),
    ],
)
def test_pairs_of_the_model_equal_emmeans(
    clips: Analysis, question: str, differ: int, pair: tuple[str, str], printed: tuple[float, ...]
) -> None:
    key = (question, "signed", "system + intent", "system")
    effects = clips.summary.anova or ()
    (row,) = [e for e in effects if (e.outcome, e.deviation, e.model, e.effect) == key]
    pairs = model_pairs(clips.summary.pairwise, row)
    assert len(pairs) == 15
    assert sum(bool(test.significant) for test in pairs) == differ
    assert {test.df for test in pairs} == {974}
    (test,) = [test for test in pairs if (test.a, test.b) == pair]
    numbers = [test.difference.value, test.difference.low, test.difference.high, test.p]
    assert numbers == pytest.approx(list(printed), rel=1e-7)


def test_the_verdict_rests_on_the_model_with_tastes(clips: Analysis) -> None:
    """SOURCE: R, lmer(value ~ system + intent + (1|rater) + (1|item) + (1|rater:system)), lmerTest and emmeans."""
    row = next(row for row in clips.summary.mixed or () if (row.outcome, row.effect) == ("valence", "system"))
    assert row.f == pytest.approx(103.0388567, rel=1e-5)
    assert row.df is not None
    assert list(row.df) == pytest.approx([5, 733.799189], rel=1e-5)
    assert float(row.variances["rater x system"]) == pytest.approx(0.3539687714, rel=1e-4)
    pair = next(
        pair
        for pair in clips.summary.pairwise or ()
        if (pair.outcome, pair.method, pair.a, pair.b) == ("valence", "Tukey, mixed model", "AudioLDM2", "Mustango")
    )
    assert pair.p == pytest.approx(0.08863565874, rel=1e-4)
    text = next(s for s in clips.summary.verdict if s.startswith("Systems differ in valence (signed"))
    assert mentions(text, "10 of 15 pairs", "Tukey", "F(5, 974) = 150.53")


def test_the_published_pairs_are_labelled_as_published(clips: Analysis) -> None:
    rows = [row for row in summary_of(clips)["published"] if row["what"].startswith("pairs of systems")]
    assert [row["recomputed"] for row in rows] == [8, 8]
    assert all("one-way Tukey-Kramer, as published" in row["what"] for row in rows)


def test_the_bottom_line_and_chance(clips: Analysis) -> None:
    first = summary_of(clips)["verdict"][0]
    assert mentions(first, "Suno", "Udio")
    assert "41% of the stimuli" in first
    assert "(chance 23%)" in first
    assert mentions(first, "20 of 111 raters", "18")
    assert mentions(first, "13", "6 groups")
    assert summary_of(clips)["quadrants"]["hit_rate_by_chance"]["p"] < 0.001


def test_published_beside_recomputed(clips: Analysis) -> None:
    rows = summary_of(clips)["published"]
    assert len(rows) == 3 + 6 + 4 * 3 + 2
    assert [row["what"] for row in rows if not row["agrees"]] == []


def test_the_interaction_the_paper_left_out_is_the_largest_effect_on_distance(clips: Analysis) -> None:
    distance = [row for row in summary_of(clips)["anova"] if row["deviation"] == "absolute"]
    largest = max(distance, key=lambda row: float(row["eta_squared"]))
    assert (largest["outcome"], largest["effect"]) == ("valence", "system:quadrant")
    assert largest["eta_squared"] == pytest.approx(0.395, abs=0.001)
    assert largest["partial_eta_squared"]["low"] > 0.35
    assert any("system and quadrant" in sentence for sentence in summary_of(clips)["verdict"])


def test_ceilings(clips: Analysis) -> None:
    trust = summary_of(clips)["reliability"]
    results = {q: trust[q]["ceiling"] for q in ("valence", "arousal")}
    assert results["valence"]["correlation"]["value"] == pytest.approx(0.84, abs=0.01)
    assert results["arousal"]["correlation"]["value"] == pytest.approx(0.86, abs=0.01)
    assert results["valence"]["within_cells"]["value"] == pytest.approx(0.53, abs=0.015)
    assert results["arousal"]["within_cells"]["value"] == pytest.approx(0.51, abs=0.015)
    for each in results.values():
        assert set(each["by_system"]) == {"AudioLDM2", "MusicGen", "Mustango", "StableAudio", "Suno", "Udio"}
        assert each["cell_means"]["low"] < each["cell_means"]["value"] < each["correlation"]["value"]


def test_uninformative_raters_are_flagged_and_near_copies_grouped(clips: Analysis) -> None:
    result = summary_of(clips)["screening"]
    assert 10 <= len(result["flagged"]) <= 40
    assert result["collusion"]
    assert set(result["dropped_by_default"]) <= set(result["flagged"])
    assert result["dropped"] == []


def test_headlines_with_and_without(clips: Analysis) -> None:
    rows = {(row["figure"], row["question"]): row for row in summary_of(clips)["sensitivity"]}
    for question in ("valence", "arousal"):
        alpha = rows[("alpha_interval", question)]
        assert alpha["without"]["value"] > alpha["with_all"]["value"] + 0.05
    f = rows[("F of system on signed deviation (system + intent)", "valence")]
    assert f["with_all"] == pytest.approx(150.525, abs=0.01)
    assert f["without"] > 100
    sides = summary_of(clips)["sensitivity_counts"]
    assert sides["with_all"]["raters"] - sides["without"]["raters"] == len(
        summary_of(clips)["screening"]["dropped_by_default"]
    )


@pytest.mark.slow
def test_the_default_policy_gives_the_other_side(aimoclips: Snapshot, clips: Analysis) -> None:
    other = analyze(aimoclips, AnalyzeOptions(policy="default", resamples=100))
    left = {(r["figure"], r["question"]): r for r in summary_of(clips)["sensitivity"]}
    right = {(r["figure"], r["question"]): r for r in summary_of(other)["sensitivity"]}
    assert left.keys() == right.keys()
    for key, row in left.items():
        for side in ("with_all", "without"):
            assert _value(right[key][side]) == pytest.approx(_value(row[side]), rel=1e-9), (key, side)
    assert all(row["agrees"] for row in summary_of(other)["published"])
    retained = summary_of(other)["counts"]
    assert retained["raters"] == 111
    assert retained["raters_kept"] == other.snapshot.raters.height < 111
    assert other.ledger.filter(pl.col("what") == "rater").height == 111 - retained["raters_kept"]


def _value(found: Any) -> float:
    return float(found["value"] if isinstance(found, dict) else found)


def test_slopes_show_the_neutrality_bias(clips: Analysis) -> None:
    lines = {(row["system"], row["question"]): row for row in summary_of(clips)["slopes"]}
    assert len(lines) == 14
    for row in lines.values():
        assert row["slope"]["high"] < 1
        assert row["p_no_shrinkage"] < 0.001
    every = lines[("all", "valence")]["slope"]
    wide = lines[("all", "valence")]["slope_for_other_intents"]
    assert wide["value"] == pytest.approx(every["value"], rel=1e-9)
    assert wide["high"] - wide["low"] > every["high"] - every["low"]


def test_tables(clips: Analysis) -> None:
    assert clips.labels.height == 2 * 991
    assert {"value", "standard_error", "low", "high", "n", "sd", "system", "intent"} <= set(clips.labels.columns)
    assert clips.raters.height == 111
    columns = {"n", "mean", "sd", "bias", "inconsistency", "agreement", "flags", "carelessness_rank", "kept"}
    assert columns <= set(clips.raters.columns)
    flagged = clips.raters.filter(pl.col("flags") != "")["rater"].to_list()
    assert set(flagged) == set(summary_of(clips)["screening"]["flagged"])
    assert clips.ledger.filter(pl.col("stage") == "source").height == 17


def test_summary_is_strict_json_and_says_things(clips: Analysis) -> None:
    text = json.dumps(summary_of(clips), allow_nan=False)
    assert json.loads(text) == summary_of(clips)
    for part in ("verdict", "methods", "results"):
        words = " ".join(summary_of(clips)[part]) if part == "verdict" else summary_of(clips)[part]
        assert "nan" not in words.lower().split()
        assert "None" not in words
    assert "150.53" in summary_of(clips)["results"]
