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

import polars as pl

from heartfelt.errors import require
from heartfelt.simulate.conveyed_emotion import ConveyanceProfile
from heartfelt.streams import stream
from heartfelt.tables import need_columns

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
    systems: Sequence[str] = SYSTEMS, intents: Mapping[str, Mapping[str, float]] = INTENTS, *, per_cell: int = 14
) -> pl.DataFrame:
    """``per_cell`` stimuli for every (system, intent), with the intent's coordinates in columns."""
    require(
        min(len(systems), len(intents), per_cell) >= 1,
        f"{len(systems)} systems, {len(intents)} intents and {per_cell} stimuli per cell make no stimuli.",
        "Give at least one of each.",
    )
    return pl.DataFrame(
        [
            {"stimulus": f"{system}_{intent}_{number}", "system": system, "intent": intent, **coordinates}
            for system in systems
            for intent, coordinates in intents.items()
            for number in range(1, per_cell + 1)
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthOptions:
    """What is planted. Standard deviations are in scale points.

    ``systems`` fix a system's conveyance; a system that is not named draws a gain around ``gain`` and a
    shift around zero for each question. A named conveyance's ``noise`` takes the place of ``stimulus_sd``.
    """

    questions: tuple[str, ...] = ("valence", "arousal")
    systems: Mapping[str, ConveyanceProfile] = field(default_factory=dict)
    gain: float = 0.7
    gain_sd: float = 0.15
    shift_sd: float = 0.4
    cell_sd: float = 0.3
    stimulus_sd: float = 0.5
    neutral: float = 5.0
    low: float = 1.0
    high: float = 9.0

    def __post_init__(self) -> None:
        require(
            min(self.gain_sd, self.shift_sd, self.cell_sd, self.stimulus_sd) >= 0,
            "A planted standard deviation is negative.",
            "Give standard deviations of 0 or more.",
        )
        require(
            self.low <= self.neutral <= self.high and len(self.questions) > 0,
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
    return pl.concat([_under(stimuli, question, options, seed) for question in options.questions])


def _under(stimuli: pl.DataFrame, question: str, options: TruthOptions, seed: int) -> pl.DataFrame:
    systems = stimuli["system"].unique().to_list()
    convey = {name: options.systems.get(name) or _drawn(name, question, options, seed) for name in systems}
    noise = {s: options.systems[s].noise if s in options.systems else options.stimulus_sd for s in systems}

    def of_system(values: Mapping[str, float]) -> pl.Expr:
        return pl.col("system").replace_strict(values, return_dtype=pl.Float64)

    cells = stimuli.select("system", "intent").unique()
    streams = [stream(seed, "simulate", "cell", system, intent, question) for system, intent in cells.rows()]
    cells = cells.with_columns(pl.Series("cell", [rng.normal(0.0, options.cell_sd) for rng in streams], pl.Float64))
    normal = stream(seed, "simulate", "stimulus", question).standard_normal(stimuli.height)
    deviates = normal[stimuli["stimulus"].rank("ordinal").cast(pl.Int64).to_numpy() - 1]
    gain = of_system({name: conveyed.gain.get(question, 1.0) for name, conveyed in convey.items()})
    shift = of_system({name: conveyed.shift.get(question, 0.0) for name, conveyed in convey.items()})
    intended = pl.col(question).cast(pl.Float64)
    return (
        stimuli.select("stimulus", "system", "intent", question=pl.lit(question), intended=intended)
        .with_columns(
            expected=options.neutral + gain * (pl.col("intended") - options.neutral) + shift,
            own=pl.Series(deviates) * of_system(noise),
        )
        .join(cells, on=["system", "intent"], how="left", maintain_order="left")
        .with_columns(cell_mean=pl.col("expected") + pl.col("cell"))
        .with_columns(true=(pl.col("cell_mean") + pl.col("own")).clip(options.low, options.high))
        .drop("own", "cell")
    )


def _drawn(system: str, question: str, options: TruthOptions, seed: int) -> ConveyanceProfile:
    gain, shift = stream(seed, "simulate", "system", system, question).standard_normal(2)
    return ConveyanceProfile(
        {question: float(options.gain + options.gain_sd * gain)}, {question: float(options.shift_sd * shift)}
    )


def _check(stimuli: pl.DataFrame, options: TruthOptions) -> None:
    columns = ("stimulus", "system", "intent", *options.questions)
    need_columns(stimuli.columns, columns, "The table of stimuli")
    for column in columns:
        gaps = stimuli[column].null_count()
        require(
            gaps == 0,
            f"The column '{column}' of the stimuli has {gaps} gaps.",
            "Give every stimulus its system, intent and intended values.",
        )
    unique = stimuli["stimulus"].n_unique() == stimuli.height
    require(unique, "Two stimuli share an id.", "Give every stimulus its own row and id.")
    for question in options.questions:
        finite = stimuli[question].cast(pl.Float64).is_finite().all()
        require(finite, "An intended value is not a finite number.", "Give every intent finite coordinates.")
