"""Answers about sets and courses over time, from planted strengths.

The strength of a stimulus is that of its system plus its own, in log-odds. A rater perceives it with fresh Gumbel noise,
and the stimulus presented first with a side bias on top. So choices follow Bradley and Terry, orders Plackett and Luce:
with a noise of 1 and no bias or ties, the first of two is chosen with probability 1 / (1 + exp(second - first)).

| scale | answer |
|---|---|
| choice | the stimulus perceived as stronger; a tie where both are within ``tie_width`` |
| preference | the perceived difference in steps of ``step_width`` |
| grade, points, numbers | the perceived strength, by a logistic curve over the scale's range |
| rank, best-worst | in the order perceived |
| X of an ABX trial | matched if the difference is noticed (probability 1 - exp(-difference / noise)), else guessed |
| trace | a smooth course that is the stimulus's own, ``lag`` seconds late, with noise that lasts about a second |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import require
from heartfelt.streams import stream
from heartfelt.study import Scale
from heartfelt.study.scales.set_scale import TIE, BestWorst, Choice, Grade, Preference, Ranking, SetScale, Trace

_WAVES = 3
_CLIP_SECONDS = 30.0
_NOISE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class StrengthOptions:
    """What is planted in systems and stimuli, in log-odds; systems that are not named draw their own strength."""

    systems: Mapping[str, float] = field(default_factory=dict)
    system_sd: float = 1.0
    stimulus_sd: float = 0.3

    def __post_init__(self) -> None:
        require(
            min(self.system_sd, self.stimulus_sd) >= 0,
            "A planted standard deviation is negative.",
            "Give standard deviations of 0 or more.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a rater judges sets and clips."""

    noise: float = 1.0
    """Of what is perceived, in units of the standard Gumbel distribution."""
    side_bias: float = 0.0
    """Log-odds in favour of the stimulus presented first."""
    tie_width: float = 0.5
    """Two stimuli perceived as closer than this are a tie, where ties are offered."""
    step_width: float = 0.8
    """The perceived difference that makes one step of a preference."""
    lag: float = 2.0
    """Seconds by which a course over time comes late."""

    def __post_init__(self) -> None:
        require(
            min(self.noise, self.tie_width, self.lag) >= 0 and self.step_width > 0,
            "A habit of a simulated rater is negative.",
            "Give a noise, tie width and lag of 0 or more, and a positive step width.",
        )


def strengths(
    stimuli: pl.DataFrame, options: StrengthOptions | None = None, *, question: str = "", seed: int = 0
) -> pl.DataFrame:
    """The planted strength of every stimulus under a question: stimulus, system, system_strength, strength."""
    options = options or StrengthOptions()
    systems = stimuli["system"].to_list() if "system" in stimuli.columns else [None] * stimuli.height
    rows = []
    for name, system in zip(stimuli["stimulus"].to_list(), systems, strict=True):
        shared = options.systems.get(str(system))
        if shared is None:
            deviate = stream(seed, "simulate", "strength", question, "system", str(system)).standard_normal()
            shared = 0.0 if system is None else options.system_sd * float(deviate)
        own_part = options.stimulus_sd * float(
            stream(seed, "simulate", "strength", question, "stimulus", str(name)).standard_normal()
        )
        rows.append((str(name), system, shared, shared + own_part))
    schema = {"stimulus": pl.String, "system": pl.String, "system_strength": pl.Float64, "strength": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def judge(scale: Scale, planted: Sequence[float], rng: np.random.Generator, habits: Habits | None = None) -> Any:
    """An answer about stimuli of these strengths, in the order shown, as the rating page would send it.

    A scale for single stimuli takes one strength.
    """
    habits = habits or Habits()
    perceived = np.asarray(planted, np.float64) + habits.noise * rng.gumbel(size=len(planted))
    perceived[0] += habits.side_bias if len(planted) > 1 else 0.0
    if isinstance(scale, Choice):
        close = scale.ties and abs(perceived[0] - perceived[1]) < habits.tie_width
        return TIE if close else int(np.argmax(perceived))
    if isinstance(scale, Preference):
        steps = round(float(perceived[1] - perceived[0]) / habits.step_width)
        return max(-scale.steps, min(scale.steps, steps))
    if isinstance(scale, Ranking):
        return np.argsort(-perceived, kind="stable").tolist()
    if isinstance(scale, BestWorst):
        return {"best": int(np.argmax(perceived)), "worst": int(np.argmin(perceived))}
    values = [_on_scale(scale, float(value)) for value in perceived]
    return values if isinstance(scale, SetScale) else values[0]


def _on_scale(scale: Scale, perceived: float) -> float:
    bounds = scale.bounds()
    require(bounds is not None, "This scale has no ends to answer between.", "Give it a low and a high end.")
    assert bounds is not None
    low, high = bounds
    step = scale.step if isinstance(scale, Grade) else 1.0 if scale.whole else 0.0
    value = low + (high - low) / (1.0 + math.exp(-perceived))
    value = low + round((value - low) / step) * step if step else value
    return int(value) if scale.whole else min(high, value)


def match(x_position: int, difference: float, rng: np.random.Generator, habits: Habits | None = None) -> int:
    """The answer in an ABX trial: ``x_position`` is where X was presented (0 for A), ``difference`` that of the strengths."""
    habits = habits or Habits()
    noticed = rng.random() < 1.0 - math.exp(-abs(difference) / max(habits.noise, 1e-9))
    return x_position if noticed else int(rng.random() < 0.5)


def course(stimulus: str, question: str, times: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """What a stimulus conveys at every moment, from -1 to 1: slow waves of its own."""
    rng = stream(seed, "simulate", "course", question, stimulus)
    level, height = rng.uniform(-0.4, 0.4), rng.uniform(0.2, 0.5, _WAVES) / _WAVES
    period, phase = rng.uniform(6.0, 30.0, _WAVES), rng.uniform(0.0, 2 * np.pi, _WAVES)
    waves = height * np.sin(2 * np.pi * times[:, None] / period + phase)
    return np.asarray(np.clip(level + waves.sum(axis=1), -1.0, 1.0), np.float64)


def trace(
    scale: Trace,
    stimulus: str,
    question: str,
    duration: float | None,
    rng: np.random.Generator,
    habits: Habits | None = None,
    *,
    seed: int = 0,
) -> dict[str, list[float | None]]:
    """A rater's course while the clip plays, as the rating page would send it; empty until the first move."""
    habits = habits or Habits()
    size = max(1, math.floor((duration or _CLIP_SECONDS) * scale.rate))
    times = np.arange(size) / scale.rate
    fresh = 0.1 * habits.noise * rng.standard_normal(size)
    keep = math.exp(-1.0 / (_NOISE_SECONDS * scale.rate))
    for at in range(1, size):
        fresh[at] = keep * fresh[at - 1] + math.sqrt(1.0 - keep * keep) * fresh[at]
    felt = np.clip(course(stimulus, question, np.maximum(times - habits.lag, 0.0), seed) + fresh, -1.0, 1.0)
    values = np.round(scale.low + (scale.high - scale.low) * (felt + 1.0) / 2.0, 4)
    samples: list[float | None] = values.tolist()
    still = min(size - 1, int(rng.uniform(0.2, 1.0) * scale.rate))
    return {"samples": [None] * still + samples[still:]}
