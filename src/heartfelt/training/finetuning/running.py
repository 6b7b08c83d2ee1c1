"""From sources to a fine-tuned model with its scores: gather, build, train, score on what was not trained on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS
from heartfelt.predictors.execution.store import StoredPrediction, predictions_table
from heartfelt.predictors.interface.predictor import Prediction
from heartfelt.predictors.trained.finetuned import ErrorInterval
from heartfelt.predictors.trained.folder import CARD, FINE_TUNED, MODEL, TRAINING_STIMULI, DataSource, ModelCore
from heartfelt.progress import Progress
from heartfelt.scoring import ScoreOptions, Scores, score, truth_of
from heartfelt.serialization import to_json, write_json
from heartfelt.snapshot import Snapshot
from heartfelt.streams import derived_seed
from heartfelt.training.finetuning.card import model_card
from heartfelt.training.finetuning.folder import ModelFacts, PartScore, write_model_files
from heartfelt.training.finetuning.gathering import GatherOptions, gather_data, gather_folds
from heartfelt.training.finetuning.loop.checkpoints import Checkpoints, RunIdentity
from heartfelt.training.finetuning.loop.engine import TrainingLoop, TrainingResult
from heartfelt.training.finetuning.options import FineTuneOptions
from heartfelt.training.finetuning.recipe import FineTuneRecipe, recipe_named, settings_of
from heartfelt.training.finetuning.settings import FineTuneSettings
from heartfelt.training.finetuning.stimuli.data import TrainingData
from heartfelt.training.finetuning.stimuli.parts import VALIDATION
from heartfelt.training.finetuning.task import FineTuneTask, QuestionOutput
from heartfelt.training.heads.calibrating import conformal
from heartfelt.training.heads.fitting import Floats
from heartfelt.training.heads.label_checks import TRAIN

CONFIDENCE = 0.9


def error_intervals(
    data: TrainingData, predictions: pl.DataFrame, confidence: float = CONFIDENCE
) -> dict[str, ErrorInterval]:
    """The interval of every question answered with numbers: the conformal quantile of the errors on stimuli not trained on.

    It holds for stimuli like the scored ones. A stimulus's error counts once for each source and question; the stimuli that
    decide when training stops do not count. With fewer scored stimuli than the confidence needs (nine at .9) there is none.

    Source: Vovk, Gammerman and Shafer (2005), *Algorithmic Learning in a Random World*, split conformal prediction.
    """
    position = {
        (int(source), example.stimulus): at
        for at, (source, example) in enumerate(zip(data.origin, data.examples, strict=True))
    }
    scored = predictions.filter(pl.col("part") != VALIDATION)
    intervals = {}
    for target in data.targets:
        if target.output.categories:
            continue
        rows = scored.filter(pl.col("question") == target.question).select("source", "stimulus", "value")
        indices = np.array([position[source, stimulus] for source, stimulus, _ in rows.iter_rows()], np.int64)
        labelled = target.weight[indices] > 0
        errors = np.abs(rows["value"].to_numpy() - target.values[indices])[labelled]
        if errors.size >= math.ceil(confidence / (1 - confidence) - 1e-9):
            half_width = float(conformal(errors, confidence))
            intervals[target.question] = ErrorInterval(half_width, confidence, int(errors.size))
    return intervals


_RESAMPLES = 2_000
_SHOWN = ("item", "system")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FineTuned:
    """A fine-tuned model with what it was made from and how well it does."""

    task: FineTuneTask
    data: TrainingData
    facts: ModelFacts
    predictions: pl.DataFrame
    """What it predicts for every stimulus that was not trained on, with its part."""
    scored: Mapping[str, Scores]
    """The full scores by part, with the source's name where there are several."""
    is_main: bool = True
    """Whether this process writes the result, where several GPUs have a process each."""

    def write(self, folder: Path) -> ModelFacts:
        """Write the model into ``folder``, which is there and empty; the facts as written."""
        hashes, onnx_problem = write_model_files(self.task, folder)
        facts = replace(self.facts, core=replace(self.facts.core, files=hashes, onnx=onnx_problem))
        parts = {VALIDATION: self.data.parts.validation, TRAIN: self.data.parts.train}
        stimuli = {self.data.examples[at].content: {"part": part} for part in parts for at in parts[part]}
        write_json(folder / TRAINING_STIMULI, dict(sorted(stimuli.items())))
        write_json(folder / MODEL, facts)
        write_text(folder / CARD, model_card(facts))
        for number, source in enumerate(self.data.sources):
            self._write_answer_file(folder, source, number)
        return facts

    def _write_answer_file(self, folder: Path, source: Snapshot, number: int) -> None:
        """The answer file of a challenge, where the source's format has one: ids without extension, a column per question."""
        question_by_column = FORMATS[source.source.format].answer_columns if source.source.format in FORMATS else {}
        if not question_by_column or not set(question_by_column.values()) <= {
            output.question for output in self.facts.outputs
        }:
            return
        answers = self.predictions.filter((pl.col("source") == number) & (pl.col("part") != VALIDATION))
        rows: dict[str, dict[str, float]] = {}
        for stimulus, question, value in answers.select("stimulus", "question", "value").iter_rows():
            rows.setdefault(Path(stimulus).stem, {})[question] = value
        lines = [
            ",".join([name, *(f"{by_question[question_by_column[column]]:.6f}" for column in question_by_column)])
            for name, by_question in rows.items()
        ]
        name = "answer.txt" if len(self.data.sources) == 1 else f"answer-{number + 1}.txt"
        write_text(folder / name, "\n".join(lines) + "\n")


