"""What raters add to votes: how far they widen the error of agreement, and what unequal skill does to labels.

*Inflation*: the variance of the pairwise agreement, with items and raters both as samples (two-way clusters),
over its variance with items alone. Votes of a few raters who each vote often are not independent.

*Fixed panels*: a mixture takes an item's votes as drawn from one distribution, whoever votes. Where the same few
people vote on everything and differ in skill, their votes vary less than that: three experts and two guessers
outvote the guessers every time, while five votes drawn from such a crowd sometimes hold four guesses. The gain is
the difference between the two, with every rater's skill (the chance to answer with the item's category rather
than at random) found from their agreement with the others on the items they share.
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.reliability.design import Design
from heartfelt.stats.reliability.vote_mixture import Matrix
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import stream

PANELS = 4_000
LARGEST_POOL = 10
"""Raters per vote on an item, beyond which panels are as good as drawn from a crowd."""
LEAST_RATINGS = 15


def agreement_excess(d: Design, counts: Matrix) -> Floats:
    """For each rating, the number of the item's other ratings that agree less the number expected."""
    others = d.per_item[d.item] - 1.0
    agreeing = counts[d.item, d.value.astype(np.int64)] - 1.0
    total = float(others.sum())
    return agreeing - (float(agreeing.sum()) / total if total > 0 else 0.0) * others


def critical_value(d: Design, counts: Matrix, confidence: float) -> float:
    """Squared t quantile times the inflation: what a squared error in units of the items' own may reach."""
    from scipy.special import stdtrit

    excess = agreement_excess(d, counts)
    items = np.bincount(d.item, excess, minlength=len(d.items)) / 2.0
    raters = np.bincount(d.rater, excess, minlength=len(d.raters))
    of_items = float(items @ items) * len(d.items) / max(len(d.items) - 1, 1)
    of_raters = max(
        float(raters @ raters) * len(d.raters) / max(len(d.raters) - 1, 1) - float(excess @ excess), 0.0
    )
    if of_items <= 0.0:
        inflation, freedom = 1.0, float(max(len(d.items) - 1, 1))
    else:
        inflation = (of_items + of_raters) / of_items
        parts = of_items**2 / max(len(d.items) - 1, 1) + of_raters**2 / max(len(d.raters) - 1, 1)
        freedom = (of_items + of_raters) ** 2 / parts
    return float(stdtrit(max(freedom, 1.0), 0.5 + confidence / 2) ** 2 * inflation)


def fixed_panel_gain(d: Design, counts: Matrix, seed: int) -> float:
    """How much more often these raters' winner is right than that of votes drawn from all of them alike."""
    raters, votes = len(d.raters), int(np.median(d.per_item))
    if votes < 2 or raters > LARGEST_POOL * votes or float(np.median(d.per_rater)) < LEAST_RATINGS:
        return 0.0
    skill = _skills(d, counts)
    rng = stream(seed, "ceiling", "fixed panels")
    k = counts.shape[1]
    starts = np.concatenate([[0], np.cumsum(d.per_item)])
    order = np.argsort(d.item, kind="stable")
    panels = rng.choice(np.flatnonzero(d.per_item > 0), PANELS)
    size = d.per_item[panels]
    place: Ints = np.repeat(np.arange(PANELS, dtype=np.int64), size)
    within = np.arange(place.size) - np.repeat(np.concatenate([[0], np.cumsum(size)[:-1]]), size)
    own = skill[d.rater[order[starts[panels][place] + within]]]
    anyone = skill[d.rater[rng.integers(0, d.size, place.size)]]
    chance, guess = rng.random(place.size), rng.integers(0, k, place.size)
    right, drawn = (_share_right(np.where(chance < s, 0, guess), place, k) for s in (own, anyone))
    return max(right - drawn, 0.0)


def _share_right(answer: Ints, panel: Ints, k: int) -> float:
    """Share of panels with a winner whose winner is category 0."""
    votes = np.bincount(panel * k + answer, minlength=PANELS * k).reshape(PANELS, k)
    top = votes.max(axis=1)
    alone = (votes == top[:, None]).sum(axis=1) == 1
    return float(np.mean(votes[alone, 0] == top[alone])) if alone.any() else 0.0


def _skills(d: Design, counts: Matrix) -> Floats:
    """Each rater's chance to answer with the item's category rather than at random, between 0 and 1.

    Two raters agree beyond chance by the product of their skills, so a rater's excess agreement over the summed
    skills of those they share items with is their own; a few rounds settle it.
    """
    base = counts.sum(axis=0) / counts.sum()
    chance = float(base @ base)
    if chance >= 1.0:
        return np.ones(len(d.raters))
    others = d.per_item[d.item] - 1.0
    agreeing = counts[d.item, d.value.astype(np.int64)] - 1.0
    beyond = np.bincount(d.rater, (agreeing - chance * others) / (1.0 - chance), minlength=len(d.raters))
    skill = np.full(len(d.raters), 0.7)
    for _ in range(50):
        item = np.bincount(d.item, skill[d.rater], minlength=len(d.items))
        company = np.bincount(d.rater, item[d.item] - skill[d.rater], minlength=len(d.raters))
        solved = np.clip(beyond / np.maximum(company, 1e-9), 0.0, 1.0)
        skill = 0.5 * (skill + solved)
    return skill
