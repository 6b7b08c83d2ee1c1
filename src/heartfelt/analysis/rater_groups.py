"""Groups of raters by what is known of them (language, expertise, age): how reliably each rates, its means, how they differ.

A group's reliability and mean have the intervals of the whole analysis, with stimuli and the group's raters as samples. Two
groups are compared on the stimuli both rated: the mean over those stimuli of one group's mean rating less the other's, by
the two-way jackknife over stimuli and raters, with Holm's correction over all comparisons of a question (over all stimuli,
and system by system). Numbers with more than six values are cut at their tertiles. Groups of fewer than three raters, and
raters the column says nothing about, are counted and not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.failures import Failed, attempt
from heartfelt.analysis.material import Material, QuestionData
from heartfelt.analysis.scores import METHODS, NO_MEAN, Scored, scored
from heartfelt.analysis.two_way import (
    LEAST_RATERS,
    Changes,
    error_of,
    estimate,
    mean_changes,
    p_value,
    stimuli_of,
)
from heartfelt.errors import InputError, suggestion
from heartfelt.snapshot import Snapshot
from heartfelt.stats.agreement import alpha
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import holm
from heartfelt.stats.reliability import icc

MOST_GROUPS = 12
MOST_VALUES = 6
MOST_SYSTEMS = 30
BINS = 3
ALL = "all"
DIFFERENCE = "mean over stimuli rated by both groups of one group's mean rating less the other's"


@dataclass(frozen=True, slots=True, eq=False)
class RaterGroups:
    """Which rater is in which group of one column."""

    column: str
    of_rater: Mapping[str, str]
    names: tuple[str, ...]
    not_stated: int
    cuts: tuple[float, ...] = ()
    """Where numbers were cut into groups."""


def rater_groups(snapshot: Snapshot, column: str) -> RaterGroups:
    """The groups of a column of the raters; refused, with advice, where the column makes no groups."""
    raters = snapshot.raters
    known = [name for name in raters.columns if name != "rater"]
    if column not in known:
        fix = suggestion(column, known, "The raters have") if known else "The raters have no columns."
        raise InputError(f"The raters have no column '{column}'.", fix)
    rated = raters.filter(pl.col("rater").is_in(snapshot.survey.raters))
    values, cuts = _categories(rated[column], column)
    frame = pl.DataFrame({"rater": rated["rater"], "group": values})
    stated = frame.drop_nulls("group").filter(pl.col("group").str.strip_chars() != "")
    present = set(stated["group"].to_list())
    order = values.drop_nulls().unique(maintain_order=True).to_list()
    names = [name for name in (_labels(cuts) if cuts else sorted(order)) if name in present]
    if len(names) < 2:
        raise InputError(
            f"The column '{column}' puts all raters into one group.", "Name a column that divides them."
        )
    if len(names) > MOST_GROUPS:
        raise InputError(
            f"The column '{column}' has {len(names)} different values, which is too many groups to compare.",
            f"Merge them into at most {MOST_GROUPS} in the table of raters.",
        )
    return RaterGroups(
        column, dict(stated.iter_rows()), tuple(names), rated.height - stated.height, tuple(cuts)
    )


def _categories(column: pl.Series, name: str) -> tuple[pl.Series, list[float]]:
    """The group of every rater in words, and where numbers were cut."""
    kind = column.dtype
    if not kind.is_numeric():
        if isinstance(kind, pl.List | pl.Struct | pl.Array):
            raise InputError(
                f"The column '{name}' holds lists, not one value per rater.", "Name a column with one value."
            )
        return column.cast(pl.String), []
    numbers = column.cast(pl.Float64).fill_nan(None)
    values = numbers.drop_nulls().unique().sort().to_list()
    if len(values) <= MOST_VALUES:
        words = [None if value is None else f"{value:g}" for value in numbers.to_list()]
        return pl.Series(name, words, dtype=pl.String), []
    shares = [k / BINS for k in range(1, BINS)]
    cuts = sorted({float(np.quantile(numbers.drop_nulls().to_numpy(), share)) for share in shares})
    cuts = [cut for cut in cuts if cut < values[-1]]
    if not cuts:
        raise InputError(
            f"The numbers in '{name}' cannot be cut into groups: most raters share the highest one.",
            "Add a column of your own that names each rater's group.",
        )
    labels = _labels(cuts)
    places = np.searchsorted(cuts, numbers.fill_null(np.inf).to_numpy(), side="left")
    words = [
        None if value is None else labels[place]
        for value, place in zip(numbers.to_list(), places.tolist(), strict=True)
    ]
    return pl.Series(name, words, dtype=pl.String), cuts


def _labels(cuts: list[float]) -> list[str]:
    """What the groups of cut numbers are called."""
    bounds = [f"{cut:.4g}" for cut in cuts]
    middle = [f"over {low} to {high}" for low, high in pairwise(bounds)]
    return [f"up to {bounds[0]}", *middle, f"over {bounds[-1]}"]


def by_groups(material: Material, groups: RaterGroups, seed: int) -> dict[str, Any]:
    """Reliability and means of every group under every question, and all differences between groups."""
    sizes = {name: sum(1 for own in groups.of_rater.values() if own == name) for name in groups.names}
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for one in material.questions:
        if not one.ratings.height:
            continue
        parts = _split(one, groups)
        for name in groups.names:
            made = attempt(partial(_group, one, name, parts[name], seed))
            rows.append(_no_group(one, name, made.why) if isinstance(made, Failed) else made)
        found = attempt(partial(_differences, one, parts))
        if isinstance(found, Failed):
            head = {"question": one.id, "system": ALL, "a": groups.names[0], "b": groups.names[1]}
            found = [head | _no_difference(found.why)]
        differences += found
    return {
        "column": groups.column,
        "groups": [{"group": name, "raters": sizes[name]} for name in groups.names],
        "not_stated": groups.not_stated,
        "cut_at": list(groups.cuts) or None,
        "rows": rows,
        "differences": differences,
    }


def _split(one: QuestionData, groups: RaterGroups) -> dict[str, pl.DataFrame]:
    """Each group's ratings of a question."""
    own = one.ratings.filter("known").with_columns(
        pl.col("rater")
        .replace_strict(dict(groups.of_rater), default=None, return_dtype=pl.String)
        .alias("_group")
    )
    return {name: own.filter(pl.col("_group") == name).drop("_group") for name in groups.names}


