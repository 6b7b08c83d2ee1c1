"""Agreement of two raters at a time, over all pairs that share items: what kappa and pairwise accuracy share.

Every pair of raters that shares an item is one row of a table: who, how many shared items, the value or the
reason why there is none. The headline is the plain mean over pairs with a value; beside it stands the mean
weighted by shared items. A pair without a value is missing: it is never counted as disagreement. Raters who
share nothing are no pair, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.representation import ShortRepr
from heartfelt.stats.agreement.grouped import Grouped, Prior, grouped
from heartfelt.stats.agreement.interval import Interval, leave_out, with_bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

_REASONS = {
    1: "too few shared items",
    2: "both gave one and the same category to every shared item",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
            self.rater_a,
            self.rater_b,
            self.n_shared.tolist(),
            self.value.tolist(),
            self.why_missing,
            strict=True,
        )
        return [
            {"rater_a": a, "rater_b": b, "n_shared": n}
            | ({"value": value} if why is None else {"value": None, "why_missing": why})
            for a, b, n, value, why in columns
        ]


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """Agreement over pairs of raters: plain ``mean``, mean ``weighted`` by shared items, and the ``pairs``.

    ``pooled``, where it is given, is over all ordered pairs of votes at once.
    """

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


def pair_votes(rater: Any, item: Any, value: Any, prior: Prior, categories: Sequence[Any] | None) -> Grouped:
    """Votes with raters in order within each item."""
    if rater is None:
        raise InputError(
            "Pairs of raters cannot be told apart without rater ids.",
            "Pass the rater column; for votes without identities use fleiss_kappa or alpha.",
        )
    return grouped(rater, item, value, numbers=False, prior=prior, categories=categories, by_rater=True)


def over_pairs(
    votes: Grouped,
    kind: int,
    scores: Floats,
    name: str,
    at_least: int,
    plan: Interval | None,
    scale: str,
    shared_for_interval: int = 1,
) -> PairAgreement:
    """Score all pairs and average them; ``scale`` is that of the interval.

    Where the pairs share fewer than ``shared_for_interval`` items at the median, the mean has no interval.
    """
    from heartfelt.stats import _kernels_agreement as shared
    from heartfelt.stats.agreement import _kernels_pairs as kernels

    if at_least < 1:
        raise InputError(f"Pairs cannot share at least {at_least} items.", "Pass 1 or more.")
    item_of = np.repeat(np.arange(votes.start.size - 1), votes.sizes)
    rater_start, order = shared.order_by(votes.rater, len(votes.raters))
    table, (sums, by_rater, by_item, by_vote) = _room(votes, plan is not None)
    found = kernels.pair_scores(
        (votes.start, item_of, votes.rater, votes.value), scores, rater_start, order, kind, at_least,
        table, (sums, by_rater, by_item, by_vote),
    )  # fmt: skip
    whole = sums[0]
    table = tuple(column[:found] for column in table)
    pairs = PairTable(votes.raters, *table)
    counts = votes.counts() | {"pairs": int(whole[1]), "pairs_missing": len(pairs) - int(whole[1])}
    means = []
    for column, method in (
        (0, f"{name}, mean over pairs"),
        (2, f"{name}, mean over pairs weighted by shared items"),
    ):
        if whole[1] == 0:
            why = "no two raters share enough items" if not (table[4] == 2).any() else _REASONS[2]
            means.append(
                Estimate.missing(why if len(pairs) else "no two raters share an item", method, counts)
            )
            continue
        estimate = Estimate(whole[column] / whole[column + 1], method=method, counts=counts)
        typical = float(np.median(table[2][table[4] == 0]))
        if plan is not None and typical < shared_for_interval:
            why = (
                f"pairs share {typical:g} items at the median; below {shared_for_interval} the mean itself leans towards 0,"
                " and an interval would not hold (Fleiss' kappa and alpha have one)"
            )
            estimate = replace(estimate, why_no_interval=why)
        elif plan is not None:
            parts = (by_rater, by_item, by_vote)
            estimate = _bounded(estimate, votes, whole, parts, column, plan, scale)
        means.append(estimate)
    return PairAgreement(means[0], means[1], pairs)


def _room(votes: Grouped, changes: bool) -> tuple[tuple[Any, ...], tuple[Floats, ...]]:
    """Empty columns for the table of pairs, as many as there could be, and sums to fill."""
    people, sizes = len(votes.raters), votes.sizes
    most = min(int((sizes * (sizes - 1) // 2).sum()), people * (people - 1) // 2)
    kinds = (np.int32, np.int32, np.int32, np.float64, np.int8)
    rows = (1, people, sizes.size if changes else 0, votes.value.size if changes else 0)
    return tuple(np.empty(most, kind) for kind in kinds), tuple(np.zeros((n, 4)) for n in rows)


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
