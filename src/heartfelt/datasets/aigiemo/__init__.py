"""AIGIEmo: emotion of AI-generated images as people judge it, and fields a machine filled in first."""

from __future__ import annotations

from importlib.resources import files

from heartfelt.datasets.dataset import DATASETS, Dataset, Formats, Recipes, Starters
from heartfelt.study.recipes import Recipe


class Aigiemo(Dataset):
    """Records in JSON Lines or CSV, the design, and a small study after it."""

    def formats(self) -> Formats:
        """``aigiemo``."""
        from heartfelt.datasets.aigiemo.reader import AigiemoFormat

        return {"aigiemo": AigiemoFormat()}

    def recipes(self) -> Recipes:
        """``aigiemo``."""
        about = "emotion, valence, arousal and many verified fields of AI-generated images"
        return {"aigiemo": Recipe(about, files(__package__) / "recipe.yaml")}

    def starters(self) -> Starters:
        """Four image systems by eight emotions."""
        from heartfelt.datasets.aigiemo.starter import sketch

        return {"aigiemo": sketch}


DATASETS.add("aigiemo", Aigiemo())
