"""Honest evaluation: every stimulus predicted by a head that was chosen and fitted without it.

Three readings. *Five folds by group* (a theme, a prompt; by stimulus where no group is known): the systems are known, the group
is not. *Leave one system out*: neither is. *Within cells*: five folds again, after each (system, intent) cell's mean was
subtracted from labels and predictions, so that only telling the clips of one cell apart counts; a clip that is alone in its
cell has nothing to be told apart from and is left out. Each is given with the
ceiling of the labels and what bare means reach: the mean of the cell's other stimuli (five folds), or of the intent's
stimuli from the other systems (leave one system out). Heads are chosen on inner folds of what is not left out and fitted to the
screened raters' labels; scores are given against these and against the labels of all raters (once, where nobody was
dropped). A published split adds a reading for each part other than the training part, predicted by the model itself, which has
not seen it.

Intervals of correlations resample cells, else groups, else stimuli; ceilings have their own.

Single answers, not only their mean, are scored where raters were modelled: by the continuous ranked probability score of the
predicted distribution (``heartfelt.predictors.trained.answers``), in points of the scale; smaller is better. Its *ceiling* is
expected of whoever knows what an average rater perceives in each stimulus and how raters differ, but not who answers; *blind* is
the distribution of all answers to the stimuli of the other folds, whatever the stimulus. These intervals take raters and stimuli
as samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.predictors.trained.answers import crps, crps_expected, crps_of
from heartfelt.predictors.trained.domain import Domain
from heartfelt.predictors.trained.heads.head import QuestionHead, growth
from heartfelt.progress import Progress
from heartfelt.representation import ShortRepr
from heartfelt.stats import bootstrap_metric, ceiling, rmse
from heartfelt.stats.ceilings.number_ceiling import ceiling_from_means
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.clustered import Crossed, mean
from heartfelt.training.heads.calibrating import Domains, foreign_to, width_of
from heartfelt.training.heads.fitting import Floats, Ints, choose, folds
from heartfelt.training.heads.material import TrainingStimuli, answers_of
from heartfelt.training.heads.raters import SingleAnswers, can_model, model_raters
from heartfelt.training.heads.targets import LabelTarget, answers_in_order

FOLDS = 5
PANELS = {"screened": "screened raters", "everyone": "all raters"}
"""Whose labels are scored against."""
PROTOCOLS = {
    "five-fold": "five folds by stimulus",
    "leave-one-system-out": "leave one system out",
    "within-cells": "within cells (five folds)",
}
WITHIN = "within-cells"
ALONE = "no cell of system and intent has two clips with a label"
LEAST_SYSTEMS = 3
"""Systems there must be to leave each out in turn."""
PUBLISHED = "published "
"""What the protocol of a part of a published split begins with."""
_RESAMPLES = 2_000
_ANSWER_CEILING = "CRPS expected from a model of the raters"


def reading_of(protocol: str, unit: str = "stimulus") -> str:
    """A protocol in words; ``unit`` is what the five folds are made of."""
    if protocol.startswith(PUBLISHED):
        return f"published split, {protocol.removeprefix(PUBLISHED)}"
    return PROTOCOLS[protocol].replace("by stimulus", f"by {unit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScore:
    """The mean CRPS of single answers, its ceiling and the blind score; predicted and observed spread.

    ``spread`` is the root mean square of the predicted standard deviations, ``observed`` that of the answers about the predicted
    values: equal where the spread is right.
    """

    crps: Estimate
    ceiling: Estimate
    blind: Estimate
    spread: float
    observed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolScore:
    """How well one question is predicted under one protocol, against the labels of one panel of raters."""

    question: str
    raters: str
    protocol: str
    reading: str = field(default="", kw_only=True)
    """The protocol in words."""
    n: int
    pearson: Estimate
    rmse: Estimate
    ceiling: Estimate
    bare_means: Estimate
    coverage: float | None
    """The share of labels inside their intervals, of stimuli like those trained on."""
    half_width: float | None
    """The mean half-width of these intervals."""
    unlike_training: float | None = field(default=None, kw_only=True, metadata={"omit": True})
    """The share of stimuli unlike those trained on."""
    heads: tuple[str, ...]
    answers: AnswerScore | None = field(default=None, kw_only=True, metadata={"omit": True})
    """How well the answers of single people are predicted; None for heads that learned from means."""

    def __post_init__(self) -> None:
        if not self.reading:
            object.__setattr__(self, "reading", reading_of(self.protocol))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeftOut:
    """What was predicted of every stimulus while it was left out, under one protocol.

    ``half_width`` is the interval's, calibrated without the stimulus's fold; a ``foreign`` stimulus has the whole scale instead.
    """

    value: Floats
    half_width: Floats
    fold: Ints
    chosen: tuple[str, ...]
    foreign: npt.NDArray[np.bool_]
    answer_sd: Floats | None = None
    """The predicted standard deviation of single answers; None for heads that learned from means."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(ShortRepr):
    """The scores, and the predictions behind them."""

    rows: tuple[ProtocolScore, ...]
    predictions: pl.DataFrame
    left_out: Mapping[tuple[str, str], LeftOut] = field(default_factory=dict)
    """By (question, protocol)."""


