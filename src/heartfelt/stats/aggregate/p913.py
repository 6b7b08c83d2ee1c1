"""Mean opinion scores by Recommendation ITU-T P.913, clause 12.4: remove rater bias, then screen as in
BT.500.

A rater's bias is the mean difference of their ratings from the items' means; it is subtracted from their
ratings, the raters are screened on what is left, and the items' means are taken over those kept. Biases are
in points of the scale and are not forced to average zero. Repeats count as further ratings of the rater.

The published standard error is the sample standard deviation of an item's ratings after removing bias, over the
square root of their number. It leaves out that the biases were estimated from the same ratings and that the
panel's own mean bias is a chance one. ``standard_errors`` add both: the variance of the ratings is divided by the
degrees of freedom that items and biases leave, and the variance of the biases over the number of raters is added.
``published_standard_errors`` has the plain one. Degrees of freedom are the item's ratings less one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heartfelt.stats.aggregate.result import EQUAL, Aggregate
from heartfelt.stats.aggregate.screening import Deviation, Share, means_of_kept, screen
from heartfelt.stats.aggregate.sorted_ratings import sorted_ratings
from heartfelt.stats.triples import Ids, Values


def p913(
    rater: Ids, item: Ids, value: Values, *, sd: Deviation = "population", of: Share = "own"
) -> Aggregate:
    """Mean per item after bias removal and screening; ``bias`` and ``rejected`` are per rater."""
    from heartfelt.stats import _kernels_aggregate as kernels

    s = sorted_ratings(rater, item, value, repeats=True)
    quality, _ = kernels.item_means(s.starts, s.value)
    bias, _ = kernels.rater_bias(s.starts, s.rater, s.value, quality, len(s.raters))
    level = s.value - bias[s.rater]
    plain = means_of_kept(s, level, screen(s, level, sd, of), "ITU-T P.913", bias)
    rejected = plain.rejected if plain.rejected is not None else np.zeros(len(s.raters), np.bool_)
    raters = int(np.count_nonzero(~rejected))
    within = float(plain.counts.sum() - np.count_nonzero(plain.counts))
    left = within - max(raters - 1, 0)
    if left < 1 or raters < 2:
        why = "too few ratings are left after items and raters' biases are fitted"
        return replace(plain, published_standard_errors=plain.standard_errors, why_no_interval=why)
    own = float(bias[~rejected].var(ddof=1)) / raters
    errors = np.sqrt(plain.standard_errors**2 * (within / left) + own)
    errors = np.where(plain.standard_errors > EQUAL, errors, plain.standard_errors)
    return replace(plain, standard_errors=errors, published_standard_errors=plain.standard_errors)
