"""Agreement of two raters at a time, over all pairs that share items: Cohen's kappa, accuracy and balanced accuracy.

Every pair of raters that shares an item is one row of a table: who, how many shared items, the value or the reason why there is
none. The headline is the plain mean over pairs with a value; next to it the mean weighted by shared items. A pair without a
value is missing: it is never counted as disagreement. Raters who share nothing are not a pair, and cost nothing.

Kappa is ``1 - observed / expected`` disagreement on the shared items, with chance from each rater's own habits. Range -1 to 1.
Weights ``"linear"`` and ``"quadratic"`` count by distance: between numbers by value, between words by their place in
``categories``. It is undefined when both gave one and the same category throughout. On a single shared item kappa is either
undefined or 0, so pairs with fewer than ``at_least`` shared items (2 by default) are missing, with that reason. Even so, kappa
of few items leans towards 0; where pairs share fewer than ten at the median, the mean has no interval, and Fleiss' kappa or
alpha says more. Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968. The mean over pairs: Light,
Measures of response agreement for qualitative data, 1971.

Accuracy of a pair is the share of shared items on which the two agree: the same whichever is taken as the truth. Balanced
accuracy is the mean, over the categories used by the rater taken as the truth, of the share on which the other agrees; the two
directions are averaged. Both lie between 0 and 1. ``pooled`` compares all ordered pairs of votes at once, each vote in turn
taken as the truth, which stays meaningful where pairs share few items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.representation import ShortRepr
from heartfelt.stats.agreement.grouped import Grouped, Prior, grouped
from heartfelt.stats.agreement.interval import Interval, leave_out, wanted, with_bounds
from heartfelt.stats.agreement.votes import share
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate

SHARED_FOR_INTERVAL = 10
_REASONS = {1: "too few shared items", 2: "both gave one and the same category to every shared item"}


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PairTable(ShortRepr):
    """One row per pair of raters that shares an item; ``value`` is NaN exactly where ``why`` is not 0."""

    raters: Sequence[Any]
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    n_shared: npt.NDArray[np.int32]
    value: Floats
    why: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return int(self.first.size)

    @property
    def rater_a(self) -> list[Any]:
        return [self.raters[at] for at in self.first.tolist()]

    @property
    def rater_b(self) -> list[Any]:
        return [self.raters[at] for at in self.second.tolist()]

    @property
    def why_missing(self) -> list[str | None]:
        """Why a pair has no value, None where it has one."""
        return [_REASONS.get(at) for at in self.why.tolist()]

    def to_json(self) -> list[dict[str, Any]]:
        """Rows for strict JSON: ``null`` and a reason where there is no value."""
        shared, values = self.n_shared.tolist(), self.value.tolist()
        return [
            {"rater_a": a, "rater_b": b, "n_shared": n}
            | ({"value": value} if reason is None else {"value": None, "why_missing": reason})
            for a, b, n, value, reason in zip(self.rater_a, self.rater_b, shared, values, self.why_missing, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RaterPairAgreement:
    """Agreement over pairs of raters: plain ``mean``, mean ``weighted`` by shared items, and the ``pairs``.

    ``pooled``, where it is given, is over all ordered pairs of votes at once. As JSON it comes without the table of pairs.
    """

    mean: Estimate
    weighted: Estimate
    pairs: PairTable = field(metadata={"skip": True})
    pooled: Estimate | None = field(default=None, metadata={"omit": True})


def cohen_kappa(
    rater: Any,
    item: Any,
    value: Any,
    weights: str | None = None,
    *,
    categories: Sequence[Any] | None = None,
    at_least: int = 2,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> RaterPairAgreement:
    """Cohen's kappa of every pair of raters that shares items, and its mean."""
    if weights not in (None, "linear", "quadratic"):
        raise InputError(f"Kappa has no weights called {weights!r}.", "Use None, 'linear' or 'quadratic'.")
    from heartfelt.stats.agreement.kernels import _kernels_pairs as kernels

    votes = _pair_votes(rater, item, value, prior, categories)
    kinds = {None: kernels.KAPPA, "linear": kernels.KAPPA_LINEAR, "quadratic": kernels.KAPPA_QUADRATIC}
    name = "Cohen's kappa" if weights is None else f"Cohen's kappa, {weights} weights"
    scores = np.arange(votes.named.count, dtype=np.float64)
    if weights is not None:
        scores = votes.named.scores()
        scores = scores - scores.mean() if scores.size else scores
    # On one shared item kappa is 0 or undefined, whatever the two answered.
    fewest = max(at_least, 2) if at_least >= 1 else at_least
    plan = wanted(interval, None, "jackknife")
    return _over_pairs(votes, kinds[weights], scores, name, fewest, plan, "coefficient", SHARED_FOR_INTERVAL)


