"""Answer sequences made comparable between raters, and the pairs of raters worth comparing.

A sequence is a rater's answers in presentation order, one column per channel: centred, with slow drift removed (a running
mean over ``2 * DRIFT + 1`` trials, so that two raters who both tire do not look alike), scaled to standard deviation 1
and cut off at ``CLIP``. In the residual sequence, what the stimuli predict has also been removed, by regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heartfelt.screening.view.ratings import Bools, RaterBlock, RatingsView
from heartfelt.stats.columns.triples import Floats, Ints

DRIFT = 7
CLIP = 2.5
LEAST_TRIALS = 12
MOST_CHANNELS = 12
ALL_PAIRS_UP_TO = 1000
SHARED_ORDER = 1e-4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sequences:
    """Sequences one after another; rater ``i`` of ``rater`` has the rows ``edges[i]`` to ``edges[i + 1]``.

    ``answers`` are as given, ``raw`` and ``residual`` as the module describes.
    """

    rater: Ints
    edges: Ints
    answers: Floats
    raw: Floats
    residual: Floats
    stimulus: Ints
    row: Ints
    """For each row, its trial's place in the rater's order, from 0."""
    covariance: Floats
    channel: Ints
    shared_order: bool
    """Whether raters met similar stimuli at the same places, so that careful raters run in parallel too."""

    def of(self, index: int, residual: bool = False) -> Floats:
        values = self.residual if residual else self.raw
        return values[self.edges[index] : self.edges[index + 1]]

    def stimuli_of(self, index: int) -> Ints:
        return self.stimulus[self.edges[index] : self.edges[index + 1]]


def comparable_sequences(view: RatingsView) -> Sequences | str:
    if not view.ordered.any():
        return "the order of presentation is not known"
    long = [block for block in view.blocks() if view.ordered[block.rater] and block.answers.shape[0] >= LEAST_TRIALS]
    if len(long) < 2:
        return f"fewer than two raters have {LEAST_TRIALS} trials in a known order"
    shared = _shared_channels(long, len(view.channels.question))
    if not shared.size:
        return "no question was answered on most trials, so there are no sequences to compare"
    pairs = [(block, columns) for block in long if (columns := _sequence(block, shared)) is not None]
    if len(pairs) < 2:
        return "fewer than two raters gave answers that vary"
    blocks, varying = zip(*pairs, strict=True)
    answers, raw, residual = np.concatenate(varying, axis=1)
    lengths = [columns.shape[1] for columns in varying]
    return Sequences(
        rater=np.array([block.rater for block in blocks]),
        edges=np.concatenate([[0], np.cumsum(lengths)]),
        answers=answers,
        raw=raw,
        residual=residual,
        stimulus=np.concatenate([block.stimulus for block in blocks]),
        row=np.concatenate([np.arange(n) for n in lengths]),
        covariance=np.stack([_covariance(columns[1]) for columns in varying]),
        channel=shared,
        shared_order=shared_order(blocks),
    )


def shared_order(blocks: Sequence[RaterBlock]) -> bool:
    """Whether what the stimuli predict depends on the place in the order: an analysis of variance by place, p < 0.0001."""
    from scipy.special import fdtrc

    for channel in np.unique(np.concatenate([block.channel for block in blocks])).tolist():
        positions, x = [], []
        for block in blocks:
            at = np.flatnonzero(block.channel == channel)
            if at.size:
                rows = np.flatnonzero(block.seen[:, at[0]])
                positions.append(rows)
                x.append(block.predictions[rows, at[0]] - block.predictions[rows, at[0]].mean())
        every_position, values = np.concatenate(positions), np.concatenate(x)
        n = np.bincount(every_position)
        between = float((np.bincount(every_position, values) ** 2 / np.maximum(n, 1)).sum())
        within = float(values @ values) - between
        groups = int((n > 0).sum())
        if groups < 2 or values.size <= groups or float(values @ values) <= 1e-12:
            continue
        if within <= 1e-12 * float(values @ values):
            return True
        ratio = (between / (groups - 1)) / (within / (values.size - groups))
        if float(fdtrc(groups - 1, values.size - groups, ratio)) < SHARED_ORDER:
            return True
    return False


def _shared_channels(long: list[RaterBlock], channels: int) -> Ints:
    """The channels most raters answered on most trials, at most ``MOST_CHANNELS``."""
    count = np.zeros(channels)
    for block in long:
        count[block.channel] += block.seen.mean(axis=0) >= 0.5
    order = np.argsort(-count, kind="stable")[:MOST_CHANNELS]
    return np.sort(order[count[order] >= 0.5 * len(long)])


def _sequence(block: RaterBlock, shared: Ints) -> Floats | None:
    """The answers, the raw and the residual sequence, NaN where there is no answer; None if nothing varies."""
    out = np.full((3, block.answers.shape[0], shared.size), np.nan)
    varies = False
    for index, channel in enumerate(shared.tolist()):
        at = np.flatnonzero(block.channel == channel)
        if not at.size:
            continue
        answered = block.seen[:, at[0]]
        y, x = block.answers[answered, at[0]], block.predictions[answered, at[0]]
        out[0, answered, index] = y
        if y.size < LEAST_TRIALS:
            continue
        y, x = y - y.mean(), x - x.mean()
        strength = float(x @ x)
        residual = y - x * (float(x @ y) / strength) if strength > 1e-12 else y
        out[1, :, index], moved = _comparable(y, answered)
        out[2, :, index], _ = _comparable(residual, answered)
        varies = varies or moved
    return out if varies else None


def _comparable(values: Floats, answered: Bools) -> tuple[Floats, bool]:
    n = values.size
    # A running mean by cumulative sums: one pass, whatever the window.
    total = np.concatenate([[0.0], np.cumsum(values)])
    trial = np.arange(n)
    low, high = np.maximum(0, trial - DRIFT), np.minimum(n, trial + DRIFT + 1)
    values = values - (total[high] - total[low]) / (high - low)
    spread = float(values.std())
    out = np.full(answered.size, np.nan)
    if spread <= 1e-9:
        return out, False
    out[answered] = np.clip(values / spread, -CLIP, CLIP)
    return out, True


def _covariance(sequence: Floats) -> Floats:
    filled = np.where(np.isfinite(sequence), sequence, 0.0)
    covariance: Floats = filled.T @ filled / max(sequence.shape[0], 1)
    return covariance


def candidate_pairs(sequences: Sequences, band: int) -> tuple[Ints, Ints]:
    """Pairs to align: all of them, or beyond ``ALL_PAIRS_UP_TO`` raters those that share an answer n-gram.

    The n-gram is of signs (above or below the rater's own running mean), long enough that unrelated raters seldom share
    one at about the same place. It finds copies that follow closely for a stretch; cost is near linear in trials.
    """
    size = sequences.rater.size
    if size <= ALL_PAIRS_UP_TO:
        first, second = np.triu_indices(size, 1)
        return first.astype(np.int64), second.astype(np.int64)
    from heartfelt.screening.sequences.alignment_kernels import shared_grams

    bits = min(3, sequences.channel.size)
    sign = sequences.raw[:, :bits] > 0
    symbol = (sign * (1 << np.arange(bits))).sum(axis=1).astype(np.uint64)
    owner = np.repeat(np.arange(size), np.diff(sequences.edges))
    length = max(3, int(np.ceil((np.log2(symbol.size) + 1) / bits)))
    gram = np.zeros(symbol.size - length + 1, dtype=np.uint64)
    for step in range(length):
        gram = gram * np.uint64(1 << bits) + symbol[step : step + gram.size]
    within_rater = owner[: gram.size] == owner[length - 1 :]
    gram, rater, position = (
        gram[within_rater],
        owner[: within_rater.size][within_rater],
        sequences.row[: within_rater.size][within_rater],
    )
    order = np.lexsort((rater, position, gram))
    pairs = shared_grams(gram[order], rater[order], position[order], band, 64, 64 * gram.size)
    if not pairs.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # A pair may share several grams; it is aligned once.
    key = np.unique(pairs[:, 0] * size + pairs[:, 1])
    return key // size, key % size
