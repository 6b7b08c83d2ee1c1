"""What the parts of a study say of one another: names that another part must know, and settings that cannot go together.

A part validates itself where it is defined; what concerns several parts is checked here, on the study as a whole. The first
mistake is raised as a :class:`ReferenceProblem` with its place in ``study.yaml``.
"""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from typing import get_args

from heartfelt.errors import InputError
from heartfelt.study.consistency.adjudication import check_adjudication
from heartfelt.study.consistency.arms import check_arms
from heartfelt.study.consistency.conditions import check_conditions
from heartfelt.study.consistency.pages import check_layout
from heartfelt.study.consistency.screeners import check_codes, check_screener
from heartfelt.study.content import Prompt, StudyContent
from heartfelt.study.model import (
    AnchorProbe,
    AttentionProbe,
    Place,
    Question,
    ReferenceProblem,
    RepeatProbe,
    check_name,
)
from heartfelt.study.parts.between import Between
from heartfelt.study.parts.design import GRID_POINTS, Screener
from heartfelt.study.parts.instrument import FORMS, Instrument, question_id
from heartfelt.study.scales.scale import Points
from heartfelt.study.scales.set_scale import SetScale, Trace

_QUESTIONS = ("before", "questions", "after")
_LISTS = (
    *("systems", "intents", "prompts", "questions", "probes"),
    *("demographics", "before", "between", "after", "screeners"),
)  # fmt: skip
_RESERVED = ("about", "before", "after", "headphones", "attention")
"""Names of instruments that would make columns of raters look like others."""


def check_references(study: StudyContent) -> None:
    """Refuse a study whose parts do not fit together."""
    for key in _LISTS:
        _check_ids(study, key)
    for key in _LISTS:
        for number, part in enumerate(getattr(study, key)):
            _check_part(part, study, (key, number))
    _check_facts(study)
    _check_design(study, ("design",))
    check_layout(study)
    check_conditions(study)
    check_arms(study)
    check_codes(study)
    for name, instrument in study.instruments.items():
        _check_instrument(study, instrument, ("instruments", name))
    _check_sets(study, ("sets",))
    check_adjudication(study, ("adjudication",))


def _check_ids(study: StudyContent, key: str) -> None:
    parts = study.asked_in(key) if key in _QUESTIONS else getattr(study, key)
    doubled = [name for name, count in Counter(part.id for part in parts).items() if count > 1]
    if doubled:
        raise ReferenceProblem((key,), f"two {key} are called '{min(doubled)}'")


def _check_facts(study: StudyContent) -> None:
    facts = {fact.id for fact in study.demographics}
    for number, question in enumerate(study.before):
        for concrete in question.spread():
            if concrete.id in facts:
                raise ReferenceProblem(("before", number, "id"), f"a demographic is called '{concrete.id}' too")


@singledispatch
def _check_part(part: object, study: StudyContent, path: Place) -> None:
    """A part of a list; most kinds name no other part."""


@_check_part.register
def _(prompt: Prompt, study: StudyContent, path: Place) -> None:
    for name in prompt.systems:
        check_name((*path, "systems"), name, study.system_ids, "no system is called", "Systems")


@_check_part.register
def _(screener: Screener, study: StudyContent, path: Place) -> None:
    check_screener(study, screener, path)


@_check_part.register
def _(block: Between, study: StudyContent, path: Place) -> None:
    for number, question in enumerate(block.questions):
        _check_part(question, study, (*path, "questions", number))
    counts = Counter(concrete.id for question in block.questions for concrete in question.spread())
    name, count = counts.most_common(1)[0]
    if count > 1:
        raise ReferenceProblem((*path, "questions"), f"two questions are called '{name}'")
    if block.at_break and study.design.batch is None:
        raise ReferenceProblem((*path, "at_break"), "there are no breaks. Give 'batch' in the design")


@_check_part.register
def _(probe: AnchorProbe, study: StudyContent, path: Place) -> None:
    study.check_question((*path, "question"), probe.question)


@_check_part.register
def _(probe: AttentionProbe, study: StudyContent, path: Place) -> None:
    study.check_question((*path, "question"), probe.question)
    scale = study.scale_of(probe.question)
    if study.sets is not None or isinstance(scale, Trace):
        try:
            scale.instructed(probe.answer)
        except InputError as error:
            raise ReferenceProblem((*path, "answer"), f"{error.problem} {error.fix}") from None


