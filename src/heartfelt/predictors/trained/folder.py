"""The folder of a trained model: one layout for heads on frozen embeddings and for fine-tuned networks.

=========================  ================================================================================================
``model.safetensors``      the weights (``adapter_model.safetensors`` where only adapters of a base model were trained)
``model.onnx``             the same model for ONNX Runtime; where there is none, ``onnx`` in ``model.json`` says why
``model.json``             the keys of :class:`ModelCore`, ``outputs``, and what only one kind has
``README.md``              the model card, with the header that model hubs read
``training_stimuli.json``  the stimuli trained on, by the SHA-256 of their files
``evaluation``             scores, predictions, the ledger and a report
=========================  ================================================================================================

:func:`model_kind` says which kind a folder holds. Folders of layout 1 (heartfelt 0.8 and earlier) are read too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt import __version__
from heartfelt.errors import DamagedError, InputError
from heartfelt.files import sha256_of
from heartfelt.serialization import Json

if TYPE_CHECKING:
    from heartfelt.predictors.weights.model import Pretrained
    from heartfelt.study import Study

WEIGHTS, ADAPTER, ONNX = "model.safetensors", "adapter_model.safetensors", "model.onnx"
MODEL, CARD, TRAINING_STIMULI = "model.json", "README.md", "training_stimuli.json"
LAYOUT = 3
FROZEN_HEAD, FINE_TUNED = "frozen-head", "fine-tuned"
KIND_WORDS = {FROZEN_HEAD: "a head on a frozen embedding", FINE_TUNED: "a fine-tuned network"}
NOT_STATED = "unknown: not stated by the source"
RESTORE = "Restore the folder, or train the model again."
_TRAIN = "Give a folder written by 'heartfelt train'."
_HUB = "https://huggingface.co/"
_HUB_DATASET = re.compile(r"huggingface\.co/datasets/([\w.-]+/[\w.-]+)")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_LICENCE = re.compile(
    r"\b(CC0(?:[ -]1\.0)?|CC[ -]BY(?:-NC|-SA|-ND)*[ -]\d\.\d|MIT\b|Apache(?: Licen[cs]e)?[ -]2\.0|ODC-By[ -]1\.0|ODbL[ -]1\.0)"
)
_OTHER_FOLDERS = {
    "adapter_config.json": "adapters of PEFT, without the model.json of heartfelt",
    "config.json": "a model of another library, without the model.json of heartfelt",
    "evaluation.json": "an evaluation ('heartfelt evaluate'), which has no weights",
    "export.json": "exported conversations ('--export-only'), which have no weights",
    "study.yaml": "a study or a snapshot, not a trained model",
}
"""Folders that are easily taken for a model's, by a file in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """Data a model was trained on. The licence is the one the study states, else the one its credit names."""

    study: str
    snapshot: str
    """The snapshot's hash."""
    licence: str = NOT_STATED
    credit: str = ""
    hub: str = ""
    """Its id on the Hugging Face Hub, where the credit has the address."""

    @classmethod
    def of(cls, study: Study, snapshot: str) -> DataSource:
        stated = _LICENCE.search(study.credit or "")
        licence = study.licence or (stated[0] if stated else NOT_STATED)
        address = _HUB_DATASET.search(study.credit or "")
        return cls(
            study=study.name,
            snapshot=snapshot,
            licence=licence,
            credit=study.credit or "",
            hub=address[1].rstrip(".") if address else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseModel:
    """A pretrained model behind a trained one. ``hub`` is its id on the Hugging Face Hub, empty where it has none."""

    name: str
    hub: str = ""
    source: str = ""
    licence: str = NOT_STATED
    credit: str = ""

    @classmethod
    def of(cls, model: Pretrained) -> BaseModel:
        """A model of the catalogue: the package its weights come from, or its id on the hub."""
        hub = model.source.removeprefix(_HUB) if model.source.startswith(_HUB) else ""
        return cls(name=model.requirement, hub=hub, source=model.source, licence=model.licence, credit=model.credit)

    @classmethod
    def named(cls, name: str) -> BaseModel:
        """A model as a setting names it: an id on the hub, or a folder, of which only the last part is kept."""
        if _HUB_ID.fullmatch(name) and not Path(name).exists():
            return cls(name=name, hub=name, source=_HUB + name)
        return cls(name=Path(name).name)

    @property
    def header_id(self) -> str:
        """What a model card's header calls it: the hub's id, else the package without its version."""
        return self.hub or self.name.partition("==")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCore:
    """The keys of ``model.json`` that both kinds of models have."""

    kind: str
    layout: int = LAYOUT
    name: str
    recipe: str
    media: str
    heartfelt: str = __version__
    """The version it was trained with."""
    licence: str = ""
    """The licence of the weights; empty where it has not been stated."""
    data: tuple[DataSource, ...] = ()
    base_models: tuple[BaseModel, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that decide its answers."""
    onnx: str = ""
    """Why there is no ``model.onnx``; empty where there is one."""

    @property
    def weights_hash(self) -> str:
        hashes = [self.files[name] for name in sorted(self.files)]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()

    def check_files(self, folder: Path) -> None:
        for name, digest in self.files.items():
            path = folder / name
            if not path.is_file() or sha256_of(path) != digest:
                raise DamagedError(f"{path} is missing or was changed: it does not match {MODEL}.", RESTORE)


def model_kind(folder: Path | str) -> str:
    """The kind of model a folder holds, ``frozen-head`` or ``fine-tuned``; an error that says what it holds instead."""
    manifest = read_manifest(folder)
    return FROZEN_HEAD if "heartfelt_model" in manifest else str(manifest["kind"])


def read_manifest(folder: Path | str) -> dict[str, Json]:
    """``model.json`` of either kind, in a layout that this version reads."""
    folder = Path(folder)
    if not folder.is_dir():
        problem = "is a file, not the folder of a trained model" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {problem}.", _TRAIN)
    path = folder / MODEL
    if not path.is_file():
        content = next((words for name, words in _OTHER_FOLDERS.items() if (folder / name).is_file()), None)
        if folder.name.endswith(".training"):
            content = "the checkpoints of an unfinished training (continue it with --resume)"
        holds = f"; it holds {content}" if content else ""
        raise InputError(f"{folder} holds no trained model (there is no {MODEL}){holds}.", _TRAIN)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedError(f"{path} cannot be read.", RESTORE) from error
    if not isinstance(manifest, dict) or not ({"heartfelt_model", "kind"} & set(manifest)):
        raise InputError(f"{path} was not written by heartfelt.", _TRAIN)
    layout = manifest.get("heartfelt_model", manifest.get("layout"))
    if layout not in (1, 2, LAYOUT):
        raise InputError(
            f"{folder} has the layout {layout}, and this version reads the layouts 1 to {LAYOUT}.",
            "Update heartfelt, or train the model again with this version.",
        )
    if "heartfelt_model" not in manifest and str(manifest["kind"]) not in KIND_WORDS:
        raise InputError(
            f"{folder} holds a model of the kind '{manifest['kind']}', which this version does not read.",
            "Update heartfelt, or train the model again with this version.",
        )
    return manifest


def require_kind(folder: Path | str, kind: str, fix: str) -> dict[str, Json]:
    manifest = read_manifest(folder)
    if (actual := model_kind(folder)) != kind:
        raise InputError(
            f"{folder} holds {KIND_WORDS[actual]} (recipe '{manifest.get('recipe')}'), not {KIND_WORDS[kind]}.", fix
        )
    return manifest
