"""Routes of the study: its description, coverage, figures, stimuli, recruiting and tokens."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Path, Query, Request

from heartfelt import __version__
from heartfelt.analysis.live import ratings_needed
from heartfelt.collect.commands import Change, Invite
from heartfelt.serialization import to_json
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.web.api.access import BoardDep, CollectionDep, ReaderDep, StudyUrl
from heartfelt.web.api.models import (
    CoverageInfo,
    FlagsInfo,
    InvitationInfo,
    InvitationsInfo,
    InvitationsRequest,
    Links,
    MachineInfo,
    MediaProblemsInfo,
    QuestionInfo,
    ReliabilityInfo,
    SettingsChange,
    SettingsInfo,
    StimuliInfo,
    StudyInfo,
    SystemInfo,
    SystemsInfo,
    TokenInfo,
    TokenMade,
    TokenRequest,
    TokensInfo,
    VersionsInfo,
)
from heartfelt.web.security.access import Token, Tokens
from heartfelt.web.security.signing import INVITE_SECONDS, Signer
from heartfelt.web.study import views
from heartfelt.web.study.routes import study_title

router = APIRouter(tags=["study"])
stimuli_router = APIRouter(tags=["stimuli"])
recruiting_router = APIRouter(tags=["recruiting"])
tokens_router = APIRouter(tags=["tokens"])


@router.get("/study")
def study(request: Request, collection: CollectionDep, url: StudyUrl) -> StudyInfo:
    """What is asked, of what, and where raters come in."""
    here = collection.study
    prolific = "&".join(f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
    mturk = "&".join(f"{name}=${{{name}}}" for name in ("workerId", "assignmentId", "hitId"))
    return StudyInfo(
        name=here.name,
        title=study_title(here),
        media=here.media,
        hash=here.hash,
        languages=list(here.languages),
        questions=[_question(here, question.id) for question in here.asked],
        systems=[SystemInfo(id=each.id, name=each.name, group=each.group) for each in here.systems],
        stimuli=collection.opened.stimuli.height,
        items=collection.opened.items.height,
        ratings_per_item=here.design.ratings_per_item,
        stimuli_per_rater=here.design.stimuli_per_rater,
        links=Links(open=f"{url}/", prolific=f"{url}/?{prolific}", mturk=f"{url}/?{mturk}"),
        refresh_seconds=request.app.state.options.refresh_seconds,
        version=__version__,
    )


def _question(here: Study, name: str) -> QuestionInfo:
    question, scale = here.question(name), here.scale_of(name)
    return QuestionInfo(
        id=name,
        text=say(question.text, here.languages[0]),
        scale=question.scale,
        level=scale.level,
        emotion=question.emotion,
        bounds=scale.bounds(),
        categories={f"{code:g}": label for code, label in scale.labels().items()},
    )


@router.get("/coverage")
def coverage(request: Request) -> CoverageInfo:
    """Ratings against the quota, what is being rated now, and when it will be complete at the recent rate."""
    return cast(views.CoverageView, request.app.state.coverage).current()


@router.get("/versions", response_model=VersionsInfo)
def versions(collection: CollectionDep) -> Any:
    """Every version of the study that was served, with what changed and the trials answered under it."""
    return {"versions": collection.versions().to_dicts()}


@router.get("/machine", response_model=MachineInfo)
def machine(board: BoardDep) -> Any:
    """How often values a machine filled in first were accepted, fixed and rejected."""
    return {"change": board.change, "fields": to_json(board.machine)}


@router.get("/reliability", response_model=ReliabilityInfo)
def reliability(board: BoardDep) -> Any:
    """Krippendorff's alpha and intraclass correlations of every question, now and over time."""
    return {"change": board.change, "questions": to_json(board.reliability)}


