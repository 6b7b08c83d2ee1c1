"""emolia-bench's own files, its faults fixed, as an output layout (``--as emolia``): a folder per subset and one report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from heartfelt.datasets.emolia.bench.benchmark_files import write_emolia_bench
from heartfelt.datasets.emolia.bench.figures import slices
from heartfelt.datasets.emolia.bench.material import EmoliaOptions, QuestionGroup, gather, subsets_of
from heartfelt.datasets.emolia.bench.report import report
from heartfelt.datasets.emolia.bench.summary import summary
from heartfelt.datasets.emolia.tables import spelt
from heartfelt.errors import InputError
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.labels import Benchmark
from heartfelt.scoring.layouts import LAYOUTS, OutputLayout
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import Scores
from heartfelt.serialization import write_json
from heartfelt.snapshot import Snapshot

FOLDER = "analysis_outputs"


def write_emolia(
    snapshot: Snapshot | Sequence[Snapshot],
    folder: Path | str,
    options: EmoliaOptions | None = None,
    *,
    replace: bool = False,
) -> Path:
    """Write ``folder/analysis_outputs/`` of one snapshot, or of several (emo and dim) with one report; return it."""
    snapshots = [snapshot] if isinstance(snapshot, Snapshot) else list(snapshot)
    options = options or EmoliaOptions()
    subsets = [(snapshot, subset) for snapshot in snapshots for subset in subsets_of(snapshot)]
    _require_distinct([subset.name for _, subset in subsets])
    target = Path(folder) / FOLDER
    with whole_folder(target, replace=replace) as scratch:
        summaries = [_write_subset(scratch, snapshot, subset, options) for snapshot, subset in subsets]
        write_text(scratch / "report.md", report(summaries))
    return target


def _require_distinct(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"Two snapshots are called '{twice[0]}'.", "Write each to a folder of its own.")
    if not names:
        raise InputError("There is no snapshot to write.", "Pass one or more snapshots.")


def _write_subset(
    scratch: Path, snapshot: Snapshot, subset: QuestionGroup, options: EmoliaOptions
) -> dict[str, object]:
    """Write the folder of a subset and return its summary."""
    material = gather(snapshot, subset, options)
    if not material.labels.height:
        raise InputError(
            f"Nobody has rated any item of '{subset.name}' yet.", "Collect ratings first, or point to data with some."
        )
    tables = slices(material)
    files = {
        "benchmark_labels": material.labels.select(subset.form.columns),
        **{f"per_{name}_summary": table for name, table in tables.items()},
        "incomplete_items": material.incomplete,
        "items_with_more_raters": material.more_raters,
    }
    (scratch / subset.name).mkdir()
    for name, table in files.items():
        write_text(scratch / subset.name / f"{name}.csv", csv_text(spelt(table)))
    facts = summary(material, tables)
    write_json(scratch / subset.name / "summary.json", facts)
    return facts


class EmoliaLayout(OutputLayout):
    """``analysis_outputs/`` of an analysis and ``benchmark_outputs/`` of a benchmark."""

    name = "emolia"
    formats = ("emolia-emo", "emolia-dim")

    def write_analysis(self, snapshots: Sequence[Snapshot], folder: Path) -> None:
        write_emolia(snapshots, folder)

    def check(self, source: Snapshot | Benchmark) -> None:
        if isinstance(source, Benchmark):
            raise InputError("A benchmark holds no votes for emolia's files.", "Point to the ratings instead.")
        subsets_of(source)

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
        calls: pl.DataFrame | None = None,
    ) -> list[Path]:
        del calls
        assert isinstance(source, Snapshot), "check refuses benchmarks"
        return write_emolia_bench(source, predictions, scores, folder, options)


LAYOUTS.add(EmoliaLayout.name, EmoliaLayout())
