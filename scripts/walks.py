"""Walk through heartfelt as its users do, and count what a reader of the code would have to follow.

    python scripts/walks.py            print the table of walks
    python scripts/walks.py --write    write it to docs/architecture.md

Each walk runs in a process of its own under ``sys.setprofile``, on data that this script generates. Counted are:

- functions: named functions and methods of heartfelt that are called. Comprehensions, lambdas, generated methods and what runs
  while a module is imported do not count.
- modules: the files these functions are in.
- switches: functions whose first call comes from another package. The caller is the nearest function of heartfelt further up the
  stack, or where a thread or server has none, the function entered last. Modules outside packages count as one, ``base``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import wave
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = f"{ROOT / 'src' / 'heartfelt'}{os.sep}"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- walks: python scripts/walks.py --write -->\n", "<!-- end of walks -->\n"
CLIPS = tuple(f"clip{number:02}" for number in range(24))
MOODS = ((8, 7), (2, 3), (6, 2))
STUDY = """\
heartfelt: 1
name: small
title: A small study
media: audio
systems: [{id: Quillbox}]
intents: [{id: zestful, reference: {valence: 8, arousal: 7}}]
scales: {nine: {type: points, points: 9}}
questions:
  - {id: valence, text: "How pleasant is it?", scale: nine, axis: valence, emotion: perceived}
  - {id: arousal, text: "How arousing is it?", scale: nine, axis: arousal, emotion: perceived}
consent: {text: "Your answers are used for research."}
design: {ratings_per_item: 4, practice: 0, listening: free, expected_seconds: 5}
"""


@dataclass(frozen=True)
class Counts:
    """What one walk entered; ``packages`` in the order of their first calls."""

    modules: int
    functions: int
    switches: int
    packages: tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Modules, functions and switches."""
        return self.modules, self.functions, self.switches


@dataclass(frozen=True)
class Walk:
    """A walk, what the redesign aims at, and the most that a test allows. Splitting functions raised it once; it only falls now."""

    title: str
    take: Callable[[Recorder, Path], None]
    aim: tuple[int, int, int]
    limit: tuple[int, int, int]


class Recorder:
    """Records the first call of every function of heartfelt, in all threads that start after it was created."""

    def __init__(self) -> None:
        self._callers: dict[CodeType, CodeType | None] = {}
        self._recording = False
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record until the block ends or ``stop`` is called."""
        self._recording = True
        try:
            yield
        finally:
            self.stop()

    def stop(self, *_: object) -> None:
        """Record no more; takes what an event listener is called with."""
        self._recording = False

    def counts(self) -> Counts:
        """What was recorded."""
        packages: dict[str, None] = {}
        switches, previous = 0, None
        for function, caller in self._callers.items():
            package = _package(function)
            packages.setdefault(package)
            caller = caller or previous
            switches += caller is not None and _package(caller) != package
            previous = function
        modules = {function.co_filename for function in self._callers}
        return Counts(len(modules), len(self._callers), switches, tuple(packages))

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        function = frame.f_code
        if event != "call" or not self._recording or function in self._callers or not _is_counted(function):
            return
        stack = list(_callers(frame))
        if not any(code.co_name == "<module>" for code in stack):
            self._callers[function] = next(filter(_is_counted, stack), None)


def _callers(frame: FrameType) -> Iterator[CodeType]:
    """Code of heartfelt further up the stack, the nearest first."""
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(SOURCE):
            yield caller.f_code
        caller = caller.f_back


def _is_counted(code: CodeType) -> bool:
    return code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<")


def _package(code: CodeType) -> str:
    parts = Path(code.co_filename.removeprefix(SOURCE)).parts
    return parts[0] if len(parts) > 1 else "base"


def csv_to_report(recorder: Recorder, folder: Path) -> None:
    """``heartfelt analyze``. The report draws its own figures; files of them are an extra."""
    with recorder.recording():
        _command("analyze", _ratings(folder), "--out", folder / "report", "--no-figures")


def answer_to_database(recorder: Recorder, folder: Path) -> None:
    """A rater's second answer, from the request to the commit. The first one also runs what a server runs once."""
    from sqlalchemy import Engine, event
    from starlette.testclient import TestClient

    from heartfelt.collect import Collection, CollectOptions
    from heartfelt.web.requests.options import WebOptions
    from heartfelt.web.serving.app import create_app

    options = WebOptions(secret=b"the secret of this walk", access_log=False)
    with (
        Collection.open(_study(folder), options=CollectOptions(seed=1)) as collection,
        TestClient(create_app(collection, options), base_url="http://127.0.0.1") as client,
    ):

        def answer(step: dict[str, Any]) -> Any:
            values = dict.fromkeys(step["questions"], 7)
            body = {"trial": step["trial"], "key": f"key {step['number']}", "values": values}
            return client.post("/rate/answer", json=body).json()["then"]

        client.get("/")
        client.post("/rate/consent", json={"agreed": True})
        step = answer(client.post("/rate/ready", json={}).json()["step"])
        event.listen(Engine, "commit", recorder.stop)
        with recorder.recording():
            answer(step)
        if collection.ratings().height != 4:
            raise SystemExit("two answers to two questions each were not stored")


