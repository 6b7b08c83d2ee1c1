"""What a rater's browser sees of a session: its steps, and blinded names.

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
from typing import Any, TypeVar, cast

from starlette.requests import HTTPConnection, Request

from heartfelt.collect.messages.commands import (
    AskConsent,
    AskDemographics,
    AskHeadphones,
    AskQuestionnaire,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
    Step,
    TakeBreak,
)
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer
from heartfelt.study import Study
from heartfelt.study.model import AttentionProbe, HeadphoneProbe, say
from heartfelt.web.rater.forms import form_numbers, page_conditions, questionnaire_forms
from heartfelt.web.requests.state import state_of

V = TypeVar("V")
HEADPHONES = "headphones"
LANGUAGE_COOKIE = "heartfelt_language"
_QUESTION_BYTES = 8
_MEDIA_BYTES = 12
_UNIT_BYTES = 4
_CACHE_SIZE = 10_000
_TRIAL_AND_POSITION = re.compile(r"[0-9]{1,16}(\.[0-9]{1,2})?")
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

# --- blinded names -----------------------------------------------------------------------------------------------------


def _mask(in_set: bool) -> str:
    return "media in a set" if in_set else "media"


class Blinding:
    """Names for one study's raters."""

    def __init__(self, secret: bytes, study: Study) -> None:
        self._secret = secret
        self._study = study
        self._digests = {q.id: self._digest("question", q.id)[:_QUESTION_BYTES] for q in study.asked}
        self._questions = {digest: question for question, digest in self._digests.items()}
        self._forms = form_numbers(study)
        self._headphones = next((p.id for p in study.probes if isinstance(p, HeadphoneProbe)), "")
        # A trial is sent ahead twice before it is shown, and its names come back with the answer: they are made once.
        self.names = lru_cache(_CACHE_SIZE)(self._names)
        self.media = lru_cache(_CACHE_SIZE)(self._media)
        self._mask = lru_cache(_CACHE_SIZE)(self._digest)

    def _digest(self, *words: str) -> bytes:
        return hmac.digest(self._secret, "\0".join(("blinding", *words)).encode(), hashlib.sha256)

    def question(self, trial: str, position: int, question: str) -> str:
        """The name of the question at this place of a trial."""
        mask = self._mask("trial", trial, str(position))
        return f"{position}-{_xor(self._digests[question], mask).hex()}"

    def _names(self, trial: str, questions: tuple[str, ...]) -> dict[str, str]:
        return {name: self.question(trial, position, name) for position, name in enumerate(questions)}

    def question_of(self, trial: str, name: str) -> str | None:
        position, _, digits = name.partition("-")
        hidden = _unhex(digits, _QUESTION_BYTES)
        if hidden is None or not (position.isascii() and position.isdecimal()) or len(position) > 3:
            return None
        return self._questions.get(_xor(hidden, self._mask("trial", trial, position)))

    def form(self, question: str) -> int:
        """Which of the page's forms asks the question."""
        return self._forms[question]

    def _media(self, trial: str, media: str, position: int | None = None, unit: int | None = None) -> str:
        """The name of a trial's medium; in a set, of the one at that place, unlike that of the same file elsewhere.

        With the ``unit`` that is the set, the name says which set it is, to the server alone.
        """
        unmasked = _unhex(media, _MEDIA_BYTES)
        assert unmasked is not None, "a medium's own id is twelve bytes in hexadecimal"
        where = trial if position is None else f"{trial}.{position}"
        # Under the mask too: the length alone says that it is a set, not which.
        if unit is not None:
            unmasked += unit.to_bytes(_UNIT_BYTES, "big")
        return f"{where}-{_xor(unmasked, self._digest(_mask(unit is not None), where)).hex()}"

    def media_of(self, name: str) -> str | None:
        unmasked = self._plain_media(name)
        return None if unmasked is None else unmasked[:_MEDIA_BYTES].hex()

    def set_of(self, name: str) -> int | None:
        """The unit of the set in which the medium of that name is presented; None where it is presented alone."""
        unmasked = self._plain_media(name)
        return (
            None
            if unmasked is None or len(unmasked) == _MEDIA_BYTES
            else int.from_bytes(unmasked[_MEDIA_BYTES:], "big")
        )

    def _plain_media(self, name: str) -> bytes | None:
        where, _, digits = name.partition("-")
        in_set = len(digits) == 2 * (_MEDIA_BYTES + _UNIT_BYTES)
        hidden = _unhex(digits, _MEDIA_BYTES + _UNIT_BYTES * in_set)
        if hidden is None or _TRIAL_AND_POSITION.fullmatch(where) is None:
            return None
        # The masks differ: cutting the set off a name gives no other name.
        return _xor(hidden, self._digest(_mask(in_set), where))

    def words(self, words: str, language: str) -> str:
        """What an attention trial says, in the language the rater reads now."""
        for probe in self._study.probes:
            if isinstance(probe, AttentionProbe) and isinstance(probe.text, dict) and words in probe.text.values():
                return say(probe.text, language)
        return words

    def probe_of(self, name: str) -> str:
        """The headphone probe behind the one name there is for it."""
        return self._headphones if name == HEADPHONES else name

    def by_question(self, trial: str, masked: Mapping[str, V]) -> dict[str, V]:
        """Answers by question id. A name that is unknown in this trial becomes one that no question has."""
        if not masked:
            return {}
        return {self.question_of(trial, name) or f"?{name}": value for name, value in masked.items()}

    def readable(self, error: InvalidAnswer, language: str) -> InvalidAnswer:
        """The same error with the questions' texts in place of their ids."""
        texts = [say(self._study.question(name).text, language) for name in error.questions]
        if isinstance(error, MissingAnswer) and texts:
            return MissingAnswer(f"Not answered: {'; '.join(texts)}", error.fix, tuple(texts))
        if texts:
            return InvalidAnswer(f"{texts[0]}: {error.detail}", error.fix, tuple(texts[:1]))
        return InvalidAnswer("An answer was given to a question that is not asked in this trial.", "Reload the page.")

    def readable_page(self, error: InvalidAnswer, time: str, language: str) -> InvalidAnswer:
        """The same for an error on a page of a questionnaire."""
        question_texts = {question.id: say(question.text, language) for question in self._study.asked_in(time)}
        texts = [question_texts[name] for name in error.questions if name in question_texts]
        if isinstance(error, MissingAnswer) and texts:
            return MissingAnswer(f"Not answered: {'; '.join(texts)}", error.fix, tuple(texts))
        if texts:
            return InvalidAnswer(f"{texts[0]}: {error.detail or error.problem}", error.fix, tuple(texts[:1]))
        return error

    def conditions(self, trial: str, questions: tuple[str, ...]) -> dict[str, list[dict[str, object]]]:
        """The conditions of a trial's questions on one another, under the names they have in the trial."""
        if not self._study.conditional:
            return {}
        page_questions = [self._study.question(name) for name in questions]
        return page_conditions(self._study, page_questions, "questions", self.names(trial, questions))

    def debriefing(self, ending: str) -> dict[str, bool]:
        """Whether the page at the end shows the debriefing, and whether raters may withdraw there."""
        debriefing = self._study.debriefing
        if debriefing is None or not debriefing.is_shown_after(ending):
            return {}
        return {"debriefing": True, "withdraw": debriefing.withdraw}

    def questionnaire(self, step: AskQuestionnaire, language: str) -> dict[str, object]:
        """A page of a questionnaire: its questions with their forms, and the conditions among them."""
        by_id = {question.id: question for question in self._study.asked_in(step.time)}
        page_questions = [by_id[name] for name in step.questions]
        return {
            "kind": "questionnaire",
            "time": step.time,
            "questions": list(step.questions),
            "forms": questionnaire_forms(self._study, page_questions, language),
            "show_if": page_conditions(self._study, page_questions, step.time, {name: name for name in step.questions}),
        }


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


