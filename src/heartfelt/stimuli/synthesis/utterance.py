"""From a feeling to a babbled utterance: which syllables, how fast, how high, how loud, with which voice.

Valence and arousal on 1-9 set the vocal means that listeners are known to read them from. Arousal: pitch
level and range, speech rate, loudness, a bright source, short pauses. Valence: where phrases turn at their
end, roughness, and the shorter vocal tract of a smile. The words are babble, so only the voice can tell.

Source: Juslin & Laukka 2003 and Scherer 2003 (vocal expression of emotion); Tartter 1980 (smiles are heard);
Peterson & Barney 1952 (formants of the vowels, men's means).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from heartfelt.errors import InputError, suggestion

Formants = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A stretch of speech: the strengths of voice and noise, the noise's band, and the formants (hertz)."""

    seconds: float
    voice: float
    formants: Formants
    noise: float = 0.0
    centre: float = 3000.0
    width: float = 1500.0


def _stretch(row: Mapping[str, Any]) -> Sound:
    first, second, third = row["formants"]
    return Sound(**{**row, "formants": (first, second, third)})


_TABLES = tomllib.loads(files(__package__).joinpath("speech_sounds.toml").read_text("utf-8"))
VOWELS: dict[str, Formants] = {name: tuple(formants) for name, formants in _TABLES["vowels"].items()}
CONSONANTS: dict[str, tuple[Sound, ...]] = {
    name: tuple(map(_stretch, rows)) for name, rows in _TABLES["consonants"].items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The vocal means that carry one feeling.

    ``rate`` is in syllables a second, ``phrase`` in syllables, ``pause`` in seconds, ``pitch`` and ``range``
    in semitones, ``smile`` a factor on the formants; ``lift`` runs from -1 to 1, the rest from 0 to 1.
    """

    rate: float
    phrase: float
    pause: float
    pitch: float
    range: float
    level_db: float
    tension: float
    breath: float
    roughness: float
    smile: float
    lift: float
    emphasis: float


@dataclass(frozen=True, slots=True)
class Utterance:
    """Sounds one after another, and the pitch contour as points (seconds, semitones)."""

    sounds: list[Sound]
    contour: list[tuple[float, float]]

    @property
    def syllables(self) -> int:
        """How many syllables there are: each has its point in the contour."""
        return len(self.contour)


def delivery(valence: float, arousal: float) -> Delivery:
    high, awake = (min(max(x, 1.0), 9.0) / 8.0 - 0.125 for x in (valence, arousal))
    return Delivery(
        rate=2.4 + 3.6 * awake,
        phrase=4.0 + 5.0 * awake,
        pause=0.55 - 0.37 * awake,
        pitch=9.0 * (awake - 0.5) + 2.0 * (high - 0.5),
        range=1.2 + 5.5 * awake + 1.3 * high,
        level_db=-29.0 + 12.0 * awake,
        tension=0.10 + 0.70 * awake + 0.15 * (1.0 - high),
        breath=0.04 + 0.40 * (1.0 - awake) ** 1.5,
        roughness=0.05 + 0.75 * (1.0 - high) * (0.3 + 0.7 * awake),
        smile=1.0 + 0.10 * (high - 0.5),
        lift=2.0 * high - 1.0,
        emphasis=0.25 + 0.4 * awake,
    )


_MEANS = {
    "tempo": lambda share: {"rate": 1.3 + 6.2 * share, "pause": 0.9 * (1.0 - share) ** 2 + 0.08},
    "phrasing": lambda share: {"phrase": 1.0 + 30.0 * share**2, "pause": 0.75 - 0.67 * share},
    "range": lambda share: {"range": 14.0 * share},
    "emphasis": lambda share: {"emphasis": share},
}
MEANS = tuple(_MEANS)
"""Means that can be asked for by name, as a share from 0 to 1 of what the voice can do."""


def shaped(means: Delivery, shares: Mapping[str, float]) -> Delivery:
    """The delivery with some of :data:`MEANS` as asked for instead of as the feeling would have them."""
    for name, share in shares.items():
        if name not in _MEANS:
            raise InputError(f"The voice has no means called '{name}'.", suggestion(name, _MEANS, "It has"))
        if not 0.0 <= share <= 1.0:
            raise InputError(f"A {name} of {share:g} is out of reach.", "Give a share from 0 to 1.")
        means = replace(means, **_MEANS[name](share))
    return means


def babble(means: Delivery, seconds: float, rng: np.random.Generator) -> Utterance:
    """Babble for ``seconds``: phrases of syllables with pauses between them, silence before and after."""
    sounds = [Sound(seconds=0.06, voice=0.0, formants=VOWELS["uh"])]
    contour: list[tuple[float, float]] = []
    time = 0.06
    while True:
        space = (seconds - 0.08 - time) * means.rate
        spans = _spans(means, round(means.phrase * float(rng.uniform(0.75, 1.25))), space)
        if not spans and not contour:
            spans = [space]
        for index, span in enumerate(spans):
            loud = (6.0 if index % 3 == 0 else -5.0) * means.emphasis
            syllable = _syllable(span / means.rate, 10.0 ** (loud / 20.0), rng)
            sounds += syllable
            length = sum(sound.seconds for sound in syllable)
            contour.append((time + length / 2.0, means.range * _height(means, index, len(spans), rng)))
            time += length
        pause = min(means.pause * float(rng.uniform(0.7, 1.3)), seconds - time) if spans else seconds - time
        sounds.append(Sound(seconds=pause, voice=0.0, formants=sounds[-1].formants))
        time += pause
        if not spans:
            return Utterance(sounds, contour)


def _spans(means: Delivery, length: int, space: float) -> list[float]:
    """How long a phrase's syllables are, in ordinary syllables; no more of them than there is room for."""
    for count in range(max(length, 1), 0, -1):
        spans = [1.0 + 0.45 * means.emphasis * (1.0 if index % 3 == 0 else -0.35) for index in range(count)]
        spans[-1] *= 1.25
        if sum(spans) <= space:
            return spans
    return []


def _height(means: Delivery, index: int, length: int, rng: np.random.Generator) -> float:
    """How high a syllable lies, in shares of the range: falling along the phrase, up where it is stressed."""
    fall = 0.25 - 0.5 * index / max(length - 1, 1)
    turn = 0.55 * means.lift if index == length - 1 and length > 1 else 0.0
    return fall + (0.45 if index % 3 == 0 else -0.15) + turn + float(rng.normal(0.0, 0.12))


def _syllable(seconds: float, weight: float, rng: np.random.Generator) -> list[Sound]:
    onset = CONSONANTS[str(rng.choice(list(CONSONANTS)))]
    vowel = VOWELS[str(rng.choice(list(VOWELS)))]
    # However slow the speech, consonants stay short: it is the vowels that are drawn out.
    shrink = min(1.0, 0.45 * seconds / sum(sound.seconds for sound in onset))
    consonants = [
        replace(sound, seconds=shrink * sound.seconds, voice=weight * sound.voice, noise=weight * sound.noise)
        for sound in onset
    ]
    remaining = seconds - sum(sound.seconds for sound in consonants)
    if rng.random() < 0.2 and remaining > 0.12:
        return [
            *consonants,
            Sound(seconds=remaining - 0.05, voice=weight, formants=vowel),
            Sound(seconds=0.05, voice=0.35 * weight, formants=(250, 1500, 2500)),
        ]
    return [*consonants, Sound(seconds=remaining, voice=weight, formants=vowel)]
