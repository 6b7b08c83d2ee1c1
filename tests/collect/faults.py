"""Studies of every form of answer, processes that rate them until something happens to them, and the count of what is there.

What a process was told is stored must be there with its value, once; and when the study goes on, every quota is filled exactly.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import ShowTrial
from heartfelt.collect.store.tables import unpacked
from tests.collect.people import Person, write_study

ROOT = Path(__file__).resolve().parents[2]
QUOTA = 6
AHEAD = 1e6
"""Seconds by which the clock is ahead when a study goes on: the leases of whoever is dead have run out."""
TRACED: dict[str, Any] = {
    "scales": {"nine": {"type": "points", "points": 9}, "course": {"type": "trace", "low": 0}},
    "questions": [
        {"id": "valence", "text": "How pleasant?", "scale": "nine"},
        {"id": "course", "text": "How pleasant at every moment?", "scale": "course"},
    ],
}
PAIRED: dict[str, Any] = {
    "sets": {"type": "pair", "rule": "blocks"},
    "scales": {"which": {"type": "choice"}},
    "questions": [{"id": "valence", "text": "Which is more pleasant?", "scale": "which"}],
}
SYSTEMS = ("original", "one", "two", "three")
GRADED: dict[str, Any] = {
    "sets": {"type": "mushra", "reference": "original"},
    "scales": {"grade": {"type": "grade"}},
    "questions": [{"id": "grades", "text": "How good?", "scale": "grade"}],
    "rows": [
        "stimulus,system,prompt",
        *(f"{system}-{prompt},{system},p{prompt}" for prompt in range(30) for system in SYSTEMS),
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A form of study: its parts, and how many units it has."""

    stimuli: int
    parts: Mapping[str, Any]
    units: int

    def write(self, folder: Path, name: str) -> Path:
        """A study folder."""
        return write_study(folder, name, self.stimuli, design={"ratings_per_item": QUOTA}, **dict(self.parts))


KINDS = {
    "points and traces": Kind(stimuli=40, parts=TRACED, units=40),
    "pairs": Kind(stimuli=9, parts=PAIRED, units=36),
    "MUSHRA sets": Kind(stimuli=0, parts=GRADED, units=30),
}


def start(
    folder: Path, database: str | None, raters: int, seed: int, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """A process that rates."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.collect.worker", str(folder), database or "", str(raters), str(seed)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def told(lines: list[str]) -> dict[str, str]:
    """What the process was told is stored: the value by trial."""
    results = {}
    for line in lines:
        words = line.split()
        if len(words) == 4 and line.endswith("\n") and words[0] in {"stored", "late"}:
            results[words[2]] = words[3]
    return results


def killed_after(process: subprocess.Popen[str], answers: int) -> dict[str, str]:
    """Kill the process once it was told of so many answers; everything it was told."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if len(lines) == answers:
            os.kill(process.pid, signal.SIGKILL)
            break
    rest, _ = process.communicate(timeout=250)
    return told(lines + rest.splitlines(keepends=True))


def check(collection: Collection, acknowledged: Mapping[str, str], quota: int = QUOTA) -> int:
    """Nothing that was acknowledged is lost or changed, nothing is there twice, nothing is over its quota; how many there are."""
    ratings = collection.ratings().filter(pl.col("kind") == "rating")
    if "course" in ratings["question"]:
        check_traces(collection, acknowledged)
        ratings = ratings.filter(pl.col("question") == "valence")
    if "grades" in ratings["question"]:
        ratings = _graded_trials(ratings)
    elif "place" in ratings.columns:
        assert ratings.group_by("trial").agg(pl.col("place").sort())["place"].to_list() == [[1, 2]] * (
            ratings.height // 2
        )
        # What was sent is the place of the stimulus that was chosen.
        chosen = ratings.filter(pl.col("value") == 1.0)
        ratings = chosen.with_columns(stimulus=pl.col("set"), value=pl.col("place") - 1)
    stored = {str(trial): f"{value:g}" for trial, value in ratings.select("trial", "value").iter_rows()}
    lost = {trial: value for trial, value in acknowledged.items() if stored.get(trial) != value}
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged ratings are not there"
    assert ratings["trial"].n_unique() == ratings.height
    assert ratings.select("rater", "stimulus", "question", "repeat").is_duplicated().sum() == 0
    per_item = Counter(ratings["stimulus"])
    assert max(per_item.values(), default=0) <= quota, "an item is over its quota"
    assert collection.coverage().complete == ratings.height
    return ratings.height


def _graded_trials(ratings: pl.DataFrame) -> pl.DataFrame:
    """One row per set that was graded, with the tens that all its grades share; every member is there once, in its place."""
    trials = ratings.sort("place").group_by("trial", "rater", "set", "question", "repeat")
    whole = trials.agg(pl.col("place"), pl.col("value"))
    places = list(range(1, len(SYSTEMS) + 1))
    assert all(held == places for held in whole["place"].to_list())
    for grades in whole["value"].to_list():
        assert grades == [grades[0] + place for place in range(len(SYSTEMS))]
    return whole.select("trial", "rater", "question", "repeat", stimulus="set", value=pl.col("value").list.first() / 10)


def check_traces(collection: Collection, acknowledged: Mapping[str, str]) -> None:
    """Every trace that was acknowledged is there, sample by sample."""
    with collection._database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT trial, samples FROM traces")
        stored = {str(row.trial): unpacked(row.samples) for row in rows}
    for trial, value in acknowledged.items():
        samples = stored[trial]
        assert samples.size == 51
        assert np.isnan(samples[0])
        assert np.allclose(samples[1:], int(value) / 9)


def go_on(
    folder: Path,
    database: str | None,
    acknowledged: Mapping[str, str],
    units: int,
    clock: Callable[[], float] = lambda: time.time() + AHEAD,
) -> int:
    """Open the study after the fault, check it, and let others fill it: every unit gets its quota and not more."""
    with Collection.open(folder, database=database, clock=clock, options=CollectOptions(seed=1)) as collection:
        survived = check(collection, acknowledged)
        assert collection.coverage().leased == 0, "the dead process's leases have run out"
        people = 0
        while collection.coverage().complete < QUOTA * units and people < 40:
            person = Person(collection)
            person.begin()
            while isinstance(person.step, ShowTrial):
                judged = sum(member.kind == "judged" for member in person.step.members)
                values = {"valence": 1, "course": {"samples": [0.5]}, "grades": [*range(10, 10 + judged)]}
                person.answer(values={name: values[name] for name in person.step.questions})
            people += 1
        check(collection, acknowledged)
        assert dict(collection.coverage().histogram) == {QUOTA: units}
    return survived
