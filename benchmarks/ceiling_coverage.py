"""Simulated coverage of the 95% intervals of ceilings and labels; the tables in docs/stats are made with it.

``HEARTFELT_COVERAGE=votes``, ``numbers`` or ``labels`` runs one part, ``HEARTFELT_REPEATS`` sets how many data sets are
drawn for each cell (25 unless given). Every cell draws from a stream of its own.
"""

from __future__ import annotations

import os
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from heartfelt.stats import aggregate
from heartfelt.stats.aggregate import Aggregate
from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ceilings.vote_ceiling import critical_value, fixed_panel_gain, vote_ceiling
from heartfelt.stats.ceilings.vote_family import smooth_ceiling
from heartfelt.stats.ceilings.yardsticks import CategoryMetric, category_counts, category_score, confusion_of, winners
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import as_ratings
from heartfelt.streams import stream

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
REPEATS = int(os.environ.get("HEARTFELT_REPEATS", "25"))
PARTS = ("votes", "numbers", "labels")
TRUTHS = ("one distribution", "permuted", "Dirichlet", "clear and ambiguous", "unequal skill", "same few raters")
POOL = 40
PANELS = 400
"""How often the same raters rate the same items anew, for what the truth is expected to score."""


def votes(rng: np.random.Generator, truth: str, items: int, k: int, n: int) -> tuple[Ints, Ints, Ints]:
    """Raters and answers [item, place], and each item's long-run category."""
    pool = n if truth == "same few raters" else max(POOL, n)
    who = np.array([rng.permutation(pool)[:n] for _ in range(items)])
    lead = np.array([0.5, *[0.5 / (k - 1)] * (k - 1)]) if k > 2 else np.array([0.65, 0.35])
    if truth in ("unequal skill", "same few raters"):
        best, skill = rng.integers(0, k, items), rng.uniform(0.3, 0.95, pool)
        guess = rng.integers(0, k, who.shape)
        return who, np.where(rng.random(who.shape) < skill[who], best[:, None], guess), best
    if truth == "one distribution":
        p = np.tile(lead, (items, 1))
    elif truth == "permuted":
        p = rng.permuted(np.tile(lead, (items, 1)), axis=1)
    elif truth == "Dirichlet":
        p = rng.dirichlet(np.full(k, 0.6), items)
    else:
        clear = 0.9 * np.eye(k)[rng.integers(0, k, items)] + 0.1 / k
        p = np.where((rng.random(items) < 0.5)[:, None], clear, rng.dirichlet(np.full(k, 8.0), items))
    answer = (rng.random((items, n, 1)) > p.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    return who, answer, p.argmax(axis=1)


def oracle(counts: Floats, best: Ints, metric: CategoryMetric) -> float | None:
    """What answering the long-run category scores on the labels that exist."""
    return category_score(confusion_of(winners(counts), best, counts.shape[1]), metric)


def of_votes() -> None:
    print(
        "Ceilings of categories: coverage of the oracle's score on the labels that exist (x: width over 3.92 sd of the error)"
    )
    for metric in ("accuracy", "balanced_accuracy", "macro_f1"):
        some = (2, 3, 6, 9) if metric == "accuracy" else (2, 4)
        for k in some:
            for n in (3, 5, 9, 15) if metric == "accuracy" else (3, 9):
                sizes = (60, 300) if metric == "accuracy" else (300,)
                for items in sizes:
                    cell = _votes_cell(metric, k, n, items)
                    print(f"{metric:<18} {k} categories, {n:>2} votes, {items} items: {cell}", flush=True)


def _votes_cell(metric: CategoryMetric, k: int, n: int, items: int) -> str:
    """Coverage over all truths, the lowest of them, and widths: of the bounds without a shape, and of the smooth family."""
    results: dict[str, list[tuple[str, float, float | None, float | None, float]]] = defaultdict(list)
    for truth in TRUTHS:
        rng = stream(0, "coverage", metric, k, n, items, truth)
        for _ in range(REPEATS):
            who, answer, best = votes(rng, truth, items, k, n)
            d = as_ratings(who.ravel(), np.repeat(np.arange(items), n), answer.ravel())
            counts = category_counts(d)
            reached = oracle(counts, best, metric)
            if reached is None:
                continue
            made = counts, metric, critical_value(d, counts, 0.95), 0.95, 0, fixed_panel_gain(d, counts, 0)
            top = vote_ceiling(*made)
            bounds = top.estimate
            if top.half_panels is not None and not top.half_panels.fits:
                bounds = bounds.without_interval("half panels")
            for name, e in (("any shape", bounds), ("smooth family", smooth_ceiling(*made))):
                results[name].append((truth, e.value or 0.0, e.low, e.high, reached))
    return "; ".join(f"{name} {_votes_words(rows)}" for name, rows in results.items())


def _votes_words(rows: list[tuple[str, float, float | None, float | None, float]]) -> str:
    by_truth: dict[str, list[bool]] = defaultdict(list)
    widths = []
    for truth, _, low, high, reached in rows:
        if low is not None and high is not None:
            by_truth[truth].append(low - 1e-9 <= reached <= high + 1e-9)
            widths.append(high - low)
    covered = {truth: float(np.mean(hits)) for truth, hits in by_truth.items()}
    worst = min(covered, key=covered.__getitem__)
    every = np.mean([hit for hits in by_truth.values() for hit in hits])
    # The ideal width is that of the errors of the estimate, within each truth.
    errors = [np.std([value - reached for truth, value, _, _, reached in rows if truth == name]) for name in by_truth]
    ideal = 3.92 * float(np.sqrt(np.mean(np.square(errors))))
    return (
        f"{every:.3f}, lowest {covered[worst]:.2f} ({worst}), width {np.mean(widths):.2f} (x{np.mean(widths) / ideal:.2f}),"
        f" refused {1 - len(widths) / len(rows):.2f}"
    )


def of_numbers() -> None:
    print(
        "Ceilings of means: coverage of what the truth is expected to score with these raters (x: width over 3.92 sd of the error)"
    )
    designs = ((60, 12, 12), (60, 12, 3), (200, 8, 8), (40, 5, 5), (200, 40, 4), (25, 6, 6), (30, 3, 3), (10, 4, 4))
    for items, raters, n in designs:
        for kind in ("alike", "careful", "unequal gain", "careless"):
            rng = stream(0, "coverage", "numbers", items, raters, n, kind)
            hits: dict[str, list[bool]] = {"correlation": [], "rmse": []}
            widths: dict[str, list[float]] = {"correlation": [], "rmse": []}
            errors: dict[str, list[float]] = {"correlation": [], "rmse": []}
            for _ in range(3 * REPEATS):
                for metric, (e, expected) in _numbers_once(rng, items, raters, n, kind).items():
                    if e.low is not None and e.high is not None:
                        hits[metric].append(e.low <= expected <= e.high)
                        widths[metric].append(e.high - e.low)
                        errors[metric].append(float(e) - expected)
            cells = (f"{m} {np.mean(hits[m]):.3f} x{np.mean(widths[m]) / (3.92 * np.std(errors[m])):.2f}" for m in hits)
            print(f"{items:>3} items, {raters:>2} raters, {n:>2} each, {kind:<12}: {', '.join(cells)}", flush=True)


def _numbers_once(
    rng: np.random.Generator, items: int, raters: int, n: int, kind: str
) -> dict[str, tuple[Estimate, float]]:
    rater = np.concatenate([rng.permutation(raters)[:n] for _ in range(items)])
    item = np.repeat(np.arange(items), n)
    true, level = rng.normal(size=items), rng.normal(0, 0.5, raters)
    gain, noise = np.ones(raters), np.full(raters, 0.4 if kind == "careful" else 1.0)
    if kind == "unequal gain":
        gain = rng.uniform(0.3, 1.7, raters)
    elif kind == "careless":
        careless = rng.random(raters) < 0.25
        gain, noise = np.where(careless, 0.0, 1.0), np.where(careless, 1.6, 1.0)
    signal = gain[rater] * true[item] + level[rater]
    value = signal + noise[rater] * rng.normal(size=item.size)
    again = signal + noise[rater] * rng.normal(size=(PANELS, item.size))
    labels = again.reshape(PANELS, items, n).mean(axis=2)
    labels -= labels.mean(axis=1, keepdims=True)
    x = true - true.mean()
    slopes = labels @ x / (x @ x)
    correlations = slopes * np.sqrt((x @ x) / np.square(labels).sum(axis=1))
    errors = np.square(labels - slopes[:, None] * x).sum(axis=1) / (items - 2)
    return {
        "correlation": (ceiling(rater, item, value).overall, float(np.mean(correlations))),
        "rmse": (ceiling(rater, item, value, metric="rmse").overall, float(np.sqrt(np.mean(errors)))),
    }


METHODS = ("mean", "median", "bt500", "p913", "p910", "p910, published")


def of_labels() -> None:
    print("Labels on a nine-point scale: coverage of the population's value, P.910 of its long-run value (refused)")
    designs = ((60, 60, 3), (60, 12, 3), (60, 60, 6), (60, 30, 12), (60, 12, 12), (30, 6, 6), (200, 30, 5))
    for items, raters, n in designs:
        for kind in ("alike", "unequal noise", "unequal gain", "careless"):
            rng = stream(0, "coverage", "labels", items, raters, n, kind)
            hits: dict[str, list[float]] = defaultdict(list)
            none: dict[str, list[float]] = defaultdict(list)
            for _ in range(REPEATS):
                _labels_once(rng, items, raters, n, kind, hits, none)
            cells = (
                f"{name} {np.mean(hits[name]):.3f} ({np.mean(none[name]):.2f})" if hits[name] else f"{name} - (1.00)"
                for name in METHODS
            )
            print(f"{items:>3} items, {raters:>2} raters, {n:>2} each, {kind:<13}: {', '.join(cells)}", flush=True)
    _of_shares()


def _labels_once(
    rng: np.random.Generator,
    items: int,
    raters: int,
    n: int,
    kind: str,
    hits: dict[str, list[float]],
    none: dict[str, list[float]],
) -> None:
    population = 300
    true, level = rng.normal(0, 1.5, items), rng.normal(0, 0.6, population)
    gain, noise = np.ones(population), np.ones(population)
    if kind == "unequal noise":
        noise = np.exp(rng.normal(0, 0.5, population))
    elif kind == "unequal gain":
        gain = rng.uniform(0.5, 1.5, population)
    elif kind == "careless":
        careless = rng.random(population) < 0.2
        gain, noise = np.where(careless, 0.0, 1.0), np.where(careless, 2.5, 1.0)

    def rated(who: Ints, what: Ints) -> Floats:
        exact = 5 + gain[who] * true[what] + level[who] + noise[who] * rng.normal(size=who.size)
        return np.asarray(np.clip(np.round(exact), 1, 9))

    people, everything = (a.ravel() for a in np.indices((population, items)))
    whole = rated(people, everything)
    long_run = aggregate.p910(people, everything, whole, leverage=True)
    table = whole.reshape(population, items)
    panel = rng.permutation(population)[:raters]
    rater = np.concatenate([rng.permutation(raters)[:n] for _ in range(items)])
    item = np.repeat(np.arange(items), n)
    value = rated(panel[rater], item)
    shift = float(level[panel].mean() - level.mean())
    truths = dict.fromkeys(("mean", "bt500", "p913"), table.mean(axis=0))
    truths["median"] = np.median(table, axis=0)
    truths["p910"] = truths["p910, published"] = long_run.values[np.argsort(np.array(long_run.items))] + shift
    results: dict[str, Aggregate] = {
        name: getattr(aggregate, name)(rater, item, value) for name in ("mean", "median", "bt500", "p913")
    }
    results["p910"] = aggregate.p910(rater, item, value, shrinkage=True)
    results["p910, published"] = aggregate.p910(rater, item, value)
    for name, labels in results.items():
        truth = truths[name][np.array(labels.items)]
        low, high = labels.bounds()
        if name == "p910, published":
            low, high = (labels.values + side * 1.959964 * labels.standard_errors for side in (-1, 1))
        known = np.isfinite(low)
        none[name].append(1.0 - float(known.mean()))
        if known.any():
            hits[name].append(float(np.mean((low <= truth + 1e-9)[known] & (truth <= high + 1e-9)[known])))


def _of_shares() -> None:
    print("Share of the most frequent category: coverage of its long-run share")
    for k in (2, 3, 6, 9):
        cells = []
        for n in (3, 5, 9, 15, 30):
            for truth in ("even", "half"):
                rng = stream(0, "coverage", "shares", k, n, truth)
                p = np.full(k, 1 / k) if truth == "even" else np.array([0.5, *[0.5 / (k - 1)] * (k - 1)])
                answer = rng.choice(k, (4000, n), p=p)
                item, rater = np.indices(answer.shape)
                results = aggregate.mode(rater.ravel(), item.ravel(), answer.ravel(), categories=list(range(k)))
                low, high = results.share_bounds()
                named = [i for i, chosen in enumerate(results.values) if chosen is not None]
                share = p[[int(results.values[i]) for i in named]]
                cells.append(float(np.mean((low[named] <= share) & (share <= high[named]))))
        print(f"{k} categories: lowest {min(cells):.3f}, mean {np.mean(cells):.3f}", flush=True)


def main() -> None:
    wanted = os.environ.get("HEARTFELT_COVERAGE")
    for part, run in zip(PARTS, (of_votes, of_numbers, of_labels), strict=True):
        if wanted in (None, part):
            run()


if __name__ == "__main__":
    main()
