"""A site of 2,000 stimuli and 20 models: how long it takes to build, its size, and how soon its pages are open in Chromium."""

from __future__ import annotations

import io
import statistics
import tempfile
import time
import wave
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks._browser import chromium

STIMULI, MODELS, RATERS = 2_000, 20, 8
QUESTIONS = ("valence", "arousal")
SYSTEMS = tuple(f"system-{k}" for k in range(10))
INTENTS = ("joy", "anger", "sadness", "calm")
OPENED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
STUDY = """
heartfelt: 1
name: site-benchmark
title: Two thousand clips
media: audio
scales:
  nine: {type: points, points: 9}
questions:
  - {id: valence, text: "How pleasant is it?", scale: nine}
  - {id: arousal, text: "How exciting is it?", scale: nine}
"""


def prepared(folder: Path, stimuli: int = STIMULI, models: int = MODELS) -> tuple[Path, Path]:
    """A snapshot with media and a folder with a bench of it."""
    from heartfelt.predictors.predictor import PREDICTIONS
    from heartfelt.report.bench import write_bench
    from heartfelt.scoring import ScoreOptions, score
    from heartfelt.snapshot import Snapshot
    from heartfelt.snapshot.snapshot import Source
    from heartfelt.study import load_study

    draw = np.random.default_rng(7)
    media = folder / "media"
    media.mkdir(parents=True)
    names = [f"clip-{k:04}" for k in range(stimuli)]
    sound = io.BytesIO()
    with wave.open(sound, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8_000)
        tone = 8_000 * np.sin(2 * np.pi * 330 * np.arange(4_000) / 8_000)
        out.writeframes(tone.astype("<i2").tobytes())
    for name in names:
        (media / f"{name}.wav").write_bytes(sound.getvalue())
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    table = pl.DataFrame(
        {
            "stimulus": names,
            "system": [SYSTEMS[k % len(SYSTEMS)] for k in range(stimuli)],
            "intent": [INTENTS[k // 7 % len(INTENTS)] for k in range(stimuli)],
            "prompt": [
                f"A short piece of music that sounds {INTENTS[k // 7 % 4]}, variation {k}"
                for k in range(stimuli)
            ],
            "path": [f"{name}.wav" for name in names],
            "found": [True] * stimuli,
        }
    )
    truth = draw.normal(5, 1.5, (stimuli, len(QUESTIONS)))
    rater = draw.integers(0, 200, (stimuli, RATERS))
    values = np.clip(
        np.rint(truth[:, None, :] + draw.normal(0, 1.2, (stimuli, RATERS, len(QUESTIONS)))), 1, 9
    )
    rows = [
        (f"r{rater[s, k]}-{k}", names[s], question, values[s, k, q])
        for s in range(stimuli)
        for k in range(RATERS)
        for q, question in enumerate(QUESTIONS)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    source = Source("tables", "site-benchmark", media_root=media)
    snapshot = Snapshot.build(
        load_study(folder / "study.yaml"), stimuli=table, ratings=ratings, source=source
    )
    snapshot.write(folder / "snapshot")
    noise = np.linspace(0.4, 4.0, models)
    answers = []
    for m in range(models):
        given = np.clip(truth + draw.normal(0, noise[m], truth.shape), 1, 9)
        lost = draw.random(truth.shape) < 0.01
        answers.append(
            pl.DataFrame(
                {
                    "model": [f"model-{m:02}"] * given.size,
                    "stimulus": np.repeat(names, len(QUESTIONS)),
                    "question": list(QUESTIONS) * stimuli,
                    "value": np.where(lost, np.nan, given).ravel(),
                    "problem": np.where(lost, "the server answered 500", "").ravel(),
                }
            )
        )
    predictions = PREDICTIONS.check(
        pl.concat(answers)
        .with_columns(
            pl.col("value").fill_nan(None),
            pl.col("problem").replace({"": None}),
            (pl.col("problem") == "").alias("ok"),
        )
        .with_columns(
            pl.lit(None if column.name != "attempts" else 1, dtype=column.dtype).alias(column.name)
            for column in PREDICTIONS.columns
            if column.required
            and column.name not in {"model", "stimulus", "question", "value", "problem", "ok"}
        ),
        "predictions",
    )
    scores = score(snapshot, predictions, ScoreOptions(resamples=100))
    write_bench(scores, predictions, folder / "benches" / "all")
    return folder / "snapshot", folder / "benches"


def main() -> None:
    from heartfelt.site import SiteOptions, write_site

    with tempfile.TemporaryDirectory() as space:
        snapshot, benches = prepared(Path(space))
        begun = time.perf_counter()
        site = write_site(benches, Path(space) / "site", SiteOptions(release=snapshot))
        seconds = time.perf_counter() - begun
        files = [path for path in site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        print(
            f"{STIMULI:,} stimuli and {MODELS} models: built in {seconds:.1f} s (wanted: under 30),"
            f" {len(files):,} files, {size:.0f} MB"
        )
        path = chromium()
        if path is not None:
            _opened(path, site)


def _opened(path: str, site: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        pages = {
            "leaderboard": "index.html",
            "models": "models/index.html",
            "a model": "models/model-03.html",
            "list of stimuli": "stimuli/index.html",
            "a stimulus": "stimuli/clip-1000.html",
        }
        for name, page in pages.items():
            taken = []
            for _ in range(3):
                context = browser.new_context()
                opened = context.new_page()
                opened.goto((site / page).as_uri())
                taken.append(opened.evaluate(OPENED))
                context.close()
            print(f"{name} is open after {statistics.median(taken):.0f} ms (wanted: under 1000)")
        browser.close()
