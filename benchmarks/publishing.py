"""Publishing a million ratings of 100,000 stimuli: ``python -m benchmarks publishing``.

Everything is done that ``heartfelt publish`` does but the analysis and its figures (see ``analyzing`` for these): texts are
searched, pseudonyms made, demographics and days made k-anonymous, a benchmark frozen, Parquet and CSV written, every file
searched for every id. Wall time, CPU time and the peak of memory of the whole process; the source is made before the clock starts.
``python -m benchmarks.publishing RATINGS`` takes another number of ratings.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.publish import publish
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study

STUDY = """
name: large
scales:
  nine: {type: points, points: 9}
  words: {type: text}
questions:
  - {id: valence, text: How pleasant, scale: nine}
  - {id: arousal, text: How lively, scale: nine}
  - {id: caption, text: Describe it, scale: words}
"""
COUNTRIES = ("Germany", "France", "United States", "Brazil", "India", "South Korea", "Japan", "Kenya")
WORDS = ("calm", "bright", "slow", "warm", "restless", "piano", "strings", "like rain", "a march", "hope")


def source(ratings: int) -> Snapshot:
    """Ratings with captions and comments (2% with personal data), by raters with demographics, over two weeks."""
    rng = np.random.default_rng(0)
    stimuli, raters = max(10, ratings // 10), max(20, ratings // 50)
    rater = np.arange(ratings) % raters
    stimulus = (np.arange(ratings) // 3 * 7 + rater // raters) % stimuli
    question = np.array(["valence", "arousal", "caption"])[np.arange(ratings) % 3]
    caption = question == "caption"
    words = np.array(WORDS)[rng.integers(0, len(WORDS), (ratings, 3))]
    texts = pl.DataFrame(words).select(pl.concat_str(pl.all(), separator=" "))[:, 0]
    number = pl.Series(rng.integers(10**9, 10**10, ratings)).cast(pl.String)
    personal = pl.Series(rng.random(ratings) < 0.02)
    day = rng.integers(0, 14, raters)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    table = pl.DataFrame(
        {
            "rater": pl.Series(rater).cast(pl.String),
            "stimulus": pl.Series(stimulus).cast(pl.String),
            "question": question,
            "value": rng.integers(1, 10, ratings).astype(float),
            "answer": texts,
            "number": number,
            "personal": personal,
            "position": np.arange(ratings) // raters + 1,
            "seconds": rng.gamma(2.0, 4.0, ratings),
            "at": [start + timedelta(days=int(day[who]), seconds=int(at)) for at, who in enumerate(rater.tolist())],
            "repeat": np.arange(ratings) // raters,
        }
    )
    called = pl.when("personal").then(pl.format("{} call 0{}", "answer", "number")).otherwise("answer")
    table = table.with_columns(
        pl.format("rater-{}", pl.col("rater").str.zfill(6)).alias("rater"),
        pl.format("clip-{}", pl.col("stimulus").str.zfill(6)).alias("stimulus"),
        pl.when(~pl.Series(caption)).then("value").alias("value"),
        pl.when(pl.Series(caption)).then(called).alias("answer"),
    ).drop("number", "personal")
    people = pl.DataFrame(
        {
            "rater": [f"rater-{number:06d}" for number in range(raters)],
            "age": rng.integers(18, 80, raters),
            "gender": rng.choice(["woman", "man", "other"], raters, p=[0.49, 0.48, 0.03]),
            "country": rng.choice(COUNTRIES, raters, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.04, 0.01]),
            "language": rng.choice(["en", "de", "fr", "ko"], raters),
            "income": rng.choice(["low", "middle", "high"], raters),
        }
    )
    names = [f"clip-{number:06d}" for number in range(stimuli)]
    about = pl.DataFrame(
        {
            "stimulus": names,
            "system": [f"system {number % 20}" for number in range(stimuli)],
            "prompt": [f"prompt {number // 20}" for number in range(stimuli)],
        }
    )
    return Snapshot.build(parse_study(STUDY), stimuli=about, ratings=table, raters=people)


def main(ratings: int = 1_000_000) -> None:
    """Publish, with the seconds that every part takes."""
    made = source(ratings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    parts: dict[str, float] = defaultdict(float)
    at, at_work = time.perf_counter(), ""

    def report(doing: str, done: int, _total: int) -> None:
        nonlocal at, at_work
        now = time.perf_counter()
        parts[at_work] += now - at
        at, at_work = now, f"{doing} {done}" if doing.startswith("removing") else doing

    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        options = PublishOptions(sensitive=("income",), layouts=("huggingface", "csv"), analysis=False)
        published = publish(made, Path(folder) / "out", options, progress=report)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        report("end", 0, 0)
        size = sum(path.stat().st_size for path in published.folder.rglob("*") if path.is_file()) / 2**20
        files = sum(path.is_file() for path in published.folder.rglob("*"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{made}", flush=True)
        print(
            f"published: {wall:.1f} s, {cpu:.1f} s CPU, peak {peak:,.0f} MB ({before:,.0f} MB with the source alone);"
            f" {files} files, {size:,.0f} MB; {len(published.quarantined):,} texts quarantined"
        )
        for name, seconds in sorted(parts.items(), key=lambda each: -each[1])[:12]:
            print(f"    {seconds:6.1f} s  {name or 'preparing'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
