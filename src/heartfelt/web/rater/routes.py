"""The JSON routes of the rating pages: request models, and the commands they become.

Bodies are read in strict mode: no number from a text, no truth value from a number. Unknown keys of a body are ignored, so
that an older page still works; what a scale allows is for the collection to say. Who the rater is comes from the signed
cookie alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from heartfelt.collect.messages.commands import (
    Answer,
    Command,
    Demographics,
    FieldLog,
    Flag,
    GiveConsent,
    Headphones,
    Heartbeat,
    Leave,
    MediaProblem,
    Next,
    Questionnaire,
    Ready,
    Step,
    TrialLog,
    Verdict,
)
from heartfelt.collect.messages.errors import InvalidAnswer
from heartfelt.study.model import LONGEST_ID
from heartfelt.study.scales.set_scale import LONGEST_TRACE
from heartfelt.web.rater.pages import add_return_link
from heartfelt.web.rater.presentation import Blinding, blinding_of, request_language, step_json
from heartfelt.web.requests.errors import RequestRefused
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.signing import rater_of

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}
MAX_KEY_LENGTH = 80
MAX_TEXT_LENGTH = 10_000
MOST_ENTRIES = 500
MOST_EVENTS = 5_000
MOST_MEMBERS = 25
_NO_NULL_BYTE = r"^[^\x00]*$"
Id: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=_NO_NULL_BYTE)]
Text: TypeAlias = Annotated[str, StringConstraints(max_length=MAX_TEXT_LENGTH, pattern=_NO_NULL_BYTE)]
_Entry: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_ID, pattern=_NO_NULL_BYTE)]
Value: TypeAlias = bool | int | float | Text | Annotated[list[_Entry], Field(max_length=MOST_ENTRIES)] | None
Values: TypeAlias = Annotated[dict[str, Value], Field(max_length=MOST_ENTRIES)]
_Position: TypeAlias = Annotated[int, Field(ge=0, lt=MOST_MEMBERS)]
_Samples: TypeAlias = Annotated[list[float | None], Field(max_length=LONGEST_TRACE)]
Judgement: TypeAlias = (
    Value
    | Annotated[list[int | float], Field(max_length=MOST_MEMBERS)]
    | dict[Literal["best", "worst"], _Position]
    | dict[Literal["samples"], _Samples]
)
"""An answer about a stimulus, or about a set: grades, an order, the best and the worst; or a trace."""
Judgements: TypeAlias = Annotated[dict[str, Judgement], Field(max_length=MOST_ENTRIES)]
Intervals: TypeAlias = Annotated[tuple[tuple[float, float], ...], Field(max_length=MOST_EVENTS)]
Tones: TypeAlias = Annotated[list[Annotated[int, Field(ge=1, le=3)]], Field(max_length=MOST_ENTRIES)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000)]
Body = TypeVar("Body", bound="RaterRequest")


class RaterRequest(BaseModel):
    """The body of a request of the rating pages; by itself an empty one."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    @classmethod
    async def of(cls: type[Body], request: Request) -> Body:
        """The body of a request; no body counts as an empty object."""
        try:
            return cls.model_validate_json(await request.body() or b"{}")
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error


class ConsentRequest(RaterRequest):
    """Whether the rater agrees, and the boxes that are ticked."""

    agreed: bool
    ticked: Annotated[list[Id], Field(max_length=MOST_ENTRIES)] = []


class DemographicsRequest(RaterRequest):
    """The rater's answers about themselves."""

    answers: Values | None = None


class QuestionnaireRequest(RaterRequest):
    """The rater's answers to a page of a questionnaire, by question, and all questions the page had."""

    time: Annotated[str, Field(pattern=r"^(before|after|between:[\w-]{1,100}@[0-9]{1,9})$")]
    questions: Annotated[list[Id], Field(max_length=MOST_ENTRIES)]
    answers: Values | None = None


class HeadphonesRequest(RaterRequest):
    """The answers of a headphone check. Pages of earlier versions made the tones themselves and sent what was right."""

    probe: Id
    given: Tones
    right: Any = None

    @classmethod
    async def of(cls, request: Request) -> HeadphonesRequest:
        """The body of a request; one of an earlier page is refused, since its tones were others."""
        body = await super().of(request)
        if body.right is not None:
            raise RequestRefused(
                409,
                "This page is from an earlier version of the study.",
                "Reload it and take the headphone check again.",
            )
        return body


