"""A trained model as a folder: ``model.json`` (what it predicts, from what, how well), ``weights.npz``, ``out_of_fold.json``.

Predictions come with an interval that covers new stimuli of systems the model has not met: its half-width is the conformal
quantile of the errors made when each system (or fold) was left out, and grows with the distance from the training stimuli
as far as those errors did. A stimulus that is unlike them all is flagged, and its interval is the whole scale. A stimulus
the model was trained on is recognised by what its file holds, or by its id, system and intent, and gets the value predicted
when it was left out.

Heads go from an embedding's columns to a number on the scale; all are plain NumPy when they answer. ``ridge`` is linear. The
others look at the embedding through its leading components: ``kernel`` (radial basis functions around the training clips),
``mlp`` (two hidden layers, tanh) and ``ordinal`` (the same, ending in probabilities of the scale's points, whose mean is the
answer). Every block of columns counts alike; a column beyond what training has seen is taken at the edge of it, so that silence
or a pure tone is not carried off the map.

Source: Barber, Candès, Ramdas and Tibshirani (2021), *Predictive inference with the jackknife+*, for cross-conformal intervals.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError, InputError
from heartfelt.files import whole_folder, write_bytes, write_text
from heartfelt.predictors.trained.answers import AnswerSpread
from heartfelt.predictors.trained.domain import Domain, Place
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, Features
from heartfelt.predictors.trained.products import product
from heartfelt.serialization import from_json, write_json

Floats: TypeAlias = npt.NDArray[Any]
MODEL, WEIGHTS, OUT_OF_FOLD, CARD = "model.json", "weights.npz", "out_of_fold.json", "CARD.md"
DOMAIN = "domain.npz"
SCHEMA = 1
_LEFT_OUT = ("stimulus", "values", "system", "intent")
_RESTORE = "Restore the folder, or train the model again."
KINDS = ("ridge", "kernel", "mlp", "ordinal")
_ARRAYS = {
    "ridge": ("mean", "factor", "reach", "weight"),
    "kernel": ("mean", "factor", "reach", "basis", "centres", "weight"),
    "mlp": ("mean", "factor", "reach", "basis", "w1", "b1", "w2", "b2", "w3"),
    "ordinal": ("mean", "factor", "reach", "basis", "w1", "b1", "w2", "b2", "w3", "b3", "points"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A fitted head. ``intercept`` is added to what the arrays say; ``width`` is the kernel's."""

    kind: str
    intercept: float = field(metadata={"key": "level"})
    arrays: Mapping[str, Floats] = field(default_factory=dict, metadata={"skip": True})
    width: float = 0.0

    def answer(self, rows: Floats) -> npt.NDArray[np.float64]:
        """The predicted value of each row."""
        a = self.arrays
        scaled = (rows.astype(np.float64) - a["mean"]) * a["factor"]
        scaled = np.clip(scaled, -a["reach"], a["reach"])
        if self.kind == "ridge":
            return np.asarray(self.intercept + scaled @ a["weight"])
        seen = product(scaled, a["basis"])
        if self.kind == "kernel":
            return np.asarray(self.intercept + radial(seen, a["centres"], self.width) @ a["weight"])
        hidden = np.tanh(np.tanh(seen @ a["w1"] + a["b1"]) @ a["w2"] + a["b2"])
        if self.kind == "mlp":
            return np.asarray(self.intercept + hidden @ a["w3"])
        return np.asarray(softmax(hidden @ a["w3"] + a["b3"]) @ a["points"])

    def along(self, offset: float, slope: float) -> Head:
        """The head that answers ``offset + slope *`` what this one does."""
        key = {"mlp": "w3", "ordinal": "points"}.get(self.kind, "weight")
        moved = self.arrays[key] * slope + (offset if key == "points" else 0.0)
        return replace(self, intercept=offset + slope * self.intercept, arrays={**self.arrays, key: moved})

    def to_arrays(self, name: str) -> dict[str, Floats]:
        """What is stored, under names that begin with ``name``; single precision is plenty."""
        return {f"{name}/{key}": np.asarray(self.arrays[key], np.float32) for key in _ARRAYS[self.kind]}

    def stored(self) -> Head:
        """The head as it will answer after it was stored and read: in single precision."""
        single = {key: np.asarray(value, np.float32).astype(np.float64) for key, value in self.arrays.items()}
        return replace(self, arrays=single)

    def with_arrays(self, name: str, arrays: Mapping[str, Floats]) -> Head:
        """The head with what was stored under ``name``."""
        wanted = _ARRAYS.get(self.kind)
        if wanted is None or any(f"{name}/{key}" not in arrays for key in wanted):
            raise DamagedError(
                f"The head of '{name}' is incomplete.", "Restore the model's folder, or train it again."
            )
        own = {key: np.asarray(arrays[f"{name}/{key}"], np.float64) for key in wanted}
        return replace(self, arrays=own)


