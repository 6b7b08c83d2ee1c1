"""A trained head on a frozen embedding, in memory and as a folder (:mod:`heartfelt.predictors.trained.folder`).

Predictions come with an interval that covers new stimuli of systems the model has not met: its half-width is the conformal
quantile of the errors made when each system (or fold) was left out, and grows with the distance from the training stimuli
as far as those errors did. A stimulus that is unlike them all is flagged, and its interval is the whole scale. A stimulus
the model was trained on is recognised by what its file holds, or by its id, system and intent, and gets the value predicted
when it was left out.

Source: Barber, Candès, Ramdas and Tibshirani (2021), *Predictive inference with the jackknife+*, for cross-conformal intervals.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt import __version__
from heartfelt.errors import DamagedError, HeartfeltError, InputError
from heartfelt.files import whole_folder, write_bytes, write_text
from heartfelt.predictors.trained.domain import Domain, DomainDistance
from heartfelt.predictors.trained.embeddings import EMBEDDINGS, Embedding, Features
from heartfelt.predictors.trained.facts import OutOfFold, TrainingFacts
from heartfelt.predictors.trained.folder import (
    CARD,
    FROZEN_HEAD,
    MODEL,
    RESTORE,
    TRAINING_STIMULI,
    WEIGHTS,
    DataSource,
    ModelCore,
    require_kind,
)
from heartfelt.predictors.trained.heads.head import Floats, QuestionHead
from heartfelt.predictors.trained.heads.head_graph import write_head_graph
from heartfelt.predictors.trained.heads.layout1 import old_label_words, read_old_head
from heartfelt.serialization import from_json, to_json, write_json

DOMAIN = "training domain"
"""What the names of the domain's arrays begin with; no question's id has a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    """``model.json`` of a head."""

    core: ModelCore = field(metadata={"flatten": True})
    embedding: str
    looks_through: str
    """What decides the embedding's numbers."""
    blocks: Mapping[str, int]
    """The names of the embedding's columns in order, with how many there are."""
    outputs: tuple[QuestionHead, ...]
    facts: TrainingFacts
    domain: Domain | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainedModel:
    """A trained model in memory."""

    name: str
    recipe: str
    embedding: str
    outputs: tuple[QuestionHead, ...]
    facts: TrainingFacts = field(default_factory=TrainingFacts)
    out_of_fold: Mapping[str, OutOfFold] = field(default_factory=dict)
    """By the hash of the file's content."""
    card: str = ""
    hash: str = ""
    domain: Domain | None = None
    """What it was trained on, for telling what is unlike it; None in models of earlier versions."""
    data: tuple[DataSource, ...] = ()
    """What it was trained on, with licence and credit."""
    licence: str = ""
    """The licence of the weights; empty where it has not been stated."""

    def look(self) -> Embedding:
        return EMBEDDINGS[self.embedding]()

    def place(self, features: Features) -> DomainDistance:
        return DomainDistance() if self.domain is None else self.domain.place(features.rows)

    @property
    def domain_hash(self) -> str:
        """A hash of what decides the place of a stimulus; empty without a domain."""
        if self.domain is None:
            return ""
        return self.domain.hash

    @property
    def core(self) -> ModelCore:
        look = self.look()
        return ModelCore(
            kind=FROZEN_HEAD,
            name=self.name,
            recipe=self.recipe,
            media=look.media,
            heartfelt=self.facts.heartfelt or __version__,
            licence=self.licence,
            data=self.data,
            base_models=look.base_models,
            files={WEIGHTS: hashlib.sha256(self._weights()).hexdigest()},
        )

    def output(self, question: str) -> QuestionHead | None:
        named = {output.question.casefold(): output for output in self.outputs}
        return named.get(question.casefold())

    def out_of_fold_of(
        self, content: str, stimulus: str | None = None, system: str | None = None, intent: str | None = None
    ) -> OutOfFold | None:
        """What was predicted of a training stimulus, if this is one: by content, or by id, system and intent together.

        The same clip in another container has another hash; an id alone (``1.wav``) may be somebody else's.
        """
        by_content = self.out_of_fold.get(content)
        if by_content is not None or None in (stimulus, system, intent):
            return by_content
        alike = (
            prediction
            for prediction in self.out_of_fold.values()
            if (prediction.stimulus, prediction.system, prediction.intent) == (stimulus, system, intent)
        )
        return next(alike, None)

    def write(self, folder: Path | str, *, replace: bool = False) -> Path:
        """Write the model as a folder, complete or not at all."""
        folder, look = Path(folder), self.look()
        blocks = {block.name: block.size for block in look.blocks}
        with whole_folder(folder, replace=replace) as scratch:
            weights = self._weights()
            write_bytes(scratch / WEIGHTS, weights)
            write_head_graph(scratch, self.outputs, weights)
            manifest = _Manifest(
                core=self.core,
                embedding=self.embedding,
                looks_through=look.identity,
                blocks=blocks,
                outputs=self.outputs,
                facts=self.facts,
                domain=self.domain,
            )
            write_json(scratch / MODEL, manifest)
            stimuli = json.dumps(to_json(dict(sorted(self.out_of_fold.items()))), separators=(",", ":"))
            write_text(scratch / TRAINING_STIMULI, stimuli + "\n")
            if self.card:
                write_text(scratch / CARD, self.card)
        return folder

    def _weights(self) -> bytes:
        from safetensors.numpy import save

        arrays = {} if self.domain is None else {f"{DOMAIN}/{key}": a for key, a in self.domain.arrays.items()}
        for output in self.outputs:
            arrays |= output.head.to_arrays(output.question)
        return bytes(save({key: np.ascontiguousarray(array) for key, array in arrays.items()}))


