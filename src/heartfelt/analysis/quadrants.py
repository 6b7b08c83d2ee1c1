"""Intended against perceived quadrants, deviation by quadrant, and the ellipses of quadrants with their overlaps.

The perceived quadrant is that of a stimulus's mean ratings on both axes. A mean exactly on a midline belongs to neither side: it
is counted as ``on a midline`` and is not a hit. Every hit rate comes with what chance would give (``analysis.hits``).

An ellipse holds 95% of the stimuli of a system and quadrant. The overlap of two is intersection over union; its
interval is a percentile bootstrap over the stimuli of both quadrants. For that many ellipses the area they share is
summed over vertical slices, on which both are plain intervals: 48 Gauss-Legendre slices are good to a thousandth, far
inside the width of any interval.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from heartfelt.analysis.hits import chance_of_hits, confusion
from heartfelt.analysis.material import Material, Plane
from heartfelt.analysis.means import Scores
from heartfelt.analysis.results import ALL, Chance, Overlap, QuadrantEllipse, QuadrantMeans, Quadrants
from heartfelt.analysis.two_way import Bools, Matrix, Stimuli, estimate, mean_changes, stimuli_of
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.geometry import ellipse, overlap_of
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

MIDLINE = "on a midline"
HIT = "share of stimuli whose mean ratings lie in the intended quadrant"
SLICES = 48
OVERLAP = "overlap of 95% ellipses (intersection over union)"
SIZE = 5.991464547107979
"""The 95% quantile of chi-square with two degrees of freedom."""

Cloud = tuple[Floats, Floats]


def quadrants(material: Material, scores: Scores, seed: int) -> Quadrants | None:
    """Deviation by quadrant, the confusion of intended with perceived quadrants, and the hit rate."""
    plane = material.plane
    if isinstance(plane, str):
        return None
    data, items = _stimuli(material, plane)
    columns = (*plane.names, MIDLINE)
    intended = np.array([plane.names.index(name) for name in items["quadrant"]], dtype=np.int64)
    perceived = [columns[place] for place in _perceived(data.mean, plane)]
    system = items["system"].to_list()

    def hit_rate(chosen: Bools) -> Estimate:
        def hits(mean: Matrix, at: Ints) -> Floats:
            return np.asarray(_perceived(mean, plane) == intended[at], dtype=np.float64)

        return estimate(mean_changes(data, chosen, hits), HIT, "share")

    def chance(chosen: Bools) -> Chance | None:
        at = np.flatnonzero(chosen).tolist()
        return chance_of_hits(
            [columns[intended[k]] for k in at],
            [None if perceived[k] == MIDLINE else perceived[k] for k in at],
            [system[k] for k in at],
            seed,
        )

    everything = np.ones(len(system), dtype=np.bool_)
    of_system = {
        name: np.array([own == name for own in system], dtype=np.bool_)
        for name in sorted({name for name in system if name})
    }
    rows = _by_quadrant(scores, plane)
    return Quadrants(
        names=plane.names,
        axes=plane.axes,
        midpoints=plane.midpoints,
        of_intent=plane.of_intent,
        by_quadrant=tuple(row for row in rows if row.system == ALL),
        by_system_quadrant=tuple(row for row in rows if row.system != ALL),
        confusion=confusion(
            plane.names, columns, [(columns[a], b) for a, b in zip(intended, perceived, strict=True)]
        ),
        hit_rate=hit_rate(everything),
        hit_rate_by_chance=chance(everything),
        hit_rate_by_system={name: hit_rate(chosen) for name, chosen in of_system.items()},
        hit_rate_by_system_by_chance={name: chance(chosen) for name, chosen in of_system.items()},
        hit_rate_by_quadrant={name: hit_rate(intended == place) for place, name in enumerate(plane.names)},
    )


def _by_quadrant(scores: Scores, plane: Plane) -> list[QuadrantMeans]:
    """Deviation and absolute deviation of every quadrant, over all systems and for each."""
    rows: list[QuadrantMeans] = []
    for question, score in scores.items():
        if not score.question.referenced:
            continue
        for name in plane.names:
            inside = score.where("quadrant", name)
            for system in [ALL, *score.question.systems]:
                chosen = inside if system == ALL else inside & score.where("system", system)
                size = int(np.count_nonzero(chosen))
                figures = score.estimate(chosen, "signed"), score.estimate(chosen, "absolute")
                rows.append(QuadrantMeans(name, system, question, size, *figures))
    return rows


def _stimuli(material: Material, plane: Plane) -> tuple[Stimuli, pl.DataFrame]:
    """The stimuli that have a quadrant and a mean on both axes, with the ratings on both."""
    by_id = {question.id: question for question in material.questions}
    first, second = by_id[plane.axes[0]], by_id[plane.axes[1]]
    items = first.items.drop_nulls("quadrant").select(
        "item", "system", "intent", "quadrant", pl.col("mean").alias("x")
    )
    other = second.items.select("item", pl.col("mean").alias("y"))
    items = items.join(other, on="item", how="inner", maintain_order="left")
    why = first.why_no_raters or second.why_no_raters
    return stimuli_of(items, [first.ratings, second.ratings], ["x", "y"], why), items


def _perceived(mean: Matrix, plane: Plane) -> Ints:
    """The place of each mean among the quadrants; one past the last for means on a midline."""
    x, y = (np.sign(np.round(mean[:, k] - plane.midpoints[k], 9)) for k in (0, 1))
    out = np.full(mean.shape[0], len(plane.names), dtype=np.int64)
    for place, name in enumerate(plane.names):
        side = plane.sides[name]
        out[(x == side[0]) & (y == side[1])] = place
    return out


def ellipses(
    material: Material, resamples: int, seed: int
) -> tuple[tuple[QuadrantEllipse, ...], tuple[Overlap, ...]] | None:
    """Ellipses of every system and quadrant, and their overlaps within a system."""
    plane = material.plane
    if isinstance(plane, str):
        return None
    _, items = _stimuli(material, plane)
    drawn: list[QuadrantEllipse] = []
    overlaps: list[Overlap] = []
    for system in sorted({name for name in items["system"].to_list() if name}) or [ALL]:
        mine = items if system == ALL else items.filter(items["system"] == system)
        clouds: dict[str, Cloud] = {}
        for name in plane.names:
            cloud = mine.filter(mine["quadrant"] == name)
            clouds[name] = (cloud["x"].to_numpy(), cloud["y"].to_numpy())
            shape = ellipse(*clouds[name])
            drawn.append(
                QuadrantEllipse(
                    system,
                    name,
                    shape.centre if shape.points else None,
                    None if shape.is_missing else shape.semi_axes,
                    None if shape.is_missing else shape.angle,
                    shape.area,
                    shape.confidence,
                    shape.points,
                    shape.left_out,
                    shape.why_missing,
                )
            )
        overlaps += [
            Overlap(system, a, b, overlap(clouds[a], clouds[b], resamples, seed))
            for a, b in combinations(plane.names, 2)
        ]
    return tuple(drawn), tuple(overlaps)


def overlap(first: Cloud, second: Cloud, resamples: int, seed: int) -> Estimate:
    """The overlap of the ellipses of two clouds, with an interval."""
    shapes = ellipse(*first), ellipse(*second)
    counts = {"first_points": shapes[0].points, "second_points": shapes[1].points}
    for shape in shapes:
        if shape.is_missing:
            return Estimate.missing(shape.why_missing or "", OVERLAP, counts)
    value = overlap_of(*shapes)
    rng = stream(seed, "analysis", "overlap")
    drawn = [_resampled(np.column_stack(cloud), resamples, rng) for cloud in (first, second)]
    every = overlap_batch(*drawn[0], *drawn[1])
    usable = every[np.isfinite(every)]
    counts["resamples"] = resamples
    if usable.size < 0.9 * resamples:
        return Estimate(
            value, method=OVERLAP, counts=counts, why_no_interval="too few resamples span an area"
        )
    low, high = np.quantile(usable, [0.025, 0.975])
    return Estimate(
        value, float(low), float(high), OVERLAP, "percentile bootstrap over stimuli", 0.95, counts
    )


def _resampled(points: Matrix, resamples: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Centres and covariances (xx, xy, yy) of resamples of a cloud."""
    n = points.shape[0]
    drawn = points[rng.integers(0, n, (resamples, n))]
    centre = drawn.mean(axis=1)
    x, y = np.moveaxis(drawn - centre[:, None, :], 2, 0)
    covariance = [np.einsum("rn,rn->r", a, b) / (n - 1) for a, b in ((x, x), (x, y), (y, y))]
    return centre, np.column_stack(covariance)


