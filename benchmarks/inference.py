"""Inference and resampling beside their peers, in one run: ``python benchmarks/inference.py``.

Best CPU time of a few runs each. Loops over SciPy are timed on fewer resamples and scaled
up, which the row says; everything of ours runs in full. Needs the ``peers`` extra.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from heartfelt.stats.inference import anova, mixed_model, permutation_two_sample, tukey
from heartfelt.stats.prediction.resample import bootstrap_metric

RESAMPLES = 10_000


def best(call: Callable[[], Any], runs: int = 3) -> float:
    result = float("inf")
    for _ in range(runs):
        start = time.process_time()
        call()
        result = min(result, time.process_time() - start)
    return result


def show(name: str, ours: float, peer: float | None = None, note: str = "") -> None:
    def seconds(value: float) -> str:
        return f"{value * 1000:8.2f} ms" if value < 1 else f"{value:8.2f} s "

    ratio = f"{peer / ours:8.0f}x" if peer is not None else " " * 9
    print(f"{name:46s} {seconds(ours)}  {seconds(peer) if peer is not None else ' ' * 11} {ratio}  {note}", flush=True)


def time_anova() -> None:
    import pandas as pd
    from scipy.stats import tukey_hsd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    rng = np.random.default_rng(0)
    system = rng.choice([f"system{i}" for i in range(6)], 991)
    intent = rng.choice([f"intent{i}" for i in range(12)], 991)
    y = rng.normal(size=991)
    frame = pd.DataFrame({"y": y, "system": system, "intent": intent})
    show(
        "two-way ANOVA, 991 rows",
        best(lambda: anova(y, {"system": system, "intent": intent}), 9),
        best(lambda: anova_lm(ols("y ~ C(system) + C(intent)", frame).fit(), typ=2), 3),
        "statsmodels",
    )
    groups = [y[system == name] for name in np.unique(system)]
    show(
        "Tukey-Kramer, 6 groups",
        best(lambda: tukey(y, system), 5),
        best(lambda: _bounds(tukey_hsd, groups), 2),
        "scipy",
    )


def _bounds(test: Any, groups: list[Any]) -> Any:
    return test(*groups).confidence_interval()


def _ratings(raters: int, items: int, per: int) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(items), per)
    rater = rng.integers(0, raters, item.size)
    system = np.array([f"s{i}" for i in range(6)])[item % 6]
    y = rng.normal(size=raters)[rater] + rng.normal(size=items)[item] + rng.normal(size=item.size)
    return y, system, rater, item


def time_mixed() -> None:
    import pandas as pd
    from statsmodels.formula.api import mixedlm

    def ours(y: Any, system: Any, rater: Any, item: Any) -> Any:
        return mixed_model(y, {"system": system}, {"rater": rater, "item": item})

    y, system, rater, item = _ratings(15, 60, 6)
    frame = pd.DataFrame({"y": y, "system": system, "rater": rater, "item": item, "all": 1})
    parts = {"rater": "0 + C(rater)", "item": "0 + C(item)"}

    def theirs() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return mixedlm("y ~ C(system)", frame, groups="all", re_formula="0", vc_formula=parts).fit()

    ours(y, system, rater, item)
    show("mixed model, 360 ratings", best(lambda: ours(y, system, rater, item)), best(theirs, 1), "statsmodels")
    middle = _ratings(111, 1000, 6)
    show("mixed model, 6,000 ratings", best(lambda: ours(*middle)), None, "statsmodels: over a minute")
    large = _ratings(2000, 160_000, 6)
    show("mixed model, 960,000 ratings, 2,000 raters", best(lambda: ours(*large), 1))


def time_metrics() -> None:
    from scipy import stats
    from sklearn.metrics import balanced_accuracy_score

    def loop(function: Callable[[Any, Any], Any], x: Any, y: Any, count: int) -> float:
        rng = np.random.default_rng(2)
        start = time.process_time()
        for _ in range(count):
            rows = rng.integers(0, x.size, x.size)
            function(x[rows], y[rows])
        return (time.process_time() - start) * RESAMPLES / count

    def vectorised(function: Callable[..., Any], x: Any, y: Any, count: int) -> float:
        start = time.process_time()
        stats.bootstrap(
            (x, y), function, paired=True, vectorized=True, n_resamples=count, method="percentile", batch=256
        )
        return (time.process_time() - start) * RESAMPLES / count

    for n in (412, 8000):
        rng = np.random.default_rng(3)
        x = rng.normal(size=n)
        y = x + rng.normal(size=n)
        label = rng.integers(0, 5, n)
        answer = np.where(rng.random(n) < 0.6, label, rng.integers(0, 5, n))
        cases: list[tuple[str, Any, Any, Any, Any]] = [
            (
                "pearson",
                lambda a, b: stats.pearsonr(a, b)[0],
                lambda a, b, axis: stats.pearsonr(a, b, axis=axis)[0],
                x,
                y,
            ),
            ("spearman", lambda a, b: stats.spearmanr(a, b)[0], _spearman, x, y),
            ("kendall", lambda a, b: stats.kendalltau(a, b)[0], None, x, y),
            ("kendall", lambda a, b: stats.kendalltau(a, b)[0], None, np.round(x), np.round(y)),
            ("balanced_accuracy", balanced_accuracy_score, None, label, answer),
        ]
        for name, plain, batch, a, b in cases:
            bootstrap_metric(name, a, b, resamples=64)
            ours = best(lambda name=name, a=a, b=b: bootstrap_metric(name, a, b, resamples=RESAMPLES), 2)  # type: ignore[misc]  # defaults bind the loop
            tied = " tied" if a.size and np.unique(a).size < 20 and name == "kendall" else ""
            title = f"{name}{tied}, n = {n:,}, 10,000 resamples"
            show(title, ours, loop(plain, a, b, 100), "loop, 100 resamples scaled up")
            if batch is not None:
                count = 2000 if n == 412 else 256
                show("  the same, scipy vectorised", ours, vectorised(batch, a, b, count), f"{count:,} scaled up")


def _spearman(a: Any, b: Any, axis: int) -> Any:
    from scipy.stats import pearsonr, rankdata

    return pearsonr(rankdata(a, axis=axis), rankdata(b, axis=axis), axis=axis)[0]


def time_large() -> None:
    rng = np.random.default_rng(4)
    n = 1_000_000
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    label = rng.integers(0, 5, n)
    answer = np.where(rng.random(n) < 0.6, label, rng.integers(0, 5, n))
    for name, a, b in (
        ("pearson", x, y), ("spearman", x, y), ("kendall", x, y), ("mae", x, y), ("auroc", x > 0, y),
        ("balanced_accuracy", label, answer),
    ):  # fmt: skip
        result = bootstrap_metric(name, a, b)
        ours = best(lambda name=name, a=a, b=b: bootstrap_metric(name, a, b), 1)  # type: ignore[misc]  # defaults bind the loop
        show(f"{name}, n = 1,000,000", ours, None, result.interval)


def time_permutation() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    a, b = rng.normal(size=200), rng.normal(size=300)

    def gap(first: Any, second: Any, axis: int) -> Any:
        return first.mean(axis) - second.mean(axis)

    permutation_two_sample(a, b, resamples=99)
    show(
        "two-sample permutation, 500 values, 9,999",
        best(lambda: permutation_two_sample(a, b)),
        best(lambda: stats.permutation_test((a, b), gap, vectorized=True, n_resamples=9999), 1),
        "scipy vectorised",
    )


def main() -> None:
    """Print one row per task: ours, the peer's, and how many times faster ours is."""
    print(f"{'':46s} {'ours':>11s}  {'peer':>11s} {'ratio':>9s}")
    for part in (time_anova, time_permutation, time_metrics, time_large, time_mixed):
        part()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
