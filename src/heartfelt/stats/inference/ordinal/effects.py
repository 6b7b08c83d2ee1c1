"""Random effects of a cumulative link model: the equations ``H x = y`` with ``H = I + S Z'WZ S``.

Order of elimination as in ``stats.reml_blocks``: one grouping first, whose block of H is diagonal; of three, the second
then falls into parts that share no level of the first (stimuli and rater x system: one part per system), and the
third borders them. Cost per step: linear in the ratings for fixed group sizes, cubic in each part and in the border.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.reliability.reml_blocks import Groups, arranged

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
class RandomFactor:
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
                first_levels, middle_levels = (slice(*first_ends[part : part + 2]), slice(*ends[part : part + 2]))
                self.parts.append(self._part(np.flatnonzero(part_of_rating == part), first_levels, middle_levels))

    def _part(self, rows: Ints, first: slice, middle: slice) -> _Part:
        a = self.codes[0][rows] - first.start
        b = self.codes[1][rows] - middle.start
        c = self.codes[2][rows]
        width, n_middle = middle.stop - middle.start + self.n[2], middle.stop - middle.start
        keys = [a * width + b] if n_middle else []
        keys += [a * width + n_middle + c] if self.n[2] else []
        distinct, entries = np.unique(np.concatenate(keys) if keys else np.zeros(0, np.int64), return_inverse=True)
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

    def variance_ratios(self, value: Floats) -> tuple[Floats, float]:
        """Variances of centred values between the levels of each grouping (in the order of ``names``) over the residual
        variance, and that variance; by moments, as a start only.
        """
        slots = [slot for slot, size in enumerate(self.n) if size]
        total = float(value @ value) / value.size
        between: dict[int, float] = {}
        for slot in sorted(slots, key=lambda slot: self.n[slot]):
            codes, size = self.codes[slot], self.n[slot]
            sums, counts = np.bincount(codes, value, minlength=size), np.bincount(codes, minlength=size)
            within = (float(value @ value) - float((sums**2 / counts).sum())) / max(value.size - size, 1)
            owner = np.zeros(size, np.int64)
            for second in between:
                owner[codes] = self.codes[second]
                if np.array_equal(owner[codes], self.codes[second]):  # nested: its levels also differ as the other's do
                    within += between[second]
            between[slot] = max(total - within, 0.0)
        residual = max(total - sum(between.values()), 0.05 * total, 1e-300)
        return np.array([between[slot] / residual for slot in slots]), residual

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
        parts = [
            scale * np.bincount(code, f, minlength=size)
            for scale, code, size in zip(sd, self.codes, self.n, strict=True)
            if size
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def factor(self, weight: Floats, sd: Floats) -> RandomFactor:
        """Factorise H: the first grouping's diagonal, each part's Cholesky triangle L with ``L^-1`` times its
        coupling to the last grouping, and the inverse of what remains there.
        """
        from scipy.linalg import lapack

        first, middle, last = (
            np.bincount(code, weight, minlength=size)[:size] for code, size in zip(self.codes, self.n, strict=True)
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
        return RandomFactor(
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
        # Dense products are quicker long before a table is full.
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

    def solve(self, factor: RandomFactor, right: Floats) -> Floats:
        from scipy.linalg import lapack

        first, middle, last = (block.copy() for block in self.split(right))
        first /= factor.diagonal[:, None]
        for part, coupling, triangle, side in self._blocks(factor):
            m = len(triangle)
            shift = coupling.T @ first[part.first]
            last -= shift[m:]
            if m:
                middle[part.middle] -= shift[:m]
                middle[part.middle] = lapack.dtrtrs(triangle, middle[part.middle], lower=1)[0]
                last -= side.T @ middle[part.middle]
        last = factor.border @ last
        for part, coupling, triangle, side in self._blocks(factor):
            if len(triangle):
                remainder = middle[part.middle] - side @ last
                middle[part.middle] = lapack.dtrtrs(triangle, remainder, lower=1, trans=1)[0]
            remainder = np.concatenate([middle[part.middle], last])
            first[part.first] -= (coupling @ remainder) / factor.diagonal[part.first, None]
        return np.concatenate([first, middle, last])

    def _blocks(self, factor: RandomFactor) -> list[tuple[_Part, Any, Floats, Floats]]:
        return list(zip(self.parts, factor.couplings, factor.triangles, factor.sides, strict=True))

    def variances(self, factor: RandomFactor) -> tuple[Floats, Floats]:
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
            level_variances = (1.0 + explained) / levels
            traces[0] += float(level_variances.sum())
            h = sd[0] ** 2 * level_variances[a]
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
        raise NoMaximumError("the random effects cannot be separated")


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
