"""Routes of raters: their progress, their trials, and whether they count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import polars as pl
from fastapi import APIRouter, Path, Query, Request

from heartfelt.analysis.consistency.live import exclusion_effect
from heartfelt.analysis.data.payment import payment_list
from heartfelt.collect import Collection
from heartfelt.collect.collection import snapshots_holding, unknown_rater
from heartfelt.collect.messages.commands import Erased, Exclude, Restore
from heartfelt.serialization import to_json
from heartfelt.web.api.access import BoardDep, CollectionDep, ReaderDep, Requester, StudyUrl, with_media
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
from heartfelt.web.security.signing import RESUME_SECONDS, signer_of
from heartfelt.web.study.figures import DashboardState

router = APIRouter(tags=["raters"])
Rater: TypeAlias = Annotated[str, Path(max_length=200, pattern=r"^[\w.:-]+$", description="the rater's id")]


@router.get("/raters", response_model=RatersInfo)
def raters(reader: ReaderDep, board: BoardDep) -> Any:
    """Every rater, most careless first: the evidence of all rules together, in powers of ten."""
    return {"change": board.change, "raters": reader.call(_ranked, board), "notes": board.notes}


def _ranked(collection: Collection, board: DashboardState) -> list[dict[str, object]]:
    """Everybody who came, most evidence of carelessness first; those who rated nothing come last."""
    ranking = board.ranking.select("rater", "rank", "score", "flagged_by")
    scores = {row["rater"]: row for row in ranking.iter_rows(named=True)}
    unranked: dict[str, object] = {"rank": None, "score": None, "flagged_by": []}
    people = [
        row | scores.get(row["rater"], unranked) | {"reasons": board.flagged.get(row["rater"], [])}
        for row in collection.raters().rename({"last_seen": "seen"}).iter_rows(named=True)
    ]
    return sorted(people, key=lambda row: (row["rank"] is None, row["rank"], -row["trials"], row["rater"]))


@router.get("/raters/{rater}", response_model=RaterInfo)
def rater(rater: Rater, collection: CollectionDep, board: BoardDep) -> Any:
    """What is known of one rater."""
    for row in _ranked(collection, board):
        if row["rater"] == rater:
            return row
    raise unknown_rater(rater)


@router.get("/raters/{rater}/trials", response_model=TrialsInfo)
def trials(rater: Rater, collection: CollectionDep) -> Any:
    """Every trial of a rater, in the order they were shown, with everything that was logged."""
    table = collection.trials(rater).sort("position", "leased_at", nulls_last=True)
    table = table.with_columns(
        pl.col("late").fill_null(value=False), at=pl.coalesce("answered_at", "shown_at", "leased_at")
    )
    media = collection.media_ids()
    rows = [
        row | {"answers": _answers(row["answers"]), "members": _members(row["members"], media)}
        for row in with_media(collection, table)
    ]
    person = collection.raters().row(by_predicate=pl.col("rater") == rater, named=True)
    prefixes = ("about_", "before_", "between_", "after_", "ticked_")
    about = {name: fact for name, fact in person.items() if name.startswith(prefixes) and fact is not None}
    return {"rater": rater, "about": about, "trials": rows}


def _members(text: str | None, media: Mapping[str, str]) -> list[dict[str, object]]:
    """The members of a set as they were presented, each with the id its media are served under."""
    members: list[dict[str, Any]] = json.loads(text) if text else []
    return [member | {"media": media.get(member["stimulus"])} for member in members]


def _answers(text: str | None) -> dict[str, object]:
    """Answers by question; an answer to a machine's value comes with the rater's verdict."""
    values = json.loads(text) if text else {}
    return {name: f"{v[0]} ({v[1]})" if isinstance(v, list) else v for name, v in values.items()}


@router.get("/raters/{rater}/effect", response_model=EffectInfo)
def effect(rater: Rater, reader: ReaderDep) -> Any:
    """What excluding the rater would do to the result; for an excluded rater, what restoring would."""
    return reader.call(effect_of, rater)


def effect_of(collection: Collection, rater: str) -> dict[str, Any]:
    """What excluding the rater would do; for an excluded one, what restoring would."""
    people = collection.raters()
    row = people.filter(pl.col("rater") == rater)
    if not row.height:
        raise unknown_rater(rater)
    now = set(people.filter("excluded")["rater"].to_list())
    snapshot = collection.snapshot()
    before, after = (snapshot.ratings.filter(~pl.col("rater").is_in(list(names))) for names in (now, now ^ {rater}))
    effect: Any = to_json(exclusion_effect(snapshot, before, after))
    return {"rater": rater, "excluded": rater in now, **effect}


@router.get(
    "/participants",
    response_model=ParticipantsInfo,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def participants(
    collection: CollectionDep, board: BoardDep, form: Annotated[Literal["json", "csv"], Query(alias="as")] = "json"
) -> Any:
    """Recruiters' participant ids and their raters, with what it takes to pay them; no export contains them."""
    frame = payment_list(collection.participants(), board.flagged)
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
    snapshots = [path.name for path in snapshots_holding(collection.folder, erased.rater)]
    return ErasedInfo(rater=erased.rater, trials=erased.trials, snapshots=snapshots)


@router.post("/raters/{rater}/resume-link")
def resume_link(rater: Rater, request: Request, collection: CollectionDep, url: StudyUrl) -> ResumeLink:
    """A link for a rater who lost the browser they began in. Anybody who has it continues as that rater."""
    collection.trials(rater)
    signed = signer_of(request).sign("resume", rater, RESUME_SECONDS)
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
