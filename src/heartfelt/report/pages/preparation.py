"""The page of a preparation: how systems differ before and after, and what is wrong with which stimulus."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.report.charts import Absent, Chart, IntervalPanels, Item
from heartfelt.report.layout.page import ReportPage, Section, render
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import colour
from heartfelt.serialization import write_json
from heartfelt.stimuli.preparation.differences import SystemDifference
from heartfelt.stimuli.preparation.prepared import PreparationResult
from heartfelt.wording import interval, p_value, plural

FIGURE = "systems"
_ABOUT = (
    "Louder clips, faster speech and brighter pictures are rated as more arousing, and a system's clips should not differ from"
    " another's in what no system was asked for. Means over stimuli with 95% intervals."
)


def difference_words(difference: SystemDifference) -> str:
    """One measure in a sentence: how much of its variance lies between systems, and whether that is chance."""
    if difference.test.p is None or difference.test.f is None:
        return f"{difference.measure}: no test, because {difference.test.why_missing or 'it does not vary'}."
    shares = interval(difference.test.eta_squared, 2)
    count = plural(difference.n, "stimulus", "stimuli")
    return f"{difference.measure}: eta squared {shares} between systems, {p_value(difference.test.p)} ({count})."


def systems_chart(result: PreparationResult) -> Chart | Absent:
    """A panel per measure, a row per system."""
    builder = IntervalPanels()
    for difference in result.differences:
        items = [
            Item(
                label=system,
                estimate=mean,
                colour=colour(index),
                cells={"measure": difference.measure, "system": system},
            )
            for index, (system, mean) in enumerate(difference.means.items())
        ]
        # On one axis, or a hundredth of a decibel after would look like ten before.
        levels = [end for peer in result.differences if "loudness" in difference.measure and "loudness" in peer.measure
                  for mean in peer.means.values() for end in (mean.low, mean.high) if end is not None]  # fmt: skip
        varies = len({mean.value for mean in difference.means.values()}) > 1
        builder.add(difference.measure, difference.measure, items, reach=levels, visible=varies)
    return builder.chart("Systems before and after preparation", _ABOUT, "fewer than two systems can be compared")


def preparation_section(result: PreparationResult, link: str) -> Section:
    """The preparation on another page: how systems differed, and the way to the whole."""
    remarks = len(_remarks(result))
    return section("pages/preparation_elsewhere", "preparation", None, link=link, remarks=remarks, **_shared(result))


def _shared(result: PreparationResult) -> dict[str, object]:
    return {
        "result": result,
        "done": len(result.stimuli) - len(result.failed),
        "sentences": [difference_words(difference) for difference in result.differences],
    }


def _remarks(result: PreparationResult) -> list[list[str]]:
    """The stimuli with a problem or a check to look at."""
    return [
        [row.stimulus, result.systems.get(row.stimulus, ""), row.problem or "", row.checks or ""]
        for row in result.stimuli
        if row.problem or row.checks
    ]


def stimuli_table(result: PreparationResult) -> pl.DataFrame:
    """Every stimulus with its numbers, checks and problem."""
    return pl.DataFrame(list(result.stimuli), infer_schema_length=None)


def write_preparation(result: PreparationResult, folder: Path) -> Path:
    """Write report.html, stimuli.csv, prepare.json and figures/ into a new ``folder``."""
    from heartfelt.report.drawing.processes import drawing

    charts = {FIGURE: systems_chart(result)}
    rows = [
        [system, *(difference.means.get(system, "") for difference in result.differences)]
        for system in sorted({name for difference in result.differences for name in difference.means})
    ]
    sections = [
        section(f"pages/preparation_{name}", name, charts, rows=rows, wrong=_remarks(result), **_shared(result))
        for name in ("systems", "checks")
    ]
    page = ReportPage(title="Preparation", subtitle=result.study, sections=sections, charts=charts)
    with whole_folder(folder) as staging, drawing(charts, staging / "figures"):
        write_text(staging / "stimuli.csv", csv_text(stimuli_table(result)))
        write_json(staging / "prepare.json", result)
        write_text(staging / "report.html", render(page))
    return folder
