"""The generators ``folder`` and ``command``: files matched by a pattern, and programs that write files."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.media.audio import Audio
from heartfelt.stimuli import MakeOptions, forecast_make, make_study
from heartfelt.stimuli.generation.ledger import read_ledger
from heartfelt.stimuli.generation.result import Making
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from tests.facts import mentions
from tests.stimuli.generation.tones import RATE, files_of, study_in, tone


def clip(path: Path, seed: int) -> None:
    Audio(tone(seed, 0.5), RATE).save(path)


def study(tmp_path: Path, pattern: str, *names: str, per_cell: int = 1, **parts: Any) -> Path:
    system = {"generator": "folder", "folder": "files", "pattern": pattern, **parts.pop("settings", {})}
    folder = study_in(tmp_path / "s", {"per_cell": per_cell, "seconds": 99, "systems": {"A": system}}, **parts)
    for seed, name in enumerate(names):
        clip(folder / "files" / name, seed)
    return folder


@pytest.mark.slow
def test_files_are_matched_whatever_their_case_spaces_form_and_zeros(tmp_path: Path) -> None:
    intents = [{"id": "very calm"}, {"id": "fröhlich"}]
    names = (
        "Very_Calm 01.WAV".replace("WAV", "wav"), "very calm_2.wav",
        f"{unicodedata.normalize('NFD', 'FRÖHLICH')}_001.wav", "fröhlich_2.wav", "notes_3.wav", ".hidden.wav",
    )  # fmt: skip
    folder = study(tmp_path, "{intent}_{index}.wav", *names, per_cell=2, intents=intents)
    result = make_study(folder)
    assert (result.complete, result.failed) == (4, 0)
    assert mentions(result.systems[0].notes[0], "stimulus", "notes_3.wav")
    table = pl.read_csv(folder / "stimuli.csv")
    sources = dict(zip(table["stimulus"], table["source"], strict=True))
    assert sources["A_very calm_1"] == "Very_Calm 01.wav"
    assert (folder / "media" / table["path"][0]).read_bytes() == (folder / "files" / "Very_Calm 01.wav").read_bytes()
    # A file that is replaced later is another stimulus; the seed plays no part.
    clip(folder / "files" / "fröhlich_2.wav", 77)
    assert "its text, seed or source changed" in forecast_make(folder).systems[0].notes[0]
    # Without the folder, what was taken from it stays complete; the rest is missing.
    (folder / "files").rename(folder / "away")
    again = make_study(folder)
    assert (again.complete, again.failed) == (4, 0)
    (folder / "media" / table["path"][0]).unlink()
    (missing,) = make_study(folder).systems
    assert list(missing.missing) == ["A_very calm_1"]
    assert "there is no folder" in missing.missing["A_very calm_1"]


def test_patterns_with_folders_wildcards_and_other_first_numbers(tmp_path: Path) -> None:
    names = ("A/calm/take-0-xyz.wav", "A/calm/take-1-abc.wav", "A/angry/take-0-.wav", "A/angry/take-10-.wav")
    folder = study(tmp_path, "{system}/{intent}/take-{index}-*.wav", *names, per_cell=2, settings={"first": 0})
    (forecast,) = forecast_make(folder).systems
    assert forecast.missing == {"A_angry_2": "there is no file A/angry/take-1-*.wav in files"}
    assert "take-10-.wav" in forecast.notes[0]
    result = make_study(folder)
    assert (result.complete, result.failed) == (3, 1)


@pytest.mark.parametrize(
    ("pattern", "names", "words"),
    [
        ("{intent}_{index}.wav", ("calm_1.wav", "Calm 1.wav"), "both fit A_calm_1.*\nRemove or rename"),
        ("{intent}_{index}.*", ("calm_1.wav", "calm_1.flac"), "both fit A_calm_1"),
        ("{intent}.wav", ("calm.wav",), r"fits both A_calm_1 and A_calm_2.*\nAdd {index}"),
        ("{index}.wav", ("1.wav",), r"fits both A_calm_1 and A_angry_1.*\nAdd {intent}"),
        ("{intent}_{index}*.wav", ("calm_1.wav", "calm_1b.wav"), "both fit A_calm_1"),
    ],
)
def test_unclear_patterns_are_errors_with_the_fix(
    pattern: str, names: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    folder = study(tmp_path, pattern, *names, per_cell=2)
    for run in (forecast_make, make_study):
        with pytest.raises(InputError, match=words):
            run(folder)
    assert not (folder / "media").exists()


def test_unusable_and_equal_files_have_reasons(tmp_path: Path) -> None:
    folder = study(tmp_path, "{intent}_{index}.mp3", "calm_1.wav", per_cell=2)
    files = folder / "files"
    (files / "calm_1.wav").rename(files / "calm_1.mp3")
    (files / "calm_2.mp3").write_bytes((files / "calm_1.mp3").read_bytes())
    (files / "angry_1.mp3").write_bytes(b"<html>not found</html>")
    (files / "angry_2.mp3").write_bytes(b"")
    (result,) = make_study(folder).systems
    assert result.complete == 1
    assert result.failed["A_calm_2"] == "the same as A_calm_1"
    assert "cannot be" in result.failed["A_angry_1"]
    assert result.failed["A_angry_2"] == "It is empty."
    # A file is called by what it holds, and is read once, not three times.
    assert list(files_of(folder)) == ["A/A_calm_1.wav"]
    assert [row.attempt for row in read_ledger(folder)] == [1, 1, 1, 1]


# --- command ----------------------------------------------------------------------------------------------------------

TOOL = """
import pathlib, shutil, sys, time
prompt, seed, out = sys.argv[1:]
print("working on it", file=sys.stderr)
if "angry" in prompt:
    sys.exit("first line\\nno voice for: " + prompt)
