"""Groups of raters by what is known of them (language, expertise, age): how reliably each rates, its means, how they differ.

A group's reliability and mean have the intervals of the whole analysis, with stimuli and the group's raters as
samples. Two groups are compared on the stimuli both rated: the mean over those stimuli of one group's mean rating
less the other's, by the two-way jackknife over stimuli and raters, with Holm's correction over all comparisons of a
question (over all stimuli, and system by system). Numbers with more than six values are cut at their tertiles. Groups
of fewer than three raters, and raters whose value is missing, are counted and not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np
import polars as pl

from heartfelt.analysis.consistency.reliability import intraclass_correlations
from heartfelt.analysis.data.material import AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import ALL
from heartfelt.analysis.summary import GroupAlpha, GroupDifference, GroupFigures, GroupSize, RaterGroups
from heartfelt.analysis.systems.means import NO_MEAN, StimulusScores, stimulus_scores
from heartfelt.analysis.systems.two_way import LEAST_RATERS, Changes, estimate, mean_changes, p_value, stimuli_of
from heartfelt.errors import InputError, suggestion
from heartfelt.failures import Failed, attempt
from heartfelt.snapshot import Snapshot
from heartfelt.stats.agreement import alpha
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import holm
from heartfelt.wording import plural

MOST_GROUPS = 12
MOST_VALUES = 6
MOST_SYSTEMS = 30
BINS = 3
DIFFERENCE = "mean over stimuli rated by both groups of one group's mean rating less the other's"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RaterGrouping:
    """Which rater is in which group of one column."""

    column: str
    of_rater: Mapping[str, str]
    names: tuple[str, ...]
    not_stated: int
    cuts: tuple[float, ...] = ()
    """Where numbers were cut into groups."""


def rater_grouping(snapshot: Snapshot, column: str) -> RaterGrouping:
    """The groups of a column of the raters; refused, with advice, where the column makes no groups."""
    raters = snapshot.raters
    columns = [name for name in raters.columns if name != "rater"]
    if column not in columns:
        fix = suggestion(column, columns, "The raters have") if columns else "The raters have no columns."
        raise InputError(f"The raters have no column '{column}'.", fix)
    rated = raters.filter(pl.col("rater").is_in(snapshot.survey.raters))
    values, cuts = _categories(rated[column], column)
    frame = pl.DataFrame({"rater": rated["rater"], "group": values})
    stated = frame.drop_nulls("group").filter(pl.col("group").str.strip_chars() != "")
    present = stated["group"].unique().sort().to_list()
    names = [name for name in _labels(cuts) if name in present] if cuts else present
    if len(names) < 2:
        raise InputError(f"The column '{column}' puts all raters into one group.", "Name a column that divides them.")
    if len(names) > MOST_GROUPS:
        raise InputError(
            f"The column '{column}' has {len(names)} different values, which is too many groups to compare.",
            f"Merge them into at most {MOST_GROUPS} in the table of raters.",
        )
    of_rater = dict(stated.iter_rows())
    return RaterGrouping(
        column=column, of_rater=of_rater, names=tuple(names), not_stated=rated.height - stated.height, cuts=tuple(cuts)
    )


def _categories(column: pl.Series, name: str) -> tuple[pl.Series, list[float]]:
    """The group of every rater in words, and where numbers were cut."""
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Struct | pl.Array):
        raise InputError(f"The column '{name}' holds lists, not one value per rater.", "Name a column with one value.")
    if not kind.is_numeric():
        return column.cast(pl.String), []
    numbers = column.cast(pl.Float64).fill_nan(None)
    if numbers.drop_nulls().n_unique() <= MOST_VALUES:
        words = [None if value is None else f"{value:g}" for value in numbers.to_list()]
        return pl.Series(name, words, dtype=pl.String), []
    cuts = _cuts(numbers.drop_nulls(), name)
    labels = _labels(cuts)
    bins = np.searchsorted(cuts, numbers.fill_null(np.inf).to_numpy(), side="left").tolist()
    words = [None if v is None else labels[at] for v, at in zip(numbers.to_list(), bins, strict=True)]
    return pl.Series(name, words, dtype=pl.String), cuts


def _cuts(numbers: pl.Series, name: str) -> list[float]:
    """Where numbers are cut into groups of about the same size."""
    shares = [k / BINS for k in range(1, BINS)]
    values = numbers.to_numpy()
    limits = np.unique(np.quantile(values, shares))
    cuts: list[float] = limits[limits < values.max()].tolist()
    if not cuts:
        raise InputError(
            f"The numbers in '{name}' cannot be cut into groups: most raters share the highest one.",
            "Add a column of your own that names each rater's group.",
        )
    return cuts


def _labels(cuts: list[float]) -> list[str]:
    """What the groups of cut numbers are called."""
    bounds = [f"{cut:.4g}" for cut in cuts]
    middle = [f"over {low} to {high}" for low, high in pairwise(bounds)]
    return [f"up to {bounds[0]}", *middle, f"over {bounds[-1]}"]


def rater_groups(material: AnalysisData, grouping: RaterGrouping | None, seed: int) -> RaterGroups | None:
    """Reliability and means of every group under every question, and all differences between groups."""
    if grouping is None:
        return None
    group = pl.col("rater").replace_strict(dict(grouping.of_rater), default=None, return_dtype=pl.String)
    rows: list[GroupFigures] = []
    differences: list[GroupDifference] = []
    for question in material.questions:
        if not question.ratings.height:
            continue
        of_known_raters = question.ratings.filter("known")
        parts = {name: of_known_raters.filter(group == name) for name in grouping.names}
        for name in grouping.names:
            figures = attempt(_figures, question, name, parts[name], seed)
            rows.append(_no_figures(question, name, figures.reason) if isinstance(figures, Failed) else figures)
        compared = attempt(_differences, question, parts)
        if isinstance(compared, Failed):
            gone = Estimate.missing(compared.reason, DIFFERENCE)
            a, b = grouping.names[:2]
            compared = [
                GroupDifference(
                    question=question.id, system=ALL, a=a, b=b, difference=gone, p_alone=None, p=None, significant=False
                )
            ]
        differences += compared
    members = list(grouping.of_rater.values())
    return RaterGroups(
        column=grouping.column,
        groups=tuple(GroupSize(name, members.count(name)) for name in grouping.names),
        not_stated=grouping.not_stated,
        cut_at=grouping.cuts or None,
        rows=tuple(rows),
        differences=tuple(differences),
    )


def _why_too_few(ratings: pl.DataFrame) -> str | None:
    raters = ratings["rater"].n_unique()
    if not raters:
        return "nobody in this group answered this question"
    if raters < LEAST_RATERS:
        return f"{plural(raters, 'rater')} in this group; at least {LEAST_RATERS} are needed"
    return None


def _no_figures(
    question: QuestionData, name: str, reason: str, n_raters: int = 0, n_stimuli: int = 0, n_ratings: int = 0
) -> GroupFigures:
    gone = Estimate.missing(reason)
    return GroupFigures(
        question=question.id,
        group=name,
        n_raters=n_raters,
        n_stimuli=n_stimuli,
        n_ratings=n_ratings,
        alpha=GroupAlpha(gone),
        icc2=gone,
        icc2k=gone,
        mean=gone,
        mean_by_system={},
        why_missing=reason,
    )


def _figures(question: QuestionData, name: str, ratings: pl.DataFrame, seed: int) -> GroupFigures:
    """One group under one question."""
    n_raters, n_stimuli = ratings["rater"].n_unique(), ratings["item"].n_unique()
    reason = _why_too_few(ratings)
    if reason is not None:
        return _no_figures(question, name, reason, n_raters, n_stimuli, ratings.height)
    score = _scores(question, ratings)
    named = replace(score.question, why_no_raters=None)
    forms = intraclass_correlations(named, seed)
    icc2, icc2k = forms["icc2"], forms["icc2k"]
    if not question.numbers:
        icc2 = icc2k = Estimate.missing(NO_MEAN)
    return GroupFigures(
        question=question.id,
        group=name,
        n_raters=n_raters,
        n_stimuli=n_stimuli,
        n_ratings=ratings.height,
        alpha=GroupAlpha(alpha(*score.question.triples, question.level, seed=seed), question.level),
        icc2=icc2,
        icc2k=icc2k,
        mean=score.estimate(score.everything, "value"),
        mean_by_system={
            system: score.estimate(score.where("system", system), "value") for system in _systems(question)
        },
    )


def _systems(question: QuestionData) -> list[str]:
    """The systems that are looked at one by one."""
    return question.systems if 1 < len(question.systems) <= MOST_SYSTEMS else []


def _scores(question: QuestionData, ratings: pl.DataFrame) -> StimulusScores:
    """The stimuli a group rated, with the group's own means."""
    group_scores = ratings.group_by("item").agg(
        pl.mean("value").alias("mean"), pl.len().cast(pl.Int64).alias("n"), pl.std("value").alias("sd")
    )
    items = question.items.drop("mean", "n", "sd").join(group_scores, on="item", how="inner", maintain_order="left")
    items = items.with_columns((pl.col("mean") - pl.col("reference")).alias("deviation"))
    return stimulus_scores(replace(question, ratings=ratings, items=items))


