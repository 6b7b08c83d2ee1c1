"""Paired comparisons beside their peers, and what adaptive pairing saves: ``python -m benchmarks comparisons``.

Best CPU time of several warm runs. choix fits a twentieth of the comparisons, which the row says.

The second part simulates arenas of 10 and 100 systems (60 comparisons per system by random pairing) whose strengths are normal
with a standard deviation of 1, 1.5 and 2: the share of comparisons that adaptive pairing saves until its widest, and its mean,
interval is as wide as that of random pairing, and how often intervals cover at 70% of the comparisons. ``HEARTFELT_REPEATS``
multiplies the number of arenas of each kind.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.stats import bootstrap_strengths, bradley_terry, davidson
from heartfelt.stats.comparison.strengths.pairing import PairSchedule
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream

Floats = npt.NDArray[np.float64]
COMPARISONS, SYSTEMS = 1_000_000, 1_000
PER_SYSTEM = 60
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
AT = SHARES.index(0.7)


def best(run: Callable[[], object], runs: int = 5) -> float:
    """The best time of several runs, in seconds."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def speed() -> None:
    """Point estimates of a million comparisons, with the names as they come; then bootstrap resamples."""
    rng = stream(0, "benchmark", "comparisons")
    truth = rng.normal(0, 1, SYSTEMS)
    first = rng.integers(0, SYSTEMS, COMPARISONS)
    second = (first + rng.integers(1, SYSTEMS, COMPARISONS)) % SYSTEMS
    value = (rng.random(COMPARISONS) < 1 / (1 + np.exp(truth[second] - truth[first]))) * 1.0
    value[rng.random(COMPARISONS) < 0.1] = 0.5
    names = np.array([f"system-{i:04d}" for i in range(SYSTEMS)])
    xs, ys = names[first].tolist(), names[second].tolist()
    columns = pl.Series(xs), pl.Series(ys)
    evalica, choix = _evalica(xs, ys, value), _choix(first, second, value)
    for name, model in (("Bradley-Terry", bradley_terry), ("Davidson", davidson)):
        for kind, given in (("columns", columns), ("lists", (xs, ys))):
            ours = best(partial(model, None, given[0], given[1], value, intervals=False))
            note = _ratio("evalica", evalica, ours) + _ratio("choix", choix, ours)
            print(f"{name}, 1,000,000 comparisons of 1,000 systems, {kind}: {ours:.3f} s{note}", flush=True)
    few = rng.integers(0, 20, 20_000)
    others = (few + rng.integers(1, 20, few.size)) % 20
    chosen = (rng.random(few.size) < 1 / (1 + np.exp(truth[others] - truth[few]))) * 1.0
    raters = rng.integers(0, 200, few.size)
    seconds = best(lambda: bootstrap_strengths(raters, few, others, chosen, resamples=10_000), 2)
    print(f"10,000 bootstrap resamples of 20 systems, 20,000 comparisons: {seconds:.2f} s", flush=True)


def _ratio(name: str, theirs: float | None, ours: float) -> str:
    return "" if theirs is None else f"; {name} {theirs:.2f} s ({theirs / ours:.1f}x)"


def _evalica(xs: list[str], ys: list[str], value: Floats) -> float | None:
    try:
        import evalica  # type: ignore[import-not-found,unused-ignore]  # may not be installed
    except ImportError:
        return None
    kinds = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    winners = [kinds[each] for each in value.tolist()]
    return best(lambda: evalica.bradley_terry(xs, ys, winners))


def _choix(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], value: Floats) -> float | None:
    try:
        import choix  # type: ignore[import-not-found,unused-ignore]  # may not be installed
    except ImportError:
        return None
    won = np.where(value > 0.5, first, second)[::20], np.where(value > 0.5, second, first)[::20]
    data = list(zip(won[0].tolist(), won[1].tolist(), strict=True))
    seconds = 20 * best(lambda: choix.opt_pairwise(SYSTEMS, data), 1)
    print("choix.opt_pairwise: 20 times its time on 50,000 comparisons", flush=True)
    return seconds


# --- adaptive pairing -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Saving:
    """Adaptive against random pairing in simulated arenas."""

    widest: float
    """Share of comparisons saved until the widest interval is as wide as that of random pairing."""
    mean: float
    """The same for the mean width."""
    cover_reached: float
    """Share of posterior intervals that hold the strength where the widest is as wide as that of random pairing."""
    cover: float
    """The same at 70% of the comparisons."""
    cover_likelihood: float
    """The same for intervals of maximum likelihood."""
    cover_random: float


