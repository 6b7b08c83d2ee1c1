"""People who verify drafts of a machine: which drafts are right and who looks at them are known.

A draft is right with probability ``accuracy``; otherwise the truth is another value. Whoever notices an error fixes it; who
misses it accepts it. A number is noticed as wrong where it lies further than ``tolerance`` from what the person sees, and
one that is fixed ends up ``anchoring`` of the way back to the draft. Without a draft, people answer what they see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np

from heartfelt.errors import require
from heartfelt.simulate.people import check_shares, kinds_of
from heartfelt.streams import stream
from heartfelt.study import Scale
from heartfelt.study.scales.answer import read_number
from heartfelt.study.scales.scale import Tags

VERIFIER_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "careful": "compares every draft with the stimulus, and misses few errors",
        "sloppy": "glances at the draft, and misses about half of the errors",
        "rubber-stamper": "accepts every draft at once, without looking at the stimulus",
    }
)
_FIX_KEYS = 2
_ANSWER_KEYS = 1
_CHECKING = 0.3
_STAMPING = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierMix:
    """Who verifies, and how good the drafts are. ``shares`` give the kinds other than careful; the rest are careful."""

    shares: Mapping[str, float] = field(default_factory=dict)
    miss: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {"careful": (0.0, 0.15), "sloppy": (0.4, 0.6), "rubber-stamper": (1.0, 1.0)}
    )
    """The least and the largest share of errors that a person of each kind misses."""
    accuracy: float = 0.85
    """The share of drafts that are right."""
    noise: float = 0.05
    """Standard deviation of what people see of a number, and their chance of another word, without a draft."""
    tolerance: float = 0.12
    """Numbers this near to what a person sees are right to them, as a share of the scale's range."""
    anchoring: float = 0.3
    """How far back to the draft a fixed number is, as a share of the way."""
    seconds: float = 4.0
    """Median time for an answer without a draft."""

    def __post_init__(self) -> None:
        check_shares({kind: share for kind, share in self.shares.items() if kind != "careful"}, VERIFIER_KINDS)
        shares = (self.accuracy, self.anchoring, *(part for pair in self.miss.values() for part in pair))
        require(
            all(0.0 <= share <= 1.0 for share in shares) and set(self.miss) == set(VERIFIER_KINDS),
            "The habits of people who verify are impossible.",
            f"Give an accuracy, an anchoring and two shares to miss for {', '.join(VERIFIER_KINDS)}, from 0 to 1.",
        )
        require(
            min(self.noise, self.tolerance) >= 0 and self.seconds > 0,
            "The noise, the tolerance or the time of people who verify is impossible.",
            "Give a noise and a tolerance of 0 or more, and positive seconds.",
        )


@dataclass(frozen=True, slots=True)
class Verifier:
    """One person: their kind, the share of errors they miss, and how their time compares with others'."""

    kind: str
    miss: float
    pace: float


@dataclass(frozen=True, slots=True)
class Verification:
    """What a person makes of a draft. ``value`` is None where the draft is accepted as it is."""

    value: str | float | None
    verdict: Literal["accepted", "fixed"] | None
    """None where no draft was shown."""
    seconds: float
    keystrokes: int


def verifiers(n: int, mix: VerifierMix | None = None, *, seed: int = 0) -> tuple[Verifier, ...]:
    """``n`` people in order of arrival; kinds are met in their exact shares, rounded, at random places."""
    mix = mix or VerifierMix()
    require(n >= 1, f"There are {n} raters.", "Ask for at least one rater.")
    other_kinds = [kind for kind in VERIFIER_KINDS if kind != "careful"]
    kinds = kinds_of(n, other_kinds, mix.shares, stream(seed, "simulate", "verifiers", "kind"))
    kinds = np.where(kinds == "honest", "careful", kinds)
    rng = stream(seed, "simulate", "verifiers", "habits")
    miss, pace = rng.random(n), np.exp(0.3 * rng.standard_normal(n))
    return tuple(
        Verifier(str(kind), low + (high - low) * float(part), float(speed))
        for (low, high), kind, part, speed in zip(
            (mix.miss[str(kind)] for kind in kinds), kinds, miss, pace, strict=True
        )
    )


def field_truth(
    scale: Scale, draft: str, other_answers: Sequence[str], mix: VerifierMix, rng: np.random.Generator
) -> str:
    """What is true of a stimulus, given a machine's draft and the drafts of others: the draft itself if it is right.

    The truth of a wrong draft is another stimulus's draft; of wrong tags, the same with one tag replaced.
    """
    wrong = [answer for answer in other_answers if answer != draft]
    if not wrong or rng.random() < mix.accuracy:
        return draft
    replacement = wrong[int(rng.integers(len(wrong)))]
    if not isinstance(scale, Tags):
        return replacement
    draft_tags, theirs = (text.split(scale.separator) for text in (draft, replacement))
    new = [tag for tag in theirs if tag not in draft_tags]
    return scale.separator.join([*draft_tags[:-1], *new[:1]]) if new else replacement


def verify(
    scale: Scale,
    true: str,
    draft: str | None,
    other_answers: Sequence[str],
    person: Verifier,
    mix: VerifierMix,
    rng: np.random.Generator,
) -> Verification:
    """What a person answers where the truth is ``true``; ``draft`` is None where none was shown."""
    own_answer = _own(scale, true, other_answers, mix, rng)
    took = mix.seconds * person.pace * float(np.exp(0.4 * rng.standard_normal()))
    typing = _ANSWER_KEYS if scale.level != "text" else max(1, len(str(own_answer)))
    if draft is None:
        return Verification(own_answer, None, took, typing)
    noticed = rng.random() >= person.miss
    if person.kind == "rubber-stamper":
        return Verification(None, "accepted", _STAMPING * float(rng.uniform(0.5, 1.5)), 1)
    value, number = read_number(draft) if isinstance(own_answer, float) else None, own_answer
    if value is not None and isinstance(number, float):
        low, high = scale.bounds() or (0.0, 1.0)
        if not noticed or abs(value - number) <= mix.tolerance * (high - low):
            return Verification(None, "accepted", _CHECKING * took, 1)
        fixed = _on_scale(scale, number + mix.anchoring * (value - number))
        return Verification(fixed, "fixed", took, _FIX_KEYS + typing)
    if not noticed or draft == true:
        return Verification(None, "accepted", _CHECKING * took, 1)
    return Verification(true, "fixed", took, _FIX_KEYS + typing)


def _own(
    scale: Scale, true: str, other_answers: Sequence[str], mix: VerifierMix, rng: np.random.Generator
) -> str | float:
    """What a person answers by themselves."""
    number, bounds = read_number(true), scale.bounds()
    if number is not None and bounds is not None and not scale.codes():
        return _on_scale(scale, number + mix.noise * (bounds[1] - bounds[0]) * float(rng.standard_normal()))
    if other_answers and rng.random() < mix.noise:
        return other_answers[int(rng.integers(len(other_answers)))]
    return true


def _on_scale(scale: Scale, number: float) -> float:
    bounds = scale.bounds() or (-np.inf, np.inf)
    step = 1.0 if getattr(scale, "points", None) else getattr(scale, "step", None) or 0.01
    return float(np.clip(round(round(number / step) * step, 6), *bounds))
