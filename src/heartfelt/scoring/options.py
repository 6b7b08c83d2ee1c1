"""How predictions are scored, and which items count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from heartfelt.errors import InputError
from heartfelt.predictors.task import balanced_sample
from heartfelt.tables import LEDGER


@dataclass(frozen=True, slots=True)
class ItemSelection:
    """Which items are scored; by default all that have a label.

    ``full_coverage`` requires at least that many raters per item, ``unanimous`` raters who all agree. ``limit`` draws that
    many items from ``seed``, balanced over questions, systems and intents, among those of ``questions``.
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
                raise InputError(f"{name} must be at least 1.", "Leave it out to take all items.")

    def apply(self, items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The items that count, and a ledger of those that do not."""
        why = pl.lit(None, dtype=pl.String)
        if self.exclude_flagged:
            _require(items, "flagged", "flags on its items")
            flagged = pl.col("flagged").cast(pl.Boolean, strict=False).fill_null(False)
            why = pl.when(flagged).then(pl.lit("flagged")).otherwise(why)
        if self.unanimous:
            _require(items, "unanimous", "votes to agree on")
            agree = pl.col("unanimous").fill_null(False)
            why = pl.when(why.is_null() & ~agree).then(pl.lit("not unanimous")).otherwise(why)
        if self.full_coverage is not None:
            raters = pl.col("n").fill_null(0)
            reason = pl.format("{} of {} raters", raters, pl.lit(self.full_coverage))
            why = pl.when(why.is_null() & (raters < self.full_coverage)).then(reason).otherwise(why)
        marked = items.with_columns(why.alias("_why"))
        if self.limit is not None:
            marked = self._sampled(marked)
        dropped = marked.filter(pl.col("_why").is_not_null()).select(
            pl.lit("item").alias("what"),
            pl.lit(None, dtype=pl.String).alias("rater"),
            "stimulus",
            "question",
            pl.col("_why").alias("reason"),
            pl.lit("score").alias("stage"),
        )
        return marked.filter(pl.col("_why").is_null()).drop("_why"), LEDGER.check(dropped, "selection")

    def _sampled(self, marked: pl.DataFrame) -> pl.DataFrame:
        """Mark what is not among ``limit`` items drawn from those still in."""
        assert self.limit is not None
        among = pl.col("_why").is_null()
        if self.questions is not None:
            among = among & pl.col("question").is_in(list(self.questions))
        drawn = balanced_sample(marked.filter(among), self.limit, self.seed)
        drawn = drawn.with_columns(pl.lit(True).alias("_drawn"))
        marked = marked.join(drawn, on=["stimulus", "question"], how="left", maintain_order="left")
        reason = f"not in the sample of {self.limit:,} items (seed {self.seed})"
        outside = pl.col("_why").is_null() & pl.col("_drawn").is_null()
        why = pl.when(outside).then(pl.lit(reason)).otherwise("_why")
        return marked.with_columns(why.alias("_why")).drop("_drawn")


def _require(items: pl.DataFrame, column: str, what: str) -> None:
    if column not in items.columns or not items[column].is_not_null().any():
        raise InputError(f"The source has no {what}.", f"Do not select by '{column}'.")


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """How predictions are scored.

    Scores above ``threshold`` mean yes. ``folds`` are for the threshold that is chosen on other stimuli. ``slices`` names the
    columns to slice by; by default all that the data have. ``systems`` gives each question's truth by system, where it is not
    the mean of the scored clips; ``systems_from`` names its origin. ``ties="lowest"`` gives tied items the smaller label, as
    emolia-bench does. ``part`` is a part of a benchmark, or of the published split in the stimuli's column ``split``.
    ``interval_confidence`` is what predictors' own intervals claim, unless ``claimed`` says otherwise for a model.
    """

    threshold: float = 0.0
    folds: int = 5
    seed: int = 0
    resamples: int = 10_000
    confidence: float = field(default=0.95, metadata={"key": "level"})
    slices: tuple[str, ...] | None = field(default=None, metadata={"skip": True})
    selection: ItemSelection = ItemSelection()
    ties: Literal["missing", "lowest"] = "missing"
    part: str | None = None
    systems: Mapping[str, Mapping[str, float]] | None = field(default=None, metadata={"skip": True})
    systems_from: str = field(default="the scored clips", metadata={"key": "system_truth"})
    ceilings: bool = field(default=True, metadata={"skip": True})
    interval_confidence: float = 0.9
    claimed: Mapping[str, float] = field(default_factory=dict, metadata={"skip": True})

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise InputError(f"folds must be at least 2; got {self.folds}.", "Use 5.")
        if self.resamples < 100:
            raise InputError(f"resamples must be at least 100; got {self.resamples}.", "Use 10,000.")
        if not 0 < self.confidence < 1:
            raise InputError("The confidence must lie between 0 and 1.", "Use 0.95.")
        for name, claim in {"": self.interval_confidence, **self.claimed}.items():
            if not 0 < claim < 1:
                of_model = f" of {name}" if name else ""
                raise InputError(
                    f"The confidence of predicted intervals{of_model} must lie between 0 and 1.", "Use 0.9."
                )
        if self.ties not in ("missing", "lowest"):
            raise InputError(f"Unknown way to treat ties: '{self.ties}'.", "Use 'missing' or 'lowest'.")
