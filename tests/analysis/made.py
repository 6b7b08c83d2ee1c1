"""Small studies of every kind, for tests of the analysis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from heartfelt import simulate
from heartfelt.analysis import Analysis
from heartfelt.serialization import to_json
from heartfelt.snapshot import Snapshot
from heartfelt.study import Intent, Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import AnyScale, Categories, Ordered, Points, YesNo
from heartfelt.study.study import System

Row = tuple[str | None, str, str, float]

INTENTS = {"joyful": (8.0, 7.0), "sad": (2.0, 3.0), "angry": (2.5, 7.5), "calm": (7.0, 2.5)}
QUESTIONS: dict[str, tuple[str, ...]] = {
    "conveyance": ("valence", "arousal"),
    "opinion": ("quality", "alignment"),
    "presence": ("joy", "fear"),
    "yes-no": ("match",),
    "categories": ("emotion",),
}
RANGES = {"conveyance": (1, 9), "opinion": (1, 5), "presence": (0, 2), "yes-no": (0, 1), "categories": (0, 3)}


def scale(kind: str) -> AnyScale:
    if kind in ("conveyance", "opinion"):
        return Points(type="points", points=RANGES[kind][1])
    if kind == "presence":
        return Ordered(type="ordered", categories=["absent", "weak", "strong"])
    if kind == "yes-no":
        return YesNo(type="yes-no")
    return Categories(type="categories", categories=["joyful", "sad", "angry", "awe"])


def study(kind: str, minimum: int = 1) -> Study:
    intents = [
        Intent(id=name, reference={"valence": v, "arousal": a} if kind == "conveyance" else {})
        for name, (v, a) in INTENTS.items()
    ]
    questions = [
        Question(id=name, text=name, scale="s", axis=name if kind == "conveyance" else None) for name in QUESTIONS[kind]
    ]
    plain = Study(name="made", scales={"s": scale(kind)}, questions=questions, intents=intents)
    return plain.changed(design=plain.design.model_copy(update={"minimum_ratings": minimum}))


def stimuli(n: int = 24, systems: int = 3) -> pl.DataFrame:
    names = list(INTENTS)
    rows = [{"stimulus": f"s{i}", "system": f"M{i % systems}", "intent": names[i // systems % 4]} for i in range(n)]
    return pl.DataFrame(rows)


def snapshot(kind: str, table: pl.DataFrame, rows: Iterable[Row], minimum: int = 1) -> Snapshot:
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    ratings = pl.DataFrame(list(rows), schema=schema, orient="row")
    return Snapshot.build(study(kind, minimum), stimuli=table, ratings=ratings)


def answers(kind: str, table: pl.DataFrame, raters: int = 8, seed: int = 0, chance: float = 0.8) -> list[Row]:
    """Answers that depend on the stimulus and a little on the rater; some are missing."""
    rng = np.random.default_rng(seed)
    low, high = RANGES[kind]
    width = high - low
    bias = rng.normal(size=raters) * width / 12
    out: list[Row] = []
    for place, name in enumerate(table["stimulus"]):
        for question in QUESTIONS[kind]:
            level = (low + high) / 2 + (place * 7 % 11 - 5) * width / 12
            for rater in range(raters):
                if rng.random() < chance:
                    value = round(float(level + bias[rater] + rng.normal() * width / 8))
                    out.append((f"r{rater}", name, question, float(min(max(value, low), high))))
    return out


def conveyance_study(systems: Iterable[str] = simulate.SYSTEMS) -> Study:
    """The study of a simulation: its intents with their coordinates, two nine-point questions."""
    points = Points(type="points", points=9)
    return Study(
        name="simulated",
        scales={"nine": points},
        systems=[System(id=name) for name in systems],
        intents=[Intent(id=name, reference=dict(at)) for name, at in simulate.INTENTS.items()],
        questions=[Question(id=q, text=q, scale="nine", axis=q) for q in ("valence", "arousal")],
    )


def simulated(sim: simulate.SimulatedRatings, table: pl.DataFrame) -> Snapshot:
    retained = table.select("stimulus", "system", "intent")
    return Snapshot.build(conveyance_study(), stimuli=retained, ratings=sim.ratings)


def summary_of(analysis: Analysis) -> dict[str, Any]:
    """The summary as the JSON file holds it."""
    made = to_json(analysis.summary)
    assert isinstance(made, dict)
    return made
