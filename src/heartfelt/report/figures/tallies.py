"""How often each answer was given: tallies of the ratings per question, and per system where stimuli have one."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from heartfelt.report.reading import Analysis
from heartfelt.report.words import number

MOST_ANSWERS = 12
BINS = 10


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers in order with how often each was given; ``edges`` are set where a continuous scale was cut into bins."""

    labels: tuple[str, ...]
    centres: tuple[float, ...]
    counts: dict[str | None, list[int]]
    """By system; under None over all."""
    means: dict[str | None, float]


def tally(analysis: Analysis, question: str) -> Tally | None:
    """The tally of one question, or None if nobody answered it."""
    scale = analysis.snapshot.study.scale_of(question)
    stimuli = analysis.snapshot.stimuli
    ratings = analysis.snapshot.scan_ratings().filter((pl.col("question") == question) & pl.col("value").is_finite())
    if "system" in stimuli.columns:
        ratings = ratings.join(stimuli.select("stimulus", "system").lazy(), on="stimulus", how="left")
    else:
        ratings = ratings.with_columns(pl.lit(None, dtype=pl.String).alias("system"))
    found = ratings.group_by("system", "value").len("count").collect()
    if not found.height:
        return None
    values = sorted(found["value"].unique().to_list())
    bounds = scale.bounds()
    words = scale.labels()
    if words:
        centres = [float(code) for code in words]
        labels = [str(text) for text in words.values()]
        place = {code: i for i, code in enumerate(centres)}
    elif all(float(v).is_integer() for v in values) and (bounds or (values[0], values[-1]))[1] - (bounds or (values[0], values[-1]))[0] < MOST_ANSWERS:
        low, high = bounds or (values[0], values[-1])
        centres = [float(v) for v in range(int(low), int(high) + 1)]
        labels = [number(int(v)) for v in centres]
        place = {v: i for i, v in enumerate(centres)}
    else:
        low, high = bounds or (values[0], values[-1])
        width = (high - low) / BINS or 1.0
        centres = [low + (i + 0.5) * width for i in range(BINS)]
        labels = [f"{number(low + i * width, 1 if width < 1 else 0)}–{number(low + (i + 1) * width, 1 if width < 1 else 0)}" for i in range(BINS)]
        place = {v: min(max(int((v - low) / width), 0), BINS - 1) for v in values}
    counts: dict[str | None, list[int]] = {None: [0] * len(centres)}
    totals: dict[str | None, tuple[float, int]] = {}
    for system, value, count in found.sort("system", "value").iter_rows():
        for key in {None, system}:
            if value in place:
                counts.setdefault(key, [0] * len(centres))[place[value]] += count
            total, n = totals.get(key, (0.0, 0))
            totals[key] = (total + value * count, n + count)
    return Tally(tuple(labels), tuple(centres), counts, {key: total / n for key, (total, n) in totals.items()})
