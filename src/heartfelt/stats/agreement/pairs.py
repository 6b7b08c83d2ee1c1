"""Agreement of two raters at a time, over all pairs that share items: Cohen's kappa, accuracy, balanced accuracy.

Every pair of raters that shares an item is one row of a table: who, how many shared items, the value or the
reason why there is none. The headline is the plain mean over pairs with a value; beside it stands the mean
weighted by shared items. A pair without a value is missing: it is never counted as disagreement.

- Cohen's kappa: ``1 - observed / expected`` disagreement of the two, chance from each rater's own habits; range
  -1 to 1. Weights ``"linear"`` and ``"quadratic"`` count by distance between categories (numbers by value, words
  by their place in ``categories``). Undefined when both gave one and the same category throughout. On a single
  shared item kappa is either undefined or 0, so agreement could never show: pairs with fewer than ``at_least``
  shared items (2 unless said) are missing, with that reason.
- accuracy: the share of shared items on which the two agree, 0 to 1, the same whichever is taken as the truth.
- balanced accuracy: the mean, over the categories the rater taken as the truth used, of the share on which the
  other agrees; the mean of both directions.

``pooled`` is accuracy over all ordered pairs of votes at once, which stays meaningful where pairs share few
items.

Sources: Cohen, A coefficient of agreement for nominal scales, 1960; Cohen, Weighted kappa, 1968; mean over
pairs: Light, 1971.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.agreement.grouped import Grouped, Prior, grouped
from heartfelt.stats.agreement.interval import Interval, leave_out, wanted, with_bounds
from heartfelt.stats.agreement.tallies import share
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

_REASONS = {1: "fewer shared items than asked for", 2: "both gave one and the same category to every shared item"}


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """One row per pair of raters that shares an item, as arrays; ``value`` is NaN exactly where ``why`` is not 0."""

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
        """The id of each pair's first rater."""
        return [self.raters[at] for at in self.first.tolist()]

    @property
    def rater_b(self) -> list[Any]:
        """The id of each pair's second rater."""
        return [self.raters[at] for at in self.second.tolist()]

    @property
    def why_missing(self) -> list[str | None]:
        """Why a pair has no value, None where it has one."""
        return [_REASONS.get(at) for at in self.why.tolist()]

    def to_json(self) -> list[dict[str, Any]]:
        """Rows for strict JSON: ``null`` and a reason where there is no value."""
        columns = zip(
            self.rater_a, self.rater_b, self.n_shared.tolist(), self.value.tolist(), self.why_missing, strict=True
        )
        return [
            {"rater_a": a, "rater_b": b, "n_shared": n}
            | ({"value": value} if why is None else {"value": None, "why_missing": why})
            for a, b, n, value, why in columns
        ]


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """Agreement over pairs of raters: plain ``mean``, mean ``weighted`` by shared items, and the ``pairs``."""

    mean: Estimate
    weighted: Estimate
    pairs: PairTable
    pooled: Estimate | None = None

    @property
    def value(self) -> float | None:
        """The plain mean over pairs with a value."""
        return self.mean.value

    @property
    def low(self) -> float | None:
        """Lower bound of the plain mean."""
        return self.mean.low

    @property
    def high(self) -> float | None:
        """Upper bound of the plain mean."""
        return self.mean.high

    def to_json(self) -> dict[str, Any]:
        """A plain object for strict JSON, without the table of pairs (``pairs.to_json()`` has it)."""
        out = {"mean": self.mean.to_json(), "weighted": self.weighted.to_json()}
        return out | ({"pooled": self.pooled.to_json()} if self.pooled is not None else {})


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
) -> PairAgreement:
    """Cohen's kappa of every pair of raters that shares items, and its mean."""
    if weights not in (None, "linear", "quadratic"):
        raise InputError(f"Kappa has no weights called {weights!r}.", "Use None, 'linear' or 'quadratic'.")
    from heartfelt.stats.agreement import _kernels_pairs as kernels

    votes = _votes(rater, item, value, prior, categories)
    kind = {None: kernels.KAPPA, "linear": kernels.KAPPA_LINEAR, "quadratic": kernels.KAPPA_QUADRATIC}[weights]
    name = "Cohen's kappa" if weights is None else f"Cohen's kappa, {weights} weights"
    plan = wanted(interval, None, "jackknife")
    assert votes.categories is not None
    if weights is None:
        scores = np.arange(votes.categories.count, dtype=np.float64)
    else:
        scores = votes.categories.scores()
        scores = scores - scores.mean() if scores.size else scores
    return _over_pairs(votes, kind, scores, name, at_least, plan, "coefficient")