def pairwise_accuracy(
    rater: Any,
    item: Any,
    value: Any,
    *,
    at_least: int = 1,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> RaterPairAgreement:
    """The share of shared items on which two raters agree, for every pair that shares any; their mean."""
    return _accuracy(_pair_votes(rater, item, value, prior), at_least, interval, balanced=False)


def pairwise_balanced_accuracy(
    rater: Any,
    item: Any,
    value: Any,
    *,
    at_least: int = 1,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> RaterPairAgreement:
    """Balanced accuracy of two raters, either taken as the truth, for every pair; their mean."""
    return _accuracy(_pair_votes(rater, item, value, prior), at_least, interval, balanced=True)


def _accuracy(votes: Grouped, at_least: int, interval: str | Interval | None, balanced: bool) -> RaterPairAgreement:
    from heartfelt.stats.agreement.kernels._kernels_pairs import ACCURACY, BALANCED
    from heartfelt.stats.agreement.kernels._kernels_votes import POOLED_PAIRS

    plan = wanted(interval, None, "jackknife")
    name = "balanced accuracy" if balanced else "accuracy"
    scores = np.arange(votes.named.count, dtype=np.float64)
    kind = BALANCED if balanced else ACCURACY
    result = _over_pairs(votes, kind, scores, f"pairwise {name}", at_least, plan, "share")
    method, reason = f"{name} over all ordered pairs of votes", "no item has two or more votes"
    pooled, _ = share(votes, POOLED_PAIRS, method, votes.counts(), plan, reason, balanced=balanced)
    return replace(result, pooled=pooled)


def _pair_votes(rater: Any, item: Any, value: Any, prior: Prior, categories: Sequence[Any] | None = None) -> Grouped:
    """Votes with raters in order within each item."""
    if rater is None:
        raise InputError(
            "Pairs of raters need rater ids.",
            "Pass the rater column; for votes without identities use fleiss_kappa or alpha.",
        )
    return grouped(rater, item, value, numbers=False, prior=prior, categories=categories, by_rater=True)


def _over_pairs(
    votes: Grouped,
    kind: int,
    scores: Floats,
    name: str,
    at_least: int,
    plan: Interval | None,
    scale: str,
    shared_for_interval: int = 1,
) -> RaterPairAgreement:
    """Score all pairs and average them; ``scale`` is that of the interval.

    Where the pairs share fewer than ``shared_for_interval`` items at the median, the mean has no interval.
    """
    from heartfelt.stats.agreement.kernels import _kernels_pairs as kernels
    from heartfelt.stats.compiled._kernels_reliability import group

    if at_least < 1:
        raise InputError(f"at_least must be at least 1; got {at_least}.", "Pass 1 or more.")
    item_of = np.repeat(np.arange(votes.start.size - 1), votes.sizes)
    rater_start, order = group(votes.rater, len(votes.raters))
    table, sums = _allocated(votes, plan is not None)
    cast = (votes.start, item_of, votes.rater, votes.value)
    count = kernels.pair_scores(cast, scores, rater_start, order, kind, at_least, table, sums)
    overall = sums[0][0]
    first, second, n_shared, value, missing = (column[:count] for column in table)
    pairs = PairTable(raters=votes.raters, first=first, second=second, n_shared=n_shared, value=value, why=missing)
    counts = votes.counts() | {"pairs": int(overall[1]), "pairs_missing": len(pairs) - int(overall[1])}
    means = []
    for column, how in ((0, "mean over pairs"), (2, "mean over pairs weighted by shared items")):
        method = f"{name}, {how}"
        if overall[1] == 0:
            reason = _REASONS[2] if (pairs.why == 2).any() else "no two raters share enough items"
            means.append(Estimate.missing(reason if len(pairs) else "no two raters share an item", method, counts))
            continue
        estimate = Estimate(value=overall[column] / overall[column + 1], method=method, counts=counts)
        typical = float(np.median(pairs.n_shared[pairs.why == 0]))
        if plan is not None and typical < shared_for_interval:
            estimate = estimate.without_interval(
                f"pairs share {typical:g} items at the median; below {shared_for_interval} the mean itself leans towards 0,"
                " and an interval would not hold (Fleiss' kappa and alpha have one)"
            )
        elif plan is not None:
            estimate = _bounded(estimate, votes, sums, column, plan, scale)
        means.append(estimate)
    return RaterPairAgreement(means[0], means[1], pairs)


def _allocated(votes: Grouped, changes: bool) -> tuple[tuple[Any, ...], tuple[Floats, ...]]:
    """Empty columns for the table of pairs, as many as there could be, and sums to fill: overall, by rater, by item, by vote."""
    people, sizes = len(votes.raters), votes.sizes
    most = min(int((sizes * (sizes - 1) // 2).sum()), people * (people - 1) // 2)
    kinds = (np.int32, np.int32, np.int32, np.float64, np.int8)
    rows = (1, people, sizes.size if changes else 0, votes.value.size if changes else 0)
    return tuple(np.empty(most, kind) for kind in kinds), tuple(np.zeros((n, 4)) for n in rows)


def _bounded(
    estimate: Estimate, votes: Grouped, sums: tuple[Floats, ...], column: int, plan: Interval, scale: str
) -> Estimate:
    """Bounds from the mean over pairs without each rater, each item and each single vote."""
    (overall,), by_rater, by_item, by_vote = sums
    in_pairs = by_rater[:, 1] > 0
    if votes.prior >= 0:
        in_pairs[votes.prior] = False
    touched = (by_item != 0).any(axis=1) | (votes.sizes >= 2)
    human = votes.rater != votes.prior
    value = float(estimate)
    cells = _without(overall + by_vote[human], column) - value
    cells = cells[np.isfinite(cells)]
    spread = leave_out(
        _without(overall + by_item[touched], column) - value,
        _without(overall - by_rater[in_pairs], column) - value,
        (cells.size, float(cells.sum()), float(cells @ cells)),
        votes.sizes[touched],
        by_rater[in_pairs, 3],
    )
    return with_bounds(estimate, spread, plan, scale)


def _without(sums: Floats, column: int) -> Floats:
    defined = sums[:, 1] > 0.5
    out = np.full(sums.shape[0], np.nan)
    out[defined] = sums[defined, column] / sums[defined, column + 1]
    return out
