"""Routes of adjudication: how far the senior raters are, and their links."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from heartfelt.collect.messages.adjudicators import AddAdjudicator, RevokeAdjudicator
from heartfelt.errors import UnknownNameError
from heartfelt.web.adjudication.desk import desk_of
from heartfelt.web.api.access import CollectionDep, StudyUrl
from heartfelt.web.api.models import RequestBody
from heartfelt.web.security.signing import adjudicator_link, signer_of
from heartfelt.web.study.coverage import Count

router = APIRouter(tags=["adjudication"])
AdjudicatorId = Annotated[str, Path(max_length=200, pattern=r"^[\w.:-]+$", description="the senior rater's id")]


class AdjudicatorInfo(BaseModel):
    """A senior rater, and how many decisions they made."""

    adjudicator: str
    note: str | None
    at: datetime
    active: bool
    decisions: Count


class AdjudicationInfo(BaseModel):
    """Items that wait for senior raters and items they decided; ``used`` says whether the study has adjudication."""

    used: bool
    waiting: Count
    decided: Count
    adjudicators: list[AdjudicatorInfo]


class AdjudicatorRequest(RequestBody):
    """Whom a link is for; only the researcher sees it."""

    note: Annotated[str | None, Field(max_length=500)] = None


class AdjudicatorLink(BaseModel):
    """A senior rater and their personal link. Anybody who has it decides as that person."""

    adjudicator: str
    link: str


@router.get("/adjudication", response_model=AdjudicationInfo)
def adjudication(request: Request, collection: CollectionDep) -> Any:
    """How many items wait for a senior rater and how many are decided, and by whom."""
    counts = desk_of(request).counts("")
    return {
        "used": collection.study.adjudication is not None,
        "waiting": counts.waiting,
        "decided": counts.decided,
        "adjudicators": collection.adjudicators().to_dicts(),
    }


@router.post("/adjudicators", status_code=201)
def add(body: AdjudicatorRequest, request: Request, collection: CollectionDep, url: StudyUrl) -> AdjudicatorLink:
    """Admit a senior rater and make their personal link."""
    return _link(request, url, collection.do(AddAdjudicator(body.note)))


@router.post("/adjudicators/{adjudicator}/link")
def link(adjudicator: AdjudicatorId, request: Request, collection: CollectionDep, url: StudyUrl) -> AdjudicatorLink:
    """The link of a senior rater who lost it."""
    if not collection.adjudicators().filter(adjudicator=adjudicator, active=True).height:
        raise UnknownNameError("No senior rater has that id now.", "See the list of senior raters.")
    return _link(request, url, adjudicator)


@router.post("/adjudicators/{adjudicator}/revoke", status_code=204)
def revoke(adjudicator: AdjudicatorId, collection: CollectionDep) -> None:
    """Make a senior rater's link invalid; their decisions stay."""
    collection.do(RevokeAdjudicator(adjudicator))


@router.delete("/adjudicators/{adjudicator}", status_code=204)
def erase(adjudicator: AdjudicatorId, request: Request, collection: CollectionDep) -> None:
    """Delete a senior rater and their decisions, for good; the items wait again."""
    collection.erase_adjudicator(adjudicator)
    desk_of(request).erased()


def _link(request: Request, url: str, adjudicator: str) -> AdjudicatorLink:
    signed = adjudicator_link(signer_of(request), url, adjudicator)
    return AdjudicatorLink(adjudicator=adjudicator, link=signed)
