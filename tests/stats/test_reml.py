"""The REML engine against the textbook's dense matrices: deviance, score, information and fixed effects, also at the edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.reliability.reml import PROBES, CrossedSystem, ProbedSystem, RemlFit, RemlStep, maximise
from heartfelt.streams import stream
from tests.stats.reliability.ratings import crossed

SOURCE = "Searle, Casella and McCulloch (1992), chapters 6 and 8: P = V⁻¹ - V⁻¹X(X'V⁻¹X)⁻¹X'V⁻¹; Gilmour et al. (1995)"

DATA = crossed(3, 60)
ITEM, RATER = DATA["item"].astype(np.int64), DATA["rater"].astype(np.int64)
GROUPS: list[tuple[Ints, int]] = [(ITEM, 12), (RATER, 7)]
CELLS = (ITEM % 3).astype(np.int64)
RESIDUAL = 0.8
AT = [(0.4, 0.7), (0.4, 0.0), (0.0, 0.7), (0.0, 0.0), (3.0, 0.02)]


@dataclass(frozen=True)
class Dense:
    """The same quantities from n x n matrices."""

    deviance: float
    score: Floats
    information: Floats
    fixed: Floats
    fixed_covariance: Floats


def dense(y: Floats, x: Floats, ratios: tuple[float, float], residual: float) -> Dense:
    n = y.size
    parts = [np.equal.outer(ITEM, ITEM), np.equal.outer(RATER, RATER), np.eye(n)]
    whole = sum(v * part for v, part in zip((*(r * residual for r in ratios), residual), parts, strict=True))
    inverse = np.linalg.inv(whole)
    covariance: Floats = np.linalg.inv(x.T @ inverse @ x).astype(np.float64)
    p = inverse - inverse @ x @ covariance @ x.T @ inverse
    py = p @ y
    deviance = np.linalg.slogdet(whole)[1] - np.linalg.slogdet(covariance)[1] + y @ py
    score = np.array([np.trace(p @ part) - py @ part @ py for part in parts])
    work = np.column_stack([part @ py for part in parts])
    return Dense(float(deviance), score, 0.5 * work.T @ p @ work, covariance @ x.T @ inverse @ y, covariance)


def same(step: RemlStep, other: Dense) -> None:
    assert step.score == pytest.approx(other.score, rel=1e-8, abs=1e-9)
    assert step.information == pytest.approx(other.information, rel=1e-8, abs=1e-9)
    assert step.fixed == pytest.approx(other.fixed, rel=1e-8, abs=1e-10)
    assert step.fixed_covariance == pytest.approx(other.fixed_covariance, rel=1e-8)


@pytest.mark.parametrize("ratios", AT)
def test_a_step_is_that_of_dense_matrices(ratios: tuple[float, float]) -> None:
    x = np.eye(3)[CELLS]
    system = CrossedSystem(DATA["y"], GROUPS, CELLS)
    step = system.step(ratios, RESIDUAL)
    same(step, dense(DATA["y"], x, ratios, RESIDUAL))
    base = system.step((0.5, 0.5), RESIDUAL)
    expected = dense(DATA["y"], x, ratios, RESIDUAL).deviance - dense(DATA["y"], x, (0.5, 0.5), RESIDUAL).deviance
    assert step.deviance - base.deviance == pytest.approx(expected, rel=1e-9)
    assert system.df == 57
    assert step.variances == pytest.approx([*(r * RESIDUAL for r in ratios), RESIDUAL])


@pytest.mark.parametrize("ratios", AT)
def test_dense_columns_give_the_same_as_matrices(ratios: tuple[float, float]) -> None:
    x = np.column_stack([np.ones(60), DATA["loud"]])
    y = DATA["y"] - DATA["y"].mean()
    same(CrossedSystem(y, GROUPS, columns=x).step(ratios, RESIDUAL), dense(y, x, ratios, RESIDUAL))


def test_the_residual_variance_at_its_best_leaves_no_slope() -> None:
    step = CrossedSystem(DATA["y"], GROUPS).step((0.4, 0.7))
    expected = dense(DATA["y"], np.ones((60, 1)), (0.4, 0.7), 1.0)
    # With unit residual variance the score of the scale is df - y'Py.
    assert step.residual == pytest.approx((59 - expected.score @ [0.4, 0.7, 1.0]) / 59)
    assert step.score @ step.variances == pytest.approx(0.0, abs=1e-9)
    assert float(step.explained.sum()) < 59


def test_probes_estimate_traces_from_random_signs() -> None:
    ratios = (0.4, 0.7)
    step = ProbedSystem(DATA["y"], GROUPS, seed=5).step(ratios, RESIDUAL)
    exact = CrossedSystem(DATA["y"], GROUPS).step(ratios, RESIDUAL)
    assert PROBES == 32
    assert step.fixed == pytest.approx(exact.fixed, rel=1e-6)
    assert step.information == pytest.approx(exact.information, rel=1e-6)
    assert math.isinf(step.deviance)
    # The system of raters and mean once items are eliminated, and the trace of its inverse by the same signs.
    z = np.column_stack([np.eye(7)[RATER], np.ones(60)])
    b = np.eye(12)[ITEM]
    within = np.eye(60) - b @ np.diag(0.4 / (1 + 0.4 * b.sum(0))) @ b.T
    root = np.sqrt([0.7] * 7 + [1.0])
    s = np.diag([1.0] * 7 + [0.0]) + root[:, None] * (z.T @ within @ z) * root
    signs = 2.0 * stream(5, "reliability", "trace probes").integers(0, 2, (8, 32)) - 1.0
    probed = np.linalg.solve(s, signs)
    explained = 7 - (signs[:7] * probed[:7]).sum(0).mean()
    assert step.explained[1] == pytest.approx(explained, rel=1e-7)


def test_newton_steps_are_few_and_end_where_the_slope_is_zero() -> None:
    fit = maximise(CrossedSystem(DATA["y"], GROUPS), (0.5, 0.5))
    assert fit.converged
    assert fit.iterations == 5
    assert np.abs(fit.step.score * fit.step.variances).max() < 1e-5
    inside = np.linalg.inv(fit.step.information)
    assert fit.covariance == pytest.approx(inside)


def test_a_grouping_that_explains_nothing_ends_at_zero() -> None:
    rng = np.random.default_rng(8)
    y = rng.normal(size=60)
    y = y - np.array([y[r == RATER].mean() for r in range(7)])[RATER]
    fit = maximise(CrossedSystem(y, GROUPS), (0.5, 0.5))
    assert fit.converged
    assert fit.step.ratios[1] == 0.0
    assert fit.covariance[1].tolist() == [0.0, 0.0, 0.0]
    assert fit.step.score[1] > 0
    held = maximise(CrossedSystem(y, GROUPS), (0.5, 0.5), (True, False))
    assert held.free == (True, False)
    assert held.step.ratios == pytest.approx(fit.step.ratios, rel=1e-4, abs=1e-6)


def test_a_perfect_fit_is_said_to_be_one() -> None:
    y = np.arange(12.0)[ITEM] + np.array([0.0, 3, 1, 5, 2, 9, 4])[RATER]
    fit = maximise(CrossedSystem(y, GROUPS), (0.5, 0.5))
    assert isinstance(fit, RemlFit)
    assert not fit.converged
    assert fit.exact
    # Where the likelihood has no curvature the ratio runs along its slope to the upper end.
    item, rater = np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)
    only = maximise(CrossedSystem(np.arange(6.0)[item], [(item, 6), (rater, 4)]), (0.5, 0.5))
    assert (only.exact, only.converged) == (True, False)
    assert only.step.ratios.tolist() == [1e8, 0.0]
    assert not maximise(CrossedSystem(DATA["y"], GROUPS), (0.5, 0.5)).exact


class Slope(CrossedSystem):
    """A deviance without curvature in its only ratio, until nothing is left for the residual."""

    def __init__(self, slope: float) -> None:
        self.order, self.no_residual, self.slope = 1, 0.0, slope
        self.tried: list[float] = []

    def step(self, ratios: Sequence[float] | Floats, residual: float | None = None) -> RemlStep:
        at = float(ratios[0])
        self.tried.append(at)
        left = float(len(self.tried) == 1) if residual is None else residual
        none, score = np.zeros(1), np.array([self.slope, 0.0])
        flat = np.diag([-1.0, 1.0])
        return RemlStep(
            ratios=np.array([at]),
            residual=left,
            deviance=-at,
            explained=none,
            squares=none,
            score=score,
            information=flat,
            fixed=none,
            fixed_covariance=np.eye(1),
        )


@pytest.mark.parametrize(("slope", "tried"), [(-0.005, [1.0, 10.0]), (-2e-6, [1.0, 10.0]), (-5e-7, [1.0])])
def test_without_curvature_any_slope_beyond_rounding_is_followed(slope: float, tried: list[float]) -> None:
    """The ratio grows tenfold, the most in a step; a slope below a millionth counts as none."""
    system = Slope(slope)
    assert maximise(system, (1.0,)).converged is (len(tried) == 1)
    assert system.tried == tried


def test_the_covariance_of_the_mean_from_products_is_that_of_the_whole_system() -> None:
    ratios = (0.4, 0.7)
    step = ProbedSystem(DATA["y"], GROUPS, seed=5).step(ratios, RESIDUAL)
    exact = CrossedSystem(DATA["y"], GROUPS).step(ratios, RESIDUAL)
    assert step.fixed_covariance.shape == (1, 1)
    assert step.fixed_covariance == pytest.approx(exact.fixed_covariance, rel=1e-6)


def test_a_right_side_of_zeros_is_solved_by_zeros_next_to_another() -> None:
    system = ProbedSystem(DATA["y"], GROUPS, seed=5)
    shares = 1.0 / (1.0 + 0.4 * system.sizes)
    right = np.column_stack([np.zeros(system.order), np.arange(1.0, system.order + 1)])
    solved = system._solve(0.4, np.ones(system.order), shares, right)
    assert solved[:, 0].tolist() == [0.0] * system.order
    assert np.isfinite(solved[:, 1]).all()
    assert np.abs(solved[:, 1]).max() > 0.1
