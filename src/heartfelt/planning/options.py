"""What a study is planned for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from heartfelt.errors import require
from heartfelt.options import Option, check, written


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What is planned for. Lists make the grid; what is left out is the study's own design.

    Without ``effect`` or ``effects``, effects are as large as in the pilot. Prices are in any currency.
    """

    raters: Annotated[tuple[int, ...], Option(help="Numbers of raters to try, such as 20,40,80.", separator=",")] = ()
    ratings: Annotated[tuple[int, ...], Option(help="Ratings per clip (or set) to try.", separator=",")] = ()
    clips: Annotated[tuple[int, ...], Option(help="Clips per system and intent to try.", separator=",")] = ()
    per_rater: Annotated[tuple[int, ...], Option(help="Trials per rater to try.", separator=",")] = ()
    effect: Annotated[
        float | None,
        Option(
            help="Smallest difference between two systems that matters, in points of the scale (log odds for comparisons)."
        ),
    ] = None
    effects: Annotated[
        Mapping[str, float],
        Option(
            help="A system's expected difference from the mean; 0 for systems that are not named.",
            flags=("--expect",),
            metavar="SYSTEM=POINTS",
            example="ModelA=0.4",
        ),
    ] = field(default_factory=dict)
    smallest_effect: Annotated[
        float | None,
        Option(
            help="Also plan to show that systems are equivalent within so many points; the study's own if left out.",
            metavar="POINTS",
        ),
    ] = None
    tastes: Annotated[
        float | None,
        Option(help="Spread of raters' tastes for systems, in points; the pilot's if left out.", metavar="SD"),
    ] = None
    careless: Annotated[float | None, Option(help="Share of careless raters; the pilot's if left out.")] = None
    dropout: Annotated[float | None, Option(help="Share of raters who leave early; the pilot's if left out.")] = None
    seconds: Annotated[float | None, Option(help="Seconds one trial takes; the pilot's if left out.")] = None
    overhead_minutes: Annotated[
        float, Option(help="Minutes a rater spends on consent, instructions and questions about themselves.")
    ] = 3.0
    pay_per_hour: Annotated[float | None, Option(help="What a rater is paid per hour.")] = None
    pay_per_rating: Annotated[float | None, Option(help="What a rater is paid per trial.")] = None
    fee: Annotated[float, Option(help="Fee of the recruiting service, as a share on top.")] = 0.0
    afford: Annotated[float | None, Option(help="The budget.")] = None
    power: Annotated[float, Option(help="The power a design must have to be recommended.")] = 0.8
    policy: Annotated[
        Literal["default", "flag-only", "strict"], Option(help="What screening does with careless raters.")
    ] = "default"
    studies: Annotated[
        int, Option(help="Simulated studies per design, at most: fewer where the power is certain sooner.")
    ] = 1000
    assignments: int = 2
    seed: Annotated[int, Option(help="Seed of the simulation.")] = 0
    workers: int | None = None

    def __post_init__(self) -> None:
        for name in ("raters", "ratings", "clips", "per_rater"):
            numbers = tuple(getattr(self, name))
            least = 2 if name == "raters" else 1
            require(
                all(number >= least for number in numbers),
                f"{written(self, name)} must be at least {least}, not {min(numbers, default=0)}.",
                "Give whole numbers, such as 20, 40 and 80.",
            )
            object.__setattr__(self, name, numbers)
        if self.effect is not None:
            require(
                math.isfinite(self.effect) and self.effect > 0,
                f"An effect of {self.effect:g} cannot be planned for: no number of raters finds a difference that is not there.",
                f"Give {written(self, 'effect')} the smallest difference between two systems that would matter, in points"
                " of the scale.",
            )
        require(
            _between(self.tastes, 0) and _between(self.smallest_effect, 0) and self.smallest_effect != 0,
            "Tastes and the smallest effect are numbers of points, at least 0 and above 0.",
            "Use for example 0.5 and 0.3.",
        )
        for name, value in (("careless", self.careless), ("dropout", self.dropout)):
            require(
                _between(value, 0, 1),
                f"{name} must be at least 0 and below 1, not {value}.",
                "Give a share such as 0.1.",
            )
        prices = (self.pay_per_hour, self.pay_per_rating, self.afford, self.seconds)
        require(
            all(price is None or price > 0 for price in prices) and min(self.fee, self.overhead_minutes) >= 0,
            "Prices, times and budgets must be positive.",
            "Leave out what is not known.",
        )
        require(
            self.afford is None or self.priced,
            "What a budget affords depends on what raters are paid.",
            f"Give {written(self, 'pay_per_hour')} or {written(self, 'pay_per_rating')} too.",
        )
        require(
            0 < self.power < 1 and self.studies >= 20 and self.assignments >= 1,
            "A plan needs at least 20 simulated studies and a target power between 0 and 1.",
            f"Use 200 for {written(self, 'studies')} and 0.8 for {written(self, 'power')}.",
        )
        check(self)

    @property
    def priced(self) -> bool:
        """Whether costs can be worked out."""
        return self.pay_per_hour is not None or self.pay_per_rating is not None


def _between(value: float | None, low: float, high: float = math.inf) -> bool:
    """Whether a number, if there is one, is at least ``low`` and below ``high``."""
    return value is None or low <= value < high
