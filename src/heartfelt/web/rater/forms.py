"""A study's forms as the rating page takes them: questions and scales in one language, and conditions among questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from heartfelt.study import Question, Scale, Study
from heartfelt.study.consistency.conditions import holds, scale_of
from heartfelt.study.consistency.pages import MOST_COLUMNS
from heartfelt.study.model import Condition, say
from heartfelt.study.parts.design import Demographic
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tag, Tags, YesNo
from heartfelt.study.scales.set_scale import BestWorst, Choice, Grade, Preference, Ranking, Trace
from heartfelt.web.rater.texts import Texts, run_direction, texts_for

MOST_BUTTONS = MOST_COLUMNS
"""A scale of more points is a slider: more buttons do not fit in a row."""


def present(study: Study, language: str, texts: Texts | None = None) -> dict[str, Any]:
    """The study as the page's modules take it; ``texts`` are the pages' own, with the words of scales that bring none."""
    design = study.design
    words: Mapping[str, str] = (texts or texts_for(language))["scales"]
    return {
        "media": study.media,
        "set_type": None if study.sets is None else study.sets.type,
        "listening": design.listening,
        "replays": design.replays,
        **({"restarts": True} if design.playback == "restart" else {}),
        "advance": design.auto_advance,
        "onePerPage": design.questions_per_page == "one",
        **({} if design.drafts_per_page is None else {"draftsPerPage": design.drafts_per_page}),
        "grid": [form_numbers(study)[name] for name in design.affect_grid or ()],
        "practice": design.practice,
        "scales": [_scale(index, scale, language, words) for index, scale in enumerate(study.scales.values())],
        "forms": _forms(study, language),
    }


def demographic(fact: Demographic, language: str, texts: Texts) -> dict[str, object]:
    """One question about the rater, for the template."""
    return {
        "id": fact.id,
        "text": say(fact.text, language),
        "direction": run_direction(say(fact.text, language), language),
        "type": fact.type,
        "required": fact.required,
        "choices": [(choice, str(texts["choices"].get(choice.lower(), choice))) for choice in fact.choices],
    }


def form_numbers(study: Study) -> dict[str, int]:
    """The form of each question. Questions that read the same share one, so that raters cannot tell them apart."""
    numbers: dict[str, int] = {}
    return {question.id: numbers.setdefault(_reads(question), len(numbers)) for question in study.asked}


def _reads(question: Question) -> str:
    """Everything raters see of a question, in all languages."""
    rubric = question.rubric if "rubric" in question.shows else None
    reading = (question.text, question.scale, question.required, question.emotion, question.help, rubric)
    layout = (question.none, question.page, question.grid)
    return repr((*reading, "prompt" in question.shows, question.machine_first, layout))


def _forms(study: Study, language: str) -> list[dict[str, object]]:
    by_number = {number: study.question(name) for name, number in form_numbers(study).items()}
    pages, grids = _groups(study.asked)
    return [_form(study, question, pages, grids, language) for question in by_number.values()]


def questionnaire_forms(study: Study, questions: Sequence[Question], language: str) -> list[dict[str, object]]:
    """The forms of a questionnaire's page."""
    _, grids = _groups(questions)
    return [_form(study, question, {}, grids, language) for question in questions]


def _groups(questions: Sequence[Question]) -> tuple[dict[str | None, int], dict[str | None, int]]:
    """A number for every page and for every grid; names of pages and grids stay with the researcher."""
    pages: dict[str | None, int] = {}
    grids: dict[str | None, int] = {}
    for question in questions:
        if question.page is not None:
            pages.setdefault(question.page, len(pages) + 1)
        if question.grid is not None:
            grids.setdefault(question.grid, len(grids) + 1)
    return pages, grids


def _form(
    study: Study, question: Question, pages: Mapping[str | None, int], grids: Mapping[str | None, int], language: str
) -> dict[str, object]:
    shown = {
        "text": say(question.text, language),
        "scale": list(study.scales).index(question.scale),
        "required": question.required,
        "emotion": question.emotion,
        "help": None if question.help is None else say(question.help, language),
        "rubric": None if question.rubric is None or "rubric" not in question.shows else say(question.rubric, language),
        "prompt": "prompt" in question.shows,
        "machine": question.machine_first,
        "none": question.none if isinstance(question.none, bool) else say(question.none, language),
        "page": pages.get(question.page),
        "grid": grids.get(question.grid),
    }
    return {name: value for name, value in shown.items() if value is not None and value is not False}


