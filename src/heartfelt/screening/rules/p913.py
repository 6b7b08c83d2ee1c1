"""ITU-T P.913: outlying ratings after each rater's bias is taken out, counted rater by rater.

See ``heartfelt.screening.opinion_standards`` for the rule and ``heartfelt.stats.aggregate.p913`` for the computation. Unit:
share of the rater's answers.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from heartfelt.screening.opinion_standards import by_standard
from heartfelt.screening.rule import RULES, Rule, RuleOptions
from heartfelt.screening.view import RatingsView


class P913(Rule):
    """Screening by ITU-T P.913."""

    name: ClassVar[str] = "p913"
    about: ClassVar[str] = "ratings outside the limits of ITU-T P.913 once biases are taken out"
    statistic: ClassVar[str] = "share of outlying ratings"
    careless: ClassVar[bool] = False
    error_controlled: ClassVar[bool] = False

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question with an order."""
        from heartfelt.stats.aggregate import p913

        del options
        return by_standard(self, view, p913, "ITU-T P.913")


RULES.add(P913.name, P913())
