"""Small studies with planted truth, and predictions of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from heartfelt.predictors.interface.predictor import PREDICTIONS
from heartfelt.serialization import to_json
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Categories, FreeText, Ordered, Points, YesNo
from heartfelt.study.study import Intent, System

SYSTEMS = tuple(f"S{place}" for place in range(8))
INTENTS = ("calm", "glad", "sad")
_SCHEMA = {column.name: column.dtype for column in PREDICTIONS.columns}


def predictions(model: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A table of predictions: each row needs stimulus and question; one with a problem is a failure."""
    filled = [{"model": model, "ok": row.get("problem") is None, "attempts": 1, **row} for row in rows]
    frame = pl.DataFrame([{name: row.get(name) for name in _SCHEMA} for row in filled], schema=_SCHEMA)
    return PREDICTIONS.check(frame, model)


def numbers(
    *, per_cell: int = 4, raters: int = 6, noise: float = 1.0, seed: int = 0
) -> tuple[Snapshot, dict[str, float]]:
    """Valence from 1 to 9 of stimuli by eight systems and three intents; and the true value of each stimulus."""
    draw = stream(seed, "tests", "score", "numbers")
    study = Study(
        name="felt",
        title="How pleasant?",
        systems=[System(id=name) for name in SYSTEMS],
        intents=[Intent(id=name) for name in INTENTS],
        scales={"nine": Points(type="points", points=9)},
        questions=[Question(id="valence", text="How pleasant?", scale="nine", about={"axis": "pleasure"})],
    )
    stimuli, ratings, truth = [], [], {}
    levels = {name: draw.normal(0, 0.7) for name in (*SYSTEMS, *INTENTS)}
    for system in SYSTEMS:
        for intent in INTENTS:
            for k in range(per_cell):
                name = f"{system}_{intent}_{k}"
                true = 5 + levels[system] + levels[intent] + draw.normal(0, 0.6)
                truth[name] = true
                stimuli.append({"stimulus": name, "system": system, "intent": intent, "language": ("de", "fr")[k % 2]})
                for rater in draw.choice(15, raters, replace=False):
                    value = float(np.clip(np.rint(true + draw.normal(0, noise)), 1, 9))
                    ratings.append({"rater": f"r{rater}", "stimulus": name, "question": "valence", "value": value})
    made = Snapshot.build(
        study,
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="simulation", name="felt"),
    )
    return made, truth


def presence(*, stimuli: int = 60, raters: int = 5, seed: int = 0) -> tuple[Snapshot, dict[tuple[str, str], float]]:
    """Is an emotion not, weakly or strongly present, two emotions; and how strongly each really is (0 to 2)."""
    draw = stream(seed, "tests", "score", "presence")
    study = Study(
        name="present",
        media="speech",
        scales={"presence": Ordered(type="ordered", categories=["no", "weak", "strong"])},
        questions=[
            Question(id="{emotion}", text="Is {emotion} there?", scale="presence", for_each={"emotion": ["joy", "awe"]})
        ],
    )
    truth, ratings = {}, []
    for k in range(stimuli):
        for emotion in ("joy", "awe"):
            true = float(draw.choice([0.0, 1.0, 2.0]))
            truth[f"clip{k}", emotion] = true
            for rater in draw.choice(9, raters, replace=False):
                value = true if draw.random() < 0.75 else float(draw.integers(0, 3))
                ratings.append({"rater": f"r{rater}", "stimulus": f"clip{k}", "question": emotion, "value": value})
    table = pl.DataFrame({"stimulus": [f"clip{k}" for k in range(stimuli)]})
    return Snapshot.build(study, stimuli=table, ratings=pl.DataFrame(ratings)), truth


def chances(*, stimuli: int = 100, raters: int = 3, seed: int = 0) -> tuple[Snapshot, dict[str, float]]:
    """Yes or no, with each stimulus's own chance of a yes drawn from a Beta distribution."""
    draw = stream(seed, "tests", "score", "chances")
    study = Study(
        name="match",
        scales={"yes": YesNo(type="yes-no")},
        questions=[Question(id="match", text="Does it match?", scale="yes")],
    )
    chance = {f"c{k}": float(p) for k, p in enumerate(draw.beta(0.8, 0.8, stimuli))}
    ratings = [
        {"rater": f"r{rater}", "stimulus": name, "question": "match", "value": float(draw.random() < p)}
        for name, p in chance.items()
        for rater in draw.choice(12, raters, replace=False)
    ]
    table = pl.DataFrame({"stimulus": list(chance)})
    return Snapshot.build(study, stimuli=table, ratings=pl.DataFrame(ratings)), chance


def feelings(*, stimuli: int = 80, seed: int = 0) -> Snapshot:
    """One of four feelings without an order, seven votes a stimulus; and a caption by two people."""
    draw = stream(seed, "tests", "score", "feelings")
    names = ["joy", "fear", "calm", "rage"]
    study = Study(
        name="feelings",
        scales={"four": Categories(type="categories", categories=list(names)), "words": FreeText(type="text")},
        questions=[
            Question(id="feeling", text="Which?", scale="four"),
            Question(id="caption", text="What happens?", scale="words"),
        ],
    )
    ratings: list[dict[str, Any]] = []
    for k in range(stimuli):
        true = int(draw.integers(0, 4))
        for rater in range(7):
            code = true if draw.random() < 0.7 else int(draw.integers(0, 4))
            ratings.append(
                {
                    "rater": f"r{rater}",
                    "stimulus": f"c{k}",
                    "question": "feeling",
                    "value": float(code),
                    "answer": names[code],
                }
            )
        for rater in range(2):
            text = f"a {names[true]} song with {('drums', 'strings')[rater]} number {k}"
            ratings.append(
                {"rater": f"r{rater}", "stimulus": f"c{k}", "question": "caption", "value": None, "answer": text}
            )
    table = pl.DataFrame({"stimulus": [f"c{k}" for k in range(stimuli)]})
    return Snapshot.build(study, stimuli=table, ratings=pl.DataFrame(ratings, infer_schema_length=None))


def as_json(result: object) -> dict[str, Any]:
    """A result as a file holds it."""
    return cast(dict[str, Any], to_json(result))


def shares(values: Mapping[str, float]) -> str:
    """Shares as a prediction holds them."""
    return json.dumps(dict(values))
