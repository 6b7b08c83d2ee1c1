"""Yes and no, categories, degrees and texts against scikit-learn and SciPy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import buckets
from heartfelt.scoring import ScoreOptions, Scores, score
from heartfelt.scoring.results.details import BinaryDetails, NoCalibration
from heartfelt.scoring.tasks.binary import best_threshold
from heartfelt.snapshot import Snapshot
from heartfelt.stats.prediction.probability import Calibration
from tests.lazily import Lazily
from tests.scoring import made

metrics = Lazily("sklearn.metrics")

SOURCE = "sklearn.metrics, scipy.spatial.distance and scipy.stats on the same pairs"
FEW = ScoreOptions(resamples=300, ceilings=False)


def number(scores: Scores, task: str, metric: str, at: str | None = None, model: str = "m") -> float:
    result = scores.find(task, model, metric, at=at)
    assert result is not None
    return float(result.estimate)


@pytest.fixture(scope="module")
def rows(snapshot: Snapshot) -> pl.DataFrame:
    held = buckets(snapshot).table.filter(pl.col("majority_present").is_not_null())
    draw = np.random.default_rng(1)
    score = 0.25 * held["majority_present"].to_numpy() + draw.normal(0.1, 0.15, held.height)
    return held.select("stimulus", "question", "majority_present").with_columns(pl.Series("score", score))


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return made.presence(raters=4)[0]


@pytest.fixture(scope="module")
def scores(snapshot: Snapshot, rows: pl.DataFrame) -> Scores:
    return score(snapshot, made.predictions("m", rows.select("stimulus", "question", "score").to_dicts()), FEW)


def test_decisions_at_the_fixed_threshold(scores: Scores, rows: pl.DataFrame) -> None:
    y, p = rows["majority_present"].to_numpy(), rows["score"].to_numpy() > 0
    at = "threshold 0"
    assert number(scores, "presence", "balanced_accuracy", at) == pytest.approx(metrics.balanced_accuracy_score(y, p))
    assert number(scores, "presence", "accuracy", at) == pytest.approx(metrics.accuracy_score(y, p))
    assert number(scores, "presence", "precision", at) == pytest.approx(metrics.precision_score(y, p))
    assert number(scores, "presence", "recall", at) == pytest.approx(metrics.recall_score(y, p))
    assert number(scores, "presence", "f1", at) == pytest.approx(metrics.f1_score(y, p))


def test_the_order_of_scores(scores: Scores, rows: pl.DataFrame) -> None:
    y, p = rows["majority_present"].to_numpy(), rows["score"].to_numpy()
    assert number(scores, "presence", "auroc") == pytest.approx(metrics.roc_auc_score(y, p))
    assert number(scores, "presence", "average_precision") == pytest.approx(metrics.average_precision_score(y, p))


def test_items_of_one_stimulus_are_resampled_together(scores: Scores, rows: pl.DataFrame) -> None:
    result = scores.find("presence", "m")
    assert result is not None
    assert result.estimate.counts["clusters"] == rows["stimulus"].n_unique()
    assert result.over_systems.why_missing == "no systems"


def test_tied_items_are_in_no_figure_and_counted(snapshot: Snapshot, scores: Scores) -> None:
    tied = buckets(snapshot).table.filter(pl.col("majority_present").is_null()).height
    assert tied > 0
    assert scores.coverage["m"]["presence"].without_label == tied


def test_ties_can_go_to_the_smaller_label(snapshot: Snapshot) -> None:
    every = buckets(snapshot).table
    rows = [{**r, "score": -1.0} for r in every.select("stimulus", "question").to_dicts()]
    result = score(snapshot, made.predictions("m", rows), ScoreOptions(resamples=300, ties="lowest", ceilings=False))
    share = 1 - every["majority_present"].fill_null(False).sum() / every.height
    assert number(result, "presence", "accuracy") == pytest.approx(share)


@pytest.mark.slow
def test_the_held_out_threshold_does_not_depend_on_where_scores_lie(snapshot: Snapshot, rows: pl.DataFrame) -> None:
    shifted = rows.with_columns(pl.col("score") * 3 + 40).select("stimulus", "question", "score")
    result = score(snapshot, made.predictions("m", shifted.to_dicts()), ScoreOptions(resamples=300, ceilings=False))
    plain = score(
        snapshot,
        made.predictions("m", rows.select("stimulus", "question", "score").to_dicts()),
        ScoreOptions(resamples=300, ceilings=False),
    )
    at = "held-out threshold"
    assert number(result, "presence", "balanced_accuracy", "threshold 0") == 0.5
    assert number(result, "presence", "balanced_accuracy", at) == pytest.approx(
        number(plain, "presence", "balanced_accuracy", at)
    )
    assert number(plain, "presence", "balanced_accuracy", at) > 0.7


def test_a_question_is_a_slice_of_its_pool(scores: Scores) -> None:
    assert {(s.column, s.value) for s in scores.slices} >= {
        ("question", "joy"),
        ("question", "awe"),
        ("bucket", "unanimous_present"),
    }


def test_failures_count_as_wrong(snapshot: Snapshot, rows: pl.DataFrame) -> None:
    messages = [
        {
            "stimulus": r["stimulus"],
            "question": r["question"],
            **({"problem": "no answer"} if k % 5 == 0 else {"score": r["score"]}),
        }
        for k, r in enumerate(rows.to_dicts())
    ]
    result = score(snapshot, made.predictions("m", messages), FEW)
    y = rows["majority_present"].to_numpy()
    p = rows["score"].to_numpy() > 0
    p[::5] = ~y[::5]
    each = result.find("presence", "m")
    assert each is not None
    assert each.with_failures.value == pytest.approx(metrics.balanced_accuracy_score(y, p))
    retained = np.arange(y.size) % 5 != 0
    assert each.estimate.value == pytest.approx(metrics.balanced_accuracy_score(y[retained], p[retained]))
    s = rows["score"].to_numpy().copy()
    s[::5] = np.where(y[::5], s.min() - 5, s.max() + 5)
    area = result.find("presence", "m", "auroc")
    assert area is not None
    assert area.with_failures.value == pytest.approx(metrics.roc_auc_score(y, s))


@pytest.mark.slow
def test_probabilities_are_calibrated_or_there_is_a_reason(
    snapshot: Snapshot, rows: pl.DataFrame, scores: Scores
) -> None:
    none = scores.details["presence"].models["m"]
    assert isinstance(none, BinaryDetails)
    assert none.calibration == NoCalibration(why_missing="the model gives no probabilities")
    chance = 1 / (1 + np.exp(-8 * (rows["score"].to_numpy() - 0.2)))
    messages = [
        {
            "stimulus": r["stimulus"],
            "question": r["question"],
            "shares": made.shares({"no": 1 - c, "weak": c / 2, "strong": c / 2}),
        }
        for r, c in zip(rows.to_dicts(), chance.tolist(), strict=True)
    ]
    frame = made.predictions("m", messages).with_columns(pl.Series("value", (chance > 0.5).astype(float)))
    result = score(snapshot, frame, FEW)
    y = rows["majority_present"].to_numpy()
    assert number(result, "presence", "brier") == pytest.approx(metrics.brier_score_loss(y, chance))
    assert number(result, "presence", "auroc") == pytest.approx(metrics.roc_auc_score(y, chance))
    details = result.details["presence"].models["m"]
    assert isinstance(details, BinaryDetails)
    assert isinstance(details.calibration, Calibration)
    assert sum(bin_.count for bin_ in details.calibration.bins) == rows.height


@pytest.mark.slow
def test_the_best_threshold_is_the_best() -> None:
    draw = np.random.default_rng(2)
    for _ in range(12):
        y = (draw.random(30) < 0.4).astype(float)
        s = np.round(draw.normal(y, 1.0), 1)
        if y.min() == y.max():
            continue
        cut = best_threshold(y, s)
        assert cut is not None
        tried = [metrics.balanced_accuracy_score(y, s > c) for c in (*np.unique(s), s.min() - 1)]
        assert metrics.balanced_accuracy_score(y, s > cut) == pytest.approx(max(tried))
    assert best_threshold(np.ones(4), np.arange(4.0)) is None


@pytest.mark.slow
def test_a_model_that_knows_nothing_gets_no_credit_from_its_held_out_threshold() -> None:
    snapshot, _ = made.presence(stimuli=40)
    held = buckets(snapshot).table.select("stimulus", "question")
    results = []
    for seed in range(30):
        draw = np.random.default_rng(seed)
        frame = held.with_columns(pl.Series("score", draw.normal(size=held.height)))
        options = ScoreOptions(resamples=100, ceilings=False, seed=seed, slices=())
        scores = score(snapshot, made.predictions("m", frame.to_dicts()), options)
        results.append(number(scores, "presence", "balanced_accuracy", "held-out threshold"))
    assert abs(float(np.mean(results)) - 0.5) < 0.03


@pytest.mark.slow
def test_shares_alone_are_enough() -> None:
    snapshot, truth = made.presence(stimuli=30)
    # The likeliest single category is absent, yet present in all is likelier than not.
    messages = {"no": 0.4, "weak": 0.3, "strong": 0.3}
    clear = {"no": 0.9, "weak": 0.05, "strong": 0.05}
    rows = [
        {"stimulus": s, "question": q, "shares": made.shares(messages if value else clear)}
        for (s, q), value in truth.items()
    ]
    result = score(snapshot, made.predictions("m", rows), FEW)
    assert result.coverage["m"]["presence"].answered == result.coverage["m"]["presence"].items
    assert number(result, "presence", "balanced_accuracy") > 0.85
    each = result.find("presence", "m")
    assert each is not None
    assert each.at == "its own answer"


@pytest.mark.slow
def test_a_threshold_that_says_nothing_is_said() -> None:
    snapshot, truth = made.presence(stimuli=30)
    rows = [{"stimulus": s, "question": q, "score": 5 + value} for (s, q), value in truth.items()]
    result = score(snapshot, made.predictions("m", rows), FEW)
    assert number(result, "presence", "balanced_accuracy", "threshold 0") == 0.5
    assert any("lies above the threshold 0" in note for note in result.notes)
    better = score(snapshot, made.predictions("m", rows), ScoreOptions(resamples=200, ceilings=False, threshold=5.5))
    assert number(better, "presence", "balanced_accuracy", "threshold 5.5") > 0.85
    assert not any("threshold" in note for note in better.notes)
