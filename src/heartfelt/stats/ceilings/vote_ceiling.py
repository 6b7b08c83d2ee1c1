"""The ceiling of category labels: what somebody who knows every item's long-run votes would score.

A label is the category with strictly the most votes; a tied item has none and is not scored. The oracle
answers each item's long-run most frequent category. Its expected score on the labels that exist is a
quantity of the mixture that describes the items' votes:

| metric | quantity |
|---|---|
| accuracy | chance that the long-run category wins outright, over the chance that any does |
| balanced accuracy | the same for each label category, averaged |
| macro F1 | F1 of each label category, averaged |

Two mixtures are fitted without assuming a shape: one to the two largest counts of each item (`vote_profiles`)
and one to whole rows of votes (`vote_mixture`). Both are nonparametric and take some sampling noise for
differences between items, which makes labels look less certain than they are: whole rows more so the more
categories there are, two counts always less. So the value is the larger of the two, and the bounds are those
of profile likelihood: the upper from the two largest counts, the lower from whichever fit gives the higher
one, since rows know more where categories differ in frequency. With two categories both are the same, and
rows are used. ``UPPER`` widens the likelihood's range upwards: where items are all alike the truth is an edge
of what the mixture can say, with several directions in which noise can move it (a mixture of chi-squares with
several degrees of freedom; twice the 95% point of one is that of three, three times it that of five, for two
and for more categories). To both ends is added the chance of the oracle's own score on as many labels.

*Raters*: votes of a few raters who each vote often are not independent. The inflation is the variance of the
pairwise agreement, with items and raters both as samples (two-way clusters), over its variance with items
alone. And a mixture takes an item's votes as drawn from one distribution, whoever votes. Where the same few
people vote on everything and differ in skill, their votes vary less than that: three experts and two guessers
outvote the guessers every time, while five votes drawn from such a crowd sometimes hold four guesses. The
gain of a fixed panel is the difference between the two, with every rater's skill (the chance to answer with
the item's category rather than at random) found from their agreement with the others on the items they share.

*Half panels*: votes of each item are dealt into two halves, and the agreement of the halves' winners is compared with
what the mixture predicts. A mixture that misses it does not describe the votes; its interval is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from heartfelt.stats._bounds import satterthwaite
from heartfelt.stats.ceilings.vote_mixture import (
    MOST_VOTES,
    Matrix,
    Mixture,
    Quantity,
    drawn_wins,
    fit_clearness,
    fit_votes,
    panel_chances,
)
from heartfelt.stats.ceilings.yardsticks import CategoryMetric, winners
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import Ratings
from heartfelt.streams import stream

Panels: TypeAlias = tuple[Ints, Floats]
"""Panel sizes and the share of items with each."""
UPPER_OF_TWO, UPPER = 2.0, 3.0
CHI_SQUARE = 3.841458820694124
PANEL_SIZES = 5
SPLITS = 4
DRAWS = 500
CLOSE = 0.02
PANELS = 4_000
LARGEST_POOL = 10
"""Raters per vote on an item, beyond which panels are as good as drawn from a crowd."""
LEAST_RATINGS = 15
INTERVAL = "profile likelihood of the mixture, widened for raters and for chance in the labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfPanels:
    """How often the winners of two halves of an item's votes agree, where both halves have one."""

    observed: float
    predicted: float
    standard_error: float
    items: int
    panels: Panels

    @property
    def fits(self) -> bool:
        """Whether the prediction is within three standard errors, or within .02."""
        return abs(self.observed - self.predicted) <= max(3.0 * self.standard_error, CLOSE)


@dataclass(frozen=True, slots=True)
class VoteCeiling:
    """The oracle's expected score with its bounds, and the check against half panels."""

    estimate: Estimate
    labels: int
    half_panels: HalfPanels | None


