"""Small studies with real files, and the recipe of docs/training.md as a module."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.media.audio import write_audio
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import parse_study

DOCS = Path(__file__).parents[3] / "docs" / "training.md"
RATE = 8_000
STUDY = """
heartfelt: 1
name: tones
media: audio
systems: [{id: A}, {id: B}, {id: C}]
prompts: [{id: p0, text: "a low tone"}, {id: p1, text: "a tone"}, {id: p2, text: "a high tone"}]
scales:
  five: {type: points, points: 5, anchors: {1: bad, 5: good}}
  kind: {type: categories, categories: [low, middle, high]}
questions:
  - {id: impression, text: "How good is it?", scale: five}
  - {id: alignment, text: "How well does it fit?", scale: five, shows: [prompt]}
  - {id: pitch, text: "Which is it?", scale: kind}
credit: Made for a test.
design: {ratings_per_item: 4, minimum_ratings: 2}
"""


def own_recipe(folder: Path) -> Path:
    """Write the recipe that docs/training.md shows as ``my_package.py``."""
    (code,) = re.findall(r"```python\n(\"\"\"A recipe of our own.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "my_package.py").write_text(code, encoding="utf-8")
    return folder


def tones(folder: Path, count: int = 30, *, seconds: float = 0.5, seed: int = 1, one_kind: bool = False) -> Snapshot:
    """Tones whose pitch decides every answer, rated by six people."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = stream(seed, "tones")
    stimuli, ratings = [], []
    for at in range(count):
        name, system, kind = f"clip{at:03d}", "ABC"[at % 3], at % 3 if not one_kind else 1
        pitch = (200.0, 800.0, 2000.0)[kind] * float(draw.uniform(0.7, 1.3))
        time = np.arange(int(seconds * RATE)) / RATE
        wave = 0.4 * np.sin(2 * np.pi * pitch * time) + 0.1 * draw.normal(0, 1, time.size)
        write_audio(folder / f"{name}.wav", wave.astype(np.float32), RATE)
        part = "train" if at < 0.7 * count else "dev" if at < 0.85 * count else "test"
        row = {"stimulus": name, "system": system, "prompt": f"p{(at // 3) % 3}", "path": f"{name}.wav", "split": part}
        stimuli.append(row)
        fits = 4.5 if (at // 3) % 3 == kind else 2.0
        for rater in draw.choice(6, 4, replace=False):
            noise = draw.normal(0, 0.5, 2)
            values = {
                "impression": float(np.clip(np.round(1.5 + 1.4 * kind + noise[0]), 1, 5)),
                "alignment": float(np.clip(np.round(fits + noise[1]), 1, 5)),
                "pitch": float(kind),
            }
            ratings += [
                {"rater": f"r{rater}", "stimulus": name, "question": question, "value": value}
                for question, value in values.items()
            ]
    return Snapshot.build(
        parse_study(STUDY, "tones"),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="tones", media_root=folder),
    )
