"""Routes of raters: their progress, their trials, and whether they count."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Request

from heartfelt.collect import Collection
from heartfelt.collect.collection import snapshots_holding
from heartfelt.collect.commands import Erased, Exclude, Restore
from heartfelt.web.api.access import BoardDep, CollectionDep, ReaderDep, Requester, StudyUrl
from heartfelt.web.api.data import csv_response
from heartfelt.web.api.models import (
    EffectInfo,
    ErasedInfo,
    Exclusion,
    ExclusionInfo,
    ParticipantRequest,
    ParticipantsInfo,
    RaterInfo,
    RatersInfo,
    ResumeLink,
    TrialsInfo,
)
from heartfelt.web.security.signing import RESUME_SECONDS
from heartfelt.web.study import views

router = APIRouter(tags=["raters"])
Rater: TypeAlias = Annotated[str, Path(max_length=200, pattern=r"^[\w.:-]+$", description="the rater's id")]


@router.get("/raters")
def raters(reader: ReaderDep, board: BoardDep) -> RatersInfo:
    """Every rater, most careless first: the evidence of all rules together, in powers of ten."""
    ranked = reader.call(views.ranked_raters, board)
    return RatersInfo(change=board.change, raters=ranked, notes=list(board.notes))


@router.get("/raters/{rater}")
def rater(rater: Rater, collection: CollectionDep, board: BoardDep) -> RaterInfo:
    """One rater."""
    return views.rater_info(collection, board, rater)


@router.get("/raters/{rater}/trials")
def trials(rater: Rater, collection: CollectionDep) -> TrialsInfo:
    """Every trial of a rater, with everything that was logged."""
    return TrialsInfo(rater=rater, trials=views.trials_of(collection, rater))


@router.get("/raters/{rater}/effect")
def effect(rater: Rater, reader: ReaderDep) -> EffectInfo:
    """What excluding the rater would do to the result; for an excluded rater, what restoring would."""
    return reader.call(views.effect_of, rater)


@router.get(
    "/participants",
    response_model=ParticipantsInfo,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def participants(
    collection: CollectionDep, form: Annotated[Literal["json", "csv"], Query(alias="as")] = "json"
) -> Any:
    """Recruiters' participant ids and their raters; no export contains them."""
    frame = collection.participants()
    if form == "json":
        return {"participants": frame.to_dicts()}
    return csv_response(frame, f"{collection.study.name}-participants.csv")


@router.post("/participants/erase")
def erase_participant(body: ParticipantRequest, collection: CollectionDep) -> ErasedInfo:
    """Delete everything about a participant, for good; their slots open again."""
    return _erased(collection, collection.erase(participant=body.participant))


@router.post("/raters/{rater}/erase")
def erase(rater: Rater, collection: CollectionDep) -> ErasedInfo:
    """Delete everything about a rater, for good; their slots open again."""
    return _erased(collection, collection.erase(rater=rater))


def _erased(collection: Collection, erased: Erased) -> ErasedInfo:
    left = [path.name for path in snapshots_holding(collection.folder, erased.rater)]
    return ErasedInfo(rater=erased.rater, trials=erased.trials, snapshots=left)


@router.post("/raters/{rater}/resume-link")
def resume_link(rater: Rater, request: Request, collection: CollectionDep, url: StudyUrl) -> ResumeLink:
    """A link for a rater who lost the browser they began in. Anybody who has it continues as that rater."""
    collection.trials(rater)
    signed = request.app.state.signer.sign("resume", rater, RESUME_SECONDS)
    return ResumeLink(rater=rater, link=f"{url}/r/{signed}")


@router.post("/raters/{rater}/exclude")
def exclude(rater: Rater, body: Exclusion, collection: CollectionDep, requester: Requester) -> ExclusionInfo:
    """Exclude a rater; their slots open again."""
    slots = collection.do(Exclude(rater, body.reason, requester))
    return ExclusionInfo(rater=rater, excluded=True, slots=slots)


@router.post("/raters/{rater}/restore")
def restore(rater: Rater, collection: CollectionDep, requester: Requester) -> ExclusionInfo:
    """Restore an excluded rater."""
    return ExclusionInfo(rater=rater, excluded=False, slots=collection.do(Restore(rater, requester)))
