"""Record what every command writes, and compare two recordings: the guard of a change that must not change results.

    python scripts/record_outputs.py record OUT [--source SRC] [--study NAME] [--jobs N] [--keep DIR]
    python scripts/record_outputs.py compare BEFORE AFTER [--numbers] [--full]

``record`` runs the steps of ``recorded_commands.py`` with the package in ``SRC`` (default: this checkout's ``src``) and stores
exit codes, streams and every file a step wrote or changed, next to the help and options of every command. A command without a step,
and an option that no step uses, are listed in ``interface.json``. What may differ between two runs of the same code is
replaced by a name in angle brackets: see ``Cleaner``. Tables are stored as CSV beside their hash, stores as their SQL,
other binary files as their hash. The data sets are read from ``$HEARTFELT_DATA``; studies that need them are refused without.

``compare`` prints one line per step, the difference below it, and exits 1 if anything differs. With ``--numbers`` only exit codes,
file names, hashes of Parquet files and numbers count, wherever they stand in a text or JSON document; wording does not.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import http.cookiejar
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from recorded_commands import STUDIES, File, Get, Post, Program, Serve, Step

ROOT = Path(__file__).resolve().parents[1]
EPOCH = 1_760_000_000
FOLDER = Path(tempfile.gettempdir()) / "heartfelt-recorded"
"""Where the steps run: always the same, because paths enter hashes of what was asked. So one recording runs at a time."""
FAKE_PORT = 47_311
"""Of the server that answers like hosted models: addresses enter hashes too."""
LIMIT = 1800
"""Seconds that one step may take on a busy machine."""
TABLES = {".csv", ".tsv"}
BINARY = {".png", ".jpg", ".jpeg", ".webp", ".pdf", ".flac", ".wav", ".mp3", ".opus", ".ogg", ".woff2", ".npy", ".npz",
          ".safetensors", ".onnx", ".bin", ".pt"}  # fmt: skip
IGNORED = re.compile(r"(-wal|-shm|(^|/)\.?lock|\.lock|\.pyc)$")
NUMBER = re.compile(r"(?<![\w.#])-?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w#])")

VOLATILE = re.compile(r"\.media-probes\.parquet\.table$")
"""A cache of what files hold, by the time they were written: only its presence is compared."""
UNORDERED = re.compile(r"(make-ledger\.csv\.table|journal\.jsonl\.text|calls\.parquet\.table|(^|\.)stderr)$")
"""Written by several threads: neither the order of the lines is compared nor a hash, which depends on it."""
DRAWN = re.compile(
    r"""(?P<kept>"code_\w+": ")[A-Z0-9]{8}(?=")|(?<=\('store secret',')[0-9a-f]{64}|(?<="who":")[0-9a-f]{12}(?=")"""
    r"""|(?<=name="page" value=")[\w.-]{40,}(?=")|(?<='token )[0-9a-f]{8}(?=')|(?<='tokens','\[")[0-9a-f]{8}(?="\]')"""
    r"""|(?<=\{"id": ")[0-9a-f]{8}", "name": "[^"]*", "hash": "[0-9a-f]{64}(?=")"""
    r"""|(?<="id": ")(?:[0-9a-f]{8}|[0-9a-f]{32})(?=")|(?<='id',')[0-9a-f]{16}(?=')|(?<='key',')[0-9a-f]{64}(?=')"""
    r"""|(?<="challenge": ")[0-9a-f]{16}(?=")"""
    r"""|(?<=<dd>)[0-9a-f]{16}(?=</dd>)|(?<=')[0-9a-f]{64}(?=',<time>)|(?<=VALUES\(\d,')[0-9a-f]{32}(?=')"""
    r"""|(?<=application/zip\nsha256 )[0-9a-f]{64}"""
    r"""|(?<=process \[)\d+(?=\])|(?<=/\.held-out\.)\w{8}(?=/)|(?<=false,\n "sha256": ")[0-9a-f]{64}(?=")"""
    r"""|(?<="media": ")[0-9a-f]{24}(?=")|(?<=^\{"crc":")[0-9a-f]{8}(?=")|(?<=\[")[0-9a-f]{32}(?=",\d)""",
    re.MULTILINE,
)
"""Codes, secrets and tokens that each study or visit draws at random; hashes of zip files, which hold times."""
LAUNCH = "import time; time.perf_counter = lambda: 0.0\n"
"""Nothing takes any time, so that durations in files are the same."""
COMMAND = f"{LAUNCH}from heartfelt.cli import main\nmain()"

INTERFACE = """
import json
from heartfelt.cli.app import command_tree

def leaves(command, words=()):
    for name, child in getattr(command, "commands", {}).items():
        yield from leaves(child, (*words, name))
    if not getattr(command, "commands", None):
        yield " ".join(words), command

def option(part):
    default = part.default if part.default is None or isinstance(part.default, (bool, int, float, str)) else repr(part.default)
    return {"names": [*part.opts, *part.secondary_opts], "required": part.required, "default": default,
            "many": getattr(part, "multiple", False) or part.nargs != 1, "help": getattr(part, "help", None)}

print(json.dumps({name: {"hidden": command.hidden, "options": [option(part) for part in command.params]}
                  for name, command in leaves(command_tree(None))}))
"""


# --- Making recordings comparable -----------------------------------------------------------------------------------------


@dataclass
class Cleaner:
    """Replaces what differs between two runs of the same code."""

    places: dict[str, str]
    """Texts such as paths and the version, with what stands for them."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    names: dict[str, str] = field(default_factory=dict)
    """What random ids are called, by the order in which they appeared."""

    RANDOM = re.compile(
        r"(?P<token>\bhf_[0-9a-f]{8}_[\w-]{40,46}(?![\w-]))"
        r"|(?P<password>\b[a-z0-9]{4}(?:-[a-z0-9]{4}){3}\b)"
        r"|(?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
    )
    TIMES = (
        (re.compile(r"\b(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: ?UTC|Z|\+00:00)?"), "date"),
        (re.compile(r"(?<![\w.])(1[789]\d{8}(?:\.\d+)?|1\.[789]\d{9,}e\+09)(?![\w.])"), "seconds"),
    )
    DURATIONS = re.compile(r"(?P<before>\b(?:in|after|took|Done in) )(?:\d[\d.,]*) (?:s|ms|seconds|minutes)\b")
    LOGGED = re.compile(r" \d+(?:\.\d+)? ms$", re.MULTILINE)

    def __call__(self, text: str) -> str:
        """The text with what may differ replaced."""
        for raw in sorted(self.places, key=len, reverse=True):
            text = text.replace(raw, self.places[raw])
        text = self.RANDOM.sub(self._named, text)
        for pattern, kind in self.TIMES:
            text = pattern.sub(lambda found, kind=kind: self._time(found, kind), text)
        text = self.DURATIONS.sub(r"\g<before><duration>", text)
        return self.LOGGED.sub(" <duration>", text)

    def _named(self, found: re.Match[str]) -> str:
        return self.names.setdefault(found[0], f"<{found.lastgroup}>")

    def _time(self, found: re.Match[str], kind: str) -> str:
        """Only moments of this recording are replaced: times in published data are data."""
        try:
            if kind == "date":
                moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
                early = self.began.replace(hour=0, minute=0, second=0, microsecond=0)
            else:
                moment, early = datetime.fromtimestamp(float(found[1]), UTC), self.began
        except (ValueError, OverflowError):
            return found[0]
        inside = early - timedelta(minutes=1) <= moment <= datetime.now(UTC) + timedelta(days=400)
        return "<time>" if inside else found[0]


def readable(path: Path, clean: Cleaner) -> tuple[str, str]:
    """What stands for a file, and its kind: text, table, json, hash or store."""
    data = path.read_bytes()
    digest = f"sha256 {hashlib.sha256(data).hexdigest()}\n"
    if data.startswith(b"SQLite format 3\0"):
        return clean(_dump(path)), "store"
    if path.suffix == ".parquet":
        return digest + clean(_parquet_as_csv(path)), "table"
    if path.suffix in BINARY or b"\0" in data[:4096]:
        return digest, "hash"
    try:
        text = clean(data.decode())
    except UnicodeDecodeError:
        return digest, "hash"
    if path.suffix in {".json", ".geojson"}:
        try:
            return json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n", "json"
        except ValueError:
            return text, "text"
    return _embedded_as_hashes(text), "table" if path.suffix in TABLES else "text"


def _embedded_as_hashes(text: str) -> str:
    def digest(found: re.Match[str]) -> str:
        return f"{found[1]}sha256:{hashlib.sha256(found[2].encode()).hexdigest()[:16]}"

    return re.sub(r"(;base64,)([A-Za-z0-9+/=]{200,})", digest, text)


def _parquet_as_csv(path: Path) -> str:
    import polars as pl

    table = pl.read_parquet(path)
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    as_text = [pl.col(name).map_elements(_listed, return_dtype=pl.String, skip_nulls=True) for name in nested]
    return table.with_columns(as_text).write_csv()


def _listed(value: Any) -> str:
    return repr(value.to_list() if hasattr(value, "to_list") else value)


def _dump(path: Path) -> str:
    """A copy is read, so that the store itself is not touched."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-wal"):
            if Path(f"{path}{suffix}").exists():
                shutil.copy(f"{path}{suffix}", Path(folder, f"store{suffix}"))
        store = sqlite3.connect(Path(folder, "store"))
        try:
            return "\n".join(store.iterdump()) + "\n"
        finally:
            store.close()


