"""Questionnaires before, between and after the trials: a page at a time, each stored once."""

from __future__ import annotations

import json
from typing import Any

from heartfelt.collect.messages import commands
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer, page_answered
from heartfelt.collect.session.progress.conditions import is_asked, not_shown, rater_facts, refused, without_answer
from heartfelt.collect.session.progress.transaction import Transaction, clean
from heartfelt.collect.session.steps import next_step
from heartfelt.errors import InputError, suggestion
from heartfelt.study.scales.answer import Coded


def answer_page(work: Transaction, command: commands.Questionnaire) -> commands.Step:
    """Store the answers to the page the rater is at; a page that was stored already changes nothing."""
    rater = work.rater(command.rater)
    step = next_step(work, rater)
    if not isinstance(step, commands.AskQuestionnaire) or (step.time, step.questions) != (
        command.time,
        tuple(command.questions),
    ):
        _check_same(work, command)
        return step
    answers = _check(work, command, step, rater_facts(rater, step.time))
    for name, (value, text) in answers.items():
        work.insert_about(rater, "questionnaires", time=step.time, question=name, value=value, answer=text)
    page = {"time": step.time, "questions": step.questions, "answers": answers}
    work.record("questioned", rater.number, words=json.dumps(page))
    return next_step(work, rater)


def _check_same(work: Transaction, command: commands.Questionnaire) -> None:
    """Refuse other answers to a page that was stored: a page sent again says nothing, one of another tab must."""
    rater, time = work.rater(command.rater), command.time
    if not command.questions or any((time, name) not in rater.questioned for name in command.questions):
        return
    by_id = {question.id: question for question in work.study.asked_in(time)}
    for name in command.questions:
        answer = command.answers.get(name)
        try:
            coded = None if without_answer(answer) else work.study.read(by_id[name], answer)
        except (InputError, KeyError):
            raise page_answered() from None
        stored = rater.facts.get((time, name))
        if (coded and (coded[0], clean(coded[1]))) != (stored and tuple(stored)):
            raise page_answered()


def _check(
    work: Transaction,
    command: commands.Questionnaire,
    step: commands.AskQuestionnaire,
    coded_answers: dict[tuple[str, str], Coded],
) -> dict[str, Coded]:
    """Validate the answers of a page; the error names the first invalid one."""
    study = work.study
    for name in command.answers:
        if name not in step.questions:
            raise InvalidAnswer(
                f"The question '{clean(str(name), 100)}' is not on this page.",
                suggestion(str(name), step.questions, "Asked"),
            )
    out: dict[str, Coded] = {}
    missing: list[str] = []
    for question in study.asked_in(step.time):
        if question.id not in step.questions:
            continue
        answer: Any = command.answers.get(question.id)
        if not is_asked(study, question, coded_answers, step.time):
            if not without_answer(answer):
                raise not_shown(question.id)
        elif not without_answer(answer):
            try:
                value, text = study.read(question, answer)
            except InputError as error:
                raise refused(question.id, error) from None
            coded_answers["question", question.id] = out[question.id] = (value, clean(text))
        elif question.required:
            missing.append(question.id)
    if missing:
        raise MissingAnswer(f"Not answered: {', '.join(missing)}.", "Answer every required question.", tuple(missing))
    return out
