"""Small studies of pairs, rankings and traces with planted truth."""

from __future__ import annotations

import itertools
import math
from typing import Any

import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.streams import stream
from heartfelt.study import Study, parse_study

PAIRS = """
heartfelt: 1
name: arena
systems: [{id: A}, {id: B}, {id: C}]
sets: {type: pair, rule: by-prompt}
scales:
  which: {type: choice, ties: true}
  how: {type: preference, steps: 3}
questions:
  - {id: better, text: "Which is more arousing?", scale: SCALE, axis: arousal}
design: {minimum_ratings: 1}
"""
RANKINGS = """
heartfelt: 1
name: ranks
systems: [{id: A}, {id: B}, {id: C}, {id: D}]
sets: {type: TYPE, rule: by-prompt}
scales:
  order: {type: SCALE}
questions:
  - {id: better, text: "Order them by how calm they are.", scale: order}
design: {minimum_ratings: 1}
"""
TRACES = """
heartfelt: 1
name: courses
scales:
  course: {type: trace, rate: 2}
questions:
  - {id: arousal, text: "How arousing is it now?", scale: course}
design: {minimum_ratings: 1}
"""
STRENGTH = {"A": 0.8, "B": 0.0, "C": -0.8, "D": -1.4}


def arena(
    *, prompts: int = 12, raters: int = 8, ties: float = 0.15, graded: bool = False, seed: int = 0, first: float = 0.0
) -> tuple[Snapshot, dict[str, float]]:
    """Three systems compared in pairs on every prompt, with ties; and the strength of every stimulus on the log-odds scale."""
    draw = stream(seed, "tests", "arena")
    study = parse_study(PAIRS.replace("SCALE", "how" if graded else "which"), "arena")
    truth = {f"{system}{k:02}": STRENGTH[system] + draw.normal(0, 0.8) for k in range(prompts) for system in "ABC"}
    stimuli = [{"stimulus": name, "system": name[0], "prompt": f"p{name[1:]}"} for name in truth]
    ratings: list[dict[str, Any]] = []
    for rater, k in itertools.product(range(raters), range(prompts)):
        for one, other in itertools.combinations("ABC", 2):
            shown = [f"{one}{k:02}", f"{other}{k:02}"]
            if draw.random() < 0.5:
                shown.reverse()
            lead = truth[shown[0]] - truth[shown[1]] + first
            won = draw.random() < 1 / (1 + math.exp(-lead))
            value = 0.5 if draw.random() < ties else float(won)
            values = (value, 1 - value)
            if graded:
                size = 0.0 if value == 0.5 else float(draw.integers(1, 4))
                values = (size, -size) if won else (-size, size)
            for place, (name, each) in enumerate(zip(shown, values, strict=True), 1):
                ratings.append(_row(rater, f"{k}-{one}{other}", name, each, place))
    return _snapshot(study, stimuli, ratings), truth


def rankings(
    *, prompts: int = 10, raters: int = 6, best_worst: bool = False, seed: int = 0
) -> tuple[Snapshot, dict[str, float]]:
    """Four systems ranked on every prompt, or the best and the worst named."""
    draw = stream(seed, "tests", "rankings")
    text = RANKINGS.replace("TYPE", "best-worst" if best_worst else "ranking")
    study = parse_study(text.replace("SCALE", "best-worst" if best_worst else "rank"), "ranks")
    truth = {f"{system}{k:02}": STRENGTH[system] + draw.normal(0, 0.4) for k in range(prompts) for system in "ABCD"}
    stimuli = [{"stimulus": name, "system": name[0], "prompt": f"p{name[1:]}"} for name in truth]
    ratings = []
    for rater, k in itertools.product(range(raters), range(prompts)):
        names = [f"{system}{k:02}" for system in "ABCD"]
        felt = {name: truth[name] + draw.gumbel() for name in names}
        ordered = sorted(names, key=lambda name: -felt[name])
        for place, name in enumerate(draw.permutation(names).tolist(), 1):
            rank = ordered.index(name) + 1
            value = float({1: 1, 4: -1}.get(rank, 0) if best_worst else rank)
            ratings.append(_row(rater, f"s{k}", name, value, place))
    return _snapshot(study, stimuli, ratings), truth


def _row(rater: int, name: str, stimulus: str, value: float, place: int) -> dict[str, Any]:
    return {
        "rater": f"r{rater}",
        "trial": f"r{rater}-{name}",
        "set": name,
        "stimulus": stimulus,
        "question": "better",
        "value": value,
        "place": place,
        "role": "member",
    }


def courses(
    *, stimuli: int = 8, raters: int = 6, seconds: float = 30.0, lag: float = 2.0, seed: int = 0
) -> tuple[Snapshot, dict[str, list[float]]]:
    """Clips followed at two samples per second by raters who react ``lag`` seconds late; and the course of every clip."""
    draw = stream(seed, "tests", "courses")
    study = parse_study(TRACES, "courses")
    count = round(2 * seconds)
    truth: dict[str, list[float]] = {}
    rows, ratings = [], []
    for k in range(stimuli):
        phase, speed = draw.uniform(0, 6), draw.uniform(0.25, 0.6)
        course = [0.6 * math.sin(phase + speed * (place / 2)) for place in range(count)]
        truth[f"c{k}"] = course
        for rater in range(raters):
            shift = round(2 * lag)
            level, noise = draw.normal(0, 0.05), draw.normal(0, 0.1, count)
            samples = [
                max(min(course[max(place - shift, 0)] + level + noise[place], 1.0), -1.0) for place in range(count)
            ]
            rows.append(
                {
                    "rater": f"r{rater}",
                    "stimulus": f"c{k}",
                    "question": "arousal",
                    "samples": samples,
                    "rate": 2.0,
                    "start": 0.0,
                }
            )
            ratings.append(
                {"rater": f"r{rater}", "stimulus": f"c{k}", "question": "arousal", "value": sum(samples) / count}
            )
    table = pl.DataFrame([{"stimulus": name, "system": "AB"[k % 2]} for k, name in enumerate(truth)])
    return _snapshot(study, table.to_dicts(), ratings, pl.DataFrame(rows)), truth


def _snapshot(
    study: Study, stimuli: list[dict[str, Any]], ratings: list[dict[str, Any]], traces: pl.DataFrame | None = None
) -> Snapshot:
    return Snapshot.build(
        study,
        stimuli=pl.DataFrame(stimuli),
        ratings=pl.DataFrame(ratings),
        source=Source(format="simulation", name=study.name),
        **({} if traces is None else {"traces": traces}),
    )
