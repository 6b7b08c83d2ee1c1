"""The study, how far it is, how reliable, and what it says of systems."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from heartfelt import __version__
from heartfelt.study import Study
from heartfelt.web.api.access import Collected, Figured, Optioned, address_of
from heartfelt.web.api.models import (
    CoverageInfo,
    Links,
    MachineInfo,
    QuestionInfo,
    ReliabilityInfo,
    StudyInfo,
    SystemInfo,
    SystemsInfo,
    VersionsInfo,
)
from heartfelt.web.study.routes import study_title
from heartfelt.web.study.systems import needed

router = APIRouter(tags=["study"])


@router.get("/study", response_model=StudyInfo)
def study(request: Request, collection: Collected, options: Optioned) -> StudyInfo:
    """What is asked, of what, and where raters come in."""
    here, address = collection.study, address_of(request, options)
    return StudyInfo(
        name=here.name,
        title=study_title(here),
        media=here.media,
        hash=here.hash,
        languages=list(here.languages),
        questions=[_question(here, one.id) for one in here.asked],
        systems=[SystemInfo(id=one.id, name=one.name, group=one.group) for one in here.systems],
        stimuli=collection.opened.stimuli.height,
        items=collection.opened.items.height,
        ratings_per_item=here.design.ratings_per_item,
        stimuli_per_rater=here.design.stimuli_per_rater,
        links=Links(
            open=f"{address}/",
            prolific=f"{address}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}",
            mturk=f"{address}/?workerId=${{workerId}}&assignmentId=${{assignmentId}}&hitId=${{hitId}}",
        ),
        refresh_seconds=options.refresh_seconds,
        version=__version__,
    )


def _question(here: Study, name: str) -> QuestionInfo:
    question, scale = here.question(name), here.scale_of(name)
    text = question.text if isinstance(question.text, str) else question.text[here.languages[0]]
    bounds = scale.bounds()
    return QuestionInfo(
        id=name,
        text=text,
        scale=question.scale,
        level=scale.level,
        emotion=question.emotion,
        bounds=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        categories={f"{code:g}": words for code, words in scale.labels().items()},
    )


@router.get("/coverage", response_model=CoverageInfo)
def coverage(request: Request) -> dict[str, Any]:
    """Ratings against the quota, what is being rated now, and when it will be full at the recent rate."""
    found: dict[str, Any] = request.app.state.coverage.json()
    return found


@router.get("/versions", response_model=VersionsInfo)
def versions(collection: Collected) -> dict[str, Any]:
    """Every version of the study that was served, with what changed and the trials answered under it."""
    return {"versions": collection.versions().to_dicts()}


@router.get("/machine", response_model=MachineInfo)
def machine(figures: Figured) -> dict[str, Any]:
    """How often values a machine filled in first were accepted, fixed and rejected."""
    board = figures.board()
    return {"change": board.change, "fields": [field.to_json() for field in board.machine]}


@router.get("/reliability", response_model=ReliabilityInfo)
def reliability(figures: Figured) -> dict[str, Any]:
    """Krippendorff's alpha and intraclass correlations of every question, now and as the ratings grew."""
    board = figures.board()
    return {"change": board.change, "questions": board.reliability}


@router.get("/systems", response_model=SystemsInfo)
def systems(
    figures: Figured,
    precision: Annotated[
        float, Query(ge=1e-4, le=1e6, allow_inf_nan=False, description="the half-width wanted for each mean")
    ] = 0.25,
) -> dict[str, Any]:
    """The mean of every system with its interval, and the ratings still needed for the wanted precision."""
    board = figures.board()
    rows = [{**row, "needed": needed(row, precision).to_json()} for row in board.systems]
    return {"change": board.change, "precision": precision, "systems": rows}
