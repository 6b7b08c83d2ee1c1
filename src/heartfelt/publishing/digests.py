"""Every hash in a release: those of unpublished content are keyed, and ``digests.csv`` lists all with what they are over.

A plain hash of something private lets anybody confirm a guess, and few unknown labels can be guessed one after the other. So only
what is published itself has a plain hash. The list is made by searching every file, so that no hash can be left out of it; one that
nobody can account for stops the release.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.files import sha256_of, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.publishing.anonymity.check import PrivateDataError, texts_in
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import KEYED, PSEUDONYM, keyed_hash
from heartfelt.publishing.anonymity.media import ORIGINAL
from heartfelt.publishing.release.checksums import CHECKSUMS
from heartfelt.publishing.release.release import PublishedMedium, Release
from heartfelt.publishing.statements.columns import RENAMED
from heartfelt.serialization import dumps
from heartfelt.study import parse_study, study_text

DIGESTS = "digests.csv"
SOURCE = "source snapshot"
"""What the keyed hash of the whole source is over."""
TEXT, NAME = "its text", "its name"
"""Places of a file that have no name of their own."""
OVER = {
    "sha256": ORIGINAL,
    "original_sha256": "media file before preparing",
    "prompt_hash": "what a model was asked",
    "consent_document": "consent document",
    "study_version": "version of the study",
    "source_hash": SOURCE,
    TEXT: SOURCE,
}
"""What keyed hashes are over, by the column or place they are in."""
_SOUNDS_LIKE = re.compile(r"sha\d*|md5|hash|digest|checksum", re.IGNORECASE)
_HEXADECIMAL = r"[0-9a-fA-F]{16,}"
_DIGEST = re.compile(
    rf"{KEYED}[0-9a-f]+|(?<![0-9A-Za-z])[{''.join(p[0] for p in PSEUDONYM.values())}]_[a-z2-7]{{16}}(?![0-9a-z])"
    rf"|(?<![0-9A-Za-z.]){_HEXADECIMAL}(?![0-9A-Za-z])"
)
_KEY = re.compile(r'"(\w+)":')
_PREFIX = 16
_TABLES = frozenset({".parquet", ".csv", ".tsv", ".tar"})
SOURCE_COLUMN = "not known: a column of the source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """One kind of hash in one place of a release."""

    algorithm: str
    keyed: bool
    over: str


# --- keyed ------------------------------------------------------------------------------------------------------------


def with_keyed_hashes(draft: Draft, media: Mapping[str, PublishedMedium], key: bytes) -> Draft:
    """With hashes of unpublished content under the key, in whatever table and column they are."""
    current = {name for name, text in draft.source.versions.items() if parse_study(text).hash == name}
    public = {draft.study.hash, *current, *(medium.sha256 for medium in media.values())}
    versions = {
        name if name in current else keyed_hash(key, OVER["study_version"], name): text
        for name, text in draft.source.versions.items()
    }
    about = "Hashes of what is not published are keyed (HMAC-SHA256)."
    for table, frame in draft.tables.items():
        for column in filter(_may_hold_hashes, frame.columns):
            keyed = _keyed(frame[column], OVER.get(column, column), public, key)
            if not keyed.equals(frame[column]):
                draft = draft.after("hashes", table, column, about, draft.with_values(table, **{column: keyed}))
    return replace(draft, source=replace(draft.source, versions=versions))


def _may_hold_hashes(column: str) -> bool:
    return column in OVER or _SOUNDS_LIKE.search(column) is not None


def _keyed(column: pl.Series, purpose: str, public: set[str], key: bytes) -> pl.Series:
    if column.dtype != pl.String:
        return column
    values = column.drop_nulls().unique().to_list()
    new = {
        value: keyed_hash(key, purpose, value)
        for value in values
        if value not in public and re.fullmatch(rf"(?:\w+:)?{_HEXADECIMAL}", value)
    }
    return column.replace(new) if new else column


# --- listed -----------------------------------------------------------------------------------------------------------


def write_digests(release: Release, folder: Path) -> Path:
    """Write ``digests.csv``; call it when all but the checksums is written."""
    digests, stated = (_known_digests(release, folder), study_text(release.snapshot.study) + dumps(release.details))
    stated += "".join(release.snapshot.source.versions.values())
    counted: Counter[tuple[str, str, str, bool, str]] = Counter()
    paths = [path for path in folder.rglob("*") if path.is_file()]
    # Tables first: other files repeat what tables hold.
    for path in sorted(paths, key=lambda path: (path.suffix not in _TABLES, path)):
        name = path.relative_to(folder).as_posix()
        for field, value in _digests_in(path, name):
            digest = _accounted(value, digests, stated, field)
            if digest is None and path.suffix in _TABLES:
                digest = Digest(algorithm="as the source gives it", keyed=False, over=SOURCE_COLUMN)
                digests[value[:_PREFIX]] = digest
            if digest is None:
                raise PrivateDataError(
                    f"Nothing was published: {name} holds the hash '{value[:20]}', and nobody knows what it is over.",
                    "Leave the text it is in out with --drop.",
                )
            counted[name, field, digest.algorithm, digest.keyed, digest.over] += 1
    counted[CHECKSUMS, TEXT, "SHA-256", False, "published file"] = len(paths) + 1
    rows = [(*location, count) for location, count in sorted(counted.items())]
    schema = ["file", "field", "algorithm", "keyed", "over", "count"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    write_text(folder / DIGESTS, csv_text(table.with_columns(pl.col("keyed").cast(pl.String))))
    return folder / DIGESTS


def _digests_in(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Every hash in a file's name and in the file, once per column or line, with where it is."""
    yield from ((NAME, value) for value in _digests(name))
    for where, texts in texts_in(path):
        hits = texts.filter(texts.str.contains(f"{_HEXADECIMAL}|_[a-z2-7]{{16}}").fill_null(False))
        column = where.removeprefix("column ") if where.startswith("column ") else ""
        for text in hits:
            key = _KEY.search(text) if path.suffix == ".json" else None
            field = column or ("json" if path.suffix == ".tar" else key[1] if key else TEXT)
            yield from ((field, value) for value in _digests(text))


