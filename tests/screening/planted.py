"""Snapshots with planted raters, for the tests of screening."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from heartfelt import simulate
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study, parse_study

SYSTEMS = ("A", "B", "C", "D", "E", "F")


def study(questions: tuple[str, ...] = ("valence", "arousal"), points: int = 9, **more: Any) -> Study:
    """A study of questions on one scale of points."""
    asked = "\n".join(f"  - {{id: {name}, text: {name}, scale: s}}" for name in questions)
    text = f"name: planted\nscales:\n  s: {{type: points, points: {points}}}\nquestions:\n{asked}\n"
    made = parse_study(text)
    return made.model_copy(update=more) if more else made


def snapshot(ratings: pl.DataFrame, stimuli: pl.DataFrame | None = None, of: Study | None = None) -> Snapshot:
    """A snapshot of ratings; the stimuli are those rated where none are given."""
    known = ratings.select("stimulus").unique(maintain_order=True) if stimuli is None else stimuli
    asked = tuple(ratings["question"].unique(maintain_order=True).to_list()) or ("valence",)
    return Snapshot.build(of or study(asked), stimuli=known, ratings=ratings)


def planted(
    shares: Mapping[str, float] | None = None,
    *,
    n: int = 60,
    seed: int = 0,
    per_cell: int = 7,
    mix: Mapping[str, Any] | None = None,
    design: simulate.DesignOptions | None = None,
) -> tuple[Snapshot, pl.DataFrame]:
    """A simulated study of six systems and twelve intents, and its planted raters."""
    stimuli = simulate.stimuli(SYSTEMS, per_cell=per_cell)
    made = simulate.study_ratings(
        stimuli, n, mix=simulate.RaterMix(shares=dict(shares or {}), **dict(mix or {})), design=design, seed=seed
    )
    return snapshot(made.ratings, stimuli.select("stimulus", "system", "intent"), study()), made.raters


def of_kind(raters: pl.DataFrame, *kinds: str) -> set[str]:
    """The raters of these kinds."""
    return set(raters.filter(pl.col("kind").is_in(kinds))["rater"].to_list())


def long(values: Mapping[str, Mapping[str, float]], question: str = "valence") -> pl.DataFrame:
    """Ratings from {rater: {stimulus: value}}, in presentation order."""
    rows = [
        (rater, stimulus, question, float(value), place)
        for rater, answers in values.items()
        for place, (stimulus, value) in enumerate(answers.items(), 1)
    ]
    return pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position"], orient="row")


def noise(seed: int) -> np.random.Generator:
    """A generator for small cases made in a test."""
    return np.random.default_rng(seed)
