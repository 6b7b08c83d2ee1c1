"""Reliability per question while the ratings grow: Krippendorff's alpha of the first so many ratings, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.material import Material, QuestionData
from heartfelt.snapshot import Snapshot
from heartfelt.stats.agreement.alpha import alpha
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability import icc

POINTS = 12
NO_ORDER = "the answers are categories without an order"


def reliability(material: Material) -> list[dict[str, Any]]:
    """Every question, or every scale where there are many questions: alpha now and on the way, and ICCs now."""
    times = _times(material.snapshot)
    return [_of(one, times) for one in material.blocks]


def _of(one: QuestionData, times: pl.DataFrame | None) -> dict[str, Any]:
    ratings = _in_time(one, times)
    now = alpha_of(one, ratings)
    single, averaged = _correlations(one)
    return {
        "question": one.id,
        "questions": len(one.members) or 1,
        "level": one.level,
        "alpha": now.to_json(),
        "icc": single.to_json(),
        "icc_mean": averaged.to_json(),
        "over_time": _over_time(one, ratings, now),
    }


def alpha_of(one: QuestionData, ratings: pl.DataFrame) -> Estimate:
    """Alpha at the question's own level of measurement."""
    method = f"Krippendorff's alpha, {one.level}"
    if one.why_no_raters is not None:
        return Estimate.missing(one.why_no_raters, method)
    return alpha(ratings["rater"], ratings["item"], ratings["value"], one.level)


def _correlations(one: QuestionData) -> tuple[Estimate, Estimate]:
    why = NO_ORDER if not one.numbers else one.why_no_raters
    if why is not None:
        return Estimate.missing(why, "ICC"), Estimate.missing(why, "ICC of the mean")
    # Without one of very few ratings nobody may disagree any more; the jackknife then has no variance to divide by.
    with np.errstate(divide="ignore", invalid="ignore"):
        found = icc(one.ratings["rater"], one.ratings["item"], one.ratings["value"])
    averaged = found.icc1k if found.icc2k.is_missing else found.icc2k
    return found.headline, averaged


def _over_time(one: QuestionData, ratings: pl.DataFrame, now: Estimate) -> list[dict[str, Any]]:
    """Alpha after each of a dozen growing numbers of ratings; the last is now."""
    total = ratings.height
    sizes = (
        sorted({max(2, round(total * step / POINTS)) for step in range(1, POINTS + 1)}) if total > 1 else []
    )
    out = []
    for size in sizes:
        found = now if size == total else alpha_of(one, ratings.head(size))
        point: dict[str, Any] = {"ratings": size, "value": found.value, "low": found.low, "high": found.high}
        if found.value is None:
            point["why_missing"] = found.why_missing
        out.append(point)
    return out


def _times(snapshot: Snapshot) -> pl.DataFrame | None:
    have = snapshot.scan_ratings().collect_schema().names()
    if "at" not in have:
        return None
    keys = ["rater", "stimulus", "question"]
    return snapshot.scan_ratings().select(*keys, "at").group_by(keys).agg(pl.min("at")).collect()


def _in_time(one: QuestionData, times: pl.DataFrame | None) -> pl.DataFrame:
    if times is None:
        return one.ratings
    ratings = one.ratings
    if "question" not in ratings.columns:
        ratings = ratings.with_columns(pl.lit(one.id).alias("question"))
    joined = ratings.join(times, on=["rater", "stimulus", "question"], how="left", maintain_order="left")
    return joined.sort("at", nulls_last=True, maintain_order=True)
