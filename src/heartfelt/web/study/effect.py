"""What leaving a rater out, or taking one back in, would do to the result: seen before anybody clicks."""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt.analysis.material import Material, prepare
from heartfelt.analysis.means import stimulus_scores
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from heartfelt.web.study.reliability import alpha_of


def effect(study: Study, stimuli: pl.DataFrame, before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
    """Alpha of every question and the mean of every system under the ratings ``before`` and ``after``."""
    first, second = (prepare(Snapshot.build(study, stimuli=stimuli, ratings=r)) for r in (before, after))
    old, new = _alphas(first), _alphas(second)
    means, moved = _means(first), _means(second)
    return {
        "ratings": {"before": before.height, "after": after.height},
        "alpha": [{"question": name, "before": old[name], "after": new[name]} for name in old],
        "systems": [
            {"question": q, "system": s, "before": means.get((q, s)), "after": moved.get((q, s))}
            for q, s in sorted({*means, *moved})
        ],
    }


def _alphas(material: Material) -> dict[str, Any]:
    return {one.id: alpha_of(one, one.ratings).to_json() for one in material.blocks}


def _means(material: Material) -> dict[tuple[str, str], Any]:
    out: dict[tuple[str, str], Any] = {}
    for one in material.blocks:
        here = stimulus_scores(one)
        for name in one.systems:
            found = here.estimate(here.where("system", name), "value")
            out[one.id, name] = found.to_json()
    return out
