"""Notes counted by hand: bars, chords, bass, percussion and pitches of given musical means."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from heartfelt.stimuli.synthesis.score import MusicalMeans, Note, compose, pitch_of, plan
from heartfelt.streams import stream

MEANS = MusicalMeans(
    tempo=60.0,
    mode="ionian",
    tonic=60,
    density=1.0,
    level_db=-20.0,
    brightness=0.5,
    legato=0.8,
    percussion=0.0,
    tension=0.0,
    lift=0.0,
)


def notes_of(part: str, seconds: float = 8.0, **changed: float) -> list[Note]:
    means = replace(MEANS, **changed)  # type: ignore[arg-type]  # numbers of the plan
    return [note for note in compose(means, seconds, stream(1, "score")) if note.part == part]


def test_faster_music_has_more_chords_and_bass_notes_per_bar() -> None:
    # Eight seconds: at 60 beats per minute 4 bars of 2 beats; at 120, 4 bars of 4; at 150, 5 bars of 4.
    for tempo, chords, bass in ((60.0, 4, 4), (88.0, 6, 6), (120.0, 4 * 2, 4 * 4), (150.0, 5 * 4, 5 * 8)):
        starts = sorted({round(note.start, 1) for note in notes_of("chord", tempo=tempo)})
        assert len({round(note.start * tempo / 60 * 2) for note in notes_of("chord", tempo=tempo)}) == chords
        assert len(notes_of("bass", tempo=tempo)) == bass
        assert starts[0] == 0.0
    first, second = notes_of("bass", tempo=120.0)[:2]
    assert (first.start, second.start) == (0.0, 0.5)
    assert first.seconds == pytest.approx(0.5 * 0.8)
    assert first.velocity > second.velocity


def test_chords_are_triads_of_the_mode_within_an_octave() -> None:
    chords: dict[float, list[float]] = {}
    for note in notes_of("chord"):
        chords.setdefault(note.start // 2, []).append(note.pitch)
    triads = [{0, 4, 7}, {2, 5, 9}, {4, 7, 11}, {5, 9, 0}, {7, 11, 2}, {9, 0, 4}, {11, 2, 5}]
    for pitches in chords.values():
        assert {int(pitch) % 12 for pitch in pitches} in triads
        assert all(55 <= pitch <= 71 for pitch in pitches)
    assert {int(pitch) % 12 for pitch in chords[0]} == {0, 4, 7}
    assert [pitch_of(MEANS, degree) for degree in (0, 2, 4, 7, -1)] == [60, 64, 67, 72, 59]
    assert pitch_of(MEANS, 1, octave=-1) == 50


def test_every_beat_has_as_many_melody_notes_as_the_density_says() -> None:
    for density, count in ((0.5, 4), (1.0, 8), (2.0, 16)):
        melody = notes_of("melody", density=density)
        assert len(melody) == count
        assert melody[0].seconds == pytest.approx(0.8 * (1 / density))
        assert all(int(note.pitch) % 12 in (0, 2, 4, 5, 7, 9, 11) for note in melody)
        assert all(60 <= note.pitch <= 84 for note in melody)


def test_percussion_comes_in_by_degrees() -> None:
    def counted(percussion: float) -> Counter[str]:
        notes = compose(replace(MEANS, percussion=percussion), 8.0, stream(1, "score"))
        return Counter(note.part for note in notes if note.part in {"kick", "snare", "hat"})

    assert counted(0.05) == {}
    assert counted(0.2) == {"kick": 4, "hat": 8}
    assert counted(0.5) == {"kick": 4, "snare": 4, "hat": 16}
    assert counted(0.9) == {"kick": 4, "snare": 4, "hat": 32}
    kicks, snares = notes_of("kick", percussion=0.5), notes_of("snare", percussion=0.5)
    assert [note.start for note in kicks] == [0.0, 2.0, 4.0, 6.0]
    assert [note.start for note in snares] == [1.0, 3.0, 5.0, 7.0]
    assert kicks[0].velocity == pytest.approx(0.5)
    assert snares[0].velocity == pytest.approx(0.3)


def test_means_run_in_lines_from_one_end_of_the_scale_to_the_other() -> None:
    low, middle, high = (plan(value, value, stream(1, "score")) for value in (1.0, 5.0, 9.0))
    assert (low.tempo, middle.tempo, high.tempo) == (56.0, 106.0, 156.0)
    assert (low.level_db, high.level_db) == (-28.0, -16.0)
    assert (low.legato, middle.legato, high.legato) == (1.0, 0.75, 0.5)
    assert (low.percussion, high.percussion) == pytest.approx((0.0, 1.0))
    assert (low.tension, middle.tension, high.tension) == pytest.approx((0.4, 0.0, 0.0))
    assert (low.lift, middle.lift, high.lift) == (-1.0, 0.0, 1.0)
    assert plan(0.0, 12.0, stream(1, "score")) == plan(1.0, 9.0, stream(1, "score"))
    tonics = [plan(5.0, 5.0, np.random.default_rng(seed)).tonic for seed in range(30)]
    assert set(tonics) == {54, 55, 56}
