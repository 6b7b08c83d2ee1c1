"""One recording in several clips: found under other cuts, levels, rates and codings, and nothing else is."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from heartfelt.media.audio import Audio, write_audio
from heartfelt.media.sound import Samples, resample, to_one_channel
from heartfelt.media.sounds.recordings import (
    MIN_OVERLAP,
    NO_LANDMARKS,
    RATE,
    Landmarks,
    _candidates,
    _distinctive,
    _peaks,
    landmarks,
    recording_groups,
    same_recordings,
)
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.stimuli.synthesis import SynthMusic, SynthVoice


def melody(seed: int, seconds: float = 4.0, notes_per_second: int = 6) -> Samples:
    """Decaying notes of random pitch, at 8 kHz."""
    rng = np.random.default_rng(seed)
    out = np.zeros(round(seconds * RATE))
    time = np.arange(RATE) / RATE
    for start in np.sort(rng.integers(0, out.size - RATE // 2, round(seconds * notes_per_second))):
        pitch = rng.uniform(110, 1500)
        note = sum(np.sin(2 * np.pi * pitch * part * time) / part for part in (1, 2, 3))
        length = min(RATE, out.size - start)
        out[start : start + length] += (rng.uniform(0.05, 0.2) * note * np.exp(-5 * time))[:length]
    return np.asarray(out, np.float32)


def steady(pitches: tuple[float, ...], phase: float) -> Samples:
    """A chord that does not change for three seconds; each of its tones begins at another phase."""
    time = np.arange(3 * RATE) / RATE
    tones = [np.sin(2 * np.pi * pitch * time + phase * (1 + at)) for at, pitch in enumerate(pitches)]
    return np.asarray(0.2 * np.sum(tones, axis=0), np.float32)


def groups(*clips: Samples) -> list[int]:
    return [int(first) for first in recording_groups([landmarks(clip) for clip in clips], clips.__getitem__)]


def test_cuts_of_one_recording_are_one_group_and_the_first_names_it() -> None:
    whole, other = melody(1, 6.0), melody(2, 6.0)
    early, late = whole[: 3 * RATE], whole[2 * RATE + 37 :] * np.float32(-0.2)
    assert groups(other, whole, early, late) == [0, 1, 1, 1]
    assert groups(early, other, late, whole) == [0, 1, 0, 0], "through the whole, whatever the order"


@pytest.mark.parametrize("start", [0, 1, 64, 100, 127, 8_001])
def test_a_cut_between_two_frames_is_found(start: int) -> None:
    whole = melody(3, 4.0)
    assert groups(whole, whole[start : start + 2 * RATE]) == [0, 0]
    assert groups(whole[start : start + 2 * RATE], whole) == [0, 0]


def test_an_overlap_that_is_too_short_is_not_enough() -> None:
    whole = melody(4, 6.0)
    for overlap, expected in ((MIN_OVERLAP + 0.3, [0, 0]), (MIN_OVERLAP - 0.3, [0, 1])):
        end = round((3 + overlap) * RATE)
        assert groups(whole[:end], whole[3 * RATE :]) == expected


def test_short_clips_need_most_of_their_length() -> None:
    burst = melody(5, 1.0, 20)
    assert groups(burst, burst[800:]) == [0, 0]
    assert groups(burst[: RATE // 2 + 400], burst[RATE // 2 - 400 :]) == [0, 1]


def test_noise_hum_and_silence_around_a_recording_do_not_hide_it() -> None:
    whole = melody(6, 4.0)
    rng = np.random.default_rng(0)
    part = whole[RATE : 3 * RATE]
    noisy = part + np.float32(0.1 * part.std()) * rng.standard_normal(part.size).astype(np.float32)
    padded = np.concatenate([np.zeros(RATE, np.float32), part, np.zeros(2 * RATE, np.float32)])
    assert groups(whole, noisy, padded) == [0, 0, 0]


def test_a_shared_part_of_two_recordings_is_not_the_same_recording() -> None:
    jingle, one, two = melody(7, 2.0), melody(8, 4.0), melody(9, 4.0)
    assert groups(np.concatenate([jingle, one]), np.concatenate([jingle, two])) == [0, 1]


def test_mixtures_and_other_speeds_are_other_recordings() -> None:
    one, voice = melody(10), melody(11)
    faster = resample(one, RATE, round(RATE / 1.06))
    assert groups(one, one + 2 * voice) == [0, 1]
    assert groups(one, faster) == [0, 1]


def test_steady_tones_say_nothing() -> None:
    """A tone agrees with itself at every period: that two clips hold one is no sign of one recording."""
    for pitches in ((440.0,), (220.0, 275.0, 330.0), (220.0, 277.18, 329.63)):
        chords = [steady(pitches, phase) for phase in range(4)]
        assert groups(*chords) == [0, 1, 2, 3]


def test_a_recording_in_many_clips_is_one_group() -> None:
    """More copies than a landmark links to; strangers stay apart."""
    whole = melody(12, 4.0)
    copies = [whole[shift * 50 :][: 3 * RATE] for shift in range(20)]
    strangers = [melody(100 + seed, 3.0) for seed in range(5)]
    assert groups(*copies, *strangers) == [0] * 20 + [20, 21, 22, 23, 24]


def test_clips_without_sound_have_no_landmarks() -> None:
    for silent in (np.zeros(RATE, np.float32), np.ones(100, np.float32), np.zeros(0, np.float32)):
        assert landmarks(silent).hashes.size == 0
    assert recording_groups([], lambda _: melody(1)).tolist() == []
    assert recording_groups([NO_LANDMARKS, landmarks(melody(1)), NO_LANDMARKS], melody).tolist() == [0, 1, 2]


def test_landmarks_are_those_of_the_sound_wherever_it_begins() -> None:
    """A whole number of frames later, the same landmarks come as many frames later."""
    sound = melody(13, 2.0)
    later = np.concatenate([np.zeros(10 * 128, np.float32), sound])
    one, two = landmarks(sound), landmarks(later)
    first = set(zip(one.hashes.tolist(), one.frames.tolist(), strict=True))
    second = set(zip(two.hashes.tolist(), (two.frames - 10).tolist(), strict=True))
    assert len(first & second) > 0.8 * len(first)


def test_files_are_compared_one_after_the_other(tmp_path: Path) -> None:
    whole = melody(14, 3.0)
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    write_audio(tmp_path / "whole.wav", whole, RATE)
    write_audio(tmp_path / "cut.wav", whole[4_000:], RATE)
    paths = [tmp_path / name for name in ("broken.wav", "whole.wav", "cut.wav")]
    steps: list[tuple[int, int]] = []
    assert same_recordings(paths, lambda _, done, total: steps.append((done, total))).tolist() == [0, 1, 1]
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert same_recordings([str(path) for path in paths]).tolist() == [0, 1, 1]


def candidates(*clips: Landmarks) -> list[tuple[int, int, int]]:
    return [(pair.first, pair.second, pair.offset) for pair in _candidates(clips)]


def marks(*hashes_and_frames: tuple[int, int]) -> Landmarks:
    hashes, frames = zip(*hashes_and_frames, strict=True)
    return Landmarks(hashes=np.array(hashes, np.int64), frames=np.array(frames, np.int64))


def test_candidates_share_ten_landmarks_at_one_offset_or_two_beside_each_other() -> None:
    first = marks(*((number, 100 + number) for number in range(12)))
    for shared, expected in ((10, [(0, 1, 60)]), (9, [])):
        second = marks(*((number, 40 + number) for number in range(shared)))
        assert candidates(first, second) == expected
    spread = marks(*((number, 40 + number - number % 2) for number in range(10)))
    assert candidates(first, spread) == [(0, 1, 60)], "five at 60, five at 61"
    apart = marks(*((number, 40 + number - 2 * (number % 2)) for number in range(10)))
    assert candidates(first, apart) == [], "five at 60, five at 62"
    later = marks(*((number, 900 + number) for number in range(10)))
    assert candidates(first, NO_LANDMARKS, later, second) == [(0, 2, -800)]
    assert candidates(NO_LANDMARKS, NO_LANDMARKS) == []
    assert candidates(first) == []


def test_candidates_must_share_enough_of_what_is_in_the_overlap() -> None:
    first = marks(*((number, number) for number in range(1_000)))

    def judged(shared: int, strange: int) -> bool:
        second = marks(
            *((number, number) for number in range(shared)),
            *((5_000 + number, number % 900) for number in range(strange)),
        )
        (candidate,) = _candidates([first, second])
        return _distinctive(candidate, [first, second])

    assert judged(10, 300), "ten of 310"
    assert not judged(10, 400), "ten of 410 are less than 3%"
    assert judged(13, 400)
    same = [marks(*((number % 3, number) for number in range(40)))] * 2
    assert not any(_distinctive(candidate, same) for candidate in _candidates(same)), "three again and again"


def test_peaks_lie_where_the_notes_are() -> None:
    """Three notes of 0.1 s: a peak at the middle of each, in bands from low to high, and none in the silence between."""
    sound = np.zeros(2 * RATE, np.float32)
    time = np.arange(RATE // 10) / RATE
    for start, pitch in ((0.2, 250.0), (0.8, 1000.0), (1.5, 3000.0)):
        begin = round(start * RATE)
        sound[begin : begin + time.size] = np.sin(2 * np.pi * pitch * time) * np.hanning(time.size)
    frames, bands = _peaks(sound)
    middles = (frames * 128 + 512) / RATE
    loudest = [bands[np.abs(middles - middle) < 0.04] for middle in (0.25, 0.85, 1.55)]
    assert all(near.size for near in loudest)
    assert np.median(loudest[0]) < np.median(loudest[1]) < np.median(loudest[2])
    assert not frames[np.abs(middles - 1.2) < 0.15].size
    doubled, _ = _peaks(np.tile(sound, 40))
    assert doubled.size > 35 * frames.size, "longer than a block of frames"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "subtype", "rate"),
    [("MP3", "MPEG_LAYER_III", 44_100), ("OGG", "VORBIS", 32_000), ("OGG", "OPUS", 48_000), ("WAV", "PCM_U8", 22_050)],
)
def test_codings_of_cuts_are_found(kind: str, subtype: str, rate: int, tmp_path: Path) -> None:
    import soundfile

    clips = [melody(seed, 5.0) for seed in range(4)]
    for number, clip in enumerate(clips):
        write_audio(tmp_path / f"{number}.flac", clip, RATE)
        coded = io.BytesIO()
        cut = np.clip(resample(clip[9_000 + number :], RATE, rate) * np.float32(0.5), -1, 1)
        soundfile.write(coded, np.stack([cut, cut], axis=1), rate, format=kind, subtype=subtype)
        (tmp_path / f"{number}-cut.{kind.lower()}").write_bytes(coded.getvalue())
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    paths = [*sorted(tmp_path.glob("*.flac")), tmp_path / "broken.wav", *sorted(tmp_path.glob("*-cut.*"))]
    steps: list[int] = []
    found = same_recordings(paths, lambda _, done, __: steps.append(done))
    assert found.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert steps == list(range(1, 10))


@pytest.mark.slow
def test_clips_of_one_system_and_intent_are_not_the_same(tmp_path: Path) -> None:
    """The built-in synthesisers use the same instruments, tempos and rhythms again; every clip is another."""
    clips: list[Samples] = []
    for maker, system in (
        (SynthMusic(seconds=4.0), "Sinewood"),
        (SynthMusic(seconds=4.0), "Chipling"),
        (SynthVoice(seconds=4.0), "Attic"),
    ):
        for seed in range(4):
            prompt = StimulusPrompt(
                stimulus=f"{system}{seed}",
                system=system,
                intent="calm",
                text="calm",
                coordinates={"valence": 7.0, "arousal": 2.5},
                prompt="",
                index=seed,
            )
            clip = maker.generate(prompt, seed)
            assert isinstance(clip, Audio)
            clips.append(resample(to_one_channel(clip.samples), clip.rate, RATE))
    assert groups(*clips) == list(range(12))
