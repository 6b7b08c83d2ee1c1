"""How far a rater stands from the others: a robust norm of the panel, and the chance of standing so far out.

Each rater has a value ``v`` with a sampling error ``e``. Careful raters are taken to scatter normally around a common
centre with variance ``between^2 + e^2``. The centre is the median; ``between`` comes from the median absolute
deviation (times 1.4826) less the typical sampling variance, so a minority of odd raters does not move the norm. That
deviation is worth 37% of the raters it comes from (its efficiency for normal data), so the p-value is the tail of
Student's t with 0.37 (raters - 1) degrees of freedom. Family-wise control is Bonferroni over the raters judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.stats.triples import Floats

Side: TypeAlias = Literal["low", "high", "both"]

LEAST_RATERS = 5
EFFICIENCY = 0.37
TOO_FEW = f"fewer than {LEAST_RATERS} raters can be compared, so there is no norm to hold them against"


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Where each rater stands: ``p`` of the tail on the asked side, and the ``limit`` a value must pass."""

    centre: float
    between: float
    z: Floats
    p: Floats
    limit: Floats


def standing(value: Floats, error: Floats, side: Side, chance: float) -> Standing:
    """Hold values against their own robust norm. ``chance`` is the tail chance at which the limit lies.

    Values of NaN are passed over. Needs at least ``LEAST_RATERS`` values; the caller checks.
    """
    from scipy.special import stdtr, stdtrit

    known = np.isfinite(value)
    centre = float(np.median(value[known]))
    spread = 1.4826 * float(np.median(np.abs(value[known] - centre)))
    between = float(np.sqrt(max(0.0, spread**2 - float(np.median(error[known] ** 2)))))
    scale = np.sqrt(between**2 + error**2)
    off = value - centre
    z = np.divide(off, scale, out=np.where(off == 0, 0.0, np.copysign(np.inf, off)), where=scale > 0)
    z = np.where(known, z, np.nan)
    freedom = max(1.0, EFFICIENCY * (int(known.sum()) - 1))
    if side == "both":
        p, far = 2 * stdtr(freedom, -np.abs(z)), -float(stdtrit(freedom, chance / 2))
        limit = centre + np.copysign(far, np.where(known, off, 1.0)) * scale
    else:
        sign = 1.0 if side == "high" else -1.0
        p, far = stdtr(freedom, -sign * z), -float(stdtrit(freedom, chance))
        limit = centre + sign * far * scale
    return Standing(centre, between, z, np.minimum(p, 1.0), limit)


def evidence(p: Floats, most: float) -> Floats:
    """The weight of a p-value in powers of ten, from 0 to ``most``; 0 where there is none."""
    held = np.where(np.isfinite(p), p, 1.0)
    return np.clip(-np.log10(np.maximum(held, 1e-300)), 0.0, most) + 0.0  # no negative zero
