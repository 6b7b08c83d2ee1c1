"""What the samples of a log of inspect_ai answer, as predictions.

What the model answered is, in this order: the ``answer`` of the scorer, a scorer's value that is a number (a scorer may also
return one for each question), or what the model wrote. Epochs are put together once the question's scale is known: the mean of
numbers, the most frequent category. Logs that heartfelt wrote hold each prediction in the metadata of its score, and give it back
as it was.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.files.inspect_logs import part_of
from heartfelt.predictors.files.sets import UNUSED, Row
from heartfelt.predictors.interface.predictor import Ask, Prediction
from heartfelt.study.scales.answer import read_number
from heartfelt.wording import listed, plural

_NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z_]-)[-−]?\d+(?:\.\d+)?(?!\w)")
"""A number in a sentence; the 4 of GPT-4 is none."""
PREDICTION = "prediction"
"""In the metadata of a score that heartfelt wrote: the prediction as it stands in a file of predictions."""
Answer: TypeAlias = "Prediction | Row"
"""What a sample answers, or a prediction of heartfelt's own as a row of a file holds it."""
_GRADES = {"C", "I", "P", "N"}
"""What inspect_ai's scorers write for correct, incorrect, partial and no answer."""


def log_entries(
    rows: Sequence[Row], questions: Sequence[str], scorer: str | None, path: Path
) -> Iterator[tuple[int, str, str, Row]]:
    """Number of the first sample, stimulus, question and what was ``said`` in each epoch, or a prediction of heartfelt's own."""
    entries: dict[tuple[str, str], _Entry] = {}
    scorers = _Scorers.of([row["sample"] for row in rows], questions, scorer, path)
    for reason in scorers.unused:
        yield 0, "", "", {"what": "score", UNUSED: reason}
    for number, row in enumerate(rows, 1):
        for name, answer in scorers.answers(row["sample"]).items():
            key = row["stimulus"], _question_of(name or row["question"], questions, path)
            entry = entries.setdefault(key, _Entry(number, str(row["sample"]["id"])))
            if not entry.add(answer, str(row["sample"]["id"])):
                raise InputError(
                    f"{path}: the samples {entry.number} and {number} both answer '{key[1]}' about '{key[0]}'.",
                    "Keep one sample per stimulus and question; several epochs of it are put together.",
                )
    for (stimulus, question), entry in entries.items():
        yield entry.number, stimulus, question, entry.row


def _question_of(name: str | None, questions: Sequence[str], path: Path) -> str:
    """The question that a scorer or a sample names, or the only one."""
    if name is None and len(questions) > 1:
        raise InputError(
            f"{path} does not say which question a sample answers, and {len(questions)} are asked.",
            "Ask one question; or give samples the metadata 'question', or name the scorers like the questions.",
        )
    return str(name or questions[0])


