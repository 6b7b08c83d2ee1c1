"""A site of 2,000 stimuli and 20 models, and a viewer of its 80,000 answers: how long they take to build and to open."""

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
SEARCH = """(words) => {
  const input = document.querySelector("input[type=search]"), begun = performance.now();
  input.value = words;
  input.dispatchEvent(new Event("input"));
  return performance.now() - begun;
}"""
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
    from heartfelt.predictors.interface.predictor import PREDICTIONS
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
                f"A short piece of music that sounds {INTENTS[k // 7 % 4]}, variation {k}" for k in range(stimuli)
            ],
            "path": [f"{name}.wav" for name in names],
            "found": [True] * stimuli,
        }
    )
    truth = draw.normal(5, 1.5, (stimuli, len(QUESTIONS)))
    rater = draw.integers(0, 200, (stimuli, RATERS))
    values = np.clip(np.rint(truth[:, None, :] + draw.normal(0, 1.2, (stimuli, RATERS, len(QUESTIONS)))), 1, 9)
    rows = [
        (f"r{rater[s, k]}-{k}", names[s], question, values[s, k, q])
        for s in range(stimuli)
        for k in range(RATERS)
        for q, question in enumerate(QUESTIONS)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    source = Source(format="tables", name="site-benchmark", media_root=media)
    snapshot = Snapshot.build(load_study(folder / "study.yaml"), stimuli=table, ratings=ratings, source=source)
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
            pl.col("value").fill_nan(None), pl.col("problem").replace({"": None}), (pl.col("problem") == "").alias("ok")
        )
        .with_columns(
            pl.lit(None if column.name != "attempts" else 1, dtype=column.dtype).alias(column.name)
            for column in PREDICTIONS.columns
            if column.required and column.name not in {"model", "stimulus", "question", "value", "problem", "ok"}
        ),
        "predictions",
    )
    scores = score(snapshot, predictions, ScoreOptions(resamples=100))
    write_bench(scores, predictions, folder / "benches" / "all")
    return folder / "snapshot", folder / "benches"


def main() -> None:
    from heartfelt.report.site import SiteOptions, write_site
    from heartfelt.report.site.options import ViewOptions
    from heartfelt.report.site.viewer import write_view

    with tempfile.TemporaryDirectory() as space:
        snapshot, benches = prepared(Path(space))
        begun, used = time.perf_counter(), time.process_time()
        site = write_site(benches, Path(space) / "site", SiteOptions(release=snapshot))
        seconds, used = time.perf_counter() - begun, time.process_time() - used
        files = [path for path in site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        print(
            f"{STIMULI:,} stimuli and {MODELS} models: built in {seconds:.1f} s (wanted: under 30),"
            f" {used:.1f} s of processor time, {len(files):,} files, {size:.0f} MB"
        )
        begun = time.perf_counter()
        view = write_view(benches / "all", Path(space) / "view", ViewOptions(release=snapshot))
        print(
            f"a viewer of {STIMULI * MODELS * len(QUESTIONS):,} answers: built in {time.perf_counter() - begun:.1f} s"
        )
        path = chromium()
        if path is not None:
            _opened(path, site, view)


def _opened(path: str, site: Path, view: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        pages = {
            "the leaderboard": site / "index.html",
            "the list of models": site / "models/index.html",
            "a model": site / "models/model-03.html",
            "the list of stimuli": site / "stimuli/index.html",
            "a stimulus": site / "stimuli/clip-1000.html",
            "the viewer": view / "index.html",
        }
        for name, page in pages.items():
            taken = []
            for _ in range(3):
                context = browser.new_context()
                opened = context.new_page()
                opened.goto(page.as_uri())
                taken.append(opened.evaluate(OPENED))
                context.close()
            print(f"{name} is open after {statistics.median(taken):.0f} ms (wanted: under 1000)")
        opened = browser.new_page()
        opened.goto((view / "index.html").as_uri())
        times = [opened.evaluate(SEARCH, words) for words in ("clip-1", "clip-10", "")]
        print(f"a search in the viewer takes at most {max(times):.0f} ms")
        browser.close()
