"""A small release to arrange in layouts: twelve stimuli with media, three kinds of questions, a release folder."""

from __future__ import annotations

import hashlib
import io
import wave
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.publishing.release.release import PublishedMedium, Release, ReleaseRecord
from heartfelt.publishing.release.splits import freeze_release
from heartfelt.publishing.statements.details import Details
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.load import parse_study

STUDY = """
heartfelt: 1
name: moods
title: Moods
media: audio
systems:
  - {id: alpha, name: Alpha One}
  - {id: beta, name: Beta Two}
intents:
  - {id: joyful, group: Q1, reference: {valence: 8, arousal: 7}}
  - {id: sad, group: Q3, reference: {valence: 2, arousal: 3}}
scales:
  nine: {type: points, points: 9, anchors: {1: calm, 9: excited}}
  moods:
    type: categories
    categories: [{id: joy, text: Joyful}, {id: sorrow, text: Sorrowful}, {id: neither, text: Neither}]
  present:
    type: ordered
    categories: [{id: "absent", text: Not there}, {id: weak, text: Weakly there}, {id: strong, text: Strongly there}]
  words: {type: text}
questions:
  - {id: arousal, text: "How calm or excited?", scale: nine}
  - {id: mood, text: "Which mood?", scale: moods}
  - {id: energy, text: "Is there energy?", scale: present}
  - {id: why, text: "Why?", scale: words, required: false}
design: {minimum_ratings: 1}
demographics:
  - {id: gender, text: "Your gender?", type: choice, choices: [woman, man, other]}
"""
CODES = {"mood": ("joy", "sorrow", "neither"), "energy": ("absent", "weak", "strong")}
HARD_TEXT = 'Sanftes Klavier, "leise"\nzweite Zeile; 静かな'


def sound(seed: int) -> bytes:
    """A tenth of a second of noise as a WAV file."""
    samples = np.random.default_rng(seed).integers(-3000, 3000, 800).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(samples.tobytes())
    return out.getvalue()


def small_snapshot(names: list[str] | None = None) -> Snapshot:
    """Twelve stimuli in six prompts, five raters, four questions."""
    names = names or [f"clip{at:02d}" for at in range(12)]
    count = len(names)
    stimuli = pl.DataFrame(
        {
            "stimulus": names,
            "system": [("alpha", "beta")[at % 2] for at in range(count)],
            "intent": [("joyful", "sad")[at % 2] for at in range(count)],
            "prompt": [f"{HARD_TEXT} {at // 2}" for at in range(count)],
            "audio": [at / 4 for at in range(count)],
        }
    )
    rows: list[tuple[str, str, str, float | None, str | None]] = []
    for place, name in enumerate(names):
        for rater in range(5):
            at = place + rater
            rows.append((f"r{rater}", name, "arousal", 1.0 + at % 9, None))
            for question, codes in CODES.items():
                code = (place + (rater == 4)) % 3
                rows.append((f"r{rater}", name, question, float(code), codes[code]))
            rows.append((f"r{rater}", name, "why", None, f"{HARD_TEXT} {at}" if at % 3 else None))
    schema = {"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64}
    ratings = pl.DataFrame(rows, schema={**schema, "answer": pl.String}, orient="row").with_columns(
        pl.lit(datetime(2026, 3, 1, 12, tzinfo=UTC)).alias("at"),
        pl.when(pl.col("rater") == "r0").then(None).otherwise(2.5).alias("seconds"),
    )
    raters = pl.DataFrame(
        {
            "rater": [f"r{rater}" for rater in range(5)],
            "gender": ["man", "woman", None, "woman", "(coarsened)"],
            "age": ["20-29", "30-39", "20-29", None, "30-39"],
        }
    )
    return Snapshot.build(
        parse_study(STUDY),
        stimuli=stimuli,
        ratings=ratings,
        raters=raters,
        source=Source(format="tables", name="moods"),
    )


def release_of(
    snapshot: Snapshot,
    folder: Path,
    settings: Mapping[str, str] | None = None,
    *,
    absent: frozenset[str] = frozenset(),
    shared: bool = True,
) -> Release:
    """A release whose media lie below ``folder``/media; stimuli in ``absent`` have none."""
    media = {}
    for at, name in enumerate(snapshot.stimuli["stimulus"]):
        if name in absent:
            media[name] = PublishedMedium(stimulus=name, sha256="", bytes=0, why_absent="the file was not at hand")
            continue
        content = sound(at)
        digest = hashlib.sha256(content).hexdigest()
        if not shared:
            media[name] = PublishedMedium(
                stimulus=name,
                sha256=digest,
                bytes=len(content),
                link=f"https://example.org/{at}.wav",
                why_absent="the licence of the media does not allow sharing them",
            )
            continue
        path = f"media/{at:03d}.wav"
        (folder / "media").mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        media[name] = PublishedMedium(stimulus=name, sha256=digest, bytes=len(content), path=path)
    why = None
    try:
        benchmark = freeze_release(snapshot, settings=settings)
    except InputError as error:
        benchmark, why = None, error.problem
    record = ReleaseRecord(source_hash=snapshot.hash, published_hash=snapshot.hash, version="0", k=1, l=1, steps=())
    details = Details(title="Moods", licence="CC-BY-4.0")
    return Release(
        snapshot=snapshot,
        benchmark=benchmark,
        why_no_benchmark=why,
        analysis=None,
        panel=None,
        record=record,
        details=details,
        media=media,
    )


def with_stimuli(snapshot: Snapshot, stimuli: pl.DataFrame) -> Snapshot:
    """The same ratings with other facts about the stimuli."""
    return Snapshot.build(
        snapshot.study, stimuli=stimuli, ratings=snapshot.ratings, raters=snapshot.raters, source=snapshot.source
    )


def without_benchmark(release: Release) -> Release:
    """The release of a study whose labels could not be made."""
    return replace(release, benchmark=None, why_no_benchmark="no item has a label")
