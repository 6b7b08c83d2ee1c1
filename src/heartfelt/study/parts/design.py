"""The design: how many ratings, who gets which stimuli, in which order, under which listening rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from heartfelt.study.model import Condition, ExtendedPart, Id, Part, Text, as_list

GRID_POINTS = 9
MOST_DRAFTS = 24
HEARD_ENOUGH = 0.95
"""The share of a clip from which it counts as heard to the end; players stop reporting a moment before."""


Values = Annotated[list[str | int | float], BeforeValidator(as_list), Field(min_length=1)]


class Arm(Part):
    """One arm: what its raters read, answer and meet. What is left out is as in the rest of the study."""

    id: Id = Field(description="its name in the table of raters")
    weight: float = Field(default=1.0, gt=0, le=1000, description="raters it gets, relative to the other arms")
    instructions: Text | None = Field(default=None, description="in place of the study's instructions")
    questions: list[Id] = Field(default=[], description="only these questions; all if left out")
    stimuli: dict[Id, Values] = Field(
        default={},
        description="only stimuli with these values, by column of the manifest, such as system or stimulus;"
        " of a set, all members that are neither reference nor anchor",
    )
    sets: list[Id] = Field(default=[], description="only these sets; all if left out")

    def asks(self, question: str) -> bool:
        return not self.questions or question in self.questions

    def shows(self, row: Mapping[str, object]) -> bool:
        return all(str(row.get(column)) in map(str, values) for column, values in self.stimuli.items())


class Sessions(Part):
    """Several sessions of the same raters, days apart; each has ``stimuli_per_rater`` trials."""

    count: int = Field(ge=2, le=50, description="sessions in all")
    wait_days: float = Field(gt=0, le=3650, description="days from the end of one to the next")
    within_days: float | None = Field(
        default=None, gt=0, le=3650, description="the next is open until so many days; forever if left out"
    )
    stimuli: Literal["new", "same"] = Field(
        default="new", description="stimuli not met before, or those of the first session again (test-retest)"
    )

    @model_validator(mode="after")
    def _possible(self) -> Sessions:
        if self.within_days is not None and self.within_days <= self.wait_days:
            raise ValueError("within_days must be greater than wait_days")
        return self


class Design(ExtendedPart, Part):
    """How a study's ratings are to be collected."""

    later_keys: ClassVar[tuple[str, ...]] = (
        "auto_advance",
        "always",
        "playback",
        "hidden_drafts",
        "planted_drafts",
        "drafts_per_page",
        "arms",
        "strata",
        "sessions",
        "rtl_scales",
    )
    ratings_per_item: int = Field(default=5, ge=1, description="complete ratings wanted for each item")
    stimuli_per_rater: int | None = Field(default=None, ge=1, description="trials one rater gets; all if left out")
    distinct: list[Literal["system", "intent", "prompt"]] = Field(
        default=[], description="a rater meets each combination of these at most once"
    )
    always: list[Id] = Field(
        default=[],
        description="stimuli or sets that every rater gets, among the stimuli_per_rater; the others are a random part",
    )
    order: Literal["random", "blocks", "latin-square", "manifest"] = Field(
        default="random", description="order of presentation"
    )
    block_by: Literal["system", "intent", "question", "prompt"] | None = Field(
        default=None, description="what makes a block"
    )
    batch: int | None = Field(default=None, ge=1, description="trials between two breaks")
    practice: int = Field(default=1, ge=0, description="trials at the start that are not recorded")
    practice_stimuli: list[Id] = Field(
        default=[], description="stimuli set aside for practice; any stimulus if left out"
    )
    questions_per_page: Literal["all", "one"] = Field(default="all", description="all questions at once, or one by one")
    affect_grid: tuple[Id, Id] | None = Field(
        default=None,
        description="two questions, across then up, shown as one grid of 9 by 9 points or, for traces, as a plane",
    )
    listening: Literal["full", "started", "free"] = Field(
        default="full", description="what must be heard before answers unlock"
    )
    replays: int | None = Field(
        default=None, ge=0, description="how often a clip may be replayed; no limit if left out"
    )
    playback: Literal["continue", "restart"] = Field(
        default="continue",
        description="whether playing again continues where the clip was stopped, or each press restarts it",
    )
    auto_advance: Literal["offer", "on", "off"] = Field(
        default="offer",
        description="whether a trial that asks for one choice continues automatically: raters may turn it on (offer),"
        " may turn it off (on), or it never does (off)",
    )
    minimum_ratings: int = Field(
        default=1, ge=1, description="items with fewer ratings are left out of labels, and listed"
    )
    expected_seconds: float = Field(default=20.0, gt=0, description="time one trial is expected to take")
    adaptive: bool = Field(
        default=False,
        description="spend the next rating where the label is least certain; of pairs, on the most telling one",
    )

    hidden_drafts: float = Field(
        default=0.1, ge=0, le=1, description="share of a machine's drafts that are withheld, to compare answers with"
    )
    planted_drafts: float = Field(
        default=0.05, ge=0, le=1, description="share of drafts that are another stimulus's, to see who accepts anything"
    )

    drafts_per_page: int | None = Field(
        default=None,
        ge=2,
        le=MOST_DRAFTS,
        description="verify one field of so many images at once, with questions_per_page: one and only "
        "machine_first questions (in blocks by question if there are several); one at a time if left out",
    )

    arms: list[Arm] = Field(
        default=[], description="groups of raters, compared between subjects; one group if left out"
    )
    strata: list[Id] = Field(
        default=[], description="demographics or questions of 'before': arms are balanced within their answers"
    )

    sessions: Sessions | None = Field(default=None, description="sessions days apart; a single one if left out")

    rtl_scales: Literal["mirrored", "fixed"] = Field(
        default="mirrored",
        description="in languages written from right to left, scales and sliders begin on the right (mirrored) or"
        " on the left as in all other languages (fixed)",
    )


