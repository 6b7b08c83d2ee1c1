"""The files of a release that may be sent: those it was published with, unchanged, and nothing private."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt.errors import InputError
from heartfelt.files import sha256_of
from heartfelt.publishing.release.checksums import CHECKSUMS, check_checksums
from heartfelt.publishing.release.record import RECORD

PRIVATE = "-private"


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file, under the name it has where it is sent."""

    name: str
    path: Path
    bytes: int
    sha256: str


def release_files(folder: Path, private: Path | None = None) -> tuple[ReleaseFile, ...]:
    """Every file of a release, in the order of their names; an error for a folder that is not a release as published."""
    if folder.resolve().name.endswith(PRIVATE):
        raise InputError(
            f"{folder} is a private folder: it holds the key and what identifies raters.",
            "Point to the folder that was published.",
        )
    if not (folder / RECORD).is_file() or not (folder / CHECKSUMS).is_file():
        raise InputError(
            f"{folder} is not a published folder: it has no {RECORD} or no {CHECKSUMS}.",
            "Make one with 'heartfelt publish SOURCE OUT'.",
        )
    links = [path for path in folder.rglob("*") if path.is_symlink()]
    if links:
        raise InputError(
            f"{links[0]} is a link; what it leads to may be private.", "Publish again: a release has no links."
        )
    check_checksums(folder)
    digests = {name: digest for digest, name in map(_entry, _lines(folder))}
    digests[CHECKSUMS] = sha256_of(folder / CHECKSUMS)
    files = tuple(
        ReleaseFile(name, folder / name, (folder / name).stat().st_size, digests[name]) for name in sorted(digests)
    )
    _check_nothing_private(folder, private, files)
    return files


def _lines(folder: Path) -> list[str]:
    return (folder / CHECKSUMS).read_text(encoding="utf-8").split("\n")[:-1]


def _entry(line: str) -> tuple[str, str]:
    """The hash and the name in a line of sha256sum; a leading backslash marks a name with escaped characters."""
    digest, name = line.removeprefix("\\").split("  ", 1)
    if line.startswith("\\"):
        name = re.sub(r"\\(.)", lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1]), name)
    return digest, name


def _check_nothing_private(folder: Path, private: Path | None, files: Sequence[ReleaseFile]) -> None:
    """Refuse a copy of a file of the private folder (key, pseudonyms, quarantine), whatever it is called."""
    private = private or folder.resolve().with_name(f"{folder.resolve().name}{PRIVATE}")
    if not private.is_dir():
        return
    secret = {sha256_of(path): path for path in private.iterdir() if path.is_file() and path.stat().st_size}
    for file in files:
        if file.sha256 in secret:
            raise InputError(
                f"{file.path} is a copy of {secret[file.sha256]}, which is private.", "Remove it and publish again."
            )


def git_blob_id(path: Path) -> str:
    """The name that git gives a file's content."""
    # Git names content by SHA-1 and its length; nothing is protected by it here.
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()
