"""Ellipses and their overlap against closed forms, Monte Carlo and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heartfelt.stats.groups.geometry import Ellipse, ellipse, intersection_area, overlap, overlap_of
from tests.facts import mentions

SOURCE = "NumPy eigenvalues for axes; circle-lens formula and point counting for areas"


def _make(x: float, y: float, a: float, b: float, angle: float) -> Ellipse:
    return Ellipse(
        centre=(x, y),
        semi_axes=(max(a, b), min(a, b)),
        angle=angle,
        covariance=((0.0, 0.0), (0.0, 0.0)),
        confidence=0.95,
        points=10,
    )


def test_axes_are_those_of_the_covariance() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(300, 2)) @ np.array([[2.0, 0.7], [0.0, 0.5]])
    result = ellipse(points[:, 0], points[:, 1])
    values = np.linalg.eigvalsh(np.cov(points.T))
    assert result.semi_axes == pytest.approx(np.sqrt(5.991464547107979 * values[::-1]))
    assert result.area == pytest.approx(math.pi * 5.991464547107979 * math.sqrt(np.linalg.det(np.cov(points.T))))
    direction = np.array([math.cos(result.angle), math.sin(result.angle)])
    assert direction @ np.cov(points.T) @ direction == pytest.approx(values[1])


def test_ellipse_holds_its_share_of_a_normal_population() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(100_000, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    for level in (0.5, 0.95):
        result = ellipse(points[:, 0], points[:, 1], confidence=level)
        inverse = np.linalg.inv(np.array(result.covariance))
        apart = points - result.centre
        inside = np.einsum("ni,ij,nj->n", apart, inverse, apart) <= -2 * math.log(1 - level)
        assert inside.mean() == pytest.approx(level, abs=0.005)


def test_boundary_lies_on_the_ellipse() -> None:
    each = _make(1, 2, 3, 1, 0.5)
    around = each.boundary(9) - each.centre
    turn = np.array([[math.cos(0.5), math.sin(0.5)], [-math.sin(0.5), math.cos(0.5)]])
    unit = (around @ turn.T) / each.semi_axes
    assert np.sum(unit**2, axis=1) == pytest.approx(np.ones(9))
    assert around[0] == pytest.approx(around[-1])


@pytest.mark.parametrize("gap", [0.0, 0.3, 1.0, 1.9, 2.0, 2.5])
def test_two_circles_share_a_lens(gap: float) -> None:
    expected = 2 * math.acos(min(gap / 2, 1)) - gap / 2 * math.sqrt(max(4 - gap * gap, 0))
    result = intersection_area(_make(0, 0, 1, 1, 0), _make(gap, 0, 1, 1, 0))
    assert result == pytest.approx(expected, abs=1e-9)


def test_nested_and_apart() -> None:
    outer, inner = _make(0, 0, 3, 2, 0.3), _make(0.2, 0.1, 0.5, 0.2, 1.2)
    assert intersection_area(outer, inner) == pytest.approx(inner.area)
    assert intersection_area(inner, outer) == pytest.approx(inner.area)
    assert intersection_area(outer, _make(9, 9, 1, 1, 0)) == 0
    assert overlap_of(outer, outer) == pytest.approx(1)


def test_cross_of_two_ellipses() -> None:
    # Equal ellipses at right angles, semi-axes a > b: area 4ab·atan(b/a).
    a, b = 3.0, 1.0
    result = intersection_area(_make(0, 0, a, b, 0), _make(0, 0, a, b, math.pi / 2))
    assert result == pytest.approx(4 * a * b * math.atan(b / a))


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(
    st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.3, 2), st.floats(0.3, 2), st.floats(-1.5, 1.5)),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(0.3, 2), st.floats(0.3, 2), st.floats(-1.5, 1.5)),
)
@example((0.0, 0.0, 0.5, 0.5, 1.0), (0.0, 0.0, 1.0, 0.5, 0.0))
def test_area_equals_counting_points(one: tuple[float, ...], two: tuple[float, ...]) -> None:
    first, second = _make(*one), _make(*two)
    result = intersection_area(first, second)
    assert result == pytest.approx(intersection_area(second, first), abs=1e-6)
    assert 0 <= result <= min(first.area or 0, second.area or 0) + 1e-9
    side = np.linspace(-4.05, 4.05, 400)
    x, y = np.meshgrid(side, side)
    inside = np.ones_like(x, dtype=bool)
    for shape in (first, second):
        cos, sin = math.cos(shape.angle), math.sin(shape.angle)
        u, v = x - shape.centre[0], y - shape.centre[1]
        inside &= ((cos * u + sin * v) / shape.semi_axes[0]) ** 2 + (
            (-sin * u + cos * v) / shape.semi_axes[1]
        ) ** 2 <= 1
    assert result == pytest.approx(inside.sum() * (side[1] - side[0]) ** 2, abs=0.05)


@pytest.mark.slow
def test_overlap_interval_covers() -> None:
    truth = overlap_of(_make(0, 0, 2.4477, 2.4477, 0), _make(1.5, 0, 2.4477, 2.4477, 0))
    hits = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(size=(2, 80)), rng.normal(size=(2, 80)) + np.array([[1.5], [0]])
        result = overlap((first[0], first[1]), (second[0], second[1]), resamples=60, seed=seed)
        assert result.low is not None
        assert result.high is not None
        hits += result.low <= truth <= result.high
    assert hits >= 42


def test_degenerate_clouds_give_reasons() -> None:
    line = ellipse([1, 2, 3], [2, 4, 6])
    assert mentions(line.why_missing, "points", "line")
    assert line.to_json()["semi_axes"] is None
    assert mentions(ellipse([1, 2], [1, 5]).why_missing, "2 points", "3")
    assert ellipse([], []).is_missing
    assert ellipse([1, 1, 1], [2, 2, 2]).is_missing
    assert ellipse([0, 1, 0, np.nan], [0, 0, 1, 3]).left_out == 1
    result = overlap(([1, 2, 3], [1, 2, 3]), ([0, 1, 0], [0, 0, 1]), resamples=10)
    assert mentions(result.why_missing, "points", "line")
    with pytest.raises(ValueError, match="no ellipse"):
        intersection_area(line, line)
