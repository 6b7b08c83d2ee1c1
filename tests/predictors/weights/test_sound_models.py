"""Speech activity and notes: stretches as the package has them, and sounds of which the answer is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors.networks import notes, speech_activity
from heartfelt.predictors.networks.fixed_inputs import sound
from heartfelt.predictors.networks.mel import RATE
from heartfelt.predictors.networks.sound_features import key_fits
from heartfelt.streams import stream
from tests.predictors.weights.conftest import Pulled

Array = npt.NDArray[np.float32]


@pytest.mark.parametrize(
    ("seed", "frames", "expected"),
    [
        (1, 71_046, [(544, 8672), (10272, 68576)]),
        (2, 55_764, [(0, 10208), (24608, 55764)]),
        (5, 38_891, [(32, 27616)]),
        (7, 31_146, [(2592, 8160), (10784, 20448), (26144, 31146)]),
    ],
)
def test_stretches_are_the_packages(seed: int, frames: int, expected: list[tuple[int, int]]) -> None:
    """SOURCE: ``get_speech_timestamps_from_probs`` of silero-vad 6.2.3 on the same probabilities."""
    chance = stream(seed, "speech probabilities")
    walk = np.cumsum(chance.normal(size=int(chance.integers(1, 200))) * 0.25) + 0.4
    shares = np.clip(np.abs(walk % 2 - 1), 0, 1).astype(np.float32)
    assert speech_activity.stretches_of(shares, frames) == expected


@pytest.mark.slow
def test_a_clip_of_many_blocks_is_heard_like_one(pulled: Pulled, monkeypatch: pytest.MonkeyPatch) -> None:
    model, clip = pulled("silero-vad"), sound(60_000)
    whole = speech_activity.probabilities(clip, model=model)
    monkeypatch.setattr(speech_activity, "_BLOCK", 7)
    np.testing.assert_allclose(speech_activity.probabilities(clip, model=model), whole, atol=1e-6)
    assert len(whole) == -(-60_000 // speech_activity.FRAME)


@pytest.mark.slow
def test_a_tone_is_no_speech_and_no_sound_is_refused(pulled: Pulled) -> None:
    model = pulled("silero-vad")
    tone = np.sin(np.arange(3 * RATE) * 0.1).astype(np.float32)
    assert speech_activity.speech_activity(tone, model=model).share == 0
    with pytest.raises(InputError, match="no sound"):
        speech_activity.speech_activity(tone[:0], model=model)


def played(pitches: list[list[int]], seconds: float = 0.5) -> Array:
    """Chords of decaying tones, one after the other."""
    t = np.arange(int(seconds * notes.RATE)) / notes.RATE
    chords = []
    for chord in pitches:
        hertz = [440 * 2 ** ((pitch - 69) / 12) for pitch in chord]
        tones = [np.sin(2 * np.pi * f * k * t) / k**3 for f in hertz for k in range(1, 5)]
        chords.append(np.sum(tones, axis=0) * np.exp(-3 * t) * np.minimum(t / 0.005, 1))
    return (0.3 * np.concatenate(chords)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chords", "polyphony", "pitch", "major"),
    [
        ([[60], [62], [64], [65], [67], [69], [71], [72]], 1, 66.25, True),
        ([[57], [59], [60], [62], [64], [65], [64], [57]], 1, 61.0, False),
        ([[60, 64, 67], [65, 69, 72], [67, 71, 74], [60, 64, 67]] * 2, 3, 66.6, True),
    ],
)
def test_notes_that_were_played_are_heard(
    pulled: Pulled, chords: list[list[int]], polyphony: float, pitch: float, major: bool
) -> None:
    measures = notes.keys(played(chords), model=pulled("basic-pitch")).measures(key_fits)
    heard = {name: value for name, value in measures.items() if value is not None}
    assert heard.keys() == notes.MEASURES.keys()
    assert heard["density"] == pytest.approx(2 * polyphony, rel=0.35)
    assert heard["polyphony"] == pytest.approx(polyphony, rel=0.35)
    assert heard["pitch"] == pytest.approx(pitch, abs=2.5)
    assert (heard["mode"] > 0) == major
    assert heard["key"] > 0.6


@pytest.mark.slow
def test_silence_has_no_notes(pulled: Pulled) -> None:
    measures = notes.keys(np.zeros(30_000, np.float32), model=pulled("basic-pitch")).measures(key_fits)
    assert measures == {"density": 0.0, **dict.fromkeys(list(notes.MEASURES)[1:])}
