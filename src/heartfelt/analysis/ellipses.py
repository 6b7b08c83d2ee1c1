"""Where the stimuli of a system and quadrant fall in the plane: 95% ellipses, and how far those of two quadrants overlap.

The overlap is intersection over union. Its interval is a percentile bootstrap over the stimuli of both quadrants. For
that many ellipses the area they share is summed over vertical slices, on which both are plain intervals: 48 Gauss-
Legendre slices are good to a thousandth, far inside the width of any interval.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.analysis.material import Material
from heartfelt.analysis.quadrants import plane_of
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.geometry import Ellipse, ellipse, overlap_of
from heartfelt.stats.triples import Floats
from heartfelt.streams import stream

SLICES = 48
NAME = "overlap of 95% ellipses (intersection over union)"
SIZE = 5.991464547107979
"""The 95% quantile of chi-square with two degrees of freedom."""

Batch = npt.NDArray[np.float64]


def ellipses(material: Material, resamples: int, seed: int) -> dict[str, Any] | None:
    """Ellipses of every system and quadrant, and their overlaps within a system."""
    plane = material.quadrants
    if isinstance(plane, str):
        return None
    _, items = plane_of(material, plane)
    drawn: list[dict[str, Any]] = []
    overlaps: list[dict[str, Any]] = []
    systems = sorted({name for name in items["system"].to_list() if name}) or ["all"]
    for system in systems:
        mine = items if system == "all" else items.filter(items["system"] == system)
        clouds: dict[str, tuple[Floats, Floats]] = {}
        for name in plane.names:
            cloud = mine.filter(mine["quadrant"] == name)
            clouds[name] = (cloud["x"].to_numpy(), cloud["y"].to_numpy())
            shape = ellipse(*clouds[name])
            drawn.append({"system": system, "quadrant": name, **shape.to_json()})
        for a, b in combinations(plane.names, 2):
            found = overlap(clouds[a], clouds[b], resamples, seed)
            overlaps.append({"system": system, "a": a, "b": b, "overlap": found.to_json()})
    return {"ellipses": drawn, "overlap": overlaps}


def overlap(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], resamples: int, seed: int
) -> Estimate:
    """The overlap of the ellipses of two clouds, with an interval."""
    shapes: list[Ellipse] = [ellipse(*first), ellipse(*second)]
    counts = {"first_points": shapes[0].points, "second_points": shapes[1].points}
    for shape in shapes:
        if shape.is_missing:
            return Estimate.missing(shape.why_missing or "", NAME, counts)
    value = overlap_of(*shapes)
    rng = stream(seed, "analysis", "overlap")
    drawn = [_resampled(np.column_stack(cloud), resamples, rng) for cloud in (first, second)]
    found = overlap_batch(*drawn[0], *drawn[1])
    usable = found[np.isfinite(found)]
    counts["resamples"] = resamples
    if usable.size < 0.9 * resamples:
        return Estimate(value, method=NAME, counts=counts, why_no_interval="too few resamples span an area")
    low, high = np.quantile(usable, [0.025, 0.975])
    return Estimate(value, float(low), float(high), NAME, "percentile bootstrap over stimuli", 0.95, counts)


def _resampled(points: Batch, resamples: int, rng: np.random.Generator) -> tuple[Batch, Batch]:
    """Centres and covariances (xx, xy, yy) of resamples of a cloud."""
    n = points.shape[0]
    drawn = points[rng.integers(0, n, (resamples, n))]
    centre = drawn.mean(axis=1)
    apart = drawn - centre[:, None, :]
    xx, yy = (np.einsum("rn,rn->r", apart[..., k], apart[..., k]) / (n - 1) for k in (0, 1))
    xy = np.einsum("rn,rn->r", apart[..., 0], apart[..., 1]) / (n - 1)
    return centre, np.column_stack([xx, xy, yy])


def overlap_batch(centre_a: Batch, cov_a: Batch, centre_b: Batch, cov_b: Batch) -> Floats:
    """Intersection over union of many pairs of ellipses, from centres and covariances; NaN where one has no area."""
    areas, slices = [], []
    for centre, cov in ((centre_a, cov_a), (centre_b, cov_b)):
        xx, xy, yy = cov.T
        determinant = xx * yy - xy * xy
        flat = (xx <= 0) | (determinant <= 1e-12 * np.maximum(xx * yy, 1e-300))
        safe = np.where(flat, 1.0, xx)
        areas.append(np.where(flat, np.nan, np.pi * SIZE * np.sqrt(np.maximum(determinant, 0.0))))
        slices.append((centre, safe, xy, np.maximum(determinant, 0.0)))
    left = np.maximum(*(c[:, 0] - np.sqrt(SIZE * xx) for c, xx, _, _ in slices))
    right = np.minimum(*(c[:, 0] + np.sqrt(SIZE * xx) for c, xx, _, _ in slices))
    width = np.maximum(right - left, 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(SLICES)
    # Slices thin out towards both ends, where the ellipses' edges are steep.
    turn = np.pi / 2 * (nodes + 1)
    at = left[:, None] + width[:, None] * (1 - np.cos(turn)) / 2
    low = np.full(at.shape, -np.inf)
    high = np.full(at.shape, np.inf)
    for centre, xx, xy, determinant in slices:
        apart = at - centre[:, :1]
        middle = centre[:, 1:] + (xy / xx)[:, None] * apart
        inside = np.maximum(SIZE * xx[:, None] - apart**2, 0.0)
        half = np.sqrt(determinant[:, None] * inside) / xx[:, None]
        low, high = np.maximum(low, middle - half), np.minimum(high, middle + half)
    shared = np.maximum(high - low, 0.0) @ (weights * np.pi / 2 * np.sin(turn) / 2) * width
    return np.asarray(np.minimum(shared / (areas[0] + areas[1] - shared), 1.0))
