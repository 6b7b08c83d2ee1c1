from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import find_peaks

from heartfelt.errors import InputError, UnknownNameError
from heartfelt.media.audio import read_audio
from heartfelt.media.sound import Samples
from heartfelt.simulate.conveyed_emotion import conveyed
from heartfelt.stimuli import GENERATORS, StimulusPrompt
from heartfelt.stimuli.synthesis.speech import NAME, VOICE_SYSTEMS, SynthVoice, render_voice, utterance
from heartfelt.stimuli.synthesis.utterance import MEANS, VOWELS, Delivery, Sound, Utterance, babble, delivery
from heartfelt.stimuli.synthesis.vocal_tract import Tract, sound_out
from heartfelt.streams import stream

RATE = 22_050
SECONDS = 3.0
SYSTEMS = list(VOICE_SYSTEMS)
NAMES = [f"n{k}" for k in range(4)]
SOURCE = "Peterson & Barney 1952, table II: men's first and second formants of the vowels in heed, father and had"


@functools.cache
def clip(valence: float, arousal: float, system: str, name: str) -> Samples:
    return render_voice(valence, arousal, system=system, seconds=SECONDS, name=name)


def level_db(samples: Samples) -> float:
    return float(20 * np.log10(np.sqrt(np.mean(samples.astype(np.float64) ** 2))))