def vote_ceiling(
    counts: Matrix, metric: CategoryMetric, critical: float, confidence: float, seed: int, gain: float = 0.0
) -> VoteCeiling:
    """The ceiling of labels made from votes per item and category.

    ``critical`` is the critical value of the squared standardised error (3.84 for independent votes and a
    confidence of .95); it grows with the share of the error that is due to raters. ``gain`` is what a fixed
    panel adds (``fixed_panel_gain``): half of it is added to the value, all of it to the upper bound.
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    votes = counts.sum(axis=1).astype(np.int64)
    won = winners(counts)
    labels = int(np.count_nonzero(won >= 0))
    if counts.shape[1] == 1:
        counts = np.column_stack([counts, np.zeros(counts.shape[0])])
    points, rows = fit_votes(counts, seed)
    panels = panel_sizes(votes)
    wins = _wins(points, panels, seed)
    of_rows = expected_ratio(wins.max(axis=1), wins.sum(axis=1))
    categories = np.unique(won[won >= 0]) if labels else np.arange(counts.shape[1])
    quantity = of_rows if metric == "accuracy" else by_category(wins, wins.argmax(axis=1), categories, metric)
    drop = critical / 2.0
    halves = _halves(counts, critical / CHI_SQUARE, seed)
    by_rows = None if halves is None else replace(halves, predicted=_same_winner(points, rows, halves.panels))
    if counts.shape[1] == 2:
        value, checked = quantity(rows.spread)[0], by_rows
        low, high = rows.bound(quantity, drop, -1.0), rows.bound(quantity, UPPER_OF_TWO * drop, 1.0)
    else:
        clearness = fit_clearness(thinned(counts, votes, seed))
        fits = by_rows is None or by_rows.fits
        both = _Both(clearness=clearness, rows=rows, of_rows=of_rows, categories=counts.shape[1], rows_fit=fits)
        value, low, high = both.accuracy(panels, drop)
        checked = None if halves is None else replace(halves, predicted=both.same_winner(halves.panels))
        if metric != "accuracy":
            value, low, high = both.other_metric(quantity, (value, low, high), drop)
            checked = by_rows
    value = min(max(value, low), high)
    value, high = min(value + gain / 2.0, 1.0), min(high + gain, 1.0)
    low, high = with_chance(value, low, high, labels, confidence)
    estimate = Estimate(value=value, method=metric).with_interval(low, high, INTERVAL, confidence)
    return VoteCeiling(estimate, labels, checked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """The fits to the two largest counts and to whole rows, together."""

    clearness: Mixture
    rows: Mixture
    of_rows: Quantity
    categories: int
    rows_fit: bool

    def accuracy(self, panels: Panels, drop: float) -> tuple[float, float, float]:
        of_two = expected_ratio(self._chances(panels)[0], self._chances(panels)[1])
        value = of_two(self.clearness.spread)[0]
        high = self.clearness.bound(of_two, UPPER * drop, 1.0)
        low = self.clearness.bound(of_two, drop, -1.0)
        if self.rows_fit:
            value = max(value, self.of_rows(self.rows.spread)[0])
            high = max(high, self.of_rows(self.rows.weights)[0])
            low = max(low, self.rows.bound(self.of_rows, UPPER * drop, -1.0) - CLOSE)
        return value, min(low, value), high

    def other_metric(
        self, quantity: Quantity, accuracy: tuple[float, float, float], drop: float
    ) -> tuple[float, float, float]:
        """Value and bounds of another quantity of rows, over mixtures as unlikely as the accuracy's bounds are."""
        value, low, high = accuracy
        at, _ = self.rows.reaching(self.of_rows, value)
        _, lost_below = self.rows.reaching(self.of_rows, low, -1.0)
        _, lost_above = self.rows.reaching(self.of_rows, high)
        return (
            quantity(at)[0],
            self.rows.bound(quantity, max(lost_below, UPPER * drop), -1.0),
            self.rows.bound(quantity, max(lost_above, UPPER * drop), 1.0),
        )

    def same_winner(self, panels: Panels) -> float:
        """Chance that two panels have the same winner, given that both have one."""
        _, outright, same = self._chances(panels, 2)
        return expected_ratio(same, outright)(self.clearness.weights)[0]

    def _chances(self, panels: Panels, power: int = 1) -> tuple[Floats, Floats, Floats]:
        """Mean chances over the panel sizes: of the leader, of any winner (to a power), and of the same winner twice."""
        parts = [panel_chances(self.categories, n)[1:] for n in panels[0].tolist()]
        leader, outright, same = (np.stack(part) for part in zip(*parts, strict=True))
        return panels[1] @ leader, panels[1] @ outright**power, panels[1] @ same


