"""Two tunes by people, played by the synthesiser: stand-ins for the real recordings that an anchor probe needs.

Both are old enough to be free of rights: the minuet in G from the notebook for Anna Magdalena Bach, by
Christian Petzold, and the theme of the last movement of Beethoven's ninth symphony.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import UnknownNameError, suggestion
from heartfelt.media.audio import Audio
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.stimuli.synthesis.voices import Tone, Voice, Wave, plucked, room, warm
from heartfelt.streams import stream

_STEPS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune:
    """A tune: beats a minute, then its voices as notes like ``F#5:0.5`` (pitch, beats)."""

    tempo: float
    melody: str
    bass: str
    lead: Voice
    accompaniment: Voice


TUNES: Mapping[str, Tune] = {
    "real_1": Tune(
        tempo=134.0,
        melody=("D5:1 G4:.5 A4:.5 B4:.5 C5:.5 D5:1 G4:1 G4:1 E5:1 C5:.5 D5:.5 E5:.5 F#5:.5 G5:1 G4:1 G4:1"),
        bass="G3:2 A3:1 B3:3 C4:3 B3:3",
        lead=plucked,
        accompaniment=plucked,
    ),
    "real_2": Tune(
        tempo=172.0,
        melody="E4:1 E4:1 F4:1 G4:1 G4:1 F4:1 E4:1 D4:1 C4:1 C4:1 D4:1 E4:1 E4:1.5 D4:.5 D4:2",
        bass="C3:4 G2:2 B2:2 A2:2 C3:2 G2:4",
        lead=warm,
        accompaniment=warm,
    ),
}


@dataclass(frozen=True, slots=True)
class TunePlayer:
    """Plays the tune a prompt's stimulus is called after."""

    seconds: float = 6.0
    rate: int = 22_050
    systems: tuple[str, ...] = ("real",)

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> Audio:
        if prompt.stimulus not in TUNES:
            raise UnknownNameError(
                f"No tune is called '{prompt.stimulus}'.", suggestion(prompt.stimulus, TUNES, "Tunes")
            )
        tune = TUNES[prompt.stimulus]
        rng = stream(seed, "make", "tunes", prompt.stimulus)
        frames = round(self.seconds * self.rate)
        mix = np.zeros(frames + self.rate)
        for notes, voice, loud in ((tune.melody, tune.lead, 1.0), (tune.bass, tune.accompaniment, 0.6)):
            self._play(mix, notes, voice, loud, 60.0 / tune.tempo, rng)
        mix = room(mix, self.rate, 0.22, rng)[:frames]
        mix -= mix.mean()
        mix *= min(0.1 / float(np.sqrt(np.mean(mix * mix))), 0.9 / float(np.abs(mix).max()))
        fall = int(0.3 * self.rate)
        mix[frames - fall :] *= 0.5 + 0.5 * np.cos(np.pi * np.arange(1, fall + 1) / fall)
        return Audio(mix.astype(np.float32), self.rate)

    def _play(self, mix: Wave, notes: str, voice: Voice, loud: float, beat: float, rng: np.random.Generator) -> None:
        time = 0.05
        for word in notes.split():
            pitch, beats = word.split(":")
            length = float(beats) * beat
            wave = voice(
                Tone(hertz=_hertz(pitch), seconds=0.95 * length, rate=self.rate, brightness=0.55, softness=0.7), rng
            )
            start = int((time + float(rng.uniform(0.0, 0.012))) * self.rate)
            wave = wave[: max(mix.size - start, 0)] * (loud * float(rng.uniform(0.85, 1.0)))
            mix[start : start + wave.size] += wave
            time += length


def _hertz(pitch: str) -> float:
    step = _STEPS[pitch[0]] + pitch.count("#") + 12 * (int(pitch[-1]) + 1)
    return float(440.0 * 2.0 ** ((step - 69) / 12.0))