@router.get("/systems", response_model=SystemsInfo)
def systems(
    board: BoardDep,
    precision: Annotated[
        float, Query(ge=1e-4, le=1e6, allow_inf_nan=False, description="the half-width wanted for each mean")
    ] = 0.25,
) -> Any:
    """The mean of every system with its interval, and the ratings still needed for the wanted precision."""
    rows = [
        cast(dict[str, Any], to_json(row)) | {"needed": to_json(ratings_needed(row, precision))}
        for row in board.systems
    ]
    return {"change": board.change, "precision": precision, "systems": rows}


# --- stimuli ----------------------------------------------------------------------------------------------------------


@stimuli_router.get("/stimuli")
def stimuli(
    reader: ReaderDep,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    search: Annotated[
        str, Query(max_length=200, description="part of the id, system, intent or prompt")
    ] = "",
) -> StimuliInfo:
    """Stimuli with their counts and mean ratings so far, fewest ratings first."""
    return reader.call(views.stimuli, offset, limit, search)


@stimuli_router.get("/flags")
def flags(collection: CollectionDep) -> FlagsInfo:
    """Problems with stimuli that raters reported, latest first."""
    return FlagsInfo(flags=views.flags(collection))


@stimuli_router.get("/problems")
def problems(collection: CollectionDep) -> MediaProblemsInfo:
    """Media that would not load or play, latest first."""
    return MediaProblemsInfo(problems=views.media_problems(collection))


# --- recruiting -------------------------------------------------------------------------------------------------------


@recruiting_router.get("/settings", response_model=SettingsInfo)
def settings(collection: CollectionDep) -> Any:
    """How the study admits raters now."""
    return asdict(collection.settings)


@recruiting_router.patch("/settings", response_model=SettingsInfo)
def change(body: SettingsChange, collection: CollectionDep) -> Any:
    """Change settings; those left out stay as they are."""
    return asdict(collection.do(Change(body.model_dump(exclude_unset=True))))


@recruiting_router.get("/invitations")
def invitations(request: Request, collection: CollectionDep, url: StudyUrl) -> InvitationsInfo:
    """Every personal link that was made, with who came by it."""
    rows = collection.invitations().to_dicts()
    return InvitationsInfo(invitations=[_invitation(request, url, **row) for row in rows])


@recruiting_router.post("/invitations", status_code=201)
def invite(
    body: InvitationsRequest, request: Request, collection: CollectionDep, url: StudyUrl
) -> InvitationsInfo:
    """Make personal links: each admits one person."""
    made = collection.do(Invite(body.count, body.note))
    return InvitationsInfo(
        invitations=[_invitation(request, url, invitation=name, note=body.note) for name in made]
    )


def _invitation(
    request: Request,
    url: str,
    invitation: str,
    note: str | None,
    at: datetime | None = None,
    rater: str | None = None,
) -> InvitationInfo:
    signer: Signer = request.app.state.signer
    link = f"{url}/i/{signer.sign('invite', invitation, INVITE_SECONDS)}"
    return InvitationInfo(invitation=invitation, link=link, note=note, at=at, rater=rater)


# --- tokens -----------------------------------------------------------------------------------------------------------


@tokens_router.get("/tokens")
def tokens(collection: CollectionDep) -> TokensInfo:
    """Every valid token; their texts are not stored."""
    return TokensInfo(tokens=[TokenInfo(**_token(token)) for token in Tokens(collection).all()])


@tokens_router.post("/tokens", status_code=201)
def make_token(body: TokenRequest, collection: CollectionDep) -> TokenMade:
    """Make a token; this is the only time its text is shown."""
    new = Tokens(collection).make(body.name)
    return TokenMade(**_token(new.token), token=new.text)


@tokens_router.delete("/tokens/{id}", status_code=204)
def revoke_token(id: Annotated[str, Path(min_length=1, max_length=40)], collection: CollectionDep) -> None:
    """Make a token invalid."""
    Tokens(collection).revoke(id)


def _token(token: Token) -> dict[str, Any]:
    made, expires = (datetime.fromtimestamp(at, UTC) for at in (token.made, token.expires))
    return {"id": token.id, "name": token.name, "made": made, "expires": expires}
