"""EmoLia: emotions (``emolia-emo``) and perceptual dimensions (``emolia-dim``) of speech, and emolia-bench's files."""

from __future__ import annotations

from importlib.resources import files

from heartfelt.datasets.dataset import DATASETS, Dataset, Formats, Layouts, Recipes, Starters
from heartfelt.study.recipes import Recipe


class Emolia(Dataset):
    """The annotations of the two subsets, their designs, small studies after them, and emolia-bench's outputs."""

    def formats(self) -> Formats:
        """``emolia-emo`` and ``emolia-dim``."""
        from heartfelt.datasets.emolia.formats import EmoliaDim, EmoliaEmo

        return {"emolia-emo": EmoliaEmo(), "emolia-dim": EmoliaDim()}

    def recipes(self) -> Recipes:
        """``emolia-emo`` and ``emolia-dim``."""
        folder = files(__package__)
        return {
            "emolia-emo": Recipe(
                "is a queried emotion present in speech: not, weakly, strongly", folder / "emo.yaml"
            ),
            "emolia-dim": Recipe(
                "does speech match a written level of a perceptual dimension: yes or no", folder / "dim.yaml"
            ),
        }

    def starters(self) -> Starters:
        """Three voices by eight emotions, or by four dimensions at three levels."""
        from heartfelt.datasets.emolia.starter import sketch_dim, sketch_emo

        return {"emolia-emo": sketch_emo, "emolia-dim": sketch_dim}

    def layouts(self) -> Layouts:
        """emolia-bench's own files."""
        from heartfelt.datasets.emolia.layout import EmoliaLayout

        return {"emolia": EmoliaLayout()}


DATASETS.add("emolia", Emolia())