def with_chance(value: float, low: float, high: float, labels: int, confidence: float) -> tuple[float, float]:
    """Bounds widened by the chance of a score on so many labels."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2))

    def wider(end: float) -> float:
        # Agresti and Coull's two successes and failures keep a share of one from having no error.
        share = (labels * end + 2.0) / (labels + 4.0)
        error = z * float(np.sqrt(share * (1.0 - share) / (labels + 4.0)))
        return float(np.hypot(end - value, error))

    return max(value - wider(low), 0.0), min(value + wider(high), 1.0)


def panel_sizes(votes: Ints) -> Panels:
    """At most a few panel sizes that stand for all of them, and the share of items with each."""
    sizes, times = np.unique(votes, return_counts=True)
    if sizes.size > PANEL_SIZES:
        parts = np.array_split(np.sort(votes), PANEL_SIZES)
        sizes, times = np.unique([int(np.median(part)) for part in parts], return_counts=True)
    return sizes.astype(np.int64), times / times.sum()


def _wins(points: Matrix, panels: Panels, seed: int) -> Matrix:
    """Chance that each category wins outright under each distribution, over the panel sizes."""
    from heartfelt.stats.ceilings import _kernels_votes as kernels

    out = np.zeros_like(points)
    rng = stream(seed, "ceiling", "large panels")
    for n, share in zip(*(part.tolist() for part in panels), strict=True):
        if n <= MOST_VOTES:
            out += share * kernels.outright_wins(points, n)
        else:
            out += share * np.stack([drawn_wins(rng, n, point, DRAWS) for point in points])
    return out


def expected_ratio(top: Floats, below: Floats) -> Quantity:
    """The ratio of two expectations over a mixture, from their values under each candidate."""

    def quantity(weights: Floats) -> tuple[float, Floats]:
        a, b = float(top @ weights), max(float(below @ weights), 1e-300)
        return a / b, (top - a / b * below) / b

    return quantity


def by_category(wins: Matrix, answer: Ints, categories: Ints, metric: CategoryMetric) -> Quantity:
    """Balanced accuracy or macro F1 of the answers over the categories that occur as labels."""
    outright = wins.sum(axis=1)
    parts = []
    for j in categories.tolist():
        winners_here = wins[:, j]
        met = (answer == j) * winners_here
        if metric == "macro_f1":
            met, winners_here = 2.0 * met, winners_here + (answer == j) * outright
        parts.append(expected_ratio(met, winners_here))

    def quantity(weights: Floats) -> tuple[float, Floats]:
        values, slopes = zip(*(part(weights) for part in parts), strict=True)
        return float(np.mean(values)), np.mean(slopes, axis=0)

    return quantity


def thinned(counts: Matrix, votes: Ints, seed: int) -> Matrix:
    """The counts with no more than ``MOST_VOTES`` votes of any item."""
    many = votes > MOST_VOTES
    if not many.any():
        return counts
    out = counts.copy()
    out[many] = _sampled_votes(counts[many], np.full(int(many.sum()), MOST_VOTES), stream(seed, "ceiling", "thinning"))
    return out


def _sampled_votes(counts: Matrix, size: Ints, rng: np.random.Generator) -> Matrix:
    """So many of each item's votes, drawn without replacement."""
    remaining = counts.sum(axis=1).astype(np.int64)
    wanted = size.astype(np.int64).copy()
    out = np.zeros_like(counts)
    for j in range(counts.shape[1]):
        category_votes = counts[:, j].astype(np.int64)
        sampled = rng.hypergeometric(category_votes, remaining - category_votes, wanted)
        out[:, j] = sampled
        remaining, wanted = remaining - category_votes, wanted - sampled
    return out