def simulate(systems: int, spread: float, repeats: int, seed: int = 0) -> Saving:
    """Arenas of normal strengths with a standard deviation of ``spread``."""
    total = PER_SYSTEM * systems
    widths, random_widths, covers = [], [], []
    for repeat in range(repeats):
        rng = stream(seed, "benchmark", "pairing", systems, round(10 * spread), repeat)
        truth = rng.normal(0, spread, systems)
        truth -= truth.mean()
        log = _Log(truth, rng, seed + repeat)
        each, hits, likelihood = [], [], 0.0
        for share in SHARES:
            log.continue_to(round(share * total), adaptive=True)
            estimates = log.pairing.estimates()
            each.append(_widths(estimates))
            hits.append(_covered(estimates, truth))
            if share == SHARES[AT]:
                likelihood = log.covered_by_likelihood()
        widths.append(each)
        plain = _Log(truth, rng, seed + repeat)
        plain.continue_to(total, adaptive=False)
        estimates = plain.pairing.estimates()
        random_widths.append(_widths(estimates))
        covers.append((*hits, likelihood, _covered(estimates, truth)))
    curve, goal = np.median(widths, axis=0), np.median(random_widths, axis=0)
    saved = [1 - float(np.interp(-goal[k], -curve[:, k], SHARES)) for k in (0, 1)]
    *cover, likelihood, random_cover = np.mean(covers, axis=0).tolist()
    reached = float(np.interp(1 - saved[0], SHARES, cover))
    return Saving(saved[0], saved[1], reached, cover[AT], likelihood, random_cover)


class _Log:
    """The comparisons of one arena."""

    def __init__(self, truth: Floats, rng: np.random.Generator, seed: int) -> None:
        self._truth, self._rng = truth, rng
        self.pairing = PairSchedule(truth.size, seed=seed)
        self.rows: list[tuple[int, int, float]] = []

    def continue_to(self, count: int, *, adaptive: bool) -> None:
        size = self._truth.size
        while len(self.rows) < count:
            if adaptive:
                pairs = self.pairing.next_pairs(size // 2).tolist()
            else:
                first = self._rng.integers(0, size, size // 2)
                pairs = np.column_stack([first, (first + self._rng.integers(1, size, size // 2)) % size]).tolist()
            for first, second in pairs:
                chance = 1 / (1 + np.exp(self._truth[second] - self._truth[first]))
                value = float(self._rng.random() < chance)
                self.pairing.add(first, second, value)
                self.rows.append((first, second, value))

    def covered_by_likelihood(self) -> float:
        result = bradley_terry(None, *(list(column) for column in zip(*self.rows, strict=True)))
        known = [(e, self._truth[n]) for n, e in zip(result.names, result.strengths, strict=True) if e.low is not None]
        return _covered([each for each, _ in known], np.array([truth for _, truth in known]))


def _widths(estimates: tuple[Estimate, ...]) -> tuple[float, float]:
    widths = np.array([(each.high or 0.0) - (each.low or 0.0) for each in estimates])
    return float(widths.max()), float(widths.mean())


def _covered(estimates: list[Estimate] | tuple[Estimate, ...], truth: Floats) -> float:
    bounds = np.array([(each.low, each.high) for each in estimates], np.float64)
    return float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])))


def main() -> None:
    """Print both parts."""
    speed()
    scale = float(os.environ.get("HEARTFELT_REPEATS", "1"))
    print("Adaptive pairing: comparisons saved at the width of random pairing (80% at most), coverage of 95% intervals")
    for systems, repeats in ((10, 60), (100, 3)):
        for spread in (1.0, 1.5, 2.0):
            made = simulate(systems, spread, max(round(scale * repeats), 1))
            print(
                f"{systems:>4} systems, sd {spread:.1f}: widest interval {made.widest:4.0%} saved, mean width"
                f" {made.mean:4.0%}; cover {made.cover_reached:.3f} there, {made.cover:.3f} at 70% (maximum likelihood"
                f" {made.cover_likelihood:.3f}, random pairing at 100% {made.cover_random:.3f})",
                flush=True,
            )
