"""Several processes on one study, one of them killed in the middle: what was told is there once, nothing is over."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from tests.collect.faults import KINDS, QUOTA, check, go_on, killed_after, start, told
from tests.collect.people import loads
from tests.collect.power import loses_power, synced_copies

Make = Callable[..., Path]


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
def test_two_processes_share_sets_and_traces(make_study: Make, database: str | None) -> None:
    """At the end every unit has its quota exactly, whichever process a rater came to."""
    folders = [make_study(kind.stimuli, design={"ratings_per_item": QUOTA}, **kind.parts) for kind in KINDS.values()]
    for folder in folders:
        Collection.open(folder, database=database).close()
    running = [[start(folder, database, 5, seed) for seed in (1, 2)] for folder in folders]
    for folder, kind, processes in zip(folders, KINDS.values(), running, strict=True):
        acknowledged: dict[str, str] = {}
        for process in processes:
            out, errors = process.communicate(timeout=250)
            assert process.returncode == 0, errors
            acknowledged.update(told(out.splitlines(keepends=True)))
        go_on(folder, database, acknowledged, kind.units)


@pytest.mark.slow
def test_killed_in_the_middle(make_study: Make, database: str | None) -> None:
    """kill -9 of a process while it writes: every rating it was told is stored is there, and the study goes on."""
    kinds = list(KINDS.values())
    folders = [make_study(kind.stimuli, design={"ratings_per_item": QUOTA}, **kind.parts) for kind in kinds]
    for folder in folders:
        Collection.open(folder, database=database).close()
    processes: list[subprocess.Popen[str]] = [start(folder, database, 8, 3) for folder in folders]
    for folder, process, kind in zip(folders, processes, kinds, strict=True):
        acknowledged = killed_after(process, 60)
        assert 50 <= len(acknowledged) < QUOTA * kind.units
        go_on(folder, database, acknowledged, kind.units)


@pytest.mark.slow
def test_power_lost_in_the_middle(make_study: Make, tmp_path: Path) -> None:
    """The process is killed and every write that was not synced is gone: what it was told is stored is there."""
    library = synced_copies(tmp_path)
    for kind in KINDS.values():
        folder = make_study(kind.stimuli, design={"ratings_per_item": QUOTA}, **kind.parts)
        process = start(folder, None, 8, 3, {"LD_PRELOAD": str(library)})
        acknowledged = killed_after(process, 60)
        assert len(acknowledged) >= 50
        assert loses_power(folder) > 0
        go_on(folder, None, acknowledged, kind.units)
