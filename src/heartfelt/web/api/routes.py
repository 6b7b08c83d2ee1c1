"""The API's routes in one router, behind one door."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from heartfelt.web.api import data, programs, raters, recruiting, stimuli, study
from heartfelt.web.api.access import REFUSALS, asker


def router() -> APIRouter:
    """Every route of the API."""
    whole = APIRouter(prefix="/api/v1", dependencies=[Depends(asker)], responses=dict(REFUSALS))
    for part in (study, raters, stimuli, data, recruiting, programs):
        whole.include_router(part.router)
    return whole
