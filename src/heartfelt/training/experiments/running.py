"""From sources to an experiment: gather the stimuli, plan the cells, run what is missing, score."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from heartfelt import __version__
from heartfelt.errors import InputError
from heartfelt.predictors.execution.engines import Engine
from heartfelt.predictors.trained.feature_cache import FeatureCache
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.training.experiments.cells import CellModel, CellStore, ExperimentCell, complete, run_cells
from heartfelt.training.experiments.design import ConditionScorer, ExperimentCondition, Removed, all_cells
from heartfelt.training.experiments.frozen import FrozenFit
from heartfelt.training.experiments.options import ExperimentOptions
from heartfelt.training.experiments.pool import StimulusPool, pool_of
from heartfelt.training.experiments.results import Curve, Experiment, SweepSelection, Variant
from heartfelt.training.finetuning import gather_data, is_fine_tuning, recipe_named, settings_of
from heartfelt.training.heads.material import RECIPES, TrainingStimuli, gather


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """The stimuli of an experiment, and what they are fitted with."""

    pool: StimulusPool
    fit: CellModel
    options: ExperimentOptions


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExperimentPlan:
    """What an experiment will fit, and how it is to be read."""

    kind: str
    about: str
    conditions: tuple[ExperimentCondition, ...]
    removed: Removed
    axis: str = ""
    mean_of: tuple[str, ...] = ()
    """The conditions next to which the mean of the training labels is shown."""
    fit: CellModel | None = None
    """What cells are fitted with, where it is not the setup's own."""
    curves: Callable[[ConditionScorer, ExperimentPlan], tuple[Curve, ...]] | None = None
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> list[ExperimentCell]:
        return all_cells(self.conditions)


def prepare(
    sources: Sequence[tuple[str, Snapshot]], options: ExperimentOptions, progress: Progress | None = None
) -> Setup:
    """Screen, label and embed the stimuli of every source, and put them into one pool."""
    if not sources:
        raise InputError("There is no source.", "Give one or more snapshots or folders of published data.")
    if options.by and len(sources) > 1:
        raise InputError(
            f"--by {options.by} splits one source; {len(sources)} are given.", "Give one source, or leave out --by."
        )
    if is_fine_tuning(options.recipe):
        return _prepare_fine_tuning(_unique(sources), options, progress)
    recipe, cache = RECIPES[options.recipe], FeatureCache(options.features)
    named = [
        (
            name,
            gather(
                snapshot,
                recipe,
                policy=options.policy,
                group=options.group,
                wanted_questions=[*options.questions, *options.same],
                cache=cache,
                progress=progress,
            ),
        )
        for name, snapshot in _unique(sources)
    ]
    pool = _pool(named, options)
    return Setup(pool, FrozenFit.of(pool, options.settings), options)


def _pool(named: Sequence[tuple[str, TrainingStimuli]], options: ExperimentOptions) -> StimulusPool:
    return pool_of(named, by=options.by, same=options.same, questions=options.questions, raters=options.raters)


def _prepare_fine_tuning(
    sources: Sequence[tuple[str, Snapshot]], options: ExperimentOptions, progress: Progress | None
) -> Setup:
    """The same for a recipe that trains whole models: files are looked at, not embedded."""
    from heartfelt.training.experiments.finetuned import FineTuneFit, material_of, settings_text

    recipe = recipe_named(options.recipe)
    settings = settings_of(recipe, settings_text(options.settings))
    data = [
        gather_data([snapshot], recipe, settings, policy=options.policy, group=options.group, progress=progress)
        for _, snapshot in sources
    ]
    named = [
        (name, material_of(options.recipe, snapshot, source_data, (*options.questions, *options.same)))
        for (name, snapshot), source_data in zip(sources, data, strict=True)
    ]
    pool = _pool(named, options)
    return Setup(pool, FineTuneFit.of(options.recipe, pool, data, options.settings), options)


def _unique(sources: Sequence[tuple[str, Snapshot]]) -> list[tuple[str, Snapshot]]:
    out: dict[str, Snapshot] = {}
    for name, snapshot in sources:
        free = next(candidate for candidate in (name, *(f"{name} {n}" for n in range(2, 1000))) if candidate not in out)
        out[free] = snapshot
    return list(out.items())


