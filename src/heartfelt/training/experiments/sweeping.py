"""A search over settings whose score is honest: nested cross-validation.

Within every outer training part, each variant is fitted on inner folds and scored on their validation parts; the best by its
inner correlation is fitted to the whole outer training part and predicts the outer test part. The *inner best* is the score the
search itself believes: the highest of many, and so too high. The *outer* score is of stimuli that had no part in the choice.
Single variants have inner scores only, so that nobody chooses on test parts (Varma and Simon 2006; Cawley and Talbot 2010).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np

from heartfelt.errors import InputError
from heartfelt.predictors.execution.engines import Engine
from heartfelt.progress import Progress
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.repeated import Repeats
from heartfelt.streams import stream
from heartfelt.training.experiments.cells import CellResult, ExperimentCell, run_cells
from heartfelt.training.experiments.design import ConditionScorer, ExperimentCondition, FoldPlanner, outer_folds
from heartfelt.training.experiments.results import Experiment, SweepSelection, Variant
from heartfelt.training.experiments.running import ExperimentPlan, Setup, experiment_of, single_part, store_of
from heartfelt.training.heads.fitting import Ints

CHOSEN, OWN = "chosen on validation folds", "the recipe's own settings"
INNER = 3
_OVERLAP = "inner folds of different outer folds share stimuli"


@dataclass(frozen=True, slots=True, eq=False)
class SweepPlan:
    """A search: its variants, the outer training parts and the inner cells of each."""

    plan: ExperimentPlan
    variants: tuple[Mapping[str, str], ...]
    outer: tuple[tuple[int, int, Ints, Ints], ...]
    """Seed, fold, training rows and test rows."""
    inner: Mapping[tuple[int, int, int], tuple[ExperimentCell, ...]]
    """By seed, fold and variant."""

    kind: ClassVar[str] = "sweep"
    fit: ClassVar[None] = None

    @property
    def inner_cells(self) -> list[ExperimentCell]:
        return [cell for cells in self.inner.values() for cell in cells]

    @property
    def cells(self) -> list[ExperimentCell]:
        """The cells that do not depend on what is chosen."""
        return [*self.inner_cells, *self.plan.cells]


def variants_of(tried: Mapping[str, Sequence[str]], most: int = 0, seed: int = 0) -> list[dict[str, str]]:
    """Every combination of the values tried, or ``most`` of them at random."""
    if not tried or any(not values for values in tried.values()):
        raise InputError(
            "There is nothing to search over.", "Name values to try, such as --try heads=ridge,kernel,mlp."
        )
    every = [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]
    if most and most < len(every):
        picked = stream(seed, "experiments", "sweep").permutation(len(every))[:most]
        every = [every[int(index)] for index in np.sort(picked)]
    if len(every) < 2:
        raise InputError(
            "A search needs two variants or more; there is one.",
            "Give several values, such as --try heads=ridge,kernel.",
        )
    return every


def variant_name(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def plan_sweep(setup: Setup, tried: Mapping[str, Sequence[str]], *, most: int = 0, inner: int = INNER) -> SweepPlan:
    """The inner cells of every variant in every outer training part."""
    part = single_part(setup, "sweep")
    pool, options = setup.pool, setup.options
    if inner < 2:
        raise InputError(f"A search needs two inner folds or more; got {inner}.", "Use 3.")
    variants = variants_of(tried, most, options.seeds[0])
    for settings in variants:
        setup.fit.check(settings)
    planner, outer = FoldPlanner(pool, options), []
    cells: dict[tuple[int, int, int], tuple[ExperimentCell, ...]] = {}
    for seed in options.seeds:
        for fold, (train, test) in enumerate(planner.parts(part, seed)):
            outer.append((seed, fold, train, test))
            validation = outer_folds(pool, train, inner, seed)
            for variant, settings in enumerate(variants):
                start = f"{variant_name(settings)} · seed {seed} · fold {fold + 1}"
                cells[seed, fold, variant] = tuple(
                    ExperimentCell(
                        name=f"{start} · inner fold {number + 1}",
                        train=planner.removed.clean(np.setdiff1d(train, part_of), part_of),
                        test=part_of,
                        seed=seed,
                        settings=settings,
                    )
                    for number, part_of in enumerate(validation)
                )
    conditions = (planner.within(part, OWN), planner.shuffled(part))
    about = (
        f"{len(variants)} variants were compared on {inner} inner folds of every outer training part; the best was fitted to"
        " that part and predicts stimuli that had no part in the choice."
    )
    plan = ExperimentPlan(kind="sweep", about=about, conditions=conditions, removed=planner.removed, mean_of=(OWN,))
    return SweepPlan(plan, tuple(variants), tuple(outer), cells)


def run_sweep(
    setup: Setup, sweep: SweepPlan, folder: Path, *, engine: Engine | None = None, progress: Progress | None = None
) -> Experiment:
    """Fit the inner cells, choose, fit the chosen variants, and score both readings."""
    store, questions = store_of(setup, "sweep", folder), setup.fit.questions

    def run(cells: Sequence[ExperimentCell]) -> list[CellResult]:
        return run_cells(cells, setup.fit, store, questions, engine=engine, progress=progress)

    inner = dict(zip(map(id, sweep.inner_cells), run(sweep.inner_cells), strict=True))
    scores = {
        (key, question): _inner_score(setup, cells, inner, question)
        for key, cells in sweep.inner.items()
        for question in questions
    }
    choice = {
        (seed, fold, question): _best([scores[(seed, fold, at), question] for at in range(len(sweep.variants))])
        for seed, fold, _, _ in sweep.outer
        for question in questions
    }
    wanted: dict[tuple[int, int, int], ExperimentCell] = {}
    for seed, fold, train, test in sweep.outer:
        for at in sorted({choice[seed, fold, question] for question in questions}):
            name = f"{variant_name(sweep.variants[at])} · seed {seed} · fold {fold + 1}"
            wanted[seed, fold, at] = ExperimentCell(
                name=name, train=train, test=test, seed=seed, settings=sweep.variants[at]
            )
    # One run for both, so that workers do not wait between them.
    baseline_cells = sweep.plan.cells
    fitted = run([*wanted.values(), *baseline_cells])
    results = dict(zip(wanted, fitted, strict=False))
    condition, combined = _combined(setup, sweep, choice, results)
    plan = replace(sweep.plan, conditions=(condition, *sweep.plan.conditions))
    result_by_cell = {id(cell): result for cell, result in zip(baseline_cells, fitted[len(wanted) :], strict=True)}
    scorer = ConditionScorer(setup.pool, setup.options, {**result_by_cell, **combined})
    keys = {result.key for result in [*inner.values(), *fitted]}
    return experiment_of(
        setup,
        plan,
        scorer,
        len(keys),
        variants=len(sweep.variants),
        tried=_tried(sweep, questions, scores, choice),
        selections=tuple(_selection(sweep, scorer, condition, question, scores, choice) for question in questions),
    )


def _inner_score(
    setup: Setup, cells: Sequence[ExperimentCell], results: Mapping[int, CellResult], question: str
) -> float:
    """The correlation, or accuracy, over the validation parts of one outer training part; NaN where it is undefined."""
    metric = setup.pool.metric(question)
    truth = np.concatenate([setup.pool.truth[question][cell.test] for cell in cells])
    cell_results = [results[id(cell)] for cell in cells]
    value = np.concatenate(
        [result.of(question) if metric == "accuracy" else result.centred(question) for result in cell_results]
    )
    repeats = Repeats(metric, truth, [value])
    return float("nan") if repeats.why_undefined else repeats.values[0]


def _best(scores: Sequence[float]) -> int:
    """The place of the highest score; the first of equals."""
    return int(np.argmax([score if np.isfinite(score) else -np.inf for score in scores]))


def _combined(
    setup: Setup,
    sweep: SweepPlan,
    choice: Mapping[tuple[int, int, str], int],
    results: Mapping[tuple[int, int, int], CellResult],
) -> tuple[ExperimentCondition, dict[int, CellResult]]:
    """The condition of the chosen variants: of each question the predictions of the variant chosen for it."""
    cells: dict[int, list[ExperimentCell]] = {}
    out: dict[int, CellResult] = {}
    for seed, fold, train, test in sweep.outer:
        cell = ExperimentCell(name=f"{CHOSEN} · seed {seed} · fold {fold + 1}", train=train, test=test, seed=seed)
        by_question = {question: results[seed, fold, choice[seed, fold, question]] for question in setup.fit.questions}
        out[id(cell)] = CellResult(
            key="",
            name=cell.name,
            values={question: result.values[question] for question, result in by_question.items()},
            centre={question: result.centre[question] for question, result in by_question.items()},
            fitted={question: result.fitted[question] for question, result in by_question.items()},
        )
        cells.setdefault(seed, []).append(cell)
    part = setup.pool.parts[0]
    all_cells = {seed: tuple(seed_cells) for seed, seed_cells in cells.items()}
    return ExperimentCondition(name=CHOSEN, cells=all_cells, trained_on=part, tested_on=part, reference=OWN), out


def _tried(
    sweep: SweepPlan,
    questions: Sequence[str],
    scores: Mapping[tuple[tuple[int, int, int], str], float],
    choice: Mapping[tuple[int, int, str], int],
) -> tuple[Variant, ...]:
    out = []
    for question in questions:
        for at, settings in enumerate(sweep.variants):
            inner_scores = [scores[(seed, fold, at), question] for seed, fold, _, _ in sweep.outer]
            times = sum(choice[seed, fold, question] == at for seed, fold, _, _ in sweep.outer)
            out.append(
                Variant(
                    name=variant_name(settings),
                    question=question,
                    inner=_mean(inner_scores),
                    chosen=times,
                    choices=len(sweep.outer),
                )
            )
    return tuple(out)


def _mean(values: Sequence[float]) -> Estimate:
    finite = [value for value in values if np.isfinite(value)]
    if not finite:
        return Estimate.missing("its predictions do not vary", "mean inner correlation")
    estimate = Estimate(
        value=float(np.mean(finite)), method="mean inner correlation", counts={"outer_folds": len(finite)}
    )
    return estimate.without_interval(_OVERLAP)


def _selection(
    sweep: SweepPlan,
    scorer: ConditionScorer,
    condition: ExperimentCondition,
    question: str,
    scores: Mapping[tuple[tuple[int, int, int], str], float],
    choice: Mapping[tuple[int, int, str], int],
) -> SweepSelection:
    best = [scores[(seed, fold, choice[seed, fold, question]), question] for seed, fold, _, _ in sweep.outer]
    inner = _mean(best)
    outer = next(row for row in scorer.rows([condition]) if row.question == question).score
    if inner.value is None or outer.value is None:
        optimism = Estimate.missing("one of the two is missing", "inner best minus outer")
    else:
        gap = inner.value - outer.value
        optimism = Estimate(value=gap, method="inner best minus outer").without_interval(_OVERLAP)
    return SweepSelection(
        question=question, variants=len(sweep.variants), inner_best=inner, outer=outer, optimism=optimism
    )
