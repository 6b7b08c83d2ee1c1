"""How an analysis is to be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heartfelt.errors import InputError
from heartfelt.screening.policy import Policy, parse_policy


@dataclass(frozen=True, slots=True)
class AnalyzeOptions:
    """How an analysis is to be made.

    ``policy`` decides which raters are kept; the usual one flags and keeps everybody. ``resamples`` is for the
    intervals that draw. ``covariates`` are columns of the stimuli that the analysis of variance is repeated with;
    ``loudness`` is measured from the media where it is no column. ``by`` is a column of the raters (language, expertise …)
    whose groups are compared.
    """

    policy: Policy | str | Path | Mapping[str, Any] = "flag-only"
    seed: int = 0
    resamples: int = 1000
    covariates: tuple[str, ...] = ()
    by: str | None = None

    def __post_init__(self) -> None:
        if self.resamples < 100:
            raise InputError(
                f"{self.resamples} resamples give no usable interval.", "Ask for 1,000, or at least 100."
            )
        object.__setattr__(self, "policy", parse_policy(self.policy))
        object.__setattr__(self, "covariates", tuple(self.covariates))

    @property
    def rules(self) -> Policy:
        """The policy itself, whatever way it was given."""
        return parse_policy(self.policy)
