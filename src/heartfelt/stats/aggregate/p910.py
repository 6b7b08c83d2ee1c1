"""Item quality by Recommendation ITU-T P.910, Annex E: quality, rater bias and rater inconsistency
together.

Model: rating = quality of the item + bias of the rater + noise with the rater's own standard deviation
(inconsistency). Alternating projection: inconsistency is the standard deviation (divisor n) of a rater's
residuals, quality the mean of the ratings less bias with weights 1 / inconsistency squared, bias the mean
of a rater's ratings less quality; until quality changes by less than 1e-8 (root of the sum of squares).
Afterwards bias is shifted to mean zero and quality with it. Standard errors: 1 / sqrt(sum of weights).
Source: the Recommendation; Li, Bampis, Krasula, Janowski & Katsavounidis (2020). Equals sureal's projection
solver.

A rater with one rating has no inconsistency of their own and a bias that cannot be told from the item; such
raters enter with bias zero and the pooled standard deviation, and their own are NaN. Quality is comparable
only among items that raters link; ``notes`` says when they fall apart. Repeats count as further ratings of
the rater.

The likelihood has no maximum where a rater can be fitted exactly: their inconsistency falls, their weight
grows, the items they rated follow them, and it falls further. The Recommendation was made for panels in
which everyone rates everything; with few ratings per item this happens to most data, in sureal as here, and
``notes`` says so. ``leverage=True`` divides a rater's squared residuals by the sum of one minus leverage
(the share of its item that a rating decides, and of its rater) in place of n, which removes the pull unless
raters gave only a handful of ratings; ``floor`` keeps every inconsistency used as a weight at or above that
many points of the scale.
"""

from __future__ import annotations

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import Aggregate, Bools
from heartfelt.stats.aggregate.sorted_ratings import SortedRatings, sorted_ratings
from heartfelt.stats.triples import Floats, Ids, Values

METHOD = "ITU-T P.910 alternating projection"


def p910(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    tolerance: float = 1e-8,
    floor: float = 0.0,
    leverage: bool = False,
    limit: int = 1000,
) -> Aggregate:
    """Quality per item with rater bias and inconsistency, by alternating projection."""
    from heartfelt.stats import _kernels_aggregate as kernels

    if not tolerance > 0 or limit < 1 or floor < 0:
        raise InputError(
            f"Alternating projection cannot run with tolerance={tolerance}, limit={limit}, floor={floor}.",
            "Leave them out for the Recommendation's 1e-8, at most 1,000 iterations and no floor.",
        )
    s = sorted_ratings(rater, item, value, repeats=True)
    if s.value.size == 0:
        none = np.zeros(0)
        return Aggregate(s.items, none, none, s.counts, METHOD, "normal", left_out=s.left_out)
    raters = len(s.raters)
    centre = float(s.value.mean())
    quality, bias, spread, iterations, change = kernels.alternate(
        s.starts, s.rater, s.value - centre, raters, floor, leverage, tolerance, limit
    )
    weight = 1.0 / (np.maximum(spread, floor) ** 2 + kernels.EPSILON)
    own = np.bincount(s.rater, minlength=raters)
    several = own > 1
    shift = float(bias[several].mean()) if several.any() else 0.0
    bias, quality = bias - shift, quality + shift
    flat = bool(spread.max() == 0.0)
    errors = (
        np.full(quality.size, np.nan) if flat else 1.0 / np.sqrt(kernels.precision(s.starts, s.rater, weight))
    )
    return Aggregate(
        s.items,
        quality + centre,
        errors,
        s.counts,
        METHOD + (", leverage-corrected" if leverage else ""),
        "normal",
        s.raters,
        _own(bias, several),
        _own(1.0 / np.sqrt(own * weight), several),
        _own(spread, several),
        iterations=iterations,
        converged=bool(change < tolerance),
        left_out=s.left_out,
        notes=_notes(s, several, np.maximum(spread, floor), bool(change < tolerance), limit),
        why_no_error="the raters agree perfectly, so there is no noise to measure",
    )


def _own(parameter: Floats, several: Bools) -> Floats:
    """A rater parameter, NaN for raters with one rating."""
    return np.where(several, parameter, np.nan)


def _notes(s: SortedRatings, several: Bools, spread: Floats, converged: bool, limit: int) -> tuple[str, ...]:
    from heartfelt.stats import _kernels_aggregate as kernels

    notes = []
    single = int(np.count_nonzero(~several))
    if single:
        notes.append(
            f"{single} raters gave one rating: bias zero and pooled inconsistency were used for them"
        )
    exact = int(np.count_nonzero((spread < 1e-4) & several))
    if exact:
        notes.append(
            f"{exact} raters have inconsistency near zero and decide the items they rated (see leverage)"
        )
    parts = kernels.components(s.starts, s.rater, len(s.raters))
    if parts > 1:
        notes.append(
            f"raters and items fall into {parts} unlinked parts; quality is not comparable between them"
        )
    if not converged:
        notes.append(f"not settled after {limit} iterations")
    return tuple(notes)
