"""What a folder holds of earlier benches, so that another one adds models to it and keeps the others.

Predictions are kept as they are and scored again with the new ones. That is only right for the same data and the same way of
scoring; anything else is refused before a model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import DamagedError, InputError
from heartfelt.files import file_stem
from heartfelt.predictors.execution.store import JOURNAL
from heartfelt.predictors.interface.predictor import PREDICTIONS
from heartfelt.scoring import ModelInfo, ScoreOptions, Scores
from heartfelt.serialization import Json, read_json, to_json
from heartfelt.tables import LEDGER
from heartfelt.wording import listed, spaced

RUNS, SCORES, PREDICTED = "runs", "scores.json", "predictions.parquet"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Earlier:
    """Models of an earlier bench in the same folder, with their predictions."""

    predictions: pl.DataFrame = field(default_factory=PREDICTIONS.empty)
    about: Mapping[str, ModelInfo] = field(default_factory=dict)
    ledgers: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """What each of the models holds and could not use."""


def earlier_bench(folder: Path | None, names: Sequence[str], data_hash: str, options: ScoreOptions) -> Earlier:
    """The models in a folder that answered and are not among ``names``; raise where they were asked about something else."""
    if folder is None or not (folder / SCORES).is_file():
        return Earlier()
    scores = read_json(folder / SCORES, Scores)
    kept_models = [name for name in _answered(scores) if name not in names]
    if not kept_models:
        return Earlier()
    fix = f"Choose another folder; or name {listed(kept_models)} again too, and all are scored anew."
    if scores.hash != data_hash:
        raise InputError(
            f"{folder} holds a bench of other data ({scores.title}, {scores.hash[:12]}; now {data_hash[:12]}): its scores of "
            f"{listed(kept_models)} cannot be compared with new ones.",
            fix,
        )
    changes = "; ".join(_changes(scores.options, options))
    if changes:
        raise InputError(
            f"{folder} holds a bench of {listed(kept_models)} that was scored with other options: {changes}.",
            f"Give the same options. {fix}",
        )
    try:
        predictions = pl.read_parquet(folder / PREDICTED).filter(pl.col("model").is_in(kept_models))
        predictions = PREDICTIONS.check(predictions, PREDICTED)
    except (OSError, pl.exceptions.PolarsError, InputError) as error:
        raise DamagedError(
            f"{folder / PREDICTED} cannot be read, so {listed(kept_models)} cannot be kept.", fix
        ) from error
    about = {name: info for name, info in scores.model_info.items() if name in kept_models}
    return Earlier(predictions=predictions, about=about, ledgers=_ledgers(folder, about))


def _changes(before: ScoreOptions, now: ScoreOptions) -> Iterator[str]:
    """Which options differ, in words."""
    old, new = _flat(to_json(before)), _flat(to_json(now))
    for name in old:
        if old[name] != new.get(name):
            yield f"{spaced(name)} was {_words(old[name])} and is now {_words(new.get(name))}"


def run_folder(runs: Path, spec: str) -> Path:
    """The folder of a model's journal and tables, which no other model has.

    Until 0.8.4 long and similar names could share one: it is still used by the model that was the last to finish in it.
    """
    home, shared = runs / file_stem(spec), runs / re.sub(r"[^\w.-]+", "_", spec)[:120]
    if not home.exists() and shared != home and (shared / JOURNAL).is_file():
        described = run_summary(shared).get("predictor", {"spec": spec})
        if described.get("spec") == spec:
            return shared
    return home


def run_summary(home: Path) -> dict[str, Any]:
    """What ``run.json`` says of the model that answered in a folder; empty where there is none."""
    path = home / "run.json"
    return read_json(path, dict[str, Any]) if path.is_file() else {}


def _answered(scores: Scores) -> list[str]:
    """The models that answered anything; one that did not, such as a server that was down, is not kept."""
    covered = {model: scores.coverage.get(model, {}).values() for model in scores.models}
    return [model for model, tasks in covered.items() if any(task.answered for task in tasks)]


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "not set" if value is None else str(value)


def _flat(options: Json) -> dict[str, Json]:
    """Options by name, those of the selection among them."""
    assert isinstance(options, dict), "options are an object"
    out: dict[str, Json] = {}
    for name, value in options.items():
        out |= _flat(value) if isinstance(value, dict) else {name: value}
    return out


def _ledgers(folder: Path, about: Mapping[str, ModelInfo]) -> dict[str, pl.DataFrame]:
    ledgers = {}
    for path in sorted((folder / RUNS).glob("*/predictions_ledger.csv")):
        summary = run_summary(path.parent)
        model = about.get(summary.get("model", ""))
        # A model of that name may have been another one in an earlier run.
        if model is not None and summary["predictor"]["spec"] == model.spec:
            schema = {column.name: column.dtype for column in LEDGER.columns}
            ledgers[summary["model"]] = pl.read_csv(path, schema_overrides=schema)
    return ledgers
