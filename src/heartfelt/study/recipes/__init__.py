"""Recipes: published designs, each a study that is ready to run."""

from __future__ import annotations

from importlib.resources import files

from heartfelt.errors import UnknownNameError, suggestion
from heartfelt.study.load import parse_study
from heartfelt.study.study import Study

RECIPES: dict[str, str] = {
    "aimoclips": "valence and arousal of text-to-music clips on two 9-point scales",
    "musiceval": "expert opinion scores of text-to-music: impression and alignment, 1 to 5",
    "emolia-emo": "is a queried emotion present in speech: not, weakly, strongly",
    "emolia-dim": "does speech match a written level of a perceptual dimension: yes or no",
    "aigiemo": "emotion, valence, arousal and many verified fields of AI-generated images",
}


def recipe_text(name: str) -> str:
    """The ``study.yaml`` of a recipe."""
    if name not in RECIPES:
        raise UnknownNameError(f"There is no recipe called '{name}'.", suggestion(name, RECIPES, "Recipes"))
    return files("heartfelt.study.recipes").joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def recipe_study(name: str) -> Study:
    """The study of a recipe, checked."""
    return parse_study(recipe_text(name), f"recipe {name}")
