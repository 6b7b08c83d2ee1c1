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

from heartfelt.errors import DamagedError, InputError, MissingPartError, UnknownNameError, suggestion
from heartfelt.extras import install_command
from heartfelt.models.model import MODELS, Model, Pretrained
from heartfelt.models.store import (
    PullError,
    Say,
    folder_of,
    is_offline,
    pull_model,
    read_stored,
    remove_damaged,
)

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_OTHER_LIBRARIES = ["*.h5", "*.msgpack", "*.ot", "*.tflite", "onnx/*", "openvino/*", "coreml/*"]
"""The same weights for libraries that are not used here."""
_LOADED: dict[tuple[str, int, str], Model] = {}
_LOADING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Place:
    """What a name refers to."""

    name: str
    kind: Literal["registered", "file", "folder", "hub"]
    pretrained: Pretrained | None = None


def resolve(name: str) -> Place:
    """What ``name`` means: a registered model first, then a path, then an ``owner/name`` on a hub."""
    if name in MODELS:
        return Place(name, "registered", MODELS[name])
    path = Path(name).expanduser()
    if path.exists():
        return Place(name, "folder" if path.is_dir() else "file")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix.lower() == ".onnx":
        raise InputError(f"No model is at {name}.", "Check the path.")
    if _HUB_NAME.fullmatch(name):
        return Place(name, "hub")
    raise UnknownNameError(
        f"No model is called '{name}'.",
        suggestion(name, MODELS, "Known models") + " A path or an owner/name on the hub works too.",
    )


def load_model(name: str, *, pull: bool = True, threads: int = 1, say: Say | None = None) -> Model:
    """The model called ``name``, or the ONNX file at that path.

    A registered model is pulled on first use unless ``pull`` is False or HEARTFELT_OFFLINE is set; a damaged file in the cache
    is removed and pulled again. One model is held per process, name and number of threads.
    """
    place = resolve(name)
    if place.pretrained is None:
        path = Path(name).expanduser()
        if place.kind != "file" or path.suffix.lower() != ".onnx":
            raise InputError(
                f"'{name}' is {'on the hub' if place.kind == 'hub' else f'a {place.kind}'}, and an ONNX model is needed here.",
                "Give a registered name ('heartfelt models list') or a file ending in .onnx. Folders and hub names of the "
                "Transformers library go to the predictors 'clap' and 'clip'.",
            )
        content = path.read_bytes()
        identity = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return Model(str(path), identity, {"model.onnx": content}, threads)
    key = (name, threads, str(folder_of(place.pretrained)))
    with _LOADING:
        if key in _LOADED:
            return _LOADED[key]
    contents = _contents(place.pretrained, pull, say or _to_stderr)
    model = Model(name, place.pretrained.identity, contents, threads)
    with _LOADING:
        return _LOADED.setdefault(key, model)


def _contents(pretrained: Pretrained, pull: bool, say: Say) -> dict[str, bytes]:
    try:
        return read_stored(pretrained)
    except DamagedError as error:
        if folder_of(pretrained).exists():
            remove_damaged(pretrained)
            say(error.problem.rstrip("."))
        if not pull or is_offline():
            why = "HEARTFELT_OFFLINE is set" if is_offline() else "it may not be fetched here"
            raise PullError(
                f"{error.problem.rstrip('.')}, and {why}.",
                f"Run 'heartfelt models pull {pretrained.name}' where there is a network.",
            ) from error
    pull_model(pretrained.name, say=say)
    return read_stored(pretrained)


def _to_stderr(message: str) -> None:
    print(f"heartfelt: {message} …", file=sys.stderr, flush=True)


def hub_folder(
    name: str, revision: str | None = None, fetch: Callable[..., str | os.PathLike[str]] | None = None
) -> Path:
    """The folder of a model of the Hugging Face hub, fetched if it is not there; never with HEARTFELT_OFFLINE set.

    ``fetch`` replaces the library's download of the whole repository, for libraries that need only some of its files.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise MissingPartError(
            "Models of the hub need the huggingface_hub library.",
            f"Install it with: {install_command('transformers')}",
        ) from error
    fix = (
        f"Run 'heartfelt models pull {name}' where there is a network, or copy its folder and give the path."
    )
    try:
        download = fetch or partial(snapshot_download, ignore_patterns=_OTHER_LIBRARIES)
        return Path(download(name, revision=revision, local_files_only=is_offline()))
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, RuntimeError) as error:
        if is_offline():
            raise PullError(
                f"'{name}' was not fetched from the hub before, and HEARTFELT_OFFLINE is set.", fix
            ) from error
        reason = str(error).strip().splitlines()[0][:200].rstrip(".")
        raise PullError(f"'{name}' could not be fetched from the hub: {reason}.", fix) from error
