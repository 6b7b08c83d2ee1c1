"""Does combining the models of a bench beat the best of them? See :mod:`heartfelt.stats.prediction.stacking`.

Asked of questions answered with numbers, failures counted, three times: for other stimuli, with what training keeps in one fold
(:mod:`heartfelt.scoring.grouping`: pictures of one theme, songs of one prompt, equal files) kept in one fold here too; for other
systems; and for other intents. Models whose predictions are made of labels are left out: what they say of one fold holds labels of
another. A stack is called better only where a model beats chance, since choosing among models that say nothing is a lottery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from heartfelt.media.probe import AT_HAND
from heartfelt.scoring import Scores, Truth
from heartfelt.scoring.results.parts import Stack
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Ints
from heartfelt.stats.prediction.stacking import stacked

FROM_LABELS = "its predictions are made of labels"
NO_VARIANCE = "its predictions do not vary"
_CONTENT = ("sha256", "content", "hash")
"""Columns of the stimuli that say which files are equal."""


def with_stacks(scores: Scores, truth: Truth) -> Scores:
    """The scores with a stack of every task answered with numbers."""
    if len(scores.models) < 2 or not scores.rows.height:
        return scores
    stimuli = truth.snapshot.stimuli if isinstance(truth.snapshot, Snapshot) else None
    stacks = [stack for task in scores.tasks if task.kind == "numbers" for stack in stacks_of(scores, task, stimuli)]
    return replace(scores, parts=replace(scores.parts, stacks=tuple(stacks)))


def stacks_of(scores: Scores, task: ScoringTask, stimuli: pl.DataFrame | None = None) -> Iterator[Stack]:
    """The stack of one task for other stimuli, and for other systems and intents where there are three or more."""
    rows = scores.rows.filter(pl.col("task") == task.id)
    # A model may have the name of another column, such as "intent".
    wide = rows.with_columns(pl.format("model {}", "model").alias("model")).pivot(
        "model", index="stimulus", values="counted", aggregate_function="first", maintain_order=True
    )
    facts = rows.group_by("stimulus", maintain_order=True).agg(pl.col("truth", "system", "intent").first())
    wide = facts.join(wide, on="stimulus", how="left", maintain_order="left")
    left_out = {model: reason for model in scores.models if (reason := _why_left_out(scores, wide, model))}
    names = tuple(model for model in scores.models if model not in left_out)
    label = wide["truth"].to_numpy()
    predicted = wide.select(f"model {name}" for name in names).to_numpy() if names else np.zeros((wide.height, 0))
    beats_chance = any(rank.beats_chance and rank.model in names for rank in scores.ranked(task.id))
    options = scores.options
    for unit, group in _groupings(wide, stimuli):
        result = stacked(label, predicted, names, group, confidence=options.confidence, seed=options.seed)
        if result.stack.value is None and unit in ("systems", "intents"):
            continue
        p, gain = result.p.value, result.difference.value
        small = p is not None and gain is not None and p <= 1 - options.confidence and gain > 0
        yield Stack(task=task.id, unit=unit, result=result, left_out=left_out, gains=small and beats_chance)


def _why_left_out(scores: Scores, wide: pl.DataFrame, model: str) -> str | None:
    """Why a model cannot be combined with others."""
    column = f"model {model}"
    if column not in wide.columns or not wide[column].is_not_null().all():
        return "it has no prediction for some items"
    if model in scores.parts.from_labels:
        return FROM_LABELS
    return NO_VARIANCE if float(np.ptp(wide[column].to_numpy())) <= 1e-12 else None


def _groupings(wide: pl.DataFrame, stimuli: pl.DataFrame | None) -> Iterator[tuple[str, Ints]]:
    yield _groups_of_stimuli(wide["stimulus"], stimuli)
    for column in ("system", "intent"):
        names = wide[column].cast(pl.String)
        if names.null_count() == 0 and 3 <= names.n_unique() < wide.height:
            yield f"{column}s", names.rank("dense").to_numpy().astype(np.int64)


def _groups_of_stimuli(names: pl.Series, stimuli: pl.DataFrame | None) -> tuple[str, Ints]:
    """What training would keep in one fold, from the columns of the stimuli; else every stimulus by itself."""
    from heartfelt.scoring.grouping import grouping_of

    if stimuli is None:
        return "stimuli", np.arange(names.len())
    table = names.to_frame("stimulus").join(stimuli, on="stimulus", how="left", maintain_order="left")
    content = next((name for name in _CONTENT if name in table.columns), None)
    contents = table.select(pl.coalesce(pl.col(content) if content else pl.lit(None), "stimulus").cast(pl.String))
    columns = [name for name in table.columns if name == "path" or name not in AT_HAND]
    grouping = grouping_of(
        table.select(columns), contents.to_series().to_list(), np.zeros((table.height, 1), np.float32)
    )
    return (f"stimuli (by {grouping.by})" if grouping.by else "stimuli"), grouping.groups
