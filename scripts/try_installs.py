"""Try the built wheel as a new user would: every command of the read-me and the tutorial, with exactly the extra it needs.

    python scripts/try_installs.py [--demo DIR] [--keep DIR] [all base serve predict train]

For each extra an empty environment is made and the wheel is installed into it, not the source tree. The environment ``all`` runs
every step; what each step wrote is kept. Any other environment runs the steps that its extra is for, and is given the files
of the steps that it is not for. A step that needs more than an environment has must be refused with exit code 2 and two lines that
name the extra, and must leave every file as it was. The sizes and package counts in docs/installing.md are compared with what
was installed. The demo is made by the wheel and compared, byte by byte, with the one in ``--demo``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ("all", "base", "serve", "predict", "train")
PAGES = ("README.md", "docs/tutorial.md")
BLOCK = re.compile(r"^```(bash|python|yaml)( no-run)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SERVERS = ("serve", "preview")
INSTALLED = re.compile(
    r"^\| `(?P<install>[^`]+)` \|[^|]*\| (?P<packages>\d+) \| (?P<size>[\d,]+) MB \|", re.MULTILINE
)
PATIENCE = 240
"""Seconds that a server on a busy machine may take to answer."""
MAY_DIFFER = ("collected.sqlite", ".media-probes.parquet", "journal.jsonl")
"""The files that heartfelt.cli.demo says two demos need not share."""
TOLERANCE = 0.1
"""Sizes differ a little between platforms and versions of packages."""


class Failure(Exception):
    """Something that a page promises and an install does not do."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command, piece of Python or file of a page."""

    page: str
    kind: str
    text: str
    extra: str
    """What it needs beyond the base install; empty for nothing."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An environment with one extra installed."""

    extra: str
    folder: Path

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.folder / "bin" / "python"

    def runs(self, step: Step) -> bool:
        """Whether this environment is the one that is to show that the step works."""
        if self.extra == "all":
            return True
        if self.extra == "train":
            return step.text.startswith("heartfelt train ")
        return step.extra == ("" if self.extra == "base" else self.extra)

    def has(self, step: Step) -> bool:
        """Whether everything that the step needs is installed."""
        own = {"all": {"", "serve", "predict", "all"}, "base": {""}, "train": {"", "predict"}}
        return step.extra in own.get(self.extra, {"", self.extra})


def steps(needs: dict[str, str]) -> Iterator[Step]:
    """Every step of the pages, in order."""
    for page in PAGES:
        for language, _, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            if language == "yaml":
                yield Step(page=page, kind="file", text=block, extra="")
            elif language == "python":
                extra = "serve" if "heartfelt.web" in block else ""
                yield Step(page=page, kind="python", text=block, extra=extra)
            else:
                for line in block.splitlines():
                    command = line.split("  #")[0].strip()
                    if not command.startswith("heartfelt "):
                        continue
                    words = shlex.split(command)[1:]
                    extra = needs.get(" ".join(words[:2]), needs.get(words[0], ""))
                    kind = "server" if words[0] in SERVERS else "command"
                    _promised(page, line, extra)
                    yield Step(page=page, kind=kind, text=command, extra=extra)


def _promised(page: str, line: str, extra: str) -> None:
    """What a comment beside a command says it needs must be what it needs."""
    comment = line.partition("  #")[2]
    said = re.search(r"\[(serve|predict|all)\]", comment)
    if page == "README.md" and (said[1] if said else "") != extra:
        raise Failure(f"{page} says that '{line.strip()}' needs '{said and said[1]}'; it needs '{extra}'.")


def build_wheel(folder: Path) -> Path:
    """Build the wheel from the source tree."""
    _run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], ROOT)
    return next(folder.glob("heartfelt-*.whl"))