# --- questions --------------------------------------------------------------------------------------------------------


@_check_part.register
def _(question: Question, study: StudyContent, path: Place) -> None:
    if question.draft is not None and not question.machine_first:
        raise ReferenceProblem(
            (*path, "draft"), "only a question that a machine fills in first is drafted. Add 'machine_first: true'"
        )
    check_name((*path, "scale"), question.scale, study.scales, "no scale is called", "Scales")
    scale = study.scales[question.scale]
    if question.none and (scale.level == "comparison" or scale.type == "trace"):
        raise ReferenceProblem((*path, "none"), f"raters cannot answer 'none' on the scale '{question.scale}'")
    if question.wish is not None and (path[0] in {"questions", "between"} or scale.type != "yes-no"):
        raise ReferenceProblem((*path, "wish"), "a wish is a question with a yes/no scale, in 'before' or 'after'")
    (_check_about_stimulus if path[0] == "questions" else _check_about_rater)(question, study, path)


def _check_about_stimulus(question: Question, study: StudyContent, path: Place) -> None:
    scale = study.scales[question.scale]
    if study.sets is None and scale.level == "comparison":
        raise ReferenceProblem(
            (*path, "scale"),
            f"the scale '{question.scale}' compares stimuli. Say which are presented together: add 'sets'",
        )
    if scale.type == "trace":
        reason = "a picture does not play" if study.media == "image" else "no machine can fill one in first"
        if study.media == "image" or question.machine_first:
            raise ReferenceProblem((*path, "scale"), f"a trace is recorded while a clip plays, and {reason}")
    axes = {axis for intent in study.intents for axis in intent.reference}
    if question.axis and axes:
        check_name((*path, "axis"), question.axis, axes, "no intent has a coordinate", "Axes of the intents")


def _check_about_rater(question: Question, study: StudyContent, path: Place) -> None:
    scale = study.scales[question.scale]
    if scale.level == "comparison" or scale.type == "trace":
        raise ReferenceProblem(
            (*path, "scale"), f"the scale '{question.scale}' is about stimuli, and a questionnaire has none"
        )
    for key in ("machine_first", "shows", "rubric", "axis", "emotion"):
        if getattr(question, key):
            raise ReferenceProblem((*path, key), f"'{key}' is about stimuli. Leave it out of a questionnaire")


def _check_instrument(study: StudyContent, instrument: Instrument, path: Place) -> None:
    key = str(path[-1])
    if key in _RESERVED:
        raise ReferenceProblem(path, f"an instrument cannot be called '{key}'. Give it another id")
    question_ids = {question.id for where in FORMS for question in study.asked_in(where)}
    for name in (question_id(key, item.id) for item in instrument.items):
        if name not in question_ids:
            raise ReferenceProblem(path, f"'{name}' is not asked. Add '- instrument: {key}' to 'before' or 'after'")


# --- the design -------------------------------------------------------------------------------------------------------


def _check_design(study: StudyContent, path: Place) -> None:
    design = study.design
    if design.hidden_drafts + design.planted_drafts > 1:
        raise ReferenceProblem((*path, "planted_drafts"), "hidden_drafts and planted_drafts sum to more than 1")
    if design.drafts_per_page is not None:
        _check_drafts(study, design.drafts_per_page, (*path, "drafts_per_page"))
    if design.always:
        _check_always(study, (*path, "always"))
    if design.playback == "restart" and study.media == "image":
        raise ReferenceProblem((*path, "playback"), "a picture does not play. Leave 'playback' out")
    if design.sessions is not None and design.batch is not None:
        raise ReferenceProblem((*path, "batch"), "a session of several has no breaks. Leave out 'batch', or 'sessions'")
    if design.affect_grid is not None:
        _check_affect_grid(study, design.affect_grid, (*path, "affect_grid"))


