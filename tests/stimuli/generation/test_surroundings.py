"""Runs that are killed, run out of disk, or are spread over processes and a cluster; and the command line."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heartfelt.cli import main
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.media.audio import Audio
from heartfelt.serialization import read_json
from heartfelt.stimuli import MakeOptions, make_study
from heartfelt.stimuli.generation.ledger import LEDGER_FILE, read_ledger
from tests.facts import mentions
from tests.stimuli.generation.tones import RATE, files_of, study_in, tone

COPY = {"generator": "command", "command": ["cp", "clips/{intent}_{index}.wav", "{file}"]}
FOLDER = {"generator": "folder", "folder": "clips", "pattern": "{intent}_{index}.wav"}


def clips(folder: Path, count: int) -> None:
    for intent, first in (("calm", 0), ("angry", 100)):
        for number in range(1, count + 1):
            Audio(tone(first + number, 0.5), RATE).save(folder / "clips" / f"{intent}_{number}.wav")


def started(folder: Path, limit: int | None = None) -> subprocess.Popen[str]:
    def few_bytes() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "heartfelt", "make", str(folder)]
    # A full disk would cut the compiled modules too, for everyone who imports them afterwards.
    settings = {**os.environ, **({"PYTHONDONTWRITEBYTECODE": "1"} if limit is not None else {})}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=few_bytes, env=settings
    )


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not holds():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_bytes_and_a_complete_ledger(tmp_path: Path) -> None:
    make = {"per_cell": 2, "systems": {"A": COPY}}
    whole, killed = study_in(tmp_path / "whole", make), study_in(tmp_path / "killed", make)
    clips(whole, 2)
    clips(killed, 2)
    make_study(whole)
    # The third clip is a pipe that nobody writes to: the run waits there for ever.
    pipe = killed / "clips" / "angry_1.wav"
    content = pipe.read_bytes()
    pipe.unlink()
    os.mkfifo(pipe)
    process = started(killed)
    second = killed / "media" / "A" / "A_calm_2.wav"
    until(lambda: len(read_ledger(killed)) == 2 and second.is_file(), process)  # recorded first, then moved
    process.send_signal(signal.SIGKILL)
    process.communicate()
    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))  # whoever reads it is let go
    pipe.unlink()
    pipe.write_bytes(content)
    # What a kill at the worst moments leaves: a result that was recorded and not moved, one that was not recorded, half a row.
    aside = killed / "media" / ".make"
    aside.mkdir(exist_ok=True)
    second.rename(aside / "recorded.wav")
    (aside / "unrecorded.wav").write_bytes(content[:500])
    with (killed / LEDGER_FILE).open("a") as file:
        file.write("2026-01-01T00:00:00Z,A,A_ang")
    result = make_study(killed)
    assert (result.complete, result.systems[0].made, result.failed) == (4, 2, 0)
    assert files_of(killed) == files_of(whole)
    columns = ("stimulus", "attempt", "seed", "outcome", "sha256", "digest")
    ledgers = [[[getattr(row, name) for name in columns] for row in read_ledger(each)] for each in (whole, killed)]
    assert ledgers[0] == ledgers[1]
    drop = {"made_at"}
    tables = [
        [{k: v for k, v in row.items() if k not in drop} for row in _rows(each / "stimuli.csv")]
        for each in (whole, killed)
    ]
    assert tables[0] == tables[1]
    assert not aside.exists()


def _rows(path: Path) -> list[dict[str, Any]]:
    import polars as pl

    return pl.read_csv(path).to_dicts()


@pytest.mark.slow
def test_a_disk_that_fills_half_way_is_two_lines_and_nothing_half_written(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "s", {"per_cell": 24, "systems": {"A": FOLDER}})
    clips(folder, 24)
    Audio(tone(5, 0.5)[:2400], RATE).save(folder / "clips" / "calm_3.wav")
    small = (folder / "clips" / "calm_3.wav").stat().st_size
    large = (folder / "clips" / "calm_1.wav").stat().st_size
    for number in (1, 2):
        Audio(tone(number, 0.5)[:2400], RATE).save(folder / "clips" / f"calm_{number}.wav")
    # First the fourth file does not fit, later the ledger.
    for limit, at_least in ((small + 500, 3), (large + 100, 4)):
        _, errors = (process := started(folder, limit)).communicate()
        lines = errors.strip().splitlines()
        assert process.returncode == 2, errors
        assert len(lines) == 2, errors
        assert "The disk is full after" in lines[0]
        assert "run the same command again" in lines[1]
        rows = read_ledger(folder)
        assert at_least <= len(rows) < 48
        assert (folder / LEDGER_FILE).read_bytes().endswith(b"\n")
        assert len(files_of(folder)) == len(rows), files_of(folder).keys()
    assert make_study(folder).complete == 48
    assert len(read_ledger(folder)) == 48
    assert sorted(files_of(folder).values()) == sorted(path.read_bytes() for path in (folder / "clips").iterdir())


@pytest.mark.slow
def test_processes_per_device_make_the_same_bytes_and_survive_a_loss(tmp_path: Path) -> None:
    tones = {"generator": "tones", "batch": 2}
    one = study_in(tmp_path / "one", {"per_cell": 3, "systems": {"A": tones}})
    make_study(one)
    two = study_in(tmp_path / "two", {"per_cell": 3, "systems": {"A": {**tones, "trouble": {"A_angry_3": "die"}}}})
    result = make_study(two, MakeOptions(device="cpu,cpu"))
    assert (result.complete, result.failed) == (5, 1)
    assert result.systems[0].failed == {"A_angry_3": "its worker was lost 2 times"}
    assert files_of(two) == {name: content for name, content in files_of(one).items() if "angry_3" not in name}


@pytest.mark.slow
@pytest.mark.server
def test_a_ray_cluster_makes_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    make = {"per_cell": 2, "seconds": 1, "systems": {"A": {"generator": "synth-music", "style": "Sinewood"}}}
    here, there = study_in(tmp_path / "here", make), study_in(tmp_path / "there", make)
    make_study(here)
    result = make_study(there, MakeOptions(engine="ray", engine_options={"workers": "2", "cpus": "0.5"}))
    assert (result.complete, result.failed) == (4, 0)
    assert files_of(here) == files_of(there)


@pytest.mark.slow
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tones = {"generator": "tones", "cost_each": 0.02, "model": "org/model"}
    folder = study_in(tmp_path / "s", {"per_cell": 2, "systems": {"A": tones, "B": FOLDER}})
    clips(folder, 2)
    (folder / "clips" / "calm_2.wav").rename(folder / "clips" / "extra.wav")
    assert main(["make", str(folder), "--dry-run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "4 of 4",
        "B, B_calm_2: there is no file calm_2.wav in clips",
        "B: no stimulus asks for extra.wav.",
        "Licence of org/model (A): CC BY-NC 4.0; commercial use is not allowed.",
        "The time of A and B is unknown",
        "Cost: 0.00 so far, at least 0.08 to come.",
        "Nothing was made (--dry-run).",
    ):
        assert words in shown, shown
    assert not (folder / "media").exists()
    # Without a terminal and without the flag a licence is not accepted.
    assert main(["make", str(folder)]) == 2
    assert "add --accept-licences" in capsys.readouterr().err
    # In a terminal somebody is asked.
    terminal = io.StringIO("n\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["make", str(folder)]) == 130
    assert "Accept these licences?" in capsys.readouterr().err
    assert not (folder / "media").exists()
    assert main(["make", str(folder), "--accept-licences"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert mentions(shown, "B_calm_2", "calm_2.wav")
    assert mentions(shown, "attempts", "cost", "0.08")
    (folder / "clips" / "extra.wav").rename(folder / "clips" / "Calm 002.WAV")
    assert main(["make", str(folder), "--json"]) == 0
    assert [each["complete"] for each in json.loads(capsys.readouterr().out)["systems"]] == [4, 4]
    assert main(["make", str(folder)]) == 0
    assert "Complete. 'heartfelt prepare" in capsys.readouterr().out
    assert main(["make", str(folder), "--dry-run", "--json", "--replace", "--budget", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"][0]["to_make"] == 0
    assert main(["check", "--no-pages", str(folder)]) == 0
    assert "make.yaml" not in capsys.readouterr().out
    (folder / "make.yaml").write_text("systems: {A: {generator: tonnes}}")
    assert main(["check", "--no-pages", str(folder)]) == 2
    assert mentions(capsys.readouterr().err, "generator", "'tonnes'")
    # A study with a store is left alone.
    from heartfelt.collect.collection import Collection

    with Collection.open(folder):
        pass
    assert main(["make", str(folder)]) == 2
    assert "opened to raters" in capsys.readouterr().err
    assert main(["make", str(folder), "--device", "gpu"]) == 2
    assert "'gpu' is not a device" in capsys.readouterr().err


def test_the_record_and_a_parquet_manifest_read_back(tmp_path: Path) -> None:
    from heartfelt.stimuli.generation.state import MakeRecord

    stimuli = {"manifest": "list.parquet", "media": "sounds"}
    folder = study_in(tmp_path / "s", {"systems": {"A": {"generator": "tones"}}}, stimuli=stimuli)
    make_study(folder)
    opened = open_study(folder)
    assert opened.stimuli["seed"].to_list() == [row.seed for row in read_ledger(folder)]
    assert opened.missing_media == []
    record = read_json(folder / "make.json", MakeRecord)
    (run,) = record.runs
    assert (run.made, run.failed) == (2, 0)
    assert run.ended is not None
    assert set(run.versions) >= {"heartfelt", "python"}
    assert next(iter(record.facts.values())).settings == {"rate": 8000}