def fine_tune(
    sources: Sequence[Snapshot],
    options: FineTuneOptions,
    *,
    checkpoints: Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> FineTuned:
    """Train a recipe on the sources.

    ``checkpoints`` is the folder of the unfinished run; ``resume`` continues what is there.
    """
    recipe = recipe_named(options.recipe)
    settings = settings_of(recipe, options.settings)
    left_out: list[pl.DataFrame] = []

    def train(data: TrainingData, folder: Path | None) -> tuple[TrainingLoop, TrainingResult]:
        """A model of some data; its answers about stimuli it was not trained on are added."""
        engine, fitted = _trained(recipe, settings, data, options, folder, resume, progress)
        left_out.append(_predicted(engine, data))
        return engine, fitted

    if options.folds:
        how = _gathering(options, progress)
        data, every = gather_folds(sources, recipe, settings, options.folds, **how)
        for number, fold_data in enumerate(every, 1):
            train(fold_data, None if checkpoints is None else checkpoints / f"fold-{number}")
        left_out = [table.filter(pl.col("part") != VALIDATION) for table in left_out]
    else:
        data = gather_for(recipe, settings, sources, options, progress)
    engine, fitted = train(data, checkpoints)
    predictions = pl.concat(left_out)
    name = options.name or f"{options.recipe} on {data.study_name}"
    scored, rows = _scored(data, predictions, name, options.seed)
    settings_json = settings.model_dump(mode="json")
    facts = _facts(name, options, settings_json, data, engine.task, fitted, rows)
    facts = replace(facts, intervals=error_intervals(data, predictions))
    is_main = bool(engine.accelerator.is_main_process)
    return FineTuned(task=engine.task, data=data, facts=facts, predictions=predictions, scored=scored, is_main=is_main)


def _trained(
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    data: TrainingData,
    options: FineTuneOptions,
    checkpoints: Path | None,
    resume: bool,
    progress: Progress | None,
) -> tuple[TrainingLoop, TrainingResult]:
    import torch

    store = None
    if checkpoints is not None:
        settings_json = settings.model_dump(mode="json")
        store = Checkpoints(
            checkpoints,
            RunIdentity(recipe=options.recipe, settings=settings_json, data=data_hash(data), seed=options.seed),
        )
        store.check(resume=resume)
    torch.manual_seed(derived_seed(options.seed, "finetune", "weights"))
    engine = TrainingLoop(recipe.build(data, settings), data, settings, checkpoints=store, progress=progress)
    return engine, engine.fit()


def gather_for(
    recipe: FineTuneRecipe,
    settings: FineTuneSettings,
    sources: Sequence[Snapshot],
    options: FineTuneOptions,
    progress: Progress | None = None,
) -> TrainingData:
    """The data that a recipe with these settings is trained on, as the options say."""
    return gather_data(sources, recipe, settings, **_gathering(options, progress))


def _gathering(options: FineTuneOptions, progress: Progress | None) -> GatherOptions:
    return {
        "policy": options.policy,
        "group": options.group,
        "published": bool(options.split),
        "seed": options.seed,
        "progress": progress,
    }


def data_hash(data: TrainingData) -> str:
    """A hash of everything training reads: stimuli, files, prompts, fields, labels, weights, parts."""
    digest = hashlib.sha256()
    for source in data.sources:
        digest.update("".join(source.table_hashes.get(name, "") for name in ("stimuli", "fields")).encode())
    for example in data.examples:
        digest.update("\x1f".join([example.source, example.stimulus, example.content, example.prompt or ""]).encode())
    for target in data.targets:
        digest.update(repr(target.output).encode())
        digest.update(np.ascontiguousarray(target.values).tobytes() + np.ascontiguousarray(target.weight).tobytes())
    for indices in (data.parts.train, data.parts.validation, *data.parts.test.values()):
        digest.update(np.asarray(indices, np.int64).tobytes() + b";")
    return digest.hexdigest()


def _predicted(engine: TrainingLoop, data: TrainingData) -> pl.DataFrame:
    """What the model predicts for the stimuli of every part that was not trained on."""
    tables = []
    for part, indices in {VALIDATION: data.parts.validation, **data.parts.test}.items():
        if not indices.size:
            continue
        answers, _ = engine.answer_parts(engine.task.module, indices)
        for number in np.unique(data.origin[indices]):
            of_source = np.flatnonzero(data.origin[indices] == number)
            rows = [
                (
                    data.examples[indices[at]].stimulus,
                    output.question,
                    StoredPrediction(prediction_of(output, answers[output.question][at])),
                )
                for output in data.outputs
                for at in of_source
            ]
            table = predictions_table("model", rows)
            tables.append(table.with_columns(pl.lit(part).alias("part"), pl.lit(int(number)).alias("source")))
    return pl.concat(tables)


def prediction_of(output: QuestionOutput, answer: Floats | float) -> Prediction:
    if not output.categories:
        return Prediction(value=float(answer))
    shares = {name: float(share) for name, share in zip(output.categories, np.asarray(answer), strict=True)}
    best = max(shares, key=shares.__getitem__)
    return Prediction(value=output.categories[best], answer=best, shares=shares)


def _scored(
    data: TrainingData, predictions: pl.DataFrame, name: str, seed: int
) -> tuple[dict[str, Scores], list[PartScore]]:
    """Scores of every tested part against the labels of the screened raters, with intervals and ceilings."""
    scored: dict[str, Scores] = {}
    rows: list[PartScore] = []
    options = ScoreOptions(seed=seed, resamples=_RESAMPLES, slices=())
    questions = [output.question for output in data.outputs]
    for (part, number), table in predictions.group_by("part", "source", maintain_order=True):
        if part == VALIDATION:
            continue
        source = data.sources[int(number)]
        truth = truth_of(data.panels[int(number)].snapshot(), options)
        wanted = pl.col("stimulus").is_in(table["stimulus"].unique().to_list()) & pl.col("question").is_in(questions)
        items = truth.items.filter(wanted)
        if not items.height:
            continue
        model_predictions = table.drop("part", "source").with_columns(pl.lit(name).alias("model"))
        result = score(replace(truth, items=items), model_predictions, options)
        title = source.study.name if len(data.sources) > 1 else ""
        systems = items["system"].drop_nulls().n_unique() if "system" in items.columns else 0
        scored[f"{part} {title}".strip()] = result
        rows += [
            PartScore(
                part=str(part),
                source=title,
                task=model_score.task,
                metric=model_score.metric,
                aggregation=model_score.aggregation,
                n=systems if model_score.aggregation == "system" else result.answered(model_score.task, name)[0],
                estimate=model_score.estimate,
                ceiling=model_score.ceiling,
            )
            for model_score in result.scores
            if model_score.aggregation in _SHOWN and model_score.estimate.value is not None
        ]
    return scored, rows


def _facts(
    name: str,
    options: FineTuneOptions,
    settings: Mapping[str, Any],
    data: TrainingData,
    task: FineTuneTask,
    fitted: TrainingResult,
    scores: Sequence[PartScore],
) -> ModelFacts:
    parts = {TRAIN: data.parts.train, VALIDATION: data.parts.validation, **data.parts.test}
    core = ModelCore(
        kind=FINE_TUNED,
        name=name,
        recipe=options.recipe,
        media=data.sources[0].study.media,
        data=tuple(DataSource.of(source.study, source.hash) for source in data.sources),
        base_models=task.base_models,
    )
    return ModelFacts(
        core=core,
        settings=to_json(settings),  # type: ignore[arg-type]  # a mapping stays one
        outputs=data.outputs,
        policy=data.panels[0].policy.name,
        stimuli={part: int(indices.size) for part, indices in parts.items()},
        left_out=data.unusable,
        systems=tuple(sorted({example.system for example in data.examples if example.system})),
        grouping=data.grouping.words,
        split=data.parts.words,
        seed=options.seed,
        fitted=fitted,
        scores=tuple(scores),
        credit=task.credit,
        notes=(*data.notes, *fitted.notes),
        labels=data.label_words,
    )
