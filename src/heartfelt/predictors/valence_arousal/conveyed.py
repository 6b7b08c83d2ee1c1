"""From a folder of generated clips to its predicted conveyance.

The folder may be a study, a snapshot or published data; a folder with one CSV file that names ``file`` (or ``path``),
``intent`` and, if there are several, ``system``; or a folder whose subfolders are called like intents
(``calm/a.wav``, or ``checkpoint7/calm/a.wav``: what stands before the intent is the system). Where no study says otherwise,
intents have AImoclips' reference coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from heartfelt.analysis.conveyance import Asked, KnownError, predicted_conveyance
from heartfelt.errors import InputError, suggestion
from heartfelt.formats.manifest import is_study
from heartfelt.formats.reading import candidates, read_with
from heartfelt.labels import first_answers
from heartfelt.media.probe import AUDIO
from heartfelt.predictors.running import Run, RunOptions, run
from heartfelt.predictors.task import cases
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.predictors.trained.predictor import TrainedPredictor
from heartfelt.predictors.valence_arousal.predictor import ValenceArousal
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.screening import screen
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, load_study
from heartfelt.study.recipes import recipe_study, reference_recipe

Reader: TypeAlias = Callable[[Path, str | None, Mapping[str, Any], Progress | None], Snapshot]

_FILE_COLUMNS = ("path", "file", "audio_file", "stimulus", "clip")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conveyed(ShortRepr):
    """Predicted conveyance with the predictions behind it."""

    snapshot: Snapshot
    run: Run
    summary: Mapping[str, Any]


def conveyed(
    source: Path | str,
    *,
    study: Path | None = None,
    ratings: Path | None = None,
    model: TrainedModel | None = None,
    progress: Progress | None = None,
    read: Reader = read_with,
) -> Conveyed:
    """Predict every clip and work out what is conveyed. ``read`` makes a snapshot of a study, a snapshot or published data."""
    snapshot = clips_of(Path(source), study, progress, read)
    predictor = ValenceArousal.make() if model is None else TrainedPredictor(model)
    references = {
        question.id: dict(snapshot.study.reference(question.axis))
        for question in snapshot.study.asked
        if question.axis and snapshot.study.reference(question.axis) and predictor.model.output(question.id)
    }
    if not references:
        names = ", ".join(one.question for one in predictor.model.outputs)
        raise InputError(
            f"'{snapshot.study.name}' asks nothing that the model predicts ({names}) and its intents have coordinates for.",
            "Give a study whose questions are called so, with --study.",
        )
    answered = run(predictor, cases(snapshot, list(references), labelled=False), None, RunOptions(), progress)
    if not answered.table["ok"].any():
        first = answered.table["problem"].drop_nulls()
        why = f" The first reason: {first[0]}" if len(first) else ""
        raise InputError(
            f"No clip of {source} could be predicted.{why}", "Check the folder and its sound files."
        )
    bounds = {name: snapshot.study.scale_of(name).bounds() or (1.0, 9.0) for name in references}
    asked = Asked(
        snapshot.stimuli,
        answered.table,
        references,
        {name: sum(ends) / 2 for name, ends in bounds.items()},
        _rated(snapshot, ratings, list(references)),
        {name: found for name in references if (found := _error(predictor, name, bounds[name])) is not None},
    )
    return Conveyed(snapshot, answered, predicted_conveyance(asked))


def clips_of(
    folder: Path, study: Path | None = None, progress: Progress | None = None, read: Reader = read_with
) -> Snapshot:
    """The clips of a folder with their systems and intents, as a snapshot."""
    if not folder.exists():
        raise InputError(f"There is no file or folder {folder}.", "Check the path.")
    if study is None and (folder.is_file() or is_snapshot(folder) or is_study(folder) or candidates(folder)):
        found = read(folder, None, {}, progress)
        if not {"system", "intent"} <= set(found.stimuli.columns):
            raise InputError(
                f"The stimuli of {folder} have no systems and intents.", "Predicted conveyance needs both."
            )
        return found
    meant = recipe_study(reference_recipe()) if study is None else load_study(study)
    rows = _listed(folder) or _by_folder(folder, meant)
    known = {intent.id for intent in meant.intents}
    strange = sorted({str(row["intent"]) for row in rows} - known)
    if strange:
        raise InputError(
            f"The intent '{strange[0]}' has no reference coordinates.",
            suggestion(strange[0], known, "Intents") + " Others need a study that names them (--study).",
        )
    return Snapshot.build(
        _with_systems(meant, rows),
        stimuli=pl.DataFrame(rows),
        source=Source("clips", folder.name, media_root=folder),
    )


def _with_systems(study: Study, rows: list[dict[str, str]]) -> Study:
    from heartfelt.study.study import System

    names = sorted({row["system"] for row in rows})
    return study.model_copy(update={"systems": [System(id=name) for name in names]})


def _listed(folder: Path) -> list[dict[str, str]] | None:
    """The clips a CSV file in the folder lists; None where there is no such file."""
    for path in sorted(folder.glob("*.csv")):
        try:
            table = pl.read_csv(path, infer_schema_length=0)
        except (OSError, pl.exceptions.PolarsError):
            continue
        column = next((name for name in _FILE_COLUMNS if name in table.columns), None)
        if column is None or "intent" not in table.columns:
            continue
        system = table["system"] if "system" in table.columns else pl.Series([folder.name] * table.height)
        columns = (table[column], table["intent"], system)
        return [
            {"stimulus": str(file), "path": str(file), "intent": str(intent), "system": str(own)}
            for file, intent, own in zip(*columns, strict=True)
        ]
    return None


def _by_folder(folder: Path, study: Study) -> list[dict[str, str]]:
    known = {intent.id.casefold(): intent.id for intent in study.intents}
    rows = []
    for path in sorted(one for one in folder.rglob("*") if one.suffix.lower() in AUDIO and one.is_file()):
        parts = path.relative_to(folder).parts
        at = next((place for place, part in enumerate(parts[:-1]) if part.casefold() in known), None)
        if at is None:
            continue
        relative = path.relative_to(folder).as_posix()
        system = "/".join(parts[:at]) or folder.resolve().name
        rows.append(
            {"stimulus": relative, "path": relative, "intent": known[parts[at].casefold()], "system": system}
        )
    if not rows:
        raise InputError(
            f"Nothing in {folder} says what its clips were meant to convey.",
            "Put clips into subfolders called like their intents, or add a CSV file with columns file, intent and system."
            f" Intents: {', '.join(sorted(known.values()))}.",
        )
    return rows


def _rated(snapshot: Snapshot, given: Path | None, questions: list[str]) -> pl.DataFrame | None:
    """What people said of some clips: from a table, or from the snapshot after screening."""
    if given is not None:
        table = pl.read_csv(given, infer_schema_length=None)
        if "question" not in table.columns:
            kept = [name for name in questions if name in table.columns]
            if not {"rater", "stimulus"} <= set(table.columns) or not kept:
                raise InputError(
                    f"{given} is no table of ratings.",
                    f"It needs columns rater, stimulus and {' or '.join(questions)}.",
                )
            table = table.unpivot(
                kept, index=["rater", "stimulus"], variable_name="question", value_name="value"
            )
        table = table.select(
            pl.col("rater", "stimulus", "question").cast(pl.String), pl.col("value").cast(pl.Float64)
        ).drop_nulls()
        strange = set(table["stimulus"]) - set(snapshot.stimuli["stimulus"])
        if strange:
            raise InputError(
                f"{given} rates '{min(strange)}', which is no clip of the folder ({len(strange)} such).",
                f"Name clips as the folder does, such as '{snapshot.stimuli['stimulus'][0]}'.",
            )
        return table
    if not snapshot.found.ratings:
        return None
    return first_answers(screen(snapshot, "default").snapshot()).filter(pl.col("known")).drop("known")


def _error(predictor: TrainedPredictor, question: str, asked: tuple[float, float]) -> KnownError | None:
    out = predictor.model.output(question)
    if out is None or "system" not in out.errors or out.bounds is None:
        return None
    factor = (asked[1] - asked[0]) / (out.bounds[1] - out.bounds[0])
    parts = [out.errors[name] * factor for name in ("system", "intent", "stimulus")]
    return KnownError(parts[0], parts[1], parts[2], int(out.errors["systems"]))
