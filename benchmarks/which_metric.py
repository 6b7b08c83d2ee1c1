"""How metrics agree with people on the public sets at hand: the figures of docs/how-to/which-metric.md.

``python -m benchmarks which_metric`` reads AImoclips (music), OASIS (photographs) and the AVT AI images from the folder that
HEARTFELT_DATA names (by default ``../shared/data``). Every metric is asked once about every file; each of its scores is then
benched like any other predictor. A metric was made for something else than what was asked on these sets: the figures
warn, they do not rank. ``HEARTFELT_BENCH_OUT`` names a folder for the scores, from which a second run goes on.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

import heartfelt
from benchmarks.valence_arousal import AVT, DATA
from heartfelt.predictors import RunOptions, cases, predictor_from, run
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import BenchOptions, bench
from heartfelt.snapshot import Snapshot

OUT = os.environ.get("HEARTFELT_BENCH_OUT")
AUDIO = (
    *("measure", "speech-activity", "notes", "pitch", "music-tags[top=50,least=0]"),
    *("speech-mos:plcmos", "speech-mos:pdnsmos", "speech-mos"),
)
IMAGES = ("brisque", "faces", "pixels")
MOST = 132
"""Stimuli of AImoclips that are asked about, a balanced sample; 112 of them have a file."""
TAGS = ("happy", "sad")
"""The tags whose names are feelings of the questions asked; others were not looked at."""
RESAMPLES = 2_000


def main() -> None:
    oasis = heartfelt.read(DATA / "oasis", format="means", scale={"valence": "1-7", "arousal": "1-7"})
    avt = heartfelt.read(DATA / "avt_ai_images" / "ratings.csv", format="long", **AVT)
    aimoclips = heartfelt.read(DATA / "aimoclips")
    for name, snapshot, specs in (("OASIS", oasis, IMAGES), ("AVT", avt, IMAGES), ("AImoclips", aimoclips, AUDIO)):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(OUT or scratch) / name.lower()
            folder.mkdir(parents=True, exist_ok=True)
            tables = [_scores(name, snapshot, spec, folder) for spec in specs]
            _bench(name, snapshot, pl.concat(tables), folder)


def _scores(name: str, snapshot: Snapshot, spec: str, folder: Path) -> pl.DataFrame:
    """``stimulus, metric, score`` of every file of a study."""
    path = folder / f"{spec.translate(str.maketrans(':[]=,', '-----'))}.parquet"
    if path.is_file():
        return pl.read_parquet(path)
    with predictor_from(spec) as predictor:
        asks = tuple(ask for ask in predictor.file_asks() if ask.question != "palette")
        limit = MOST * len(snapshot.study.asked) if name == "AImoclips" else None
        stimuli = [replace(case, asks=asks) for case in cases(snapshot, limit=limit)]
        done = run(predictor, stimuli, None, RunOptions()).table
    metric = spec.partition("[")[0].partition(":")[0]
    rows = []
    for stimulus, question, value, score, shares in done.select(
        "stimulus", "question", "value", "score", "shares"
    ).iter_rows():
        numbers = {question: score if value is None else value}
        if metric == "music-tags":
            numbers = {tag: _shares(shares).get(tag) for tag in TAGS}
        rows += [(stimulus, f"{metric}:{key}", number) for key, number in numbers.items()]
    table = pl.DataFrame(rows, {"stimulus": pl.String, "metric": pl.String, "score": pl.Float64}, orient="row")
    table = table.filter(pl.col("score").is_finite())
    table.write_parquet(path)
    return table


def _shares(shares: object) -> Mapping[str, float]:
    import json

    content = json.loads(shares) if isinstance(shares, str) else shares
    return content if isinstance(content, Mapping) else {}


def _bench(name: str, snapshot: Snapshot, table: pl.DataFrame, folder: Path) -> None:
    """Every score against what people answered, as a row of the page's table."""
    questions = [question.id for question in snapshot.study.asked]
    models = []
    for number, ((metric,), rows) in enumerate(table.group_by("metric", maintain_order=True)):
        path = folder / f"score_{number}.csv"
        asked = pl.DataFrame({"question": questions})
        rows.select("stimulus", "score").join(asked, how="cross", maintain_order="left_right").write_csv(path)
        models.append(f"{str(metric).replace(':', ' ')}=file:{path}")
    if name == "AImoclips":
        models.append("valence-arousal")  # clips it was trained on are predicted by heads fitted without them
    scores = bench(snapshot, models, BenchOptions(score=ScoreOptions(resamples=RESAMPLES))).scores
    print(f"\n{name}")
    for question in questions:
        print(f"| metric | Pearson with {question} | Spearman | n | ceiling |\n|---|---|---|---|---|")
        for model in scores.models:
            pearson, spearman = (scores.find(question, model, metric) for metric in ("pearson", "spearman"))
            if pearson is None or spearman is None:
                continue
            n = scores.coverage[model][question].answered
            print(f"| {model} | {pearson.estimate} | {spearman.estimate} | {n} | {pearson.ceiling} |", flush=True)


if __name__ == "__main__":
    main()
