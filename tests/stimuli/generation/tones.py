"""A quick generator for tests that misbehaves as it is told to, and a small study to make."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml

from heartfelt.media.audio import Audio
from heartfelt.stimuli import (
    CannotGenerate,
    GeneratorFacts,
    GeneratorKind,
    GeneratorOutOfMemory,
    GeneratorSettings,
    Licence,
)
from heartfelt.stimuli.generators.results import FileMedia
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt
from heartfelt.streams import stream

RATE = 8_000
STUDY: dict[str, Any] = {
    "name": "tiny",
    "seed": 3,
    "systems": [{"id": "A"}, {"id": "B"}],
    "intents": [
        {"id": "calm", "reference": {"valence": 6.0, "arousal": 2.0}},
        {"id": "angry", "reference": {"valence": 2.0, "arousal": 8.0}},
    ],
    "scales": {"nine": {"type": "points", "points": 9}},
    "questions": [{"id": "valence", "text": "V", "scale": "nine"}],
}
CALLS: Counter[str] = Counter()
"""How often each stimulus was asked for in this process."""


class ToneSettings(GeneratorSettings):
    """``fits`` is the largest batch; ``trouble`` what goes wrong with which stimulus, ``times`` how often."""

    operational: ClassVar[frozenset[str]] = GeneratorSettings.operational | {"fits", "trouble", "times"}

    batch: int = 4
    fits: int = 99
    trouble: Mapping[str, str] = {}
    times: int = 99
    brightness: float = 0.5
    model: str = ""


@dataclass
class Tones:
    settings: ToneSettings
    device: str
    kind: str = "audio"
    suffix: str = ".wav"
    systems: tuple[str, ...] = ()
    batches: list[int] = field(default_factory=list)

    @property
    def batch(self) -> int:
        return self.settings.batch

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> GeneratedMedium:
        return self.generate_many([prompt], [seed])[0]

    def generate_many(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        if len(prompts) > self.settings.fits:
            raise GeneratorOutOfMemory(f"{len(prompts)} clips do not fit")
        CALLS.update(prompt.stimulus for prompt in prompts)
        return [self._clip(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def _clip(self, prompt: StimulusPrompt, seed: int) -> GeneratedMedium:
        trouble = self.settings.trouble.get(prompt.stimulus) or self.settings.trouble.get("*")
        if trouble is None or CALLS[prompt.stimulus] > self.settings.times:
            return Audio(tone(seed, self.settings.brightness), RATE)
        if trouble == "die":
            os._exit(9)
        if trouble == "raise":
            raise RuntimeError("the =model= broke\nhere")
        if trouble == "stop":
            raise CannotGenerate("The weights are damaged.", "Fetch them again.")
        if trouble == "unreadable":
            return FileMedia(b"RIFF but nothing else", "audio", ".wav")
        if trouble == "picture":
            return FileMedia(b"\x89PNG", "image", ".png")
        samples = tone(1 if trouble == "same" else seed, self.settings.brightness)
        if trouble == "nan":
            samples[5] = np.nan
        return Audio(samples[:1000] if trouble == "short" else samples * (trouble != "silent"), RATE)

    def facts(self) -> GeneratorFacts:
        return GeneratorFacts(
            model="tones", revision="v1", settings={"rate": RATE}, hardware=self.device, weights_hash="abc"
        )

    def close(self) -> None:
        pass


def tone(seed: int, brightness: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Noise whose bands come and go, 0.6 s long."""
    rng = stream(seed, "tone")
    steps = np.repeat(rng.random(24), RATE * 6 // 10 // 24).astype(np.float32)
    samples: np.ndarray[Any, np.dtype[np.float32]] = rng.normal(0, 0.1, steps.size).astype(np.float32) * steps
    return samples * np.float32(0.5 + brightness)


def licence(settings: ToneSettings) -> Licence | None:
    return Licence("CC BY-NC 4.0", "https://example.org/licence", commercial=False) if settings.model else None


KIND = GeneratorKind(name="tones", about="noise", settings=ToneSettings, build=Tones, licence=licence, where="cpu")


def study_in(folder: Path, make: dict[str, Any], **study: Any) -> Path:
    """Write a small study with its ``make.yaml``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.yaml").write_text(yaml.safe_dump({**STUDY, **study}))
    (folder / "make.yaml").write_text(yaml.safe_dump(make))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Every media file with its content."""
    root = folder / "media"
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.*")) if path.is_file()
    }
