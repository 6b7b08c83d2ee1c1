"""Files that belong to no study: one call for every model, one row for every file and question."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from PIL import Image
from typer.testing import CliRunner

import heartfelt
from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError, InputError, UnknownNameError
from heartfelt.predictors import PREDICTORS, Ask, Case, Prediction, Predictor, predict_files
from heartfelt.predictors.files.folders import find_files
from heartfelt.predictors.trained.valence_arousal import SHIPPED
from heartfelt.streams import stream
from tests.facts import mentions
from tests.predictors.file_answers import answered_everywhere

RATE = 16_000


def write_tone(path: Path, seconds: float = 4.0, loudness: float = 0.3) -> Path:
    time = np.arange(round(RATE * seconds)) / RATE
    soundfile.write(path, loudness * np.sin(2 * np.pi * 440 * time), RATE)
    return path


class Brightness(Predictor):
    """Looks at images, knows its own question, and needs no study."""

    name = "brightness"
    about = "how light an image is"
    media_kinds = ("image",)
    identity = "brightness 1"

    def file_asks(self) -> Sequence[Ask]:
        return [Ask.number("brightness", 0, 255)]

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        with Image.open(case.media_file.path) as image:
            return [Prediction(value=float(np.asarray(image.convert("L")).mean()))]


class Nearness(Brightness):
    """Compares an image with its original, and a prompt with its own text."""

    needs_reference = True

    def predict_case(self, case: Case) -> Sequence[Prediction]:
        if case.reference is None:
            return [Prediction.failed("no reference is known")]
        return [Prediction(value=float(len(case.reference.path.name)), note=case.prompt)]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name, level in (("dark", 10), ("light", 240)):
        Image.new("RGB", (8, 8), (level, level, level)).save(folder / f"{name}.png")
    (folder / "broken.png").write_bytes(b"no picture")
    (folder / "notes.txt").write_text("not a medium")
    return folder


def test_a_folder_of_images_is_predicted_and_a_broken_one_has_its_reason(pictures: Path) -> None:
    table = heartfelt.predict(pictures, Brightness())
    assert table["file"].to_list() == [str(pictures / f"{name}.png") for name in ("broken", "dark", "light")]
    assert table["value"].to_list() == [None, 10.0, 240.0]
    assert table["ok"].to_list() == [False, True, True]
    assert "broken.png" in table["problem"][0]


def test_every_file_of_a_list_has_a_row_missing_ones_too(pictures: Path) -> None:
    asked = [pictures / "dark.png", pictures / "gone.png", "nowhere/light.png"]
    table = heartfelt.predict(asked, Brightness())
    assert table["file"].to_list() == [str(name) for name in asked]
    assert table["problem"].to_list()[1:] == [
        f"the media file is missing: {pictures / 'gone.png'}",
        "the media file is missing: nowhere/light.png",
    ]


def test_a_link_to_nothing_in_a_folder_has_its_row(pictures: Path) -> None:
    """As anything else has that is named like a medium and is no folder."""
    (pictures / "broken.png").unlink()
    (pictures / "moved.png").symlink_to(pictures / "gone.png")
    (pictures / "round.png").symlink_to("round.png")
    os.mkfifo(pictures / "pipe.png")
    (pictures / "folder.png").mkdir()
    table = heartfelt.predict(pictures, Brightness())
    missing = {name: f"the media file is missing: {pictures / name}" for name in ("moved.png", "pipe.png", "round.png")}
    assert (
        dict(table.filter(~pl.col("ok")).select(pl.col("file").str.split("/").list.last(), "problem").iter_rows())
        == missing
    )
    assert table["ok"].sum() == 2


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_the_shipped_head_and_its_folder_answer_alike_everywhere(tmp_path: Path) -> None:
    write_tone(tmp_path / "tone.wav")
    write_tone(tmp_path / "silent.wav", loudness=0.0)
    soundfile.write(tmp_path / "noise.wav", 0.1 * stream(1, "noise").normal(size=RATE * 4), RATE)
    (tmp_path / "broken.wav").write_text("no sound")
    by_name, by_folder = (
        answered_everywhere(tmp_path, model, ("valence", "arousal")) for model in ("valence-arousal", SHIPPED)
    )
    compared = pl.col("file", "question", "value", "low", "high", "confidence", "spread", "flag", "warning", "problem")
    assert by_name.select(compared).equals(by_folder.select(compared))
    rows = {Path(row["file"]).stem: row for row in by_name.iter_rows(named=True)}
    assert rows["noise"]["flag"] == "unlike training"
    assert (rows["noise"]["low"], rows["noise"]["high"]) == (1.0, 9.0)
    assert rows["silent"]["flag"] == "silent"
    assert "silent" in rows["silent"]["warning"]
    assert rows["broken"]["ok"] is False
    assert "holds text" in rows["broken"]["problem"]
    assert rows["tone"]["confidence"] == 0.9
    assert rows["tone"]["spread"] > 1


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_a_longer_file_has_the_values_of_its_windows(tmp_path: Path) -> None:
    write_tone(tmp_path / "long.wav", 23.0)
    table = heartfelt.predict(tmp_path / "long.wav")
    row = table.row(1, named=True)
    samples = json.loads(row["samples"])
    assert (len(samples), row["rate"], row["start"]) == (2, 0.1, 5.0)
    assert row["value"] == pytest.approx(np.mean(samples), abs=1e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_answers_are_written_and_continued(tmp_path: Path) -> None:
    write_tone(tmp_path / "clips.wav")
    words = ["predict", str(tmp_path / "clips.wav"), "--out", str(tmp_path / "out")]
    assert "Predictions:" in CliRunner().invoke(app, words).stdout
    first = json.loads((tmp_path / "out" / "run.json").read_text())
    assert CliRunner().invoke(app, words).exit_code == 0
    again = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (first["counts"]["asked"], again["counts"]["asked"], again["counts"]["kept"]) == (2, 0, 2)


def test_a_function_answers_about_files_under_its_own_name(pictures: Path) -> None:
    def size(path: Path) -> int:
        return path.stat().st_size

    table = heartfelt.predict(pictures / "dark.png", size)
    assert table.select("question", "value").row(0) == ("size", float((pictures / "dark.png").stat().st_size))


def test_a_text_to_compare_with_is_one_for_all_or_one_for_each(pictures: Path) -> None:
    def words(path: Path, text: str) -> float:
        return float(len(text))

    files = [pictures / "dark.png", pictures / "light.png"]
    assert heartfelt.predict(files, words, prompt="night")["value"].to_list() == [5.0, 5.0]
    assert heartfelt.predict(files, words, prompt={"dark": "night", "light.png": "midday"})["value"].to_list() == [
        5.0,
        6.0,
    ]
    with pytest.raises(InputError, match="must be told what to answer"):
        heartfelt.predict(files, words)
    with pytest.raises(InputError, match="prompt=3 is not text or a mapping"):
        heartfelt.predict(files, words, prompt=3)  # type: ignore[arg-type]  # wrong on purpose


def test_the_questions_of_a_study_are_asked(pictures: Path) -> None:
    def guess(path: Path, question: str) -> float:
        return 2.0 if question == "valence" else 7.0

    table = heartfelt.predict(pictures / "dark.png", guess, study="aimoclips")
    assert dict(table.select("question", "value").iter_rows()) == {"valence": 2.0, "arousal": 7.0}
    one = heartfelt.predict(pictures / "dark.png", guess, study="aimoclips", questions=["arousal"])
    assert one["question"].to_list() == ["arousal"]
    again = heartfelt.predict(pictures / "dark.png", guess, study="aimoclips", questions=["arousal"] * 2)
    assert again["question"].to_list() == ["arousal"]
    with pytest.raises(UnknownNameError, match="no question 'arousl'"):
        heartfelt.predict(pictures / "dark.png", guess, study="aimoclips", questions=["arousl"])


@pytest.mark.parametrize(
    ("study", "name", "media"),
    [
        ("aimoclips", "dark.png", "image"),
        ("aimoclips", "song.wav", "audio"),
        ("emolia-dim", "voice.wav", "speech"),
        ("emolia-dim", "dark.png", "image"),
    ],
)
def test_a_file_is_shown_as_what_it_is_whatever_the_study_is_about(
    pictures: Path, study: str, name: str, media: str
) -> None:
    """A study of music can be asked about images; a study of speech knows that its sound files are speech."""
    seen: list[str] = []

    def look(asks: Sequence[Ask]) -> list[Prediction]:
        seen.extend(ask.about["media"] for ask in asks)
        return [Prediction.failed("only looking")] * len(asks)

    write_tone(pictures / "song.wav", 0.1)
    write_tone(pictures / "voice.wav", 0.1)
    heartfelt.predict(pictures / name, look, study=study)
    assert set(seen) == {media}


def test_references_are_found_by_name(pictures: Path, tmp_path: Path) -> None:
    originals = tmp_path / "originals"
    originals.mkdir()
    (originals / "dark.jpeg").write_bytes(b"")
    table = heartfelt.predict(pictures, Nearness(), reference=originals)
    by_name = {Path(row["file"]).stem: row for row in table.iter_rows(named=True)}
    assert by_name["dark"]["value"] == len("dark.jpeg")
    assert by_name["light"]["problem"] == "no reference is known"
    one = heartfelt.predict(pictures, Nearness(), reference=originals / "dark.jpeg", prompt="x")
    assert set(one["value"]) == {9.0}
    assert set(one["warning"]) == {"x"}
    (originals / "dark.gif").write_bytes(b"")
    (originals / "dark.txt").write_text("no picture")
    (problem,) = heartfelt.predict(pictures / "dark.png", Nearness(), reference=originals)["problem"]
    assert mentions(problem, "dark.gif", "dark.jpeg")
    with pytest.raises(InputError, match="no file or folder"):
        heartfelt.predict(pictures, Nearness(), reference=tmp_path / "gone")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("valence-arousal", "There are no sound files in .*, but 3 images"),
        ("human", "'human' must be told what to answer"),
        ("no-such-model", "No predictor is called 'no-such-model'"),
        ("models/no-such-folder", "no folder or file 'models/no-such-folder'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(model: str, problem: str, pictures: Path) -> None:
    with pytest.raises(HeartfeltError, match=problem):
        heartfelt.predict(pictures, model)


def test_empty_lists_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sound files or images"):
        heartfelt.predict(tmp_path, "sham", prompt="anything")
    with pytest.raises(InputError, match="no files to predict"):
        heartfelt.predict([])


def test_folders_stand_for_their_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.wav", "sub/a.MP3", "c.png", "notes.txt"):
        (tmp_path / name).write_bytes(b"x")
    assert named([tmp_path]) == [tmp_path / "b.wav", tmp_path / "sub" / "a.MP3"]
    assert named(tmp_path, ("image",)) == [tmp_path / "c.png"]
    assert len(named([tmp_path], ())) == 3
    assert named(["gone.wav"]) == [Path("gone.wav")]


def named(files: object, kinds: Sequence[str] = ("audio",)) -> list[Path]:
    return [file.path for file in find_files(files, kinds)]


def problems(files: object, relative_to: Path) -> dict[str, str]:
    """What ``predict`` says about files it cannot answer."""
    failed = heartfelt.predict(files, Brightness()).filter(~pl.col("ok"))
    return {
        name.removeprefix(f"{relative_to}/"): problem for name, problem in failed.select("file", "problem").iter_rows()
    }


def test_linked_folders_are_looked_into_once(pictures: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (pictures / "light.png").rename(elsewhere / "light.png")
    (pictures / "linked").symlink_to(elsewhere)
    (pictures / "again").symlink_to(elsewhere)
    (pictures / "around").symlink_to(pictures)
    (pictures / "a-link").symlink_to(pictures / "sub")
    (pictures / "sub").mkdir()
    (pictures / "dark.png").rename(pictures / "sub" / "dark.png")
    assert named(pictures, ("image",)) == [
        pictures / name for name in ("again/light.png", "broken.png", "sub/dark.png")
    ]


def test_a_folder_that_cannot_be_opened_has_its_row(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pictures / "locked").mkdir()
    really = Path.iterdir

    def refused(folder: Path) -> Iterator[Path]:
        if folder.name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return really(folder)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert mentions(problems(pictures, pictures)["locked"], "folder", "denied")
    assert problems([pictures / "dark.png", pictures / "locked"], pictures)["locked"].startswith("the folder")


def test_a_file_that_may_not_be_looked_at_has_its_row(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = Path.stat

    def refused(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name == "dark.png":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return really(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refused)
    for files in (pictures, [pictures / "dark.png"]):
        assert mentions(problems(files, pictures)["dark.png"], "file", "denied")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8_have_their_rows(pictures: Path, tmp_path: Path) -> None:
    strange = os.fsencode(pictures) + b"/caf\xe9"
    Path(os.fsdecode(strange)).mkdir()
    shutil.copy(pictures / "dark.png", os.fsdecode(strange + b"/dark.png"))
    shutil.copy(pictures / "dark.png", os.fsdecode(strange + b".png"))
    reason = "its name is not UTF-8; rename the file, or the folder it is in"
    expected = {"caf\\xe9/dark.png": reason, "caf\\xe9.png": reason}
    assert problems(pictures, pictures).items() >= expected.items()
    assert problems([os.fsdecode(strange + b".png")], pictures) == {"caf\\xe9.png": reason}
    heartfelt.predict(pictures, Brightness(), folder=tmp_path / "out")
    assert reason in (tmp_path / "out" / "predictions.csv").read_text()


def test_an_empty_folder_among_others_and_impossible_names_have_their_rows(pictures: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    found = problems([pictures, empty, "x" * 300 + ".png", "nul\0.png"], pictures)
    assert found[str(empty)] == f"There are no images in {empty}."
    assert found["x" * 300 + ".png"] == "the file cannot be opened: File name too long"
    assert found["nul\0.png"] == "no file can have this name"


@pytest.mark.parametrize(("model", "name"), [("pitch", "song.m4a"), ("pitch", "film.MP4"), ("brisque", "photo.heic")])
def test_media_in_formats_that_cannot_be_read_have_their_rows(model: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\0\0\0\x18ftypmp42\0\0\0\0")
    table = heartfelt.predict(tmp_path, model, questions=["median"] if model == "pitch" else None)
    assert table.select("file", "ok").row(0) == (str(tmp_path / name), False)


def test_every_predictor_that_knows_its_questions_says_what_it_reads() -> None:
    """``file_asks`` without ``media_kinds`` would put sound to a network for images."""
    for name, kind in PREDICTORS.items():
        if "file_asks" in vars(kind) and name not in ("call", "trained"):
            assert kind.media_kinds, name


def test_a_score_is_not_shown_as_an_answer_on_the_scale(tmp_path: Path) -> None:
    clip = str(write_tone(tmp_path / "tone.wav", 1.0))
    shown = CliRunner().invoke(app, ["predict", clip, "--model", "pitch", "--study", "aimoclips"])
    assert mentions(" ".join(shown.stdout.split()), "valence 440.11", "score", "scale")
    own = CliRunner().invoke(app, ["predict", clip, "--model", "pitch:median"])
    assert own.stdout.strip().endswith("median 440.11")


def test_one_file_named_twice_has_its_rows_once(pictures: Path) -> None:
    done = predict_files([pictures / "dark.png", pictures], Brightness())
    assert done.table.height == 3
    names: Mapping[str, int] = done.run.counts
    assert (names["items"], names["answered"]) == (3, 2)


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_not_the_current_folder(name: str) -> None:
    """As of a variable of the shell that is not set."""
    with pytest.raises(InputError, match="An empty name is no file"):
        find_files(["a.wav", name])