def radial(rows: Floats, centres: Floats, width: float) -> npt.NDArray[np.float64]:
    """Radial basis functions of the rows around the centres."""
    apart = (
        (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2.0 * product(rows, centres.T)
    )
    return np.asarray(np.exp(-width * np.maximum(apart, 0.0)))


def softmax(logits: Floats) -> npt.NDArray[np.float64]:
    """Probabilities that add up to 1 in each row."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def growth(slope: float, distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How much wider an interval is at a distance than at distance 0, up to four times; closer, it is not narrower."""
    return np.asarray(np.clip(np.exp(slope * distance), 1.0, 4.0))


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What a model predicts for one question: the head, the scale, and how far off it is on systems it has not met.

    ``errors`` are the standard deviations of the error between systems, between intents of a system, and between stimuli.
    """

    question: str
    head: Head
    bounds: tuple[float, float] | None
    half_width: float
    confidence: float = field(metadata={"key": "level"})
    errors: Mapping[str, float] = field(default_factory=dict)
    slope: float = 0.0
    """How fast the interval grows with the distance from what was trained on; ``half_width`` is that at distance 0."""
    answers: AnswerSpread | None = field(default=None, metadata={"omit": True})
    """How the answers of single people spread around the predicted value; None in models that learned from means."""

    def half(self, place: Place) -> float:
        """The half-width of the interval of a stimulus that is not foreign."""
        return float(self.half_width * growth(self.slope, np.array(place.distance)))

    def on_scale(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Values clipped to the scale."""
        return values if self.bounds is None else np.clip(values, *self.bounds)


@dataclass(frozen=True, slots=True)
class OutOfFold:
    """What was predicted of a training stimulus while it was left out."""

    stimulus: str
    values: Mapping[str, float]
    system: str | None = None
    intent: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenHead:
    """The head chosen for a question on inner folds, its setting, and each kind's error there."""

    head: str
    setting: tuple[float, ...]
    inner_error: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GroupingFacts:
    """What stayed together in folds: the column (None for single stimuli), how many groups, and that in a sentence."""

    by: str | None
    groups: int
    near_duplicates: int
    words: str


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """Where a model came from."""

    heartfelt: str = ""
    """The version it was trained with."""
    study: str = ""
    snapshot: str = ""
    """The snapshot's hash."""
    policy: str = ""
    panel: Mapping[str, int] = field(default_factory=dict)
    """The counts of the screening: ``raters``, ``kept``, ``ratings``, ``ratings_kept`` and more."""
    stimuli: int = 0
    left_out: int = 0
    systems: tuple[str, ...] = ()
    grouping: GroupingFacts | None = None
    split: str | None = None
    seed: int = 0
    confidence: float = field(default=0.9, metadata={"key": "level"})
    chosen: Mapping[str, ChosenHead] = field(default_factory=dict)
    evaluation: tuple[object, ...] = ()
    """The rows of ``heartfelt.training.evaluating.Score`` as JSON."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A trained model in memory."""

    name: str
    recipe: str
    embedding: str
    outputs: tuple[Output, ...]
    facts: TrainingFacts = TrainingFacts()
    out_of_fold: Mapping[str, OutOfFold] = field(default_factory=dict)
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
        stored = json.dumps(self.domain.manifest(self.domain.content()), sort_keys=True)
        return hashlib.sha256(stored.encode()).hexdigest()

    def output(self, question: str) -> Output | None:
        """The output for a question, by id."""
        named = {output.question.casefold(): output for output in self.outputs}
        return named.get(question.casefold())

    def out_of_fold_of(
        self, content: str, stimulus: str | None = None, system: str | None = None, intent: str | None = None
    ) -> OutOfFold | None:
        """What was predicted of a training stimulus, if this is one: by content, or by id, system and intent together.

        The same clip in another container has another hash; an id alone (``1.wav``) may be somebody else's.
        """
        known = self.out_of_fold.get(content)
        if known is not None or None in (stimulus, system, intent):
            return known
        alike = (
            each
            for each in self.out_of_fold.values()
            if (each.stimulus, each.system, each.intent) == (stimulus, system, intent)
        )
        return next(alike, None)

    def write(self, folder: Path | str, *, replace: bool = False) -> Path:
        """Write the model as a folder, complete or not at all."""
        folder = Path(folder)
        weights = self._weights()
        with whole_folder(folder, replace=replace) as made:
            write_bytes(made / WEIGHTS, weights)
            manifest: dict[str, object] = {
                "heartfelt_model": SCHEMA,
                "name": self.name,
                "recipe": self.recipe,
                "embedding": self.embedding,
                "looks_through": self.look().identity,
                "weights": hashlib.sha256(weights).hexdigest(),
                "outputs": self.outputs,
                "facts": self.facts,
            }
            if self.domain is not None:
                content = self.domain.content()
                write_bytes(made / DOMAIN, content)
                manifest["domain"] = self.domain.manifest(content)
            write_json(made / MODEL, manifest)
            left_out = {
                key: [each.stimulus, dict(each.values), each.system, each.intent]
                for key, each in sorted(self.out_of_fold.items())
            }
            write_text(made / OUT_OF_FOLD, json.dumps(left_out, separators=(",", ":")) + "\n")
            if self.card:
                write_text(made / CARD, self.card)
        return folder

    def _weights(self) -> bytes:
        """An output's scaling is often another's: equal arrays are stored once and named twice."""
        unique: dict[str, str] = {}
        names: dict[str, str] = {}
        stored: dict[str, Any] = {}
        for output in sorted(self.outputs, key=lambda output: output.question):
            for key, value in sorted(output.head.to_arrays(output.question).items()):
                digest = hashlib.sha256(value.tobytes()).hexdigest() + str(value.shape)
                names[key] = unique.setdefault(digest, f"a{len(unique)}")
                stored[names[key]] = value
        stored["names"] = np.asarray(json.dumps(names, sort_keys=True))
        memory = io.BytesIO()
        np.savez_compressed(memory, **stored)
        return memory.getvalue()


def load_trained(folder: object) -> TrainedModel:
    """Read a model's folder, given by its path, and check it against its own hash."""
    if not isinstance(folder, str | Path):
        raise InputError(
            f"A value of type '{type(folder).__name__}' is not the folder of a trained model.",
            "Give the folder that 'heartfelt train' made; functions and other predictors need a snapshot to predict.",
        )
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MODEL).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no trained model (there is no {MODEL}).",
            "Point to a folder made by 'heartfelt train'.",
        ) from error
    except (OSError, ValueError) as error:
        raise DamagedError(f"{folder / MODEL} cannot be read.", _RESTORE) from error
    if not isinstance(manifest, dict) or manifest.get("heartfelt_model") != SCHEMA:
        raise InputError(
            f"{folder} was written in another layout than this heartfelt reads.",
            "Train the model again with this version.",
        )
    look = EMBEDDINGS[str(manifest.get("embedding"))]()
    if manifest.get("looks_through") != look.identity:
        raise InputError(
            f"{folder} was trained on another version of the '{look.name}' embedding than this heartfelt has.",
            "Train the model again with this version.",
        )
    try:
        content = (folder / WEIGHTS).read_bytes()
        if hashlib.sha256(content).hexdigest() != manifest["weights"]:
            raise DamagedError(f"{folder / WEIGHTS} does not match {MODEL}.", _RESTORE)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            names = json.loads(str(file["names"]))
            shared = {key: file[key] for key in set(names.values())}
        arrays = {key: shared[place] for key, place in names.items()}
        outputs = tuple(
            replace(output, head=output.head.with_arrays(output.question, arrays))
            for output in from_json(tuple[Output, ...], manifest["outputs"])
        )
        left_out = folder / OUT_OF_FOLD
        rows = json.loads(left_out.read_text(encoding="utf-8")) if left_out.is_file() else {}
        domain = manifest.get("domain")
        return TrainedModel(
            str(manifest["name"]),
            str(manifest["recipe"]),
            look.name,
            outputs,
            from_json(TrainingFacts, manifest["facts"]),
            {key: from_json(OutOfFold, dict(zip(_LEFT_OUT, row, strict=True))) for key, row in rows.items()},
            hash=str(manifest["weights"]),
            domain=domain and Domain.from_content((folder / DOMAIN).read_bytes(), domain),
        )
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise DamagedError(f"{folder} is damaged: {error}.", _RESTORE) from error