class TrialRequest(RaterRequest):
    """A message about a trial; by itself, that the rater is still there."""

    trial: Id


class FlagRequest(TrialRequest):
    """What is wrong with a stimulus."""

    reason: Id
    comment: Text | None = None
    skip: bool = False


class MediaProblemRequest(TrialRequest):
    """Why a stimulus would not play."""

    problem: Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=_NO_NULL_BYTE)]


class FieldLogRequest(RaterRequest):
    """How one question was answered: see :class:`heartfelt.collect.messages.commands.FieldLog`. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")

    first: Value = None
    seconds: Seconds | None = None
    keystrokes: Count | None = None


class TrialLogRequest(RaterRequest):
    """How a trial went: see :class:`heartfelt.collect.messages.commands.TrialLog`. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")

    seconds: Seconds | None = None
    first_play: Seconds | None = None
    plays: Count = 0
    intervals: Intervals = ()
    played: Annotated[tuple[Intervals, ...], Field(max_length=MOST_MEMBERS)] = ()
    away: Seconds = 0.0
    focus_losses: Count = 0
    changes: Annotated[tuple[tuple[float, str, Text], ...], Field(max_length=MOST_EVENTS)] = ()
    device: Annotated[str, StringConstraints(max_length=MAX_KEY_LENGTH)] | None = None
    began: Seconds | None = None
    fields: Annotated[dict[str, FieldLogRequest], Field(max_length=MOST_ENTRIES)] = {}


class AnswerRequest(TrialRequest):
    """The answers to a trial's questions, by the names they have in that trial."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=MAX_KEY_LENGTH, pattern=_NO_NULL_BYTE)]
    values: Judgements | None = None
    verdicts: Annotated[dict[str, Verdict], Field(max_length=MOST_ENTRIES)] | None = None
    comment: Text | None = None
    heard: TrialLogRequest | None = None
    go_on: bool = True


# --- routes -----------------------------------------------------------------------------------------------------------

_STEPS: dict[str, tuple[type[RaterRequest], Callable[[str, Any, Blinding], Command[Step]]]] = {
    "demographics": (DemographicsRequest, lambda rater, body, _: Demographics(rater, body.answers or {})),
    "questionnaire": (
        QuestionnaireRequest,
        lambda rater, body, _: Questionnaire(rater, body.time, body.questions, body.answers or {}),
    ),
    "headphones": (
        HeadphonesRequest,
        lambda rater, body, names: Headphones(rater, names.probe_of(body.probe), body.given),
    ),
    "ready": (RaterRequest, lambda rater, _, __: Ready(rater)),
    "flag": (
        FlagRequest,
        lambda rater, body, _: Flag(
            rater, body.trial, reason=body.reason, comment=body.comment or None, skip=body.skip
        ),
    ),
    "media-problem": (MediaProblemRequest, lambda rater, body, _: MediaProblem(rater, body.trial, body.problem)),
    "leave": (RaterRequest, lambda rater, _, __: Leave(rater)),
}
"""Requests that lead to the next step."""


def routes() -> list[Route]:
    """Plain Starlette routes: FastAPI's dependency solving would cost a tenth of the throughput of answers."""
    return [
        Route("/rate/step", step, methods=["GET"], name="rater-step"),
        Route("/rate/answer", answer, methods=["POST"], name="rater-answer"),
        Route("/rate/consent", consent, methods=["POST"], name="rater-consent"),
        Route("/rate/withdraw", withdraw, methods=["POST"], name="rater-withdraw"),
        Route("/rate/beat", heartbeat, methods=["POST"], name="rater-beat"),
        Route("/rate/tones/{number:int}", tones, methods=["GET"], name="rater-tones"),
        *(
            Route(f"/rate/{name}", _step_endpoint(*parts), methods=["POST"], name=f"rater-{name}")
            for name, parts in _STEPS.items()
        ),
    ]


async def step(request: Request) -> Response:
    """Where the rater is."""
    rater = authenticated_rater(request)
    current = await state_of(request).collection.ask(Next(rater))
    shown = step_json(current, blinding_of(request), request_language(request))
    add_return_link(request, rater, shown)
    return _json({"step": shown})


