"""Recipes: published designs, each a study that is ready to run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable

from heartfelt.errors import UnknownNameError
from heartfelt.registry import Registry
from heartfelt.study.load import parse_study
from heartfelt.study.study import Study


@dataclass(frozen=True, slots=True)
class Recipe:
    """A published design: what it asks, in one line, and its ``study.yaml``."""

    about: str
    file: Traversable


RECIPES: Registry[Recipe] = Registry("recipe", homes=("heartfelt.datasets.*", "heartfelt.stimuli.methods"))


def recipe_text(name: str) -> str:
    return RECIPES[name].file.read_text(encoding="utf-8")


@cache
def recipe_study(name: str) -> Study:
    """The study of a recipe; studies are immutable, so it is parsed once."""
    return parse_study(recipe_text(name), f"recipe {name}")


def reference_recipe() -> str:
    """The name of the first recipe whose intents have reference coordinates."""
    for name in RECIPES.names():
        if any(intent.reference for intent in recipe_study(name).intents):
            return name
    raise UnknownNameError(
        "No recipe gives its intents reference coordinates.", "Name a study whose intents have them."
    )


def drafted_recipe() -> str | None:
    """The name of the first recipe in which a machine fills in questions first; None where there is none."""
    drafted = (name for name in RECIPES.names() if any(part.machine_first for part in recipe_study(name).asked))
    return next(drafted, None)
