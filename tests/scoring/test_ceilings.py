"""Scores beside their ceiling: who knows the truth reaches it, and no more."""

from __future__ import annotations

import polars as pl
import pytest

from heartfelt.labels import LabelOptions, freeze
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.results.metrics import METRICS
from heartfelt.snapshot import Snapshot
from heartfelt.stats.ceilings.noise_ceiling import ceiling
from tests.facts import mentions
from tests.scoring import made

SOURCE = "planted truth; for the metrics made of another's ceiling, the formula for normal labels"


def scored(seed: int) -> Scores:
    snapshot, truth = made.numbers(per_cell=5, raters=4, noise=1.2, seed=seed)
    rows = [{"stimulus": name, "question": "valence", "value": value} for name, value in truth.items()]
    return score(snapshot, made.predictions("truth", rows), ScoreOptions(resamples=200, slices=(), seed=seed))


@pytest.mark.slow
def test_the_truth_reaches_the_ceiling() -> None:
    holds: dict[str, int] = dict.fromkeys(("pearson", "rmse", "mse", "mae", "ccc", "kendall", "within"), 0)
    shares = []
    for seed in range(12):
        result = scored(seed)
        for name in holds:
            level = "within cells" if name == "within" else "item"
            each = result.find("valence", "truth", "pearson" if name == "within" else name, level)
            assert each is not None
            low, high = each.of_ceiling.low, each.of_ceiling.high
            holds[name] += low is not None and high is not None and low <= 1 <= high
            if name == "pearson":
                shares.append(float(each.of_ceiling))
    assert min(holds.values()) >= 10, holds
    assert sum(shares) / len(shares) == pytest.approx(1.0, abs=0.03)


@pytest.mark.slow
def test_ceilings_of_one_another() -> None:
    result = scored(1)
    ceiling = {score.metric: score.ceiling for score in result.scores if score.aggregation == "item"}
    r = float(ceiling["pearson"])
    assert float(ceiling["ccc"]) == pytest.approx(2 * r**2 / (1 + r**2))
    assert float(ceiling["spearman"]) == r
    assert float(ceiling["mse"]) == pytest.approx(float(ceiling["rmse"]) ** 2)
    assert METRICS["spearman"].note in ceiling["spearman"].method


@pytest.mark.slow
def test_the_truth_reaches_the_ceiling_of_two_sides() -> None:
    shares = []
    for seed in range(3):
        snapshot, chance = made.chances(stimuli=150, seed=seed)
        rows = [{"stimulus": s, "question": "match", "value": float(p > 0.5)} for s, p in chance.items()]
        result = score(snapshot, made.predictions("truth", rows), ScoreOptions(resamples=200, slices=()))
        each = result.find("match", "truth")
        assert each is not None
        assert each.ceiling.value is not None
        shares.append(float(each.of_ceiling))
    # Shares of the way from chance (.5) to the ceiling: twice as far off as the scores themselves.
    assert sum(shares) / len(shares) == pytest.approx(1.0, abs=0.12)


@pytest.mark.slow
def test_where_there_is_no_ceiling_there_is_a_reason() -> None:
    snapshot, truth = made.numbers(per_cell=2)
    rows = made.predictions("truth", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()])
    result = score(freeze(snapshot, LabelOptions(method="median")), rows, ScoreOptions(resamples=200))
    each = result.find("valence", "truth")
    assert each is not None
    assert mentions(each.ceiling.why_missing, "ceiling", "labels", "'median'")
    assert each.of_ceiling.why_missing == each.ceiling.why_missing
    by_system = result.find("valence", "truth", aggregation="system")
    assert by_system is not None
    assert mentions(by_system.ceiling.why_missing, "ceiling", "system", "means")
    assert any("ceilings of mean labels" in note for note in result.notes)


@pytest.mark.slow
def test_labels_with_standard_errors_have_a_ceiling_without_single_ratings() -> None:
    """A frozen benchmark, and published means, have nearly the ceiling that the ratings themselves give."""
    snapshot, truth = made.numbers(per_cell=6, raters=8)
    rows = made.predictions("truth", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()])
    means = snapshot.ratings.group_by("stimulus", "question", maintain_order=True).agg(
        pl.mean("value").alias("mean"), pl.std("value").alias("sd"), pl.len().cast(pl.Int64).alias("n")
    )
    bare = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, means=means)
    options = ScoreOptions(resamples=200, slices=())
    for metric in ("pearson", "rmse", "mae"):
        whole, frozen, published = (
            score(source, rows, options).find("valence", "truth", metric)
            for source in (snapshot, freeze(snapshot), bare)
        )
        assert whole is not None
        assert frozen is not None
        assert published is not None
        assert float(frozen.ceiling) == pytest.approx(float(whole.ceiling), rel=0.05)
        assert published.ceiling.value == pytest.approx(float(frozen.ceiling))
        assert published.ceiling.low is not None
        assert published.of_ceiling.value is not None
    without = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, means=means.drop("sd"))
    gone = score(without, rows, options).find("valence", "truth")
    assert gone is not None
    assert "without spread" in str(gone.ceiling.why_missing)


@pytest.mark.slow
def test_tied_items_count_for_the_vote_model_but_not_for_the_score() -> None:
    """Leaving tied items out of the votes would make items look clearer than they are."""
    snapshot, chance = made.chances(stimuli=300, seed=4)
    rows = [{"stimulus": s, "question": "match", "value": float(p > 0.5)} for s, p in chance.items()]
    result = score(snapshot, made.predictions("truth", rows), ScoreOptions(resamples=200, slices=()))
    each = result.find("match", "truth", "accuracy")
    assert each is not None
    ratings = snapshot.ratings
    direct = ceiling(ratings["rater"], ratings["stimulus"], ratings["value"], metric="accuracy")
    smooth, headline = (
        result.smooth_ceiling("match"),
        ceiling(ratings["rater"], ratings["stimulus"], ratings["value"], metric="balanced_accuracy"),
    )
    assert smooth is not None
    assert headline.smooth is not None
    assert (smooth.value, smooth.low, smooth.high) == (headline.smooth.value, headline.smooth.low, headline.smooth.high)
    assert float(each.ceiling) == pytest.approx(float(direct.overall), abs=1e-9)
    assert each.ceiling.counts["labels"] <= each.ceiling.counts["items"]


def test_a_part_of_a_benchmark_is_scored_alone() -> None:
    snapshot, truth = made.numbers(per_cell=3)
    rows = made.predictions("truth", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()])
    frozen = freeze(snapshot)
    result = score(frozen, rows, ScoreOptions(resamples=200, part="test"))
    assert result.coverage["truth"]["valence"].items == frozen.part("test").height
    assert any("left out" in note for note in result.notes)
    assert set(result.rows["stimulus"]) == set(frozen.part("test")["stimulus"])
    assert isinstance(result.table(), pl.DataFrame)
