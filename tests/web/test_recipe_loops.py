"""The recipes of comparison methods from an empty folder to the report, with raters whose truth is planted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from heartfelt.analysis.findings.comparisons import ComparisonQuestion
from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.simulation import Clock, CollectionClient, Visit, run_visits, visit
from heartfelt.report import write_analysis
from heartfelt.screening import screen
from heartfelt.simulate import RaterMix, StrengthOptions
from heartfelt.simulate.sessions.judges import JudgeOptions, judges
from heartfelt.simulate.sessions.random_answers import simulated_demographics
from heartfelt.snapshot import Snapshot
from tests.web.rater.studies import small_study

pytestmark = pytest.mark.slow
RATERS = 24


def collected(recipe: str, folder: Path, planted: dict[str, float], mix: RaterMix | None = None) -> Snapshot:
    """The study of a recipe after simulated raters took part, frozen."""
    small_study(recipe, folder, count=1000, design={"stimuli_per_rater": None})
    clock = Clock(1_800_000_000.0)
    done: list[Visit] = []
    with Collection.open(folder, clock=clock, options=CollectOptions(seed=2, durable=False)) as collection:
        options = JudgeOptions(strengths=StrengthOptions(systems=planted, stimulus_sd=0.1))
        about = simulated_demographics(collection.study)
        stimulus_of = {media: stimulus for stimulus, media in collection.media_ids().items()}
        people = judges(collection.opened, stimulus_of, RATERS, mix or RaterMix(), options, about, 2)
        visits = [visit(CollectionClient(collection, rater.name), rater, done.append) for rater in people]
        run_visits(visits, clock, at_once=4)
        coverage = collection.coverage()
        assert coverage.complete == coverage.wanted, "every set has its answers"
        return collection.snapshot()


def only_comparison(analysis: Analysis) -> ComparisonQuestion:
    (comparison,) = analysis.summary.comparisons or ()
    return comparison


def report_of(analysis: Analysis, folder: Path) -> str:
    write_analysis(analysis, folder)
    return (folder / "report.html").read_text(encoding="utf-8")


def test_abx(tmp_path: Path) -> None:
    snapshot = collected("abx", tmp_path / "study", {"original": 0.0, "narrowband": 0.0, "eightbit": 2.0})
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    pairs = {(pair.a, pair.b): pair for pair in only_comparison(analysis).abx}
    everything, easy, hard = (
        pairs[key] for key in (("all", "all"), ("eightbit", "original"), ("narrowband", "original"))
    )
    assert easy.share.counts["answers"] + hard.share.counts["answers"] == everything.share.counts["answers"] == 128
    assert easy.share.interval == "jackknife over raters"
    assert easy.p_corrected is not None
    assert easy.p_corrected < 0.001
    assert hard.p_corrected is not None
    assert hard.p_corrected > 0.01
    assert float(easy.d_prime) > 1.5
    assert "people can tell eightbit and original apart" in " ".join(analysis.summary.verdict).lower()


def test_preference(tmp_path: Path) -> None:
    snapshot = collected("preference", tmp_path / "study", {"Cellar": -1.0, "Parlour": 0.0, "Attic": 1.0})
    comparison = only_comparison(analyze(snapshot, AnalyzeOptions(resamples=100)))
    assert [contestant.name for contestant in comparison.ranked] == ["Attic", "Parlour", "Cellar"]
    assert comparison.model == "Bradley-Terry"
    assert comparison.order is not None
    assert comparison.order.p is not None


def test_dcr(tmp_path: Path) -> None:
    planted = {"original": 4.0, "narrowband": 1.5, "telephone": 0.3, "eightbit": -0.8}
    snapshot = collected("dcr", tmp_path / "study", planted)
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    means = {row.system: row.mean for row in only_comparison(analysis).reference}
    assert sorted(means, key=lambda name: -float(means[name])) == list(planted)
    assert float(means["original"]) > 4.8
    assert all(means[name].low is not None for name in list(planted)[1:])
    assert not screen(snapshot).dropped
    page = report_of(analysis, tmp_path / "report")
    assert "mean (DMOS)" in page
    # Somebody who hears the worst degradation in the reference itself is flagged; one slip is not enough.
    rater = snapshot.raters["rater"][0]
    hidden = (pl.col("role") == "hidden-reference") & (pl.col("rater") == rater)
    ratings = snapshot.ratings
    for slips, flagged in ((1, False), (3, True)):
        slip = hidden & (hidden.cum_sum() <= slips)
        changed = ratings.with_columns(pl.when(slip).then(2.0).otherwise("value").alias("value"))
        flags = screen(
            Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=changed, raters=snapshot.raters)
        ).flags
        rows = flags.filter((pl.col("rule") == "mushra") & (pl.col("rater") == rater))
        assert rows["flagged"].to_list() == [flagged]


def test_ranking(tmp_path: Path) -> None:
    planted = {"Sinewood": 1.5, "Pluckbox": 0.5, "Brassline": -0.5, "Chipling": -1.5}
    snapshot = collected("ranking", tmp_path / "study", planted)
    analysis = analyze(snapshot, AnalyzeOptions(resamples=100))
    comparison = only_comparison(analysis)
    assert comparison.model == "Plackett-Luce"
    assert [contestant.name for contestant in comparison.ranked] == list(planted)
    assert comparison.concordance is not None
    assert 0.2 < float(comparison.concordance.correlation) < 0.9
    assert comparison.concordance.p_value is not None
    assert comparison.concordance.p_value < 0.001
    assert "Kendall&#39;s W of the rankings" in report_of(analysis, tmp_path / "report")
