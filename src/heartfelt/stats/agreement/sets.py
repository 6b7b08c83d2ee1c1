"""Distances between answers that are sets, such as tags: Jaccard's and MASI, as sums for Krippendorff's alpha.

Jaccard's distance is one less the shared members over all members of both; MASI (measuring agreement on set-valued items)
multiplies that index by 1 for equal sets, 2/3 where one holds the other, 1/3 where they overlap and 0 where they share nothing.
Both are used as alpha's difference function as they are, unsquared. Two empty sets are equal; an empty and a non-empty set are
at distance 1.

Distances within items are exact. The expected disagreement is exact while the sets with a common member form at most
``MOST_PAIRS`` pairs; beyond that every rating is compared with a random sample of the sets, so that cost stays in proportion to
the number of ratings. The estimate's method says so.

Sources: Jaccard, The distribution of the flora in the alpine zone, 1912; Passonneau, Measuring agreement on set-valued items
(MASI) for semantic and pragmatic annotation, 2006.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.agreement.distance import RatingDistances
from heartfelt.stats.agreement.grouped import Grouped, Prior, read_prior
from heartfelt.stats.columns.categories import absent
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.streams import stream

SET_DISTANCES = ("jaccard", "masi")
MOST_PAIRS = 30_000_000
FEWEST_SAMPLED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDistances(RatingDistances):
    """``sampled`` is how many of the ``kinds`` of sets stand for all, 0 if all do."""

    sampled: int
    kinds: int


def as_sets(column: Any) -> npt.NDArray[Any]:
    """A column of sets: each entry the members of one answer, in any order; None where there is no answer."""
    entries = column.to_list() if hasattr(column, "to_list") else list(column)
    out = np.empty(len(entries), dtype=object)
    set_of: dict[Any, frozenset[Any]] = {}
    for at, entry in enumerate(entries):
        out[at] = set_of[entry] if type(entry) is tuple and entry in set_of else _as_set(entry)
        if type(entry) is tuple and out[at] is not None:
            set_of[entry] = out[at]
    return out


def _as_set(entry: Any) -> frozenset[Any] | None:
    if entry is None or (isinstance(entry, float) and absent(entry)):
        return None
    if isinstance(entry, str) or not isinstance(entry, Iterable):
        raise InputError(
            f"A set-valued answer must be a list or set of its members; got {entry!r}.",
            "Split texts such as 'tree; dog' first; pass [] for an answer that names nothing and None for no answer.",
        )
    return frozenset(entry)


def prior_sets(prior: Prior) -> Prior:
    """A machine's sets, one per item."""
    if prior is None:
        return None
    items, values = read_prior(prior)
    return dict(zip(items, as_sets(values).tolist(), strict=True))


def set_distances(ratings: Grouped, distance: str, raters: bool, seed: int) -> SetDistances:
    """Sum distances for every rating, and within what leaves with each rater when ``raters``."""
    from heartfelt.stats.agreement.kernels import _kernels_agreement as shared
    from heartfelt.stats.agreement.kernels import _kernels_sets as kernels

    start, members, width = _coded(ratings.named.names)
    code, masi, kinds = ratings.value, distance == "masi", ratings.named.count
    n, people = code.size, len(ratings.raters) if raters else 0
    inside, across, rater_sums = np.zeros(n), np.zeros(n), np.zeros((people, 4))
    kernels.add_inside(ratings.start, code, start, members, masi, inside)
    used = np.repeat(ratings.sizes >= 2, ratings.sizes)
    count = np.bincount(code[used], minlength=kinds).astype(np.float64)
    every = np.flatnonzero(count)
    rng = stream(seed, "agreement", "sets")

    def likeness(sets: Ints, weights: Floats, most: float) -> tuple[Floats, int]:
        chosen = _chosen(sets, start, members, width, rng, most)
        # The sample stands for all, so that its likeness is scaled to their total weight.
        scale = weights.sum() / weights[chosen].sum()
        out = kernels.likeness_sums(sets, sets[chosen], weights[chosen] * scale, start, members, width, masi)
        return out, 0 if chosen.size == sets.size else chosen.size

    alike, sampled = likeness(every, count[every], MOST_PAIRS)
    by_set = np.zeros(kinds)
    by_set[every] = count.sum() - alike
    across[used] = by_set[code[used]]
    if raters:
        taken_rater, taken_code = shared.votes_leaving(ratings.start, ratings.rater, code)
        pairs, times = np.unique(taken_rater * kinds + taken_code, return_counts=True)
        ends = np.searchsorted(pairs, np.arange(people + 1) * kinds)
        for rater in range(people):
            own_pairs = slice(ends[rater], ends[rater + 1])
            if ends[rater] < ends[rater + 1]:
                weights = times[own_pairs].astype(np.float64)
                alike, _ = likeness(pairs[own_pairs] - rater * kinds, weights, MOST_PAIRS / people)
                rater_sums[rater, 3] = weights.sum() ** 2 - weights @ alike
    return SetDistances(inside=inside, across=across, by_rater=rater_sums, sampled=sampled, kinds=every.size)


def _coded(sets: list[frozenset[Any]]) -> tuple[Ints, Ints, int]:
    """The members of every set as sorted codes, where each set starts, and how many members there are.

    Codes follow the members' names: in the order of a set, which differs from process to process, sums would end in other digits.
    """
    names = sorted(frozenset().union(*sets), key=lambda name: (type(name).__name__, repr(name)))
    codes = {name: code for code, name in enumerate(names)}
    start = np.concatenate([[0], np.cumsum([len(members) for members in sets])]).astype(np.int64)
    coded = [code for members in sets for code in sorted(codes[name] for name in members)]
    return start, np.array(coded, dtype=np.int64), len(codes)


def _chosen(sets: Ints, start: Ints, members: Ints, width: int, rng: np.random.Generator, most: float) -> Ints:
    """Places of the sets to compare with: all, or a random sample where too many pairs have a common member."""
    sizes = start[sets + 1] - start[sets]
    at = np.repeat(start[sets], sizes) + np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pairs = float(np.square(np.bincount(members[at], minlength=width), dtype=np.float64).sum())
    if pairs <= most:
        return np.arange(sets.size)
    size = min(sets.size, max(FEWEST_SAMPLED, int(sets.size * most / pairs)))
    return np.sort(rng.choice(sets.size, size, replace=False))
