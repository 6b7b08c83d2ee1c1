"""ITU-R BT.500: outlying ratings, counted rater by rater.

See ``heartfelt.screening.opinion_standards`` for the rule and ``heartfelt.stats.aggregate.bt500`` for the computation. Unit:
share of the rater's answers.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from heartfelt.screening.opinion_standards import by_standard
from heartfelt.screening.rule import RULES, Rule, RuleOptions
from heartfelt.screening.view import RatingsView


class BT500(Rule):
    """Screening by ITU-R BT.500."""

    name: ClassVar[str] = "bt500"
    about: ClassVar[str] = "ratings outside the limits of ITU-R BT.500"
    statistic: ClassVar[str] = "share of outlying ratings"
    careless: ClassVar[bool] = False
    error_controlled: ClassVar[bool] = False

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater and question with an order."""
        from heartfelt.stats.aggregate import bt500

        del options
        return by_standard(self, view, bt500, "ITU-R BT.500")


RULES.add(BT500.name, BT500())
