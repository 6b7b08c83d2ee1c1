"""Figures of a study that is still being collected: reliability so far, system means, verified machine values, and what
excluding a rater would change. The dashboard shows them while ratings come in.

The variance of a system's mean has a part that more ratings reduce and one that they do not:

    V = V(stimuli) + max(V(raters) - V(ratings), 0) = fixed + shrinking,
    fixed = max(V(stimuli) - V(ratings), 0).

``fixed`` is how much the stimuli themselves differ: only more stimuli help there. ``shrinking`` falls as ratings by
further raters come in, in proportion to their number. See ``heartfelt.analysis.two_way`` for the three variances.

Verdicts on machine values are not independent: one rater verifies many values and one stimulus is verified by many raters.
Their interval is Wilson's with the effective sample size ``n p (1 - p) / V``, where V is the two-way clustered variance over
raters and stimuli (Cameron, Gelbach & Miller 2011; Dean & Pagano 2015 for the interval). Where all verdicts agree there is
no such variance, and the number of raters is the sample size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.material import Material, QuestionData, prepare
from heartfelt.analysis.means import METHODS, StimulusScores, stimulus_scores
from heartfelt.analysis.reliability import NO_ORDER, intraclass_correlations, question_alpha
from heartfelt.analysis.two_way import Changes, error_of, estimate
from heartfelt.snapshot import Snapshot
from heartfelt.stats._bounds import wilson
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

POINTS = 12
VERDICTS = ("accepted", "fixed", "rejected")
_NEEDED = "further ratings for the wanted half-width, from the parts of the variance"
_SHARE = "share of verifications"
_SHARE_INTERVAL = "Wilson, effective sample size over raters and stimuli"


# --- reliability ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """Alpha after so many ratings."""

    ratings: int
    alpha: Estimate = field(metadata={"flatten": True})


@dataclass(frozen=True, slots=True)
class LiveReliability:
    """The reliability of one question, or of all questions on one scale."""

    question: str
    questions: int
    level: str
    alpha: Estimate
    icc: Estimate
    icc_mean: Estimate
    over_time: tuple[ReliabilityPoint, ...]


def reliability_so_far(material: Material) -> list[LiveReliability]:
    """Every question, or every scale where there are many questions: alpha now and over time, and ICCs now."""
    times = _first_times(material.snapshot)
    out = []
    for question in material.blocks:
        ratings = _by_time(question, times)
        now = question_alpha(question, ratings)
        single, averaged = _correlations(question)
        members = len(question.members) or 1
        points = _over_time(question, ratings, now)
        out.append(LiveReliability(question.id, members, question.level, now, single, averaged, points))
    return out


def _correlations(question: QuestionData) -> tuple[Estimate, Estimate]:
    why = NO_ORDER if not question.numbers else question.why_no_raters
    if why is not None:
        return Estimate.missing(why, "ICC"), Estimate.missing(why, "ICC of the mean")
    icc1, icc1k, icc2, icc2k, _, _ = intraclass_correlations(question, 0)
    return (icc1 if icc2.is_missing else icc2), (icc1k if icc2k.is_missing else icc2k)


def _over_time(question: QuestionData, ratings: pl.DataFrame, now: Estimate) -> tuple[ReliabilityPoint, ...]:
    """Alpha after each of a dozen growing numbers of ratings; the last is now."""
    total = ratings.height
    sizes = (
        sorted({max(2, round(total * step / POINTS)) for step in range(1, POINTS + 1)}) if total > 1 else []
    )
    return tuple(
        ReliabilityPoint(size, now if size == total else question_alpha(question, ratings.head(size)))
        for size in sizes
    )


def _first_times(snapshot: Snapshot) -> pl.DataFrame | None:
    ratings = snapshot.scan_ratings()
    if "at" not in ratings.collect_schema().names():
        return None
    keys = ["rater", "stimulus", "question"]
    return ratings.select(*keys, "at").group_by(keys).agg(pl.min("at")).collect()


def _by_time(question: QuestionData, times: pl.DataFrame | None) -> pl.DataFrame:
    ratings = question.ratings
    if times is None:
        return ratings
    if "question" not in ratings.columns:
        ratings = ratings.with_columns(pl.lit(question.id).alias("question"))
    joined = ratings.join(times, on=["rater", "stimulus", "question"], how="left", maintain_order="left")
    return joined.sort("at", nulls_last=True, maintain_order=True)


# --- systems ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The parts of the variance of a system's mean, and the critical value of its interval."""

    fixed: float
    shrinking: float
    t: float


