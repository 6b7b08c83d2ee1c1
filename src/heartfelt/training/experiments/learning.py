"""What more data would buy: the same fits to growing amounts of data, a power law through their scores, and what it foretells.

``stimuli``: growing shares of each training part, in whole groups. ``raters``: labels made from growing shares of the raters.
``ratings``: labels made from growing numbers of ratings per stimulus. Larger amounts contain the smaller ones. Test stimuli and
their labels, made from all raters, are the same throughout, so that scores along a curve can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.labels import LabelOptions, first_answers, labels
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.learning_curve import LEAST_POINTS, SOURCE, fit_power_law
from heartfelt.streams import stream
from heartfelt.training.experiments.cells import LEAST_ROWS, ExperimentCell, LabelSet
from heartfelt.training.experiments.design import Cells, ConditionScorer, ExperimentCondition, FoldPlanner
from heartfelt.training.experiments.pool import StimulusPool
from heartfelt.training.experiments.results import Ahead, Curve
from heartfelt.training.experiments.running import ExperimentPlan, Setup, single_part
from heartfelt.training.heads.fitting import Ints
from heartfelt.training.heads.targets import LabelSource
from heartfelt.wording import number, plural

UNITS = {"stimuli": "training stimuli", "raters": "raters", "ratings": "ratings per stimulus"}
"""What can grow, and what a curve's axis counts."""
SHARES = (10.0, 20.0, 40.0, 70.0, 100.0)
AHEAD = (1.5, 2.0, 4.0)
EXTRAPOLATION = "an extrapolation beyond the data"
_MOST_LEVELS = 6


def plan_learning_curve(
    setup: Setup, unit: str = "stimuli", amounts: Sequence[float] = (), ahead: Sequence[float] = AHEAD
) -> ExperimentPlan:
    """Fit to growing amounts: percentages of the stimuli or raters, or numbers of ratings per stimulus."""
    part = single_part(setup, "learning-curve")
    if unit not in UNITS:
        raise InputError(f"A learning curve cannot run over '{unit}'.", suggestion(unit, UNITS, "Units"))
    if any(times <= 1 for times in ahead):
        raise InputError("A curve is extrapolated to more data than there are.", "Give times above 1, such as 2,4.")
    planner = FoldPlanner(setup.pool, setup.options)
    sets: dict[str, LabelSet] = {}
    if unit == "stimuli":
        conditions = _by_stimuli(planner, part, _shares(amounts, _training(setup, part)))
    else:
        conditions, sets = _by_labels(planner, part, unit, amounts)
    conditions = [*conditions, planner.shuffled(part)]
    fit = setup.fit.with_labels(sets)
    top = conditions[-2].name
    about = (
        f"The same fits to growing amounts of {UNITS[unit]}; larger amounts contain the smaller ones, and test stimuli and their"
        " labels stay the same. Differences are from all data."
    )
    note = (
        f"Scores for more data than there are come from {EXTRAPOLATION}: a power law ({SOURCE}) through the points. Its interval"
        " covers the choice of stimuli and the curve's parameters, not that the law may not hold."
    )
    return ExperimentPlan(
        kind="learning-curve",
        about=about,
        conditions=tuple(conditions),
        removed=planner.removed,
        axis=UNITS[unit],
        mean_of=(top,),
        fit=fit,
        curves=lambda scorer, plan: _curves(scorer, plan, ahead),
        notes=(note,),
    )


def _training(setup: Setup, part: str) -> int:
    """About how many stimuli a training part has."""
    folds = setup.options.folds
    return setup.pool.labelled(setup.pool.rows(part)).size * (folds - 1) // folds


def _shares(amounts: Sequence[float], total: int = 0) -> list[float]:
    """The shares to try; of the usual ones, those of ``whole`` stimuli that leave enough to be fitted to."""
    for share in amounts:
        if not 0 < share <= 100:
            raise InputError(
                f"A share of {share:g}% cannot be used.", "Give shares above 0 up to 100, such as 10,20,40,70,100."
            )
    usual = [share for share in SHARES if not total or total * share >= 100 * 1.5 * LEAST_ROWS]
    return sorted({100.0, *(float(share) for share in amounts or usual)})


