"""Media files stay what raters heard or saw: each is hashed when it is first served, and one that changes later is refused.

A file counts as unchanged while its size and times are; otherwise it is hashed again. A stimulus without answers may change
freely. One with answers may not, unless the researcher accepts its new file: that is recorded as a version of the file, by
which a snapshot tells the ratings of the old file from those of the new one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heartfelt.collect.material import MediaFile
from heartfelt.collect.messages.commands import Command
from heartfelt.collect.messages.errors import MediaChanged
from heartfelt.collect.reading import media
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.collect.versions import changed_media, refuse
from heartfelt.files import sha256_of

_HASHED_AT_START = 2 * 2**30
"""Bytes of files with new times that are hashed when the study is opened; the others are when they are served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaVersion:
    """One version of a stimulus's file."""

    stimulus: str
    version: int
    hash: str
    bytes: int
    modified: int
    """When the file was last changed or moved, in nanoseconds."""

    @property
    def stamp(self) -> tuple[int, int]:
        """Size and time, which tell an unchanged file without reading it."""
        return self.bytes, self.modified


@dataclass(frozen=True, slots=True)
class RecordMedia(Command[None]):
    """Store versions of files; one that is stored already gets the file's new time."""

    versions: Sequence[MediaVersion]


def record(work: Transaction, command: RecordMedia) -> None:
    """Handle :class:`RecordMedia`."""
    for version in command.versions:
        values: dict[str, Any] = {
            name: getattr(version, name) for name in ("stimulus", "version", "hash", "bytes", "modified")
        }
        insert = (
            "INSERT INTO media_versions (stimulus, version, at, hash, bytes, modified)"
            " VALUES (:stimulus, :version, :at, :hash, :bytes, :modified) ON CONFLICT DO NOTHING"
        )
        update = (
            "UPDATE media_versions SET modified = :modified"
            " WHERE stimulus = :stimulus AND version = :version AND hash = :hash"
        )
        work.after_rows.append((insert, {**values, "at": work.now}))
        work.after_rows.append((update, {k: v for k, v in values.items() if k != "bytes"}))


class MediaGuard:
    """Compares the files that are served with those that were."""

    def __init__(self, folder: Path, read: Callable[..., Any], do: Callable[[Command[None]], None]) -> None:
        self._folder = folder
        self._read = read
        self._do = do
        self._latest: dict[str, MediaVersion] | None = None
        self._unchanged: dict[str, tuple[int, int]] = {}

    def verify(self, file: MediaFile) -> None:
        """Raise where a file is not the one that was rated; the first time, its hash is stored. Raises ``OSError`` too."""
        stamp = _stamp(os.stat(file.file))  # noqa: PTH116 - asked for every request of a file
        if self._unchanged.get(file.stimulus) == stamp:
            return
        latest = self._versions().get(file.stimulus)
        if latest is None or latest.stamp != stamp:
            present = _version(file, stamp)
            if latest is None:
                self._do(RecordMedia([present]))
                latest = MediaVersion(**self._read(media.latest_version, file.stimulus))
                self._versions()[file.stimulus] = latest
            if latest.hash == present.hash:
                self._add([replace(present, version=latest.version)])
            elif file.stimulus in self._read(media.rated_stimuli):
                raise MediaChanged(
                    f"The media file of '{file.stimulus}' is not the one that was rated.",
                    "Put the old file back, or restart the server with --accept-media.",
                )
            else:
                self._add([replace(present, version=latest.version + 1)])
        self._unchanged[file.stimulus] = stamp

    def check(self, files: Iterable[MediaFile], *, accept: bool) -> list[str]:
        """Refuse rated stimuli whose files have changed, or accept them as new versions; returns those accepted."""
        latest = self._versions()
        budget, same, changed = _HASHED_AT_START, [], []
        for file in files:
            before = latest.get(file.stimulus)
            stamp = None if before is None else _stamp_if_there(file)
            if before is None or stamp is None or stamp == before.stamp:
                continue
            if stamp[0] == before.bytes and budget <= 0:
                continue
            budget -= stamp[0]
            present = _version(file, stamp)
            if present.hash == before.hash:
                same.append(replace(present, version=before.version))
            else:
                changed.append(replace(present, version=before.version + 1))
        rated = self._read(media.rated_stimuli) if changed else set()
        names = sorted(version.stimulus for version in changed if version.stimulus in rated)
        if names and not accept:
            raise refuse(self._folder, [changed_media(names)])
        self._add([*same, *changed])
        return names

    def _add(self, versions: Sequence[MediaVersion]) -> None:
        latest = self._versions()
        if any(latest.get(version.stimulus) != version for version in versions):
            self._do(RecordMedia(versions))
            latest.update({version.stimulus: version for version in versions})

    def _versions(self) -> dict[str, MediaVersion]:
        """The latest version of every file that was served."""
        if self._latest is None:
            rows = self._read(media.versions).drop("at").iter_rows(named=True)
            self._latest = {row["stimulus"]: MediaVersion(**row) for row in rows}
        return self._latest


def _stamp(status: os.stat_result) -> tuple[int, int]:
    """Size and time. The inode's time changes when a file is renamed over another, whatever its own time is."""
    return status.st_size, max(status.st_mtime_ns, status.st_ctime_ns)


def _stamp_if_there(file: MediaFile) -> tuple[int, int] | None:
    with suppress(OSError):
        return _stamp(os.stat(file.file))  # noqa: PTH116 - a Path for each of 160,000 files takes seconds
    return None


def _version(file: MediaFile, stamp: tuple[int, int]) -> MediaVersion:
    digest = sha256_of(file.path)
    return MediaVersion(stimulus=file.stimulus, version=1, hash=digest, bytes=stamp[0], modified=stamp[1])