def _why_too_few(ratings: pl.DataFrame) -> str | None:
    raters = ratings["rater"].n_unique()
    if not raters:
        return "nobody in this group answered this question"
    if raters < LEAST_RATERS:
        return f"{raters} rater{'s' if raters != 1 else ''} in this group; at least {LEAST_RATERS} are needed"
    return None


def _counts(ratings: pl.DataFrame) -> dict[str, int]:
    return {
        "n_raters": ratings["rater"].n_unique(),
        "n_stimuli": ratings["item"].n_unique(),
        "n_ratings": ratings.height,
    }


def _group(one: QuestionData, name: str, ratings: pl.DataFrame, seed: int) -> dict[str, Any]:
    """One group under one question."""
    why = _why_too_few(ratings)
    if why is not None:
        return _no_group(one, name, why) | _counts(ratings)
    own = _scored(one, ratings)
    everything = np.ones(len(own.data.names), dtype=np.bool_)
    triple = (ratings["rater"], ratings["item"], ratings["value"])
    gone = Estimate.missing(NO_MEAN)
    with np.errstate(divide="ignore", invalid="ignore"):
        forms = icc(*triple, seed=seed) if one.numbers else None
    systems = one.systems if 1 < len(one.systems) <= MOST_SYSTEMS else []
    return {
        "question": one.id,
        "group": name,
        **_counts(ratings),
        "alpha": alpha(*triple, one.level, seed=seed).to_json() | {"measurement_level": one.level},
        "icc2": (gone if forms is None else forms.icc2).to_json(),
        "icc2k": (gone if forms is None else forms.icc2k).to_json(),
        "mean": estimate(own.changes(everything, "value"), METHODS["value"]).to_json(),
        "mean_by_system": {
            system: estimate(own.changes(own.where("system", system), "value"), METHODS["value"]).to_json()
            for system in systems
        },
    }


