"""A predictor that knows nothing: EmoLia's deterministic similarity of a name and a text. It reads no media."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import ClassVar

from heartfelt.predictors.names import stem_of
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.predictors.sentences import asked_texts, matched

_SALT = "clap-sham-v1"


def similarity(stem: str, text: str) -> float:
    """A number from -1 to 1 that depends on the two texts and on nothing else, the same on every machine."""
    digest = hashlib.sha256(f"{_SALT}{stem}|{text}".encode()).digest()
    return 2 * (int.from_bytes(digest[:8], "big") / 2**64) - 1


class Sham(Predictor):
    """The similarity of the stimulus's name with the question's text."""

    name: ClassVar[str] = "sham"
    about: ClassVar[str] = "a deterministic similarity that knows nothing; for trying out a benchmark"
    needs_media = False
    batch = 64

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Sham:
        """There is nothing to set."""
        del argument, options
        return cls()

    @property
    def identity(self) -> str:
        """The salt of the hash."""
        return f"sham {_SALT}"

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """Score every question's text; of categories without an order the one with the highest score."""
        return [[_one(stem_of(case, ask), ask) for ask in case.asks] for case in cases]


def _one(stem: str, ask: Ask) -> Prediction:
    return matched(ask, [(code, similarity(stem, text)) for code, text in asked_texts(ask)])


PREDICTORS.add(Sham.name, Sham)
