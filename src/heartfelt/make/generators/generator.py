"""The protocol of a generator, and the registry of those that are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from heartfelt.errors import UnknownNameError, suggestion
from heartfelt.make.prompts import Prompt
from heartfelt.registry import Registry


class Media(Protocol):
    """What a generator makes: something of a ``kind`` ("audio", "image") that saves itself whole."""

    @property
    def kind(self) -> str:
        """What a rater does with it: "audio" or "image"."""

    def save(self, path: Path | str) -> Path:
        """Write it in the format the suffix names, and return the path."""


class Generator(Protocol):
    """Something that makes stimuli from prompts."""

    @property
    def kind(self) -> str:
        """The kind of media it makes."""

    @property
    def suffix(self) -> str:
        """The suffix its media are saved under unless told otherwise."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems it can render for; empty when any name will do."""

    def generate(self, prompt: Prompt, seed: int = 0) -> Media:
        """Make the stimulus; the same prompt and seed make the same one."""


S = TypeVar("S")


def system_of(generator: str, name: str, systems: Mapping[str, S]) -> S:
    """The system of that name, or an error that lists those the generator has."""
    if name not in systems:
        raise UnknownNameError(
            f"The generator '{generator}' has no system called '{name}'.", suggestion(name, systems, "It has")
        )
    return systems[name]


GENERATORS: Registry[Generator] = Registry("generator")
