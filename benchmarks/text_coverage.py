"""How often the intervals of vocabulary, entropy and the diversity measures cover: ``python -m benchmarks text_coverage``.

Texts are made of 20 words on average, drawn from a Zipf-Mandelbrot vocabulary of 20,000 words that is reordered for each of 40
topics; a text takes 40% of its words from its topic. The target is the mean of the measure over many sets of as many texts.
A percentile bootstrap over texts is shown for comparison.
"""

from __future__ import annotations

import sys

import numpy as np

from heartfelt.stats.texts.diversity import MEASURES, diversity
from heartfelt.streams import stream

VOCABULARY, TOPICS, SHARE = 20_000, 40, 0.4
RESAMPLES = 100


class Writer:
    """Draws texts of words named by their number."""

    def __init__(self) -> None:
        draw = stream(14, "benchmarks", "topics")
        weight = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.3
        self.edges = np.cumsum(weight / weight.sum())
        self.order = np.array([draw.permutation(VOCABULARY) for _ in range(TOPICS)])

    def texts(self, draw: np.random.Generator, number: int) -> list[str]:
        out = []
        for topic in draw.integers(0, TOPICS, number):
            length = 5 + draw.poisson(15)
            rank = np.minimum(np.searchsorted(self.edges, draw.random(length)), VOCABULARY - 1)
            special = draw.random(length) < SHARE
            out.append(" ".join(map(str, np.where(special, self.order[topic][rank], rank).tolist())))
        return out


def coverage(number: int, sets: int, bootstrapped: int = 0) -> None:
    """Print, for sets of ``number`` texts, the share of intervals that contain the mean over all sets."""
    writer, draw = Writer(), stream(14, "benchmarks", "coverage", number)
    made = [writer.texts(draw, number) for _ in range(sets)]
    results = [diversity(texts) for texts in made]
    boot = [
        [diversity([texts[i] for i in draw.integers(0, number, number)]) for _ in range(RESAMPLES)]
        for texts in made[:bootstrapped]
    ]
    for name, words in MEASURES.items():
        estimates = [getattr(result, name) for result in results]
        if any(estimate.low is None for estimate in estimates):
            print(
                f"{number:6,d} texts  {words:26s} no interval: {estimates[0].why_no_interval or estimates[0].why_missing}"
            )
            continue
        values = np.array([estimate.value for estimate in estimates])
        low, high = (np.array([getattr(e, side) for e in estimates]) for side in ("low", "high"))
        hit = np.mean((low <= values.mean()) & (values.mean() <= high))
        ratio = np.mean((high - low) / 2 / 1.96) / values.std(ddof=1)
        line = f"{number:6,d} texts  {words:26s} covers {hit:.3f}  half-width / 1.96 SD {ratio:.2f}"
        if boot:
            drawn = np.array([[getattr(result, name).value for result in own] for own in boot])
            ends = np.quantile(drawn, [0.025, 0.975], axis=1)
            line += f"  bootstrap covers {np.mean((ends[0] <= values.mean()) & (values.mean() <= ends[1])):.3f}"
        print(line, flush=True)


def main() -> None:
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    for number, bootstrapped in ((20, 0), (50, 0), (200, 40), (1000, 0)):
        coverage(number, sets if number < 1000 else sets // 4, bootstrapped)


if __name__ == "__main__":
    main()
