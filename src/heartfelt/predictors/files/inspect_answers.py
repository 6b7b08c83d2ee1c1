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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.files.inspect_logs import part_of
from heartfelt.predictors.files.sets import UNUSED
from heartfelt.predictors.predictor import Ask, Prediction
from heartfelt.study.answer import read_number
from heartfelt.wording import listed, plural

_NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z_]-)[-−]?\d+(?:\.\d+)?(?!\w)")
"""A number in a sentence; the 4 of GPT-4 is none."""
PREDICTION = "prediction"
"""In the metadata of a score that heartfelt wrote: the prediction as it stands in a file of predictions."""
Answer: TypeAlias = "Prediction | Mapping[str, Any]"
"""What a sample answers, or a prediction of heartfelt's own as a row of a file holds it."""
_GRADES = {"C", "I", "P", "N"}
"""What inspect_ai's scorers write for correct, incorrect, partial and no answer."""


def log_entries(
    rows: Sequence[Mapping[str, Any]], questions: Sequence[str], scorer: str | None, path: Path
) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
    """Number of the first sample, stimulus, question and what was ``said`` in each epoch, or a prediction of heartfelt's own."""
    entries: dict[tuple[str, str], tuple[int, list[Answer]]] = {}
    ids: dict[tuple[str, str], str] = {}
    scorers = _Scorers.of([row["sample"] for row in rows], questions, scorer, path)
    for reason in scorers.unused:
        yield 0, "", "", {"what": "score", UNUSED: reason}
    for number, row in enumerate(rows, 1):
        for name, answer in scorers.answers(row["sample"]).items():
            about = name or row["question"]
            if about is None and len(questions) > 1:
                raise InputError(
                    f"{path} does not say which question a sample answers, and {len(questions)} are asked.",
                    "Ask one question; or give samples the metadata 'question', or name the scorers like the questions.",
                )
            key = row["stimulus"], str(about or questions[0])
            id = str(row["sample"]["id"])
            first_number, answers = entries.setdefault(key, (number, []))
            if ids.setdefault(key, id) != id or (answers and isinstance(answer, Mapping)):
                raise InputError(
                    f"{path}: the samples {first_number} and {number} both answer '{key[1]}' about '{key[0]}'.",
                    "Keep one sample per stimulus and question; several epochs of it are put together.",
                )
            answers.append(answer)
    for (stimulus, question), (number, answers) in entries.items():
        epochs = [answer for answer in answers if isinstance(answer, Prediction)]
        yield (
            number,
            stimulus,
            question,
            {"said": epochs} if epochs else next(row for row in answers if isinstance(row, Mapping)),
        )


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
    def of(
        cls, samples: Sequence[Mapping[str, Any]], questions: Sequence[str], wanted: str | None, path: Path
    ) -> _Scorers:
        """The scorer that is ``wanted``, or those that are called like questions, or the only one."""
        scores = [_scores(sample) for sample in samples]
        every = list(dict.fromkeys(name for by_name in scores for name in by_name))
        if wanted is not None and wanted not in every:
            raise InputError(f"{path} has no score of '{wanted}'.", suggestion(wanted, every, "Scorers"))
        names = every if wanted is None else [wanted]
        named = [name for name in names if name in questions]
        if named:
            unused = [f"the scorer '{name}' is no question that is asked" for name in names if name not in named]
            return cls(names=tuple(named), questions=tuple(named), unused=tuple(unused))
        parts: dict[str, list[str]] = {}
        for by_name in scores:
            for name in names:
                value = by_name.get(name, {}).get("value")
                if isinstance(value, Mapping) and not _own_prediction(by_name[name]):
                    parts.setdefault(name, []).extend(str(part) for part in value)
        answering = [name for name, questions_in in parts.items() if set(questions_in) & set(questions)] or names
        if len(answering) > 1:
            raise InputError(
                f"{path} has {len(answering)} scorers: {listed(answering)}.",
                f"Say which: file[scorer={answering[0]}]:{path}.",
            )
        scorer_parts = dict.fromkeys(parts.get(answering[0], ())) if answering else {}
        asked_parts = tuple(part for part in scorer_parts if part in questions)
        unused = [f"the scorer '{name}' was not used" for name in names if name not in answering]
        if asked_parts:
            unused += [
                f"'{part}' of the scorer '{answering[0]}' is no question that is asked"
                for part in scorer_parts
                if part not in asked_parts
            ]
        return cls(
            names=tuple(answering),
            wanted=wanted is not None,
            questions=asked_parts,
            in_parts=bool(asked_parts),
            unused=tuple(unused),
        )

    def answers(self, sample: Mapping[str, Any]) -> Mapping[str | None, Answer]:
        if problem := _problem(sample):
            return dict.fromkeys(self.questions or (None,), Prediction.failed(problem))
        scores = _scores(sample)
        if self.in_parts or not self.questions:
            name = next(iter(self.names), None)
            unscored = name is None or not (scores or self.wanted or self.in_parts)
            score = {} if unscored else scores.get(str(name))
            if score is None:
                return dict.fromkeys(self.questions or (None,), _without_score(name))
            if not self.in_parts:
                return {None: _own_prediction(score) or _answer_of(score, sample)}
            parts = part_of(score, "value")
            return {
                part: _answer_of({"value": parts[part]}, sample)
                if part in parts
                else Prediction.failed(f"the value of the scorer '{name}' has no part '{part}'")
                for part in self.questions
            }
        return {
            name: _answer_of(scores[name], sample) if name in scores else _without_score(name) for name in self.names
        }


