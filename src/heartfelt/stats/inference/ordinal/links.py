"""Probability of a category between two thresholds under the logistic and the normal link, with its derivatives.

A rating in category j lies between the thresholds below and above it: ``p = F(a) - F(b)``, a and b the upper
and the lower threshold less the linear predictor (infinite at the ends of the scale). Derivatives are of ``log
p``: by a, by b, and by the shift s of both, which is minus the linear predictor. ``weight`` is minus the second
derivative by the shift; it is positive under both links.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heartfelt.stats.columns.triples import Floats

Link = Literal["logit", "probit"]
_LARGEST_NORMAL = 37.0
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryDerivatives:
    """Of each rating's log probability: ``a`` and ``b`` are the upper and the lower bound, ``s`` the shift of both."""

    log_p: Floats
    by_a: Floats
    by_b: Floats
    by_aa: Floats
    by_ab: Floats
    by_bb: Floats
    weight: Floats
    weight_by_a: Floats
    weight_by_b: Floats

    @property
    def slope(self) -> Floats:
        """First derivative by the linear predictor."""
        return -(self.by_a + self.by_b)


def logit(a: Floats, b: Floats) -> CategoryDerivatives:
    """Logistic link, where ``p = F(a) F(-b) (1 - exp(b - a))``."""
    from scipy.special import expit, log_expit

    upper, lower = expit(a), expit(b)
    spread_a, spread_b = upper * expit(-a), lower * expit(-b)
    with np.errstate(over="ignore"):
        gap = 1.0 / np.expm1(a - b)
        log_p = log_expit(a) + log_expit(-b) + np.log(-np.expm1(b - a))
    bend = gap * (1.0 + gap)
    return CategoryDerivatives(
        log_p=log_p,
        by_a=1.0 - upper + gap,
        by_b=-lower - gap,
        by_aa=-spread_a - bend,
        by_ab=bend,
        by_bb=-spread_b - bend,
        weight=spread_a + spread_b,
        weight_by_a=spread_a * (1.0 - 2.0 * upper),
        weight_by_b=spread_b * (1.0 - 2.0 * lower),
    )


def probit(a: Floats, b: Floats) -> CategoryDerivatives:
    """Normal link; probabilities are taken in the lower tail, where they do not cancel."""
    from scipy.special import log_ndtr

    a, b = (np.clip(bound, -_LARGEST_NORMAL, _LARGEST_NORMAL) for bound in (a, b))
    # Far in the upper tail probabilities are 1 less little: mirrored, they keep their digits.
    turned = b > 0
    near, far = np.where(turned, -b, a), np.where(turned, -a, b)
    log_near = log_ndtr(near)
    log_p = log_near + np.log(-np.expm1(log_ndtr(far) - log_near))
    over_a = np.exp(-0.5 * a * a - _LOG_ROOT_TWO_PI - log_p)
    over_b = np.exp(-0.5 * b * b - _LOG_ROOT_TWO_PI - log_p)
    first = over_a - over_b
    by_aa = -a * over_a - over_a**2
    by_ab = over_a * over_b
    by_bb = b * over_b - over_b**2
    by_ss = -a * over_a + b * over_b - first**2
    return CategoryDerivatives(
        log_p=log_p,
        by_a=over_a,
        by_b=-over_b,
        by_aa=by_aa,
        by_ab=by_ab,
        by_bb=by_bb,
        weight=-by_ss,
        weight_by_a=-_third(over_a, a, 1.0, by_aa + by_ab, first, by_ss),
        weight_by_b=-_third(over_b, b, -1.0, by_ab + by_bb, first, by_ss),
    )


def _third(over: Floats, bound: Floats, sign: float, mixed: Floats, first: Floats, by_ss: Floats) -> Floats:
    """Third derivative of log p, once by a bound and twice by the shift."""
    signed = sign * over
    return signed * (bound**2 - 1.0) - 2.0 * mixed * first - by_ss * signed - signed * first**2


LINKS: dict[Link, Callable[[Floats, Floats], CategoryDerivatives]] = {"logit": logit, "probit": probit}
"""By name."""
LATENT_VARIANCE: dict[Link, float] = {"logit": math.pi**2 / 3, "probit": 1.0}
"""Of the error behind the categories, in the unit of the coefficients."""
