"""DATASHEET.md: what a reviewer asks of a dataset, answered from the study as far as it knows.

The parts and the matters asked about follow Gebru et al. (2021), "Datasheets for Datasets", in heartfelt's own words.
"""

from __future__ import annotations

from heartfelt.analysis.text.methods_section import collected_here, methods_section
from heartfelt.publishing.papers.citation import citation_line
from heartfelt.publishing.papers.facts import (
    holders_of,
    left_out,
    licence_of,
    media_licence_of,
    privacy_limits,
    privacy_words,
    rater_facts,
    size_words,
    stated,
    steps_words,
    stimuli_words,
    title_of,
)
from heartfelt.publishing.papers.provenance import file_licences, origin_sentences
from heartfelt.publishing.papers.rendering import render
from heartfelt.publishing.release.release import Release
from heartfelt.publishing.release.splits import parts_of, placement, split_of
from heartfelt.snapshot.snapshot import SPLIT
from heartfelt.wording import plural

MOST_REASONS = 8
COLLECTION = ("Participants and ratings", "Measures", "Procedure", "Verification of drafts")
"""What the datasheet takes from the methods section."""


def datasheet_file(release: Release) -> str:
    details, snapshot = release.details, release.snapshot
    split, placed = split_of(release), placement(release)
    benchmark = release.benchmark
    media_absent = [medium for medium in release.media.values() if medium.path is None]
    return render(
        "datasheet.md.j2",
        release=release,
        details=details,
        study=snapshot.study,
        counts=snapshot.counts,
        title=title_of(release),
        size=size_words(release),
        makers=[
            f"{author} ({author.affiliation})" if author.affiliation else str(author) for author in details.authors
        ],
        holders=holders_of(details),
        origins=origin_sentences(release),
        stimuli_words=stimuli_words,
        label_methods=[] if benchmark is None else benchmark.items["method"].unique().sort().to_list(),
        left_out=left_out(release),
        most_reasons=MOST_REASONS,
        relations=[name for name in ("system", "intent", "prompt") if name in snapshot.stimuli.columns],
        split=split,
        source_split=SPLIT,
        parts=[
            f"{part} ({plural(placed.filter(placed['split'] == part).height, 'stimulus', 'stimuli')})"
            for part in parts_of(placed, split)
        ],
        media_absent=media_absent,
        absence_reasons=list(dict.fromkeys(m.why_absent or "no reason is recorded" for m in media_absent)),
        facts=rater_facts(release),
        privacy=privacy_words(release),
        privacy_limits=privacy_limits(release),
        collected=_collected(release),
        consent=snapshot.study.consent if collected_here(snapshot) else None,
        steps=steps_words(release),
        licence=licence_of(release),
        media_licence=media_licence_of(release),
        single_licences=file_licences(release),
        citation=citation_line(release),
    )


def _collected(release: Release) -> str:
    if release.analysis is None:
        return stated(release.details.recruitment)
    parts = {paragraph.title: paragraph.text for paragraph in methods_section(release.analysis)}
    return " ".join(parts[title] for title in COLLECTION if title in parts)
