"""``synth-music``: short clips that carry an intended valence and arousal, rendered with NumPy alone.

Four systems play the same kind of score on different instruments, and each conveys with its own planted
faithfulness (``MUSIC_SYSTEMS``). The clips are real sound for trying a study out, from the first crop to the
last figure, with a known answer to "which system conveys what".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from heartfelt.errors import InputError
from heartfelt.media.audio import Audio
from heartfelt.media.sound import Samples
from heartfelt.simulate.conveyed_emotion import ConveyanceProfile, conveyed, profile, system_of
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.stimuli.synthesis.score import MusicalMeans, Note, compose, plan
from heartfelt.stimuli.synthesis.voices import Tone, Voice, Wave, brass, chip, drum, plucked, room, soft_clip, warm
from heartfelt.streams import stream

NAME = "synth-music"


@dataclass(frozen=True, slots=True)
class MusicSystem:
    """One style of rendering: its instrument, its room, and how faithfully it conveys."""

    voice: Voice
    conveyance: ConveyanceProfile
    room: float


MUSIC_SYSTEMS: Mapping[str, MusicSystem] = MappingProxyType(
    {
        "Sinewood": MusicSystem(warm, profile(0.95, 0.0, 0.90, -0.2, 0.35), room=0.24),
        "Pluckbox": MusicSystem(plucked, profile(0.75, 0.9, 0.80, 0.0, 0.45), room=0.18),
        "Brassline": MusicSystem(brass, profile(0.40, 0.1, 0.95, 0.7, 0.45), room=0.16),
        "Chipling": MusicSystem(chip, profile(0.65, 0.3, 0.50, 1.2, 0.70), room=0.07),
    }
)
_BALANCE = {"melody": 1.0, "chord": 0.42, "bass": 0.75}


def score(
    valence: float, arousal: float, *, system: str, seconds: float = 8.0, seed: int = 0, name: str = ""
) -> tuple[MusicalMeans, list[Note]]:
    """The plan and the notes behind ``render_clip`` with the same arguments."""
    felt, awake = conveyed(NAME, MUSIC_SYSTEMS, valence, arousal, system=system, seed=seed, name=name)
    rng = stream(seed, "make", NAME, "score", system, name)
    means = plan(felt, awake, rng)
    return means, compose(means, seconds, rng)


def render_clip(
    valence: float,
    arousal: float,
    *,
    system: str,
    seconds: float = 8.0,
    rate: int = 22_050,
    seed: int = 0,
    name: str = "",
) -> Samples:
    """Render one clip meant to convey ``valence`` and ``arousal`` (1-9): mono samples, float32.

    ``name`` is the stimulus id; with ``seed`` it decides everything chance decides.
    """
    if not 0.5 <= seconds <= 600 or not 8_000 <= rate <= 96_000:
        raise InputError(f"Cannot render {seconds:g} s at {rate} Hz.", "Ask for 0.5 to 600 s at 8,000 to 96,000 Hz.")
    means, notes = score(valence, arousal, system=system, seconds=seconds, seed=seed, name=name)
    style = system_of(NAME, system, MUSIC_SYSTEMS)
    rng = stream(seed, "make", NAME, "sound", system, name)
    mix = np.zeros(round(seconds * rate) + rate)
    for note in notes:
        wave = _sound(note, means, style, rate, rng)
        start = int(note.start * rate)
        wave = wave[: mix.size - start]
        mix[start : start + wave.size] += wave
    mix = room(mix, rate, style.room * (0.6 + 0.6 * means.legato), rng)[: round(seconds * rate)]
    return _finish(mix, rate, means.level_db)


def _sound(note: Note, means: MusicalMeans, style: MusicSystem, rate: int, rng: np.random.Generator) -> Wave:
    if note.part not in _BALANCE:
        return drum(note.part, 0.55 * note.velocity, rate, rng)
    hertz = 440.0 * 2.0 ** ((note.pitch - 69) / 12)
    part_brightness = means.brightness * (0.7 if note.part == "chord" else 1.0)
    wave = style.voice(
        Tone(hertz=hertz, seconds=note.seconds, rate=rate, brightness=part_brightness, softness=means.legato), rng
    )
    return wave * (note.velocity * _BALANCE[note.part])


def _finish(mix: Wave, rate: int, level_db: float) -> Samples:
    mix -= mix.mean()
    mix *= 10.0 ** (level_db / 20.0) / max(float(np.sqrt(np.mean(mix * mix))), 1e-9)
    soft_clip(mix, 0.5, 0.45)
    rise, fall = int(0.005 * rate), min(int(0.35 * rate), mix.size // 4)
    mix[:rise] *= np.linspace(0.0, 1.0, rise)
    mix[mix.size - fall :] *= 0.5 + 0.5 * np.cos(np.pi * np.arange(1, fall + 1) / fall)
    return mix.astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthMusic:
    """The generator ``synth-music``: clips of ``seconds`` at ``rate``."""

    seconds: float = 8.0
    rate: int = 22_050
    kind: str = "audio"
    suffix: str = ".wav"
    systems: tuple[str, ...] = tuple(MUSIC_SYSTEMS)

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> Audio:
        """Render the clip that the prompt's coordinates ask for; its text is not read."""
        samples = render_clip(**prompt.rendering(seed), seconds=self.seconds, rate=self.rate)
        return Audio(samples, self.rate)
