"""What everybody else's answers say about the stimulus a rater answered about.

For an answer of rater ``r`` to stimulus ``s``, the *prediction* is the best linear guess of what an average rater
would say about ``s``, made without any answer of ``r``: other raters' answers, each less its rater's own mean, are
averaged over the (system, intent) cell and over the stimulus, and both averages are shrunk by how far they can be
trusted (a nested random-effects model: cell, stimulus within cell, answer; variance parts by the moments of the
nested analysis of variance, Searle, Casella and McCulloch 1992, ch. 3). With few answers a stimulus the prediction
leans on the cell, with many on the stimulus itself.

Unit: scale points around the rater's mean. ``others`` is the plain mean of the other raters' answers to the stimulus,
NaN where nobody else answered.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from heartfelt.stats.columns.triples import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class RaterConsensus:
    """Parallel to the channels: prediction, plain mean of the others, and how many others answered."""

    prediction: Floats
    others: Floats
    count: Ints


@dataclass(frozen=True, slots=True)
class AnswerVarianceParts:
    """Variance between cells, between stimuli of a cell, and between answers to one stimulus."""

    cell: float
    stimulus: float
    answer: float


def consensus(rater: Ints, stimulus: Ints, cell_of: Ints, channel: Ints, value: Floats) -> RaterConsensus:
    """Predict every answer from the other raters', channel by channel."""
    prediction = np.zeros(value.size)
    others_mean = np.full(value.size, np.nan)
    count = np.zeros(value.size, dtype=np.int64)
    order = np.argsort(channel, kind="stable")
    edges = np.flatnonzero(np.diff(channel[order], prepend=-1, append=-1))
    for start, end in itertools.pairwise(edges.tolist()):
        rows = order[start:end]
        r, s, v = rater[rows], stimulus[rows], value[rows]
        centred = v - (np.bincount(r, v) / np.maximum(np.bincount(r), 1))[r]
        answer_group = _own_answers(r, s)
        prediction[rows] = _predict(r, s, cell_of[s], centred, answer_group)
        n, total = _left_out(answer_group, s, v)
        count[rows] = n
        others_mean[rows] = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return RaterConsensus(prediction, others_mean, count)


def variance_parts(stimulus: Ints, cell: Ints, value: Floats) -> AnswerVarianceParts:
    """Moment estimates of the nested variance parts; negative ones are set to zero."""
    size = value.size
    n_s, sum_s = np.bincount(stimulus).astype(np.float64), np.bincount(stimulus, value)
    n_c, sum_c = np.bincount(cell).astype(np.float64), np.bincount(cell, value)
    cell_of = np.zeros(n_s.size, dtype=np.int64)
    cell_of[stimulus] = cell
    between_s = float((sum_s**2 / np.maximum(n_s, 1)).sum())
    between_c = float((sum_c**2 / np.maximum(n_c, 1)).sum())
    stimuli, cells = int((n_s > 0).sum()), int((n_c > 0).sum())
    answer = max(0.0, (float((value**2).sum()) - between_s) / max(size - stimuli, 1))
    squares = float((np.bincount(cell_of, n_s**2, n_c.size) / np.maximum(n_c, 1)).sum())
    stimulus_part = 0.0
    if stimuli > cells and size > squares:
        weight = (size - squares) / (stimuli - cells)
        stimulus_part = max(0.0, ((between_s - between_c) / (stimuli - cells) - answer) / weight)
    cell_part = 0.0
    if cells > 1:
        within = (squares - float((n_s**2).sum()) / size) / (cells - 1)
        weight = (size - float((n_c**2).sum()) / size) / (cells - 1)
        mean_square = (between_c - size * float(value.mean()) ** 2) / (cells - 1)
        cell_part = max(0.0, (mean_square - answer - within * stimulus_part) / weight)
    return AnswerVarianceParts(cell_part, stimulus_part, answer)


def _predict(rater: Ints, stimulus: Ints, cell: Ints, value: Floats, answer_group: Ints) -> Floats:
    parts = variance_parts(stimulus, cell, value)
    n_s, sum_s = _left_out(answer_group, stimulus, value)
    n_c, sum_c = _left_out(_own_answers(rater, cell), cell, value)
    per_stimulus = max(1.0, value.size / max(1, int((np.bincount(stimulus) > 0).sum())))
    noise_c = parts.answer / np.maximum(n_c, 1) + parts.stimulus / np.maximum(n_c / per_stimulus, 1)
    about_cell = _share(parts.cell, noise_c) * np.where(n_c > 0, sum_c / np.maximum(n_c, 1), 0.0)
    trust = np.where(n_s > 0, _share(parts.stimulus, parts.answer / np.maximum(n_s, 1)), 0.0)
    return about_cell + trust * (np.where(n_s > 0, sum_s / np.maximum(n_s, 1), 0.0) - about_cell)


def _share(signal: float, noise: Floats) -> Floats:
    """Signal over signal plus noise; 0 where there is neither."""
    total = signal + noise
    share: Floats = np.divide(np.full(total.shape, signal), total, out=np.zeros(total.shape), where=total > 0)
    return share


def _own_answers(rater: Ints, group: Ints) -> Ints:
    """Codes that are the same for the answers of one rater in one group."""
    groups = int(group.max()) + 1 if group.size else 1
    key = rater * groups + group
    # Codes as they are serve bincount unless nearly all pairs of rater and group are empty: memory grows with the ratings.
    if not key.size or (int(rater.max()) + 1) * groups <= 4 * key.size:
        return key
    answer_group: Ints = np.unique(key, return_inverse=True)[1].astype(np.int64, copy=False)
    return answer_group


def _left_out(answer_group: Ints, group: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Count and sum of the values in each row's group, without those of the row's rater (``answer_group``)."""
    n = np.bincount(group)[group] - np.bincount(answer_group)[answer_group]
    total = np.bincount(group, value)[group] - np.bincount(answer_group, value)[answer_group]
    return n.astype(np.int64), total.astype(np.float64)
