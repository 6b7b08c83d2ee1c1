"""A small study with planted truth: files of numbers, a tiny embedding that reads them, ratings made from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, EmbeddingBlock, Features
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.stats.estimate import Estimate
from heartfelt.streams import stream
from heartfelt.study import parse_study
from heartfelt.training import RECIPES, TrainingRecipe

STUDY = """
heartfelt: 1
name: planted
media: audio
intents: [{id: happy, reference: {valence: 8}}, {id: sad, reference: {valence: 2}}, {id: calm, reference: {valence: 6}}]
systems: [{id: A}, {id: B}, {id: C}, {id: D}]
scales:
  nine: {type: points, points: 9, anchors: {1: very unpleasant, 9: very pleasant}}
questions:
  - {id: valence, text: "How pleasant is it?", scale: nine, emotion: perceived, axis: valence}
design: {ratings_per_item: 5, minimum_ratings: 3}
"""
WIDTH = 12


class Digits(Embedding):
    """Reads the numbers a file holds."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = "the numbers in the file"
    media: ClassVar[str] = "audio"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (EmbeddingBlock("first", 4), EmbeddingBlock("rest", WIDTH - 4))
    looks = 0

    @property
    def identity(self) -> str:
        return "digits 1"

    def of(self, path: Path | str, text: str | None = None) -> Features:
        del text
        type(self).looks += 1
        return Features(np.loadtxt(path, dtype=np.float32)[None], np.zeros(1), 1.0)


if "digits" not in EMBEDDINGS:
    EMBEDDINGS.add(Digits.name, Digits)
    RECIPES.add("digits", TrainingRecipe(name="digits", about="numbers", embedding="digits", questions=("valence",)))
    RECIPES.add(
        "digits-raters",
        TrainingRecipe(name="digits-raters", about="numbers", embedding="digits", questions=("valence",), raters=True),
    )


def value_of(estimate: Estimate) -> float:
    """The value of an estimate that has one."""
    assert estimate.value is not None
    return estimate.value


def planted(folder: Path, per_cell: int = 7, noise: float = 0.8, *, truth: bool = True) -> Snapshot:
    """Stimuli whose valence is a line through their numbers, rated by twelve people; without ``truth``, by chance."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = stream(3, "planted")
    weight = np.array([1.0, -0.8, 0.5, 0.3] + [0.0] * (WIDTH - 4))
    stimuli, ratings = [], []
    for system in "ABCD":
        for at, intent in enumerate(("happy", "sad", "calm")):
            for place in range(per_cell):
                name = f"{system}_{intent}_{place}.wav"
                x = rng.normal(0, 1, WIDTH) + (0.8, -0.8, 0.2)[at] * weight
                np.savetxt(folder / name, x, fmt="%.6f")
                stimuli.append({"stimulus": name, "system": system, "intent": intent, "path": name})
                value = 5 + 1.3 * float(x @ weight) if truth else float(rng.uniform(1, 9))
                for rater in rng.choice(12, 5, replace=False):
                    predicted = float(np.clip(np.round(value + rng.normal(0, noise)), 1, 9))
                    ratings.append({"rater": f"r{rater}", "stimulus": name, "question": "valence", "value": predicted})
    return Snapshot.build(
        parse_study(STUDY, "planted"),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="planted", media_root=folder),
    )


TWO_QUESTIONS = STUDY.replace(
    "design:", '  - {id: valence 2, text: "Again?", scale: nine, emotion: perceived, axis: valence}\ndesign:'
).replace("valence 2", "valence-again")


def labelled(
    folder: Path,
    *labels: Sequence[float | None],
    systems: Sequence[str | None] = ("A", "B", "C"),
    intents: Sequence[str | None] = ("happy", "sad"),
    raters: int = 0,
    n: int | None = None,
) -> Snapshot:
    """One stimulus per label; published means, or the same answer by several raters. Further labels are of a second question."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = stream(5, "bad labels")
    stimuli, rows = [], []
    for at in range(len(labels[0])):
        name = f"clip{chr(97 + at // 26)}{chr(97 + at % 26)}.wav"
        np.savetxt(folder / name, draw.normal(0, 1, WIDTH), fmt="%.6f")
        system, intent = systems[at % len(systems)], intents[at // len(systems) % len(intents)]
        stimuli.append({"stimulus": name, "path": name, "system": system, "intent": intent})
        for question, column in zip(("valence", "valence-again"), labels, strict=False):
            row = {"stimulus": name, "question": question}
            if not raters:
                rows.append({**row, "mean": column[at], "n": n})
            rows += [{**row, "rater": f"r{who}", "value": round(column[at] or 0)} for who in range(raters)]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Snapshot.build(
        parse_study(TWO_QUESTIONS if len(labels) > 1 else STUDY, "planted"),
        stimuli=pl.DataFrame(stimuli),
        ratings=table if raters else None,
        means=None if raters else table,
        source=Source(format="tables", name="planted", media_root=folder),
    )
