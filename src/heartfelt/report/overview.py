"""The overview page of a snapshot: what was rated, by whom, and how it sits against what was intended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heartfelt.files import write_text
from heartfelt.report.media import media_sources
from heartfelt.report.page import Page, Section, render
from heartfelt.report.va_map import va_map
from heartfelt.snapshot import Snapshot
from heartfelt.study.model import say


def write_overview(snapshot: Snapshot, path: Path | str) -> Path:
    """Write the page; it opens offline."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, render(overview_page(snapshot, target)))
    return target


def overview_page(snapshot: Snapshot, target: Path) -> Page:
    """The page of a snapshot, for a file at ``target``."""
    counts = snapshot.counts
    figures: dict[str, Any] = {}
    sections: list[Section] = []
    found = va_map(snapshot)
    if found is None:
        sections.append(
            Section(
                "map",
                "Intended and perceived",
                "This study has no two questions with reference coordinates, so there is no map to draw.",
            )
        )
    else:
        figures["map"] = found
        across, up = found["axes"]
        sections.append(
            Section(
                "map",
                "Intended and perceived",
                f"Each intent has a place where it should be ({across['label']} across, {up['label']} up); lines lead from there to"
                " where raters heard it. Short lines mean the system conveys what it was asked to. Select a point to play it.",
                figure="map",
            )
        )
    facts = [
        ("ratings", f"{counts['ratings']:,}"),
        ("raters", f"{counts['raters']:,}"),
        ("stimuli rated", f"{counts['rated']:,} of {counts['stimuli']:,}"),
        ("systems", f"{counts['systems']}"),
        ("intents", f"{counts['intents']}"),
        ("snapshot", snapshot.hash[:12]),
    ]
    title = say(snapshot.study.title) or snapshot.study.name
    return Page(
        title,
        say(snapshot.study.description),
        sections,
        {"figures": figures, "media": media_sources(snapshot, target)},
        facts,
    )
