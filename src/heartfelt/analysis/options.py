"""How an analysis is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from heartfelt.errors import InputError
from heartfelt.options import Option, check

if TYPE_CHECKING:
    from heartfelt.screening.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeOptions:
    """How an analysis is made."""

    policy: Annotated[
        Policy | str | Path | Mapping[str, object],
        Option(help="How flagged raters are treated, flag-only retains everybody: see docs/screening.md."),
    ] = "flag-only"
    seed: Annotated[int, Option(help="Seed of all resampling.")] = 0
    resamples: Annotated[int, Option(help="Resamples of intervals that draw.")] = 1000
    covariates: Annotated[
        tuple[str, ...],
        Option(help="A numeric column of the stimuli, or loudness, to hold constant.", flags=("--covariate",)),
    ] = ()
    by: Annotated[
        str | None,
        Option(
            help="Compare groups of raters by a column of theirs, such as language or expertise; numbers are cut at tertiles. The"
            " arms of a study that has some if left out.",
            metavar="RATER_COLUMN",
        ),
    ] = None
    preregistration: Annotated[
        Path | None,
        Option(help="A preregistration.json; the one of the study or snapshot if left out.", metavar="FILE"),
    ] = None
    future_raters: Annotated[
        Literal["alike", "careless"],
        Option(help="Whom intervals of reliability are for: raters like these, or raters some of whom are careless."),
    ] = "alike"
    smallest_effect: Annotated[
        float | None,
        Option(
            help="Smallest difference between systems that matters; tests equivalence within it. The study's own if left out.",
            metavar="POINTS",
        ),
    ] = None

    def __post_init__(self) -> None:
        from heartfelt.screening.policy import parse_policy

        if self.smallest_effect is not None and not 0 < self.smallest_effect < float("inf"):
            raise InputError(
                f"A smallest effect of {self.smallest_effect} is no difference.", "Give a number of points above 0."
            )
        if self.resamples < 100:
            raise InputError(f"{self.resamples} resamples give no usable interval.", "Ask for 1,000, or at least 100.")
        check(self)
        object.__setattr__(self, "policy", parse_policy(self.policy))
        object.__setattr__(self, "covariates", tuple(self.covariates))

    @property
    def rules(self) -> Policy:
        """The policy itself, whatever way it was given."""
        from heartfelt.screening.policy import parse_policy

        return parse_policy(self.policy)
