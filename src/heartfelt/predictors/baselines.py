"""Baselines that look at no media: what can be reached without a model, and by a person.

``constant`` is one answer for all: the mean, or the most frequent category, of all labels. ``system-mean`` and ``intent`` add how
far the labels of a group, in the other half of the stimuli, lie from that half's mean. Leaving out only the item itself would give
a mean that falls where the label rises, and so a negative correlation where groups do not differ; two halves with their own means
would give the same, more weakly. ``human`` is a left-out rater, ``sham`` a deterministic similarity that knows nothing.
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
from heartfelt.predictors.answers.sets import COMPARED, answers_of, win_shares
from heartfelt.predictors.answers.texts import best_match, stem_of, texts_to_match
from heartfelt.predictors.interface.predictor import FROM_LABELS, PREDICTORS, Ask, Case, Prediction, Predictor
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

    def add(self, value: float) -> None:
        self.n += 1
        self.total += value
        self.codes[value] = self.codes.get(value, 0) + 1

    def share(self, code: float) -> float:
        return self.codes.get(code, 0) / self.n

    def prediction(self, scale: Scale, note: str, among: Group | None = None, of: Group | None = None) -> Prediction:
        """The mean of numbers; the most frequent category (the smaller code if tied) with the shares of all.

        With ``among`` and ``of``: how far this group is from ``among``, which it is part of, added to ``of``.
        """
        words = scale.labels()
        among, of = among or self, of or self
        if not words:
            value = of.total / of.n + self.total / self.n - among.total / among.n
            low, high = scale.bounds() or (value, value)
            return Prediction(value=min(max(value, low), high), note=note)
        counts = {code: max(of.share(code) + self.share(code) - among.share(code), 0.0) for code in words}
        total = sum(counts.values())
        most = max(words, key=lambda code: (round(counts[code], 12), -code))
        shares = {name: counts[code] / total for code, name in words.items()}
        score = 1.0 - shares[words[min(words)]] if scale.level == "ordinal" or len(words) == 2 else None
        return Prediction(value=most, answer=words[most], shares=shares, score=score, note=note)


class GroupedLabels:
    """Labels of a study, grouped by what is known of their stimuli.

    Questions that differ only in the values they were spread over (an emotion, a level) form a family.
    """

    def __init__(self, labels: pl.DataFrame, source: Snapshot | Benchmark) -> None:
        stimuli = source.stimuli
        self._families = {question.id: _family(question) for question in source.study.asked}
        value = "value" if "value" in labels.columns else "label"
        finite_labels = labels.filter(pl.col(value).is_finite()).select("stimulus", "question", value)
        # Strengths are fitted to all answers at once; how often a stimulus was chosen says nothing of the other pairs.
        self.compared = [name for name in self._families if isinstance(source.study.scale_of(name), COMPARED)]
        if self.compared:
            finite_labels = finite_labels.filter(~pl.col("question").is_in(self.compared)).rename({value: "value"})
            finite_labels = pl.concat([finite_labels, win_shares(source, self.compared)])
        columns = [name for name in ("stimulus", "system", "intent") if name in stimuli.columns]
        self._facts = {row["stimulus"]: row for row in stimuli.select(columns).iter_rows(named=True)}
        self._half = _halves(self._facts)
        self._groups: dict[tuple[str, ...], Group] = {}
        rows = sorted(finite_labels.iter_rows())
        for stimulus, question, number in rows:
            for key in self._keys(stimulus, question):
                self._groups.setdefault(key, Group()).add(number)
        text = "\n".join(f"{s}\x1f{q}\x1f{v!r}" for s, q, v in rows)
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    def _keys(self, stimulus: str, question: str) -> Iterable[tuple[str, ...]]:
        facts, half = self._facts.get(stimulus, {}), self._half.get(stimulus, "a")
        system, intent = facts.get("system"), facts.get("intent")
        yield ("family", self._families[question])
        yield ("all", question)
        yield ("half", question, half)
        if system is not None:
            yield ("system", question, half, system)
        if intent is not None:
            yield ("intent", question, half, intent)
        if system is not None and intent is not None:
            yield ("cell", question, half, system, intent)

    def of_family(self, ask: Ask) -> Group | None:
        """All labels of the questions of a family; None where there is but one."""
        group = self._groups.get(("family", self._families.get(ask.question, "")))
        return group if group is not None and group.n > 1 else None

    def of(self, kind: str, case: Case, ask: Ask, *values: str | None) -> tuple[Group, Group, Group] | None:
        """A group in the other half of the stimuli, that half, and all labels of the question; None without the first."""
        if any(value is None for value in values):
            return None
        other_half = "b" if self._half.get(case.stimulus, "a") == "a" else "a"
        named = [value for value in values if value is not None]
        group = self._groups.get((kind, ask.question, other_half, *named))
        if group is None:
            return None
        return group, self._groups["half", ask.question, other_half], self._groups["all", ask.question]


def _halves(facts: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
    """Two halves of the stimuli, by name, with every cell, system and intent divided as evenly as can be."""
    cells: dict[tuple[str, str], list[str]] = {}
    for name, row in facts.items():
        cells.setdefault((str(row.get("system") or ""), str(row.get("intent") or "")), []).append(name)
    systems, intents = (sorted({cell[side] for cell in cells}) for side in (0, 1))
    out: dict[str, str] = {}
    for (system, intent), names in cells.items():
        # Neighbouring cells begin with different halves, as on a chessboard.
        first = systems.index(system) + intents.index(intent)
        order = sorted(names, key=lambda name: hashlib.sha256(f"half {name}".encode()).digest())
        out |= {name: "ab"[(first + position) % 2] for position, name in enumerate(order)}
    return out


def _family(question: Question) -> str:
    spread = sorted(question.about)
    return " ".join([question.scale, *spread]) if spread else f"\x00{question.id}"


class FromLabels(Predictor):
    """A predictor that is made of other items' labels and of nothing else."""

    needs_media = False
    batch = 64
    needs: ClassVar[str] = ""
    """The fact about a stimulus it cannot do without."""
    no_group: ClassVar[str] = "no other item has a label for this question"
    _labels: GroupedLabels | None = None

    @property
    def identity(self) -> str:
        return f"{self.name} of labels {self._labels.digest if self._labels else 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
        self._labels = GroupedLabels(labels, source)

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        """From the first of its groups that has labels in the other half; else the mean or majority of all labels."""
        if self._labels is None:
            return Prediction.failed(_NO_LABELS)
        if self.needs and getattr(case, self.needs) is None:
            return Prediction.failed(f"the stimulus has no {self.needs}")
        for kind, values, name in self.groups(case):
            labelled = self._labels.of(kind, case, ask, *values)
            if labelled is not None:
                group, half, everything = labelled
                labels = "1 label" if group.n == 1 else f"{group.n} labels"
                return group.prediction(ask.scale, f"{FROM_LABELS}: {labels} of {name}", half, everything)
        return self.constant(ask)

    def constant(self, ask: Ask) -> Prediction:
        """The mean or majority of all labels of the question and its like."""
        group = None if self._labels is None else self._labels.of_family(ask)
        if group is None:
            return Prediction.failed(_NO_LABELS if self._labels is None else self.no_group)
        return group.prediction(ask.scale, f"from all {group.n} labels")

    @abstractmethod
    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        """The groups to predict a case from, the nearest first: kind, values, and what they are called."""


