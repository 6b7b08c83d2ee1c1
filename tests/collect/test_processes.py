"""Several processes on one study, one of them killed in the middle: what was told is there once, nothing is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.commands import ShowTrial
from heartfelt.collect.store.tables import unpacked
from tests.collect.people import Person, loads

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[..., Path]


def start(folder: Path, database: str | None, raters: int, seed: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.collect.worker",
        str(folder),
        database or "",
        str(raters),
        str(seed),
    ]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(lines: list[str]) -> dict[str, str]:
    """What the process was told is stored: the value by trial."""
    results = {}
    for line in lines:
        words = line.split()
        if len(words) == 4 and line.endswith("\n") and words[0] in {"stored", "late"}:
            results[words[2]] = words[3]
    return results


TRACED = {
    "scales": {"nine": {"type": "points", "points": 9}, "course": {"type": "trace", "low": 0}},
    "questions": [
        {"id": "valence", "text": "How pleasant?", "scale": "nine"},
        {"id": "course", "text": "How pleasant at every moment?", "scale": "course"},
    ],
}
PAIRED = {
    "sets": {"type": "pair", "rule": "blocks"},
    "scales": {"which": {"type": "choice"}},
    "questions": [{"id": "valence", "text": "Which is more pleasant?", "scale": "which"}],
}


def check(collection: Collection, acknowledged: dict[str, str], quota: int) -> None:
    ratings = collection.ratings().filter(pl.col("kind") == "rating")
    if "course" in ratings["question"]:
        check_traces(collection, acknowledged)
        ratings = ratings.filter(pl.col("question") == "valence")
    if "place" in ratings.columns:
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
    assert max(per_item.values()) <= quota, "an item is over its quota"
    coverage = collection.coverage()
    assert coverage.complete == ratings.height


def check_traces(collection: Collection, acknowledged: dict[str, str]) -> None:
    with collection._database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT trial, samples FROM traces")
        stored = {str(row.trial): unpacked(row.samples) for row in rows}
    for trial, value in acknowledged.items():
        samples = stored[trial]
        assert samples.size == 51
        assert np.isnan(samples[0])
        assert np.allclose(samples[1:], int(value) / 9)


@pytest.mark.slow
def test_processes_share_a_study(make_study: Make, database: str | None) -> None:
    folder = make_study(40, design={"ratings_per_item": 6, "stimuli_per_rater": 30})
    Collection.open(folder, database=database).close()
    processes = [start(folder, database, 5, seed) for seed in (1, 2)]
    acknowledged: dict[str, str] = {}
    for process in processes:
        out, errors = process.communicate(timeout=250)
        assert process.returncode == 0, errors
        acknowledged.update(told(out.splitlines(keepends=True)))
    with Collection.open(folder, database=database) as collection:
        check(collection, acknowledged, 6)
        assert len(acknowledged) > 150
        assert collection.coverage().leased == 0, "everybody has ended: no lease is stuck"
        counts = loads(collection).values()
        assert max(counts) - min(counts) <= 2


@pytest.mark.slow
def test_killed_in_the_middle(make_study: Make, database: str | None) -> None:
    """kill -9 of a process while it writes: every rating it was told is stored is there, and the study goes on."""
    design = {"ratings_per_item": 6}
    folders = [make_study(40, design=design, **TRACED), make_study(9, design=design, **PAIRED)]
    for folder in folders:
        Collection.open(folder, database=database).close()
    processes = [start(folder, database, 8, 3) for folder in folders]
    for folder, process, units in zip(folders, processes, (40, 36), strict=True):
        kill_and_continue(folder, database, process, units)


def kill_and_continue(folder: Path, database: str | None, process: subprocess.Popen[str], units: int) -> None:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if len(lines) == 60:
            os.kill(process.pid, signal.SIGKILL)
            break
    rest, _ = process.communicate(timeout=250)
    acknowledged = told(lines + rest.splitlines(keepends=True))
    assert 50 <= len(acknowledged) < 6 * units
    ahead = 1e6
    with Collection.open(
        folder,
        database=database,
        clock=lambda: __import__("time").time() + ahead,
        options=CollectOptions(seed=1),
    ) as collection:
        check(collection, acknowledged, 6)
        assert collection.coverage().leased == 0, "the dead process's leases have run out"
        people = 0
        while collection.coverage().complete < 6 * units and people < 20:
            person = Person(collection)
            person.begin()
            while isinstance(person.step, ShowTrial):
                given = {"valence": 1, "course": {"samples": [0.5]}}
                person.answer(values={name: given[name] for name in person.step.questions})
            people += 1
        check(collection, acknowledged, 6)
        assert dict(collection.coverage().histogram) == {6: units}
