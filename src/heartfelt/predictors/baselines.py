"""Baselines that look at no media: what can be reached without a model, and by a person.

``system-mean``, ``intent`` and ``constant`` predict from other items' labels: the mean, or the most frequent category, of a group,
with the item's own label left out. ``human`` is a left-out rater, ``sham`` a deterministic similarity that knows nothing.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels import Benchmark, LabelOptions, first_answers
from heartfelt.labels import labels as make_labels
from heartfelt.predictors.predictor import PREDICTORS, Ask, Case, Prediction, Predictor
from heartfelt.predictors.sets import COMPARED, answers_of, win_shares
from heartfelt.predictors.texts import best_match, stem_of, texts_to_match
from heartfelt.snapshot import Snapshot
from heartfelt.streams import derived_seed
from heartfelt.study import Question, Scale

_NO_LABELS = "the predictor has not seen any labels"
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
        # Strengths are fitted to all answers at once; how often a stimulus was chosen says nothing of the other pairs.
        self.compared = [name for name in self._families if isinstance(source.study.scale_of(name), COMPARED)]
        if self.compared:
            known = known.filter(~pl.col("question").is_in(self.compared)).rename({value: "value"})
            known = pl.concat([known, win_shares(source, self.compared)])
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
    needs: ClassVar[str] = ""
    """The fact about a stimulus it cannot do without."""
    no_group: ClassVar[str] = "no other item has a label for this question"
    _labels: OtherLabels | None = None

    @property
    def identity(self) -> str:
        """The labels it has seen."""
        return f"{self.name} of labels {self._labels.digest if self._labels else 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        """Take the labels."""
        self._labels = OtherLabels(labels, source)

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """From the first of its groups that has labels of other items."""
        if self._labels is None:
            return Prediction.failed(_NO_LABELS)
        if self.needs and getattr(case, self.needs) is None:
            return Prediction.failed(f"the stimulus has no {self.needs}")
        for kind, values, note in self.groups(case):
            group = self._labels.of(kind, case, ask, *values)
            if group is not None:
                return group.prediction(ask.scale, note.replace("{n}", str(group.n)))
        return Prediction.failed(self.no_group)

    @abstractmethod
    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        """The groups to predict a case from, the nearest first: kind, values, and the note on ``{n}`` labels."""


@PREDICTORS.register("constant")
class Constant(FromLabels):
    """The same for every stimulus: a given value, or the mean or majority of other items' labels.

    The labels are those of the other half of the stimuli, split by name, and of all questions of one family together: an
    emotion or a task type that is part of the question would give away too much. Leaving out only the item itself would give a
    mean that falls exactly where the label rises (a correlation of -1) and, in balanced classes, a majority that is always wrong.
    """

    name = "constant"
    about = "one value for every stimulus: a given one, or the mean or majority of other items' labels"
    argument = "the value or category; by default the mean or majority of the other half's labels"
    no_group = "no item in the other half of the stimuli has a label for this question"

    def __init__(self, given: str, options: Mapping[str, str]) -> None:
        del options
        self._given = given

    @property
    def identity(self) -> str:
        """The value, or the labels it has seen."""
        return f"constant {self._given}" if self._given else super().identity

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """The given value, or from the labels of the other half; of comparisons the same for all, which is even odds."""
        if not self._given and self._labels is not None and ask.question in self._labels.compared:
            return Prediction(value=0.5, note="even odds")
        return _on_scale(self._given, ask) if self._given else super().predict_one(case, ask)

    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        """The other half of the stimuli."""
        other = "b" if half_of(case.stimulus) == "a" else "a"
        yield "half", (other,), "from {n} labels of the other half of the stimuli"


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

    name = "system-mean"
    about = "the mean or majority of the labels of the same system's other stimuli"
    needs = "system"

    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        """The system, then everything."""
        yield "system", (case.system,), f"from {{n}} other labels of {case.system}"
        note = f"no other stimulus of {case.system} has a label; from all {{n}} others"
        yield from (("all", (), note), ("family", (), note))


@PREDICTORS.register("intent")
class Intent(FromLabels):
    """What knowing only the cell of system and intent gives.

    A cell without other labels falls back on the intent, then the system, then everything, and the note says so. Within a
    cell, predictions fall where labels rise, since each leaves its own out: scores within cells say nothing about it.
    """

    name = "intent"
    about = "the mean or majority of the other labels in the same cell of system and intent"
    needs = "intent"

    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        """The cell, the intent, the system, everything."""
        words = "from {n} other labels of "
        yield "cell", (case.system, case.intent), f"{words}{case.system}, {case.intent}"
        yield "intent", (case.intent,), f"{words}{case.intent}, whatever the system"
        yield "system", (case.system,), f"{words}{case.system}, whatever the intent"
        yield "all", (), f"{words}all stimuli"
        yield "family", (), f"{words}all questions of its kind"


def _pair_answers(source: Snapshot, questions: list[str]) -> pl.DataFrame:
    """``stimulus`` (the pair's name), ``question``, ``rater``, ``value``: each known rater's mean answer in favour of the stimulus
    whose name comes first.
    """
    value = pl.when(pl.col("first") < pl.col("second")).then("value").otherwise(1.0 - pl.col("value"))
    answers = answers_of(source, questions).drop_nulls("rater").with_columns(value.alias("value"))
    named = answers.rename({"pair": "stimulus"})
    return named.group_by(*_PAIR, "rater", maintain_order=True).agg(pl.mean("value"))


@PREDICTORS.register("human")
class Human(Predictor):
    """A left-out rater: one person's answer to each item, compared with the label of the others.

    Of two stimuli, it is the rater's choice, compared with the share of the others who chose the same. Which of an item's raters
    is left out is drawn by name from the seed, so the same seed gives the same people in any order.
    Where the others are tied between ordered categories, but most of them say present, or most absent, the smaller of that
    side's most frequent categories stands for them.
    """

    name = "human"
    about = "one rater's answer to each item, compared with the label of the others"
    argument = "a rater's id; by default one drawn for each item"
    options: ClassVar[Mapping[str, str]] = {"seed": "the seed of the draw, by default 0"}
    needs_media = False
    compares = True
    batch = 64

    def __init__(self, rater: str, options: Mapping[str, str]) -> None:
        seed = options.get("seed", "0")
        try:
            self._seed = int(seed)
        except ValueError as error:
            raise InputError(f"The seed '{seed}' is not a whole number.", "Give a seed such as 0.") from error
        self._rater = rater
        self._content = ""
        self._left_out: dict[tuple[str, str], tuple[float | None, float | None, int]] | None = None

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
        compared = [q.id for q in source.study.asked if isinstance(source.study.scale_of(q.id), COMPARED)]
        answers = first_answers(source).filter(~pl.col("question").is_in(compared))
        pairs = _pair_answers(source, compared)
        if self._rater and self._rater not in {*answers["rater"], *pairs["rater"]}:
            raise InputError(f"No rater in the ratings is called '{self._rater}'.", "Check the rater's id.")
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
        others = make_labels(source, LabelOptions(minimum_ratings=1, adjudicated="none"), answers=rest).table
        others = _with_sides(others, rest, source)
        both = chosen.join(others.select(*_PAIR, pl.col("value").alias("against"), "n"), on=_PAIR, how="left")
        columns = pl.concat([both.select(*_PAIR, "value", "against", "n"), self._left_out_choices(pairs)])
        self._left_out = {(s, q): (value, against, int(n or 0)) for s, q, value, against, n in columns.rows()}

    def _left_out_choices(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Of each pair one rater's value, the mean of the others', and how many these are."""
        rows = []
        grouped = pairs.sort(*_PAIR, "rater").group_by(_PAIR, maintain_order=True)
        for name, question, raters, values in grouped.agg(pl.col("rater"), pl.col("value")).rows():
            chosen = self._chosen(name, question, raters, values)
            if chosen is not None:
                others = [value for rater, value in zip(raters, values, strict=True) if rater != chosen[2]]
                mean = sum(others) / len(others) if others else None
                rows.append((name, question, chosen[3], mean, len(others)))
        schema = {
            **dict.fromkeys(_PAIR, pl.String),
            "value": pl.Float64,
            "against": pl.Float64,
            "n": pl.Int64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _chosen(
        self, stimulus: str, question: str, raters: list[str], values: list[float]
    ) -> tuple[str, str, str, float] | None:
        if self._rater:
            at = raters.index(self._rater) if self._rater in raters else None
        else:
            at = derived_seed(self._seed, "left-out rater", stimulus, question) % len(raters)
        return None if at is None else (stimulus, question, raters[at], values[at])

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """The left-out rater's answer."""
        if self._left_out is None:
            return Prediction.failed(_NO_LABELS)
        if ask.scale.level == "text":
            return Prediction.failed("a left-out rater answers no questions in words")
        if len(case.members) > 2:
            return Prediction.failed("a left-out rater is scored on pairs, not on larger sets")
        left_out = self._left_out.get((case.stimulus, ask.question))
        if left_out is None:
            who = f"the rater '{self._rater}' did not rate" if self._rater else "nobody rated"
            return Prediction.failed(f"{who} this item")
        value, against, n = left_out
        if against is None:
            return Prediction.failed("the other raters are tied" if n else "only one person rated this item")
        note = f"one rater against {n} others"
        if case.members:
            first, second = sorted(member.stimulus for member in case.members)
            return Prediction(
                members={first: value or 0.0, second: 1.0 - (value or 0.0)}, against=against, note=note
            )
        return Prediction(value=value, against=against, note=note)


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

    name = "sham"
    about = "a deterministic similarity that knows nothing; for trying out a benchmark"
    needs_media = False
    batch = 64

    @property
    def identity(self) -> str:
        """The salt of the hash."""
        return f"sham {_SALT}"

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """The score of the question's text; of unordered categories the one with the highest score."""
        stem = stem_of(case, ask)
        return best_match(ask, [(code, similarity(stem, text)) for code, text in texts_to_match(ask)])