def single_part(setup: Setup, kind: str) -> str:
    """The one part that an experiment within a source uses."""
    if len(setup.pool.parts) > 1:
        raise InputError(
            f"{kind} uses one source; {len(setup.pool.parts)} are given.", "Give one source, without --by."
        )
    return setup.pool.parts[0]


def store_of(setup: Setup, kind: str, folder: Path) -> CellStore:
    """The folder of an experiment; one that holds something else is refused."""
    return CellStore(folder, kind, setup.options.recipe)


def run_plan(
    setup: Setup, plan: ExperimentPlan, folder: Path, *, engine: Engine | None = None, progress: Progress | None = None
) -> Experiment:
    """Fit the cells that are missing in the folder, and score every condition."""
    fit, cells = plan.fit or setup.fit, plan.cells
    store = store_of(setup, plan.kind, folder)
    results = run_cells(cells, fit, store, fit.questions, engine=engine, progress=progress)
    scorer = ConditionScorer.of(setup.pool, setup.options, cells, results)
    curves = plan.curves(scorer, plan) if plan.curves is not None else ()
    keys = len({result.key for result in results})
    return experiment_of(setup, plan, scorer, keys, curves=curves)


def experiment_of(
    setup: Setup,
    plan: ExperimentPlan,
    scorer: ConditionScorer,
    cells: int,
    *,
    variants: int = 0,
    curves: tuple[Curve, ...] = (),
    tried: tuple[Variant, ...] = (),
    selections: tuple[SweepSelection, ...] = (),
) -> Experiment:
    """The result of a plan whose cells have been fitted."""
    by_name = {condition.name: condition for condition in plan.conditions}
    scored, rows = scorer.rows(plan.conditions), []
    for question in setup.pool.questions:
        rows += [row for row in scored if row.question == question]
        rows += [scorer.mean_row(by_name[name], question) for name in plan.mean_of]
    notes = [*setup.pool.notes, *plan.notes, *plan.removed.notes]
    compared = [condition for condition in plan.conditions if not condition.baseline]
    return Experiment(
        kind=plan.kind,
        recipe=setup.options.recipe,
        about=plan.about,
        heartfelt=__version__,
        sources=setup.pool.facts,
        questions=setup.pool.questions,
        seeds=setup.options.seeds,
        folds=setup.options.folds,
        cells=cells,
        variants=variants or len(compared),
        raters=setup.pool.raters,
        axis=plan.axis,
        rows=tuple(rows),
        curves=curves,
        tried=tried,
        selections=selections,
        notes=tuple(notes),
        ledger=plan.removed.ledger,
    )


def expected_seconds(setup: Setup, plan: ExperimentKind, folder: Path) -> tuple[float, int] | None:
    """How long a fit takes, and how many fits say so: those of the folder, else one of a frozen recipe that is timed now.

    None for a recipe that trains whole models before any fit is finished. Nothing is written.
    """
    times = store_of(setup, plan.kind, folder).times()
    if times.fits:
        return times.seconds / times.fits, times.fits
    if is_fine_tuning(setup.options.recipe):
        return None
    begun = time.perf_counter()
    (plan.fit or setup.fit).fit_and_predict(plan.cells[0])
    return time.perf_counter() - begun, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A cell as a dry run lists it."""

    name: str
    training_stimuli: int
    test_stimuli: int
    settings: Mapping[str, str]
    complete: bool


class ExperimentKind(Protocol):
    """A plan whose cells can be listed before anything is fitted."""

    @property
    def kind(self) -> str:
        """The kind of experiment."""

    @property
    def fit(self) -> CellModel | None:
        """What cells are fitted with, where it is not the setup's own."""

    @property
    def cells(self) -> list[ExperimentCell]:
        """The cells known in advance."""


def listed_cells(setup: Setup, plan: ExperimentKind, folder: Path) -> list[PlannedCell]:
    fit, cells = plan.fit or setup.fit, plan.cells
    store = store_of(setup, plan.kind, folder)
    done = complete(cells, fit, store, fit.questions)
    return [
        PlannedCell(
            name=cell.name,
            training_stimuli=int(cell.train.size),
            test_stimuli=int(cell.test.size),
            settings=dict(cell.settings),
            complete=ready,
        )
        for cell, ready in zip(cells, done, strict=True)
    ]
