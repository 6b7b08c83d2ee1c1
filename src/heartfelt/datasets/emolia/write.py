"""Writing the file set: a folder a subset and one report over all of them, there whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.datasets.emolia.agreement import figures
from heartfelt.datasets.emolia.labels_table import gather, spelt, written
from heartfelt.datasets.emolia.report import report
from heartfelt.datasets.emolia.slices import incomplete, more_raters, slices
from heartfelt.datasets.emolia.subset import EmoliaOptions, Subset, subsets_of
from heartfelt.datasets.emolia.summary import summary
from heartfelt.errors import InputError
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
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
    found = [(one, subset) for one in snapshots for subset in subsets_of(one)]
    names = [subset.name for _, subset in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not found:
        raise InputError(
            f"Two snapshots are called '{twice[0]}'." if twice else "There is no snapshot to write.",
            "Write each to a folder of its own." if twice else "Pass one or more snapshots.",
        )
    made = {subset.name: _files(one, subset, options) for one, subset in found}
    target = Path(folder) / FOLDER
    with whole_folder(target, replace=replace) as scratch:
        for name, (tables, said) in made.items():
            (scratch / name).mkdir()
            for file, table in tables.items():
                write_text(scratch / name / file, csv_text(table))
            write_json(scratch / name / "summary.json", said)
        write_text(scratch / "report.md", report([said for _, said in made.values()]))
    return target


def _files(
    snapshot: Snapshot, subset: Subset, options: EmoliaOptions
) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    material = gather(snapshot, subset, options)
    if not material.labels.height:
        raise InputError(
            f"Nobody has rated any item of '{subset.name}' yet.",
            "Collect ratings first, or point to data with some.",
        )
    tables = slices(material)
    said = summary(material, figures(material), tables)
    files = {
        "benchmark_labels.csv": written(material),
        **{name: spelt(table) for name, table in tables.items()},
        "incomplete_items.csv": incomplete(material),
        "items_with_more_raters.csv": more_raters(material),
    }
    return files, said
