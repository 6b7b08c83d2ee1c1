"""Every number of four small analyses, part by part: none may move.

The values were computed once and are kept in ``golden_numbers.json``; ``python -m tests.analysis.test_golden_numbers`` writes
the file anew when a number is meant to change. Text is not compared, except the names of methods and intervals being there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.snapshot import Snapshot
from tests.analysis.made import answers, snapshot, stimuli, study, summary_of

FILE = Path(__file__).with_name("golden_numbers.json")
WORDS = ("heartfelt", "schema", "source", "hash", "verdict", "verdict_groups", "methods", "results", "notes", "policy")


def conveyance() -> Snapshot:
    """Three systems, two careless raters, groups of raters and a covariate."""
    table = stimuli(16, 2).with_columns(pl.Series("loud", [float(i * 5 % 7) for i in range(16)]))
    rows = answers("conveyance", table, raters=9, seed=3)
    rng = np.random.default_rng(9)
    rows += [
        (f"careless{k}", f"s{i}", question, float(rng.integers(1, 10)))
        for k in range(2)
        for i in range(16)
        for question in ("valence", "arousal")
    ]
    base = snapshot("conveyance", table, rows)
    names = [*(f"r{k}" for k in range(9)), "careless0", "careless1", "silent"]
    people = pl.DataFrame({"rater": names, "language": ["en", "ko"] * 6})
    return Snapshot.build(base.study, stimuli=table, ratings=base.ratings, raters=people)


def presence() -> Snapshot:
    """Ordered categories whose items were chosen to show something, or not."""
    table = stimuli(12, 2)
    base = snapshot("presence", table, answers("presence", table, raters=5))
    items = base.items.with_columns(
        (pl.col("stimulus").str.slice(1).cast(pl.Int64) % 2 == 0).alias("intended_present"),
        pl.col("stimulus").str.slice(1, 1).alias("batch"),
    )
    return Snapshot.build(base.study, stimuli=table, ratings=base.ratings, items=items)


def categories() -> Snapshot:
    """Categories without an order, with intents among them."""
    table = stimuli(16, 2)
    return snapshot("categories", table, answers("categories", table, raters=5, seed=2))


def means() -> Snapshot:
    """Published means with spreads and counts, and no ratings."""
    rows = [
        {
            "stimulus": f"s{i}",
            "question": question,
            "mean": 5 + (i * 7 % 11 - 5) / 2.5,
            "sd": 1 + i % 3 / 4,
            "n": 5 + i % 3,
        }
        for i in range(16)
        for question in ("valence", "arousal")
    ]
    return Snapshot.build(study("conveyance"), stimuli=stimuli(16, 2), means=pl.DataFrame(rows))


STUDIES = {
    "conveyance": (conveyance, AnalyzeOptions(resamples=100, by="language", covariates=("loud",))),
    "left-out": (conveyance, AnalyzeOptions(resamples=100, policy="default")),
    "presence": (presence, AnalyzeOptions(resamples=100)),
    "categories": (categories, AnalyzeOptions(resamples=100)),
    "means": (means, AnalyzeOptions(resamples=100)),
}


def numbers(tree: Any) -> Iterator[float]:
    """Every number and truth value, by the order of the keys' names."""
    if isinstance(tree, dict):
        for name in sorted(tree):
            yield from numbers(tree[name])
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from numbers(value)
    elif isinstance(tree, int | float):
        yield float(tree)


@cache
def computed(name: str) -> dict[str, list[float]]:
    make, options = STUDIES[name]
    made = analyze(make(), options)
    parts = {part: list(numbers(result)) for part, result in summary_of(made).items() if part not in WORDS}
    tables = {"table of labels": made.labels, "table of raters": made.raters}
    parts |= {part: list(numbers(table.to_dicts())) for part, table in tables.items()}
    return {part: values for part, values in parts.items() if values}


@cache
def golden() -> dict[str, dict[str, list[float]]]:
    return dict(json.loads(FILE.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_no_number_moves(name: str) -> None:
    want, have = golden()[name], computed(name)
    assert list(have) == list(want)
    for part, values in want.items():
        assert len(have[part]) == len(values), part
        assert have[part] == pytest.approx(values, rel=1e-6, abs=1e-9), part


if __name__ == "__main__":
    rounded = {
        name: {part: [float(f"{value:.9g}") for value in values] for part, values in computed(name).items()}
        for name in STUDIES
    }
    FILE.write_text(json.dumps(rounded, separators=(",", ":")).replace('],"', '],\n"') + "\n")
