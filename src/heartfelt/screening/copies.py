"""Parallel answers: pairs of raters whose answer sequences run in parallel although they were played different stimuli.

*Score.* Two sequences are aligned locally within a band of offsets, allowing for lost trials at a price; the score is
in nats (``heartfelt.screening._kernels_alignment``). Under independence the chance of a score falls off exponentially
(Karlin and Altschul 1990; Smith and Waterman 1981 for the alignment).

*Null.* Either sequence is cut into short blocks that are shuffled and run backwards: this keeps a rater's values,
their autocorrelation and the relation between the questions, and destroys any longer stretch. A Gumbel distribution
is fitted to the surrogates' scores by moments, its spread taken two standard errors wider than it came out, and with a
tail never steeper than 0.85 a nat (1 is exact for likelihood ratios without gaps). So no score below
``log(pairs / level) / 0.85`` can be significant, and only the few pairs above it need surrogates.

*Family.* Bonferroni over all pairs of raters long enough. A pair must further hold (a) when what the stimuli predict
is taken out of both sequences (p < 0.05), and (b) at its own place: sequences of a regular pattern match as well when
turned round, copies do not. Where raters met similar stimuli in a similar order, careful raters run in parallel too;
then the sequences without what the stimuli predict are compared in the first place.

Pairs are examined from the highest score down; one that would join raters already in a group is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from heartfelt.screening.sequences import Sequences, candidate_pairs, sequences
from heartfelt.screening.view import Bools, RatingsView
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import derived_seed

EULER = 0.5772156649015329
GUMBEL_KURTOSIS = 5.4
STEEPEST = 0.85
CONFIRM = 0.05
ELSEWHERE = 0.6
MOST_EXAMINED = 20


@dataclass(frozen=True, slots=True)
class AlignmentOptions:
    """How sequences are compared: offsets up to ``band`` trials, price of a lost trial, correlation of a copy."""

    band: int = 6
    gap: float = 3.0
    rho: float = 0.7
    block: int = 5
    draws: int = 299
    alpha: float = 0.05
    seed: int = 0

    @property
    def how(self) -> tuple[int, float, float]:
        """What the compiled loops take."""
        return self.band, self.gap, self.rho


PAIR_COLUMNS = {
    "rater": pl.String,
    "other": pl.String,
    "score": pl.Float64,
    "needed": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "p_residual": pl.Float64,
    "elsewhere": pl.Float64,
    "trials": pl.Int64,
    "correlation": pl.Float64,
    "equal": pl.Float64,
    "expected_equal": pl.Float64,
    "first_offset": pl.Int64,
    "last_offset": pl.Int64,
    "copies": pl.Boolean,
}


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """What the comparison of all pairs found. ``best[i]`` is the highest score of ``rater[i]`` with anybody."""

    rater: Ints
    trials: Ints
    best: Floats
    pairs: int
    compared: int
    floor: float
    table: pl.DataFrame
    groups: tuple[tuple[str, ...], ...]
    unexamined: int


def parallel_pairs(view: RatingsView, options: AlignmentOptions) -> Copies | str:
    """Compare the raters' sequences, or say why that is not possible."""
    return view.remember(("copies", options), lambda: _parallel_pairs(view, options))


def _parallel_pairs(view: RatingsView, options: AlignmentOptions) -> Copies | str:
    from heartfelt.screening._kernels_alignment import score_pairs

    found = sequences(view)
    if isinstance(found, str):
        return found
    size = found.rater.size
    pairs = size * (size - 1) // 2
    floor = float(np.log(pairs / options.alpha) / STEEPEST)
    first, second = candidate_pairs(found, options.band)
    values = found.residual if found.shared_order else found.raw
    scores = score_pairs(values, found.stimulus, found.edges, found.covariance, first, second, options.how)
    best = np.zeros(size)
    np.maximum.at(best, first, scores)
    np.maximum.at(best, second, scores)
    above = np.flatnonzero(scores > floor)
    above = above[np.argsort(-scores[above], kind="stable")]
    rows, joined, left = [], Groups(), above.size
    for k in above[: MOST_EXAMINED * size].tolist():
        left -= 1
        if joined.find(int(first[k])) == joined.find(int(second[k])):
            continue
        row = _examine(view, found, (int(first[k]), int(second[k])), pairs, options)
        rows.append(row)
        if row["copies"]:
            joined.join(int(first[k]), int(second[k]))
    table = pl.DataFrame(rows, schema=PAIR_COLUMNS, orient="row").sort("p_adjusted", "rater", "other")
    groups = [sorted(view.raters[found.rater[i]] for i in group) for group in joined.groups()]
    ordered = tuple(tuple(group) for group in sorted(groups, key=lambda group: (-len(group), group)))
    return Copies(
        found.rater, np.diff(found.edges), best, pairs, int(first.size), floor, table, ordered, left
    )


def _examine(
    view: RatingsView, found: Sequences, pair: tuple[int, int], pairs: int, options: AlignmentOptions
) -> dict[str, object]:
    """Calibrate one pair and describe its alignment."""
    from heartfelt.screening._kernels_alignment import best_elsewhere, pair_weight

    i, j = pair
    names = (view.raters[found.rater[i]], view.raters[found.rater[j]])
    weight = float(pair_weight(found.covariance[i], found.covariance[j]))
    score, centre, steep = _calibrate(found, pair, found.shared_order, weight, names, options)
    p = p_left = _tail(score, centre, steep)
    if not found.shared_order:
        p_left = _tail(*_calibrate(found, pair, True, weight, names, options))
    a, b = found.of(i, found.shared_order), found.of(j, found.shared_order)
    elsewhere = float(best_elsewhere(a, b, found.stimuli_of(i), options.how, weight)) / score
    adjusted = min(1.0, p * pairs)
    return {
        "rater": names[0],
        "other": names[1],
        "score": score,
        "needed": centre + (float(-np.log(-np.log1p(-options.alpha / pairs))) - EULER) / steep,
        "p": p,
        "p_adjusted": adjusted,
        "p_residual": p_left,
        "elsewhere": elsewhere,
        **_describe(view, found, pair, weight, options),
        "copies": adjusted < options.alpha and p_left < CONFIRM and elsewhere < ELSEWHERE,
    }


