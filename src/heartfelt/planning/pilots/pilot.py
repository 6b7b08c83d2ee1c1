"""What a plan knows of raters and stimuli before the study: from a pilot snapshot, or from a published study.

Components are those of raters who pay attention: whom the default screening policy would leave out are counted as careless
and answer without looking. Within cells (system and intent) components are estimated by restricted maximum likelihood; those of
systems, intents and their interaction from the means of stimuli, less the variance these have from noise alone.

What the pilot leaves open is drawn anew for every study (``planning.uncertainty``); the careless share from a beta distribution
(Jeffreys' prior).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from heartfelt.errors import InputError
from heartfelt.planning.pilots.latent import Components, Floats, ScaleUse
from heartfelt.planning.pilots.statistics import statistics, taste_variance
from heartfelt.planning.pilots.uncertainty import (
    Freedom,
    effect_draws,
    effect_error,
    freedom_of,
    harmonic_mean,
    variance_draws,
)
from heartfelt.screening.panel import screen
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import IdCodes, Ints, code
from heartfelt.stats.inference.mixed import random_variances
from heartfelt.study.model import Question
from heartfelt.wording import plural

LEAST_RATERS = 5
FEW_RATERS = 15
MOST_QUESTIONS = 12
LEAST_CARELESS = 3
MOST_VALUES = 101
MOST_GAIN = 0.5
"""Slopes on differences that hardly exceed their noise vary without end; more than this says that raters have tastes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPilot:
    """What is known of the answers to one question."""

    question: str
    components: Components
    scale: ScaleUse
    bounds: tuple[float, float]
    systems: Mapping[str, float] = field(default_factory=dict)
    """Adjusted effects of the systems, in points; empty where they are to be drawn."""
    system_noise: tuple[tuple[float, ...], ...] = ()
    """Their covariance from noise (stimuli, and raters' tastes), in the order of ``systems``."""
    careless_variance: float = 0.45
    """Variance of a careless rater's answers, as a share of an attentive one's; the usual one is that of AImoclips."""
    freedom: Freedom | None = field(default=None, repr=False)
    """What the pilot leaves open; None where the components are taken as known."""
    ties: tuple[float, float] | None = None
    """For comparisons: the share of ties among a pilot's answers and its standard error over raters."""

    def draws(self, count: int, rng: np.random.Generator) -> Floats:
        """Components for ``count`` studies: a row each."""
        if self.freedom is None:
            return np.tile(self.components.as_array, (count, 1))
        return variance_draws(self.components, self.freedom, count, rng)

    def system_draws(self, count: int, rng: np.random.Generator) -> Floats:
        """Effects of the systems in points, a row for each study."""
        effects, noise = np.array(list(self.systems.values())), np.array(self.system_noise)
        if not noise.size or self.freedom is None:
            return np.tile(effects, (count, 1))
        return effect_draws(effects, noise, self.freedom.stimuli, count, rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """Everything a plan assumes about raters and answers, and where it comes from."""

    source: str
    questions: Mapping[str, QuestionPilot]
    careless: float
    dropout: float
    seconds: float | None = None
    """Seconds one trial takes; None where the source does not say."""
    raters: int = 0
    """Raters the figures come from; 0 for assumptions."""
    careless_raters: int | None = None
    """How many of them were careless; None where the share is taken as known."""
    left: int | None = None
    """How many left early; None where the share is taken as known."""
    credit: str = ""
    notes: tuple[str, ...] = ()

    def shares(self, count: int, rng: np.random.Generator) -> Floats:
        """Share of careless raters for ``count`` studies."""
        if self.careless_raters is None:
            return np.full(count, self.careless)
        flagged = self.careless_raters
        return np.asarray(rng.beta(flagged + 0.5, self.raters - flagged + 0.5, count))


def estimate_pilot(snapshot: Snapshot, seed: int = 0) -> Pilot:
    """What a pilot's ratings say about the study to come, with what is needed to draw its uncertainty."""
    panel = screen(snapshot, "default", seed=seed)
    raters = len(snapshot.survey.raters)
    if raters < LEAST_RATERS:
        raise InputError(
            f"A pilot of {plural(raters, 'rater')} does not show how raters differ.",
            f"Collect ratings of at least {LEAST_RATERS} raters (20 give usable intervals), or plan without --pilot from"
            " a published study's variance components.",
        )
    careless = len(panel.dropped)
    retained = panel.snapshot()
    questions, notes = _questions(snapshot, retained, panel.dropped)
    if not questions:
        reason = " ".join(notes) or "it has no ratings that are numbers"
        raise InputError(
            f"The pilot {snapshot.source.name} cannot be used: {reason}",
            "Collect a pilot in which at least two raters rate some of the stimuli, or plan without --pilot.",
        )
    if raters < FEW_RATERS:
        notes.append(f"The pilot has {raters} raters; with fewer than {FEW_RATERS} its intervals are rough.")
    left_early, dropout = _dropout(snapshot, raters)
    return Pilot(
        source=f"pilot {snapshot.source.name} ({plural(raters, 'rater')})",
        questions=questions,
        careless=careless / raters,
        dropout=dropout,
        seconds=_seconds(snapshot),
        raters=raters,
        careless_raters=careless,
        left=left_early,
        notes=tuple(notes),
    )


def _questions(
    snapshot: Snapshot, retained: Snapshot, dropped: Collection[str]
) -> tuple[dict[str, QuestionPilot], list[str]]:
    """What the retained ratings say of every question, and notes on those that cannot be planned."""
    names = [question.id for question in snapshot.study.asked if _averaged(snapshot, question)]
    questions: dict[str, QuestionPilot] = {}
    notes = (
        [f"Of {len(names)} questions the first {MOST_QUESTIONS} are planned."] if len(names) > MOST_QUESTIONS else []
    )
    for name in names[:MOST_QUESTIONS]:
        question_pilot = _question(retained, name)
        if isinstance(question_pilot, str):
            notes.append(f"'{name}' cannot be planned from the pilot: {question_pilot}.")
            continue
        if len(dropped) >= LEAST_CARELESS:
            question_pilot = replace(question_pilot, careless_variance=_careless_variance(snapshot, name, dropped))
        questions[name] = question_pilot
    return questions, notes


def _averaged(snapshot: Snapshot, question: Question) -> bool:
    scale = snapshot.study.scale_of(question.id)
    return scale.level in ("interval", "ordinal") or (scale.level == "nominal" and len(scale.labels()) == 2)


def rating_table(snapshot: Snapshot, question: str) -> pl.DataFrame:
    """First presentations of one question: rater, stimulus, value, system and intent (empty where unknown)."""
    ratings = snapshot.ratings.filter(pl.col("question") == question).drop_nulls(["rater", "value"])
    if "repeat" in ratings.columns:
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    columns = [name for name in ("system", "intent") if name in snapshot.stimuli.columns]
    facts = snapshot.stimuli.select("stimulus", *(pl.col(name).cast(pl.String) for name in columns))
    facts = facts.with_columns(pl.lit("").alias(name) for name in ("system", "intent") if name not in columns)
    table = ratings.select("rater", "stimulus", "value").join(facts, on="stimulus", how="inner", maintain_order="left")
    return table.with_columns(pl.col("system", "intent").fill_null(""))


def _question(snapshot: Snapshot, question: str) -> QuestionPilot | str:
    table = rating_table(snapshot, question)
    if not table.height:
        return "it has no ratings"
    fitted = fit_components(table)
    if isinstance(fitted, str):
        return fitted
    bounds = snapshot.study.scale_of(question).bounds()
    values = table["value"].to_numpy()
    return QuestionPilot(
        question=question,
        components=fitted.components,
        scale=scale_use(values),
        bounds=bounds or (float(values.min()), float(values.max())),
        systems=fitted.effects,
        system_noise=fitted.noise,
        freedom=fitted.freedom,
    )


def scale_use(values: Floats) -> ScaleUse:
    """How often each answer was given; many different answers in 101 steps."""
    detected, counts = np.unique(values, return_counts=True)
    if detected.size > MOST_VALUES:
        edges = np.linspace(detected[0], detected[-1], MOST_VALUES)
        counts = np.bincount(np.rint((values - edges[0]) / (edges[1] - edges[0])).astype(np.int64))
        detected, counts = edges[counts > 0], counts[counts > 0]
    return ScaleUse(tuple(detected.tolist()), tuple((counts / counts.sum()).tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotFit:
    """Components, adjusted effects of the systems with their noise covariance, and what they leave open."""

    components: Components
    effects: dict[str, float]
    noise: tuple[tuple[float, ...], ...]
    freedom: Freedom


def fit_components(table: pl.DataFrame) -> PilotFit | str:
    """What a table of ratings says; or why nothing can be estimated."""
    rater_ids, stimulus_ids = code(table["rater"]), code(table["stimulus"])
    system, intent = code(table["system"]), code(table["intent"])
    if float(np.ptp(table["value"].to_numpy())) == 0.0:
        return "all answers are equal"
    if np.bincount(stimulus_ids.codes).max() < 2:
        return "no stimulus was rated by two raters, so differences between stimuli and noise cannot be separated"
    inner = _within_cells(table, system, intent)
    if isinstance(inner, str):
        return inner
    stimulus, rater, residual, taste = inner
    of_system, of_intent = (
        _of_stimuli(stimulus_ids.codes, part.codes, stimulus_ids.count) for part in (system, intent)
    )
    head, parts, effects, system_cover, intent_cover, moves = statistics(
        rater_ids.codes, stimulus_ids.codes, table["value"].to_numpy().astype(np.float64), np.zeros(rater_ids.count, np.bool_),
        of_system, of_intent, system.count, intent.count, 1,
    )  # fmt: skip
    mean_square = float(head[6])
    between = []
    for part, cover, which in (
        (effects[: system.count], system_cover, of_system),
        (effects[system.count :], intent_cover, of_intent),
    ):
        between.append(_between(part, cover * mean_square, np.bincount(which)) if part.size > 1 else 0.0)
    if not np.isfinite([mean_square, *between]).all():
        return "its systems and intents are not linked by enough stimuli"
    cells = of_system * intent.count + of_intent
    between_cells, nested = _interaction(table, stimulus_ids, cells, float(head[6] * head[7]), head[7])
    expected = effects[system.codes] + effects[system.count + intent.codes]
    gain = min(_gain_variance(expected, table["value"].to_numpy(), rater_ids.codes, rater_ids.count), MOST_GAIN)
    components = Components(
        system=between[0],
        intent=between[1],
        cell=between_cells if nested else 0.0,
        stimulus=stimulus,
        rater=rater,
        residual=residual,
        gain=gain,
        # Raters who respond more strongly to everything differ between systems, too: that part is no taste.
        taste=max(taste - gain * between[0], 0.0),
    )
    centred = effects[: system.count] - effects[: system.count].mean()
    centre = np.eye(system.count) - 1.0 / system.count
    tastes, _ = taste_variance(parts, moves)
    noise = centre @ (system_cover * mean_square + np.eye(system.count) * tastes / 2.0) @ centre
    per_cell = np.unique(cells, return_counts=True)[1]
    freedom = freedom_of(
        table,
        (
            (system.count, effect_error(noise)),
            (intent.count, effect_error(intent_cover * mean_square)),
            (per_cell.size, mean_square / harmonic_mean(per_cell)),
        ),
    )
    names = [str(name) for name in system.names]
    has_names = names != [""]
    return PilotFit(
        components=components,
        effects=dict(zip(names, centred.tolist(), strict=True)) if has_names else {},
        noise=tuple(tuple(row) for row in noise.tolist()) if has_names else (),
        freedom=freedom,
    )


def _within_cells(table: pl.DataFrame, system: IdCodes, intent: IdCodes) -> tuple[float, float, float, float] | str:
    """Stimulus, rater, residual and taste variance within cells; where every cell holds one stimulus, cells are part of the
    stimuli, and system and intent are held constant one by one.
    """
    cells = np.unique(system.codes * intent.count + intent.codes, return_inverse=True)[1].astype(np.int64)
    fixed = [cells]
    if int(cells.max()) + 1 >= table["stimulus"].n_unique():
        fixed = [system.codes, intent.codes]
    random = {"rater": table["rater"], "stimulus": table["stimulus"]}
    taste = table.select(pl.struct("rater", "system").rank("dense")).to_series()
    # Tastes show where raters met several systems and several stimuli of one.
    if table["rater"].n_unique() < taste.n_unique() < table.height:
        variances = random_variances(table["value"], fixed, {**random, "taste": taste})
        if not isinstance(variances, str):
            return variances["stimulus"], variances["rater"], variances["residual"], variances["taste"]
    variances = random_variances(table["value"], fixed, random)
    if isinstance(variances, str):
        return variances
    return variances["stimulus"], variances["rater"], variances["residual"], 0.0


def _interaction(
    table: pl.DataFrame, stimulus_ids: IdCodes, cell: Ints, residual: float, df: float
) -> tuple[float, bool]:
    """Variance of cells beyond system and intent, from the stimuli's means; and whether cells hold several stimuli.

    ``residual`` is what system + intent leave of the sum of squares of the means, with ``df`` degrees of freedom.
    """
    means = np.bincount(stimulus_ids.codes, table["value"].to_numpy()) / np.bincount(stimulus_ids.codes)
    _, cells = np.unique(cell, return_inverse=True)
    sizes = np.bincount(cells)
    deviation = means - (np.bincount(cells, means) / sizes)[cells]
    free = means.size - sizes.size
    crossed = df - free
    if free < 1 or crossed < 1:
        return 0.0, free >= 1
    within = float(deviation @ deviation)
    per_cell = (means.size - float((sizes**2).sum()) / means.size) / max(sizes.size - 1, 1)
    return max((residual - within - crossed * within / free) / (crossed * per_cell), 0.0), True


def _gain_variance(expected: Floats, value: Floats, rater: Ints, count: int) -> float:
    """Variance of the raters' slopes of their answers on what system and intent lead to expect, beyond the slopes' own noise."""
    n = np.bincount(rater, minlength=count).astype(np.float64)
    x, y = (column - (np.bincount(rater, column, minlength=count) / n)[rater] for column in (expected, value))
    squares = np.bincount(rater, x * x, minlength=count)
    usable = (n >= 4) & (squares > 1e-9 * max(float(squares.max()), 1e-300))
    if np.count_nonzero(usable) < 3:
        return 0.0
    slope = np.bincount(rater, x * y, minlength=count) / np.where(usable, squares, 1.0)
    residual = np.bincount(rater, (y - slope[rater] * x) ** 2, minlength=count) / np.maximum(n - 2.0, 1.0)
    error = float(np.mean(residual[usable] / squares[usable]))
    return max(float(slope[usable].var(ddof=1)) - error, 0.0)


def _of_stimuli(stimulus: Ints, codes: Ints, count: int) -> Ints:
    out = np.zeros(count, np.int64)
    out[stimulus] = codes
    return out


def _between(effects: Floats, noise: Floats, sizes: Ints) -> float:
    """Variance of effects, each weighed by its stimuli, beyond the noise of their differences."""
    weight = sizes / sizes.sum()
    free = 1.0 - float(weight @ weight)
    squared_difference = np.square(effects[:, None] - effects[None, :])
    error = np.diag(noise)[:, None] + np.diag(noise)[None, :] - 2.0 * noise
    return max(float(weight @ (squared_difference - error) @ weight) / (2.0 * free), 0.0)


def _careless_variance(snapshot: Snapshot, question: str, dropped: Iterable[str]) -> float:
    """Mean variance of single raters' answers among those who were dropped, over that of the others."""
    by_rater = rating_table(snapshot, question).group_by("rater").agg(pl.col("value").var()).drop_nulls()
    out = pl.col("rater").is_in(list(dropped))
    careless, attentive = by_rater.filter(out)["value"].mean(), by_rater.filter(~out)["value"].mean()
    if not isinstance(careless, float) or not isinstance(attentive, float) or attentive <= 0:
        return 1.0
    return min(max(careless / attentive, 0.05), 2.0)


def _dropout(snapshot: Snapshot, raters: int) -> tuple[int | None, float]:
    """Raters who gave less than nine tenths of the ratings the design asks for, and their share."""
    planned = snapshot.study.design.stimuli_per_rater
    if planned is None:
        return None, 0.0
    done = snapshot.ratings.group_by("rater").agg(pl.col("stimulus").n_unique())["stimulus"]
    left_early = int((done < 0.9 * planned).sum())
    return left_early, left_early / raters


def _seconds(snapshot: Snapshot) -> float | None:
    """Median time from one trial's answer to the next, where the times are known."""
    if "at" not in snapshot.ratings.columns or snapshot.ratings["at"].null_count() == snapshot.ratings.height:
        return None
    moments = snapshot.ratings.drop_nulls("at").group_by("rater", "stimulus").agg(pl.col("at").max())
    gaps = moments.sort("rater", "at").with_columns(
        gap=pl.col("at").diff().over("rater").dt.total_milliseconds() / 1000.0
    )
    middle = gaps.filter((pl.col("gap") > 0) & (pl.col("gap") < 600))["gap"].median()
    return float(middle) if isinstance(middle, float) else None