pathlib.Path("asked.txt").open("a").write(prompt + chr(10))
shutil.copy("clip.wav", out)
"""


def command(tmp_path: Path, arguments: list[str], **parts: Any) -> Path:
    system = {"generator": "command", "command": arguments, **parts}
    folder = study_in(tmp_path / "s", {"template": "{intent}; rm -rf $(pwd) \"'`x`", "systems": {"A": system}})
    (folder / "tool.py").write_text(TOOL)
    clip(folder / "clip.wav", 1)
    return folder


def made(folder: Path) -> Making:
    return make_study(folder)


@pytest.mark.slow
def test_a_command_gets_its_arguments_without_a_shell(tmp_path: Path) -> None:
    folder = command(tmp_path, [sys.executable, "-S", "tool.py", "{prompt}", "{seed}", "{file}"], attempts=2)
    (result,) = made(folder).systems
    assert result.complete == 1
    assert (folder / "asked.txt").read_text() == "calm; rm -rf $(pwd) \"'`x`\n"
    assert mentions(result.failed["A_angry_1"], "command", "1")
    assert [row.stimulus for row in read_ledger(folder)].count("A_angry_1") == 2


@pytest.mark.slow
def test_commands_that_are_missing_late_or_silent(tmp_path: Path) -> None:
    for arguments, words in (
        (["no-such-program-here", "{file}"], "There is no command 'no-such-program-here'"),
        (["false", "{file}"], "ended with exit code 1"),
        (["true", "{file}"], "ended without writing {file}"),
        (["cp", "tool.py", "{file}"], "cannot be"),
        (["sh", "-c", "sleep 100; : {file}"], "did not end within 0.2 s"),
    ):
        folder = command(tmp_path / words[:9], arguments, attempts=1, timeout=0.2 if "-c" in arguments else 60)
        (result,) = made(folder).systems
        assert result.complete == 0
        assert words in (result.stopped or result.failed["A_calm_1"])


# --- python -----------------------------------------------------------------------------------------------------------


class Maker:
    """A user's own class: no batches, no facts."""

    def __init__(self, loud: float, device: str) -> None:
        assert device == "cpu"
        self.loud = loud

    def generate(self, prompt: StimulusPrompt, seed: int) -> Audio:
        assert prompt.system == "A"
        return Audio(tone(seed, self.loud), RATE)


def test_a_class_of_the_users_own(tmp_path: Path) -> None:
    system = {"generator": "python", "call": f"{__name__}:Maker", "settings": {"loud": 0.2}, "licence": "MIT"}
    folder = study_in(tmp_path / "s", {"systems": {"A": system}})
    result = make_study(folder, MakeOptions(device="cpu"))
    assert (result.complete, result.failed) == (2, 0)
    row = pl.read_csv(folder / "stimuli.csv").row(0, named=True)
    assert (row["model"], row["licence"]) == (f"{__name__}:Maker", "MIT")
    for change, words in (
        ({"call": "no_such_module_here:x"}, "No module is called 'no_such_module_here'"),
        ({"settings": {"quiet": 1}}, "cannot be called with these settings"),
        ({"call": "builtins:dict", "settings": {}}, "has no method 'generate'"),
    ):
        folder = study_in(tmp_path / words[:12], {"systems": {"A": {**system, **change}}})
        assert words in (make_study(folder, MakeOptions(device="cpu")).systems[0].stopped or "")
    assert "No module" in (
        forecast_make(study_in(tmp_path / "f", {"systems": {"A": {**system, "call": "nowhere:x"}}})).systems[0].problem
        or ""
    )
