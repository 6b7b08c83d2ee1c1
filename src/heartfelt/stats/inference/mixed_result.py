"""What a mixed model reports: coefficients, effects, variances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One fixed coefficient; without a standard error there is no test."""

    name: str
    estimate: Estimate
    standard_error: float | None
    df: float | None
    t: float | None
    p: float | None

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        numbers = {name: getattr(self, name) for name in ("standard_error", "df", "t", "p")}
        return {"name": self.name, "estimate": self.estimate.to_json(), **numbers}


@dataclass(frozen=True, slots=True)
class MixedEffect:
    """The joint test of a term's coefficients, or why there is none."""

    effect: str
    df: int
    df_residual: float | None
    f: float | None
    p: float | None
    why_missing: str | None = None

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        out = {
            "effect": self.effect,
            "df": self.df,
            "df_residual": self.df_residual,
            "F": self.f,
            "p": self.p,
        }
        return out | ({"why_missing": self.why_missing} if self.why_missing else {})


@dataclass(frozen=True, slots=True)
class MixedResult:
    """A fitted model. ``variances`` holds each random factor's and ``residual``; the headline is the
    intercept.
    """

    coefficients: tuple[Coefficient, ...]
    effects: tuple[MixedEffect, ...]
    variances: Mapping[str, Estimate]
    log_likelihood: float | None
    method: str
    notes: tuple[str, ...]
    counts: Mapping[str, int]
    evaluations: int
    why_missing: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "variances", MappingProxyType(dict(self.variances)))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def effect(self, name: str) -> MixedEffect:
        """The test of one term."""
        for one in self.effects:
            if one.effect == name:
                return one
        raise KeyError(name)

    def coefficient(self, name: str) -> Coefficient:
        """One coefficient by name: ``intercept``, ``system[Suno]``."""
        for one in self.coefficients:
            if one.name == name:
                return one
        raise KeyError(name)

    @property
    def intercept(self) -> Estimate:
        """The headline."""
        if not self.coefficients:
            return Estimate.missing(self.why_missing or "not fitted", self.method, self.counts)
        return self.coefficients[0].estimate

    @property
    def value(self) -> float | None:
        """The intercept."""
        return self.intercept.value

    @property
    def low(self) -> float | None:
        """Its lower bound."""
        return self.intercept.low

    @property
    def high(self) -> float | None:
        """Its upper bound."""
        return self.intercept.high

    def to_json(self) -> dict[str, Any]:
        """A plain object."""
        return {
            "method": self.method,
            "coefficients": [one.to_json() for one in self.coefficients],
            "effects": [one.to_json() for one in self.effects],
            "variances": {name: one.to_json() for name, one in self.variances.items()},
            "log_likelihood": self.log_likelihood,
            "notes": list(self.notes),
            **{f"n_{name}": count for name, count in self.counts.items()},
            **({"why_missing": self.why_missing} if self.why_missing else {}),
        }
