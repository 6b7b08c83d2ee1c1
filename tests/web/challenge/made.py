"""A benchmark of numbers, categories and degrees, and a model's predictions for it."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from heartfelt.labels import Benchmark, SplitOptions, freeze
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

STUDY = parse_study(
    "name: moods\nscales:\n  nine: {type: points, points: 9}\n  mood: {type: categories, categories: [happy, sad, calm]}\n"
    "  degree: {type: ordered, categories: [none, some, much]}\nquestions:\n  - {id: valence, text: V, scale: nine}\n"
    "  - {id: mood, text: M, scale: mood}\n  - {id: fear, text: F, scale: degree}\n"
)
WORDS = {"mood": ("happy", "sad", "calm"), "fear": ("none", "some", "much")}
SPLIT = SplitOptions(shares={"train": 0.4, "test": 0.6})


@cache
def snapshot(n: int = 120, raters: int = 5) -> Snapshot:
    """Every rater answers every question about every stimulus, with noise."""
    rng = np.random.default_rng(7)
    names = [f"clip_{at:03}" for at in range(n)]
    truth = {"valence": rng.normal(5, 1.5, n), "mood": rng.integers(0, 3, n), "fear": rng.integers(0, 3, n)}
    rows = []
    for question, levels in truth.items():
        for rater in range(raters):
            noisy = np.clip(np.round(levels + rng.normal(0, 1, n)), 1, 9)
            guessed = np.where(rng.random(n) < 0.75, levels, rng.integers(0, 3, n))
            values = noisy if question == "valence" else guessed
            rows += [(f"r{rater}", name, question, float(value)) for name, value in zip(names, values, strict=True)]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    facts = {"system": [f"s{at % 4}" for at in range(n)], "intent": [f"i{at % 3}" for at in range(n)]}
    return Snapshot.build(STUDY, stimuli=pl.DataFrame({"stimulus": names, **facts}), ratings=ratings)


@cache
def benchmark() -> Benchmark:
    """The labels, in a part to train on and a part to test."""
    return freeze(snapshot(), split=SPLIT)


def predictions(part: str | None = "test", seed: int = 1, right: float = 0.6) -> pl.DataFrame:
    """``stimulus, question, value, low, high, answer`` of a model that is right so often, for every item of a part."""
    rng, items = np.random.default_rng(seed), benchmark().items
    rows: list[tuple[object, ...]] = []
    for row in items.sort("question", "stimulus").iter_rows(named=True):
        if part is not None and row["split"] != part:
            continue
        key = row["stimulus"], row["question"]
        if row["question"] == "valence":
            value = float(row["label"] * right + 5 * (1 - right) + rng.normal(0, 0.8))
            rows.append((*key, value, value - 1.2, value + 1.1, None))
        else:
            code = int(row["label"]) if rng.random() < right else int(rng.integers(0, 3))
            rows.append((*key, None, None, None, WORDS[row["question"]][code]))
    columns = ["stimulus", "question", "value", "low", "high", "answer"]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
