"""Try the built wheel as a new user would: every command of the read-me and the tutorial, with exactly the extra it needs.

    python scripts/try_installs.py [--demo DIR] [--keep DIR]

For each extra an environment is made that holds the wheel, not the source tree, with what that extra brings and nothing else. A
page's steps run in order in one folder, each in the environment that has exactly what it needs. In every environment that
lacks something a step must be refused with exit code 2 and two lines that name the extra, and must leave every file as it
was. The sizes and package counts in docs/installing.md are compared with what was installed. The demo, which needs everything, is
made by the wheel and compared, byte by byte, with the one in ``--demo``.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ("base", "serve", "predict", "all")
PAGES = ("README.md", "docs/tutorial.md")
BLOCK = re.compile(r"^```(bash|python|yaml)( no-run)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SERVERS = ("serve", "preview")
INSTALLED = re.compile(r"^\| `(?P<install>[^`]+)` \|[^|]*\| (?P<packages>\d+) \| (?P<size>[\d,]+) MB \|", re.MULTILINE)
PATIENCE = 240
"""Seconds that a server on a busy machine may take to answer."""
MAY_DIFFER = ("collected.sqlite", ".media-probes.parquet", "journal.jsonl")
"""The files that heartfelt.cli.collecting.demo says two demos need not share."""
TOLERANCE = 0.1
"""Sizes differ a little between platforms and versions of packages."""

OURS = {"pip", "setuptools", "heartfelt"}
LIST_PACKAGES = """
import json, sys
from importlib.metadata import distribution, distributions
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name
followed, open_ = set(), {("heartfelt", sys.argv[1])}
while open_:
    name, extra = item = open_.pop()
    followed.add(item)
    for requirement in map(Requirement, distribution(name).requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            asked = canonicalize_name(requirement.name)
            open_ |= {(asked, extra) for extra in ("", *requirement.extras)} - followed
installed = {canonicalize_name(found.metadata["Name"]) for found in distributions()}
print(json.dumps([sorted(installed), sorted({name for name, _ in followed})]))
"""
"""Prints the packages that are installed and those that heartfelt with an extra asks for, directly or through others."""


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

    @property
    def packages(self) -> Path:
        """The folder of its packages."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def runs(self, step: Step) -> bool:
        """Whether this environment has exactly what the step needs."""
        return (step.extra or "base") == self.extra

    def lacks(self, step: Step) -> bool:
        """Whether something that the step needs is not installed."""
        return self.extra != "all" and step.extra not in {"", self.extra}


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
    _output([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], ROOT)
    return next(folder.glob("heartfelt-*.whl"))


def install(extra: str, wheel: Path, folder: Path, base: Environment | None = None) -> Environment:
    """Make an environment and install the wheel with one extra.

    Every extra brings what the base install brings, and constraints.txt fixes all versions. So what was unpacked for ``base`` is
    linked, which takes no time, and pip adds heartfelt and the rest.
    """
    environment = Environment(extra=extra, folder=folder)
    if environment.python.exists():  # of an earlier run with --keep
        return environment
    _output([sys.executable, "-m", "venv", *(["--without-pip"] if base else []), str(folder)], ROOT)
    if base is not None:
        shutil.copytree(
            base.packages,
            environment.packages,
            copy_function=os.link,
            ignore=shutil.ignore_patterns("heartfelt*"),
            dirs_exist_ok=True,
        )
    target = str(wheel) if extra == "base" else f"{wheel}[{extra}]"
    pip = [str(environment.python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    _output([*pip, "--no-compile", "-c", str(ROOT / "constraints.txt"), target], folder)
    return environment


def measured(environment: Environment) -> tuple[int, float]:
    """Packages that heartfelt brings, and their megabytes; there must be no others."""
    listed = _output([str(environment.python), "-c", LIST_PACKAGES, environment.extra], environment.folder)
    installed, asked_for = (set(names) - OURS for names in json.loads(listed))
    if installed != asked_for:
        raise Failure(f"[{environment.extra}] does not bring exactly its packages: {installed ^ asked_for}.")
    site = environment.packages
    size = sum(
        path.stat().st_size
        for path in site.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.relative_to(site).parts[0].split("-")[0] not in OURS
    )
    return len(installed), size / 1e6


def compare_sizes(found: dict[str, tuple[int, float]]) -> None:
    """Compare the table of docs/installing.md with what was installed."""
    text = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    said = {
        row["install"]: (int(row["packages"]), float(row["size"].replace(",", ""))) for row in INSTALLED.finditer(text)
    }
    for extra, (packages, size) in found.items():
        name = "pip install ." if extra == "base" else f'pip install ".[{extra}]"'
        print(f"{name}: {packages} packages, {size:,.0f} MB", flush=True)
        if name not in said:
            raise Failure(f"docs/installing.md has no row for {name}.")
        documented = said[name]
        if abs(documented[0] - packages) > 3 or abs(documented[1] - size) > TOLERANCE * size:
            raise Failure(f"docs/installing.md says {documented} for {name}; it is {packages} and {size:,.0f} MB.")


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and the time it was written."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def try_page(environments: list[Environment], folder: Path, wanted: list[Step]) -> tuple[int, int]:
    """Run each step where it belongs, see it refused where it lacks something; return how many ran and were refused."""
    ran = refused = 0
    for step in wanted:
        before = files_in(folder)
        for environment in filter(lambda environment: environment.lacks(step), environments):
            _see_refused(environment, step, folder, before)
            refused += 1
        for environment in filter(lambda environment: environment.runs(step), environments):
            _carry_out(environment, step, folder)
            ran += 1
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
            raise Failure(f"[{environment.extra}] {step.text}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def _see_refused(environment: Environment, step: Step, folder: Path, before: dict[str, tuple[int, int]]) -> None:
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
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False, env=_plain_environment()
    )


def _plain_environment() -> dict[str, str]:
    """The variables of the caller without those that let in other packages, or make every command compile its modules again."""
    left_out = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _serve(environment: Environment, step: Step, folder: Path) -> None:
    """Start a server on a free port, see a page, and stop it as a person would."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = shlex.split(re.sub(r" --port \d+", "", step.text))[1:]
    command = [str(environment.folder / "bin" / "heartfelt"), *words, "--port", str(port)]
    with subprocess.Popen(
        command, cwd=folder, env=_plain_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            deadline = time.monotonic() + PATIENCE
            while not _answers(f"http://127.0.0.1:{port}/"):
                if server.poll() is not None or time.monotonic() > deadline:
                    server.kill()
                    raise Failure(f"[{environment.extra}] {step.text}\n{server.stdout and server.stdout.read()}")
        finally:
            server.send_signal(signal.SIGINT)


def _answers(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor())
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
    for name, words in (("published/README.md", "Emotion of three synthesisers"), ("site/index.html", "First study")):
        if words not in (tutorial / name).read_text(encoding="utf-8"):
            raise Failure(f"The tutorial's {name} does not say '{words}'.")


def compare_demos(first: Path, second: Path) -> None:
    """Two demos with the same seed, made in different places at different times, are the same bytes."""
    files = [
        {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.name not in MAY_DIFFER}
        for folder in (first, second)
    ]
    if files[0] != files[1]:
        raise Failure(f"Two demos do not hold the same files: {sorted(map(str, files[0] ^ files[1]))}.")
    changed = [str(name) for name in sorted(files[0]) if (first / name).read_bytes() != (second / name).read_bytes()]
    if changed:
        raise Failure(f"Two demos with the same seed differ in {', '.join(changed)}.")


def _output(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=_plain_environment(), check=False)
    if done.returncode:
        raise Failure(f"{shlex.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Try every install."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--demo", type=Path, help="a folder that 'make demo' wrote; the wheel's own demo is compared with it"
    )
    parser.add_argument("--keep", type=Path, help="where environments are made, and those of an earlier run are used")
    given = parser.parse_args()
    # A shell's background jobs ignore Ctrl-C, and so would the servers that are stopped with it here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scratch = Path(tempfile.mkdtemp(prefix="heartfelt-installs-")) if given.keep is None else given.keep.resolve()
    try:
        _try_all(given.demo, scratch)
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    finally:
        if given.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _try_all(demo: Path | None, scratch: Path) -> None:
    wheel = build_wheel(scratch)
    base = install("base", wheel, scratch / "base")
    # Compiles most modules that are used, for the environments that are linked to them.
    _output([str(base.python), "-c", "import heartfelt.analysis, heartfelt.report, matplotlib.pyplot, numba"], scratch)
    environments = [base, *(install(name, wheel, scratch / name, base) for name in ENVIRONMENTS[1:])]
    compare_sizes({environment.extra: measured(environment) for environment in environments})
    everything = environments[-1]
    _said("the environments are there")
    shutil.rmtree(scratch / "demo", ignore_errors=True)  # of an earlier run with --keep
    _output([str(everything.folder / "bin" / "heartfelt"), "demo", "demo"], scratch)
    if demo is not None:
        compare_demos(demo, scratch / "demo")
    _said("the wheel made the demo")
    program = "import json; from heartfelt.cli.needs import *; print(json.dumps(NEEDS | DEFAULT_MODEL_NEEDS))"
    wanted = list(steps(json.loads(_output([str(everything.python), "-c", program], scratch))))
    pages = {page: scratch / Path(page).stem for page in PAGES}
    for folder in pages.values():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    shutil.copytree(scratch / "demo", pages["README.md"] / "demo")

    def tried(page: str) -> tuple[int, int]:
        return try_page(environments, pages[page], [step for step in wanted if step.page == page])

    with ThreadPoolExecutor() as pool:
        for page, (ran, refused) in zip(PAGES, pool.map(tried, PAGES), strict=True):
            _said(f"{page}: {ran} steps ran as printed; {refused} times a step was refused with the extra it needs")
    check_results(pages)


def _said(text: str) -> None:
    """Print what was done, and the processor time that the commands have taken so far."""
    print(f"{text} ({_processor_seconds():.0f} s of processor time so far)", flush=True)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