def _calibrate(
    found: Sequences,
    pair: tuple[int, int],
    residual: bool,
    weight: float,
    names: tuple[str, str],
    options: AlignmentOptions,
) -> tuple[float, float, float]:
    """The pair's score, and mean and steepness of the Gumbel fitted to its surrogates."""
    from heartfelt.screening._kernels_alignment import align, surrogate_scores

    i, j = pair
    a, b = found.of(i, residual), found.of(j, residual)
    sa, sb = found.stimuli_of(i), found.stimuli_of(j)
    score = float(align(a, b, sa, sb, options.how, weight))
    seeds = [derived_seed(options.seed, "panel", "collusion", *names, way) for way in ("second", "first")]
    null = np.concatenate(
        [
            surrogate_scores(a, b, sa, options.how, weight, options.block, options.draws, seeds[0]),
            surrogate_scores(b, a, sb, options.how, weight, options.block, options.draws, seeds[1]),
        ]
    )
    # Two standard errors on top: among many pairs, the one whose spread came out too small would stand out.
    spread = float(null.std()) * (1.0 + 2.0 * np.sqrt((GUMBEL_KURTOSIS - 1.0) / 4.0 / null.size))
    return (
        score,
        float(null.mean()),
        min(STEEPEST, float(np.pi / (spread * np.sqrt(6)))) if spread > 0 else STEEPEST,
    )


def _tail(score: float, centre: float, steep: float) -> float:
    return float(-np.expm1(-np.exp(-(steep * (score - centre) + EULER))))


def _describe(
    view: RatingsView, found: Sequences, pair: tuple[int, int], weight: float, options: AlignmentOptions
) -> dict[str, float]:
    """Positions aligned, correlation over them, share of equal answers, the share expected by chance, and offsets.

    By chance, any answer of one rater to a question may meet any answer of the other.
    """
    from heartfelt.screening._kernels_alignment import path

    i, j = pair
    a, b = found.of(i, found.shared_order), found.of(j, found.shared_order)
    steps = path(a, b, found.stimuli_of(i), found.stimuli_of(j), options.how, weight)[::-1]
    u, v = a[steps[:, 0]].ravel(), b[steps[:, 1]].ravel()
    both = np.isfinite(u) & np.isfinite(v)
    u, v = u[both] - u[both].mean(), v[both] - v[both].mean()
    scale = float(np.sqrt((u @ u) * (v @ v)))
    answers = view.remember(("answers by trial",), lambda: _answers(view, found))
    mine, other = answers[found.edges[i] + steps[:, 0]], answers[found.edges[j] + steps[:, 1]]
    known = np.isfinite(mine) & np.isfinite(other)
    equal = float((mine == other)[known].mean())
    offsets = steps[:, 1] - steps[:, 0]
    return {
        "trials": len(steps),
        "correlation": float(u @ v) / scale if scale > 0 else 0.0,
        "equal": equal,
        "expected_equal": _by_chance(mine, other, known),
        "first_offset": int(offsets[0]),
        "last_offset": int(offsets[-1]),
    }


def _by_chance(mine: Floats, other: Floats, known: Bools) -> float:
    """The share of equal answers if the aligned answers of either rater came in any order, question by question."""
    total = 0.0
    for c in range(mine.shape[1]):
        a, b = mine[known[:, c], c], other[known[:, c], c]
        if a.size:
            levels, times = np.unique(a, return_counts=True)
            total += sum(int(n) * int((b == v).sum()) for v, n in zip(levels, times, strict=True)) / a.size
    return total / max(int(known.sum()), 1)


def _answers(view: RatingsView, found: Sequences) -> Floats:
    """The plain answers behind the sequences, row by row."""
    mine = view.channels
    out = np.full((found.stimulus.size, found.channel.size), np.nan)
    where = np.full(len(view.raters), -1)
    where[found.rater] = np.arange(found.rater.size)
    used = np.isin(mine.channel, found.channel) & (where[mine.rater] >= 0)
    trial, start = mine.trial[used], np.full(len(view.raters), np.iinfo(np.int64).max)
    np.minimum.at(start, mine.rater, mine.trial)
    sequence = where[mine.rater[used]]
    row = found.edges[sequence] + trial - start[mine.rater[used]]
    out[row, np.searchsorted(found.channel, mine.channel[used])] = mine.value[used]
    return out


class Groups:
    """Numbers joined into groups."""

    def __init__(self) -> None:
        self._leader: dict[int, int] = {}

    def find(self, member: int) -> int:
        """The number that stands for the member's group."""
        while self._leader.get(member, member) != member:
            self._leader[member] = member = self._leader.get(self._leader[member], self._leader[member])
        return member

    def join(self, one: int, other: int) -> None:
        """Make one group of two."""
        for member in (one, other):
            self._leader.setdefault(member, member)
        self._leader[self.find(one)] = self.find(other)

    def groups(self) -> list[list[int]]:
        """The groups of two or more."""
        found: dict[int, list[int]] = {}
        for member in self._leader:
            found.setdefault(self.find(member), []).append(member)
        return list(found.values())
