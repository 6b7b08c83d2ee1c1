"""croissant.json: the release for machines, after Croissant 1.0 with the fields for responsible AI.

Every Parquet and CSV table is a file with its hash; a table of one layout is a record set with a field per column. Paths are
relative to the file itself, so records can be read from a copy of the folder without a network.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from heartfelt.analysis.text.methods_section import methods_section
from heartfelt.clock import now
from heartfelt.files import packaged_text, sha256_of
from heartfelt.publishing.papers.citation import bibtex
from heartfelt.publishing.papers.codebook import type_words
from heartfelt.publishing.papers.facts import (
    NOT_STATED,
    by_layout,
    languages_of,
    left_out,
    licence_of,
    privacy_words,
    published_tables,
    rater_facts,
    size_words,
    slug,
    stated,
    title_of,
)
from heartfelt.publishing.papers.provenance import origin_sentences
from heartfelt.publishing.papers.tables import reliability_grid
from heartfelt.publishing.release.record import sentences
from heartfelt.publishing.release.release import PublishedFile, Release
from heartfelt.publishing.statements.details import Author
from heartfelt.report.layout.markup import one_line
from heartfelt.report.layout.tables import cell_text
from heartfelt.serialization import Json
from heartfelt.study.model import say
from heartfelt.wording import listed, number, plural

CONFORMS = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
CONTEXT = "croissant_context.json"
"""The context that Croissant 1.0 prescribes."""
FORMATS = {".parquet": "application/x-parquet", ".csv": "text/csv"}
KINDS = {
    "text": "sc:Text",
    "number": "sc:Float",
    "whole number": "sc:Integer",
    "true or false": "sc:Boolean",
    "date": "sc:Date",
    "date and time": "sc:DateTime",
    "list of numbers": "sc:Float",
}
"""Croissant's types by those of the codebook; media inside Parquet are described by their file, not as fields."""
NO_VERSION = "0.0.0"
MOST_REASONS = 10


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of one layout: its files, in one format."""

    name: str
    files: tuple[PublishedFile, ...]


def croissant(release: Release, folder: Path) -> dict[str, Json]:
    """The description as plain data; files are hashed where they lie in ``folder``."""
    details, terms = release.details, licence_of(release)
    tables = _tables(published_tables(release, folder))
    used_ids: set[str] = set()
    objects = {file.path: _unique(file.path, used_ids) for table in tables for file in table.files}
    out: dict[str, Json] = {
        "@context": json.loads(packaged_text(__package__, CONTEXT)),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS),
        "name": slug(title_of(release)),
        "alternateName": one_line(title_of(release)),
        "description": _description(release),
        "inLanguage": list(languages_of(release)),
        "keywords": ["human ratings", "emotion", *map(one_line, details.keywords)],
        "version": details.version or f"{NO_VERSION}+{release.snapshot.hash[:12]}",
        "datePublished": details.released or now().date().isoformat(),
        "citeAs": bibtex(release),
        "creator": [_creator(author) for author in details.authors],
        "license": (terms.url or terms.spdx) if terms is not None else "Not stated by the authors; see LICENSE",
        "distribution": [_file_object(file, objects, folder) for table in tables for file in table.files],
        "recordSet": [],
    }
    out |= {"url": details.url} if details.url else {}
    out |= {"sameAs": f"https://doi.org/{details.doi}"} if details.doi else {}
    distribution, records = [*_listed(out["distribution"])], []
    for table in tables:
        source: dict[str, Json] = {"fileObject": {"@id": objects[table.files[0].path]}}
        if len(table.files) > 1:
            name = _unique(f"{table.name}-files", used_ids)
            distribution.append(_file_set(name, table))
            source = {"fileSet": {"@id": name}}
        records.append(_record_set(table, source, used_ids, release))
    if media := _media(release, used_ids):
        distribution.append(media)
    return {**out, "distribution": distribution, "recordSet": [*records], **responsible(release)}


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _unique(name: str, used_ids: set[str]) -> str:
    """An identifier that nothing else in the file has."""
    clean = "".join(letter if letter.isalnum() or letter in "._-/" else "-" for letter in name) or "part"
    out, number_of = clean, 2
    while out in used_ids:
        out, number_of = f"{clean}-{number_of}", number_of + 1
    used_ids.add(out)
    return out


def _tables(published: Sequence[PublishedFile]) -> list[_Table]:
    """Tables of Parquet and CSV files, by layout; files of other formats belong to no record set."""
    out = []
    for (layout, table), files in by_layout(published).items():
        for suffix in FORMATS:
            table_files = tuple(file for file in files if PurePosixPath(file.path).suffix == suffix)
            if table_files:
                out.append(_Table(table if table.startswith(layout) else f"{layout} {table}", table_files))
    return out


def _description(release: Release) -> str:
    about = one_line(say(release.snapshot.study.description), 2000)
    text = f"{one_line(title_of(release))}: {size_words(release)}."
    return f"{text} {about}".strip()


def _creator(author: Author) -> dict[str, Json]:
    if author.parts is None:
        return {"@type": "sc:Organization", "name": one_line(author.name)}
    out: dict[str, Json] = {"@type": "sc:Person", "name": one_line(str(author))}
    return out | ({"url": f"https://orcid.org/{author.orcid}"} if author.orcid else {})


def _file_object(file: PublishedFile, objects: Mapping[str, str], folder: Path) -> Json:
    path = folder / file.path
    part = f", part {file.split}" if file.split else ""
    return {
        "@type": "cr:FileObject",
        "@id": objects[file.path],
        "name": objects[file.path],
        "description": f"{file.layout}: {file.table}{part}, {plural(file.rows, 'row')}",
        "contentUrl": file.path,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": FORMATS[path.suffix],
        "sha256": sha256_of(path),
    }


def _file_set(name: str, table: _Table) -> Json:
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": f"All files of {table.name}",
        "encodingFormat": FORMATS[PurePosixPath(table.files[0].path).suffix],
        "includes": [file.path for file in table.files],
    }


def _media(release: Release, used_ids: set[str]) -> Json:
    """The media files together; their hashes are in media.csv and CHECKSUMS.sha256."""
    paths = [medium.path for medium in release.media.values() if medium.path]
    if not paths:
        return None
    kinds = sorted({mimetypes.guess_type(path)[0] or "application/octet-stream" for path in paths})
    name = _unique("media-files", used_ids)
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": ". ".join([f"{plural(len(paths), 'media file')} without metadata", *origin_sentences(release)]),
        "encodingFormat": [*kinds],
        "includes": [*sorted({f"{PurePosixPath(path).parts[0]}/**" for path in paths})],
    }


def _record_set(table: _Table, source: Mapping[str, Json], used_ids: set[str], release: Release) -> Json:
    name = _unique(table.name, used_ids)
    columns = {column.name: column for file in table.files for column in file.columns}
    parquet = table.files[0].path.endswith(".parquet")
    fields: list[Json] = []
    for column in columns.values():
        many = type_words(column.dtype) == "list of numbers"
        kind = KINDS.get(type_words(column.dtype))
        if kind is None:
            continue
        if many and not parquet:  # a CSV cell holds all of them
            kind = KINDS["text"]
        field: dict[str, Json] = {
            "@type": "cr:Field",
            "@id": _unique(f"{name}/{column.name}", used_ids),
            "name": f"{name}/{column.name}",
            "description": one_line(column.about),
            "dataType": kind,
            "source": {**source, "extract": {"column": column.name}},
        }
        if many and parquet:
            field["repeated"] = True
        fields.append(field)
    rows = sum(file.rows for file in table.files)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{table.files[0].table} of {one_line(title_of(release))}, {plural(rows, 'row')}",
        "field": fields,
    }


# --- responsible AI ---------------------------------------------------------------------------------------------------


def responsible(release: Release) -> dict[str, Json]:
    details = release.details
    parts: dict[str, str] = {}
    if release.analysis is not None:
        parts = {paragraph.title: paragraph.text for paragraph in methods_section(release.analysis)}
    origins = "; ".join(origin_sentences(release))
    collected = (
        *(parts.get("Participants and ratings"), parts.get("Procedure"), details.recruitment, details.collected),
        f"Stimuli: {origins}." if origins else None,
    )
    out: dict[str, Json] = {
        "rai:dataCollection": " ".join(text for text in collected if text) or NOT_STATED,
        "rai:dataCollectionType": ["Human ratings"],
        "rai:dataCollectionMissingData": _missing(release),
        "rai:dataCollectionRawData": "Single ratings are published; labels are made from them.",
        "rai:dataAnnotationProtocol": _texts(parts, "Measures", "Labels") or [NOT_STATED],
        "rai:dataAnnotationAnalysis": _reliability(release),
        "rai:annotationsPerItem": _per_item(release),
        "rai:annotatorDemographics": _demographics(release),
        "rai:dataPreprocessingProtocol": [*sentences(release.record)] or ["No step is recorded."],
        "rai:personalSensitiveInformation": [privacy_words(release)],
        "rai:dataUseCases": [stated(details.uses or details.purpose), f"Not for: {stated(details.not_for)}"],
        "rai:dataLimitations": [stated(details.limits)],
        "rai:dataBiases": [stated(details.biases)],
        "rai:dataSocialImpact": stated(details.ethics),
        "rai:dataReleaseMaintenancePlan": stated(details.maintenance),
    }
    machines = release.snapshot.fields
    if machines.height and "source" in machines.columns:
        tools = [one_line(name) for name in machines["source"].drop_nulls().unique().sort()]
        out |= {"rai:machineAnnotationTools": [*tools]} if tools else {}
    return out


def _texts(parts: Mapping[str, str], *titles: str) -> list[Json]:
    return [parts[title] for title in titles if title in parts]


def _missing(release: Release) -> str:
    counted = left_out(release)
    reasons = [
        f"{subject}: {one_line(reason)} ({number(count)})" for _, subject, reason, count in counted[:MOST_REASONS]
    ]
    return "; ".join(reasons) or "Nothing was left out."


def _reliability(release: Release) -> list[Json]:
    rows = reliability_grid(release, brief=True).rows
    return [f"{row[0]}: {row[1]} {cell_text(row[2])}" for row in rows] or ["No reliability could be estimated."]


def _per_item(release: Release) -> str:
    if release.analysis is None:
        return NOT_STATED
    counts = release.analysis.summary.counts.ratings_per_item
    phrases = [f"{plural(items, 'item')} with {plural(int(n), 'rating')}" for n, items in counts.items()]
    return listed(phrases, 12) if phrases else "No single ratings are published."


def _demographics(release: Release) -> list[Json]:
    out: list[Json] = []
    for fact in rater_facts(release):
        answers: Sequence[str] = [f"{one_line(answer)} ({number(count)})" for answer, count in fact.answers]
        out.append(f"{fact.column}: {fact.summary or listed(answers, 20)}")
    return out or ["Nothing but a pseudonym is published about raters."]
