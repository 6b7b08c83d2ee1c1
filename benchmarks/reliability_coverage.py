"""Coverage and width of the 95% intervals of reliability, agreement and the mixed model, on simulated ratings with known truth.

The width is that of the mean interval over 3.92 standard deviations of the estimates, so 1 is ideal for a normal estimate. The
intervals are for raters like these; next to them stands how often the truth is no worse than the bound if some future raters are
careless. Items and raters are random. Raters may differ in gain (how far they follow what the item conveys), and some may be
careless: they follow it not at all, with noise of their own. ``HEARTFELT_BENCH=full`` draws 1,000 data sets per line
instead of 100; ``python -m benchmarks.reliability_coverage icc alpha`` runs some of the parts, and a share such as ``.2`` fewer
data sets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.agreement import alpha, cohen_kappa, fleiss_kappa, gwet_ac1
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference import mixed_model
from heartfelt.stats.reliability import icc, split_half, variance_components

Ints: TypeAlias = npt.NDArray[np.int64]
Columns: TypeAlias = tuple[Ints, Ints, npt.NDArray[np.float64]]
Measured: TypeAlias = Iterator[tuple[str, Estimate, float]]
DRAWS = 1000 if os.environ.get("HEARTFELT_BENCH") == "full" else 100


@dataclass(frozen=True, slots=True)
class People:
    """Standard deviations of items, raters' levels, noise and gains; share and noise of careless raters."""

    item: float = 1.0
    confidence: float = 0.6
    noise: float = 1.2
    gain: float = 0.0
    careless: float = 0.0
    careless_noise: float = 1.8

    @property
    def components(self) -> tuple[float, float, float]:
        """Item, rater and residual variance over all raters there could be."""
        attentive = 1.0 - self.careless
        item = (attentive * self.item) ** 2
        spread = attentive * (1.0 + self.gain**2) * self.item**2
        noise = attentive * self.noise**2 + self.careless * self.careless_noise**2
        return item, self.confidence**2, spread - item + noise


