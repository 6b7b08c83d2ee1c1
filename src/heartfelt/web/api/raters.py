"""Raters: who they are, what they did, and whether they count."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Path

from heartfelt.collect.commands import Exclude, Restore
from heartfelt.web.api.access import Asker, Collected, Figured
from heartfelt.web.api.rater_models import EffectInfo, Exclusion, Judged, RaterInfo, RatersInfo, TrialsInfo
from heartfelt.web.study import people

router = APIRouter(tags=["raters"])
Rater: TypeAlias = Annotated[str, Path(max_length=200, pattern=r"^[\w.:-]+$", description="the rater's id")]


@router.get("/raters", response_model=RatersInfo)
def raters(collection: Collected, figures: Figured) -> dict[str, Any]:
    """Every rater, most careless first: the evidence of all rules together, in powers of ten."""
    board = figures.board()
    return {"change": board.change, "raters": people.ranked(collection, board), "notes": list(board.notes)}


@router.get("/raters/{rater}", response_model=RaterInfo)
def rater(rater: Rater, collection: Collected, figures: Figured) -> dict[str, Any]:
    """One rater."""
    return people.one(collection, figures.board(), rater)


@router.get("/raters/{rater}/trials", response_model=TrialsInfo)
def trials(rater: Rater, collection: Collected) -> dict[str, Any]:
    """Every trial of a rater, with everything that was logged."""
    return {"rater": rater, "trials": people.trials(collection, rater)}


@router.get("/raters/{rater}/effect", response_model=EffectInfo)
def effect(rater: Rater, collection: Collected) -> dict[str, Any]:
    """What excluding the rater would do to the result; for one who is excluded, what restoring would."""
    return people.effect_of(collection, rater)


@router.post("/raters/{rater}/exclude", response_model=Judged)
def exclude(rater: Rater, body: Exclusion, collection: Collected, asker: Asker) -> Judged:
    """Leave a rater out; their slots open again."""
    return Judged(rater=rater, excluded=True, slots=collection.do(Exclude(rater, body.reason, asker)))


@router.post("/raters/{rater}/restore", response_model=Judged)
def restore(rater: Rater, collection: Collected, asker: Asker) -> Judged:
    """Take a rater back in."""
    return Judged(rater=rater, excluded=False, slots=collection.do(Restore(rater, asker)))
