"""What the embedding reads off the sound itself, on sounds whose answer is known; and how long files are cut."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import scipy.fft
import soundfile

from heartfelt.predictors.networks import sound_features as features
from heartfelt.predictors.networks.mel import RATE
from heartfelt.predictors.networks.musicnn import log_mel, log_power, mel_power_of
from heartfelt.predictors.networks.sound_features import SIGNAL_NAMES, product, signal_features
from heartfelt.predictors.trained.embeddings import (
    EMBEDDINGS,
    MusicLevelled,
    MusicMsd,
    MusicnnEmbedding,
    columns_of,
    windows,
)
from heartfelt.predictors.trained.valence_arousal import SHIPPED
from heartfelt.streams import stream

Array = npt.NDArray[np.float32]
TIME = np.arange(RATE * 8) / RATE


def read(samples: npt.NDArray[np.float64]) -> dict[str, float]:
    sound = samples.astype(np.float32)
    tones = features.chroma(features.strengths(sound))
    row = signal_features(sound, log_mel(sound).astype(np.float64), tones)
    assert row.shape == (len(SIGNAL_NAMES),)
    assert np.isfinite(row).all()
    return dict(zip(SIGNAL_NAMES, row.tolist(), strict=True))


def chords(samples: npt.NDArray[np.float64]) -> dict[str, float]:
    row = features.harmony(features.chroma(features.strengths(samples.astype(np.float32))))
    assert np.isfinite(row).all()
    return dict(zip(features.HARMONY_NAMES, row.tolist(), strict=True))


def rough(samples: npt.NDArray[np.float64]) -> dict[str, float]:
    row = features.roughness(features.strengths(samples.astype(np.float32)))
    assert np.isfinite(row).all()
    return dict(zip(features.ROUGHNESS_NAMES, row.tolist(), strict=True))


def onsets(samples: npt.NDArray[np.float64]) -> dict[str, float]:
    row = features.rhythm(log_mel(samples.astype(np.float32)).astype(np.float64))
    assert np.isfinite(row).all()
    return dict(zip(features.RHYTHM_NAMES, row.tolist(), strict=True))


def clicks(beats: float) -> npt.NDArray[np.float64]:
    out = np.zeros(TIME.size)
    for start in np.arange(0, TIME[-1], 60 / beats):
        at = int(start * RATE)
        out[at : at + 400] = 0.8 * np.sin(np.arange(400))[: out[at : at + 400].size]
    return out


def tones(*hertz: float) -> npt.NDArray[np.float64]:
    return np.asarray(sum(0.1 * np.sin(2 * np.pi * each * k * TIME) / k for each in hertz for k in (1, 2, 3)))


def test_louder_is_louder_by_as_much() -> None:
    quiet, loud = read(0.1 * tones(220)), read(tones(220))
    assert loud["level_mean"] - quiet["level_mean"] == pytest.approx(20.0, abs=0.1)
    assert loud["level_peak"] - quiet["level_peak"] == pytest.approx(20.0, abs=0.2)


def test_higher_is_brighter_and_noise_is_flatter() -> None:
    assert read(tones(1760))["brightness_mean"] > read(tones(110))["brightness_mean"]
    noise = stream(0, "noise").normal(0, 0.1, TIME.size)
    assert read(noise)["flatness_mean"] > read(tones(220))["flatness_mean"]


@pytest.mark.parametrize("beats", [90, 120, 150])
def test_the_tempo_of_clicks(beats: int) -> None:
    result = read(clicks(beats))
    assert 120 * 2 ** result["pulse_tempo"] == pytest.approx(beats, rel=0.04)
    assert result["pulse_clarity"] > 0.5
    # A click that falls between two frames may count twice.
    assert 0.7 * beats / 60 < result["pulse_density"] < 2 * beats / 60


@pytest.mark.slow
def test_major_leads_in_major_and_minor_in_minor() -> None:
    for root in (220.0, 246.94, 311.13):
        scale = {"major": (0, 4, 7, 12, 7, 4), "minor": (0, 3, 7, 12, 7, 3)}
        leads = {
            name: read(tones(*(root * 2 ** (step / 12) for step in steps)))["mode_lead"]
            for name, steps in scale.items()
        }
        assert leads["major"] > 0 > leads["minor"]


CHORDS = {
    "major": (0, 4, 7), "minor": (0, 3, 7), "diminished": (0, 3, 6), "augmented": (0, 4, 8), "suspended": (0, 5, 7),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHORDS)
@pytest.mark.parametrize("root", [220.0, 277.18])
def test_a_chord_is_told_by_its_kind(kind: str, root: float) -> None:
    hertz = [root * 2 ** (step / 12) for step in CHORDS[kind]]
    result = chords(np.asarray(sum(0.1 * np.sin(2 * np.pi * each * TIME) for each in hertz)))
    assert result[f"{kind}_share"] == 1.0
    assert max(CHORDS, key=lambda name: result[f"{name}_fit"]) == kind
    assert (result["chord_changes"], result["change_mean"]) == pytest.approx((0.0, 0.0), abs=0.01)


@pytest.mark.slow
def test_a_key_is_the_same_on_every_root() -> None:
    steps = (0, 4, 7, 5, 9, 12, 7, 11)
    results = [chords(tones(*(root * 2 ** (step / 12) for step in steps))) for root in (220.0, 293.66)]
    for name in features.HARMONY_NAMES[:12]:
        assert results[0][name] == pytest.approx(results[1][name], abs=0.03)
    assert results[0]["tone_00"] > results[0]["tone_01"]


def test_chords_that_change_are_told_from_one_that_stays() -> None:
    half = TIME.size // 2
    both = np.concatenate([tones(220, 277.18, 329.63)[:half], tones(246.94, 293.66, 369.99)[half:]])
    assert chords(both)["change_mean"] > chords(tones(220, 277.18, 329.63))["change_mean"]
    assert 0 < chords(both)["chord_changes"] < 0.2


def test_close_tones_are_rough_and_a_fifth_is_not() -> None:
    def two(low: float, high: float) -> dict[str, float]:
        return rough(0.2 * np.sin(2 * np.pi * low * TIME) + 0.2 * np.sin(2 * np.pi * high * TIME))

    # Plomp and Levelt: roughest at about a quarter of the critical bandwidth, smooth from one bandwidth on.
    close, fifth = two(440, 470), two(440, 660)
    assert close["relative_mean"] > 4 * fifth["relative_mean"]
    assert fifth["tonal_mean"] > rough(stream(0, "noise").normal(0, 0.1, TIME.size))["tonal_mean"]


def test_a_beat_repeats_at_its_own_lag() -> None:
    result = onsets(clicks(120))
    lags = [int(name.removeprefix("all_repeat_")) for name in features.RHYTHM_NAMES if name.startswith("all_repeat_")]
    # Half a second is 31.25 frames.
    own = max(lag for lag in lags if lag <= 31)
    shorter = [result[f"all_repeat_{lag:03d}"] for lag in lags if lag < own - 8]
    assert result[f"all_repeat_{own:03d}"] > 0.5 > max(shorter)
    assert 0 < result["all_rare"] < 0.2


def test_the_top_of_a_sound_is_found_at_any_rate() -> None:
    noise = stream(0, "bandwidth").normal(0, 0.1, 48_000 * 2).astype(np.float32)
    full = features.bandwidth(noise, 48_000)
    assert full == pytest.approx(np.full(24, np.log10(1 / 24)), abs=0.1)
    half = features.bandwidth(noise, 24_000)
    assert half[:12] == pytest.approx(np.full(12, np.log10(1 / 12)), abs=0.1)
    assert half[12:] == pytest.approx(np.full(12, -6.0))
    assert features.bandwidth(noise * 0.01, 48_000) == pytest.approx(full, abs=1e-3)


def test_silence_and_a_blink_are_numbers() -> None:
    assert read(np.zeros(RATE))["mode_lead"] == 0.0
    for samples in (np.zeros(RATE), np.zeros(10), 0.1 * np.ones(800), np.zeros(1)):
        read(samples), chords(samples), rough(samples), onsets(samples)
        assert np.isfinite(features.bandwidth(samples.astype(np.float32), 44_100)).all()
    assert set(rough(np.zeros(RATE)).values()) == {0.0}


def _blocks(total: int, size: int) -> Iterator[Array]:
    whole = np.arange(total, dtype=np.float32)
    for start in range(0, total, size):
        yield whole[start : start + size]


@pytest.mark.parametrize(
    ("seconds", "lengths"),
    [
        (0.5, [0.5]),
        (10.0, [10.0]),
        (14.9, [14.9]),
        (15.0, [10.0, 5.0]),
        (24.0, [10.0, 14.0]),
        (36.0, [10.0] * 3 + [6.0]),
    ],
)
def test_windows_hold_everything_once(seconds: float, lengths: list[float]) -> None:
    for size in (7_777, 160_000, 1_000_000):
        result = list(windows(_blocks(int(seconds * RATE), size), RATE))
        assert [len(each) / RATE for each in result] == pytest.approx(lengths)
        assert np.array_equal(np.concatenate(result), np.arange(int(seconds * RATE), dtype=np.float32))


def test_blocks_cover_every_column() -> None:
    assert EMBEDDINGS.names()
    for name in EMBEDDINGS:
        if hasattr(EMBEDDINGS[name], "bound"):
            continue  # it takes a model: tests/predictors/test_hub_embeddings.py
        embedding = EMBEDDINGS[name]()
        assert columns_of(embedding.blocks)[embedding.blocks[-1].name].stop == embedding.size
    assert MusicnnEmbedding().size == 2966


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_a_row_does_not_depend_on_what_was_read_before() -> None:
    sound = tones(220, 330).astype(np.float32)
    first = MusicnnEmbedding().row(sound)
    MusicnnEmbedding().row(sound[: RATE * 3])
    assert np.array_equal(first, MusicnnEmbedding().row(sound))


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_what_musicnn_sees_does_not_depend_on_the_level() -> None:
    sound = tones(220, 277.18, 330).astype(np.float32)
    loud, soft = MusicnnEmbedding().row(sound), MusicnnEmbedding().row(sound * np.float32(0.1))
    seen = slice(0, columns_of(MusicnnEmbedding.blocks)["tags"].stop)
    np.testing.assert_allclose(loud[seen], soft[seen], atol=2e-3)
    level = columns_of(MusicnnEmbedding.blocks)["signal"].start
    assert loud[level] - soft[level] == pytest.approx(20.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_a_file_is_heard_at_its_own_rate_and_seen_at_sixteen_thousand(tmp_path: Path) -> None:
    time = np.arange(44_100 * 4) / 44_100
    sound = (0.2 * np.sin(2 * np.pi * 440 * time) + 0.05 * np.sin(2 * np.pi * 15_500 * time)).astype(np.float32)
    soundfile.write(tmp_path / "high.wav", sound, 44_100, subtype="FLOAT")
    row = MusicnnEmbedding().of(tmp_path / "high.wav").rows[0]
    band = row[columns_of(MusicnnEmbedding.blocks)["bandwidth"]]
    assert band[15] > -2 > band[14]
    assert np.array_equal(row, MusicnnEmbedding().row(sound, 44_100))


def test_speech_has_pauses_and_steady_sound_has_none() -> None:
    """Syllables of a fifth of a second with as much rest, against a steady tone; at any level and rate."""
    for rate in (8_000, 44_100):
        time = np.arange(10 * rate) / rate
        steady = (0.3 * np.sin(2 * np.pi * 220 * time)).astype(np.float32)
        syllables = steady * (time % 0.4 < 0.2).astype(np.float32)
        assert features.pauses(steady, rate) == 0.0
        assert features.pauses(syllables, rate) == pytest.approx(0.5, abs=0.08)
        assert features.pauses(0.01 * syllables, rate) == pytest.approx(features.pauses(syllables, rate))
        assert features.pauses(syllables[: rate // 2], rate) == 0.0


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_one_tagger_gives_the_columns_of_two_without_the_second(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    rng = stream(3, "noise", "both")
    soundfile.write(path, 0.1 * rng.normal(0, 1, (3 * 16_000, 2)), 16_000)
    both, alone = MusicLevelled().of(path), MusicMsd().of(path)
    own, wide = columns_of(MusicMsd.blocks), columns_of(MusicLevelled.blocks)
    for name, columns in own.items():
        np.testing.assert_array_equal(
            alone.rows[:, columns], both.rows[:, wide[name]][:, : columns.stop - columns.start]
        )
    assert "mtt" not in own
    assert MusicMsd().size == MusicLevelled().size - 250


def test_products_on_one_thread_are_the_library_s() -> None:
    rng = stream(5, "products")
    for rows, columns, wide in ((1, 3_000, 64), (78, 521, 12), (2_000, 300, 40)):
        left, right = rng.normal(size=(rows, columns)), rng.normal(size=(columns, wide))
        np.testing.assert_allclose(product(left, right), left @ right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gain", [0.03, 20.0])
def test_spectra_of_another_level_are_those_of_the_louder_or_quieter_sound(gain: float) -> None:
    """Spectra are computed once and scaled: the level-free columns are as if the sound itself had been scaled."""
    samples = stream(0, "tests", "levels").normal(0, 0.1, 3 * RATE).astype(np.float32)
    factor = np.float32(gain)
    scaled = log_power(mel_power_of(samples) * factor**2)
    assert scaled == pytest.approx(log_mel(samples * factor), abs=2e-6)
    strength = features.strengths(samples)
    assert strength * factor == pytest.approx(features.strengths(samples * factor), rel=1e-4, abs=1e-4)
    tones = features.chroma(strength) * np.sqrt(gain)
    assert tones == pytest.approx(features.chroma(features.strengths(samples * factor)), rel=1e-5)


def test_spectra_and_their_lengths_are_scipys() -> None:
    lengths = range(2, 3_000)
    assert [features._fast_length(least) for least in lengths] == [
        scipy.fft.next_fast_len(least, real=True) for least in lengths
    ]
    frames = stream(0, "tests", "spectra").normal(0, 0.1, 20_000).astype(np.float32)
    views = np.lib.stride_tricks.sliding_window_view(frames, features.FRAME)[:: features.FRAME // 2]
    theirs = np.abs(scipy.fft.rfft(views * np.hanning(features.FRAME), axis=1))
    assert features.strengths(frames) == pytest.approx(theirs, rel=1e-4, abs=1e-4)


_COLD = """
import sys
import numpy as np
from heartfelt.predictors.trained.embeddings import EMBEDDINGS
from heartfelt.predictors.trained.model import load_trained
from heartfelt.media.sound import SoundFile
row = EMBEDDINGS["music-msd"]().row(np.sin(np.arange(80_000) / 20).astype(np.float32))
(output, *_) = load_trained(sys.argv[1]).outputs
output.head.answer(row[None])
heavy = {"scipy", "numba", "pandas", "matplotlib", "polars", "pydantic", "torch", "sqlalchemy", "heartfelt.study.study"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("musicnn")
def test_a_sound_is_predicted_without_heavy_imports() -> None:
    """They would be most of the time to the first prediction."""
    done = subprocess.run([sys.executable, "-c", _COLD, str(SHIPPED)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
