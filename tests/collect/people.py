"""People who take part: they walk through a collection step by step, and small studies for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    AskConsent,
    AskDemographics,
    AskHeadphones,
    Demographics,
    GiveConsent,
    Headphones,
    Next,
    Ready,
    Receipt,
    SessionEnd,
    ShowTrial,
    Step,
    TrialLog,
)

_KEYS = itertools.count()


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def write_study(folder: Path, name: str, stimuli: int = 6, **parts: Any) -> Path:
    """A study folder without media: ``parts`` are keys of study.yaml; ``rows`` replace the manifest's."""
    folder.mkdir(parents=True)
    rows = parts.pop("rows", None) or ["stimulus", *(f"s{n}" for n in range(stimuli))]
    items = parts.pop("items", None)
    study: dict[str, Any] = {
        "heartfelt": 1,
        "name": name,
        "scales": {"nine": {"type": "points", "points": 9}, "ten": {"type": "points", "points": 10}},
        "questions": [{"id": "valence", "text": "How pleasant?", "scale": "nine"}],
        **parts,
    }
    study["design"] = {"ratings_per_item": 2, "practice": 0, **parts.get("design", {})}
    if items is not None:
        study["stimuli"] = {"items": "items.csv"}
        (folder / "items.csv").write_text("\n".join(items) + "\n", encoding="utf-8")
    (folder / "study.yaml").write_text(yaml.safe_dump(study, allow_unicode=True), encoding="utf-8")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def add_media(folder: Path) -> Path:
    """Give every stimulus of a study folder the same short clip."""
    import numpy as np
    import soundfile

    (folder / "media").mkdir(exist_ok=True)
    soundfile.write(folder / "media" / "clip.wav", np.zeros(800), 8000)
    head, *rows = (folder / "stimuli.csv").read_text(encoding="utf-8").splitlines()
    lines = [f"{head},path", *(f"{row},clip.wav" for row in rows)]
    (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


class Person:
    """Somebody who takes part; ``step`` is where they are."""

    def __init__(self, collection: Collection, **arrival: Any) -> None:
        self.collection = collection
        self.id = collection.do(Arrive(**arrival)).rater
        self.step: Step = collection.do(Next(self.id))
        self.shown: list[ShowTrial] = []

    def begin(self) -> Step:
        """Go through everything that comes before the first trial."""
        while not isinstance(self.step, ShowTrial | SessionEnd):
            self.go_on()
        return self.step

    def go_on(self) -> Step:
        """Do what the step before the trials, or the break, asks for."""
        do, step = self.collection.do, self.step
        if isinstance(step, AskConsent):
            self.step = do(GiveConsent(self.id, True))
        elif isinstance(step, AskDemographics):
            answers = {
                demographic.id: 30
                if demographic.type == "number"
                else demographic.choices[0]
                if demographic.choices
                else "x"
                for demographic in self.collection.study.demographics
            }
            self.step = do(Demographics(self.id, answers))
        elif isinstance(step, AskHeadphones):
            self.step = do(Headphones(self.id, step.probe, self.collection.quietest_tones(self.id)))
        else:
            self.step = do(Ready(self.id))
        return self.step

    @property
    def trial(self) -> ShowTrial:
        """The trial in front of the person."""
        assert isinstance(self.step, ShowTrial), self.step
        return self.step

    def answer(self, value: Any = 5, **more: Any) -> Receipt:
        """Answer every question of the trial with the same value."""
        trial = self.trial
        self.shown.append(trial)
        given = more.pop("values", dict.fromkeys(trial.questions, value))
        key = more.pop("key", f"key-{next(_KEYS)}")
        receipt = self.collection.do(
            Answer(
                self.id, trial.trial, key=key, values=given, log=more.pop("log", TrialLog(seconds=2.0, plays=1)), **more
            )
        )
        if receipt.next_step is not None:
            self.step = receipt.next_step
        return receipt

    def rate(self, most: int = 10_000) -> Iterator[ShowTrial]:
        """Rate up to ``most`` trials, resting where told to; yields each trial before it is answered."""
        self.begin()
        while most and not isinstance(self.step, SessionEnd):
            if not isinstance(self.step, ShowTrial):
                self.go_on()
                continue
            yield self.step
            self.answer()
            most -= 1

    def finish(self) -> SessionEnd:
        """Rate until the end."""
        for _ in self.rate():
            pass
        assert isinstance(self.step, SessionEnd)
        return self.step


def loads(collection: Collection) -> dict[str, int]:
    """Complete ratings and leases of every stimulus."""
    items = collection.coverage().items
    rows = items.select("stimulus", "complete", "extra", "leased").iter_rows()
    return {stimulus: complete + extra + leased for stimulus, complete, extra, leased in rows}
