"""emolia-bench's own files, with its faults fixed, as an output layout (``--as emolia``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.datasets.emolia.benchmark_files import write_emolia_bench
from heartfelt.datasets.emolia.subset import subsets_of
from heartfelt.datasets.emolia.write import write_emolia
from heartfelt.errors import InputError
from heartfelt.labels import Benchmark
from heartfelt.scoring.layouts import OutputLayout
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import Scores
from heartfelt.snapshot import Snapshot


class EmoliaLayout(OutputLayout):
    """``analysis_outputs/`` of an analysis and ``benchmark_outputs/`` of a benchmark."""

    name: ClassVar[str] = "emolia"
    formats: ClassVar[tuple[str, ...]] = ("emolia-emo", "emolia-dim")

    def write_analysis(self, snapshots: Sequence[Snapshot], folder: Path) -> None:
        """Write the labels, slices, agreement and report of each subset."""
        write_emolia(snapshots, folder)

    def check(self, source: Snapshot | Benchmark) -> None:
        """Refuse a benchmark, which has no votes, and studies without a suitable question."""
        if isinstance(source, Benchmark):
            raise InputError(
                "A benchmark holds no votes for emolia's files.", "Point to the ratings instead."
            )
        subsets_of(source)

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
    ) -> list[Path]:
        """Write predictions, metrics by slice, a summary and a report of each subset."""
        assert isinstance(source, Snapshot), "check refuses benchmarks"
        return write_emolia_bench(source, predictions, scores, folder, options)
