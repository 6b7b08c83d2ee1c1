"""A long CSV of any size for benchmarks: made fast, in bounded memory, with planted truth and unique keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from heartfelt.errors import require
from heartfelt.files import whole_file
from heartfelt.streams import stream

_CHUNK_TRIALS = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LongCsv:
    """What was written: how many rows, and over how many raters, stimuli and questions."""

    path: Path
    rows: int
    raters: int
    stimuli: int
    questions: int


def long_csv(
    path: Path | str,
    rows: int = 10_000_000,
    *,
    questions: int = 2,
    per_rater: int = 500,
    per_stimulus: int = 6,
    seed: int = 0,
) -> LongCsv:
    """Write ``rows`` simulated ratings with the columns rater, stimulus, question, value, position, seconds.

    No two rows share rater, stimulus and question. A rater has ``per_rater`` trials of ``questions``
    answers, a stimulus about ``per_stimulus`` raters, in an order that scatters its ratings over the file.
    Values are 1-9: stimulus mean (sd 1.2) plus rater bias (sd 0.7) plus noise (sd 1.3), rounded. Memory
    does not grow with the rows, apart from one number per stimulus, question and rater.
    """
    enough = min(rows, questions, per_rater, per_stimulus) >= 1
    require(enough, "A long CSV needs rows, questions, trials and raters.", "Give each as 1 or more.")
    path = Path(path)
    trials = -(-rows // questions)
    raters = -(-trials // per_rater)
    stimuli = max(-(-trials // per_stimulus), min(per_rater, trials))
    # Stepping through the stimuli by a number prime to their count visits all of them before any twice, so
    # a rater's run of trials, never longer than that, holds no stimulus twice.
    step = max(1, round(stimuli * 0.6180339887))
    while math.gcd(step, stimuli) != 1:
        step += 1
    mean = stream(seed, "simulate", "bulk", "mean").normal(5.0, 1.2, (stimuli, questions)).astype(np.float32)
    bias = stream(seed, "simulate", "bulk", "bias").normal(0.0, 0.7, raters).astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        for first in range(0, trials, _CHUNK_TRIALS):
            trial = np.arange(first, min(first + _CHUNK_TRIALS, trials))
            rng = stream(seed, "simulate", "bulk", "chunk", first)
            frame = _chunk(trial, step, per_rater, mean, bias, rng).head(rows - first * questions)
            frame.write_csv(file, include_header=first == 0)
    return LongCsv(path=path, rows=rows, raters=raters, stimuli=min(stimuli, trials), questions=questions)


def _chunk(
    trial: np.ndarray[tuple[int], np.dtype[np.int64]],
    step: int,
    per_rater: int,
    mean: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    bias: np.ndarray[tuple[int], np.dtype[np.float32]],
    rng: np.random.Generator,
) -> pl.DataFrame:
    stimuli, questions = mean.shape
    rater = np.repeat(trial // per_rater, questions)
    stimulus = np.repeat(trial * step % stimuli, questions)
    question = np.tile(np.arange(questions), trial.size)
    noise = 1.3 * rng.standard_normal(rater.size, dtype=np.float32)
    value = np.clip(np.rint(mean[stimulus, question] + bias[rater] + noise), 1, 9).astype(np.int64)
    milliseconds = np.rint(300.0 + 2_000.0 * rng.standard_exponential(rater.size, dtype=np.float32))

    def names(letter: str, numbers: np.ndarray[tuple[int], np.dtype[np.int64]], of: int) -> pl.Series:
        return letter + pl.Series(numbers).cast(pl.String).str.zfill(len(str(of)))

    return pl.DataFrame(
        {
            "rater": names("r", rater, bias.size),
            "stimulus": names("s", stimulus, stimuli),
            "question": names("q", question + 1, 0),
            "value": value,
            "position": np.repeat(trial % per_rater + 1, questions),
            "seconds": milliseconds.astype(np.int64) / 1000,
        }
    )
