"""Shrinkage slopes: how much of an intended difference is perceived, per system.

The least-squares line of the stimuli's mean ratings on their intents' references. 1 means that what was meant is what
was heard; below 1, differences shrink towards ``neutral``, the point where the line meets perceived = intended. The interval of
``slope`` takes stimuli and raters as samples and the intents as they are; ``slope_for_other_intents`` takes the intents as a
sample too (clustered by intent, CR2; Bell and McCaffrey 2002), and is wider.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.analysis.material import Material
from heartfelt.analysis.scores import Scored
from heartfelt.analysis.two_way import Bools, Changes, error_of, estimate, p_value, slope_changes
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.regression import shrinkage_slope

METHOD = "least-squares slope of mean ratings on references"
ALL = "all"


def slopes(material: Material, laid: dict[str, Scored]) -> list[dict[str, Any]]:
    """The line of every system, and of all together, under every question with references."""
    rows: list[dict[str, Any]] = []
    for one in material.questions:
        if not one.referenced or not one.numbers:
            continue
        here = laid[one.id]
        everything = np.ones(len(here.data.names), dtype=np.bool_)
        rows.append(_line(here, everything, ALL))
        if len(one.systems) > 1:
            rows += [_line(here, here.where("system", name), name) for name in one.systems]
    return rows


def _line(here: Scored, chosen: Bools, name: str) -> dict[str, Any]:
    found = slope_changes(here.data, chosen, here.reference)
    if isinstance(found, str):
        gone = Estimate.missing(found, METHOD).to_json()
        row: dict[str, Any] = {"slope": gone, "intercept": gone, "neutral": None}
        row |= {"p_no_relation": None, "p_no_shrinkage": None}
    else:
        slope, intercept = found
        apart = 1 - slope.value
        row = {"slope": estimate(slope, METHOD).to_json()}
        row["intercept"] = estimate(intercept, "intercept of the same line").to_json()
        row["neutral"] = intercept.value / apart if abs(apart) > 1e-6 else None
        row |= {"p_no_relation": _p(slope, 0.0), "p_no_shrinkage": _p(slope, 1.0)}
    row["slope_for_other_intents"] = _over_intents(here, chosen).to_json()
    return {"system": name, "question": here.question.id, **row}


def _p(slope: Changes, at: float) -> float | None:
    error = error_of(slope)
    if isinstance(error, str):
        return None
    moved = Changes(slope.value - at, slope.stimuli, slope.ratings, slope.by_rater, slope.took_part)
    return p_value(moved, error)


def _over_intents(here: Scored, chosen: Bools) -> Estimate:
    known = chosen & np.isfinite(here.reference) & np.isfinite(here.data.mean[:, 0])
    ids = [name or "" for name, kept in zip(here.intent, known.tolist(), strict=True) if kept]
    if len(set(ids)) < 3:
        return Estimate.missing(f"{len(set(ids))} intents; at least 3 are needed", METHOD)
    line = shrinkage_slope(here.data.mean[known, 0], here.reference[known], cluster=np.array(ids))
    return line.slope
