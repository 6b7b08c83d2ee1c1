"""Screening rules: each looks at the raters in one way and says, in neutral words, whom it would flag and why.

A rule never decides. Its table has one row per rater (and question, where it looks at questions one by one) with the
statistic, the limit, a p-value where there is one, and a sentence that does not accuse: a logging fault can look like
a copied answer. A rater to whom the rule does not apply has a row with the reason; a rule that applies to nobody has
a single row without a rater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.registry import Registry
from heartfelt.screening.view import RatingsView
from heartfelt.snapshot import Snapshot
from heartfelt.tables import Column, Contract

Setting: TypeAlias = tuple[float | str, str]
"""A default and what it means."""
Cells: TypeAlias = Sequence[Any] | npt.NDArray[Any] | pl.Series

MOST_EVIDENCE = 4.0

FLAGS = Contract(
    "flags",
    "what each screening rule found about each rater",
    (
        Column("rater", pl.String, "the rater; empty where the rule applies to nobody", nullable=True),
        Column("question", pl.String, "the question, where the rule looks at one", nullable=True),
        Column("batch", pl.String, "the batch, where the rule looks at one", nullable=True),
        Column("rule", pl.String, "the rule"),
        Column("statistic", pl.String, "what was measured"),
        Column("value", pl.Float64, "the statistic", nullable=True),
        Column("threshold", pl.Float64, "the limit the value was held against", nullable=True),
        Column("p", pl.Float64, "p-value of the rule's own test, as its page says", nullable=True),
        Column("flagged", pl.Boolean, "whether the rule flags the rater"),
        Column(
            "error_controlled",
            pl.Boolean,
            "whether honest raters are flagged in at most the level's share of studies",
        ),
        Column(
            "evidence", pl.Float64, "weight in the joint ranking, in powers of ten, 0 to 4", nullable=True
        ),
        Column("words", pl.String, "what was found, in neutral words"),
        Column("n", pl.Int64, "ratings used"),
        Column("group", pl.String, "raters flagged together share a group", nullable=True),
        Column("why_missing", pl.String, "why the rule could not be applied", nullable=True),
    ),
)


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """How a rule is applied: its level, the seed of its random draws, and settings of its own."""

    alpha: float = 0.05
    seed: int = 0
    settings: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"A level of {self.alpha} is not between 0 and 1.", "Give a level such as 0.05.")


class Rule:
    """One way to look at raters. ``careless`` rules count towards the joint ranking.

    ``error_controlled`` rules flag any honest rater in at most ``level`` of all studies, so their flags can be counted as
    findings. The others report a standard, a limit the study set, or a habit; a row may say so for itself.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    statistic: ClassVar[str]
    careless: ClassVar[bool] = True
    error_controlled: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, Setting]] = {}

    def apply(self, source: Snapshot | RatingsView, options: RuleOptions | None = None) -> pl.DataFrame:
        """What the rule finds: a table under the contract ``FLAGS``."""
        view = RatingsView.of(source)
        options = options or RuleOptions()
        for name in options.settings:
            if name not in self.settings:
                raise InputError(
                    f"The rule '{self.name}' has no setting '{name}'.",
                    suggestion(name, self.settings, "Its settings"),
                )
        if not view.raters:
            why = "no rating can be screened"
            why += f": {view.unknown_raters} ratings have no rater" if view.unknown_raters else ""
            return self.cannot(why)
        return self.judge(view, options)

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """Look at the raters of a view that has at least one."""
        raise NotImplementedError

    def number(self, options: RuleOptions, name: str) -> float:
        """A setting of this rule that is a number."""
        given = options.settings.get(name, self.settings[name][0])
        try:
            return float(given)
        except ValueError as error:
            raise InputError(
                f"The setting '{name}' of the rule '{self.name}' is '{given}'.",
                f"Give a number: {self.settings[name][1]}.",
            ) from error

    def rows(self, **columns: Cells) -> pl.DataFrame:
        """A table of this rule; columns left out are empty, ``flagged`` is then false and ``n`` is 0."""
        size = len(next(iter(columns.values()))) if columns else 0
        defaults: dict[str, Any] = {
            "rule": self.name,
            "statistic": self.statistic,
            "flagged": False,
            "error_controlled": self.error_controlled,
            "words": "",
            "n": 0,
        }
        data = {}
        for column in FLAGS.columns:
            given = columns.get(column.name)
            values = [defaults.get(column.name)] * size if given is None else given
            series = pl.Series(column.name, values, dtype=column.dtype)
            data[column.name] = series.fill_nan(None) if column.dtype == pl.Float64 else series
        return pl.DataFrame(data)

    def cannot(self, why: str, rater: str | None = None) -> pl.DataFrame:
        """A single row saying why the rule could not be applied."""
        return self.rows(rater=[rater], words=[f"Not judged: {why}."], why_missing=[why])


RULES: Registry[Rule] = Registry("rule")


def error_controlled_flags(flags: pl.DataFrame) -> pl.DataFrame:
    """The flags that count as findings: those of raters, by rules with error control."""
    return flags.filter(pl.col("flagged") & pl.col("rater").is_not_null() & pl.col("error_controlled"))
