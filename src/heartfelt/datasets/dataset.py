"""What a dataset may offer, and the registry that finds the datasets there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from heartfelt.registry import Registry

if TYPE_CHECKING:
    from heartfelt.analysis.published import PublishedFigures
    from heartfelt.formats.format import Format
    from heartfelt.make.starter import Starter
    from heartfelt.scoring.layouts import OutputLayout
    from heartfelt.screening.policy import Policy
    from heartfelt.study.recipes import Recipe

Formats: TypeAlias = "Mapping[str, Format]"
Recipes: TypeAlias = "Mapping[str, Recipe]"
Starters: TypeAlias = "Mapping[str, Starter]"
Policies: TypeAlias = "Mapping[str, Policy]"
Figures: TypeAlias = "Mapping[str, PublishedFigures]"
Layouts: TypeAlias = "Mapping[str, OutputLayout]"


class Dataset:
    """One dataset. A subclass overrides what it offers, by name; a kind is only loaded when it is asked for."""

    def formats(self) -> Formats:
        """Ways to read its files into a snapshot and to write them."""
        return {}

    def recipes(self) -> Recipes:
        """Its designs, each a ``study.yaml`` to start from."""
        return {}

    def starters(self) -> Starters:
        """Example stimuli for its recipes."""
        return {}

    def policies(self) -> Policies:
        """Its way of screening raters."""
        return {}

    def figures(self) -> Figures:
        """The figures its authors published, to compare recomputed ones with."""
        return {}

    def layouts(self) -> Layouts:
        """Its own output files, written with ``--as``."""
        return {}


DATASETS: Registry[Dataset] = Registry("dataset", homes=("heartfelt.datasets.*",))
