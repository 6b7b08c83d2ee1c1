"""What a run would take and cost, what is unlike before, and which results are refused, worked out by hand."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from PIL import Image

from heartfelt.errors import InputError
from heartfelt.media.audio import Audio
from heartfelt.stimuli import MakeOptions, forecast_make, load_make, make_study
from heartfelt.stimuli.generation.devices import parse_devices
from heartfelt.stimuli.generation.forecast import GenerationForecast, SystemForecast
from heartfelt.stimuli.generation.ledger import LEDGER_FILE, GenerationLedger, LedgerRow, read_ledger
from heartfelt.stimuli.generation.licences import notices, unaccepted
from heartfelt.stimuli.generation.result import Making, SystemResult
from heartfelt.stimuli.generators.models.known_licences import LICENCES, licence_of
from heartfelt.stimuli.generators.results import Expectation, FileMedia, encoded, examine, suffix_of
from tests.stimuli.generation.tones import RATE, study_in, tone

TONES: dict[str, Any] = {"generator": "tones"}


def row(stimulus: str, seconds: float, **changed: Any) -> LedgerRow:
    made = LedgerRow(at="2026-01-01T00:00:00Z", system="A", stimulus=stimulus, attempt=1, seed=1, outcome="made")
    return replace(made, seconds=seconds, **changed)


def test_time_is_the_median_of_what_these_settings_took(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "s", {"per_cell": 3, "systems": {"A": {**TONES, "cost_each": 0.25}}})
    forecast = forecast_make(folder)
    (system,) = forecast.systems
    assert (system.planned, system.complete, system.to_make, system.texts) == (6, 0, 6, 2)
    assert (system.seconds, system.seconds_each, forecast.seconds) == (None, None, None)
    assert (system.cost, forecast.cost, forecast.spent, forecast.within_budget) == (1.5, 1.5, 0.0, True)
    settings = load_make(folder).systems[0].settings_hash
    with GenerationLedger(folder) as ledger:
        ledger.add([row("x", 2.0, settings=settings, cost=0.25), row("x", 9.0, settings=settings, cost=0.5)])
        ledger.add([row("x", 4.0, settings=settings), row("x", 99.0, settings="other")])
        ledger.add([row("x", 77.0, settings=settings, outcome="failed")])
    assert [attempt.seconds for attempt in read_ledger(folder)] == [2.0, 9.0, 4.0, 99.0, 77.0]

    def expected(**options: Any) -> tuple[int, float | None]:
        (system,) = forecast_make(folder, MakeOptions(**options)).systems
        return system.to_make, system.seconds

    assert expected() == (6, 4.0 * 6)
    assert expected(limit=2) == (2, 4.0 * 2)
    assert expected(device="cpu,cpu") == (6, 4.0 * 6 / 2)
    assert forecast_make(folder).spent == 0.75
    assert forecast_make(folder, MakeOptions(budget=2.25)).within_budget
    assert not forecast_make(folder, MakeOptions(budget=2.2)).within_budget


def test_the_time_of_a_study_is_known_where_that_of_all_systems_with_work_is() -> None:
    def system(name: str, to_make: int, seconds: float | None, cost: float | None = None) -> SystemForecast:
        return SystemForecast(
            system=name,
            generator="tones",
            texts=1,
            planned=9,
            complete=9 - to_make,
            to_make=to_make,
            seconds=seconds,
            seconds_each=None,
            cost=cost,
            missing={},
            problem=None,
            notes=(),
        )

    def study(*systems: SystemForecast) -> GenerationForecast:
        return GenerationForecast(
            study="s", folder=Path(), systems=systems, spent=0.0, budget=None, licences=(), notes=()
        )

    both = study(system("A", 2, 10.0, 1.5), system("B", 3, 5.0, 0.5), system("C", 0, None))
    assert (both.seconds, both.to_make, both.cost) == (15.0, 5, 2.0)
    assert study(system("A", 2, 10.0), system("B", 1, None)).seconds is None


def test_what_became_of_all_systems_is_added_up() -> None:
    def system(complete: int, failed: dict[str, str], missing: dict[str, str], untried: int) -> SystemResult:
        return SystemResult(
            system="A",
            generator="tones",
            planned=10,
            complete=complete,
            made=1,
            failed=failed,
            missing=missing,
            untried=untried,
            attempts=3,
            seconds=1.0,
            cost=0.0,
            waiting=0,
            stopped=None,
            notes=(),
        )

    systems = (system(4, {"a": "x"}, {"b": "y", "c": "z"}, 3), system(9, {}, {}, 1))
    making = Making(study="s", folder=Path(), systems=systems, seconds=1.0, cost=0.0)
    assert (making.planned, making.complete, making.failed) == (20, 13, 7)


def test_what_differs_from_before_is_named_and_attempts_are_counted(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "s", {"systems": {"A": TONES}})
    make_study(folder, MakeOptions())
    study_in(folder, {"systems": {"A": {**TONES, "brightness": 0.75}}})
    (system,) = forecast_make(folder).systems
    assert (system.complete, system.to_make) == (0, 0)
    assert any("brightness was 0.5, is 0.75" in note for note in system.notes)
    assert forecast_make(folder, MakeOptions(replace=True)).systems[0].to_make == 2
    # Of make.yaml's own keys only what decides the stimulus counts; a file that is lost comes back.
    study_in(folder, {"systems": {"A": TONES}})
    assert forecast_make(folder).systems[0].complete == 2
    (folder / "media" / "A" / "A_calm_1.wav").unlink()
    assert forecast_make(folder).systems[0].to_make == 1
    study_in(folder, {"systems": {"B": TONES}})
    forecast = forecast_make(folder)
    assert forecast.systems[0].to_make == 2
    assert any("A_angry_1" in note for note in forecast.notes)
    assert not any("A_calm_1" in note for note in forecast.notes), "its file is gone"


def test_failed_attempts_continue_their_numbers(tmp_path: Path) -> None:
    trouble = {**TONES, "batch": 1, "attempts": 2, "trouble": {"A_calm_1": "silent"}}
    folder = study_in(tmp_path / "s", {"systems": {"A": trouble}})
    for attempts in ([1, 2], [1, 2, 3, 4]):
        make_study(folder, MakeOptions())
        rows = [attempt for attempt in read_ledger(folder) if attempt.stimulus == "A_calm_1"]
        assert [attempt.attempt for attempt in rows] == attempts
        assert len({attempt.seed for attempt in rows}) == len(attempts)


def test_devices_are_named_one_by_one() -> None:
    assert parse_devices(" cuda:0, cpu,cpu ,mps,xpu:12") == ("cuda:0", "cpu", "cpu", "mps", "xpu:12")
    assert parse_devices("auto") == ("auto",)
    for text in ("", ",", "auto,cpu", "gpu", "cuda:x", "tpu:0"):
        with pytest.raises(InputError):
            parse_devices(text)


def test_licences_of_models_on_the_hub() -> None:
    assert licence_of("facebook/musicgen-stereo-small").commercial is False
    assert licence_of("suno/bark").commercial is True
    assert licence_of("facebook/mms-tts-deu").name == licence_of("facebook/musicgen-small").name
    assert licence_of("somebody/model").url == "https://huggingface.co/somebody/model"
    assert licence_of("/home/me/models/own").url == ""
    assert licence_of("own").commercial is None
    assert all(licence.url.startswith("https://") for licence in LICENCES.values())


def test_systems_with_one_model_share_a_licence(tmp_path: Path) -> None:
    owned = {**TONES, "model": "org/model"}
    folder = study_in(tmp_path / "s", {"systems": {"A": owned, "B": owned}})
    (notice,) = notices(load_make(folder))
    assert (notice.systems, notice.model, notice.licence.commercial) == (("A", "B"), "org/model", False)
    assert unaccepted([notice]) == [notice]
    assert notices(load_make(study_in(tmp_path / "t", {"systems": {"A": TONES}}))) == []


def test_a_ledger_takes_one_line_per_attempt_and_leaves_no_empty_file(tmp_path: Path) -> None:
    with GenerationLedger(tmp_path) as ledger:
        ledger.add([])
    assert not (tmp_path / LEDGER_FILE).exists()
    with GenerationLedger(tmp_path) as ledger:
        ledger.add([row("a", 0.5, problem="two\nlines,  and more")])
        assert [attempt.stimulus for attempt in ledger.rows] == ["a"]
    content = (tmp_path / LEDGER_FILE).read_bytes()
    (tmp_path / LEDGER_FILE).write_bytes(content + b"2026,A,b")
    assert [attempt.problem for attempt in read_ledger(tmp_path)] == ["two lines, and more"]
    with GenerationLedger(tmp_path) as ledger:
        ledger.add([row("c", 1.0)])
    assert [attempt.stimulus for attempt in read_ledger(tmp_path)] == ["a", "c"]
    assert (tmp_path / LEDGER_FILE).read_bytes().startswith(content)


def sound(seconds: float, level: float = 1.0) -> bytes:
    samples = np.resize(tone(5, 0.5), round(seconds * RATE)) * np.float32(level)
    out = io.BytesIO()
    soundfile.write(out, samples, RATE, format="WAV")
    return out.getvalue()


def picture(width: int, height: int, *, plain: bool = False) -> bytes:
    values = np.zeros((height, width, 3), np.uint8)
    if not plain:
        values[:, : width // 2] = 255
        values[: height // 3, :, 0] = np.arange(width)
    out = io.BytesIO()
    Image.fromarray(values).save(out, "PNG")
    return out.getvalue()


def test_a_clip_may_be_longer_or_shorter_by_the_tolerance_or_a_quarter_of_a_second() -> None:
    def examined(seconds: float, wanted: float, tolerance: float = 0.1) -> float | None:
        expected = Expectation("audio", seconds=wanted, tolerance=tolerance)
        return examine(sound(seconds), ".wav", expected).seconds

    assert examined(1.2, 1.0) == pytest.approx(1.2)
    assert examined(0.8, 1.0) == pytest.approx(0.8)
    assert examined(5.4, 5.0) == pytest.approx(5.4)
    for seconds, wanted, tolerance in ((1.3, 1.0, 0.1), (0.7, 1.0, 0.1), (5.6, 5.0, 0.1), (5.4, 5.0, 0.05)):
        with pytest.raises(InputError):
            examined(seconds, wanted, tolerance)
    for content in (b"", sound(1.0, 0.0)):
        with pytest.raises(InputError):
            examine(content, ".wav", Expectation("audio"))


def test_a_picture_must_have_its_size_and_more_than_one_colour() -> None:
    expected = Expectation("image", size=64)
    result = examine(picture(64, 48), ".png", expected)
    assert result.seconds is None
    assert result.fingerprint
    assert examine(picture(48, 64), ".png", expected).sha256 != result.sha256
    for content in (picture(65, 48), picture(64, 64, plain=True)):
        with pytest.raises(InputError):
            examine(content, ".png", expected)


def test_the_suffix_of_a_file_is_that_of_its_content() -> None:
    assert suffix_of(sound(0.1)) == ".wav"
    assert suffix_of(picture(8, 8)) == ".png"
    assert suffix_of(b"RIFF1234WEBPVP8 ") == ".webp"
    assert suffix_of(b"OggS" + b"\0" * 24 + b"OpusHead") == ".opus"
    assert suffix_of(b"OggS" + b"\0" * 24 + b"vorbis") == ".ogg"
    assert suffix_of(b"\xff\xd8\xff\xe0") == ".jpg"
    assert suffix_of(b"plain") is None
    assert encoded(FileMedia(b"abc", "audio", ".mp3"), ".wav") == (b"abc", ".mp3")
    content, suffix = encoded(Audio(tone(1, 0.5), RATE), ".wav")
    assert (suffix, suffix_of(content)) == (".wav", ".wav")
