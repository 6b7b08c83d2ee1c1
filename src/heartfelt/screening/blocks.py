"""One rater's ratings as a small block: trials down, channels across, in presentation order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heartfelt.screening.view import Bools, RatingsView
from heartfelt.stats.triples import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Answers and predictions of one rater. ``seen`` says where there is an answer; elsewhere both are 0."""

    rater: int
    answers: Floats
    predictions: Floats
    seen: Bools
    stimulus: Ints
    channel: Ints

    @property
    def ratings(self) -> int:
        """How many answers the block holds."""
        return int(np.count_nonzero(self.seen))


def blocks(view: RatingsView) -> Iterator[Block]:
    """The block of every rater with an answer. Cells in all: at most ratings x channels of a rater."""
    mine, others = view.channels, view.consensus
    edges = np.searchsorted(mine.rater, np.arange(len(view.raters) + 1))
    for rater, (start, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        if start == end:
            continue
        rows = slice(start, end)
        trials, row = np.unique(mine.trial[rows], return_inverse=True)
        channel, column = np.unique(mine.channel[rows], return_inverse=True)
        shape = (trials.size, channel.size)
        answers, predictions = np.zeros(shape), np.zeros(shape)
        seen = np.zeros(shape, dtype=bool)
        answers[row, column] = mine.value[rows]
        predictions[row, column] = others.prediction[rows]
        seen[row, column] = True
        stimulus = np.zeros(trials.size, dtype=np.int64)
        stimulus[row] = mine.stimulus[rows]
        yield Block(rater, answers, predictions, seen, stimulus, channel)
