"""AImoclips: valence and arousal of text-to-music clips."""

from importlib.resources import files

from heartfelt.study.recipes import RECIPES, Recipe

ABOUT = "valence and arousal of text-to-music clips on two 9-point scales"
RECIPES.add("aimoclips", Recipe(ABOUT, files(__package__) / "recipe.yaml"))