def _differences(question: QuestionData, parts: Mapping[str, pl.DataFrame]) -> list[GroupDifference]:
    """Every pair of groups over all stimuli and per system, with Holm's correction over all of a question."""
    rows = [
        (system, a, b, _difference(question, parts[a], parts[b], system))
        for a, b in combinations(parts, 2)
        for system in [ALL, *_systems(question)]
    ]
    uncorrected = [p_value(changes) for *_, changes in rows]
    corrected = holm(uncorrected)
    return [
        GroupDifference(
            question=question.id,
            system=system,
            a=a,
            b=b,
            difference=estimate(changes, DIFFERENCE),
            p_alone=alone,
            p=p,
            significant=bool(significant),
        )
        for (system, a, b, changes), alone, p, significant in zip(
            rows, uncorrected, corrected.adjusted, corrected.significant, strict=True
        )
    ]


def _difference(question: QuestionData, a: pl.DataFrame, b: pl.DataFrame, system: str) -> Changes | str:
    if not question.numbers:
        return NO_MEAN
    reason = _why_too_few(a) or _why_too_few(b)
    if reason is not None:
        return reason
    items = question.items.select("item", "system", "intent")
    for part, name in ((a, "first"), (b, "second")):
        means = part.group_by("item").agg(pl.mean("value").alias(name))
        items = items.join(means, on="item", how="inner", maintain_order="left")
    if system != ALL:
        items = items.filter(pl.col("system") == system)
    if not items.height:
        return "no stimulus was rated by both groups"
    both = [part.join(items.select("item"), on="item", how="semi", maintain_order="left") for part in (a, b)]
    if any(part["rater"].n_unique() < LEAST_RATERS for part in both):
        return f"fewer than {LEAST_RATERS} raters of a group rated stimuli that the other group rated too"
    data = stimuli_of(items, both, ["first", "second"], question.why_no_raters)
    everything = np.ones(items.height, dtype=np.bool_)
    return mean_changes(data, everything, lambda mean, _: mean[:, 0] - mean[:, 1])
