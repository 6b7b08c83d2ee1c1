"""The read-me's commands run as printed, in order, in a fresh copy of the project.

Not run: ``make test``, which would run itself. The copy uses the environment the tests run in, where ``make demo`` would otherwise
install one. Commands of heartfelt run in this process, one after the other, which saves starting Python for each.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_RUN = {"make test"}
SERVE = re.compile(r"heartfelt serve (\S+) --port (\d+)")


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project."""
    folder = tmp_path_factory.mktemp("clone")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    (folder / "scripts" / "install-for-tests").chmod(0o755)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    for done in ("pip", "base", "docs"):
        (folder / ".venv" / done).touch()
    return folder


def steps() -> Iterator[tuple[str, str]]:
    """The read-me's commands, a line each, and its Python, a block each, in order."""
    for language, text in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        if language == "python":
            yield language, text
            continue
        for line in text.splitlines():
            command = line.split("  #")[0].strip()
            if command and command not in NOT_RUN:
                yield language, command


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_read_me_runs_as_printed(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    environment = {**os.environ, "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    before: list[str] = []
    python: list[str] = []
    for language, text in steps():
        if language == "python":
            python.append(text)
            continue
        if SERVE.fullmatch(text):
            _serve(text, before, clone, environment)
            continue
        if text.startswith(". "):
            before.append(text)
            continue
        program, *words = shlex.split(text)
        if program == "heartfelt" and words != ["--version"]:
            result = CliRunner().invoke(app, words, catch_exceptions=False)
            assert result.exit_code == 0, f"{text}\n{result.output}"
            continue
        done = _run(["bash", "-ec", "\n".join([*before, text])], clone, environment)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, f"{text}\n{done.stderr}"
    done = _run([sys.executable, "-c", "\n".join(python)], clone, environment)
    assert done.returncode == 0, done.stderr
    _demo_shows_every_step_and_what_was_planted(clone / "demo")


def _demo_shows_every_step_and_what_was_planted(folder: Path) -> None:
    report = (folder / "report.html").read_text(encoding="utf-8")
    for page in ("plan/plan.html", "preparation/report.html", "arena/report.html", "images/report.html"):
        assert f'href="{page}"' in report
        assert (folder / page).is_file()
    rows = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["systems"]
    means = {(row["question"], row["system"]): row["mean"]["value"] for row in rows}
    systems = {
        question: [name for each, name in sorted(means, key=means.__getitem__) if each == question]
        for question in ("valence", "arousal")
    }
    assert systems["arousal"] == ["Sinewood", "Pluckbox", "Brassline", "Chipling"], "by their planted shifts"
    assert systems["valence"][-2:] == ["Chipling", "Pluckbox"]


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=environment, timeout=800, check=False
    )


def _serve(text: str, before: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Start the server as printed but for its port, which may be taken; see it answer; stop it."""
    match = SERVE.fullmatch(text)
    assert match is not None
    port = free_port()
    command = text.replace(match[2], str(port))
    with subprocess.Popen(
        ["bash", "-ec", "\n".join([*before, f"exec {command}"])],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            assert _answers(f"http://127.0.0.1:{port}/"), command
        finally:
            server.terminate()


def _answers(url: str) -> bool:
    deadline = time.monotonic() + 240
    with httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as client:
        while time.monotonic() < deadline:
            try:
                return client.get(url).status_code == 200
            except httpx.TransportError:
                time.sleep(0.3)
    return False


def test_the_read_me_is_a_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    assert len(re.findall(r"!\[[^\]]+\]\(", text)) == 2, "two pictures"
    assert 12 <= sum(command.startswith("heartfelt") for _, command in steps()) <= 15


def test_the_read_me_names_what_must_be_activated_first() -> None:
    commands = [text for language, text in steps() if language == "bash"]
    assert commands[0] == "make demo"
    first = next(place for place, text in enumerate(commands) if text.startswith("heartfelt"))
    assert any(text.startswith(". ") for text in commands[:first])
