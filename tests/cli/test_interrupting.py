"""Ctrl-C: one sentence and exit code 130, and nothing half written."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from heartfelt.cli import SHOW_CURSOR, main
from heartfelt.files import whole_folder

STOPPED = "Stopped. What was complete is kept.\n"


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("heartfelt.study.json_schema", ["schema"]),
        ("heartfelt.web.study_check.open_study", ["check", "."]),
        ("heartfelt.predictors.weights.store.cache_folder", ["models", "list"]),
    ],
    ids=["schema", "check", "models list"],
)
def test_any_command_reports_it(
    function: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(function, interrupted)
    assert main(arguments) == 130
    assert capsys.readouterr().err == STOPPED


def test_it_is_reported_while_the_commands_are_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heartfelt.cli._run", interrupted)
    assert main(["schema"]) == 130
    assert capsys.readouterr().err == STOPPED


def test_it_is_reported_though_a_progress_bar_was_stopped_halfway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich puts a stream of its own in the place of standard error while it draws."""
    monkeypatch.setattr("rich.live.Live._disable_redirect_io", interrupted)
    monkeypatch.setattr("heartfelt.cli.command.err", Console(file=io.StringIO(), force_terminal=True))
    assert main(["show", "nowhere"]) == 130
    assert capsys.readouterr().err == STOPPED


def test_a_second_one_while_the_first_is_reported_is_not_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heartfelt.cli.panels.Interrupted", KeyboardInterrupt)
    monkeypatch.setattr("heartfelt.study.json_schema", interrupted)
    assert main(["schema"]) == 130
    assert capsys.readouterr().err == STOPPED


@pytest.mark.slow
def test_a_real_one_while_threads_render_clips(tmp_path: Path) -> None:
    """In a terminal, as soon as the first clips are counted: the folder to make is absent, and nothing is left of it."""
    screen, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "heartfelt", "new", "aimoclips", "study", "--per-cell", "100"],
        cwd=tmp_path,
        stdout=terminal,
        stderr=terminal,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background shell has it ignored
    ) as process:
        os.close(terminal)
        shown = b""
        while b"Rendering stimuli" not in shown:
            shown += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # the other end of a terminal is closed when the program ends
            while part := os.read(screen, 4096):
                shown += part
        assert process.wait(60) == 130
    os.close(screen)
    assert shown.decode().removesuffix(SHOW_CURSOR).endswith(STOPPED.replace("\n", "\r\n"))
    assert b"0/?" not in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["away", "into place"])
def test_a_folder_that_is_replaced_is_the_old_or_the_new_one(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "site"
    target.mkdir()
    (target / "page").write_text("old")
    rename, seen = Path.rename, []

    def stopped(path: Path, to: Path) -> Path:
        seen.append(path.name)
        if len(seen) == ["away", "into place"].index(moment) + 1:
            raise KeyboardInterrupt
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", stopped)
    with pytest.raises(KeyboardInterrupt), whole_folder(target, replace=True) as folder:
        (folder / "page").write_text("new")
    assert (target / "page").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
