"""One item, one rater, all equal, no overlap: every agreement and reliability is a number with a valid interval, or
says why it is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from heartfelt.stats import agreement as a
from heartfelt.stats import reliability as r
from heartfelt.stats.estimate import Estimate
from tests.cases import check_all
from tests.golden_texts import assert_golden

Columns = tuple[list[Any], list[Any], list[Any]]

STATISTICS: dict[str, Callable[..., Estimate]] = {
    **{
        f"alpha {level}": lambda *c, level=level: a.alpha(c[0], c[1], c[2], level)
        for level in ("interval", "nominal", "ordinal", "ratio")
    },
    "alpha, bootstrap": lambda *c: a.alpha(*c, interval=a.Interval(method="bootstrap", resamples=100)),
    "alpha, point": lambda *c: a.alpha(*c, interval=None),
    "Fleiss": a.fleiss_kappa,
    "AC1": a.gwet_ac1,
    "AC2": a.gwet_ac2,
    "Cohen": lambda *c: a.cohen_kappa(*c, at_least=1).mean,
    "Cohen, weighted by items": lambda *c: a.cohen_kappa(*c).weighted,
    "Cohen, quadratic": lambda *c: a.cohen_kappa(c[0], c[1], c[2], "quadratic").mean,
    "accuracy": lambda *c: a.pairwise_accuracy(*c).mean,
    "balanced accuracy": lambda *c: a.pairwise_balanced_accuracy(*c).mean,
    "unanimous": lambda *c: a.exact_agreement(*c).unanimous,
    "agreeing pairs": lambda *c: a.exact_agreement(*c).pairwise,
    "leave one out": lambda *c: a.leave_one_out(*c).accuracy,
    "leave one out, balanced": lambda *c: a.leave_one_out(*c).balanced_accuracy,
    **{
        f"{form}, {interval}": lambda *c, form=form, interval=interval: getattr(r.icc(*c, interval=interval), form)
        for form in ("icc1", "icc1k", "icc2", "icc2k", "icc3", "icc3k")
        for interval in ("auto", "f")
    },
    **{
        name: lambda *c, name=name: getattr(r.variance_components(*c), name)
        for name in ("item", "rater", "residual", "error", "item_share", "rater_share", "residual_share", "mean")
    },
    "split half": lambda *c: r.split_half(*c, splits=5),
    "raters needed": lambda *c: r.icc(*c).raters_needed(0.8),
    "with ten": lambda *c: r.icc(*c).reliability_with(10),
}
CHANCE = [name for name in STATISTICS if name.startswith(("alpha", "Fleiss", "AC", "Cohen", "icc", "item", "split"))]
THREE = [1, 1, 1, 2, 2, 2, 3, 3, 3]
CASES: dict[str, Columns] = {
    "one item": (["a", "b", "c"], [1, 1, 1], [1, 2, 3]),
    "one item, two raters": (["a", "b"], [1, 1], [1, 2]),
    "one shared item": (["a", "b", "a", "b"], [1, 1, 2, 3], [1, 2, 3, 3]),
    "one rater": (["a"] * 3, [1, 2, 3], [1, 2, 3]),
    "all equal": (["a", "b"] * 3, [1, 1, 2, 2, 3, 3], [2] * 6),
    "no overlap": (["a", "b", "c"], [1, 2, 3], [1, 2, 3]),
    "no overlap, two raters": (["a", "a", "b", "b"], [1, 2, 3, 4], [1, 2, 1, 2]),
    "perfect agreement": (["a", "b", "c"] * 3, THREE, THREE),
    "opposite answers": (["a", "b"] * 2, [1, 1, 2, 2], [1, 2, 2, 1]),
    "two by two": (["a", "b"] * 2, [1, 1, 2, 2], [1, 1, 2, 1]),
    "constant raters": (["a", "b", "c"] * 3, THREE, [1, 2, 3] * 3),
    "one vote differs": (["a", "b", "c"] * 4, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4], [1] * 11 + [2]),
    "two of three agree": (["a", "b", "c"] * 3, THREE, [1, 1, 5, 2, 2, 1, 3, 3, 2]),
    "nothing": ([], [], []),
    "no values": (["a", "b"], [1, 1], [None, None]),
}


def check(e: Estimate) -> None:
    json.dumps(e.to_json(), allow_nan=False)
    if e.value is None:
        assert e.why_missing
        return
    assert e.why_missing is None
    if e.low is None and e.high is None:
        return
    if e.low is None or e.high is None:
        assert "no upper bound" in e.interval
        return
    assert e.low <= e.value <= e.high


@pytest.mark.slow
@check_all("case", CASES)
@check_all("name", STATISTICS)
def test_a_number_with_a_valid_interval_or_a_reason(name: str, case: str) -> None:
    e = STATISTICS[name](*CASES[case])
    check(e)
    if e.value is not None and e.low is None and name != "alpha, point":
        assert e.why_no_interval


@pytest.mark.slow
@check_all("name", CHANCE)
def test_one_item_says_nothing_about_agreement_beyond_chance(name: str) -> None:
    assert STATISTICS[name](*CASES["one item"]).is_missing
    assert STATISTICS[name](*CASES["one item, two raters"]).is_missing


@pytest.mark.slow
@check_all("seed", range(40))
def test_any_small_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    items, raters = rng.integers(1, 7, 2)
    item, rater = (x.ravel() for x in np.indices((items, raters)))
    keep = rng.random(item.size) < rng.choice([1.0, 0.7, 0.4])
    value = rng.integers(1, int(rng.choice([2, 3, 6])), item.size).astype(float)
    for e in (statistic(rater[keep], item[keep], value[keep]) for statistic in STATISTICS.values()):
        check(e)


@pytest.mark.slow
def test_every_reason_in_words() -> None:
    reasons: dict[str, set[str]] = {}
    for case, columns in CASES.items():
        for statistic in STATISTICS.values():
            estimate = statistic(*columns)
            for kind, reason in (("no value", estimate.why_missing), ("no interval", estimate.why_no_interval)):
                if reason:
                    reasons.setdefault(f"{kind}: {reason}", set()).add(case)
    assert_golden(
        "reasons.txt", "\n".join(f"{reason}\n    {', '.join(sorted(reasons[reason]))}" for reason in sorted(reasons))
    )
