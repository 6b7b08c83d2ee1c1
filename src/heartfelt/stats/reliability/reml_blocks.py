"""Restricted maximum likelihood where a grouping falls into blocks, as raters' tastes fall into systems.

Of several groupings one is eliminated (``stats.reml``). Where what is left of another falls into blocks that no eliminated level
ties together, its equations are solved block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any, TypeAlias

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.reliability.reml import STACK_CELLS, TINY, CrossedSystem, Solved

Groups: TypeAlias = dict[str, tuple[Ints, int]]
"""Codes and number of levels of each grouping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """Groupings in the order of elimination, the blocks the second falls into, and the work of a step."""

    groups: Groups
    blocks: Ints | None
    work: float

    def system(self, outcome: Floats, columns: Floats) -> CrossedSystem:
        groups = list(self.groups.values())
        if self.blocks is None:
            return CrossedSystem(outcome, groups, columns=columns)
        return BlockedSystem(outcome, groups, self.blocks, columns=columns)


def arranged(groups: Groups, columns: int) -> Arranged:
    """The cheapest order of elimination; two groupings have one, the larger first."""
    by_size = dict(sorted(groups.items(), key=lambda group: -group[1][1]))
    remaining = sum(size for _, size in list(by_size.values())[1:]) + columns
    best = Arranged(groups=by_size, blocks=None, work=remaining**3 / 3)
    if len(groups) < 3:
        return best
    for first, second in permutations(groups, 2):
        other_groups = {name: group for name, group in groups.items() if name not in (first, second)}
        codes, blocks = _blocks(groups[first], groups[second])
        border = sum(size for _, size in other_groups.values()) + columns
        sizes = blocks.astype(np.float64)
        work = float(np.sum(sizes**3 / 3 + sizes**2 * border + sizes * border**2) + border**3 / 3)
        if work < best.work:
            ordered = {first: groups[first], second: (codes, groups[second][1]), **other_groups}
            best = Arranged(groups=ordered, blocks=blocks, work=work)
    return best