@dataclass(slots=True)
class _Entry:
    """What the epochs of one sample answer to one question."""

    number: int
    """Of the first of them in the log."""
    id: str
    epochs: list[Prediction] = field(default_factory=list)
    written_prediction: Row | None = None
    """A prediction that heartfelt wrote itself, of which there is one."""

    def add(self, answer: Answer, id: str) -> bool:
        """Take an answer; False where it belongs to another sample, or is one too many."""
        is_own = isinstance(answer, Mapping)
        if id != self.id or (is_own and (self.epochs or self.written_prediction is not None)):
            return False
        if isinstance(answer, Prediction):
            self.epochs.append(answer)
        else:
            self.written_prediction = answer
        return True

    @property
    def row(self) -> Row:
        own_row = None if self.epochs else self.written_prediction
        return {"said": self.epochs} if own_row is None else own_row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scorers:
    """The scorers of a log that are used, and what their scores answer."""

    names: tuple[str, ...]
    """None where nothing was scored."""
    wanted: bool = False
    """Whether somebody named the scorer; else it counts what the model wrote where a sample was not scored at all."""
    questions: tuple[str, ...] = ()
    """Those that the scorers, or the parts of their values, are called like."""
    in_parts: bool = False
    """Whether a score's value has a part for each question."""
    unused: tuple[str, ...] = ()

    @classmethod
    def of(cls, samples: Sequence[Row], questions: Sequence[str], wanted: str | None, path: Path) -> _Scorers:
        """The scorer that is ``wanted``, or those that are called like questions, or the only one."""
        scores = [_scores(sample) for sample in samples]
        names = _available_scorers(scores, wanted, path)
        named = tuple(name for name in names if name in questions)
        if named:
            unused = (f"the scorer '{name}' is no question that is asked" for name in names if name not in named)
            return cls(names=named, questions=named, unused=tuple(unused))
        parts = _parts_by_scorer(scores, names)
        scorer = _only_scorer(names, parts, questions, path)
        if scorer is None:
            return cls(names=(), wanted=wanted is not None)
        in_value = parts.get(scorer, [])
        answered = tuple(part for part in in_value if part in questions)
        unused_parts = [part for part in in_value if part not in answered] if answered else []
        skipped = [f"the scorer '{name}' was not used" for name in names if name != scorer]
        skipped += [f"'{part}' of the scorer '{scorer}' is no question that is asked" for part in unused_parts]
        is_named = wanted is not None
        return cls(names=(scorer,), wanted=is_named, questions=answered, in_parts=bool(answered), unused=tuple(skipped))

    def answers(self, sample: Row) -> Mapping[str | None, Answer]:
        if problem := _problem(sample):
            return dict.fromkeys(self.questions or (None,), Prediction.failed(problem))
        scores = _scores(sample)
        if self.questions and not self.in_parts:
            return {
                name: _answer_of(scores[name], sample) if name in scores else _without_score(name)
                for name in self.names
            }
        name = next(iter(self.names), None)
        score = scores.get(str(name))
        if name is None or not (scores or self.wanted or self.in_parts):
            score = {}
        if score is None:
            return dict.fromkeys(self.questions or (None,), _without_score(name))
        return self._parts(str(name), score, sample) if self.in_parts else {None: _own_or_answer(score, sample)}

    def _parts(self, name: str, score: Row, sample: Row) -> Mapping[str | None, Answer]:
        parts = part_of(score, "value")
        return {
            part: _answer_of({"value": parts[part]}, sample)
            if part in parts
            else Prediction.failed(f"the value of the scorer '{name}' has no part '{part}'")
            for part in self.questions
        }


def _available_scorers(scores: Sequence[Mapping[str, Row]], wanted: str | None, path: Path) -> list[str]:
    names = list(dict.fromkeys(name for by_name in scores for name in by_name))
    if wanted is None:
        return names
    if wanted not in names:
        raise InputError(f"{path} has no score of '{wanted}'.", suggestion(wanted, names, "Scorers"))
    return [wanted]


def _only_scorer(
    names: list[str], parts: Mapping[str, Sequence[str]], questions: Sequence[str], path: Path
) -> str | None:
    """The scorer whose values have parts called like questions, else the only one; None where nothing was scored."""
    answering = [name for name, in_value in parts.items() if set(in_value) & set(questions)] or names
    if len(answering) > 1:
        raise InputError(
            f"{path} has {len(answering)} scorers: {listed(answering)}.",
            f"Say which: file[scorer={answering[0]}]:{path}.",
        )
    return answering[0] if answering else None


def _parts_by_scorer(scores: Sequence[Mapping[str, Row]], names: Sequence[str]) -> dict[str, list[str]]:
    """Of the scorers whose values have parts, the names of these; heartfelt's own predictions are one answer each."""
    parts: dict[str, dict[str, None]] = {}
    for by_name in scores:
        for name in names:
            value = by_name.get(name, {}).get("value")
            if isinstance(value, Mapping) and not _own_prediction(by_name[name]):
                parts.setdefault(name, {}).update(dict.fromkeys(map(str, value)))
    return {name: list(in_value) for name, in_value in parts.items()}


def _without_score(name: str | None) -> Prediction:
    return Prediction.failed(f"the sample has no score of '{name}'")


def _scores(sample: Row) -> dict[str, Row]:
    scores = part_of(sample, "scores")
    return {str(name): score for name, score in scores.items() if isinstance(score, Mapping)}


def _problem(sample: Row) -> str | None:
    error, invalid = sample.get("error"), sample.get("invalidation")
    if error:
        message = error.get("message") if isinstance(error, Mapping) else error
        return " ".join(str(message).split())[:300] or "the sample ended with an error"
    if invalid:
        reason = invalid.get("reason") if isinstance(invalid, Mapping) else None
        return f"the sample was declared invalid{f': {reason}' if reason else ''}"
    return None


