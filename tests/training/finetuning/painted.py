"""A small study of painted images with planted truth: the colour decides the emotion, the brightness the valence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import parse_study

STUDY = """
heartfelt: 1
name: painted
media: image
scales:
  feelings: {type: categories, categories: [awe, contentment, fear, sadness]}
  unit: {type: numeric, low: 0, high: 1}
  nine: {type: points, points: 9}
  tags: {type: tags}
  scenes: {type: categories, categories: [indoors, outdoors]}
questions:
  - {id: emotion, text: "Which emotion?", scale: feelings, emotion: felt}
  - {id: valence, text: "How pleasant?", scale: unit, emotion: felt, axis: valence}
  - {id: arousal, text: "How aroused?", scale: nine, emotion: felt, axis: arousal}
  - {id: objects, text: "Objects", scale: tags, machine_first: true}
  - {id: scene, text: "Scene", scale: scenes, machine_first: true}
  - {id: brightness, text: "Brightness", scale: unit, machine_first: true}
design: {ratings_per_item: 3, minimum_ratings: 2}
"""
COLOURS = {"awe": (40, 60, 230), "contentment": (40, 200, 60), "fear": (210, 30, 30), "sadness": (120, 120, 120)}


def painted(folder: Path, per_category: int = 12, side: int = 40) -> Snapshot:
    """Images with ratings by six people, and fields that a machine drafted and a person verified, of most images."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    draw = stream(11, "painted")
    stimuli, ratings, fields = [], [], []
    for code, (emotion, colour) in enumerate(COLOURS.items()):
        for place in range(per_category):
            name = f"{emotion}{chr(97 + place)}.png"
            light = draw.uniform(0.4, 1.0)
            pixels = np.array(colour) * light + draw.normal(0, 25, (side, side + 8, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / name)
            stimuli.append({"stimulus": name, "path": name, "hue": emotion[:1]})
            for rater in draw.choice(6, 3, replace=False):
                # One vote in six is for another emotion.
                voted = int(draw.integers(4)) if draw.random() < 1 / 6 else code
                arousal = float(np.clip(round(3 + 2 * (emotion in {"awe", "fear"}) + draw.normal(0, 0.7)), 1, 9))
                numbers = {"valence": float(np.clip(light + draw.normal(0, 0.05), 0, 1)), "arousal": arousal}
                rows = {"emotion": float(voted), **numbers}
                ratings += [
                    {"rater": f"r{rater}", "stimulus": name, "question": question, "value": value}
                    for question, value in rows.items()
                ]
            drafted = {"objects": f"sky; {emotion[:2]}", "scene": "outdoors", "brightness": f"{light:.2f}"}
            for field, value in drafted.items():
                if place > 1 or field != "objects":
                    row = {"stimulus": name, "field": field, "machine": value, "verdict": None, "final": None}
                    if field == "scene" and place % 2:
                        row |= {"verdict": "fixed", "final": "indoors"}
                    if field == "brightness" and place == 3:
                        row |= {"verdict": "rejected"}
                    fields.append(row)
    return Snapshot.build(
        parse_study(STUDY, "painted"),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        fields=pl.DataFrame(fields, schema_overrides={"verdict": pl.String, "final": pl.String}),
        source=Source(format="tables", name="painted", media_root=folder),
    )
