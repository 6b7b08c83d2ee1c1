"""How faithfully a system conveys what it was asked to convey: a gain around the neutral point, and a shift.

``conveyed = neutral + gain * (intended - neutral) + shift + noise``, on the scale of the intent's
coordinates. A gain below one draws every intent towards neutral; a shift moves them all one way. The
built-in generators render by such a profile and the simulation plants one, so both can be recovered from the
ratings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from heartfelt.errors import InputError, UnknownNameError, suggestion
from heartfelt.streams import stream


@dataclass(frozen=True, slots=True)
class ConveyanceProfile:
    """A system's profile: ``gain`` and ``shift`` by question, and the spread of its single stimuli."""

    gain: Mapping[str, float] = field(default_factory=dict)
    shift: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.0

    def __post_init__(self) -> None:
        if self.noise < 0:
            raise InputError(
                f"A conveyance noise of {self.noise} is negative.", "Give a standard deviation, 0 or more."
            )

    def expected(self, question: str, intended: float, neutral: float = 5.0) -> float:
        """What is conveyed on average. A question that is not named is conveyed in full and unmoved."""
        return neutral + self.gain.get(question, 1.0) * (intended - neutral) + self.shift.get(question, 0.0)


def profile(
    valence_gain: float, valence_shift: float, arousal_gain: float, arousal_shift: float, noise: float
) -> ConveyanceProfile:
    gain = {"valence": valence_gain, "arousal": arousal_gain}
    return ConveyanceProfile(gain, {"valence": valence_shift, "arousal": arousal_shift}, noise)


class SystemWithProfile(Protocol):
    """One of a generator's systems: it conveys with its own faithfulness."""

    @property
    def conveyance(self) -> ConveyanceProfile:
        """Its profile."""


S = TypeVar("S")


def system_of(generator: str, name: str, systems: Mapping[str, S]) -> S:
    """The system of that name, or an error that lists those the generator has."""
    if name not in systems:
        raise UnknownNameError(
            f"The generator '{generator}' has no system called '{name}'.", suggestion(name, systems, "It has")
        )
    return systems[name]


def conveyed(
    generator: str,
    systems: Mapping[str, SystemWithProfile],
    valence: float,
    arousal: float,
    *,
    system: str,
    seed: int = 0,
    name: str = "",
) -> tuple[float, float]:
    """The valence and arousal (1 to 9) that a generator's system puts into the stimulus ``name``, noise included."""
    for value in (valence, arousal):
        if not 1.0 <= value <= 9.0:
            raise InputError(f"An intended value of {value:g} is off the scale.", "Give valence and arousal on 1 to 9.")
    rng = stream(seed, "make", generator, "conveyed", system, name)
    conveyance = system_of(generator, system, systems).conveyance
    noise = rng.normal(0.0, conveyance.noise, 2)
    felt = conveyance.expected("valence", valence) + noise[0]
    awake = conveyance.expected("arousal", arousal) + noise[1]
    return min(max(float(felt), 1.0), 9.0), min(max(float(awake), 1.0), 9.0)
