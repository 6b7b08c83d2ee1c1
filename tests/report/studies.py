"""Small studies of every kind with planted raters, to analyse and report on."""

from __future__ import annotations

import math
import wave
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.media.probe import probe_stimuli
from heartfelt.simulate import DesignOptions, RaterMix, TruthOptions, stimuli, study_ratings
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import AnyScale, Ordered, Points
from heartfelt.study.study import Intent, System
from tests import compared

SYSTEMS = ("Sinewood", "Pluckbox", "Brassline")
CARELESS = {"random": 0.1, "colluder": 0.1}


def tone(path: Path, pitch: float, seconds: float = 0.2, rate: int = 8000) -> None:
    """A short sine as a wave file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    wave_form = np.sin(np.arange(int(seconds * rate)) * 2 * math.pi * pitch / rate) * 8000
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(wave_form.astype("<i2").tobytes())


def conveyance(media: Path | None = None, *, raters: int = 20, title: str = "How does it feel?") -> Snapshot:
    """Two axes with references, three systems, twelve intents, a stimulus a cell; with tones if ``media`` is given."""
    table = stimuli(SYSTEMS, per_cell=1)
    intents = table.select("intent", "valence", "arousal").unique("intent", maintain_order=True).rows()
    study = Study(
        name="felt",
        title=title,
        description="A study of tones.",
        systems=[System(id=name) for name in SYSTEMS],
        intents=[Intent(id=name, reference={"valence": v, "arousal": a}) for name, v, a in intents],
        scales={"nine": Points(type="points", points=9)},
        questions=[Question(id=axis, text=f"How {axis}?", scale="nine", axis=axis) for axis in ("valence", "arousal")],
    )
    made = study_ratings(
        table,
        raters,
        truth_options=TruthOptions(),
        mix=RaterMix(shares=CARELESS),
        design=DesignOptions(per_rater=18),
        seed=3,
    )
    known = table.select("stimulus", "system", "intent")
    if media is not None:
        for place, name in enumerate(known["stimulus"]):
            tone(media / f"{name}.wav", 200 + 5 * place)
        known = probe_stimuli(known.with_columns((pl.col("stimulus") + ".wav").alias("path")), media, "tones")
    return Snapshot.build(
        study,
        stimuli=known,
        ratings=made.ratings,
        raters=made.raters.select("rater"),
        source=Source(format="simulation", name="felt", options={}, media_root=media),
    )


def traced(media: Path | None = None, seconds: float = 3.0) -> Snapshot:
    """Eight clips followed by six raters; with tones as long as the traces if ``media`` is given."""
    snapshot = compared.traced(raters=6, clips=8, rate=60 / seconds)
    known = snapshot.stimuli
    if media is not None:
        for place, name in enumerate(known["stimulus"]):
            tone(media / f"{name}.wav", 200 + 5 * place, seconds)
        known = probe_stimuli(known.with_columns((pl.col("stimulus") + ".wav").alias("path")), media, "tones")
    source = Source(format="simulation", name="traced", options={}, media_root=media)
    return Snapshot.build(
        snapshot.study, stimuli=known, ratings=snapshot.ratings, traces=snapshot.traces, source=source
    )


def opinion() -> Snapshot:
    """Two five-point scores without references, six systems."""
    draw = stream(5, "tests", "opinion")
    systems = [f"S{number:03d}" for number in range(1, 7)]
    study = Study(
        name="scores",
        title="How good is it?",
        systems=[System(id=name) for name in systems],
        scales={"five": Points(type="points", points=5)},
        questions=[Question(id=name, text=f"{name}?", scale="five") for name in ("impression", "alignment")],
    )
    names = [(f"{system}_{k}", place) for place, system in enumerate(systems) for k in range(8)]
    rows = []
    for stimulus, place in names:
        own = draw.normal(0, 0.4)
        for rater in draw.choice(14, 5, replace=False):
            for question in ("impression", "alignment"):
                value = np.clip(np.rint(2.2 + 0.35 * place + own + draw.normal(0, 0.7)), 1, 5)
                rows.append({"rater": f"r{rater}", "stimulus": stimulus, "question": question, "value": float(value)})
    table = pl.DataFrame({"stimulus": [name for name, _ in names], "system": [systems[place] for _, place in names]})
    people = pl.DataFrame(
        {
            "rater": [f"r{k}" for k in range(14)],
            "language": [("German", "English")[k % 2] for k in range(14)],
            "age": [20 + 3 * k for k in range(14)],
        }
    )
    return Snapshot.build(
        study,
        stimuli=table,
        ratings=pl.DataFrame(rows),
        raters=people,
        source=Source(format="simulation", name="scores"),
    )


def presence() -> Snapshot:
    """Is an emotion present: not, weakly or strongly; two emotions."""
    draw = stream(6, "tests", "presence")
    emotions = ["joy", "pride"]
    scales: dict[str, AnyScale] = {
        "presence": Ordered(type="ordered", categories=["not present", "weakly present", "strongly present"])
    }
    study = Study(
        name="presence",
        title="Is it there?",
        media="speech",
        scales=scales,
        questions=[
            Question(id="{emotion}", text="Is {emotion} present?", scale="presence", for_each={"emotion": emotions})
        ],
    )
    rows = []
    for number in range(20):
        for place, emotion in enumerate(emotions):
            truth = draw.integers(0, 3)
            for rater in draw.choice(9, 3, replace=False):
                value = truth if draw.random() < 0.9 - 0.3 * place else draw.integers(0, 3)
                rows.append(
                    {"rater": f"r{rater}", "stimulus": f"clip{number}", "question": emotion, "value": float(value)}
                )
    table = pl.DataFrame({"stimulus": [f"clip{number}" for number in range(20)]})
    return Snapshot.build(
        study, stimuli=table, ratings=pl.DataFrame(rows), source=Source(format="simulation", name="presence")
    )
