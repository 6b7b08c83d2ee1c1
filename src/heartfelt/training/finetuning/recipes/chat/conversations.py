"""The conversations a language model is trained on: what it is asked, the answers it may give, and which of them is the label.

Every question is asked in a conversation of its own, in the words and with the form of the ``chat`` predictor
(:mod:`heartfelt.predictors.hosted.chat_form`, without reasons). The text is stored with the model, so that a trained model is asked
exactly as it was trained whatever the predictor's wording becomes. The label is the allowed answer nearest to the mean, or the
category most raters chose; where the most votes are a tie there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heartfelt.errors import InputError
from heartfelt.predictors.hosted.chat_form import SYSTEM, entry_names, questions
from heartfelt.predictors.task import ask_of
from heartfelt.serialization import dumps
from heartfelt.stats.columns.triples import Ints
from heartfelt.training.finetuning.stimuli.data import FineTuneTarget, TrainingData

NO_LABEL = -1
_PROMPT = "\u27e6prompt\u27e7"
"""Stands in a stored question for the prompt of the stimulus."""
_MOST_POINTS = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """One question as a model is asked it, with the answers it may give."""

    question: str
    text: str
    answers: tuple[str, ...]
    """Each allowed answer as the filled-in form."""
    values: tuple[float, ...]
    """The number behind each answer; empty for categories, whose answers are in the order of their codes."""
    system: str = SYSTEM

    def asked(self, prompt: str | None) -> str:
        return self.text.replace(_PROMPT, prompt or "")


def chat_questions(data: TrainingData, levels: int) -> tuple[ChatQuestion, ...]:
    """The questions trained on; ``levels`` is how many numbers of a scale are answers, 0 for its own points."""
    study, converted = data.sources[0].study, []
    for output in data.outputs:
        ask = ask_of(study, study.question(output.question))
        if output.shows_prompt:
            ask = replace(ask, text=_PROMPT, shown=_PROMPT)
        values: tuple[float, ...] = ()
        if not output.categories:
            if output.bounds is None:
                raise InputError(
                    f"The scale of '{output.question}' has no ends: its answers cannot be listed.",
                    "Give the scale 'low' and 'high' in study.yaml, or train on other questions: --set questions=NAME.",
                )
            values = _numbers(*output.bounds, levels, whole_numbers=ask.scale.whole)
        (name,) = entry_names((ask,))
        words = [f"{value:.6g}" for value in values] or [dumps(label, indent=None) for label in output.categories]
        answers = tuple(f'{{"{name}": {{"answer": {word}}}}}' for word in words)
        converted.append(
            ChatQuestion(
                question=output.question, text=questions((ask,), reasons=False), answers=answers, values=values
            )
        )
    return tuple(converted)


def _numbers(low: float, high: float, levels: int, *, whole_numbers: bool) -> tuple[float, ...]:
    """The numbers of a scale that are answers: its own points where they are few, else equally spaced ones."""
    points = int(high - low) + 1
    count = levels or (points if whole_numbers and points <= _MOST_POINTS else _MOST_POINTS)
    return tuple(float(f"{value:.6g}") for value in np.linspace(low, high, count))


def labelled_answers(questions: Sequence[ChatQuestion], targets: Sequence[FineTuneTarget]) -> Ints:
    """The place of the label among the answers, per stimulus and question; ``NO_LABEL`` where there is none."""
    columns = []
    for question, target in zip(questions, targets, strict=True):
        if question.values:
            # Half-way between two answers, the higher one.
            distance = np.abs(np.array(question.values)[::-1] - target.values[:, None])
            chosen = len(question.values) - 1 - distance.argmin(axis=1)
            labelled = target.weight > 0
        else:
            chosen = target.values.argmax(axis=1)
            most = target.values.max(axis=1, keepdims=True)
            labelled = (target.weight > 0) & (np.isclose(target.values, most).sum(axis=1) == 1)
        columns.append(np.where(labelled, chosen, NO_LABEL))
    return np.stack(columns, axis=1).astype(np.int64)
