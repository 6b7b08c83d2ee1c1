"""Bounds of a statistic whose items and raters are both samples, from jackknife variances.

With ``V_items``, ``V_raters`` and ``V_ratings`` the variances found by leaving out one item, one rater and
one rating at a time, and R the (effective) number of raters,

    V = V_items + (1 + 4 / R) max(V_raters - V_ratings, 0).

The difference is what raters add beyond the noise of their single ratings; few raters show too little of it,
which the factor makes up for. Bounds take Student's t with Satterthwaite's degrees of freedom.

A panel may also happen to contain no careless rater although the people it stands for do. By the rule of
three, up to three in R + 3 may be careless where none of R was. A reliability or agreement beyond chance
would then be lower by the share of pairs of raters that are both attentive, R (R - 1) / ((R + 3) (R + 2)).
That distance is added in quadrature on the side it concerns.

Sources: Cameron, Gelbach & Miller (2011) for the sum of variances; Efron & Stein (1981) for the jackknife;
Hanley & Lippman-Hand (1983) for the rule of three. ``docs/stats/reliability.md`` has the simulated coverage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_FEW_RATERS = 4.0
_UNSEEN = 3.0


@dataclass(frozen=True, slots=True)
class TwoWaySpread:
    """Jackknife variances over items, raters and single ratings, and the effective numbers left out."""

    items: float
    raters: float
    ratings: float
    item_count: float
    rater_count: float

    @property
    def rater_part(self) -> float:
        """What raters add to the variance over items."""
        return (1.0 + _FEW_RATERS / max(self.rater_count, 1.0)) * max(self.raters - self.ratings, 0.0)

    @property
    def variance(self) -> float:
        """The variance of the statistic."""
        return self.items + self.rater_part

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom, at least 1."""
        # Where rating noise swamps the raters' part, that part is known no better than its noise allows.
        doubt = max(self.rater_part, min(self.raters, self.items))
        parts = self.items**2 / max(self.item_count - 1.0, 1.0)
        parts += doubt**2 / max(self.rater_count - 1.0, 1.0)
        return max(self.variance**2 / parts, 1.0) if parts > 0 else max(self.item_count - 1.0, 1.0)

    def bounds(
        self, centre: float, confidence: float, below: float = 0.0, above: float = 0.0
    ) -> tuple[float, float]:
        """Bounds about ``centre`` on the scale of the variances, ``below`` and ``above`` in quadrature."""
        half = half_width(self.variance, self.df, confidence)
        return centre - math.hypot(half, below), centre + math.hypot(half, above)


def half_width(variance: float, df: float, confidence: float) -> float:
    """Student's t quantile times the standard error."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + confidence / 2)) * math.sqrt(variance)


def effective(sizes: npt.NDArray[Any]) -> float:
    """How many equal units would weigh as unevenly as these: (sum)^2 / sum of squares."""
    squares = float(np.square(sizes, dtype=np.float64).sum())
    return float(sizes.sum()) ** 2 / squares if squares > 0 else 0.0


def attentive_pairs(raters: float) -> float:
    """Share of pairs that are both attentive if three careless raters had joined a panel of this size."""
    return raters * (raters - 1.0) / ((raters + _UNSEEN) * (raters + _UNSEEN - 1.0))


def careless_share(raters: float) -> float:
    """Share of a panel of this size that three careless raters more would make up."""
    return _UNSEEN / (raters + _UNSEEN)
