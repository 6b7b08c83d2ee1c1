"""An analysis as a folder: numbers, tables, figures and a page, there whole or not at all."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from heartfelt.analysis.failures import Failed, attempt
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.progress import Progress
from heartfelt.report.analysis_page import analysis_page
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures import FIGURES
from heartfelt.report.page import render
from heartfelt.report.prints.hands import drawing
from heartfelt.report.reading import Analysis, summary_data
from heartfelt.serialization import write_json

PAGE = "report.html"


def write_analysis(
    analysis: Analysis,
    folder: Path | str,
    *,
    replace: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write summary.json, labels.csv, raters.csv, ledger.csv, figures/ and report.html; return the folder."""
    target = Path(folder)
    with whole_folder(target, replace=replace) as made:
        figures = made / "figures"
        figures.mkdir()
        charts = charts_of(analysis)
        drawn = {name: chart for name, chart in charts.items() if isinstance(chart, Chart)}
        with drawing(drawn, figures, progress):
            for name, chart in drawn.items():
                write_text(figures / f"{name}.csv", csv_text(chart_table(chart)))
            write_json(made / "summary.json", summary_data(analysis))
            for name, table in (
                ("labels", analysis.labels),
                ("raters", analysis.raters),
                ("ledger", full_ledger(analysis)),
            ):
                write_text(made / f"{name}.csv", csv_text(flat(table)))
            write_text(made / PAGE, render(analysis_page(analysis, charts, target / PAGE)))
    return target


def charts_of(analysis: Analysis) -> dict[str, Chart | Absent]:
    """Every figure of an analysis, or why there is none; one that fails costs no other."""
    out: dict[str, Chart | Absent] = {}
    for name in FIGURES:
        made = attempt(partial(FIGURES[name].chart, analysis))
        out[name] = Absent(made.why) if isinstance(made, Failed) else made
    return out


def chart_table(chart: Chart) -> pl.DataFrame:
    """The table behind a chart."""
    return flat(pl.DataFrame(list(chart.rows), infer_schema_length=None))


def flat(table: pl.DataFrame) -> pl.DataFrame:
    """Lists become words separated by semicolons, so that the table can be a CSV file."""
    lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.col(name).list.eval(pl.element().cast(pl.String)).list.join("; ") for name in lists
    )


def full_ledger(analysis: Analysis) -> pl.DataFrame:
    """Everything left out, from reading to screening, and every flag; ``left_out`` says which it is."""
    panel = analysis.panel
    flags = panel.flags.filter(
        pl.col("flagged") & pl.col("rater").is_not_null() & ~pl.col("rater").is_in(list(panel.dropped))
    )
    noticed = flags.select(
        pl.lit("rater").alias("what"),
        "rater",
        "question",
        pl.col("words").alias("reason"),
        pl.lit("panel").alias("stage"),
        "rule",
        pl.col("n").alias("ratings"),
        "statistic",
        "value",
        "threshold",
        "p",
    )
    return pl.concat(
        [
            analysis.ledger.with_columns(pl.lit(True).alias("left_out")),
            noticed.with_columns(pl.lit(False).alias("left_out")),
        ],
        how="diagonal_relaxed",
    )
