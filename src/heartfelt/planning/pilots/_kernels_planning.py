"""Compiled loops of planning: the statistics that the analysis of one simulated study would show.

Every statistic here is the one that ``heartfelt.analysis`` computes from a snapshot; a test compares them on whole studies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heartfelt.stats.compiled.kernel import compiled

Array = Any
HEAD = 10
"""Figures of the whole study, in the order of ``planning.simulation.FIGURES``."""
PER_SYSTEM = 6
"""Figures of each system: its mean, and what the two-way jackknife needs for its interval."""


@compiled
def label_statistics(
    rater: Array,
    stimulus: Array,
    value: Array,
    dropped: Array,
    system: Array,
    intent: Array,
    systems: int,
    intents: int,
    minimum: int,
) -> tuple[Array, Array, Array, Array, Array]:
    """Figures of the study, per system mean and jackknife parts, per stimulus the ratings and mean of its label, and per system
    how its mean changes without each rater (NaN for those who took no part).
    """
    head = np.full(HEAD, np.nan)
    stimuli, raters = system.size, dropped.size
    n = np.zeros(stimuli)
    mean = np.zeros(stimuli)
    for k in range(rater.size):
        if not dropped[rater[k]]:
            n[stimulus[k]] += 1.0
            mean[stimulus[k]] += value[k]
    total, labelled, grand = 0.0, 0, 0.0
    squares_of_n, inverse_n = 0.0, 0.0
    for u in range(stimuli):
        if n[u] < minimum or n[u] < 1.0:
            n[u] = 0.0
            continue
        grand += mean[u]
        mean[u] /= n[u]
        total += n[u]
        squares_of_n += n[u] * n[u]
        inverse_n += 1.0 / n[u]
        labelled += 1
    head[0], head[1] = total, labelled
    parts = np.full((systems, PER_SYSTEM), np.nan)
    moves = np.full((systems, raters), np.nan)
    if labelled < 3:
        return head, parts, n, mean, moves
    grand /= total
    within = np.zeros(stimuli)
    pairable, pair_sum = 0.0, 0.0
    for k in range(rater.size):
        u = stimulus[k]
        if not dropped[rater[k]] and n[u] > 0.0:
            deviation = value[k] - mean[u]
            within[u] += deviation * deviation
            if n[u] > 1.0:
                pairable += 1.0
                pair_sum += value[k]
    inside, between, disagreement = 0.0, 0.0, 0.0
    for u in range(stimuli):
        if n[u] > 0.0:
            inside += within[u]
            between += n[u] * (mean[u] - grand) ** 2
            if n[u] > 1.0:
                disagreement += n[u] * within[u] / (n[u] - 1.0)
    # Krippendorff's alpha: the disagreement inside stimuli over that of all answers that have a partner.
    if pairable > 2.0:
        centre, spread = pair_sum / pairable, 0.0
        for k in range(rater.size):
            u = stimulus[k]
            if not dropped[rater[k]] and n[u] > 1.0:
                spread += (value[k] - centre) ** 2
        if spread > 0.0:
            head[2] = 1.0 - (disagreement / pairable) / (spread / (pairable - 1.0))
    # One-way analysis of variance; n0 stands for the ratings per stimulus where these differ.
    if total > labelled and inside > 0.0:
        mean_within = inside / (total - labelled)
        mean_between = between / (labelled - 1.0)
        n0 = (total - squares_of_n / total) / (labelled - 1.0)
        head[3] = (mean_between - mean_within) / (mean_between + (n0 - 1.0) * mean_within)
        head[4] = n0 * head[3] / (1.0 + (n0 - 1.0) * head[3])
        head[5] = np.sqrt(mean_within * inverse_n / labelled)
    _jackknife(rater, stimulus, value, dropped, n, mean, system, intent, systems, intents, raters, parts, moves)
    return head, parts, n, mean, moves


@compiled
def _jackknife(
    rater: Array,
    stimulus: Array,
    value: Array,
    dropped: Array,
    n: Array,
    mean: Array,
    system: Array,
    intent: Array,
    systems: int,
    intents: int,
    raters: int,
    parts: Array,
    moves: Array,
) -> None:
    """Per system: mean, variance over stimuli within cells with its degrees of freedom, over raters and over ratings, how many
    raters took part, and how the mean changes without each.
    """
    size, total = np.zeros(systems), np.zeros(systems)
    for u in range(n.size):
        if n[u] > 0.0:
            size[system[u]] += 1.0
            total[system[u]] += mean[u]
    change, fewer = np.zeros((systems, raters)), np.zeros((systems, raters))
    took = np.zeros((systems, raters), np.bool_)
    single = np.zeros((systems, 3))
    for k in range(rater.size):
        u, r = stimulus[k], rater[k]
        if dropped[r] or n[u] < 1.0:
            continue
        s = system[u]
        took[s, r] = True
        # Without this rating its stimulus has another mean, or is lost where it has no other.
        if n[u] > 1.0:
            moved, gone = -(value[k] - mean[u]) / (n[u] - 1.0), 0.0
        else:
            moved, gone = -mean[u], 1.0
        change[s, r] += moved
        fewer[s, r] += gone
        without = (total[s] + moved) / max(size[s] - gone, 1.0) - total[s] / size[s]
        single[s, 0] += 1.0
        single[s, 1] += without
        single[s, 2] += without * without
    # A rater's changes are summed before they are applied: who rated several stimuli is left out with all of them.
    for s in range(systems):
        if size[s] < 2.0:
            continue
        value_of = total[s] / size[s]
        people, first, second = 0.0, 0.0, 0.0
        for r in range(raters):
            if took[s, r] and size[s] > fewer[s, r]:
                without = (total[s] + change[s, r]) / (size[s] - fewer[s, r]) - value_of
                moves[s, r] = without
                people += 1.0
                first += without
                second += without * without
        parts[s, 0] = value_of
        parts[s, 1], parts[s, 2] = _cells(n, mean, system, intent, intents, s, size[s], value_of)
        parts[s, 3] = (people - 1.0) / people * (second - first * first / people) if people > 1 else 0.0
        ratings = single[s, 0]
        parts[s, 4] = (ratings - 1.0) / ratings * (single[s, 2] - single[s, 1] ** 2 / ratings) if ratings > 1 else 0.0
        parts[s, 5] = people


@compiled
def _cells(
    n: Array, mean: Array, system: Array, intent: Array, intents: int, s: int, size: float, centre: float
) -> tuple[float, float]:
    """Variance of a system's mean over its stimuli within their cells, and its degrees of freedom."""
    count = np.zeros(intents + 1)
    for u in range(n.size):
        if n[u] > 0.0 and system[u] == s:
            count[intent[u]] += 1.0
    cell_of = np.arange(intents)
    alone = 0
    # A stimulus alone in its cell says nothing of the spread inside cells: such stimuli share a cell, or join the first.
    for i in range(intents):
        if count[i] == 1.0:
            cell_of[i] = intents
            alone += 1
    if alone == 1:
        home = intents
        for i in range(intents - 1, -1, -1):
            if count[i] > 1.0:
                home = i
        for i in range(intents):
            if count[i] == 1.0:
                cell_of[i] = home
    number, sums = np.zeros(intents + 1), np.zeros(intents + 1)
    for u in range(n.size):
        if n[u] > 0.0 and system[u] == s:
            number[cell_of[intent[u]]] += 1.0
            sums[cell_of[intent[u]]] += (mean[u] - centre) / size
    squares = np.zeros(intents + 1)
    for u in range(n.size):
        if n[u] > 0.0 and system[u] == s:
            at = cell_of[intent[u]]
            squares[at] += ((mean[u] - centre) / size - sums[at] / number[at]) ** 2
    variance, below = 0.0, 0.0
    for i in range(intents + 1):
        if number[i] > 1.0:
            part = squares[i] * number[i] / (number[i] - 1.0)
            variance += part
            below += part * part / (number[i] - 1.0)
    return variance, max(variance * variance / below, 1.0) if below > 0.0 else 1.0
