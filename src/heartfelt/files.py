"""Writing to disk so that what is there is either complete or absent, and reading paths that stay inside.

Whatever is about people (answers, participants' ids, keys) is ``private``: its owner alone reads it, whatever the umask.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
import tomllib
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from heartfelt.errors import HeartfeltError, InputError

_log = logging.getLogger(__name__)
_PLAIN_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,78}[a-z0-9_-])?")
_HASHED_NAME = re.compile(r"-[0-9a-f]{10}$")
_LONGEST_NAME = 120
PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


class TemporaryFolder:
    """A folder that is removed when the object is."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="heartfelt-"))
        self._leave = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def must_be_free(target: Path) -> None:
    """Raise where a folder that is to be made is there and holds something; to be asked before long work begins."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(
            f"{target} already exists and is not empty.", "Choose another folder, or remove this one first."
        )


@contextmanager
def whole_folder(target: Path, *, replace: bool = False, private: bool = False) -> Iterator[Path]:
    """Yield a folder to fill that becomes ``target`` only when the block ends without an error."""
    target = Path(target)
    if not replace:
        must_be_free(target)
    try:
        make_folders(target.parent, private=private)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InputError(
            f"Cannot write to {target.parent}: {error.strerror}.", "Choose a folder you can write to."
        ) from error
    old = None
    try:
        yield scratch
        if private:
            make_private(scratch)
        else:
            scratch.chmod(0o755)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            target.rename(old / "was")
        scratch.rename(target)
        _log.debug("wrote the folder %s", target)
    except BaseException:  # cleared away, and raised again
        shutil.rmtree(scratch, ignore_errors=True)
        if old is not None and not target.exists():
            (old / "was").rename(target)
        raise
    finally:
        if old is not None and target.exists():  # what was there is removed only once something is in its place
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write that becomes ``path`` only when the block ends without an error."""
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(PRIVATE_FILE if private else 0o644)
        Path(name).replace(path)
    except BaseException:  # cleared away, and raised again
        Path(name).unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write ``content`` so that the file is either the old one or the new one, never half of it."""
    with whole_file(path, private=private) as out:
        out.write(content)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """The same for text."""
    write_bytes(path, text.encode("utf-8"), private=private)


def make_folders(folder: Path, *, private: bool) -> None:
    """Create a folder and those above it that are missing; ``private`` ones are their owner's alone."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        if private:
            path.chmod(PRIVATE_FOLDER)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; one that exists stays as it is."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        os.close(handle)
        path.chmod(PRIVATE_FILE)


def make_private(path: Path) -> bool:
    """Take a file, or a folder with everything in it, away from all but its owner; says whether others had access."""
    shared = False
    for inner in (path, *path.rglob("*")):
        if not inner.is_symlink():
            mode = stat.S_IMODE(inner.stat().st_mode)
            shared = shared or bool(mode & 0o077)
            inner.chmod(mode & 0o700 | (PRIVATE_FOLDER if inner.is_dir() else PRIVATE_FILE))
    return shared


def make_public(path: Path) -> None:
    """Let everybody read a folder with everything in it: what is published holds nothing private any more."""
    for inner in (path, *path.rglob("*")):
        if not inner.is_symlink():
            inner.chmod(0o755 if inner.is_dir() else 0o644)


def read_text(path: Path, if_absent: str, kind: type[HeartfeltError] = InputError) -> str:
    """The text of a file that a person wrote, as UTF-8; ``if_absent`` is the fix where there is none, ``kind`` the error."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise kind(f"There is no {path}.", if_absent) from error
    except UnicodeDecodeError as error:
        raise kind(f"{path} is not UTF-8 text (byte {error.start}).", "Save the file as UTF-8.") from error
    except OSError as error:
        raise kind(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error


def packaged_text(package: str, name: str) -> str:
    """The text of a file that lies beside the code of a package."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def packaged_toml(package: str, name: str) -> Any:
    """The data of a TOML file that lies beside the code of a package, in the shape that this code gave it."""
    return tomllib.loads(packaged_text(package, name))


def file_names(texts: Iterable[str]) -> dict[str, str]:
    """A file name without an ending for each text: its own where that is possible and no other's would be the same."""
    sanitised = {text: re.sub(r"[^\w.-]+", "_", text) for text in texts}
    counts = Counter(name.casefold() for name in sanitised.values())
    return {
        text: name
        if counts[name.casefold()] == 1 and name.strip(".") and len(name.encode()) <= _LONGEST_NAME
        else file_stem(text)
        for text, name in sanitised.items()
    }


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file as hexadecimal, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_stem(name: str) -> str:
    """A name for a file or folder on any system: different texts never share one, also where case does not count.

    A text of up to 80 lower-case letters, digits, dots, hyphens and underscores stays as it is; any other is shortened to such
    characters and ends in the start of its SHA-256.
    """
    if _PLAIN_NAME.fullmatch(name) and not _HASHED_NAME.search(name):
        return name
    words = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:80]
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{words}-{digest}" if words else digest


def inside(root: Path, relative: str, where: str) -> Path:
    """Return ``root / relative``, or raise if that leads out of ``root``.

    Links below ``root`` are followed, wherever they lead: whoever laid out the folder put them there (hub caches are made of
    links). A table may only name what is in the folder: no ``..``, no absolute path, no drive.
    """
    pure = PurePosixPath(relative.replace("\\", "/"))
    if pure.is_absolute() or ":" in relative[:3] or ".." in pure.parts or "\x00" in relative:
        raise InputError(
            f"{where}: the path '{relative}' leads out of {root}.",
            "Use paths relative to that folder, and keep the media inside it.",
        )
    return root.resolve() / pure
