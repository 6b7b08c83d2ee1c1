"""Which model is better, as far as the data can tell.

Every pair of models is compared by the task's headline on the items both were asked about, failures counted. Interval and p
come from one method (the jackknife, ``heartfelt.stats.prediction.association``); p-values are corrected by Holm over
all pairs of the task. Leaving out stimuli generalises to other stimuli of the same systems; where the stimuli name
systems, each pair is also compared by leaving out whole systems, which generalises to other systems, and by the means
of systems.

A model's rank is a range: from one more than the models that are significantly better, to as many as are not significantly
worse. Models scored against other labels than the items' own (a left-out rater) have no rank, nor have models that do not
beat chance (:mod:`heartfelt.stats.inference.no_association`). The ranks for other systems are among the models that also beat
chance with systems taken as a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from heartfelt.labels.strengths import rater_of
from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.scoring.measurement.measure import LEAST_SYSTEMS, NO_SYSTEMS, plainly, why_no_systems
from heartfelt.scoring.results.metrics import METRICS
from heartfelt.scoring.results.scores import (
    NO_CHANCE_BEATEN,
    NO_CHANCE_BEATEN_IN_OTHERS,
    OTHER_CLIPS,
    OTHER_CONTESTANTS,
    OTHER_PAIRS,
    OTHER_STIMULI,
    UNTESTED,
    ModelComparison,
    ModelRank,
    ModelScore,
    ScoringTask,
    SystemComparison,
    SystemRank,
)
from heartfelt.stats.comparison.predicted.hits import mean_hits
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import holm
from heartfelt.stats.prediction.association import MetricDifference, metric_difference

OTHER_LABELS = "it is scored against labels other than the items' own"
_UNTESTED_OVER_SYSTEMS = Estimate.missing("chance was not tested over systems")
_COUNTED = ("counted", "counted_other")
_REACH = {"choices": OTHER_PAIRS, "strengths": OTHER_CONTESTANTS}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entrant:
    """A model that is compared.

    ``rows`` holds stimulus, question, truth and said (the prediction, missing where it failed) of every item, and where known
    ``counted`` (what a failure counts as) and ``system``. ``value`` is its headline with failures counted, ``beyond`` its
    distance from chance (above 0 is better), ``p_chance`` and ``p_chance_over_systems`` the p-values of predictions that say
    nothing; ``why_untested`` is why the first is missing. Where choices are predicted, ``answers`` has rater, first and second of
    every answer and how right the prediction was, failures counted, as ``right``.
    """

    model: str
    rows: pl.DataFrame
    value: float | None
    why_unranked: str | None = None
    beyond: float | None = None
    p_chance: float | None = None
    answers: pl.DataFrame | None = None
    p_chance_over_systems: Estimate = _UNTESTED_OVER_SYSTEMS
    why_untested: str | None = None

    @classmethod
    def of(
        cls,
        score: ModelScore,
        rows: pl.DataFrame,
        why_unranked: str | None,
        *,
        name: str | None = None,
        answers: pl.DataFrame | None = None,
    ) -> Entrant:
        """The model of a headline score, under its own name or another."""
        return cls(
            model=name or score.model,
            rows=rows,
            value=score.with_failures.value,
            why_unranked=why_unranked,
            beyond=score.beyond_chance.value,
            p_chance=score.p_chance.value,
            answers=answers,
            p_chance_over_systems=score.p_chance_over_systems,
            why_untested=score.p_chance.why_missing,
        )

    @property
    def all_items(self) -> pl.DataFrame:
        """Every item with what counts as this model's answer to it."""
        rows = self.rows
        if "counted" not in rows.columns:
            rows = rows.with_columns(pl.col("said").alias("counted"))
        if "system" not in rows.columns:
            rows = rows.with_columns(pl.lit(None, dtype=pl.String).alias("system"))
        return rows.filter(pl.col("counted").is_not_null())


