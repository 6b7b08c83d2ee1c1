"""Scoring: predictions held against labels, every figure with its interval, its ceiling and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, Labels
from heartfelt.predictors.predictor import PREDICTIONS
from heartfelt.progress import Progress
from heartfelt.scoring.binary import binary, decided
from heartfelt.scoring.categories import categories, furthest_degree, nearest_degree, ordinal, wrong_category
from heartfelt.scoring.ceilings import Ceilings
from heartfelt.scoring.compare import ELSEWHERE, CompareOptions, Entrant, compare, ranks
from heartfelt.scoring.measure import Measure
from heartfelt.scoring.numbers import numbers
from heartfelt.scoring.numbers import said as numbers_said
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import Comparison, ModelInfo, Rank, Score, Scores, Slice
from heartfelt.scoring.sheet import Floats, Sheet, sheet_of
from heartfelt.scoring.slices import columns_of, slices
from heartfelt.scoring.tasks import Task, tasks_of
from heartfelt.scoring.truth import ITEM, Truth, truth_of
from heartfelt.scoring.words import words
from heartfelt.snapshot import Snapshot
from heartfelt.stats.text import cider
from heartfelt.study.model import say


def score(
    source: Snapshot | Benchmark | Labels | Truth,
    predictions: pl.DataFrame,
    options: ScoreOptions | None = None,
    *,
    snapshot: Snapshot | None = None,
    progress: Progress | None = None,
    about: Mapping[str, ModelInfo] | None = None,
) -> Scores:
    """Score a table of predictions (``heartfelt.predictors.predictor.PREDICTIONS``) of one or more models.

    ``about`` says what is known of the models; it is written to ``scores.json``.
    """
    options = options or ScoreOptions()
    about = about or {}
    claims = {name: info.interval_confidence for name, info in about.items() if info.interval_confidence}
    options = replace(options, claimed={**claims, **options.claimed})
    truth = source if isinstance(source, Truth) else truth_of(source, options, snapshot=snapshot)
    predictions = PREDICTIONS.check(predictions, "predictions")
    models = predictions["model"].unique(maintain_order=True).to_list()
    known = predictions.join(truth.items.select(ITEM), on=ITEM, how="semi")
    if not known.height:
        raise InputError(
            f"No prediction is about an item of '{truth.study.name}' that is scored.",
            "Stimulus and question of the predictions must be those of the source; check both, and the selection.",
        )
    present = set(truth.items["question"].unique())
    tasks, notes = tasks_of(truth.study, [q.id for q in truth.study.asked if q.id in present])
    able = {task.id: _attempted(task, known) for task in tasks}
    notes += [f"No model predicts '{task.id}'." for task in tasks if not able[task.id]]
    tasks = [task for task in tasks if able[task.id]]
    notes += [
        f"{model} does not predict '{task.id}'."
        for task in tasks
        for model in models
        if model not in able[task.id]
    ]
    beside = predictions.height - known.height
    if beside:
        notes.append(
            f"{beside:,} predictions are about items without ratings, or left out, and are not scored."
        )
    ceilings = Ceilings(truth, options.seed, options.confidence, options.ceilings)
    made = _Made(Measure(options, ceilings), truth)
    done, total = 0, sum(len(able[task.id]) for task in tasks)
    for task in tasks:
        sheets = (sheet_of(truth, known, task, model) for model in models if model in able[task.id])
        for _ in made.add(task, sheets):
            done += 1
            if progress is not None:
                progress("scoring", done, total)
    done_scores = made.scores(models, tasks, [*truth.notes, *notes, *made.notes])
    return replace(done_scores, about=about)


def _attempted(task: Task, known: pl.DataFrame) -> set[str]:
    """The models that predict a task; degrees are predicted by values, answers or shares, not by scores."""
    mine = known.filter(pl.col("question").is_in(task.questions))
    if task.kind == "ordinal":
        mine = mine.filter(pl.any_horizontal(pl.col("value", "answer", "shares").is_not_null()))
    return set(mine["model"].unique())


class _Made:
    """Scores as they come in, task by task."""

    def __init__(self, measure: Measure, truth: Truth) -> None:
        self.measure, self.truth = measure, truth
        self.found: list[Score] = []
        self.slices: list[Slice] = []
        self.comparisons: list[Comparison] = []
        self.ranks: list[Rank] = []
        self.coverage: dict[str, dict[str, Any]] = {}
        self.details: dict[str, dict[str, Any]] = {}
        self.rows: list[pl.DataFrame] = []
        self.notes: list[str] = []

    def add(self, task: Task, sheets: Iterable[Sheet]) -> Iterator[None]:
        """Everything about one task; yields when a model is done."""
        options = self.measure.options
        columns = columns_of(self.truth, task, options.slices)
        self.details[task.id] = {"models": {}}
        entrants = []
        for sheet in sheets:
            made, details = self._scores(sheet)
            self.found += made
            said = self._said(sheet)
            rows = _rows(sheet, np.where(sheet.answered, said, np.nan), self._counted(sheet, said))
            entrants.append(_entrant(sheet, rows, next(one for one in made if one.metric == task.headline)))
            self.details[task.id]["models"][sheet.model] = details
            self.coverage.setdefault(sheet.model, {})[task.id] = sheet.coverage
            self.slices += slices(sheet, self.measure, columns)
            self.notes += _one_sided(sheet, options.threshold)
            self.rows.append(rows)
            yield
        asked = CompareOptions(task.id, task.kind, task.headline, options.confidence)
        pairs = compare(entrants, asked)
        self.comparisons += pairs
        self.ranks += ranks(entrants, pairs, asked)
        self.details[task.id]["one_rater"] = self._human(task)

    def _scores(self, sheet: Sheet) -> tuple[list[Score], dict[str, Any]]:
        kind = sheet.task.kind
        if kind == "binary":
            return binary(sheet, self.measure)
        if kind == "categories":
            return categories(sheet, self.measure, self.truth)
        if kind == "ordinal":
            return ordinal(sheet, self.measure)
        return numbers(sheet, self.measure) if kind == "numbers" else words(sheet, self.measure, self.truth)

    def _human(self, task: Task) -> dict[str, Any]:
        return self.measure.ceilings.human(task, task.headline).to_json()

    def _said(self, sheet: Sheet) -> Floats:
        """What the headline is made of: decisions, numbers, codes, or each caption's own score."""
        if sheet.task.kind == "binary":
            said = decided(sheet, self.measure.options.threshold)[0]
        elif sheet.task.kind == "numbers":
            said = numbers_said(sheet)
        elif sheet.task.kind == "text":
            texts = [
                text or "" if ok else ""
                for text, ok in zip(sheet.rows["answer"].to_list(), sheet.answered.tolist(), strict=True)
            ]
            said = cider(texts, [self.truth.texts[key] for key in sheet.rows.select(ITEM).iter_rows()])
        else:
            said = nearest_degree(sheet) if sheet.task.kind == "ordinal" else sheet.code
        return said

    def _counted(self, sheet: Sheet, said: Floats) -> Floats:
        """The same, with failed and missing predictions at the fallback of the headline."""
        if sheet.task.kind == "text":
            return said
        return np.where(sheet.answered, said, headline_fallback(sheet, said))

    def scores(self, models: Sequence[str], tasks: Sequence[Task], notes: Sequence[str]) -> Scores:
        """All of it."""
        study = self.truth.study
        return Scores(
            study.name, say(study.title) or study.name, self.truth.hash, tuple(models), tuple(tasks),
            tuple(self.found), tuple(self.slices), tuple(self.comparisons), tuple(self.ranks),
            self.coverage, self.details, self.measure.options.to_json(), tuple(notes), self.truth.ledger,
            pl.concat(self.rows, how="vertical") if self.rows else pl.DataFrame(),
        )  # fmt: skip


