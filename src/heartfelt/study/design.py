"""The design: how many ratings, who gets which stimuli, in which order, under which listening rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from heartfelt.study.arms import Arm
from heartfelt.study.model import ExtendedPart, Id, Part, Place, ReferenceProblem, RepeatProbe, Text
from heartfelt.study.scale import Points
from heartfelt.study.set_scale import Trace

if TYPE_CHECKING:
    from heartfelt.study.study import Study

GRID_POINTS = 9
MOST_DRAFTS = 24
HEARD_ENOUGH = 0.95
"""The share of a clip from which it counts as heard to the end; players stop reporting a moment before."""


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

    def check(self, study: Study, path: Place) -> None:
        if self.hidden_drafts + self.planted_drafts > 1:
            raise ReferenceProblem((*path, "planted_drafts"), "hidden_drafts and planted_drafts sum to more than 1")
        if self.drafts_per_page is not None:
            self._check_drafts(study, (*path, "drafts_per_page"))
        if self.always:
            self._check_always(study, (*path, "always"))
        if self.playback == "restart" and study.media == "image":
            raise ReferenceProblem((*path, "playback"), "a picture does not play. Leave 'playback' out")
        if self.sessions is not None and self.batch is not None:
            raise ReferenceProblem(
                (*path, "batch"), "a session of several has no breaks. Leave out 'batch', or 'sessions'"
            )
        path = (*path, "affect_grid")
        for name in self.affect_grid or ():
            study.check_question(path, name)
            scale = study.scale_of(name)
            if not isinstance(scale, Trace) and (not isinstance(scale, Points) or scale.points != GRID_POINTS):
                raise ReferenceProblem(
                    path, f"'{name}' has no {GRID_POINTS} points. Both questions of a grid need {GRID_POINTS}"
                )
        traces = [study.scale_of(name) for name in self.affect_grid or ()]
        if len({getattr(scale, "rate", None) for scale in traces}) > 1:
            raise ReferenceProblem(path, "both questions of a plane need traces with the same rate")
        if self.affect_grid is not None and self.affect_grid[0] == self.affect_grid[1]:
            raise ReferenceProblem(path, "a grid needs two different questions, across then up")

    def _check_always(self, study: Study, path: Place) -> None:
        if self.order not in {"random", "manifest"}:
            raise ReferenceProblem(path, "'always' needs 'order: random' or 'order: manifest'")
        if self.stimuli_per_rater is None:
            raise ReferenceProblem(path, "'always' needs 'stimuli_per_rater'; without it raters get everything")
        if self.stimuli_per_rater <= len(self.always):
            raise ReferenceProblem(
                path,
                f"{len(self.always)} trials for everybody leave no room for others in 'stimuli_per_rater:"
                f" {self.stimuli_per_rater}'. Raise it, or shorten the list",
            )
        for name in self.always:
            if name in study.set_aside:
                raise ReferenceProblem(path, f"'{name}' is a {study.set_aside[name]}. Leave it out")

    def _check_drafts(self, study: Study, path: Place) -> None:
        judged = [question.id for question in study.asked if not question.machine_first]
        if study.media != "image" or study.sets is not None:
            raise ReferenceProblem(path, "only drafts about single images are verified together")
        if self.questions_per_page != "one":
            raise ReferenceProblem(path, "verifying drafts together needs 'questions_per_page: one'")
        if judged:
            raise ReferenceProblem(
                path,
                f"'{judged[0]}' is not machine_first. Ask for people's own judgement in a study of its own, before"
                " the one in which they verify drafts together",
            )
        if len(study.asked) > 1 and (self.order != "blocks" or self.block_by != "question"):
            raise ReferenceProblem(
                path, "drafts of one field come together with 'order: blocks' and 'block_by: question'"
            )
        gaps = [probe.gap for probe in study.probes if isinstance(probe, RepeatProbe)]
        if gaps and min(gaps) < (self.drafts_per_page or 0):
            raise ReferenceProblem(
                path, "a repeat would be on the same page: set the probe's 'gap' to at least as many"
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
