"""A trained model as a folder: ``model.json`` (what it predicts, from what, how well), ``weights.npz``, ``out_of_fold.json``.

Predictions come with an interval that covers new stimuli of systems the model has not met: its half-width is the conformal
quantile of the errors made when each system (or fold) was left out, and grows with the distance from the training stimuli
as far as those errors did. A stimulus that is unlike them all is flagged, and its interval is the whole scale. A stimulus
the model was trained on is recognised by what its file holds, or by its id, system and intent, and gets the value predicted
when it was left out.

Source: Barber, Candès, Ramdas and Tibshirani (2021), *Predictive inference with the jackknife+*, for cross-conformal intervals.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError, InputError
from heartfelt.files import whole_folder, write_bytes, write_text
from heartfelt.predictors.trained.domain import Domain, Place
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, Features
from heartfelt.predictors.trained.head import Head
from heartfelt.serialization import write_json

MODEL, WEIGHTS, OUT_OF_FOLD, CARD = "model.json", "weights.npz", "out_of_fold.json", "CARD.md"
DOMAIN = "domain.npz"
SCHEMA = 1
_MEND = "Restore the folder, or train the model again."


def growth(slope: float, distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How much wider an interval is at a distance than at distance 0, up to four times; closer, it is not narrower."""
    return np.asarray(np.clip(np.exp(slope * distance), 1.0, 4.0))


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What a model says of one question: the head, the scale, and how far off it is on systems it has not met.

    ``errors`` are the standard deviations of the error between systems, between intents of a system, and between stimuli.
    """

    question: str
    head: Head
    bounds: tuple[float, float] | None
    half_width: float
    confidence: float
    errors: Mapping[str, float] = field(default_factory=dict)
    slope: float = 0.0
    """How fast the interval grows with the distance from what was trained on; ``half_width`` is that at distance 0."""

    def half(self, place: Place) -> float:
        """The half-width of the interval of a stimulus that is not foreign."""
        return float(self.half_width * growth(self.slope, np.array(place.distance)))

    def held(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Values kept on the scale."""
        return values if self.bounds is None else np.clip(values, *self.bounds)

    def to_json(self) -> dict[str, Any]:
        """What is stored beside the arrays."""
        return {
            "question": self.question,
            "head": self.head.to_json(),
            "bounds": None if self.bounds is None else list(self.bounds),
            "half_width": self.half_width,
            "slope": self.slope,
            "level": self.confidence,
            "errors": dict(self.errors),
        }


@dataclass(frozen=True, slots=True)
class Kept:
    """What was predicted of a training stimulus when it was left out."""

    stimulus: str
    values: Mapping[str, float]
    system: str | None = None
    intent: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A trained model at hand."""

    name: str
    recipe: str
    embedding: str
    outputs: tuple[Output, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where it came from: study, panel, counts, seed, chosen heads, scores."""
    out_of_fold: Mapping[str, Kept] = field(default_factory=dict)
    """By the hash of the file's content."""
    card: str = ""
    hash: str = ""
    domain: Domain | None = None
    """What it was trained on, for telling what is unlike it; None in models of earlier versions."""

    def look(self) -> Embedding:
        """The embedding it looks through."""
        return EMBEDDINGS[self.embedding]()

    def place(self, features: Features) -> Place:
        """Where a stimulus lies from what the model was trained on."""
        return Place() if self.domain is None else self.domain.place(features.rows)

    @property
    def domain_hash(self) -> str:
        """A hash of what decides the place of a stimulus; empty without a domain."""
        if self.domain is None:
            return ""
        stored = json.dumps(self.domain.to_json(self.domain.content()), sort_keys=True)
        return hashlib.sha256(stored.encode()).hexdigest()

    def output(self, question: str) -> Output | None:
        """The output for a question, by id."""
        named = {one.question.casefold(): one for one in self.outputs}
        return named.get(question.casefold())

    def kept(
        self, content: str, stimulus: str | None = None, system: str | None = None, intent: str | None = None
    ) -> Kept | None:
        """What was predicted of a training stimulus, if this is one: by content, or by id, system and intent together.

        The same clip in another container has another hash; an id alone (``1.wav``) may be somebody else's.
        """
        found = self.out_of_fold.get(content)
        if found is not None or None in (stimulus, system, intent):
            return found
        alike = (
            one
            for one in self.out_of_fold.values()
            if (one.stimulus, one.system, one.intent) == (stimulus, system, intent)
        )
        return next(alike, None)

    def write(self, folder: Path | str, *, replace: bool = False) -> Path:
        """Write the model as a folder, whole or not at all."""
        folder = Path(folder)
        weights = self._weights()
        with whole_folder(folder, replace=replace) as made:
            write_bytes(made / WEIGHTS, weights)
            manifest = self._manifest(weights)
            if self.domain is not None:
                content = self.domain.content()
                write_bytes(made / DOMAIN, content)
                manifest["domain"] = self.domain.to_json(content)
            write_json(made / MODEL, manifest)
            kept = {
                key: [one.stimulus, dict(one.values), one.system, one.intent]
                for key, one in sorted(self.out_of_fold.items())
            }
            write_text(made / OUT_OF_FOLD, json.dumps(kept, separators=(",", ":")) + "\n")
            if self.card:
                write_text(made / CARD, self.card)
        return folder

    def _weights(self) -> bytes:
        arrays = {
            key: value for one in self.outputs for key, value in one.head.to_arrays(one.question).items()
        }
        memory = io.BytesIO()
        # An output's scaling is often another's: equal arrays are stored once and named twice.
        unique: dict[str, str] = {}
        names: dict[str, str] = {}
        kept: dict[str, Any] = {}
        for key, value in sorted(arrays.items()):
            digest = hashlib.sha256(value.tobytes()).hexdigest() + str(value.shape)
            if digest not in unique:
                unique[digest] = f"a{len(unique)}"
                kept[unique[digest]] = value
            names[key] = unique[digest]
        kept["names"] = np.asarray(json.dumps(names, sort_keys=True))
        np.savez_compressed(memory, **kept)
        return memory.getvalue()

    def _manifest(self, weights: bytes) -> dict[str, Any]:
        return {
            "heartfelt_model": SCHEMA,
            "name": self.name,
            "recipe": self.recipe,
            "embedding": self.embedding,
            "looks_through": self.look().identity,
            "weights": hashlib.sha256(weights).hexdigest(),
            "outputs": [one.to_json() for one in self.outputs],
            "facts": dict(self.facts),
        }


