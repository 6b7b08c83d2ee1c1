"""Media to publish: files without metadata, or links and hashes where sharing is not allowed.

The hash of a file behind a link is that of its content without metadata (:func:`content_digest`), so that who has the file can
check it; where nothing of a file is public, its hash is keyed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import polars as pl

from heartfelt.files import inside, sha256_of
from heartfelt.media.metadata import Pieces, UnknownMetadataError, read_range, without_metadata
from heartfelt.progress import Progress
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import keyed_hash
from heartfelt.publishing.release.release import PublishedMedium
from heartfelt.wording import plural

MEDIA = "media"
ORIGINAL = "media file"
"""What the keyed hash of a file is over that is not published."""
LICENCE_COLUMNS = ("licence", "license", "media_licence", "media_license")
LINK_COLUMNS = ("link", "url", "media_url", "source_url")
_AT_ONCE = 1 << 20
_SHARED = r"(?:re-?)?(?:distribut\w*|shar\w*|publish\w*|publication|upload\w*)"
_FORBIDS = re.compile(
    rf"""
    all\ rights\ reserved | proprietary | confidential | internal\ use | not\ redistributable
    | (?:personal|private)(?:,?\ (?:and\ )?non-?commercial)?\ use\ only | only\ for\ (?:personal|private)\ use
    | (?:no|not\ for|without|forbids?|prohibits?)\ (?:any\ |further\ |public\ )?{_SHARED}
    | (?:do|may|must|can|shall)\ ?not\ (?:be\ )?{_SHARED}
    | {_SHARED}\ (?:is|are)?\ ?(?:not\ (?:allowed|permitted)|prohibited|forbidden)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NO_DERIVATIVES = re.compile(r"\bCC[ -]BY(?:[ -]NC)?[ -]ND\b|no ?-?derivatives", re.IGNORECASE)


def publish_media(
    draft: Draft, folder: Path, share: bool | None, progress: Progress, key: bytes
) -> tuple[Draft, dict[str, PublishedMedium]]:
    """Write every medium that may be shared below ``folder / "media"``, without metadata; and say how each is published.

    ``share`` decides for all of them; None leaves it to the licence of each stimulus.
    """
    stimuli, root = draft.tables["stimuli"], draft.source.media_root
    licences, links = _first(stimuli, LICENCE_COLUMNS), _first(stimuli, LINK_COLUMNS)
    paths, originals = _column(stimuli, "path"), _column(stimuli, "original")
    plan: dict[str, PublishedMedium] = {}
    for index, name in enumerate(stimuli["stimulus"].to_list()):
        path = paths[index]
        file = None if root is None or path is None else inside(root, path, f"stimulus {name}")
        if file is None or not file.is_file():
            plan[name] = PublishedMedium(
                stimulus=name, sha256="", bytes=0, link=links[index], why_absent="the media file was not at hand"
            )
            continue
        # What 'heartfelt prepare' cropped and levelled is a changed version of its original.
        reason = _why_not_shared(share, licences[index], adapted=originals[index] is not None)
        plan[name] = _publish(name, file, str(path), folder, links[index], reason, key)
        if index % 100 == 0:
            progress("media without metadata", index, stimuli.height)
    return _with_paths(draft, folder, plan), plan


def _first(stimuli: pl.DataFrame, names: tuple[str, ...]) -> list[str | None]:
    """The texts of the first of these columns that there is."""
    return _column(stimuli, next((name for name in names if stimuli.schema.get(name) == pl.String), ""))


def _column(stimuli: pl.DataFrame, name: str) -> list[str | None]:
    return stimuli[name].to_list() if name in stimuli.columns else [None] * stimuli.height


def _why_not_shared(share: bool | None, licence: str | None, *, adapted: bool) -> str | None:
    """Why a media file is not published; None where it is."""
    if share is False:
        return "the media may not be shared"
    if share is None and forbids_sharing(licence):
        return f"the licence of the media forbids sharing ({licence})"
    if share is None and adapted and forbids_adapting(licence):
        return f"the licence of the media forbids sharing changed versions ({licence}), and it was prepared"
    return None


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
            with target.open("wb") as out:
                digest = _copied(file, pieces, out)
            return PublishedMedium(
                stimulus=name, sha256=digest, bytes=pieces.size, path=f"{MEDIA}/{path}", source=target, link=link
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
    return _copied(file, pieces, None)


def _copied(file: Path, pieces: Pieces, out: BinaryIO | None) -> str:
    """Write these pieces of a file, and return their SHA-256."""
    digest = hashlib.sha256()
    for at in range(0, pieces.size, _AT_ONCE):
        part = read_range(file, pieces, at, min(pieces.size, at + _AT_ONCE))
        digest.update(part)
        if out is not None:
            out.write(part)
    return digest.hexdigest()


def _with_paths(draft: Draft, folder: Path, plan: Mapping[str, PublishedMedium]) -> Draft:
    """The stimuli as their media are published, and the steps that this took."""
    shared = [name for name, medium in plan.items() if medium.path is not None]
    if shared:
        about = f"{plural(len(shared), 'media file')} published without metadata (tags, comments, dates, places)."
        draft = draft.after("media", "stimuli", "path", about, rows=len(shared))
    reasons = Counter(medium.why_absent for medium in plan.values() if medium.why_absent is not None)
    for reason, count in reasons.items():
        about = f"{plural(count, 'stimulus', 'stimuli')} without a media file: {reason}."
        draft = draft.after("media", "stimuli", "path", about, rows=count)
    sizes = {name: plan[name].bytes for name in shared}
    size = pl.col("stimulus").replace_strict(sizes, default=None, return_dtype=pl.Int64)
    facts = {"bytes": pl.coalesce(size, "bytes"), "found": pl.col("stimulus").is_in(shared)}
    stimuli = draft.with_values("stimuli", **{name: facts[name] for name in draft.having("stimuli", *facts)})
    source = replace(draft.source, media_root=folder / MEDIA if shared else None)
    return replace(draft.changed(stimuli=stimuli), source=source)


def media_table(plan: Mapping[str, PublishedMedium]) -> pl.DataFrame:
    """``stimulus, path, sha256, bytes, link, why_absent`` of every medium."""
    names = ("stimulus", "path", "sha256", "bytes", "link", "why_absent")
    rows = [tuple(getattr(medium, name) for name in names) for medium in plan.values()]
    kinds = {name: pl.Int64 if name == "bytes" else pl.String for name in names}
    return pl.DataFrame(rows, schema=kinds, orient="row")


# --- what a licence says in words ---------------------------------------------------------------------------------------


def forbids_sharing(licence: str | None) -> bool:
    """Whether a licence says in words that the media may not be passed on."""
    return licence is not None and _FORBIDS.search(licence) is not None


def forbids_adapting(licence: str | None) -> bool:
    """Whether a licence lets only unchanged copies be passed on."""
    return licence is not None and _NO_DERIVATIVES.search(licence) is not None
