"""Stimuli made ready: originals stay, every number is in the manifest, and what fails has a reason and no file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from heartfelt.cli import main
from heartfelt.errors import InputError, UnknownNameError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.media.audio import content_hash, loudness, read_audio, true_peak, write_audio
from heartfelt.media.images.image import decode_image
from heartfelt.stimuli.options import PrepareOptions
from heartfelt.stimuli.preparation.prepared import VocalsHeard
from heartfelt.stimuli.preparation.preparing import prepare
from heartfelt.stimuli.synthesis.speech import render_voice
from tests.facts import mentions
from tests.media.test_checks import RATE, faded, music

STUDY = """
heartfelt: 1
name: ready
media: {media}
seed: 3
systems: [{{id: A}}, {{id: B}}]
stimuli: {{manifest: stimuli.csv, media: media}}
scales: {{valence: {{type: points, points: 9}}}}
questions: [{{id: valence, text: Pleasant, scale: valence}}]
"""


@pytest.fixture(scope="session")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems, the second 10 dB louder; a clip twice, one silent, one cut off."""
    folder = tmp_path_factory.mktemp("prepare")
    (folder / "study.yaml").write_text(STUDY.format(media="audio"))
    rows = []
    for place in range(8):
        system = "AB"[place % 2]
        samples = music(place) * np.float32(0.2 if system == "A" else 0.6)
        write_audio(folder / f"media/{system}/c{place}.wav", samples, RATE)
        rows.append((f"c{place}", system, f"{system}/c{place}.wav"))
    write_audio(folder / "media/A/again.flac", music(2) * np.float32(0.1), RATE)
    write_audio(folder / "media/B/silent.wav", np.zeros(3 * RATE, np.float32), RATE)
    (folder / "media/B/cut.wav").write_bytes((folder / "media/B/c1.wav").read_bytes()[:5000])
    write_audio(folder / "media/B/short.wav", music(9, 0.8), RATE)
    names = (
        ("again", "A", "A/again.flac"),
        ("silent", "B", "B/silent.wav"),
        ("cut", "B", "B/cut.wav"),
        ("short", "B", "B/short.wav"),
    )
    table = pl.DataFrame([*rows, *names], schema=["stimulus", "system", "path"], orient="row")
    table.with_columns(note=pl.lit("kept")).write_csv(folder / "stimuli.csv")
    return folder


@pytest.fixture
def study(sounds: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sounds, tmp_path / "study"))


def originals(folder: Path) -> dict[str, str]:
    return {path.name: content_hash(path) for path in (folder / "media").rglob("*.*") if "prepared" not in path.parts}


@pytest.mark.slow
def test_clips_are_cropped_levelled_and_described(study: Path) -> None:
    before = originals(study)
    done = prepare(study, PrepareOptions(seconds=2.0, channels="stereo", format=".flac"))
    assert originals(study) == before
    by_name = {each.stimulus: each for each in done.stimuli}
    assert {each.stimulus: each.problem is not None for each in done.stimuli if each.problem} == dict.fromkeys(
        ["silent", "cut", "short"], True
    )
    assert mentions(by_name["silent"].problem, "B/silent.wav", "-60")
    assert mentions(str(by_name["short"].problem), "clip", "0.80")
    assert by_name["again"].duplicate_of == "c2", "the same recording, cropped at another place"
    assert by_name["again"].checks == "the same recording as c2"
    assert [each.stimulus for each in done.stimuli if each.duplicate_of] == ["again"]
    for name in ("c0", "c1"):
        each = by_name[name]
        clip = read_audio(study / "media" / str(each.path))
        assert (clip.rate, clip.channels, clip.seconds) == (48_000, 2, 2.0)
        assert loudness(clip.samples, clip.rate).value == pytest.approx(-23.0, abs=0.05)
        assert each.loudness == pytest.approx(-23.0)
        assert 20 * np.log10(true_peak(clip.samples, clip.rate)) <= -0.99
        assert each.checks is None, "cut ends were faded"
        assert 0.15 * 3 <= float(each.crop_start or 0) <= 0.85 * 3 - 2 + 0.2
        assert each.sha256 == content_hash(study / "media" / str(each.path))
        assert each.original_sha256 == before[f"{name}.wav"]
    manifest = pl.read_csv(study / "stimuli.csv")
    assert manifest.columns[:2] == ["stimulus", "system"]
    assert manifest["note"].to_list() == ["kept"] * 12
    assert manifest["original"][0] == "A/c0.wav"
    assert manifest["path"][0] == "prepared/A/c0.flac"
    opened = open_study(study)
    assert opened.missing_media == ["silent", "cut", "short"]
    assert json.loads((study / "prepare.json").read_text())["options"]["loudness"] == -23.0


