"""The names a rater's browser sees for questions, media and probes.

A question's id may say which answer is expected, and a medium that comes up under the same name twice is a repeat. So
every trial has names of its own: the real one, encrypted under the study's secret and the trial's id. Nothing is stored;
the same trial has the same names after a reload or a restart.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from heartfelt.collect.errors import InvalidAnswer, MissingAnswer
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.probe import AttentionProbe, HeadphoneProbe
from heartfelt.web.rater.present import form_numbers

_QUESTION_BYTES = 8
_MEDIA_BYTES = 12
_REMEMBERED = 10_000
HEADPHONES = "headphones"


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
        place, _, told = name.partition("-")
        hidden = _unhex(told, _QUESTION_BYTES)
        if hidden is None or not (place.isascii() and place.isdecimal()) or len(place) > 3:
            return None
        return self._questions.get(_xor(hidden, self._digest("trial", trial, place)))

    def form(self, question: str) -> int:
        """Which of the page's forms asks the question."""
        return self._forms[question]

    def media(self, trial: str, media: str) -> str:
        """The name of a trial's medium."""
        told = _unhex(media, _MEDIA_BYTES)
        assert told is not None, "a medium's own id is twelve bytes in hexadecimal"
        return f"{trial}-{_xor(told, self._digest('media', trial)).hex()}"

    def media_of(self, name: str) -> str | None:
        """The medium of that name."""
        trial, _, told = name.partition("-")
        hidden = _unhex(told, _MEDIA_BYTES)
        if hidden is None or not (trial.isascii() and trial.isdecimal()) or len(trial) > 16:
            return None
        return _xor(hidden, self._digest("media", trial)).hex()

    def words(self, told: str, language: str) -> str:
        """What an attention trial says, in another language than the one the rater came in."""
        for probe in self._study.probes:
            if (
                isinstance(probe, AttentionProbe)
                and isinstance(probe.text, dict)
                and told in probe.text.values()
            ):
                return say(probe.text, language)
        return told

    def probe_of(self, name: str) -> str:
        """The headphone probe behind the one name there is for it."""
        return self._headphones if name == HEADPHONES else name

    def real(self, trial: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Answers by question. A name that means nothing in this trial stays one that no question has."""
        return {self.question_of(trial, name) or f"?{name}": value for name, value in given.items()}

    def retold(self, error: InvalidAnswer, language: str) -> InvalidAnswer:
        """A refusal that calls questions by what raters read."""
        texts = [say(self._study.question(name).text, language) for name in error.questions]
        if isinstance(error, MissingAnswer) and texts:
            return MissingAnswer(f"Not answered: {'; '.join(texts)}", error.fix)
        if texts:
            return InvalidAnswer(f"{texts[0]}: {error.detail}", error.fix)
        return InvalidAnswer(
            "An answer was given to a question that is not asked in this trial.", "Load the page again."
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
