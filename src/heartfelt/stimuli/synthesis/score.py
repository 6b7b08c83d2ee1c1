"""From a feeling to a score: which notes, how fast, how loud, in which mode.

Valence and arousal on 1-9 set the musical means that listeners are known to read them from. Arousal: tempo,
loudness, note density, short articulation, brightness, percussion. Valence: mode, register, consonance, the
melody's direction. The order of the modes is the order of rated happiness.

Source: Gabrielsson & Lindström 2010 (the influence of musical structure on emotional expression); Temperley &
Tan 2013 (modes in order of happiness).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

MODES: dict[str, tuple[int, ...]] = {
    "phrygian": (0, 1, 3, 5, 7, 8, 10),
    "aeolian": (0, 2, 3, 5, 7, 8, 10),
    "dorian": (0, 2, 3, 5, 7, 9, 10),
    "lydian": (0, 2, 4, 6, 7, 9, 11),
    "mixolydian": (0, 2, 4, 5, 7, 9, 10),
    "ionian": (0, 2, 4, 5, 7, 9, 11),
}
_PROGRESSIONS: dict[str, tuple[tuple[int, ...], ...]] = {
    "phrygian": ((0, 1, 0, 6), (0, 1, 2, 1), (0, 6, 1, 0)),
    "aeolian": ((0, 5, 2, 6), (0, 3, 5, 6), (0, 5, 3, 6)),
    "dorian": ((0, 3, 0, 6), (0, 2, 3, 0), (0, 6, 3, 0)),
    "lydian": ((0, 1, 4, 0), (0, 1, 0, 4), (0, 5, 1, 0)),
    "mixolydian": ((0, 6, 3, 0), (0, 3, 6, 3), (0, 3, 0, 6)),
    "ionian": ((0, 4, 5, 3), (0, 3, 4, 0), (0, 5, 3, 4)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MusicalMeans:
    """The musical means that carry one feeling. Shares run from 0 to 1; pitches are MIDI numbers."""

    tempo: float
    mode: str
    tonic: int
    density: float
    level_db: float
    brightness: float
    legato: float
    percussion: float
    tension: float
    lift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sounding note: ``part`` is melody, chord, bass, kick, snare or hat; times are in seconds."""

    part: str
    start: float
    seconds: float
    pitch: float
    velocity: float


def plan(valence: float, arousal: float, rng: np.random.Generator) -> MusicalMeans:
    """Choose the means for a feeling on 1-9. Chance only moves the key, by a semitone either way."""
    high, fast = (min(max(x, 1.0), 9.0) / 8.0 - 0.125 for x in (valence, arousal))
    return MusicalMeans(
        tempo=56.0 + 100.0 * fast,
        mode=tuple(MODES)[min(int(high * len(MODES)), len(MODES) - 1)],
        tonic=round(55.0 + 9.0 * (high - 0.5) + 3.0 * (fast - 0.5)) + int(rng.integers(-1, 2)),
        density=0.55 + 2.0 * fast,
        level_db=-28.0 + 12.0 * fast,
        brightness=0.1 + 0.65 * fast + 0.2 * high,
        legato=1.0 - 0.5 * fast,
        percussion=max(0.0, (fast - 0.35) / 0.65),
        tension=max(0.0, 0.5 - high) * (0.8 + 1.2 * fast),
        lift=2.0 * high - 1.0,
    )


