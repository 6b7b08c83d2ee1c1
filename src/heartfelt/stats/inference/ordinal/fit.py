"""Maximum likelihood of cumulative link models with crossed random intercepts, by the Laplace approximation.

Parameters are the thresholds, the coefficients and the logarithms of the random effects' standard deviations. For
given parameters the effects u (in units of their standard deviation) are at the maximum of

    log p(y | u) - u'u / 2,   with   H = I + S Z'WZ S   as minus its curvature,

S the standard deviations and W the ratings' weights; the log likelihood is that maximum less half of log det H.
Its gradient is exact: by the implicit function theorem it takes one more solution of H and, per rating, one
element of its inverse.

The outer maximum is found by quasi-Newton steps (BFGS), which start from the information of the fixed parameters.
The observed information is the forward difference of the exact gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.inference.ordinal.effects import NoMaximumError, RandomEffects, RandomFactor
from heartfelt.stats.inference.ordinal.links import LATENT_VARIANCE, LINKS, CategoryDerivatives, Link
from heartfelt.stats.reliability.reml_blocks import Groups

Information = Literal["observed", "mode"]
_INNER_STEPS = 60
_OUTER_STEPS = 120
_INNER_PRECISION = 1e-12
_SLOW = 0.05
_DIFFERENCE = 1e-5
# Of the expected rise of the likelihood; one Newton step follows.
_OUTER_PRECISION = 1e-9
# A rise below this is lost in rounding.
_ROUNDING = 1e-6
_SMALLEST_SD = 1e-3
_SMALL_SD = 0.1
_LARGEST_EFFECT = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceStep:
    """The likelihood at some parameters, its gradient, and the mode of the random effects there."""

    parameters: Floats
    log_likelihood: float
    gradient: Floats
    mode: Floats
    factor: RandomFactor
    derivatives: CategoryDerivatives


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalFit:
    """Parameters (thresholds, coefficients, log standard deviations), their covariance, and what is needed for the
    degrees of freedom of contrasts.

    ``tilt`` is the change of the fixed parameters' covariance per unit of each log standard deviation.
    """

    parameters: Floats
    log_likelihood: float
    covariance: Floats
    tilt: tuple[Floats, ...]


class OrdinalLikelihood:
    """Ratings in coded categories, columns of fixed effects and groupings, with their Laplace likelihood."""

    def __init__(self, category: Ints, categories: int, columns: Floats, groups: Groups, link: Link) -> None:
        self.category, self.cuts = category, categories - 1
        self.columns, self.link = columns, LINKS[link]
        self.effects = RandomEffects(groups, category.size)
        self.fixed = self.cuts + columns.shape[1]
        self.size = self.fixed + len(self.effects.names)
        self._scale = math.sqrt(LATENT_VARIANCE[link])

    def start(self) -> Floats:
        """Thresholds at the shares of the categories, fixed effects and standard deviations as in a linear model of the
        categories' ranks, by moments.
        """
        from scipy.special import logit, ndtri

        shares = np.cumsum(np.bincount(self.category, minlength=self.cuts + 1))[:-1] / self.category.size
        thresholds = logit(shares) if self._scale > 1 else ndtri(shares)
        ranks = self.category - self.category.mean()
        centred = self.columns - self.columns.mean(axis=0)
        slopes = np.linalg.lstsq(centred, ranks, rcond=None)[0]
        residuals = ranks - centred @ slopes
        ratios, residual = self.effects.variance_ratios(residuals)
        ratios = np.maximum(ratios, 0.5 * _SMALL_SD**2)
        beta = slopes * self._scale / math.sqrt(residual)
        shift = self.columns @ beta
        spread = math.sqrt(1 + ratios.sum() + shift.var() / self._scale**2)
        log_sd = np.log(np.sqrt(ratios) * self._scale)
        return np.concatenate([thresholds * spread + shift.mean(), beta, log_sd])

    def start_after(self, larger: OrdinalLikelihood, best: LaplaceStep) -> Floats:
        """The parameters of a model with one more grouping, without that grouping's."""
        log_sd = dict(zip(larger.effects.names, best.parameters[larger.fixed :], strict=True))
        return np.append(best.parameters[: self.fixed], [log_sd[name] for name in self.effects.names])

    def _sd(self, parameters: Floats) -> Floats:
        return self.effects.standard_deviations(np.exp(parameters[self.fixed :]))

    def _derivatives(self, parameters: Floats, predictor: Floats) -> CategoryDerivatives:
        cuts = np.concatenate([[-np.inf], parameters[: self.cuts], [np.inf]])
        return self.link(cuts[self.category + 1] - predictor, cuts[self.category] - predictor)

    def at(
        self, parameters: Floats, mode: Floats | None = None, factor: RandomFactor | None = None
    ) -> LaplaceStep | None:
        """The likelihood, from a first guess of the mode; None where thresholds do not increase.

        ``factor`` is one at parameters nearby.
        """
        if not np.all(np.diff(parameters[: self.cuts]) > 1e-10) or np.any(np.abs(parameters) > 1e3):
            return None
        sd = self._sd(parameters)
        fixed = self.columns @ parameters[self.cuts : self.fixed]
        u = np.zeros(sum(self.effects.n)) if mode is None else mode
        derivatives = self._derivatives(parameters, fixed + self.effects.predictor(u, sd))
        value = float(derivatives.log_p.sum() - 0.5 * u @ u)
        if not math.isfinite(value):
            return None if mode is None else self.at(parameters)
        last = math.inf
        for _ in range(_INNER_STEPS):
            current = factor is None
            factor = factor or self.effects.factor(derivatives.weight, sd)
            slope = self.effects.gather(derivatives.slope, sd) - u
            step = self.effects.solve(factor, slope[:, None])[:, 0]
            decrement = float(slope @ step)
            if current and decrement < _INNER_PRECISION:
                u = u + step
                derivatives = self._derivatives(parameters, fixed + self.effects.predictor(u, sd))
                value = float(derivatives.log_p.sum() - 0.5 * u @ u)
                return self._finished(parameters, u, value, factor, derivatives, sd)
            length = 1.0
            while True:
                trial = u + length * step
                next_derivatives = self._derivatives(parameters, fixed + self.effects.predictor(trial, sd))
                new = float(next_derivatives.log_p.sum() - 0.5 * trial @ trial)
                if new >= value - 1e-9 * abs(value) or length < 1e-6:
                    break
                length *= 0.5
            u, value, derivatives = trial, new, next_derivatives
            # A factorisation serves while steps with it shrink fast; the last step has one at the mode.
            if decrement < _INNER_PRECISION or decrement > _SLOW * last:
                factor = None
            last = decrement
        raise NoMaximumError("the mode of the random effects was not found")

    def _finished(
        self,
        parameters: Floats,
        u: Floats,
        value: float,
        factor: RandomFactor,
        derivatives: CategoryDerivatives,
        sd: Floats,
    ) -> LaplaceStep:
        effects, d = self.effects, derivatives
        variance, traces = effects.variances(factor)
        pull = -0.5 * variance * (d.weight_by_a + d.weight_by_b)
        adjoint = effects.solve(factor, effects.gather(pull, sd)[:, None])[:, 0]
        reach = effects.predictor(adjoint, sd)
        # Per rating: what its upper and its lower bound add, directly, through the weights, and through the mode.
        by_a = d.by_a - 0.5 * variance * d.weight_by_a + reach * (d.by_aa + d.by_ab)
        by_b = d.by_b - 0.5 * variance * d.weight_by_b + reach * (d.by_ab + d.by_bb)
        gradient = np.concatenate([self._by_cut(by_a, by_b), -(self.columns.T @ (by_a + by_b))])
        slots = [
            float(effect @ effect - effect.size + trace - 2.0 * back @ effect)
            for effect, back, trace in zip(effects.split(u), effects.split(adjoint), traces, strict=True)
        ]
        return LaplaceStep(
            parameters=parameters,
            log_likelihood=value - 0.5 * factor.log_determinant,
            gradient=np.concatenate([gradient, effects.by_group(np.array(slots))]),
            mode=u,
            factor=factor,
            derivatives=d,
        )

    def _by_cut(self, by_a: Floats, by_b: Floats) -> Floats:
        upper = np.bincount(self.category, by_a, minlength=self.cuts + 1)[:-1]
        lower = np.bincount(self.category, by_b, minlength=self.cuts + 1)[1:]
        return np.asarray(upper + lower, np.float64)

    def sensitivity(self, step: LaplaceStep) -> tuple[Floats, Floats]:
        """The fixed parameters' information at the mode with the effects profiled out, and the mode's change per
        unit of each fixed parameter."""
        d = step.derivatives
        by_as, by_bs = d.by_aa + d.by_ab, d.by_ab + d.by_bb
        rows = np.arange(self.category.size)
        # Derivative of each rating's slope in its predictor, by every fixed parameter.
        mixed = np.zeros((self.category.size, self.cuts + 2))
        mixed[rows, self.category + 1] = -by_as
        mixed[rows, self.category] = -by_bs
        jacobian = np.hstack([mixed[:, 1:-1], -d.weight[:, None] * self.columns])
        information = np.zeros((self.fixed, self.fixed))
        cuts = self.cuts
        ends = slice(1, cuts + 1)
        square = np.diag(
            np.bincount(self.category + 1, d.by_aa, minlength=cuts + 2)[ends]
            + np.bincount(self.category, d.by_bb, minlength=cuts + 2)[ends]
        )
        between = np.bincount(self.category, d.by_ab, minlength=cuts + 1)[1:-1]
        square += np.diag(between, 1) + np.diag(between, -1)
        information[:cuts, :cuts] = -square
        cross = self.columns.T @ jacobian[:, :cuts]
        information[cuts:, :cuts] = -cross
        information[:cuts, cuts:] = -cross.T
        information[cuts:, cuts:] = (self.columns * d.weight[:, None]).T @ self.columns
        if not step.mode.size:
            return information, np.zeros((0, self.fixed))
        sd = step.factor.sd
        side = np.stack([self.effects.gather(column, sd) for column in jacobian.T], axis=1)
        moved = self.effects.solve(step.factor, side)
        return information - side.T @ moved, moved

    def maximise(self, start: Floats) -> LaplaceStep:
        """Quasi-Newton steps to the maximum; they end early where a standard deviation vanishes (see ``vanished``)."""
        best = self.at(start)
        if best is None:
            raise NoMaximumError("the likelihood is not finite at its start")
        inverse, fresh = self._first_inverse(best), True
        for _ in range(_OUTER_STEPS):
            direction = inverse @ best.gradient
            decrement = float(best.gradient @ direction)
            if decrement < _OUTER_PRECISION or self.vanished(best) is not None:
                return self._without_tiny(best)
            candidate = self._line_search(best, direction, decrement)
            if candidate is None:
                if fresh and decrement > _ROUNDING:
                    break
                if decrement <= _ROUNDING:
                    return best
                inverse, fresh = self._first_inverse(best), True
                continue
            change, bend = candidate.parameters - best.parameters, best.gradient - candidate.gradient
            curvature = float(change @ bend)
            if curvature > 1e-12:
                turn = np.eye(self.size) - np.outer(change, bend) / curvature
                inverse, fresh = turn @ inverse @ turn.T + np.outer(change, change) / curvature, False
            best = candidate
        raise NoMaximumError("no maximum of the likelihood was found")

    def _line_search(self, best: LaplaceStep, direction: Floats, decrement: float) -> LaplaceStep | None:
        """The first point along a direction, at ever shorter steps, where the likelihood rises enough; None if none."""
        length = min(1.0, 2.0 / max(float(np.abs(direction).max()), 1e-300))
        while length > 1e-10:
            candidate = self.at(best.parameters + length * direction, best.mode, best.factor)
            if candidate is not None and candidate.log_likelihood >= best.log_likelihood + 1e-4 * length * decrement:
                self._require_finite(candidate)
                return candidate
            length *= 0.5
        return None

    def _require_finite(self, step: LaplaceStep) -> None:
        """Refuse parameters on their way to infinity."""
        reach = np.abs(step.parameters[self.cuts : self.fixed])
        if reach.size and float(reach.max()) > _LARGEST_EFFECT * self._scale:
            raise NoMaximumError("", column=int(reach.argmax()))
        if np.any(step.parameters[self.fixed :] > math.log(_LARGEST_EFFECT * self._scale)):
            raise NoMaximumError("a random effect grows without bound: its levels hardly mix their categories")

    def _without_tiny(self, best: LaplaceStep) -> LaplaceStep:
        """The same point, or one with a vanishing standard deviation where a small one is no better.

        The likelihood is flat in the logarithm of a standard deviation near 0, so steps may end before it vanishes.
        """
        tiny = np.flatnonzero(best.parameters[self.fixed :] < math.log(_SMALL_SD * self._scale))
        for index in (tiny + self.fixed).tolist():
            parameters = best.parameters.copy()
            parameters[index] = math.log(0.5 * _SMALLEST_SD * self._scale)
            candidate = self.at(parameters, best.mode)
            if (
                candidate is not None
                and candidate.log_likelihood >= best.log_likelihood
                and candidate.gradient[index] < 0
            ):
                return candidate
        return best

    def vanished(self, step: LaplaceStep) -> int | None:
        """The grouping (its place in ``effects.names``) whose variance is on its way to 0."""
        gone = step.parameters[self.fixed :] < math.log(_SMALLEST_SD * self._scale)
        gone &= step.gradient[self.fixed :] < 0
        return int(np.flatnonzero(gone)[0]) if gone.any() else None

    def _first_inverse(self, step: LaplaceStep) -> Floats:
        """An inverse information to begin with: exact at the mode for the fixed parameters, and for the standard
        deviations as if their effects were known up to their shrinkage.
        """
        information, _ = self.sensitivity(step)
        inverse = np.zeros((self.size, self.size))
        inverse[: self.fixed, : self.fixed] = np.linalg.inv(information)
        _, traces = self.effects.variances(step.factor)
        sizes = np.array(self.effects.sizes, np.float64)
        explained = np.maximum(sizes - self.effects.by_group(traces), 0.02 * sizes)
        inverse[range(self.fixed, self.size), range(self.fixed, self.size)] = sizes / (2.0 * explained**2)
        return inverse

    def inference(self, best: LaplaceStep, information: Information = "observed") -> OrdinalFit:
        """The covariance at the maximum, which one more Newton step makes more precise.

        Rows of the observed information are forward differences of the gradient. With ``information="mode"`` those of
        the fixed parameters among themselves are taken at the mode, without the curvature of ``log det H``: one
        difference per standard deviation is left.
        """
        at_mode, moved = self.sensitivity(best)
        if not best.mode.size:
            return self._polished(best, np.asarray(np.linalg.inv(at_mode), np.float64), ())
        hessian = np.zeros((self.size, self.size))
        hessian[: self.fixed, : self.fixed] = at_mode
        tilt, base = [], np.linalg.inv(at_mode)
        for index in range(0 if information == "observed" else self.fixed, self.size):
            parameters = best.parameters.copy()
            parameters[index] += _DIFFERENCE
            guess = best.mode + _DIFFERENCE * moved[:, index] if index < self.fixed else best.mode
            shifted = self.at(parameters, guess, best.factor)
            if shifted is None:
                raise NoMaximumError("two thresholds cannot be separated")
            row = (best.gradient - shifted.gradient) / _DIFFERENCE
            hessian[index] = row
            if index >= self.fixed:
                hessian[:, index] = row
                tilt.append((np.linalg.inv(self.sensitivity(shifted)[0]) - base) / _DIFFERENCE)
        hessian = 0.5 * (hessian + hessian.T)
        if float(np.linalg.eigvalsh(hessian).min()) <= 0:
            raise NoMaximumError("the information matrix is not positive")
        return self._polished(best, np.asarray(np.linalg.inv(hessian), np.float64), tuple(tilt))

    def _polished(self, best: LaplaceStep, covariance: Floats, tilt: tuple[Floats, ...]) -> OrdinalFit:
        final = self.at(best.parameters + covariance @ best.gradient, best.mode, best.factor)
        if final is None or final.log_likelihood < best.log_likelihood:
            final = best
        return OrdinalFit(
            parameters=final.parameters, log_likelihood=final.log_likelihood, covariance=covariance, tilt=tilt
        )