def pairwise_accuracy(
    rater: Any,
    item: Any,
    value: Any,
    *,
    at_least: int = 1,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> PairAgreement:
    """The share of shared items on which two raters agree, for every pair that shares any, and its mean."""
    return _accuracy(rater, item, value, at_least, interval, prior, balanced=False)


def pairwise_balanced_accuracy(
    rater: Any,
    item: Any,
    value: Any,
    *,
    at_least: int = 1,
    interval: str | Interval | None = "jackknife",
    prior: Prior = None,
) -> PairAgreement:
    """Balanced accuracy of two raters, either taken as the truth, for every pair that shares items, and its mean."""
    return _accuracy(rater, item, value, at_least, interval, prior, balanced=True)


def _accuracy(
    rater: Any,
    item: Any,
    value: Any,
    at_least: int,
    interval: str | Interval | None,
    prior: Prior,
    balanced: bool,
) -> PairAgreement:
    from heartfelt.stats.agreement import _kernels_pairs as kernels
    from heartfelt.stats.agreement._kernels_votes import POOLED_PAIRS

    votes = _votes(rater, item, value, prior, None)
    plan = wanted(interval, None, "jackknife")
    name = "balanced accuracy" if balanced else "accuracy"
    assert votes.categories is not None
    scores = np.arange(votes.categories.count, dtype=np.float64)
    kind = kernels.BALANCED if balanced else kernels.ACCURACY
    result = _over_pairs(votes, kind, scores, f"pairwise {name}", at_least, plan, "share")
    pooled, _ = share(
        votes,
        POOLED_PAIRS,
        f"{name} over all ordered pairs of votes",
        votes.counts(),
        plan,
        "no item has two or more votes",
        balanced=balanced,
    )
    return PairAgreement(result.mean, result.weighted, result.pairs, pooled)


def _votes(rater: Any, item: Any, value: Any, prior: Prior, categories: Sequence[Any] | None) -> Grouped:
    if rater is None:
        raise InputError(
            "Pairs of raters cannot be told apart without rater ids.",
            "Pass the rater column; for votes without identities use fleiss_kappa or alpha.",
        )
    return grouped(rater, item, value, numbers=False, prior=prior, categories=categories, by_rater=True)


def _over_pairs(
    votes: Grouped, kind: int, scores: Floats, name: str, at_least: int, plan: Interval | None, scale: str
) -> PairAgreement:
    from heartfelt.stats import _kernels_agreement as shared
    from heartfelt.stats.agreement import _kernels_pairs as kernels

    if at_least < 1:
        raise InputError(f"Pairs cannot share at least {at_least} items.", "Pass 1 or more.")
    item_of = np.repeat(np.arange(votes.start.size - 1), votes.sizes)
    rater_start, order = shared.order_by(votes.rater, len(votes.raters))
    table, whole, by_rater, by_item, by_vote = kernels.pair_scores(
        votes.start, item_of, votes.rater, votes.value, scores, rater_start, order, kind, at_least,
        plan is not None,
    )  # fmt: skip
    pairs = PairTable(votes.raters, *table)
    counts = votes.counts() | {"pairs": int(whole[1]), "pairs_missing": len(pairs) - int(whole[1])}
    means = []
    for column, method in ((0, f"{name}, mean over pairs"), (2, f"{name}, mean over pairs weighted by shared items")):
        if whole[1] == 0:
            why = "no two raters share enough items" if not (table[4] == 2).any() else _REASONS[2]
            means.append(Estimate.missing(why if len(pairs) else "no two raters share an item", method, counts))
            continue
        estimate = Estimate(whole[column] / whole[column + 1], method=method, counts=counts)
        if plan is not None:
            parts = (by_rater, by_item, by_vote)
            estimate = _bounded(estimate, votes, whole, parts, column, plan, scale)
        means.append(estimate)
    return PairAgreement(means[0], means[1], pairs)


def _bounded(
    estimate: Estimate,
    votes: Grouped,
    whole: Floats,
    parts: tuple[Floats, Floats, Floats],
    column: int,
    plan: Interval,
    scale: str,
) -> Estimate:
    """Bounds from the mean over pairs without each rater, each item and each single vote."""
    by_rater, by_item, by_vote = parts
    there = by_rater[:, 1] > 0
    if votes.prior >= 0:
        there[votes.prior] = False
    touched = (by_item != 0).any(axis=1) | (votes.sizes >= 2)
    human = votes.rater != votes.prior
    value = float(estimate)
    cells = _without(whole + by_vote[human], column) - value
    cells = cells[np.isfinite(cells)]
    spread = leave_out(
        _without(whole + by_item[touched], column) - value,
        _without(whole - by_rater[there], column) - value,
        (cells.size, float(cells.sum()), float(cells @ cells)),
        votes.sizes[touched],
        by_rater[there, 3],
    )
    return with_bounds(estimate, spread, plan, scale)


def _without(sums: Floats, column: int) -> Floats:
    defined = sums[:, 1] > 0.5
    out = np.full(sums.shape[0], np.nan)
    out[defined] = sums[defined, column] / sums[defined, column + 1]
    return out