def _one_sided(sheet: Sheet, threshold: float) -> list[str]:
    """A word on a model whose scores all lie on one side of the threshold: it says nothing that way."""
    if sheet.task.kind != "binary":
        return []
    said, at = decided(sheet, threshold)
    known = said[sheet.answered]
    if known.size < 2 or at == "its own answer" or known.min() < known.max():
        return []
    side = "above" if known[0] else "at or below"
    return [
        f"Every score of {sheet.model} on {sheet.task.id} lies {side} the threshold {threshold:g}, so it always says the "
        "same; look at its scores at the held-out threshold, or choose another."
    ]


def headline_fallback(sheet: Sheet, said: Floats) -> Floats:
    """What a failed prediction counts as in the headline: the wrong side or category, the furthest degree, or the mean of the
    model's own predictions.
    """
    if sheet.task.kind == "binary":
        return 1.0 - sheet.truth
    if sheet.task.kind == "categories":
        return wrong_category(sheet)
    if sheet.task.kind == "ordinal":
        return furthest_degree(sheet)
    known = said[sheet.answered]
    return np.full(said.size, float(known.mean()) if known.size else np.nan)


def _rows(sheet: Sheet, said: Floats, counted: Floats) -> pl.DataFrame:
    """A sheet as the page shows it; ``said`` is what the headline is made of, ``counted`` the same with failures counted."""
    return sheet.rows.select(
        pl.lit(sheet.task.id).alias("task"),
        pl.lit(sheet.model).alias("model"),
        *ITEM,
        pl.col("system").cast(pl.String),
        pl.col("intent").cast(pl.String),
        "truth",
        "code",
        "score",
        "answer",
        pl.Series("said", said).fill_nan(None),
        pl.Series("counted", counted).fill_nan(None),
        pl.Series("answered", sheet.answered),
        "problem",
    )


def _entrant(sheet: Sheet, rows: pl.DataFrame, headline: Score) -> Entrant:
    ranked = headline.with_failures
    why = ELSEWHERE if sheet.held_elsewhere else ranked.why_missing
    return Entrant(
        sheet.model, rows, ranked.value, why, headline.beyond_chance.value, headline.p_chance.value
    )
