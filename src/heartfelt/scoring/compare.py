"""Which model is better, as far as the data can tell.

Every pair of models is compared by the task's headline on the items both were asked about, failures counted. Interval and p
come from one method (the jackknife, ``heartfelt.stats.paired_metrics``), p-values are corrected by Holm over all pairs of the
task. Leaving out stimuli speaks of other stimuli of the same systems; where the stimuli name systems, each pair is also
compared leaving out whole systems, which speaks of other systems, and by the means of systems.

A model's rank is a range: from one more than the models that are better beyond chance, to as many as are not worse. Models
held against other labels than the items' own (a left-out rater) have no rank, nor have models that do not beat chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from heartfelt.scoring.measure import LEAST_SYSTEMS, NO_SYSTEMS, plainly, why_no_systems
from heartfelt.scoring.metrics import METRICS, Kind
from heartfelt.scoring.scores import (
    NO_CHANCE_BEATEN,
    OTHER_CLIPS,
    OTHER_STIMULI,
    Comparison,
    Rank,
    SystemComparison,
    SystemRank,
)
from heartfelt.scoring.truth import ITEM
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import holm
from heartfelt.stats.paired_metrics import Difference, metric_difference

ELSEWHERE = "it is held against other labels than the items' own"
_NOT_NUMBERS = "system means are compared for questions answered with numbers"


@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """A model that is compared.

    ``rows`` holds stimulus, question, truth and said of every item (said is missing where it failed), and where known
    ``counted`` (what a failure counts as) and ``system``. ``value`` is its headline with failures counted, ``beyond`` how
    far that is from chance (above 0 is better) and ``p_chance`` the p-value of that.
    """

    model: str
    rows: pl.DataFrame
    value: float | None
    why_unranked: str | None = None
    beyond: float | None = None
    p_chance: float | None = None

    @property
    def all_items(self) -> pl.DataFrame:
        """Every item with what counts as this model's answer to it."""
        rows = self.rows
        if "counted" not in rows.columns:
            rows = rows.with_columns(pl.col("said").alias("counted"))
        if "system" not in rows.columns:
            rows = rows.with_columns(pl.lit(None, dtype=pl.String).alias("system"))
        return rows.filter(pl.col("counted").is_not_null())


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is compared, and how."""

    task: str
    kind: Kind
    headline: str
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class _Differences:
    """One pair, every way it is compared."""

    plain: Difference
    answered: Estimate
    systems: Difference
    means: Difference


def compare(entrants: Sequence[Entrant], options: CompareOptions) -> list[Comparison]:
    """Every pair of models that can be ranked."""
    pairs = list(combinations([one for one in entrants if one.why_unranked is None], 2))
    found = [_differences(one, two, options) for one, two in pairs]
    corrected = holm([each.plain.p.value for each in found], confidence=options.confidence)
    systems = _corrected([each.systems for each in found], options.confidence)
    means = _corrected([each.means for each in found], options.confidence)
    out = []
    for place, ((one, two), each) in enumerate(zip(pairs, found, strict=True)):
        p, apart = corrected.adjusted[place], bool(corrected.significant[place])
        out.append(
            Comparison(
                options.task, options.headline, one.model, two.model, each.plain.estimate, each.plain.p, p, apart,
                _more(each.plain, len(pairs), apart, 1 - options.confidence),
                _adjusted(each.plain, p, len(pairs), options.confidence), each.answered, systems[place], means[place], len(pairs),
            )
        )  # fmt: skip
    return out


def _corrected(found: Sequence[Difference], confidence: float) -> list[SystemComparison]:
    corrected = holm([each.p.value for each in found], confidence=confidence)
    return [
        SystemComparison(each.estimate, each.p, p, bool(apart))
        for each, p, apart in zip(found, corrected.adjusted, corrected.significant, strict=True)
    ]


def _adjusted(found: Difference, adjusted: float | None, pairs: int, confidence: float) -> Estimate:
    """The interval at the confidence that Holm's correction leaves this pair: it leaves out 0 where the adjusted p is small."""
    if adjusted is None or found.p.value is None or pairs == 1:
        return found.estimate
    share = found.p.value / adjusted if adjusted > 0 else 1 / pairs
    confidence = 1 - (1 - confidence) * share
    return found.at(confidence, f"at the confidence Holm's correction over {pairs} pairs leaves this pair")


def _differences(one: Entrant, two: Entrant, options: CompareOptions) -> _Differences:
    both = one.all_items.join(
        two.all_items.select(*ITEM, "said", "counted"),
        on=ITEM,
        how="inner",
        maintain_order="left",
        suffix="_other",
    )
    plain = _difference(both, ("counted", "counted_other"), options)
    answered = plain.estimate
    known = both.filter(pl.col("said").is_not_null() & pl.col("said_other").is_not_null())
    if known.height < both.height:
        answered = _difference(known, ("said", "said_other"), options).estimate
    named = both.filter(pl.col("system").is_not_null())
    count = named["system"].n_unique()
    if count < LEAST_SYSTEMS:
        gone = _none(why_no_systems(count), options.headline)
        return _Differences(plain, answered, gone, gone)
    over = _difference(named, ("counted", "counted_other"), options, "system")
    means = _none(_NOT_NUMBERS, options.headline)
    if options.kind == "numbers":
        table = (
            named.group_by("system").agg(pl.col("truth", "counted", "counted_other").mean()).sort("system")
        )
        means = _difference(
            table.with_columns(pl.col("system").alias("stimulus")), ("counted", "counted_other"), options
        )
    return _Differences(plain, answered, over, means)