def evaluate(
    material: TrainingStimuli, kinds: Sequence[str], confidence: float = 0.9, progress: Progress | None = None
) -> Evaluation:
    """Score every question under every protocol, against both panels' labels."""
    systems = material.systems
    plans: dict[str, Ints] = {"five-fold": folds(material.grouping.groups, FOLDS, material.seed, "outer")}
    if systems is not None and np.unique(systems).size >= LEAST_SYSTEMS:
        plans["leave-one-system-out"] = systems
    total = sum(np.unique(plan).size for plan in plans.values()) * len(material.targets)
    domains, done = material.domains(), 0
    left_out: dict[tuple[str, str], LeftOut] = {}
    for target in material.targets:
        for name, plan in plans.items():
            size, heads = plan.size, []
            into = LeftOut(
                value=np.empty(size),
                half_width=np.empty(size),
                fold=plan,
                chosen=(),
                foreign=np.zeros(size, bool),
                answer_sd=None if target.answers is None else np.full(size, np.nan),
            )
            for fold in np.unique(plan):
                heads.append(_predict(material, target, plan == fold, kinds, confidence, domains, into))
                done += 1
                if progress is not None:
                    progress("evaluating", done, total)
            left_out[target.question, name] = replace(into, chosen=tuple(heads))
    scores = []
    for target in material.targets:
        for side in _panels(material):
            top = ceilings(material, target, side)
            names = [*plans, *([] if material.cells is None else [WITHIN])]
            for name in names:
                predicted = left_out[target.question, "five-fold" if name == WITHIN else name]
                scores.append(_score(material, target, side, name, predicted, top))
    return Evaluation(tuple(scores), _table(material, left_out), left_out)


def with_published(
    evaluation: Evaluation, parts: Mapping[str, TrainingStimuli], outputs: Sequence[QuestionHead], domain: Domain
) -> Evaluation:
    """The evaluation with a row for each part of a published split that the model has not seen.

    ``outputs`` are the model's own, in the order of the targets; ``domain`` is what it was trained on.
    """
    scores, left_out, tables = list(evaluation.rows), dict(evaluation.left_out), [evaluation.predictions]
    for part, material in parts.items():
        predictions: dict[tuple[str, str], LeftOut] = {}
        name = f"{PUBLISHED}{part}"
        distance, beyond = domain.measures(material.features[material.widest])
        foreign = foreign_to(domain, distance, beyond)
        for target, output in zip(material.targets, outputs, strict=True):
            value = target.on_scale(output.head.answer(material.features[target.embedding]))
            half = output.half_width * growth(output.slope, distance)
            sd = None if output.answers is None else output.answers.sd(value)
            predicted = LeftOut(
                value=value,
                half_width=half,
                fold=np.zeros(value.size, np.int64),
                chosen=(output.head.kind,),
                foreign=foreign,
                answer_sd=sd,
            )
            predictions[target.question, name] = predicted
            for side in _panels(material):
                top = ceilings(material, target, side)
                scores.append(_score(material, target, side, name, predicted, top))
        tables.append(_table(material, predictions))
        left_out |= predictions
    return Evaluation(tuple(scores), pl.concat(tables), left_out)


def _panels(material: TrainingStimuli) -> Sequence[str]:
    dropped = material.panel.dropped or material.panel.dropped_batches
    return ("screened", "everyone") if dropped else ("everyone",)


