"""``snapshot.analyze()`` and the like: the functions of ``heartfelt.api`` as methods.

This is the only module that imports a package above its own, and only when a method is called: a snapshot is what people
hold in a notebook, and Tab should show what can be done with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from heartfelt.analysis import Analysis
    from heartfelt.labels import Labels
    from heartfelt.predictors.spec import PredictorLike
    from heartfelt.publishing.publish import PublishedStudy
    from heartfelt.scoring.bench import Bench
    from heartfelt.scoring.bench.run import Models
    from heartfelt.scoring.set_distances.systems import SystemDistances
    from heartfelt.screening import Panel
    from heartfelt.training import Trained


class Shortcuts:
    """What ``heartfelt`` offers for a snapshot, as methods with the same options."""

    def screen(self, policy: str = "default", **options: Any) -> Panel:
        """``heartfelt.screen`` of this snapshot."""
        from heartfelt.api import screen

        return screen(self, policy, **options)

    def label(self, **options: Any) -> Labels:
        """``heartfelt.label`` of this snapshot."""
        from heartfelt.api import label

        return label(self, **options)

    def analyze(self, **options: Any) -> Analysis:
        """``heartfelt.analyze`` of this snapshot."""
        from heartfelt.api import analyze

        return analyze(self, **options)

    def bench(self, models: Models, **options: Any) -> Bench:
        """``heartfelt.bench`` of this snapshot."""
        from heartfelt.api import bench

        return bench(self, models, **options)

    def distances(self, embedding: str, **options: Any) -> SystemDistances:
        """``heartfelt.distances`` of this snapshot's systems."""
        from heartfelt.scoring.set_distances.distance_function import distances

        return distances(self, embedding, **options)

    def predict(self, model: PredictorLike, **options: Any) -> pl.DataFrame:
        """``heartfelt.predict`` of this snapshot's items."""
        from heartfelt.api import predict

        return predict(self, model, **options)

    def train(self, recipe: str = "va-audio", **options: Any) -> Trained:
        """``heartfelt.train`` on this snapshot."""
        from heartfelt.api import train

        return train(self, recipe, **options)

    def publish(self, out: Path | str, **options: Any) -> PublishedStudy:
        """``heartfelt.publish`` of this snapshot."""
        from heartfelt.api import publish

        return publish(self, out, **options)