@pytest.mark.slow
def test_preparing_again_begins_with_the_originals_and_gives_the_same_bytes(study: Path) -> None:
    first = prepare(study, PrepareOptions(seconds=2.0, format=".wav"))
    table = (study / "stimuli.csv").read_bytes()
    again = prepare(study, PrepareOptions(seconds=2.0, format=".wav"), workers=1)
    assert again.stimuli == first.stimuli
    assert (study / "stimuli.csv").read_bytes() == table
    other = prepare(study, PrepareOptions(format=".wav", loudness=None, rate=None))
    by_name = {each.stimulus: each for each in other.stimuli}
    assert by_name["c0"].seconds == 3.0
    assert by_name["c0"].gain_db == 0.0
    assert by_name["again"].duplicate_of == "c2", "the whole clip, quieter and in another format"
    assert by_name["short"].checks == "lasts 0.80 s, where most last 3.00 s"


@pytest.mark.slow
def test_files_of_one_name_stay_apart_and_a_parquet_manifest_stays_one(study: Path) -> None:
    """Two formats of one name, and one original under two ids, which are cropped at different places."""
    shutil.copy(study / "media/A/again.flac", study / "media/A/c0.flac")
    rows = [("c0", "A", "A/c0.wav"), ("copy", "A", "A/c0.flac"), ("twice", "A", "A/c0.wav")]
    pl.DataFrame(rows, schema=["stimulus", "system", "path"], orient="row").write_parquet(study / "stimuli.parquet")
    text = (study / "study.yaml").read_text()
    (study / "study.yaml").write_text(text.replace("stimuli.csv", "stimuli.parquet"))
    done = prepare(study, PrepareOptions(seconds=1.0, format=".wav"))
    assert [each.path for each in done.stimuli] == [f"prepared/A/c0{n}.wav" for n in ("", "-2", "-3")]
    assert [content_hash(study / "media" / str(each.path)) for each in done.stimuli] == [
        each.sha256 for each in done.stimuli
    ]
    assert done.stimuli[0].crop_start != done.stimuli[2].crop_start
    assert pl.read_parquet(study / "stimuli.parquet")["original"].to_list() == [row[2] for row in rows]


@pytest.mark.slow
def test_differences_between_systems_are_tested_before_and_after(study: Path) -> None:
    done = prepare(study, PrepareOptions(format=".wav"))
    tests = {each.measure: each for each in done.differences}
    before, after = tests["loudness before (LUFS)"], tests["loudness after (LUFS)"]
    assert before.test.p is not None
    assert before.test.p < 0.001
    assert float(before.means["B"]) - float(before.means["A"]) > 6
    assert after.test.p is None or after.test.p > 0.05
    assert float(after.means["B"]) == pytest.approx(-23.0, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("crop", ["start", "centre", "energy"])
def test_other_crops(study: Path, crop: str) -> None:
    done = prepare(study, PrepareOptions(seconds=1.0, crop=crop, between=(0.2, 0.8), format=".wav"))  # type: ignore[arg-type]  # parametrised
    start = float(done.stimuli[0].crop_start or 0)
    assert {"start": start == pytest.approx(0.6), "centre": start == pytest.approx(1.0), "energy": 0.6 <= start <= 1.4}[
        crop
    ]


@pytest.mark.slow
def test_a_clip_that_would_pass_the_peak_stays_quieter(study: Path) -> None:
    done = prepare(study, PrepareOptions(loudness=-5.0, format=".wav"))
    assert all("its peaks would pass -1 dB" in str(each.checks) for each in done.stimuli if each.problem is None)
    assert max(float(each.true_peak_db or -99) for each in done.stimuli) <= -0.99


@pytest.mark.slow
def test_pictures_are_turned_reduced_and_compared(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.format(media="image"))
    rng = np.random.default_rng(0)
    (tmp_path / "media").mkdir()
    pixels = rng.integers(0, 255, (8, 12, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels).resize((600, 400), Image.Resampling.BICUBIC)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.save(tmp_path / "media/a.jpg", exif=exif)
    picture.rotate(-90, expand=True).resize((200, 300)).save(tmp_path / "media/b.png")
    Image.fromarray(pixels[::-1]).resize((64, 64)).save(tmp_path / "media/c.png")
    (tmp_path / "media/d.png").write_bytes(b"no picture")
    (tmp_path / "stimuli.csv").write_text("stimulus,system,path\na,A,a.jpg\nb,B,b.png\nc,A,c.png\nd,B,d.png\n")
    done = {each.stimulus: each for each in prepare(tmp_path, PrepareOptions(side=300)).stimuli}
    assert (done["a"].width, done["a"].height) == (200, 300)
    assert decode_image(tmp_path / "media" / str(done["a"].path)).size == (200, 300)
    assert done["b"].duplicate_of == "a"
    assert done["c"].checks == "smaller than 300 pixels"
    assert "no known image format" in str(done["d"].problem)
    assert done["a"].brightness == pytest.approx(done["b"].brightness, abs=1.0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"crop": "rndom"}, "crop = 'rndom' is unknown"),
        ({"between": (0.9, 0.1)}, "nothing between"),
        ({"seconds": -1.0}, "seconds must be positive"),
        ({"fade": -1.0}, "fade must be positive"),
        ({"content": "song"}, "content = 'song' is unknown"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, object], problem: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=problem):
        PrepareOptions(**options)  # type: ignore[arg-type]  # what a user may give


