"""The built-in synthesisers as kinds of generators: ``synth-music``, ``synth-image`` and ``synth-voice``.

They exist so that a study can be tried out from the first prompt to the last figure with real media and a known answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from heartfelt.stimuli.generators.generator import GeneratorKind, GeneratorSettings, register
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, Generator, StimulusPrompt
from heartfelt.stimuli.synthesis import SynthImage, SynthMusic, SynthVoice


class SynthSettings(GeneratorSettings):
    """Settings of a built-in synthesiser."""

    style: Annotated[
        str | None,
        Field(description="the built-in system that renders, such as Sinewood; the system's own name if left out"),
    ] = None


@dataclass(frozen=True, slots=True)
class _Styled:
    """A synthesiser whose stimuli carry another system's name."""

    maker: Generator
    style: str

    @property
    def kind(self) -> str:
        return self.maker.kind

    @property
    def suffix(self) -> str:
        return self.maker.suffix

    @property
    def systems(self) -> tuple[str, ...]:
        return ()

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> GeneratedMedium:
        return self.maker.generate(replace(prompt, system=self.style), seed)


def _build(kind: type[Any], name: str, settings: SynthSettings, device: str) -> Generator:
    """The synthesiser, with ``name`` (seconds or size) as the settings have it, or its own."""
    del device
    value = getattr(settings, name)
    maker: Generator = kind() if value is None else kind(**{name: value})
    return maker if settings.style is None else _Styled(maker, settings.style)


for _name, _about, _kind, _setting, _at_once in (
    ("synth-music", "short clips by a built-in synthesiser", SynthMusic, "seconds", 4),
    ("synth-voice", "babbled speech by a built-in synthesiser", SynthVoice, "seconds", 1),
    ("synth-image", "abstract images drawn with Pillow", SynthImage, "size", 4),
):
    register(
        GeneratorKind(
            name=_name,
            about=_about,
            settings=SynthSettings,
            build=partial(_build, _kind, _setting),
            where="cpu",
            at_once=_at_once,
        )
    )
