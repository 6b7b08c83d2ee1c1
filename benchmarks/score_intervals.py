"""Coverage of score intervals and error rates of comparisons: ``python -m benchmarks.score_intervals [PART] [RUNS]``.

PART is ``rows`` (one metric, 15 to 50 independent items), ``systems`` (one metric over whole systems), ``means`` (one
metric on the means of systems), ``equal`` (two
predictors that are equally good, on independent items and with errors shared within systems) or ``all``. Labels and
predictions lie on a nine-point scale. Prints the tables of ``docs/stats/association.md`` and ``docs/scoring.md``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from heartfelt.stats.prediction.association import metric_difference
from heartfelt.stats.prediction.jackknife import full_value, jackknife_metric
from heartfelt.stats.prediction.metrics import METRICS, rows
from heartfelt.streams import stream

NUMBERS = ("pearson", "spearman", "kendall", "ccc", "rmse", "mse", "mae")
SIDES = ("accuracy", "balanced_accuracy", "f1", "macro_f1", "auroc", "average_precision")
ALL = (*NUMBERS, "quadratic_kappa", *SIDES)
ERRORS: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "normal": lambda draw, size: draw.normal(size=size),
    "skewed": lambda draw, size: (draw.gamma(4, size=size) - 4) / 2,
    "laplace": lambda draw, size: draw.laplace(size=size) / math.sqrt(2),
    "t, 5 df": lambda draw, size: draw.standard_t(5, size=size) / math.sqrt(5 / 3),
    "exponential": lambda draw, size: draw.exponential(size=size) - 1,
}
"""Errors with mean 0 and SD 1; skewness 0, 1, 0, 0, 2 and excess kurtosis 0, 1.5, 3, 6, 6."""


def columns(metric: str, x: Any, ys: list[Any]) -> tuple[Any, list[Any]]:
    """Standard scores as what the metric takes: the nine-point scale, five degrees, or two sides."""
    if metric in SIDES:
        scored = metric in ("auroc", "average_precision")
        return (x > 0.25).astype(int), [y if scored else (y > 0.25).astype(int) for y in ys]
    if metric == "quadratic_kappa":
        return np.clip(np.rint(x), -2, 2), [np.clip(np.rint(y), -2, 2) for y in ys]
    return np.clip(5 + 1.3 * x, 1, 9), [np.clip(5 + 1.3 * y, 1, 9) for y in ys]


def items(draw: np.random.Generator, n: int, kind: str, models: int = 1) -> tuple[Any, list[Any]]:
    """Independent items: labels and predictions that correlate with them about .8."""
    x = draw.normal(size=n)
    return x, [0.8 * x + 0.6 * ERRORS[kind](draw, n) for _ in range(models)]


def systems(
    draw: np.random.Generator, count: int, kind: str, *, models: int = 1, uneven: bool = False, shared: float = 0.5
) -> tuple[Any, list[Any], Any]:
    """Items of ``count`` systems, ten each (or 2 to 40): half the variance of labels, ``shared`` of that of errors is the
    system's.
    """
    sizes = np.full(count, 10)
    if uneven:
        sizes = np.clip(np.rint(10 * np.exp(0.7 * draw.normal(size=count))), 2, 40).astype(int)
    of = np.repeat(np.arange(count), sizes)
    half = math.sqrt(0.5)
    x = half * draw.normal(size=count)[of] + half * draw.normal(size=of.size)
    whole, own = math.sqrt(shared), math.sqrt(1 - shared)
    ys = [
        0.8 * x + 0.6 * (whole * ERRORS[kind](draw, count)[of] + own * draw.normal(size=of.size)) for _ in range(models)
    ]
    return x, ys, of


def covers(result: Any, true: float) -> bool | None:
    """Whether the interval holds the truth; None where there is none."""
    return None if result.low is None else bool(result.low - 1e-12 <= true <= result.high + 1e-12)


def shown(hits: list[bool | None]) -> str:
    """Coverage, and the share without an interval where there are such."""
    given = [hit for hit in hits if hit is not None]
    gone = 1 - len(given) / len(hits)
    return (f"{np.mean(given):.3f}" if given else "–") + (f" ({gone:.0%} none)" if gone > 0.005 else "")


def of_rows(runs: int) -> None:
    print("| metric | errors | n = 15 | 25 | 50 |\n|---|---|---|---|---|")
    for metric in ALL:
        for kind in ERRORS if metric in NUMBERS else ("normal", "skewed"):
            draw = stream(1, "coverage", metric, kind)
            true = _true(metric, *items(draw, 400_000, kind))
            line = []
            for n in (15, 25, 50):
                hits = []
                for _ in range(runs):
                    x, ys = columns(metric, *items(draw, n, kind))
                    hits.append(covers(jackknife_metric(metric, x, ys[0]), true))
                line.append(shown(hits))
            print(f"| {metric} | {kind} | {' | '.join(line)} |", flush=True)


def of_systems(runs: int) -> None:
    print("| metric | systems of | 4 | 6 | 12 | 30 |\n|---|---|---|---|---|---|")
    for metric in ALL:
        for uneven, shared in ((False, 0.5), (True, 0.5), (False, 0.8)):
            draw = stream(2, "coverage", metric, uneven, int(100 * shared))
            true = _true(metric, *systems(draw, 40_000, "normal", shared=shared)[:2])
            line = []
            for count in (4, 6, 12, 30):
                hits = []
                for _ in range(runs):
                    x, ys, of = systems(draw, count, "normal", uneven=uneven, shared=shared)
                    x, ys = columns(metric, x, ys)
                    hits.append(covers(jackknife_metric(metric, x, ys[0], group=of), true))
                line.append(shown(hits))
            size = "2 to 40" if uneven else "10"
            print(f"| {metric} | {size} items, {shared:.0%} of errors shared | {' | '.join(line)} |", flush=True)


def of_means(runs: int) -> None:
    print("| metric on system means | 4 systems | 6 | 12 | 30 |\n|---|---|---|---|---|")
    for metric in NUMBERS:
        draw = stream(4, "coverage", metric)
        true = _true(metric, *items(draw, 400_000, "normal"))
        line = []
        for n in (4, 6, 12, 30):
            hits = []
            for _ in range(runs):
                x, ys = columns(metric, *items(draw, n, "normal"))
                hits.append(covers(jackknife_metric(metric, x, ys[0]), true))
            line.append(shown(hits))
        print(f"| {metric} | {' | '.join(line)} |", flush=True)


def of_equals(runs: int) -> None:
    print("| metric | items 15 | 30 | 60 | systems 4 | 6 | 12 | 30 | plain test, 12 systems |")
    print("|---|---|---|---|---|---|---|---|---|")
    for metric in ALL:
        draw = stream(3, "equal", metric)
        line = []
        for n in (15, 30, 60):
            results = [_difference(metric, *items(draw, n, "skewed", 2)) for _ in range(runs)]
            line.append(_rejected(results))
        plain = ""
        for count in (4, 6, 12, 30):
            made = [systems(draw, count, "normal", models=2, uneven=True) for _ in range(runs)]
            line.append(_rejected([_difference(metric, *each) for each in made]))
            if count == 12:
                plain = _rejected([_difference(metric, *each[:2]) for each in made])
        print(f"| {metric} | {' | '.join(line)} | {plain} |", flush=True)


def _true(metric: str, x: Any, ys: list[Any]) -> float:
    a, b = columns(metric, x, ys)
    return full_value(METRICS[metric], rows(METRICS[metric], a, b[0]))


def _difference(metric: str, x: Any, ys: list[Any], of: Any = None) -> Any:
    a, b = columns(metric, x, ys)
    return metric_difference(metric, a, b[0], b[1], group=of)


def _rejected(results: list[Any]) -> str:
    """Share of p below .05; interval and p must agree in every single case."""
    tested = [entry for entry in results if entry.p.value is not None]
    for each in tested:
        out = not each.estimate.low <= 0 <= each.estimate.high
        if out != (each.p.value < 0.05):
            raise AssertionError(f"p {each.p.value} but interval {each.estimate}")
    return f"{np.mean([entry.p.value < 0.05 for entry in tested]):.3f}" if tested else "–"


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else "all"
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    for name, call in (("rows", of_rows), ("systems", of_systems), ("means", of_means), ("equal", of_equals)):
        if part in (name, "all"):
            call(runs)


if __name__ == "__main__":
    main()
