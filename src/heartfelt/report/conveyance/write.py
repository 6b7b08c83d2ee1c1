"""Predicted conveyance as a folder, marked as predicted everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.predictors.valence_arousal.conveyed import Conveyed
from heartfelt.report.blocks import figure_block, folded, joined
from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.rows import lettered, numbers, panel_of, row_of
from heartfelt.report.media import media_sources
from heartfelt.report.page import Page, Section, render
from heartfelt.report.palette import COLOURS, INK
from heartfelt.report.prints.save import save
from heartfelt.report.tables import table
from heartfelt.report.va_map import va_map
from heartfelt.serialization import write_json

PREDICTED = "Predicted, not rated: these figures are a model's, and its own error is part of every interval."


def headline(summary: Mapping[str, Any]) -> str:
    """What these figures are, in one sentence."""
    if not summary["rated"]:
        return PREDICTED
    return (
        f"Predicted, with ratings of {summary['rated']:,} of {summary['stimuli']:,} clips: prediction-powered intervals,"
        " valid whatever the model."
    )


def write_conveyance(found: Conveyed, folder: Path | str, *, replace: bool = False) -> Path:
    """Write summary.json, predictions.csv, ledger.csv, figures/ and report.html; return the folder."""
    target = Path(folder)
    summary = dict(found.summary)
    words = headline(summary)
    charts: dict[str, Chart | Absent] = {
        "predicted-deviation": _chart(
            summary["deviation_by_system"], "deviation", "Predicted deviation", 0.0, words
        ),
        "predicted-slopes": _chart(summary["slopes"], "slope", "Predicted slopes", 1.0, words),
    }
    with whole_folder(target, replace=replace) as made:
        figures = made / "figures"
        figures.mkdir()
        for name, chart in charts.items():
            if isinstance(chart, Chart):
                save(chart, figures, name)
                rows = pl.DataFrame(list(chart.rows), infer_schema_length=None)
                write_text(figures / f"{name}.csv", csv_text(rows))
        write_json(made / "summary.json", summary)
        write_text(made / "predictions.csv", csv_text(found.run.table))
        failed = found.run.table.filter(~pl.col("ok")).select("stimulus", "question", "problem")
        write_text(made / "ledger.csv", csv_text(failed))
        write_text(made / "report.html", render(_page(found, summary, charts, target)))
    return target


def _chart(
    rows: Sequence[Mapping[str, Any]], key: str, title: str, line: float, words: str
) -> Chart | Absent:
    panels: list[dict[str, Any]] = []
    behind: list[dict[str, Any]] = []
    for question in dict.fromkeys(row["question"] for row in rows):
        known = [row for row in rows if row["question"] == question and row[key]["value"] is not None]
        if not known:
            continue
        colour = COLOURS[len(panels) % len(COLOURS)]
        made = [
            row_of(
                "all systems" if row["system"] == "all" else row["system"],
                row[key],
                INK if row["system"] == "all" else colour,
            )
            for row in known
        ]
        value = axis(key, [*numbers(made), line])
        panels.append(
            panel_of(lettered(len(panels), question), made, value, lines=[{"at": line, "label": ""}])
        )
        behind += [
            {
                "question": question,
                "system": row["system"],
                "value": r["value"],
                "low": r["low"],
                "high": r["high"],
            }
            for row, r in zip(known, made, strict=True)
        ]
    if not panels:
        return Absent("nothing could be worked out")
    return Chart("intervals", title, f"{title} by system with 95% intervals. {words}", panels, behind)


def flagged_words(found: Conveyed) -> str:
    """How many clips the model's numbers mean little for, in a sentence; empty where there are none."""
    flagged = found.run.table.filter(pl.col("flag").is_not_null())
    if not flagged.height:
        return ""
    clips, all_clips = flagged["stimulus"].n_unique(), found.run.table["stimulus"].n_unique()
    return (
        f" {clips:,} of {all_clips:,} clips are silent, too short or unlike the music the model was trained on; the intervals"
        " do not cover what is wrong with those (predictions.csv, column flag)."
    )