def _digests(text: str) -> list[str]:
    """What may be a hash in a text; digits without a letter are a number."""
    return [value for value in _DIGEST.findall(text) if not value.isdecimal()]


def _known_digests(release: Release, folder: Path) -> dict[str, Digest]:
    """What every plain hash that heartfelt writes is over, by its first digits."""
    snapshot, benchmark = release.snapshot, release.benchmark
    hashes = {snapshot.hash: "published snapshot", snapshot.study.hash: "published study"}
    hashes |= {value: f"published table of {name}" for name, value in snapshot.table_hashes.items()}
    hashes |= dict.fromkeys(snapshot.source.versions, "published version of the study")
    if benchmark is not None:
        hashes[benchmark.hash] = "published benchmark"
        hashes |= {value: f"published benchmark's {name}" for name, value in benchmark.table_hashes.items()}
    hashes |= {step.settings["hash"]: "published split" for step in release.record.steps if step.kind == "split"}
    media = [medium for medium in release.media.values() if medium.sha256]
    hashes |= {medium.sha256: "linked media file without metadata" for medium in media if not medium.path}
    hashes |= {medium.sha256: "published media file" for medium in media if medium.path}
    published = {medium.path for medium in media}
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in published:
            hashes.setdefault(sha256_of(path), "published file")
    return {value[:_PREFIX]: Digest(algorithm="SHA-256", keyed=False, over=over) for value, over in hashes.items()}


def _accounted(value: str, digests: Mapping[str, Digest], stated: str, field: str) -> Digest | None:
    if value.startswith(KEYED):
        over = OVER.get(field) or OVER.get(field.removeprefix(RENAMED), field)
        return Digest(algorithm="HMAC-SHA256", keyed=True, over=over)
    if value[1] == "_":
        kind = next(kind for kind, start in PSEUDONYM.items() if value.startswith(start))
        return Digest(algorithm="HMAC-SHA256, 80 bits", keyed=True, over=f"id of a {kind}")
    if value[:_PREFIX] in digests:
        return digests[value[:_PREFIX]]
    if value in stated:
        return Digest(algorithm="as the authors give it", keyed=False, over="what the authors state")
    return None
