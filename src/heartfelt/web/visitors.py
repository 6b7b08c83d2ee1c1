"""Simulated raters who come in by the front door: they arrive, agree, listen and answer over HTTP, as browsers do.

They live in simulated time: several are in the study at once, each request happens when its rater would make it, and the same
visitors give the same history every time.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from heartfelt.collect.simulation import Clock
from heartfelt.errors import HeartfeltError
from heartfelt.progress import Progress
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.probe import AttentionProbe

if TYPE_CHECKING:
    import httpx

PAGE_SECONDS = 5.0
"""Simulated time a visitor spends on a page that is not a trial."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a visitor says of one stimulus, by question, and how long they thought about it."""

    values: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What a media id plays: the stimulus, and how long it lasts."""

    stimulus: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Unblinded:
    """What simulated raters know and real ones do not: which stimulus is played, and which question is asked."""

    hear: Callable[[str], Heard]
    """What a media id plays."""
    question: Callable[[str, str], str | None]
    """The question behind a trial and the name it has there."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A rater to be. ``say`` is given the stimulus and the number of the trial, from 1; 0 is for practice."""

    name: str
    say: Callable[[str, int], Said]
    about: Mapping[str, Any]
    """Answers to the study's demographic questions."""
    leaves_after: int | None = None
    """Trials after which the visitor closes the window; None for one who stays."""


@dataclass(frozen=True, slots=True)
class Visit:
    """What a visitor was told: how many answers the server took, and how it ended (None for one who left)."""

    name: str
    kept: int
    ending: str | None


def receive(
    url: str,
    visitors: Sequence[Visitor],
    study: Study,
    known: Unblinded,
    clock: Clock,
    *,
    at_once: int = 8,
    progress: Progress | None = None,
) -> list[Visit]:
    """Let the visitors come in the order given, ``at_once`` of them in the study at a time.

    ``known`` says what is played and asked; ``clock`` is the one the study keeps, and is set to the time of each request.
    """
    waiting = list(enumerate(visitors))[::-1]
    visits: dict[int, Visit] = {}
    present: list[tuple[float, int, Iterator[float]]] = []
    while waiting or present:
        while waiting and len(present) < at_once:
            place, visitor = waiting.pop()
            visit = _visit(url, visitor, study, known, partial(visits.__setitem__, place))
            heapq.heappush(present, (clock.now + place % at_once, place, visit))
        at, place, visit = heapq.heappop(present)
        clock.now = max(clock.now, at)
        pause = next(visit, None)
        if pause is not None:
            heapq.heappush(present, (clock.now + pause, place, visit))
        elif progress is not None:
            progress("simulated raters answer", len(visits), len(visitors))
    return [visits[place] for place in range(len(visitors))]


def _visit(
    url: str,
    visitor: Visitor,
    study: Study,
    known: Unblinded,
    done: Callable[[Visit], None],
) -> Iterator[float]:
    """One visit, request by request; yields the seconds that pass before the next one."""
    import httpx

    with httpx.Client(base_url=url, follow_redirects=True, timeout=30, trust_env=False) as client:
        _checked(client.get("/"))
        step: dict[str, Any] = _checked(client.get("/rate/step")).json()["step"]
        answers = 0
        while step["kind"] != "end":
            if step["kind"] != "trial":
                yield PAGE_SECONDS
                path, body = _reply(step, visitor)
                step = _checked(client.post(path, json=body)).json()["step"]
                continue
            if visitor.leaves_after is not None and step["number"] > visitor.leaves_after:
                done(Visit(visitor.name, answers, None))
                return
            body, seconds = _answer(step, visitor, study, known)
            yield seconds
            step = _checked(client.post("/rate/answer", json=body)).json()["then"]
            answers += 1
        done(Visit(visitor.name, answers, str(step["ending"])))


def _reply(step: Mapping[str, Any], visitor: Visitor) -> tuple[str, dict[str, Any]]:
    """The way on from a page that is no trial."""
    kind = step["kind"]
    if kind == "consent":
        return "/rate/consent", {"agreed": True}
    if kind == "demographics":
        return "/rate/demographics", {"answers": dict(visitor.about)}
    if kind == "headphones":
        right = [1] * int(step["trials"])
        return "/rate/headphones", {"probe": step["probe"], "given": right, "right": right}
    return "/rate/ready", {}


def _answer(
    step: Mapping[str, Any], visitor: Visitor, study: Study, known: Unblinded
) -> tuple[dict[str, Any], float]:
    """What the visitor sends, and the seconds that hearing the clip and answering take."""
    asked = {name: str(known.question(step["trial"], name)) for name in step["questions"]}
    heard = known.hear(str(step["media"]))
    counts = step["sort"] != "practice" and step["words"] is None
    said = visitor.say(heard.stimulus, int(step["number"]) if counts else 0)
    if step["words"] is not None:
        question, answer = _told(step["words"], study)
        said = Said({**said.values, question: answer}, 2.0)
    body = {
        "trial": step["trial"],
        "key": hashlib.sha256(f"{visitor.name} {step['trial']}".encode()).hexdigest()[:32],
        "values": {name: said.values[question] for name, question in asked.items()},
        "heard": {"seconds": said.seconds, "plays": 1, "device": "computer"},
    }
    return body, heard.seconds + said.seconds


def _told(words: str, study: Study) -> tuple[str, float | str]:
    """Which question an attention trial is about, and what it asks for."""
    for probe in study.probes:
        if isinstance(probe, AttentionProbe) and words in {say(probe.text, one) for one in study.languages}:
            return probe.question, probe.answer
    raise HeartfeltError(
        "An attention trial came that no probe of the study explains.", "Check the study's probes."
    )


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_error:
        raise HeartfeltError(
            f"The server answered {response.status_code} to {response.request.url.path}: {response.text[:200]}",
            "Look at the server's log.",
        )
    return response