def _by_stimuli(planner: FoldPlanner, part: str, shares: Sequence[float]) -> list[ExperimentCondition]:
    """Growing shares of the training rows, each in whole groups and in one random order of the groups by fold."""
    folds: dict[int, list[_FoldOrder]] = {
        seed: [
            _FoldOrder.of(planner.pool, planner.pool.labelled(train), test, seed, fold)
            for fold, (train, test) in enumerate(planner.parts(part, seed))
        ]
        for seed in planner.options.seeds
    }
    names = {share: f"{share:g}% of the stimuli" for share in shares}
    out = []
    for share, name in names.items():
        cells = {
            seed: tuple(
                ExperimentCell(
                    name=f"{name} · seed {seed} · fold {number}", train=fold.first(share), test=fold.test, seed=seed
                )
                for number, fold in enumerate(seed_folds, 1)
            )
            for seed, seed_folds in folds.items()
        }
        level = float(np.mean([cell.train.size for seed_cells in cells.values() for cell in seed_cells]))
        out.append(_growing(part, name, cells, level, names[shares[-1]]))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _FoldOrder:
    """A fold whose training rows are taken in a random order of their groups."""

    train: Ints
    test: Ints
    groups: Ints
    """Of the training rows."""
    order: Ints
    """The training rows' places, group by group."""

    @classmethod
    def of(cls, pool: StimulusPool, train: Ints, test: Ints, seed: int, fold: int) -> _FoldOrder:
        groups = pool.groups[train]
        shuffled = stream(seed, "experiments", "learning curve", fold).permutation(np.unique(groups))
        rank = {int(group): position for position, group in enumerate(shuffled)}
        return cls(train, test, groups, np.argsort([rank[int(group)] for group in groups], kind="stable"))

    def first(self, share: float) -> Ints:
        """The first share of the training rows, whole groups."""
        count = max(1, round(self.train.size * share / 100.0))
        return self.train[np.isin(self.groups, self.groups[self.order[:count]])]


def _growing(part: str, name: str, cells: Cells, level: float, last: str) -> ExperimentCondition:
    """A condition of a curve; all but the last are compared with it."""
    reference = "" if name == last else last
    return ExperimentCondition(
        name=name, cells=cells, trained_on=part, tested_on=part, level=level, reference=reference
    )


def _by_labels(
    planner: FoldPlanner, part: str, unit: str, amounts: Sequence[float]
) -> tuple[list[ExperimentCondition], dict[str, LabelSet]]:
    """Labels made from growing numbers of raters, or of ratings per stimulus, and the sets of these labels."""
    material = planner.pool.materials[0]
    screened = material.panel.snapshot()
    ratings = screened.ratings.filter(pl.col("stimulus").is_in(list(material.stimuli)) & pl.col("rater").is_not_null())
    if not ratings.height:
        raise InputError(
            f"'{part}' gives means, not single ratings, so a curve over {unit} cannot be drawn.",
            "Use --over stimuli, or a source with single ratings.",
        )
    raters = ratings["rater"].unique().sort().to_list()
    levels = (
        {round(share / 100.0 * len(raters)) or 1: f"{share:g}% of the raters" for share in _shares(amounts)}
        if unit == "raters"
        else {count: f"up to {plural(count, 'rating')} per stimulus" for count in _counts(ratings, amounts)}
    )
    sets: dict[str, LabelSet] = {}
    measured: dict[str, list[float]] = {}
    for seed in planner.options.seeds:
        ranked = _ranked(ratings, unit, raters, seed)
        for count, name in levels.items():
            retained = ranked.filter(pl.col("_rank") < count).drop("_rank")
            sets[_set_name(name, seed)] = _labels(planner.pool, screened, retained)
            per = retained.group_by("stimulus").agg(pl.col("rater").n_unique())["rater"].mean()
            measured.setdefault(name, []).append(float(count) if unit == "raters" else float(per or 0.0))  # type: ignore[arg-type]  # a mean of counts is a number
    last = list(levels.values())[-1]
    conditions = [
        _growing(part, name, _label_cells(planner, part, name, sets), float(np.mean(measured[name])), last)
        for name in levels.values()
    ]
    return conditions, sets


def _set_name(name: str, seed: int) -> str:
    return f"{name} · seed {seed}"


def _label_cells(planner: FoldPlanner, part: str, name: str, sets: Mapping[str, LabelSet]) -> Cells:
    """The cells that train on the labels of an amount, of the rows that have one under some question."""
    cells = {}
    for seed in planner.options.seeds:
        key = _set_name(name, seed)
        labelled = np.logical_or.reduce([np.isfinite(sets[key].label(question)) for question in planner.pool.questions])
        cells[seed] = tuple(
            ExperimentCell(name=f"{key} · fold {fold}", train=train[labelled[train]], test=test, seed=seed, labels=key)
            for fold, (train, test) in enumerate(planner.parts(part, seed), 1)
        )
    return cells


