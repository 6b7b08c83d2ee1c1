"""README.md: the dataset card, with the front matter that the Hugging Face Hub reads."""

from __future__ import annotations

from heartfelt.analysis.text.methods_section import methods_section
from heartfelt.publishing.hiding.hold_out import COLUMNS, LIMIT
from heartfelt.publishing.layouts.huggingface import hub_configs, hub_front_matter
from heartfelt.publishing.papers import citation, codebook, facts, tables
from heartfelt.publishing.papers.facts import emotion_words, languages_of, licence_of, size_words, title_of
from heartfelt.publishing.papers.provenance import file_licences, provenance_grid
from heartfelt.publishing.papers.rendering import render
from heartfelt.publishing.release.release import Release
from heartfelt.report.charts import Chart, Charts
from heartfelt.report.layout.markup import Grid, one_line, yaml_text

FIGURES = ("perceived-maps", "system-ranking", "strengths", "category-map", "ceiling", "reliability-by-raters")
"""The figures that a card shows, as far as there are such."""
MOST_FIGURES = 3
SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
)
TASKS = {"audio": "audio-classification", "speech": "audio-classification", "image": "image-classification"}
COLLECTION = ("Participants and ratings", "Stimuli", "Procedure", "Verification of drafts")
"""What the card takes from the methods section."""


def front_matter(release: Release) -> dict[str, object]:
    """What the Hub reads about the dataset, as plain data."""
    terms, study = licence_of(release), release.snapshot.study
    out: dict[str, object] = {"license": "unknown" if terms is None else terms.hub}
    if terms is not None and terms.hub == "other":
        out |= {"license_name": terms.spdx.lower(), "license_link": "LICENSE"}
    out["language"] = list(dict.fromkeys(tag.split("-")[0] for tag in languages_of(release)))
    out["pretty_name"] = one_line(title_of(release), 200)
    out["task_categories"] = [TASKS.get(study.media, "other")]
    answers = release.snapshot.counts["ratings"] or release.snapshot.counts["means"]
    out["size_categories"] = [next((name for most, name in SIZES if answers < most), "100M<n<1B")]
    tags = ["human-ratings", "emotion", study.media, "croissant", "heartfelt", *map(one_line, release.details.keywords)]
    out["tags"] = list(dict.fromkeys(tag for tag in tags if tag))
    return {**out, **hub_front_matter(hub_configs(release.files))}


def card(release: Release, charts: Charts | None = None) -> str:
    """The text of README.md; of the ``charts`` that are drawn into ``figures/`` it shows the main ones."""
    details, study, survey = release.details, release.snapshot.study, release.snapshot.survey
    media = release.media.values()
    figures = [(name, chart) for name in FIGURES if isinstance(chart := (charts or {}).get(name), Chart)]
    collection = () if release.analysis is None else methods_section(release.analysis)
    text = render(
        "card.md.j2",
        release=release,
        details=details,
        study=study,
        counts=release.snapshot.counts,
        title=title_of(release),
        size=size_words(release),
        configs=hub_configs(release.files),
        systems=_systems(release),
        media_absent=list(dict.fromkeys(one_line(medium.why_absent) for medium in media if medium.why_absent)),
        judged=emotion_words(study),
        origins=provenance_grid(release),
        collection=[paragraph for paragraph in collection if paragraph.title in COLLECTION],
        n_raters=len(survey.raters),
        n_silent=release.snapshot.raters.height - len(survey.raters),
        n_unnamed=survey.unknown_raters,
        single_licences=file_licences(release),
        files=_files_grid(release),
        figures=figures[:MOST_FIGURES],
        held_out_columns=COLUMNS,
        held_out_limit=LIMIT,
        citation=citation,
        codebook=codebook,
        facts=facts,
        tables=tables,
    )
    return f"---\n{yaml_text(front_matter(release))}---\n\n{text}"


def _systems(release: Release) -> list[str]:
    names = {system.id: system.name or system.id for system in release.snapshot.study.systems}
    if "system" not in release.snapshot.stimuli.columns:
        return []
    return [names.get(name, name) for name in release.snapshot.stimuli["system"].drop_nulls().unique().sort()]


def _files_grid(release: Release) -> Grid:
    rows = tuple((file.path, file.layout, file.table, file.split or "", file.rows) for file in release.files)
    columns = ("file", "layout", "table", "part", "rows")
    return Grid(name="files", caption="Files", columns=columns, rows=rows)