def _scored(one: QuestionData, ratings: pl.DataFrame) -> Scored:
    """The stimuli a group rated, with the group's own means."""
    own = ratings.group_by("item").agg(
        pl.mean("value").alias("mean"), pl.len().cast(pl.Int64).alias("n"), pl.std("value").alias("sd")
    )
    items = one.items.drop("mean", "n", "sd").join(own, on="item", how="inner", maintain_order="left")
    items = items.with_columns((pl.col("mean") - pl.col("reference")).alias("deviation"))
    made = QuestionData(
        one.id, one.level, one.categories, one.bounds, ratings, items, one.why_no_raters, one.members
    )
    return scored(made)


def _no_group(one: QuestionData, name: str, why: str) -> dict[str, Any]:
    gone = Estimate.missing(why).to_json()
    counts = dict.fromkeys(("n_raters", "n_stimuli", "n_ratings"), 0)
    figures = dict.fromkeys(("alpha", "icc2", "icc2k", "mean"), gone)
    return {"question": one.id, "group": name, **counts, **figures, "mean_by_system": {}, "why_missing": why}


def _differences(one: QuestionData, parts: Mapping[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """Every pair of groups over all stimuli and per system, Holm over all of a question."""
    rows: list[dict[str, Any]] = []
    plain: list[float | None] = []
    systems: list[str | None] = [None]
    systems += one.systems if 1 < len(one.systems) <= MOST_SYSTEMS else []
    for a, b in combinations(parts, 2):
        for system in systems:
            head = {"question": one.id, "system": system or ALL, "a": a, "b": b}
            found = _difference(one, parts[a], parts[b], system)
            if isinstance(found, str):
                rows.append(head | _no_difference(found))
                plain.append(None)
                continue
            error = error_of(found)
            rows.append(head | {"difference": estimate(found, DIFFERENCE).to_json()})
            plain.append(None if isinstance(error, str) else p_value(found, error))
    held = holm(plain)
    return [
        row | {"p_alone": alone, "p": p, "significant": bool(significant)}
        for row, alone, p, significant in zip(rows, plain, held.adjusted, held.significant, strict=True)
    ]


def _no_difference(why: str) -> dict[str, Any]:
    gone = Estimate.missing(why, DIFFERENCE).to_json()
    return {"difference": gone, "p_alone": None, "p": None, "significant": False}


def _difference(one: QuestionData, a: pl.DataFrame, b: pl.DataFrame, system: str | None) -> Changes | str:
    if not one.numbers:
        return NO_MEAN
    for part in (a, b):
        why = _why_too_few(part)
        if why is not None:
            return why
    own = [
        part.group_by("item").agg(pl.mean("value").alias(name))
        for part, name in ((a, "first"), (b, "second"))
    ]
    items = one.items.select("item", "system", "intent")
    for means in own:
        items = items.join(means, on="item", how="inner", maintain_order="left")
    if system is not None:
        items = items.filter(pl.col("system") == system)
    if not items.height:
        return "no stimulus was rated by both groups"
    both = [part.join(items.select("item"), on="item", how="semi") for part in (a, b)]
    for part in both:
        if part["rater"].n_unique() < LEAST_RATERS:
            return f"fewer than {LEAST_RATERS} raters of a group rated stimuli that the other group rated too"
    data = stimuli_of(items, both, ["first", "second"], one.why_no_raters)
    chosen = np.ones(items.height, dtype=np.bool_)
    return mean_changes(data, chosen, lambda mean, _: mean[:, 0] - mean[:, 1])