class Codes(Part):
    """What raters hand to the recruiter, by how it ended; one that is left out is made on the first start."""

    complete: str | None = Field(default=None, max_length=200, description="everything was answered")
    screened_out: str | None = Field(default=None, max_length=200, description="not eligible, or excluded")
    declined: str | None = Field(default=None, max_length=200, description="did not agree to take part")
    full: str | None = Field(default=None, max_length=200, description="turned away: full or closed")
    partial: str | None = Field(default=None, max_length=200, description="left early, or too little was left to rate")
    review: str | None = Field(
        default=None, max_length=200, description="finished, but the listening was impossible too often"
    )
    screeners: dict[Id, Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default={}, description="screened out by this screener, by its id"
    )
    sessions: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default=[], description="after each session but the last, where the design has several"
    )


class Recruiting(Part):
    """How raters are taken and sent back. No part of what is asked: neither in the study's hash nor in a snapshot."""

    codes: Codes = Field(default=Codes(), description="what raters hand to the recruiter, by how it ended")
    return_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        max_length=2000,
        description="where raters go at the end; {code} is filled in",
    )
    cap: int | None = Field(default=None, ge=1, description="the most raters to take; no limit if left out")
    complete_share: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="share of stimuli_per_rater that earns the complete code if the study runs out",
    )
    impossible_share: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="above this share of trials with impossible listening, at least two, the code is that of review",
    )


class Demographic(Part):
    """One fact asked about the rater."""

    id: Id
    text: Text
    type: Literal["number", "choice", "text", "languages"] = "text"
    choices: list[Id] = []
    required: bool = False
    at_least: float | None = Field(default=None, description="raters below this are screened out")


class Screener(Part):
    """Who is screened out: raters for whom all conditions hold, or who failed a probe too often."""

    id: Id = Field(description="the name its code and its counts have")
    when: Annotated[
        list[Condition],
        BeforeValidator(as_list),
        Field(description="a condition on 'rater', or a list of conditions that must all hold"),
    ] = []
    probe: Annotated[
        list[Id],
        BeforeValidator(as_list),
        Field(description="attention probes, or the headphone check (with blocks: true)"),
    ] = []
    failures: int = Field(
        default=1, ge=1, description="attention trials answered otherwise than asked, at which it ends"
    )
    text: Text | None = Field(default=None, description="what those who are screened out read")

    @model_validator(mode="after")
    def _about_one_thing(self) -> Screener:
        if bool(self.when) == bool(self.probe):
            raise ValueError("a screener is about answers or about probes. Give one of 'when' and 'probe'")
        return self
