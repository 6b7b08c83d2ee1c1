"""What the page of a stimulus shows: what is known of it, what people answered, and what every model answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import polars as pl

from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.site.sources.boards import Site, SiteBoard
from heartfelt.report.site.sources.published import ITEM
from heartfelt.report.site.sources.secrets import without_secrets
from heartfelt.scoring.results.metrics import Kind
from heartfelt.scoring.results.scores import Scores
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.wording import number, percent, plural, spaced

MAX_LENGTH = 400
MOST_BARS = 12
ON_SCALES = ("numbers", "ordinal", "strengths", "traces")


@dataclass(frozen=True, slots=True)
class AnswerBar:
    """How many people gave an answer; ``width`` in percent of the most frequent."""

    label: str
    count: int
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """What a model answered; ``at`` is its place on the scale in percent, ``sort`` and ``absolute_error`` numbers to sort by."""

    model: str
    page: str
    colour: str
    answer: str
    sort: float | None
    absolute_error: float | None
    off_text: str
    at: float | None
    failed: bool

    @property
    def order(self) -> tuple[bool, bool, float, str]:
        """By error; answers without one, then failures, come last."""
        return self.failed, self.absolute_error is None, self.absolute_error or 0.0, self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionShown:
    """One question about a stimulus."""

    name: str
    words: str
    label: str
    note: str
    bars: tuple[AnswerBar, ...]
    rows: tuple[ModelAnswer, ...]
    ends: tuple[str, str] | None
    at: float | None
    band: tuple[float, float] | None


class Contents:
    """What the pages of one board's stimuli show, by stimulus."""

    def __init__(self, site: Site, board_index: int) -> None:
        self.site = site
        self.board: SiteBoard = site.boards[board_index]
        published, scores = site.published, self.board.scores
        self.study = published.study
        self._named: dict[str, dict[str, str]] = {}
        facts = [name for name in ("system", "intent", "prompt", "split") if name in published.stimuli.columns]
        self._facts = {
            name: tuple(zip(facts, values, strict=True))
            for name, *values in published.stimuli.select("stimulus", *facts).iter_rows()
        }
        self._labels = {(row["stimulus"], row["question"]): row for row in published.labels.iter_rows(named=True)}
        self._labelled: dict[str, list[str]] = defaultdict(list)
        for name, question in self._labels:
            self._labelled[name].append(question)
        self._votes: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
        for name, question, value, votes in published.counts.sort("value").iter_rows():
            self._votes[name, question].append((value, votes))
        self._rows: dict[str, dict[str, list[_Row]]] = defaultdict(lambda: defaultdict(list))
        self._systems: dict[str, tuple[str | None, str | None]] = {}
        for row in _rows(scores):
            for name in row.stimulus.split(SEPARATOR) if row.kind == "choices" else (row.stimulus,):
                self._rows[name][row.question].append(row)
                self._systems.setdefault(name, (row.system, row.intent))
        self._ends = _ends(scores, self.study)
        study = self.study
        study_questions = study.asked if study is not None else ()
        self._words = {question.id: say(question.text) for question in study_questions}
        self._categories = _categories(scores)
        if study is not None:
            self._categories |= {question.id: study.scale_of(question.id).labels() for question in study_questions}
            self._named = {
                "system": {system.id: system.name or system.id for system in study.systems},
                "prompt": {prompt.id: say(prompt.text) for prompt in study.prompts if prompt.text},
            }
        self._places = {question: index for index, question in enumerate(self._words)}
        self._answers = {model: quote(f"../models/{file}") for model, file in site.models.items()}

    def is_hidden(self, name: str) -> bool:
        """Whether nothing that people or models answered about a stimulus may be shown."""
        return name in self.board.hidden_stimuli

    def error(self, name: str) -> tuple[float | None, int, int]:
        """How far models were off on average, in percent of the scale; how many answers they gave, and how often they failed."""
        rows = [row for rows in self._rows.get(name, {}).values() for row in rows]
        offs = [share for share in map(self._share_off, rows) if share is not None]
        answered = sum(row.answered for row in rows)
        return (100 * sum(offs) / len(offs) if offs else None), answered, len(rows) - answered

    def _share_off(self, row: _Row) -> float | None:
        """How far an answer is off as a share of the scale; None where it is not on the scale."""
        ends = self._ends.get(row.question) if row.kind in ("numbers", "ordinal") else (0.0, 1.0)
        if not row.answered or row.absolute_error is None or ends is None:
            return None
        on_scale = row.code is not None or row.kind == "binary"
        return min(row.absolute_error / (ends[1] - ends[0]), 1.0) if on_scale else None

    def facts(self, name: str) -> list[tuple[str, str]]:
        """What is known of a stimulus."""
        facts = [(spaced(fact), str(value)) for fact, value in self._facts.get(name, ()) if value not in (None, "")]
        if not facts:
            system, intent = self._systems.get(name, (None, None))
            facts = [(fact, value) for fact, value in (("system", system), ("intent", intent)) if value]
        return [(fact, self._named.get(fact, {}).get(value, value)) for fact, value in facts]

    def questions(self, name: str) -> list[QuestionShown]:
        """What was asked about a stimulus, in the study's order."""
        order = dict.fromkeys([*self._rows.get(name, ()), *self._labelled.get(name, ())])
        last = len(self._places)
        return [
            shown
            for question in sorted(order, key=lambda name: self._places.get(name, last))
            for shown in self._question(name, question, self._rows.get(name, {}).get(question, []))
        ]

    def _question(self, name: str, question: str, rows: Sequence[_Row]) -> Iterator[QuestionShown]:
        """A question; one entry for each pair where stimuli were compared."""
        pairs: dict[str, list[_Row]] = defaultdict(list)
        single = []
        for row in rows:
            if row.kind == "choices":
                pairs[row.stimulus].append(row)
            else:
                single.append(row)
        words = self._words.get(question, "")
        if single or (name, question) in self._labels:
            yield self._single(name, question, words, single)
        for pair, pair_rows in pairs.items():
            yield self._pair(name, question, words, pair, pair_rows)

    def _pair(self, name: str, question: str, words: str, pair: str, rows: Sequence[_Row]) -> QuestionShown:
        first, second = pair.split(SEPARATOR)[:2]
        opponent, sign = (second, 1) if first == name else (first, -1)
        share = rows[0].truth
        share = share if share is None or first == name else 1 - share
        label = "" if share is None else f"{number(100 * share, 0)}% preferred this one"
        chosen = ("this one" if (row.code or 0) * sign > 0 else "the other" for row in rows)
        return QuestionShown(
            name=f"{spaced(question)}: compared with {opponent}",
            words=words,
            label=label,
            note="",
            bars=(),
            rows=tuple(self._answer(row, None, None, choice) for row, choice in zip(rows, chosen, strict=True)),
            ends=None,
            at=None,
            band=None,
        )

    def _single(self, name: str, question: str, words: str, rows: Sequence[_Row]) -> QuestionShown:
        kind = rows[0].kind if rows else "numbers"
        names = self._categories.get(question, {})
        ends = self._ends.get(question) if not names and kind in ON_SCALES else None
        text, note, middle, bounds = self._label(name, question, rows, names)
        low, high = (_at(bound, ends) for bound in bounds)
        answers = sorted(
            (self._answer(row, ends if row.code is not None else None, row.absolute_error) for row in rows),
            key=lambda answer: answer.order,
        )
        on_scale = any(answer.at is not None for answer in answers)
        return QuestionShown(
            name=spaced(question),
            words=words,
            label=text,
            note=note,
            bars=self._bars(name, question, names),
            rows=tuple(answers),
            ends=None if ends is None or not on_scale else (_end(ends[0]), _end(ends[1])),
            at=_at(middle, ends),
            band=None if low is None or high is None else (low, round(high - low, 2)),
        )

    def _label(
        self, name: str, question: str, rows: Sequence[_Row], names: Mapping[float, str]
    ) -> tuple[str, str, float | None, tuple[float | None, float | None]]:
        """The label in words, what it is from, its value and its bounds; else the value that answers were scored against."""
        label = self._labels.get((name, question))
        if label is not None:
            text = label["answer"] or names.get(label["label"]) or number(label["label"], 2)
            if label["low"] is not None and not names:
                text += f" [{number(label['low'], 2)}, {number(label['high'], 2)}]"
            return text, self._note(label, "[" in text), label["label"], (label["low"], label["high"])
        truth = rows[0].truth if rows else None
        if truth is None:
            return "", "", None, (None, None)
        text = _side(truth) if rows[0].kind == "binary" else names.get(truth) or number(truth, 2)
        return text, "the label models were scored against", truth, (None, None)

    def _note(self, label: Mapping[str, Any], bounded: bool) -> str:
        """How many people a label is from, how many of them agree with it, and what its interval is."""
        counted = "" if label["n"] is None else plural(label["n"], "rating")
        share, method = label["share"], str(label["method"])
        if share is not None and method == "mode":
            counted = f"{number(100 * share, 0)}% of {counted}"
        elif share is not None:
            counted += f", probability {number(share, 2)} ({method})"
        level = self.site.published.confidence
        return counted + (f", {percent(level)} interval" if level else ", interval") * bounded

    def _bars(self, name: str, question: str, names: Mapping[float, str]) -> tuple[AnswerBar, ...]:
        """How many people gave each answer; numbers are put into bins where there are many."""
        votes = self._votes.get((name, question), [])
        if not votes:
            return ()
        if names:
            counts = dict(votes)
            lines = [
                (label, counts.get(code, 0))
                for code, label in sorted(names.items())
                if code in counts or len(names) <= MOST_BARS
            ]
        else:
            lines = _binned(votes, self._ends.get(question))
        most = max(count for _, count in lines)
        return tuple(AnswerBar(label, count, round(100 * count / most, 1)) for label, count in lines)

    def _answer(
        self, row: _Row, ends: tuple[float, float] | None, absolute_error: float | None, words: str | None = None
    ) -> ModelAnswer:
        answered, text = row.value, row.text(words)
        if not row.answered:
            text, absolute_error = (f"failed: {without_secrets(row.problem or 'no prediction was given')}", None)
        # Numbers that are not on the scale can only be ordered: they are off by ranks, not by points.
        by_rank = row.code is None and row.kind in ("numbers", "ordinal", "strengths")
        text = text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"
        return ModelAnswer(
            model=row.model,
            page=self._answers[row.model],
            colour=self.site.colours[row.model],
            answer=text,
            sort=answered if row.answered else None,
            absolute_error=None if by_rank else absolute_error,
            off_text="–"
            if absolute_error is None
            else _ranks(absolute_error)
            if by_rank
            else number(absolute_error, 2),
            at=_at(answered, ends) if row.answered else None,
            failed=not row.answered,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One model's answer to one question about a stimulus or a set."""

    kind: Kind
    model: str
    stimulus: str
    question: str
    system: str | None
    intent: str | None
    truth: float | None
    code: float | None
    score: float | None
    answer: str | None
    predicted: float | None
    answered: bool
    problem: str | None
    absolute_error: float | None

    @property
    def value(self) -> float | None:
        """What was answered: a point of the scale, else a score."""
        return self.code if self.code is not None else self.score

    def text(self, words: str | None) -> str:
        """The answer in words, by default those of the model."""
        figure = "" if self.value is None else number(self.value, 2)
        if self.kind == "binary" and self.answer is None and self.predicted is not None:
            return f"{_side(self.predicted)} ({figure})" if figure else _side(self.predicted)
        return words or self.answer or figure


def _rows(scores: Scores) -> Iterator[_Row]:
    """Every public answer, once for each question: of two tasks with the same questions the first."""
    visited: set[tuple[str, ...]] = set()
    columns = ["model", *ITEM, "system", "intent", "truth", "code", "score", "answer", "said", "answered", "problem"]
    for task in scores.tasks:
        if tuple(task.questions) in visited and task.kind in ("ordinal", "numbers"):
            continue
        if task.kind != "choices":
            visited.add(tuple(task.questions))
        errors = scores.errors(task).select("model", *ITEM, absolute_error="off")
        task_rows = scores.rows.filter(pl.col("task") == task.id).select(columns).rename({"said": "predicted"})
        task_rows = task_rows.join(errors, on=["model", *ITEM], how="left", maintain_order="left")
        for row in task_rows.iter_rows(named=True):
            yield _Row(kind=task.kind, **row)


def _categories(scores: Scores) -> dict[str, dict[float, str]]:
    """The words of every category that a model answered with, by question and code."""
    out: dict[str, dict[float, str]] = defaultdict(dict)
    worded = [task.id for task in scores.tasks if task.kind in ("categories", "ordinal", "binary")]
    answers = scores.rows.filter(pl.col("task").is_in(worded)).select("question", "code", "answer").drop_nulls()
    for question, code, answer in answers.unique().iter_rows():
        out[question][code] = answer
    return out


def _ends(scores: Scores, study: Study | None) -> dict[str, tuple[float, float]]:
    """The ends of every question's scale: the study's, else the least and the greatest number there is."""
    out: dict[str, tuple[float, float]] = {}
    span = scores.rows.group_by("question").agg(
        pl.min_horizontal(pl.col("truth").min(), pl.col("code").min()).alias("low"),
        pl.max_horizontal(pl.col("truth").max(), pl.col("code").max()).alias("high"),
    )
    for question, low, high in span.iter_rows():
        if low is not None and high > low:
            out[question] = (low, high)
    if study is not None:
        bounds = {question.id: study.scale_of(question.id).bounds() for question in study.asked}
        out |= {question: ends for question, ends in bounds.items() if ends is not None}
    return out


def _at(value: float | None, ends: tuple[float, float] | None) -> float | None:
    """A value's place on the scale in percent; None where it has none."""
    if value is None or ends is None:
        return None
    return round(100 * min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0), 2)


def _binned(votes: Sequence[tuple[float, int]], ends: tuple[float, float] | None) -> list[tuple[str, int]]:
    """Counts by value; by tenths of the scale where there are many values."""
    low, high = ends or (votes[0][0], votes[-1][0])
    if all(value == int(value) for value, _ in votes) and high - low < MOST_BARS:
        counts = dict(votes)
        return [(number(value), counts.get(float(value), 0)) for value in range(int(low), int(high) + 1)]
    width = (high - low) / 10 or 1.0
    bins = [0] * 10
    for value, count in votes:
        bins[min(max(int((value - low) / width), 0), 9)] += count
    return [
        (f"{_end(round(low + k * width, 6))} to {_end(round(low + (k + 1) * width, 6))}", count)
        for k, count in enumerate(bins)
    ]


def _ranks(absolute_error: float) -> str:
    return f"{number(absolute_error, 0)} ranks"


def _end(value: float) -> str:
    """The end of a scale, without decimals where it has none."""
    return number(int(value) if value == int(value) else value)


def _side(value: float) -> str:
    return {1.0: "present", 0.0: "absent"}.get(value, number(value, 2))