def overlap_batch(centre_a: Matrix, cov_a: Matrix, centre_b: Matrix, cov_b: Matrix) -> Floats:
    """Intersection over union of many pairs of ellipses, from centres and covariances; NaN where one has no area."""
    areas, shapes = [], []
    for centre, cov in ((centre_a, cov_a), (centre_b, cov_b)):
        xx, xy, yy = cov.T
        determinant = xx * yy - xy * xy
        flat = (xx <= 0) | (determinant <= 1e-12 * np.maximum(xx * yy, 1e-300))
        areas.append(np.where(flat, np.nan, np.pi * SIZE * np.sqrt(np.maximum(determinant, 0.0))))
        shapes.append((centre, np.where(flat, 1.0, xx), xy, np.maximum(determinant, 0.0)))
    left = np.maximum(*(c[:, 0] - np.sqrt(SIZE * xx) for c, xx, _, _ in shapes))
    right = np.minimum(*(c[:, 0] + np.sqrt(SIZE * xx) for c, xx, _, _ in shapes))
    width = np.maximum(right - left, 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(SLICES)
    # Slices thin out towards both ends, where the ellipses' edges are steep.
    turn = np.pi / 2 * (nodes + 1)
    at = left[:, None] + width[:, None] * (1 - np.cos(turn)) / 2
    low = np.full(at.shape, -np.inf)
    high = np.full(at.shape, np.inf)
    for centre, xx, xy, determinant in shapes:
        apart = at - centre[:, :1]
        middle = centre[:, 1:] + (xy / xx)[:, None] * apart
        inside = np.maximum(SIZE * xx[:, None] - apart**2, 0.0)
        half = np.sqrt(determinant[:, None] * inside) / xx[:, None]
        low, high = np.maximum(low, middle - half), np.minimum(high, middle + half)
    shared = np.maximum(high - low, 0.0) @ (weights * np.pi / 2 * np.sin(turn) / 2) * width
    return np.asarray(np.minimum(shared / (areas[0] + areas[1] - shared), 1.0))