def compare(entrants: Sequence[Entrant], task: ScoringTask, confidence: float = 0.95) -> list[ModelComparison]:
    """Every pair of models that can be ranked, by the task's headline."""
    pairs = list(combinations([entrant for entrant in entrants if entrant.why_unranked is None], 2))
    differences = [_differences(first, second, task, confidence) for first, second in pairs]
    over_stimuli, systems, means = (
        _corrected([forms[form] for forms, _ in differences], confidence) for form in range(3)
    )
    by = f"Holm over {len(pairs)} pair{'' if len(pairs) == 1 else 's'}"
    out = []
    for index, (first, second) in enumerate(pairs):
        ((difference, _, _), answered), corrected = differences[index], over_stimuli[index]
        out.append(
            ModelComparison(
                task=task.id,
                metric=task.headline,
                first=first.model,
                second=second.model,
                difference=corrected.difference,
                p=corrected.p,
                p_adjusted=corrected.p_adjusted,
                p_adjusted_by=by,
                pairs=len(pairs),
                difference_adjusted=_adjusted(difference, corrected.p_adjusted, len(pairs), confidence),
                apart=corrected.apart,
                more_stimuli=_more(difference, len(pairs), corrected.apart, 1 - confidence),
                answered=answered,
                over_systems=systems[index],
                system_means=means[index],
            )
        )
    return out


def _corrected(differences: Sequence[MetricDifference], confidence: float) -> list[SystemComparison]:
    corrected = holm([difference.p.value for difference in differences], confidence=confidence)
    return [
        SystemComparison(difference.estimate, difference.p, p, bool(significant))
        for difference, p, significant in zip(differences, corrected.adjusted, corrected.significant, strict=True)
    ]


def _adjusted(difference: MetricDifference, adjusted: float | None, pairs: int, confidence: float) -> Estimate:
    """The interval at the confidence that Holm's correction leaves this pair: it excludes 0 where the adjusted p is small."""
    if adjusted is None or difference.p.value is None or pairs == 1:
        return difference.estimate
    share = difference.p.value / adjusted if adjusted > 0 else 1 / pairs
    level_note = f"at the confidence Holm's correction over {pairs} pairs leaves this pair"
    return difference.at(1 - (1 - confidence) * share, level_note)


def _differences(
    first: Entrant, second: Entrant, task: ScoringTask, confidence: float
) -> tuple[tuple[MetricDifference, MetricDifference, MetricDifference], Estimate]:
    """One pair over stimuli, over systems and by the means of systems, failures counted; and on the items both answered."""

    def difference(rows: pl.DataFrame, columns: tuple[str, str], by: str = "stimulus") -> MetricDifference:
        x, a, b = (rows[name].to_numpy() for name in ("truth", *columns))
        metric = task.headline
        if task.kind in ("text", "choices"):
            # Each item has its own score, whose mean is the headline.
            metric, x = "mae", np.zeros(rows.height)
        if task.kind == "traces":
            # The same for scores that may be as low as -1.
            metric, x = "mae", np.full(rows.height, -1.0)
        if task.kind in ("binary", "categories"):
            x, a, b = (column.astype(np.int64) for column in (x, a, b))
        group = rows[by].rank("dense").to_numpy() if rows[by].n_unique() < rows.height else None
        result = metric_difference(metric, x, a, b, group=group, confidence=confidence)
        if result.estimate.value is not None:
            return result
        estimate = result.estimate
        missing = Estimate.missing(plainly(estimate.why_missing), estimate.method, estimate.counts)
        return replace(result, estimate=missing, p=missing)

    def none(reason: str) -> MetricDifference:
        missing = Estimate.missing(reason, f"difference of {task.headline}")
        return MetricDifference(estimate=missing, p=missing, standard_error=None, units=0)

    second_items = second.all_items.select(*ITEM, "said", "counted")
    both = first.all_items.join(second_items, on=ITEM, how="inner", maintain_order="left", suffix="_other")
    over_stimuli = difference(both, _COUNTED)
    if first.answers is not None and second.answers is not None:
        # Answer by answer, with raters and pairs as samples; a run read from files has pairs only.
        shared = first.answers.join(
            second.answers,
            on=["rater", "first", "second", "place"],
            suffix="_other",
            nulls_equal=True,
            maintain_order="left",
        )
        first_hits, rival = (shared[name].to_numpy() for name in ("right", "right_other"))
        sides = shared["first"], shared["second"]
        over_stimuli = mean_hits(rater_of(shared), *sides, first_hits, rival, confidence=confidence)
    both_answered = both.filter(pl.col("said").is_not_null() & pl.col("said_other").is_not_null())
    complete = both_answered.height == both.height
    answered = over_stimuli.estimate if complete else difference(both_answered, ("said", "said_other")).estimate
    named = both.filter(pl.col("system").is_not_null())
    count = named["system"].n_unique()
    if count < LEAST_SYSTEMS:
        too_few = none(why_no_systems(count))
        return (over_stimuli, too_few, too_few), answered
    means = none("system means are compared for questions answered with numbers")
    if task.kind in ("numbers", "strengths"):
        of_systems = named.group_by("system").agg(pl.col("truth", *_COUNTED).mean()).sort("system")
        means = difference(of_systems, _COUNTED, "system")
    return (over_stimuli, difference(named, _COUNTED, "system"), means), answered


