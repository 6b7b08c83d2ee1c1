"""From a name to a model in memory: a registered model through the cache, an ONNX file by its path, or a name on a hub."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from heartfelt.errors import DamagedError, InputError, UnknownNameError, suggestion
from heartfelt.predictors.weights.model import MODELS, Model, Pretrained
from heartfelt.predictors.weights.network import (
    OTHER_LIBRARIES,
    PullError,
    hub_access,
    hub_copy_hint,
    hub_library,
    offline_switch,
)
from heartfelt.predictors.weights.store import Say, copy_hint, folder_of, pull_model, read_stored, remove_damaged

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LOADED: dict[tuple[str, int, str], Model] = {}
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True)
class ModelSource:
    """What a name refers to."""

    name: str
    kind: Literal["registered", "file", "folder", "hub"]
    pretrained: Pretrained | None = None


def resolve(name: str) -> ModelSource:
    if name in MODELS:
        return ModelSource(name, "registered", MODELS[name])
    path = Path(name).expanduser()
    if path.exists():
        return ModelSource(name, "folder" if path.is_dir() else "file")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix.lower() == ".onnx":
        raise InputError(f"No model is at {name}.", "Check the path.")
    if _HUB_NAME.fullmatch(name):
        return ModelSource(name, "hub")
    raise UnknownNameError(
        f"No model is called '{name}'.",
        suggestion(name, MODELS, "Known models") + " A path or an owner/name on the hub works too.",
    )


def load_model(name: str, *, pull: bool = True, threads: int = 1, say: Say | None = None) -> Model:
    """The model called ``name``, or the ONNX file at that path.

    A registered model is pulled on first use unless ``pull`` is False or HEARTFELT_OFFLINE is set; a damaged file in the cache
    is removed and pulled again. One model is held per process, name and number of threads.
    """
    source = resolve(name)
    if source.pretrained is None:
        path = Path(name).expanduser()
        if source.kind != "file" or path.suffix.lower() != ".onnx":
            raise InputError(
                f"'{name}' is {'on the hub' if source.kind == 'hub' else f'a {source.kind}'}, and an ONNX model is needed here.",
                "Give a registered name ('heartfelt models list') or a file ending in .onnx. Folders and hub names of the "
                "Transformers library go to the predictors 'clap' and 'clip'.",
            )
        content = path.read_bytes()
        identity = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return Model(str(path), identity, {"model.onnx": content}, threads)
    key = (name, threads, str(folder_of(source.pretrained)))
    with _LOADING:
        if key in _LOADED:
            return _LOADED[key]
    contents = _contents(source.pretrained, pull, say or _to_stderr)
    model = Model(name, source.pretrained.identity, contents, threads)
    with _LOADING:
        return _LOADED.setdefault(key, model)


def _contents(pretrained: Pretrained, pull: bool, say: Say) -> dict[str, bytes]:
    try:
        return read_stored(pretrained)
    except DamagedError as error:
        if folder_of(pretrained).exists():
            remove_damaged(pretrained)
            say(error.problem.rstrip("."))
        if switch := offline_switch():
            problem = f"{error.problem.rstrip('.')}, and {switch} is set."
            raise PullError(problem, copy_hint(pretrained)) from error
        if not pull:
            raise PullError(
                f"{error.problem.rstrip('.')}, and it may not be fetched here.",
                f"Run 'heartfelt models pull {pretrained.name}' where there is a network.",
            ) from error
    pull_model(pretrained.name, say=say)
    return read_stored(pretrained)


def _to_stderr(message: str) -> None:
    print(f"heartfelt: {message} …", file=sys.stderr, flush=True)


def hub_folder(
    name: str, revision: str | None = None, fetch: Callable[..., str | os.PathLike[str]] | None = None
) -> Path:
    """The folder of a model of the Hugging Face hub, fetched if it is not there and fetching is allowed.

    ``fetch`` replaces the library's download of the whole repository, for libraries that need only some of its files.
    """
    library = hub_library()
    failures = (
        library.errors.LocalEntryNotFoundError,
        library.errors.HfHubHTTPError,
        library.errors.HFValidationError,
        OSError,
        RuntimeError,
    )
    download = fetch or partial(library.snapshot_download, ignore_patterns=OTHER_LIBRARIES)
    with hub_access(name, revision) as stored_only:
        try:
            return Path(download(name, revision=revision, local_files_only=stored_only is not None))
        except failures as error:
            if stored_only:
                problem = f"Only a part of '{name}' is stored here, and {stored_only}."
                raise PullError(problem, hub_copy_hint(name)) from error
            reason = str(error).strip().splitlines()[0][:200].rstrip(".")
            raise PullError(
                f"'{name}' could not be fetched from the hub: {reason}.", f"Check the name. {hub_copy_hint(name)}"
            ) from error