def model_over_http(recorder: Recorder, folder: Path) -> None:
    """``heartfelt bench`` with a model behind a URL."""
    _media(folder)
    _command("import", "auto", _ratings(folder), folder / "snapshot", "--map", f"media={folder / 'media'}")
    with _model_server() as url, recorder.recording():
        _command("bench", folder / "snapshot", "--model", f"endpoint:{url}", "--out", folder / "bench")


def publish(recorder: Recorder, folder: Path) -> None:
    """``heartfelt publish``: an anonymous dataset with benchmark and papers."""
    with recorder.recording():
        _command("publish", _ratings(folder), folder / "published")


WALKS: dict[str, Walk] = {
    "report": Walk("a CSV of ratings to its report", csv_to_report, (130, 800, 90), (221, 1292, 245)),
    "answer": Walk("a rater's answer to the database", answer_to_database, (20, 100, 8), (27, 126, 5)),
    "http": Walk("a model scored over HTTP", model_over_http, (80, 450, 60), (152, 900, 149)),
    "publish": Walk("a study published", publish, (140, 900, 110), (264, 1620, 255)),
}


def _command(*arguments: object) -> None:
    from heartfelt.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = main([str(argument) for argument in arguments])
    if status:
        raise SystemExit(f"heartfelt {arguments[0]} ended with {status}: {output.getvalue()}")


def _ratings(folder: Path) -> Path:
    """What twelve raters answered about 24 clips."""
    chance = random.Random(1)
    lines = ["rater,stimulus,valence,arousal"]
    for rater in range(12):
        for number, clip in enumerate(CLIPS):
            mood = MOODS[number % len(MOODS)]
            values = (min(9, max(1, round(value + chance.gauss(0, 1.2)))) for value in mood)
            lines.append(f"P{rater},{clip},{','.join(map(str, values))}")
    path = folder / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _media(folder: Path) -> None:
    """A second of silence for every clip."""
    (folder / "media").mkdir()
    for clip in CLIPS:
        with wave.open(str(folder / "media" / f"{clip}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(bytes(16_000))


def _study(folder: Path) -> Path:
    _media(folder)
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    lines = ["stimulus,system,intent,path", *(f"{clip},Quillbox,zestful,{clip}.wav" for clip in CLIPS)]
    (folder / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@contextlib.contextmanager
def _model_server() -> Iterator[str]:
    """The address of a model that answers every text with a number."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            score = sum(request["audio_filename"].encode()) % 8 + 1
            body = json.dumps({"similarities": [score for _ in request.get("texts", "1")], "score": score}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def take(name: str) -> Counts:
    """Take one walk in this process, which must not have used heartfelt before."""
    # Every machine counts the same: no second process draws, threads take turns.
    os.cpu_count = lambda: 1
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        WALKS[name].take(recorder, Path(folder))
    return recorder.counts()


def count(name: str) -> Counts:
    """Take one walk in a fresh process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HEARTFELT_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, __file__, "--one", name]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"walk {name} failed:\n{result.stderr}")
    counted = json.loads(result.stdout.splitlines()[-1])
    return Counts(**counted | {"packages": tuple(counted["packages"])})


def count_all() -> dict[str, Counts]:
    """Take every walk, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(WALKS, pool.map(count, WALKS), strict=True))


def table(counts: dict[str, Counts]) -> str:
    """The table of docs/architecture.md."""
    lines = ["| walk | modules | functions | switches | aim | packages, by first call |", "|---|---|---|---|---|---|"]
    for name, counted in counts.items():
        walk = WALKS[name]
        aim = " / ".join(map(str, walk.aim))
        numbers = " | ".join(map(str, counted.numbers))
        lines.append(f"| {walk.title} | {numbers} | {aim} | {', '.join(counted.packages)} |")
    return "\n".join(lines) + "\n"


def documented() -> str:
    """The table as docs/architecture.md has it."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip() + "\n"


def main() -> None:
    """Print the table of walks, or write it to the documentation."""
    parser = argparse.ArgumentParser(
        description="Count modules, functions and switches of four walks through heartfelt."
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/architecture.md")
    parser.add_argument("--one", choices=WALKS, help="take one walk in this process and print it as JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asdict(take(options.one))))
        return
    counted = table(count_all())
    print(counted, end="")
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{counted}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
