"""Routes of the dashboard's other figures: comparisons, traces and categories, and how recent all of them are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel

from heartfelt.serialization import to_json
from heartfelt.web.api.access import BoardDep
from heartfelt.web.api.models import EstimateModel
from heartfelt.web.study.coverage import Count
from heartfelt.web.study.figures import figures_of

router = APIRouter(tags=["study"])


class FiguresInfo(BaseModel):
    """The change the latest figures describe and when they were computed; since when others are being computed."""

    change: int | None
    computed: datetime | None
    computing_since: datetime | None


class ContestantInfo(BaseModel):
    """A system or stimulus with its strength, and the ranks it plausibly has."""

    name: str
    strength: EstimateModel
    answers: Count
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    best: float | None
    score: EstimateModel | None = None


class OrderEffectInfo(BaseModel):
    """The advantage of being presented first."""

    first_share: EstimateModel
    effect: EstimateModel
    p: float | None


class PairAgreementInfo(BaseModel):
    """How far raters agree on which of two stimuli."""

    pairs: Count
    judged_twice: Count
    with_majority: Count
    two_answers: EstimateModel
    with_the_others: EstimateModel
    alpha: EstimateModel


class ConsistencyInfo(BaseModel):
    """What one rater's comparisons say about the rater."""

    rater: str
    comparisons: Count
    ties: Count
    triads: Count
    circular: Count
    p_guessing: float | None
    first_share: float | None
    p_side: float | None
    agreement: float | None
    p_chance: float | None


class AbxInfo(BaseModel):
    """Whether people can tell two systems apart; ``all`` stands for all pairs together."""

    a: str
    b: str
    share: EstimateModel
    d_prime: EstimateModel
    p: float | None
    p_corrected: float | None


class ConditionInfo(BaseModel):
    """One condition of a MUSHRA test, after post-screening."""

    name: str
    role: str
    mean: EstimateModel
    median: float
    quartiles: tuple[float, float]
    below_reference: EstimateModel


class ListenerInfo(BaseModel):
    """One listener under the post-screening of ITU-R BS.1534."""

    rater: str
    items: Count
    reference_below: Count
    reference_below_anchor: Count
    anchor_above: Count
    excluded: bool
    reason: str | None


class MushraInfo(BaseModel):
    """A MUSHRA test so far."""

    reference: str
    mid_anchor: str | None
    conditions: list[ConditionInfo]
    listeners: list[ListenerInfo]


class AgainstReferenceInfo(BaseModel):
    """One system judged next to a reference."""

    system: str
    mean: EstimateModel
    below_top: EstimateModel


class ComparisonInfo(BaseModel):
    """One question answered about several stimuli together; which parts there are depends on ``scale``."""

    question: str
    scale: Literal["choice", "preference", "rank", "best-worst", "abx", "mushra", "reference"]
    trials: Count
    raters: Count
    of: Literal["system", "stimulus"]
    model: str = ""
    contestants: list[ContestantInfo] = []
    why_no_strengths: str | None = None
    order: OrderEffectInfo | None = None
    agreement: PairAgreementInfo | None = None
    consistency: list[ConsistencyInfo] = []
    abx: list[AbxInfo] = []
    mushra: MushraInfo | None = None
    reference: list[AgainstReferenceInfo] = []
    notes: list[str] = []
    why_missing: str | None = None


class ComparisonsInfo(BaseModel):
    """Every question answered by comparing, as of change ``change``."""

    change: int
    questions: list[ComparisonInfo]


class TraceInfo(BaseModel):
    """One question answered with traces: means over stimuli of how far raters agree."""

    question: str
    raters: Count
    traces: Count
    pairwise: EstimateModel
    leave_one_out: EstimateModel
    ceiling: EstimateModel
    lags: dict[str, EstimateModel]
    constant: Count
    duplicate: Count


class TracesInfo(BaseModel):
    """Every question answered with traces, as of change ``change``."""

    change: int
    questions: list[TraceInfo]


class CategoryShareInfo(BaseModel):
    """One category among the labels of the stimuli."""

    category: str
    n_stimuli: Count
    share: EstimateModel
    intended_share: float | None = None


class CategoriesQuestion(BaseModel):
    """How the labels under one question spread over its categories; ``n_ties`` stimuli have no label."""

    question: str
    n_stimuli: Count
    n_ties: Count
    rows: list[CategoryShareInfo]


class CategoriesInfo(BaseModel):
    """Every question answered with categories without an order, as of change ``change``."""

    change: int
    questions: list[CategoriesQuestion]


@router.get("/figures")
def figures(request: Request) -> FiguresInfo:
    """How recent the figures are, and whether they are being computed; the answer never waits for them."""
    state = figures_of(request).state
    return FiguresInfo(
        change=state.change, computed=_moment(state.computed), computing_since=_moment(state.computing_since)
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


@router.get("/comparisons", response_model=ComparisonsInfo)
def comparisons(board: BoardDep) -> Any:
    """Strengths with intervals, the effect of order, agreement and the raters' consistency; or conditions of MUSHRA."""
    return {"change": board.change, "questions": to_json(board.comparisons)}


@router.get("/traces", response_model=TracesInfo)
def traces(board: BoardDep) -> Any:
    """How far raters' traces agree, and how long each lags behind the others."""
    return {"change": board.change, "questions": to_json(board.traces)}


@router.get("/categories", response_model=CategoriesInfo)
def categories(board: BoardDep) -> Any:
    """How often each category is the answer of most raters to a stimulus."""
    return {"change": board.change, "questions": to_json(board.categories)}
