"""Raters: who they are, what they did, and whether they count."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Request

from heartfelt.collect import Collection
from heartfelt.collect.collection import snapshots_holding
from heartfelt.collect.commands import Erased, Exclude, Restore
from heartfelt.web.api.access import Asker, Collected, Figured, Optioned, Read, address_of
from heartfelt.web.api.data import csv_response
from heartfelt.web.api.rater_models import (
    EffectInfo,
    ErasedInfo,
    Exclusion,
    Judged,
    ParticipantsInfo,
    ParticipantWanted,
    RaterInfo,
    RatersInfo,
    ResumeLink,
    TrialsInfo,
)
from heartfelt.web.security.cookies import RESUME_SECONDS
from heartfelt.web.study import people

router = APIRouter(tags=["raters"])
Rater: TypeAlias = Annotated[str, Path(max_length=200, pattern=r"^[\w.:-]+$", description="the rater's id")]


@router.get("/raters", response_model=RatersInfo)
def raters(reader: Read, figures: Figured) -> dict[str, Any]:
    """Every rater, most careless first: the evidence of all rules together, in powers of ten."""
    board = figures.board()
    return {"change": board.change, "raters": reader.call(people.ranked, board), "notes": list(board.notes)}


@router.get("/raters/{rater}", response_model=RaterInfo)
def rater(rater: Rater, collection: Collected, figures: Figured) -> dict[str, Any]:
    """One rater."""
    return people.one(collection, figures.board(), rater)


@router.get("/raters/{rater}/trials", response_model=TrialsInfo)
def trials(rater: Rater, collection: Collected) -> dict[str, Any]:
    """Every trial of a rater, with everything that was logged."""
    return {"rater": rater, "trials": people.trials(collection, rater)}


@router.get("/raters/{rater}/effect", response_model=EffectInfo)
def effect(rater: Rater, reader: Read) -> dict[str, Any]:
    """What excluding the rater would do to the result; for one who is excluded, what restoring would."""
    return reader.call(people.effect_of, rater)


@router.get(
    "/participants",
    response_model=ParticipantsInfo,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def participants(
    collection: Collected, form: Annotated[Literal["json", "csv"], Query(alias="as")] = "json"
) -> Any:
    """Recruiters' participant ids and the raters they are; nowhere else are they, and no export has them."""
    frame = collection.participants()
    if form == "json":
        return {"participants": frame.to_dicts()}
    return csv_response(frame, f"{collection.study.name}-participants.csv")


@router.post("/participants/erase", response_model=ErasedInfo)
def erase_participant(body: ParticipantWanted, collection: Collected) -> dict[str, Any]:
    """Delete everything a participant said, for good; their places open again."""
    return _erased(collection, collection.erase(participant=body.participant))


@router.post("/raters/{rater}/erase", response_model=ErasedInfo)
def erase(rater: Rater, collection: Collected) -> dict[str, Any]:
    """Delete everything a rater said, for good; their places open again."""
    return _erased(collection, collection.erase(rater=rater))


def _erased(collection: Collection, done: Erased) -> dict[str, Any]:
    left = [path.name for path in snapshots_holding(collection.folder, done.rater)]
    return {"rater": done.rater, "trials": done.trials, "snapshots": left}


@router.post("/raters/{rater}/resume-link", response_model=ResumeLink)
def resume_link(rater: Rater, request: Request, collection: Collected, options: Optioned) -> ResumeLink:
    """A link for somebody who lost the browser they began in. Whoever has it goes on as that rater."""
    collection.trials(rater)
    signed = request.app.state.signer.sign("resume", rater, RESUME_SECONDS)
    return ResumeLink(rater=rater, link=f"{address_of(request, options)}/r/{signed}")


@router.post("/raters/{rater}/exclude", response_model=Judged)
def exclude(rater: Rater, body: Exclusion, collection: Collected, asker: Asker) -> Judged:
    """Leave a rater out; their slots open again."""
    return Judged(rater=rater, excluded=True, slots=collection.do(Exclude(rater, body.reason, asker)))


@router.post("/raters/{rater}/restore", response_model=Judged)
def restore(rater: Rater, collection: Collected, asker: Asker) -> Judged:
    """Take a rater back in."""
    return Judged(rater=rater, excluded=False, slots=collection.do(Restore(rater, asker)))
