"""From a snapshot to a trained model in a folder, with its evaluation and its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heartfelt import __version__
from heartfelt.predictors.trained.domain import Domain
from heartfelt.predictors.trained.embeddings import EMBEDDINGS
from heartfelt.predictors.trained.facts import ChosenHead, OutOfFold, TrainingFacts
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.predictors.trained.folder import DataSource
from heartfelt.predictors.trained.heads.head import QuestionHead
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.progress import Progress
from heartfelt.serialization import from_json, to_json
from heartfelt.snapshot import Snapshot
from heartfelt.training.heads.calibrating import width_of
from heartfelt.training.heads.card import card
from heartfelt.training.heads.evaluating import Evaluation, LeftOut, evaluate, with_published
from heartfelt.training.heads.fitting import choose
from heartfelt.training.heads.label_checks import TRAIN
from heartfelt.training.heads.material import RECIPES, TrainingStimuli, gather
from heartfelt.training.heads.targets import LabelTarget
from heartfelt.training.options import TrainOptions


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained model with what it was made from and how well it does."""

    model: TrainedModel
    material: TrainingStimuli
    evaluation: Evaluation


def train(snapshot: Snapshot, options: TrainOptions | None = None, progress: Progress | None = None) -> Trained:
    """Embed, evaluate with everything nested, then fit to all stimuli."""
    options = options or TrainOptions()
    recipe = RECIPES[options.recipe]
    if options.embedding:
        recipe = recipe.with_embedding(options.embedding, snapshot.study.media)
    gathered = gather(
        snapshot,
        recipe,
        policy=options.policy,
        seed=options.seed,
        group=options.group,
        split=bool(options.split),
        cache=FeatureCache(options.features),
        progress=progress,
    )
    material = gathered.part(TRAIN).learnable() if options.split else gathered
    gathered = replace(gathered, targets=_of_same_questions(gathered.targets, material.targets))
    kinds = options.heads or recipe.kinds
    evaluation = evaluate(material, kinds, options.confidence, progress)
    outputs, chosen, domain = _fitted(material, evaluation, kinds, options.confidence)
    if options.split:
        parts = {name: gathered.part(name) for name in dict.fromkeys(gathered.split) if name not in (TRAIN, None)}
        evaluation = with_published(evaluation, parts, outputs, domain)
    # One model uses one embedding: the widest that any question needs.
    widest = material.widest
    model = TrainedModel(
        name=options.name or f"{options.recipe} on {snapshot.study.name}",
        recipe=options.recipe,
        embedding=widest,
        outputs=tuple(_widened(output, at, widest) for output, at in zip(outputs, material.targets, strict=True)),
        facts=_facts(material, options, evaluation, chosen),
        out_of_fold=_out_of_fold(material, evaluation),
        domain=domain,
        data=(DataSource.of(snapshot.study, snapshot.hash),),
    )
    return Trained(replace(model, card=card(model)), material, evaluation)


def _of_same_questions(targets: Sequence[LabelTarget], matched: Sequence[LabelTarget]) -> tuple[LabelTarget, ...]:
    questions = {target.question for target in matched}
    return tuple(target for target in targets if target.question in questions)


def _fitted(
    material: TrainingStimuli, evaluation: Evaluation, kinds: Sequence[str], confidence: float
) -> tuple[list[QuestionHead], dict[str, ChosenHead], Domain]:
    """The head of every question, chosen on inner folds and fitted to all stimuli; how each was chosen; the domain trained on."""
    outputs, chosen, systems = [], {}, material.systems
    # Every question's stimuli are left out along the same plan.
    # The errors that calibrate intervals are those of the plan that leaves most unknown.
    plan = _farthest(evaluation, material.targets[0].question).fold
    positions = material.domains().of(np.arange(len(material.stimuli)), plan)
    for target in material.targets:
        at = np.flatnonzero(np.isfinite(target.label))
        systems_of_rows = None if systems is None else systems[at]
        best = choose(material.rows(target, at), systems_of_rows, kinds, material.grouping.at(at))
        chosen[target.question] = ChosenHead(best.kind, tuple(best.setting), best.tried)
        farthest = _farthest(evaluation, target.question)
        width = width_of(np.abs(farthest.value - target.screened), positions, confidence)
        outputs.append(
            QuestionHead(
                question=target.question,
                head=best.head.stored(),
                bounds=target.bounds,
                half_width=width.half,
                confidence=confidence,
                errors=error_parts(material, target, farthest),
                slope=width.slope,
                answers=best.answers,
            )
        )
    return outputs, chosen, positions.domain


