"""Sound files as the models hear them: every form, odd lengths, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from heartfelt.errors import InputError
from heartfelt.media.sound import SoundFile, decode
from heartfelt.predictors.networks import musicnn
from heartfelt.predictors.networks.fixed_inputs import sound
from heartfelt.predictors.networks.listening import speech_quality, tags
from heartfelt.predictors.networks.speech import distillmos, dnsmos
from heartfelt.serialization import to_json
from tests.predictors.weights.conftest import Pulled

FORMS = {
    "plain.wav": (16_000, 1, "PCM_16"),
    "eight.wav": (22_050, 2, "PCM_U8"),
    "seven.wav": (44_100, 7, "PCM_24"),
    "high.flac": (192_000, 1, "PCM_24"),
    "song.mp3": (44_100, 2, "MPEG_LAYER_III"),
    "song.opus": (48_000, 2, "OPUS"),
    "song.ogg": (44_100, 1, "VORBIS"),
    "phone.wav": (8_000, 1, "PCM_16"),
}


def written(folder: Path, name: str, seconds: float = 12.0) -> Path:
    rate, channels, subtype = FORMS[name]
    mono = sound(round(seconds * rate), rate)
    columns = np.stack([mono * np.float32(1 - 0.1 * channel) for channel in range(channels)], axis=1)
    kind = "OGG" if name.endswith(("opus", "ogg")) else None
    soundfile.write(folder / name, columns, rate, subtype=subtype, format=kind)
    return folder / name


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_blocks_are_the_samples_of_the_whole(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name)
    blocks = list(SoundFile.of(path).resampled(16_000))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), decode(path, 16_000))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seven.wav", "song.mp3", "song.opus", "phone.wav"])
def test_tags_of_a_file(pulled: Pulled, name: str, tmp_path: Path) -> None:
    pulled("musicnn-msd")
    path = written(tmp_path, name, 5.0)
    heard = tags(path)
    plain = musicnn.embed(decode(path, 16_000)).mean_tags()
    assert list(heard.values) == list(plain)
    for tag, estimate in heard.values.items():
        assert estimate.value == pytest.approx(plain[tag], abs=1e-6)
        assert estimate.low is None
        assert estimate.why_no_interval
        assert estimate.counts["patches"] == 1
    assert any("4,000 Hz" in warning for warning in heard.warnings) == (name == "phone.wav")
    message = json.loads(json.dumps(to_json(heard), allow_nan=False))
    assert message["file"] == str(path)
    assert message["models"][0].startswith("musicnn-msd musicnn==0.1.0")


@pytest.mark.slow
def test_speech_quality_of_a_file(pulled: Pulled, tmp_path: Path) -> None:
    pulled("dnsmos"), pulled("distillmos")
    path = written(tmp_path, "plain.wav", 4.0)
    heard = speech_quality(path)
    samples = decode(path, 16_000)
    scores, quality = dnsmos(samples), distillmos(samples)
    expected = {**scores.scores, **quality.scores}
    assert {name: estimate.value for name, estimate in heard.values.items()} == pytest.approx(expected)
    assert heard.seconds == 4.0
    assert speech_quality(path, models=("distillmos",)).values.keys() == {"distillmos"}
    pulled("musicnn-msd")
    with pytest.raises(InputError, match="does not judge speech"):
        speech_quality(path, models=("musicnn-msd",))


@pytest.mark.slow
def test_a_long_recording_is_judged_on_windows_read_where_they_stand(
    pulled: Pulled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The windows of a long file are those of the samples decoded whole, but for their edges."""
    pulled("distillmos")
    monkeypatch.setattr("heartfelt.predictors.networks.speech.MOST_WINDOWS", 3)
    path = written(tmp_path, "eight.wav", 125.0)
    steps: list[tuple[int, int]] = []
    heard = speech_quality(path, models=("distillmos",), progress=lambda _, done, total: steps.append((done, total)))
    assert steps == [(0, 1)]
    whole = distillmos(decode(path, 16_000))
    assert heard.values["distillmos"].value == pytest.approx(whole.scores["distillmos"], abs=0.1)
    assert heard.values["distillmos"].counts["windows"] == 3
    assert any("spread evenly" in warning for warning in heard.warnings)


@pytest.mark.slow
def test_a_long_recording_that_is_cut_is_refused(pulled: Pulled, tmp_path: Path) -> None:
    pulled("distillmos")
    path = written(tmp_path, "song.mp3", 125.0)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 50])
    with pytest.raises(InputError, match=r"song\.mp3"):
        speech_quality(path, models=("distillmos",))


@pytest.mark.slow
def test_progress_of_a_long_file(pulled: Pulled, tmp_path: Path) -> None:
    pulled("musicnn-msd")
    steps: list[tuple[int, int]] = []
    tags(written(tmp_path, "phone.wav", 25.0), progress=lambda _, done, total: steps.append((done, total)))
    assert steps[0][0] < steps[1][0] <= steps[-1][0] == 25
    assert {total for _, total in steps} == {25}


@pytest.mark.slow
def test_fifty_milliseconds_and_silence(pulled: Pulled, tmp_path: Path) -> None:
    for model in ("musicnn-msd", "dnsmos", "distillmos"):
        pulled(model)
    brief = written(tmp_path, "plain.wav", 0.05)
    soundfile.write(tmp_path / "silent.wav", np.zeros(32_000), 16_000)
    for path, word in ((brief, "0.05 s"), (tmp_path / "silent.wav", "silent")):
        for heard in (tags(path), speech_quality(path)):
            assert all(estimate.value is not None for estimate in heard.values.values())
            assert any(word in warning for warning in heard.warnings), heard.warnings


def _text(path: Path) -> None:
    path.write_text("this is not sound")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _no_frames(path: Path) -> None:
    soundfile.write(path, np.zeros((0, 1)), 16_000)


def _nan(path: Path) -> None:
    samples: npt.NDArray[np.float32] = sound(32_000)
    samples[20_000] = np.nan
    soundfile.write(path, samples, 16_000, subtype="FLOAT")


def _cut(path: Path) -> None:
    soundfile.write(path, sound(48_000), 16_000)
    path.write_bytes(path.read_bytes()[:40_000])


@pytest.mark.slow
@pytest.mark.parametrize("make", [_text, _empty, _no_frames, _nan, _cut], ids=lambda make: make.__name__)
def test_what_is_no_sound_is_refused_with_its_name(pulled: Pulled, make: object, tmp_path: Path) -> None:
    for model in ("musicnn-msd", "dnsmos", "distillmos"):
        pulled(model)
    path = tmp_path / "clip.wav"
    make(path)  # type: ignore[operator]  # one of the functions above
    for hear in (tags, speech_quality):
        with pytest.raises(InputError, match=r"clip\.wav"):
            hear(path)


@pytest.mark.slow
def test_a_cut_mp3_is_refused(pulled: Pulled, tmp_path: Path) -> None:
    """Its header says how long it should be."""
    pulled("musicnn-msd")
    path = written(tmp_path, "song.mp3")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for hear in (tags, speech_quality):
        with pytest.raises(InputError, match=r"song\.mp3.*cut"):
            hear(path)