def _halves(counts: Matrix, inflation: float, seed: int) -> HalfPanels | None:
    """Agreement of random halves' winners; None where no item has two votes or no two halves a winner."""
    votes = counts.sum(axis=1).astype(np.int64)
    half = np.minimum(votes // 2, MOST_VOTES)
    rows = half > 0
    if not rows.any():
        return None
    counts, half = counts[rows], half[rows]
    rng = stream(seed, "ceiling", "half panels")
    agree, both = np.zeros(half.size), np.zeros(half.size)
    for _ in range(SPLITS):
        first = _sampled_votes(counts, half, rng)
        second = _sampled_votes(counts - first, half, rng)
        a, b = winners(first), winners(second)
        both += (a >= 0) & (b >= 0)
        agree += (a >= 0) & (a == b)
    if both.sum() == 0:
        return None
    observed = float(agree.sum() / both.sum())
    error = float(np.sqrt(((agree - observed * both) ** 2).sum()) / both.sum() * np.sqrt(inflation))
    return HalfPanels(
        observed=observed,
        predicted=observed,
        standard_error=error,
        items=int((both > 0).sum()),
        panels=panel_sizes(half),
    )


def _same_winner(points: Matrix, rows: Mixture, panels: Panels) -> float:
    """Chance that two panels have the same winner, given that both have one."""
    from heartfelt.stats.ceilings import _kernels_votes as kernels

    wins = [kernels.outright_wins(points, n) for n in panels[0].tolist()]
    met = panels[1] @ np.stack([(panel_wins**2).sum(axis=1) for panel_wins in wins])
    outright = panels[1] @ np.stack([panel_wins.sum(axis=1) ** 2 for panel_wins in wins])
    return expected_ratio(met, outright)(rows.weights)[0]


def _other_votes(d: Ratings, counts: Matrix) -> tuple[Floats, Floats]:
    """For each rating, how many others its item has, and how many of those agree."""
    return np.asarray(d.per_item[d.item] - 1.0, np.float64), counts[d.item, d.value.astype(np.int64)] - 1.0


def critical_value(d: Ratings, counts: Matrix, confidence: float) -> float:
    """Squared t quantile times the inflation: what a squared error in units of the items' own may reach."""
    from scipy.special import stdtrit

    other_votes, agreeing = _other_votes(d, counts)
    excess = agreeing - float(agreeing.sum()) / max(float(other_votes.sum()), 1.0) * other_votes
    items = np.bincount(d.item, excess, minlength=len(d.items)) / 2.0
    raters = np.bincount(d.rater, excess, minlength=len(d.raters))
    free_items, free_raters = max(len(d.items) - 1, 1), max(len(d.raters) - 1, 1)
    of_items = float(items @ items) * len(d.items) / free_items
    of_raters = float(raters @ raters) * len(d.raters) / free_raters - float(excess @ excess)
    of_raters = max(of_raters, 0.0)
    inflation, freedom = 1.0, float(free_items)
    if of_items > 0.0:
        inflation = (of_items + of_raters) / of_items
        freedom = satterthwaite((of_items, free_items), (of_raters, free_raters))
    return float(stdtrit(max(freedom, 1.0), 0.5 + confidence / 2) ** 2 * inflation)


def fixed_panel_gain(d: Ratings, counts: Matrix, seed: int) -> float:
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
    panel: Ints = np.repeat(np.arange(PANELS, dtype=np.int64), size)
    within = np.arange(panel.size) - np.repeat(np.concatenate([[0], np.cumsum(size)[:-1]]), size)
    panel_skill = skill[d.rater[order[starts[panels][panel] + within]]]
    anyone = skill[d.rater[rng.integers(0, d.size, panel.size)]]
    chance, guess = rng.random(panel.size), rng.integers(0, k, panel.size)
    right, right_by_anyone = (_share_right(np.where(chance < s, 0, guess), panel, k) for s in (panel_skill, anyone))
    return max(right - right_by_anyone, 0.0)


def _share_right(answer: Ints, panel: Ints, k: int) -> float:
    """Share of panels with a winner whose winner is category 0."""
    won = winners(np.bincount(panel * k + answer, minlength=PANELS * k).reshape(PANELS, k))
    return float(np.mean(won[won >= 0] == 0)) if (won >= 0).any() else 0.0


def _skills(d: Ratings, counts: Matrix) -> Floats:
    """Each rater's chance to answer with the item's category rather than at random, between 0 and 1.

    Two raters agree beyond chance by the product of their skills, so a rater's excess agreement over the
    summed skills of those they share items with is their own; a few rounds settle it.
    """
    base = counts.sum(axis=0) / counts.sum()
    chance = float(base @ base)
    if chance >= 1.0:
        return np.ones(len(d.raters))
    other_votes, agreeing = _other_votes(d, counts)
    beyond = np.bincount(d.rater, (agreeing - chance * other_votes) / (1.0 - chance), minlength=len(d.raters))
    skill = np.full(len(d.raters), 0.7)
    for _ in range(50):
        item = np.bincount(d.item, skill[d.rater], minlength=len(d.items))
        company = np.bincount(d.rater, item[d.item] - skill[d.rater], minlength=len(d.raters))
        solved = np.clip(beyond / np.maximum(company, 1e-9), 0.0, 1.0)
        skill = 0.5 * (skill + solved)
    return skill
