"""The page of a preparation: how systems differ before and after, and what is wrong with which stimulus."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from markupsafe import Markup

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.report.charts import Absent, Chart, IntervalPanels, Item
from heartfelt.report.page import ReportPage, Section, bullets, figure_block, joined, render
from heartfelt.report.palette import colour
from heartfelt.report.tables import table
from heartfelt.serialization import write_json
from heartfelt.stimuli.preparation.differences import SystemDifference
from heartfelt.stimuli.preparation.prepared import PreparationResult
from heartfelt.wording import interval, number, p_value, plural

FIGURE = "systems"
_ABOUT = (
    "Louder clips, faster speech and brighter pictures are rated as more arousing, and a system's clips should not differ from"
    " another's in what no system was asked for. Means over stimuli with 95% intervals."
)


def difference_words(each: SystemDifference) -> str:
    """One measure in a sentence: how much of its variance lies between systems, and whether that is chance."""
    if each.test.p is None or each.test.f is None:
        return f"{each.measure}: no test, because {each.test.why_missing or 'it does not vary'}."
    shares = interval(each.test.eta_squared, 2)
    count = plural(each.n, "stimulus", "stimuli")
    return f"{each.measure}: eta squared {shares} between systems, {p_value(each.test.p)} ({count})."


def systems_chart(result: PreparationResult) -> Chart | Absent:
    """A panel per measure, a row per system."""
    made = IntervalPanels()
    for each in result.differences:
        items = [
            Item(system, mean, colour(place), {"measure": each.measure, "system": system})
            for place, (system, mean) in enumerate(each.means.items())
        ]
        # On one axis, or a hundredth of a decibel after would look like ten before.
        levels = [end for other in result.differences if "loudness" in each.measure and "loudness" in other.measure
                  for mean in other.means.values() for end in (mean.low, mean.high) if end is not None]  # fmt: skip
        varies = len({mean.value for mean in each.means.values()}) > 1
        made.add(each.measure, each.measure, items, reach=levels, drawn=varies)
    return made.chart(
        "Systems before and after preparation", _ABOUT, "fewer than two systems can be compared"
    )


def preparation_section(result: PreparationResult, link: str) -> Section:
    """The preparation on another page: how systems differed, and the way to the whole."""
    remarks = sum(bool(each.problem or each.checks) for each in result.stimuli)
    html = joined(
        bullets([difference_words(each) for each in result.differences]),
        Markup('<p>All of it: <a href="{0}">{0}</a></p>').format(link),
    )
    done = f"{number(len(result.stimuli) - len(result.failed))} of {plural(len(result.stimuli), 'stimulus', 'stimuli')} prepared"
    return Section(
        "preparation",
        "How the stimuli were prepared",
        "",
        html,
        "Preparation",
        f"{done}; {number(remarks)} with a remark",
    )


def stimuli_table(result: PreparationResult) -> pl.DataFrame:
    """Every stimulus with its numbers, checks and problem."""
    return pl.DataFrame(list(result.stimuli), infer_schema_length=None)


def write_preparation(result: PreparationResult, folder: Path) -> Path:
    """Write report.html, stimuli.csv, prepare.json and figures/ into a new ``folder``."""
    from heartfelt.report.drawing.processes import drawing

    charts = {FIGURE: systems_chart(result)}
    wrong = [
        [each.stimulus, result.systems.get(each.stimulus, ""), each.problem or "", each.checks or ""]
        for each in result.stimuli
        if each.problem or each.checks
    ]
    rows = [
        [system, *(each.means.get(system, "") for each in result.differences)]
        for system in sorted({name for each in result.differences for name in each.means})
    ]
    columns = ["system", *(each.measure for each in result.differences)]
    differences = joined(
        figure_block(FIGURE, charts),
        *([table("Means by system", columns, rows)] if rows else []),
        bullets([difference_words(each) for each in result.differences]),
    )
    checks = (
        table("Stimuli", ["stimulus", "system", "not prepared, because", "checks"], wrong) if wrong else ""
    )
    done = len(result.stimuli) - len(result.failed)
    total = plural(len(result.stimuli), "stimulus", "stimuli")
    summary = f"{number(done)} of {total} prepared; {number(len(wrong))} with a remark."
    sections = [
        Section("systems", "Do systems differ in what no system was asked for?", "", differences),
        Section("checks", "Remarks", summary, checks),
    ]
    with whole_folder(folder) as made, drawing(charts, made / "figures"):
        write_text(made / "stimuli.csv", csv_text(stimuli_table(result)))
        write_json(made / "prepare.json", result)
        write_text(made / "report.html", render(ReportPage("Preparation", result.study, sections, charts)))
    return folder
