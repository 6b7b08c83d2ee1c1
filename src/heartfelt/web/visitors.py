"""Simulated raters who come in by the front door: they arrive, agree, listen and answer over HTTP, as browsers do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heartfelt.errors import HeartfeltError
from heartfelt.study import Study
from heartfelt.study.probe import AttentionProbe

if TYPE_CHECKING:
    import httpx

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Said:
    """What a visitor says of one stimulus, by question, and how long they thought about it."""

    values: Mapping[str, Any]
    seconds: float


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
    hear: Callable[[str], str],
    *,
    at_once: int = 8,
    progress: Progress | None = None,
) -> list[Visit]:
    """Let the visitors come, some at the same time, in the order given. ``hear`` tells which stimulus a media id plays."""
    done: list[Visit] = []
    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(_visit, url, visitor, study, hear) for visitor in visitors]
        for place, visit in enumerate(waiting, 1):
            done.append(visit.result())
            if progress is not None:
                progress(place, len(waiting))
    return done


def _visit(url: str, visitor: Visitor, study: Study, hear: Callable[[str], str]) -> Visit:
    import httpx

    with httpx.Client(base_url=url, follow_redirects=True, timeout=30, trust_env=False) as client:
        _checked(client.get("/"))
        step: dict[str, Any] = _checked(client.get("/rate/step")).json()["step"]
        kept = 0
        while step["kind"] != "end":
            if step["kind"] != "trial":
                path, body = _reply(step, visitor)
                step = _checked(client.post(path, json=body)).json()["step"]
                continue
            if visitor.leaves_after is not None and step["number"] > visitor.leaves_after:
                return Visit(visitor.name, kept, None)
            receipt = _checked(client.post("/rate/answer", json=_answer(step, visitor, study, hear))).json()
            kept += 1
            step = receipt["then"]
        return Visit(visitor.name, kept, str(step["ending"]))


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
    step: Mapping[str, Any], visitor: Visitor, study: Study, hear: Callable[[str], str]
) -> dict[str, Any]:
    if step["sort"] == "attention":
        told = _told(step, study)
        said = Said(dict.fromkeys(step["questions"], told), 2.0)
    else:
        said = visitor.say(hear(str(step["media"])), 0 if step["sort"] == "practice" else int(step["number"]))
    return {
        "trial": step["trial"],
        "key": uuid.uuid4().hex,
        "values": {question: said.values[question] for question in step["questions"]},
        "heard": {"seconds": said.seconds, "plays": 1, "device": "computer"},
    }


def _told(step: Mapping[str, Any], study: Study) -> float | str:
    """What an attention trial asks for."""
    for probe in study.probes:
        if isinstance(probe, AttentionProbe) and probe.question in step["questions"]:
            return probe.answer
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
