"""Stimuli, what raters flagged, and media that would not play."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from heartfelt.web.api.access import Collected, Read
from heartfelt.web.api.models import FlagsInfo, MediaProblemsInfo, StimuliInfo
from heartfelt.web.study import shown

router = APIRouter(tags=["stimuli"])


@router.get("/stimuli", response_model=StimuliInfo)
def stimuli(
    reader: Read,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    search: Annotated[
        str, Query(max_length=200, description="part of the id, system, intent or prompt")
    ] = "",
) -> dict[str, Any]:
    """Stimuli with their counts and mean ratings so far, fewest ratings first."""
    return reader.call(shown.stimuli, offset, limit, search)


@router.get("/flags", response_model=FlagsInfo)
def flags(collection: Collected) -> dict[str, Any]:
    """What raters found wrong with stimuli, latest first."""
    return {"flags": shown.flags(collection)}


@router.get("/problems", response_model=MediaProblemsInfo)
def problems(collection: Collected) -> dict[str, Any]:
    """Media that would not load or play, latest first."""
    return {"problems": shown.problems(collection)}
