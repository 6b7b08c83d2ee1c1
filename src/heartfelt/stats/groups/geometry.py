"""Clouds of points in a plane (valence against arousal): their covariance ellipses and how far they overlap.

An ellipse that holds a share p is centred on the mean; its semi-axes are ``sqrt(-2 ln(1 - p) * eigenvalue)`` of the
covariance (over n - 1), which is ``sqrt(5.9915 * eigenvalue)`` for 95%: it holds that share of a bivariate
normal population. It describes where single points fall, not how well the mean is known. Angles are in
radians from the first axis.

Overlap is the area of the intersection over that of the union (Jaccard, 0 to 1), exact: the boundary
integral over the arcs each ellipse has inside the other. Its interval resamples the points of both clouds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from heartfelt.stats import _bounds
from heartfelt.stats.columns.paired import Column, pairs
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

SLICES = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipse:
    """A covariance ellipse, or the reason there is none.

    ``semi_axes`` are longest first; ``angle`` is that of the longest, in (-pi/2, pi/2].
    """

    centre: tuple[float, float]
    semi_axes: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0
    covariance: tuple[tuple[float, float], tuple[float, float]] = ((0.0, 0.0), (0.0, 0.0))
    confidence: float
    points: int
    left_out: int = 0
    why_missing: str | None = None

    @property
    def is_missing(self) -> bool:
        """Whether the points span no area."""
        return self.why_missing is not None

    @property
    def area(self) -> float | None:
        return None if self.is_missing else math.pi * self.semi_axes[0] * self.semi_axes[1]

    def boundary(self, steps: int = 200) -> Floats:
        """``steps`` points around the ellipse, first and last the same, as rows of x and y."""
        turn = np.linspace(0, 2 * math.pi, steps)
        return np.asarray(np.column_stack([np.cos(turn), np.sin(turn)]) @ _axes(self).T + self.centre)

    def to_json(self) -> dict[str, object]:
        """A plain object; no axes where there is no ellipse."""
        return {
            "centre": list(self.centre) if self.points else None,
            "semi_axes": None if self.is_missing else list(self.semi_axes),
            "angle": None if self.is_missing else self.angle,
            "area": self.area,
            "confidence": self.confidence,
            "n_points": self.points,
            "n_left_out": self.left_out,
            **({"why_missing": self.why_missing} if self.why_missing else {}),
        }


def ellipse(x: Column, y: Column, *, confidence: float = 0.95) -> Ellipse:
    _bounds.check_confidence(confidence)
    data = pairs(x, y)
    x, y = data.x, data.y
    centre = (float(x.mean()), float(y.mean())) if data.n else (0.0, 0.0)
    shape = Ellipse(centre=centre, confidence=confidence, points=data.n, left_out=data.left_out)
    if data.n < 3:
        return replace(shape, why_missing=f"{data.n} points; at least 3 are needed")
    a, b = x - centre[0], y - centre[1]
    xx, yy, xy = (float(u @ v) / (x.size - 1) for u, v in ((a, a), (b, b), (a, b)))
    values, vectors = np.linalg.eigh(np.array([[xx, xy], [xy, yy]]))
    if values[1] <= 0 or values[0] <= 1e-12 * values[1]:
        return replace(shape, why_missing="the points lie on a line")
    radii = np.sqrt(-2 * math.log1p(-confidence) * values[::-1])
    angle = math.atan2(vectors[1, 1], vectors[0, 1])
    angle = angle - math.pi if angle > math.pi / 2 else angle + math.pi if angle <= -math.pi / 2 else angle
    axes = (float(radii[0]), float(radii[1]))
    return replace(shape, semi_axes=axes, angle=angle, covariance=((xx, xy), (xy, yy)))


def _axes(shape: Ellipse) -> Floats:
    """The matrix that takes the unit circle to the ellipse around the origin."""
    cos, sin = math.cos(shape.angle), math.sin(shape.angle)
    return np.asarray(np.array([[cos, -sin], [sin, cos]]) * np.array(shape.semi_axes))


def intersection_area(first: Ellipse, second: Ellipse) -> float:
    for side in (first, second):
        if side.is_missing:
            raise ValueError(f"no ellipse: {side.why_missing}")
    to_circle = np.linalg.inv(_axes(second))
    shape = to_circle @ _axes(first)
    centre = to_circle @ (np.array(first.centre) - np.array(second.centre))
    # In these coordinates the second ellipse is the unit circle.
    angles = _crossings(centre, shape)
    if angles is None:
        return math.pi * second.semi_axes[0] * second.semi_axes[1]
    turns = np.sort(np.mod(angles, 2 * math.pi))
    points = np.column_stack([np.cos(turns), np.sin(turns)]) @ shape.T + centre
    around = np.sort(np.mod(np.arctan2(points[:, 1], points[:, 0]), 2 * math.pi))
    area = _ellipse_arcs(centre, shape, turns) + _circle_arcs(centre, shape, around)
    shared = max(area, 0.0) * second.semi_axes[0] * second.semi_axes[1]
    # Where they touch, crossings are double roots, good to half the digits.
    return float(min(shared, *(math.pi * ellipse.semi_axes[0] * ellipse.semi_axes[1] for ellipse in (first, second))))


def _crossings(centre: Floats, shape: Floats) -> Floats | None:
    """Angles that split the ellipse into arcs inside or outside the unit circle; None if it is that circle.

    With z = exp(it) the condition is a quartic. Roots off the unit circle split an arc needlessly, which does
    no harm, so they need not be found.
    """
    gram, pull = shape.T @ shape, shape.T @ centre
    second = (gram[0, 0] - gram[1, 1]) / 4 - 1j * gram[0, 1] / 2
    first = pull[0] - 1j * pull[1]
    constant = (gram[0, 0] + gram[1, 1]) / 2 + centre @ centre - 1
    coefficients = np.array([second, first, constant, np.conj(first), np.conj(second)])
    scale = float(np.abs(coefficients).max())
    if scale < 1e-11:
        return None
    coefficients = np.where(np.abs(coefficients) < 1e-15 * scale, 0, coefficients)
    roots = np.roots(coefficients)
    angles = np.angle(roots[np.abs(roots) > 1e-12])
    return angles if angles.size else np.zeros(1)


def _spans(turns: Floats) -> tuple[Floats, Floats]:
    return turns, np.append(turns[1:], turns[0] + 2 * math.pi)


def _ellipse_arcs(centre: Floats, shape: Floats, turns: Floats) -> float:
    start, end = _spans(turns)
    middle = (start + end) / 2
    at = np.column_stack([np.cos(middle), np.sin(middle)]) @ shape.T + centre
    inside = np.sum(at * at, axis=1) <= 1
    determinant = float(np.linalg.det(shape))
    chord = np.column_stack([np.cos(end) - np.cos(start), np.sin(end) - np.sin(start)]) @ shape.T
    areas = 0.5 * (abs(determinant) * (end - start))
    sweep = 0.5 * (centre[0] * chord[:, 1] - centre[1] * chord[:, 0])
    return float(np.sum((areas + np.sign(determinant) * sweep)[inside]))


def _circle_arcs(centre: Floats, shape: Floats, around: Floats) -> float:
    start, end = _spans(around)
    middle = (start + end) / 2
    at = np.linalg.solve(shape, (np.column_stack([np.cos(middle), np.sin(middle)]) - centre).T)
    inside = np.sum(at * at, axis=0) < 1
    return float(np.sum(0.5 * (end - start)[inside]))


def overlap_of(first: Ellipse, second: Ellipse) -> float:
    shared = intersection_area(first, second)
    return min(shared / ((first.area or 0.0) + (second.area or 0.0) - shared), 1.0)


def overlap(
    first: tuple[Column, Column],
    second: tuple[Column, Column],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Estimate:
    """The overlap of the ellipses of two clouds, each given as its x and y; ``confidence`` is the share each ellipse holds.

    The interval is the 95% percentile bootstrap over the points of each cloud.
    """
    name = f"overlap of {confidence:.0%} ellipses (intersection over union)"
    clouds = [pairs(*first), pairs(*second)]
    shapes = [ellipse(cloud.x, cloud.y, confidence=confidence) for cloud in clouds]
    left_out = sum(cloud.left_out for cloud in clouds)
    counts = {"first_points": clouds[0].n, "second_points": clouds[1].n}
    counts |= {"left_out": left_out} if left_out else {}
    for shape in shapes:
        if shape.is_missing:
            return Estimate.missing(shape.why_missing or "", name, counts)
    point_estimate = Estimate(value=overlap_of(*shapes), method=name, counts=counts | {"resamples": resamples})
    rng = stream(seed, "analysis", "overlap")
    resampled = []
    for cloud in clouds:
        points = np.column_stack([cloud.x, cloud.y])[rng.integers(0, cloud.n, (resamples, cloud.n))]
        centre = points.mean(axis=1)
        x, y = np.moveaxis(points - centre[:, None, :], 2, 0)
        products = [np.einsum("rn,rn->r", a, b) / (cloud.n - 1) for a, b in ((x, x), (x, y), (y, y))]
        resampled += [centre, np.column_stack(products)]
    values = overlap_batch(*resampled, confidence=confidence)
    values = values[np.isfinite(values)]
    bounds = _bounds.percentile(values, 0.95) if values.size >= 0.9 * resamples else None
    how = "percentile bootstrap over the points of both clouds"
    return _bounds.bounded(point_estimate, bounds, how, 0.95, "too few resamples span an area")


def overlap_batch(
    centre_a: Floats, cov_a: Floats, centre_b: Floats, cov_b: Floats, *, confidence: float = 0.95
) -> Floats:
    """Intersection over union of many pairs of ellipses, from centres and covariances (xx, xy, yy); NaN where one has no area.

    The area they share is summed over vertical slices, on which both are plain intervals: 48 Gauss-Legendre slices are good to a
    thousandth, far inside the width of any interval.
    """
    size = -2 * math.log1p(-confidence)
    areas, shapes = [], []
    for centre, cov in ((centre_a, cov_a), (centre_b, cov_b)):
        xx, xy, yy = cov.T
        determinant = xx * yy - xy * xy
        flat = (xx <= 0) | (determinant <= 1e-12 * np.maximum(xx * yy, 1e-300))
        areas.append(np.where(flat, np.nan, np.pi * size * np.sqrt(np.maximum(determinant, 0.0))))
        shapes.append((centre, np.where(flat, 1.0, xx), xy, np.maximum(determinant, 0.0)))
    start = np.maximum(*(c[:, 0] - np.sqrt(size * xx) for c, xx, _, _ in shapes))
    right = np.minimum(*(c[:, 0] + np.sqrt(size * xx) for c, xx, _, _ in shapes))
    width = np.maximum(right - start, 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(SLICES)
    # Slices thin out towards both ends, where the ellipses' edges are steep.
    turn = np.pi / 2 * (nodes + 1)
    at = start[:, None] + width[:, None] * (1 - np.cos(turn)) / 2
    low = np.full(at.shape, -np.inf)
    high = np.full(at.shape, np.inf)
    for centre, xx, xy, determinant in shapes:
        offset = at - centre[:, :1]
        middle = centre[:, 1:] + (xy / xx)[:, None] * offset
        inside = np.maximum(size * xx[:, None] - offset**2, 0.0)
        half = np.sqrt(determinant[:, None] * inside) / xx[:, None]
        low, high = np.maximum(low, middle - half), np.minimum(high, middle + half)
    shared = np.maximum(high - low, 0.0) @ (weights * np.pi / 2 * np.sin(turn) / 2) * width
    return np.asarray(np.minimum(shared / (areas[0] + areas[1] - shared), 1.0))
