"""Baselines that look at no media: what can be reached without a model, and by a person.

``system-mean``, ``intent`` and ``constant`` predict from other items' labels: the mean, or the most frequent category, of a group,
with the item's own label left out. ``human`` is a left-out rater, ``sham`` a deterministic similarity that knows nothing.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, LabelOptions, first_answers
from heartfelt.labels import labels as make_labels
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.predictors.texts import best_match, stem_of, texts_to_match
from heartfelt.snapshot import Snapshot
from heartfelt.streams import derived_seed
from heartfelt.study import Question, Scale

_NO_LABELS = "the predictor has not seen any labels"
_NO_OTHERS = "no other item has a label for this question"
_PAIR = ["stimulus", "question"]
_SALT = "clap-sham-v1"


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

    Questions that differ only in the values they were spread over (an emotion, a level) form a family.
    """

    def __init__(self, labels: pl.DataFrame, source: Snapshot | Benchmark) -> None:
        stimuli = source.stimuli
        self._families = {question.id: _family(question) for question in source.study.asked}
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
        question = self._families.get(ask.question, "") if kind in ("family", "half") else ask.question
        group = self._groups.get((kind, question, *(value for value in values if value is not None)))
        if group is None:
            return None
        own = self._own.get((case.stimulus, ask.question))
        member = kind != "half" or values == (half_of(case.stimulus),)
        left = group.without(own if member else None)
        return left if left.n else None


def _family(question: Question) -> str:
    spread = sorted(question.about)
    return " ".join([question.scale, *spread]) if spread else f"\x00{question.id}"


def half_of(stimulus: str) -> str:
    """One of two halves, by the stimulus's name alone."""
    return "ab"[hashlib.sha256(f"half {stimulus}".encode()).digest()[0] & 1]


