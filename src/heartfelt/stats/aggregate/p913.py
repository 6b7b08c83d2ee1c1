"""Mean opinion scores by Recommendation ITU-T P.913, clause 12.4: remove rater bias, then screen as in
BT.500.

A rater's bias is the mean difference of their ratings from the items' means; it is subtracted from their
ratings, the raters are screened on what is left, and the items' means are taken over those kept. Biases are
in points of the scale and are not forced to average zero. Repeats count as further ratings of the rater.
"""

from __future__ import annotations

from heartfelt.stats.aggregate.result import Aggregate
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
    return means_of_kept(s, level, screen(s, level, sd, of), "ITU-T P.913", bias)
