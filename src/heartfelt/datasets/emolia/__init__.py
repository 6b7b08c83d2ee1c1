"""EmoLia: emotions (``emolia-emo``) and perceptual dimensions (``emolia-dim``) of speech, and emolia-bench's files."""

from importlib.resources import files

from heartfelt.study.recipes import RECIPES, Recipe

EMO = "is a queried emotion present in speech: not, weakly, strongly"
DIM = "does speech match a written level of a perceptual dimension: yes or no"
RECIPES.add("emolia-emo", Recipe(EMO, files(__package__) / "emo.yaml"))
RECIPES.add("emolia-dim", Recipe(DIM, files(__package__) / "dim.yaml"))
