"""A small study with real media, and raters who answer it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    GiveConsent,
    Next,
    Ready,
    SessionEnd,
    ShowTrial,
    Step,
    TrialLog,
)
from heartfelt.streams import stream

SYSTEMS = ("Quillbox", "Marrowtone")
INTENTS = ("zestful", "forlorn", "becalmed")
STUDY = """
heartfelt: 1
name: small
title: A small study
media: audio
systems: [{id: Quillbox}, {id: Marrowtone}]
intents:
  - {id: zestful, reference: {valence: 8, arousal: 7}}
  - {id: forlorn, reference: {valence: 2, arousal: 3}}
  - {id: becalmed, reference: {valence: 6, arousal: 2}}
scales: {nine: {type: points, points: 9}}
questions:
  - {id: valence, text: "How pleasant is it?", scale: nine, axis: valence, emotion: perceived}
  - {id: arousal, text: "How arousing is it?", scale: nine, axis: arousal, emotion: perceived}
consent: {text: "Your answers are used for research."}
design: {ratings_per_item: 4, practice: 0, listening: free, expected_seconds: 5}
"""


def write_study(folder: Path, each: int = 2, quota: int = 4) -> Path:
    """A study folder with ``each`` clips per system and intent, each wanting ``quota`` ratings."""
    import soundfile

    media = folder / "media"
    media.mkdir(parents=True)
    text = STUDY.lstrip().replace("ratings_per_item: 4", f"ratings_per_item: {quota}")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    lines = ["stimulus,system,intent,path"]
    for system in SYSTEMS:
        for intent in INTENTS:
            for number in range(1, each + 1):
                name = f"{system}_{intent}_{number}"
                time = np.arange(8000 // 4) / 8000
                soundfile.write(media / f"{name}.wav", 0.1 * np.sin(2 * np.pi * (220 + 40 * number) * time), 8000)
                lines.append(f"{name},{system},{intent},{name}.wav")
    (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def rate(collection: Collection, person: str | None = None, most: int = 1000, values: Any = None) -> tuple[str, int]:
    """One rater comes and answers up to ``most`` trials; returns who it was and how many were answered."""
    arrived = collection.do(Arrive(recruiter="prolific", person=person) if person else Arrive())
    rater, done = arrived.rater, 0
    step: Step | None = collection.do(Next(rater))
    truth = stream(7, "small", person or rater)
    while done < most and step is not None and not isinstance(step, SessionEnd):
        if isinstance(step, ShowTrial):
            given = values or _answers(collection, step, truth)
            heard = TrialLog(seconds=2.0 + float(truth.random()), plays=1, first_play=0.4, device="computer")
            step = collection.do(Answer(rater, step.trial, key=f"{rater}-{done}", values=given, log=heard)).next_step
            done += 1
        elif type(step).__name__ == "AskConsent":
            step = collection.do(GiveConsent(rater, True))
        else:
            step = collection.do(Ready(rater))
    return rater, done


def _answers(collection: Collection, trial: ShowTrial, truth: np.random.Generator) -> dict[str, int]:
    file = collection.media(trial.media or "")
    assert file is not None
    _, intent, _ = file.stimulus.split("_")
    place = {each.id: each.reference for each in collection.study.intents}[intent]
    return {q: int(np.clip(round(place[q] + truth.normal(0, 1.0)), 1, 9)) for q in trial.questions}


def fill(collection: Collection, people: Iterable[str]) -> list[str]:
    """Several raters, one after the other."""
    return [rate(collection, person)[0] for person in people]