def _blocks(first: tuple[Ints, int], second: tuple[Ints, int]) -> tuple[Ints, Ints]:
    """The second grouping's codes, sorted by the blocks that levels of the first tie together, and the blocks' sizes."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    (a, n_a), (b, n_b) = first, second
    size = n_a + n_b
    # Levels of both groupings are the nodes of one graph, linked by ratings: its components are the blocks.
    links = csr_array((np.ones(a.size), (a, b + n_a)), (size, size))
    count, block = connected_components(links, directed=False)
    block = block[n_a:]
    position = np.empty(n_b, np.int64)
    position[np.argsort(block, kind="stable")] = np.arange(n_b)
    return position[b], np.bincount(block, minlength=count)


class BlockedSystem(CrossedSystem):
    """The system where the second grouping falls into blocks, as raters' tastes fall into systems.

    No level of the first grouping meets two blocks, so neither do the second grouping's levels in S: it is an arrow of blocks,
    bordered by the other groupings and the columns. Cost per step: cubic in each block and in the border, not in all levels.
    Codes of the second grouping rise with its ``blocks``, the number of levels in each.
    """

    def __init__(self, value: Floats, groups: Sequence[tuple[Ints, int]], blocks: Ints, *, columns: Floats) -> None:
        ends = np.cumsum([0, *blocks]).tolist()
        self._blocks = [slice(a, b) for a, b in pairwise(ends)]
        self._border = slice(ends[-1], None)
        super().__init__(value, groups, columns=columns)

    def _prepare(self) -> None:
        from scipy.sparse import csr_array, hstack

        rows = np.arange(0, self.codes.size + 1, self.codes.shape[1])
        ones = csr_array((np.ones(self.codes.size), self.codes.ravel(), rows), (self.y.size, self.marked))
        every = hstack([ones, csr_array(self.columns)], format="csr")
        self._counts = csr_array((self.weights, self.levels, self.bounds), (self.sizes.size, self.order))
        self._distinct, self._size_of = np.unique(self.sizes, return_inverse=True)
        self._ones = self._dense(every.T @ every)
        self._by_block: list[Floats] | None = None
        if self._distinct.size * sum(part.size for part in self._ones) <= STACK_CELLS:
            of_size = [self._weighted((self._size_of == s).astype(np.float64)) for s in range(self._distinct.size)]
            self._by_block = [np.stack(parts) for parts in zip(*of_size, strict=True)]

    def _dense(self, matrix: Any) -> list[Floats]:
        """Each block's rows, its own columns and then the border's; last the border itself."""
        border, matrix = self._border, matrix.tocsr()
        parts = [np.hstack([matrix[span, span].toarray(), matrix[span, border].toarray()]) for span in self._blocks]
        return [*parts, matrix[border, border].toarray()]

    def _weighted(self, scale: Floats) -> list[Floats]:
        """The sum over the first grouping's levels of m m', times the scale."""
        from scipy.sparse import diags_array

        return self._dense(self._counts.T @ (diags_array(scale) @ self._counts))

    def _by_size(self, scale: Floats) -> list[Floats]:
        """The same for a scale that depends on the levels' sizes."""
        if self._by_block is None:
            return self._weighted(scale[self._size_of])
        return [np.tensordot(scale, part, 1) for part in self._by_block]

    def _solved(self, ratios: Floats, root: Floats, shares: Floats, right: Floats) -> Solved:
        from scipy.linalg import lapack

        of_size = 1.0 / (1.0 + ratios[0] * self._distinct)
        raw = [ones - part for ones, part in zip(self._ones, self._by_size(ratios[0] * of_size), strict=True)]
        border, edge = self._border, root[self._border]
        corner = raw[-1] * edge[:, None] * edge
        corner.flat[: (self.random - border.start) * len(corner) : len(corner) + 1] += 1.0
        parts = []
        log_det = -float(np.log(shares).sum())
        explained = 0.0
        side = right[border].copy()
        for span, block in zip(self._blocks, raw, strict=False):
            scaled = block * root[span][:, None] * np.append(root[span], edge)
            size = len(block)
            within, across = scaled[:, :size], scaled[:, size:]
            within.flat[:: size + 1] += 1.0
            factor = _factor(within)
            half = np.asarray(lapack.dtrtrs(factor, np.column_stack([across, right[span]]), lower=1)[0])
            corner -= half[:, :-1].T @ half[:, :-1]
            side -= half[:, :-1].T @ half[:, -1]
            explained += float(half[:, -1] @ half[:, -1])
            log_det += float(2.0 * np.log(np.diag(factor)).sum())
            back = np.asarray(lapack.dtrtrs(factor, half[:, :-1], lower=1, trans=1)[0])
            parts.append((span, _inverse(factor), back))
        factor = _factor(corner)
        log_det += float(2.0 * np.log(np.diag(factor)).sum())
        half = np.asarray(lapack.dtrtrs(factor, side, lower=1)[0])
        explained += float(half @ half)
        last = _inverse(factor)

        def solve(sides: Floats) -> Floats:
            out = np.empty_like(sides)
            out[border] = last @ (sides[border] - sum(back.T @ sides[span] for span, _, back in parts))
            for span, inverse, back in parts:
                out[span] = inverse @ sides[span] - back @ out[border]
            return out

        def apply(sides: Floats) -> tuple[Floats, Floats]:
            fixed = last[self.random - border.start :, self.random - border.start :]
            return solve(sides), fixed

        # The inverse where the first grouping's levels meet, and on its diagonal.
        squared = self._by_size(of_size**2)
        pair_trace = float(edge @ (squared[-1] * last) @ edge)
        diagonal = np.empty(self.order)
        diagonal[border] = np.diag(last)
        for (span, inverse, back), block in zip(parts, squared, strict=False):
            across, size, block_root = back @ last, len(block), root[span]
            full_inverse = inverse + across @ back.T
            diagonal[span] = np.diag(full_inverse)
            pair_trace += float(block_root @ (block[:, :size] * full_inverse) @ block_root)
            pair_trace -= 2.0 * float(block_root @ (block[:, size:] * across) @ edge)
        traces = [float((self.sizes * shares).sum()) - pair_trace]
        for span, ratio in zip(self.slices, ratios[1:].tolist(), strict=True):
            if ratio > TINY:
                traces.append(float(span.stop - span.start - diagonal[span].sum()) / ratio)
            elif span.start < border.start:  # without a variance of its own, each block is the identity
                crossed = [block[:, len(block) :] * edge for block in raw[:-1]]
                own_traces = sum(float(np.trace(block)) for block in raw[:-1])
                traces.append(own_traces - sum(float(((cross @ last) * cross).sum()) for cross in crossed))
            else:
                inside = slice(span.start - border.start, span.stop - border.start)
                cross = np.vstack([*(block[:, len(block) :][:, inside] for block in raw[:-1]), raw[-1][:, inside]])
                cross = cross * root[:, None]
                traces.append(float(np.diag(raw[-1])[inside].sum()) - float((cross * solve(cross)).sum()))
        return Solved(
            solution=solve(right[:, None])[:, 0],
            explained=explained,
            log_determinant=log_det,
            traces=np.array(traces),
            apply=apply,
        )


def _factor(matrix: Floats) -> Floats:
    """The lower triangle L of L L'."""
    from scipy.linalg import lapack

    chol, info = lapack.dpotrf(matrix, lower=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError("the mixed-model system is not positive definite")
    return np.asarray(chol)


def _inverse(factor: Floats) -> Floats:
    """(L L')^-1, both triangles."""
    from scipy.linalg import lapack

    half = np.asarray(lapack.dpotri(factor, lower=1)[0])
    return np.asarray(np.tril(half) + np.tril(half, -1).T)
