"""Snapshots with means only, and with votes of unknown raters: what can be said is, and the rest says why not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.consistency.reliability import one_way_from_means
from heartfelt.snapshot import Snapshot
from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.reliability import icc
from tests.analysis.made import answers, snapshot, stimuli, study, summary_of
from tests.analysis.test_bad_input import check_reasons
from tests.facts import mentions

QUICK = AnalyzeOptions(resamples=100)


def means_of(source: Snapshot) -> pl.DataFrame:
    return source.ratings.group_by("stimulus", "question", maintain_order=True).agg(
        pl.mean("value").alias("mean"), pl.std("value").alias("sd"), pl.len().cast(pl.Int64).alias("n")
    )


def test_one_way_reliability_needs_no_single_ratings() -> None:
    """ICC(1) from means, spreads and counts is ICC(1) from the ratings."""
    table = stimuli(24)
    rows = [row for row in answers("opinion", table, raters=9) if row[2] == "quality"]
    made = snapshot("opinion", table, rows)
    ratings = made.ratings
    raw = icc(ratings["rater"], ratings["stimulus"], ratings["value"], interval="model")
    means = means_of(made)
    result = one_way_from_means(means["mean"], means["sd"], means["n"])
    assert result.icc1.value == pytest.approx(raw.icc1.value, rel=1e-12)
    assert result.icc1k.value == pytest.approx(raw.icc1k.value, rel=1e-12)
    assert result.icc1.low == pytest.approx(raw.icc1.low, abs=0.02)
    assert result.icc1.high == pytest.approx(raw.icc1.high, abs=0.02)
    anonymous = np.arange(ratings.height)
    top = ceiling(anonymous, ratings["stimulus"], ratings["value"])
    assert result.ceiling.value == pytest.approx(float(top.overall), abs=0.01)


def test_equal_counts_have_the_exact_f_interval() -> None:
    table = stimuli(24)
    rows = [row for row in answers("opinion", table, raters=6, chance=1.1) if row[2] == "quality"]
    ratings = snapshot("opinion", table, rows).ratings
    raw = icc(ratings["rater"], ratings["stimulus"], ratings["value"], interval="model").icc1
    means = means_of(snapshot("opinion", table, rows))
    result = one_way_from_means(means["mean"], means["sd"], means["n"]).icc1
    assert [result.low, result.high] == pytest.approx([raw.low, raw.high])
    assert result.interval == "F"


@pytest.mark.slow
def test_means_only() -> None:
    table = stimuli(24)
    full = snapshot("conveyance", table, answers("conveyance", table))
    bare = Snapshot.build(study("conveyance"), stimuli=table, means=means_of(full))
    result = analyze(bare, QUICK)
    check_reasons(summary_of(result))
    assert summary_of(result)["kind"] == "conveyance"
    whole = summary_of(analyze(full, QUICK))
    for here, there in zip(summary_of(result)["anova"], whole["anova"], strict=True):
        assert here["f"] == pytest.approx(there["f"]), here["model"]
    for row in summary_of(result)["systems"]:
        assert row["mean"]["low"] < row["mean"]["value"] < row["mean"]["high"]
        assert "no single ratings" in row["mean"]["interval"]
    assert summary_of(result)["reliability"]["valence"]["alpha_interval"]["why_missing"].startswith(
        "the source gives means"
    )
    assert summary_of(result)["reliability"]["valence"]["icc1"]["value"] is not None
    assert all(row["why_missing"] for row in summary_of(result)["mixed"])
    assert result.labels["method"].unique().to_list() == ["published mean"]
    assert "published means" in summary_of(result)["verdict"][0]


@pytest.mark.slow
def test_means_without_spread_say_so() -> None:
    means = pl.DataFrame(
        {"stimulus": [f"s{i}" for i in range(24)], "question": "quality", "mean": np.linspace(1, 5, 24)}
    )
    result = analyze(Snapshot.build(study("opinion"), stimuli=stimuli(24), means=means), QUICK)
    check_reasons(summary_of(result))
    assert "spread" in summary_of(result)["reliability"]["quality"]["icc1"]["why_missing"]
    assert result.labels["low"].null_count() == 24
    assert summary_of(result)["systems"][0]["mean"]["low"] is not None


@pytest.mark.data
def test_oasis(shared_data: Path) -> None:
    path = shared_data / "oasis" / "norms.csv"
    if not path.is_file():
        pytest.skip("the OASIS norms are not there")
    result = summary_of(analyze(heartfelt.read(path, format="means"), QUICK))
    table = pl.read_csv(path)
    for name, expected in (("valence", 0.996), ("arousal", 0.983)):
        top = result["reliability"][name]["ceiling"]["correlation"]
        mean, sd, n = (table[f"{name}_{part}"].to_numpy() for part in ("mean", "sd", "n"))
        by_hand = np.sqrt(1 - np.mean(sd**2 / n) / mean.var(ddof=1))
        assert top["value"] == pytest.approx(by_hand)
        assert top["value"] == pytest.approx(expected, abs=5e-4)
        assert top["value"] - 0.01 < top["low"] < top["value"] < top["high"] < 1
        assert any(sentence.startswith("Ceiling") and name in sentence for sentence in result["verdict"])
    assert result["counts"]["ratings"] == 0


@pytest.mark.slow
def test_votes_of_unknown_raters() -> None:
    table = stimuli(24)
    rows = [(None, *row[1:]) for row in answers("categories", table)]
    result = analyze(snapshot("categories", table, rows), QUICK)
    check_reasons(summary_of(result))
    trust, agreed = summary_of(result)["reliability"]["emotion"], summary_of(result)["agreement"]["emotion"]
    assert trust["alpha_nominal"]["value"] is not None
    assert "items" in trust["alpha_nominal"]["interval"]
    assert agreed["fleiss_kappa"]["value"] is not None
    assert "does not say who" in agreed["cohen_kappa"]["why_missing"]
    assert trust["ceiling"]["accuracy"]["value"] is not None
    assert summary_of(result)["counts"]["answers_of_unknown_raters"] == len(rows)
    assert result.raters.height == 0


@pytest.mark.slow
def test_ties_and_the_number_of_ratings_are_said_without_inventing_raters() -> None:
    """Eight clear items with twelve votes, eight with six that are tied: counts depend on the answers, and nobody is known."""
    votes = {f"a{i}": "joyful" for i in range(8)} | {f"b{i}": "calm" for i in range(8)}
    rows = [(None, item, "emotion", 0.0 if k < 11 else 1.0) for item in votes if item[0] == "a" for k in range(12)]
    rows += [(None, item, "emotion", float(2 + k % 2)) for item in votes if item[0] == "b" for k in range(6)]
    table = pl.DataFrame({"stimulus": list(votes)})
    verdict = " ".join(summary_of(analyze(snapshot("categories", table, rows), QUICK))["verdict"])
    assert mentions(verdict, "8 of 16 labels", "missing", "answers")
    assert "How many ratings a stimulus has depends on its answers" in verdict
    assert "within raters" not in verdict
    assert "within cells" not in verdict


@pytest.mark.slow
def test_numbers_of_unknown_raters_have_a_one_way_reliability() -> None:
    table = stimuli(24)
    rows = [(None, *row[1:]) for row in answers("opinion", table)]
    trust = summary_of(analyze(snapshot("opinion", table, rows), QUICK))["reliability"]["quality"]
    assert trust["icc1"]["value"] is not None
    assert "does not say who" in trust["icc2"]["why_missing"]
    assert "does not say who" in trust["variance_components"]["rater"]["why_missing"]
    assert trust["ceiling"]["correlation"]["value"] is not None
