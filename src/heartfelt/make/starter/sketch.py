"""What a starter puts into a study: its systems, its stimuli, and what is asked about which of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from heartfelt.errors import InputError
from heartfelt.make.generators import Generator
from heartfelt.make.prompts import Prompt
from heartfelt.registry import Registry

MUSIC_STYLES: Mapping[str, str] = {
    "Sinewood": "warm additive tones",
    "Pluckbox": "plucked strings",
    "Brassline": "filtered sawtooth",
    "Chipling": "chip pulse waves",
}
"""What the systems of the built-in music synthesiser sound like."""


@dataclass(frozen=True, slots=True)
class StarterOptions:
    """How a study is started: stimuli per cell, whether to render them, and the study's seed if not the recipe's."""

    per_cell: int = 1
    media: bool = True
    seed: int | None = None
    design: Mapping[str, int] = field(default_factory=dict)
    """Numbers of the recipe's design to change, such as ``ratings_per_item``."""

    def __post_init__(self) -> None:
        if self.per_cell < 1:
            raise InputError(
                f"A cell of {self.per_cell} stimuli is empty.", "Ask for at least one stimulus per cell."
            )


@dataclass(frozen=True, slots=True)
class Planned:
    """One stimulus: what its maker is asked for, and its row in the manifest, less the path."""

    ask: Prompt
    maker: Generator
    row: Mapping[str, str | None]

    @property
    def path(self) -> str:
        """Where its file goes, relative to the media folder."""
        return f"{self.ask.system}/{self.ask.stimulus}{self.maker.suffix}"


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a starter adds to a recipe.

    ``systems`` are ids with a word on each; ``blocks`` replace top-level blocks of the ``study.yaml``;
    ``anchors`` are the stimuli of the anchor probe. ``items`` are pairs of stimulus and question; None asks
    every question of every stimulus. ``notes`` tell the reader of the folder's README what the examples are.
    """

    systems: Mapping[str, str]
    stimuli: tuple[Planned, ...]
    notes: str
    items: tuple[tuple[str, str], ...] | None = None
    blocks: Mapping[str, str] = field(default_factory=dict)
    anchors: tuple[str, ...] = ()


Starter: TypeAlias = Callable[[int], Sketch]
"""Makes the sketch of a recipe with the given number of stimuli per cell."""
STARTERS: Registry[Starter] = Registry("recipe", homes=("heartfelt.datasets.*.starter",))
