"""Maximum likelihood of cumulative link models with crossed random intercepts, by the Laplace approximation.

Parameters are the thresholds, the coefficients and the logarithms of the random effects' standard deviations. For
given parameters the effects u (in units of their standard deviation) are at the maximum of

    log p(y | u) - u'u / 2,   with   H = I + S Z'WZ S   as minus its curvature,

S the standard deviations and W the ratings' weights; the log likelihood is that maximum less half of log det H.
Its gradient is exact: by the implicit function theorem it takes one more solution of H and, per rating, one
element of its inverse.

Order of elimination as in ``stats.reml_blocks``: one grouping first, whose block of H is diagonal; of three, the second
then falls into parts that share no level of the first (stimuli and rater x system: one part per system), and the
third borders them. Cost per step: linear in the ratings for fixed group sizes, cubic in each part and in the border.

The outer maximum is found by quasi-Newton steps (BFGS), which start from the information of the fixed parameters.
The observed information is the forward difference of the exact gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.stats.inference._ordinal_links import LATENT_VARIANCE, LINKS, CategoryDerivatives, Link
from heartfelt.stats.reml_blocks import Groups, arranged
from heartfelt.stats.triples import Floats, Ints

_INNER_STEPS = 60
_OUTER_STEPS = 120
_INNER_PRECISION = 1e-12
_DIFFERENCE = 1e-5
_OUTER_PRECISION = 1e-9
_SMALLEST_SD = 1e-3
_LARGEST_EFFECT = 15.0
_SMALL_PART = 64
_DENSE_SHARE = 0.15


class NoMaximumError(ArithmeticError):
    """The likelihood has no maximum, or none was found; ``column`` is the one whose coefficient has no bound."""

    def __init__(self, reason: str, *, column: int | None = None) -> None:
        super().__init__(reason)
        self.column = column


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One connected part of the two largest groupings: its levels, its ratings, and the columns of its coupling.

    ``pattern`` is the coupling of the eliminated levels (rows) with the part's middle levels and all levels of
    the smallest grouping (columns); ``entries`` says, per rating and column kind, which of its entries it adds to.
    """

    first: slice
    middle: slice
    rows: Ints
    indptr: Ints
    indices: Ints
    row_of: Ints
    entries: Ints
    local: tuple[Ints, Ints, Ints]
    cross: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Factor:
    """What one factorisation of H gives; see the names in ``RandomEffects.factor``."""

    log_determinant: float
    diagonal: Floats
    couplings: list[Any]
    triangles: list[Floats]
    sides: list[Floats]
    border: Floats
    sd: Floats


