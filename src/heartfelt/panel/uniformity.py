"""How uniform a careful rater's answers may be, learnt from the panel.

``match`` is the chance that two answers of a rater to one question, picked at random, are equal. Raters use a scale
more or less widely, so the limit is not the average match but that of a plausible narrow rater: the panel's robust
centre on the logit scale plus ``NARROW`` robust standard deviations. Only a minority beyond it is odd.
"""

from __future__ import annotations

import numpy as np

from heartfelt.panel.norm import LEAST_RATERS
from heartfelt.panel.view import RatingsView
from heartfelt.stats.triples import Floats

NARROW = 2.33
LEAST_ANSWERS = 5


def match_chances(view: RatingsView) -> tuple[Floats, Floats]:
    """For each (question, rater): the chance that two of their answers are equal (NaN below 5), and how many there are."""
    questions, raters = len(view.questions), len(view.raters)
    rows = np.flatnonzero(view.first)
    owner = view.question[rows] * raters + view.rater[rows]
    _, level = np.unique(view.value[rows], return_inverse=True)
    width = int(level.max()) + 1 if level.size else 1
    _, where, times = np.unique(owner * width + level, return_index=True, return_counts=True)
    pairs = np.bincount(owner[where], times * (times - 1.0), minlength=questions * raters)
    n = np.bincount(owner, minlength=questions * raters).astype(np.float64)
    match = np.where(n >= LEAST_ANSWERS, pairs / np.maximum(n * (n - 1), 1), np.nan)
    return match.reshape(questions, raters), n.reshape(questions, raters)


def narrow_match(match: Floats, n: Floats) -> float | None:
    """The match chance of a plausible narrow rater among ``match``; None if the raters give no norm."""
    known = np.isfinite(match)
    if np.count_nonzero(known) < LEAST_RATERS:
        return None
    pairs = n[known] * (n[known] - 1) / 2
    share = (match[known] * pairs + 0.5) / (pairs + 1.0)
    logit = np.log(share / (1 - share))
    centre = float(np.median(logit))
    spread = 1.4826 * float(np.median(np.abs(logit - centre)))
    if float(np.median(match[known])) >= 1.0:
        return None
    return float(1 / (1 + np.exp(-(centre + NARROW * max(spread, 0.1)))))


def run_chance(run: Floats, n: Floats, match: float) -> Floats:
    """The chance (at most) of a run of ``run`` equal answers somewhere in ``n``, when two answers match so often."""
    expected = match ** np.maximum(run - 1, 0) * (1 + np.maximum(n - run, 0) * (1 - match))
    return np.minimum(1.0, expected)
