"""Typed results become JSON and come back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.serialization import from_json, read_json, to_json, write_json
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Sizes:
    raters: int
    items: int


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    estimate: Estimate
    sizes: Sizes = field(metadata={"flatten": True})
    measurement: str = field(metadata={"formerly": "level"})
    notes: tuple[str, ...] = field(default=(), metadata={"omit": True})
    by_system: Mapping[str, Estimate | None] = field(default_factory=dict)
    cache: object = field(default=None, metadata={"skip": True})
    pairs: tuple[tuple[str, float | None], ...] = ()


PART = Part(
    "valence",
    Estimate(
        value=0.5, low=0.25, high=0.75, method="alpha", interval="jackknife", confidence=0.9, counts={"raters": 3}
    ),
    Sizes(3, 40),
    "ordinal",
    (),
    {"one": Estimate.missing("no raters", "mean"), "two": None},
    object(),
    (("a", 1.0), ("b", None)),
)


def test_fields_are_written_in_order_under_their_names() -> None:
    plain: Any = to_json(PART)
    assert list(plain) == ["name", "estimate", "raters", "items", "measurement", "by_system", "pairs"]
    assert plain["estimate"] == {
        "value": 0.5, "low": 0.25, "high": 0.75, "confidence": 0.9, "interval": "jackknife", "method": "alpha", "n_raters": 3,
    }  # fmt: skip
    assert plain["by_system"] == {"one": {"value": None, "why_missing": "no raters", "method": "mean"}, "two": None}
    assert plain["pairs"] == [["a", 1.0], ["b", None]]


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    write_json(tmp_path / "part.json", PART)
    restored = read_json(tmp_path / "part.json", Part)
    assert restored == Part(**{name: getattr(PART, name) for name in Part.__slots__ if name != "cache"})
    assert restored.estimate.confidence == 0.9
    assert restored.by_system["one"] == Estimate.missing("no raters", "mean")


def test_tables_and_arrays_are_plain_lists() -> None:
    assert to_json(pl.DataFrame({"a": [1, None], "b": ["x", "y"]})) == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]
    assert to_json({"x": np.array([1.5, 2.0]), "n": np.int64(3)}) == {"x": [1.5, 2.0], "n": 3}


@pytest.mark.parametrize("number", [math.nan, math.inf, np.float64("nan")])
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "x.json", {"value": number})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "change", [{"name": None}, {"raters": "three"}, {"pairs": [["a"]]}, {"by_system": []}, {"estimate": {}}]
)
def test_what_does_not_fit_the_type_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    plain: Any = to_json(PART)
    write_json(tmp_path / "part.json", {**plain, **change})
    with pytest.raises(InputError, match=r"part\.json.*Part"):
        read_json(tmp_path / "part.json", Part)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(KeyError, match="Part has no 'name'"):
        from_json(Part, {})


def test_a_field_is_found_under_the_name_it_had() -> None:
    plain: Any = to_json(PART)
    former = {"level" if name == "measurement" else name: value for name, value in plain.items()}
    assert from_json(Part, former) == from_json(Part, plain)
    assert from_json(Part, {**plain, "level": "nominal"}).measurement == "ordinal", "today's name comes first"
