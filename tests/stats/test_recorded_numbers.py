"""Every figure of reliability and inference on small fixed data, held to the numbers recorded next to this file.

The recordings guard what a point estimate does not show: bounds, degrees of freedom, p-values, confidence, counts, and which
figures are missing. They were made by the code itself after its results had been checked against other software (see the other
tests), so a difference means that something changed, not which of the two is right. Sentences are not recorded. To record again
after a change that is meant: ``python -m tests.stats.test_recorded_numbers``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.stats import inference, reliability
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.jackknife import jackknife_metric
from heartfelt.stats.noise_ceiling import ceiling
from heartfelt.stats.reliability.number_ceiling import ceiling_from_means
from tests.stats.reliability.ratings import Triple, crossed, designs

RECORDED = Path(__file__).with_name("recorded_numbers.json")
SKIPPED = {"method", "notes", "evaluations", "iterations", "why_missing", "panels"}


def plain(result: Any) -> Any:
    """A result as nested lists and dictionaries of numbers; a text becomes whether there is one."""
    if isinstance(result, Estimate):
        counts = dict(result.counts)
        numbers = [plain(number) for number in (result.value, result.low, result.high)]
        careless = [plain(result.bound_if_careless)] if result.bound_if_careless is not None else []
        return [*numbers, result.confidence, counts, bool(result.why_no_interval), *careless]
    if is_dataclass(result):
        return {f.name: plain(getattr(result, f.name)) for f in fields(result) if f.name not in SKIPPED}
    if isinstance(result, Mapping):
        return {str(name): plain(value) for name, value in result.items()}
    if isinstance(result, tuple | list | np.ndarray):
        return [plain(value) for value in result]
    if isinstance(result, np.generic):
        result = result.item()
    return float(f"{result:.12g}") if isinstance(result, float) else result


def votes(seed: int, items: int, per_item: int, categories: int, clear: float) -> Triple:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([rng.permutation(per_item * 2)[:per_item] for _ in range(items)])
    truth = rng.integers(0, categories, items)
    value = np.where(rng.random(item.size) < clear, truth[item], rng.integers(0, categories, item.size))
    return rater, item, value.astype(np.float64)


def _of_means(columns: Any, metric: Any) -> Callable[[], Any]:
    mean, sd, n = columns
    return lambda: ceiling_from_means(mean, sd, n, metric, 0.9)


def _reliability() -> dict[str, Callable[[], Any]]:
    out: dict[str, Callable[[], Any]] = {}
    cells, halves = {i: i % 3 for i in range(60)}, {i: i % 2 for i in range(60)}
    columns: Any
    interval: Any
    metric: Any
    for name, columns in designs().items():
        for interval in ("auto", "f", "model"):
            out[f"icc {name} {interval}"] = partial(
                reliability.icc, *columns, interval=interval, confidence=0.9
            )
        for interval in ("auto", "profile", "delta", "none"):
            out[f"components {name} {interval}"] = partial(
                reliability.variance_components, *columns, interval=interval, confidence=0.9
            )
        out[f"icc {name} k=7"] = partial(reliability.icc, *columns, k=7)
        out[f"split_half {name}"] = partial(
            reliability.split_half, *columns, splits=20, confidence=0.9, seed=3
        )
        for metric in ("correlation", "rmse", "mae"):
            out[f"ceiling {name} {metric}"] = partial(
                ceiling, *columns, metric=metric, cell=cells, group=halves, confidence=0.9, seed=3
            )
    panels = {
        "two": votes(1, 60, 4, 2, 0.6),
        "four": votes(2, 80, 5, 4, 0.5),
        "clear": votes(3, 12, 3, 3, 1.0),
    }
    for name, columns in panels.items():
        for metric in ("accuracy", "balanced_accuracy", "macro_f1"):
            out[f"ceiling votes {name} {metric}"] = partial(
                ceiling, *columns, metric=metric, cell={i: i % 4 for i in range(80)}, confidence=0.9, seed=5
            )
    rng = np.random.default_rng(21)
    mean, sd, n = rng.normal(size=12), rng.uniform(0.2, 2, 12), rng.integers(1, 9, 12).astype(float)
    published = {
        "several": (mean, sd, n),
        "four": (mean[:4], sd[:4], n[:4] + 1),
        "agreed": (mean, 0 * sd, n),
    }
    for metric in ("correlation", "rmse", "mae"):
        for name, columns in published.items():
            out[f"means {name} {metric}"] = _of_means(columns, metric)

    def single() -> Estimate:
        return reliability.icc(*designs()["ragged"], confidence=0.9).icc2

    out["needed"] = lambda: [reliability.raters_needed(single(), t) for t in (0.5, 0.8, 0.95)]
    out["growth"] = lambda: [reliability.reliability_with(single(), k) for k in (1, 3, 10)]
    return out


def _mixed() -> dict[str, Callable[[], Any]]:
    d = crossed(1)
    flat = crossed(3) | {"y": crossed(3)["y"] - np.random.default_rng(0).normal(size=90)}
    mean = [flat["y"][flat["rater"] == r].mean() for r in range(7)]
    flat["y"] = flat["y"] - np.array(mean)[flat["rater"]]
    model = inference.mixed_model
    fixed = {"system": d["system"], "loud": d["loud"]}
    pair = {"rater": d["rater"], "item": d["item"]}
    return {
        "mixed one": lambda: model(d["y"], fixed, {"rater": d["rater"]}, confidence=0.9),
        "mixed two": lambda: model(d["y"], fixed, pair, confidence=0.9),
        "mixed sum": lambda: model(d["y"], fixed, pair, coding="sum", interactions=[("system", "loud")]),
        "mixed three": lambda: model(d["y"], fixed, pair | {"day": d["day"]}, confidence=0.9),
        "mixed intercept": lambda: model(d["y"], {}, pair),
        "mixed no rater": lambda: model(
            flat["y"], {"system": flat["system"]}, {"rater": flat["rater"], "item": flat["item"]}
        ),
        "mixed constant": lambda: model(np.zeros(90), fixed, pair),
        "mixed spanned": lambda: model(d["y"], {"who": d["rater"].astype(str)}, pair),
    }


def _linear() -> dict[str, Callable[[], Any]]:
    d = crossed(2, 60)
    factors = {"system": d["system"], "day": d["day"].astype(str)}
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.4, 1, 9), rng.normal(0, 2, 7)
    pairs = rng.normal(size=(2, 9)) + rng.normal(size=9)
    out: dict[str, Callable[[], Any]] = {}
    number: Any
    for number in (1, 2, 3):
        out[f"anova {number}"] = partial(
            inference.anova,
            d["y"],
            factors,
            type=number,
            interactions="all",
            covariates={"loud": d["loud"]},
            confidence=0.9,
        )
    groups = np.repeat(["a", "b", "c", "d"], [9, 7, 5, 4])
    y = rng.normal(size=25) + np.repeat([0.0, 1.0, 2.0, 0.0], [9, 7, 5, 4])
    two = [0.1, -0.2]
    out |= {
        "anova perfect": lambda: inference.anova([1.0, 1.0, 2.0, 2.0], {"g": list("aabb")}),
        "anova constant": lambda: inference.anova([1.0] * 4, {"g": list("aabb")}),
        "marginal": lambda: inference.marginal_means(
            d["y"], factors, "system", covariates={"loud": d["loud"]}, confidence=0.9
        ),
        "marginal perfect": lambda: inference.marginal_means([1.0, 1.0, 2.0, 2.0], {"g": list("aabb")}, "g"),
        "tukey": lambda: inference.tukey(y, groups, confidence=0.9),
        "tukey error": lambda: inference.tukey(y, groups, confidence=0.9, mean_square=2.0, df=11.0),
        "tukey flat": lambda: inference.tukey([1.0, 1.0, 2.0, 2.0], list("aabb")),
        "games": lambda: inference.games_howell(np.append(y, 3.0), np.append(groups, "e"), confidence=0.9),
        "holm": lambda: inference.holm([0.01, None, 0.04, 0.03, 0.2], confidence=0.9),
        "equal means": lambda: inference.equivalence_mean(a, b, low=-2, high=2, alpha=0.1),
        "equal pairs": lambda: inference.equivalence_mean(*pairs, low=-1, high=1, pairs=True),
        "equal r": lambda: inference.equivalence_correlation(*pairs, low=-0.5, high=0.9, kind="spearman"),
        "permute two": lambda: inference.permutation_two_sample(a, b, confidence=0.9),
        "permute welch": lambda: inference.permutation_two_sample(
            np.append(a, y),
            np.append(b, y),
            statistic="welch",
            alternative="greater",
            resamples=500,
            confidence=0.9,
        ),
        "permute pairs": lambda: inference.permutation_paired(*pairs, confidence=0.9),
        "permute many pairs": lambda: inference.permutation_paired(
            y, y[::-1] + 0.5, resamples=500, alternative="less"
        ),
        "powered mean": lambda: inference.prediction_powered_mean(
            inference.Rated(y, y + 0.3 * rng_like(25)), rng_like(80), confidence=0.9
        ),
        "powered rated": lambda: inference.prediction_powered_mean(
            inference.Rated(y, y + rng_like(25), np.arange(25) // 2, np.arange(25) % 6),
            rng_like(80),
            tuning=0.5,
        ),
        "powered slope": lambda: inference.prediction_powered_slope(
            inference.Rated(y, y + rng_like(25)),
            rng_like(25, 3),
            rng_like(80),
            rng_like(80, 4),
            confidence=0.9,
        ),
        "powered few": lambda: inference.prediction_powered_mean(inference.Rated(two, two), two),
    }
    kind: Any
    for kind in ("pearson", "spearman", "kendall"):
        out[f"permute {kind}"] = partial(
            inference.permutation_correlation, y, rng_like(25) + y, kind=kind, resamples=400
        )
    out["permute blocks"] = lambda: inference.permutation_correlation(
        y, rng_like(25) + y, within=groups, resamples=400
    )
    n = np.random.default_rng(8).integers(1, 5, 60)
    item = np.repeat(np.arange(60), n)
    value = np.random.default_rng(9).integers(1, 4, item.size) + 0.3 * n[item]
    for nominal in (False, True):
        out[f"counts nominal={nominal}"] = partial(
            inference.count_dependence,
            np.arange(item.size) % 11, item, np.round(value), cell=item % 4, nominal=nominal, confidence=0.9,
        )  # fmt: skip
    for metric in ("pearson", "rmse", "accuracy", "macro_f1"):
        whole = metric in ("accuracy", "macro_f1")
        x, other = (np.round(v).astype(int) % 3 if whole else v for v in (y, y + rng_like(25)))
        out[f"jackknife {metric} rows"] = partial(jackknife_metric, metric, x, other, confidence=0.9)
        out[f"jackknife {metric} clusters"] = partial(
            jackknife_metric, metric, x, other, group=np.arange(25) % 6, confidence=0.9
        )
    return out


def rng_like(n: int, seed: int = 6) -> Any:
    return np.random.default_rng(seed).normal(size=n)


CASES = _reliability() | _mixed() | _linear()


def same(path: str, now: Any, before: Any, rtol: float) -> None:
    if isinstance(before, dict):
        assert set(now) == set(before), path
        for name in before:
            same(f"{path}.{name}", now[name], before[name], rtol)
    elif isinstance(before, list):
        assert len(now) == len(before), path
        for place, value in enumerate(before):
            same(f"{path}[{place}]", now[place], value, rtol)
    elif isinstance(before, float) and isinstance(now, float | int):
        assert math.isclose(now, before, rel_tol=rtol, abs_tol=1e-10), (path, now, before)
    else:
        assert now == before, (path, now, before)


@cache
def recorded() -> dict[str, Any]:
    numbers: dict[str, Any] = json.loads(RECORDED.read_text())
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_as_recorded(name: str) -> None:
    same(name, json.loads(json.dumps(plain(CASES[name]()))), recorded()[name], 1e-7)


if __name__ == "__main__":
    made = {name: plain(case()) for name, case in CASES.items()}
    RECORDED.write_text(
        "{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in made.items()) + "\n}\n"
    )
