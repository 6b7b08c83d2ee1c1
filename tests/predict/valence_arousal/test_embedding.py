"""What the embedding reads off the sound itself, on sounds whose answer is known; and how long files are cut."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.predict.models.musicnn import log_mel
from heartfelt.predict.trained.embeddings import EMBEDDINGS, Music, columns_of, windows
from heartfelt.predict.trained.signal import NAMES, RATE, signal_features
from heartfelt.streams import stream

Array = npt.NDArray[np.float32]
TIME = np.arange(RATE * 8) / RATE


def read(samples: npt.NDArray[np.float64]) -> dict[str, float]:
    sound = samples.astype(np.float32)
    row = signal_features(sound, log_mel(sound))
    assert row.shape == (len(NAMES),)
    assert np.isfinite(row).all()
    return dict(zip(NAMES, row.tolist(), strict=True))


def tones(*hertz: float) -> npt.NDArray[np.float64]:
    return np.asarray(sum(0.1 * np.sin(2 * np.pi * one * k * TIME) / k for one in hertz for k in (1, 2, 3)))


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
    clicks = np.zeros(TIME.size)
    for start in np.arange(0, TIME[-1], 60 / beats):
        at = int(start * RATE)
        clicks[at : at + 400] = 0.8 * np.sin(np.arange(400))[: clicks[at : at + 400].size]
    found = read(clicks)
    assert 120 * 2 ** found["pulse_tempo"] == pytest.approx(beats, rel=0.04)
    assert found["pulse_clarity"] > 0.5
    # A click that falls between two frames may count twice.
    assert 0.7 * beats / 60 < found["pulse_density"] < 2 * beats / 60


def test_major_leads_in_major_and_minor_in_minor() -> None:
    for root in (220.0, 246.94, 311.13):
        scale = {"major": (0, 4, 7, 12, 7, 4), "minor": (0, 3, 7, 12, 7, 3)}
        leads = {
            name: read(tones(*(root * 2 ** (step / 12) for step in steps)))["mode_lead"]
            for name, steps in scale.items()
        }
        assert leads["major"] > 0 > leads["minor"]


def test_silence_and_a_blink_are_numbers() -> None:
    assert read(np.zeros(RATE))["mode_lead"] == 0.0
    read(np.zeros(10))
    read(0.1 * np.ones(800))


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
        found = list(windows(_blocks(int(seconds * RATE), size)))
        assert [len(one) / RATE for one in found] == pytest.approx(lengths)
        assert np.array_equal(np.concatenate(found), np.arange(int(seconds * RATE), dtype=np.float32))


def test_blocks_cover_every_column() -> None:
    for name in EMBEDDINGS:
        embedding = EMBEDDINGS[name]()
        assert columns_of(embedding.blocks)[embedding.blocks[-1].name].stop == embedding.size
    assert Music().size == 5093


@pytest.mark.usefixtures("musicnn")
def test_a_row_does_not_depend_on_what_was_read_before() -> None:
    sound = tones(220, 330).astype(np.float32)
    first = Music().row(sound)
    Music().row(sound[: RATE * 3])
    assert np.array_equal(first, Music().row(sound))
