from __future__ import annotations

import functools

import numpy as np
import pytest

from heartfelt.errors import InputError, UnknownNameError
from heartfelt.media.sound import Samples
from heartfelt.simulate.conveyed_emotion import conveyed
from heartfelt.stimuli.synthesis.music import MUSIC_SYSTEMS, NAME, render_clip, score
from heartfelt.stimuli.synthesis.score import MODES, compose, plan
from heartfelt.stimuli.synthesis.voices import Tone, Voice, brass, chip, plucked, warm
from heartfelt.streams import stream

RATE = 22_050
SECONDS = 4.0
SYSTEMS = list(MUSIC_SYSTEMS)


@functools.cache
def clip(valence: float, arousal: float, system: str, name: str) -> Samples:
    return render_clip(valence, arousal, system=system, seconds=SECONDS, name=name)


def level_db(samples: Samples) -> float:
    return float(20 * np.log10(np.sqrt(np.mean(samples.astype(np.float64) ** 2))))


def spectrum(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    window = np.hanning(samples.size)
    return np.fft.rfftfreq(samples.size, 1 / RATE), np.abs(np.fft.rfft(samples * window)) ** 2


def centroid(samples: Samples) -> float:
    hertz, power = spectrum(samples)
    return float((hertz * power).sum() / power.sum())


def onset_rate(samples: Samples) -> float:
    """Peaks of spectral flux a second, at one loudness, above one threshold for all clips."""
    size, hop = 2048, 441
    level = samples / np.sqrt(np.mean(samples**2))
    frames = np.lib.stride_tricks.sliding_window_view(level, size)[::hop] * (np.hanning(size) / size)
    log = np.log1p(100 * np.abs(np.fft.rfft(frames, axis=1)))
    flux = np.pad(np.maximum(log[2:] - log[:-2], 0).sum(axis=1), 3)
    around = np.lib.stride_tricks.sliding_window_view(flux, 7).max(axis=1)
    return float(np.sum((flux[3:-3] == around) & (around > 15.0)) / SECONDS)


def third(samples: Samples, tonic: int) -> float:
    """Energy on the major third above the tonic, as a share of both thirds."""
    hertz, power = spectrum(samples)
    band = (hertz > 60) & (hertz < 1200)
    pitch = 69 + 12 * np.log2(hertz[band] / 440)
    energy = power[band]
    near = np.abs(pitch - np.round(pitch)) < 0.3
    kind = (np.round(pitch).astype(int) - tonic) % 12
    minor, major = (float(energy[near & (kind == step)].sum()) for step in (3, 4))
    return major / (minor + major)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_arousal_is_heard(system: str) -> None:
    names = [f"n{k}" for k in range(4)]
    quiet, loud = ([clip(5.0, arousal, system, name) for name in names] for arousal in (2.0, 8.0))
    # The planted arousal gain sets how far apart two intents are rendered; half of it must be heard.
    gain = MUSIC_SYSTEMS[system].conveyance.gain["arousal"]
    assert np.mean([level_db(x) for x in loud]) - np.mean([level_db(x) for x in quiet]) > 0.5 * 9.0 * gain
    assert np.mean([centroid(x) for x in loud]) > 1.15 * np.mean([centroid(x) for x in quiet])
    assert np.mean([onset_rate(x) for x in loud]) > (1 + gain) * np.mean([onset_rate(x) for x in quiet])


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_valence_is_heard(system: str) -> None:
    shares: dict[float, list[float]] = {1.5: [], 8.5: []}
    tonics: dict[float, list[int]] = {1.5: [], 8.5: []}
    for valence in shares:
        for k in range(4):
            means, _ = score(valence, 4.0, system=system, seconds=SECONDS, name=f"n{k}")
            shares[valence].append(third(clip(valence, 4.0, system, f"n{k}"), means.tonic))
            tonics[valence].append(means.tonic)
    assert np.mean(shares[1.5]) < 0.4
    assert np.mean(shares[8.5]) > 0.6
    gain = MUSIC_SYSTEMS[system].conveyance.gain["valence"]
    assert np.mean(tonics[8.5]) - np.mean(tonics[1.5]) > 5.0 * gain


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_planted_arousal_gain_is_recovered_from_the_sound(system: str) -> None:
    convey = MUSIC_SYSTEMS[system].conveyance
    arousals = [3.0, 4.0, 5.0, 6.0]
    points = [(a, f"g{a}{k}") for a in arousals for k in range(6)]
    levels = [level_db(render_clip(5.0, a, system=system, seconds=1.5, rate=11_025, name=name)) for a, name in points]
    slope = np.polyfit([a for a, _ in points], levels, 1)[0] / 1.5  # the level rises 1.5 dB a point
    spread = convey.noise / np.sqrt(np.sum((np.array([a for a, _ in points]) - 4.5) ** 2))
    assert slope == pytest.approx(convey.gain["arousal"], abs=4 * spread)


def test_systems_differ_in_what_they_convey() -> None:
    def slope(system: str) -> float:
        low, high = (
            np.mean([conveyed(NAME, MUSIC_SYSTEMS, v, 5.0, system=system, name=str(k))[0] for k in range(200)])
            for v in (3.0, 7.0)
        )
        return float(high - low) / 4.0

    for system in SYSTEMS:
        assert slope(system) == pytest.approx(MUSIC_SYSTEMS[system].conveyance.gain["valence"], abs=0.12)
    shift = (
        np.mean([conveyed(NAME, MUSIC_SYSTEMS, 5.0, 5.0, system="Pluckbox", name=str(k))[0] for k in range(200)]) - 5.0
    )
    assert shift == pytest.approx(0.9, abs=4 * 0.45 / np.sqrt(200))
    profiles = {s.conveyance.gain["valence"] for s in MUSIC_SYSTEMS.values()}
    assert len(profiles) == len(MUSIC_SYSTEMS)


def test_the_same_seed_and_name_give_the_same_bytes() -> None:
    each, two = (render_clip(6.0, 6.0, system="Pluckbox", seconds=2.0, seed=4, name="a") for _ in range(2))
    assert each.tobytes() == two.tobytes()
    other_name = render_clip(6.0, 6.0, system="Pluckbox", seconds=2.0, seed=4, name="b")
    other_seed = render_clip(6.0, 6.0, system="Pluckbox", seconds=2.0, seed=5, name="a")
    assert not np.array_equal(each, other_name)
    assert not np.array_equal(each, other_seed)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("corner", [(1.0, 1.0), (1.0, 9.0), (9.0, 1.0), (9.0, 9.0)])
def test_every_clip_is_sound_and_clean(system: str, corner: tuple[float, float]) -> None:
    samples = clip(*corner, system, "corner")
    assert samples.dtype == np.float32
    assert samples.shape == (round(SECONDS * RATE),)
    assert np.abs(samples).max() < 1.0
    assert -32.0 < level_db(samples) < -12.0
    assert abs(float(samples.mean())) < 1e-3
    assert abs(samples[0]) < 1e-3
    assert abs(samples[-1]) < 1e-3
    # No gap: music is heard in every second.
    assert all(level_db(part) > -60 for part in np.split(samples, 4))


@pytest.mark.parametrize("voice", [warm, plucked, brass, chip])
@pytest.mark.parametrize("hertz", [110.0, 440.0, 987.77])
def test_voices_are_in_tune(voice: Voice, hertz: float) -> None:
    wave = voice(Tone(hertz=hertz, seconds=1.5, rate=RATE, brightness=0.5, softness=0.5), stream(0, "tune"))
    power = np.abs(np.fft.rfft(wave * np.hanning(wave.size), 1 << 18)) ** 2
    axis = np.fft.rfftfreq(1 << 18, 1 / RATE)
    near = (axis > hertz * 0.9) & (axis < hertz * 1.1)
    result = axis[near][np.argmax(power[near])]
    assert abs(1200 * np.log2(result / hertz)) < 8.0  # cents


def test_modes_go_up_in_order_of_valence() -> None:
    rng = stream(0, "modes")
    seen = [plan(valence, 5.0, rng).mode for valence in np.linspace(1, 9, 60)]
    assert list(dict.fromkeys(seen)) == list(MODES)


def test_more_arousal_means_more_notes() -> None:
    counts = []
    for arousal in (1.0, 3.0, 5.0, 7.0, 9.0):
        notes = [compose(plan(5.0, arousal, stream(k, "p")), 8.0, stream(k, "c")) for k in range(5)]
        counts.append(np.mean([len(n) for n in notes]))
        assert all(0 <= note.start < 8.0 and note.seconds > 0 for each in notes for note in each)
    assert all(np.diff(counts) > 0)


def test_what_cannot_be_rendered_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Sinewood"):
        render_clip(5.0, 5.0, system="Sinewod")
    with pytest.raises(InputError, match="off the scale"):
        render_clip(0.0, 5.0, system="Sinewood")
    with pytest.raises(InputError, match="Cannot render"):
        render_clip(5.0, 5.0, system="Sinewood", seconds=0.0)
    with pytest.raises(InputError, match="off the scale"):
        render_clip(5.0, float("nan"), system="Sinewood")
