"""Response time: a rater's median time for an answer, without the time the clip itself takes.

The rating's ``seconds`` are taken as net of the clip, unless at least 95% of them reach their stimulus's duration:
then they include it, and it is taken off (the setting ``seconds`` says ``net`` or ``gross`` outright). The logarithm
of the median is held against the panel's norm; its sampling error is 1.2533 s / sqrt(n) for answers that scatter by
``s``. Unit: seconds. Only fast raters are flagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.screening.against_norm import Measure, hold
from heartfelt.screening.norm import Standing
from heartfelt.screening.rule import RULES, Rule, RuleOptions, Setting
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import chance, number
from heartfelt.stats.triples import Floats

LEAST_ANSWERS = 5
LEAST_SECONDS = 0.05
_WAYS = ("auto", "net", "gross")


class ResponseTime(Rule):
    """How fast a rater answers."""

    name: ClassVar[str] = "response-time"
    about: ClassVar[str] = "median time for an answer net of the clip, against the panel's norm"
    statistic: ClassVar[str] = "median seconds for an answer"
    settings: ClassVar[Mapping[str, Setting]] = {
        "seconds": (
            "auto",
            "whether the recorded seconds are net of the clip, gross, or to be told from the data (auto)",
        )
    }

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater."""
        way = str(options.settings.get("seconds", "auto"))
        if way not in _WAYS:
            raise InputError(f"Seconds cannot be taken as '{way}'.", suggestion(way, _WAYS, "Choices"))
        if view.seconds is None:
            return self.cannot("no response times were recorded")
        seconds, gross = net_seconds(view, way)
        return hold(self, view, [_measure(view, seconds, gross)], "low", options.alpha)


def net_seconds(view: RatingsView, way: str = "auto") -> tuple[Floats, bool]:
    """Seconds without the clip, and whether the clip's duration had to be taken off."""
    assert view.seconds is not None
    duration = np.full(len(view.stimulus_names), np.nan)
    if "duration" in view.stimuli.columns:
        known = dict(view.stimuli.select("stimulus", "duration").drop_nulls().iter_rows())
        duration = np.array([known.get(name, np.nan) for name in view.stimulus_names], dtype=np.float64)
    clip = duration[view.stimulus]
    both = np.isfinite(clip) & np.isfinite(view.seconds)
    gross = way == "gross" or (
        way == "auto" and bool(both.any()) and float(np.mean(view.seconds[both] >= clip[both])) >= 0.95
    )
    net = view.seconds - np.where(np.isfinite(clip), clip, 0.0) if gross else view.seconds
    return np.where(np.isfinite(net), np.maximum(net, LEAST_SECONDS), np.nan), gross


def _measure(view: RatingsView, seconds: Floats, gross: bool) -> Measure:
    rows = np.flatnonzero(np.isfinite(seconds))
    rater, log = view.rater[rows], np.log(seconds[rows])
    order = np.lexsort((log, rater))
    rater, log = rater[order], log[order]
    n = np.bincount(rater, minlength=len(view.raters))
    start = np.cumsum(n) - n
    asked = np.flatnonzero(view.ratings_of)
    enough = n[asked] >= LEAST_ANSWERS
    middle = np.full(asked.size, np.nan)
    some = np.flatnonzero(n[asked] > 0)
    low, high = (start + (n - 1) // 2)[asked[some]], (start + n // 2)[asked[some]]
    middle[some] = (log[low] + log[high]) / 2
    mean = np.bincount(rater, log, len(view.raters)) / np.maximum(n, 1)
    variance = np.bincount(rater, (log - mean[rater]) ** 2, len(view.raters)) / np.maximum(n - 1, 1)
    error = 1.2533 * np.sqrt(variance[asked] / np.maximum(n[asked], 1))

    def sentence(place: int, stand: Standing) -> str:
        off = " after taking off the clip" if gross else ""
        return (
            f"Takes {number(float(np.exp(middle[place])))} s for an answer{off}, where the raters' median is"
            f" {number(float(np.exp(stand.centre)))} s ({chance(float(stand.p[place]))})."
        )

    why = [None if ok else f"fewer than {LEAST_ANSWERS} response times" for ok in enough]
    return Measure(None, asked, np.where(enough, middle, np.nan), error, n[asked], why, sentence, np.exp)


RULES.add(ResponseTime.name, ResponseTime())
