"""Paired comparisons: who judged which of two, coded, counted, and checked for what they can tell apart.

A comparison has a rater, a first and a second contestant (in the order they were presented) and a value: 1 where the first
was chosen, 0 where the second was, 0.5 for a tie; graded comparisons carry any number, positive in favour of the first.
Contestants are systems, stimuli, or whatever else was compared. Comparisons without a finite value are left out and
counted; a contestant compared with itself is refused.

Strengths are only defined up to what the comparisons connect (Ford 1957): from every contestant a chain of wins or ties must
lead to every other one. Contestants of different groups were never compared, not even indirectly; a contestant outside the core
won, or lost, every comparison with the core, so that its strength has no finite estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.columns.paired import in_order
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_array, as_floats, code, text_series

NAMED_AT_MOST = 5
DENSE_AT_MOST = 3_000
"""Contestants up to which a square table of pairs is small."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Comparisons:
    """Comparisons with coded contestants. ``rater`` and ``stimulus`` are None where every comparison stands for itself."""

    first: Ints
    second: Ints
    value: Floats
    names: Sequence[Any]
    rater: Ints | None = None
    rater_names: Sequence[Any] = ()
    stimulus: Ints | None = None
    stimuli: int = 0
    left_out: int = 0

    @property
    def size(self) -> int:
        return int(self.value.size)

    @property
    def raters(self) -> int:
        return len(self.rater_names)

    @property
    def counts(self) -> dict[str, int]:
        counts = {"comparisons": self.size, "contestants": len(self.names)}
        if self.rater is not None:
            counts["raters"] = self.raters
        if self.stimulus is not None:
            counts["stimuli"] = self.stimuli
        return counts | ({"left_out": self.left_out} if self.left_out else {})


def as_comparisons(
    rater: Ids | None, first: Ids, second: Ids, value: Values, stimulus: Ids | None = None
) -> Comparisons:
    """Code parallel columns, leaving out comparisons without a finite value."""
    values = as_floats(value)
    columns = {"first": first, "second": second}
    columns |= {name: ids for name, ids in (("rater", rater), ("stimulus", stimulus)) if ids is not None}
    for name, column in columns.items():
        if len(column) != values.size:
            raise InputError(
                f"The columns differ in length: {name} {len(column)}, value {values.size}.",
                "Pass parallel arrays: one entry per comparison in each.",
            )
    keep = np.isfinite(values)
    left_out = int(values.size - np.count_nonzero(keep))
    if left_out:
        values = values[keep]
        columns = {name: as_array(column)[keep] for name, column in columns.items()}
    names, first_codes, right = code_together(columns["first"], columns["second"])
    same = np.flatnonzero(first_codes == right)
    if same.size:
        raise InputError(
            f"{names[first_codes[same[0]]]!r} is compared with itself ({same.size} such comparison{'s' if same.size > 1 else ''}).",
            "Leave these rows out: they say nothing about strengths.",
        )
    result = Comparisons(first=first_codes, second=right, value=values, names=names, left_out=left_out)
    if rater is not None:
        raters = code(columns["rater"])
        result = replace(result, rater=raters.codes, rater_names=raters.names)
    if stimulus is not None:
        stimuli = code(columns["stimulus"])
        result = replace(result, stimulus=stimuli.codes, stimuli=stimuli.count)
    return result


def code_together(first: Ids, second: Ids) -> tuple[list[Any], Ints, Ints]:
    """Code two columns by one list of names, sorted where they can be sorted."""
    quick = _code_texts(first, second)
    if quick is not None:
        return quick
    a, b = code(first), code(second)
    names, rank = in_order(list(dict.fromkeys([*a.names, *b.names])))
    number_of = dict(zip(names, range(len(names)), strict=True))
    of_b = np.fromiter((number_of[name] for name in b.names), np.int64, len(b.names))
    return names, rank[: len(a.names)][a.codes], of_b[b.codes]


