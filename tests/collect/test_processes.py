"""Several processes on one study, one of them killed in the middle: what was told is there once, nothing is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from heartfelt.collect import Collection, CollectOptions
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


def check(collection: Collection, acknowledged: dict[str, str], quota: int) -> None:
    ratings = collection.ratings().filter(pl.col("kind") == "rating")
    stored = {str(trial): f"{value:g}" for trial, value in ratings.select("trial", "value").iter_rows()}
    lost = {trial: value for trial, value in acknowledged.items() if stored.get(trial) != value}
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged ratings are not there"
    assert ratings["trial"].n_unique() == ratings.height
    assert ratings.select("rater", "stimulus", "question", "repeat").is_duplicated().sum() == 0
    per_item = Counter(ratings["stimulus"])
    assert max(per_item.values()) <= quota, "an item is over its quota"
    coverage = collection.coverage()
    assert coverage.complete == ratings.height


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_processes_share_a_study(make_study: Make, database: str | None) -> None:
    folder = make_study(40, design={"ratings_per_item": 6, "stimuli_per_rater": 30})
    Collection.open(folder, database=database).close()
    processes = [start(folder, database, 5, seed) for seed in (1, 2)]
    acknowledged: dict[str, str] = {}
    for process in processes:
        out, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
        acknowledged.update(told(out.splitlines(keepends=True)))
    with Collection.open(folder, database=database) as collection:
        check(collection, acknowledged, 6)
        assert len(acknowledged) > 150
        assert collection.coverage().leased == 0, "everybody has ended: no lease is stuck"
        counts = loads(collection).values()
        assert max(counts) - min(counts) <= 2


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_killed_in_the_middle(make_study: Make, database: str | None) -> None:
    """kill -9 of a process while it writes: every rating it was told is stored is there, and the study goes on."""
    folder = make_study(40, design={"ratings_per_item": 6})
    Collection.open(folder, database=database).close()
    process = start(folder, database, 8, 3)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if len(lines) == 60:
            os.kill(process.pid, signal.SIGKILL)
            break
    rest, _ = process.communicate(timeout=60)
    acknowledged = told(lines + rest.splitlines(keepends=True))
    assert 50 <= len(acknowledged) < 240
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
        while collection.coverage().complete < 240 and people < 20:
            Person(collection).finish()
            people += 1
        check(collection, acknowledged, 6)
        assert dict(collection.coverage().histogram) == {6: 40}