def load_trained(folder: object) -> TrainedModel:
    """Read the folder of a head, given by its path, and check it against its hashes."""
    if not isinstance(folder, str | Path):
        raise InputError(
            f"A value of type '{type(folder).__name__}' is not the folder of a trained model.",
            "Give the folder that 'heartfelt train' made; functions and other predictors need a snapshot to predict.",
        )
    folder = Path(folder)
    manifest = require_kind(folder, FROZEN_HEAD, f"Ask it as a predictor: trained:{folder}.")
    name = str(manifest.get("embedding"))
    look = EMBEDDINGS[name]()
    if manifest.get("looks_through") != look.identity:
        raise InputError(
            f"{folder} was trained on another version of the '{look.name}' embedding than this heartfelt has.",
            "Train the model again with this version.",
        )
    try:
        return _read_old(folder, manifest) if "heartfelt_model" in manifest else _read(folder, manifest)
    except HeartfeltError:
        raise
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{folder} is damaged: {error}.", RESTORE) from error


def _read(folder: Path, stored: Mapping[str, Any]) -> TrainedModel:
    manifest = from_json(_Manifest, stored)
    manifest.core.check_files(folder)
    arrays = stored_arrays((folder / WEIGHTS).read_bytes())
    stimuli = folder / TRAINING_STIMULI
    if not stimuli.is_file():
        raise DamagedError(
            f"{stimuli} is missing: stimuli that the model was trained on could not be told from others.", RESTORE
        )
    rows = json.loads(stimuli.read_text(encoding="utf-8"))
    domain = {key.partition("/")[2]: array for key, array in arrays.items() if key.startswith(f"{DOMAIN}/")}
    core = manifest.core
    return TrainedModel(
        name=core.name,
        recipe=core.recipe,
        embedding=manifest.embedding,
        outputs=_with_arrays(manifest.outputs, arrays, folder),
        facts=manifest.facts,
        out_of_fold=from_json(dict[str, OutOfFold], rows),
        hash=core.weights_hash,
        domain=manifest.domain and manifest.domain.with_arrays(domain),
        data=core.data,
        licence=core.licence,
    )


def _read_old(folder: Path, stored: Mapping[str, Any]) -> TrainedModel:
    old, facts = read_old_head(folder, stored), from_json(TrainingFacts, stored["facts"])
    facts = replace(facts, labels=old_label_words(facts.panel, facts.policy))
    domain = stored.get("domain")
    return TrainedModel(
        name=str(stored["name"]),
        recipe=str(stored["recipe"]),
        embedding=str(stored["embedding"]),
        outputs=_with_arrays(from_json(tuple[QuestionHead, ...], stored["outputs"]), old.arrays, folder),
        facts=facts,
        out_of_fold=from_json(dict[str, OutOfFold], old.left_out),
        hash=str(stored["weights"]),
        domain=domain and from_json(Domain, domain).with_arrays(old.domain),
        data=(DataSource(study=facts.study, snapshot=facts.snapshot),),
    )


def _with_arrays(
    outputs: tuple[QuestionHead, ...], arrays: Mapping[str, Floats], folder: Path
) -> tuple[QuestionHead, ...]:
    for output in outputs:
        numbers = (output.half_width, output.confidence, output.slope, *(output.bounds or ()))
        if not all(isinstance(number, float | int) and math.isfinite(number) for number in numbers):
            raise DamagedError(f"{folder / MODEL} lacks a number about '{output.question}'.", RESTORE)
    return tuple(replace(output, head=output.head.with_arrays(output.question, arrays)) for output in outputs)


def stored_arrays(content: bytes) -> dict[str, Floats]:
    """The arrays of a safetensors file; a ValueError where it is none."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return dict(load(content))
    except SafetensorError as error:
        raise ValueError(str(error)) from error
