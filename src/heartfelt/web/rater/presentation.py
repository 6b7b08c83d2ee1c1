"""What a rater's browser sees of a study: its forms, the steps of a session, and blinded names.

Plain data in one language, without systems or intents. A question's id may reveal which answer is expected, and a medium
that comes up under the same name twice is a repeat. So every trial has names of its own: the real one, encrypted under the
study's secret and the trial's id. Nothing is stored; the same trial has the same names after a reload or a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from starlette.requests import Request

from heartfelt.collect.commands import (
    AskConsent,
    AskDemographics,
    AskHeadphones,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
    Step,
    TakeBreak,
)
from heartfelt.collect.errors import InvalidAnswer, MissingAnswer
from heartfelt.study import Question, Scale, Study
from heartfelt.study.design import Demographic
from heartfelt.study.model import AttentionProbe, HeadphoneProbe, say
from heartfelt.study.scale import Categories, FreeText, Numeric, Ordered, Points, Tag, Tags, YesNo
from heartfelt.study.set_scale import BestWorst, Choice, Grade, Preference, Rank, Trace
from heartfelt.web.rater.texts import Texts
from heartfelt.web.state import state_of

V = TypeVar("V")
MOST_BUTTONS = 11
"""A scale of more points is a slider: more buttons do not fit in a row."""
HEADPHONES = "headphones"
LANGUAGE_COOKIE = "heartfelt_language"
_QUESTION_BYTES = 8
_MEDIA_BYTES = 12
_REMEMBERED = 10_000
_PLACE = re.compile(r"[0-9]{1,16}(\.[0-9]{1,2})?")
"""A trial, or a place in one that presents a set."""
STEPS: dict[str, type[Any]] = {
    "consent": AskConsent,
    "demographics": AskDemographics,
    "headphones": AskHeadphones,
    "instructions": ShowInstructions,
    "break": TakeBreak,
    "end": SessionEnd,
}
"""The steps other than trials, as the page calls them."""
_KINDS = {step: kind for kind, step in STEPS.items()}

# --- the study --------------------------------------------------------------------------------------------------------


def present(study: Study, language: str) -> dict[str, Any]:
    """The study as the page's modules take it."""
    design = study.design
    return {
        "media": study.media,
        "set_type": None if study.sets is None else study.sets.type,
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
        "choices": [(choice, str(texts["choices"].get(choice.lower(), choice))) for choice in fact.choices],
    }


def form_numbers(study: Study) -> dict[str, int]:
    """The form of each question. Questions that read the same share one, so that raters cannot tell them apart."""
    places: dict[str, int] = {}
    return {question.id: places.setdefault(_reads(question), len(places)) for question in study.asked}


def _reads(question: Question) -> str:
    """Everything raters see of a question, in all languages."""
    rubric = question.rubric if "rubric" in question.shows else None
    seen = (question.text, question.scale, question.required, question.emotion, question.help, rubric)
    return repr((*seen, "prompt" in question.shows, question.machine_first))


def _forms(study: Study, language: str) -> list[dict[str, Any]]:
    by_number = {number: study.question(name) for name, number in form_numbers(study).items()}
    scales = list(study.scales)
    return [_form(question, scales.index(question.scale), language) for question in by_number.values()]