def install(extra: str, wheel: Path, folder: Path) -> Environment:
    """Make an empty environment and install the wheel with one extra."""
    environment = Environment(extra=extra, folder=folder)
    if environment.python.exists():  # of an earlier run with --keep
        return environment
    _run([sys.executable, "-m", "venv", str(folder)], ROOT)
    target = str(wheel) if extra == "base" else f"{wheel}[{extra}]"
    pip = [
        str(environment.python),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    _run([*pip, "-c", str(ROOT / "constraints.txt"), target], folder)
    return environment


def measured(environment: Environment) -> tuple[int, float]:
    """Packages that heartfelt brings, and their megabytes."""
    ours = {"pip", "setuptools", "heartfelt"}
    listed = subprocess.run(
        [str(environment.python), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = [row["name"] for row in json.loads(listed.stdout) if row["name"].lower() not in ours]
    site = next(environment.folder.glob("lib/python*/site-packages"))
    size = sum(
        path.stat().st_size
        for path in site.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.relative_to(site).parts[0].split("-")[0] not in ours
    )
    return len(packages), size / 1e6


def compare_sizes(found: dict[str, tuple[int, float]]) -> None:
    """Compare the table of docs/installing.md with what was installed."""
    text = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    said = {
        row["install"]: (int(row["packages"]), float(row["size"].replace(",", "")))
        for row in INSTALLED.finditer(text)
    }
    for extra, (packages, size) in found.items():
        name = "pip install ." if extra == "base" else f'pip install ".[{extra}]"'
        print(f"{name}: {packages} packages, {size:,.0f} MB", flush=True)
        if extra == "train":
            continue
        if name not in said:
            raise Failure(f"docs/installing.md has no row for {name}.")
        documented = said[name]
        if abs(documented[0] - packages) > 3 or abs(documented[1] - size) > TOLERANCE * size:
            raise Failure(
                f"docs/installing.md says {documented} for {name}; it is {packages} and {size:,.0f} MB."
            )


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and the time it was written."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def try_steps(
    environment: Environment, pages: dict[str, Path], kept: Path, wanted: list[Step]
) -> tuple[int, int]:
    """Run what the environment is for, see the rest refused; return how many ran and were refused."""
    ran = refused = 0
    for number, step in enumerate(wanted):
        folder, written = pages[step.page], kept / f"{number:03d}"
        before = files_in(folder)
        if not environment.has(step):
            _see_refused(environment, step, folder, before)
            refused += 1
        elif environment.runs(step):
            _carry_out(environment, step, folder)
            ran += 1
        if environment.extra == "all":
            after = files_in(folder)
            for name in (name for name, facts in after.items() if before.get(name) != facts):
                (written / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(folder / name, written / name)
        elif written.is_dir() and not (environment.has(step) and environment.runs(step)):
            shutil.copytree(written, folder, dirs_exist_ok=True)
    return ran, refused


def _carry_out(environment: Environment, step: Step, folder: Path) -> None:
    if step.kind == "file":
        path = folder / step.text.splitlines()[0].removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(step.text, encoding="utf-8")
    elif step.kind == "server":
        _serve(environment, step, folder)
    else:
        done = _attempt(environment, step, folder)
        if done.returncode or "Traceback" in done.stderr:
            raise Failure(
                f"[{environment.extra}] {step.text}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
            )


def _see_refused(
    environment: Environment, step: Step, folder: Path, before: dict[str, tuple[int, int]]
) -> None:
    if step.kind == "python":  # Python says which module is missing; only commands explain
        return
    done = _attempt(environment, step, folder)
    lines = done.stderr.strip().splitlines()
    named = step.extra in {"", "all"} or f"[{step.extra}]'" in lines[-1]
    if done.returncode != 2 or len(lines) != 2 or not lines[0].startswith("This needs") or not named:
        raise Failure(
            f"[{environment.extra}] {step.text}\nshould be refused with the extra '{step.extra}', but: exit code"
            f" {done.returncode}\n{done.stdout}{done.stderr}"
        )
    if files_in(folder) != before:
        raise Failure(f"[{environment.extra}] {step.text}\nwas refused, but files were changed.")


def _attempt(environment: Environment, step: Step, folder: Path) -> subprocess.CompletedProcess[str]:
    if step.kind == "python":
        command = [str(environment.python), "-c", step.text]
    else:
        command = [str(environment.folder / "bin" / "heartfelt"), *shlex.split(step.text)[1:]]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=_plain_environment(),
    )


def _plain_environment() -> dict[str, str]:
    """The variables of the caller without those that would let in other packages."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


def _serve(environment: Environment, step: Step, folder: Path) -> None:
    """Start a server on a free port, see a page, and stop it as a person would."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = shlex.split(re.sub(r" --port \d+", "", step.text))[1:]
    command = [str(environment.folder / "bin" / "heartfelt"), *words, "--port", str(port)]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=_plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            deadline = time.monotonic() + PATIENCE
            while not _answers(f"http://127.0.0.1:{port}/"):
                if server.poll() is not None or time.monotonic() > deadline:
                    server.kill()
                    raise Failure(
                        f"[{environment.extra}] {step.text}\n{server.stdout and server.stdout.read()}"
                    )
        finally:
            server.send_signal(signal.SIGINT)


def _answers(url: str) -> bool:
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
    )
    try:
        with direct.open(url, timeout=20) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        time.sleep(0.2)
        return False


def check_results(pages: dict[str, Path]) -> None:
    """What the steps wrote: the demo shows what was planted in it, and the tutorial's study is the one it describes."""
    demo = pages["README.md"] / "demo"
    report = (demo / "report.html").read_text(encoding="utf-8")
    for page in ("plan/plan.html", "preparation/report.html", "arena/report.html", "images/report.html"):
        if f'href="{page}"' not in report or not (demo / page).is_file():
            raise Failure(f"The demo's report does not lead to {page}.")
    rows = json.loads((demo / "summary.json").read_text(encoding="utf-8"))["systems"]
    means = {(row["question"], row["system"]): row["mean"]["value"] for row in rows}
    ranked = {
        question: [system for asked, system in sorted(means, key=means.__getitem__) if asked == question]
        for question in ("valence", "arousal")
    }
    planted = ["Sinewood", "Pluckbox", "Brassline", "Chipling"]
    if ranked["arousal"] != planted or ranked["valence"][-2:] != ["Chipling", "Pluckbox"]:
        raise Failure(f"The demo ranks its systems otherwise than they were planted: {ranked}.")
    tutorial = pages["docs/tutorial.md"]
    for name, words in (
        ("published/README.md", "Emotion of three synthesisers"),
        ("site/index.html", "First study"),
    ):
        if words not in (tutorial / name).read_text(encoding="utf-8"):
            raise Failure(f"The tutorial's {name} does not say '{words}'.")


def compare_demos(first: Path, second: Path) -> None:
    """Two demos with the same seed, made in different places at different times, are the same bytes."""
    files = [
        {
            path.relative_to(folder)
            for path in folder.rglob("*")
            if path.is_file() and path.name not in MAY_DIFFER
        }
        for folder in (first, second)
    ]
    if files[0] != files[1]:
        raise Failure(f"Two demos do not hold the same files: {sorted(map(str, files[0] ^ files[1]))}.")
    changed = [
        str(name) for name in sorted(files[0]) if (first / name).read_bytes() != (second / name).read_bytes()
    ]
    if changed:
        raise Failure(f"Two demos with the same seed differ in {', '.join(changed)}.")


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=_plain_environment(), check=False
    )
    if done.returncode:
        raise Failure(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")


def main() -> int:
    """Try the installs that are named, all of them by default."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "environments", nargs="*", default=list(ENVIRONMENTS), help="of: " + " ".join(ENVIRONMENTS)
    )
    parser.add_argument(
        "--demo", type=Path, help="a folder that 'make demo' wrote; the wheel's own demo is compared with it"
    )
    parser.add_argument(
        "--keep", type=Path, help="where environments are made, and those of an earlier run are used"
    )
    given = parser.parse_args()
    # A shell's background jobs ignore Ctrl-C, and so would the servers that are stopped with it here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scratch = (
        Path(tempfile.mkdtemp(prefix="heartfelt-installs-")) if given.keep is None else given.keep.resolve()
    )
    try:
        _try_all(["all", *(name for name in given.environments if name != "all")], given.demo, scratch)
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    finally:
        if given.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _try_all(names: list[str], demo: Path | None, scratch: Path) -> None:
    wheel = build_wheel(scratch)
    wanted: list[Step] = []
    found: dict[str, tuple[int, float]] = {}
    for name in names:
        begun, used = time.monotonic(), _processor_seconds()
        environment = install(name, wheel, scratch / name)
        found[name] = measured(environment)
        pages = {page: scratch / f"{name}-{Path(page).stem}" for page in PAGES}
        for folder in pages.values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        if name == "all":
            needs = subprocess.run(
                [str(environment.python), "-c", "import json; from heartfelt.cli.needs import NEEDS; print(json.dumps(NEEDS))"],
                capture_output=True, text=True, check=True, cwd=scratch, env=_plain_environment(),
            )  # fmt: skip
            wanted = list(steps(json.loads(needs.stdout)))
            _run([str(environment.folder / "bin" / "heartfelt"), "demo", "demo"], scratch)
            if demo is not None:
                compare_demos(demo, scratch / "demo")
            demo = scratch / "demo"
        assert demo is not None
        shutil.copytree(demo, pages["README.md"] / "demo")
        ran, refused = try_steps(environment, pages, scratch / "written", wanted)
        print(
            f"[{name}] {ran} steps ran as printed, {refused} were refused with the extra they need"
            f" ({time.monotonic() - begun:.0f} s, {_processor_seconds() - used:.0f} s of processor time)",
            flush=True,
        )
        if name == "all":
            check_results(pages)
    compare_sizes(found)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
