"""Output files in the layout of a published system, written with ``--as NAME`` next to heartfelt's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from heartfelt.errors import InputError
from heartfelt.registry import Registry

if TYPE_CHECKING:
    import polars as pl

    from heartfelt.labels import Benchmark
    from heartfelt.scoring import ScoreOptions, Scores
    from heartfelt.snapshot import Snapshot


class OutputLayout:
    """A published system's files. A layout overrides what it has files for."""

    name: ClassVar[str]
    formats: ClassVar[tuple[str, ...]] = ()
    """Formats that one source may hold at once; where it does and no format is named, all of them are read."""

    def write_analysis(self, snapshots: Sequence[Snapshot], folder: Path) -> None:
        """Write the files of an analysis into ``folder``, which is there and empty."""
        del snapshots, folder
        raise InputError(f"The layout '{self.name}' has no files for an analysis.", "Use it with 'heartfelt bench'.")

    def check(self, source: Snapshot | Benchmark) -> None:
        """Refuse a study whose scores the layout cannot hold, before any model is asked."""

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
        calls: pl.DataFrame | None = None,
    ) -> list[Path]:
        """Write the files of a benchmark into ``folder``; return the files and folders made. ``calls`` are requests to models."""
        del source, predictions, scores, folder, options, calls
        raise InputError(f"The layout '{self.name}' has no files for a benchmark.", "Use it with 'heartfelt analyze'.")

    def formats_of(self, candidates: Sequence[str]) -> tuple[str, ...]:
        """The formats to read one after the other, where a source is in all of this layout's."""
        return self.formats if set(candidates) == set(self.formats) else ()


LAYOUTS: Registry[OutputLayout] = Registry(
    "layout", homes=("heartfelt.datasets.*.layout", "heartfelt.scoring.bench.output_layouts")
)