def _page(
    found: Conveyed, summary: Mapping[str, Any], charts: Mapping[str, Chart | Absent], target: Path
) -> Page:
    failed = found.run.table.filter(~pl.col("ok")).height
    how = headline(summary)
    if not summary["rated"]:
        how += " No clip was rated: intervals hold the model's known error on systems it had not met."
    how += flagged_words(found)
    deviation = [
        [row["system"], row["question"], row["deviation"], row.get("ratings_alone")]
        for row in summary["deviation_by_system"]
    ]
    cells = [
        [row["system"], row["intent"], row["question"], row["deviation"]]
        for row in summary["deviation_by_cell"]
    ]
    slopes = [
        [row["system"], row["question"], row["slope"], row.get("ratings_alone")] for row in summary["slopes"]
    ]
    sections = [
        Section(
            "deviation",
            "Predicted deviation from the intents",
            how,
            html=joined(
                figure_block("predicted-deviation", charts),
                table(
                    "Predicted deviation by system",
                    ["system", "question", "predicted deviation", "ratings alone"],
                    deviation,
                ),
                folded(
                    "Predicted deviation by system and intent",
                    table(
                        "Predicted deviation by system and intent",
                        ["system", "intent", "question", "predicted deviation"],
                        cells,
                    ),
                ),
            ),
        ),
        Section(
            "slopes",
            "Predicted slopes of perceived on intended",
            "At 1, differences between intents come across in full; at 0, intents make no difference.",
            html=joined(
                figure_block("predicted-slopes", charts),
                table("Predicted slopes", ["system", "question", "predicted slope", "ratings alone"], slopes),
            ),
        ),
    ]
    if summary["quadrants"]:
        sections.append(
            Section("quadrants", "Intended and predicted quadrants", html=_quadrants(summary["quadrants"]))
        )
    figures: dict[str, Any] = {
        name: chart.to_json() for name, chart in charts.items() if isinstance(chart, Chart)
    }
    sections[:0] = _maps(found, figures)
    data = {"figures": figures, "media": media_sources(found.snapshot, target / "report.html")}
    facts = [
        ("clips", f"{summary['stimuli']:,}"),
        ("rated by people", f"{summary['rated']:,}"),
        ("not predicted", f"{failed:,}"),
    ]
    return Page(
        f"Predicted conveyance: {found.snapshot.source.name}", headline(summary), sections, data, facts
    )


def _maps(found: Conveyed, figures: dict[str, Any]) -> list[Section]:
    """The predicted map, and the rated one beside it where people rated; they are put into ``figures``."""
    answered = found.run.table.filter(pl.col("ok"))
    means = {
        str(question): rows.select(
            "stimulus",
            pl.col("value").alias("mean"),
            pl.lit(None, pl.Float64).alias("sd"),
            pl.lit(None, pl.Int64).alias("n"),
        )
        for (question,), rows in answered.group_by("question")
    }
    rated = va_map(found.snapshot) if found.snapshot.survey.ratings else None
    predicted = va_map(found.snapshot, means, "predicted")
    if predicted is None:
        return []
    figures["map-predicted"] = predicted
    blocks = [_map_block("map-predicted", "Predicted", PREDICTED)]
    if rated is not None and rated["panels"]:
        figures["map-rated"] = rated
        blocks.append(_map_block("map-rated", "Rated", "What people said of the same clips."))
    return [
        Section(
            "map",
            "Predicted beside rated" if len(blocks) == 2 else "Intended and predicted",
            "Lines lead from where each intent should be to where it is heard. Select a point to play it.",
            html=joined(*blocks),
            short="Map",
        )
    ]


def _map_block(name: str, title: str, caption: str) -> Markup:
    return Markup(
        '<figure class="chart" id="figure-{0}">\n<h3>{1}</h3>\n<div class="figure" data-figure="{0}"></div>\n'
        "<figcaption>{2}</figcaption>\n</figure>"
    ).format(name, title, caption)


def _quadrants(found: Mapping[str, Any]) -> str:
    rows = [[name, *counts] for name, counts in zip(found["rows"], found["counts"], strict=True)]
    hits = [[name, estimate] for name, estimate in found["hit_rate"].items()]
    return joined(
        table("Clips by intended and predicted quadrant", ["intended", *found["columns"]], rows),
        table("Share of clips predicted in the intended quadrant", ["system", "share"], hits),
        Markup(
            "<p>Counts of predictions: a clip near a midline may well be heard on the other side of it.</p>"
        ),
    )