@dataclass(frozen=True, slots=True)
class LiveSystemMean:
    """The mean of one system under one question so far."""

    question: str
    system: str
    mean: Estimate
    stimuli: int
    ratings: int
    bounds: tuple[float, float] | None
    parts: VarianceParts | None = field(metadata={"skip": True})


def system_means(material: Material) -> list[LiveSystemMean]:
    """Every system under every question: mean, interval, and the variance parts for ``ratings_needed``."""
    return [
        _system_mean(scores, name)
        for scores in map(stimulus_scores, material.blocks)
        for name in scores.question.systems
    ]


def _system_mean(scores: StimulusScores, name: str) -> LiveSystemMean:
    chosen = scores.where("system", name)
    changes = scores.changes(chosen, "value")
    bounds = scores.question.bounds
    return LiveSystemMean(
        scores.question.id,
        name,
        mean=estimate(changes, METHODS["value"]),
        stimuli=int(np.count_nonzero(chosen)),
        ratings=0 if isinstance(changes, str) else changes.ratings.units,
        bounds=(float(bounds[0]), float(bounds[1])) if bounds else None,
        parts=None if isinstance(changes, str) else _variance_parts(changes),
    )


def _variance_parts(changes: Changes) -> VarianceParts | None:
    error = error_of(changes)
    if isinstance(error, str):
        return None
    from scipy.special import stdtrit

    fixed = max(changes.stimuli.variance - changes.ratings.variance, 0.0)
    return VarianceParts(fixed, error.value**2 - fixed, float(stdtrit(error.df, 0.975)))


def ratings_needed(row: LiveSystemMean, precision: float) -> Estimate:
    """How many more ratings of the system's stimuli bring the half-width of its interval down to ``precision``."""
    mean, parts = row.mean, row.parts
    counts = {"ratings": row.ratings, "stimuli": row.stimuli}
    if parts is None:
        why = mean.why_missing or (mean.why_no_interval if mean.low is None else None)
        return Estimate.missing(why or "there is no interval yet", _NEEDED, counts)
    if mean.low is not None and mean.high is not None and (mean.high - mean.low) / 2 <= precision:
        return Estimate(0.0, method=_NEEDED, counts=counts)
    left = (precision / parts.t) ** 2 - parts.fixed
    if left <= 0:
        stimuli = math.ceil(row.stimuli * parts.fixed / (precision / parts.t) ** 2) + 1
        half_width = parts.t * math.sqrt(parts.fixed)
        return Estimate.missing(
            f"the stimuli differ too much: any number of ratings leaves at least ±{half_width:.2f};"
            f" at least {stimuli} stimuli are needed",
            _NEEDED,
            counts,
        )
    more = math.ceil(max(row.ratings * (parts.shrinking / left - 1.0), 1.0))
    return Estimate(float(more), method=_NEEDED, counts=counts)


# --- the effect of excluding a rater ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """An estimate as it is and as it would be."""

    question: str
    system: str | None
    before: Estimate | None
    after: Estimate | None


@dataclass(frozen=True, slots=True)
class ExclusionEffect:
    """What excluding or restoring a rater would do to the result."""

    ratings: dict[str, int]
    alpha: tuple[Change, ...]
    systems: tuple[Change, ...]


