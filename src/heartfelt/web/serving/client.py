"""The requests of the rating pages, for simulated raters and load tests: commands to requests, responses to steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from heartfelt.collect.messages.commands import (
    Answer,
    AskQuestionnaire,
    Command,
    Demographics,
    GiveConsent,
    Headphones,
    Leave,
    Next,
    Questionnaire,
    Ready,
    ShownMember,
    ShowTrial,
    Step,
    TrialLog,
)
from heartfelt.collect.messages.errors import StudyClosed
from heartfelt.errors import HeartfeltError
from heartfelt.web.rater.presentation import STEPS, Blinding

_TURNED_AWAY = frozenset({409, 503})
"""Full or closed; busy for the moment."""
_LOGGED = tuple(field.name for field in fields(TrialLog))


def encode(command: Command[Any], names: Mapping[str, str] | None = None) -> tuple[str, dict[str, Any]]:
    """The path and the body of the request for a command; ``names`` are the questions' names in the trial."""
    if isinstance(command, Answer):
        values, verdicts = (
            {(names or {}).get(name, name): value for name, value in by_question.items()}
            for by_question in (command.values, command.verdicts)
        )
        logged = ((name, getattr(command.log, name)) for name in _LOGGED if name != "fields")
        log = {name: value for name, value in logged if value not in (None, (), 0)}
        if command.log.fields:
            log["fields"] = {
                (names or {}).get(name, name): {
                    part: value for part, value in asdict(field_log).items() if value is not None
                }
                for name, field_log in command.log.fields.items()
            }
        body = {"trial": command.trial, "key": command.key, "values": values, "heard": log}
        return "/rate/answer", body | ({"verdicts": verdicts} if verdicts else {})
    if isinstance(command, GiveConsent):
        return "/rate/consent", {"agreed": command.agreed, "ticked": list(command.ticked)}
    if isinstance(command, Demographics):
        return "/rate/demographics", {"answers": dict(command.answers)}
    if isinstance(command, Questionnaire):
        page = {"time": command.time, "questions": list(command.questions)}
        return "/rate/questionnaire", {**page, "answers": dict(command.answers)}
    if isinstance(command, Headphones):
        return "/rate/headphones", {"probe": command.probe, "given": list(command.given)}
    if isinstance(command, Ready | Leave):
        return f"/rate/{type(command).__name__.lower()}", {}
    raise TypeError(f"the rating pages do not send {type(command).__name__}")


def decode(response: Mapping[str, Any], blinding: Blinding | None = None) -> Step:
    """The step in a response of the rating pages; with the study's ``blinding``, under the real names."""
    step = dict(response["step"] if "step" in response else response["then"])
    kind = step.pop("kind")
    if kind == "questionnaire":
        return AskQuestionnaire(step["time"], tuple(step["questions"]))
    if kind != "trial":
        field_names = {field.name for field in fields(STEPS[kind])}
        decoded: Step = STEPS[kind](**{name: value for name, value in step.items() if name in field_names})
        return decoded
    trial, names, media = step["trial"], step["questions"], step["media"]
    members, machine = step.get("members", ()), step.get("machine", {})
    if blinding is not None:
        machine = {blinding.question_of(trial, name) or name: value for name, value in machine.items()}
        names = [blinding.question_of(trial, name) or name for name in names]
        media = None if media is None else blinding.media_of(media)
        members = [{**m, "media": m["media"] and blinding.media_of(m["media"])} for m in members]
    return ShowTrial(
        trial=trial,
        kind="practice" if step["sort"] == "practice" else "attention" if step["words"] else "rating",
        media=media,
        questions=tuple(names),
        number=step["number"],
        of=step["of"],
        lease_seconds=step["lease_seconds"],
        prompt=step["prompt"],
        words=step["words"],
        machine=machine,
        members=tuple(ShownMember(**member) for member in members),
    )


def _quietest(sound: bytes) -> int:
    """Which of three tones in a WAV file is the quietest, from 1."""
    import io
    import wave

    import numpy as np

    with wave.open(io.BytesIO(sound)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float64)
    return int(np.argmin([np.square(part).mean() for part in np.array_split(samples, 3)])) + 1


class HttpClient:
    """A simulated rater's browser. It knows the study's blinding, which real raters do not."""

    def __init__(self, url: str, blinding: Blinding) -> None:
        import httpx

        self.rater = ""  # known to the server by the cookie
        self._blinding = blinding
        self._names: Mapping[str, str] = {}
        # Certificates, which take longest to load, are not needed on the way to a server of our own.
        secure = url.startswith("https:")
        self._client = httpx.Client(base_url=url, follow_redirects=True, timeout=30, trust_env=False, verify=secure)

    def arrive(self) -> Step:
        """Open the study's link, and ask for the first step; raises ``StudyClosed`` if the study admits nobody."""
        if self._client.get("/").status_code in _TURNED_AWAY:
            raise StudyClosed("The study admits no new raters now.", "Raise its quota, or send fewer raters.")
        return self._decoded(self._request("GET", "/rate/step").json())

    def send(self, command: Command[Any]) -> Step:
        """Send a command, and return the next step."""
        if isinstance(command, Next):
            return self._decoded(self._request("GET", "/rate/step").json())
        path, body = encode(command, self._names)
        return self._decoded(self._request("POST", path, json=body).json())

    def quietest_tones(self, trials: int) -> list[int]:
        """Listen to every round of the headphone check, as headphones would play it."""
        return [_quietest(self._request("GET", f"/rate/tones/{n + 1}").content) for n in range(trials)]

    def _decoded(self, response: Mapping[str, Any]) -> Step:
        step = decode(response, self._blinding)
        if isinstance(step, ShowTrial):
            self._names = self._blinding.names(step.trial, step.questions)
        return step

    def _request(self, method: str, path: str, **options: Any) -> Any:
        response = self._client.request(method, path, **options)
        if response.is_error:
            raise HeartfeltError(
                f"The server answered {response.status_code} to {path}: {response.text[:200]}", "See the server's log."
            )
        return response

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