# --- Running steps --------------------------------------------------------------------------------------------------------


@dataclass
class Recording:
    """One study's steps, run in order in a folder of their own."""

    study: str
    out: Path
    source: Path
    cache: Path
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    """What the placeholders of commands stand for: data, port, token …"""

    def __post_init__(self) -> None:
        self.folder = FOLDER / self.study
        self.folder.mkdir()
        data = os.environ.get("HEARTFELT_DATA", "")
        self.values = {"data": data, "fake": f"http://127.0.0.1:{FAKE_PORT}"}
        self.clean = Cleaner(
            {
                str(self.folder): "<work>",
                str(self.source): "<source>",
                sys.prefix: "<python>",
                str(Path.home()): "<home>",
                _version(self.source): "<version>",
                self.values["fake"]: "http://<fake>",
            }
            | ({data: "<data>"} if data else {})
        )
        cache = FOLDER / f"{self.study}-cache"
        cache.mkdir()
        self.clean.places[str(cache)] = "<cache>"
        if (self.cache / "models").is_dir():
            shutil.copytree(self.cache / "models", cache / "models")
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG", "HEARTFELT_DATA") if name in os.environ},
            "PYTHONPATH": str(self.source),
            "PYTHONHASHSEED": "0",
            "NO_COLOR": "1",
            "SOURCE_DATE_EPOCH": str(EPOCH),
            "HEARTFELT_CACHE": str(cache),
            "XDG_CACHE_HOME": str(cache),
            "HEARTFELT_OFFLINE": "1",
            "HEARTFELT_ADMIN_PASSWORD": "a password for recordings",
            "HEARTFELT_SECRET": "0123456789abcdef" * 4,
            "COLUMNS": "100",
            "TERM": "dumb",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, steps: list[Step]) -> None:
        """Run all steps in order."""
        target, log = self.out / self.study, []
        for number, step in enumerate(steps, 1):
            began = time.monotonic()
            title, results = self._carry_out(step)
            slot = target / f"{number:03} {_slug(title)}"
            slot.mkdir(parents=True)
            for name, text in results.items():
                (slot / name).write_text(text, encoding="utf-8")
            files = self._store_changes(slot / "files")
            seconds = time.monotonic() - began
            exit_code = results.get("exit", "").strip()
            log.append({"step": title, "seconds": round(seconds, 2), "files": files})
            print(
                f"{self.study:10} {seconds:6.1f} s  exit {exit_code or '-':3} {files:4} files  {title[:110]}",
                flush=True,
            )
        (self.out / f"{self.study}.times.json").write_text(json.dumps(log, indent=1), encoding="utf-8")

    def _carry_out(self, step: Step) -> tuple[str, dict[str, str]]:
        if isinstance(step, File):
            path = self.folder / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
            return f"file {step.path}", {}
        if isinstance(step, Program):
            return f"python {step.title}", self._finish([sys.executable, "-c", LAUNCH + step.text])
        if isinstance(step, Serve):
            return step.command, self._serve(step)
        return step, self._command(shlex.split(step))

    def _command(self, words: list[str]) -> dict[str, str]:
        return self._finish([sys.executable, "-c", COMMAND, *(self._filled(word) for word in words)])

    def _filled(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: self.values.get(found[1], found[0]), text)

    def _finish(self, words: list[str]) -> dict[str, str]:
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LIMIT, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self._remember_token(done.stdout)
        return {"exit": f"{done.returncode}\n", "stdout": self.clean(done.stdout), "stderr": self.clean(done.stderr)}

    def _remember_token(self, text: str) -> None:
        """The last token that a command showed, for the steps that follow."""
        for line in text.splitlines():
            found = re.search(r"(?:^|: )((?:hf_)?[\w-]{43,})$", line)
            if found:
                self.values["token"] = found[1]
                self.clean.places[found[1]] = "<token>"

    def _serve(self, step: Serve) -> dict[str, str]:
        """Start a server, send requests and run commands while it is up, and stop it as a person would."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.values["port"] = str(probe.getsockname()[1])
        self.clean.places[f":{self.values['port']}"] = ":<port>"
        address = f"http://127.0.0.1:{self.values['port']}"
        words = [self._filled(word) for word in shlex.split(step.command)]
        results: dict[str, str] = {}
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            server = subprocess.Popen(
                [sys.executable, "-c", COMMAND, *words], cwd=self.folder, env=self.environment, stdout=out, stderr=err
            )
            try:
                if _wait_for(address, server):
                    client = Client(address, self.clean)
                    for number, action in enumerate(step.during, 1):
                        name = f"{number:03}"
                        if isinstance(action, str):
                            nested = self._command(shlex.split(action))
                            results |= {f"{name} {_slug(action)}.{part}": text for part, text in nested.items()}
                        else:
                            for title, text in client.send(action, self._filled, self.folder):
                                results[f"{name} {_slug(title)}"] = text
            finally:
                server.send_signal(signal.SIGINT)
                try:
                    code = server.wait(30)
                except subprocess.TimeoutExpired:
                    server.kill()
                    code = server.wait()
            out.seek(0), err.seek(0)
            streams = {"stdout": self.clean(out.read()), "stderr": self.clean(err.read())}
        return {"exit": f"{code}\n", **streams, **results}

    def _store_changes(self, target: Path) -> int:
        count = 0
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if not path.is_file() or IGNORED.search(name):
                continue
            state = (path.stat().st_size, path.stat().st_mtime_ns)
            if self.seen.get(name) == state:
                continue
            self.seen[name] = state
            text, kind = readable(path, self.clean)
            copy = target / f"{self.clean(name)}.{kind}"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
            count += 1
        for name in [name for name in self.seen if not (self.folder / name).exists()]:
            del self.seen[name]
            copy = target / f"{self.clean(name)}.removed"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.touch()
            count += 1
        return count


class Client:
    """A browser: keeps cookies, follows redirects, uses no proxy."""

    def __init__(self, address: str, clean: Cleaner) -> None:
        self.address, self.clean = address, clean
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)

    def send(self, action: Get | Post, fill: Callable[[str], str], folder: Path) -> Iterator[tuple[str, str]]:
        """Each request's title and what came back: status, type and body."""
        headers = {name: fill(value) for name, value in action.headers.items()}
        if isinstance(action, Post):
            body = (folder / action.file).read_bytes() if action.file else fill(action.body).encode()
            yield f"POST {action.path}", self._answer(action.path, headers, body)[0]
            return
        text, raw = self._answer(action.path, headers)
        yield f"GET {action.path}", text
        if action.walk:
            for path, methods in sorted(json.loads(raw)["paths"].items()):
                if "get" in methods and "{" not in path:
                    yield f"GET {path}", self._answer(path, headers)[0]

    def _answer(self, path: str, headers: Mapping[str, str], body: bytes | None = None) -> tuple[str, bytes]:
        request = urllib.request.Request(self.address + path, body, dict(headers))
        try:
            with self.opener.open(request, timeout=120) as response:
                status, kind, raw = response.status, response.headers.get("content-type", ""), response.read()
        except urllib.error.HTTPError as error:
            status, kind, raw = error.code, error.headers.get("content-type", ""), error.read()
        if "json" in kind:
            shown = json.dumps(json.loads(self.clean(raw.decode())), indent=1, sort_keys=True, ensure_ascii=False)
        elif kind.startswith("text/") or "javascript" in kind or "yaml" in kind:
            shown = self.clean(raw.decode())
        else:
            shown = f"sha256 {hashlib.sha256(raw).hexdigest()}"
        return f"{status} {kind}\n{shown}\n", raw


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> bool:
    host, _, port = address.removeprefix("http://").partition(":")
    deadline = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def answer_like_hosted_models() -> ThreadingHTTPServer:
    """A server on this machine: the same request gets the same answer."""
    server = ThreadingHTTPServer(("127.0.0.1", FAKE_PORT), _HostedModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class _HostedModel(BaseHTTPRequestHandler):
    """A chat model that fills in JSON schemas, and EmoLia's similarity of a text and a file."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/chat/completions"):
            form = (request.get("response_format") or {}).get("json_schema", {}).get("schema", {"type": "string"})
            words = json.dumps([request["messages"], form], sort_keys=True)
            message = {"role": "assistant", "content": json.dumps(_filled_in(form, words))}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
            answer: dict[str, Any] = {"model": "fake-1", "choices": [choice], "usage": usage}
        else:
            answer = {"similarity": _share(f"{request.get('audio_filename')} {request.get('text')}")}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Requests are not printed."""


def _share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def _filled_in(form: dict[str, Any], words: str) -> Any:
    share = _share(words)
    if "anyOf" in form:
        return _filled_in(form["anyOf"][0], words)
    if "enum" in form:
        return form["enum"][int(share * len(form["enum"]))]
    if form.get("type") == "object":
        return {name: _filled_in(part, f"{words} {name}") for name, part in form.get("properties", {}).items()}
    if form.get("type") == "array":
        return [_filled_in(form["items"], words)]
    if form.get("type") in ("number", "integer"):
        low, high = form.get("minimum", 0), form.get("maximum", 1)
        value = low + share * (high - low)
        return round(value) if form["type"] == "integer" else round(value, 2)
    return f"a picture, number {int(share * 100)}"


# --- The interface --------------------------------------------------------------------------------------------------------


def record_interface(out: Path, source: Path) -> list[str]:
    """Store the help and options of every command; return the commands that no step runs."""
    environment = {**os.environ, "PYTHONPATH": str(source), "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=True, cwd=out
        )
        return done.stdout

    commands: dict[str, Any] = json.loads(run("-c", INTERFACE))
    (out / "interface").mkdir(exist_ok=True)
    version, used = _version(source), _used_options()
    for name in ["", *commands]:
        text = run("-m", "heartfelt", *name.split(), "--help").replace(version, "<version>")
        (out / "interface" / f"{_slug(name) or 'heartfelt'}.help").write_text(text, encoding="utf-8")
    missing = [name for name in commands if name not in used]
    unused = {
        name: [option["names"][0] for option in command["options"] if not _is_used(name, option["names"], used)]
        for name, command in commands.items()
    }
    description = {
        "commands": commands,
        "commands without a step": missing,
        "options that no step uses": {name: options for name, options in unused.items() if options},
    }
    (out / "interface.json").write_text(json.dumps(description, indent=1, sort_keys=True), encoding="utf-8")
    return missing


def _is_used(command: str, names: list[str], used: set[str]) -> bool:
    options = [name for name in names if name.startswith("-")]
    return not options or any(f"{command} {name}" in used for name in options)


def _used_options() -> set[str]:
    """Every command of the steps, and every option with its command."""
    used: set[str] = set()
    for step in (step for steps in STUDIES.values() for step in steps):
        during = step.during if isinstance(step, Serve) else ()
        commands = [step.command] if isinstance(step, Serve) else [step]
        for command in (*commands, *during):
            if isinstance(command, str):
                used |= _option_keys(shlex.split(command))
    return used


def _option_keys(words: list[str]) -> set[str]:
    """The command, in one word and in two, and each with its options."""
    names = {words[0], " ".join(words[:2])}
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    return names | {f"{name} {option}" for name in names for option in options}


def _version(source: Path) -> str:
    found = re.search(r'__version__ = "([^"]+)"', (source / "heartfelt" / "__init__.py").read_text(encoding="utf-8"))
    return found[1] if found else "?"


def _slug(text: str) -> str:
    """A file name for a command line or a request."""
    short = re.sub(r"[^\w.+=-]+", "_", text).strip("_")
    return short if len(short) <= 90 else f"{short[:80]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def record(options: argparse.Namespace) -> int:
    """Record the chosen studies and the interface; 1 if a command has no step."""
    out, source = options.out.resolve(), options.source.resolve()
    studies = {name: STUDIES[name] for name in options.study or STUDIES}
    if "HEARTFELT_DATA" not in os.environ and any(name != "demo" for name in studies):
        print("HEARTFELT_DATA is not set; only --study demo works without the public data.", file=sys.stderr)
        return 2
    if out.exists() and not options.study:
        print(f"{out} already exists; --study NAME records one of its studies again.", file=sys.stderr)
        return 2
    try:
        FOLDER.mkdir()
    except FileExistsError:
        print(f"{FOLDER} is there: another recording runs, or was interrupted. Remove it if not.", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    for name in studies:
        shutil.rmtree(out / name, ignore_errors=True)
    cache = Path(os.environ.get("HEARTFELT_CACHE", Path.home() / ".cache" / "heartfelt"))
    server = answer_like_hosted_models()
    try:
        recordings = {name: Recording(name, out, source, cache) for name in studies}
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda name: recordings[name].run(studies[name]), studies))
        for name, recording in recordings.items() if options.keep else ():
            shutil.copytree(recording.folder, options.keep / name, dirs_exist_ok=True)
    finally:
        server.shutdown()
        shutil.rmtree(FOLDER, ignore_errors=True)
    missing = record_interface(out, source)
    spent = os.times()
    print(f"{spent.children_user + spent.children_system:.0f} seconds of one core.")
    if missing:
        print(f"Commands without a step: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


# --- Comparing ------------------------------------------------------------------------------------------------------------


def differences(before: Path, after: Path, *, numbers: bool = False) -> Iterator[tuple[str, list[str]]]:
    """By step, in the order of the steps: its title, and the lines that tell how it differs; none where it is the same."""
    slots = {side: _slots(side) for side in (before, after)}
    for title in dict.fromkeys([*slots[before], *slots[after]]):
        old, new = slots[before].get(title), slots[after].get(title)
        if old is None or new is None:
            yield title, ["only after" if old is None else "only before"]
            continue
        yield title, list(_difference(old, new, numbers))


def _slots(recording: Path) -> dict[str, Path]:
    """Every step's folder by study and command; a number keeps repeated commands apart, not the place in the list."""
    out: dict[str, Path] = {}
    for slot in sorted(path for path in recording.glob("*/*") if path.is_dir()):
        title = f"{slot.parent.name}: {slot.name.partition(' ')[2]}"
        repeats = sum(name.partition(" #")[0] == title for name in out)
        out[f"{title} #{repeats + 1}" if repeats else title] = slot
    if (recording / "interface").is_dir():
        out["interface"] = recording / "interface"
    return out


def _difference(old: Path, new: Path, numbers: bool) -> Iterator[str]:
    files = [
        {path.relative_to(side).as_posix(): path for path in side.rglob("*") if path.is_file()} for side in (old, new)
    ]
    for name in sorted(files[0].keys() | files[1].keys()):
        if name not in files[0] or name not in files[1]:
            yield f"{name}: only {'after' if name not in files[0] else 'before'}"
            continue
        if VOLATILE.search(name):
            continue
        texts = [DRAWN.sub(_drawn, side[name].read_text(encoding="utf-8")) for side in files]
        if UNORDERED.search(name):
            texts = [_sorted_lines(text) for text in texts]
        if texts[0] == texts[1] or _same_bytes(name, texts):
            continue
        if numbers:
            if old.name == "interface":
                continue
            texts = ["\n".join(numbers_of(name, text)) + "\n" for text in texts]
            if texts[0] == texts[1]:
                continue
        yield f"{name}:"
        lines = (text.splitlines() for text in texts)
        yield from (f"    {line[:200]}" for line in list(difflib.unified_diff(*lines, "", "", "", "", 0, ""))[2:])


def _sorted_lines(text: str) -> str:
    return "".join(sorted(line for line in text.splitlines(keepends=True) if not line.startswith("sha256 ")))


def _drawn(found: re.Match[str]) -> str:
    return f"{found['kept'] or ''}<drawn>"


def _same_bytes(name: str, texts: list[str]) -> bool:
    hashes = {text.partition("\n")[0] for text in texts if text.startswith("sha256 ")}
    return name.endswith(".parquet.table") and len(hashes) == 1


def numbers_of(name: str, text: str) -> list[str]:
    """The numbers of a recorded file: in order for tables and streams, sorted for JSON, whose keys may be renamed."""
    if name.endswith(".hash"):
        # Figures carry words; only tables and media must be the same bytes.
        return [] if name.removesuffix(".hash").endswith((".png", ".pdf", ".zip")) else [text]
    if name == "exit":
        return [text]
    found = [match[0].replace(",", "") for match in NUMBER.finditer(text)]
    if name.endswith(".parquet.table") and text.startswith("sha256 "):
        return [text.partition("\n")[0], *found]
    return found if name.endswith(".table") else sorted(found)


def compare(options: argparse.Namespace) -> int:
    """Print how two recordings differ; 1 if they do."""
    for side in (options.before, options.after):
        if not (side / "interface.json").is_file():
            print(f"{side} is not a complete recording.", file=sys.stderr)
            return 2
    differ = steps = 0
    for title, lines in differences(options.before, options.after, numbers=options.numbers):
        steps += 1
        differ += bool(lines)
        print(f"{'DIFFERS' if lines else 'same   '} {title}")
        shown = lines if options.full else lines[:12]
        for line in shown:
            print(f"        {line}")
        if len(lines) > len(shown):
            print(f"        … and {len(lines) - len(shown)} more lines (--full)")
    print(f"{differ} of {steps} steps differ.")
    return 1 if differ else 0


def main(arguments: list[str] | None = None) -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record", help="run every command and store what it writes")
    recording.add_argument("out", type=Path)
    recording.add_argument("--source", type=Path, default=ROOT / "src", help="the folder that holds the package")
    recording.add_argument("--study", action="append", choices=STUDIES, help="only this study; may be repeated")
    recording.add_argument("--jobs", type=int, default=1, help="how many studies are recorded at the same time")
    recording.add_argument("--keep", type=Path, help="keep the files themselves in this folder")
    recording.set_defaults(function=record)
    comparing = actions.add_parser("compare", help="print how two recordings differ; exit 1 if they do")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--numbers", action="store_true", help="only numbers, exit codes, file names and Parquet bytes"
    )
    comparing.add_argument("--full", action="store_true", help="the whole difference of every step")
    comparing.set_defaults(function=compare)
    options = parser.parse_args(arguments)
    return int(options.function(options))


if __name__ == "__main__":
    sys.exit(main())
