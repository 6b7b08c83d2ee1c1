"""The built-in synthesisers as kinds of generators: ``synth-music``, ``synth-image`` and ``synth-voice``.

They exist so that a study can be tried out from the first prompt to the last figure with real media and a known answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from heartfelt.stimuli.generators.generator import GeneratorKind, GeneratorSettings, register
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, Generator, StimulusPrompt
from heartfelt.stimuli.synthesis import SynthImage, SynthMusic, SynthVoice


class SynthSettings(GeneratorSettings):
    """Settings of a built-in synthesiser."""

    style: Annotated[
        str | None,
        Field(
            description="the built-in system that renders, such as Sinewood; the system's own name if left out"
        ),
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


def _styled(maker: Generator, settings: SynthSettings) -> Generator:
    return maker if settings.style is None else _Styled(maker, settings.style)


def _music(settings: SynthSettings, device: str) -> Generator:
    del device
    return _styled(
        SynthMusic() if settings.seconds is None else SynthMusic(seconds=settings.seconds), settings
    )


def _voice(settings: SynthSettings, device: str) -> Generator:
    del device
    return _styled(
        SynthVoice() if settings.seconds is None else SynthVoice(seconds=settings.seconds), settings
    )


def _image(settings: SynthSettings, device: str) -> Generator:
    del device
    return _styled(SynthImage() if settings.size is None else SynthImage(settings.size), settings)


register(
    GeneratorKind(
        name="synth-music",
        about="short clips by a built-in synthesiser",
        settings=SynthSettings,
        build=_music,
        where="cpu",
        at_once=4,
    )
)
register(
    GeneratorKind(
        name="synth-voice",
        about="babbled speech by a built-in synthesiser",
        settings=SynthSettings,
        build=_voice,
        where="cpu",
    )
)
register(
    GeneratorKind(
        name="synth-image",
        about="abstract images drawn with Pillow",
        settings=SynthSettings,
        build=_image,
        where="cpu",
        at_once=4,
    )
)
