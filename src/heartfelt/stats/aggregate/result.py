"""What an aggregation returns: one number or category per item with its uncertainty, and what was learnt of raters.

Arrays are parallel to ``items`` or ``raters``. In a float array NaN marks what could not be given; the reason stands in
``why_missing`` or ``why_no_error``, and ``estimate(item)`` and ``to_json()`` say it per item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.representation import ShortRepr
from heartfelt.stats._bounds import clopper_pearson
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate

Bools = npt.NDArray[np.bool_]
OrderBounds: TypeAlias = Callable[[float], tuple[Floats, Floats]]
"""From a confidence to lower and upper bounds of all items."""
EQUAL = 1e-12
"""Below this standard error, ratings are all equal."""
ALL_EQUAL = "the ratings are all equal, so there is no spread to measure"


class ItemJson(TypedDict):
    """The number or category of an item as plain objects."""

    item: object
    value: object
    standard_error: float | None
    n_ratings: int
    share: NotRequired[float | None]
    why_missing: NotRequired[str]
    why_no_interval: NotRequired[str]


class ResultJson(TypedDict):
    """An aggregation as plain objects."""

    method: str
    iterations: int
    converged: bool
    left_out: int
    notes: list[str]
    items: list[ItemJson]
    raters: list[dict[str, object]]


class CategoriesJson(ResultJson):
    """An aggregation of categories as plain objects."""

    categories: list[object]
    priors: list[float] | None
    log_likelihood: float | None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Aggregate(ShortRepr):
    """A number per item. ``rejected``, ``bias`` and ``inconsistency`` are per rater, where the method has them.

    Intervals are Student's t around the value, with ``degrees`` of freedom (the item's ratings less one unless
    given), or what ``order_bounds`` says. ``why_no_interval`` refuses them for all items.
    ``published_standard_errors`` are those of the method's source where they differ.
    """

    items: Sequence[Any]
    values: Floats
    standard_errors: Floats
    counts: Ints
    method: str
    raters: Sequence[Any] = ()
    bias: Floats | None = None
    bias_standard_errors: Floats | None = None
    inconsistency: Floats | None = None
    rejected: Bools | None = None
    outlying: Floats | None = None
    balance: Floats | None = None
    iterations: int = 0
    converged: bool = True
    left_out: int = 0
    notes: tuple[str, ...] = ()
    why_missing: str = "no rating is left"
    why_no_error: str = "one rating has no spread"
    degrees: Floats | None = None
    order_bounds: OrderBounds | None = None
    why_no_interval: str | None = None
    published_standard_errors: Floats | None = None

    def bounds(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper bounds of all items, NaN where there are none."""
        from scipy.special import stdtrit

        if self.why_no_interval is not None:
            return np.full(self.values.size, np.nan), np.full(self.values.size, np.nan)
        if self.order_bounds is not None:
            return self.order_bounds(confidence)
        degrees = self.counts - 1.0 if self.degrees is None else self.degrees
        errors = np.where(self.standard_errors > EQUAL, self.standard_errors, np.nan)
        half = errors * stdtrit(np.maximum(degrees, 1.0), 0.5 + confidence / 2)
        return self.values - half, self.values + half

    def why_unbounded(self, i: int) -> str:
        """Why an item has no interval."""
        if self.why_no_interval is not None:
            return self.why_no_interval
        if self.order_bounds is not None:
            return self.why_no_error
        error = float(self.standard_errors[i])
        return ALL_EQUAL if np.isfinite(error) and error <= EQUAL else self.why_no_error

    @property
    def interval(self) -> str:
        """What the intervals are."""
        return "t" if self.order_bounds is None else "order statistics (sign test)"

    def estimate(self, item: Any, confidence: float = 0.95) -> Estimate:
        """One item's number with its interval."""
        if item not in self.items:
            raise InputError(f"No item among these ratings is called {item!r}.", "Ask for one of `.items`.")
        i = self.items.index(item)
        counts = {"ratings": int(self.counts[i])}
        value = float(self.values[i])
        if not np.isfinite(value):
            return Estimate.missing(self.why_missing, self.method, counts)
        point_estimate = Estimate(value=value, method=self.method, confidence=confidence, counts=counts)
        low, high = (float(ends[i]) for ends in self.bounds(confidence))
        if not np.isfinite(low):
            return point_estimate.without_interval(self.why_unbounded(i))
        return point_estimate.with_interval(low, high, self.interval, confidence)

    def to_json(self) -> ResultJson:
        """Plain objects for strict JSON: one row per item and per rater."""
        per_rater = {
            "bias": self.bias,
            "bias_standard_error": self.bias_standard_errors,
            "inconsistency": self.inconsistency,
            "outlying": self.outlying,
            "balance": self.balance,
        }
        raters = [
            {"rater": _json_value(name)}
            | {key: _number(column[r]) for key, column in per_rater.items() if column is not None}
            | ({"rejected": bool(self.rejected[r])} if self.rejected is not None else {})
            for r, name in enumerate(self.raters)
        ]
        low, _ = self.bounds()
        items = _rows(self, self.values)
        for i, row in enumerate(items):
            if row["value"] is None:
                row["why_missing"] = self.why_missing
            elif not np.isfinite(low[i]):
                row["why_no_interval"] = self.why_unbounded(i)
        return _summary(self, items, raters)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class CategoryConsensus(ShortRepr):
    """A category per item (None where there is none). ``shares`` is the support of it, ``standard_errors`` its error.

    ``support[i, c]`` weighs category ``categories[c]`` for item i and sums to one over c, or to zero where
    the item has no category. ``confusion[r, t, c]`` is the chance that rater r answers c when t is true.
    """

    items: Sequence[Any]
    values: Sequence[Any]
    shares: Floats
    standard_errors: Floats
    counts: Ints
    categories: Sequence[Any]
    support: npt.NDArray[np.float64]
    method: str
    raters: Sequence[Any] = ()
    confusion: npt.NDArray[np.float64] | None = None
    priors: Floats | None = None
    log_likelihoods: tuple[float, ...] = ()
    iterations: int = 0
    converged: bool = True
    left_out: int = 0
    notes: tuple[str, ...] = ()
    why_missing: str = "no rating is left"

    @property
    def log_likelihood(self) -> float | None:
        """The last log likelihood, where the method has one."""
        return self.log_likelihoods[-1] if self.log_likelihoods else None

    @property
    def accuracy(self) -> Floats | None:
        """Each rater's chance of answering with the true category, at the estimated class shares."""
        if self.confusion is None or self.priors is None:
            return None
        out: Floats = np.einsum("rtt,t->r", self.confusion, self.priors)
        return out

    def share_bounds(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Bounds of the long-run share of each item's category; NaN where ``shares`` are no shares of votes.

        Exact (Clopper & Pearson) for all categories at once (Bonferroni), since the category was chosen for having
        the most votes: its share among few votes is more often too high than too low.
        """
        none = np.full(self.counts.size, np.nan)
        if self.confusion is not None:
            return none, none.copy()
        n = self.counts.astype(np.float64)
        several = len(self.categories)
        tail = (1.0 - confidence) / 2 / (several if several > 2 else 1)
        low, high = clopper_pearson(np.rint(self.shares * n), n, tail)
        return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)

    def to_json(self) -> CategoriesJson:
        """Plain objects for strict JSON: one row per item and per rater."""
        items = _rows(self, self.values)
        for row, share in zip(items, self.shares, strict=True):
            row["share"] = _number(share)
            if row["value"] is None:
                row["why_missing"] = self.why_missing
        confusion = () if self.confusion is None else self.confusion.tolist()
        raters = [
            {"rater": _json_value(name), "confusion": table}
            for name, table in zip(self.raters, confusion, strict=False)
        ]
        return {
            **_summary(self, items, raters),
            "categories": [_json_value(c) for c in self.categories],
            "priors": None if self.priors is None else self.priors.tolist(),
            "log_likelihood": self.log_likelihood,
        }


def _rows(result: Aggregate | CategoryConsensus, values: Iterable[Any]) -> list[ItemJson]:
    columns = zip(result.items, values, result.standard_errors, result.counts, strict=True)
    return [
        {
            "item": _json_value(name),
            "value": _json_value(value),
            "standard_error": _number(error),
            "n_ratings": int(count),
        }
        for name, value, error, count in columns
    ]


def _summary(
    result: Aggregate | CategoryConsensus, items: list[ItemJson], raters: list[dict[str, object]]
) -> ResultJson:
    return {
        "method": result.method,
        "iterations": result.iterations,
        "converged": result.converged,
        "left_out": result.left_out,
        "notes": list(result.notes),
        "items": items,
        "raters": raters,
    }


def _number(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None


def _json_value(x: Any) -> Any:
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and not np.isfinite(x):
        return None
    return x if x is None or isinstance(x, (str, int, float, bool)) else str(x)
