"""AIGIEmo: emotion of AI-generated images as people judge it, and fields a machine filled in first."""

from importlib.resources import files

from heartfelt.study.recipes import RECIPES, Recipe

ABOUT = "emotion, valence, arousal and many verified fields of AI-generated images"
RECIPES.add("aigiemo", Recipe(ABOUT, files(__package__) / "recipe.yaml"))
