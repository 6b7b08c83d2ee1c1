"""How a collection is tried out with simulated raters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from heartfelt.errors import InputError
from heartfelt.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """How many raters come, for how long, and how many of them leave early."""

    raters: Annotated[int | None, Option(help="Raters who come; as many as the design needs if left out.", low=1)] = (
        None
    )
    trials: Annotated[int | None, Option(help="Trials per rater; as in the design if left out.", low=1)] = None
    dropout: Annotated[
        float, Option(help="Share of raters who leave early, equally likely at any trial.", low=0, high=0.99)
    ] = 0.0
    seed: Annotated[int, Option(help="Seed of every random draw.")] = 0

    def __post_init__(self) -> None:
        if not 0 <= self.dropout < 1:
            raise InputError(
                f"dropout must be at least 0 and below 1, not {self.dropout:g}.", "Give a share such as 0.2."
            )
        if (self.raters is not None and self.raters < 1) or (self.trials is not None and self.trials < 1):
            raise InputError("A simulation needs raters and trials.", "Give at least 1 of each.")