_DEFAULT_WORDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("yes-no", "yes"): ("answer_yes",),
    ("yes-no", "no"): ("answer_no",),
    ("choice", "tie_text"): ("tie",),
    ("preference", "anchors"): ("same", "slightly_better", "better", "much_better"),
    ("grade", "bands"): ("bad", "poor", "fair", "good", "excellent"),
    ("rank", "best"): ("best",),
    ("rank", "worst"): ("worst",),
    ("best-worst", "best"): ("best",),
    ("best-worst", "worst"): ("worst",),
}
"""Where scales have English words of their own, and the pages' texts for them: ``scales`` in ``texts/*.yaml``."""


def _worded(scale: Scale, words: Mapping[str, str]) -> Scale:
    """The scale with the pages' words in place of those it has where the study gives none."""
    translated: dict[str, object] = {}
    for (kind, name), keys in _DEFAULT_WORDS.items():
        if kind != getattr(scale, "type", None) or getattr(scale, name) != type(scale).model_fields[name].default:
            continue
        default = getattr(scale, name)
        if isinstance(default, dict):
            translated[name] = {grade: words[key] for grade, key in zip(default, keys, strict=True)}
        else:
            translated[name] = [words[key] for key in keys] if isinstance(default, list) else words[keys[0]]
    return scale.model_copy(update=translated) if translated else scale


def _scale(number: int, scale: Scale, language: str, page_words: Mapping[str, str]) -> dict[str, object]:
    """A scale as the page shows it; ``number`` is where it is among those of the study."""
    form = _scale_form(_worded(scale, page_words), language)
    if isinstance(scale, Points) and "pictures" in form:
        form["pictures"] = {str(point): f"/rate/picture/{number}/{point}" for point in scale.pictures or ()}
    return form


@singledispatch
def _scale_form(scale: Scale, language: str) -> dict[str, object]:  # noqa: ARG001 - of those registered below
    raise AssertionError(f"the pages know no scale '{type(scale).__name__}'")


@_scale_form.register
def _points_form(scale: Points, language: str) -> dict[str, object]:
    anchors = _anchors(scale, language)
    if scale.points > MOST_BUTTONS:
        limits = {"low": scale.first, "high": scale.last, "step": 1, "unit": None}
        return {"type": "numeric", **limits, "whole": True, "anchors": anchors}
    out: dict[str, object] = {
        "type": "points",
        "options": [[point, str(point)] for point in range(scale.first, scale.last + 1)],
        "anchors": {str(point): text for point, text in anchors},
    }
    if scale.pictures:
        out["figures" if isinstance(scale.pictures, str) else "pictures"] = scale.pictures
    return out


@_scale_form.register
def _numeric_form(scale: Numeric, language: str) -> dict[str, object]:
    limits = {"low": scale.low, "high": scale.high, "step": scale.step, "unit": scale.unit}
    return {"type": "numeric", **limits, "anchors": _anchors(scale, language)}


def _anchors(scale: Points | Numeric, language: str) -> list[list[float | str]]:
    return [[point, say(text, language)] for point, text in scale.anchors.items()]


@_scale_form.register(Ordered)
@_scale_form.register(Categories)
def _categories_form(scale: Ordered | Categories, language: str) -> dict[str, object]:
    return {"type": scale.type, "options": [_option(category, language) for category in scale.categories]}


@_scale_form.register
def _yes_no_form(scale: YesNo, language: str) -> dict[str, object]:
    options = [["yes", say(scale.yes, language)], ["no", say(scale.no, language)]]
    return {"type": "yes-no", "options": options}


@_scale_form.register
def _text_form(scale: FreeText, language: str) -> dict[str, object]:  # noqa: ARG001 - as of every scale
    words = {"least": scale.min_words, "most": scale.max_words}
    signs = {"least_characters": scale.min_characters, "most_characters": scale.max_characters}
    rules = {**signs, "rows": scale.rows}
    return {"type": "text", **words, **{name: value for name, value in rules.items() if value}}


