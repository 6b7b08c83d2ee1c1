"""The form of every number heartfelt reports: a value with its interval, counts and method, or the reason
there is none.

Conventions: ``low`` and ``high`` bound an interval at ``confidence`` (0.95 by default); ``counts``
holds what the number was computed from (``raters``, ``items``, ``ratings``, ``resamples`` …); a missing
value is ``None`` together with ``why_missing``, never NaN and never 0.0. ``bound_if_careless`` belongs to
reliabilities: the interval is for raters like these, this bound for future raters some of whom are careless.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from heartfelt.errors import InputError, suggestion

FutureRaters: TypeAlias = Literal["alike", "careless"]
"""Whom an interval is for: raters like these, or raters some of whom are careless."""
IF_CARELESS = "if some future raters are careless"
SPANS_ALL = "there is too little data for an interval: it would span all possible values"
ROUNDED = 0.005
"""A bound this near an end of the possible values, as a share of them, is printed as the end itself."""
FOR_RATERS: dict[FutureRaters, str] = {
    "alike": "for raters like these",
    "careless": "that also hold if some future raters are careless",
}


def check_future_raters(future_raters: str) -> None:
    """Refuse anything but ``alike`` and ``careless``."""
    if future_raters not in get_args(FutureRaters):
        words = suggestion(str(future_raters), get_args(FutureRaters))
        raise InputError(f"Future raters are alike or careless; got {future_raters!r}.", words)


def _finite(number: float | None) -> float | None:
    if number is None:
        return None
    number = float(number)
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number as a paper would print it.

    ``method`` names how the value was computed, ``interval`` how its bounds were. ``bound_if_careless`` is how low a
    reliability (how high a noise or a number of raters) may be if some future raters are careless.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    interval: str = ""
    confidence: float = 0.95
    counts: Mapping[str, int] = field(default_factory=dict)
    why_missing: str | None = None
    why_no_interval: str | None = None
    bound_if_careless: float | None = None

    def __post_init__(self) -> None:
        value = _finite(self.value)
        if value is None and not self.why_missing:
            raise ValueError(f"an estimate without a value needs a reason (method: {self.method or 'unnamed'})")
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "low", None if value is None else _finite(self.low))
        object.__setattr__(self, "high", None if value is None else _finite(self.high))
        bound = None if value is None else _finite(self.bound_if_careless)
        object.__setattr__(self, "bound_if_careless", bound)
        object.__setattr__(self, "counts", MappingProxyType({k: int(v) for k, v in self.counts.items()}))

    @classmethod
    def missing(cls, reason: str, method: str = "", counts: Mapping[str, int] | None = None) -> Estimate:
        """An estimate that could not be made, and why."""
        return cls(value=None, method=method, counts=counts or {}, why_missing=reason)

    @property
    def is_missing(self) -> bool:
        return self.value is None

    def with_interval(self, low: float | None, high: float | None, interval: str, confidence: float = 0.95) -> Estimate:
        """Return the same estimate with bounds by the named method."""
        reason = None if low is not None else self.why_no_interval
        return replace(self, low=low, high=high, interval=interval, confidence=confidence, why_no_interval=reason)

    def without_interval(self, reason: str) -> Estimate:
        """Return the same estimate without bounds, and the reason it has none."""
        return replace(self, low=None, high=None, interval="", why_no_interval=reason, bound_if_careless=None)

    def informative(self, least: float, most: float = 1.0) -> Estimate:
        """Return the estimate, without its interval where that spans all values from ``least`` to ``most``."""
        margin = ROUNDED * (most - least)
        if self.low is None or self.high is None or self.low > least + margin or self.high < most - margin:
            return self
        return self.without_interval(SPANS_ALL)

    def for_future_raters(self, future_raters: FutureRaters) -> Estimate:
        """Return the estimate as it is, or with an interval that reaches to ``bound_if_careless``."""
        bound, value = self.bound_if_careless, self.value
        if future_raters == "alike" or bound is None or value is None or self.low is None or self.high is None:
            return self
        low, high = (min(self.low, bound), self.high) if bound <= value else (self.low, max(self.high, bound))
        return replace(self, low=low, high=high, interval=f"{self.interval}, {IF_CARELESS}")

    def to_json(self) -> dict[str, object]:
        """A plain object for strict JSON: ``null`` and a reason where there is no number."""
        out: dict[str, object] = {"value": self.value}
        if self.value is None:
            out["why_missing"] = self.why_missing
        else:
            out |= {"low": self.low, "high": self.high, "confidence": self.confidence}
            if self.interval:
                out["interval"] = self.interval
            if self.bound_if_careless is not None:
                out["bound_if_careless"] = self.bound_if_careless
            if self.low is None and self.why_no_interval:
                out["why_no_interval"] = self.why_no_interval
        out["method"] = self.method
        out |= {f"n_{name}": count for name, count in self.counts.items()}
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Estimate:
        """Restore what ``to_json`` wrote; earlier versions called the confidence ``level``."""
        return cls(
            value=data["value"],
            low=data.get("low"),
            high=data.get("high"),
            method=data.get("method", ""),
            interval=data.get("interval", ""),
            confidence=data.get("confidence", data.get("level", 0.95)),
            counts={name.removeprefix("n_"): count for name, count in data.items() if name.startswith("n_")},
            why_missing=data.get("why_missing"),
            why_no_interval=data.get("why_no_interval"),
            bound_if_careless=data.get("bound_if_careless"),
        )

    def __format__(self, spec: str) -> str:
        spec = spec or ".3f"
        if self.value is None:
            return f"missing ({self.why_missing})"
        text = format(self.value, spec)
        if self.low is None or self.high is None:
            return text
        return f"{text} [{self.low:{spec}}, {self.high:{spec}}]"

    def __str__(self) -> str:
        return format(self, "")

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"no value: {self.why_missing}")
        return self.value

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return partial(Estimate, **values | {"counts": dict(self.counts)}), ()