def _none(why: str, metric: str) -> Difference:
    gone = Estimate.missing(why, f"difference of {metric}")
    return Difference(gone, gone, None, 0)


def _difference(
    both: pl.DataFrame, columns: tuple[str, str], options: CompareOptions, by: str = "stimulus"
) -> Difference:
    x, first, second = (both[name].to_numpy() for name in ("truth", *columns))
    metric = options.headline
    if options.kind == "text":
        # Each item has its own score, whose mean is the headline.
        metric, x = "mae", np.zeros(both.height)
    if options.kind in ("binary", "categories"):
        x, first, second = (column.astype(np.int64) for column in (x, first, second))
    group = both[by].rank("dense").to_numpy() if both[by].n_unique() < both.height else None
    found = metric_difference(metric, x, first, second, group=group, confidence=options.confidence)
    if found.estimate.value is not None:
        return found
    gone = Estimate.missing(plainly(found.estimate.why_missing), found.estimate.method, found.estimate.counts)
    return replace(found, estimate=gone, p=gone)


def _more(found: Difference, pairs: int, apart: bool, alpha: float) -> Estimate:
    """More stimuli for four chances in five, at the level the number of pairs leaves to one."""
    name = "more stimuli for 80% power"
    if apart:
        return Estimate(0, method=name, why_no_interval="the two are apart already")
    needed = found.needed(alpha=alpha / max(pairs, 1))
    if needed.value is None:
        return Estimate.missing(needed.why_missing or "", name)
    more = max(math.ceil(needed.value) - found.units, 1)
    return Estimate(
        more, method=name, counts={"units": found.units}, why_no_interval="a plan, not an estimate"
    )


def ranks(entrants: Sequence[Entrant], pairs: Sequence[Comparison], options: CompareOptions) -> list[Rank]:
    """The rank of every model of a task, best first; those without one last, with the reason."""
    sign = 1 if METRICS[options.headline].higher else -1
    able = [one for one in entrants if one.why_unranked is None and one.value is not None]
    corrected = holm([one.p_chance for one in able], confidence=options.confidence)
    chance = {one.model: p for one, p in zip(able, corrected.adjusted, strict=True)}
    beats = {one.model: _beats(one, chance[one.model], options) for one in able}
    ordered = sorted(able, key=lambda one: -sign * (one.value or 0.0))
    order = [one.model for one in ordered if beats[one.model] is not False]
    plain = _ranges(order, [(pair, pair.difference, pair.apart) for pair in pairs], sign)
    over = [(pair, pair.over_systems.difference, pair.over_systems.apart) for pair in pairs]
    wide, why = _ranges(order, over, sign), _why_not_over_systems(entrants, pairs)
    named = any(one.all_items["system"].is_not_null().any() for one in able)
    reach = OTHER_CLIPS if named else OTHER_STIMULI
    made = []
    for place, model in enumerate(order, start=1):
        systems = SystemRank(*wide[model]) if why is None else SystemRank(why_none=why)
        made.append(
            Rank(options.task, model, place, *plain[model], None, beats[model], chance[model], systems, reach)
        )
    for one in [*ordered, *(each for each in entrants if each not in able)]:
        if one.model not in plain:
            reason = one.why_unranked or (
                NO_CHANCE_BEATEN if beats.get(one.model) is False else "it has no score"
            )
            gone = SystemRank(why_none=reason)
            made.append(
                Rank(
                    options.task, one.model, None, None, None, reason, beats.get(one.model), chance.get(one.model), gone, reach
                )
            )  # fmt: skip
    return made


def _beats(one: Entrant, adjusted: float | None, options: CompareOptions) -> bool | None:
    """Whether a model beats chance; None where no chance level, or no p-value, is known."""
    if one.beyond is None:
        return None
    if one.beyond <= 0:
        return False
    if adjusted is None:
        perfect = METRICS[options.headline].higher and (one.value or 0.0) >= 1 - 1e-12
        return True if perfect else None
    return adjusted <= (1 - options.confidence) * (1 + 1e-12)


def _ranges(
    order: Sequence[str], pairs: Sequence[tuple[Comparison, Estimate, bool]], sign: int
) -> dict[str, tuple[int, int]]:
    """From one more than the models that are better beyond chance to as many as are not worse, by model."""
    better: dict[str, int] = dict.fromkeys(order, 0)
    worse: dict[str, int] = dict.fromkeys(order, 0)
    for pair, difference, apart in pairs:
        if not apart or difference.value is None or {pair.first, pair.second} - set(order):
            continue
        ahead, behind = (
            (pair.first, pair.second) if sign * difference.value > 0 else (pair.second, pair.first)
        )
        better[behind] += 1
        worse[ahead] += 1
    return {model: (1 + better[model], len(order) - worse[model]) for model in order}


def _why_not_over_systems(entrants: Sequence[Entrant], pairs: Sequence[Comparison]) -> str | None:
    """Why there are no ranks over systems; None where there are."""
    counts = [one.all_items["system"].drop_nulls().n_unique() for one in entrants if one.why_unranked is None]
    if not counts or max(counts) < LEAST_SYSTEMS:
        return why_no_systems(max(counts, default=0)) if counts else NO_SYSTEMS
    tested = [pair for pair in pairs if pair.over_systems.p.value is not None]
    return None if tested or not pairs else pairs[0].over_systems.p.why_missing