def _predict(
    material: TrainingStimuli,
    target: LabelTarget,
    out: npt.NDArray[np.bool_],
    kinds: Sequence[str],
    confidence: float,
    domains: Domains,
    into: LeftOut,
) -> str:
    """Predict the stimuli ``out`` by a head chosen, fitted and calibrated without them; the head's name."""
    at = np.flatnonzero(~out & np.isfinite(target.label))
    systems = None if material.systems is None else material.systems[at]
    chosen = choose(material.rows(target, at), systems, kinds, material.grouping.at(at))
    into.value[out] = target.on_scale(chosen.head.stored().answer(material.features[target.embedding][out]))
    positions = domains.of(at, chosen.plan)
    distance, beyond = positions.domain.measures(domains.rows[out])
    # Errors of inner folds against the labels that are scored against; NaN without such a label.
    errors = np.abs(target.on_scale(chosen.left_out) - target.screened[at])
    into.half_width[out] = width_of(errors, positions, confidence).at(distance)
    into.foreign[out] = foreign_to(positions.domain, distance, beyond)
    if into.answer_sd is not None and chosen.answers is not None:
        into.answer_sd[out] = chosen.answers.sd(into.value[out])
    return f"{chosen.kind} {', '.join(f'{part:g}' for part in chosen.setting)}"


def _score(
    material: TrainingStimuli,
    target: LabelTarget,
    side: str,
    name: str,
    predicted: LeftOut,
    top: Mapping[str, Estimate],
) -> ProtocolScore:
    truth = target.truth(side)
    labelled = np.isfinite(truth)
    cells = np.array(material.grouping.groups if material.cells is None else material.cells)[labelled]
    label, value = truth[labelled], predicted.value[labelled]
    near = labelled & ~predicted.foreign
    if name == WITHIN:
        codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)[1:]
        several = sizes[codes] > 1
        cells, label, value, codes = cells[several], label[several], value[several], codes[several]
        label, value = (
            column - (np.bincount(codes, weights=column) / np.maximum(np.bincount(codes), 1))[codes]
            for column in (label, value)
        )
        means = Estimate.missing("cell means are subtracted", "cell means")
        near = np.zeros_like(labelled)
    elif name.startswith(PUBLISHED):
        means = Estimate.missing("not computed for a published split", "bare means")
    else:
        means = top["cell_means"] if name == "five-fold" else _intent_means(material, truth, predicted.fold)
    alone = Estimate.missing(ALONE if name == WITHIN else "no stimulus has a label", name)
    inside = np.abs(predicted.value - truth)[near] <= predicted.half_width[near]
    return ProtocolScore(
        question=target.question,
        raters=side,
        protocol=name,
        n=label.size,
        pearson=_pearson(label, value, cells, material.seed) if label.size else alone,
        rmse=rmse(label, value) if label.size else alone,
        ceiling=top["within_cells" if name == WITHIN else "overall"],
        bare_means=means,
        coverage=float(inside.mean()) if near.any() else None,
        half_width=float(predicted.half_width[near].mean()) if near.any() else None,
        heads=tuple(sorted(set(predicted.chosen))),
        reading=reading_of(name, material.grouping.unit),
        unlike_training=float(predicted.foreign[labelled].mean()) if labelled.any() and name != WITHIN else None,
        answers=None if name == WITHIN else _answers(material, target, side, predicted),
    )


def _answers(material: TrainingStimuli, target: LabelTarget, side: str, predicted: LeftOut) -> AnswerScore | None:
    if predicted.answer_sd is None or not np.isfinite(predicted.answer_sd).all():
        return None
    table = answers_of(material, side, target.question)
    answers = answers_in_order(table, material.stimuli)
    if answers is None:
        return None
    return score_answers(answers, predicted.value, predicted.answer_sd, predicted.fold, target.points)


def score_answers(answers: SingleAnswers, value: Floats, sd: Floats, fold: Ints, points: Floats) -> AnswerScore:
    """Score predicted values and standard deviations, by place, against single answers."""
    stimulus, clusters = answers.place, Crossed(answers.rater, answers.place)
    errors = crps(value[stimulus], sd[stimulus], points, answers.value)
    blind = np.empty(stimulus.size)
    for fold_number in np.unique(fold[stimulus]):
        out = fold[stimulus] == fold_number
        # With a single fold there is nothing else to go by.
        learned = answers.value[~out] if not out.all() else answers.value
        below = (learned[:, None] <= points[None, :] + 1e-9).mean(axis=0)
        blind[out] = crps_of(np.tile(below, (int(out.sum()), 1)), points, answers.value[out])
    return AnswerScore(
        crps=mean(errors, clusters, "CRPS of single answers"),
        ceiling=_answer_ceiling(answers, value.size, points),
        blind=mean(blind, clusters, "CRPS of the distribution of all answers"),
        spread=float(np.sqrt(np.mean(sd[stimulus] ** 2))),
        observed=float(np.sqrt(np.mean((answers.value - value[stimulus]) ** 2))),
    )


