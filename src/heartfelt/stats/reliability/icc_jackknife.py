"""Intervals of intraclass correlations: two-way jackknives on the log F scale, for raters like these.

Two raters cannot be left out: items are, and the raters are taken to differ as raters usually do, as far as their ratings
allow (``stats.rater_differences``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from heartfelt.stats.estimate import Estimate
from heartfelt.stats.ratings import Ratings
from heartfelt.stats.reliability.components import share_bounds
from heartfelt.stats.reliability.crossed import fit_crossed
from heartfelt.stats.triples import Floats
from heartfelt.stats.two_way_jackknife import (
    FOR_ALIKE,
    ITEMS_ALONE,
    NAME,
    MomentJackknife,
    Sums,
    TwoWaySpread,
    differences_of,
    log_f,
    log_ratio,
    moment_components,
    moment_jackknife,
    on_log_f,
)

LEVEL_ROUNDS = 20
NO_ERROR = "there is no error variance, so the F ratio is infinite"
NO_ITEMS = "the items differ less than chance allows, so the F ratio is at zero"


def jackknifed(singles: list[Estimate], d: Ratings, k: float, confidence: float, seed: int) -> list[Estimate]:
    """The single-rating forms, each with its interval; ``k`` ratings per item set the scale of log F."""
    jackknife = moment_jackknife(d)
    reason = jackknife.why_unsteady(fewest_raters=2)
    if reason is not None:
        return [e.without_interval(NO_ERROR if e.why_no_interval == NO_ERROR else reason) for e in singles]

    def statistics(sums: Sums) -> list[Floats]:
        of_item, _, residual, error = moment_components(sums)
        return [log_f(sums), log_ratio(of_item, error, k), log_ratio(of_item, residual, k)]

    spreads, floor = jackknife.spreads(statistics), -np.inf
    if not d.complete:
        # REML never gives a negative share, and of incomplete data it knows consistency better than moments do: those of
        # ratings less their raters' levels come close.
        floor = 0.0
        spreads[2] = MomentJackknife(_without_levels(d, seed)).spreads(lambda sums: [log_f(sums)])[0]
    differences = differences_of(d)
    responses = differences.in_one_way, differences.in_agreement, lambda _: 0.0
    floors = -np.inf, floor, floor
    return [
        _on_log_f(e, spread, k, confidence, lowest, differences.gain, response)
        for e, spread, lowest, response in zip(singles, spreads, floors, responses, strict=True)
    ]


def _without_levels(d: Ratings, seed: int) -> Ratings:
    """The ratings less their raters' levels, as the crossed model predicts them."""
    fit = fit_crossed(d, seed=seed)
    if isinstance(fit, str):
        return d
    item, rater, residual = (float(v) for v in fit.variances)
    if min(item, rater, residual) <= 0.0:
        return d
    value, level = d.value - float(d.value.mean()), np.zeros(len(d.raters))
    for _ in range(LEVEL_ROUNDS):
        shared = np.bincount(d.item, value - level[d.rater]) / (d.per_item + residual / item)
        level = np.bincount(d.rater, value - shared[d.item]) / (d.per_rater + residual / rater)
    return replace(d, value=d.value - level[d.rater])


def _on_log_f(
    e: Estimate,
    spread: TwoWaySpread,
    k: float,
    confidence: float,
    floor: float,
    gain: float,
    level_response: Callable[[float], float],
) -> Estimate:
    if e.value is None:
        return e
    if e.value >= 1.0 - 1e-12:
        return e.without_interval(NO_ERROR)
    if 1.0 + k * e.value / (1.0 - e.value) <= 1e-6:
        return e.without_interval(NO_ITEMS)
    at = level_response(on_log_f(e.value, k))
    low, high, careless = share_bounds(e.value, k, spread, confidence, floor=floor, gain=gain, level_response=at)
    name = NAME if spread.raters > 0 or spread.rater_count > 2 else ITEMS_ALONE
    bounded = e.with_interval(low, high, f"{name}, log F, {FOR_ALIKE}", confidence)
    return replace(bounded, bound_if_careless=careless)