def _widened(output: QuestionHead, target: LabelTarget, embedding: str) -> QuestionHead:
    """The same head over a wider embedding that begins with its own columns: what is new has no weight."""
    extra = EMBEDDINGS[embedding]().size - EMBEDDINGS[target.embedding]().size
    if not extra:
        return output
    arrays = dict(output.head.arrays)
    for key in ("mean", "factor", "reach"):
        arrays[key] = np.concatenate([arrays[key], np.zeros(extra)])
    key = "weight" if output.head.kind == "ridge" else "basis"
    fill = np.zeros((extra, *arrays[key].shape[1:]))
    arrays[key] = np.concatenate([arrays[key], fill])
    return replace(output, head=replace(output.head, arrays=arrays))


def _farthest(evaluation: Evaluation, question: str) -> LeftOut:
    """Predictions of unknown systems where there are systems, else of unknown stimuli."""
    unknown_systems = evaluation.left_out.get((question, "leave-one-system-out"))
    return unknown_systems or evaluation.left_out[question, "five-fold"]


def error_parts(material: TrainingStimuli, target: LabelTarget, left_out: LeftOut) -> dict[str, float]:
    """Standard deviations of the error between systems, between intents of a system, and between stimuli of one cell.

    By moments, from predictions made while the system was left out; a part that comes out negative is 0. Of a single system
    only the spread of all errors is known. Where no cell has two stimuli, ``intent`` holds what stimuli add, too.
    """
    gap = left_out.value - target.screened
    finite = np.isfinite(gap)
    if material.cells is None or material.systems is None or np.unique(material.systems[finite]).size < 2:
        return {"stimulus": float(np.std(gap[finite], ddof=1))}
    gap = gap[finite]
    cell, at = np.unique(np.array(material.cells)[finite], return_inverse=True)
    counts = np.bincount(at)
    means = np.bincount(at, weights=gap) / counts
    within = float(((gap - means[at]) ** 2).sum() / max(gap.size - cell.size, 1))
    owner = np.unique([name.partition("\x1f")[0] for name in cell], return_inverse=True)[1]
    cells_of = np.bincount(owner)
    centres = np.bincount(owner, weights=means) / cells_of
    among = float(((means - centres[owner]) ** 2).sum() / max(cell.size - cells_of.size, 1))
    intent = max(among - within * float((1.0 / counts).mean()), 0.0)
    systems = float(np.var(centres, ddof=1)) if centres.size > 1 else 0.0
    system = max(systems - among * float((1.0 / cells_of).mean()), 0.0)
    return {
        "system": float(np.sqrt(system)),
        "intent": float(np.sqrt(intent)),
        "stimulus": float(np.sqrt(within)),
        "systems": float(centres.size),
    }


def _out_of_fold(material: TrainingStimuli, evaluation: Evaluation) -> dict[str, OutOfFold]:
    values = {t.question: evaluation.left_out[t.question, "five-fold"].value for t in material.targets}
    return {
        content: OutOfFold(
            material.stimuli[row],
            {name: round(float(value[row]), 6) for name, value in values.items()},
            material.system[row],
            material.intent[row],
        )
        for row, content in enumerate(material.hashes)
    }


def _facts(
    material: TrainingStimuli, options: TrainOptions, evaluation: Evaluation, chosen: Mapping[str, ChosenHead]
) -> TrainingFacts:
    return TrainingFacts(
        heartfelt=__version__,
        study=material.snapshot.study.name,
        snapshot=material.snapshot.hash,
        policy=material.panel.policy.name,
        panel=from_json(dict[str, int], to_json(material.panel.counts)),
        stimuli=len(material.stimuli),
        left_out=material.unreadable,
        systems=tuple(sorted({name for name in material.system if name is not None})),
        grouping=material.grouping.facts,
        split=options.split or None,
        seed=options.seed,
        confidence=options.confidence,
        chosen=chosen,
        evaluation=tuple(to_json(row) for row in evaluation.rows),
        labels=material.label_words,
        notes=material.notes,
    )
