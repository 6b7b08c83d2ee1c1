"""Ratings as the screening rules see them: coded arrays in presentation order, made once and shared.

Only answers with a known rater and a finite number are screened; the others are counted. A *trial* is one
presentation of one stimulus to one rater, with an answer to one or more questions. Rows are sorted by rater, then by
trial in presentation order, then by question, so trials and their order are contiguous for every rater.

A *channel* is one column of numbers: the answer itself for points, numbers, ordered categories and yes/no; one
0/1 column per category where categories have no order.

Stimuli that were judged together are kept as a table (``sets``), and so are traces: rules of their own examine them. What
was recorded about listening and timing is kept per presentation (``trials``), of every kind of question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from inspect import signature
from itertools import pairwise
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.screening.view.consensus import RaterConsensus, consensus
from heartfelt.screening.view.presentations import presentations
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import has_sets
from heartfelt.snapshot.verified import verified_rows
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.study import Study

Bools: TypeAlias = npt.NDArray[np.bool_]
P = ParamSpec("P")
T = TypeVar("T")

SMALL = 5000
CELL_COLUMNS = ("system", "intent")
ROW_COLUMNS = ("rater", "stimulus", "question", "trial", "value", "repeat")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Channels:
    """Ratings of first presentations as numbers: parallel arrays sorted like the view's rows.

    ``question[c]`` is the view's question behind channel ``c``.
    """

    rater: Ints
    trial: Ints
    stimulus: Ints
    channel: Ints
    value: Floats
    question: Ints


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RaterBlock:
    """One rater's answers and predictions: trials down in presentation order, channels across.

    ``seen`` says where there is an answer; elsewhere both are 0.
    """

    rater: int
    answers: Floats
    predictions: Floats
    seen: Bools
    stimulus: Ints
    channel: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class RatingsView:
    """Coded ratings of one snapshot. ``rater``, ``stimulus``, ``question`` and ``trial`` are codes."""

    study: Study
    stimuli: pl.DataFrame
    raters: tuple[str, ...]
    stimulus_names: tuple[str, ...]
    questions: tuple[str, ...]
    rater: Ints
    stimulus: Ints
    question: Ints
    trial: Ints
    value: Floats
    repeat: Ints
    ordered: Bools
    """For each rater, whether the order of presentation is known."""
    batch: tuple[str | None, ...] | None
    unknown_raters: int
    unanswered: tuple[str, ...]
    trials: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """Listening and timing of every presentation (``heartfelt.screening.view.presentations``)."""
    sets: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """Rating rows of known raters in trials with several stimuli, without repeats that test the rater."""
    traces: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """Traces of first presentations."""
    drafts: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """Drafts that known raters verified (``heartfelt.snapshot.verified``)."""
    raters_before: Mapping[str, int] = field(default_factory=dict, repr=False)
    """How many raters had used the same browser before, of raters for whom there were any."""
    arm: Ints | None = None
    """For each rater, the code of their arm; None for a study without arms."""
    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    """What ``remembered`` has computed."""

    @classmethod
    def of(cls, source: Snapshot | RatingsView) -> RatingsView:
        return source if isinstance(source, RatingsView) else _view(source)

    def forget(self) -> None:
        """Free what was computed of the view for the rules; it is computed again where it is asked for."""
        for name in ("channels", "consensus"):
            self.__dict__.pop(name, None)
        self.memory.clear()

    def codes_of(self, raters: pl.Series) -> Ints:
        return raters.replace_strict(self.raters, range(len(self.raters)), return_dtype=pl.Int64).to_numpy()

    def without(self, raters: Bools) -> RatingsView:
        """The view without the answers of the marked raters; everybody keeps their code."""
        rows = np.flatnonzero(~raters[self.rater])

        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in ROW_COLUMNS},
            batch=None if self.batch is None else tuple(self.batch[row] for row in rows.tolist()),
            memory={},
        )

    @property
    def is_small(self) -> bool:
        """Whether there are so few ratings that compiling the loops of the rules would take longer than running them."""
        return self.value.size < SMALL

    @cached_property
    def edges(self) -> Ints:
        """Where each rater's rows begin; one more entry ends the last."""
        return np.searchsorted(self.rater, np.arange(len(self.raters) + 1))

    @cached_property
    def first(self) -> Bools:
        """Which rows belong to a first presentation."""
        first: Bools = self.repeat == 0
        return first

    @cached_property
    def ratings_of(self) -> Ints:
        """How many ratings of first presentations each rater gave."""
        return np.bincount(self.rater[self.first], minlength=len(self.raters))

    @cached_property
    def unordered(self) -> Bools:
        """For each question, whether its answers are categories without an order."""
        return np.array(
            [
                self.study.scale_of(q).level == "nominal" and len(self.study.scale_of(q).labels()) > 2
                for q in self.questions
            ],
            dtype=bool,
        )

    @property
    def ordered_questions(self) -> list[int]:
        """The questions with ordered answers."""
        return np.flatnonzero(~self.unordered).tolist()

    @cached_property
    def cell(self) -> Ints:
        """The (system, intent) cell of each stimulus, by its code; one cell for all where neither is known."""
        columns = [name for name in CELL_COLUMNS if name in self.stimuli.columns]
        if not columns or not self.stimulus_names:
            return np.zeros(len(self.stimulus_names), dtype=np.int64)
        names = pl.DataFrame({"stimulus": self.stimulus_names}, schema={"stimulus": pl.String})
        labelled = names.join(
            self.stimuli.select("stimulus", *columns), on="stimulus", how="left", maintain_order="left"
        )
        code = labelled.select(pl.struct(pl.col(columns).fill_null("")).rank("dense").cast(pl.Int64) - 1)
        return code.to_series().to_numpy()

    @cached_property
    def channels(self) -> Channels:
        rows = np.flatnonzero(self.first)
        channel_of = np.full(len(self.questions), -1, dtype=np.int64)
        owner: list[int] = []
        parts: list[tuple[Ints, Ints, Floats]] = []
        for question in range(len(self.questions)):
            if not self.unordered[question]:
                channel_of[question] = len(owner)
                owner.append(question)
                continue
            # Categories without an order become a column of 0 and 1 each: their codes cannot be correlated.
            of_question = rows[self.question[rows] == question]
            for code in np.unique(self.value[of_question]).tolist():
                parts.append(
                    (
                        of_question,
                        np.full(of_question.size, len(owner)),
                        (self.value[of_question] == code).astype(np.float64),
                    )
                )
                owner.append(question)
        single_channel = rows[channel_of[self.question[rows]] >= 0]
        parts.append((single_channel, channel_of[self.question[single_channel]], self.value[single_channel]))
        row = np.concatenate([part[0] for part in parts])
        channel = np.concatenate([part[1] for part in parts]).astype(np.int64)
        value = np.concatenate([part[2] for part in parts])
        order = np.lexsort((channel, row))
        row, channel, value = row[order], channel[order], value[order]
        return Channels(
            rater=self.rater[row],
            trial=self.trial[row],
            stimulus=self.stimulus[row],
            channel=channel,
            value=value,
            question=np.array(owner, dtype=np.int64),
        )

    @cached_property
    def consensus(self) -> RaterConsensus:
        """What the other raters' answers say about each answer of ``channels``: those of the same arm, where there are arms."""
        channels, stimulus, cell = self.channels, self.channels.stimulus, self.cell
        if self.arm is not None and self.arm.size:
            arms = int(self.arm.max()) + 1
            stimulus = stimulus * arms + self.arm[channels.rater]
            cell = (cell[:, np.newaxis] * arms + np.arange(arms)).ravel()
        return consensus(channels.rater, stimulus, cell, channels.channel, channels.value)

    def blocks(self) -> Iterator[RaterBlock]:
        """The block of every rater with an answer. Cells in all: at most ratings x channels of a rater."""
        channels, consensus = self.channels, self.consensus
        edges = np.searchsorted(channels.rater, np.arange(len(self.raters) + 1))
        for rater, (start, end) in enumerate(pairwise(edges.tolist())):
            if start == end:
                continue
            rows = slice(start, end)
            trials, row = np.unique(channels.trial[rows], return_inverse=True)
            channel, column = np.unique(channels.channel[rows], return_inverse=True)
            shape = (trials.size, channel.size)
            answers, predictions = np.zeros(shape), np.zeros(shape)
            answered = np.zeros(shape, dtype=bool)
            answers[row, column] = channels.value[rows]
            predictions[row, column] = consensus.prediction[rows]
            answered[row, column] = True
            stimulus = np.zeros(trials.size, dtype=np.int64)
            stimulus[row] = channels.stimulus[rows]
            yield RaterBlock(
                rater=rater, answers=answers, predictions=predictions, seen=answered, stimulus=stimulus, channel=channel
            )


