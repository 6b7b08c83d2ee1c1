"""Two kinds of raters: those whose answers carry no information about the stimuli, and the others.

Each rater has a joint correlation with what the others said, on Fisher's scale ``e = atanh(r)``, known up to a normal
error of variance ``1 / weight``. Without information ``e`` has mean 0. Raters with information scatter normally around
a common ``centre`` with standard deviation ``spread``. Share, centre and spread are fitted by expectation-maximisation
with weak priors, worth a handful of raters, that keep small panels from fitting a single odd rater exactly: a share
of 1 in 10 and a spread of 0.2. The *posterior* is each rater's chance of carrying no information: a local false
discovery rate (Efron 2008, "Microarrays, empirical Bayes and the two-groups model").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats.triples import Floats

_PRIOR_RATERS = 5.0
_PRIOR_SHARE = 0.1
_PRIOR_SPREAD = 0.2
_ROUNDS = 300


@dataclass(frozen=True, slots=True, eq=False)
class TwoKinds:
    """The fitted mixture and each rater's chance of carrying no information."""

    posterior: Floats
    share: float
    centre: float
    spread: float

    def limit(self, weight: Floats, posterior: float) -> Floats:
        """The largest correlation, for each weight, with a chance of no information of ``posterior``; NaN if none."""
        grid = np.round(np.linspace(0.0, 0.95, 191), 3)
        out = np.full(weight.shape, np.nan)
        places, inverse = np.unique(np.round(weight, 1), return_inverse=True)
        for index, w in enumerate(places.tolist()):
            chance = _posterior(np.arctanh(grid), np.full(grid.size, w), self.share, self.centre, self.spread)
            passed = np.flatnonzero(chance >= posterior)
            if passed.size:
                out[inverse == index] = grid[passed[-1]]
        return out


def two_kinds(effect: Floats, weight: Floats) -> TwoKinds:
    """Fit the mixture to effects on Fisher's scale with their weights (1 / variance)."""
    z = effect * np.sqrt(weight)
    clear = effect[z > 1.64]
    centre = float(np.median(clear)) if clear.size else max(float(np.median(effect)), 0.05)
    share, spread = _PRIOR_SHARE, _PRIOR_SPREAD
    for _ in range(_ROUNDS):
        none = _posterior(effect, weight, share, centre, spread)
        some = 1.0 - none
        pull = some / (1.0 / weight + spread**2)
        new_centre = max(0.0, float((pull * effect).sum() / pull.sum())) if pull.sum() > 1e-9 else centre
        variance = 1.0 / (1.0 / max(spread**2, 1e-8) + weight)
        mean = variance * (new_centre / max(spread**2, 1e-8) + weight * effect)
        squares = (
            float((some * ((mean - new_centre) ** 2 + variance)).sum()) + _PRIOR_RATERS * _PRIOR_SPREAD**2
        )
        new_spread = float(np.sqrt(squares / (float(some.sum()) + _PRIOR_RATERS)))
        new_share = (float(none.sum()) + _PRIOR_RATERS * _PRIOR_SHARE) / (effect.size + _PRIOR_RATERS)
        moved = abs(new_centre - centre) + abs(new_spread - spread) + abs(new_share - share)
        centre, spread, share = new_centre, new_spread, new_share
        if moved < 1e-9:
            break
    return TwoKinds(_posterior(effect, weight, share, centre, spread), share, centre, spread)


def _posterior(effect: Floats, weight: Floats, share: float, centre: float, spread: float) -> Floats:
    """The chance of no information given the effect."""
    wide = 1.0 / weight + spread**2
    log_none = np.log(share) - 0.5 * weight * effect**2 + 0.5 * np.log(weight)
    log_some = np.log1p(-share) - 0.5 * (effect - centre) ** 2 / wide - 0.5 * np.log(wide)
    # exp of at most 700 stays finite.
    odds: Floats = np.exp(np.clip(log_some - log_none, -700.0, 700.0))
    return 1.0 / (1.0 + odds)
