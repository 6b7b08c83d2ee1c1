"""Boards: the models of all runs on one task of one source, compared with each other whatever run they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from heartfelt import __version__
from heartfelt.report.bench.told import Told
from heartfelt.report.leaderboard.runs import BenchRun
from heartfelt.scoring.compare import CompareOptions, Entrant, compare, ranks
from heartfelt.scoring.scores import RANKED_BY
from heartfelt.serialization import to_json


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """One source (a snapshot or benchmark by its hash) with all its tasks, told as one set of scores."""

    source: str
    told: Told
    runs: tuple[BenchRun, ...]
    notes: tuple[str, ...]


def boards_of(runs: Sequence[BenchRun]) -> list[Board]:
    """A board a source, in the order they first come."""
    by_source: dict[str, list[BenchRun]] = {}
    for run in runs:
        by_source.setdefault(str(run.told.said.get("source")), []).append(run)
    return [_board(source, mine) for source, mine in by_source.items()]


def _board(source: str, runs: Sequence[BenchRun]) -> Board:
    tasks: dict[str, dict[str, Any]] = {}
    for run in runs:
        for task in run.told.tasks:
            tasks.setdefault(task["task"], task)
    said: dict[str, Any] = {
        "heartfelt_scores": 1, "study": runs[0].told.said["study"], "title": runs[0].told.title, "source": source,
        "models": [], "tasks": list(tasks.values()), "metrics": {}, "coverage": {}, "ranks": [], "scores": [],
        "comparisons": [], "slices": [], "details": {}, "options": runs[0].told.said["options"], "notes": [],
        "heartfelt_version": __version__, "model_info": {}, "ranked_by": RANKED_BY,
    }  # fmt: skip
    notes = [run.why_no_items for run in runs if run.why_no_items]
    notes += [run.why_answered_only for run in runs if run.why_answered_only]
    for run in runs:
        said["metrics"] |= run.told.said["metrics"]
    for task in tasks.values():
        notes += _add(said, task, runs)
    return Board(source, Told(said), tuple(runs), tuple(dict.fromkeys(notes)))


def _add(said: dict[str, Any], task: dict[str, Any], runs: Sequence[BenchRun]) -> list[str]:
    """Put one task of all runs into the joint scores."""
    name, notes = str(task["task"]), []
    names = [model for run in runs for model in run.told.models]
    entrants: list[Entrant] = []
    ceilings = set()
    for run in runs:
        if all(one["task"] != name for one in run.told.tasks):
            continue
        for rank in run.told.ranks(name):
            model = rank["model"]
            shown = model if names.count(model) == 1 else f"{model} ({run.name})"
            found = run.told.headline(task, model)
            if shown not in said["models"]:
                said["models"].append(shown)
            said["scores"].append({**found, "model": shown})
            info = (run.told.said.get("model_info") or {}).get(model)
            if info:
                said["model_info"][shown] = info
            said["coverage"].setdefault(shown, {})[name] = run.told.said["coverage"][model].get(name)
            ceilings.add(found["ceiling"].get("value"))
            rows = run.items.filter((pl.col("task") == name) & (pl.col("model") == model))
            beyond, p = (found.get(key, {}).get("value") for key in ("beyond_chance", "p_chance"))
            # Whether a model beats chance is decided anew, corrected for all models of the board.
            why = None if rank.get("beats_chance") is False else rank["why_none"]
            why = why or (run.why_no_items if not rows.height else None)
            entrants.append(Entrant(shown, rows, found["with_failures"].get("value"), why, beyond, p))
        said["details"].setdefault(name, {"one_rater": run.told.human(task), "models": {}})
    if len(ceilings - {None}) > 1:
        notes.append(f"{name}: runs scored different items, so their ceilings differ; the first is drawn.")
    options = CompareOptions(name, task["kind"], task["headline"])
    pairs = compare(entrants, options)
    said["comparisons"] += [to_json(pair) for pair in pairs]
    said["ranks"] += [to_json(rank) for rank in ranks(entrants, pairs, options)]
    return notes
