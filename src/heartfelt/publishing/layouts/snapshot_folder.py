"""The anonymised snapshot, which every heartfelt command reads: ``heartfelt analyze OUT/snapshot``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from heartfelt.progress import Progress
from heartfelt.publishing.layouts.layout import LAYOUTS
from heartfelt.publishing.layouts.tables import dtype_name
from heartfelt.publishing.release.release import PublishedColumn, PublishedFile, Release
from heartfelt.publishing.statements.columns import about_column

FOLDER = "snapshot"


class SnapshotFolder:
    """The snapshot as heartfelt stores it."""

    name = "snapshot"
    about = "the anonymised snapshot, for every command of heartfelt"

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write ``snapshot/``, unless it is there already, and describe its tables."""
        target = folder / FOLDER
        if not target.exists():
            progress("writing the snapshot", 0, 1)
            release.snapshot.write(target)
        study, details = release.snapshot.study, release.details
        files = []
        for path in sorted(target.glob("*.parquet")):
            frame = pl.scan_parquet(path)
            columns = tuple(
                PublishedColumn(name, dtype_name(dtype), about_column(path.stem, name, study, details))
                for name, dtype in frame.collect_schema().items()
            )
            rows = frame.select(pl.len()).collect().item()
            files.append(
                PublishedFile(
                    path=f"{FOLDER}/{path.name}",
                    layout=self.name,
                    table=path.stem,
                    split=None,
                    rows=rows,
                    columns=columns,
                )
            )
        return tuple(files)


LAYOUTS.add(SnapshotFolder.name, SnapshotFolder())
