"""Media to publish: files without metadata, or links and hashes where sharing is not allowed.

The hash of a file behind a link is that of its content without metadata (:func:`content_digest`), so that who has the file can
check it; where nothing of a file is public, its hash is keyed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.files import inside, sha256_of
from heartfelt.media.metadata import Pieces, UnknownMetadataError, read_range, without_metadata
from heartfelt.media.probe import AT_HAND
from heartfelt.progress import Progress
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import keyed_hash
from heartfelt.publishing.anonymity.media_licences import forbids_adapting, forbids_sharing
from heartfelt.publishing.release import PublishedMedium, ReleaseStep
from heartfelt.wording import plural

MEDIA = "media"
ORIGINAL = "media file"
"""What the keyed hash of a file is over that is not published."""
LICENCE_COLUMNS = ("licence", "license", "media_licence", "media_license")
LINK_COLUMNS = ("link", "url", "media_url", "source_url")
_AT_ONCE = 1 << 20


def publish_media(
    draft: Draft, folder: Path, share: bool | None, progress: Progress, key: bytes
) -> tuple[Draft, dict[str, PublishedMedium]]:
    """Write every medium that may be shared below ``folder / "media"``, without metadata; and say how each is published.

    ``share`` decides for all of them; None leaves it to the licence of each stimulus.
    """
    stimuli = draft.tables["stimuli"]
    plan: dict[str, PublishedMedium] = {}
    licence, link = _first(stimuli, LICENCE_COLUMNS), _first(stimuli, LINK_COLUMNS)
    root = draft.source.media_root
    paths = stimuli["path"].to_list() if "path" in stimuli.columns else [None] * stimuli.height
    # What 'heartfelt prepare' cropped and levelled is a changed version of its original.
    adapted = stimuli["original"].is_not_null() if "original" in stimuli.columns else [False] * stimuli.height
    for index, (name, path) in enumerate(zip(stimuli["stimulus"].to_list(), paths, strict=True)):
        where = None if link is None else stimuli[link][index]
        file = None if root is None or path is None else inside(root, path, f"stimulus {name}")
        if file is None or not file.is_file():
            plan[name] = PublishedMedium(
                stimulus=name,
                sha256="",
                bytes=0,
                path=None,
                source=None,
                link=where,
                why_absent="the media file was not at hand",
            )
            continue
        words = None if licence is None else stimuli[licence][index]
        reason = None
        if share is False:
            reason = "the media may not be shared"
        elif share is None and forbids_sharing(words):
            reason = f"the licence of the media forbids sharing ({words})"
        elif share is None and adapted[index] and forbids_adapting(words):
            reason = f"the licence of the media forbids sharing changed versions ({words}), and it was prepared"
        plan[name] = _publish(name, file, str(path), folder, where, reason, key)
        if index % 100 == 0:
            progress("media without metadata", index, stimuli.height)
    return _with_paths(draft, folder, plan), plan


def _first(stimuli: pl.DataFrame, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if stimuli.schema.get(name) == pl.String), None)


def _publish(
    name: str, file: Path, path: str, folder: Path, link: str | None, reason: str | None, key: bytes
) -> PublishedMedium:
    if reason is None:
        try:
            pieces = without_metadata(file)
        except UnknownMetadataError as error:
            reason = error.reason
        else:
            target = inside(folder / MEDIA, path, f"stimulus {name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256()
            with target.open("wb") as out:
                for part in _parts(file, pieces):
                    digest.update(part)
                    out.write(part)
            return PublishedMedium(
                stimulus=name,
                sha256=digest.hexdigest(),
                bytes=pieces.size,
                path=f"{MEDIA}/{path}",
                source=target,
                link=link,
            )
    of_link = None if link is None else content_digest(file)
    sha256 = of_link or keyed_hash(key, ORIGINAL, sha256_of(file))
    return PublishedMedium(
        stimulus=name, sha256=sha256, bytes=file.stat().st_size, path=None, source=None, link=link, why_absent=reason
    )


def content_digest(file: Path) -> str | None:
    """The SHA-256 of a media file without its metadata; None where metadata cannot be removed."""
    try:
        pieces = without_metadata(file)
    except UnknownMetadataError:
        return None
    digest = hashlib.sha256()
    for part in _parts(file, pieces):
        digest.update(part)
    return digest.hexdigest()


def _parts(file: Path, pieces: Pieces) -> Iterator[bytes]:
    for at in range(0, pieces.size, _AT_ONCE):
        yield read_range(file, pieces, at, min(pieces.size, at + _AT_ONCE))


def _with_paths(draft: Draft, folder: Path, plan: Mapping[str, PublishedMedium]) -> Draft:
    """The stimuli as their media are published, and the steps that this took."""
    stimuli = draft.tables["stimuli"]
    shared = [name for name, medium in plan.items() if medium.path is not None]
    steps: list[ReleaseStep] = []
    if shared:
        about = f"{plural(len(shared), 'media file')} published without metadata (tags, comments, dates, places)."
        steps.append(ReleaseStep(kind="media", table="stimuli", column="path", about=about, rows=len(shared)))
    reasons = [medium.why_absent for medium in plan.values() if medium.why_absent is not None]
    for reason in dict.fromkeys(reasons):
        count = reasons.count(reason)
        about = f"{plural(count, 'stimulus', 'stimuli')} without a media file: {reason}."
        steps.append(ReleaseStep(kind="media", table="stimuli", column="path", about=about, rows=count))
    if draft.having("stimuli", *AT_HAND):
        present = pl.col("stimulus").is_in(shared)
        if "bytes" in stimuli.columns:
            sizes = {name: plan[name].bytes for name in shared}
            size = pl.col("stimulus").replace_strict(sizes, default=None, return_dtype=pl.Int64)
            stimuli = stimuli.with_columns(pl.coalesce(size, "bytes").alias("bytes"))
        if "found" in stimuli.columns:
            stimuli = stimuli.with_columns(present.alias("found"))
    source = replace(draft.source, media_root=folder / MEDIA if shared else None)
    return replace(draft.changed(*steps, stimuli=stimuli), source=source)


def media_table(plan: Mapping[str, PublishedMedium]) -> pl.DataFrame:
    """``stimulus, path, sha256, bytes, link, why_absent`` of every medium."""
    names = ("stimulus", "path", "sha256", "bytes", "link", "why_absent")
    rows = [tuple(getattr(medium, name) for name in names) for medium in plan.values()]
    kinds = {name: pl.Int64 if name == "bytes" else pl.String for name in names}
    return pl.DataFrame(rows, schema=kinds, orient="row")
