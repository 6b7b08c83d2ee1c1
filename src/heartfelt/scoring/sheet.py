"""One model's predictions of one task, row by row beside the labels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.scoring.tasks import Task
from heartfelt.scoring.truth import ITEM, Truth

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_SAID = ("value", "score", "answer", "shares", "low", "high", "reason", "note", "against", "ok", "problem")
NOT_GIVEN = "no prediction was given"
NOTHING_TO_SCORE = "what was given cannot be scored on this task"


@dataclass(frozen=True, eq=False)
class Sheet:
    """``rows`` are the items with a label; ``unlabelled`` counts those without.

    ``truth`` is the number, the category's code, or 1 and 0 for present and absent.
    """

    model: str
    task: Task
    rows: pl.DataFrame
    unlabelled: int

    @cached_property
    def truth(self) -> Floats:
        """What people said."""
        return self.rows["truth"].to_numpy().astype(np.float64)

    @cached_property
    def code(self) -> Floats:
        """The number the model gave on the scale, or its category's code (the likeliest, where it gave only shares);
        NaN where it gave none.
        """
        given = _floats(self.rows["code"])
        shares = self.shares
        if shares is None:
            return given
        # The lowest of several likeliest categories, as labels made with ties="lowest" have it.
        codes = np.array(sorted(self.task.scale.labels()))
        likeliest = codes[np.nan_to_num(shares, nan=-1.0).argmax(axis=1)]
        return np.where(np.isfinite(given) | ~np.isfinite(shares[:, 0]), given, likeliest)

    @cached_property
    def chance(self) -> Floats:
        """The share the model gives to everything above the lowest category; NaN where it gives none."""
        return np.full(self.rows.height, np.nan) if self.shares is None else self.shares[:, 1:].sum(axis=1)

    @cached_property
    def decision(self) -> Floats:
        """Whether the model itself says present or yes: by its answer, else by its shares; NaN where neither says."""
        given = _floats(self.rows["code"])
        by_shares = np.where(np.isfinite(self.chance), (self.chance > 0.5).astype(np.float64), np.nan)
        return np.where(np.isfinite(given), (given > _middle(self.task)).astype(np.float64), by_shares)

    @cached_property
    def score(self) -> Floats:
        """The model's similarity or probability; NaN where it gave none."""
        return _floats(self.rows["score"])

    @cached_property
    def answered(self) -> Flags:
        """Which rows have something to score."""
        if self.task.kind == "text":
            said = self.rows["answer"].is_not_null().to_numpy()
        elif self.task.kind in ("numbers", "binary"):
            said = np.isfinite(self.code) | np.isfinite(self.score)
        else:
            said = np.isfinite(self.code)
        if self.task.kind == "numbers" and self.on_scale:
            said = np.isfinite(self.code)
        return np.asarray(said & self.rows["ok"].to_numpy())

    @property
    def on_scale(self) -> bool:
        """Whether the model speaks in the scale's own numbers rather than in scores."""
        return bool(np.isfinite(self.code).any())

    @cached_property
    def shares(self) -> npt.NDArray[np.float64] | None:
        """Probabilities by category (columns by rising code), NaN rows where there are none; None if none at all."""
        codes = sorted(self.task.scale.labels())
        if not codes or not self.rows["shares"].is_not_null().any():
            return None
        names = [self.task.scale.labels()[code] for code in codes]
        table = np.full((self.rows.height, len(codes)), np.nan)
        for place, text in enumerate(self.rows["shares"].to_list()):
            told = _told(text)
            own = [
                told.get(name, told.get(f"{code:g}", 0.0)) for name, code in zip(names, codes, strict=True)
            ]
            if told and all(np.isfinite(own)) and min(own) >= 0 and sum(own) > 0:
                table[place] = np.array(own) / sum(own)
        return table if np.isfinite(table).any() else None

    @cached_property
    def stimulus(self) -> npt.NDArray[np.int64] | None:
        """The stimulus of each row as a number, where one has several rows."""
        column = self.rows["stimulus"]
        if column.n_unique() == self.rows.height:
            return None
        return column.rank("dense").to_numpy().astype(np.int64)

    @cached_property
    def system(self) -> npt.NDArray[np.int64]:
        """The system of each row as a number, -1 where unknown."""
        column = self.rows["system"].cast(pl.String)
        return column.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1

    @cached_property
    def cell(self) -> npt.NDArray[np.int64]:
        """The cell (system and intent) of each row as a number, -1 where both are unknown."""
        both = self.rows.select(pl.col("system", "intent").cast(pl.String))
        named = both.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy()
        codes = (
            both.select(pl.struct(pl.all().fill_null("")).rank("dense"))
            .to_series()
            .to_numpy()
            .astype(np.int64)
        )
        return np.where(named, codes - 1, -1)

    @property
    def held_elsewhere(self) -> bool:
        """Whether any prediction is held against another label than the item's own."""
        return bool(self.rows["against"].is_not_null().any())

    @cached_property
    def coverage(self) -> dict[str, Any]:
        """How many items were asked and answered, and why the others were not."""
        failed = self.rows.filter(~pl.Series(self.answered))
        blank = pl.when("ok").then(pl.lit(NOTHING_TO_SCORE)).otherwise(pl.lit(NOT_GIVEN))
        why = failed.select(pl.coalesce("problem", blank)).to_series().value_counts(sort=True)
        return {
            "items": self.rows.height,
            "answered": int(self.answered.sum()),
            "share": float(self.answered.mean()) if self.rows.height else None,
            "without_label": self.unlabelled,
            "problems": {str(text): int(n) for text, n in why.head(20).iter_rows()},
            "notes": {
                str(text): int(n)
                for text, n in self.rows["note"].drop_nulls().value_counts(sort=True).head(20).iter_rows()
            },
        }


