"""Split-half reliability: how well the means of two random halves of each item's ratings agree.

In each split every item's ratings are dealt into two halves (the odd one to either), the half means are
correlated over the items, and the correlation averaged over splits is stepped up by Spearman-Brown to the
full number of ratings. The step is 2 for equal even counts; in general it is the ratio of the mean error
variances, mean of (1/a + 1/b)/2 over mean of 1/n for halves a and b. Halves are dealt anew for each item,
so raters' levels count as error, as in ICC(1,k) and ICC(2,k).

Range: up to 1; may be negative. Items with one rating are left out and counted. Interval: two-way jackknife
on Fisher's z of the correlation, carried through Spearman-Brown.
"""

from __future__ import annotations

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._two_way import TwoWaySpread, attentive_pairs, effective
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.crossed import check_confidence
from heartfelt.stats.reliability.design import Design, rating_design
from heartfelt.stats.reliability.jackknife import NAME, spread
from heartfelt.stats.reliability.spearman_brown import stepped_bound, stepped_up
from heartfelt.stats.triples import Floats, Ids, Ints, Values
from heartfelt.streams import stream

METHOD = "split-half, Spearman-Brown"


def split_half(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    splits: int = 100,
    confidence: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Reliability of the items' mean ratings from random halves of each item's ratings."""
    check_confidence(confidence)
    if splits < 1:
        raise InputError(
            f"A split-half reliability needs a split; got splits={splits}.", "Pass splits=100 or more."
        )
    d = rating_design(rater, item, value)
    enough = int(np.count_nonzero(d.per_item >= 2))
    counts = d.counts | {"splits": splits}
    if enough < d.per_item.size:
        counts["items_with_one_rating"] = int(d.per_item.size - enough)
    if enough < 3:
        return Estimate.missing(
            f"{enough} items have two or more ratings; a correlation needs three", METHOD, counts
        )

    from heartfelt.stats._kernels_leaving_out import split_once
    from heartfelt.stats._kernels_reliability import group

    starts, order = group(d.item, len(d.items))
    sorted_rater, values = d.rater[order], d.value[order] - float(d.value.mean())
    sums = [np.zeros(len(d.items)), np.zeros(len(d.raters)), np.zeros(d.size)]
    rng = stream(seed, "reliability", "split half")
    total = 0.0
    for _ in range(splits):
        r = split_once(starts, sorted_rater, values, rng.random(d.size), *sums)
        if r == 2.0:
            return Estimate.missing("a half has no variance over the items", METHOD, counts)
        total += r
    step = length_factor(d.per_item)
    return _close(total / splits, [s / splits for s in sums], step, d, confidence, counts)


def length_factor(per_item: Ints) -> float:
    """How many times longer a full panel is than a half, in terms of mean error variance."""
    n = per_item[per_item >= 2].astype(np.float64)
    a = np.floor(n / 2)
    return float(np.mean((1 / a + 1 / (n - a)) / 2) / np.mean(1 / n))


def _close(
    r: float, without: list[Floats], step: float, d: Design, confidence: float, counts: dict[str, int]
) -> Estimate:
    value = stepped_up(r, step)
    if not np.isfinite(value):
        return Estimate.missing(
            f"the halves correlate at {r:.3f}, which cannot be stepped up", METHOD, counts
        )
    if abs(r) >= 1.0 - 1e-12:
        return Estimate(
            value,
            method=METHOD,
            confidence=confidence,
            counts=counts,
            why_no_interval="the halves agree perfectly",
        )
    limit = 1.0 - 1e-12
    on_z = [np.arctanh(np.clip(part, -limit, limit)) for part in without]
    shared = d.per_item >= 2
    used = np.bincount(d.rater[shared[d.item]], minlength=len(d.raters))
    raters = int(np.count_nonzero(used))
    if raters < 3:
        return Estimate(
            value,
            method=METHOD,
            confidence=confidence,
            counts=counts,
            why_no_interval=f"{raters} raters are too few to leave one out",
        )
    counted = effective(d.per_item[shared]), effective(used)
    # Items with one rating and raters of such items alone change nothing: they are not among the units.
    units = [on_z[0][shared], on_z[1][used > 0], on_z[2][np.repeat(shared, d.per_item)]]
    found = TwoWaySpread(spread(units[0]), spread(units[1]), spread(units[2]), *counted)
    z = float(np.arctanh(r))
    unseen = float(np.arctanh(attentive_pairs(counted[1]) * max(r, 0.0)))
    low, high = found.bounds(z, confidence, below=max(z - unseen, 0.0) if r > 0 else 0.0)
    return Estimate(
        value,
        stepped_bound(float(np.tanh(low)), step, value),
        stepped_up(float(np.tanh(high)), step),
        METHOD,
        f"{NAME}, Fisher z",
        confidence,
        counts,
    )