def remembered(compute: Callable[Concatenate[RatingsView, P], T]) -> Callable[Concatenate[RatingsView, P], T]:
    """Compute something of a view once for each set of arguments, which their representations tell apart."""
    parameters = signature(compute)

    @wraps(compute)
    def once(view: RatingsView, /, *args: P.args, **named: P.kwargs) -> T:
        bound = parameters.bind(view, *args, **named)
        bound.apply_defaults()
        # By representation: options hold mappings, which cannot be hashed.
        key = f"{compute.__qualname__}{bound.args[1:]}"
        if key not in view.memory:
            view.memory[key] = compute(view, *args, **named)
        result: T = view.memory[key]
        return result

    return once


def _view(snapshot: Snapshot) -> RatingsView:
    study = snapshot.study
    numeric = [question.id for question in study.asked if study.scale_of(question.id).has_values]
    table = snapshot.scan_ratings()
    columns = table.collect_schema().names()
    usable = table.filter(
        pl.col("rater").is_not_null() & pl.col("value").is_finite() & pl.col("question").is_in(numeric)
    )
    frame = _in_order(usable, columns).collect()

    def recorded(name: str) -> pl.Series | None:
        return frame[name] if name in columns and frame[name].count() else None

    def codes(name: str, ids: list[str]) -> Ints:
        coded = frame[name].replace_strict(ids, list(range(len(ids))), return_dtype=pl.Int64) if ids else frame[name]
        return coded.cast(pl.Int64).to_numpy()

    raters, stimuli = (frame[name].unique(maintain_order=True).to_list() for name in ("rater", "stimulus"))
    sets, traces, drafts = _sets(snapshot), _first(snapshot.traces), _drafts(snapshot)
    trials = presentations(snapshot)
    for further in (sets, traces, drafts, trials):
        known_raters = set(raters)
        raters += (
            [name for name in further["rater"].unique(maintain_order=True) if name not in known_raters]
            if further.height
            else []
        )
    answered = set(frame["question"].unique().to_list())
    answered_numeric = [name for name in numeric if name in answered]
    batch = recorded("batch")
    return RatingsView(
        study=study,
        stimuli=snapshot.stimuli,
        raters=tuple(raters),
        stimulus_names=tuple(stimuli),
        questions=tuple(answered_numeric),
        rater=codes("rater", raters),
        stimulus=codes("stimulus", stimuli),
        question=codes("question", answered_numeric),
        trial=frame["_trial"].to_numpy(),
        value=frame["value"].to_numpy(),
        repeat=frame["_repeat"].to_numpy(),
        ordered=_ordered(frame, raters),
        batch=None if batch is None else tuple(batch.cast(pl.String).to_list()),
        unknown_raters=snapshot.survey.unknown_raters,
        unanswered=tuple(question.id for question in study.asked if question.id not in snapshot.survey.questions),
        trials=trials,
        sets=sets,
        traces=traces,
        drafts=drafts,
        raters_before=_raters_before(snapshot.raters),
        arm=_arms(snapshot, raters),
    )


