"""AImoclips: valence and arousal of text-to-music clips."""

from __future__ import annotations

from importlib.resources import files

from heartfelt.datasets.dataset import DATASETS, Dataset, Figures, Formats, Recipes, Starters
from heartfelt.study.recipes import Recipe


class Aimoclips(Dataset):
    """Three CSV files and audio, the design, a small study after it, and the figures of the paper."""

    def formats(self) -> Formats:
        """``aimoclips``."""
        from heartfelt.datasets.aimoclips.reader import AimoclipsFormat

        return {"aimoclips": AimoclipsFormat()}

    def recipes(self) -> Recipes:
        """``aimoclips``."""
        about = "valence and arousal of text-to-music clips on two 9-point scales"
        return {"aimoclips": Recipe(about, files(__package__) / "recipe.yaml")}

    def starters(self) -> Starters:
        """Four music systems by twelve intents."""
        from heartfelt.datasets.aimoclips.starter import sketch

        return {"aimoclips": sketch}

    def figures(self) -> Figures:
        """Those of the paper."""
        from heartfelt.datasets.aimoclips.figures import AimoclipsFigures

        return {"aimoclips": AimoclipsFigures()}


DATASETS.add("aimoclips", Aimoclips())
