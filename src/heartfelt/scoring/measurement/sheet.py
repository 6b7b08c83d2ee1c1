"""One model's predictions of one task, row by row next to the labels."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.predictors.interface.predictor import FROM_LABELS
from heartfelt.scoring.ground_truth.truth import ITEM, Truth
from heartfelt.scoring.results.scores import ModelCoverage, ScoringTask
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.study import Scale

Flags = npt.NDArray[np.bool_]
_PREDICTED = ("value", "score", "answer", "shares", "low", "high", "reason", "note", "against", "ok", "problem")
NOT_GIVEN = "no prediction was given"
NOTHING_TO_SCORE = "what was given cannot be scored on this task"
_MOST_REASONS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionSheet:
    """``rows`` are the items with a label; ``unlabelled`` counts those without.

    ``truth`` is the number, the category's code, or 1 and 0 for present and absent.
    """

    model: str
    task: ScoringTask
    scale: Scale
    rows: pl.DataFrame
    unlabelled: int

    @cached_property
    def truth(self) -> Floats:
        return self.rows["truth"].to_numpy().astype(np.float64)

    @cached_property
    def codes(self) -> Floats:
        """The codes of the scale's categories, rising."""
        return np.array(sorted(self.scale.labels()))

    @cached_property
    def code(self) -> Floats:
        """The number the model gave on the scale, or its category's code (the likeliest, where it gave only shares);
        NaN where it gave none.
        """
        code = floats_of(self.rows["code"])
        shares = self.shares
        if shares is None:
            return code
        # Of several likeliest categories the lowest, as in labels made with ties="lowest".
        likeliest = self.codes[np.nan_to_num(shares, nan=-1.0).argmax(axis=1)]
        return np.where(np.isfinite(code) | ~np.isfinite(shares[:, 0]), code, likeliest)

    @cached_property
    def chance(self) -> Floats:
        """The share the model gives to everything above the lowest category; NaN where it gives none."""
        return np.full(self.rows.height, np.nan) if self.shares is None else self.shares[:, 1:].sum(axis=1)

    @cached_property
    def decision(self) -> Floats:
        """The model's own yes (1) or no (0): by its answer, else by its shares; NaN where it gave neither."""
        code = floats_of(self.rows["code"])
        by_shares = np.where(np.isfinite(self.chance), (self.chance > 0.5).astype(np.float64), np.nan)
        return np.where(np.isfinite(code), yes(self.scale, code), by_shares)

    @cached_property
    def score(self) -> Floats:
        """The model's similarity or probability; NaN where it gave none."""
        return floats_of(self.rows["score"])

    @cached_property
    def answered(self) -> Flags:
        """Which rows have something to score."""
        kind = self.task.kind
        if kind == "text":
            has_answer = self.rows["answer"].is_not_null().to_numpy()
        elif kind == "choices":
            has_answer = np.isfinite(self.code) | (floats_of(self.rows["place"]) != 0)
        else:
            has_answer = np.isfinite(self.code)
            if kind == "binary" or (kind == "numbers" and not self.on_scale):
                has_answer |= np.isfinite(self.score)
        return np.asarray(has_answer & self.rows["ok"].to_numpy())

    @property
    def on_scale(self) -> bool:
        """Whether the model answers in the scale's own numbers rather than in scores."""
        return bool(np.isfinite(self.code).any())

    @cached_property
    def shares(self) -> npt.NDArray[np.float64] | None:
        """Probabilities by category (columns by rising code), NaN rows where there are none; None if none at all."""
        codes = self.codes.tolist()
        if not codes or not self.rows["shares"].is_not_null().any():
            return None
        names = [self.scale.labels()[code] for code in codes]
        table = np.full((self.rows.height, len(codes)), np.nan)
        for row, text in enumerate(self.rows["shares"].to_list()):
            shares = numbers_by_name(text)
            of_codes = [shares.get(name, shares.get(f"{code:g}", 0.0)) for name, code in zip(names, codes, strict=True)]
            if _is_distribution(of_codes):
                table[row] = np.array(of_codes) / sum(of_codes)
        return table if np.isfinite(table).any() else None

    @cached_property
    def stimulus(self) -> Ints | None:
        """The stimulus of each row as a number, where some stimulus has several rows."""
        column = self.rows["stimulus"]
        return None if column.n_unique() == self.rows.height else _ranked(column)

    @cached_property
    def system(self) -> Ints:
        """The system of each row as a number, -1 where unknown."""
        return _ranked(self.rows["system"].cast(pl.String)) - 1

    @cached_property
    def cell(self) -> Ints:
        """The cell (system and intent) of each row as a number, -1 where both are unknown."""
        both = self.rows.select(pl.col("system", "intent").cast(pl.String))
        named = both.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy()
        pairs = both.select(pl.struct(pl.all().fill_null(""))).to_series()
        return np.where(named, _ranked(pairs) - 1, -1)

    @property
    def from_labels(self) -> bool:
        """Whether predictions are made of labels of the same system or cell, in the other half of the stimuli.

        Over all stimuli they are fair; inside a system they fall where labels rise, and system means agree by construction.
        """
        return bool(self.rows["note"].str.starts_with(FROM_LABELS).any())

    @property
    def against_other_labels(self) -> bool:
        """Whether any prediction is scored against a label other than the item's own."""
        return bool(self.rows["against"].is_not_null().any())

    @cached_property
    def coverage(self) -> ModelCoverage:
        """How many items were asked and answered, and why the others were not."""
        failed = self.rows.filter(~pl.Series(self.answered))
        blank = pl.when("ok").then(pl.lit(NOTHING_TO_SCORE)).otherwise(pl.lit(NOT_GIVEN))
        problems = failed.select(pl.coalesce("problem", blank)).to_series()
        return ModelCoverage(
            items=self.rows.height,
            answered=int(self.answered.sum()),
            share=float(self.answered.mean()) if self.rows.height else None,
            without_label=self.unlabelled,
            problems=_counted(problems),
            notes=_counted(self.rows["note"].drop_nulls()),
        )


