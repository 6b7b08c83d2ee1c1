"""Classification measures against scikit-learn, hand counts and simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from heartfelt.errors import InputError
from heartfelt.stats._bounds import wilson
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction import association
from heartfelt.stats.prediction.probability import brier
from tests.cases import check_all
from tests.facts import mentions

SOURCE = "scikit-learn 1.9 metrics; DeLong's variance and Wilson bounds by direct formula"


def _labels(n: int, seed: int, classes: int = 4, right: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.choice(classes, n, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum())
    answer = np.where(rng.random(n) < right, label, rng.integers(0, classes, n))
    return label, answer


@pytest.mark.peer
def test_category_measures_equal_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    label, answer = _labels(300, 1)
    words = np.array(["calm", "dull", "happy", "sad"])
    a, b = words[label], words[answer]
    assert association.accuracy(a, b).value == pytest.approx(metrics.accuracy_score(a, b))
    assert association.balanced_accuracy(a, b).value == pytest.approx(metrics.balanced_accuracy_score(a, b))
    assert association.macro_f1(a, b).value == pytest.approx(metrics.f1_score(a, b, average="macro"))
    for ours, theirs in (
        (association.precision, metrics.precision_score),
        (association.recall, metrics.recall_score),
        (association.f1, metrics.f1_score),
    ):
        assert ours(a, b, positive="sad").value == pytest.approx(theirs(a == "sad", b == "sad"))
    table = association.confusion(a, b)
    assert table.categories == ("calm", "dull", "happy", "sad")
    assert np.array_equal(table.counts, metrics.confusion_matrix(a, b))
    kappa = metrics.cohen_kappa_score(label, answer, weights="quadratic")
    assert association.quadratic_kappa(label, answer).value == pytest.approx(kappa)


@pytest.mark.peer
@pytest.mark.parametrize("tied", [False, True])
def test_score_measures_equal_scikit_learn(tied: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    label = rng.random(200) < 0.3
    score = label + rng.normal(size=200)
    score = np.round(score) if tied else score
    assert association.auroc(label, score).value == pytest.approx(metrics.roc_auc_score(label, score))
    expected = metrics.average_precision_score(label, score)
    assert association.average_precision(label, score).value == pytest.approx(expected)
    probability = 1 / (1 + np.exp(-score))
    expected = metrics.brier_score_loss(label, probability)
    assert brier(label, probability).value == pytest.approx(expected)


def test_delong_by_direct_formula() -> None:
    rng = np.random.default_rng(3)
    up, down = rng.normal(1, 1, 25), rng.normal(0, 1, 40)
    wins = (up[:, None] > down).astype(float)
    variance = wins.mean(axis=1).var(ddof=1) / 25 + wins.mean(axis=0).var(ddof=1) / 40
    area = wins.mean()
    result = association.auroc([1] * 25 + [0] * 40, np.concatenate([up, down]))
    half = 1.959963984540054 * variance**0.5 / (area * (1 - area))
    centre = np.log(area / (1 - area))
    assert result.low == pytest.approx(1 / (1 + np.exp(half - centre)))
    assert result.high == pytest.approx(1 / (1 + np.exp(-half - centre)))


def test_wilson_equals_scipy() -> None:
    for hits, total in ((0, 9), (3, 9), (9, 9), (50, 400)):
        label = np.ones(total, int)
        result = association.accuracy(label, (np.arange(total) < hits).astype(int))
        theirs = stats.binomtest(hits, total).proportion_ci(method="wilson")
        assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def _cover(measure: Callable[[int], Estimate], truth: float, runs: int = 300) -> float:
    hits = 0
    for seed in range(runs):
        result = measure(seed)
        if result.low is not None and result.high is not None:
            hits += result.low <= truth <= result.high
    return hits / runs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["balanced_accuracy", "macro_f1", "quadratic_kappa", "accuracy"])
def test_category_intervals_cover(name: str) -> None:
    measure = getattr(association, name)
    truth = measure(*_labels(400_000, 9)).value
    assert 0.91 <= _cover(lambda seed: measure(*_labels(150, seed)), truth) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auroc", "average_precision"])
def test_score_intervals_cover(name: str) -> None:
    def draw(n: int, seed: int) -> Estimate:
        rng = np.random.default_rng(seed)
        label = rng.random(n) < 0.4
        estimate: Estimate = getattr(association, name)(label, label + rng.normal(size=n))
        return estimate

    truth = draw(400_000, 77).value
    assert truth is not None
    assert 0.91 <= _cover(lambda seed: draw(150, seed), truth) <= 0.985


@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_two_class_intervals_cover(name: str) -> None:
    def draw(n: int, seed: int) -> Estimate:
        rng = np.random.default_rng(seed)
        label = rng.random(n) < 0.3
        answer = np.where(rng.random(n) < 0.8, label, ~label)
        estimate: Estimate = getattr(association, name)(label, answer)
        return estimate

    truth = draw(400_000, 5).value
    assert truth is not None
    assert 0.91 <= _cover(lambda seed: draw(120, seed), truth) <= 0.985


def test_quadratic_kappa_keeps_the_distance_of_unused_categories() -> None:
    # Hand: squared differences 0 0 9 over the independent expectation, values 1, 2 and 5.
    label, answer = [1, 2, 5], [1, 2, 2]
    observed = 9 / 3
    expected = np.mean([(a - b) ** 2 for a in label for b in answer])
    assert association.quadratic_kappa(label, answer).value == pytest.approx(1 - observed / expected)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: association.accuracy([], []), "no pairs"),
        (lambda: association.balanced_accuracy([None], ["a"]), "no pairs"),
        (lambda: association.macro_f1([], []), "no pairs"),
        (lambda: association.precision([1, 0], [0, 0]), "nothing was predicted positive"),
        (lambda: association.recall([0, 0], [1, 0]), "no label is positive"),
        (lambda: association.f1([0, 0], [0, 0]), "nothing is positive"),
        (lambda: association.auroc([1, 1], [0.1, 0.2]), "no label is negative"),
        (lambda: association.average_precision([0, 0], [0.1, 0.2]), "no label is positive"),
        (lambda: association.auroc([], []), "no pairs"),
        (lambda: brier([1], [0.5]), "at least 2"),
        (lambda: association.quadratic_kappa([2, 2, 2], [2, 2, 2]), "neither column varies"),
    ],
)
def test_degenerate_input_gives_a_reason(call: Callable[[], Estimate], why: str) -> None:
    result = call()
    assert result.is_missing
    assert why in (result.why_missing or "")


def test_perfect_prediction_still_has_a_value() -> None:
    label = [0, 0, 1, 1]
    assert association.auroc(label, [1, 2, 3, 4]).value == 1.0
    assert mentions(association.auroc(label, [1, 2, 3, 4]).why_no_interval, "classes", "overlap")
    assert association.macro_f1(label, label).value == 1.0
    assert association.macro_f1(label, label).low is None
    low = association.balanced_accuracy(label, label).low
    assert low is not None
    assert low < 1


def test_a_class_that_is_only_predicted_counts_for_f1_not_for_recall() -> None:
    label, answer = ["a", "a", "b"], ["a", "c", "b"]
    assert association.balanced_accuracy(label, answer).value == pytest.approx((0.5 + 1) / 2)
    assert association.macro_f1(label, answer).value == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_confusion_leaves_out_and_counts_missing_entries() -> None:
    table = association.confusion(["a", None, "b", "b"], ["a", "a", "a", "b"])
    assert table.matrix == ((1, 0), (1, 1))
    assert table.left_out == 1
    assert table.accuracy.value == pytest.approx(2 / 3)
    assert table.recall("b").value == 0.5
    assert [list(row) for row in table.matrix] == [[1, 0], [1, 1]]


def test_misuse_is_refused_with_a_fix() -> None:
    with pytest.raises(InputError, match="different kinds"):
        association.accuracy(["1", "2"], [1, 2])
    with pytest.raises(InputError, match="Two-class labels"):
        association.auroc([1, 2, 3], [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="between 0 and 1"):
        brier([0, 1], [0.2, 1.4])


NAMES = (
    *("pearson", "spearman", "kendall", "ccc", "mse", "mae", "rmse", "accuracy", "balanced_accuracy", "macro_f1"),
    *("precision", "recall", "f1", "auroc", "average_precision", "quadratic_kappa"),
)


@check_all("name", NAMES)
def test_intervals_have_95_percent_unless_another_confidence_is_asked_for(name: str) -> None:
    x, y = np.array([0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0]), np.array([0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1])
    measure = getattr(association, name)
    usual, narrow = measure(x, y), measure(x, y, confidence=0.8)
    assert (usual.confidence, narrow.confidence) == (0.95, 0.8)
    assert usual.low < narrow.low < narrow.high < usual.high


def test_the_positive_category_may_be_named() -> None:
    label, answer = ["yes", "no", "yes", "no"], ["yes", "yes", "yes", "no"]
    assert association.precision(label, answer, positive="yes").value == pytest.approx(2 / 3)
    assert association.recall(label, answer, positive="no").value == 0.5
    assert association.f1(label, answer, positive="yes").value == pytest.approx(0.8)
    assert association.auroc(label, [0.9, 0.2, 0.8, 0.1], positive="yes").value == 1.0
    assert association.average_precision(label, [0.1, 0.8, 0.2, 0.9], positive="no").value == 1.0


def test_the_recall_of_a_category_needs_a_label() -> None:
    table = association.confusion(["a", "b", "b"], ["c", "b", "a"])
    assert (table.recall("a").value, table.recall("b").value) == (0.0, 0.5)
    assert table.recall("a").counts == {"pairs": 1}
    assert table.recall("c").why_missing == "no label is 'c'"
    assert table.recall("b").low == pytest.approx(wilson(1, 2, 0.95)[0])


def test_a_class_without_labels_has_no_share_in_the_interval() -> None:
    label, answer = [0, 0, 0, 1, 1, 1], [0, 0, 2, 1, 1, 1]
    assert association.balanced_accuracy(label, answer).counts["classes"] == 2
    ends = [wilson(2, 3, 0.95), wilson(3, 3, 0.95)]
    low = 5 / 6 - np.hypot(2 / 3 - ends[0][0], 1 - ends[1][0]) / 2
    assert association.balanced_accuracy(label, answer).low == pytest.approx(low)


def test_units_needed_are_for_80_percent_power() -> None:
    x = np.arange(12.0)
    result = association.metric_difference("mae", x, x + np.tile([1.0, 2.0, 4.0], 4), x + np.tile([2.0, 1.5], 6))
    assert result.needed().method == "units for 80% power at alpha 0.05"
    assert result.needed() == result.needed(0.05, 0.8)