def step_json(step: Step, blinding: Blinding, language: str) -> dict[str, object]:
    """The step as plain data, in the language the rater reads now: ``{"kind": ..., fields}``.

    A trial is of the kind ``trial``; ``sort`` says whether it is for practice. No trial says whether it is a probe.
    """
    if isinstance(step, ShowTrial):
        following = [_trial_json(trial, blinding, language) for trial in step.following]
        return {**_trial_json(step, blinding, language), "following": following}
    if isinstance(step, AskQuestionnaire):
        return blinding.questionnaire(step, language)
    fields = {name: getattr(step, name) for name in type(step).__dataclass_fields__}
    if isinstance(step, SessionEnd):
        fields |= blinding.debriefing(step.ending)
    if isinstance(step, AskHeadphones):
        fields["probe"] = HEADPHONES
    if isinstance(step, ShowInstructions | SessionEnd):
        fields["text"] = None if step.text is None else say(step.text, language)
    return {"kind": _KINDS[type(step)], **fields}


def _trial_json(step: ShowTrial, blinding: Blinding, language: str) -> dict[str, object]:
    names = blinding.names(step.trial, step.questions)
    members = [_member_json(step, position, blinding) for position in range(len(step.members))]
    conditions = blinding.conditions(step.trial, step.questions)
    boxes = [part for question, shown_boxes in step.boxes.items() if question in names for part in shown_boxes]
    limits = list(dict.fromkeys(text for question, text in step.limits.items() if question in names))
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
        **({"boxes": boxes} if boxes else {}),
        **({"limits": limits} if limits else {}),
        **({"show_if": conditions} if conditions else {}),
    }


def _member_json(step: ShowTrial, position: int, blinding: Blinding) -> dict[str, object]:
    member = step.members[position]
    out: dict[str, object] = {
        "media": None if member.media is None else blinding.media(step.trial, member.media, position, step.unit),
        "kind": member.kind,
    }
    return out if member.prompt is None else {**out, "prompt": member.prompt}


# --- language ---------------------------------------------------------------------------------------------------------


def request_language(request: Request) -> str:
    """The language chosen in the address, else the one chosen before, else what the browser asks for, else the first."""
    offered = state_of(request).collection.study.languages
    if len(offered) == 1:
        return offered[0]
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
    for position, part in enumerate(header.split(",")[:20]):
        tag, _, quality = part.strip().partition(";q=")
        try:
            weight = float(quality) if quality else 1.0
        except ValueError:
            weight = 0.0
        if tag:
            wishes.append((-weight, position, tag.lower()))
    return [tag for _, _, tag in sorted(wishes)]


def blinding_of(request: HTTPConnection) -> Blinding:
    """The blinding of the application that handles a request."""
    return cast(Blinding, request.app.state.blinding)
