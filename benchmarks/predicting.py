"""Predicting: a slow server asked by many hands, decoding beside librosa, and Ray on two local nodes.

The server answers after 100 ms, in a process of its own. The sequential client is EmoLia's way: one request at a time, the
audio read and encoded anew for each; it is timed on fewer items, and the line says how many. Ray's figures come from a
cluster of one-CPU nodes on this machine; on a machine with two busy cores they vary.
"""

from __future__ import annotations

import base64
import http.client
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import soundfile

from heartfelt.predictors import Ask, Case, Media, RunOptions, predictor_from, run
from heartfelt.study.scales.scale import YesNo

ITEMS, TEXTS, SLOW, AT_ONCE = 1_000, 5, 0.1, 32
_SERVER = """
import asyncio, json, sys
async def answer(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            length = next(int(l.split(b":")[1]) for l in head.split(b"\\r\\n") if l.lower().startswith(b"content-length"))
            asked = json.loads(await reader.readexactly(length))
            await asyncio.sleep(float(sys.argv[1]))
            together = "texts" in asked and sys.argv[2] == "yes"
            said = {"similarities": [0.5] * len(asked["texts"])} if together else {"similarity": 0.5}
            body = json.dumps(said).encode()
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
_WORK = """
import time
def work(stimulus):
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    return 1.0
"""


class ReadOnce(Media):
    """Counts how often files are read and encoded."""

    reads = encodings = 0

    @property
    def content(self) -> bytes:
        if "content" not in self.__dict__:
            ReadOnce.reads += 1
            self.__dict__["content"] = self.path.read_bytes()
        return bytes(self.__dict__["content"])

    @property
    def base64(self) -> str:
        if "base64" not in self.__dict__:
            ReadOnce.encodings += 1
            self.__dict__["base64"] = base64.b64encode(self.content).decode("ascii")
        return str(self.__dict__["base64"])


@contextmanager
def slow_server(seconds: float, *, batches: bool) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(seconds), "yes" if batches else "no"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/similarity"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def clips(space: Path, count: int, rate: int = 16_000, seconds: float = 2.0) -> list[Path]:
    rng = np.random.default_rng(1)
    paths = []
    for place in range(count):
        path = space / f"clip_{place:04}.wav"
        soundfile.write(path, np.clip(rng.normal(0, 0.1, round(seconds * rate)), -1, 1), rate)
        paths.append(path)
    return paths


def sequential(url: str, paths: list[Path], count: int) -> float:
    """Seconds an item of a client that asks one text at a time and encodes the audio for each."""
    begun = time.perf_counter()
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    for place in range(count):
        path = paths[place // TEXTS]
        audio = base64.b64encode(path.read_bytes()).decode("ascii")
        body = {"text": f"text {place % TEXTS}", "audio_filename": path.name, "audio_base64": audio}
        connection.request("POST", parts.path, json.dumps(body), {"content-type": "application/json"})
        json.loads(connection.getresponse().read())
    connection.close()
    return (time.perf_counter() - begun) / count


def asked(paths: list[Path]) -> list[Case]:
    asks = tuple(Ask(question=f"q{n}", scale=YesNo(type="yes-no"), text=f"text {n}") for n in range(TEXTS))
    return [Case(stimulus=path.name, asks=asks, media=ReadOnce(path)) for path in paths]


def ours(url: str, paths: list[Path], path: Path, batch: str) -> tuple[float, float]:
    """Wall and CPU seconds of a whole run, journal and tables on disk included."""
    ReadOnce.reads = ReadOnce.encodings = 0
    with predictor_from(f"endpoint[batch={batch}]:{url}") as predictor:
        begun = time.perf_counter(), time.process_time()
        done = run(predictor, asked(paths), path, RunOptions(at_once=AT_ONCE))
        spent = time.perf_counter() - begun[0], time.process_time() - begun[1]
    assert done.counts["answered"] == len(paths) * TEXTS, done.counts
    return spent


def asking() -> None:
    print(f"{ITEMS:,} items (200 clips of 2 s, {TEXTS} texts each), a server that takes {SLOW * 1000:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        space = Path(folder)
        paths = clips(space, ITEMS // TEXTS)
        with slow_server(SLOW, batches=False) as url:
            each = sequential(url, paths, 50)
            wall, cpu = ours(url, paths, space / "one by one", "never")
        print(f"  sequential client: {each * ITEMS:.1f} s (from 50 items)")
        print(
            f"  heartfelt, at once {AT_ONCE}, one text a request: {wall:.2f} s, "
            f"{each * ITEMS / wall:.1f}x (wanted: at least 20x)"
        )
        print(
            f"  own CPU an item: {1000 * cpu / ITEMS:.2f} ms (wanted: under 2); files read {ReadOnce.reads}, "
            f"encoded {ReadOnce.encodings}, for {len(paths)} stimuli"
        )
        with slow_server(SLOW, batches=True) as url:
            wall, cpu = ours(url, paths, space / "together", "auto")
        print(
            f"  the same, all texts of a clip in one request: {wall:.2f} s, {each * ITEMS / wall:.0f}x, "
            f"{1000 * cpu / ITEMS:.2f} ms of CPU an item"
        )
        with slow_server(0.0, batches=False) as url:
            wall, cpu = ours(url, paths, space / "at once", "never")
        print(f"  a server that takes no time: {1000 * wall / ITEMS:.2f} ms an item, server included")


def best(call: Callable[[], Any], runs: int = 9) -> float:
    call()
    results = []
    for _ in range(runs):
        begun = time.process_time()
        call()
        results.append(time.process_time() - begun)
    return min(results)


def decoding() -> None:
    from heartfelt.media.sound import decode

    if importlib.util.find_spec("librosa") is None:
        print("decoding: librosa is not installed, so there is nothing to hold it against")
        return
    import librosa

    print("decoding a clip of 10 s, best CPU time   ours     librosa.load")
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        for channels, rate, to, ending in (
            (2, 44_100, 16_000, "wav"),
            (2, 48_000, 16_000, "wav"),
            (2, 44_100, 22_050, "wav"),
            (2, 44_100, 48_000, "wav"),
            (1, 44_100, 16_000, "wav"),
            (2, 44_100, 16_000, "flac"),
            (2, 44_100, 16_000, "mp3"),
        ):
            path = Path(folder) / f"clip.{ending}"
            soundfile.write(path, np.clip(rng.normal(0, 0.1, (10 * rate, channels)), -1, 1), rate)
            mine, theirs = decode(path, to), librosa.load(path, sr=to)[0]
            # librosa may add a sample of silence to round the length up.
            same = np.array_equal(mine, theirs[: mine.size]) and not theirs[mine.size :].any()
            quick, slow = best(partial(decode, path, to)), best(partial(librosa.load, path, sr=to))
            kind = f"{ending}, {'stereo' if channels == 2 else 'mono'}, {rate / 1000:g} to {to / 1000:g} kHz"
            wanted = " (wanted: at least 2.5x)" if channels == 2 and ending == "wav" else ""
            print(
                f"  {kind:<36} {1000 * quick:5.1f} ms {1000 * slow:8.1f} ms {slow / quick:6.1f}x, "
                f"{'the same bits' if same else 'OTHER BITS'}{wanted}"
            )


def many_machines() -> None:
    if importlib.util.find_spec("ray") is None:
        print("Ray is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "benchmark_work.py").write_text(_WORK)
        code = f"import benchmarks.predicting as b; b.on_ray({folder!r})"
        path = os.pathsep.join([folder, *(p for p in sys.path if p)])
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "RAY_USAGE_STATS_ENABLED": "0",
            # Ray gives way to all other processes, and on a busy machine would measure those.
            "RAY_worker_niceness": "0",
        }
        # Ray tells of the killed node at length on both streams; the figures come by file.
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        print((Path(folder) / "figures").read_text())


def on_ray(folder: str) -> None:
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    second = cluster.add_node(**node)
    try:
        answer = _on_nodes(cluster, second, Path(folder))
    finally:
        cluster.shutdown()
    (Path(folder) / "figures").write_text("\n".join(answer))


def _on_nodes(cluster: Any, second: Any, folder: Path, items: int = 150, rounds: int = 2) -> list[str]:
    each, two = [], []
    for place in range(rounds):
        each.append(timed(cluster, items, folder / f"one {place}", workers=1)[0])
        two.append(timed(cluster, items, folder / f"two {place}", workers=2)[0])
    lost, twice = timed(cluster, items, folder / "lost", workers=2, kill=second)
    return [
        f"Ray, {items} items of 50 ms of CPU each, from the first answer to the last, best of {rounds} in turn",
        f"  one node: {min(each):.1f} s   two nodes: {min(two):.1f} s   {min(each) / min(two):.2f}x "
        "(wanted: at least 1.6x)",
        f"  one of two killed at half: {lost:.1f} s; every item answered, {twice} written twice",
    ]


def timed(cluster: Any, items: int, folder: Path, workers: int, kill: Any = None) -> tuple[float, int]:
    """Seconds from the first answer to the last, and how many cases stand in the journal twice."""
    moments: list[float] = []

    def progress(doing: str, done: int, total: int) -> None:
        del doing
        moments.append(time.perf_counter())
        if kill is not None and done == total // 2:
            cluster.remove_node(kill, allow_graceful=False)

    ask = Ask(question="q", scale=YesNo(type="yes-no"), text="text")
    cases = [Case(stimulus=f"s{n}", asks=(ask,)) for n in range(items)]
    options = RunOptions(engine="ray", engine_options={"address": cluster.address, "workers": str(workers)})
    done = run(predictor_from("benchmark_work:work"), cases, folder, options, progress)
    assert done.counts["answered"] == items, done.counts
    written = (folder / "journal.jsonl").read_text().count("\n")
    return moments[-1] - moments[0], written - items


def main() -> None:
    asking()
    decoding()
    many_machines()


if __name__ == "__main__":
    main()
