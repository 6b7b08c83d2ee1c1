"""Reads the folders of heartfelt 0.8 and earlier (layout 1), until 0.10.

Heads had ``weights.npz``, ``domain.npz``, ``out_of_fold.json`` and ``CARD.md``; fine-tuned models had ``trained_on.json`` and
named studies and snapshots in two lists.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError
from heartfelt.predictors.trained.folder import MODEL, RESTORE
from heartfelt.serialization import Json, from_json

_WEIGHTS, _DOMAIN, _LEFT_OUT = "weights.npz", "domain.npz", "out_of_fold.json"
TRAINED_ON = "trained_on.json"


@dataclass(frozen=True, slots=True, eq=False)
class OldHead:
    """The arrays of the heads and of the domain, and the rows of ``out_of_fold.json`` by hash."""

    arrays: Mapping[str, npt.NDArray[Any]]
    domain: Mapping[str, npt.NDArray[Any]]
    left_out: Mapping[str, Mapping[str, Json]]


def read_old_head(folder: Path, manifest: Mapping[str, Json]) -> OldHead:
    weights = _arrays(folder / _WEIGHTS, str(manifest["weights"]))
    names = json.loads(str(weights["names"]))
    stored = manifest.get("domain")
    domain = _arrays(folder / _DOMAIN, str(stored["sha256"])) if isinstance(stored, dict) else {}
    rows = json.loads((folder / _LEFT_OUT).read_text("utf-8")) if (folder / _LEFT_OUT).is_file() else {}
    keys = ("stimulus", "predicted", "system", "intent")
    left_out = {content: dict(zip(keys, row, strict=True)) for content, row in rows.items()}
    return OldHead({name: weights[array] for name, array in names.items()}, domain, left_out)


def _arrays(path: Path, digest: str) -> dict[str, npt.NDArray[Any]]:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise DamagedError(f"{path} does not match {MODEL}.", RESTORE)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except zipfile.BadZipFile as error:
        raise DamagedError(f"{path} cannot be read.", RESTORE) from error


def old_label_words(panel: Mapping[str, int], policy: str) -> str:
    if not panel.get("raters"):
        return "labels are published means; the number of raters is not stated"
    ratings = f"{panel['ratings_retained']:,} of {panel['ratings']:,} ratings"
    return f"rated by {panel['retained']:,} of {panel['raters']:,} raters (policy `{policy}`, {ratings})"


def upgraded(manifest: Mapping[str, Json]) -> dict[str, Json]:
    """``model.json`` of a fine-tuned model of layout 1 with the keys that layout 2 has."""
    studies, snapshots = (from_json(list[str], manifest[key]) for key in ("studies", "snapshots"))
    data: list[Json] = [
        {"study": study, "snapshot": snapshot} for study, snapshot in zip(studies, snapshots, strict=True)
    ]
    return {**manifest, "media": "", "data": data}
