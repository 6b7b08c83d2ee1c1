"""Predictions made of other items' labels: means and shares of groups, with the item's own label left out."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from heartfelt.labels import Benchmark
from heartfelt.predictors.predictor import Ask, Case, Prediction, Predictor
from heartfelt.snapshot import Snapshot
from heartfelt.study import Question, Scale

NOTHING_LEARNT = "the predictor has not seen any labels"


@dataclass(slots=True)
class Group:
    """The labels of one question in one group: how many, their sum, and how many of each code."""

    n: int = 0
    total: float = 0.0
    codes: dict[float, int] = field(default_factory=dict)

    def add(self, value: float, sign: int = 1) -> None:
        """Put a label in, or with ``sign=-1`` take it out again."""
        self.n += sign
        self.total += sign * value
        self.codes[value] = self.codes.get(value, 0) + sign

    def without(self, value: float | None) -> Group:
        """The group with one label less."""
        left = Group(self.n, self.total, dict(self.codes))
        if value is not None:
            left.add(value, -1)
        return left

    def prediction(self, scale: Scale, note: str) -> Prediction:
        """The mean of numbers; the most frequent category (the smaller code if tied) with the shares of all."""
        words = scale.labels()
        if not words:
            return Prediction(value=self.total / self.n, note=note)
        most = max(words, key=lambda code: (self.codes.get(code, 0), -code))
        shares = {name: self.codes.get(code, 0) / self.n for code, name in words.items()}
        score = 1.0 - shares[words[min(words)]] if scale.level == "ordinal" or len(words) == 2 else None
        return Prediction(value=most, answer=words[most], shares=shares, score=score, note=note)


class OtherLabels:
    """Labels of a study, grouped by what is known of their stimuli.

    Questions that differ only in the values they were spread over (an emotion, a level) are of one family.
    """

    def __init__(self, labels: pl.DataFrame, source: Snapshot | Benchmark) -> None:
        stimuli = source.stimuli
        self._families = {one.id: _family(one) for one in source.study.asked}
        value = "value" if "value" in labels.columns else "label"
        known = labels.filter(pl.col(value).is_finite()).select("stimulus", "question", value)
        self._own: dict[tuple[str, str], float] = {(s, q): v for s, q, v in known.iter_rows()}
        columns = [name for name in ("stimulus", "system", "intent") if name in stimuli.columns]
        self._facts = {row["stimulus"]: row for row in stimuli.select(columns).iter_rows(named=True)}
        self._groups: dict[tuple[str, ...], Group] = {}
        for (stimulus, question), number in self._own.items():
            for key in self._keys(stimulus, question):
                self._groups.setdefault(key, Group()).add(number)
        text = "\n".join(f"{s}\x1f{q}\x1f{v!r}" for (s, q), v in sorted(self._own.items()))
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    def _keys(self, stimulus: str, question: str) -> Iterable[tuple[str, ...]]:
        facts = self._facts.get(stimulus, {})
        system, intent = facts.get("system"), facts.get("intent")
        yield ("all", question)
        yield ("family", self._families[question])
        yield ("half", self._families[question], half_of(stimulus))
        if system is not None:
            yield ("system", question, system)
        if intent is not None:
            yield ("intent", question, intent)
        if system is not None and intent is not None:
            yield ("cell", question, system, intent)

    def of(self, kind: str, case: Case, ask: Ask, *values: str | None) -> Group | None:
        """The labels of a group without the case's own; None if there are no others."""
        if any(value is None for value in values):
            return None
        asked = self._families.get(ask.question, "") if kind in ("family", "half") else ask.question
        group = self._groups.get((kind, asked, *(value for value in values if value is not None)))
        if group is None:
            return None
        own = self._own.get((case.stimulus, ask.question))
        member = kind != "half" or values == (half_of(case.stimulus),)
        left = group.without(own if member else None)
        return left if left.n else None


class FromLabels(Predictor):
    """A predictor that is made of other items' labels and of nothing else."""

    needs_media = False
    batch = 64

    def __init__(self) -> None:
        self._labels: OtherLabels | None = None

    @property
    def identity(self) -> str:
        """The labels it was learnt from."""
        return f"{self.name} of labels {self._labels.digest if self._labels else 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Take the labels."""
        self._labels = OtherLabels(labels, source)

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """Each item from the others."""
        if self._labels is None:
            return [[Prediction.failed(NOTHING_LEARNT)] * len(case.asks) for case in cases]
        return [[self.one(self._labels, case, ask) for ask in case.asks] for case in cases]

    @abstractmethod
    def one(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """The prediction for one item."""


def _family(question: Question) -> str:
    spread = sorted(question.about)
    return " ".join([question.scale, *spread]) if spread else f"\x00{question.id}"


def half_of(stimulus: str) -> str:
    """One of two halves, by the stimulus's name alone."""
    return "ab"[hashlib.sha256(f"half {stimulus}".encode()).digest()[0] & 1]


def other_half(stimulus: str) -> str:
    """The half a stimulus is not in."""
    return "b" if half_of(stimulus) == "a" else "a"
