"""Routes of the study: its description, coverage, figures, stimuli, recruiting and tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, cast

import polars as pl
from fastapi import APIRouter, Path, Query, Request

from heartfelt import __version__
from heartfelt.analysis.consistency.live import ratings_needed
from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import AdmissionSettings, ChangeSettings, Invite
from heartfelt.collect.session.progress.sessions import session_code
from heartfelt.serialization import to_json
from heartfelt.study import Question, Study
from heartfelt.study.model import say
from heartfelt.web.api.access import BoardDep, CollectionDep, ReaderDep, StudyUrl, with_media
from heartfelt.web.api.models import (
    FlagsInfo,
    InvitationsInfo,
    InvitationsRequest,
    MachineInfo,
    ProblemsInfo,
    ReliabilityInfo,
    SettingsChange,
    StimuliInfo,
    StudyInfo,
    SystemsInfo,
    TokenMade,
    TokenRequest,
    TokensInfo,
    VersionsInfo,
)
from heartfelt.web.requests.state import state_of
from heartfelt.web.security.access import Tokens
from heartfelt.web.security.signing import INVITE_SECONDS, signer_of
from heartfelt.web.study.coverage import CoverageInfo, coverage_of
from heartfelt.web.study.routes import study_title

router = APIRouter(tags=["study"])
stimuli_router = APIRouter(tags=["stimuli"])
recruiting_router = APIRouter(tags=["recruiting"])
tokens_router = APIRouter(tags=["tokens"])


@router.get("/study", response_model=StudyInfo)
def study(request: Request, collection: CollectionDep, url: StudyUrl) -> Any:
    """What is asked, of what, and where raters come in."""
    current = collection.study
    prolific = "&".join(f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"))
    mturk = "&".join(f"{name}=${{{name}}}" for name in ("workerId", "assignmentId", "hitId"))
    return {
        "name": current.name,
        "title": study_title(current),
        "media": current.media,
        "hash": current.hash,
        "languages": current.languages,
        "questions": [_question(current, question) for question in current.asked],
        "systems": current.systems,
        "sets": None if current.sets is None else current.sets.type,
        "stimuli": collection.opened.stimuli.height,
        "items": collection.opened.items.height,
        "ratings_per_item": current.design.ratings_per_item,
        "stimuli_per_rater": current.design.stimuli_per_rater,
        "session_codes": _session_codes(collection),
        "links": {"open": f"{url}/", "prolific": f"{url}/?{prolific}", "mturk": f"{url}/?{mturk}"},
        "refresh_seconds": state_of(request).options.refresh_seconds,
        "version": __version__,
    }


def _session_codes(collection: Collection) -> list[str]:
    sessions = collection.study.design.sessions
    if sessions is None:
        return []
    settings = collection.settings
    return [session_code(collection.study, settings, visit) for visit in range(1, sessions.count)]


def _question(study: Study, question: Question) -> dict[str, object]:
    scale = study.scale_of(question.id)
    return {
        "id": question.id,
        "text": say(question.text, study.languages[0]),
        "scale": question.scale,
        "level": scale.level,
        "emotion": question.emotion,
        "bounds": scale.bounds(),
        "categories": {f"{code:g}": label for code, label in scale.labels().items()},
    }


@router.get("/coverage")
def coverage(request: Request) -> CoverageInfo:
    """Ratings against the quota, what is being rated now, and when it will be complete at the recent rate."""
    return coverage_of(request).current()


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
    return {"change": board.change, "questions": to_json(board.reliability), "fields": to_json(board.fields)}


@router.get("/systems", response_model=SystemsInfo)
def systems(
    board: BoardDep,
    precision: Annotated[
        float, Query(ge=1e-4, le=1e6, allow_inf_nan=False, description="the half-width wanted for each mean")
    ] = 0.25,
) -> Any:
    """The mean of every system with its interval, and the ratings still needed for the wanted precision."""
    rows = [
        cast(dict[str, object], to_json(row)) | {"needed": to_json(ratings_needed(row, precision))}
        for row in board.systems
    ]
    return {"change": board.change, "precision": precision, "systems": rows}


# --- stimuli ----------------------------------------------------------------------------------------------------------


@stimuli_router.get("/stimuli", response_model=StimuliInfo)
def stimuli(
    reader: ReaderDep,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    search: Annotated[str, Query(max_length=200, description="part of the id, system, intent or prompt")] = "",
) -> Any:
    """Stimuli with their counts and mean ratings so far, fewest ratings first."""
    return reader.call(_stimuli, offset, limit, search)


def _stimuli(collection: Collection, offset: int, limit: int, search: str) -> dict[str, object]:
    table = collection.opened.stimuli
    facts = [name for name in ("system", "intent", "prompt", "media_problem") if name in table.columns]
    table = table.select("stimulus", pl.col(facts).cast(pl.String))
    if search:
        texts = pl.col("stimulus", *facts).fill_null("").str.to_lowercase()
        table = table.filter(pl.any_horizontal(texts.str.contains(search.lower(), literal=True)))
    counts = collection.coverage().items.group_by("stimulus")
    counted = counts.agg(pl.min("complete"), pl.max("leased", "quota"))
    sets = collection.opened.sets
    if sets is not None:
        # A stimulus counts with every set it is in.
        pairs = [(unit.id, stimulus) for unit in sets.sets for stimulus in unit.stimuli]
        members = pl.DataFrame(pairs, schema=["set", "stimulus"], orient="row")
        counted = members.join(counted.rename({"stimulus": "set"}), on="set", maintain_order="left")
        counted = counted.group_by("stimulus").agg(pl.sum("complete", "leased", "quota"))
    table = table.join(counted, on="stimulus", how="left", maintain_order="left").with_columns(
        pl.col("complete", "leased", "quota").fill_null(0)
    )
    page = table.sort(pl.col("quota") == 0, "complete", "stimulus").slice(offset, limit)
    means = _means(collection, page["stimulus"].to_list())
    rows = [row | {"means": means.get(row["stimulus"], [])} for row in with_media(collection, page)]
    return {"total": table.height, "stimuli": rows}


def _means(collection: Collection, names: list[str]) -> dict[str, list[dict[str, object]]]:
    """The mean ratings of stimuli under every question whose answers have a mean."""
    ratings = collection.ratings().filter(
        (pl.col("kind") == "rating") & ~pl.col("excluded") & pl.col("stimulus").is_in(names)
    )
    means = ratings.group_by("stimulus", "question").agg(pl.mean("value").alias("mean"), pl.count("value").alias("n"))
    by_question = {name: rows for (name,), rows in means.partition_by("question", as_dict=True).items()}
    out: dict[str, list[dict[str, object]]] = {}
    for question in collection.study.asked:
        scale = collection.study.scale_of(question.id)
        if question.id in by_question and (scale.level in {"interval", "ordinal"} or len(scale.labels()) == 2):
            for row in by_question[question.id].iter_rows(named=True):
                out.setdefault(row["stimulus"], []).append(row)
    return out


@stimuli_router.get("/flags", response_model=FlagsInfo)
def flags(collection: CollectionDep) -> Any:
    """Problems with stimuli that raters reported, latest first."""
    return {"flags": _latest_first(collection, collection.flags())}


@stimuli_router.get("/problems", response_model=ProblemsInfo)
def problems(collection: CollectionDep) -> Any:
    """Media that would not load or play, latest first; those noticed when the study was opened come first."""
    return {"problems": _latest_first(collection, collection.problems())}


def _latest_first(collection: Collection, table: pl.DataFrame) -> list[dict[str, object]]:
    return with_media(collection, table.sort("at", descending=True, nulls_last=False))


# --- recruiting -------------------------------------------------------------------------------------------------------


@recruiting_router.get("/settings")
def settings(collection: CollectionDep) -> AdmissionSettings:
    """How the study admits raters now."""
    return collection.settings


@recruiting_router.patch("/settings")
def change(body: SettingsChange, collection: CollectionDep) -> AdmissionSettings:
    """Change settings; those left out stay as they are."""
    return collection.do(ChangeSettings(body.model_dump(exclude_unset=True)))


@recruiting_router.get("/invitations", response_model=InvitationsInfo)
def invitations(request: Request, collection: CollectionDep, url: StudyUrl) -> Any:
    """Every personal link that was made, with who came by it."""
    return _signed_links(request, url, collection.invitations().to_dicts())


@recruiting_router.post("/invitations", status_code=201, response_model=InvitationsInfo)
def invite(body: InvitationsRequest, request: Request, collection: CollectionDep, url: StudyUrl) -> Any:
    """Make personal links: each admits one person."""
    invitations = collection.do(Invite(body.count, body.note))
    rows = [{"invitation": name, "note": body.note, "at": None, "rater": None} for name in invitations]
    return _signed_links(request, url, rows)


def _signed_links(request: Request, url: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    signer = signer_of(request)
    links = (f"{url}/i/{signer.sign('invite', row['invitation'], INVITE_SECONDS)}" for row in rows)
    return {"invitations": [{**row, "link": link} for row, link in zip(rows, links, strict=True)]}


# --- tokens -----------------------------------------------------------------------------------------------------------


@tokens_router.get("/tokens", response_model=TokensInfo)
def tokens(collection: CollectionDep) -> Any:
    """Every valid token; their texts are not stored."""
    return {"tokens": Tokens(collection).all()}


@tokens_router.post("/tokens", status_code=201, response_model=TokenMade)
def make_token(body: TokenRequest, collection: CollectionDep) -> Any:
    """Make a token; this is the only time its text is shown."""
    token, text = Tokens(collection).make(body.name)
    return asdict(token) | {"token": text}


@tokens_router.delete("/tokens/{id}", status_code=204)
def revoke_token(id: Annotated[str, Path(min_length=1, max_length=40)], collection: CollectionDep) -> None:
    """Make a token invalid."""
    Tokens(collection).revoke(id)
