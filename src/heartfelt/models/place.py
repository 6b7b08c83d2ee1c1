"""Where a model named by a user is: registered, a file or folder here, or on a hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from heartfelt.errors import InputError, MissingPartError, UnknownNameError, suggestion
from heartfelt.models.fetch import PullError, is_offline
from heartfelt.models.pretrained import MODELS, Pretrained

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

_OTHER_LIBRARIES = ["*.h5", "*.msgpack", "*.ot", "*.tflite", "onnx/*", "openvino/*", "coreml/*"]
"""The same weights for libraries that are not used here."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a name was found to be."""

    name: str
    kind: Literal["registered", "file", "folder", "hub"]
    pretrained: Pretrained | None = None

    def onnx_file(self) -> Path:
        """The ONNX file meant; raise where it is something else."""
        path = Path(self.name).expanduser()
        if self.kind == "file" and path.suffix.lower() == ".onnx":
            return path
        where = "on the hub" if self.kind == "hub" else f"a {self.kind}"
        raise InputError(
            f"'{self.name}' is {where}, and an ONNX model is wanted here.",
            "Give a registered name ('heartfelt models list') or a file ending in .onnx. Folders and hub names of the "
            "Transformers library go to the predictors 'clap' and 'clip'.",
        )


def resolve(name: str) -> Place:
    """Find out what ``name`` means: a registered model first, then a path, then an ``owner/name`` on a hub."""
    if name in MODELS:
        return Place(name, "registered", MODELS[name])
    path = Path(name).expanduser()
    if path.is_dir():
        return Place(name, "folder")
    if path.is_file():
        return Place(name, "file")
    looks_like_path = (
        name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix.lower() == ".onnx"
    )
    if looks_like_path:
        raise InputError(f"There is no model at {name}.", "Check the path.")
    if _HUB_NAME.fullmatch(name):
        return Place(name, "hub")
    raise UnknownNameError(
        f"There is no model called '{name}'.",
        suggestion(name, MODELS, "Known models") + " A path or an owner/name on the hub works too.",
    )


def hub_folder(name: str) -> Path:
    """The folder of a model of the Hugging Face hub, fetched if it is not there; never with HEARTFELT_OFFLINE set."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise MissingPartError(
            "Models of the hub need the huggingface_hub library.",
            "Install it with: pip install 'heartfelt[transformers]'",
        ) from error
    fix = (
        f"Run 'heartfelt models pull {name}' where there is a network, or copy its folder and give the path."
    )
    try:
        return Path(snapshot_download(name, local_files_only=is_offline(), ignore_patterns=_OTHER_LIBRARIES))
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, RuntimeError) as error:
        if is_offline():
            raise PullError(
                f"'{name}' was not fetched from the hub before, and HEARTFELT_OFFLINE is set.", fix
            ) from error
        said = str(error).strip().splitlines()[0][:200].rstrip(".")
        raise PullError(f"'{name}' could not be fetched from the hub: {said}.", fix) from error
