"""Scoring a million predictions, and captions: ``python -m benchmarks scoring``, or ``python -m benchmarks.scoring ITEMS``.

Wall time, CPU time and the peak of memory of the whole process. The predictions are of made labels, on one scale and on two
sides, by stimuli of a hundred systems; ``score`` gives every metric with its intervals over stimuli and over systems.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from heartfelt.predictors.interface.predictor import PREDICTIONS
from heartfelt.scoring import ScoreOptions, score, truth_of
from heartfelt.snapshot import Snapshot
from heartfelt.stats.prediction.resample import bootstrap_metric
from heartfelt.stats.texts.text import bleu_counts, bleu_value, cider, corpus, rouge_l
from heartfelt.study import Study
from heartfelt.study.model import Question
from heartfelt.study.scales.scale import Points

RESAMPLES = 10_000


def timed(name: str, call: Callable[[], Any]) -> Any:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:52s} {wall:8.2f} s  {cpu:8.2f} s CPU  peak {peak:6.0f} MB", flush=True)
    return result


def metrics(items: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=items)
    y = x + rng.normal(size=items)
    label, answer = (x > 0.5).astype(int), (y > 0.3).astype(int)
    system = rng.integers(0, 100, items)
    columns: list[tuple[str, Any, Any, Any]] = [
        ("pearson", x, y, None),
        ("spearman", x, y, None),
        ("mse", x, y, None),
        ("balanced_accuracy", label, answer, None),
        ("auroc", label, y, None),
        ("pearson", x, y, system),
    ]
    for name, a, b, group in columns:
        bootstrap_metric(name, a[:2000], b[:2000], resamples=100)
        what = f"{name}{' by system' if group is not None else ''}, {items:,} x {RESAMPLES:,}"
        result = timed(what, partial(bootstrap_metric, name, a, b, group=group, resamples=RESAMPLES))
        print(f"    {result:.5f}, {result.interval}")


def whole(items: int) -> None:
    rng = np.random.default_rng(1)
    names = [f"s{k}" for k in range(items)]
    study = Study(
        name="made",
        scales={"nine": Points(type="points", points=9)},
        questions=[Question(id="valence", text="?", scale="nine")],
    )
    truth = np.clip(rng.normal(5, 1.2, items), 1, 9)
    stimuli = pl.DataFrame({"stimulus": names, "system": [f"m{k % 100}" for k in range(items)]})
    means = pl.DataFrame({"stimulus": names, "question": "valence", "mean": truth})
    snapshot = Snapshot.build(study, stimuli=stimuli, means=means)
    frame = pl.DataFrame({"stimulus": names, "value": truth + rng.normal(0, 1, items)}).with_columns(
        pl.lit("m").alias("model"),
        pl.lit("valence").alias("question"),
        pl.lit(True).alias("ok"),
        pl.lit(1).alias("attempts"),
    )
    blank = [pl.lit(None, dtype=c.dtype).alias(c.name) for c in PREDICTIONS.columns if c.name not in frame.columns]
    predictions = frame.with_columns(blank)
    options = ScoreOptions(resamples=RESAMPLES, slices=())
    truth = timed(f"labels of {items:,} items", partial(truth_of, snapshot, options))
    timed(f"score(), every metric of {items:,} predictions", partial(score, truth, predictions, options))


def captions() -> None:
    rng = np.random.default_rng(2)
    known = [f"w{k}" for k in range(3000)]

    def sentence() -> str:
        return " ".join(known[int(3000 * u**3)] for u in rng.random(28))

    answers = [sentence() for _ in range(10_000)]
    for n in (1, 5):
        heard = [[sentence() for _ in range(n)] for _ in answers]
        cider(answers[:9], heard[:9])
        rouge_l(answers[:9], heard[:9])
        timed(f"BLEU, 10,000 of 28 words, {n} references", partial(_bleu, answers, heard))
        timed(f"CIDEr-D, {n} references", partial(cider, answers, heard))
        timed(f"ROUGE-L, {n} references", partial(rouge_l, answers, heard))


def _bleu(answers: list[str], heard: list[list[str]]) -> float:
    return float(bleu_value(bleu_counts(corpus(answers, heard)).sum(axis=0)[None])[0])


def main() -> None:
    asked = [int(word) for word in sys.argv[1:] if word.isdigit()]
    items = asked[0] if asked else 1_000_000
    whole(items)
    metrics(items)
    captions()


if __name__ == "__main__":
    main()
