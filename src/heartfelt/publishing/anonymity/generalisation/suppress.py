"""Single values left out until everybody shares what is published of them with enough others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.publishing.anonymity.generalisation.information import ABSENT, Codes, Floats

Flags = npt.NDArray[np.bool_]
_MOST_JOINED = 20
_MOST_FIRSTS = 8
_MOST_SINGLE = 200
"""Raters in small groups up to which every group may look for the one that is nearest to it."""


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """How many have to share what is published: ``k`` raters, with ``l`` values of every sensitive column among them."""

    k: int
    l: int  # noqa: E741  # the literature's letter
    secrets: Sequence[Codes]
    earlier: Codes
    """The group that earlier releases put each rater in; groups are never joined across these."""

    def groups(self, matrix: Codes) -> Codes:
        """The number of the group that each row belongs to: rows with the same values in all columns."""
        return groups_of(np.column_stack([self.earlier, matrix]))

    def small(self, groups: Codes) -> Flags:
        """Which rows are in a group of fewer than ``k``, or with fewer than ``l`` values of a sensitive column."""
        small = np.bincount(groups) < self.k
        for codes in self.secrets:
            width = int(codes.max()) + 1
            pairs = np.unique(groups * width + codes)
            small |= np.bincount(pairs // width) < self.l
        return np.asarray(small[groups])

    def enough(self, rows: Codes) -> bool:
        """Whether these rows could be a group."""
        return rows.size >= self.k and all(np.unique(codes[rows]).size >= self.l for codes in self.secrets)


def groups_of(matrix: Codes) -> Codes:
    """The number of the group that each row belongs to: rows with the same values in all columns."""
    groups, width = np.zeros(matrix.shape[0], dtype=np.int64), 1
    for column in matrix.T:
        values = int(column.max(initial=0)) + 1
        # The number of a group is a number of mixed radix; before it overflows, groups are numbered anew.
        if width * values >= 2**62:
            groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
            width = matrix.shape[0]
        groups, width = groups * values + column, width * values
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def suppressed(matrix: Codes, needs: Needs, weights: Floats) -> Codes:
    """With single values left out so that every group is large and diverse enough, the column with most values first."""
    return _column_by_column(matrix, _order(matrix, weights), needs, weights)


def suppressions(matrix: Codes, needs: Needs, weights: Floats) -> list[Codes]:
    """Several ways to do that, to choose from."""
    small = needs.small(needs.groups(matrix))
    if not small.any():
        return [matrix]
    order = _order(matrix, weights)
    firsts = order if len(order) <= _MOST_FIRSTS else order[:1]
    out = [
        _column_by_column(matrix, [first, *(column for column in order if column != first)], needs, weights)
        for first in firsts
    ]
    return [*out, _group_by_group(matrix, needs, weights)] if small.sum() <= _MOST_SINGLE else out


def _order(matrix: Codes, weights: Floats) -> list[int]:
    """The columns by how much is gained if they are left out: those with many values and little weight first."""
    values = np.array([np.unique(column).size for column in matrix.T])
    return [int(column) for column in np.argsort(-values / (weights + 0.01), kind="stable")]


def _column_by_column(matrix: Codes, order: Sequence[int], needs: Needs, weights: Floats) -> Codes:
    """Everybody who stands out loses the same column, then the next.

    A row that has lost a value joins a group and never leaves one, so groups that are large enough stay so.
    """
    out = matrix.copy()
    small = needs.small(needs.groups(out))
    for column in order:
        if not small.any():
            return out
        out[small, column] = ABSENT
        small = needs.small(needs.groups(out))
    # Emptying whole columns was not enough: these rows get their values back and join groups one by one.
    out[small] = matrix[small]
    return _group_by_group(out, needs, weights)


def _group_by_group(matrix: Codes, needs: Needs, weights: Floats) -> Codes:
    """The smallest group joins the one that is nearest to it, until none is too small."""
    out = matrix.copy()
    groups = needs.groups(out)
    small = needs.small(groups)
    while small.any():
        counts = np.bincount(groups)
        sizes = np.where(np.bincount(groups, weights=small) > 0, counts, np.inf)
        _join(out, groups, int(sizes.argmin()), needs, weights)
        groups = needs.groups(out)
        small = needs.small(groups)
    return out


def _join(matrix: Codes, groups: Codes, number: int, needs: Needs, weights: Floats) -> None:
    """Join one group to another: both lose the columns in which they differ; of a large group only as many as are needed."""
    counts = np.bincount(groups)
    first = np.unique(groups, return_index=True)[1]
    candidates = matrix[first]
    group_rows = np.flatnonzero(groups == number)
    differs = candidates != candidates[number]
    allowed = needs.earlier[first] == needs.earlier[first[number]]
    allowed[number] = False
    wanted = max(1, needs.k - group_rows.size)  # one where the group is large, and not diverse
    moved = np.where(counts >= needs.k + wanted, wanted, counts)
    emptied = group_rows.size * (candidates[number] != ABSENT) + moved[:, None] * (candidates != ABSENT)
    costs = np.where(allowed, (emptied * differs) @ (weights + 0.01), np.inf)
    for group in np.argsort(costs, kind="stable")[:_MOST_JOINED].tolist():
        if not allowed[group]:
            break
        rows = _members(np.flatnonzero(groups == group), group_rows, int(moved[group]), needs)
        if rows is not None:
            matrix[np.ix_(np.concatenate([group_rows, rows]), differs[group])] = ABSENT
            return
    sizes = np.where(allowed, counts, np.inf)
    matrix[np.concatenate([group_rows, np.flatnonzero(groups == int(sizes.argmin()))])] = ABSENT


def _members(rows: Codes, group_rows: Codes, wanted: int, needs: Needs) -> Codes | None:
    """The rows that leave a group for ``group_rows``: as many as wanted where both are then groups; else all, or none."""
    if wanted < rows.size:
        for start in (0, rows.size - wanted):
            part = rows[start : start + wanted]
            if needs.enough(np.concatenate([group_rows, part])) and needs.enough(np.setdiff1d(rows, part)):
                return part
    return rows if needs.enough(np.concatenate([group_rows, rows])) else None
