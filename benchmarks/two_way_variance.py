"""The variance of statistics whose raters and stimuli are both samples: ten ways to put it together, compared in simulations.

Every way starts from the same three variances, of leaving out stimuli, raters and single ratings. What is printed: how often
the 95% interval holds the truth, and its width over 3.92 standard deviations of the estimates. The table of
docs/stats/coverage.md comes from ``HEARTFELT_BENCH=full`` (about ten minutes on one core).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, stdtrit

from heartfelt.analysis.systems.two_way import LEAST_RATERS, Changes, Stimuli, difference, mean_changes
from heartfelt.stats.reliability.two_way_jackknife import jackknife_variance

FULL = os.environ.get("HEARTFELT_BENCH") == "full"
STUDIES = 4000 if FULL else 100

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Everybody rates all stimuli, or ``per_rater`` of them drawn by lot."""

    raters: int
    stimuli: int
    per_rater: int

    @property
    def name(self) -> str:
        return f"{self.raters} raters, {self.stimuli} stimuli" + (
            "" if self.per_rater == self.stimuli else f", {self.per_rater} each"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spreads:
    """Standard deviations of raters, stimuli, raters' gains and tastes for systems, beside ratings whose noise is 1."""

    raters: float
    stimuli: float
    gains: float = 0.0
    tastes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Of every simulated study: the estimate, its three variances, and their degrees of freedom."""

    estimate: Floats
    stimuli: Floats
    raters: Floats
    ratings: Floats
    stimulus_df: Floats
    rater_count: Floats

    @property
    def beyond(self) -> Floats:
        """What raters add to the noise of their single ratings."""
        return np.maximum(self.raters - self.ratings, 0.0)


DESIGNS = tuple(
    Design(raters=raters, stimuli=stimuli, per_rater=per_rater)
    for raters, stimuli, per_rater in (
        (2, 10, 10), (2, 40, 40), (3, 10, 10), (3, 40, 40), (4, 10, 10), (4, 40, 40), (6, 40, 40), (8, 10, 10), (8, 40, 40),
        (24, 10, 10), (24, 40, 40), (60, 10, 10), (60, 40, 40), (6, 40, 20), (8, 40, 10), (12, 100, 25), (24, 40, 8),
        (60, 100, 10),
    )
)  # fmt: skip
SPREADS = tuple(
    Spreads(raters=raters, stimuli=stimuli)
    for raters, stimuli in ((0.0, 0.0), (0.0, 0.5), (0.5, 0.0), (0.5, 0.5), (1.0, 0.3), (0.2, 0.5))
)
GAINS = (Spreads(raters=0.5, stimuli=1.0, gains=0.35),)
TASTES = tuple(
    Spreads(raters=0.5, stimuli=stimuli, tastes=tastes)
    for stimuli, tastes in ((0.0, 0.0), (0.5, 0.0), (0.5, 0.3), (0.3, 0.7))
)


def satterthwaite(parts: Parts, factor: Floats | float, *, doubt: bool = True) -> tuple[Floats, Floats]:
    """Variance with the raters' part times ``factor``, and its degrees of freedom."""
    extra = factor * parts.beyond
    total = parts.stimuli + extra
    doubted = np.maximum(extra, np.minimum(parts.raters, parts.stimuli)) if doubt else extra
    below = parts.stimuli**2 / parts.stimulus_df + doubted**2 / (parts.rater_count - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return total, np.where(below > 0, np.maximum(total**2 / below, 1.0), 1.0)


def smallest_df(parts: Parts) -> Floats:
    return np.minimum(parts.stimulus_df, parts.rater_count - 1.0)


def cameron_gelbach_miller(parts: Parts) -> Floats:
    """The sum of their formula; the larger of one-way variances where it is not positive."""
    total = parts.stimuli + parts.raters - parts.ratings
    return np.where(total > 0, total, np.maximum(parts.stimuli, parts.raters))


def at_least_one_way(parts: Parts) -> Floats:
    total = parts.stimuli + parts.raters - parts.ratings
    return np.maximum(total, np.maximum(parts.stimuli, parts.raters))


NORMAL = np.float64(np.inf)
VARIANTS: dict[str, Callable[[Parts], tuple[Floats, Floats]]] = {
    "raters' part as it is": lambda p: satterthwaite(p, 1.0),
    "times 1 + 1/R": lambda p: satterthwaite(p, 1 + 1 / p.rater_count),
    "times 1 + 4/R": lambda p: satterthwaite(p, 1 + 4 / p.rater_count),
    "as it is, no doubt in df": lambda p: satterthwaite(p, 1.0, doubt=False),
    "as it is, smallest df": lambda p: (p.stimuli + p.beyond, smallest_df(p)),
    "as it is, normal quantile": lambda p: (p.stimuli + p.beyond, np.full(p.estimate.size, NORMAL)),
    "Cameron-Gelbach-Miller, normal quantile": lambda p: (cameron_gelbach_miller(p), np.full(p.estimate.size, NORMAL)),
    "Cameron-Gelbach-Miller, smallest df": lambda p: (cameron_gelbach_miller(p), smallest_df(p)),
    "no less than one way, smallest df": lambda p: (at_least_one_way(p), smallest_df(p)),
    "two terms, smallest df": lambda p: (p.stimuli + p.raters, smallest_df(p)),
}


def quantile(df: Floats) -> Floats:
    """The upper 2.5% point of Student's t."""
    return np.where(np.isinf(df), ndtri(0.975), stdtrit(np.where(np.isinf(df), 1.0, df), 0.975))


def plain_interval(parts: Parts, variance: Floats, df: Floats) -> tuple[Floats, Floats]:
    reach = quantile(df) * np.sqrt(variance)
    return parts.estimate - reach, parts.estimate + reach


def share_interval(parts: Parts, variance: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Korn and Graubard's, as ``stats.clustered`` makes it."""
    p = parts.estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.maximum(np.where(variance > 0, p * (1 - p) / variance, 1.0), 1.0)
        size *= (ndtri(0.975) / quantile(np.maximum(df, 1.0))) ** 2
        hits = p * size
        low = np.where(hits <= 1e-9, 0.0, betaincinv(np.maximum(hits, 1e-9), size - hits + 1, 0.025))
        high = np.where(size - hits <= 1e-9, 1.0, betaincinv(hits + 1, np.maximum(size - hits, 1e-9), 0.975))
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Simulated ratings, and which system each stimulus is of."""

    rater: npt.NDArray[np.int64]
    stimulus: npt.NDArray[np.int64]
    system: npt.NDArray[np.int64]
    value: Floats
    raters: int


def simulated(design: Design, spreads: Spreads, rng: np.random.Generator) -> Study:
    rater = np.repeat(np.arange(design.raters), design.per_rater)
    if design.per_rater == design.stimuli:
        stimulus = np.tile(np.arange(design.stimuli), design.raters)
    else:
        order = rng.random((design.raters, design.stimuli)).argsort(axis=1)
        stimulus = order[:, : design.per_rater].ravel()
    system = np.arange(design.stimuli) % 2
    value = spreads.raters * rng.standard_normal(design.raters)[rater]
    gain = 1.0 + spreads.gains * rng.standard_normal(design.raters)
    value += gain[rater] * spreads.stimuli * rng.standard_normal(design.stimuli)[stimulus]
    value += spreads.tastes * rng.standard_normal((design.raters, 2))[rater, system[stimulus]]
    value += rng.standard_normal(rater.size)
    return Study(rater=rater, stimulus=stimulus, system=system, value=value, raters=design.raters)


def changes_of(
    study: Study,
    value: Floats,
    score: Callable[[Floats, npt.NDArray[np.int64]], Floats],
    chosen: npt.NDArray[np.bool_] | None = None,
) -> Changes | None:
    """What ``analysis.two_way`` computes for the mean score of the stimuli."""
    size = study.system.size
    n = np.bincount(study.stimulus, minlength=size).astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(study.stimulus, value, size) / n
    names = [str(number) for number in range(size)]
    data = Stimuli(
        names=names, mean=mean[:, None], n=n[:, None], rater=study.rater, stimulus=study.stimulus, value=value[:, None],
        raters=study.raters,
        cell=study.system if chosen is not None else np.zeros(size, np.int64),
    )  # fmt: skip
    out = mean_changes(data, np.ones(size, bool) if chosen is None else chosen, score)
    return out if isinstance(out, Changes) else None


def first_column(mean: Floats, _: npt.NDArray[np.int64]) -> Floats:
    return mean[:, 0]


def distance_from_intent(mean: Floats, stimulus: npt.NDArray[np.int64]) -> Floats:
    return np.abs(mean[:, 0] - np.where(stimulus % 2, 0.6, -0.4))


def answers_of(study: Study, value: Floats) -> tuple[float, ...]:
    """The mean of answers, and the three variances of ``stats.clustered``."""
    centre = float(value.mean())
    part = (value - centre) / value.size
    out = []
    for codes in (study.stimulus, study.rater, np.arange(value.size)):
        sums = np.bincount(codes, part)
        count = np.unique(codes).size
        out.append(float(sums @ sums) * count / (count - 1))
    return (centre, *out, np.unique(study.stimulus).size - 1.0, float(study.raters))


def of_changes(changes: Changes | None) -> tuple[float, ...] | None:
    if changes is None:
        return None
    raters = changes.by_rater[changes.took_part]
    return (
        changes.value,
        changes.stimuli.variance,
        jackknife_variance(raters),
        changes.ratings.variance,
        changes.stimuli.df,
        float(raters.size),
    )


def _label_mean(study: Study) -> tuple[float, ...] | None:
    return of_changes(changes_of(study, study.value, first_column))


def _deviation(study: Study) -> tuple[float, ...] | None:
    return of_changes(changes_of(study, study.value, distance_from_intent))


def _systems_apart(study: Study) -> tuple[float, ...] | None:
    both = [changes_of(study, study.value, first_column, study.system == system) for system in (0, 1)]
    return None if both[0] is None or both[1] is None else of_changes(difference(both[0], both[1]))


def share_above(threshold: float) -> Callable[[Study], tuple[float, ...]]:
    return lambda study: answers_of(study, (study.value > threshold).astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What is estimated; its truth, or None where it is the mean of the estimates."""

    measure: Callable[[Study], tuple[float, ...] | None]
    spreads: tuple[Spreads, ...] = SPREADS + GAINS
    truth: Callable[[Spreads], float] | None = lambda _: 0.0
    interval: Callable[[Parts, Floats, Floats], tuple[Floats, Floats]] = plain_interval
    fewest_raters: int = LEAST_RATERS


def share_truth(threshold: float) -> Callable[[Spreads], float]:
    from scipy.special import ndtr

    return lambda s: float(ndtr(-threshold / np.sqrt(1 + s.raters**2 + s.stimuli**2)))


STATISTICS = {
    "mean of answers": Statistic(measure=lambda study: answers_of(study, study.value), fewest_raters=2),
    "mean of labels": Statistic(measure=_label_mean),
    "distance from the intent": Statistic(measure=_deviation, truth=None),
    "difference of two systems": Statistic(measure=_systems_apart, spreads=TASTES),
    "share of half": Statistic(
        measure=share_above(0.0), spreads=SPREADS, truth=share_truth(0.0), interval=share_interval, fewest_raters=2
    ),
    "share of a tenth": Statistic(
        measure=share_above(1.3), spreads=SPREADS, truth=share_truth(1.3), interval=share_interval, fewest_raters=2
    ),
}


def collected(statistic: Statistic, design: Design, spreads: Spreads, seed: int) -> Parts:
    rng = np.random.default_rng([seed, design.raters, design.stimuli, design.per_rater])
    rows = [row for _ in range(STUDIES) if (row := statistic.measure(simulated(design, spreads, rng)))]
    return Parts(
        **dict(
            zip(
                ("estimate", "stimuli", "raters", "ratings", "stimulus_df", "rater_count"),
                np.array(rows).T,
                strict=True,
            )
        )
    )


def cells() -> Iterator[tuple[str, Design, Spreads, Parts, float]]:
    for name, statistic in STATISTICS.items():
        designs = [design for design in DESIGNS if design.raters >= statistic.fewest_raters]
        for seed, (design, spreads) in enumerate(product(designs, statistic.spreads)):
            parts = collected(statistic, design, spreads, seed)
            truth = float(parts.estimate.mean()) if statistic.truth is None else statistic.truth(spreads)
            yield name, design, spreads, parts, truth


def coverage_and_width(
    name: str, parts: Parts, truth: float, make: Callable[[Parts], tuple[Floats, Floats]]
) -> tuple[float, float]:
    """How often a way's intervals hold, and their mean width over that of the ideal one."""
    low, high = STATISTICS[name].interval(parts, *make(parts))
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low) / (3.92 * parts.estimate.std()))


def main() -> None:
    print(f"{STUDIES} studies per cell; standard error of a coverage of .95: {np.sqrt(0.95 * 0.05 / STUDIES):.4f}")
    rows: dict[str, dict[str, list[tuple[float, float, str]]]] = {}
    for name, design, spreads, parts, truth in cells():
        cell = f"{design.name}; raters {spreads.raters}, stimuli {spreads.stimuli}, gains {spreads.gains}, tastes {spreads.tastes}"
        line = []
        for way, make in VARIANTS.items():
            coverage, width = coverage_and_width(name, parts, truth, make)
            rows.setdefault(name, {}).setdefault(way, []).append((coverage, width, cell))
            line.append(f"{coverage:.3f}/{width:.2f}")
        print(f"{name} | {cell} | {' '.join(line)}", flush=True)
    for name, ways in rows.items():
        print(f"\n{name}: coverage mean, worst, cells under .93 of {len(next(iter(ways.values())))}, width")
        for way, cases in ways.items():
            shares, widths = (np.array([case[column] for case in cases]) for column in (0, 1))
            print(
                f"  {way:40} {shares.mean():.3f} {shares.min():.3f} {int((shares < 0.93).sum()):3} {widths.mean():.2f}"
                f"   worst: {cases[int(shares.argmin())][2]}"
            )


if __name__ == "__main__":
    main()
