"""The generator ``python``: a class or function of your own that makes stimuli, named by its place.

``call: my_model:Maker`` is imported and called with ``settings``, and with ``device`` where it has such a parameter. What it
returns has a method ``generate(prompt, seed)``, or ``generate_many(prompts, seeds)`` for batches.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from heartfelt.predictors.interface.function import imported
from heartfelt.stimuli.generators.generator import (
    CannotGenerate,
    GeneratorFacts,
    GeneratorKind,
    GeneratorSettings,
    register,
)
from heartfelt.stimuli.prompts.prompt import GeneratedMedium, StimulusPrompt


class PythonSettings(GeneratorSettings):
    """The class or function, what it is called with, and what is recorded about it."""

    call: Annotated[str, Field(description="module:name, such as my_model:Maker")]
    settings: Annotated[dict[str, Any], Field(default_factory=dict, description="passed as keywords")]
    batch: Annotated[int, Field(ge=1, le=4096, description="stimuli at once")] = 1
    model: Annotated[str | None, Field(description="the model's name, for the provenance")] = None
    revision: Annotated[str | None, Field(description="of the model, for the provenance")] = None
    licence: Annotated[str | None, Field(description="the terms of use, for the provenance")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonGenerator:
    """What the user's class or function made, as a batch generator."""

    maker: Any
    settings: PythonSettings
    kind: str
    suffix: str
    systems: tuple[str, ...] = ()

    @property
    def batch(self) -> int:
        return self.settings.batch

    @property
    def makes_batches(self) -> bool:
        return hasattr(self.maker, "generate_many")

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> GeneratedMedium:
        return self.generate_many([prompt], [seed])[0]

    def generate_many(self, prompts: Sequence[StimulusPrompt], seeds: Sequence[int]) -> Sequence[GeneratedMedium]:
        many = getattr(self.maker, "generate_many", None)
        if many is not None:
            return list(many(prompts, seeds))
        return [self.maker.generate(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def facts(self) -> GeneratorFacts:
        facts = self.maker.facts() if hasattr(self.maker, "facts") else GeneratorFacts()
        settings = self.settings
        return replace(
            facts,
            model=settings.model or facts.model or settings.call,
            revision=settings.revision or facts.revision,
            licence=settings.licence or facts.licence,
        )

    def close(self) -> None:
        if hasattr(self.maker, "close"):
            self.maker.close()


def _check(settings: PythonSettings) -> None:
    imported(settings.call)


def _build(settings: PythonSettings, device: str) -> PythonGenerator:
    function = imported(settings.call)
    arguments = dict(settings.settings)
    with suppress(ValueError):  # some classes written in C do not say what they take
        if "device" in inspect.signature(function).parameters:
            arguments["device"] = device
    try:
        maker = function(**arguments)
    except TypeError as error:
        raise CannotGenerate(
            f"{settings.call} cannot be called with these settings: {error}.", "Correct 'settings' in make.yaml."
        ) from error
    if not callable(getattr(maker, "generate", None)) and not callable(getattr(maker, "generate_many", None)):
        raise CannotGenerate(
            f"What {settings.call} returns has no method 'generate'.",
            "Give it generate(prompt, seed), which returns media that can save(path).",
        )
    kind = str(getattr(maker, "kind", "audio"))
    suffix = str(getattr(maker, "suffix", ".png" if kind == "image" else ".wav"))
    return PythonGenerator(maker=maker, settings=settings, kind=kind, suffix=suffix)


register(
    GeneratorKind(
        name="python",
        about="a class or function of your own",
        settings=PythonSettings,
        build=_build,
        where="device",
        check=_check,
    )
)
