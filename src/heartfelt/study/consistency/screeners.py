"""Screeners: who does not take part, by what they answer, each with a code and words of its own.

A screener tests facts about the rater (demographics and the questionnaire ``before``) or counts failed probes. Somebody
who is screened out takes no place: neither the cap, nor quotas, nor arms count them. ``at_least`` of a demographic and
``blocks`` of a headphone check screen out by themselves, with the study's common code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

from heartfelt.study.consistency.conditions import MOST_CASES, Source, check_tests, distinct_answers, holds, scale_of
from heartfelt.study.content import StudyContent
from heartfelt.study.model import AttentionProbe, Condition, HeadphoneProbe, Place, ReferenceProblem, check_name
from heartfelt.study.parts.design import Screener
from heartfelt.study.scales.answer import Coded


def screened_by(
    study: StudyContent, answers: Mapping[Source, Coded], settled: Callable[[str], bool]
) -> Screener | None:
    """The first screener whose conditions hold; one is judged once all it tests is ``settled``, answered or not."""
    for screener in study.screeners:
        judged = screener.when and all(settled(condition.about[1]) for condition in screener.when)
        if judged and _holds_for(study, screener, answers):
            return screener
    return None


def _holds_for(study: StudyContent, screener: Screener, answers: Mapping[Source, Coded | None]) -> bool:
    return all(
        holds(condition, answers.get(condition.about), scale_of(study, condition.about)) for condition in screener.when
    )


def probe_screener(study: StudyContent, failures: Mapping[str, int]) -> Screener | None:
    """The first screener with as many failed trials of its probes as it takes; ``failures`` are by probe."""
    for screener in study.screeners:
        if screener.probe and sum(failures.get(name, 0) for name in screener.probe) >= screener.failures:
            return screener
    return None


# --- screeners that make no sense -------------------------------------------------------------------------------------


def check_screener(study: StudyContent, screener: Screener, path: Place) -> None:
    """Refuse a screener that tests what nobody is asked, or that stops everybody or nobody."""
    if screener.probe:
        _check_probes(study, screener, (*path, "probe"))
        return
    path = (*path, "when")
    tests: dict[Source, list[Condition]] = {}
    for condition in screener.when:
        tests.setdefault(_checked_source(study, path, condition), []).append(condition)
    cases = [_possible_answers(study, source, conditions) for source, conditions in tests.items()]
    if math.prod(map(len, cases)) > MOST_CASES:
        return
    outcomes = {
        _holds_for(study, screener, dict(zip(tests, answers, strict=True))) for answers in itertools.product(*cases)
    }
    if outcomes != {True, False}:
        screened_out = "nobody: no answer fulfils" if outcomes == {False} else "everybody: every answer fulfils"
        raise ReferenceProblem(path, f"'{screener.id}' screens out {screened_out} its conditions. Change one")


def _possible_answers(study: StudyContent, source: Source, tests: list[Condition]) -> list[Coded | None]:
    answers = list(distinct_answers(study, source, "questions", tests))
    return [answer for answer in answers if answer is not None] if _always_answered(study, source[1]) else answers


def _check_probes(study: StudyContent, screener: Screener, path: Place) -> None:
    probes = {probe.id: probe for probe in study.probes if isinstance(probe, AttentionProbe | HeadphoneProbe)}
    for name in screener.probe:
        check_name(path, name, probes, "no attention probe or headphone check is called", "Probes")
        probe = probes[name]
        if isinstance(probe, HeadphoneProbe) and (len(screener.probe) > 1 or screener.failures > 1):
            raise ReferenceProblem(path, f"the headphone check '{name}' is taken once. Give it a screener alone")
        if isinstance(probe, HeadphoneProbe) and not probe.blocks:
            raise ReferenceProblem(path, f"the headphone check '{name}' stops nobody. Add 'blocks: true' to it")


def _checked_source(study: StudyContent, path: Place, condition: Condition) -> Source:
    kind, name = condition.about
    if kind != "rater":
        raise ReferenceProblem(path, f"a screener is about the rater. Write 'rater: {name}'")
    facts = [fact.id for fact in study.demographics] + [question.id for question in study.asked_in("before")]
    check_name(path, name, facts, "nothing asked about raters is called", "Facts about raters")
    check_tests(path, condition, scale_of(study, condition.about))
    return condition.about


def _always_answered(study: StudyContent, name: str) -> bool:
    """Whether every rater answers what is asked about them under that name."""
    fact = next((fact for fact in study.demographics if fact.id == name), None)
    if fact is not None:
        return fact.required
    question = next(question for question in study.asked_in("before") if question.id == name)
    return question.required and not question.show_if


def check_codes(study: StudyContent) -> None:
    names = [screener.id for screener in study.screeners]
    for name in study.recruiting.codes.screeners:
        path = ("recruiting", "codes", "screeners")
        check_name(path, name, names, "no screener is called", "Screeners")
