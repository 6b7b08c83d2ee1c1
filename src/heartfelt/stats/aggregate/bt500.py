"""Mean opinion scores after the rater screening of Recommendation ITU-R BT.500.

See `heartfelt.stats.aggregate.screening` for the rule. A rater may rate an item more than once; repeats
count as further ratings of that rater, as in the Recommendation.
"""

from __future__ import annotations

from heartfelt.stats.aggregate.result import Aggregate
from heartfelt.stats.aggregate.screening import Deviation, Share, means_of_kept, screen
from heartfelt.stats.aggregate.sorted_ratings import sorted_ratings
from heartfelt.stats.triples import Ids, Values


def bt500(
    rater: Ids, item: Ids, value: Values, *, sd: Deviation = "population", of: Share = "own"
) -> Aggregate:
    """Mean per item over the raters that pass BT.500 screening; ``rejected`` says which did not."""
    s = sorted_ratings(rater, item, value, repeats=True)
    return means_of_kept(s, s.value, screen(s, s.value, sd, of), "ITU-R BT.500")
