"""Simulated raters: how each uses the scale, how much noise they add, and what kind of rater they are.

A careful rater answers ``neutral + bias + gain * (true - neutral) + taste + noise``: ``bias`` and ``gain``
are the rater's use of the scale, ``taste`` is drawn once for a rater and an item and stays the same when it
is shown again, ``noise`` is fresh every time. Other kinds answer without looking, each in its own way;
``KINDS`` says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import polars as pl

from heartfelt.errors import UnknownNameError, require, suggestion
from heartfelt.streams import stream

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "honest": "answers by what the stimulus conveys, through their own use of the scale",
        "random": "picks any point of the scale, all equally likely",
        "straightline": "gives one and the same answer throughout",
        "centre": "stays at the neutral point or next to it",
        "pattern": "walks up or down the scale by a fixed step, and starts over",
        "extreme": "sees which side of neutral the stimulus is on and answers with that end of the scale",
        "ignores-stimulus": "answers with the same mean and spread as an honest rater, about nothing",
        "colluder": "copies another rater's answers in the order they were given, about other stimuli",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterMix:
    """Who the raters are. ``shares`` give the kinds other than honest; the rest are honest.

    ``bias_sd``, ``taste``, ``noise`` are standard deviations in scale points; ``gain_sd`` and
    ``noise_spread`` are spreads between raters on the log scale. ``hazard`` is the chance of leaving after
    any one trial. ``seconds`` is the median time for an answer; ``careless_seconds`` that of raters who do
    not look, where it differs.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    bias_sd: float = 0.7
    question_bias_sd: float = 0.0
    gain_sd: float = 0.2
    taste: float = 0.8
    noise: float = 1.0
    noise_spread: float = 0.3
    hazard: float = 0.0
    seconds: float = 5.0
    seconds_spread: float = 0.3
    careless_seconds: float | None = None

    def __post_init__(self) -> None:
        check_shares(self.shares, KINDS)
        spreads = (self.bias_sd, self.question_bias_sd, self.gain_sd, self.taste, self.noise, self.noise_spread)
        require(
            min(*spreads, self.seconds_spread) >= 0 and 0.0 <= self.hazard < 1.0,
            "A spread is negative or the hazard is not in [0, 1).",
            "Give possible values.",
        )
        times = (self.seconds, self.seconds if self.careless_seconds is None else self.careless_seconds)
        require(min(times) > 0, "An answer cannot take no time.", "Give positive seconds.")


def check_shares(shares: Mapping[str, float], kinds: Mapping[str, str]) -> None:
    """Raise where a kind of rater is unknown, or where the shares of the kinds other than honest are impossible."""
    check_kinds(shares, kinds)
    for kind, share in shares.items():
        require(0.0 <= share <= 1.0, f"A share of {share} {kind} raters is impossible.", "Give shares from 0 to 1.")
    total = sum(share for kind, share in shares.items() if kind != "honest")
    require(total <= 1.0 + 1e-9, "The shares of the kinds of raters pass 1.", "Make them sum to at most 1.")


def check_kinds(kinds: Iterable[str], available: Mapping[str, str]) -> None:
    """Raise where a kind of rater is unknown."""
    for kind in kinds:
        if kind not in available:
            raise UnknownNameError(f"No kind of rater is called '{kind}'.", suggestion(kind, available, "Kinds"))


def raters(n: int, mix: RaterMix | None = None, *, questions: Sequence[str] = (), seed: int = 0) -> pl.DataFrame:
    """``n`` raters in order of arrival, with the parameters planted in each.

    Columns: rater, kind, bias, gain, taste, noise, hazard, pace (median seconds for an answer), colluder_of
    (the rater copied, else empty). With ``questions``, a column ``bias_{question}`` each holds the bias
    under that question. Kinds are met in their exact shares, rounded, at random places.
    """
    mix = mix or RaterMix()
    require(n >= 1, f"There are {n} raters.", "Ask for at least one rater.")
    kinds = kinds_of(n, KINDS, mix.shares, stream(seed, "simulate", "raters", "kind"))
    draw = {part: stream(seed, "simulate", "raters", part) for part in ("bias", "gain", "noise", "pace")}
    bias = mix.bias_sd * draw["bias"].standard_normal(n)
    gain = np.exp(mix.gain_sd * draw["gain"].standard_normal(n) - mix.gain_sd**2 / 2)
    noise = mix.noise * np.exp(mix.noise_spread * draw["noise"].standard_normal(n))
    looking = np.isin(kinds, ["honest", "extreme"])
    median = np.where(looking, mix.seconds, mix.careless_seconds or mix.seconds)
    pace = median * np.exp(mix.seconds_spread * draw["pace"].standard_normal(n))
    names = names_of(n)
    frame = pl.DataFrame(
        {
            "rater": names,
            "kind": kinds.tolist(),
            "bias": bias,
            "gain": gain,
            "taste": np.full(n, float(mix.taste)),
            "noise": noise,
            "hazard": np.full(n, float(mix.hazard)),
            "pace": pace,
            "colluder_of": pl.Series(_copied(names, kinds, seed), dtype=pl.String),
        }
    )
    for question in questions:
        question_bias = stream(seed, "simulate", "raters", "bias", question).standard_normal(n)
        frame = frame.with_columns(pl.Series(f"bias_{question}", bias + mix.question_bias_sd * question_bias))
    return frame


def kinds_of(
    n: int, all_kinds: Iterable[str], shares: Mapping[str, float], rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """A kind for each of ``n`` raters, in their exact shares, rounded, at random places; the rest are honest."""
    other_kinds = [kind for kind in all_kinds if kind != "honest"]
    ends = np.rint(np.cumsum([shares.get(kind, 0.0) for kind in other_kinds]) * n).astype(np.int64)
    kinds = np.full(n, "honest", dtype="U16")
    start = 0
    for kind, end in zip(other_kinds, ends.tolist(), strict=True):
        kinds[start:end] = kind
        start = max(start, end)
    return kinds[rng.permutation(n)]


def names_of(n: int) -> list[str]:
    """Names of ``n`` raters, padded so that they sort in order."""
    return [f"rater_{number:0{len(str(n))}d}" for number in range(1, n + 1)]


def _copied(names: Sequence[str], kinds: np.ndarray[tuple[int], np.dtype[np.str_]], seed: int) -> list[str | None]:
    copied: list[str | None] = [None] * len(names)
    colluders = np.flatnonzero(kinds == "colluder")
    if colluders.size == 0:
        return copied
    sources = np.flatnonzero(kinds == "honest")
    require(sources.size > 0, "There are colluders but nobody honest to copy from.", "Leave a share of honest raters.")
    rng = stream(seed, "simulate", "raters", "copied")
    # Sources are used once before any is used twice: pairs, not one large ring, unless there are too few.
    order = np.concatenate([rng.permutation(sources) for _ in range(-(-colluders.size // sources.size))])
    for colluder, source in zip(colluders.tolist(), order[: colluders.size].tolist(), strict=True):
        copied[colluder] = names[source]
    return copied
