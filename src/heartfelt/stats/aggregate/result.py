"""What an aggregation returns: one number or category per item with its uncertainty, and what was learnt of
raters.

Arrays are parallel to ``items`` or ``raters``. In a float array NaN marks what could not be given; the
reason stands in ``why_missing`` or ``why_no_error``, and ``estimate(item)`` and ``to_json()`` say it per
item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.representation import ShortRepr
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats, Ints

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, repr=False)
class Aggregate(ShortRepr):
    """A number per item. ``rejected``, ``bias`` and ``inconsistency`` are per rater, where the method has
    them.

    ``quantile`` names the distribution that turns a standard error into an interval: t with the item's
    ratings less one as degrees of freedom, or normal.
    """

    items: Sequence[Any]
    values: Floats
    standard_errors: Floats
    counts: Ints
    method: str
    quantile: Literal["t", "normal"] = "t"
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

    def estimate(self, item: Any, confidence: float = 0.95) -> Estimate:
        """One item's number with its interval."""
        return self._at(_position(self.items, item), confidence)

    def estimates(self, confidence: float = 0.95) -> list[Estimate]:
        """All items' numbers with their intervals, in order."""
        return [self._at(i, confidence) for i in range(len(self.items))]

    def _at(self, i: int, confidence: float) -> Estimate:
        from scipy.special import ndtri, stdtrit

        counts = {"ratings": int(self.counts[i])}
        value, error = float(self.values[i]), float(self.standard_errors[i])
        if not np.isfinite(value):
            return Estimate.missing(self.why_missing, self.method, counts)
        if not np.isfinite(error):
            return Estimate(
                value, method=self.method, level=confidence, counts=counts, why_no_interval=self.why_no_error
            )
        tail = 0.5 + confidence / 2
        df = max(int(self.counts[i]) - 1, 1)
        half = error * float(stdtrit(df, tail) if self.quantile == "t" else ndtri(tail))
        name = "t" if self.quantile == "t" else "normal"
        return Estimate(value, value - half, value + half, self.method, name, confidence, counts)

    def to_json(self) -> dict[str, Any]:
        """Plain objects for strict JSON: one row per item and per rater."""
        per_rater = {
            "bias": self.bias,
            "bias_standard_error": self.bias_standard_errors,
            "inconsistency": self.inconsistency,
            "outlying": self.outlying,
            "balance": self.balance,
        }
        raters = [
            {"rater": _plain(name)}
            | {key: _number(column[r]) for key, column in per_rater.items() if column is not None}
            | ({"rejected": bool(self.rejected[r])} if self.rejected is not None else {})
            for r, name in enumerate(self.raters)
        ]
        items = []
        for i, name in enumerate(self.items):
            row = {"item": _plain(name), "value": _number(self.values[i]), "n_ratings": int(self.counts[i])}
            row["standard_error"] = _number(self.standard_errors[i])
            if row["value"] is None:
                row["why_missing"] = self.why_missing
            elif row["standard_error"] is None:
                row["why_no_interval"] = self.why_no_error
            items.append(row)
        return {
            "method": self.method,
            "iterations": self.iterations,
            "converged": self.converged,
            "left_out": self.left_out,
            "notes": list(self.notes),
            "items": items,
            "raters": raters,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Consensus(ShortRepr):
    """A category per item (None where there is none). ``shares`` is the support of it, ``standard_errors``
    its error.

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

    def value_of(self, item: Any) -> Any:
        """One item's category."""
        return self.values[_position(self.items, item)]

    def to_json(self) -> dict[str, Any]:
        """Plain objects for strict JSON: one row per item and per rater."""
        items = []
        for i, name in enumerate(self.items):
            row: dict[str, Any] = {"item": _plain(name), "value": _plain(self.values[i])}
            row |= {"share": _number(self.shares[i]), "standard_error": _number(self.standard_errors[i])}
            row["n_ratings"] = int(self.counts[i])
            if self.values[i] is None:
                row["why_missing"] = self.why_missing
            items.append(row)
        raters = []
        if self.confusion is not None:
            raters = [
                {"rater": _plain(name), "confusion": self.confusion[r].tolist()}
                for r, name in enumerate(self.raters)
            ]
        return {
            "method": self.method,
            "categories": [_plain(c) for c in self.categories],
            "priors": None if self.priors is None else self.priors.tolist(),
            "log_likelihood": self.log_likelihood,
            "iterations": self.iterations,
            "converged": self.converged,
            "left_out": self.left_out,
            "notes": list(self.notes),
            "items": items,
            "raters": raters,
        }


def _position(items: Sequence[Any], item: Any) -> int:
    try:
        return items.index(item)
    except ValueError:
        raise InputError(
            f"There is no item {item!r} among these ratings.", "Ask for one of `.items`."
        ) from None


def _number(x: Any) -> float | None:
    return float(x) if np.isfinite(x) else None


def _plain(x: Any) -> Any:
    if isinstance(x, np.generic):
        x = x.item()
    return x if x is None or isinstance(x, (str, int, float, bool)) else str(x)
