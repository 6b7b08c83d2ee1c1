"""What a page must know of a study to ask it: plain data in one language, without a word on systems or intents."""

from __future__ import annotations

from typing import Any

from heartfelt.study import Question, Scale, Study
from heartfelt.study.design import Demographic
from heartfelt.study.model import say
from heartfelt.study.scale import Categories, Category, FreeText, Numeric, Ordered, Points, Tag, Tags, YesNo
from heartfelt.web.rater.texts import Texts

MOST_BUTTONS = 11
"""A scale of more points is a slider: so many buttons do not fit in a row."""


def present(study: Study, language: str) -> dict[str, Any]:
    """The study as the page's modules take it."""
    design = study.design
    return {
        "media": study.media,
        "listening": design.listening,
        "replays": design.replays,
        "advance": design.auto_advance,
        "onePerPage": design.questions_per_page == "one",
        "grid": [form_numbers(study)[name] for name in design.affect_grid or ()],
        "practice": design.practice,
        "scales": [_scale(place, scale, language) for place, scale in enumerate(study.scales.values())],
        "forms": _forms(study, language),
    }


def demographic(fact: Demographic, language: str, texts: Texts) -> dict[str, Any]:
    """One question about the rater, for the template."""
    return {
        "id": fact.id,
        "text": say(fact.text, language),
        "type": fact.type,
        "required": fact.required,
        "choices": [(choice, _choice(choice, texts)) for choice in fact.choices],
    }


def _choice(name: str, texts: Texts) -> str:
    return str(texts["choices"].get(name.lower(), name))


def form_numbers(study: Study) -> dict[str, int]:
    """The form of each question. Questions that read the same share one: which of them is asked is not for raters."""
    places: dict[str, int] = {}
    return {question.id: places.setdefault(_reads(question), len(places)) for question in study.asked}


def _reads(question: Question) -> str:
    """Everything raters see of a question, in all languages."""
    rubric = question.rubric if "rubric" in question.shows else None
    seen = (question.text, question.scale, question.required, question.emotion, question.help, rubric)
    return repr((*seen, "prompt" in question.shows, question.machine_first))


def _forms(study: Study, language: str) -> list[dict[str, Any]]:
    by_number = {number: study.question(name) for name, number in form_numbers(study).items()}
    scales = {name: place for place, name in enumerate(study.scales)}
    return [
        _form(by_number[number], scales[by_number[number].scale], language) for number in sorted(by_number)
    ]


def _form(question: Question, scale: int, language: str) -> dict[str, Any]:
    told = {
        "text": say(question.text, language),
        "scale": scale,
        "required": question.required,
        "emotion": question.emotion,
        "help": None if question.help is None else say(question.help, language),
        "rubric": None
        if question.rubric is None or "rubric" not in question.shows
        else say(question.rubric, language),
        "prompt": "prompt" in question.shows,
        "machine": question.machine_first,
    }
    return {name: value for name, value in told.items() if value is not None and value is not False}


def _scale(number: int, scale: Scale, language: str) -> dict[str, Any]:
    if isinstance(scale, Points) and scale.points > MOST_BUTTONS:
        return {
            "type": "numeric", "low": scale.first, "high": scale.last, "step": 1, "unit": None, "whole": True,
            "anchors": [[point, say(text, language)] for point, text in scale.anchors.items()],
        }  # fmt: skip
    if isinstance(scale, Points):
        pictures = scale.pictures
        told: dict[str, Any] = {
            "options": [[point, str(point)] for point in range(scale.first, scale.last + 1)]
        }
        told["anchors"] = {str(point): say(text, language) for point, text in scale.anchors.items()}
        if isinstance(pictures, str):
            told["figures"] = pictures
        elif pictures:
            told["pictures"] = {str(point): f"/rate/picture/{number}/{point}" for point in pictures}
        return {"type": "points", **told}
    if isinstance(scale, Numeric):
        return {
            "type": "numeric", "low": scale.low, "high": scale.high, "step": scale.step, "unit": scale.unit,
            "anchors": [[place, say(text, language)] for place, text in scale.anchors.items()],
        }  # fmt: skip
    if isinstance(scale, Ordered | Categories):
        options = [_shown(category, language) for category in scale.categories]
        return {"type": scale.type, "options": options}
    if isinstance(scale, YesNo):
        return {
            "type": "yes-no",
            "options": [["yes", say(scale.yes, language)], ["no", say(scale.no, language)]],
        }
    if isinstance(scale, FreeText):
        return {"type": "text", "least": scale.min_words, "most": scale.max_words}
    assert isinstance(scale, Tags), f"the pages know no scale '{type(scale).__name__}'"
    tags = [_shown(tag, language) for tag in scale.tags]
    return {"type": "tags", "tags": tags, "open": scale.open, "separator": scale.separator}


def _shown(one: Category | Tag | str, language: str) -> list[str]:
    """A category or tag: what data files hold, and what raters read."""
    if isinstance(one, str):
        return [one, one]
    return [one.id, one.id if one.text is None else say(one.text, language)]