def _without_score(name: str | None) -> Prediction:
    return Prediction.failed(f"the sample has no score of '{name}'")


def _scores(sample: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    scores = part_of(sample, "scores")
    return {str(name): score for name, score in scores.items() if isinstance(score, Mapping)}


def _problem(sample: Mapping[str, Any]) -> str | None:
    error, invalid = sample.get("error"), sample.get("invalidation")
    if error:
        message = error.get("message") if isinstance(error, Mapping) else error
        return " ".join(str(message).split())[:300] or "the sample ended with an error"
    if invalid:
        reason = invalid.get("reason") if isinstance(invalid, Mapping) else None
        return f"the sample was declared invalid{f': {reason}' if reason else ''}"
    return None


def _own_prediction(score: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The prediction that heartfelt wrote into a score; None if the score was edited afterwards, or is not heartfelt's."""
    row = part_of(score, "metadata").get(PREDICTION)
    return row if isinstance(row, Mapping) and row and not score.get("history") else None


def _answer_of(score: Mapping[str, Any], sample: Mapping[str, Any]) -> Prediction:
    answer, value, facts = score.get("answer"), score.get("value"), part_of(score, "metadata")
    reason = score.get("explanation")
    explanation = str(reason) if reason and reason != answer else None
    if answer is not None and str(answer).strip():
        return Prediction(answer=_chosen(str(answer).strip(), sample), reason=explanation)
    if isinstance(value, Mapping | list):
        if isinstance(value, list):
            return Prediction.failed("the scorer's value is a list and not one answer")
        parts = listed([str(part) for part in value])
        return Prediction.failed(f"the scorer's value has parts ({parts}), and none is called like a question")
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if not math.isfinite(number):
            return Prediction.failed(f"the scorer's value is {number}")
        return (
            Prediction(score=number, reason=explanation)
            if facts.get("off_scale")
            else Prediction(value=number, reason=explanation)
        )
    if isinstance(value, str) and value not in _GRADES:
        return Prediction(answer=value, reason=explanation)
    completion = str(part_of(sample, "output").get("completion") or "").strip()
    return Prediction(answer=completion) if completion else Prediction.failed("the model wrote nothing")


def _chosen(answer: str, sample: Mapping[str, Any]) -> str:
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
        return Prediction(
            value=math.fsum(numbers) / len(numbers), note=f"mean of {plural(len(numbers), 'epoch')}{lost}"
        )
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
