"""What the rating pages send, as Pydantic models that turn into commands.

Bodies are read in strict mode: no number from a text, no truth value from a number. Unknown keys of a body are ignored, so
that an older page still works; what a scale allows is for the collection to say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeAlias, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.requests import Request

from heartfelt.collect.commands import (
    Answer,
    Command,
    Consent,
    Demographics,
    Flag,
    Headphones,
    Heartbeat,
    Leave,
    MediaProblem,
    Ready,
    Step,
    TrialLog,
    Verdict,
)
from heartfelt.web.rater.presentation import Blinding

LONGEST_ID = 200
LONGEST_KEY = 80
LONGEST_TEXT = 10_000
MOST_ENTRIES = 500
MOST_EVENTS = 5_000
_NO_NULL_BYTE = r"^[^\x00]*$"
Id: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=_NO_NULL_BYTE)]
Text: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_TEXT, pattern=_NO_NULL_BYTE)]
_Entry: TypeAlias = Annotated[str, StringConstraints(max_length=LONGEST_ID, pattern=_NO_NULL_BYTE)]
Value: TypeAlias = bool | int | float | Text | Annotated[list[_Entry], Field(max_length=MOST_ENTRIES)] | None
Values: TypeAlias = Annotated[dict[str, Value], Field(max_length=MOST_ENTRIES)]
Tones: TypeAlias = Annotated[list[Annotated[int, Field(ge=1, le=3)]], Field(max_length=MOST_ENTRIES)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=1_000_000)]
Body = TypeVar("Body", bound="RaterRequest")


class RaterRequest(BaseModel):
    """A body of a request of the rating pages."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    @classmethod
    async def of(cls: type[Body], request: Request) -> Body:
        """The body of a request; an empty one counts as an empty object."""
        try:
            return cls.model_validate_json(await request.body() or b"{}")
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_context=False)) from error


class StepRequest(RaterRequest):
    """A body that leads to the next step; by itself it says that the rater is ready."""

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        del blinding
        return Ready(rater)


class LeaveRequest(StepRequest):
    """The rater stops for good."""

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        del blinding
        return Leave(rater)


class ConsentRequest(StepRequest):
    """Whether the rater agrees."""

    agreed: bool

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        del blinding
        return Consent(rater, self.agreed)


class DemographicsRequest(StepRequest):
    """The rater's answers about themselves."""

    answers: Values | None = None

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        del blinding
        return Demographics(rater, self.answers or {})


class HeadphonesRequest(StepRequest):
    """The answers of a headphone check."""

    probe: Id
    given: Tones
    right: Tones

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        return Headphones(rater, blinding.probe_of(self.probe), self.given, self.right)


class FlagRequest(StepRequest):
    """What is wrong with a stimulus."""

    trial: Id
    reason: Id
    comment: Text | None = None
    skip: bool = False

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        del blinding
        return Flag(rater, self.trial, self.reason, self.comment or None, self.skip)


class MediaProblemRequest(StepRequest):
    """Why a stimulus would not play."""

    trial: Id
    problem: Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=_NO_NULL_BYTE)]

    def command(self, rater: str, blinding: Blinding) -> Command[Step]:
        """The command for this rater."""
        del blinding
        return MediaProblem(rater, self.trial, self.problem)


class HeartbeatRequest(RaterRequest):
    """The rater is still there."""

    trial: Id

    def command(self, rater: str) -> Heartbeat:
        """The command for this rater."""
        return Heartbeat(rater, self.trial)


class TrialLogRequest(BaseModel):
    """How a trial went: see :class:`heartfelt.collect.commands.TrialLog`."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")

    seconds: Seconds | None = None
    first_play: Seconds | None = None
    plays: Count = 0
    intervals: Annotated[tuple[tuple[float, float], ...], Field(max_length=MOST_EVENTS)] = ()
    focus_losses: Count = 0
    changes: Annotated[tuple[tuple[float, str, Text], ...], Field(max_length=MOST_EVENTS)] = ()
    device: Annotated[str, StringConstraints(max_length=LONGEST_KEY)] | None = None
    began: Seconds | None = None


class AnswerRequest(RaterRequest):
    """The answers to a trial's questions, by the names they have in that trial."""

    trial: Id
    key: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEY, pattern=_NO_NULL_BYTE)]
    values: Values | None = None
    verdicts: Annotated[dict[str, Verdict], Field(max_length=MOST_ENTRIES)] | None = None
    comment: Text | None = None
    heard: TrialLogRequest | None = None
    go_on: bool = True

    def command(self, rater: str, blinding: Blinding) -> Answer:
        """The command for this rater, with the questions' own names."""
        log = TrialLog() if self.heard is None else TrialLog(**self.heard.__dict__)
        if log.changes:
            names = {name: blinding.question_of(self.trial, name) or name for _, name, _ in log.changes}
            log = replace(log, changes=tuple((at, names[name], value) for at, name, value in log.changes))
        return Answer(
            rater,
            self.trial,
            self.key,
            blinding.by_question(self.trial, self.values or {}),
            blinding.by_question(self.trial, self.verdicts or {}),
            self.comment or None,
            log,
            self.go_on,
        )
