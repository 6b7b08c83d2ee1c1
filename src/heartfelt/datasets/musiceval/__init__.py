"""MusicEval: expert opinion scores of text-to-music."""

from importlib.resources import files

from heartfelt.study.recipes import RECIPES, Recipe

ABOUT = "expert opinion scores of text-to-music: impression and alignment, 1 to 5"
RECIPES.add("musiceval", Recipe(ABOUT, files(__package__) / "recipe.yaml"))
