"""Simulated ratings: planted truth seen through planted raters, under a design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import require
from heartfelt.simulate.conveyed import TruthOptions
from heartfelt.simulate.conveyed import truth as planted_truth
from heartfelt.simulate.design import DesignOptions, Ints, Trials, schedule
from heartfelt.simulate.people import KINDS, RaterMix, check_kinds
from heartfelt.simulate.people import raters as planted_raters
from heartfelt.streams import stream
from heartfelt.tables import MOMENT, need_columns

Floats: TypeAlias = npt.NDArray[np.float64]

_ANSWER_SPREAD = 0.35
_LEAST_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """The trials of one kind of rater under one question, with what each rater would honestly answer."""

    honest: Floats
    rater: Ints
    position: Ints
    bias: Floats
    spread: Floats
    raters: int
    design: DesignOptions


def ratings(
    truth: pl.DataFrame, raters: pl.DataFrame, design: DesignOptions | None = None, *, seed: int = 0
) -> pl.DataFrame:
    """What the ``raters`` answer about the stimuli of ``truth``: one row per rating.

    Columns: rater, stimulus, question, value, position (from 1), seconds, at, repeat (0 for a first
    presentation). Rows come rater by rater in the order the answers were given. A stimulus without a true
    value under a question is not asked about it.
    """
    design = design or DesignOptions()
    _check(truth, raters)
    stimuli, cell = cells(truth, design.distinct_cells)
    trials = schedule(cell, raters["hazard"].to_numpy(), design, seed)
    questions = truth["question"].unique(maintain_order=True).to_list()
    values = np.stack([_values(truth, stimuli, raters, trials, q, design, seed) for q in questions], axis=1)
    answers = _copy_answers(values, raters, trials, design, seed)
    return rating_rows(answers, raters, stimuli, questions, trials, design, seed)


def cells(truth: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.Series, Ints]:
    """The stimuli of ``truth`` in order of appearance, and each one's cell (all the same without columns)."""
    need_columns(truth.columns, columns, "The design spreads raters over columns, and the truth")
    once = truth.unique("stimulus", keep="first", maintain_order=True)
    if not columns:
        return once["stimulus"], np.zeros(once.height, dtype=np.int64)
    code = once.select(pl.struct(columns).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    return once["stimulus"], code


def under_question(truth: pl.DataFrame, stimuli: pl.Series, question: str, column: str) -> pl.Series:
    """A column of the truth under one question, in the order of ``stimuli``; empty where that is not asked."""
    of_question = truth.filter(pl.col("question") == question).select("stimulus", column)
    frame = stimuli.to_frame("stimulus")
    return frame.join(of_question, on="stimulus", how="left", maintain_order="left")[column]


def _values(
    truth: pl.DataFrame,
    stimuli: pl.Series,
    raters: pl.DataFrame,
    trials: Trials,
    question: str,
    design: DesignOptions,
    seed: int,
) -> Floats:
    true_of = under_question(truth, stimuli, question, "true").cast(pl.Float64)
    true = true_of.fill_null(np.nan).to_numpy()[trials.stimulus]
    column = f"bias_{question}" if f"bias_{question}" in raters.columns else "bias"
    of = {name: raters[name].to_numpy()[trials.rater] for name in (column, "gain", "taste", "noise")}
    bias = of[column]
    rng = stream(seed, "simulate", "answers", question)
    taste = of["taste"] * rng.standard_normal(true.size)[trials.first]
    noise = of["noise"] * rng.standard_normal(true.size)
    honest = design.neutral + bias + of["gain"] * (true - design.neutral) + taste + noise
    present = true_of.drop_nulls().to_numpy()
    between = float(np.std(present)) if present.size else 0.0
    spread = np.sqrt((of["gain"] * between) ** 2 + of["taste"] ** 2 + of["noise"] ** 2)
    values = honest.copy()
    kinds = raters["kind"].to_numpy()[trials.rater] if trials.rater.size else np.empty(0, dtype=object)
    for kind, answer in _CARELESS.items():
        rows = np.flatnonzero(kinds == kind)
        if rows.size:
            rater, position = trials.rater[rows], trials.position[rows]
            sight = _Sight(
                honest=honest[rows],
                rater=rater,
                position=position,
                bias=bias[rows],
                spread=spread[rows],
                raters=raters.height,
                design=design,
            )
            values[rows] = answer(sight, stream(seed, "simulate", "answers", question, kind))
    return np.where(np.isnan(true), np.nan, on_scale(values, design))


def on_scale(values: Floats, design: DesignOptions) -> Floats:
    """Round to the scale's points where answers are whole, and limit to the scale."""
    clipped = np.clip(np.rint(values) if design.integer else values, design.scale_low, design.scale_high)
    return clipped + 0.0  # no negative zero


def _points(design: DesignOptions) -> Floats:
    if design.integer:
        return np.arange(design.scale_low, design.scale_high + 1.0)
    return np.linspace(design.scale_low, design.scale_high, 9)


def _random(sight: _Sight, rng: np.random.Generator) -> Floats:
    if sight.design.integer:
        picked: Floats = rng.choice(_points(sight.design), sight.rater.size)
        return picked
    return rng.uniform(sight.design.scale_low, sight.design.scale_high, sight.rater.size)


def _straightline(sight: _Sight, rng: np.random.Generator) -> Floats:
    favourite: Floats = rng.choice(_points(sight.design), sight.raters)[sight.rater]
    return favourite


def _centre(sight: _Sight, rng: np.random.Generator) -> Floats:
    design = sight.design
    if not design.integer:
        return design.neutral + (design.scale_high - design.scale_low) / 16 * rng.standard_normal(sight.rater.size)
    points = _points(design)
    near = points[np.abs(points - design.neutral) <= 1.0]
    weights = 1.0 / (1.0 + 2.0 * np.abs(near - design.neutral))
    return near[rng.choice(near.size, sight.rater.size, p=weights / weights.sum())]


def _pattern(sight: _Sight, rng: np.random.Generator) -> Floats:
    points = _points(sight.design)
    start = rng.integers(0, points.size, sight.raters)[sight.rater]
    step = np.array([-2, -1, 1, 2])[rng.integers(0, 4, sight.raters)][sight.rater]
    walked: Floats = points[(start + step * sight.position) % points.size]
    return walked


def _extreme(sight: _Sight, rng: np.random.Generator) -> Floats:
    del rng
    return np.where(sight.honest < sight.design.neutral, sight.design.scale_low, sight.design.scale_high)


def _ignores(sight: _Sight, rng: np.random.Generator) -> Floats:
    return sight.design.neutral + sight.bias + sight.spread * rng.standard_normal(sight.rater.size)


_CARELESS: Mapping[str, Callable[[_Sight, np.random.Generator], Floats]] = {
    "random": _random,
    "straightline": _straightline,
    "centre": _centre,
    "pattern": _pattern,
    "extreme": _extreme,
    "ignores-stimulus": _ignores,
}


def _copy_answers(values: Floats, raters: pl.DataFrame, trials: Trials, design: DesignOptions, seed: int) -> Floats:
    names, sources = raters["rater"].to_list(), raters["colluder_of"].to_list()
    index_of = {name: index for index, name in enumerate(names)}
    counts = np.bincount(trials.rater, minlength=len(names))
    starts = np.cumsum(counts) - counts
    out = values.copy()
    for index, source in enumerate(sources):
        if source is None or counts[index] == 0:
            continue
        require(
            source in index_of and sources[index_of[source]] is None,
            f"The rater '{names[index]}' copies '{source}', who is not a rater here or copies too.",
            "Let colluder_of name a rater who answers for themselves.",
        )
        model = values[starts[index_of[source]] : starts[index_of[source]] + counts[index_of[source]]]
        if model.shape[0] == 0:
            continue
        own_rows = slice(starts[index], starts[index] + counts[index])
        answers = copied(model, int(counts[index]), design, stream(seed, "simulate", "copy", names[index]))
        # An item that has no true value is not asked, whoever is copied; one the source was not asked is
        # answered honestly.
        out[own_rows] = np.where(np.isnan(values[own_rows]) | np.isnan(answers), values[own_rows], answers)
    return out


def copied(model: Floats, count: int, design: DesignOptions, rng: np.random.Generator) -> Floats:
    """What a colluder gives: the model's answers (trials x questions) in order, with lost places and small shifts."""
    offsets = np.arange(count) + np.cumsum(rng.random(count) < design.copy_gap)
    answers = model[offsets % model.shape[0]]
    moved = rng.random(answers.shape) < design.copy_shift
    step = 1.0 if design.integer else (design.scale_high - design.scale_low) / 8.0
    return on_scale(answers + step * moved * rng.choice([-1.0, 1.0], answers.shape), design)


def rating_rows(
    values: Floats,
    raters: pl.DataFrame,
    stimuli: pl.Series,
    questions: Sequence[str],
    trials: Trials,
    design: DesignOptions,
    seed: int,
) -> pl.DataFrame:
    """Ratings with their times from ``values`` (trials x questions), without what was not asked."""
    size, wide = values.shape
    rater = np.repeat(trials.rater, wide)
    draws = [stream(seed, "simulate", "seconds", name).standard_normal(size) for name in questions]
    fresh = np.stack(draws, axis=1)
    pace = raters["pace"].to_numpy()[rater] if rater.size else np.empty(0)
    took = np.maximum(np.round(pace * np.exp(_ANSWER_SPREAD * fresh.ravel()), 3), _LEAST_SECONDS)
    passed = np.rint(took * 1e6).astype(np.int64)
    passed[::wide] += round(design.clip_seconds * 1e6)
    clock = np.cumsum(passed)
    counts = np.bincount(trials.rater, minlength=raters.height) * wide
    starts = np.cumsum(counts) - counts
    begun = np.append(clock - passed, 0)[starts]
    arrived = np.arange(raters.height) * round(design.arrival_seconds * 1e6)
    epoch = round(design.start.timestamp() * 1e6)
    at = epoch + arrived[rater] + clock - begun[rater]
    return pl.DataFrame(
        {
            "rater": raters["rater"].gather(rater),
            "stimulus": stimuli.gather(np.repeat(trials.stimulus, wide)),
            "question": pl.Series(questions, dtype=pl.String).gather(np.tile(np.arange(wide), size)),
            "value": values.ravel(),
            "position": np.repeat(trials.position, wide),
            "seconds": took,
            "at": pl.Series(at, dtype=pl.Int64).cast(MOMENT),
            "repeat": np.repeat(trials.repeat, wide),
        }
    ).filter(pl.col("value").is_not_nan())


def _check(truth: pl.DataFrame, raters: pl.DataFrame) -> None:
    need_columns(truth.columns, ("stimulus", "question", "true"), "The truth")
    planted = ("rater", "kind", "bias", "gain", "taste", "noise", "hazard", "pace", "colluder_of")
    need_columns(raters.columns, planted, "The table of raters")
    require(truth.height > 0, "The truth has no rows.", "Make it with simulate.truth.")
    require(raters.height > 0, "The table of raters has no rows.", "Make it with simulate.raters.")
    require(
        not truth.select("stimulus", "question").is_duplicated().any(),
        "The truth has two rows for one stimulus and question.",
        "Keep one true value for each.",
    )
    unique = raters["rater"].n_unique() == raters.height
    require(unique, "Two raters share an id.", "Give every rater their own id.")
    check_kinds(raters["kind"].unique().to_list(), KINDS)


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRatings:
    """Ratings together with everything that was planted in them."""

    ratings: pl.DataFrame
    raters: pl.DataFrame
    truth: pl.DataFrame


def study_ratings(
    stimuli: pl.DataFrame,
    n_raters: int = 111,
    *,
    truth_options: TruthOptions | None = None,
    mix: RaterMix | None = None,
    design: DesignOptions | None = None,
    seed: int = 0,
) -> SimulatedRatings:
    """Simulate a study of ``stimuli``: stimulus, system, intent, and an intended value per question."""
    planted = truth_options or TruthOptions()
    true = planted_truth(stimuli, planted, seed=seed)
    people = planted_raters(n_raters, mix, questions=planted.questions, seed=seed)
    return SimulatedRatings(ratings(true, people, design, seed=seed), people, true)
