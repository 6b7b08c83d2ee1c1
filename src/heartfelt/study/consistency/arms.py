"""Arms: groups of raters who are compared between subjects, each with instructions, questions or stimuli of its own.

A rater is in one arm throughout. Whatever an arm leaves out is the study's. Every item is wanted ``ratings_per_item`` times in
every arm that shows it, since an answer under one arm's instructions does not stand for one under another's.
"""

from __future__ import annotations

from collections.abc import Sequence

from heartfelt.study.content import StudyContent
from heartfelt.study.model import Place, Question, ReferenceProblem, check_name
from heartfelt.study.parts.design import Arm


def find_arm(study: StudyContent, name: str) -> Arm | None:
    return next((arm for arm in study.design.arms if arm.id == name), None)


def questions_in(study: StudyContent, arm: str, questions: Sequence[str]) -> tuple[str, ...]:
    part = find_arm(study, arm) if arm else None
    return tuple(questions) if part is None else tuple(name for name in questions if part.asks(name))


def check_arms(study: StudyContent) -> None:
    """Refuse arms that name nothing, that are all alike, or that ask a question without what its condition tests."""
    arms, path = study.design.arms, ("design", "arms")
    _check_strata(study)
    if not arms:
        return
    if len(arms) == 1:
        raise ReferenceProblem(path, "there is one arm, and nothing to compare it with. Add another")
    names = [arm.id for arm in arms]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ReferenceProblem(path, f"two arms are called '{doubled}'")
    differences = [arm.model_dump(exclude={"id", "weight"}) for arm in arms]
    if all(difference == differences[0] for difference in differences):
        raise ReferenceProblem(
            path, "the arms are all alike. Give them 'instructions', 'questions', 'stimuli' or 'sets'"
        )
    for number, arm in enumerate(arms):
        _check_names(study, arm, (*path, number))
        _check_questions(study, arm, (*path, number, "questions"))
    unasked = [question.id for question in study.asked if not any(arm.asks(question.id) for arm in arms)]
    if unasked:
        raise ReferenceProblem(path, f"no arm asks '{unasked[0]}'")


def _check_names(study: StudyContent, arm: Arm, path: Place) -> None:
    for name in arm.questions:
        study.check_question((*path, "questions"), name)
    if arm.sets and study.sets is None:
        raise ReferenceProblem((*path, "sets"), "the study has no sets. Use 'stimuli'")
    for name in map(str, arm.stimuli.get("system", ())) if study.systems else ():
        check_name((*path, "stimuli", "system"), name, study.system_ids, "no system is called", "Systems")


def _check_questions(study: StudyContent, arm: Arm, path: Place) -> None:
    """An arm asks a question with all that it depends on, and both halves of a grid."""
    tested = [
        (question.id, condition.question)
        for question in study.asked
        for condition in question.show_if
        if arm.asks(question.id) and condition.question is not None
    ]
    for name, needed in tested:
        if not arm.asks(needed):
            raise ReferenceProblem(
                path, f"'{name}' depends on '{needed}', which this arm does not ask. Ask both, or neither"
            )
    if sum(map(arm.asks, study.design.affect_grid or ())) == 1:
        raise ReferenceProblem(path, "one half of the affect_grid is missing. Ask both, or neither")
    if study.design.adaptive and study.sets is not None and not arm.asks(study.asked[0].id):
        raise ReferenceProblem(
            path, f"an adaptive study chooses pairs by its first question, '{study.asked[0].id}'. Ask it in every arm"
        )


def _check_strata(study: StudyContent) -> None:
    path = ("design", "strata")
    if study.design.strata and not study.design.arms:
        raise ReferenceProblem(path, "strata are for arms, and the study has none. Add 'arms'")
    facts = {fact.id: fact for fact in study.demographics}
    questions = {question.id: question for question in study.asked_in("before")}
    for name in study.design.strata:
        check_name(path, name, [*facts, *questions], "nothing asked about raters is called", "Facts about raters")
        few = facts[name].type == "choice" if name in facts else _has_levels(study, questions[name])
        if not few:
            raise ReferenceProblem(
                path, f"'{name}' is not answered by choosing one of a few. Ask for a group, such as under 30 or over"
            )


def _has_levels(study: StudyContent, question: Question) -> bool:
    scale = study.scales[question.scale]
    return bool(scale.codes()) or (scale.bounds() is not None and scale.whole)