def exclusion_effect(snapshot: Snapshot, before: pl.DataFrame, after: pl.DataFrame) -> ExclusionEffect:
    """Alpha of every question and the mean of every system under the ratings ``before`` and ``after``."""
    first, second = (
        prepare(Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=ratings))
        for ratings in (before, after)
    )
    old, new = (
        {question.id: question_alpha(question, question.ratings) for question in material.blocks}
        for material in (first, second)
    )
    means, moved = (
        {(row.question, row.system): row.mean for row in system_means(material)}
        for material in (first, second)
    )
    return ExclusionEffect(
        {"before": before.height, "after": after.height},
        tuple(Change(name, None, old[name], new[name]) for name in old),
        tuple(Change(*key, means.get(key), moved.get(key)) for key in sorted({*means, *moved})),
    )


# --- machine values ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MachineField:
    """The verdicts on one question that a machine filled in first. Shares are over verifications."""

    question: str
    verified: int
    """Verifications of the machine's own value."""
    hidden: int
    """Answers given without seeing the machine's value."""
    accepted: Estimate
    fixed: Estimate
    rejected: Estimate
    planted_accepted: Estimate
    """Values that were wrong on purpose and were accepted all the same."""


def machine_fields(fields: pl.DataFrame, questions: Sequence[str]) -> list[MachineField]:
    """Every question of ``questions``, from a snapshot's table of fields."""
    out = []
    for question in questions:
        rows = fields.filter(pl.col("field") == question)
        shown = rows["shown"] if "shown" in rows.columns else pl.Series("shown", [], pl.String)
        own, planted = rows.filter(shown == "true"), rows.filter(shown == "planted")
        shares = {verdict: verdict_share(own, verdict) for verdict in VERDICTS}
        hidden, tempted = int((shown == "hidden").sum()), verdict_share(planted, "accepted")
        out.append(MachineField(question, own.height, hidden, **shares, planted_accepted=tempted))
    return out


def verdict_share(rows: pl.DataFrame, verdict: str) -> Estimate:
    """The share of rows with that verdict. A value that was changed without a verdict counts as fixed."""
    counts = {"verifications": rows.height}
    if not rows.height:
        return Estimate.missing("no machine value has been verified yet", _SHARE, counts)
    same = pl.col("final") == pl.col("machine")
    implied = pl.when(same).then(pl.lit("accepted")).otherwise(pl.lit("fixed"))
    verdicts = rows.select(pl.coalesce("verdict", implied).alias("verdict"))["verdict"]
    hit = (verdicts == verdict).to_numpy().astype(np.float64)
    raters, stimuli = (_codes(rows[name]) for name in ("verified_by", "stimulus"))
    counts |= {"raters": int(raters.max()) + 1, "stimuli": int(stimuli.max()) + 1}
    value = float(hit.mean())
    size = effective_size(hit, raters, stimuli)
    low, high = wilson(value * size, size, 0.95)
    if value in {0.0, 1.0}:
        low, high = (0.0, high) if value == 0.0 else (low, 1.0)
    return Estimate(value, low, high, _SHARE, _SHARE_INTERVAL, counts=counts)


def effective_size(hit: Floats, raters: np.ndarray[Any, Any], stimuli: np.ndarray[Any, Any]) -> float:
    """How many independent verifications would be as informative."""
    n, value = hit.size, float(hit.mean())
    groups = int(raters.max()) + 1
    if value in {0.0, 1.0} or groups < 2:
        return float(min(n, groups))
    rest = hit - value
    by_rater, by_stimulus = (_clustered_variance(rest, codes) for codes in (raters, stimuli))
    single = float(np.sum(rest**2)) / n**2
    variance = max(by_rater + by_stimulus - single, by_rater, by_stimulus, single)
    return float(np.clip(value * (1 - value) / variance, 1.0, n))


def _clustered_variance(rest: Floats, codes: np.ndarray[Any, Any]) -> float:
    sums = np.bincount(codes, rest)
    groups = sums.size
    return float(np.sum(sums**2)) / rest.size**2 * groups / max(groups - 1, 1)


def _codes(names: pl.Series) -> np.ndarray[Any, Any]:
    return names.fill_null("").rank("dense").cast(pl.Int64).to_numpy() - 1
