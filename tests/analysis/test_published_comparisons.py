"""Published comparisons and traces, analysed to the end: their known facts, and figures recomputed another way."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.analysis import AnalyzeOptions, analyze
from tests.facts import mentions

pytestmark = [pytest.mark.data, pytest.mark.slow]
FEW = AnalyzeOptions(resamples=100)


def test_sisec(shared_data: Path) -> None:
    path = shared_data / "sisec08" / "SiSEC08_anonymized.csv"
    made = analyze(heartfelt.read(path), FEW).summary
    (result,) = made.comparisons or ()
    assert result.mushra is not None
    assert (result.trials, result.raters) == (196, 14)
    assert result.mushra.excluded == ()
    table = pl.read_csv(path)
    means = table.group_by("Condition").agg(pl.mean("Ratingscore"), pl.median("Ratingscore").alias("median"))
    expected = {row["Condition"]: row for row in means.iter_rows(named=True)}
    assert len(result.mushra.conditions) == len(expected) == 11
    for condition in result.mushra.conditions:
        assert float(condition.mean) == pytest.approx(expected[condition.name]["Ratingscore"])
        assert condition.median == pytest.approx(expected[condition.name]["median"])
    assert {row.system for row in made.systems or ()} == set(expected) - {"orig", "anchor"}
    assert made.verdict[0].count("Algo22 highest") == made.verdict[0].count("Algo22") == 1
    (flags,) = [text for text in made.verdict if text.startswith("No rater is flagged")]
    assert mentions(flags, "applied", "14 raters")


def test_musav(shared_data: Path) -> None:
    analysis = analyze(heartfelt.read(shared_data / "musav" / "annotations.arousal.all"), FEW)
    (result,) = analysis.summary.comparisons or ()
    assert (result.trials, result.raters, result.contestants) == (6222, 21, ())
    assert "699 groups" in str(result.why_no_strengths)
    assert result.agreement is not None
    assert result.agreement.pairs == analysis.pairs.height == 2085
    several = analysis.pairs.filter(pl.col("n") > 1)
    assert result.agreement.judged_twice == several.height
    counts = several.select(
        same=(pl.col("first_wins") * (pl.col("first_wins") - 1))
        + (pl.col("ties") * (pl.col("ties") - 1))
        + (pl.col("second_wins") * (pl.col("second_wins") - 1)),
        every=pl.col("n") * (pl.col("n") - 1),
    )
    by_pair = (counts["same"] / counts["every"]).mean()
    assert float(result.agreement.two_answers) == pytest.approx(by_pair, abs=0.01)
    assert not analysis.panel.dropped
    # Counted by hand from the file: 1,742 pairs have two or more answers for one song, 193 for a tie.
    assert (result.agreement.with_majority, result.agreement.majority_tie) == (1935, 193)
    first = analysis.summary.verdict_groups.bottom_line
    assert mentions(first, "84% of 2,084 pairs", "stimuli")


def test_vgmidi(shared_data: Path) -> None:
    analysis = analyze(heartfelt.read(shared_data / "vgmidi" / "vgmidi_raw_1.json"), FEW)
    traces = {each.question: each for each in analysis.summary.traces or ()}
    assert set(traces) == {"valence", "arousal"}
    assert sum(len(each.stimuli) for each in traces.values()) == 198
    assert analysis.courses.height == 198
    assert not any(each.timed for each in traces.values())
    odd = {name: (each.constant, each.overlong, each.duplicate) for name, each in traces.items()}
    assert odd == {"valence": (64, 2, 1), "arousal": (68, 2, 0)}  # counted by hand from the file
    assert mentions(analysis.summary.verdict_groups.bottom_line, ".03")
    raters = " ".join(analysis.summary.verdict_groups.raters)
    assert mentions(raters, "1,519 people", "ids")
    assert mentions(raters, "1 of 14 rules", "2 of 1,519 raters")