@_scale_form.register
def _choice_form(scale: Choice, language: str) -> dict[str, object]:
    return {"type": scale.type, "ties": scale.ties, "tie": say(scale.tie_text, language)}


@_scale_form.register
def _preference_form(scale: Preference, language: str) -> dict[str, object]:
    # The words that come with heartfelt are for three steps; shorter scales have fewer.
    anchors = [[grade, say(text, language)] for grade, text in sorted(scale.anchors.items()) if grade <= scale.steps]
    return {"type": scale.type, "steps": scale.steps, "anchors": anchors}


@_scale_form.register
def _grade_form(scale: Grade, language: str) -> dict[str, object]:
    limits = {"low": scale.low, "high": scale.high, "step": scale.step}
    return {"type": scale.type, **limits, "bands": [say(band, language) for band in scale.bands]}


@_scale_form.register(Ranking)
@_scale_form.register(BestWorst)
def _ranking_form(scale: Ranking | BestWorst, language: str) -> dict[str, object]:
    return {"type": scale.type, "best": say(scale.best, language), "worst": say(scale.worst, language)}


@_scale_form.register
def _trace_form(scale: Trace, language: str) -> dict[str, object]:
    ends = {"low_text": say(scale.low_text, language), "high_text": say(scale.high_text, language)}
    return {"type": scale.type, "low": scale.low, "high": scale.high, "rate": scale.rate, **ends}


@_scale_form.register
def _tags_form(scale: Tags, language: str) -> dict[str, object]:
    tags = [_option(tag, language) for tag in scale.tags]
    further = [_option(tag, language) for tag in scale.suggestions]
    out: dict[str, object] = {"type": "tags", "tags": tags, "open": scale.open, "separator": scale.separator}
    return {**out, "suggestions": further} if further else out


def _option(option: Tag | str, language: str) -> list[str]:
    """A category or tag: its value in data files, and what raters read."""
    if isinstance(option, str):
        return [option, option]
    return [option.id, option.id if option.text is None else say(option.text, language)]


# --- conditions among the questions of a page -------------------------------------------------------------------------


def page_conditions(
    study: Study, questions: Sequence[Question], where: str, names: Mapping[str, str]
) -> dict[str, list[dict[str, object]]]:
    """By the name of each question, its conditions on the answers to others on the page, as the page tests them.

    What else a question depends on was settled before it was sent.
    """
    out: dict[str, list[dict[str, object]]] = {}
    for question in questions:
        conditions = [
            {"of": names[condition.question], **page_condition(condition, scale_of(study, condition.about, where))}
            for condition in question.show_if
            if condition.question is not None and condition.question in names
        ]
        if conditions:
            out[names[question.id]] = conditions
    return out


def page_condition(condition: Condition, scale: Scale) -> dict[str, object]:
    """A condition in the page's terms: the values it sends, in place of codes and texts that a scale reads."""
    out: dict[str, object] = {"not": condition.negated, "answered": condition.answered, "none": condition.none}
    bare = condition.model_copy(update={"negated": False, "answered": None, "none": None})
    tests_value = condition.equals is not None or condition.above is not None or condition.below is not None
    codes = scale.codes()
    if codes and tests_value:
        passing = [(name, code) for name, code in codes.items() if holds(bare, (code, name), scale)]
        # A draft may name a category by its code.
        spare = [f"{code:g}" for _, code in passing if f"{code:g}" not in codes]
        out["is"] = [*(name for name, _ in passing), *spare]
    elif isinstance(scale, Tags):
        out["separator"] = scale.separator
        out["includes"] = condition.includes
        if condition.equals is not None:
            out["tags"] = [str(scale.read(value)[1]).split(scale.separator) for value in condition.equals]
    elif isinstance(scale, FreeText):
        out["is"] = None if condition.equals is None else [str(value).strip() for value in condition.equals]
    else:
        out["numbers"] = None if condition.equals is None else [scale.read(value)[0] for value in condition.equals]
        out |= {"above": condition.above, "below": condition.below}
    return {name: value for name, value in out.items() if value is not None and (name != "not" or value)}