@pytest.mark.slow
def test_speech_rates_are_measured_and_unusual_ones_named(study: Path) -> None:
    rows = []
    for place, tempo in enumerate([0.4, 0.4, 0.38, 0.4, 0.42, 0.4, 1.0]):
        clip = render_voice(5.0, 5.0, system="Cellar", seconds=3.0, name=str(place), means={"tempo": tempo})
        write_audio(study / f"media/v{place}.wav", clip, 22_050)
        rows.append((f"v{place}", "AB"[place % 2], f"v{place}.wav"))
    rows.append(("noise", "A", "noise.wav"))
    rng = np.random.default_rng(0)
    write_audio(study / "media/noise.wav", faded(rng.normal(0, 0.1, 3 * RATE).astype(np.float32)), RATE)
    pl.DataFrame(rows, schema=["stimulus", "system", "path"], orient="row").write_csv(study / "stimuli.csv")
    done = prepare(study, PrepareOptions(content="speech", format=".wav"))
    by_name = {each.stimulus: each for each in done.stimuli}
    assert "syllables per second, where" in str(by_name["v6"].checks)
    assert [each.stimulus for each in done.stimuli if "where" in str(each.checks)] == ["v6", "noise"]
    assert "no syllable was found" in str(by_name["noise"].checks)
    assert by_name["v0"].speech_rate == pytest.approx((by_name["v0"].syllables or 0) / 3.0)
    assert (by_name["v0"].articulation_rate or 0) >= (by_name["v0"].speech_rate or 9)
    assert by_name["v0"].vocals is None
    assert "speech rate (syllables/s)" in [each.measure for each in done.differences]
    manifest = pl.read_csv(study / "stimuli.csv")
    assert manifest["syllables"].to_list() == [each.syllables for each in done.stimuli]
    prepare(study, PrepareOptions(format=".wav"))
    assert "syllables" not in pl.read_csv(study / "stimuli.csv").columns, "no figure of an earlier preparation stays"


@pytest.mark.slow
def test_instrumental_clips_need_something_that_listens(study: Path) -> None:
    with pytest.raises(InputError, match="Nothing listens for voices"):
        prepare(study, PrepareOptions(content="instrumental"))
    heard = prepare(
        study,
        PrepareOptions(content="instrumental", format=".wav"),
        vocals=lambda samples, rate: VocalsHeard(samples.shape[0] / rate / 4, rate < 1),
    )
    assert heard.stimuli[0].vocals == pytest.approx(0.75)
    assert "a voice" not in str(heard.stimuli[0].checks)
    (study / "study.yaml").write_text(STUDY.format(media="image"))
    with pytest.raises(InputError, match="are images, not speech"):
        prepare(study, PrepareOptions(content="speech"))


@pytest.mark.slow
def test_a_study_with_ratings_keeps_the_media_they_are_about(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from heartfelt.collect import Collection, CollectOptions

    with Collection.open(study, options=CollectOptions(durable=False)):
        pass
    table = (study / "stimuli.csv").read_bytes()
    assert main(["prepare", str(study)]) == 2
    assert "has been opened to raters" in capsys.readouterr().err
    assert (study / "stimuli.csv").read_bytes() == table


@pytest.mark.slow
def test_the_command_reports_and_says_what_failed(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report"
    assert main(["prepare", str(study), "--seconds", "2", "--format", ".wav", "--out", str(report)]) == 1
    shown = capsys.readouterr().out
    assert mentions(shown, "9 of 12 stimuli", "originals")
    assert mentions(shown, "silent", "B/silent.wav", "-60")
    assert "loudness before (LUFS): eta squared 0." in shown
    assert "p < .001 (9 stimuli)." in shown
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "Do systems differ in what no system was asked for?" in page
    assert pl.read_csv(report / "stimuli.csv").height == 12
    assert main(["prepare", str(study), "--rate", "fast"]) == 2
    assert "'fast' is no rate" in capsys.readouterr().err
    assert main(["prepare", str(study), "--format", ".mp9"]) == 2
    assert "'.mp9'" in capsys.readouterr().err
