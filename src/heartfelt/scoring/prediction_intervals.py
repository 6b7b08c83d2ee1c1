"""Intervals that a predictor gives with its numbers: do they hold the label as often as they claim, and how wide are they?

``interval_coverage`` is the share of labels inside, to be read against the confidence the predictor claims;
``interval_width`` their mean width; ``interval_score`` Gneiting and Raftery's (2007, *JASA* 102) exact score of an interval:
width plus 2/alpha times how far the label lies outside; ``crps`` the continuous ranked probability score of a normal
distribution around the prediction whose central interval is as wide as the one given. Lower is better for the last three.
Labels carry noise of their own, so an interval for the underlying value covers them less often.

The confidence is the model's own where it is known, else ``ScoreOptions.interval_confidence``. Failures count as an interval
that misses, as wide as the scale, or, for the two scores, as the interval or normal distribution of all labels, which is
also their chance level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.scoring.chance import Chance
from heartfelt.scoring.measure import Measure, Pairing
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Floats, Sheet
from heartfelt.stats._bounds import normal_quantile

_CLIMATE = "the interval, or normal distribution, of all labels"


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A model's numbers with their intervals; NaN where it gave none."""

    value: Floats
    low: Floats
    high: Floats


def interval_scores(sheet: Sheet, measure: Measure) -> tuple[list[Score], dict[str, Any] | None]:
    """The scores of a model's own intervals, and what was assumed; nothing where it gives none."""
    given = _given(sheet)
    if given is None:
        return [], None
    claimed = measure.options.claimed.get(sheet.model)
    confidence = claimed or measure.options.interval_confidence
    x = sheet.truth
    known = np.isfinite(given.low)
    inside = np.where(known, ((given.low <= x) & (x <= given.high)).astype(np.float64), np.nan)
    width = given.high - given.low
    bounds = sheet.task.bounds
    widest = float(bounds[1] - bounds[0]) if bounds is not None else float(np.nanmax(width))
    scored = interval_score(x, given.low, given.high, confidence)
    gap = crps_normal(x, given.value, width / (2 * normal_quantile(confidence)))
    tail = (1 - confidence) / 2
    ends = np.quantile(x, [tail, 1 - tail])
    blind = interval_score(x, np.full(x.size, ends[0]), np.full(x.size, ends[1]), confidence)
    cloud = crps_normal(x, np.full(x.size, x.mean()), np.full(x.size, x.std()))
    none = Chance(None, f"to be read against the {confidence:.0%} that the intervals claim")
    parts = (
        ("interval_coverage", inside, np.zeros(x.size), none, True),
        (
            "interval_width",
            width,
            np.full(x.size, widest),
            Chance(None, "a width alone is neither good nor bad"),
            False,
        ),
        ("interval_score", scored, blind, Chance(float(blind.mean()), _CLIMATE, blind), False),
        ("crps", gap, cloud, Chance(float(cloud.mean()), _CLIMATE, cloud), False),
    )
    out = []
    for name, values, fallback, chance, share in parts:
        filled = np.where(np.isfinite(values), values, fallback)
        pairing = Pairing(name, np.zeros(x.size), values, filled, mean=True, share=share, chance=chance)
        out.append(measure.score(sheet, pairing))
    return out, {
        "confidence": confidence,
        "confidence_from": "the model" if claimed else "the options",
        "items_with_interval": int(known.sum()),
    }


def _given(sheet: Sheet) -> Given | None:
    if not sheet.on_scale:
        return None
    low, high = (
        np.where(sheet.answered, sheet.rows[name].cast(float).fill_null(np.nan).to_numpy(), np.nan)
        for name in ("low", "high")
    )
    known = np.isfinite(low) & np.isfinite(high) & (low <= high)
    if not known.any():
        return None
    return Given(*(np.where(known, column, np.nan) for column in (sheet.code, low, high)))


def interval_score(x: Floats, low: Floats, high: Floats, confidence: float) -> Floats:
    """Gneiting and Raftery's interval score of every row: width plus 2/alpha times the distance outside."""
    outside = np.maximum(low - x, 0.0) + np.maximum(x - high, 0.0)
    return np.asarray(high - low + 2 / (1 - confidence) * outside)


def crps_normal(x: Floats, mean: Floats, sd: Floats) -> Floats:
    """The continuous ranked probability score of a normal distribution, row by row; the absolute error where SD is 0."""
    from scipy.special import ndtr

    wide = np.where(sd > 0, sd, 1.0)
    z = (x - mean) / wide
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    full = wide * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    return np.asarray(np.where(sd > 0, full, np.abs(x - mean)))
