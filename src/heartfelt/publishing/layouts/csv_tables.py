"""Plain tables: ``csv/<table>.csv`` in UTF-8, and ``csv/read.R``, which reads them into R with types and factors.

An empty field is a missing value. Moments are ISO 8601 in UTC; the samples of a trace are separated by semicolons. The codebook of
the release describes every column; ``questions.csv`` and ``categories.csv`` say what the codes mean.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import spreadsheet_safe
from heartfelt.progress import Progress
from heartfelt.publishing.layouts.layout import LAYOUTS
from heartfelt.publishing.layouts.r_script import r_script
from heartfelt.publishing.layouts.tables import release_tables
from heartfelt.publishing.release.release import PublishedFile, Release

FOLDER = "csv"
_MOMENT = "%Y-%m-%dT%H:%M:%S%.6f"


class CsvTables:
    """One CSV file per table, and a script that reads them into R."""

    name = "csv"
    about = "plain CSV tables, and an R script that reads them with types and factors"

    def write(self, release: Release, folder: Path, progress: Progress) -> tuple[PublishedFile, ...]:
        """Write every table and the script below ``csv/``."""
        target = folder / FOLDER
        target.mkdir(parents=True, exist_ok=True)
        tables = release_tables(release)
        files = []
        for done, table in enumerate(tables):
            progress("writing CSV files", done, len(tables))
            path = target / f"{table.name}.csv"
            _for_csv(spreadsheet_safe(table.frame)).sink_csv(path, engine="streaming")
            rows = table.frame.select(pl.len()).collect(engine="streaming").item()
            where = path.relative_to(folder).as_posix()
            files.append(
                PublishedFile(
                    path=where, layout=self.name, table=table.name, split=None, rows=rows, columns=table.columns
                )
            )
        write_text(target / "read.R", r_script(release, tables))
        return tuple(files)


def _for_csv(frame: pl.LazyFrame) -> pl.LazyFrame:
    casts = []
    for name, dtype in frame.collect_schema().items():
        column = pl.col(name)
        if isinstance(dtype, pl.Datetime):
            zoned = column.dt.convert_time_zone("UTC") if dtype.time_zone else column
            casts.append(zoned.dt.to_string(f"{_MOMENT}{'Z' if dtype.time_zone else ''}"))
        elif isinstance(dtype, pl.List):
            casts.append(column.list.eval(pl.element().cast(pl.String).fill_null("")).list.join(";"))
        elif dtype == pl.Binary:
            casts.append(column.bin.encode("hex"))
    return frame.with_columns(casts) if casts else frame


LAYOUTS.add(CsvTables.name, CsvTables())
