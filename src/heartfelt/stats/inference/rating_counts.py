"""Does the number of ratings of an item depend on the answers it got?

Where a second rating is asked for only after a yes, or a third only after a disagreement, the items with
several ratings are selected by their answers, and so is every figure of agreement. Two tests look for it:
*answers* (do items with more ratings have higher or lower answers) and *disagreement* (do raters disagree
more, or less, on items with more ratings).

Each regresses a quantity of the single rating (its value; its mean squared distance from the item's other ratings, or
the share of them that differ) on how many ratings the item has, with every rater's own mean and every cell's own mean
taken out, so that neither a lenient rater nor a system that was rated more often by design counts as evidence. Errors
are clustered by item: CR3 (each item's score over one less its leverage), Student's t with as many degrees of freedom
as there are effective items, less one. Answers without an order get one test per category, with Bonferroni's
correction. A test needs 10 effective items, and is missing where no rater saw items with different numbers of ratings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column
from heartfelt.stats.columns.triples import Floats, Ints, as_array, as_floats, code
from heartfelt.stats.estimate import Estimate

LEAST_ITEMS = 10
LEAST_ANSWERS = 10
_ROUNDS = 30


@dataclass(frozen=True, slots=True)
class CountTest:
    """One test: the change for each further rating an item has, and the p-value of there being none.

    ``category`` names the answer the change is largest for, where answers have no order.
    """

    change: Estimate
    p: float | None
    category: float | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True)
class CountDependence:
    """Whether items with more ratings have other answers, or more disagreement."""

    answers: CountTest
    disagreement: CountTest


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    item: Ints
    n: Floats
    groups: tuple[Ints, ...]

    def centred(self, column: Floats) -> Floats:
        """The column without the mean of each rater and each cell."""
        out = column - column.mean()
        for _ in range(_ROUNDS if len(self.groups) > 1 else 1):
            before = out
            # Means of two groupings are taken out in turn until neither changes (alternating projections).
            for group in self.groups:
                sizes = np.bincount(group)
                out = out - (np.bincount(group, out) / np.maximum(sizes, 1))[group]
            if np.allclose(out, before, atol=1e-10 * max(float(np.abs(column).max()), 1.0), rtol=0):
                break
        return np.asarray(out)


def count_dependence(
    rater: Column | None,
    item: Column,
    value: Column,
    *,
    cell: Column | None = None,
    nominal: bool = False,
    confidence: float = 0.95,
) -> CountDependence:
    """Test single ratings, one row each; ``rater`` is None where raters are unknown, ``cell`` is what items share."""
    values = as_floats(value, "value")
    items = code(as_array(item)).codes
    counts = np.bincount(items).astype(np.float64)
    n = counts[items] if items.size else np.zeros(0)
    groups = [code(as_array(column)).codes for column in (rater, cell) if column is not None]
    if items.size and np.ptp(n) == 0:
        reason = f"every item has {int(n[0])} rating{'s' if n[0] != 1 else ''}"
        gone = CountTest(Estimate.missing(reason, "change per further rating"), None)
        return CountDependence(gone, gone)
    layout = _Layout(items, n, tuple(groups))
    several = np.flatnonzero(n > 1)
    part = _Layout(items[several], n[several], tuple(group[several] for group in groups))
    distance = _distance(values, items, n, nominal)[several]
    return CountDependence(
        _answers(layout, values, nominal, confidence), _tested(part, distance, "disagreement", confidence)
    )


def _distance(values: Floats, items: Ints, n: Floats, nominal: bool) -> Floats:
    """Each rating's mean squared distance from the item's other ratings, or the share of them that differ."""
    other_count = np.maximum(n - 1, 1)
    if nominal:
        same = code(values).codes.astype(np.int64)
        _, pair, size = np.unique(
            items * (int(same.max(initial=0)) + 1) + same, return_inverse=True, return_counts=True
        )
        return np.asarray((n - size[pair]) / other_count)
    total = np.bincount(items, values)[items]
    squares = np.bincount(items, values**2)[items]
    return np.asarray(np.maximum(n * values**2 - 2 * values * total + squares, 0.0) / other_count)


def _answers(layout: _Layout, values: Floats, nominal: bool, confidence: float) -> CountTest:
    if not nominal:
        return _tested(layout, values, "answers", confidence)
    kinds, sizes = np.unique(values, return_counts=True)
    kinds = kinds[np.minimum(sizes, values.size - sizes) >= LEAST_ANSWERS]
    tests = [(_tested(layout, (values == kind) * 1.0, "answers", confidence), float(kind)) for kind in kinds]
    tested = [(test, kind) for test, kind in tests if test.p is not None]
    if not tested:
        reason = tests[0][0].change.why_missing if tests else "no category was chosen often enough"
        return CountTest(Estimate.missing(reason or "", "change in answers per further rating"), None)
    best, kind = min(tested, key=lambda pair: (float(pair[0].p or 0.0), -abs(float(pair[0].change))))
    return CountTest(best.change, min(float(best.p or 0.0) * len(tested), 1.0), kind)


def _tested(layout: _Layout, column: Floats, quantity: str, confidence: float) -> CountTest:
    method = f"change in {quantity} per further rating of an item"
    counts = {"items": int(np.unique(layout.item).size), "ratings": int(column.size)}

    def gone(reason: str) -> CountTest:
        return CountTest(Estimate.missing(reason, method, counts), None)

    if column.size < LEAST_ITEMS:
        return gone("too few ratings")
    n, y = layout.centred(layout.n), layout.centred(column)
    by_item = np.bincount(layout.item, n * n)
    total = float(by_item.sum())
    if total <= 1e-9 * column.size:
        return gone("no rater saw items with different numbers of ratings")
    effective = total**2 / float(np.sum(by_item**2))
    if effective < LEAST_ITEMS:
        return gone(f"the number of ratings varies over {effective:.1f} effective items; {LEAST_ITEMS} are needed")
    slope = float(n @ y) / total
    score = np.bincount(layout.item, n * (y - slope * n)) / np.maximum(1.0 - by_item / total, 1e-9)
    error = math.sqrt(float(score @ score)) / total
    if abs(slope) <= 1e-12 and error <= 1e-12:
        return gone("the answers do not vary")
    free = effective - 1.0
    # Counts that follow from the answers without exception leave no error to divide by.
    p = _bounds.p_of_t(slope / error, free) if error > 1e-12 * abs(slope) else 0.0
    change = Estimate(value=slope, method=method, counts=counts)
    return CountTest(_bounds.with_t(change, error, free, "CR3 by item, Student's t", confidence), p)
