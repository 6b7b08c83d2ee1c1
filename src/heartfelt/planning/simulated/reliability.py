"""Ceilings and two-way reliability of simulated studies: the real functions on some, carried over to all.

The real functions are too slow for every study, but what they give moves with the one-way reliability that every study has: the
odds of ICC(2,k) and of the squared ceiling are a constant times those of ICC(1,k), those of ICC(2,1) those of ICC(1,1), and
ordinal alpha lies a constant above alpha. The constants come from as many studies as their error asks for, and all forecasts from
the same draws, so they agree with each other.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heartfelt.planning.pilots.latent import Floats
from heartfelt.planning.simulated.incidence import Incidence
from heartfelt.planning.simulated.power import Bools
from heartfelt.stats.agreement import alpha
from heartfelt.stats.ceilings.number_ceiling import number_ceiling
from heartfelt.stats.ratings import as_ratings
from heartfelt.stats.reliability import icc

FEWEST, MOST = 8, 48
WORK = 40_000
"""Ratings that the real functions see in all, where the fewest studies have not more."""
PRECISION = 0.02
"""The standard error of the logarithm of a constant that is enough."""
FROM = {"icc2": "icc1", "icc2k": "icc1k", "ceiling": "icc1k", "alpha_ordinal": "alpha"}


def real_figures(incidence: Incidence, value: Floats, dropped: Bools, minimum: int) -> dict[str, float]:
    """What the analysis computes by functions that are too slow for every study."""
    keep = ~dropped[incidence.rater]
    counts = np.bincount(incidence.unit[keep], minlength=int(incidence.unit.max()) + 1)
    keep &= counts[incidence.unit] >= minimum
    rater, unit, answer = incidence.rater[keep], incidence.unit[keep], value[keep]
    ratings = as_ratings(rater, unit, answer)
    both = icc(ratings)
    top = number_ceiling(ratings, None, "correlation", 0.95, 0)
    ordinal = alpha(rater, unit, answer, "ordinal")
    width = None if both.icc1k.low is None or both.icc1k.high is None else both.icc1k.high - both.icc1k.low
    out = {
        "icc2": both.icc2.value,
        "icc2k": both.icc2k.value,
        "ceiling": top.value,
        "alpha_ordinal": ordinal.value,
        "icc1k_width": width,
    }
    return {name: np.nan if number is None else float(number) for name, number in out.items()}


def enough(real: Mapping[str, list[float]], figures: Mapping[str, Floats], ratings: int) -> bool:
    """Whether the constants are known well enough, or the real functions have worked enough."""
    done = len(next(iter(real.values()), []))
    if done < FEWEST:
        return False
    if done >= MOST or done * ratings >= WORK:
        return True
    errors = []
    for name in ("icc2k", "ceiling"):
        steps = _steps(name, np.array(real[name]), figures["icc1k"][:done])
        errors.append(float(steps.std(ddof=1)) / np.sqrt(steps.size) if steps.size > 1 else 0.0)
    return max(errors) <= PRECISION


def carried_over(real: Mapping[str, Floats], figures: Mapping[str, Floats]) -> dict[str, Floats]:
    """The real figures for every study, from the one-way figures of all and the real ones of the first."""
    out = {name: numbers for name, numbers in real.items() if name not in FROM}
    for name, source in FROM.items():
        if name not in real:
            continue
        every = figures[source]
        steps = _steps(name, real[name], every[: real[name].size])
        if not steps.size:
            out[name] = real[name]
        elif name == "alpha_ordinal":
            out[name] = every + steps.mean()
        else:
            share = _share(_log_odds(every) + steps.mean())
            out[name] = np.sqrt(share) if name == "ceiling" else share
    return out


def _steps(name: str, real: Floats, fast: Floats) -> Floats:
    """How far a real figure lies from the one-way figure, study by study: on the logarithm of odds, but plain for alphas."""
    if name == "alpha_ordinal":
        distance = real - fast
    else:
        distance = _log_odds(real**2 if name == "ceiling" else real) - _log_odds(fast)
    return np.asarray(distance[np.isfinite(distance)])


def _log_odds(share: Floats) -> Floats:
    """NaN where the share is not between 0 and 1."""
    inside = (share > 0.0) & (share < 1.0)
    inside_share = np.where(inside, share, 0.5)
    return np.asarray(np.where(inside, np.log(inside_share / (1.0 - inside_share)), np.nan))


def _share(log_odds: Floats) -> Floats:
    """The share of log odds; 0 where there are none."""
    return np.asarray(np.where(np.isfinite(log_odds), 1.0 / (1.0 + np.exp(-np.nan_to_num(log_odds))), 0.0))