def _more(difference: MetricDifference, pairs: int, significant: bool, alpha: float) -> Estimate:
    """How many more stimuli give 80% power at the alpha that the number of pairs leaves each."""
    name = "more stimuli for 80% power"
    if significant:
        return Estimate(value=0, method=name, why_no_interval="the two are apart already")
    needed = difference.needed(alpha=alpha / max(pairs, 1))
    if needed.value is None:
        return Estimate.missing(needed.why_missing or "", name)
    more = max(math.ceil(needed.value) - difference.units, 1)
    counts = {"units": difference.units}
    return Estimate(value=more, method=name, counts=counts, why_no_interval="a plan, not an estimate")


def ranks(
    entrants: Sequence[Entrant], pairs: Sequence[ModelComparison], task: ScoringTask, confidence: float = 0.95
) -> list[ModelRank]:
    """The rank of every model of a task, best first; those without one last, with the reason."""
    sign = METRICS[task.headline].sign
    able = [entrant for entrant in entrants if entrant.why_unranked is None and entrant.value is not None]
    beats, chance = _gate(able, [entrant.p_chance for entrant in able], confidence)
    in_others, chance_in_others = _gate(able, [entrant.p_chance_over_systems.value for entrant in able], confidence)
    ordered = sorted(able, key=lambda entrant: -sign * (entrant.value or 0.0))
    order = [entrant.model for entrant in ordered if _ranked(entrant, beats)]
    over_stimuli = _ranges(order, [(pair, pair.difference, pair.apart) for pair in pairs], sign)
    over = [(pair, pair.over_systems.difference, pair.over_systems.apart) for pair in pairs]
    among = [entrant.model for entrant in ordered if entrant.model in over_stimuli and _ranked(entrant, in_others)]
    wide, why_not_over_systems = _ranges(among, over, sign), _why_not_over_systems(entrants, pairs)
    named = any(entrant.all_items["system"].is_not_null().any() for entrant in able)
    reach = OTHER_CLIPS if named else _REACH.get(task.kind, OTHER_STIMULI)

    def for_other_systems(entrant: Entrant) -> SystemRank:
        beats_chance = in_others.get(entrant.model)
        best, worst = (None, None) if why_not_over_systems is not None else wide.get(entrant.model, (None, None))
        reason = why_not_over_systems
        if best is None and not why_not_over_systems:
            untested = entrant.p_chance_over_systems.why_missing
            reason = NO_CHANCE_BEATEN_IN_OTHERS if beats_chance is False else untested
        return SystemRank(
            best=best,
            worst=worst,
            why_none=reason,
            beats_chance=beats_chance,
            p_chance_adjusted=chance_in_others.get(entrant.model),
        )

    def rank(entrant: Entrant) -> ModelRank:
        model = entrant.model
        is_ranked = model in over_stimuli
        best, worst = over_stimuli.get(model, (None, None))
        reason = None if is_ranked else entrant.why_unranked or _why_no_rank(entrant, beats)
        return ModelRank(
            task=task.id,
            model=model,
            place=order.index(model) + 1 if is_ranked else None,
            best=best,
            worst=worst,
            why_none=reason,
            beats_chance=beats.get(model),
            p_chance_adjusted=chance.get(model),
            generalises_to=reach,
            over_systems=for_other_systems(entrant) if is_ranked else SystemRank(why_none=reason),
        )

    able_last = [*ordered, *(entrant for entrant in entrants if entrant not in able)]
    return [rank(entrant) for entrant in sorted(able_last, key=lambda entrant: entrant.model not in over_stimuli)]


