"""When a question is shown: the one evaluation of ``show_if``, and the conditions that can never hold.

An answer is what a rating stores, ``(value, answer)``; None where there is no answer, which is also what a question that
was not shown has. "None" is an answer: it passes ``answered`` and no test of a value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from heartfelt.errors import InputError
from heartfelt.study.content import StudyContent
from heartfelt.study.model import Condition, Place, Question, ReferenceProblem, check_name
from heartfelt.study.parts.design import Demographic
from heartfelt.study.scales.answer import NONE, Coded, Scale
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Tags
from heartfelt.study.scales.set_scale import SetScale, Trace

Source: TypeAlias = tuple[str, str]
"""What a condition tests: ``question``, ``rater`` or ``draft``, and its name."""
MOST_CASES = 20_000
_EMPTY: Coded = (None, NONE)


def holds(condition: Condition, answer: Coded | None, scale: Scale) -> bool:
    """Whether a condition holds for an answer on ``scale``; None is no answer."""
    return all(_outcomes(condition, answer, scale)) != condition.negated


def _outcomes(condition: Condition, answer: Coded | None, scale: Scale) -> Iterator[bool]:
    value = _number(answer)
    if condition.answered is not None:
        yield condition.answered == (answer is not None)
    if condition.none is not None:
        yield answer is not None and condition.none == (answer == _EMPTY)
    if condition.equals is not None:
        yield any(_same(scale.read(wanted), answer, scale) for wanted in condition.equals)
    if condition.includes is not None:
        yield not set(condition.includes).isdisjoint(_tags(answer, scale))
    if condition.above is not None:
        yield value > condition.above
    if condition.below is not None:
        yield value < condition.below


def _number(answer: Coded | None) -> float:
    """The number of an answer; NaN, which is neither above nor below anything, where it has none."""
    return math.nan if answer is None or answer[0] is None else answer[0]


def _same(wanted: Coded, answer: Coded | None, scale: Scale) -> bool:
    if answer is None:
        return False
    if isinstance(scale, Tags):
        return answer != _EMPTY and set(_tags(wanted, scale)) == set(_tags(answer, scale))
    if wanted[0] is not None:
        return wanted[0] == answer[0]
    return answer[1] is not None and str(wanted[1]).strip() == answer[1].strip()


def _tags(answer: Coded | None, scale: Scale) -> list[str]:
    if answer is None or answer[1] is None or answer == _EMPTY or not isinstance(scale, Tags):
        return []
    return [name.strip() for name in answer[1].split(scale.separator) if name.strip()]


def fact_scale(fact: Demographic) -> Scale:
    if fact.type == "number":
        return Numeric(type="numeric", low=fact.at_least)
    if fact.type == "choice" and len(fact.choices) > 1:
        return Categories(type="categories", categories=list(fact.choices))
    return Tags(type="tags", separator=",") if fact.type == "languages" else FreeText(type="text")


def read_fact(fact: Demographic, answer: Any) -> Coded:
    """An answer about the rater as conditions test it."""
    if isinstance(answer, float):
        return answer, None
    return fact_scale(fact).read(answer)


def scale_of(study: StudyContent, source: Source, where: str = "questions") -> Scale:
    """The scale of what a condition in the form ``where`` tests."""
    kind, name = source
    if kind == "rater":
        fact = next((fact for fact in study.demographics if fact.id == name), None)
        if fact is not None:
            return fact_scale(fact)
        where = "before"
    questions = study.asked if kind == "draft" else study.asked_in(where)
    return study.scales[next(question.scale for question in questions if question.id == name)]


def is_shown(
    study: StudyContent,
    question: Question,
    answers: Mapping[Source, Coded],
    *,
    where: str = "questions",
    skip: Sequence[str] = (),
) -> bool:
    """Whether a question is to be shown, given all answers so far; conditions on the kinds in ``skip`` are not tested."""
    return all(
        holds(condition, answers.get(condition.about), scale_of(study, condition.about, where))
        for condition in question.show_if
        if condition.about[0] not in skip
    )


def shown_questions(
    study: StudyContent, names: Collection[str], values: Mapping[str, object], where: str = "questions"
) -> set[str]:
    """Of the questions of a page those that are shown after these answers; for simulated raters.

    Conditions on anything but other questions of the page have been tested before it was sent.
    """
    coded_answers: dict[Source, Coded] = {}
    out: set[str] = set()
    for question in study.asked_in(where):
        if question.id not in names or not all(
            condition.question not in names
            or holds(condition, coded_answers.get(condition.about), scale_of(study, condition.about, where))
            for condition in question.show_if
        ):
            continue
        out.add(question.id)
        if question.id in values:
            scale = study.scales[question.scale]
            single = not isinstance(scale, SetScale | Trace)
            coded = study.read(question, values[question.id]) if single else (None, "given")
            coded_answers["question", question.id] = coded
    return out


# --- conditions that make no sense ------------------------------------------------------------------------------------


def check_conditions(study: StudyContent) -> None:
    """Refuse conditions that refer to nothing, to a later question or in a circle, and ones that can never hold."""
    for where, form in study.forms.items():
        by_id = {question.id: question for question in study.asked_in(where)}
        for number, written in enumerate(form.questions):
            for question in written.spread():
                if question.show_if:
                    _check_question(study, (*form.place, number, "show_if"), question, where, by_id)


def _check_question(
    study: StudyContent, path: Place, question: Question, where: str, by_id: Mapping[str, Question]
) -> None:
    for index, condition in enumerate(question.show_if):
        condition_path = (*path, index) if len(question.show_if) > 1 else path
        _CHECKS[condition.about[0]](study, condition_path, question, condition.about[1], where, by_id)
        check_tests(condition_path, condition, scale_of(study, condition.about, where))
    if not _possible(study, question, where, by_id):
        raise ReferenceProblem(
            path,
            f"'{question.id}' could never be shown: no answers fulfil its conditions. "
            "Change a condition, or take the question out",
        )


def _check_rater(
    study: StudyContent, path: Place, _question: Question, name: str, where: str, _by_id: Mapping[str, Question]
) -> None:
    facts = [fact.id for fact in study.demographics]
    facts += [fact.id for fact in study.asked_in("before")] if where != "before" else []
    check_name(path, name, facts, "nothing asked about raters is called", "Facts about raters")
    if where == "questions" and study.design.questions_per_page == "one":
        raise ReferenceProblem(
            path,
            "each trial asks one question (questions_per_page: one), so some raters would get empty trials. "
            "Use questions_per_page: all",
        )


def _check_draft(
    study: StudyContent, path: Place, _question: Question, name: str, where: str, _by_id: Mapping[str, Question]
) -> None:
    if where != "questions":
        raise ReferenceProblem(path, "a draft is about a stimulus, and a questionnaire has none")
    drafted = [drafted_question.id for drafted_question in study.asked if drafted_question.machine_first]
    check_name(path, name, drafted, "no machine_first question is called", "Questions with drafts")


def _check_earlier_question(
    study: StudyContent, path: Place, question: Question, name: str, where: str, by_id: Mapping[str, Question]
) -> None:
    check_name(path, name, by_id, "no question is called", "Questions")
    order = list(by_id)
    if name == question.id:
        raise ReferenceProblem(path, f"'{name}' depends on itself. Name an earlier question")
    if order.index(name) > order.index(question.id):
        if question.id in _ancestors(by_id, name):
            raise ReferenceProblem(
                path, f"'{question.id}' and '{name}' depend on each other in a circle. Take one of the conditions out"
            )
        raise ReferenceProblem(
            path, f"'{name}' comes after '{question.id}'. Move it before the question that depends on it"
        )
    if by_id[name].machine_first and not question.machine_first:
        raise ReferenceProblem(
            path,
            f"'{question.id}' is asked before any draft is shown, so it comes before '{name}'. "
            f"Write 'draft: {name}', or make '{question.id}' machine_first",
        )
    if where == "questions" and study.design.questions_per_page == "one":
        raise ReferenceProblem(
            path,
            f"each trial asks one question (questions_per_page: one), so '{name}' is not answered in it. "
            "Use questions_per_page: all and give each question a 'page'",
        )


_CHECKS = {"rater": _check_rater, "draft": _check_draft, "question": _check_earlier_question}
"""What refuses a condition that refers to nothing, by what it is about."""


def _ancestors(by_id: Mapping[str, Question], name: str) -> list[str]:
    """The question and all that its conditions depend on, directly or through others."""
    out: list[str] = []
    waiting = [name]
    while waiting:
        ancestor = waiting.pop()
        if ancestor in by_id and ancestor not in out:
            out.append(ancestor)
            waiting += [c.question for c in by_id[ancestor].show_if if c.question is not None]
    return out


def check_tests(path: Place, condition: Condition, scale: Scale) -> None:
    """Refuse a test that answers on the scale cannot be put to."""
    _, name = condition.about
    numbers = condition.above is not None or condition.below is not None
    if (scale.level == "comparison" or isinstance(scale, Trace)) and condition.answered is None:
        raise ReferenceProblem(path, f"'{name}' can only be tested with 'answered'")
    if condition.includes is not None and not isinstance(scale, Tags):
        raise ReferenceProblem(path, f"'{name}' is not answered with tags. Use 'is' instead of 'includes'")
    if numbers and scale.level not in {"interval", "ordinal"}:
        raise ReferenceProblem(path, f"answers to '{name}' have no order. Use 'is'")
    try:
        for value in (*(condition.equals or ()), *([tag] for tag in condition.includes or ())):
            scale.read(value)
    except InputError as error:
        raise ReferenceProblem(path, f"'{name}': {error.problem} {error.fix}") from None


def _possible(study: StudyContent, question: Question, where: str, by_id: Mapping[str, Question]) -> bool:
    """Whether any answers make every condition of a question hold, its own and those it depends on."""
    names = [name for name in by_id if name in _ancestors(by_id, question.id)]
    tests: dict[Source, list[Condition]] = {}
    for name in names:
        for condition in by_id[name].show_if:
            tests.setdefault(condition.about, []).append(condition)
    sources = list(tests)
    cases = [list(distinct_answers(study, source, where, tests[source])) for source in sources]
    if math.prod(map(len, cases)) > MOST_CASES:
        return True
    return any(
        _consistent(study, dict(zip(sources, chosen, strict=True)), where, by_id, question)
        for chosen in itertools.product(*cases)
    )


def _consistent(
    study: StudyContent,
    chosen: Mapping[Source, Coded | None],
    where: str,
    by_id: Mapping[str, Question],
    question: Question,
) -> bool:
    """Whether the question is shown for these answers, and none of them is given or missing against the conditions."""
    answers = {source: answer for source, answer in chosen.items() if answer is not None}
    for (kind, name), answer in chosen.items():
        if kind == "question":
            shown = is_shown(study, by_id[name], answers, where=where)
            # A draft may be rejected without another value.
            always_answered = by_id[name].required and not by_id[name].machine_first
            if (answer is not None and not shown) or (answer is None and shown and always_answered):
                return False
    return is_shown(study, question, answers, where=where)


def distinct_answers(
    study: StudyContent, source: Source, where: str, tests: Sequence[Condition]
) -> Iterator[Coded | None]:
    """Answers that differ in which of the tests they pass: one for each such outcome."""
    kind, name = source
    scale = scale_of(study, source, where)
    forms = {"question": where, "draft": "questions", "rater": "before"}
    may_be_none = any(
        asked_question.id == name and asked_question.none for asked_question in study.asked_in(forms[kind])
    )
    outcomes: set[tuple[bool, ...]] = set()
    for answer in (None, *([_EMPTY] if may_be_none else []), *_values(scale, tests)):
        outcome = (answer is None, *(holds(test, answer, scale) for test in tests))
        if outcome not in outcomes:
            outcomes.add(outcome)
            yield answer


def _values(scale: Scale, tests: Sequence[Condition]) -> Iterator[Coded]:
    """Values of a scale: all of a short one, else those at, between and outside what the tests name."""
    named = [value for test in tests for value in test.equals or ()]
    if scale.codes():
        yield from ((code, name) for name, code in scale.codes().items())
    elif scale.level == "interval":
        limits = [mark for test in tests for mark in (test.above, test.below) if mark is not None]
        yield from ((mark, None) for mark in _marks(scale, [*limits, *map(float, named)]))
    elif isinstance(scale, Tags):
        yield from (scale.read(value) for value in named)
        yield from _tag_answers(scale, sorted({tag for test in tests for tag in test.includes or ()}))
    else:
        yield from ((None, str(value)) for value in named)
        yield None, "another answer"


def _marks(scale: Scale, named: Sequence[float]) -> Iterator[float]:
    """Numbers at, between and outside those that are named, as far as the scale has them."""
    bounds = scale.bounds()
    if scale.whole and bounds is not None:
        yield from map(float, range(int(bounds[0]), int(bounds[1]) + 1))
        return
    ends = bounds or (getattr(scale, "low", None), getattr(scale, "high", None))
    low, high = -math.inf if ends[0] is None else ends[0], math.inf if ends[1] is None else ends[1]
    marks = [*named, *filter(math.isfinite, (low, high))]
    marks = sorted({*marks, min(marks, default=0.0) - 1, max(marks, default=0.0) + 1})
    marks += [(first + second) / 2 for first, second in itertools.pairwise(marks)]
    yield from (mark for mark in marks if low <= mark <= high)


def _tag_answers(scale: Tags, tags: Sequence[str]) -> Iterator[Coded]:
    """Each of these tags alone, all together, and a tag that is none of them where there may be one."""
    yield from (scale.read([tag]) for tag in tags)
    if tags:
        yield scale.read(list(tags))
    unlisted = next((name for name in scale.names if name not in tags), None)
    if scale.open or unlisted is not None:
        yield scale.read([unlisted or "another tag"])
