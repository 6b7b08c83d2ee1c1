"""Which model is better, as far as the data can tell.

Every pair of models is compared by the task's headline on the items both answered, resampled together; p-values are
corrected by Holm over all pairs of the task. A model's rank is a range: from one more than the models that are better
beyond chance, to as many as are not worse beyond chance. Models held against other labels than the items' own (a left-out
rater) have no rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from heartfelt.score.measure import DRAWN_AT_MOST, plainly
from heartfelt.score.metrics import METRICS, Kind
from heartfelt.score.scores import Comparison, Rank
from heartfelt.score.truth import ITEM
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import holm
from heartfelt.stats.paired_metrics import Difference, metric_difference

ELSEWHERE = "it is held against other labels than the items' own"


@dataclass(frozen=True, slots=True, eq=False)
class Entrant:
    """A model that is compared: stimulus, question, truth and said of every item it answered; its headline."""

    model: str
    rows: pl.DataFrame
    value: float | None
    why_unranked: str | None = None


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What is compared, and how."""

    task: str
    kind: Kind
    headline: str
    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95


def compare(entrants: Sequence[Entrant], options: CompareOptions) -> list[Comparison]:
    """Every pair of models that can be ranked."""
    pairs = list(combinations([one for one in entrants if one.why_unranked is None], 2))
    found = [_difference(one, two, options) for one, two in pairs]
    adjusted = holm([each.p.value for each in found], level=options.level)
    out = []
    for (one, two), each, p, apart in zip(pairs, found, adjusted.adjusted, adjusted.significant, strict=True):
        more = _more(each, len(pairs), bool(apart), 1 - options.level)
        out.append(
            Comparison(
                options.task,
                options.headline,
                one.model,
                two.model,
                each.estimate,
                each.p,
                p,
                bool(apart),
                more,
            )
        )
    return out


def _difference(one: Entrant, two: Entrant, options: CompareOptions) -> Difference:
    both = one.rows.join(
        two.rows.select(*ITEM, "said"), on=ITEM, how="inner", maintain_order="left", suffix="_other"
    )
    x, first, second = (both[name].to_numpy() for name in ("truth", "said", "said_other"))
    metric = options.headline
    if options.kind == "text":
        # Each item has its own score, whose mean is the headline.
        metric, x = "mae", np.zeros(both.height)
    if options.kind in ("binary", "categories"):
        x, first, second = (column.astype(np.int64) for column in (x, first, second))
    group = both["stimulus"].rank("dense").to_numpy() if both["stimulus"].n_unique() < both.height else None
    drawn = min(options.resamples, max(DRAWN_AT_MOST // max(both.height, 1), 1000))
    found = metric_difference(
        metric, x, first, second,
        group=group, resamples=drawn, seed=options.seed, level=options.level,
    )  # fmt: skip
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
    order = [one.model for one in sorted(able, key=lambda one: -sign * (one.value or 0.0))]
    better: dict[str, int] = dict.fromkeys(order, 0)
    worse: dict[str, int] = dict.fromkeys(order, 0)
    for pair in pairs:
        if not pair.apart or pair.difference.value is None or {pair.first, pair.second} - set(order):
            continue
        ahead, behind = (
            (pair.first, pair.second) if sign * pair.difference.value > 0 else (pair.second, pair.first)
        )
        better[behind] += 1
        worse[ahead] += 1
    made = [
        Rank(options.task, model, place, 1 + better[model], len(order) - worse[model])
        for place, model in enumerate(order, start=1)
    ]
    gone = [one for one in entrants if one.model not in better]
    return made + [
        Rank(options.task, one.model, None, None, None, one.why_unranked or "it has no score") for one in gone
    ]