async def consent(request: Request) -> Response:
    """Agree or decline; the language says which document was shown."""
    body, language = await ConsentRequest.of(request), request_language(request)
    command = GiveConsent(authenticated_rater(request), body.agreed, body.ticked, language)
    following = await state_of(request).collection.ask(command)
    return _json({"step": step_json(following, blinding_of(request), language)})


async def withdraw(request: Request) -> Response:
    """Erase the rater who asks for it after the debriefing."""
    rater = authenticated_rater(request)
    end = await run_in_threadpool(state_of(request).collection.withdraw, rater)
    return _json({"step": step_json(end, blinding_of(request), request_language(request))})


async def answer(request: Request) -> Response:
    """Store the answers to a trial durably; the next step comes from the same transaction.

    An answer to a trial that was answered under another key, in another tab, is not stored: its status is ``elsewhere``.
    """
    state, rater = state_of(request), authenticated_rater(request)
    blinding = blinding_of(request)
    body = await AnswerRequest.of(request)
    try:
        receipt = await state.collection.ask(_answer_command(rater, body, blinding))
    except InvalidAnswer as error:
        raise blinding.readable(error, request_language(request)) from error
    following, status = receipt.next_step, str(receipt.status)
    # The page may drop its own copy of an answer only if the stored one is the same.
    if status == "already" and not await run_in_threadpool(state.collection.has_answer, receipt.trial, body.key):
        status = "elsewhere"
    then = None if following is None else step_json(following, blinding, request_language(request))
    add_return_link(request, rater, then or {})
    return _json({"trial": receipt.trial, "status": status, "then": then})


def _answer_command(rater: str, body: AnswerRequest, blinding: Blinding) -> Answer:
    log = TrialLog() if body.heard is None else _log(body, body.heard, blinding)
    if log.changes:
        names = {name: blinding.question_of(body.trial, name) or name for _, name, _ in log.changes}
        log = replace(log, changes=tuple((at, names[name], value) for at, name, value in log.changes))
    values = blinding.by_question(body.trial, body.values or {})
    verdicts = blinding.by_question(body.trial, body.verdicts or {})
    return Answer(
        rater,
        body.trial,
        key=body.key,
        values=values,
        verdicts=verdicts,
        comment=body.comment or None,
        log=log,
        wants_next=body.go_on,
    )


def _log(body: AnswerRequest, heard: TrialLogRequest, blinding: Blinding) -> TrialLog:
    fields = blinding.by_question(body.trial, heard.fields)
    logs = {question: FieldLog(**field_log.__dict__) for question, field_log in fields.items()}
    return TrialLog(**{**heard.__dict__, "fields": logs})


async def heartbeat(request: Request) -> Response:
    """Keep a trial reserved for a rater who is still there."""
    rater = authenticated_rater(request)
    body = await TrialRequest.of(request)
    return _json({"seconds": await state_of(request).collection.ask(Heartbeat(rater, body.trial))})


async def tones(request: Request) -> Response:
    """The sound of a round of the rater's headphone check. Neither its size nor its headers say what is to be answered."""
    rater, number = authenticated_rater(request), request.path_params["number"]
    sound = await run_in_threadpool(state_of(request).collection.headphone_tones, rater, number)
    if sound is None:
        raise RequestRefused(404, "There is no such round.", "Reload the page.")
    return Response(sound, media_type="audio/wav", headers=_NO_STORE)


def _step_endpoint(model: type[RaterRequest], command: Callable[[str, Any, Blinding], Command[Step]]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        state, rater = state_of(request), authenticated_rater(request)
        body = await model.of(request)
        try:
            following = await state.collection.ask(command(rater, body, blinding_of(request)))
        except InvalidAnswer as error:
            if not isinstance(body, QuestionnaireRequest):
                raise
            raise blinding_of(request).readable_page(error, body.time, request_language(request)) from error
        shown = step_json(following, blinding_of(request), request_language(request))
        add_return_link(request, rater, shown)
        return _json({"step": shown})

    return endpoint


def authenticated_rater(request: Request) -> str:
    """The rater of the cookie; a request without a valid one is refused."""
    rater = rater_of(request)
    if rater is None:
        raise RequestRefused(401, "This page does not know you.", "Open the link you were given.")
    return rater


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content, default=dict), media_type="application/json", headers=_NO_STORE)
