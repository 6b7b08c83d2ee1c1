"""All papers of a release: what a reader, a reviewer or a machine needs to know to use the data."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from heartfelt.files import write_text
from heartfelt.progress import Progress
from heartfelt.publishing.papers.card import card
from heartfelt.publishing.papers.citation import citation_file
from heartfelt.publishing.papers.codebook import undescribed, write_codebook
from heartfelt.publishing.papers.croissant import croissant
from heartfelt.publishing.papers.datasheet import datasheet_file
from heartfelt.publishing.papers.facts import holders_of, licence_of, title_of
from heartfelt.publishing.papers.methods import methods_file
from heartfelt.publishing.papers.provenance import file_licences, origin_sentences
from heartfelt.publishing.papers.rendering import render
from heartfelt.publishing.papers.tables import write_tables
from heartfelt.publishing.release.release import Release
from heartfelt.publishing.statements.details import not_stated
from heartfelt.publishing.statements.licences import licence_file
from heartfelt.report.analysis import charts_of
from heartfelt.report.charts import Charts
from heartfelt.serialization import write_json
from heartfelt.study.norms import norms_of

CROISSANT = "croissant.json"


@dataclass(frozen=True, slots=True)
class Papers:
    """What is missing from the papers that were written."""

    not_stated: tuple[str, ...]
    """Keys of ``publication.yaml`` that the authors left out, each with what it asks for."""
    undescribed: tuple[str, ...]
    """Columns that nobody has described, as ``table.column``."""


def write_papers(release: Release, folder: Path, progress: Progress | None = None, *, figures: bool = True) -> Papers:
    """Write every paper into the release's ``folder``, after the layouts; ``write_checksums`` comes last of all.

    Without ``figures`` none are drawn, which takes most of the time.
    """
    details, terms = release.details, licence_of(release)
    charts = charts_of(release.analysis) if figures and release.analysis is not None else {}
    holders, contact = holders_of(details), details.contact
    texts = {
        "README.md": card(release, charts),
        "DATASHEET.md": datasheet_file(release),
        "METHODS.md": methods_file(release),
        "CITATION.cff": citation_file(release),
        "NOTICE": notice(release),
        "LICENSE": licence_file(
            terms.spdx if terms else None, "the ratings, labels and documentation", holders, contact
        ),
        "LICENSE-MEDIA": _media_licence(release, holders),
    }
    with _drawing(charts, folder / "figures", progress):
        for name, text in texts.items():
            write_text(folder / name, text)
        write_tables(release, folder)
        entries = write_codebook(release, folder)
        write_json(folder / CROISSANT, croissant(release, folder))
    return Papers(not_stated(details), undescribed(entries))


def _media_licence(release: Release, holders: str) -> str:
    """The text of LICENSE-MEDIA: the authors' licence, and those that the stimuli state for single files."""
    details, single = release.details, file_licences(release)
    if not (details.media_licence or single):
        return licence_file(None, "the media", holders, details.contact)
    general = "The authors state no licence for the media as a whole.\n"
    if details.media_licence:
        general = licence_file(details.media_licence, "the media", holders, details.contact)
    return f"{general}\n{render('license-media.txt.j2', single_licences=single)}" if single else general


def _drawing(charts: Charts, folder: Path, progress: Progress | None) -> AbstractContextManager[None]:
    """Draws while the block runs; nothing is loaded where there is nothing to draw."""
    if not charts:
        return nullcontext()
    from heartfelt.report.drawing.processes import drawing

    return drawing(charts, folder, progress)


def notice(release: Release) -> str:
    """The text of NOTICE: whose work the dataset is and builds on."""
    study = release.snapshot.study
    return render(
        "notice.txt.j2",
        title=title_of(release),
        holders=holders_of(release.details),
        sources=[text for text in (release.details.sources, study.credit) if text],
        norms=norms_of(study.intents),
        systems=[system.name or system.id for system in study.systems],
        origins=origin_sentences(release),
        version=release.record.version,
    )