def _check_affect_grid(study: StudyContent, names: tuple[str, str], path: Place) -> None:
    for name in names:
        study.check_question(path, name)
        scale = study.scale_of(name)
        if not isinstance(scale, Trace) and (not isinstance(scale, Points) or scale.points != GRID_POINTS):
            raise ReferenceProblem(
                path, f"'{name}' has no {GRID_POINTS} points. Both questions of a grid need {GRID_POINTS}"
            )
    if len({getattr(study.scale_of(name), "rate", None) for name in names}) > 1:
        raise ReferenceProblem(path, "both questions of a plane need traces with the same rate")
    if names[0] == names[1]:
        raise ReferenceProblem(path, "a grid needs two different questions, across then up")


def _check_always(study: StudyContent, path: Place) -> None:
    design = study.design
    if design.order not in {"random", "manifest"}:
        raise ReferenceProblem(path, "'always' needs 'order: random' or 'order: manifest'")
    if design.stimuli_per_rater is None:
        raise ReferenceProblem(path, "'always' needs 'stimuli_per_rater'; without it raters get everything")
    if design.stimuli_per_rater <= len(design.always):
        raise ReferenceProblem(
            path,
            f"{len(design.always)} trials for everybody leave no room for others in 'stimuli_per_rater:"
            f" {design.stimuli_per_rater}'. Raise it, or shorten the list",
        )
    for name in design.always:
        if name in study.set_aside:
            raise ReferenceProblem(path, f"'{name}' is a {study.set_aside[name]}. Leave it out")


def _check_drafts(study: StudyContent, per_page: int, path: Place) -> None:
    design = study.design
    judged = [question.id for question in study.asked if not question.machine_first]
    by_field = design.order == "blocks" and design.block_by == "question"
    gaps = [probe.gap for probe in study.probes if isinstance(probe, RepeatProbe)]
    if study.media != "image" or study.sets is not None:
        raise ReferenceProblem(path, "only drafts about single images are verified together")
    if design.questions_per_page != "one":
        raise ReferenceProblem(path, "verifying drafts together needs 'questions_per_page: one'")
    if judged:
        raise ReferenceProblem(
            path,
            f"'{judged[0]}' is not machine_first. Ask for people's own judgement in a study of its own, before"
            " the one in which they verify drafts together",
        )
    if len(study.asked) > 1 and not by_field:
        raise ReferenceProblem(path, "drafts of one field come together with 'order: blocks' and 'block_by: question'")
    if min(gaps, default=per_page) < per_page:
        raise ReferenceProblem(path, "a repeat would be on the same page: set the probe's 'gap' to at least as many")


# --- sets -------------------------------------------------------------------------------------------------------------


def _check_sets(study: StudyContent, path: Place) -> None:
    sets = study.sets
    if sets is None:
        return
    named = [("reference", sets.reference), *(("anchors", name) for name in sets.anchors)]
    for key, name in named:
        if study.system_ids and name is not None:
            check_name((*path, key), name, study.system_ids, "no system is called", "Systems")
    for question in study.asked:
        _check_judged_in_sets(study, question, sets.type, (*path, "type"))
    if study.stimuli.items is not None:
        raise ReferenceProblem(("stimuli", "items"), "a study with sets asks every question about every set")
    if study.design.adaptive and sets.type not in {"pair", "ab"}:
        raise ReferenceProblem(("design", "adaptive"), "only sets of type 'pair' and 'ab' can be adaptive")


def _check_judged_in_sets(study: StudyContent, question: Question, kind: str, path: Place) -> None:
    scale = study.scale_of(question.id)
    fits = isinstance(scale, SetScale) and kind in scale.fits
    if isinstance(scale, Trace) or not (fits or (kind == "reference" and scale.has_values)):
        raise ReferenceProblem(
            path,
            f"the scale of '{question.id}' does not fit sets of type '{kind}'. Scales that do:"
            f" {', '.join(_fitting(kind))}",
        )
    if kind == "abx" and getattr(scale, "ties", False):
        raise ReferenceProblem(path, f"'{question.id}' allows ties, but X is always one of the two. Set ties: false")
    if question.machine_first:
        raise ReferenceProblem(path, f"'{question.id}' shows a machine's value, which is about one stimulus")


def _fitting(kind: str) -> list[str]:
    scales = (scale for scale in SetScale.__subclasses__() if kind in scale.fits)
    names = [str(get_args(scale.model_fields["type"].annotation)[0]) for scale in scales]
    return names + (["points", "numeric", "ordered"] if kind == "reference" else [])
