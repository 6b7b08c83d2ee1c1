"""MUSHRA: post-screening at its limits, figures by hand, and a published listening test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.comparison.mushra import crossed_mean, mushra


def _test(references: list[float], anchors: list[float] | None = None) -> tuple[list[object], ...]:
    """One listener who grades a reference and an anchor in each item."""
    anchors = anchors or [20.0] * len(references)
    rows = []
    for item, (reference, anchor) in enumerate(zip(references, anchors, strict=True)):
        rows += [("anna", item, "ref", reference), ("anna", item, "mid", anchor), ("anna", item, "sys", 50.0)]
    listeners, items, conditions, grades = zip(*rows, strict=True)
    return list(listeners), list(items), list(conditions), list(grades)


@pytest.mark.parametrize(
    ("below", "of", "excluded"), [(3, 20, False), (4, 20, True), (0, 20, False), (1, 6, True), (1, 7, False)]
)
def test_more_than_fifteen_percent_below_ninety_excludes(below: int, of: int, excluded: bool) -> None:
    data = _test([89.9] * below + [90.0] * (of - below))
    listener = mushra(*data, reference="ref", mid_anchor="mid").listeners[0]
    assert (listener.reference_below, listener.items, listener.excluded) == (below, of, excluded)
    if excluded:
        assert listener.reason == f"graded the hidden reference below 90 in {below} of {of} items"


def test_an_anchor_above_ninety_excludes_too() -> None:
    data = _test([100.0] * 5, [90.1, 20, 20, 20, 20])
    assert mushra(*data, reference="ref", mid_anchor="mid").listeners[0].anchor_above == 1
    assert mushra(*data, reference="ref", mid_anchor="mid").conditions == ()
    assert not mushra(*data, reference="ref").listeners[0].excluded
    assert len(mushra(*data, reference="ref", mid_anchor="mid", screening=False).conditions) == 3


def test_conditions_are_described_by_hand() -> None:
    rows = [(r, i, c, g) for r in "ab" for i in (1, 2) for c, g in (("ref", 100.0), ("x", 40.0 + 10 * i + (r == "b")))]
    result = mushra(*map(list, zip(*rows, strict=True)), reference="ref")
    best, other = result.conditions
    assert (best.name, other.name) == ("ref", "x")
    assert other.mean.value == pytest.approx(55.5)
    assert other.median == pytest.approx(55.5)
    assert other.quartiles == pytest.approx((50.75, 60.25))
    assert (other.lowest, other.highest) == (50, 61)
    assert other.below_reference.value == pytest.approx(44.5)
    assert best.below_reference.why_missing == "this is the reference"


def test_an_item_without_its_reference_is_named() -> None:
    result = mushra(["a", "a", "a"], [1, 1, 2], ["ref", "x", "x"], [100, 50, 60], reference="ref")
    assert result.without_reference == (2,)


def test_a_hidden_reference_below_an_anchor_still_counts() -> None:
    data = _test([10.0] * 3, [80.0] * 3)
    result = mushra(*data, reference="ref", mid_anchor="mid", screening=False)
    assert [condition.name for condition in result.conditions] == ["mid", "sys", "ref"]


@pytest.mark.parametrize(
    ("grade", "condition", "problem"),
    [(101.0, "x", "A grade of 101 is not on the scale"), (50.0, "ref", "graded the same condition")],
)
def test_bad_input_is_named(grade: float, condition: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        mushra(["a", "a"], [1, 1], ["ref", condition], [100, grade], reference="ref")


def test_a_missing_reference_is_named() -> None:
    with pytest.raises(InputError, match=r"'orig'.*hidden.*reference"):
        mushra(["a"], [1], ["ref"], [100], reference="orig")


def test_the_published_listening_test(shared_data: Path) -> None:
    table = pl.read_csv(shared_data / "sisec08" / "SiSEC08_anonymized.csv")
    columns = [table[name] for name in ("Listener", "Trial", "Condition", "Ratingscore")]
    result = mushra(*columns, reference="orig", mid_anchor="anchor")
    assert not any(listener.excluded for listener in result.listeners)
    means = table.group_by("Condition").agg(
        pl.col("Ratingscore").mean(), pl.col("Ratingscore").median().alias("median")
    )
    expected = {row["Condition"]: row for row in means.to_dicts()}
    assert len(result.conditions) == 11
    for condition in result.conditions:
        assert condition.mean.value == pytest.approx(expected[condition.name]["Ratingscore"])
        assert condition.median == expected[condition.name]["median"]
    assert result.conditions[0].name == "orig"
    assert result.conditions[0].mean.high == 100.0


@pytest.mark.slow
def test_the_mean_covers_with_raters_and_items_as_samples() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(400):
        grades = 50 + rng.normal(0, 8, 14)[:, None] + rng.normal(0, 6, 10) + rng.normal(0, 10, (14, 10))
        rater, item = np.indices(grades.shape)
        mean = crossed_mean(rater.ravel(), item.ravel(), grades.ravel())
        hits += mean.low is not None and mean.high is not None and mean.low <= 50 <= mean.high
    assert 0.93 < hits / 400 < 0.98