def _answer_ceiling(answers: SingleAnswers, stimuli: int, points: Floats) -> Estimate:
    if not can_model(answers):
        return Estimate.missing("there are too few raters for a model of them", _ANSWER_CEILING)
    model = model_raters(answers, stimuli)
    perceived = model.perceived[answers.place]
    expected = crps_expected(perceived, model.spread.sd(perceived), points)
    return Estimate(
        value=float(expected.mean()),
        method=_ANSWER_CEILING,
        counts={"answers": answers.value.size},
        why_no_interval="it is the expectation of a fitted model",
    )


def _pearson(truth: Floats, value: Floats, groups: npt.ArrayLike, seed: int) -> Estimate:
    return bootstrap_metric("pearson", truth, value, group=groups, seed=seed, resamples=_RESAMPLES)


def ceilings(material: TrainingStimuli, target: LabelTarget, side: str) -> dict[str, Estimate]:
    """The ceiling of the labels ``overall`` and ``within_cells``, and what ``cell_means`` reach."""
    names = ("overall", "within_cells", "cell_means")
    labelled = np.isfinite(target.truth(side))
    scored = [name for name, has in zip(material.stimuli, labelled, strict=True) if has]
    ratings = answers_of(material, side, target.question).filter(pl.col("stimulus").is_in(scored))
    if not ratings.height:
        reason = "the source gives means, not single ratings"
        missing = {name: Estimate.missing(reason, f"ceiling, {name}") for name in names}
        return missing | {"overall": _ceiling_of_means(material, target.question, scored)}
    cells = material.cells
    cell = None if cells is None else dict(zip(material.stimuli, cells, strict=True))
    result = ceiling(ratings["rater"], ratings["stimulus"], ratings["value"], cell=cell, seed=material.seed)
    return {name: getattr(result, name) for name in names}


def _ceiling_of_means(material: TrainingStimuli, question: str, scored: list[str]) -> Estimate:
    """The ceiling of published means, from their spreads and counts."""
    means = material.snapshot.means.filter((pl.col("question") == question) & pl.col("stimulus").is_in(scored))
    if not {"sd", "n"} <= set(means.columns):
        return Estimate.missing("the source gives means without spread and count", "ceiling, overall")
    mean, sd, n = (means[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in ("mean", "sd", "n"))
    return ceiling_from_means(mean, sd, n)


def _intent_means(material: TrainingStimuli, truth: Floats, fold: Ints) -> Estimate:
    """What the mean of the same intent's stimuli from the other systems reaches."""
    method = "means of the intent's other systems"
    if any(name is None for name in material.intent):
        return Estimate.missing("some stimuli have no intent", method)
    codes = np.unique([str(name) for name in material.intent], return_inverse=True)[1]
    means = np.full(truth.size, np.nan)
    for row in range(truth.size):
        other_rows = (codes == codes[row]) & (fold != fold[row]) & np.isfinite(truth)
        if other_rows.any():
            means[row] = truth[other_rows].mean()
    usable = np.isfinite(truth) & np.isfinite(means)
    result = _pearson(truth[usable], means[usable], np.array(material.cells)[usable], material.seed)
    if result.value is None:
        return Estimate.missing(result.why_missing or "undefined", method)
    return replace(result, method=method)


def _table(material: TrainingStimuli, left_out: Mapping[tuple[str, str], LeftOut]) -> pl.DataFrame:
    targets = {target.question: target for target in material.targets}
    parts = [
        pl.DataFrame(
            {
                "stimulus": list(material.stimuli),
                "system": list(material.system),
                "intent": list(material.intent),
                "question": question,
                "protocol": protocol,
                "fold": predicted.fold,
                "prediction": predicted.value,
                "half_width": predicted.half_width,
                "unlike_training": predicted.foreign,
                "label_screened": targets[question].screened,
                "label_everyone": targets[question].everyone,
            }
        )
        for (question, protocol), predicted in left_out.items()
    ]
    return pl.concat(parts).with_columns(pl.col("label_screened", "label_everyone").fill_nan(None))
