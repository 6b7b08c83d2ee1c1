"""The page of an analysis: which sections, in which order, for which kind of study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.analysis.failures import Failed, attempt
from heartfelt.report.blocks import absent
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.media import media_sources
from heartfelt.report.page import Page, Section
from heartfelt.report.reading import Analysis, inside, summary_data
from heartfelt.report.sections import (
    conveyance,
    files,
    opinion,
    paper,
    presence,
    published,
    rater_groups,
    raters,
    stimuli,
    trust,
    verdict,
)
from heartfelt.report.words import number
from heartfelt.study.model import say


def analysis_page(analysis: Analysis, charts: Mapping[str, Chart | Absent], target: Path) -> Page:
    """The page, for a file at ``target``."""
    study = analysis.snapshot.study
    data = {
        "figures": {name: chart.to_json() for name, chart in charts.items() if isinstance(chart, Chart)},
        "media": media_sources(analysis.snapshot, target),
        "stimuli": stimuli.stimuli_data(analysis),
        "image": study.media == "image",
    }
    title = say(study.title) or study.name
    return Page(title, say(study.description), _sections(analysis, charts), data, _facts(analysis))


Build: TypeAlias = Callable[[], Section | None]


def _sections(analysis: Analysis, charts: Mapping[str, Chart | Absent]) -> list[Section]:
    kind = summary_data(analysis).get("kind")
    builders: dict[str, Build] = {
        "verdict": lambda: verdict.verdict(analysis),
        "published": lambda: published.published(analysis),
    }
    if kind == "conveyance":
        builders |= {
            "maps": lambda: conveyance.maps(analysis, charts),
            "systems": lambda: conveyance.systems(analysis, charts),
            "intents": lambda: conveyance.quadrants(analysis, charts),
        }
    elif kind == "opinion":
        builders["systems"] = lambda: opinion.ranking(analysis, charts)
    builders |= {
        "agreement": lambda: presence.agreement(analysis, charts),
        "trust": lambda: trust.trust(analysis, charts),
        "raters": lambda: raters.raters(analysis, charts),
        "rater-groups": lambda: rater_groups.rater_groups(analysis, charts),
        "answers": lambda: opinion.answers(charts),
        "stimuli": stimuli.stimuli,
        "paper": lambda: paper.paper(analysis),
        "files": lambda: files.files(charts),
    }
    made = [_built(name, build) for name, build in builders.items()]
    return [section for section in made if section is not None]


def _built(name: str, build: Build) -> Section | None:
    """A section; where it cannot be written, a sentence that says so in its place."""
    found = attempt(build)
    if isinstance(found, Failed):
        title = name.replace("-", " ").capitalize()
        return Section(name, title, html=absent(f"This section is missing: {found.why}."), short=title)
    return found


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    counts: dict[str, Any] = inside(analysis, "counts") or {}

    def of(kept: str, whole: str) -> str:
        a, b = counts.get(kept), counts.get(whole)
        return number(b) if a is None or a == b else f"{number(a)} of {number(b)}"

    facts = [("ratings", of("ratings_kept", "ratings")), ("raters", of("raters_kept", "raters"))]
    facts.append(("stimuli rated", f"{number(counts.get('rated'))} of {number(counts.get('stimuli'))}"))
    facts += [
        (name, number(counts[name])) for name in ("systems", "intents", "questions") if counts.get(name)
    ]
    facts += [
        ("policy", str(_name(summary_data(analysis).get("policy")))),
        ("seed", str(summary_data(analysis).get("seed"))),
    ]
    facts.append(("snapshot", str(summary_data(analysis).get("hash", ""))[:12]))
    return facts


def _name(policy: Any) -> Any:
    return policy.get("name") if isinstance(policy, Mapping) else policy