def _counts(ratings: pl.DataFrame, amounts: Sequence[float]) -> list[int]:
    """Numbers of ratings per stimulus, the last of which are all there are."""
    per = ratings.group_by("stimulus").agg(pl.col("rater").n_unique())["rater"]
    most, typical = int(per.max() or 0), float(per.median() or 0.0)  # type: ignore[arg-type]  # counts are numbers
    for amount in amounts:
        if amount < 1 or amount != int(amount):
            raise InputError(
                f"{amount:g} ratings per stimulus cannot be drawn.", "Give whole numbers from 1, such as 1,2,4."
            )
    if amounts:
        return sorted({min(int(amount), most) for amount in amounts} | {most})
    steps = np.unique(np.round(np.geomspace(1, max(typical, 1.0), _MOST_LEVELS - 1)).astype(int))
    return sorted({int(step) for step in steps} | {most})


def _ranked(ratings: pl.DataFrame, unit: str, names: Sequence[str], seed: int) -> pl.DataFrame:
    """The ratings with the place of their rater in a random order: of all raters, or of those of the same stimulus."""
    draw = stream(seed, "experiments", "learning curve", unit)
    if unit == "raters":
        order = pl.DataFrame({"rater": list(names), "_rank": draw.permutation(len(names))})
        return ratings.join(order, on="rater", how="left", maintain_order="left")
    pairs = ratings.select("stimulus", "rater").unique(maintain_order=True).sort("stimulus", "rater")
    pairs = pairs.with_columns(pl.Series("_draw", draw.random(pairs.height)))
    pairs = pairs.with_columns((pl.col("_draw").rank("ordinal").over("stimulus") - 1).alias("_rank")).drop("_draw")
    return ratings.join(pairs, on=["stimulus", "rater"], how="left", maintain_order="left")


def _labels(pool: StimulusPool, screened: Snapshot, ratings: pl.DataFrame) -> LabelSet:
    """Labels of one rating or more, made and weighted as those of all ratings are."""
    material = pool.materials[0]
    fewer = Snapshot.build(
        screened.study, stimuli=screened.stimuli, ratings=ratings, items=screened.items, source=screened.source
    )
    table = labels(fewer, LabelOptions(minimum_ratings=1)).table
    source = LabelSource(
        snapshot=fewer,
        trained=table,
        scored={"screened": table, "everyone": table},
        votes=first_answers(fewer),
        raters=material.recipe.raters,
    )
    return LabelSet(
        {
            question: (source.target(original.question, original.embedding, material.stimuli),)
            for question, (original,) in pool.targets.items()
        }
    )


def _curves(scorer: ConditionScorer, plan: ExperimentPlan, ahead: Sequence[float]) -> tuple[Curve, ...]:
    points = [condition for condition in plan.conditions if condition.level is not None]
    return tuple(_curve(scorer, points, question, ahead) for question in scorer.pool.questions)


def _curve(
    scorer: ConditionScorer, points: Sequence[ExperimentCondition], question: str, ahead: Sequence[float]
) -> Curve:
    repeats = [scorer.repeats(condition, question) for condition in points]
    amounts = [condition.level or 0.0 for condition in points]
    usable = [index for index, repeat in enumerate(repeats) if not repeat.why_undefined]
    if len({amounts[index] for index in usable}) < LEAST_POINTS:
        reason = f"{LEAST_POINTS} different amounts of data are needed; there are {len(usable)}"
        return Curve(
            question=question,
            limit=Estimate.missing(reason, "limit of a power law"),
            scale=None,
            power=None,
            ahead=(),
            why_missing=reason,
        )
    values = np.array([np.mean(repeats[index].values) for index in usable])
    draws = np.stack([repeats[index].draws(scorer.options.resamples) for index in usable], axis=1)
    draws = draws[np.isfinite(draws).all(axis=1)]
    spread = draws.std(axis=0)
    # A point whose resamples hardly vary must not decide the curve alone.
    weight = 1.0 / np.maximum(spread, 0.1 * spread.max() + 1e-9) ** 2
    law = fit_power_law([amounts[index] for index in usable], np.vstack([values, draws]), weight.tolist())
    largest = amounts[usable[-1]]
    return Curve(
        question=question,
        limit=law.limits(),
        scale=float(law.scale[0]),
        power=float(law.power[0]),
        ahead=tuple(
            Ahead(times, times * largest, law.estimate(times * largest), law.gain(largest, times * largest))
            for times in ahead
        ),
    )


def curve_words(curve: Curve, axis: str, symbol: str = "r") -> list[str]:
    """What a curve foretells, in sentences."""
    if curve.why_missing:
        return [f"{curve.question}: no curve ({curve.why_missing})."]
    return [
        f"{curve.question}: with {number(step.amount, 0 if step.amount >= 100 else 1)} {axis} ({step.times:g} times as many),"
        f" {symbol} = {step.score:.2f}, a gain of {step.gain:.3f} ({EXTRAPOLATION})."
        for step in curve.ahead
    ]