def _own_prediction(score: Row) -> Row | None:
    """The prediction that heartfelt wrote into a score; None if the score was edited afterwards, or is not heartfelt's."""
    row = part_of(score, "metadata").get(PREDICTION)
    return row if isinstance(row, Mapping) and row and not score.get("history") else None


def _own_or_answer(score: Row, sample: Row) -> Answer:
    return _own_prediction(score) or _answer_of(score, sample)


def _answer_of(score: Row, sample: Row) -> Prediction:
    answer, reason = score.get("answer"), score.get("explanation")
    explanation = str(reason) if reason and reason != answer else None
    if answer is not None and str(answer).strip():
        return Prediction(answer=_chosen(str(answer).strip(), sample), reason=explanation)
    by_value = _value_answer(score, explanation)
    if by_value is not None:
        return by_value
    completion = str(part_of(sample, "output").get("completion") or "").strip()
    return Prediction(answer=completion) if completion else Prediction.failed("the model wrote nothing")


def _value_answer(score: Row, explanation: str | None) -> Prediction | None:
    """What the scorer's value answers; None where it has none, or grades the answer."""
    match score.get("value"):
        case list():
            return Prediction.failed("the scorer's value is a list and not one answer")
        case Mapping() as value:
            parts = listed([str(part) for part in value])
            return Prediction.failed(f"the scorer's value has parts ({parts}), and none is called like a question")
        case int() | float() as value if not isinstance(value, bool):
            number = float(value)
            if not math.isfinite(number):
                return Prediction.failed(f"the scorer's value is {number}")
            if part_of(score, "metadata").get("off_scale"):
                return Prediction(score=number, reason=explanation)
            return Prediction(value=number, reason=explanation)
        case str() as value if value not in _GRADES:
            return Prediction(answer=value, reason=explanation)
    return None


def _chosen(answer: str, sample: Row) -> str:
    choices = sample.get("choices")
    index = ord(answer.upper()) - ord("A") if len(answer) == 1 else -1
    return str(choices[index]) if isinstance(choices, list) and 0 <= index < len(choices) else answer


def together(epochs: Sequence[Prediction], ask: Ask) -> Prediction:
    """The epochs of one stimulus as one prediction on the question's scale."""
    read = [_on_scale(prediction, ask) for prediction in epochs]
    good = [prediction for prediction in read if prediction.problem is None]
    if len(read) == 1 or not good:
        return read[0]
    lost = "" if len(good) == len(read) else f"; {len(read) - len(good)} of {len(read)} failed"
    numbers = [prediction.value for prediction in good if prediction.value is not None]
    if len(numbers) == len(good) and not ask.scale.labels():
        mean = math.fsum(numbers) / len(numbers)
        return Prediction(value=mean, note=f"mean of {plural(len(numbers), 'epoch')}{lost}")
    return _most_frequent(good, ask, lost)


def _most_frequent(good: Sequence[Prediction], ask: Ask, lost: str) -> Prediction:
    counts = Counter(_category(prediction, ask) for prediction in good)
    answer, times = counts.most_common(1)[0]
    tied = sum(count == times for count in counts.values()) > 1
    note = f"answered in {times} of {len(good)} epochs{', the first of those tied' if tied else ''}{lost}"
    return Prediction(answer=answer, note=note)


def _category(prediction: Prediction, ask: Ask) -> str:
    """An answer as the scale spells it, so that the same answers are counted together."""
    words = ask.scale.labels()
    if prediction.value is not None:
        return words.get(prediction.value, f"{prediction.value:g}")
    answer = str(prediction.answer).strip(" .")
    return {word.casefold(): word for word in words.values()}.get(answer.casefold(), str(prediction.answer))


def _on_scale(prediction: Prediction, ask: Ask) -> Prediction:
    """The answer as the scale spells it; where a number is wanted, the answer itself, or the only number in it."""
    if prediction.answer is None or ask.scale.level == "text":
        return prediction
    if ask.scale.labels():
        return replace(prediction, answer=_category(prediction, ask))
    text = str(prediction.answer)
    number = read_number(text)
    numbers = _NUMBER.findall(text) if number is None else []
    if number is None and len(numbers) != 1:
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        return Prediction.failed(f"the log's answer '{shown}' is not a number")
    note = None if number is not None else "the only number in the answer"
    value = float(numbers[0].replace("−", "-")) if number is None else number
    return Prediction(value=value, reason=prediction.reason, note=note)
