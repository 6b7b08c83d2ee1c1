"""What conditions come to for one rater: the questions a trial asks, the pages of a questionnaire, the answers allowed.

Conditions on drafts have been settled when the study was opened; those on facts about the rater are settled here, before a
question is sent: the page never learns what they test. What remains depends on answers to other questions of the same
form, and the page tests that as the server does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from heartfelt.collect.assign.model import Rater, ReservedTrial
from heartfelt.collect.material import Unit
from heartfelt.collect.messages import commands
from heartfelt.collect.messages.errors import InvalidAnswer
from heartfelt.collect.session.progress.transaction import clean
from heartfelt.errors import InputError
from heartfelt.study import Question, Study
from heartfelt.study.consistency.arms import questions_in
from heartfelt.study.consistency.conditions import Source, holds, is_shown, scale_of
from heartfelt.study.parts.between import occurrence
from heartfelt.study.scales.answer import Coded


def rater_facts(rater: Rater, where: str = "questions") -> dict[Source, Coded]:
    """What conditions in a form may test before it is answered: facts about the rater, and earlier pages of the form."""
    times = ("about",) if where == "before" else ("about", "before")
    facts: dict[Source, Coded] = {("rater", name): fact for (time, name), fact in rater.facts.items() if time in times}
    return facts | {("question", name): fact for (time, name), fact in rater.facts.items() if time == where}


def asked_questions(study: Study, rater: Rater, unit: Unit) -> tuple[str, ...]:
    """The questions of a unit that this rater may have to answer."""
    names = questions_in(study, rater.arm, unit.questions)
    if not study.conditional:
        return names
    questions = [study.question(name) for name in names]
    return _may_be_shown(study, questions, rater_facts(rater), "questions")


def _may_be_shown(
    study: Study, questions: Iterable[Question], facts: Mapping[Source, Coded], where: str
) -> tuple[str, ...]:
    """The questions whose conditions hold, apart from those on other questions of the list, still to be answered."""
    out: list[str] = []
    for question in questions:
        if all(
            condition.question in out
            or condition.draft is not None
            or holds(condition, facts.get(condition.about), scale_of(study, condition.about, where))
            for condition in question.show_if
        ):
            out.append(question.id)
    return tuple(out)


def pending_page(study: Study, rater: Rater, time: str) -> tuple[str, ...]:
    """The questions on the next page of a questionnaire that the rater has to pass; empty if there is none."""
    facts = rater_facts(rater, time)
    for _, page in itertools.groupby(study.asked_in(time), key=lambda question: question.page):
        questions = _may_be_shown(study, page, facts, time)
        if any((time, name) not in rater.questioned for name in questions):
            return questions
    return ()


def is_asked(study: Study, question: Question, answers: Mapping[Source, Coded], where: str) -> bool:
    """Whether a question that was sent to the page is to be answered, given the answers before it."""
    return is_shown(study, question, answers, where=where, skip=("rater", "draft"))


def without_answer(answer: Any) -> bool:
    """Whether nothing was answered."""
    if isinstance(answer, Mapping):
        samples = answer.get("samples")
        return isinstance(samples, list) and all(sample is None for sample in samples)
    return answer is None or (isinstance(answer, str) and not answer.strip()) or answer == []


def not_shown(question: str) -> InvalidAnswer:
    """The error of an answer to a question whose conditions do not hold."""
    return InvalidAnswer(f"The question '{question}' is not asked after these answers.", "Leave it out.", (question,))


def refused(question: str, error: InputError) -> InvalidAnswer:
    """The error of an answer that its scale does not accept."""
    problem = str(clean(error.problem, 300))
    fix = str(clean(error.fix, 2000))
    return InvalidAnswer(f"Question '{question}': {problem}", fix, (question,), problem)


def pending_between(study: Study, rater: Rater, *, resting: bool) -> commands.AskQuestionnaire | None:
    """The next page of a questionnaire that has come due. Of one that comes several times only the latest is asked."""
    for block in study.between:
        trials = block.due(rater.answered, resting=resting)
        if trials is None:
            continue
        time = occurrence(block, trials)
        questions = pending_page(study, rater, time)
        if questions:
            return commands.AskQuestionnaire(time, questions)
    return None


def trials_before_questionnaire(study: Study, rater: Rater) -> list[ReservedTrial]:
    """Of the trials that are reserved for the rater those that come before the next questionnaire.

    A page shows trials that it has fetched without asking first, so it must not have those that come later.
    """
    coming = (block.trials_until(rater.answered) for block in study.between)
    remaining = min((trials for trials in coming if trials is not None), default=len(rater.queue))
    out: list[ReservedTrial] = []
    for trial in rater.queue:
        if not remaining:
            break
        out.append(trial)
        remaining -= trial.kind != "practice"
    return out