@dataclass(frozen=True, slots=True)
class Design:
    """Numbers of items and raters, and of raters per item (0: all, -1: all but one rating)."""

    items: int
    raters: int
    per_item: int = 0

    def __str__(self) -> str:
        rest = {0: "all", -1: "all but one rating"}.get(self.per_item, f"{self.per_item} each")
        return f"{self.items} x {self.raters}, {rest}"

    def pairs(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Raters and items of the ratings."""
        if self.per_item > 0:
            drawn = [rng.permutation(self.raters)[: self.per_item] for _ in range(self.items)]
            return np.concatenate(drawn), np.repeat(np.arange(self.items), self.per_item)
        item, rater = (a.ravel() for a in np.indices((self.items, self.raters)))
        return rater[-self.per_item :], item[-self.per_item :]


PEOPLE = {
    "raters alike": People(),
    "levels differ": People(confidence=1.0, noise=1.0),
    "gains differ": People(gain=0.35, noise=1.0),
    "gains differ, little noise": People(confidence=0.3, gain=0.35, noise=0.5),
    "one in five careless": People(careless=0.2, noise=1.0),
    "one in ten careless": People(careless=0.1, noise=1.0),
    "three in ten careless": People(careless=0.3, noise=1.0),
    "careless, gains differ": People(confidence=0.5, careless=0.15, gain=0.3, noise=1.0),
    "weak signal, careless": People(0.4, 0.5, 1.3, 0.35, 0.2, 1.5),
    "no signal": People(item=0.0),
    "raters exactly alike": People(confidence=0.0, noise=0.5),
    "no signal, levels far apart": People(item=0.0, confidence=1.5, noise=0.5),
}
DESIGNS = (
    Design(200, 8),
    Design(60, 12),
    Design(60, 12, -1),
    Design(200, 5),
    Design(100, 4),
    Design(100, 3),
    Design(30, 3),
    Design(30, 2),
    Design(10, 8),
    Design(5, 5),
    Design(120, 25, 6),
    Design(100, 10, 3),
    Design(60, 20, 2),
    Design(300, 100, 3),
    Design(20, 30, 5),
)


def draw(people: People, design: Design, rng: np.random.Generator) -> Columns:
    """One data set."""
    rater, item = design.pairs(rng)
    gain = 1.0 + people.gain * rng.normal(size=design.raters)
    noise = np.full(design.raters, people.noise)
    careless = rng.random(design.raters) < people.careless
    gain[careless], noise[careless] = 0.0, people.careless_noise
    true = people.item * rng.normal(size=design.items)
    level = people.confidence * rng.normal(size=design.raters)
    return rater, item, gain[rater] * true[item] + level[rater] + noise[rater] * rng.normal(size=item.size)


def correlations(people: People, design: Design, columns: Columns) -> Measured:
    item, rater, residual = people.components
    k = design.per_item if design.per_item > 0 else design.raters
    one_way = item / (item + rater + residual)
    if design.per_item <= 0:  # what the one-way form estimates where raters are crossed with items
        one_way = (k * item - rater) / (k * item + (k - 1) * rater + k * residual)
    forms = icc(*columns)
    yield "ICC(1,1)", forms.icc1, one_way
    yield "ICC(2,1)", forms.icc2, item / (item + rater + residual)
    yield "ICC(2,k)", forms.icc2k, item / (item + (rater + residual) / (forms.k or 1.0))
    yield "ICC(3,1)", forms.icc3, item / (item + residual)
    yield "ICC(2,1) by F", icc(*columns, interval="f").icc2, item / (item + rater + residual)


def components(people: People, _design: Design, columns: Columns) -> Measured:
    item, rater, residual = people.components
    total = item + rater + residual
    result = variance_components(*columns)
    yield "item", result.item, item
    yield "rater", result.rater, rater
    yield "residual", result.residual, residual
    yield "error", result.error, rater + residual
    yield "rater share", result.rater_share, rater / total
    yield "residual share", result.residual_share, residual / total


def halves(people: People, design: Design, columns: Columns) -> Measured:
    item, rater, residual = people.components
    k = design.per_item if design.per_item > 0 else design.raters
    if design.per_item > 0:
        yield "split half", split_half(*columns, splits=20), item / (item + (rater + residual) / k)
        return
    # Halves are dealt anew for each item, so raters' levels are noise that the full panel does not have.
    half = item - rater / k
    r = half / (half + 2 * (rater + residual) / k)
    yield "split half", split_half(*columns, splits=20), 2 * r / (1 + r)


def alphas(people: People, _design: Design, columns: Columns) -> Measured:
    item, rater, residual = people.components
    n = columns[0].size
    same_item = float((np.bincount(columns[1]) ** 2).sum() - n) / (n * (n - 1))
    same_rater = float((np.bincount(columns[0]) ** 2).sum() - n) / (n * (n - 1))
    expected = item * (1 - same_item) + rater * (1 - same_rater) + residual
    yield "alpha", alpha(*columns), 1 - (rater + residual) / expected


def votes(people: People, _design: Design, columns: Columns) -> Measured:
    """Yes or no: truth by the same statistic of very many raters and items."""
    cut = columns[2] > 0
    names = ("kappa of Fleiss", "AC1", "alpha, nominal", "kappa of Cohen")
    yield from zip(names, _agreement(columns[0], columns[1], cut), _truth_of_votes(people), strict=True)


def _agreement(rater: Ints, item: Ints, cut: npt.NDArray[np.bool_]) -> list[Estimate]:
    columns = rater, item, cut.astype(np.int64)
    return [
        fleiss_kappa(*columns),
        gwet_ac1(*columns, categories=[0, 1]),
        alpha(*columns, "nominal"),
        cohen_kappa(*columns).mean,
    ]


_TRUTHS: dict[People, list[float]] = {}


def _truth_of_votes(people: People) -> list[float]:
    """The same statistics of very many raters and items."""
    if people not in _TRUTHS:
        rng = np.random.default_rng(0)
        many = Design(1500, 300, 40)
        results = []
        for _ in range(4):
            rater, item, value = draw(people, many, rng)
            results.append([float(e) for e in _agreement(rater, item, value > 0)])
        _TRUTHS[people] = list(np.mean(results, axis=0))
    return _TRUTHS[people]


def mixed(people: People, _design: Design, columns: Columns) -> Measured:
    item, rater, residual = people.components
    system = np.array(["a", "b", "c"])[columns[1] % 3]
    result = mixed_model(columns[2], {"system": system}, {"rater": columns[0], "item": columns[1]})
    if result.why_missing is not None:
        return
    for name, true in (("item", item), ("rater", rater), ("residual", residual)):
        yield f"variance of {name}", result.variances[name], true
    yield "system b against a", result.coefficient("system[b]").estimate, 0.0


PARTS: dict[str, Callable[[People, Design, Columns], Measured]] = {
    "icc": correlations,
    "components": components,
    "halves": halves,
    "alpha": alphas,
    "votes": votes,
    "mixed": mixed,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured95:
    """Coverage of the intervals given, their width over 3.92 standard deviations, coverage of the bound if some are careless
    (NaN where there is none), and the share refused or missing.
    """

    coverage: float
    width: float
    if_careless: float
    refused: float

    def __str__(self) -> str:
        bound = "" if np.isnan(self.if_careless) else f" <{self.if_careless:.2f}"
        gone = f" ({self.refused:.2f})" if self.refused else ""
        return f"{self.coverage:.3f} x{self.width:.2f}{bound}{gone}"


def measure(part: str, people: People, design: Design, draws: int = DRAWS) -> dict[str, Measured95]:
    """How the intervals of each figure did."""
    rng = np.random.default_rng([design.items, design.raters, design.per_item + 1])
    tally: dict[str, list[tuple[Estimate, float]]] = {}
    for _ in range(draws):
        for name, e, true in PARTS[part](people, design, draw(people, design, rng)):
            tally.setdefault(name, []).append((e, true))
    return {name: _measured(rows) for name, rows in tally.items()}


def _measured(rows: list[tuple[Estimate, float]]) -> Measured95:
    given = [
        (float(e), e.low, e.high, e.bound_if_careless, true)
        for e, true in rows
        if e.low is not None and e.high is not None
    ]
    nan = float("nan")
    if len(given) < 2:
        return Measured95(coverage=nan, width=nan, if_careless=nan, refused=1 - len(given) / len(rows))
    spread = float(np.std([value for value, *_ in given], ddof=1))
    bounds = [(value, bound, true) for value, _, _, bound, true in given if bound is not None]
    return Measured95(
        coverage=float(np.mean([low <= true <= high for _, low, high, _, true in given])),
        width=float(np.mean([high - low for _, low, high, _, _ in given])) / (3.92 * spread),
        if_careless=float(np.mean([b <= t if b <= v else t <= b for v, b, t in bounds])) if bounds else nan,
        refused=1 - len(given) / len(rows),
    )


def main() -> None:
    shares = [float(word) for word in sys.argv[1:] if word.replace(".", "").isdigit()]
    draws = max(int(DRAWS * (shares[0] if shares else 1.0)), 10)
    for part in [name for name in sys.argv[1:] if name in PARTS] or PARTS:
        print(f"\n{part}: coverage, x width over 3.92 sd, < coverage of the careless bound (share refused)")
        for label, people in PEOPLE.items():
            for design in DESIGNS:
                result = measure(part, people, design, draws)
                text = "  ".join(f"{name} {figures}" for name, figures in result.items())
                print(f"{label:27s} {design!s:28s} {text}", flush=True)


if __name__ == "__main__":
    main()