def _why_no_rank(entrant: Entrant, beats: Mapping[str, bool | None]) -> str:
    """Why a model that may be ranked has no rank."""
    match beats.get(entrant.model, True):
        case False:
            return NO_CHANCE_BEATEN
        case None:
            return f"{UNTESTED}: {entrant.why_untested or 'no p-value is known'}"
    return "it has no score"


def _gate(
    entrants: Sequence[Entrant], p: Sequence[float | None], confidence: float
) -> tuple[dict[str, bool | None], dict[str, float | None]]:
    """By model: whether it beats chance (None where that is not known), and the p-value corrected for all models."""
    corrected = holm(p, confidence=confidence)
    adjusted = {entrant.model: p for entrant, p in zip(entrants, corrected.adjusted, strict=True)}
    beats: dict[str, bool | None] = {}
    for entrant in entrants:
        adjusted_p = adjusted[entrant.model]
        beats[entrant.model] = None if adjusted_p is None else adjusted_p <= (1 - confidence) * (1 + 1e-12)
        if entrant.beyond is None or entrant.beyond <= 0:
            beats[entrant.model] = None if entrant.beyond is None else False
    return beats, adjusted


def _ranked(entrant: Entrant, beats: Mapping[str, bool | None]) -> bool:
    """Whether a model may be ranked: it beats chance, or nothing is known as chance."""
    return beats[entrant.model] is True or entrant.beyond is None


def _ranges(
    order: Sequence[str], pairs: Sequence[tuple[ModelComparison, Estimate, bool]], sign: int
) -> dict[str, tuple[int, int]]:
    """By model: from one more than those significantly better to as many as are not significantly worse."""
    better: dict[str, int] = dict.fromkeys(order, 0)
    worse: dict[str, int] = dict.fromkeys(order, 0)
    for pair, difference, significant in pairs:
        if not significant or difference.value is None or {pair.first, pair.second} - set(order):
            continue
        ahead, behind = pair.first, pair.second
        if sign * difference.value <= 0:
            ahead, behind = behind, ahead
        better[behind] += 1
        worse[ahead] += 1
    return {model: (1 + better[model], len(order) - worse[model]) for model in order}


def _why_not_over_systems(entrants: Sequence[Entrant], pairs: Sequence[ModelComparison]) -> str | None:
    """Why there are no ranks over systems; None where there are."""
    counts = [
        entrant.all_items["system"].drop_nulls().n_unique() for entrant in entrants if entrant.why_unranked is None
    ]
    if not counts:
        return NO_SYSTEMS
    if max(counts) < LEAST_SYSTEMS:
        return why_no_systems(max(counts))
    tested = any(pair.over_systems.p.value is not None for pair in pairs)
    return None if tested or not pairs else pairs[0].over_systems.p.why_missing