@PREDICTORS.register("constant")
class Constant(FromLabels):
    """The same for every stimulus: a given value, or the mean or majority of all labels.

    The labels are of all questions of one family together: an emotion or a task type that is part of the question would give
    away too much. An item's own label is among them, with the same share in every prediction.
    """

    name = "constant"
    about = "one value for every stimulus: a given one, or the mean or majority of all labels"
    argument = "the value or category; by default the mean or majority of all labels"

    def __init__(self, argument: str, options: Mapping[str, str]) -> None:
        del options
        self._given = argument

    @property
    def identity(self) -> str:
        return f"constant {self._given}" if self._given else super().identity

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        del case
        if not self._given and self._labels is not None and ask.question in self._labels.compared:
            return Prediction(value=0.5, note="even odds")
        return _on_scale(self._given, ask) if self._given else self.constant(ask)

    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        del case
        return ()


def _on_scale(text: str, ask: Ask) -> Prediction:
    if ask.scale.level == "text":
        return Prediction(answer=text)
    try:
        if not ask.scale.labels():
            number, limits = float(text), ask.scale.bounds() or (float("-inf"), float("inf"))
            if limits[0] <= number <= limits[1]:
                return Prediction(value=number)
            return Prediction.failed(f"{text} is not on the scale from {limits[0]:g} to {limits[1]:g}")
        value, answer = ask.scale.read(text)
    except (InputError, ValueError):
        return Prediction.failed(f"'{text}' is not on the scale of this question")
    return Prediction(value=value, answer=answer)


@PREDICTORS.register("system-mean")
class SystemMeanBaseline(FromLabels):
    """What knowing only the system gives; the constant where the other half has none of its labels, and the note says so."""

    name = "system-mean"
    about = "the mean or majority of the same system's labels, in the other half of the stimuli"
    needs = "system"

    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        yield "system", (case.system,), str(case.system)