class RandomEffects:
    """Zero to three groupings of the ratings, crossed or nested, in their order of elimination (``names``).

    They fill three slots: first (eliminated), middle (in parts) and last (dense). One grouping is in the first, two are
    in the first and the last.
    """

    def __init__(self, groups: Groups, rows: int) -> None:
        order = arranged(groups, 0)
        self.names, self.work = list(order.groups), order.work if len(groups) > 1 else 0.0
        self.sizes = [size for _, size in order.groups.values()]
        none: tuple[Ints, int] = (np.zeros(rows, np.int64), 0)
        slots = [*order.groups.values(), none, none]
        first, middle, last = slots[:3] if len(groups) == 3 else (slots[0], none, slots[1])
        self.n = (first[1], middle[1], last[1])
        ends = _part_ends(middle[1], order.blocks)
        part_of_middle = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        part_of_first = np.zeros(first[1], np.int64)
        if middle[1]:
            part_of_first[first[0]] = part_of_middle[middle[0]]
        rank, first_ends = _sorted_by(part_of_first)
        self.codes = (rank[first[0]] if first[1] else first[0], middle[0], last[0])
        self.parts: list[_Part] = []
        if first[1]:
            part_of_rating = part_of_first[first[0]]
            for part in range(len(ends) - 1):
                first_levels, middle_levels = (
                    slice(*first_ends[part : part + 2]),
                    slice(*ends[part : part + 2]),
                )
                self.parts.append(
                    self._part(np.flatnonzero(part_of_rating == part), first_levels, middle_levels)
                )

    def _part(self, rows: Ints, first: slice, middle: slice) -> _Part:
        a = self.codes[0][rows] - first.start
        b = self.codes[1][rows] - middle.start
        c = self.codes[2][rows]
        width, n_middle = middle.stop - middle.start + self.n[2], middle.stop - middle.start
        keys = [a * width + b] if n_middle else []
        keys += [a * width + n_middle + c] if self.n[2] else []
        distinct, entries = np.unique(
            np.concatenate(keys) if keys else np.zeros(0, np.int64), return_inverse=True
        )
        levels = first.stop - first.start
        owner = distinct // max(width, 1)
        return _Part(
            first=first,
            middle=middle,
            rows=rows,
            indptr=np.append(0, np.cumsum(np.bincount(owner, minlength=levels))).astype(np.int64),
            indices=distinct % max(width, 1),
            row_of=owner,
            entries=entries.reshape(len(keys), rows.size) if keys else np.zeros((0, rows.size), np.int64),
            local=(a, b, c),
            cross=b * self.n[2] + c if n_middle and self.n[2] else np.zeros(0, np.int64),
        )

    def standard_deviations(self, by_group: Floats) -> Floats:
        """Of the three slots from those in the order of ``names``; 0 where a slot is empty."""
        if len(self.names) == 3:
            return by_group
        out = np.zeros(3)
        out[0 : 2 * len(self.names) : 2] = by_group
        return out

    def by_group(self, of_slots: Floats) -> Floats:
        """Back from the three slots to the order of ``names``."""
        return of_slots if len(self.names) == 3 else of_slots[0 : 2 * len(self.names) : 2]

    def split(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """The effects of the first, the middle and the last grouping."""
        end = self.n[0] + self.n[1]
        return u[: self.n[0]], u[self.n[0] : end], u[end:]

    def predictor(self, u: Floats, sd: Floats) -> Floats:
        """``Z S u`` per rating, or per rating and column."""
        rows = self.codes[0].size
        out = np.zeros((rows, *u.shape[1:]))
        for scale, code, effects in zip(sd, self.codes, self.split(u), strict=True):
            if effects.size:
                out += scale * effects[code]
        return out

    def gather(self, f: Floats, sd: Floats) -> Floats:
        """``S Z' f``."""
        parts = [
            scale * np.bincount(code, f, minlength=size)
            for scale, code, size in zip(sd, self.codes, self.n, strict=True)
            if size
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def factor(self, weight: Floats, sd: Floats) -> _Factor:
        """Factorise H: the first grouping's diagonal, each part's Cholesky triangle L with ``L^-1`` times its
        coupling to the last grouping, and the inverse of what remains there.
        """
        from scipy.linalg import lapack

        first, middle, last = (
            np.bincount(code, weight, minlength=size)[:size]
            for code, size in zip(self.codes, self.n, strict=True)
        )
        diagonal = 1.0 + sd[0] ** 2 * first
        log_determinant = float(np.log(diagonal).sum())
        border = np.diag(1.0 + sd[2] ** 2 * last)
        couplings, triangles, sides = [], [], []
        for part in self.parts:
            coupling, products = self._eliminated(part, weight[part.rows], diagonal, sd)
            m = part.middle.stop - part.middle.start
            border -= products[m:, m:]
            side = -products[:m, m:]
            triangle = np.zeros((0, 0))
            if m and self.n[2]:
                counts = np.bincount(part.cross, weight[part.rows], minlength=m * self.n[2])
                side += sd[1] * sd[2] * counts.reshape(m, -1)
            if m:
                block = np.diag(1.0 + sd[1] ** 2 * middle[part.middle]) - products[:m, :m]
                triangle, failed = lapack.dpotrf(block, lower=1)
                _require_positive(failed)
                log_determinant += 2.0 * float(np.log(np.diag(triangle)).sum())
                side = lapack.dtrtrs(triangle, side, lower=1)[0]
                border -= side.T @ side
            couplings.append(coupling)
            triangles.append(triangle)
            sides.append(side)
        if self.n[2]:
            chol, failed = lapack.dpotrf(border, lower=1)
            _require_positive(failed)
            log_determinant += 2.0 * float(np.log(np.diag(chol)).sum())
            border = np.tril(lapack.dpotri(chol, lower=1)[0])
            border += np.tril(border, -1).T
        return _Factor(
            log_determinant=log_determinant,
            diagonal=diagonal,
            couplings=couplings,
            triangles=triangles,
            sides=sides,
            border=border,
            sd=sd,
        )

    def _eliminated(self, part: _Part, weight: Floats, diagonal: Floats, sd: Floats) -> tuple[Any, Floats]:
        """A part's coupling M of the first grouping with the others, and ``M' D^-1 M``."""
        from scipy.sparse import csr_array

        m, levels = part.middle.stop - part.middle.start, part.first.stop - part.first.start
        repeated = np.tile(weight, len(part.entries))
        values = np.bincount(part.entries.ravel(), repeated, minlength=part.indices.size)
        values = values * np.where(part.indices < m, sd[0] * sd[1], sd[0] * sd[2])
        shape = (levels, m + self.n[2])
        shrunk = values / np.repeat(diagonal[part.first], np.diff(part.indptr))
        if part.indices.size > _DENSE_SHARE * levels * shape[1]:
            dense, dense_shrunk = np.zeros(shape), np.zeros(shape)
            dense[part.row_of, part.indices] = values
            dense_shrunk[part.row_of, part.indices] = shrunk
            return dense, dense.T @ dense_shrunk
        coupling = csr_array((values, part.indices, part.indptr), shape=shape)
        if not shape[1]:
            return coupling, np.zeros((0, 0))
        products = coupling.T @ csr_array((shrunk, part.indices, part.indptr), shape=shape)
        return coupling, products.toarray()

    def solve(self, factor: _Factor, right: Floats) -> Floats:
        """Solve ``H x = right`` for columns."""
        from scipy.linalg import lapack

        first, middle, last = (block.copy() for block in self.split(right))
        first /= factor.diagonal[:, None]
        for part, coupling, triangle, side in self._blocks(factor):
            m = len(triangle)
            taken = coupling.T @ first[part.first]
            last -= taken[m:]
            if m:
                middle[part.middle] -= taken[:m]
                middle[part.middle] = lapack.dtrtrs(triangle, middle[part.middle], lower=1)[0]
                last -= side.T @ middle[part.middle]
        last = factor.border @ last
        for part, coupling, triangle, side in self._blocks(factor):
            if len(triangle):
                rest = middle[part.middle] - side @ last
                middle[part.middle] = lapack.dtrtrs(triangle, rest, lower=1, trans=1)[0]
            rest = np.concatenate([middle[part.middle], last])
            first[part.first] -= (coupling @ rest) / factor.diagonal[part.first, None]
        return np.concatenate([first, middle, last])

    def _blocks(self, factor: _Factor) -> list[tuple[_Part, Any, Floats, Floats]]:
        return list(zip(self.parts, factor.couplings, factor.triangles, factor.sides, strict=True))

    def variances(self, factor: _Factor) -> tuple[Floats, Floats]:
        """Per rating ``z' S H^-1 S z``, and per grouping (first, middle, last) the trace of H^-1 over its levels."""
        from scipy.linalg import lapack

        sd = factor.sd
        out = np.zeros(self.codes[0].size)
        traces = np.array([0.0, 0.0, float(np.trace(factor.border))])
        for part, coupling, triangle, side in self._blocks(factor):
            m, (a, b, c) = len(triangle), part.local
            inverse = np.empty((m + self.n[2],) * 2)
            inverse[m:, m:] = factor.border
            if m:
                root = np.tril(lapack.dtrtri(triangle, lower=1)[0])
                down = root.T @ side
                across = down @ factor.border
                inverse[:m, m:] = -across
                inverse[m:, :m] = -across.T
                inverse[:m, :m] = root.T @ root + across @ down.T
                traces[1] += float(np.trace(inverse[:m, :m]))
            levels = factor.diagonal[part.first]
            between = (coupling @ inverse) / levels[:, None]
            explained = coupling.multiply(between).sum(axis=1) if hasattr(coupling, "multiply") else None
            if explained is None:
                explained = np.einsum("ij,ij->i", coupling, between)
            own = (1.0 + explained) / levels
            traces[0] += float(own.sum())
            h = sd[0] ** 2 * own[a]
            if m:
                h += sd[1] ** 2 * inverse[b, b] - 2 * sd[0] * sd[1] * between[a, b]
            if self.n[2]:
                h += sd[2] ** 2 * inverse[m + c, m + c] - 2 * sd[0] * sd[2] * between[a, m + c]
            if m and self.n[2]:
                h += 2 * sd[1] * sd[2] * inverse[b, m + c]
            out[part.rows] = h
        return out, traces


def _require_positive(failed: int) -> None:
    if failed:
        raise NoMaximumError("the random effects cannot be told apart")


def _part_ends(levels: int, blocks: Ints | None) -> list[int]:
    """Where the middle grouping's parts begin and end: its blocks, small ones together up to the largest or to 64."""
    if blocks is None or not levels:
        return [0, levels]
    limit = max(int(blocks.max()), _SMALL_PART)
    ends = [0]
    for end, size in zip(np.cumsum(blocks).tolist(), blocks.tolist(), strict=True):
        if end - ends[-1] > limit:
            ends.append(end - size)
    return [*ends, levels]


def _sorted_by(part: Ints) -> tuple[Ints, list[int]]:
    """Each level's place when sorted by part, and where the parts begin."""
    rank = np.empty(part.size, np.int64)
    rank[np.argsort(part, kind="stable")] = np.arange(part.size)
    return rank, np.append(0, np.cumsum(np.bincount(part))).tolist()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceStep:
    """The likelihood at some parameters, its gradient, and the mode of the random effects there."""

    parameters: Floats
    log_likelihood: float
    gradient: Floats
    mode: Floats
    factor: _Factor
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
        """Thresholds at the shares of the categories, no effects, and middling standard deviations."""
        from scipy.special import logit, ndtri

        shares = np.cumsum(np.bincount(self.category, minlength=self.cuts + 1))[:-1] / self.category.size
        thresholds = logit(shares) if self._scale > 1 else ndtri(shares)
        sd = np.full(len(self.effects.names), math.log(0.4 * self._scale))
        spread = math.sqrt(1 + 0.16 * len(self.effects.names))
        return np.concatenate([thresholds * spread, np.zeros(self.columns.shape[1]), sd])

    def _sd(self, parameters: Floats) -> Floats:
        return self.effects.standard_deviations(np.exp(parameters[self.fixed :]))

    def _derivatives(self, parameters: Floats, predictor: Floats) -> CategoryDerivatives:
        cuts = np.concatenate([[-np.inf], parameters[: self.cuts], [np.inf]])
        return self.link(cuts[self.category + 1] - predictor, cuts[self.category] - predictor)

    def at(self, parameters: Floats, mode: Floats | None = None) -> LaplaceStep | None:
        """The likelihood, from a first guess of the mode; None where thresholds do not increase."""
        if not np.all(np.diff(parameters[: self.cuts]) > 1e-10) or np.any(np.abs(parameters) > 1e3):
            return None
        sd = self._sd(parameters)
        fixed = self.columns @ parameters[self.cuts : self.fixed]
        u = np.zeros(sum(self.effects.n)) if mode is None else mode
        derivatives = self._derivatives(parameters, fixed + self.effects.predictor(u, sd))
        value = float(derivatives.log_p.sum() - 0.5 * u @ u)
        if not math.isfinite(value):
            return None if mode is None else self.at(parameters)
        for _ in range(_INNER_STEPS):
            factor = self.effects.factor(derivatives.weight, sd)
            slope = self.effects.gather(derivatives.slope, sd) - u
            step = self.effects.solve(factor, slope[:, None])[:, 0]
            decrement = float(slope @ step)
            if decrement < _INNER_PRECISION:
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
        raise NoMaximumError("the mode of the random effects was not found")

    def _finished(
        self,
        parameters: Floats,
        u: Floats,
        value: float,
        factor: _Factor,
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
            float(own @ own - own.size + trace - 2.0 * back @ own)
            for own, back, trace in zip(effects.split(u), effects.split(adjoint), traces, strict=True)
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
        return upper + lower

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

    def maximise(self, fixed: Floats | None = None) -> tuple[LaplaceStep, Floats]:
        """Quasi-Newton steps to the maximum, and the inverse information they end with.

        ``fixed`` are thresholds and coefficients to start from. Steps end early where a standard deviation vanishes
        (``vanished`` says which).
        """
        start = self.start()
        if fixed is not None:
            start[: self.fixed] = fixed
        best = self.at(start)
        if best is None:
            raise NoMaximumError("the likelihood is not finite at its start")
        inverse = self._first_inverse(best)
        for _ in range(_OUTER_STEPS):
            direction = inverse @ best.gradient
            decrement = float(best.gradient @ direction)
            if decrement < _OUTER_PRECISION or self.vanished(best) is not None:
                return best, inverse
            found = self._along(best, direction, decrement)
            change, bend = found.parameters - best.parameters, best.gradient - found.gradient
            along = float(change @ bend)
            if along > 1e-12:
                turn = np.eye(self.size) - np.outer(change, bend) / along
                inverse = turn @ inverse @ turn.T + np.outer(change, change) / along
            best = found
        raise NoMaximumError("no maximum of the likelihood was found")

    def _along(self, best: LaplaceStep, direction: Floats, decrement: float) -> LaplaceStep:
        """The first point along a direction, at ever shorter steps, where the likelihood rises enough."""
        length = min(1.0, 2.0 / max(float(np.abs(direction).max()), 1e-300))
        while length > 1e-10:
            found = self.at(best.parameters + length * direction, best.mode)
            if found is not None and found.log_likelihood >= best.log_likelihood + 1e-4 * length * decrement:
                self._require_finite(found)
                return found
            length *= 0.5
        raise NoMaximumError("no maximum of the likelihood was found")

    def _require_finite(self, step: LaplaceStep) -> None:
        """Refuse parameters on their way to infinity."""
        reach = np.abs(step.parameters[self.cuts : self.fixed])
        if reach.size and float(reach.max()) > _LARGEST_EFFECT * self._scale:
            raise NoMaximumError("", column=int(reach.argmax()))
        if np.any(step.parameters[self.fixed :] > math.log(_LARGEST_EFFECT * self._scale)):
            raise NoMaximumError(
                "a random effect grows without bound: its levels hardly mix their categories"
            )

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

    def inference(self, best: LaplaceStep) -> OrdinalFit:
        """The exact covariance at the maximum, which one more Newton step makes more precise."""
        information, moved = self.sensitivity(best)
        if not best.mode.size:
            covariance = np.linalg.inv(information)
            return self._polished(best, covariance, ())
        hessian = np.empty((self.size, self.size))
        for index in range(self.size):
            parameters = best.parameters.copy()
            parameters[index] += _DIFFERENCE
            guess = best.mode + _DIFFERENCE * moved[:, index] if index < self.fixed else best.mode
            shifted = self.at(parameters, guess)
            if shifted is None:
                raise NoMaximumError("two thresholds cannot be told apart")
            hessian[index] = (best.gradient - shifted.gradient) / _DIFFERENCE
        hessian = 0.5 * (hessian + hessian.T)
        if float(np.linalg.eigvalsh(hessian).min()) <= 0:
            raise NoMaximumError("the information matrix is not positive")
        covariance = np.linalg.inv(hessian)
        tilt = []
        base = np.linalg.inv(information)
        for index in range(self.fixed, self.size):
            parameters = best.parameters.copy()
            parameters[index] += 10 * _DIFFERENCE
            shifted = self.at(parameters, best.mode)
            if shifted is not None:
                changed = np.linalg.inv(self.sensitivity(shifted)[0])
                tilt.append((changed - base) / (10 * _DIFFERENCE))
        return self._polished(best, covariance, tuple(tilt))

    def _polished(self, best: LaplaceStep, covariance: Floats, tilt: tuple[Floats, ...]) -> OrdinalFit:
        final = self.at(best.parameters + covariance @ best.gradient, best.mode)
        if final is None or final.log_likelihood < best.log_likelihood:
            final = best
        return OrdinalFit(
            parameters=final.parameters,
            log_likelihood=final.log_likelihood,
            covariance=covariance,
            tilt=tilt,
        )