def sheet_of(truth: Truth, predictions: pl.DataFrame, task: ScoringTask, model: str) -> PredictionSheet:
    """Join a model's predictions to the labels of a task."""
    scale = truth.study.scale_of(task.questions[0])
    items = truth.items_of(task)
    of_model = predictions.filter((pl.col("model") == model) & pl.col("question").is_in(task.questions))
    clashing = [name for name in _PREDICTED if name in items.columns]
    items = items.rename({name: f"own_{name}" for name in clashing})
    rows = items.join(of_model.select(*ITEM, *_PREDICTED), on=ITEM, how="left", maintain_order="left")
    if task.kind == "text":
        has_texts = [key in truth.texts for key in items.select(ITEM).iter_rows()]
        rows = rows.with_columns(pl.Series("_written", has_texts))
        label: pl.Expr = pl.when("_written").then(1.0)
    # A model with other labels is scored against those throughout: an item's own label may contain its answer.
    elif of_model["against"].is_not_null().any():
        label = pl.col("against") > _middle(scale) if task.kind == "binary" else pl.col("against")
    else:
        label = pl.col("present" if task.kind == "binary" else "label")
    code: pl.Expr = pl.when(pl.col("value").is_finite()).then("value")
    codes = {name: code for code, name in scale.labels().items()}
    if codes:
        named = pl.col("answer").replace_strict(codes, default=None, return_dtype=pl.Float64)
        code = pl.coalesce(code, named)
    done = pl.col("ok").fill_null(False)
    rows = rows.with_columns(
        label.cast(pl.Float64).alias("truth"),
        # A failed prediction counts as none, whatever it carries.
        pl.when(done).then(code).alias("code"),
        *(pl.when(done).then(name).alias(name) for name in ("score", "answer", "shares")),
        done.alias("ok"),
    ).rename({"own_answer": "label_answer"} if "answer" in clashing else {})
    labelled = rows.filter(pl.col("truth").is_not_null())
    return PredictionSheet(model=model, task=task, scale=scale, rows=labelled, unlabelled=rows.height - labelled.height)


def _is_distribution(shares: Sequence[float]) -> bool:
    return all(map(math.isfinite, shares)) and min(shares) >= 0 and sum(shares) > 0


def _middle(scale: Scale) -> float:
    """Halfway between the lowest category and the next: above it is present, or yes."""
    first, second = sorted(scale.labels())[:2]
    return (first + second) / 2


def yes(scale: Scale, code: Floats) -> Floats:
    """Numbers on the scale as 1 (present, yes) and 0, NaN where there are none."""
    return np.where(np.isfinite(code), (code > _middle(scale)).astype(np.float64), np.nan)


def floats_of(column: pl.Series) -> Floats:
    """A column as numbers, NaN where there is none."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def _ranked(column: pl.Series) -> Ints:
    """Entries as numbers from 1, 0 where missing."""
    return column.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _counted(reasons: pl.Series) -> dict[str, int]:
    counts = reasons.value_counts(sort=True).head(_MOST_REASONS)
    return {str(text): int(count) for text, count in counts.iter_rows()}


def numbers_by_name(text: str | None) -> dict[str, float]:
    """The numbers of a JSON object; none where it is not one."""
    try:
        return {str(name): float(number) for name, number in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}
