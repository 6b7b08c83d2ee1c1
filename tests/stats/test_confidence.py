"""An interval has the confidence it claims: exact bounds at 90% and at 95% of every function that takes a confidence.

``EXPECTED`` holds value, bounds at 90% and bounds at 95%. The bounds that have a textbook form or a library are checked
against it in ``test_interval_forms``; the rest were computed once and are held fixed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from heartfelt import stats
from heartfelt.stats.agreement import Interval
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import metric_difference
from heartfelt.stats.texts.text import bleu
from tests.cases import check_all

X = np.array([1.0, 2.0, 2.5, 4.0, 4.5, 5.0, 6.5, 7.0, 8.0, 9.0, 3.0, 6.0])
Y = np.array([1.5, 1.0, 3.5, 3.0, 5.5, 4.5, 6.0, 8.0, 7.0, 9.5, 4.5, 4.0])
Z = np.array([2.0, 3.0, 1.5, 5.0, 3.0, 6.5, 4.0, 8.5, 5.0, 7.0, 4.0, 3.5])
GROUP = np.repeat(["a", "b", "c", "d"], 3)
LABEL = np.array(["x", "y", "z", "x", "y", "z", "x", "y", "x", "y", "x", "z"])
SAID = np.array(["x", "y", "x", "x", "z", "z", "y", "y", "x", "x", "x", "z"])
TRUE = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1])
CALLED = np.array([1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1])
SCORE = np.array([0.9, 0.2, 0.6, 0.55, 0.65, 0.1, 0.8, 0.4, 0.7, 0.3, 0.35, 0.6])
RATER = np.tile(np.arange(4), 6)
ITEM = np.repeat(np.arange(6), 4)
VOTE = np.array([1, 1, 1, 2, 2, 2, 3, 2, 3, 3, 3, 3, 1, 2, 1, 1, 3, 3, 2, 3, 2, 2, 2, 1])


def _alpha(method: str, resample: str, level: str) -> Callable[[float], Any]:
    return lambda c: stats.alpha(
        RATER,
        ITEM,
        VOTE,
        level,
        interval=Interval(method=method, resample=resample, resamples=200, confidence=c),
        seed=3,
    )


CASES: Mapping[str, Callable[[float], Any]] = {
    "pearson": lambda c: stats.pearson(X, Y, confidence=c),
    "spearman": lambda c: stats.spearman(X, Y, confidence=c),
    "kendall": lambda c: stats.kendall(X, Y, confidence=c),
    "ccc": lambda c: stats.ccc(X, Y, confidence=c),
    "mse": lambda c: stats.mse(X, Y, confidence=c),
    "rmse": lambda c: stats.rmse(X, Y, confidence=c),
    "mae": lambda c: stats.mae(X, Y, confidence=c),
    "accuracy": lambda c: stats.accuracy(LABEL, SAID, confidence=c),
    "balanced accuracy": lambda c: stats.balanced_accuracy(LABEL, SAID, confidence=c),
    "macro F1": lambda c: stats.macro_f1(LABEL, SAID, confidence=c),
    "precision": lambda c: stats.precision(TRUE, CALLED, confidence=c),
    "recall": lambda c: stats.recall(TRUE, CALLED, confidence=c),
    "F1": lambda c: stats.f1(TRUE, CALLED, confidence=c),
    "auroc": lambda c: stats.auroc(TRUE, SCORE, confidence=c),
    "average precision": lambda c: stats.average_precision(TRUE, SCORE, confidence=c),
    "quadratic kappa": lambda c: stats.quadratic_kappa(np.round(X), np.round(Y), confidence=c),
    "brier": lambda c: stats.brier(TRUE, SCORE, confidence=c),
    "calibration error": lambda c: stats.calibration(TRUE, SCORE, bins=3, resamples=200, seed=1, confidence=c).error,
    "calibration bin": lambda c: stats.calibration(TRUE, SCORE, bins=3, resamples=100, confidence=c).bins[1].share_true,
    "recall of a category": lambda c: stats.confusion(LABEL, SAID).recall("x", c),
    "bootstrap over both": lambda c: stats.bootstrap("mean", RATER, ITEM, VOTE, resamples=200, seed=2, confidence=c),
    "bootstrap over items": lambda c: stats.bootstrap(
        "mean_of_item_means", RATER, ITEM, VOTE, resample="items", resamples=200, confidence=c
    ),
    "metric, percentile": lambda c: stats.bootstrap_metric(
        "pearson", X, Y, resamples=300, interval="percentile", confidence=c
    ),
    "metric, BCa": lambda c: stats.bootstrap_metric("spearman", X, Y, resamples=300, interval="bca", confidence=c),
    "metric, BCa over clusters": lambda c: stats.bootstrap_metric(
        "rmse", X, Y, resamples=300, group=np.arange(12) // 2, interval="bca", confidence=c
    ),
    "metric, delta fisher": lambda c: stats.bootstrap_metric("ccc", X, Y, interval="delta", confidence=c),
    "metric, delta log": lambda c: stats.bootstrap_metric("mae", X, Y, interval="delta", confidence=c),
    "metric, delta logit": lambda c: stats.bootstrap_metric("macro_f1", LABEL, SAID, interval="delta", confidence=c),
    "difference, BCa": lambda c: stats.bootstrap_difference("mae", X, Y, Z, resamples=300, confidence=c),
    "jackknife over rows": lambda c: stats.jackknife_metric("pearson", X, Y, confidence=c),
    "jackknife over clusters": lambda c: stats.jackknife_metric("rmse", X, Y, group=GROUP, confidence=c),
    "jackknife of a share": lambda c: stats.jackknife_metric("accuracy", LABEL, SAID, confidence=c),
    "difference": lambda c: metric_difference("mae", X, Y, Z, confidence=c).estimate,
    "difference over clusters": lambda c: metric_difference("mae", X, Y, Z, group=GROUP, confidence=c).estimate,
    "difference at another confidence": lambda c: metric_difference("pearson", X, Y, Z, confidence=0.5).at(c),
    "slope": lambda c: stats.shrinkage_slope(Y, X, confidence=c).slope,
    "intercept": lambda c: stats.shrinkage_slope(Y, X, confidence=c).intercept,
    "slope over clusters": lambda c: stats.shrinkage_slope(Y, X, cluster=GROUP, confidence=c).slope,
    "slope, two-way": lambda c: (
        stats.shrinkage_slope(Z, X, cluster={"a": np.arange(12) % 5, "b": np.arange(12) // 3}, confidence=c).slope
    ),
    "alpha, jackknife": _alpha("jackknife", "both", "interval"),
    "alpha, jackknife of items": _alpha("jackknife", "items", "ordinal"),
    "alpha, bootstrap": _alpha("bootstrap", "both", "interval"),
    "alpha, bootstrap of items": _alpha("bootstrap", "items", "nominal"),
    "Fleiss": lambda c: stats.fleiss_kappa(RATER, ITEM, VOTE, interval=Interval(confidence=c)),
    "Gwet's AC1": lambda c: stats.gwet_ac1(RATER, ITEM, VOTE, interval=Interval(confidence=c)),
    "Gwet's AC2": lambda c: stats.gwet_ac2(RATER, ITEM, VOTE, interval=Interval(confidence=c)),
    "unanimous": lambda c: stats.exact_agreement(RATER, ITEM, VOTE, interval=Interval(confidence=c)).unanimous,
    "no item unanimous": lambda c: (
        stats.exact_agreement(RATER, ITEM, np.tile([1, 2, 1, 1], 6), interval=Interval(confidence=c)).unanimous
    ),
    "pairs of votes": lambda c: stats.exact_agreement(RATER, ITEM, VOTE, interval=Interval(confidence=c)).pairwise,
    "leave one out": lambda c: stats.leave_one_out(RATER, ITEM, VOTE, interval=Interval(confidence=c)).accuracy,
    "prior": lambda c: (
        stats.prior_against_majority(
            RATER, ITEM, VOTE, {0: 1, 1: 2, 2: 3, 3: 2, 4: 3, 5: 2}, interval=Interval(confidence=c)
        ).balanced_accuracy
    ),
    "pairwise accuracy": lambda c: stats.pairwise_accuracy(RATER, ITEM, VOTE, interval=Interval(confidence=c)).mean,
    "pooled accuracy": lambda c: (
        stats.pairwise_balanced_accuracy(RATER, ITEM, VOTE, interval=Interval(confidence=c)).pooled
    ),
    "kappa": lambda c: (
        stats.cohen_kappa(
            np.tile(np.arange(3), 12),
            np.repeat(np.arange(12), 3),
            np.tile(VOTE, 2)[:36],
            interval=Interval(confidence=c),
        ).weighted
    ),
    "mean": lambda c: stats.mean(RATER, ITEM, VOTE).estimate(1, c),
    "median": lambda c: stats.median(np.tile(np.arange(8), 2), np.repeat([0, 1], 8), X[np.arange(16) % 12]).estimate(
        0, c
    ),
    "P.910": lambda c: stats.p910(np.tile(np.arange(6), 4), np.repeat(np.arange(4), 6), VOTE, shrinkage=True).estimate(
        1, c
    ),
    "P.913": lambda c: stats.p913(RATER, ITEM, VOTE).estimate(1, c),
    "BT.500": lambda c: stats.bt500(RATER, ITEM, VOTE).estimate(1, c),
    "BLEU": lambda c: bleu(
        ["a b c d", "a c d b", "x y z a", "b c"],
        [["a b c d"], ["a c b d"], ["x y z b", "x y a"], ["b c d"]],
        order=2,
        resamples=200,
        confidence=c,
    ),
}

Bounds = tuple[float, float]
EXPECTED: Mapping[str, tuple[float, Bounds, Bounds]] = {
    "pearson": (0.9047008221, (0.7394410464, 0.9671253962), (0.6880315714, 0.9732710782)),
    "spearman": (0.9001765118, (0.6768165289, 0.9717661948), (0.603545852, 0.9779212237)),
    "kendall": (0.7481134003, (0.4728872225, 0.8903331845), (0.3887424832, 0.9099090595)),
    "ccc": (0.9045045045, (0.7225199269, 0.9692646402), (0.6370629955, 0.9775731406)),
    "mse": (1.104166667, (0.4899553065, 2.488357635), (0.3494024215, 3.489340522)),
    "rmse": (1.050793351, (0.6999680753, 1.577452895), (0.5911027166, 1.867977656)),
    "mae": (0.9583333333, (0.7193389565, 1.276731601), (0.6622413462, 1.386809783)),
    "accuracy": (0.6666666667, (0.4314916133, 0.8405146551), (0.3906220889, 0.8618799089)),
    "balanced accuracy": (0.6555555556, (0.4435388143, 0.8007208659), (0.4167318069, 0.8130332408)),
    "macro F1": (0.6551226551, (0.3955812247, 0.8464699578), (0.3479548002, 0.8711660897)),
    "precision": (0.8333333333, (0.4975829159, 0.9618944299), (0.4364971778, 0.9699466303)),
    "recall": (0.7142857143, (0.4086675455, 0.9004341564), (0.3589344518, 0.917781076)),
    "F1": (0.7692307692, (0.5163110514, 0.9123504932), (0.4683043085, 0.926552416)),
    "auroc": (0.8571428571, (0.5296695106, 0.9696665536), (0.4497517729, 0.9777995607)),
    "average precision": (0.9002267574, (0.5129380667, 0.9872290557), (0.3942875286, 0.9920674637)),
    "quadratic kappa": (0.8606271777, (0.6377638633, 0.9505180337), (0.5469412956, 0.962403694)),
    "brier": (0.150625, (0.07694859649, 0.2243014035), (0.06032930337, 0.2409206966)),
    "calibration error": (0.1708333333, (0.0, 0.2460416667), (0.0, 0.2544791667)),
    "calibration bin": (0.6666666667, (0.347014767, 0.8827239059), (0.2999933151, 0.9032285889)),
    "recall of a category": (0.8, (0.4352925534, 0.9540375461), (0.3755346298, 0.9637758914)),
    "bootstrap over both": (2.041666667, (1.583333333, 2.545833333), (1.540625, 2.666666667)),
    "bootstrap over items": (2.041666667, (1.583333333, 2.54375), (1.58125, 2.625)),
    "metric, percentile": (0.9047008221, (0.7624601939, 0.9607216796), (0.7164855636, 0.9679557642)),
    "metric, BCa": (0.9001765118, (0.7010841746, 0.978155149), (0.6148880935, 0.9838220454)),
    "metric, BCa over clusters": (1.050793351, (0.8291561976, 1.525040167), (0.8291561976, 1.534329387)),
    "metric, delta fisher": (0.9045045045, (0.7916297229, 0.9576790176), (0.759568151, 0.9638650464)),
    "metric, delta log": (0.9583333333, (0.7667412518, 1.197800139), (0.7346686931, 1.250091077)),
    "metric, delta logit": (0.6551226551, (0.3955812247, 0.8464699578), (0.3479548002, 0.8711660897)),
    "difference, BCa": (-0.6666666667, (-1.041666667, -0.3333333333), (-1.162022723, -0.25)),
    "jackknife over rows": (0.9047008221, (0.718148174, 0.9699380532), (0.6306844239, 0.978134825)),
    "jackknife over clusters": (1.050793351, (0.5314339219, 2.077712056), (0.3473336062, 3.178980228)),
    "jackknife of a share": (0.6666666667, (0.4012586886, 0.8564998019), (0.350115131, 0.8813030074)),
    "difference": (-0.6666666667, (-1.085122972, -0.2482103614), (-1.179514767, -0.1538185661)),
    "difference over clusters": (-0.6666666667, (-1.346024173, 0.01269083963), (-1.585359782, 0.2520264489)),
    "difference at another confidence": (0.1915668202, (0.05108421113, 0.3320494294), (0.01939534539, 0.3637382951)),
    "slope": (0.9152233364, (0.6654025517, 1.165044121), (0.6081075646, 1.222339108)),
    "intercept": (0.3716195685, (-0.9506907733, 1.69392991), (-1.253955187, 1.997194324)),
    "slope over clusters": (0.9152233364, (0.8453377488, 0.9851089239), (0.8119486115, 1.018498061)),
    "slope, two-way": (0.5961713765, (0.2106639536, 0.9816787994), (0.07485084624, 1.117491907)),
    "alpha, jackknife": (0.6796657382, (0.2868201768, 0.8933363414), (0.1780602983, 0.9219038132)),
    "alpha, jackknife of items": (0.6838439542, (0.3143613894, 0.8733957307), (0.182454537, 0.9029704787)),
    "alpha, bootstrap": (0.6796657382, (0.148779661, 0.9086654746), (0.01092907093, 1.0)),
    "alpha, bootstrap of items": (0.3979057592, (0.1350855163, 0.5642801472), (0.07795758929, 0.6141466383)),
    "Fleiss": (0.3717277487, (0.01537009084, 0.7073523507), (-0.0557030933, 0.7696728241)),
    "Gwet's AC1": (0.3766233766, (0.09200075946, 0.6043528151), (0.01812395336, 0.6493142323)),
    "Gwet's AC2": (0.6282911719, (0.4215660057, 0.7729361805), (0.3661866622, 0.7980298537)),
    "unanimous": (0.1666666667, (0.005076510552, 0.8868705095), (0.0008106046371, 0.9801216085)),
    "no item unanimous": (0.0, (0.0, 0.3107839813), (0.0, 0.3903342879)),
    "pairs of votes": (0.5833333333, (0.3292232499, 0.7997359318), (0.2249422496, 0.8710234524)),
    "leave one out": (0.7916666667, (0.0814332768, 0.9938980891), (0.02390434144, 0.9983069052)),
    "prior": (0.8333333333, (0.4344834278, 0.9701844929), (0.3143287137, 0.9819931991)),
    "pairwise accuracy": (0.5833333333, (0.3658107411, 0.7726219483), (0.3130408611, 0.8113621645)),
    "pooled accuracy": (0.5886243386, (0.2648588747, 0.8503600906), (0.1909219743, 0.8966545366)),
    "kappa": (0.5042517007, (0.08832436249, 0.7704472794), (-0.01075149889, 0.8078242206)),
    "mean": (2.25, (1.661659141, 2.838340859), (1.454388424, 3.045611576)),
    "median": (4.25, (2.0, 6.5), (1.0, 7.0)),
    "P.910": (2.833333333, (2.328678972, 3.337987695), (2.219748386, 3.44691828)),
    "P.913": (2.25, (1.5552483, 2.9447517), (1.310489362, 3.189510638)),
    "BT.500": (2.25, (1.661659141, 2.838340859), (1.454388424, 3.045611576)),
    "BLEU": (0.77898301, (0.6048755443, 0.9128709292), (0.5888558057, 0.9584914301)),
}


@check_all("name", CASES)
def test_bounds_are_those_of_the_confidence_asked_for_and_wider_for_more(name: str) -> None:
    value, at_90, at_95 = EXPECTED[name]
    for confidence, bounds in ((0.9, at_90), (0.95, at_95)):
        result = CASES[name](confidence)
        assert result.confidence == confidence
        assert (result.value, result.low, result.high) == pytest.approx((value, *bounds), rel=1e-6, abs=1e-9)
    narrow, wide = (CASES[name](confidence) for confidence in (0.8, 0.99))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


def test_an_estimate_is_written_with_its_bounds_or_the_reason_it_has_none() -> None:
    bounded = Estimate(value=0.5, low=0.4, high=0.6, why_no_interval="left over")
    assert "why_no_interval" not in bounded.to_json()
    assert Estimate(value=0.5, why_no_interval="one item").to_json()["why_no_interval"] == "one item"
    assert f"{bounded:.2f}" == "0.50 [0.40, 0.60]"
    assert f"{Estimate(value=0.5, low=0.4):.2f}" == f"{Estimate(value=0.5, high=0.6):.2f}" == "0.50"


def test_an_estimate_survives_pickling() -> None:
    before = Estimate(value=0.5, low=0.4, high=0.6, method="m", interval="i", confidence=0.9, counts={"items": 3})
    after = pickle.loads(pickle.dumps(before))
    assert after == before
    assert dict(after.counts) == {"items": 3}


def test_an_estimate_without_an_interval_has_the_reason() -> None:
    bounded = Estimate(value=0.5, method="m").with_interval(0.4, 0.6, "Fisher z")
    bare = bounded.without_interval("a single item")
    assert (bare.value, bare.low, bare.high, bare.interval) == (0.5, None, None, "")
    assert bare.why_no_interval == "a single item"
