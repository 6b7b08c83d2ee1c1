"""Bias and coverage of set distances in simulations with known truth: ``python -m benchmarks set_distances``.

Normal sets in several dimensions and sizes, the same population or another, independent or made from the same prompts. Prints, for
each distance, its mean error and spread, how often its 95% interval holds, and the interval's width over 3.92 spreads; for the
Fréchet distance also the mean error of the other corrections. The truths are closed forms. The table of docs/stats/set-distance.md.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.groups.set_distance import frechet_distance, kernel_distance
from heartfelt.streams import stream

RUNS = 100
SIZES = ((20, 20), (100, 100), (130, 660))
SPACES = ((4, 0.0), (16, 0.5), (64, 1.0))
"""Dimensions, and how fast their variances fall: the k-th is k to the minus so much."""


def kernel_truth(shift: Floats, variance: Floats, other: Floats, width: float) -> float:
    """The squared maximum mean discrepancy, in hundredths."""

    def expected(apart: Floats, sum_of: Floats) -> float:
        total = width**2 + sum_of
        return float(np.prod(np.sqrt(width**2 / total)) * np.exp(-0.5 * np.sum(apart**2 / total)))

    none = np.zeros_like(shift)
    return 100 * (expected(none, 2 * variance) + expected(none, 2 * other) - 2 * expected(shift, variance + other))


def report(name: str, estimates: list[Estimate], truth: float) -> None:
    """One line of figures."""
    value = np.array([float(estimate) for estimate in estimates])
    words = f"  {name:34} truth {truth:6.3f}  error {value.mean() - truth:+.3f}  spread {value.std():.3f}"
    bounds = [(row.low, row.high) for row in estimates if row.low is not None and row.high is not None]
    if bounds:
        covered = np.mean([low <= truth <= high for low, high in bounds])
        width = np.mean([high - low for low, high in bounds]) / (3.92 * value.std())
        words += f"  covers {covered:.3f}  width {width:.2f}"
    print(words, flush=True)


def main() -> None:
    """All cases."""
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    for dimensions, decay in SPACES:
        variance = np.arange(1, dimensions + 1.0) ** -decay
        width = math.sqrt(2 * variance.sum())
        for same in (True, False):
            draw = stream(1, "set distances", dimensions, int(same))
            shift = np.zeros(dimensions) if same else 0.2 * np.sqrt(variance) * draw.normal(size=dimensions)
            other = variance if same else variance * np.exp(0.3 * draw.normal(size=dimensions))
            frechet = float(np.sum(shift**2) + np.sum((np.sqrt(variance) - np.sqrt(other)) ** 2))
            kernel = kernel_truth(shift, variance, other, width)
            for n, m in (*SIZES, (27, 135)):
                prompts = m == 135
                print(f"{dimensions} dimensions, {'same' if same else 'other'} population, {n} and {m}"
                      f"{' from 27 prompts' if prompts else ''}")  # fmt: skip
                rows: dict[str, list[Estimate]] = {}
                groups = (np.arange(n) % 27, np.arange(m) % 27) if prompts else None
                for _ in range(runs):
                    common = draw.normal(size=(27, dimensions))
                    x, y = (
                        math.sqrt(0.6) * common[np.arange(size) % 27]
                        + math.sqrt(0.4) * draw.normal(size=(size, dimensions))
                        if prompts
                        else draw.normal(size=(size, dimensions))
                        for size in (n, m)
                    )
                    x, y = x * np.sqrt(variance), shift + y * np.sqrt(other)
                    for correction in ("none", "extrapolation", "jackknife"):
                        estimate = frechet_distance(x, y, groups=groups, correction=correction)
                        rows.setdefault(f"Fréchet, {correction}", []).append(estimate)
                    rows.setdefault("kernel", []).append(kernel_distance(x, y, groups=groups, bandwidth=width))
                    if prompts:
                        rows.setdefault("Fréchet, prompts ignored", []).append(frechet_distance(x, y))
                        rows.setdefault("kernel, prompts ignored", []).append(kernel_distance(x, y, bandwidth=width))
                for name, estimates in rows.items():
                    report(name, estimates, kernel if name.startswith("kernel") else frechet)


if __name__ == "__main__":
    main()