def _arms(snapshot: Snapshot, raters: list[str]) -> Ints | None:
    """The arm of every rater as a code; raters in none share one."""
    if not snapshot.study.design.arms or "arm" not in snapshot.raters.columns:
        return None
    arm_of = dict(snapshot.raters.select("rater", "arm").iter_rows())
    codes = {arm.id: number for number, arm in enumerate(snapshot.study.design.arms, 1)}
    return np.array([codes.get(arm_of.get(rater) or "", 0) for rater in raters], dtype=np.int64)


def _ordered(frame: pl.DataFrame, raters: list[str]) -> Bools:
    ordered_by_rater = dict(
        frame.group_by("rater", maintain_order=True).agg(pl.all("_known")).select("rater", "_known").iter_rows()
    )
    return np.array([ordered_by_rater.get(rater, False) for rater in raters], dtype=bool)


def _first(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("repeat").fill_null(0) == 0) if "repeat" in table.columns else table


def _sets(snapshot: Snapshot) -> pl.DataFrame:
    """Rating rows of trials with several stimuli; an empty table where there are none."""
    ratings = snapshot.scan_ratings()
    if not has_sets(ratings):
        return pl.DataFrame()
    rows = ratings.filter(pl.col("rater").is_not_null() & pl.col("trial").is_not_null()).collect()
    return _first(rows) if snapshot.study.repeats_are_probes else rows


def _raters_before(raters: pl.DataFrame) -> dict[str, int]:
    if "device" not in raters.columns or raters.schema["device"] != pl.String:
        return {}
    # What a running study knows of the device is JSON; other sources write what they like.
    before = pl.col("device").str.extract(r'"raters_before": ?(\d{1,6})').cast(pl.Int64)
    return dict(raters.select("rater", before.alias("before")).filter(pl.col("before") > 0).iter_rows())


def _drafts(snapshot: Snapshot) -> pl.DataFrame:
    if not snapshot.fields.height:
        return pl.DataFrame()
    return verified_rows(snapshot).rename({"verified_by": "rater"}).filter(pl.col("rater") != "")


def _in_order(table: pl.LazyFrame, have: list[str]) -> pl.LazyFrame:
    """Sort by rater (as they first appear), trial in presentation order, and question."""
    trial = ["rater", "stimulus", "_repeat", *(["trial"] if {"trial", "place"} <= set(have) else [])]
    at = [pl.col("at").dt.epoch("us")] if "at" in have else []
    position = pl.coalesce([*([pl.col("position")] if "position" in have else []), *at, pl.lit(None, dtype=pl.Int64)])
    repeat = pl.col("repeat").fill_null(0).cast(pl.Int64) if "repeat" in have else pl.lit(0, dtype=pl.Int64)
    return (
        # Row numbers first: what comes first must not depend on the order in which threads finish.
        table.with_row_index("_row")
        .with_columns(repeat.alias("_repeat"), position.alias("_place"))
        .with_columns(
            pl.col("_row").min().over("rater").alias("_rater"),
            pl.col("_place").min().over(trial).alias("_when"),
            pl.col("_row").min().over(trial).alias("_first"),
            pl.col("_place").is_not_null().alias("_known"),
        )
        .sort("_rater", "_when", "_first", "question", nulls_last=True)
        .with_columns((pl.struct(trial).rle_id()).cast(pl.Int64).alias("_trial"))
    )
