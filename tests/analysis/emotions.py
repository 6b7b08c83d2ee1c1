"""A made study after the recipe aigiemo: emotions of images in balance, tags that go with them, and raters who differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.recipes import recipe_study
from heartfelt.study.scales.answer import NONE

EMOTIONS = ("amusement", "awe", "contentment", "excitement", "anger", "disgust", "fear", "sadness")
PLACE = {
    "amusement": (0.80, 0.60),
    "awe": (0.65, 0.55),
    "contentment": (0.75, 0.25),
    "excitement": (0.80, 0.85),
    "anger": (0.15, 0.80),
    "disgust": (0.20, 0.55),
    "fear": (0.20, 0.85),
    "sadness": (0.20, 0.25),
}
OBJECTS = {"amusement": "dog", "awe": "mountain", "contentment": "tree", "fear": "spider", "disgust": "spider"}


def emotion_snapshot(per_emotion: int = 6, raters: int = 4, seed: int = 1, media: Path | None = None) -> Snapshot:
    """Images of eight intended emotions by two systems, each rated by three of the raters."""
    rng = np.random.default_rng(seed)
    study = recipe_study("aigiemo")
    stimuli, ratings = [], []
    for place, intent in enumerate(EMOTIONS * per_emotion):
        name = f"image-{place:03d}"
        stimuli.append({"stimulus": name, "system": ("one", "two")[place % 2], "intent": intent, "path": f"{name}.png"})
        for rater in rng.choice(raters, 3, replace=False):
            same = EMOTIONS[:4] if intent in EMOTIONS[:4] else EMOTIONS[4:]
            felt = intent if rng.random() < 0.75 else str(rng.choice(same))
            valence, arousal = np.clip(np.array(PLACE[felt]) + rng.normal(0, 0.12, 2), 0, 1).round(2)
            tags = [OBJECTS[intent]] if intent in OBJECTS and rng.random() < 0.85 else []
            tags += ["sky"] if rng.random() < 0.4 else []
            given = {
                "emotion": (float(EMOTIONS.index(felt)), felt),
                "valence": (float(valence), None),
                "arousal": (float(arousal), None),
                "caption": (None, f"an image number {place} by rater {rater}"),
                "style": (None, "Oil painting" if place % 3 else "photo"),
                "objects": (None, ";".join(tags) or NONE),
            }
            ratings += [
                {"rater": f"r{rater}", "stimulus": name, "question": question, "value": value, "answer": answer}
                for question, (value, answer) in given.items()
            ]
    return Snapshot.build(
        study,
        stimuli=pl.DataFrame(stimuli).with_columns(found=pl.lit(media is not None)),
        ratings=pl.DataFrame(ratings, schema_overrides={"value": pl.Float64, "answer": pl.String}),
        source=Source(format="long", name="made", options={}, media_root=media),
    )