def load_trained(folder: Path | str) -> TrainedModel:
    """Read a model's folder and hold it to its own hash."""
    folder = Path(folder)
    try:
        said = json.loads((folder / MODEL).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no trained model (there is no {MODEL}).",
            "Point to a folder made by 'heartfelt train'.",
        ) from error
    except (OSError, ValueError) as error:
        raise DamagedError(f"{folder / MODEL} cannot be read.", _MEND) from error
    if not isinstance(said, dict) or said.get("heartfelt_model") != SCHEMA:
        raise InputError(
            f"{folder} was written in another layout than this heartfelt reads.",
            "Train the model again with this version.",
        )
    look = EMBEDDINGS[str(said.get("embedding"))]()
    if said.get("looks_through") != look.identity:
        raise InputError(
            f"{folder} was trained on another version of the '{look.name}' embedding than this heartfelt has.",
            "Train the model again with this version.",
        )
    try:
        content = (folder / WEIGHTS).read_bytes()
        if hashlib.sha256(content).hexdigest() != said["weights"]:
            raise DamagedError(f"{folder / WEIGHTS} is not what {MODEL} describes.", _MEND)
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            names = json.loads(str(stored["names"]))
            shared = {key: stored[key] for key in set(names.values())}
        arrays = {key: shared[place] for key, place in names.items()}
        outputs = tuple(_output(one, arrays) for one in said["outputs"])
        kept = _kept(folder / OUT_OF_FOLD)
        stored_domain = said.get("domain")
        domain = (
            None
            if stored_domain is None
            else Domain.from_content((folder / DOMAIN).read_bytes(), stored_domain)
        )
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise DamagedError(f"{folder} is damaged: {error}.", _MEND) from error
    return TrainedModel(
        str(said["name"]), str(said["recipe"]), str(said["embedding"]), outputs, said["facts"], kept,
        hash=str(said["weights"]), domain=domain,
    )  # fmt: skip


def _output(said: Mapping[str, Any], arrays: Mapping[str, Any]) -> Output:
    name = str(said["question"])
    bounds = said["bounds"]
    return Output(
        name,
        Head.from_arrays(name, said["head"], arrays),
        None if bounds is None else (float(bounds[0]), float(bounds[1])),
        float(said["half_width"]),
        float(said["level"]),
        {str(key): float(value) for key, value in said["errors"].items()},
        float(said.get("slope", 0.0)),
    )


def _kept(path: Path) -> dict[str, Kept]:
    if not path.is_file():
        return {}
    said = json.loads(path.read_text(encoding="utf-8"))
    return {
        key: Kept(str(row[0]), {str(name): float(value) for name, value in row[1].items()}, row[2], row[3])
        for key, row in said.items()
    }