@PREDICTORS.register("intent")
class IntentBaseline(FromLabels):
    """What knowing only the cell of system and intent gives.

    A cell without labels in the other half falls back on the intent, then the system, then the constant, and the note says so.
    """

    name = "intent"
    about = "the mean or majority of the labels in the same cell of system and intent, in the other half of the stimuli"
    needs = "intent"

    def groups(self, case: Case) -> Iterable[tuple[str, tuple[str | None, ...], str]]:
        yield "cell", (case.system, case.intent), f"{case.system}, {case.intent}"
        yield "intent", (case.intent,), f"{case.intent}, whatever the system"
        yield "system", (case.system,), f"{case.system}, whatever the intent"


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
        return f"human {self._rater or 'any'} seed {self._seed} of {self._content or 'unseen'}"

    def learn(self, source: Snapshot | Benchmark, labels: pl.DataFrame) -> None:
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
        key = [*_PAIR, "rater"]
        other_answers = answers.join(chosen.select(key), on=key, how="anti", maintain_order="left")
        other_labels = make_labels(
            source, LabelOptions(minimum_ratings=1, adjudicated="none"), answers=other_answers
        ).table
        other_labels = _with_sides(other_labels, other_answers, source)
        both = chosen.join(
            other_labels.select(*_PAIR, pl.col("value").alias("against"), "n"),
            on=_PAIR,
            how="left",
            maintain_order="left",
        )
        columns = pl.concat([both.select(*_PAIR, "value", "against", "n"), self._left_out_choices(pairs)])
        self._left_out = {(s, q): (value, against, int(n or 0)) for s, q, value, against, n in columns.rows()}

    def _left_out_choices(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Of each pair one rater's value, the mean of the others', and how many these are."""
        rows = []
        grouped = pairs.sort(*_PAIR, "rater").group_by(_PAIR, maintain_order=True)
        for name, question, raters, values in grouped.agg(pl.col("rater"), pl.col("value")).rows():
            chosen = self._chosen(name, question, raters, values)
            if chosen is not None:
                other_values = [value for rater, value in zip(raters, values, strict=True) if rater != chosen[2]]
                mean = sum(other_values) / len(other_values) if other_values else None
                rows.append((name, question, chosen[3], mean, len(other_values)))
        schema = {**dict.fromkeys(_PAIR, pl.String), "value": pl.Float64, "against": pl.Float64, "n": pl.Int64}
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
        if self._left_out is None:
            return Prediction.failed(_NO_LABELS)
        if ask.scale.level == "text":
            return Prediction.failed("a left-out rater answers no questions in words")
        if len(case.members) > 2:
            return Prediction.failed("a left-out rater is scored on pairs, not on larger sets")
        left_out = self._left_out.get((case.stimulus, ask.question))
        if left_out is None:
            reason = f"the rater '{self._rater}' did not rate" if self._rater else "nobody rated"
            return Prediction.failed(f"{reason} this item")
        value, against, n = left_out
        if against is None:
            return Prediction.failed("the other raters are tied" if n else "only one person rated this item")
        note = f"one rater against {n} others"
        if case.members:
            first, second = sorted(member.stimulus for member in case.members)
            return Prediction(members={first: value or 0.0, second: 1.0 - (value or 0.0)}, against=against, note=note)
        return Prediction(value=value, against=against, note=note)


def _with_sides(table: pl.DataFrame, answers: pl.DataFrame, source: Snapshot) -> pl.DataFrame:
    """Labels of ordered categories that are tied, but not between absent and present: the smaller of the side's most frequent."""
    scales = {question.id: source.study.scale_of(question.id) for question in source.study.asked}
    lowest = {name: min(scale.labels()) for name, scale in scales.items() if scale.level == "ordinal"}
    tied = table.filter(pl.col("value").is_null() & pl.col("question").is_in(list(lowest))).select(_PAIR)
    if not tied.height:
        return table
    bottom = pl.col("question").replace_strict(lowest, return_dtype=pl.Float64)
    votes = answers.join(tied, on=_PAIR, how="semi", maintain_order="left").with_columns(
        (pl.col("value") > bottom).alias("present")
    )
    sides = votes.group_by(_PAIR).agg(
        (2 * pl.col("present").sum().cast(pl.Int64) - pl.len().cast(pl.Int64)).alias("lead")
    )
    majority = votes.join(sides.filter(pl.col("lead") != 0), on=_PAIR, maintain_order="left").filter(
        pl.col("present") == (pl.col("lead") > 0)
    )
    decided = majority.group_by(_PAIR).agg(pl.col("value").mode().min().alias("decided"))
    joined = table.join(decided, on=_PAIR, how="left", maintain_order="left")
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
        return f"sham {_SALT}"

    def predict_one(self, case: Case, ask: Ask) -> Prediction:
        stem = stem_of(case, ask)
        return best_match(ask, [(code, similarity(stem, text)) for code, text in texts_to_match(ask)])