def sheet_of(truth: Truth, predictions: pl.DataFrame, task: Task, model: str) -> Sheet:
    """Lay a model's predictions beside the labels of a task."""
    items = truth.items.filter(pl.col("question").is_in(task.questions))
    mine = predictions.filter((pl.col("model") == model) & pl.col("question").is_in(task.questions))
    taken = [name for name in _SAID if name in items.columns]
    items = items.rename({name: f"own_{name}" for name in taken})
    rows = items.join(mine.select(*ITEM, *_SAID), on=ITEM, how="left", maintain_order="left")
    own = "own_answer" if "answer" in taken else None
    against = pl.col("against")
    # A model held against other labels is held against them throughout: an item's own label may hold its answer.
    elsewhere = bool(mine["against"].is_not_null().any())
    if task.kind == "text":
        known = [key in truth.texts for key in items.select(ITEM).iter_rows()]
        rows = rows.with_columns(pl.Series("_told", known))
        truth_column: pl.Expr = pl.when("_told").then(1.0)
    elif elsewhere:
        truth_column = (against > _middle(task)).cast(pl.Float64) if task.kind == "binary" else against
    else:
        truth_column = pl.col("present").cast(pl.Float64) if task.kind == "binary" else pl.col("label")
    code_of = {name: code for code, name in task.scale.labels().items()}
    named = (
        pl.col("answer").replace_strict(code_of, default=None, return_dtype=pl.Float64) if code_of else None
    )
    value = pl.when(pl.col("value").is_finite()).then("value")
    done = pl.col("ok").fill_null(False)
    code = pl.coalesce(value, named) if named is not None else value
    rows = rows.with_columns(
        truth_column.alias("truth"),
        # Whatever a failed prediction carries, it is none.
        pl.when(done).then(code).alias("code"),
        *(pl.when(done).then(name).alias(name) for name in ("score", "answer", "shares")),
        done.alias("ok"),
    ).rename({own: "label_answer"} if own else {})
    kept = rows.filter(pl.col("truth").is_not_null())
    return Sheet(model, task, kept, rows.height - kept.height)


def _middle(task: Task) -> float:
    """Halfway between the lowest category and the next: above it is present, or yes."""
    first, second = sorted(task.scale.labels())[:2]
    return (first + second) / 2


def yes(task: Task, code: Floats) -> Floats:
    """Numbers on the scale as 1 (present, yes) and 0, NaN where there are none."""
    return np.where(np.isfinite(code), (code > _middle(task)).astype(np.float64), np.nan)


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def _told(text: str | None) -> dict[str, float]:
    if not text:
        return {}
    try:
        told = json.loads(text)
        return {str(name): float(share) for name, share in told.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
