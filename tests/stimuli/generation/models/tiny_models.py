"""Tiny models of the real classes with random weights, saved as their libraries save them, and the generators around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import _pipelines as tiny

from heartfelt.media.audio import Audio
from heartfelt.stimuli import GENERATORS
from heartfelt.stimuli.generators.generator import BatchGenerator
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt

TEXTS = ("happy", "sad, instrumental", "dog")
STEPS = {"settings": {"steps": 2}}


@dataclass(frozen=True)
class Case:
    """A tiny model, the generator it is for, and what comes out."""

    generator: str
    write: Callable[[Path], object]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    """Of the samples or pixels; empty where the length depends on the text."""
    rate: int = 0


def _musicgen(**options: Any) -> Case:
    channels = options.get("channels", 1)
    write = partial(tiny.write_musicgen, tiny=True, **options)
    return Case("musicgen", write, {"seconds": 0.2}, (320, channels), 1_600)


CASES = {
    "musicgen": _musicgen(),
    "stereo": _musicgen(channels=2),
    "melody": _musicgen(melody=True),
    "vits": Case("text-to-speech", partial(tiny.write_vits, tiny=True), {}, (), 8_000),
    "speecht5": Case(
        "text-to-speech", tiny.write_speecht5, {"settings": {"voice": "voice.npy", "vocoder": "vocoder"}}, (), 16_000
    ),
    "bark": Case("text-to-speech", tiny.write_bark, {}, (), 24_000),
    "audioldm2": Case(
        "audioldm2", partial(tiny.write_audioldm2, tiny=True), {"seconds": 0.3, **STEPS}, (4_800, 1), 16_000
    ),
    "stable-audio": Case(
        "stable-audio", partial(tiny.write_stable_audio, tiny=True), {"seconds": 0.5, **STEPS}, (200, 2), 400
    ),
    "sd": Case(
        "text-to-image",
        partial(tiny.write_stable_diffusion, tiny=True),
        {"size": 32, "settings": {"steps": 2, "negative_prompt": "ugly"}},
        (32, 32, 3),
    ),
    "sdxl": Case(
        "text-to-image",
        partial(tiny.write_stable_diffusion_xl, tiny=True),
        {"settings": {"steps": 2, "width": 32, "height": 16}},
        (16, 32, 3),
    ),
}


def written(home: Path, name: str) -> Path:
    """The folder of a tiny model, written on first use."""
    if not (home / name).exists():
        CASES[name].write(home / name)
    return home / name


def build(home: Path, name: str, **changes: Any) -> BatchGenerator:
    """The generator around a tiny model, built as ``make.yaml`` would have it built."""
    case = CASES[name]
    written(home, name)
    kind = GENERATORS[case.generator]
    given = {"generator": case.generator, "model": name, **case.settings, **changes}
    made = kind.build(kind.settings.model_validate(given, context={"folder": home}), "cpu")
    assert isinstance(made, BatchGenerator)
    return made


def prompts() -> list[StimulusPrompt]:
    return [
        StimulusPrompt(stimulus=f"S_{place}", system="S", intent="joy", text=text) for place, text in enumerate(TEXTS)
    ]


def numbers(media: GeneratedMedium) -> np.ndarray[Any, Any]:
    """The samples, or the pixels from 0 to 1."""
    if isinstance(media, Audio):
        return media.samples
    return np.asarray(media.image, dtype=np.float64) / 255  # type: ignore[attr-defined]  # a picture
