"""From what a browser sends to a command. By hand, because it is done for every rating: a mistake is told in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, cast

import orjson

from heartfelt.collect.commands import (
    Answer,
    Consent,
    Demographics,
    Flag,
    Headphones,
    Heartbeat,
    MediaProblem,
    TrialLog,
)
from heartfelt.web.errors import Refused
from heartfelt.web.rater.blinding import Blinding

Body: TypeAlias = dict[str, Any]
Verdict: TypeAlias = Literal["accepted", "fixed", "rejected"]
LONGEST_ID = 200
LONGEST_KEY = 80
LONGEST_TEXT = 10_000
MOST_ENTRIES = 500
MOST_EVENTS = 5_000
_FIX = "The rating pages send it as docs/rating-pages.md says; send it like them."
_HEARD = {"seconds", "first_play", "plays", "intervals", "focus_losses", "changes", "device", "began"}


def body_of(raw: bytes) -> Body:
    """The body of a request as a JSON object."""
    try:
        body = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError as error:
        raise Refused(422, f"The body is not JSON: {error}.", "Send a JSON object.") from error
    if not isinstance(body, dict):
        raise _wrong("The body", "a JSON object")
    return body


def answer_of(rater: str, body: Body, blinding: Blinding) -> Answer:
    """The answers to a trial's questions."""
    verdicts = _mapping(body, "verdicts")
    for question, verdict in verdicts.items():
        if verdict not in {"accepted", "fixed", "rejected"}:
            raise _wrong(f"verdicts, {_short(question)}", "accepted, fixed or rejected")
    go_on = body.get("go_on", True)
    if not isinstance(go_on, bool):
        raise _wrong("go_on", "true or false")
    trial = _text(body, "trial", LONGEST_ID)
    return Answer(
        rater,
        trial,
        _text(body, "key", LONGEST_KEY),
        blinding.real(trial, _values(_mapping(body, "values"))),
        cast("dict[str, Verdict]", blinding.real(trial, verdicts)),
        _optional_text(body, "comment"),
        _heard(_mapping(body, "heard"), lambda name: blinding.question_of(trial, name) or name),
        go_on,
    )


def beat_of(rater: str, body: Body) -> Heartbeat:
    """A sign that the rater is still there."""
    return Heartbeat(rater, _text(body, "trial", LONGEST_ID))


def consent_of(rater: str, body: Body, _: Blinding) -> Consent:
    """Whether the rater agrees."""
    agreed = body.get("agreed")
    if not isinstance(agreed, bool):
        raise _wrong("agreed", "true or false")
    return Consent(rater, agreed)


def demographics_of(rater: str, body: Body, _: Blinding) -> Demographics:
    """What the rater says about themselves."""
    return Demographics(rater, _values(_mapping(body, "answers")))


def headphones_of(rater: str, body: Body, blinding: Blinding) -> Headphones:
    """The answers of a headphone check."""
    probe = blinding.probe_of(_text(body, "probe", LONGEST_ID))
    return Headphones(rater, probe, _tones(body, "given"), _tones(body, "right"))


def flag_of(rater: str, body: Body, _: Blinding) -> Flag:
    """What is wrong with a stimulus."""
    skip = body.get("skip", False)
    if not isinstance(skip, bool):
        raise _wrong("skip", "true or false")
    return Flag(
        rater,
        _text(body, "trial", LONGEST_ID),
        _text(body, "reason", LONGEST_ID),
        _optional_text(body, "comment"),
        skip,
    )


def media_problem_of(rater: str, body: Body, _: Blinding) -> MediaProblem:
    """Why a stimulus would not play."""
    return MediaProblem(rater, _text(body, "trial", LONGEST_ID), _text(body, "problem", 1000))


def _wrong(what: str, allowed: str) -> Refused:
    return Refused(422, f"{what}: this is not {allowed}.", _FIX)


def _short(text: Any) -> str:
    return ascii(str(text)[:60])[1:-1]


def _text(body: Body, name: str, longest: int) -> str:
    text = body.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= longest or "\x00" in text:
        raise _wrong(name, f"a text of 1 to {longest} characters")
    return text


def _optional_text(body: Body, name: str) -> str | None:
    text = body.get(name)
    if text is None or text == "":
        return None
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or "\x00" in text:
        raise _wrong(name, f"a text of at most {LONGEST_TEXT} characters")
    return text


def _mapping(body: Body, name: str) -> Body:
    found = body.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict) or len(found) > MOST_ENTRIES:
        raise _wrong(name, "a JSON object")
    return found


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Answers by question: numbers, words, lists of words. What the scale allows is for the collection to say."""
    for name, value in given.items():
        if isinstance(value, str):
            if len(value) > LONGEST_TEXT or "\x00" in value:
                raise _wrong(_short(name), f"a text of at most {LONGEST_TEXT} characters")
        elif isinstance(value, list):
            if len(value) > MOST_ENTRIES or not all(
                isinstance(part, str) and len(part) <= LONGEST_ID and "\x00" not in part for part in value
            ):
                raise _wrong(_short(name), "a list of short texts")
        elif not isinstance(value, int | float | None):
            raise _wrong(_short(name), "a number, a text or a list of texts")
    return dict(given)


def _tones(body: Body, name: str) -> list[int]:
    found = body.get(name)
    if (
        not isinstance(found, list)
        or len(found) > MOST_ENTRIES
        or not all(isinstance(tone, int) and not isinstance(tone, bool) and 1 <= tone <= 3 for tone in found)
    ):
        raise _wrong(name, "a list of tones from 1 to 3")
    return found


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(what, "a number")
    return float(value)


def _seconds(heard: Body, name: str) -> float | None:
    value = heard.get(name)
    if value is None:
        return None
    number = _number(value, f"heard.{name}")
    if number < 0:
        raise _wrong(f"heard.{name}", "a number of seconds")
    return number


def _count(heard: Body, name: str) -> int:
    value = heard.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1_000_000:
        raise _wrong(f"heard.{name}", "a count")
    return value


def _rows(heard: Body, name: str, width: int) -> list[list[Any]]:
    rows = heard.get(name, [])
    if not isinstance(rows, list) or len(rows) > MOST_EVENTS:
        raise _wrong(f"heard.{name}", f"a list of at most {MOST_EVENTS}")
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise _wrong(f"heard.{name}", f"a list of {width} values each")
    return rows


def _heard(heard: Body, question_of: Callable[[str], str]) -> TrialLog:
    if not heard:
        return TrialLog()
    strange = heard.keys() - _HEARD
    if strange:
        raise _wrong(f"heard.{_short(min(strange))}", f"one of {', '.join(sorted(_HEARD))}")
    device = heard.get("device")
    if device is not None and (not isinstance(device, str) or len(device) > LONGEST_KEY):
        raise _wrong("heard.device", "a short text")
    intervals = tuple(
        (_number(row[0], "heard.intervals"), _number(row[1], "heard.intervals"))
        for row in _rows(heard, "intervals", 2)
    )
    changes = []
    for at, question, value in _rows(heard, "changes", 3):
        if not isinstance(question, str) or not isinstance(value, str) or len(value) > LONGEST_TEXT:
            raise _wrong("heard.changes", "seconds, question and value as texts")
        changes.append((_number(at, "heard.changes"), question_of(question), value))
    return TrialLog(
        seconds=_seconds(heard, "seconds"),
        first_play=_seconds(heard, "first_play"),
        plays=_count(heard, "plays"),
        intervals=intervals,
        focus_losses=_count(heard, "focus_losses"),
        changes=tuple(changes),
        device=device,
        began=_seconds(heard, "began"),
    )
