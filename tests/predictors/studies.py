"""Small studies with real media files, for asking predictors about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import soundfile

from heartfelt.predictors import Ask, Case, Media
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study import Study, parse_study

STUDY = """
heartfelt: 1
name: small
media: audio
intents: [{id: happy, reference: {valence: 8}}, {id: sad, reference: {valence: 2}}]
systems: [{id: A}, {id: B}]
prompts: [{id: plain, text: "{intent}, instrumental"}]
scales:
  nine: {type: points, points: 9, anchors: {1: very unpleasant, 9: very pleasant}}
  fit: {type: yes-no}
  mood: {type: categories, categories: [joy, grief, calm]}
questions:
  - {id: valence, text: "How pleasant is it?", scale: nine, emotion: perceived, axis: valence}
  - {id: fits, text: "Does it fit its description?", scale: fit, shows: [prompt]}
  - {id: mood, text: "Which mood does it convey?", scale: mood, emotion: perceived}
design: {ratings_per_item: 3, minimum_ratings: 1}
"""
RATERS = ("r1", "r2", "r3")


def study() -> Study:
    return parse_study(STUDY, "small")


def snapshot(folder: Path, n: int = 8) -> Snapshot:
    """``n`` stimuli of two systems and two intents with audio, each rated by three people on three questions."""
    media = folder / "media"
    media.mkdir(parents=True)
    stimuli, ratings = [], []
    for place in range(n):
        name = f"clip_{place:03}.wav"
        system, intent = "AB"[place % 2], ("happy", "sad")[(place // 2) % 2]
        tone = 0.2 * np.sin(np.arange(800) * (0.05 + 0.01 * place))
        soundfile.write(media / name, tone, 8000)
        stimuli.append({"stimulus": name, "system": system, "intent": intent, "prompt": "plain", "path": name})
        base = (7 if intent == "happy" else 3) + (1 if system == "A" else 0)
        for who, shift in zip(RATERS, (-1, 0, 1), strict=True):
            mood = 0.0 if intent == "happy" else 1.0
            fits = 1.0 if (system == "A" or who == "r1") else 0.0
            for question, value in (("valence", float(base + shift)), ("fits", fits), ("mood", mood)):
                ratings.append({"rater": who, "stimulus": name, "question": question, "value": value})
    return Snapshot.build(
        study(),
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="tables", name="small", media_root=media),
    )


class CountedMedia(Media):
    """Media that note every time the file is read."""

    reads: dict[str, int] = {}  # noqa: RUF012  # shared on purpose: it counts over all copies

    @property
    def content(self) -> bytes:
        if "content" not in self.__dict__:
            self.reads[self.path.name] = self.reads.get(self.path.name, 0) + 1
            self.__dict__["content"] = self.path.read_bytes()
        return bytes(self.__dict__["content"])


def texts_case(path: Path, texts: list[str], stimulus: str | None = None) -> Case:
    """A case that asks one yes-no question for each text."""
    scale = study().scales["fit"]
    asks = tuple(
        Ask(question=f"q{place}", scale=scale, text=text, words=text, about={"media": "audio"})
        for place, text in enumerate(texts)
    )
    return Case(stimulus=stimulus or path.name, asks=asks, media=CountedMedia(path))
