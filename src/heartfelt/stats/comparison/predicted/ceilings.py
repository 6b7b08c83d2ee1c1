"""Ceilings of predictions: the best that can be expected against people's choices and against estimated strengths.

*Choices.* People answer the same pair differently. With q the long-run shares of first, tie and second among the answers to
a pair, the best prediction of one more person's answer knows q and nothing about the person. Its expected scores, averaged
over pairs, are the ceilings (m = q_first + q_tie / 2; the scores are those of ``comparison.prediction``):

| score | of one pair |
|---|---|
| accuracy | max(m, 1 - m) |
| decided accuracy | max(q_first, q_second), over the mean of q_first + q_second |
| outcome accuracy | the largest share |
| majority accuracy | chance that more of ``answers`` people choose the likelier side than the other, over that of any majority |
| log loss | -m log m - (1 - m) log(1 - m), in nats |
| outcome log loss | minus the sum of q log q |
| Brier | m (1 - m) - q_tie / 4 |
| outcome Brier | (1 - the sum of q^2) / 2 |

Shares of a few answers look clearer than q is. So q is not taken from single pairs: how the pairs' q are distributed is
estimated without assuming a shape (:mod:`heartfelt.stats.ceilings.vote_mixture`), and the ceiling is that distribution's.
The bounds are those of profile likelihood, widened where a few raters gave many of the answers.

*Strengths.* Estimated strengths vary by the differences of the contestants and by error. With s2 the variance of the
estimates and e2 the mean error variance (from the covariance of the strengths), the contestants differ by s2 - e2. The
expected correlation of true with estimated strengths is that of estimates drawn anew about strengths of that variance. Its
bounds are quantiles over strengths that fit the estimates: their variance by the noncentral F distribution of s2 / e2, their
shape by normal theory.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._bounds import check_confidence
from heartfelt.stats.ceilings.vote_ceiling import UPPER, UPPER_OF_TWO, critical_value, expected_ratio
from heartfelt.stats.ceilings.vote_mixture import Matrix, Mixture, fit_votes
from heartfelt.stats.ceilings.yardsticks import category_counts
from heartfelt.stats.columns.paired import pairs
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values
from heartfelt.stats.comparison.pairs import as_comparisons, check_choices, judged_sets
from heartfelt.stats.comparison.predicted.prediction import ChoiceScores
from heartfelt.stats.comparison.strengths.models import Strengths
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.metrics import METRICS
from heartfelt.stats.ratings import Ratings
from heartfelt.streams import stream

INTERVAL = "profile likelihood of the mixture over pairs, widened for raters"
RankMetric = Literal["pearson", "spearman", "kendall"]
DRAWS, AGAIN = 120, 20
"""Draws of true strengths, and of estimates of each."""


def choice_ceilings(
    rater: Ids | None,
    first: Ids,
    second: Ids,
    value: Values,
    *,
    stimulus: Ids | None = None,
    answers: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> ChoiceScores:
    """The best expected scores of a prediction of choices; columns as in :func:`bradley_terry`.

    Without raters (None) the bounds take every answer as another person's. ``answers`` is the number of answers per pair that a
    majority is formed of; as many as each pair has unless given.
    """
    check_confidence(confidence)
    if answers is not None and answers < 1:
        raise InputError(f"answers must be at least 1; got {answers}.", "Pass how many people judge a pair.")
    data = as_comparisons(rater, first, second, value, stimulus)
    check_choices(data.value)
    sets = judged_sets(data)
    counts = data.counts | {"pairs": sets.count}
    votes = np.rint(2.0 - 2.0 * sets.value)
    # Without raters every answer is taken as another person's.
    rater_of = np.arange(data.size) if data.rater is None else data.rater
    names = range(data.size) if data.rater is None else data.rater_names
    d = Ratings(rater=rater_of, item=sets.codes, value=votes, raters=names, items=range(sets.count))
    per_pair = d.per_item
    if not data.size or per_pair.max() < 2:
        reason = "no pair was judged twice" if data.size else "there are no comparisons"
        missing = {score: Estimate.missing(reason, f"ceiling, {name}", counts) for score, name in _SCORE_NAMES.items()}
        return ChoiceScores(**missing)
    observed_counts = category_counts(d)
    used = np.flatnonzero(observed_counts.sum(axis=0) > 0)
    # Pairs that are all alike, or quite even, are an edge of what a mixture can say: see ``vote_ceiling``.
    room = UPPER_OF_TWO if used.size < 3 else UPPER
    drop = room * critical_value(d, observed_counts, confidence) / 2.0
    if used.size == 1:
        # A mixture needs two outcomes, of which one never happened.
        used = np.append(used, 0 if used[0] else 2)
    table = np.column_stack([observed_counts, np.zeros((sets.count, 3 - observed_counts.shape[1]))])
    points, mixture = fit_votes(table[:, used], seed)
    shares = np.zeros((points.shape[0], 3))
    shares[:, used] = np.clip(points, 0.0, 1.0)
    sizes = np.array([answers]) if answers else per_pair[per_pair > 0]
    return ChoiceScores(
        **{
            score: _of_mixture(mixture, _SCORE_NAMES[score], top, bottom, drop, counts, confidence)
            for score, (top, bottom) in _expected(shares, sizes).items()
        }
    )


_SCORE_NAMES = {
    "accuracy": "accuracy",
    "decided_accuracy": "decided accuracy",
    "outcome_accuracy": "outcome accuracy",
    "majority_accuracy": "majority accuracy",
    "log_loss": "log loss",
    "outcome_log_loss": "outcome log loss",
    "brier": "Brier score",
    "outcome_brier": "outcome Brier score",
}


def _expected(q: Matrix, sizes: Ints) -> dict[str, tuple[Floats, Floats]]:
    """For each score its sum and what it is divided by, under each distribution of answers."""
    from scipy.special import xlogy

    won, tied, lost = q.T
    m = np.clip(won + tied / 2.0, 0.0, 1.0)
    ones = np.ones(m.size)
    ahead, behind = _majorities(q, sizes)
    return {
        "accuracy": (np.maximum(m, 1.0 - m), ones),
        "decided_accuracy": (np.maximum(won, lost), won + lost),
        "outcome_accuracy": (q.max(axis=1), ones),
        "majority_accuracy": (np.where(won >= lost, ahead, behind), ahead + behind),
        "log_loss": (-xlogy(m, m) - xlogy(1.0 - m, 1.0 - m), ones),
        "outcome_log_loss": (-xlogy(q, q).sum(axis=1), ones),
        "brier": (m * (1.0 - m) - tied / 4.0, ones),
        "outcome_brier": ((1.0 - (q**2).sum(axis=1)) / 2.0, ones),
    }


def _majorities(q: Matrix, sizes: Ints) -> tuple[Floats, Floats]:
    """Chance that more of the answers are for the first than for the second, and the other way round."""
    from scipy.special import bdtr
    from scipy.stats import binom

    ahead, behind = np.zeros(q.shape[0]), np.zeros(q.shape[0])
    decided = np.clip(1.0 - q[:, 1], 0.0, 1.0)
    first = np.clip(np.where(decided > 0, q[:, 0] / np.where(decided > 0, decided, 1.0), 0.5), 0.0, 1.0)
    panels, times = np.unique(sizes, return_counts=True)
    for size, share in zip(panels.tolist(), (times / times.sum()).tolist(), strict=True):
        for count in range(1, size + 1):
            chance = share * binom.pmf(count, size, decided)
            half = count // 2
            ahead += chance * (1.0 - bdtr(half, count, first))
            behind += chance * bdtr(count - half - 1, count, first)
    return ahead, behind


def _of_mixture(
    mixture: Mixture, name: str, top: Floats, bottom: Floats, drop: float, counts: dict[str, int], confidence: float
) -> Estimate:
    method = f"ceiling, {name}: nonparametric mixture of the pairs' shares of answers"
    if float(bottom @ mixture.weights) <= 1e-6:
        return Estimate.missing("every comparison was a tie", method, counts)
    quantity = expected_ratio(top, bottom)
    value = quantity(mixture.spread)[0]
    low, high = (mixture.bound(quantity, drop, side) for side in (-1.0, 1.0))
    estimate = Estimate(value=value, method=method, counts=counts)
    return estimate.with_interval(min(low, value), max(high, value), INTERVAL, confidence)


# --- strengths --------------------------------------------------------------------------------------------------------


def strength_ceiling(
    result: Strengths, metric: RankMetric = "pearson", *, confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """The correlation that the true strengths of these contestants can be expected to have with the estimated ones."""
    check_confidence(confidence)
    if metric not in ("pearson", "spearman", "kendall"):
        raise InputError(f"There is no ceiling of strengths for '{metric}'.", "Choose pearson, spearman or kendall.")
    method = f"ceiling of strengths, {metric}: error variance from the covariance of the strengths"
    size = len(result.core)
    counts = dict(result.counts) | {"contestants": size}
    missing = len(result.names) - size
    counts |= {"left_out_contestants": missing} if missing else {}
    if size < 3:
        return Estimate.missing("fewer than three contestants have a strength", method, counts)
    if result.covariance is None:
        return Estimate.missing("the strengths have no covariance", method, counts)
    values = np.array([float(result.strengths[contestant]) for contestant in result.core])
    values -= values.mean()
    errors = result.covariance.total[:size, :size]
    errors = errors - errors.mean(axis=0) - errors.mean(axis=1)[:, None] + errors.mean()
    noise = float(np.trace(errors)) / (size - 1)
    spread = float(values @ values) / (size - 1)
    if spread <= 0 or noise <= 0:
        reason = "all strengths are equal" if spread <= 0 else "nothing varies between raters"
        return Estimate.missing(reason, method, counts)
    # As many equal error variances as vary like these; the covariance itself is known with so many degrees of freedom.
    free = float(np.trace(errors)) ** 2 / float((errors**2).sum())
    noise_freedom = result.covariance.freedom
    draw = _Strengths(values, errors, metric, stream(seed, "comparison", "strength ceiling"))
    value = draw.correlation(values / math.sqrt(spread), max(spread - noise, 0.0), DRAWS * AGAIN // 4)
    ceilings = [
        draw.correlation(draw.shape(noise * ratio), noise * ratio, AGAIN)
        for ratio in _ratios(spread / noise, free, noise_freedom)
    ]
    tail = (1.0 - confidence) / 2.0
    low, high = (float(bound) for bound in np.quantile(ceilings, [tail, 1.0 - tail]))
    interval = f"draws of strengths, their variance by noncentral F ({free:.3g} and {noise_freedom:.3g} df)"
    estimate = Estimate(value=value, method=method, counts=counts)
    return estimate.with_interval(min(low, value), max(high, value), interval, confidence)


def _ratios(f: float, free: float, noise_freedom: float) -> Floats:
    """Ratios of true variance to error variance that are compatible with the ratio ``f`` of the estimates' variance to it.

    The k-th of n is the bound below which the true ratio lies with confidence k / n.
    """
    from scipy.optimize import brentq

    grid = np.linspace(0.5 / DRAWS, 1.0 - 0.5 / DRAWS, 33)
    bounds = []
    for share in grid.tolist():

        def beyond(ratio: float, share: float = share) -> float:
            return _noncentral_f(f, free, noise_freedom, ratio * free) - (1.0 - share)

        most = 4.0 * (f + 10.0)
        while beyond(most) > 0 and most < 1e12:
            most *= 4.0
        bounds.append(0.0 if beyond(0.0) <= 0 else float(brentq(beyond, 0.0, most)))
    return np.interp((np.arange(DRAWS) + 0.5) / DRAWS, grid, bounds)


def _noncentral_f(f: float, free: float, noise_freedom: float, noncentrality: float) -> float:
    """The distribution function of noncentral F; by Severo and Zelen (1960) where SciPy's series gives out, at large values."""
    from scipy.special import ncfdtr, ndtr

    exact = float(ncfdtr(free, noise_freedom, noncentrality, f))
    if math.isfinite(exact):
        return exact
    spread = 2.0 * (free + 2.0 * noncentrality) / (9.0 * (free + noncentrality) ** 2)
    root = math.cbrt(free * f / (free + noncentrality))
    gap = root * (1.0 - 2.0 / (9.0 * noise_freedom)) - (1.0 - spread)
    return float(ndtr(gap / math.sqrt(spread + 2.0 / (9.0 * noise_freedom) * root**2)))


