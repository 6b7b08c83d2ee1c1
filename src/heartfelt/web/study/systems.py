"""System means with intervals, and how many more ratings a wanted precision takes.

The variance of a system's mean has a part that more ratings make smaller and one that they do not:

    V = V(stimuli) + max(V(raters) - V(ratings), 0) = fixed + shrinking,
    fixed = max(V(stimuli) - V(ratings), 0).

``fixed`` is how much the stimuli themselves differ: only more stimuli help there. ``shrinking`` falls as ratings by
further raters come in, in proportion to their number. See ``heartfelt.analysis.two_way`` for the three variances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heartfelt.analysis.material import Material
from heartfelt.analysis.means import METHODS, StimulusScores, stimulus_scores
from heartfelt.analysis.two_way import Changes, error_of, estimate
from heartfelt.stats.estimate import Estimate

NEEDED = "further ratings for the wanted half-width, from the parts of the variance"


def system_means(material: Material) -> list[dict[str, Any]]:
    """Every system under every question: mean, interval, and the variance parts that ``needed`` works from."""
    out: list[dict[str, Any]] = []
    for one in material.blocks:
        here = stimulus_scores(one)
        out += [{"question": one.id, "system": name, **_row(here, name)} for name in one.systems]
    return out


def _row(here: StimulusScores, name: str) -> dict[str, Any]:
    chosen = here.where("system", name)
    changes = here.changes(chosen, "value")
    found = estimate(changes, METHODS["value"])
    parts = None if isinstance(changes, str) else _parts(changes)
    return {
        "mean": found.to_json(),
        "stimuli": int(np.count_nonzero(chosen)),
        "ratings": 0 if isinstance(changes, str) else changes.ratings.units,
        "parts": parts,
        "bounds": list(here.question.bounds) if here.question.bounds else None,
    }


def _parts(changes: Changes) -> dict[str, float] | None:
    error = error_of(changes)
    if isinstance(error, str):
        return None
    from scipy.special import stdtrit

    fixed = max(changes.stimuli.variance - changes.ratings.variance, 0.0)
    return {"fixed": fixed, "shrinking": error.value**2 - fixed, "t": float(stdtrit(error.df, 0.975))}


def needed(row: dict[str, Any], wanted: float) -> Estimate:
    """How many more ratings of the system's stimuli bring the half-width down to ``wanted``."""
    parts, counts = row["parts"], {"ratings": row["ratings"], "stimuli": row["stimuli"]}
    if parts is None:
        why = (
            row["mean"].get("why_missing") or row["mean"].get("why_no_interval") or "there is no interval yet"
        )
        return Estimate.missing(why, NEEDED, counts)
    low, high = row["mean"].get("low"), row["mean"].get("high")
    if low is not None and high is not None and (high - low) / 2 <= wanted:
        return Estimate(0.0, method=NEEDED, counts=counts)
    room = (wanted / parts["t"]) ** 2 - parts["fixed"]
    if room <= 0:
        stimuli = math.ceil(row["stimuli"] * parts["fixed"] / (wanted / parts["t"]) ** 2) + 1
        return Estimate.missing(
            f"the stimuli differ too much: even endless ratings leave ±{parts['t'] * math.sqrt(parts['fixed']):.2f};"
            f" it takes at least {stimuli} stimuli",
            NEEDED,
            counts,
        )
    return Estimate(
        float(math.ceil(max(row["ratings"] * (parts["shrinking"] / room - 1.0), 1.0))),
        method=NEEDED,
        counts=counts,
    )