def periods(samples: Samples, around: float) -> tuple[np.ndarray, np.ndarray]:
    """Pitch (Hz) and its clearness (0 to 1) in every loud 40 ms, searched an octave around a guess."""
    size = int(0.04 * RATE)
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), size)[:: size // 2]
    power = np.mean(frames**2, axis=1)
    frames = frames[power > 0.5 * power.mean()]
    window = np.hanning(size)
    frames = (frames - frames.mean(axis=1, keepdims=True)) * window
    same = np.fft.irfft(np.abs(np.fft.rfft(frames, 4 * size, axis=1)) ** 2)[:, : size // 2]
    same /= np.fft.irfft(np.abs(np.fft.rfft(window, 4 * size)) ** 2)[: size // 2]
    low, high = int(RATE / around / 1.6), int(RATE / around * 1.6)
    best = low + np.argmax(same[:, low:high], axis=1)
    clear = same[np.arange(best.size), best] / same[:, 0]
    return RATE / best, clear


def median_pitch(samples: Samples, around: float) -> float:
    pitch, clear = periods(samples, around)
    return float(np.median(pitch[clear > 0.6]))


def syllable_rate(samples: Samples) -> float:
    """Peaks of the intensity a second, those that stand out by 2.5 dB: syllables, as one would count them by ear."""
    size = RATE // 100
    steps = samples[: samples.size // size * size].astype(np.float64).reshape(-1, size)
    power = np.convolve((steps**2).mean(axis=1), np.hanning(7)[1:-1] / 3.0, mode="same")
    return len(find_peaks(10 * np.log10(power + 1e-7), prominence=2.5)[0]) / SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_arousal_is_heard(system: str) -> None:
    gain = VOICE_SYSTEMS[system].conveyance.gain["arousal"]
    hertz = VOICE_SYSTEMS[system].tract.hertz
    quiet, loud = ([clip(5.0, arousal, system, name) for name in NAMES] for arousal in (2.0, 8.0))
    # Six points of arousal are nine dB and nearly seven semitones at a gain of one.
    assert np.mean([level_db(x) for x in loud]) - np.mean([level_db(x) for x in quiet]) > 6.0 * gain
    pitches = [
        np.mean([median_pitch(x, hertz * 2 ** (at / 12)) for x in clips]) for clips, at in ((quiet, -3), (loud, 3))
    ]
    assert 12 * np.log2(pitches[1] / pitches[0]) > 4.0 * gain
    assert np.mean([syllable_rate(x) for x in loud]) > (1 + 0.7 * gain) * np.mean([syllable_rate(x) for x in quiet])


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_planted_arousal_gain_is_recovered_from_the_sound(system: str) -> None:
    convey = VOICE_SYSTEMS[system].conveyance
    points = [(a, f"g{a}{k}") for a in (3.0, 4.0, 5.0, 6.0) for k in range(5)]
    levels = []
    for arousal, name in points:
        loudest = np.sort(
            render_voice(5.0, arousal, system=system, seconds=1.5, rate=8_000, name=name).astype(float) ** 2
        )
        levels.append(10 * np.log10(loudest[loudest.size // 2 :].mean()))
    slope = np.polyfit([a for a, _ in points], levels, 1)[0] / 1.5  # the level rises 1.5 dB a point
    spread = convey.noise / np.sqrt(np.sum((np.array([a for a, _ in points]) - 4.5) ** 2))
    assert slope == pytest.approx(convey.gain["arousal"], abs=4 * spread)


@pytest.mark.slow
def test_valence_is_heard() -> None:
    # A displeased voice is rough: one period is less like the next.
    def clearness(valence: float, name: str) -> float:
        samples = render_voice(valence, 6.0, system="Cellar", seconds=2.0, name=name, means={"range": 0.0})
        return float(np.median(periods(samples, VOICE_SYSTEMS["Cellar"].tract.hertz)[1]))

    rough, smooth = (np.mean([clearness(valence, name) for name in NAMES]) for valence in (1.5, 8.5))
    assert 1 - rough > 2 * (1 - smooth)


def test_phrases_turn_up_in_a_pleased_voice_and_down_in_a_displeased_one() -> None:
    turns = {}
    for valence in (1.0, 9.0):
        means = delivery(valence, 6.0)
        ends = []
        for seed in range(30):
            spoken = babble(means, 2.0, stream(seed, "turn"))
            ends.append(spoken.contour[-1][1] - spoken.contour[-2][1])
        turns[valence] = np.mean(ends) / means.range
    assert turns[9.0] > 0.2
    assert turns[1.0] < -0.2


def steady(vowel: str) -> Utterance:
    return Utterance([Sound(seconds=1.0, voice=1.0, formants=VOWELS[vowel])], [(0.0, 0.0)])


PLAIN = Delivery(
    rate=4.0, phrase=6.0, pause=0.3, pitch=0.0, range=0.0, level_db=-20.0, tension=0.9, breath=0.0,
    roughness=0.0, smile=1.0, lift=0.0, emphasis=0.0,
)  # fmt: skip


@pytest.mark.parametrize(("vowel", "first", "second"), [("i", 270, 2290), ("a", 730, 1090), ("ae", 660, 1720)])
def test_vowels_have_their_formants(vowel: str, first: int, second: int) -> None:
    wave = sound_out(steady(vowel), PLAIN, Tract(100.0, 1.0), RATE, stream(0, "vowel"))[4000:18000]
    power = np.abs(np.fft.rfft(wave * np.hanning(wave.size))) ** 2
    axis = np.fft.rfftfreq(wave.size, 1 / RATE)
    harmonics = np.arange(100.0, 3000.0, 100.0)
    # The power takes out the source's fall towards high harmonics, which would hide a weak formant.
    heights = np.array([power[np.abs(axis - h) < 20].max() for h in harmonics]) * harmonics**1.2
    peaks = harmonics[1:-1][(heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])]
    assert np.abs(peaks - first).min() <= 100
    assert np.abs(peaks - second).min() <= 150


@pytest.mark.parametrize("hertz", [98.0, 165.0, 230.0, 320.0])
def test_voices_are_in_tune(hertz: float) -> None:
    wave = sound_out(steady("uh"), PLAIN, Tract(hertz, 1.0), RATE, stream(0, "tune"))
    power = np.abs(np.fft.rfft(wave * np.hanning(wave.size), 1 << 18)) ** 2
    axis = np.fft.rfftfreq(1 << 18, 1 / RATE)
    near = (axis > 0.9 * hertz) & (axis < 1.1 * hertz)
    assert abs(1200 * np.log2(axis[near][np.argmax(power[near])] / hertz)) < 5.0  # cents


def test_a_shorter_tract_has_higher_formants() -> None:
    centroids = []
    for scale in (1.0, 1.2):
        wave = sound_out(steady("a"), PLAIN, Tract(100.0, scale), RATE, stream(0, "tract"))
        power = np.abs(np.fft.rfft(wave)) ** 2
        axis = np.fft.rfftfreq(wave.size, 1 / RATE)
        centroids.append((axis * power).sum() / power.sum())
    assert centroids[1] / centroids[0] == pytest.approx(1.2, abs=0.12)


def pauses(spoken: Utterance) -> int:
    return sum(sound.voice == 0 and sound.noise == 0 and sound.seconds > 0.1 for sound in spoken.sounds)


def test_means_can_be_asked_for() -> None:
    def spoken(**means: float) -> list[Utterance]:
        return [utterance(5.0, 5.0, system="Parlour", seconds=6.0, name=name, means=means)[1] for name in NAMES]

    slow, fast = ([each.syllables for each in spoken(tempo=share)] for share in (0.2, 0.8))
    assert min(fast) > 2 * max(slow)
    flat, wide = ([np.ptp([step for _, step in each.contour]) for each in spoken(range=share)] for share in (0.0, 0.8))
    assert max(flat) == 0.0
    assert min(wide) > 5.0
    broken, flowing = ([pauses(each) for each in spoken(phrasing=share)] for share in (0.2, 0.8))
    assert min(broken) > max(flowing)
    vowels = set(VOWELS.values())
    even, marked = (
        [
            np.std([20 * np.log10(sound.voice) for sound in each.sounds if sound.voice and sound.formants in vowels])
            for each in spoken(emphasis=share)
        ]
        for share in (0.0, 0.8)
    )
    assert max(even) == 0.0
    assert min(marked) > 3.0
    with pytest.raises(InputError, match="tempo"):
        spoken(temp=0.5)
    with pytest.raises(InputError, match="out of reach"):
        spoken(tempo=1.5)


@pytest.mark.slow
def test_the_asked_for_range_is_in_the_sound() -> None:
    spreads = []
    for share in (0.0, 0.6):
        spread = []
        for name in NAMES:
            samples = render_voice(8.0, 5.0, system="Cellar", seconds=SECONDS, name=name, means={"range": share})
            pitch, clear = periods(samples, 100.0)
            spread.append(np.std(12 * np.log2(pitch[clear > 0.8])))
        spreads.append(np.median(spread))
    assert spreads[0] < 0.7
    assert spreads[1] > 2 * spreads[0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems_differ_in_what_they_convey(system: str) -> None:
    low, high = (
        np.mean([conveyed(NAME, VOICE_SYSTEMS, v, 5.0, system=system, name=str(k))[0] for k in range(200)])
        for v in (3.0, 7.0)
    )
    convey = VOICE_SYSTEMS[system].conveyance
    assert (high - low) / 4.0 == pytest.approx(convey.gain["valence"], abs=0.12)
    assert len({s.conveyance.gain["valence"] for s in VOICE_SYSTEMS.values()}) == len(VOICE_SYSTEMS)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("corner", [(1.0, 1.0), (1.0, 9.0), (9.0, 1.0), (9.0, 9.0)])
def test_every_clip_is_sound_and_clean(system: str, corner: tuple[float, float]) -> None:
    samples = clip(*corner, system, "corner")
    assert samples.dtype == np.float32
    assert samples.shape == (round(SECONDS * RATE),)
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() < 1.0
    assert -36.0 < level_db(samples) < -15.0
    assert abs(float(samples.mean())) < 1e-3
    assert abs(samples[0]) < 1e-3
    assert abs(samples[-1]) < 1e-3


@pytest.mark.parametrize("means", [{name: share} for name in MEANS for share in (0.0, 1.0)])
@pytest.mark.parametrize("seconds", [1.0, 2.7])
def test_no_extreme_leaves_the_clip_empty_or_too_long(means: dict[str, float], seconds: float) -> None:
    _, spoken = utterance(1.0, 1.0, system="Cellar", seconds=seconds, means=means)
    assert spoken.syllables >= 1
    assert sum(sound.seconds for sound in spoken.sounds) == pytest.approx(seconds)
    assert all(sound.seconds >= 0 for sound in spoken.sounds)
    samples = render_voice(1.0, 1.0, system="Cellar", seconds=seconds, rate=8_000, means=means)
    assert samples.size == round(seconds * 8_000)
    assert 0.01 < np.abs(samples).max() < 1.0


def test_the_same_seed_and_name_give_the_same_bytes() -> None:
    def each(seed: int, name: str) -> bytes:
        return render_voice(6.0, 6.0, system="Attic", seconds=1.5, seed=seed, name=name).tobytes()

    assert each(4, "a") == each(4, "a")
    assert len({each(4, "a"), each(4, "b"), each(5, "a")}) == 3


def test_what_cannot_be_spoken_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Cellar"):
        render_voice(5.0, 5.0, system="Cellr")
    with pytest.raises(InputError, match="off the scale"):
        render_voice(0.0, 5.0, system="Cellar")
    with pytest.raises(InputError, match="off the scale"):
        render_voice(5.0, float("nan"), system="Cellar")
    with pytest.raises(InputError, match="Cannot speak"):
        render_voice(5.0, 5.0, system="Cellar", seconds=0.5)


def test_the_generator_is_registered_and_reads_means_from_the_prompt(tmp_path: Path) -> None:
    kind = GENERATORS["synth-voice"]
    assert isinstance(kind.build(kind.settings(generator="synth-voice"), "cpu"), SynthVoice)
    maker = SynthVoice(seconds=2.0, rate=8_000)
    calm = {"valence": 5.0, "arousal": 5.0}
    plain, hurried = (
        maker.generate(StimulusPrompt(stimulus="s", system="Cellar", intent="i", text="t", coordinates=coordinates), 3)
        for coordinates in (calm, {**calm, "tempo": 0.9, "other": 4.0})
    )
    expected = render_voice(5.0, 5.0, system="Cellar", seconds=2.0, rate=8_000, seed=3, name="s", means={"tempo": 0.9})
    assert np.array_equal(hurried.samples[:, 0], expected)
    assert not np.array_equal(plain.samples, hurried.samples)
    assert read_audio(plain.save(tmp_path / "s.wav")).seconds == 2.0
    with pytest.raises(InputError, match="no reference value"):
        maker.generate(StimulusPrompt(stimulus="s", system="Cellar", intent="i", text="t"))
