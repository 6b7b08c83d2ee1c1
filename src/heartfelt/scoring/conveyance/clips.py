"""From a folder of generated clips to its predicted conveyance.

The folder may be a study, a snapshot or published data; a folder with one CSV file that names ``file`` (or ``path``),
``intent`` and, if there are several, ``system``; or a folder whose subfolders are named after intents
(``calm/a.wav``, or ``checkpoint7/calm/a.wav``: what comes before the intent is the system). Unless a study gives others,
intents have the reference coordinates of the recipe that has some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.format import candidates, read_with
from heartfelt.formats.study_folder.manifest import is_study
from heartfelt.formats.tables.columns import number_expr, read_table
from heartfelt.labels import first_answers
from heartfelt.predictors.files.folders import FoundFile, files_below
from heartfelt.predictors.options import RunOptions
from heartfelt.predictors.running import Run, run
from heartfelt.predictors.task import cases
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.predictors.trained.predictor import TrainedPredictor
from heartfelt.predictors.trained.valence_arousal import ValenceArousal
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.scoring.conveyance.predicted import Evidence, KnownError, PredictedConveyance, predicted_conveyance
from heartfelt.screening import screen
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, load_study
from heartfelt.study.recipes import recipe_study, reference_recipe
from heartfelt.study.study import System

Reader: TypeAlias = Callable[[Path, str | None, Mapping[str, Any], Progress | None], Snapshot]

_FILE_COLUMNS = ("path", "file", "audio_file", "stimulus", "clip")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conveyed(ShortRepr):
    """Predicted conveyance with the clips and the predictions behind it."""

    snapshot: Snapshot
    run: Run
    result: PredictedConveyance


def convey(
    source: Path | str,
    *,
    study: Path | None = None,
    ratings: Path | None = None,
    model: TrainedModel | None = None,
    progress: Progress | None = None,
    read: Reader = read_with,
) -> Conveyed:
    """Predict every clip and compute what is conveyed. ``read`` makes a snapshot of a study, a snapshot or published data."""
    snapshot = clips_of(Path(source), study, progress, read)
    predictor = ValenceArousal.make() if model is None else TrainedPredictor(model)
    references = _references(snapshot.study, predictor)
    answered = run(predictor, cases(snapshot, list(references), labelled=False), None, RunOptions(), progress)
    if not answered.table["ok"].any():
        first = answered.table["problem"].drop_nulls()
        first_reason = f" The first reason: {first[0]}" if len(first) else ""
        raise InputError(
            f"No clip of {source} could be predicted.{first_reason}", "Check the folder and its sound files."
        )
    bounds = {name: snapshot.study.scale_of(name).bounds() or (1.0, 9.0) for name in references}
    errors = {name: _known_error(predictor, name, ends) for name, ends in bounds.items()}
    evidence = Evidence(
        stimuli=snapshot.stimuli,
        predictions=answered.table,
        references=references,
        midpoints={name: sum(ends) / 2 for name, ends in bounds.items()},
        ratings=_rated(snapshot, ratings, list(references)),
        errors={name: error for name, error in errors.items() if error is not None},
    )
    return Conveyed(snapshot, answered, predicted_conveyance(evidence))


def _references(study: Study, predictor: TrainedPredictor) -> dict[str, dict[str, float]]:
    """The coordinates of intents, by question that the model predicts."""
    on_axes = {question.id: question.axis for question in study.asked if question.axis}
    references = {name: dict(study.reference(axis)) for name, axis in on_axes.items() if predictor.model.output(name)}
    references = {name: coordinates for name, coordinates in references.items() if coordinates}
    if not references:
        names = ", ".join(output.question for output in predictor.model.outputs)
        raise InputError(
            f"'{study.name}' has no question that the model predicts ({names}) and its intents have coordinates for.",
            "Give a study with such questions, with --study.",
        )
    return references


def clips_of(
    folder: Path, study: Path | None = None, progress: Progress | None = None, read: Reader = read_with
) -> Snapshot:
    """The clips of a folder with their systems and intents, as a snapshot."""
    if not folder.exists():
        raise InputError(f"There is no file or folder {folder}.", "Check the path.")
    if study is None and (folder.is_file() or is_snapshot(folder) or is_study(folder) or candidates(folder)):
        snapshot = read(folder, None, {}, progress)
        if not {"system", "intent"} <= set(snapshot.stimuli.columns):
            raise InputError(
                f"The stimuli of {folder} have no systems and intents.", "Predicted conveyance needs both."
            )
        return snapshot
    intended = recipe_study(reference_recipe()) if study is None else load_study(study)
    clips = _listed(folder)
    clips = _by_folder(folder, intended) if clips is None or not clips.height else clips
    _check_intents(clips, {intent.id for intent in intended.intents})
    systems = [System(id=name) for name in clips["system"].unique().sort()]
    return Snapshot.build(
        intended.model_copy(update={"systems": systems}),
        stimuli=clips.select(stimulus="path", path="path", intent="intent", system="system"),
        source=Source(format="clips", name=folder.name, media_root=folder),
    )


def _check_intents(clips: pl.DataFrame, intents: set[str]) -> None:
    unknown = sorted(set(clips["intent"]) - intents)
    if unknown:
        raise InputError(
            f"The intent '{unknown[0]}' has no reference coordinates.",
            suggestion(unknown[0], intents, "Intents") + " Others need a study that names them (--study).",
        )


def _listed(folder: Path) -> pl.DataFrame | None:
    """The clips a CSV file in the folder lists; None where there is no such file."""
    for path in sorted(folder.glob("*.csv")):
        try:
            table = read_table(path)
        except InputError:
            continue
        column = next((name for name in _FILE_COLUMNS if name in table.columns), None)
        if column is not None and "intent" in table.columns:
            system = pl.col("system") if "system" in table.columns else pl.lit(folder.name)
            return table.select(path=column, intent="intent", system=system).cast(pl.String).fill_null("")
    return None


def _by_folder(folder: Path, study: Study) -> pl.DataFrame:
    intent_of = {intent.id.casefold(): intent.id for intent in study.intents}
    rows = []
    for file in files_below(folder, ("audio",)):
        within = file.path.relative_to(folder)
        parts = within.parts
        at = next((index for index, part in enumerate(parts[:-1]) if part.casefold() in intent_of), None)
        if at is not None:
            system = "/".join(parts[:at]) or folder.resolve().name
            rows.append((FoundFile(within).name, intent_of[parts[at].casefold()], FoundFile(Path(system)).name))
    if not rows:
        raise InputError(
            f"Nothing in {folder} says what its clips were meant to convey.",
            "Put clips into subfolders named after their intents, or add a CSV file with columns file, intent and system."
            f" Intents: {', '.join(sorted(intent_of.values()))}.",
        )
    return pl.DataFrame(rows, schema=["path", "intent", "system"], orient="row")


def _rated(snapshot: Snapshot, path: Path | None, questions: list[str]) -> pl.DataFrame | None:
    """What people answered about some clips: from a table, or from the snapshot after screening."""
    if path is None:
        if not snapshot.survey.ratings:
            return None
        return first_answers(screen(snapshot, "default").snapshot()).filter(pl.col("known")).drop("known")
    table = read_table(path)
    if "question" not in table.columns:
        rated = [name for name in questions if name in table.columns]
        if not {"rater", "stimulus"} <= set(table.columns) or not rated:
            raise InputError(
                f"{path} is not a table of ratings.", f"It needs columns rater, stimulus and {' or '.join(questions)}."
            )
        table = table.unpivot(rated, index=["rater", "stimulus"], variable_name="question", value_name="value")
    table = table.select(
        pl.col("rater", "stimulus", "question").cast(pl.String), number_expr("value").alias("value")
    ).drop_nulls()
    unknown = set(table["stimulus"]) - set(snapshot.stimuli["stimulus"])
    if unknown:
        raise InputError(
            f"{path} rates '{min(unknown)}', which is not a clip of the folder ({len(unknown)} such).",
            f"Name clips as the folder does, such as '{snapshot.stimuli['stimulus'][0]}'.",
        )
    return table


def _known_error(predictor: TrainedPredictor, question: str, scale_range: tuple[float, float]) -> KnownError | None:
    output = predictor.model.output(question)
    if output is None or "system" not in output.errors or output.bounds is None:
        return None
    factor = (scale_range[1] - scale_range[0]) / (output.bounds[1] - output.bounds[0])
    system, intent, stimulus = (output.errors[name] * factor for name in ("system", "intent", "stimulus"))
    return KnownError(system, intent, stimulus, int(output.errors["systems"]))
