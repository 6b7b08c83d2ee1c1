"""Raters' answers while the dashboard polls and exports run: a served study of many small images on this machine.

``HEARTFELT_WATCHING_STIMULI`` (2,000 unless said; 160,000 is AIGIEmo's size), ``…_RATERS`` (50) and ``…_SECONDS`` (10)
set its size. Each rater answers about once a second. Printed: how long a start, a restart and a snapshot take, and the
median and the 99th percentile of answers alone and with the dashboard and exports beside them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from tests.web.wire import Wire

from heartfelt.collect.messages.commands import Answer, ShowTrial, TrialLog
from heartfelt.web.serving.client import decode, encode

STUDY = """heartfelt: 1
name: watching
media: image
systems: [{id: s0}, {id: s1}, {id: s2}, {id: s3}]
scales:
  nine: {type: points, points: 9}
  kinds: {type: categories, categories: [amusement, awe, contentment, excitement, anger, disgust, fear, sadness]}
questions:
  - {id: valence, text: How pleasant, scale: nine}
  - {id: arousal, text: How exciting, scale: nine}
  - {id: emotion, text: Which, scale: kinds}
design: {ratings_per_item: 3, practice: 0}
"""
POLLED = (
    "coverage",
    "settings",
    "figures",
    "reliability",
    "systems",
    "comparisons",
    "categories",
    "raters",
    "machine",
    "stimuli",
)
EXPORTED = ("export/long", "ratings?as=csv", "ratings?as=parquet")


def _size(name: str, usual: int) -> int:
    return int(os.environ.get(f"HEARTFELT_WATCHING_{name}", usual))


def write_study(folder: Path, stimuli: int) -> None:
    """A study of small images, hard-linked so that they take no space."""
    from PIL import Image

    lines = ["stimulus,system,path"]
    source = folder
    for number in range(stimuli):
        home = folder / "media" / f"{number // 1000:03d}"
        if number % 1000 == 0:
            home.mkdir(parents=True)
        if number % 30_000 == 0:
            source = folder / f"source{number}.png"
            Image.new("RGB", (8, 8), (number % 251, 20, 30)).save(source)
        os.link(source, home / f"i{number}.png")
        lines.append(f"i{number},s{number % 4},{number // 1000:03d}/i{number}.png")
    (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")


class Server:
    """``heartfelt serve`` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        began = time.perf_counter()
        command = [sys.executable, "-m", "heartfelt", "serve", str(folder), "--port", str(self.port)]
        limits = ["--address-limit", "0", "--rater-limit", "0", "--no-access-log"]
        self.process = subprocess.Popen([*command, *limits], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self._answers():
            assert self.process.poll() is None, "the server has stopped"
            time.sleep(0.05)
        self.seconds = time.perf_counter() - began

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/study/login", timeout=5).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


async def rater(port: int, until: float, took: list[float]) -> None:
    """Somebody who answers about once a second."""
    wire = await Wire.to(port)
    await wire.send("GET", "/")
    step = decode(json.loads(await wire.send("POST", "/rate/ready", b"{}")))
    while time.perf_counter() < until and isinstance(step, ShowTrial):
        await asyncio.sleep(1.0)
        # Pages know questions by blinded names: answered in the order in which they are asked.
        values = dict(zip(step.questions, [5, 5, "awe"], strict=True))
        path, body = encode(Answer("", step.trial, key=step.trial, values=values, log=TrialLog(seconds=1.0)))
        began = time.perf_counter()
        step = decode(json.loads(await wire.send("POST", path, json.dumps(body).encode())))
        took.append(time.perf_counter() - began)
    wire.close()


async def answers(port: int, raters: int, seconds: float) -> list[float]:
    """Seconds each answer took, for ``raters`` people at a time."""
    took: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(rater(port, until, took) for _ in range(raters)))
    return sorted(took)


def watch(port: int, token: str, stop: threading.Event, paths: tuple[str, ...], pause: float) -> None:
    """Ask for ``paths`` over and over."""
    while not stop.is_set():
        for path in paths:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/v1/{path}", headers={"authorization": f"Bearer {token}"}
            )
            try:
                urllib.request.urlopen(request, timeout=60).read()
            except OSError as error:
                print(f"  {path}: {error}")
            if stop.is_set():
                return
        stop.wait(pause)


def _told(what: str, took: list[float]) -> None:
    middle, late = took[len(took) // 2], took[int(len(took) * 0.99)]
    print(f"{what}: {len(took)} answers, median {1000 * middle:.0f} ms, p99 {1000 * late:.0f} ms", flush=True)


def main() -> None:
    stimuli, raters, seconds = _size("STIMULI", 2000), _size("RATERS", 50), _size("SECONDS", 10)
    with tempfile.TemporaryDirectory() as space:
        folder = Path(space) / "study"
        folder.mkdir()
        write_study(folder, stimuli)
        server = Server(folder)
        print(f"{stimuli:,} stimuli: first start {server.seconds:.1f} s", flush=True)
        made = subprocess.run(
            [sys.executable, "-m", "heartfelt", "study", "token", str(folder), "--name", "benchmark"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        result = re.search(r"hf_\S+", made.stdout)
        assert result is not None
        asyncio.run(answers(server.port, raters, min(5, seconds)))
        _told("alone", asyncio.run(answers(server.port, raters, seconds)))
        stop = threading.Event()
        watchers = [
            threading.Thread(target=watch, args=(server.port, result[0], stop, POLLED, 0.7)),
            threading.Thread(target=watch, args=(server.port, result[0], stop, EXPORTED, 0.7)),
        ]
        for thread in watchers:
            thread.start()
        time.sleep(1.0)
        _told("with dashboard and exports", asyncio.run(answers(server.port, raters, seconds)))
        stop.set()
        for thread in watchers:
            thread.join()
        server.kill()
        again = Server(folder)
        print(f"restart after kill -9: {again.seconds:.1f} s", flush=True)
        for command in ("snapshot", "check"):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "heartfelt", command, str(folder)], capture_output=True, check=True)
            print(f"{command}: {time.perf_counter() - began:.1f} s", flush=True)
        again.kill()
