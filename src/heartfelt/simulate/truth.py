"""A design to simulate on, and what its stimuli truly convey: the mean that infinitely many careful raters would give.

For a stimulus of system ``s`` and intent ``i`` under question ``q``::

    true = neutral + gain[s, q] * (intended[i, q] - neutral) + shift[s, q] + cell[s, i, q] + own[stimulus, q]

``gain`` and ``shift`` are the system's conveyance; ``cell`` is what this system does to this intent beyond
that (the interaction), and ``own`` is the single stimulus, both normal with mean zero. True values are limited
to the scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.make.conveyance import Conveyance
from heartfelt.streams import stream

# Three intents a quadrant. The coordinates are round numbers chosen for simulation, not norms of these words.
INTENTS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        name: MappingProxyType({"valence": valence, "arousal": arousal})
        for name, valence, arousal in (
            ("joyful", 8.2, 7.2),
            ("thrilled", 7.4, 8.0),
            ("playful", 7.2, 6.4),
            ("furious", 2.4, 7.6),
            ("alarmed", 3.0, 7.0),
            ("tense", 3.6, 6.6),
            ("gloomy", 2.2, 3.2),
            ("lonely", 2.8, 3.6),
            ("weary", 3.6, 2.4),
            ("serene", 7.4, 2.6),
            ("tender", 7.8, 3.6),
            ("dreamy", 6.6, 2.8),
        )
    }
)
SYSTEMS = ("Sinewood", "Pluckbox", "Brassline", "Chipling")


def stimuli(
    systems: Sequence[str] = SYSTEMS,
    intents: Mapping[str, Mapping[str, float]] = INTENTS,
    *,
    per_cell: int = 14,
) -> pl.DataFrame:
    """``per_cell`` stimuli for every (system, intent), with the intent's coordinates in columns."""
    if per_cell < 1 or not systems or not intents:
        raise InputError(
            f"{len(systems)} systems, {len(intents)} intents and {per_cell} stimuli per cell make no stimuli.",
            "Give at least one of each.",
        )
    rows = [
        {"stimulus": f"{system}_{intent}_{number}", "system": system, "intent": intent, **coordinates}
        for system in systems
        for intent, coordinates in intents.items()
        for number in range(1, per_cell + 1)
    ]
    return pl.DataFrame(rows)


@dataclass(frozen=True, slots=True)
class TruthOptions:
    """What is planted. Standard deviations are in scale points.

    ``systems`` fix a system's conveyance; a system that is not named draws a gain around ``gain`` and a
    shift around zero for each question. A named conveyance's ``noise`` takes the place of ``stimulus_sd``.
    """

    questions: tuple[str, ...] = ("valence", "arousal")
    systems: Mapping[str, Conveyance] = field(default_factory=dict)
    gain: float = 0.7
    gain_sd: float = 0.15
    shift_sd: float = 0.4
    cell_sd: float = 0.3
    stimulus_sd: float = 0.5
    neutral: float = 5.0
    low: float = 1.0
    high: float = 9.0

    def __post_init__(self) -> None:
        if min(self.gain_sd, self.shift_sd, self.cell_sd, self.stimulus_sd) < 0:
            raise InputError(
                "A planted standard deviation is negative.", "Give standard deviations of 0 or more."
            )
        if not self.low <= self.neutral <= self.high or not self.questions:
            raise InputError(
                f"A scale from {self.low:g} to {self.high:g} with neutral {self.neutral:g} and"
                f" {len(self.questions)} questions cannot be planted on.",
                "Give low <= neutral <= high and at least one question.",
            )


def truth(stimuli: pl.DataFrame, options: TruthOptions | None = None, *, seed: int = 0) -> pl.DataFrame:
    """The planted truth: one row per stimulus and question.

    ``stimuli`` has the columns stimulus, system, intent and one per question with the intended value. The
    answer has stimulus, system, intent, question, intended, expected (before ``cell`` and ``own``),
    cell_mean (with ``cell``) and true. What is drawn depends on names, not on the order of the rows.
    """
    options = options or TruthOptions()
    _check(stimuli, options)
    parts = [_under(stimuli, question, options, seed) for question in options.questions]
    return pl.concat(parts)


def _under(stimuli: pl.DataFrame, question: str, options: TruthOptions, seed: int) -> pl.DataFrame:
    systems = stimuli["system"].unique().sort().to_list()
    convey = {
        system: options.systems.get(system) or _drawn(system, question, options, seed) for system in systems
    }
    cells = stimuli.select("system", "intent").unique().sort("system", "intent")
    cells = cells.with_columns(
        _cell=pl.Series(
            [
                float(stream(seed, "simulate", "cell", s, i, question).normal(0.0, options.cell_sd))
                for s, i in cells.rows()
            ],
            dtype=pl.Float64,
        ),
        _noise=pl.Series(
            [
                options.systems[s].noise if s in options.systems else options.stimulus_sd
                for s in cells["system"]
            ],
            dtype=pl.Float64,
        ),
    )
    own = stimuli.select("stimulus").sort("stimulus")
    draws = stream(seed, "simulate", "stimulus", question).standard_normal(own.height)
    gain = {s: c.gain.get(question, 1.0) for s, c in convey.items()}
    shift = {s: c.shift.get(question, 0.0) for s, c in convey.items()}
    frame = stimuli.select(
        "stimulus", "system", "intent", pl.col(question).cast(pl.Float64).alias("intended")
    )
    frame = frame.join(cells, on=["system", "intent"], how="left", maintain_order="left")
    frame = frame.join(
        own.with_columns(_own=pl.Series(draws)), on="stimulus", how="left", maintain_order="left"
    )
    system = pl.col("system")
    expected = (
        options.neutral
        + system.replace_strict(gain, return_dtype=pl.Float64) * (pl.col("intended") - options.neutral)
        + system.replace_strict(shift, return_dtype=pl.Float64)
    )
    frame = frame.with_columns(question=pl.lit(question), expected=expected)
    frame = frame.with_columns(cell_mean=pl.col("expected") + pl.col("_cell"))
    true = (pl.col("cell_mean") + pl.col("_own") * pl.col("_noise")).clip(options.low, options.high)
    return frame.with_columns(true=true).select(
        "stimulus", "system", "intent", "question", "intended", "expected", "cell_mean", "true"
    )


def _drawn(system: str, question: str, options: TruthOptions, seed: int) -> Conveyance:
    gain, shift = stream(seed, "simulate", "system", system, question).standard_normal(2)
    return Conveyance(
        {question: float(options.gain + options.gain_sd * gain)}, {question: float(options.shift_sd * shift)}
    )


def _check(stimuli: pl.DataFrame, options: TruthOptions) -> None:
    for column in ("stimulus", "system", "intent", *options.questions):
        if column not in stimuli.columns:
            raise InputError(
                f"The stimuli have no column '{column}'.", suggestion(column, stimuli.columns, "They have")
            )
        if stimuli[column].null_count():
            raise InputError(
                f"The column '{column}' of the stimuli has {stimuli[column].null_count()} gaps.",
                "Give every stimulus its system, intent and intended values.",
            )
    if stimuli["stimulus"].n_unique() < stimuli.height:
        raise InputError("Two stimuli share an id.", "Give every stimulus its own row and id.")
    if not all(np.isfinite(stimuli[q].cast(pl.Float64).to_numpy()).all() for q in options.questions):
        raise InputError("An intended value is not a finite number.", "Give every intent finite coordinates.")