class FromLabels(Predictor):
    """A predictor that is made of other items' labels and of nothing else."""

    needs_media = False
    batch = 64

    def __init__(self) -> None:
        self._labels: OtherLabels | None = None

    @property
    def identity(self) -> str:
        """The labels it has seen."""
        return f"{self.name} of labels {self._labels.digest if self._labels else 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Take the labels."""
        self._labels = OtherLabels(labels, source)

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """Each item from the others."""
        if self._labels is None:
            return [[Prediction.failed(_NO_LABELS)] * len(case.asks) for case in cases]
        return [[self.from_labels(self._labels, case, ask) for ask in case.asks] for case in cases]

    @abstractmethod
    def from_labels(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """The prediction for one item."""


@PREDICTORS.register("constant")
class Constant(FromLabels):
    """The same for every stimulus: a given value, or the mean or majority of other items' labels.

    The labels are those of the other half of the stimuli, split by name, and of all questions of one family together: an
    emotion or a task type that is part of the question would give away too much. Leaving out only the item itself would give a
    mean that falls exactly where the label rises (a correlation of -1) and, in balanced classes, a majority that is always wrong.
    """

    name: ClassVar[str] = "constant"
    about: ClassVar[str] = (
        "one value for every stimulus: a given one, or the mean or majority of other items' labels"
    )
    argument: ClassVar[str] = (
        "the value or category; by default the mean or majority of the other half's labels"
    )

    def __init__(self, given: str = "") -> None:
        super().__init__()
        self._given = given

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Constant:
        """From the value, or from nothing."""
        del options
        return cls(argument)

    @property
    def identity(self) -> str:
        """The value, or the labels it has seen."""
        return f"constant {self._given}" if self._given else super().identity

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """The same for all, question by question."""
        if self._given:
            return [[_on_scale(self._given, ask) for ask in case.asks] for case in cases]
        return super().predict(cases)

    def from_labels(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """From the labels of the other half."""
        group = labels.of("half", case, ask, "b" if half_of(case.stimulus) == "a" else "a")
        if group is None:
            return Prediction.failed("no item in the other half of the stimuli has a label for this question")
        return group.prediction(ask.scale, f"from {group.n} labels of the other half of the stimuli")


def _on_scale(given: str, ask: Ask) -> Prediction:
    """A given value; between two points of a scale is fine."""
    if ask.scale.level == "text":
        return Prediction(answer=given)
    try:
        if not ask.scale.labels():
            number, limits = float(given), ask.scale.bounds() or (float("-inf"), float("inf"))
            if limits[0] <= number <= limits[1]:
                return Prediction(value=number)
            return Prediction.failed(f"{given} is not on the scale from {limits[0]:g} to {limits[1]:g}")
        value, answer = ask.scale.read(given)
    except (InputError, ValueError):
        return Prediction.failed(f"'{given}' is not on the scale of this question")
    return Prediction(value=value, answer=answer)


@PREDICTORS.register("system-mean")
class SystemMean(FromLabels):
    """What knowing only the system gives; where it has no other labels, all others stand in, and the note says so."""

    name: ClassVar[str] = "system-mean"
    about: ClassVar[str] = "the mean or majority of the labels of the same system's other stimuli"

    def from_labels(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """From the same system's other stimuli."""
        if case.system is None:
            return Prediction.failed("the stimulus has no system")
        group = labels.of("system", case, ask, case.system)
        if group is not None:
            return group.prediction(ask.scale, f"from {group.n} other labels of {case.system}")
        group = labels.of("all", case, ask) or labels.of("family", case, ask)
        if group is None:
            return Prediction.failed(_NO_OTHERS)
        note = f"no other stimulus of {case.system} has a label; from all {group.n} others"
        return group.prediction(ask.scale, note)


@PREDICTORS.register("intent")
class Intent(FromLabels):
    """What knowing only the cell of system and intent gives.

    A cell without other labels falls back on the intent, then the system, then everything, and the note says so. Within a
    cell, predictions fall where labels rise, since each leaves its own out: scores within cells say nothing about it.
    """

    name: ClassVar[str] = "intent"
    about: ClassVar[str] = "the mean or majority of the other labels in the same cell of system and intent"

    def from_labels(self, labels: OtherLabels, case: Case, ask: Ask) -> Prediction:
        """From the same cell's other stimuli."""
        if case.intent is None:
            return Prediction.failed("the stimulus has no intent")
        groups: tuple[tuple[str, tuple[str | None, ...], str], ...] = (
            ("cell", (case.system, case.intent), f"{case.system}, {case.intent}"),
            ("intent", (case.intent,), f"{case.intent}, whatever the system"),
            ("system", (case.system,), f"{case.system}, whatever the intent"),
            ("all", (), "all stimuli"),
            ("family", (), "all questions of its kind"),
        )
        for kind, values, words in groups:
            group = labels.of(kind, case, ask, *values)
            if group is not None:
                return group.prediction(ask.scale, f"from {group.n} other labels of {words}")
        return Prediction.failed(_NO_OTHERS)


@PREDICTORS.register("human")
class Human(Predictor):
    """A left-out rater: one person's answer to each item, compared with the label of the others.

    Which of an item's raters is left out is drawn by name from the seed, so the same seed gives the same people in any order.
    Where the others are tied between ordered categories, but most of them say present, or most absent, the smaller of that
    side's most frequent categories stands for them.
    """

    name: ClassVar[str] = "human"
    about: ClassVar[str] = "one rater's answer to each item, compared with the label of the others"
    argument: ClassVar[str] = "a rater's id; by default one drawn for each item"
    options: ClassVar[Mapping[str, str]] = {"seed": "the seed of the draw, by default 0"}
    needs_media = False
    batch = 64

    def __init__(self, rater: str = "", seed: int = 0) -> None:
        self._rater = rater
        self._seed = seed
        self._content = ""
        self._left_out: dict[tuple[str, str], tuple[float | None, float | None, int]] | None = None

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> Human:
        """From a rater's id, or from nothing; and a seed."""
        seed = (options or {}).get("seed", "0")
        try:
            return cls(argument, int(seed))
        except ValueError as error:
            raise InputError(f"The seed '{seed}' is not a whole number.", "Give a seed such as 0.") from error

    @property
    def identity(self) -> str:
        """Who, the seed, and the ratings."""
        return f"human {self._rater or 'any'} seed {self._seed} of {self._content or 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Take one rater out of every item, and make the label of the others the way it was made of all."""
        del labels
        if isinstance(source, Benchmark):
            raise InputError(
                "A benchmark holds labels, but no single ratings to leave a rater out of.",
                "Give the snapshot the benchmark was frozen from, or leave out 'human'.",
            )
        answers = first_answers(source)
        if self._rater and self._rater not in set(answers["rater"]):
            raise InputError(f"There is no rater '{self._rater}' in the ratings.", "Check the rater's id.")
        self._content = source.hash[:16]
        grouped = answers.sort(*_PAIR, "rater").group_by(_PAIR, maintain_order=True)
        items = grouped.agg(pl.col("rater"), pl.col("value")).rows()
        chosen = pl.DataFrame(
            [row for row in (self._chosen(*item) for item in items) if row is not None],
            schema={"stimulus": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64},
            orient="row",
        )
        own = [*_PAIR, "rater"]
        rest = answers.join(chosen.select(own), on=own, how="anti", maintain_order="left")
        others = make_labels(source, LabelOptions(minimum_ratings=1), answers=rest).table
        others = _with_sides(others, rest, source)
        both = chosen.join(others.select(*_PAIR, pl.col("value").alias("against"), "n"), on=_PAIR, how="left")
        columns = both.select(*_PAIR, "value", "against", "n")
        self._left_out = {(s, q): (value, against, int(n or 0)) for s, q, value, against, n in columns.rows()}

    def _chosen(
        self, stimulus: str, question: str, raters: list[str], values: list[float]
    ) -> tuple[str, str, str, float] | None:
        if self._rater:
            at = raters.index(self._rater) if self._rater in raters else None
        else:
            at = derived_seed(self._seed, "left-out rater", stimulus, question) % len(raters)
        return None if at is None else (stimulus, question, raters[at], values[at])

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """The left-out answer to every question."""
        return [[self._answer(case, ask) for ask in case.asks] for case in cases]

    def _answer(self, case: Case, ask: Ask) -> Prediction:
        if self._left_out is None:
            return Prediction.failed(_NO_LABELS)
        if ask.scale.level == "text":
            return Prediction.failed("a left-out rater answers no questions in words")
        left_out = self._left_out.get((case.stimulus, ask.question))
        if left_out is None:
            who = f"the rater '{self._rater}' did not rate" if self._rater else "nobody rated"
            return Prediction.failed(f"{who} this item")
        value, against, n = left_out
        if against is None:
            return Prediction.failed("the other raters are tied" if n else "only one person rated this item")
        return Prediction(value=value, against=against, note=f"one rater against {n} others")


def _with_sides(others: pl.DataFrame, rest: pl.DataFrame, source: Snapshot) -> pl.DataFrame:
    """Labels of ordered categories that are tied, but not between absent and present: the smaller of the side's most frequent."""
    scales = {question.id: source.study.scale_of(question.id) for question in source.study.asked}
    lowest = {name: min(scale.labels()) for name, scale in scales.items() if scale.level == "ordinal"}
    tied = others.filter(pl.col("value").is_null() & pl.col("question").is_in(list(lowest))).select(_PAIR)
    if not tied.height:
        return others
    bottom = pl.col("question").replace_strict(lowest, return_dtype=pl.Float64)
    votes = rest.join(tied, on=_PAIR, how="semi").with_columns((pl.col("value") > bottom).alias("present"))
    sides = votes.group_by(_PAIR).agg(
        (2 * pl.col("present").sum().cast(pl.Int64) - pl.len().cast(pl.Int64)).alias("lead")
    )
    majority = votes.join(sides.filter(pl.col("lead") != 0), on=_PAIR).filter(
        pl.col("present") == (pl.col("lead") > 0)
    )
    decided = majority.group_by(_PAIR).agg(pl.col("value").mode().min().alias("decided"))
    joined = others.join(decided, on=_PAIR, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("value", "decided").alias("value")).drop("decided")


def similarity(stem: str, text: str) -> float:
    """A number from -1 to 1 that depends on the two texts and on nothing else, the same on every machine."""
    digest = hashlib.sha256(f"{_SALT}{stem}|{text}".encode()).digest()
    return 2 * (int.from_bytes(digest[:8], "big") / 2**64) - 1


@PREDICTORS.register("sham")
class Sham(Predictor):
    """EmoLia's deterministic similarity of the stimulus's name with the question's text."""

    name: ClassVar[str] = "sham"
    about: ClassVar[str] = "a deterministic similarity that knows nothing; for trying out a benchmark"
    needs_media = False
    batch = 64

    @property
    def identity(self) -> str:
        """The salt of the hash."""
        return f"sham {_SALT}"

    def predict(self, cases: Sequence[Case]) -> list[list[Prediction]]:
        """Score every question's text; of unordered categories the one with the highest score."""
        return [[_sham(stem_of(case, ask), ask) for ask in case.asks] for case in cases]


def _sham(stem: str, ask: Ask) -> Prediction:
    return best_match(ask, [(code, similarity(stem, text)) for code, text in texts_to_match(ask)])
