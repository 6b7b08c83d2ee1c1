"""Which model is better, as far as the data can tell.

Every pair of models is compared by the task's headline on the items both were asked about, failures counted. Interval and p
come from one method (the jackknife, ``heartfelt.stats.association``); p-values are corrected by Holm over all pairs of the
task. Leaving out stimuli generalises to other stimuli of the same systems; where the stimuli name systems, each pair is also
compared by leaving out whole systems, which generalises to other systems, and by the means of systems.

A model's rank is a range: from one more than the models that are significantly better, to as many as are not significantly
worse. Models scored against other labels than the items' own (a left-out rater) have no rank, nor have models that do not
beat chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from heartfelt.labels.strengths import rater_of
from heartfelt.scoring.measure import LEAST_SYSTEMS, NO_SYSTEMS, plainly, why_no_systems
from heartfelt.scoring.metrics import METRICS
from heartfelt.scoring.scores import (
    NO_CHANCE_BEATEN,
    OTHER_CLIPS,
    OTHER_CONTESTANTS,
    OTHER_PAIRS,
    OTHER_STIMULI,
    Comparison,
    Rank,
    SystemComparison,
    SystemRank,
    Task,
)
from heartfelt.scoring.truth import ITEM
from heartfelt.stats.association import Difference, metric_difference
from heartfelt.stats.comparison.hits import mean_hits
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import holm

OTHER_LABELS = "it is scored against labels other than the items' own"
_COUNTED = ("counted", "counted_other")
_REACH = {"choices": OTHER_PAIRS, "strengths": OTHER_CONTESTANTS}


@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """A model that is compared.

    ``rows`` holds stimulus, question, truth and said (the prediction, missing where it failed) of every item, and where known
    ``counted`` (what a failure counts as) and ``system``. ``value`` is its headline with failures counted, ``beyond`` its
    distance from chance (above 0 is better) and ``p_chance`` the p-value of that distance. Where choices are predicted,
    ``answers`` has rater, first and second of every answer and how right the prediction was, failures counted, as ``right``.
    """

    model: str
    rows: pl.DataFrame
    value: float | None
    why_unranked: str | None = None
    beyond: float | None = None
    p_chance: float | None = None
    answers: pl.DataFrame | None = None

    @property
    def all_items(self) -> pl.DataFrame:
        """Every item with what counts as this model's answer to it."""
        rows = self.rows
        if "counted" not in rows.columns:
            rows = rows.with_columns(pl.col("said").alias("counted"))
        if "system" not in rows.columns:
            rows = rows.with_columns(pl.lit(None, dtype=pl.String).alias("system"))
        return rows.filter(pl.col("counted").is_not_null())


def compare(entrants: Sequence[Entrant], task: Task, confidence: float = 0.95) -> list[Comparison]:
    """Every pair of models that can be ranked, by the task's headline."""
    pairs = list(combinations([entrant for entrant in entrants if entrant.why_unranked is None], 2))
    differences = [_differences(first, second, task, confidence) for first, second in pairs]
    plain, systems, means = (
        _corrected([each[form] for each, _ in differences], confidence) for form in range(3)
    )
    by = f"Holm over {len(pairs)} pair{'' if len(pairs) == 1 else 's'}"
    out = []
    for place, (first, second) in enumerate(pairs):
        ((difference, _, _), answered), corrected = differences[place], plain[place]
        head = (task.id, task.headline, first.model, second.model, corrected.difference, corrected.p)
        out.append(
            Comparison(
                *head,
                corrected.p_adjusted,
                by,
                len(pairs),
                _adjusted(difference, corrected.p_adjusted, len(pairs), confidence),
                corrected.apart,
                _more(difference, len(pairs), corrected.apart, 1 - confidence),
                answered,
                systems[place],
                means[place],
            )
        )
    return out


def _corrected(differences: Sequence[Difference], confidence: float) -> list[SystemComparison]:
    corrected = holm([each.p.value for each in differences], confidence=confidence)
    return [
        SystemComparison(each.estimate, each.p, p, bool(apart))
        for each, p, apart in zip(differences, corrected.adjusted, corrected.significant, strict=True)
    ]


def _adjusted(difference: Difference, adjusted: float | None, pairs: int, confidence: float) -> Estimate:
    """The interval at the confidence that Holm's correction leaves this pair: it excludes 0 where the adjusted p is small."""
    if adjusted is None or difference.p.value is None or pairs == 1:
        return difference.estimate
    share = difference.p.value / adjusted if adjusted > 0 else 1 / pairs
    left = f"at the confidence Holm's correction over {pairs} pairs leaves this pair"
    return difference.at(1 - (1 - confidence) * share, left)


