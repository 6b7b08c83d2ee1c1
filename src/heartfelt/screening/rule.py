"""Screening rules: each examines the raters in one way and reports whom it flags and why.

A rule never decides who is dropped. It is data (a name, what it measures, its settings) and one function that takes the
coded ratings and returns ``RuleVerdicts``, or a sentence saying why it applies to nobody. Its table has one row per rater (and
question, where questions are examined separately) with the statistic, the limit, a p-value where there is one, and a neutral
sentence: a logging fault can look like a copied answer. A rater who cannot be judged has a row with the reason; a rule
that applies to nobody has a single row without a rater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.tables import Column, Contract

Setting: TypeAlias = tuple[float | str, str]
"""A default and what it means."""
Reasons: TypeAlias = list[str | None]
"""For each row, why it could not be judged; None where it could."""

NOBODY = -1
"""The code of no rater."""
MOST_EVIDENCE = 4.0
LIMIT_EVIDENCE = 2.0
"""The evidence of missing a limit that the study set."""

_ABSENT = {
    "listening": "listening flags",
    "browsers": "shared browsers",
    "sets": "sets",
    "traces": "traces",
    "drafts": "drafts",
}
_FLAG_COLUMNS: tuple[tuple[str, type[pl.DataType], str], ...] = (
    ("rater", pl.String, "the rater; empty where the rule applies to nobody"),
    ("question", pl.String, "the question, where the rule examines one"),
    ("batch", pl.String, "the batch, where the rule examines one"),
    ("rule", pl.String, "the rule"),
    ("statistic", pl.String, "what was measured"),
    ("value", pl.Float64, "the statistic"),
    ("threshold", pl.Float64, "the limit the value was compared with"),
    ("p", pl.Float64, "p-value of the rule's own test, as its page says"),
    ("flagged", pl.Boolean, "whether the rule flags the rater"),
    ("error_controlled", pl.Boolean, "whether honest raters are flagged in at most the level's share of studies"),
    ("evidence", pl.Float64, "weight in the joint ranking, in powers of ten, 0 to 4"),
    ("words", pl.String, "the result in a neutral sentence"),
    (
        "power",
        pl.Float64,
        "chance of flagging somebody who answers at random in this rater's place, where the rule looks for that",
    ),
    ("n", pl.Int64, "ratings used"),
    ("group", pl.String, "raters flagged together share a group"),
    ("why_missing", pl.String, "why the rule could not be applied"),
)
_ALWAYS_GIVEN = {"rule", "statistic", "flagged", "error_controlled", "words", "n"}
FLAGS = Contract(
    "flags",
    "what each screening rule reports about each rater",
    tuple(
        Column(name=name, dtype=dtype, about=about, nullable=name not in _ALWAYS_GIVEN)
        for name, dtype, about in _FLAG_COLUMNS
    ),
)


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """How a rule is applied: its family-wise error rate, the seed of its random draws, and settings of its own."""

    alpha: float = 0.05
    seed: int = 0
    settings: Mapping[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"A level of {self.alpha} is not between 0 and 1.", "Give a level such as 0.05.")

    def number(self, name: str) -> float:
        """A numeric setting, once the rule has completed the options."""
        return float(self.settings[name])

    def limit(self, judged: int) -> float:
        """The p-value a flag must stay under where so many are judged (Bonferroni)."""
        return self.alpha / max(judged, 1)


@dataclass(slots=True, eq=False, kw_only=True)
class RuleVerdicts:
    """What a rule reports: parallel arrays, one row per rater. ``rater`` holds the view's codes; None for every rater in order.

    Where ``why`` gives a reason the row is not judged and its figures are left out. ``words(i)`` is the sentence of row ``i``.
    ``evidence`` is that of ``p`` unless it is given. ``power`` is the chance of flagging somebody who answers at random.
    """

    rater: Ints | None
    n: npt.ArrayLike
    words: Callable[[int], str] = lambda _row: ""
    why: Reasons | None = None
    value: npt.ArrayLike = np.nan
    threshold: npt.ArrayLike = np.nan
    p: npt.ArrayLike | None = None
    flagged: npt.ArrayLike = False
    evidence: npt.ArrayLike | None = None
    question: str | None = None
    batch: Sequence[str | None] | None = None
    group: Sequence[str | None] | None = None
    error_controlled: bool | None = None
    power: npt.ArrayLike | None = None

    @classmethod
    def about(
        cls,
        raters: Ints,
        *,
        n: npt.NDArray[Any],
        words: Callable[[int], str],
        why: Reasons,
        value: npt.NDArray[Any],
        p: npt.NDArray[Any],
        flagged: npt.NDArray[Any],
        threshold: npt.ArrayLike = np.nan,
        question: str | None = None,
    ) -> RuleVerdicts:
        """Verdicts on some raters from arrays over all raters of the view; ``words`` takes a rater's code."""
        codes = raters.tolist()
        return cls(
            rater=raters,
            n=n[raters],
            words=lambda row: words(codes[row]),
            why=[why[code] for code in codes],
            value=value[raters],
            threshold=np.broadcast_to(threshold, value.shape)[raters],
            p=p[raters],
            flagged=flagged[raters],
            question=question,
        )


def evidence_of(p: npt.ArrayLike) -> Floats:
    """The weight of a p-value in powers of ten, from 0 to ``MOST_EVIDENCE``; 0 where there is none."""
    finite_p = np.where(np.isfinite(p), p, 1.0)
    return np.clip(-np.log10(np.maximum(finite_p, 1e-300)), 0.0, MOST_EVIDENCE) + 0.0  # no negative zero


