"""How predictions are scored, and which items count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from heartfelt.errors import InputError
from heartfelt.predictors.sampling import balanced_sample
from heartfelt.tables import LEDGER


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items are scored; the usual one takes all that have a label.

    ``full_coverage`` asks for at least so many raters an item, ``unanimous`` for raters who all agree. ``limit`` takes so many
    items, balanced over questions, systems and intents and drawn from ``seed``; ``questions`` are those it is drawn from.
    """

    full_coverage: int | None = None
    unanimous: bool = False
    exclude_flagged: bool = False
    limit: int | None = None
    seed: int = 0
    questions: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("full_coverage", "limit"):
            if (getattr(self, name) or 1) < 1:
                raise InputError(f"{name} must be 1 or more.", "Leave it out to take all items.")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "full_coverage": self.full_coverage,
            "unanimous": self.unanimous,
            "exclude_flagged": self.exclude_flagged,
            "limit": self.limit,
            "seed": self.seed,
            "questions": None if self.questions is None else list(self.questions),
        }

    def apply(self, items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The items that count, and a ledger of those that do not."""
        reasons = pl.lit(None, dtype=pl.String)
        if self.exclude_flagged:
            self._need(items, "flagged", "flags on its items")
            flagged = pl.col("flagged").cast(pl.Boolean, strict=False).fill_null(False)
            reasons = pl.when(flagged).then(pl.lit("flagged")).otherwise(reasons)
        if self.unanimous:
            self._need(items, "unanimous", "votes to agree on")
            agree = pl.col("unanimous").fill_null(False)
            reasons = pl.when(reasons.is_null() & ~agree).then(pl.lit("not unanimous")).otherwise(reasons)
        if self.full_coverage is not None:
            short = pl.col("n").fill_null(0) < self.full_coverage
            why = pl.format("{} of {} raters", pl.col("n").fill_null(0), pl.lit(self.full_coverage))
            reasons = pl.when(reasons.is_null() & short).then(why).otherwise(reasons)
        marked = items.with_columns(reasons.alias("_why"))
        if self.limit is not None:
            among = pl.col("_why").is_null()
            if self.questions is not None:
                among = among & pl.col("question").is_in(list(self.questions))
            kept = balanced_sample(marked.filter(among), self.limit, self.seed)
            taken = kept.with_columns(pl.lit(True).alias("_taken"))
            marked = marked.join(taken, on=["stimulus", "question"], how="left", maintain_order="left")
            beyond = pl.col("_why").is_null() & pl.col("_taken").is_null()
            reason = f"not in the sample of {self.limit:,} items (seed {self.seed})"
            why = pl.when(beyond).then(pl.lit(reason)).otherwise("_why")
            marked = marked.with_columns(why.alias("_why")).drop("_taken")
        left = marked.filter(pl.col("_why").is_not_null()).select(
            pl.lit("item").alias("what"),
            pl.lit(None, dtype=pl.String).alias("rater"),
            "stimulus",
            "question",
            pl.col("_why").alias("reason"),
            pl.lit("score").alias("stage"),
        )
        return marked.filter(pl.col("_why").is_null()).drop("_why"), LEDGER.check(left, "selection")

    def _need(self, items: pl.DataFrame, column: str, what: str) -> None:
        if column not in items.columns or not items[column].is_not_null().any():
            raise InputError(f"The source has no {what}.", f"Leave out the choice by '{column}'.")


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How predictions are scored.

    ``threshold`` cuts scores into yes and no: above it is yes. ``folds`` are for the threshold that is chosen on other
    stimuli. ``slices`` names the columns to slice by; those the data have, if left out. ``systems`` gives each question's
    truth by system, where it is not to be what the scored clips say; ``systems_from`` names where that came from.
    ``ties="lowest"`` gives tied items to the smaller label, as emolia-bench does. ``part`` is a benchmark's,
    or one of the published split that the stimuli's column ``split`` holds.
    """

    threshold: float = 0.0
    folds: int = 5
    seed: int = 0
    resamples: int = 10_000
    confidence: float = 0.95
    slices: tuple[str, ...] | None = None
    selection: Selection = field(default_factory=Selection)
    ties: Literal["missing", "lowest"] = "missing"
    part: str | None = None
    systems: Mapping[str, Mapping[str, float]] | None = None
    systems_from: str = "the scored clips"
    ceilings: bool = True
    interval_confidence: float = 0.9
    """The confidence that predictors' own intervals claim, where a model does not say."""
    claimed: Mapping[str, float] = field(default_factory=dict)
    """The confidence a model's own intervals claim, by model."""

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise InputError(
                f"A threshold cannot be held out with {self.folds} folds.", "Ask for two or more."
            )
        if self.resamples < 100:
            raise InputError(
                f"{self.resamples} resamples give no usable interval.", "Ask for 10,000, or at least 100."
            )
        if not 0 < self.confidence < 1:
            raise InputError("The level must lie between 0 and 1.", "Use 0.95.")
        for name, claim in {"": self.interval_confidence, **self.claimed}.items():
            if not 0 < claim < 1:
                raise InputError(
                    f"The confidence of predicted intervals{f' of {name}' if name else ''} must lie between 0 and 1.",
                    "Use 0.9.",
                )
        if self.ties not in ("missing", "lowest"):
            raise InputError(
                f"There is no way to treat ties called '{self.ties}'.", "Use 'missing' or 'lowest'."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "threshold": self.threshold,
            "folds": self.folds,
            "seed": self.seed,
            "resamples": self.resamples,
            "level": self.confidence,
            "selection": self.selection.to_json(),
            "ties": self.ties,
            "part": self.part,
            "system_truth": self.systems_from,
            "interval_confidence": self.interval_confidence,
        }