def _code_texts(first: Ids, second: Ids) -> tuple[list[Any], Ints, Ints] | None:
    """The same for two columns of text, in one pass over both; None for anything else."""
    columns = [text_series(column) for column in (first, second)]
    if any(column is None for column in columns):
        return None
    import polars as pl

    both = pl.concat([column.cast(pl.String) for column in columns]).cast(pl.Categorical)
    codes = both.to_physical().to_numpy()
    last = np.full(int(codes.max()) + 1, -1)
    last[codes] = np.arange(codes.size)
    occurring = np.flatnonzero(last >= 0)
    names = np.array(both.gather(last[occurring]).cast(pl.String).to_list(), object)
    order = np.argsort(names)
    rank = np.empty(last.size, np.int64)
    rank[occurring[order]] = np.arange(occurring.size)
    ranks, size = rank[codes], len(columns[0])
    return names[order].tolist(), ranks[:size], ranks[size:]


def check_choices(value: Floats) -> None:
    """Refuse values other than 1, 0 and 0.5."""
    odd = value[(value != 1.0) & (value != 0.0) & (value != 0.5)]
    if odd.size:
        raise InputError(
            f"{odd[0]:g} is not an outcome of a comparison.",
            "Code 1 where the first was chosen, 0 where the second was, 0.5 for a tie; use `cmos` for graded comparisons.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class PairSets:
    """The pairs that were judged, whichever member came first: those of one stimulus are one set each."""

    codes: Ints
    """The set of each comparison."""
    count: int
    swapped: npt.NDArray[np.bool_]
    """Whether the comparison presented the set's members the other way round."""
    value: Floats
    """The value of each comparison in favour of the set's own first member."""


def judged_sets(data: Comparisons) -> PairSets:
    """Group choices by what was judged: two contestants, and the stimulus where there is one."""
    size = len(data.names)
    swapped = data.first > data.second
    low, high = np.where(swapped, data.second, data.first), np.where(swapped, data.first, data.second)
    key = low * size + high
    if data.stimulus is not None:
        key = np.unique(key, return_inverse=True)[1] * max(data.stimuli, 1) + data.stimulus
    sets, codes = np.unique(key, return_inverse=True)
    value = np.where(swapped, 1.0 - data.value, data.value)
    return PairSets(codes.astype(np.int64), int(sets.size), swapped, value)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Comparisons added up by pair: how often the first won, tied and lost; for graded ones count, sum and squares."""

    first: Ints
    second: Ints
    sums: Floats
    """One row per pair, one column per sum."""


def add_up(data: Comparisons, *, graded: bool = False, ordered: bool = False) -> Cells:
    """Add up the outcomes of each pair that occurs, both orders together unless ``ordered``."""
    size, value = len(data.names), data.value
    if not graded and size <= DENSE_AT_MOST and size * size <= max(4 * data.size, 1_000_000):
        from heartfelt.stats.comparison._kernels_comparison import count_pairs

        first, second, sums = count_pairs(data.first, data.second, value, size, ordered)
        return Cells(first, second, sums)
    key = data.first * size + data.second
    if not ordered:
        swapped = data.first > data.second
        key = np.where(swapped, data.second * size + data.first, key)
        value = np.where(swapped, -value if graded else 1.0 - value, value)
    pairs: Ints | None = None
    if size * size > max(4 * key.size, 1_000_000):
        pairs, key = np.unique(key, return_inverse=True)
    total = np.bincount(key).astype(np.float64)
    score = np.bincount(key, value)
    if graded:
        columns = [total, score, np.bincount(key, value * value)]
    else:
        ties = np.bincount(key[value == 0.5], minlength=total.size).astype(np.float64)
        columns = [score - ties / 2, ties, total - score - ties / 2]
    occurring = np.flatnonzero(total)
    sums = np.column_stack([column[occurring] for column in columns])
    pairs = occurring if pairs is None else pairs
    return Cells(pairs // size, pairs % size, np.asarray(sums, np.float64))


@dataclass(frozen=True, slots=True)
class Connection:
    """What a set of comparisons can tell apart."""

    core: npt.NDArray[np.bool_]
    """The contestants whose strengths have finite estimates: the largest group in which wins lead from each to each."""
    why: tuple[str | None, ...]
    """For each contestant outside the core, why its strength has no estimate."""

    @property
    def complete(self) -> bool:
        """Whether every contestant is in the core."""
        return bool(self.core.all())


def connection(first: Ints, second: Ints, won: Floats, lost: Floats, names: Sequence[Any]) -> Connection:
    """Find the core; ``won`` and ``lost`` say how much each pair's first won and lost, ties as half of both."""
    size = len(names)
    if size <= DENSE_AT_MOST and _strongly_connected(first, second, won, lost, size):
        return Connection(np.ones(size, bool), (None,) * size)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    beat = np.concatenate([first[won > 0], second[lost > 0]])
    beaten = np.concatenate([second[won > 0], first[lost > 0]])
    graph = csr_array((np.ones(beat.size), (beat, beaten)), shape=(size, size))
    _, group = connected_components(graph, directed=False)
    _, strong = connected_components(graph, directed=True, connection="strong")
    largest = int(np.bincount(group).argmax()) if size else 0
    inside = group == largest
    sizes = np.bincount(strong[inside], minlength=int(strong.max()) + 1 if size else 1)
    core = inside & (strong == int(sizes.argmax())) if int(sizes.max(initial=0)) > 1 else np.zeros(size, bool)
    return Connection(core, tuple(_reasons(core, inside, graph, names)))


def _strongly_connected(first: Ints, second: Ints, won: Floats, lost: Floats, size: int) -> bool:
    """Whether wins lead from the first contestant to all others, and back."""
    beat = np.zeros((size, size), bool)
    beat[first, second] = won > 0
    beat[second, first] |= lost > 0
    for graph in (beat, beat.T):
        reached, new = np.zeros(size, bool), np.zeros(size, bool)
        new[:1] = True
        while new.any():
            reached |= new
            new = graph[new].any(axis=0) & ~reached
        if not reached.all():
            return False
    return True


def _reasons(
    core: npt.NDArray[np.bool_], inside: npt.NDArray[np.bool_], graph: Any, names: Sequence[Any]
) -> list[str | None]:
    from scipy.sparse.csgraph import breadth_first_order

    linked, members = (listed([names[i] for i in np.flatnonzero(mask).tolist()]) for mask in (inside, core))
    unlinked = f"no chain of comparisons links it with {linked}"
    if not core.any():
        split = "the comparisons can be split so that one side always won; no strength has a finite estimate"
        return [split if near else unlinked for near in inside]
    start = int(np.flatnonzero(core)[0])
    below = np.zeros(core.size, bool)
    below[breadth_first_order(graph, start, directed=True, return_predecessors=False)] = True
    lost, won = (
        f"it {outcome} every comparison that links it with {members}; the strength has no finite estimate"
        for outcome in ("lost", "won")
    )
    one_sided = [lost if beaten else won for beaten in below]
    outside = [reason if near else unlinked for near, reason in zip(inside, one_sided, strict=True)]
    return [None if in_core else reason for in_core, reason in zip(core, outside, strict=True)]


def listed(names: Sequence[Any]) -> str:
    """A list of names for a sentence, at most five of them."""
    shown = [str(name) for name in names[:NAMED_AT_MOST]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


@dataclass(frozen=True, slots=True, eq=False)
class WinMatrix:
    """How often each contestant (row) was preferred to each other one (column), ties as half, and the comparisons of each pair."""

    names: tuple[Any, ...]
    wins: Floats
    comparisons: Ints


def win_matrix(first: Ids, second: Ids, value: Values) -> WinMatrix:
    data = as_comparisons(None, first, second, value)
    check_choices(data.value)
    size = len(data.names)
    wins = np.zeros((size, size))
    np.add.at(wins, (data.first, data.second), data.value)
    np.add.at(wins, (data.second, data.first), 1.0 - data.value)
    return WinMatrix(tuple(data.names), wins, np.rint(wins + wins.T).astype(np.int64))
