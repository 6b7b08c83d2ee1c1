"""Odd data of every kind: numbers or reasons, never a crash or a warning (warnings are errors here)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import Analysis, AnalyzeOptions, analyze
from tests.analysis.made import QUESTIONS, RANGES, Row, answers, snapshot, stimuli, summary_of

KINDS = ("conveyance", "opinion", "presence", "yes-no", "categories")
QUICK = AnalyzeOptions(resamples=100)


def full(kind: str, raters: int, items: int, value: Any, questions: tuple[str, ...] | None = None) -> list[Row]:
    return [
        (f"r{r}", f"s{i}", q, float(value(r, i)))
        for r in range(raters)
        for i in range(items)
        for q in questions or QUESTIONS[kind]
    ]


def cases(kind: str) -> Iterator[tuple[str, pl.DataFrame, list[Row]]]:
    low, high = RANGES[kind]
    asked = QUESTIONS[kind]
    rng = np.random.default_rng(5)

    def any_answer(_r: int, _i: int) -> int:
        return int(rng.integers(low, high + 1))

    table = stimuli(12)
    yield "one rater", table, full(kind, 1, 12, any_answer)
    yield "two raters", table, full(kind, 2, 12, any_answer)
    yield "one item", stimuli(1), full(kind, 8, 1, any_answer)
    yield "one rating", stimuli(1), full(kind, 1, 1, any_answer)
    yield "all agree", table, full(kind, 5, 12, lambda _r, i: low + i % (high - low + 1))
    yield "no variance", table, full(kind, 5, 12, lambda _r, _i: low)
    yield "a question nobody answered", table, full(kind, 5, 12, any_answer, asked[:1])
    yield "no ratings", table, []
    yield ("no overlap", table, [(f"r{i // 3}", f"s{i}", q, float(any_answer(0, 0))) for i in range(12) for q in asked])
    yield (
        "unknown raters",
        table,
        [(None, f"s{i}", q, float(any_answer(0, 0))) for i in range(12) for q in asked for _ in "abcd"],
    )
    yield "a category never used", table, full(kind, 6, 12, lambda _r, _i: low + int(rng.integers(2)))
    yield "no systems", table.select("stimulus"), full(kind, 6, 12, any_answer)
    yield "one system", stimuli(12, 1), full(kind, 6, 12, any_answer)
    yield "every stimulus its own system", stimuli(12, 12), full(kind, 6, 12, any_answer)


SHORT = {"one rater", "all agree", "a question nobody answered", "unknown raters", "a category never used"}
PARAMETERS = [
    pytest.param(kind, table, rows, id=f"{kind}: {name}")
    for kind in KINDS
    for name, table, rows in cases(kind)
    if kind in ("conveyance", "categories") or name in SHORT
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "table", "rows"), PARAMETERS)
def test_numbers_or_reasons(kind: str, table: pl.DataFrame, rows: list[Row]) -> None:
    result = analyze(snapshot(kind, table, rows), QUICK)
    json.dumps(summary_of(result), allow_nan=False)
    check_reasons(summary_of(result))
    check_parts(result)


def check_reasons(tree: Any, path: str = "") -> None:
    """Wherever a value is null, a reason stands beside it."""
    if isinstance(tree, dict):
        if "value" in tree and "method" in tree and tree["value"] is None:
            assert tree.get("why_missing"), path
        if "f" in tree and "effect" in tree and tree["f"] is None:
            assert tree.get("why_missing"), path
        for key, value in tree.items():
            check_reasons(value, f"{path}/{key}")
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            check_reasons(value, f"{path}/{place}")


def check_parts(found: Analysis) -> None:
    for part, why in summary_of(found)["why_missing"].items():
        assert summary_of(found)[part] is None, part
        assert why
    assert summary_of(found)["verdict"]
    assert not any("None" in sentence or " nan" in sentence for sentence in summary_of(found)["verdict"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["conveyance", "categories"])
def test_ten_thousand_raters_with_one_rating_each(kind: str) -> None:
    low, high = RANGES[kind]
    rng = np.random.default_rng(1)
    asked = QUESTIONS[kind]
    rows: list[Row] = [
        (f"r{i}", f"s{i % 24}", asked[i % len(asked)], float(rng.integers(low, high + 1))) for i in range(10_000)
    ]
    result = analyze(snapshot(kind, stimuli(), rows), QUICK)
    check_reasons(summary_of(result))
    check_parts(result)
    assert summary_of(result)["counts"]["raters"] == 10_000
    if kind == "conveyance":
        shares = summary_of(result)["reliability"]["valence"]["variance_components"]
        assert "every rater gave one rating" in shares["rater"]["why_missing"]


@pytest.mark.slow
def test_everyone_agrees_is_said() -> None:
    rows = full("opinion", 5, 12, lambda _r, i: 1 + i % 5)
    result = summary_of(analyze(snapshot("opinion", stimuli(12), rows), QUICK))["reliability"]["quality"]
    assert result["alpha_interval"]["value"] == pytest.approx(1.0)
    assert result["icc1"]["value"] == pytest.approx(1.0)
    assert result["icc1"]["low"] is None


@pytest.mark.slow
def test_agreement_that_hangs_on_one_rating() -> None:
    votes = {"r1": {"s0": 4, "s1": 5, "s2": 2}, "r2": {"s0": 3, "s3": 3}, "r3": {"s4": 4, "s2": 2}}
    rows: list[Row] = [(r, s, "quality", float(v)) for r, given in votes.items() for s, v in given.items()]
    result = analyze(snapshot("opinion", stimuli(5), rows), QUICK)
    check_reasons(summary_of(result))
    assert summary_of(result)["reliability"]["quality"]["icc1"]["value"] is not None


@pytest.mark.slow
def test_infinite_answers_are_left_out() -> None:
    table = stimuli(12)
    rows = answers("opinion", table)
    plain = analyze(snapshot("opinion", table, rows), QUICK)
    frame = plain.snapshot.ratings
    extra = pl.DataFrame(
        {"rater": ["odd"], "stimulus": ["s0"], "question": ["quality"], "value": [None]}, schema=frame.schema
    )
    assert plain.snapshot.study.scale_of("quality").bounds() == (1, 5)
    more = type(plain.snapshot).build(plain.snapshot.study, stimuli=table, ratings=pl.concat([frame, extra]))
    again = analyze(more, QUICK)
    assert summary_of(again)["reliability"] == summary_of(plain)["reliability"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_summary() -> None:
    table = stimuli(72)
    made = snapshot("conveyance", table, answers("conveyance", table, raters=4))
    first, second = (analyze(made, QUICK) for _ in range(2))
    assert json.dumps(summary_of(first)) == json.dumps(summary_of(second))
    other = analyze(made, AnalyzeOptions(resamples=100, seed=1))
    assert summary_of(other)["anova"] == summary_of(first)["anova"]
    assert summary_of(other)["overlap"] != summary_of(first)["overlap"]


def test_too_few_resamples_are_refused() -> None:
    from heartfelt.errors import InputError

    with pytest.raises(InputError, match="resamples"):
        AnalyzeOptions(resamples=10)
