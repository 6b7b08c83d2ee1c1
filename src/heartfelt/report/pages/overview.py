"""The overview page of a snapshot: what was rated, by whom, and how it compares with what was intended."""

from __future__ import annotations

from pathlib import Path

from heartfelt.files import write_text
from heartfelt.labels import LabelOptions, labels
from heartfelt.report.figures.maps import intent_maps, mapped_questions
from heartfelt.report.layout.media import media_sources
from heartfelt.report.layout.page import ReportPage, Section, figure_block, render
from heartfelt.snapshot import Snapshot
from heartfelt.study.model import say


def write_overview(snapshot: Snapshot, path: Path | str) -> Path:
    """Write the page; it opens offline."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, render(overview_page(snapshot, target)))
    return target


def overview_page(snapshot: Snapshot, target: Path) -> ReportPage:
    """The page of a snapshot, for a file at ``target``."""
    pair = mapped_questions(snapshot.study)
    chart = intent_maps(snapshot, labels(snapshot, LabelOptions(minimum_ratings=1)).table)
    charts = {} if chart is None else {"map": chart}
    lead = "This study has no two questions with reference coordinates, so there is no map to draw."
    if chart is not None and pair is not None:
        lead = (
            f"Each intent has a place where it is meant to be ({pair[0].id} across, {pair[1].id} up); lines lead from there"
            " to where raters perceived it. Short lines mean that the system conveys what it was asked to. Select a point"
            " to play it."
        )
    html = figure_block("map", charts, files=False, numbers=False)
    sections = [Section(id="map", title="Intended and perceived", lead=lead, html=html)]
    counts, study = snapshot.counts, snapshot.study
    facts = [
        ("ratings", f"{counts['ratings']:,}"),
        *([("blank answers", f"{counts['blank_answers']:,}")] if "blank_answers" in counts else []),
        ("raters", f"{counts['raters']:,}"),
        ("stimuli rated", f"{counts['rated']:,} of {counts['stimuli']:,}"),
        ("systems", f"{counts['systems']}"),
        ("intents", f"{counts['intents']}"),
        ("snapshot", snapshot.hash[:12]),
    ]
    title, media = say(study.title) or study.name, media_sources(snapshot, target)
    return ReportPage(
        title=title, subtitle=say(study.description), sections=sections, charts=charts, media=media, facts=facts
    )
