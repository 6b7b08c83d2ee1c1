"""Intended against perceived quadrants, and deviation by quadrant.

The perceived quadrant is that of a stimulus's mean ratings on both axes. A mean exactly on a midline belongs to neither side:
it is counted as ``on a midline`` and is no hit. Beside every hit rate stands what chance would give (``analysis.chance``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.chance import chance_of_hits
from heartfelt.analysis.material import Material
from heartfelt.analysis.quadrant_names import Quadrants
from heartfelt.analysis.scores import METHODS, Scored
from heartfelt.analysis.two_way import Bools, Matrix, Stimuli, estimate, mean_changes, stimuli_of
from heartfelt.stats.triples import Floats, Ints

MIDLINE = "on a midline"
ALL = "all"
HIT = "share of stimuli whose mean ratings lie in the intended quadrant"


def quadrants(material: Material, laid: dict[str, Scored], seed: int = 0) -> dict[str, Any] | None:
    """Deviation by quadrant, the confusion of intended with perceived quadrants, and the hit rate."""
    plane = material.quadrants
    if isinstance(plane, str):
        return None
    data, items = plane_of(material, plane)
    intended = np.array([plane.names.index(name) for name in items["quadrant"]], dtype=np.int64)
    perceived = _perceived(data.mean, plane)
    size = len(plane.names)
    table = np.zeros((size, size + 1), dtype=np.int64)
    np.add.at(table, (intended, perceived), 1)
    rows = table.sum(axis=1)
    shares = [
        [float(count) / int(total) if total else None for count in row]
        for row, total in zip(table.tolist(), rows.tolist(), strict=True)
    ]
    by_system = items["system"].to_list()

    def hit_rate(chosen: Bools) -> dict[str, Any]:
        def hits(mean: Matrix, at: Ints) -> Floats:
            return np.asarray(_perceived(mean, plane) == intended[at], dtype=np.float64)

        return estimate(mean_changes(data, chosen, hits), HIT, "share").to_json()

    labels = [*plane.names, None]

    def chance(chosen: Bools) -> dict[str, Any] | None:
        at = np.flatnonzero(chosen).tolist()
        dealt = chance_of_hits(
            [plane.names[intended[k]] for k in at],
            [labels[perceived[k]] for k in at],
            [by_system[k] for k in at],
            seed,
        )
        return None if dealt is None else dealt.to_json()

    everything = np.ones(len(by_system), dtype=np.bool_)
    names = sorted({name for name in by_system if name})
    rows_by_quadrant = by_quadrant(material, laid, plane)
    return {
        "names": plane.names,
        "axes": list(plane.axes),
        "midpoints": list(plane.midpoints),
        "of_intent": dict(plane.of_intent),
        "by_quadrant": [row for row in rows_by_quadrant if row["system"] == ALL],
        "by_system_quadrant": [row for row in rows_by_quadrant if row["system"] != ALL],
        "confusion": {
            "labels": [*plane.names, MIDLINE],
            "rows": plane.names,
            "columns": [*plane.names, MIDLINE],
            "counts": table.tolist(),
            "proportions": shares,
        },
        "hit_rate": hit_rate(everything),
        "hit_rate_by_chance": chance(everything),
        "hit_rate_by_system": {
            name: hit_rate(np.array([one == name for one in by_system], dtype=np.bool_)) for name in names
        },
        "hit_rate_by_system_by_chance": {
            name: chance(np.array([one == name for one in by_system], dtype=np.bool_)) for name in names
        },
        "hit_rate_by_quadrant": {name: hit_rate(intended == place) for place, name in enumerate(plane.names)},
    }


def by_quadrant(material: Material, laid: dict[str, Scored], plane: Quadrants) -> list[dict[str, Any]]:
    """Deviation and absolute deviation of every quadrant, over all systems and for each."""
    rows: list[dict[str, Any]] = []
    for one in material.questions:
        if not one.referenced:
            continue
        here = laid[one.id]
        for name in plane.names:
            inside = here.where("quadrant", name)
            for system in [None, *one.systems]:
                chosen = inside if system is None else inside & here.where("system", system)
                row: dict[str, Any] = {"quadrant": name, "system": system or ALL, "question": one.id}
                row["n_stimuli"] = int(np.count_nonzero(chosen))
                for key, outcome in (("deviation", "signed"), ("absolute_deviation", "absolute")):
                    found = here.changes(chosen, "signed" if outcome == "signed" else "absolute")
                    row[key] = estimate(found, METHODS[outcome]).to_json()
                rows.append(row)
    return rows


def plane_of(material: Material, plane: Quadrants) -> tuple[Stimuli, pl.DataFrame]:
    """The stimuli that have a quadrant and a mean on both axes, with the ratings on both."""
    by_id = {one.id: one for one in material.questions}
    first, second = by_id[plane.axes[0]], by_id[plane.axes[1]]
    items = first.items.drop_nulls("quadrant").select(
        "item", "system", "intent", "quadrant", pl.col("mean").alias("x")
    )
    other = second.items.select("item", pl.col("mean").alias("y"))
    items = items.join(other, on="item", how="inner", maintain_order="left")
    why = first.why_no_raters or second.why_no_raters
    return stimuli_of(items, [first.ratings, second.ratings], ["x", "y"], why), items


def _perceived(mean: Matrix, plane: Quadrants) -> Ints:
    """The place of each mean among the quadrants; one past the last for means on a midline."""
    x, y = (np.sign(np.round(mean[:, k] - plane.midpoints[k], 9)) for k in (0, 1))
    out = np.full(mean.shape[0], len(plane.names), dtype=np.int64)
    for place, name in enumerate(plane.names):
        side = plane.sides[name]
        out[(x == side[0]) & (y == side[1])] = place
    return out
