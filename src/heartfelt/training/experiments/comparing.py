"""Three experiments that compare training parts and features: ablation, mixing, transfer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.streams import stream
from heartfelt.training.experiments.cells import ExperimentCell
from heartfelt.training.experiments.design import ExperimentCondition, FoldPlanner
from heartfelt.training.experiments.pool import StimulusPool
from heartfelt.training.experiments.results import ALL_OTHERS, MATRIX_ROWS, SHUFFLED
from heartfelt.training.experiments.running import ExperimentPlan, Setup, single_part
from heartfelt.training.heads.fitting import Ints
from heartfelt.wording import listed

ALL = "all features"
WAYS = ("without", "only")
SHARES = (0.0, 25.0, 50.0, 100.0)


def plan_ablation(setup: Setup, fields: Sequence[str] = (), ways: Sequence[str] = WAYS) -> ExperimentPlan:
    """Drop (``without``) or keep (``only``) one group of features at a time.

    ``fields`` name groups of the recipe's features, or make one of several: ``taggers=msd+tags``. All groups if empty.
    """
    part, fit = single_part(setup, "ablate"), setup.fit
    for way in ways:
        if way not in WAYS:
            raise InputError(f"Features cannot be ablated by '{way}'.", suggestion(way, WAYS, "Ways"))
    if {"keep", "drop"} & set(setup.options.settings):
        raise InputError("ablate sets keep and drop itself.", "Leave them out of --set.")
    chosen = _fields(fields, fit.fields)
    planner = FoldPlanner(setup.pool, setup.options)
    conditions = [planner.within(part, ALL)]
    for way, (name, blocks) in product(ways, chosen.items()):
        questions = tuple(question for question in fit.questions if fit.ablates(question, blocks))
        if questions:
            words = f"{way} {name}"
            cells = planner.crossed(part, words, settings=fit.ablated(way, blocks))
            conditions.append(
                ExperimentCondition(
                    name=words, cells=cells, trained_on=part, tested_on=part, reference=ALL, questions=questions
                )
            )
    if len(conditions) == 1:
        raise InputError(
            "There is nothing to ablate: no question is predicted from several of these groups of features.",
            f"Use a recipe whose embedding has several; the groups are: {listed(fit.fields)}.",
        )
    conditions.append(planner.shuffled(part))
    about = (
        "One group of features was dropped or kept at a time; differences are from all features, on the same stimuli."
    )
    return ExperimentPlan(
        kind="ablate", about=about, conditions=tuple(conditions), removed=planner.removed, mean_of=(ALL,)
    )


def _fields(texts: Sequence[str], blocks: Sequence[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for text in texts or blocks:
        name, _, members = text.partition("=")
        wanted = [part.strip() for part in (members or name).split("+") if part.strip()]
        for wanted_name in wanted:
            if wanted_name not in blocks:
                raise InputError(
                    f"There is no field or group of features '{wanted_name}' to ablate.",
                    suggestion(wanted_name, blocks, "There are"),
                )
        if not wanted:
            raise InputError(f"'{text}' names no group of features.", f"There are: {', '.join(blocks)}.")
        out[name.strip()] = wanted
    return out


def plan_mix(setup: Setup, shares: Sequence[float] = SHARES, base: str = "") -> ExperimentPlan:
    """Train on the base (the first part if not named) plus growing shares of the others; test on it, by cross-validation."""
    pool = setup.pool
    if len(pool.parts) < 2:
        raise InputError(
            "A mix needs a base and other data; there is one source.",
            "Give two or more sources, or split one with --by COLUMN.",
        )
    for share in shares:
        if not 0 <= share <= 100:
            raise InputError(
                f"A share of {share:g}% of the other data cannot be used.",
                "Give shares from 0 to 100, such as 0,25,50,100.",
            )
    if base and base not in pool.parts:
        raise InputError(f"No part is called '{base}'.", suggestion(base, pool.parts, "Parts"))
    base = base or pool.parts[0]
    mixed_in = [name for name in pool.parts if name != base]
    planner, reference = FoldPlanner(pool, setup.options), f"{base} alone"
    conditions = [replace(planner.within(base, reference), level=0.0)]
    for share in sorted({float(share) for share in shares} - {0.0}):
        name = f"{base} + {share:g}% of others"
        extra = {seed: _shares(setup, mixed_in, share, seed) for seed in setup.options.seeds}
        conditions.append(
            ExperimentCondition(
                name=name,
                cells=planner.crossed(base, name, extra=extra),
                trained_on=f"{base} + {share:g}% of {' + '.join(mixed_in)}",
                tested_on=base,
                level=share,
                reference=reference,
            )
        )
    conditions.append(planner.shuffled(base))
    about = (
        f"Trained on '{base}' and growing shares of {listed(mixed_in)}, tested on '{base}' by cross-validation. Larger shares"
        " contain the smaller ones."
    )
    axis = "share of the other data (%)"
    return ExperimentPlan(
        kind="mix", about=about, conditions=tuple(conditions), removed=planner.removed, axis=axis, mean_of=(reference,)
    )


def _shares(setup: Setup, mixed_in: Sequence[str], share: float, seed: int) -> Ints:
    """The same share of every other part; larger shares contain smaller ones."""
    picked = []
    for name in mixed_in:
        rows = setup.pool.labelled(setup.pool.rows(name))
        order = stream(seed, "experiments", "mix", name).permutation(rows.size)
        picked.append(np.sort(rows[order[: round(rows.size * share / 100.0)]]))
    return np.concatenate(picked).astype(np.int64)


def plan_transfer(setup: Setup) -> ExperimentPlan:
    """Train on every part, test on every part; within a part by cross-validation."""
    pool = setup.pool
    if len(pool.parts) < 2:
        raise InputError(
            "A transfer needs two sources or more; there is one.",
            "Give two or more sources, or split one with --by COLUMN.",
        )
    for part in pool.parts:
        if part in MATRIX_ROWS:
            raise InputError(
                f"A source called '{part}' could not be told from the row '{part}' of a transfer's tables.",
                "Give it another name, as NAME=PATH or in the column that --by names.",
            )
    planner = FoldPlanner(pool, setup.options)
    within = [planner.within(part, arrow(part, part)) for part in pool.parts]
    across = [
        _across(planner, trained, [trained], part) for trained, part in product(pool.parts, repeat=2) if part != trained
    ]
    if len(pool.parts) > 2:
        across += [
            _across(planner, ALL_OTHERS, [name for name in pool.parts if name != part], part) for part in pool.parts
        ]
    chance = [planner.shuffled(part, f"{SHUFFLED}: {part}", SHUFFLED) for part in pool.parts]
    folded = any(len(cells) > 1 for condition in across for cells in condition.cells.values())
    about = (
        "Rows were trained on one source and tested on another. Within a source the test stimuli were left out by cross-validation;"
        f" across sources all stimuli of the training source{' but those of the tested groups' if folded else ''} were used."
        " Differences are from training within the tested source."
    )
    diagonal = tuple(arrow(part, part) for part in pool.parts)
    return ExperimentPlan(
        kind="transfer", about=about, conditions=(*within, *across, *chance), removed=planner.removed, mean_of=diagonal
    )


def arrow(trained: str, tested: str) -> str:
    """The name of a cell of the matrix."""
    return f"{trained} → {tested}"


def _across(planner: FoldPlanner, trained: str, names: Sequence[str], tested: str) -> ExperimentCondition:
    """One fit tested on all of a part; where the parts share groups, a fit for each fold, without the groups of the fold."""
    pool, seeds = planner.pool, planner.options.seeds
    test = pool.rows(tested)
    train = np.sort(np.concatenate([pool.labelled(pool.rows(name)) for name in names]))
    name = arrow(trained, tested)
    if _share_groups(pool, train, test):
        cells = planner.crossed(tested, name, extra=dict.fromkeys(seeds, train), with_own=False)
    else:
        clean = planner.removed.clean(train, test)
        cells = {
            seed: (ExperimentCell(name=f"{name} · seed {seed}", train=clean, test=test, seed=seed),) for seed in seeds
        }
    return ExperimentCondition(
        name=name, cells=cells, trained_on=trained, tested_on=tested, reference=arrow(tested, tested)
    )


def _share_groups(pool: StimulusPool, train: Ints, test: Ints) -> bool:
    """Whether stimuli of both, not nearly the same, are of one group."""
    shared = np.isin(pool.groups[train], pool.groups[test])
    return bool((shared & ~np.isin(pool.alike[train], pool.alike[test])).any())
