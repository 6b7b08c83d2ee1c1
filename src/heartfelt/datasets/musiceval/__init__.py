"""MusicEval: expert opinion scores of text-to-music."""

from __future__ import annotations

from importlib.resources import files

from heartfelt.datasets.dataset import DATASETS, Dataset, Formats, Layouts, Policies, Recipes, Starters
from heartfelt.study.recipes import Recipe


class MusicEval(Dataset):
    """The release's lists, the design, a small study after it, its rule for raters, and its table of scores."""

    def formats(self) -> Formats:
        """``musiceval``."""
        from heartfelt.datasets.musiceval.reader import MusicEvalFormat

        return {"musiceval": MusicEvalFormat()}

    def recipes(self) -> Recipes:
        """``musiceval``."""
        about = "expert opinion scores of text-to-music: impression and alignment, 1 to 5"
        return {"musiceval": Recipe(about, files(__package__) / "recipe.yaml")}

    def starters(self) -> Starters:
        """Six prompts by four music systems, and two anchors."""
        from heartfelt.datasets.musiceval.starter import sketch

        return {"musiceval": sketch}

    def policies(self) -> Policies:
        """Batches that miss an anchor or a repeat are left out."""
        from heartfelt.screening.policy import Policy, actions_of

        about = "leave out batches (or raters, where there are no batches) that miss an anchor or a repeat"
        return {"musiceval": Policy("musiceval", about, actions_of(["anchor", "repeat-difference"]))}

    def layouts(self) -> Layouts:
        """Error and correlations by clip and by system."""
        from heartfelt.datasets.musiceval.layout import MusicEvalLayout

        return {"musiceval": MusicEvalLayout()}


DATASETS.add("musiceval", MusicEval())