def _form(question: Question, scale: int, language: str) -> dict[str, Any]:
    shown = {
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
    return {name: value for name, value in shown.items() if value is not None and value is not False}


def _scale(number: int, scale: Scale, language: str) -> dict[str, Any]:
    if isinstance(scale, Points | Numeric):
        anchors = [[place, say(text, language)] for place, text in scale.anchors.items()]
        if isinstance(scale, Numeric):
            limits = {"low": scale.low, "high": scale.high, "step": scale.step, "unit": scale.unit}
            return {"type": "numeric", **limits, "anchors": anchors}
        if scale.points > MOST_BUTTONS:
            limits = {"low": scale.first, "high": scale.last, "step": 1, "unit": None}
            return {"type": "numeric", **limits, "whole": True, "anchors": anchors}
        out: dict[str, Any] = {
            "type": "points",
            "options": [[point, str(point)] for point in range(scale.first, scale.last + 1)],
            "anchors": {str(point): text for point, text in anchors},
        }
        if isinstance(scale.pictures, str):
            out["figures"] = scale.pictures
        elif scale.pictures:
            out["pictures"] = {str(point): f"/rate/picture/{number}/{point}" for point in scale.pictures}
        return out
    if isinstance(scale, Ordered | Categories):
        return {"type": scale.type, "options": [_option(each, language) for each in scale.categories]}
    if isinstance(scale, YesNo):
        options = [["yes", say(scale.yes, language)], ["no", say(scale.no, language)]]
        return {"type": "yes-no", "options": options}
    if isinstance(scale, FreeText):
        return {"type": "text", "least": scale.min_words, "most": scale.max_words}
    if isinstance(scale, Choice):
        return {"type": scale.type, "ties": scale.ties, "tie": say(scale.tie_text, language)}
    if isinstance(scale, Preference):
        # The words that come with heartfelt are for three steps; shorter scales have fewer.
        anchors = [
            [grade, say(text, language)]
            for grade, text in sorted(scale.anchors.items())
            if grade <= scale.steps
        ]
        return {"type": scale.type, "steps": scale.steps, "anchors": anchors}
    if isinstance(scale, Grade):
        limits = {"low": scale.low, "high": scale.high, "step": scale.step}
        return {"type": scale.type, **limits, "bands": [say(band, language) for band in scale.bands]}
    if isinstance(scale, Rank | BestWorst):
        return {"type": scale.type, "best": say(scale.best, language), "worst": say(scale.worst, language)}
    if isinstance(scale, Trace):
        ends = {"low_text": say(scale.low_text, language), "high_text": say(scale.high_text, language)}
        return {"type": scale.type, "low": scale.low, "high": scale.high, "rate": scale.rate, **ends}
    assert isinstance(scale, Tags), f"the pages know no scale '{type(scale).__name__}'"
    tags = [_option(tag, language) for tag in scale.tags]
    return {"type": "tags", "tags": tags, "open": scale.open, "separator": scale.separator}


def _option(option: Tag | str, language: str) -> list[str]:
    """A category or tag: its value in data files, and what raters read."""
    if isinstance(option, str):
        return [option, option]
    return [option.id, option.id if option.text is None else say(option.text, language)]


# --- blinded names -----------------------------------------------------------------------------------------------------


class Blinding:
    """Names for one study's raters."""

    def __init__(self, secret: bytes, study: Study) -> None:
        self._secret = secret
        self._study = study
        self._digests = {q.id: self._digest("question", q.id)[:_QUESTION_BYTES] for q in study.asked}
        self._questions = {digest: question for question, digest in self._digests.items()}
        self._forms = form_numbers(study)
        self._headphones = next((p.id for p in study.probes if isinstance(p, HeadphoneProbe)), "")
        # A trial is sent ahead twice before it is shown: its names are made once.
        self.names = lru_cache(_REMEMBERED)(self._names)

    def _digest(self, *words: str) -> bytes:
        return hmac.digest(self._secret, "\0".join(("blinding", *words)).encode(), hashlib.sha256)

    def question(self, trial: str, place: int, question: str) -> str:
        """The name of the question at this place of a trial."""
        mask = self._digest("trial", trial, str(place))
        return f"{place}-{_xor(self._digests[question], mask).hex()}"

    def _names(self, trial: str, questions: tuple[str, ...]) -> dict[str, str]:
        """The names of a trial's questions, by question."""
        return {name: self.question(trial, place, name) for place, name in enumerate(questions)}

    def question_of(self, trial: str, name: str) -> str | None:
        """The question of that name in a trial."""
        place, _, digits = name.partition("-")
        hidden = _unhex(digits, _QUESTION_BYTES)
        if hidden is None or not (place.isascii() and place.isdecimal()) or len(place) > 3:
            return None
        return self._questions.get(_xor(hidden, self._digest("trial", trial, place)))

    def form(self, question: str) -> int:
        """Which of the page's forms asks the question."""
        return self._forms[question]

    def media(self, trial: str, media: str, place: int | None = None) -> str:
        """The name of a trial's medium; in a set, of the one at that place, unlike that of the same file elsewhere."""
        plain = _unhex(media, _MEDIA_BYTES)
        assert plain is not None, "a medium's own id is twelve bytes in hexadecimal"
        where = trial if place is None else f"{trial}.{place}"
        return f"{where}-{_xor(plain, self._digest('media', where)).hex()}"

    def media_of(self, name: str) -> str | None:
        """The medium of that name."""
        where, _, digits = name.partition("-")
        hidden = _unhex(digits, _MEDIA_BYTES)
        if hidden is None or _PLACE.fullmatch(where) is None:
            return None
        return _xor(hidden, self._digest("media", where)).hex()

    def words(self, words: str, language: str) -> str:
        """What an attention trial says, in the language the rater reads now."""
        for probe in self._study.probes:
            if (
                isinstance(probe, AttentionProbe)
                and isinstance(probe.text, dict)
                and words in probe.text.values()
            ):
                return say(probe.text, language)
        return words

    def probe_of(self, name: str) -> str:
        """The headphone probe behind the one name there is for it."""
        return self._headphones if name == HEADPHONES else name

    def by_question(self, trial: str, given: Mapping[str, V]) -> dict[str, V]:
        """Answers by question id. A name that is unknown in this trial becomes one that no question has."""
        return {self.question_of(trial, name) or f"?{name}": value for name, value in given.items()}

    def readable(self, error: InvalidAnswer, language: str) -> InvalidAnswer:
        """The same error with the questions' texts in place of their ids."""
        texts = [say(self._study.question(name).text, language) for name in error.questions]
        if isinstance(error, MissingAnswer) and texts:
            return MissingAnswer(f"Not answered: {'; '.join(texts)}", error.fix)
        if texts:
            return InvalidAnswer(f"{texts[0]}: {error.detail}", error.fix)
        return InvalidAnswer(
            "An answer was given to a question that is not asked in this trial.", "Reload the page."
        )


def _xor(first: bytes, second: bytes) -> bytes:
    """The first bytes, each combined with one of the second, which may be longer."""
    size = len(first)
    return (int.from_bytes(first) ^ int.from_bytes(second[:size])).to_bytes(size)


def _unhex(text: str, size: int) -> bytes | None:
    """The bytes of lower-case hexadecimal text of the right length."""
    if len(text) != 2 * size or not set(text) <= set("0123456789abcdef"):
        return None
    return bytes.fromhex(text)


# --- steps ------------------------------------------------------------------------------------------------------------


def step_json(step: Step, blinding: Blinding, language: str) -> dict[str, Any]:
    """The step as plain data, in the language the rater reads now: ``{"kind": ..., fields}``.

    A trial is of the kind ``trial``; ``sort`` says whether it is for practice. No trial says whether it is a probe.
    """
    if isinstance(step, ShowTrial):
        following = [_trial_json(trial, blinding, language) for trial in step.following]
        return {**_trial_json(step, blinding, language), "following": following}
    fields = {name: getattr(step, name) for name in type(step).__dataclass_fields__}
    if isinstance(step, AskHeadphones):
        fields["probe"] = HEADPHONES
    return {"kind": _KINDS[type(step)], **fields}


def _trial_json(step: ShowTrial, blinding: Blinding, language: str) -> dict[str, Any]:
    names = blinding.names(step.trial, step.questions)
    members = [_member_json(step, place, blinding) for place in range(len(step.members))]
    return {
        "kind": "trial",
        "sort": "practice" if step.kind == "practice" else "rating",
        "trial": step.trial,
        "media": None if step.media is None else blinding.media(step.trial, step.media),
        "questions": list(names.values()),
        "forms": [blinding.form(question) for question in step.questions],
        "number": step.number,
        "of": step.of,
        "lease_seconds": step.lease_seconds,
        "prompt": step.prompt,
        "words": None if step.words is None else blinding.words(step.words, language),
        "machine": {names[question]: value for question, value in step.machine.items() if question in names},
        **({"members": members} if members else {}),
    }


def _member_json(step: ShowTrial, place: int, blinding: Blinding) -> dict[str, Any]:
    member = step.members[place]
    out: dict[str, Any] = {
        "media": None if member.media is None else blinding.media(step.trial, member.media, place),
        "kind": member.kind,
    }
    return out if member.prompt is None else {**out, "prompt": member.prompt}


# --- language ---------------------------------------------------------------------------------------------------------


def request_language(request: Request) -> str:
    """The language chosen in the address, else the one chosen before, else what the browser asks for, else the first."""
    offered = state_of(request).collection.study.languages
    for wish in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        if wish is not None and wish in offered:
            return wish
    for wish in _asked_for(request.headers.get("accept-language", "")):
        for language in offered:
            if wish == language.lower() or wish.split("-")[0] == language.lower().split("-")[0]:
                return language
    return offered[0]


def _asked_for(header: str) -> list[str]:
    """The tags of an Accept-Language header, most wanted first."""
    wishes = []
    for place, part in enumerate(header.split(",")[:20]):
        tag, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            weight = 0.0
        if tag:
            wishes.append((-weight, place, tag.lower()))
    return [tag for _, _, tag in sorted(wishes)]
