"""The media files that paths and folders stand for, every one of them named: what cannot be asked about has the reason.

A folder stands for the files below it whose endings are those of the kinds wanted, linked folders included, each folder once. Media
in formats that cannot be read, links to nothing, folders that cannot be opened and names that are not UTF-8 are found too.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt.errors import InputError
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.wording import plural

_MORE_SOUND = ".aac .ac3 .aifc .amr .ape .m4a .m4b .mka .mp2 .mpc .oga .rf64 .snd .spx .tta .voc .wma .wv"
_FILMS = ".avi .m4v .mkv .mov .mp4 .mpeg .mpg .ogv .webm .wmv"
_MORE_IMAGES = ".avif .heic .heif .jfif .jp2 .jxl .svg"
SUFFIXES = {"audio": AUDIO.union(_MORE_SOUND.split(), _FILMS.split()), "image": IMAGES.union(_MORE_IMAGES.split())}
"""The endings of files that are named, by kind, films among those with sound; not every one of these can be read."""
_NUMBERED = {"audio": ("sound file", "sound files"), "image": ("image", "images")}
KIND_WORDS = {kind: words for kind, (_, words) in _NUMBERED.items()}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to ask about."""

    path: Path
    problem: str | None = None
    """Why nothing can be asked about it."""

    @property
    def name(self) -> str:
        """The path as text; what is not UTF-8 in it is written as bytes."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


def find_files(files: object, kinds: Sequence[str] = ("audio",)) -> list[FoundFile]:
    """What was named, in order, each file once; a folder stands for the files of these kinds below it, in order."""
    wanted = tuple(kinds) or tuple(SUFFIXES)
    by_name: dict[str, FoundFile] = {}
    empty: list[tuple[str, str]] = []
    for path in _paths(files):
        inside = list(_files_of(path, wanted))
        if not inside:
            problem, fix = _nothing_inside(path, wanted)
            empty.append((problem, fix))
            inside = [FoundFile(path, problem)]
        for file in inside:
            by_name.setdefault(file.name, file)
    if empty and len(empty) == len(by_name):
        raise InputError(*empty[0])
    return list(by_name.values())


def _paths(files: object) -> Iterator[Path]:
    """The path or paths that somebody gave; an error for anything else."""
    several = [files] if isinstance(files, str | Path) else files
    if isinstance(several, Mapping | bytes | type) or not isinstance(several, Iterable):
        raise InputError(
            f"Nothing can be predicted for a value of type '{type(files).__name__}'.",
            "Give media files, a folder, a list of them, or a snapshot: heartfelt.read(...).",
        )
    for name in several:
        if not isinstance(name, str | Path):
            raise InputError(f"{name!r:.80} is not the path of a file or folder.", "Give paths.")
        if not str(name).strip():
            raise InputError("An empty name is no file or folder.", "For the current folder, give '.'.")
        yield Path(name)


def _files_of(path: Path, kinds: Sequence[str]) -> Iterator[FoundFile]:
    if _is_folder(path):
        yield from files_below(path, kinds)
    else:
        yield FoundFile(path, _problem(path))


def files_below(folder: Path, kinds: Sequence[str] = tuple(SUFFIXES)) -> list[FoundFile]:
    suffixes = frozenset().union(*(SUFFIXES[kind] for kind in kinds))
    return sorted(_below(folder, suffixes), key=lambda file: file.path)


def _below(folder: Path, suffixes: frozenset[str]) -> Iterator[FoundFile]:
    """The files with these endings; links to folders are followed last, to those that have not been looked into."""
    visited: set[str] = set()
    folders, links = [folder], list[Path]()
    while folders or links:
        inner = folders.pop() if folders else links.pop(0)
        if (real := os.path.realpath(inner)) in visited:
            continue
        visited.add(real)
        try:
            paths = sorted(inner.iterdir())
        except OSError as error:
            yield FoundFile(inner, f"the folder cannot be opened: {error.strerror}")
            continue
        for path in paths:
            if _is_folder(path):
                (links if path.is_symlink() else folders).append(path)
            elif path.suffix.lower() in suffixes:
                yield FoundFile(path, _problem(path))


def _is_folder(path: Path) -> bool:
    """Whether it is known to be a folder; what may not be looked at is not."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _problem(path: Path) -> str | None:
    """Why nothing can be asked about a file, as far as its path tells; one that is not there is missing."""
    try:
        str(path).encode()
        path.stat()
    except UnicodeEncodeError:
        return "its name is not UTF-8; rename the file, or the folder it is in"
    except OSError as error:
        absent = error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
        return None if absent else f"the file cannot be opened: {error.strerror}"
    except ValueError:
        return "no file can have this name"
    return None


def _nothing_inside(folder: Path, kinds: Sequence[str]) -> tuple[str, str]:
    """A folder without files that a predictor reads: the problem, and what can be done."""
    words = " or ".join(KIND_WORDS[kind] for kind in kinds)
    counts = Counter(
        kind
        for file in files_below(folder)
        for kind, suffixes in SUFFIXES.items()
        if kind not in kinds and file.path.suffix.lower() in suffixes
    )
    where = FoundFile(folder).name
    for kind, count in counts.items():
        return (
            f"There are no {words} in {where}, but {plural(count, *_NUMBERED[kind])}.",
            f"Name a model that reads {KIND_WORDS[kind]}.",
        )
    endings = sorted(suffix for kind in kinds for suffix in {"audio": AUDIO, "image": IMAGES}[kind])
    return f"There are no {words} in {where}.", f"File endings that are read: {', '.join(endings)}."
