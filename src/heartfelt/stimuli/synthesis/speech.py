"""``synth-voice``: babbled speech that carries an intended valence and arousal, rendered with NumPy alone.

Three speakers babble the same kind of utterance with different voices, and each conveys with its own planted
faithfulness (``VOICE_SYSTEMS``). There are no words in it: a listener has only the voice to go by.
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
from heartfelt.stimuli.synthesis.utterance import MEANS, Delivery, Utterance, babble, delivery, shaped
from heartfelt.stimuli.synthesis.vocal_tract import Tract, sound_out
from heartfelt.stimuli.synthesis.voices import Wave, soft_clip
from heartfelt.streams import stream

NAME = "synth-voice"


@dataclass(frozen=True, slots=True)
class VoiceSystem:
    """One speaker: the vocal tract, and how faithfully it conveys."""

    tract: Tract
    conveyance: ConveyanceProfile


VOICE_SYSTEMS: Mapping[str, VoiceSystem] = MappingProxyType(
    {
        "Cellar": VoiceSystem(Tract(98.0, 1.00), profile(0.85, -0.3, 0.80, -0.3, 0.40)),
        "Parlour": VoiceSystem(Tract(165.0, 1.10), profile(0.70, 0.5, 0.95, 0.2, 0.40)),
        "Attic": VoiceSystem(Tract(230.0, 1.18), profile(0.50, 0.3, 0.65, 0.9, 0.55)),
    }
)


def utterance(
    valence: float,
    arousal: float,
    *,
    system: str,
    seconds: float = 4.0,
    seed: int = 0,
    name: str = "",
    means: Mapping[str, float] | None = None,
) -> tuple[Delivery, Utterance]:
    """The delivery and the sounds behind ``render_voice`` with the same arguments."""
    felt, awake = conveyed(NAME, VOICE_SYSTEMS, valence, arousal, system=system, seed=seed, name=name)
    how = shaped(delivery(felt, awake), means or {})
    return how, babble(how, seconds, stream(seed, "make", NAME, "utterance", system, name))


def render_voice(
    valence: float,
    arousal: float,
    *,
    system: str,
    seconds: float = 4.0,
    rate: int = 22_050,
    seed: int = 0,
    name: str = "",
    means: Mapping[str, float] | None = None,
) -> Samples:
    """Render one clip meant to convey ``valence`` and ``arousal`` (1-9): mono samples, float32.

    ``name`` is the stimulus id; with ``seed`` it decides everything chance decides. ``means`` ask for a
    tempo, phrasing, range or emphasis of their own, as shares from 0 to 1.
    """
    if not 1.0 <= seconds <= 600 or not 8_000 <= rate <= 96_000:
        raise InputError(f"Cannot speak for {seconds:g} s at {rate} Hz.", "Ask for 1 to 600 s at 8,000 to 96,000 Hz.")
    how, words = utterance(valence, arousal, system=system, seconds=seconds, seed=seed, name=name, means=means)
    rng = stream(seed, "make", NAME, "sound", system, name)
    wave = sound_out(words, how, system_of(NAME, system, VOICE_SYSTEMS).tract, rate, rng)
    return _finish(wave, round(seconds * rate), rate, how.level_db)


def _finish(wave: Wave, frames: int, rate: int, level_db: float) -> Samples:
    wave = np.pad(wave, (0, max(frames - wave.size, 0)))[:frames]
    wave -= wave.mean()
    # The level is that of the speech: a clip with long pauses is not a louder voice.
    loudest = np.sort(wave * wave)[wave.size // 2 :]
    wave *= 10.0 ** (level_db / 20.0) / max(float(np.sqrt(np.mean(loudest))), 1e-9)
    soft_clip(wave, 0.6, 0.35)
    edge = int(0.02 * rate)
    wave[:edge] *= np.linspace(0.0, 1.0, edge)
    wave[frames - edge :] *= np.linspace(1.0, 0.0, edge)
    return wave.astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthVoice:
    """The generator ``synth-voice``: clips of ``seconds`` at ``rate``."""

    seconds: float = 4.0
    rate: int = 22_050
    kind: str = "audio"
    suffix: str = ".wav"
    systems: tuple[str, ...] = tuple(VOICE_SYSTEMS)

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> Audio:
        """Speak as the prompt's coordinates ask; its text is not read.

        Besides valence and arousal, the coordinates may give tempo, phrasing, range and emphasis as shares.
        """
        means = {name: float(prompt.coordinates[name]) for name in MEANS if name in prompt.coordinates}
        samples = render_voice(**prompt.rendering(seed), seconds=self.seconds, rate=self.rate, means=means)
        return Audio(samples, self.rate)