class _Strengths:
    """Draws true strengths that fit the estimates, and estimates of them."""

    def __init__(self, values: Floats, errors: Matrix, metric: RankMetric, rng: np.random.Generator) -> None:
        variances, self._axes = np.linalg.eigh(errors)
        self._variances = np.maximum(variances, 0.0)
        self._values = values @ self._axes
        self._metric, self._rng = METRICS[metric], rng

    def shape(self, variance: float) -> Floats:
        """True strengths with mean 0 and variance 1, drawn given the estimates and a normal prior of this variance."""
        share = variance / np.maximum(variance + self._variances, 1e-300)
        normal = self._rng.standard_normal(self._values.size)
        truth = self._axes @ (share * self._values + np.sqrt(share * self._variances) * normal)
        truth = truth - truth.mean()
        return np.asarray(truth / max(float(truth.std(ddof=1)), 1e-300))

    def correlation(self, shape: Floats, variance: float, draws: int) -> float:
        """The mean correlation of strengths of this shape and variance with estimates of them."""
        if variance <= 0:
            return 0.0
        truth = math.sqrt(variance) * shape
        noise = self._rng.standard_normal((draws, truth.size)) * np.sqrt(self._variances)
        return float(np.mean([self._metric.value(pairs(truth, truth + error)) for error in noise @ self._axes.T]))