def compose(means: MusicalMeans, seconds: float, rng: np.random.Generator) -> list[Note]:
    """Write ``seconds`` of music with those means: chords, bass, melody and soft percussion."""
    beat = 60.0 / means.tempo
    beats = int(np.ceil(seconds / beat))
    span = 2 if means.tempo < 90 else 4
    choices = _PROGRESSIONS[means.mode]
    progression = choices[int(rng.integers(len(choices)))]
    roots = [progression[(start // span) % len(progression)] for start in range(0, beats, span)]
    notes = [
        *_chords(means, beat, span, roots, rng),
        *_bass(means, beat, span, roots),
        *_melody(means, beat, span, roots, rng),
        *_percussion(means, beat, beats),
    ]
    return [note for note in notes if note.start < seconds]


def pitch_of(means: MusicalMeans, degree: int, octave: int = 0) -> int:
    """The pitch of a scale degree, counted from the tonic; degrees may pass the octave either way."""
    scale = MODES[means.mode]
    return means.tonic + 12 * (octave + degree // 7) + scale[degree % 7]


def _per_bar(tempo: float, span: int, slow: float, fast: float) -> int:
    """How often a part is played in a bar: once in slow music, on every beat in fast music."""
    return 1 if tempo < slow else span // 2 if tempo < fast else span


def _chords(means: MusicalMeans, beat: float, span: int, roots: list[int], rng: np.random.Generator) -> list[Note]:
    hits = _per_bar(means.tempo, span, 90, 125)
    notes = []
    for bar, root in enumerate(roots):
        voices = [pitch_of(means, root + step) for step in (0, 2, 4)]
        # Inversions keep the hand still: every voice stays within an octave above the tonic's fifth below.
        voices = [pitch - 12 if pitch > means.tonic + 11 else pitch for pitch in voices]
        rubs = rng.random() < means.tension
        for hit in range(hits):
            chord = partial(Note, part="chord", seconds=span / hits * beat * means.legato)
            start = (bar * span + hit * span / hits) * beat
            strum = 0.012 * (1.0 + means.legato)
            velocity = 0.5 if hit == 0 else 0.42
            notes += [
                chord(start=start + index * strum, pitch=pitch, velocity=velocity) for index, pitch in enumerate(voices)
            ]
            if rubs:
                notes.append(chord(start=start, pitch=voices[0] + 13, velocity=0.12 + 0.2 * means.tension))
    return notes


def _bass(means: MusicalMeans, beat: float, span: int, roots: list[int]) -> list[Note]:
    per_bar = 2 * span if means.tempo > 140 else _per_bar(means.tempo, span, 80, 110)
    length = span / per_bar
    return [
        Note(
            part="bass",
            start=(bar * span + index * length) * beat,
            seconds=length * beat * max(means.legato, 0.6),
            pitch=pitch_of(means, root, -1) - (12 if root > 4 else 0) + (12 if per_bar > span and index % 2 else 0),
            velocity=0.75 if index == 0 else 0.6,
        )
        for bar, root in enumerate(roots)
        for index in range(per_bar)
    ]


def _melody(means: MusicalMeans, beat: float, span: int, roots: list[int], rng: np.random.Generator) -> list[Note]:
    degree, notes = 7 + (0 if means.lift > 0 else 2), []
    owed = 0.0
    for index in range(len(roots) * span):
        root = roots[index // span]
        owed += means.density
        count = min(int(owed), 4)
        owed -= count
        for part in range(count):
            strong = part == 0 and index % 2 == 0
            lifted = int(rng.choice([-2, -1, -1, 1, 1, 2])), int(rng.random() < 0.3 * abs(means.lift))
            degree = _within(degree + lifted[0] + lifted[1] * int(np.sign(means.lift)), 5, 14)
            if strong:
                degree = _nearest_of_chord(root, degree)
            pitch = pitch_of(means, degree)
            if not strong and rng.random() < 0.35 * means.tension:
                pitch += 1
            gap = max(1.0 / max(count, 1), 1.0 / means.density if means.density < 1 else 0.0)
            notes.append(
                Note(
                    part="melody",
                    start=(index + part / count) * beat,
                    seconds=gap * beat * means.legato,
                    pitch=pitch,
                    velocity=0.85 if strong else 0.6 + 0.15 * float(rng.random()),
                )
            )
    return notes


def _nearest_of_chord(root: int, degree: int) -> int:
    tones = (root + step + 7 * octave for step in (0, 2, 4) for octave in (0, 1, 2))
    return min(tones, key=lambda tone: abs(tone - degree))


def _within(degree: int, low: int, high: int) -> int:
    return 2 * low - degree if degree < low else (2 * high - degree if degree > high else degree)


def _percussion(means: MusicalMeans, beat: float, beats: int) -> list[Note]:
    if means.percussion <= 0.05:
        return []
    notes, level = [], 0.25 + 0.5 * means.percussion
    for index in range(beats):
        if index % 2 == 0:
            notes.append(_hit("kick", index * beat, 0.25, level))
        elif means.percussion > 0.3:
            notes.append(_hit("snare", index * beat, 0.18, 0.6 * level))
        steps = 1 if means.percussion < 0.3 else (2 if means.percussion < 0.8 else 4)
        notes += [
            _hit("hat", (index + step / steps) * beat, 0.05, level * (0.35 if step == 0 else 0.22))
            for step in range(steps)
        ]
    return notes


def _hit(part: str, start: float, seconds: float, velocity: float) -> Note:
    return Note(part=part, start=start, seconds=seconds, pitch=0.0, velocity=velocity)
