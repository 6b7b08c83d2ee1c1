"""What a predictor is: something that says, for a stimulus and a question, what people would say.

A predictor is given cases (a stimulus with everything asked of it) and answers every question of every case, in order.
What it cannot answer is a prediction with a ``problem``, never a missing one. A predictor that is passing through bad
weather raises :class:`Transient` and is asked again later; any other error of one case becomes that case's problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from heartfelt.errors import HeartfeltError
from heartfelt.registry import Registry
from heartfelt.tables import Column, Contract

if TYPE_CHECKING:
    from heartfelt.snapshot import Snapshot
    from heartfelt.study import Scale

PREDICTIONS = Contract(
    "predictions",
    "one row per item and predictor, whether it was answered or not",
    (
        Column("model", pl.String, "the predictor, as it was asked for"),
        Column("stimulus", pl.String, "the stimulus id"),
        Column("question", pl.String, "the question id"),
        Column(
            "value",
            pl.Float64,
            "the prediction on the question's scale, or its category's code",
            nullable=True,
        ),
        Column("score", pl.Float64, "a similarity or probability that is not on the scale", nullable=True),
        Column("answer", pl.String, "the predicted category, or the text", nullable=True),
        Column("shares", pl.String, "probabilities by category, as JSON", nullable=True),
        Column("low", pl.Float64, "lower bound the predictor gives", nullable=True),
        Column("high", pl.Float64, "upper bound the predictor gives", nullable=True),
        Column("reason", pl.String, "the predictor's own reason", nullable=True),
        Column("note", pl.String, "how it was made, such as out of fold", nullable=True),
        Column(
            "against",
            pl.Float64,
            "the label to hold it against, where it is not the item's own",
            nullable=True,
        ),
        Column("ok", pl.Boolean, "whether there is a prediction"),
        Column("problem", pl.String, "why there is none", nullable=True),
        Column("attempts", pl.Int64, "how often it was asked"),
        Column("seconds", pl.Float64, "time its case took", nullable=True),
    ),
    key=("model", "stimulus", "question"),
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question put to a predictor."""

    question: str
    scale: Scale
    text: str
    """What a model that matches text with media is given: the rubric, or a sentence that names what is asked about."""
    words: str = ""
    """The question as raters read it."""
    about: Mapping[str, str] = field(default_factory=dict)


class Media:
    """The media file of a case: read once, however many ask for it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def content(self) -> bytes:
        """The file's bytes."""
        return self.path.read_bytes()

    @cached_property
    def base64(self) -> str:
        """The file's bytes as base64 text."""
        import base64

        return base64.b64encode(self.content).decode("ascii")

    @cached_property
    def hash(self) -> str:
        """What the file holds, as a hash: the same content under another name is the same."""
        import hashlib

        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Case:
    """A stimulus and everything asked of it."""

    stimulus: str
    asks: tuple[Ask, ...]
    media: Media | None = None
    """None where the file is not at hand."""
    system: str | None = None
    intent: str | None = None
    prompt: str | None = None
    """The text the stimulus was made from."""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a predictor says of one question; with a ``problem``, why it says nothing."""

    value: float | None = None
    score: float | None = None
    answer: str | None = None
    shares: Mapping[str, float] | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    note: str | None = None
    against: float | None = None
    problem: str | None = None

    @classmethod
    def failed(cls, problem: str) -> Prediction:
        """No prediction, and why."""
        return cls(problem=problem)


class Transient(HeartfeltError):
    """It may work if asked again: too many requests, a server on its way up, a connection that broke."""

    def __init__(self, problem: str, fix: str = "Ask again later.", *, after: float | None = None) -> None:
        super().__init__(problem, fix)
        self.after = after
        """Seconds to wait, where the other side said so."""


class Predictor(ABC):
    """One predictor, ready to be asked. Made by the registered class's ``make``."""

    name: ClassVar[str]
    about: ClassVar[str]
    argument: ClassVar[str] = ""
    """What the ARG of ``NAME:ARG`` means; empty where there is none."""
    needs_media: ClassVar[bool] = True
    batch: int = 1
    """How many cases it likes at once."""
    at_once: int = 1
    """How many batches may be under way at the same time."""
    reach: Literal["here", "network"] = "here"

    @classmethod
    @abstractmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Predictor:
        """Make one from the text after the colon and further options; raise with a fix where it cannot be made."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that decides its answers (weights, version, prompt, settings): the cache is keyed by it."""

    def learn(self, snapshot: Snapshot, labels: pl.DataFrame) -> None:
        """Look at what people said, where the predictor is made of it. Each item's own label must stay out of its prediction."""
        del snapshot, labels

    @abstractmethod
    def predict(self, cases: Sequence[Case]) -> Sequence[Sequence[Prediction]]:
        """Answer every question of every case, in order."""

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Let go of what it holds."""


PREDICTORS: Registry[type[Predictor]] = Registry("predictor")
