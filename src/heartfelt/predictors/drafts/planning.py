"""What a run of drafters would ask, and roughly what it would take, before anything is asked.

Tokens are estimated from earlier requests of the same drafter where there are any. Otherwise a token is taken as four characters
of the request, an image as one token for every 750 pixels (providers count between 580 and 1,000 pixels, and some reduce large
images first), a second of sound as 25 tokens, and an answer as 25 tokens plus its longest allowed text (30 words without a limit).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import HeartfeltError
from heartfelt.formats.study_folder.manifest import OpenStudy, open_study
from heartfelt.predictors.drafts.cases import draft_ask, draft_cases, pending_items
from heartfelt.predictors.drafts.choosing import Assignment, assign
from heartfelt.predictors.drafts.drafting import RUNS, drafter_of, language_of, provenance, run_folder
from heartfelt.predictors.drafts.options import DraftOptions
from heartfelt.predictors.execution.budgets import calls_in
from heartfelt.predictors.hosted.chat_drafts import DRAFT_SYSTEM, draft_questions, draft_schema
from heartfelt.predictors.interface.calls import Call
from heartfelt.predictors.interface.predictor import Ask, Case
from heartfelt.progress import Progress
from heartfelt.study.scales.scale import FreeText, Tags

CHARACTERS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 750
TOKENS_PER_SECOND = 25
_ENTRY, _WORDS = 25, 30


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDrafter:
    """What one drafter would be asked."""

    drafter: str
    """As it is requested."""
    source: str
    version: str | None
    fields: tuple[str, ...]
    stimuli: int
    items: int
    """Stimuli times fields, less those that have a draft."""
    requests: int = 0
    """Requests to a hosted model; 0 for a model that runs here."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """In the currency of the prices given; None without prices."""
    basis: str = ""
    """What the estimate rests on."""
    problem: str | None = None
    """Why it cannot be asked."""


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """What a run would do."""

    study: str
    stimuli: int
    drafters: tuple[PlannedDrafter, ...]
    without: tuple[str, ...]
    """Fields for which no machine is named."""


def plan_drafts(folder: Path | str, options: DraftOptions | None = None, progress: Progress | None = None) -> DraftPlan:
    """What :func:`~heartfelt.predictors.drafts.drafting.draft` would ask with these options; nothing is asked or written."""
    options = options or DraftOptions()
    opened = open_study(folder, progress)
    assigned, without = assign(opened.study, options.fields, options.drafters)
    planned = tuple(_planned(opened, assignment, options) for assignment in assigned)
    return DraftPlan(opened.study.name, opened.stimuli.height, planned, tuple(without))


def _planned(opened: OpenStudy, assigned: Assignment, options: DraftOptions) -> PlannedDrafter:
    language = language_of(opened, options.language)
    names = tuple(question.id for question in assigned.fields)
    pending = pending_items(opened, names, again=options.replace)
    stimuli = pending["stimulus"].n_unique()
    planned = PlannedDrafter(
        drafter=assigned.spec, source=assigned.spec, version=None, fields=names, stimuli=stimuli, items=pending.height
    )
    try:
        drafter = drafter_of(assigned, language)
    except HeartfeltError as error:
        return replace(planned, problem=f"{error.problem} {error.fix}")
    with drafter:
        source, version = provenance(drafter)
        planned = replace(planned, source=source, version=version)
        if drafter.name != "chat" or not stimuli:
            return planned
        asks = {question.id: draft_ask(opened.study, question, language) for question in assigned.fields}
        cases = draft_cases(opened, asks, pending)
        requests = sum(len({ask.shown for ask in case.asks}) for case in cases)
        home = run_folder(opened.folder / RUNS, drafter)
        earlier = [call for _, call in calls_in(home) if call.output_tokens]
        if earlier:
            basis = f"the mean of {len(earlier):,} earlier requests"
            sent, written = _tokens_as_before(earlier, requests)
        else:
            basis = f"{CHARACTERS_PER_TOKEN} characters or {PIXELS_PER_TOKEN} pixels per token"
            sent, written = _estimated_tokens(cases, language)
            sent += media_tokens(opened, pending)
        cost = drafter.cost(sent, written)
        return replace(planned, requests=requests, input_tokens=sent, output_tokens=written, cost=cost, basis=basis)


def _tokens_as_before(earlier: Sequence[Call], requests: int) -> tuple[int, int]:
    """Tokens sent and written, if requests take as many as earlier ones did on average."""
    sent = sum(call.input_tokens or 0 for call in earlier) / len(earlier)
    written = sum(call.output_tokens or 0 for call in earlier) / len(earlier)
    return round(sent * requests), round(written * requests)


def _estimated_tokens(cases: Sequence[Case], language: str) -> tuple[int, int]:
    """Tokens sent, media left out, and written, by the length of questions and answers."""
    by_name = {ask.question: ask for case in cases for ask in case.asks}
    sent = written = 0
    for questions, count in Counter(tuple(ask.question for ask in case.asks) for case in cases).items():
        asks = [by_name[name] for name in questions]
        sent += count * _text_tokens(asks, language)
        written += count * _answer_tokens(asks)
    return sent, written


def _text_tokens(asks: Sequence[Ask], language: str) -> int:
    text = DRAFT_SYSTEM + draft_questions(asks, language) + json.dumps(draft_schema(asks))
    return round(len(text) / CHARACTERS_PER_TOKEN)


def media_tokens(opened: OpenStudy, pending: pl.DataFrame) -> int:
    """What the media of the pending items take, by their size or length."""
    wanted = opened.stimuli.join(pending, on="stimulus", how="semi", maintain_order="left")
    if opened.study.media == "image" and {"width", "height"} <= set(wanted.columns):
        pixels = (wanted["width"].cast(pl.Float64) * wanted["height"]).sum()
        return round(pixels / PIXELS_PER_TOKEN)
    return round(TOKENS_PER_SECOND * wanted["duration"].sum()) if "duration" in wanted.columns else 0


def _answer_tokens(asks: Sequence[Ask]) -> int:
    words = 0
    for ask in asks:
        if isinstance(ask.scale, FreeText):
            words += min(ask.scale.max_words or _WORDS, 200)
        words += _WORDS if isinstance(ask.scale, Tags) else 0
    return round(_ENTRY * len(asks) + 1.4 * words)