def _differences(
    first: Entrant, second: Entrant, task: Task, confidence: float
) -> tuple[tuple[Difference, Difference, Difference], Estimate]:
    """One pair over stimuli, over systems and by the means of systems, failures counted; and on the items both answered."""

    def difference(rows: pl.DataFrame, columns: tuple[str, str], by: str = "stimulus") -> Difference:
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

    def none(why: str) -> Difference:
        missing = Estimate.missing(why, f"difference of {task.headline}")
        return Difference(missing, missing, None, 0)

    others = second.all_items.select(*ITEM, "said", "counted")
    both = first.all_items.join(others, on=ITEM, how="inner", maintain_order="left", suffix="_other")
    plain = difference(both, _COUNTED)
    if first.answers is not None and second.answers is not None:
        # Answer by answer, with raters and pairs as samples; a run read from files has pairs only.
        shared = first.answers.join(
            second.answers, on=["rater", "first", "second", "place"], suffix="_other", nulls_equal=True
        )
        own, rival = (shared[name].to_numpy() for name in ("right", "right_other"))
        sides = shared["first"], shared["second"]
        plain = mean_hits(rater_of(shared), *sides, own, rival, confidence=confidence)
    known = both.filter(pl.col("said").is_not_null() & pl.col("said_other").is_not_null())
    complete = known.height == both.height
    answered = plain.estimate if complete else difference(known, ("said", "said_other")).estimate
    named = both.filter(pl.col("system").is_not_null())
    count = named["system"].n_unique()
    if count < LEAST_SYSTEMS:
        too_few = none(why_no_systems(count))
        return (plain, too_few, too_few), answered
    means = none("system means are compared for questions answered with numbers")
    if task.kind in ("numbers", "strengths"):
        of_systems = named.group_by("system").agg(pl.col("truth", *_COUNTED).mean()).sort("system")
        means = difference(of_systems, _COUNTED, "system")
    return (plain, difference(named, _COUNTED, "system"), means), answered


def _more(difference: Difference, pairs: int, apart: bool, alpha: float) -> Estimate:
    """How many more stimuli give 80% power at the alpha that the number of pairs leaves each."""
    name = "more stimuli for 80% power"
    if apart:
        return Estimate(0, method=name, why_no_interval="the two are apart already")
    needed = difference.needed(alpha=alpha / max(pairs, 1))
    if needed.value is None:
        return Estimate.missing(needed.why_missing or "", name)
    more = max(math.ceil(needed.value) - difference.units, 1)
    counts = {"units": difference.units}
    return Estimate(more, method=name, counts=counts, why_no_interval="a plan, not an estimate")


def ranks(
    entrants: Sequence[Entrant], pairs: Sequence[Comparison], task: Task, confidence: float = 0.95
) -> list[Rank]:
    """The rank of every model of a task, best first; those without one last, with the reason."""
    sign = METRICS[task.headline].sign
    able = [entrant for entrant in entrants if entrant.why_unranked is None and entrant.value is not None]
    corrected = holm([entrant.p_chance for entrant in able], confidence=confidence)
    chance = {entrant.model: p for entrant, p in zip(able, corrected.adjusted, strict=True)}
    beats = {
        entrant.model: _beats_chance(entrant, chance[entrant.model], task, confidence) for entrant in able
    }
    ordered = sorted(able, key=lambda entrant: -sign * (entrant.value or 0.0))
    order = [entrant.model for entrant in ordered if beats[entrant.model] is not False]
    plain = _ranges(order, [(pair, pair.difference, pair.apart) for pair in pairs], sign)
    over = [(pair, pair.over_systems.difference, pair.over_systems.apart) for pair in pairs]
    wide, why = _ranges(order, over, sign), _why_not_over_systems(entrants, pairs)
    named = any(entrant.all_items["system"].is_not_null().any() for entrant in able)
    reach = OTHER_CLIPS if named else _REACH.get(task.kind, OTHER_STIMULI)
    result = []
    for place, model in enumerate(order, start=1):
        best, worst = plain[model]
        systems = SystemRank(*wide[model]) if why is None else SystemRank(why_none=why)
        result.append(
            Rank(task.id, model, place, best, worst, None, beats[model], chance[model], reach, systems)
        )
    for entrant in [*ordered, *(entrant for entrant in entrants if entrant not in able)]:
        model = entrant.model
        if model not in plain:
            no_score = NO_CHANCE_BEATEN if beats.get(model) is False else "it has no score"
            reason = entrant.why_unranked or no_score
            unranked = (task.id, model, None, None, None, reason, beats.get(model), chance.get(model))
            result.append(Rank(*unranked, reach, SystemRank(why_none=reason)))
    return result


def _beats_chance(entrant: Entrant, adjusted: float | None, task: Task, confidence: float) -> bool | None:
    """Whether a model beats chance; None where no chance level, or no p-value, is known."""
    if entrant.beyond is None:
        return None
    if entrant.beyond <= 0:
        return False
    if adjusted is None:
        # A perfect order of a handful of strengths may be luck.
        best = METRICS[task.headline].higher_is_better and task.kind != "strengths"
        return True if best and (entrant.value or 0.0) >= 1 - 1e-12 else None
    return adjusted <= (1 - confidence) * (1 + 1e-12)


def _ranges(
    order: Sequence[str], pairs: Sequence[tuple[Comparison, Estimate, bool]], sign: int
) -> dict[str, tuple[int, int]]:
    """By model: from one more than those significantly better to as many as are not significantly worse."""
    better: dict[str, int] = dict.fromkeys(order, 0)
    worse: dict[str, int] = dict.fromkeys(order, 0)
    for pair, difference, apart in pairs:
        if not apart or difference.value is None or {pair.first, pair.second} - set(order):
            continue
        ahead, behind = pair.first, pair.second
        if sign * difference.value <= 0:
            ahead, behind = behind, ahead
        better[behind] += 1
        worse[ahead] += 1
    return {model: (1 + better[model], len(order) - worse[model]) for model in order}


def _why_not_over_systems(entrants: Sequence[Entrant], pairs: Sequence[Comparison]) -> str | None:
    """Why there are no ranks over systems; None where there are."""
    counts = [
        entrant.all_items["system"].drop_nulls().n_unique()
        for entrant in entrants
        if entrant.why_unranked is None
    ]
    if not counts:
        return NO_SYSTEMS
    if max(counts) < LEAST_SYSTEMS:
        return why_no_systems(max(counts))
    tested = any(pair.over_systems.p.value is not None for pair in pairs)
    return None if tested or not pairs else pairs[0].over_systems.p.why_missing