def too_few(n: npt.NDArray[Any], least: int, noun: str) -> Reasons:
    """Why raters with fewer than ``least`` of something cannot be judged; ``noun`` says of what."""
    return [None if count >= least else f"fewer than {least} {noun}" for count in n.tolist()]


def is_judged(reasons: Reasons) -> npt.NDArray[np.bool_]:
    """Which rows have no reason against judging them."""
    return np.array([reason is None for reason in reasons], dtype=bool)


Judge: TypeAlias = Callable[[RatingsView, RuleOptions], Sequence[RuleVerdicts] | str]
"""Examines the raters of a view that has at least one; a sentence says why the rule applies to nobody."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScreeningRule:
    """One way to examine raters. ``careless`` rules count towards the joint ranking.

    ``error_controlled`` rules flag any honest rater in at most ``alpha`` of all studies, so their flags can be counted as
    findings. The others report a standard, a limit the study set, or a habit; a row may say so for itself. What a rule
    ``examines`` decides in which studies it is applied.
    """

    name: str
    about: str
    statistic: str
    judge: Judge
    settings: Mapping[str, Setting] = field(default_factory=dict)
    careless: bool = True
    error_controlled: bool = True
    examines: Literal["ratings", "answers", "trials", "listening", "sets", "traces", "drafts", "browsers"] = "ratings"

    def applies(self, view: RatingsView) -> bool:
        """Whether a study has what the rule examines; a study without anything else counts as one of ratings."""
        tables = {"sets": view.sets, "traces": view.traces, "drafts": view.drafts}
        if self.examines in tables:
            return bool(tables[self.examines].height)
        if self.examines == "listening":
            return "heard_flag" in view.trials.columns and bool(view.trials["heard_flag"].count())
        if self.examines == "browsers":
            return bool(view.raters_before)
        if (self.examines == "trials" and view.trials.height) or (self.examines == "answers" and view.sets.height):
            return True
        return bool(view.rater.size) or not any(table.height for table in tables.values())

    def apply(self, source: Snapshot | RatingsView, options: RuleOptions | None = None) -> pl.DataFrame:
        """What the rule reports: a table under the contract ``FLAGS``."""
        view = RatingsView.of(source)
        complete = self.complete(options or RuleOptions())
        if self.examines in _ABSENT and not self.applies(view):
            result: Sequence[RuleVerdicts] | str = f"the study has no {_ABSENT[self.examines]}"
        elif view.raters:
            result = self.judge(view, complete)
        else:
            unknown = f": {view.unknown_raters} ratings have no rater" if view.unknown_raters else ""
            result = f"no rating can be screened{unknown}"
        if isinstance(result, str):
            # A single row without a rater says why the rule applies to nobody.
            result = [RuleVerdicts(rater=np.array([NOBODY]), n=0, why=[result])]
        return pl.concat([self._rows(view, verdicts) for verdicts in result])

    def complete(self, options: RuleOptions) -> RuleOptions:
        """The options with this rule's defaults filled in and its settings checked."""
        settings: dict[str, float | str] = {name: default for name, (default, _) in self.settings.items()}
        for name, setting in options.settings.items():
            if name not in self.settings:
                raise InputError(
                    f"The rule '{self.name}' has no setting '{name}'.", suggestion(name, self.settings, "Its settings")
                )
            default, about = self.settings[name]
            if isinstance(default, str):
                settings[name] = str(setting)
            elif str(setting).strip():
                try:
                    settings[name] = float(setting)
                except ValueError as error:
                    raise InputError(
                        f"The setting '{name}' of the rule '{self.name}' is '{setting}'.", f"Give a number: {about}."
                    ) from error
        return replace(options, settings=settings)

    def _rows(self, view: RatingsView, verdicts: RuleVerdicts) -> pl.DataFrame:
        rater = np.arange(len(view.raters)) if verdicts.rater is None else verdicts.rater
        reasons = verdicts.why or [None] * rater.size
        judged = is_judged(reasons)
        figures = {name: getattr(verdicts, name) for name in ("value", "threshold", "p", "evidence", "power")}
        if figures["evidence"] is None and verdicts.p is not None:
            figures["evidence"] = evidence_of(verdicts.p)
        columns = {
            "rater": [None if code == NOBODY else view.raters[code] for code in rater.tolist()],
            "batch": verdicts.batch,
            "flagged": judged & np.asarray(verdicts.flagged),
            "words": [
                f"Not judged: {reason}." if reason else verdicts.words(row) for row, reason in enumerate(reasons)
            ],
            "n": np.broadcast_to(np.asarray(verdicts.n, dtype=np.int64), rater.size),
            "group": verdicts.group,
            "why_missing": reasons,
        } | {name: np.where(judged, figure, np.nan) for name, figure in figures.items() if figure is not None}
        controlled = self.error_controlled if verdicts.error_controlled is None else verdicts.error_controlled
        constants: dict[str, str | bool | None] = dict.fromkeys(set(FLAGS.names) - columns.keys())
        constants |= {name: None for name, column in columns.items() if column is None}
        constants |= {"rule": self.name, "statistic": self.statistic, "question": verdicts.question}
        constants["error_controlled"] = controlled
        varying = pl.DataFrame({name: column for name, column in columns.items() if name not in constants})
        complete = varying.with_columns(pl.lit(constant).alias(name) for name, constant in constants.items())
        return complete.select(
            pl.col(column.name).cast(column.dtype).fill_nan(None)
            if column.dtype == pl.Float64
            else pl.col(column.name).cast(column.dtype)
            for column in FLAGS.columns
        )


def error_controlled_flags(flags: pl.DataFrame) -> pl.DataFrame:
    """The flags that count as findings: those of raters, by rules with error control."""
    return flags.filter(pl.col("flagged") & pl.col("rater").is_not_null() & pl.col("error_controlled"))
