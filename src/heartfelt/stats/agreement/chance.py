"""Agreement beyond chance from the votes on each item: what Fleiss' kappa and Gwet's AC1 and AC2 share.

All three are ``(pa - pe) / (1 - pe)``. ``pa`` is the mean, over items with two or more votes, of the share
of pairs of votes that agree (AC2: their mean credit). ``pe`` comes from ``p_k``, the mean over all items of
the share of votes for category ``k``: Fleiss takes ``sum p_k**2``, Gwet ``T sum p_k (1 - p_k) / (q (q -
1))`` with ``q`` categories and ``T`` the sum of all credits.

Items may have different numbers of votes: every item weighs the same. An item with a single vote counts for
``p_k`` alone. Range -1 to 1. Missing: fewer than two items with two votes, or ``pe = 1`` (0 / 0).

Source: Gwet, Handbook of Inter-Rater Reliability, 4th edition, 2014, chapters 2 to 5; the part of the
interval that comes from items is Gwet's own linearised variance.
"""

from __future__ import annotations

import numpy as np

from heartfelt.stats.agreement.grouped import Grouped
from heartfelt.stats.agreement.interval import Interval, leave_out, with_bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

NO_PAIRS = "no item has two or more votes"
ONE_ITEM = "only one item has two or more votes, so what chance would give is not known"


def coefficient(votes: Grouped, name: str, gwet: str | None, plan: Interval | None) -> Estimate:
    """The coefficient; ``gwet`` names the weights of Gwet's family, None is Fleiss."""
    from heartfelt.stats.agreement import _kernels_votes as kernels

    method = name if gwet in (None, "identity") else f"{name}, {gwet} weights"
    counts = votes.counts(at_least=1)
    counts["paired_items"] = int(np.count_nonzero(votes.sizes >= 2))
    assert votes.categories is not None
    q = votes.categories.count
    if counts["paired_items"] == 0:
        return Estimate.missing(NO_PAIRS, method, counts)
    weighted = gwet not in (None, "identity")
    scores = votes.categories.scores() if weighted else np.arange(q, dtype=np.float64)
    kind = ("identity", "linear", "quadratic", "ordinal").index(gwet or "identity")
    credit = kernels.credits(votes.start, votes.value, kind, scores, int(votes.sizes.max()))
    items, paired, pa, share = kernels.agreement_parts(votes.start, votes.value, credit, q)
    if gwet is None:
        pe, slope = float(share @ share), 2 * share
    elif q < 2:
        return Estimate.missing("there is one category, so chance agreement is certain", method, counts)
    else:
        per = credit_total(gwet, scores) / (q * (q - 1))
        pe, slope = float(per * (share @ (1 - share))), per * (1 - 2 * share)
    if 1 - pe < 1e-12:
        why = "every vote is for one category, so chance agreement is certain"
        return Estimate.missing(why, method, counts)
    if counts["paired_items"] == 1:
        return Estimate.missing(ONE_ITEM, method, counts)
    value = (pa - pe) / (1 - pe)
    estimate = Estimate(value, method=method, counts=counts)
    if plan is None:
        return estimate
    facts = (float(items), float(paired), pa, pe, value)
    by_item, by_rater, ballots, *cells = kernels.chance_influence(
        (votes.start, votes.rater, votes.value), credit, slope, float(slope @ share), facts,
        len(votes.raters) if votes.rater.size else 0, votes.prior,
    )  # fmt: skip
    used, there = votes.sizes > 0, ballots > 0
    spread = leave_out(
        by_item[used] * items / max(items - 1, 1),
        by_rater[there] if votes.rater.size else None,
        (cells[0], cells[1], cells[2]),
        np.ones(items),
        ballots[there],
    )
    return with_bounds(estimate, spread, plan)


def credit_total(weights: str, scores: Floats) -> float:
    """The sum of the credits of all ordered pairs of categories."""
    q = scores.size
    if weights == "identity":
        return float(q)
    x = np.sort(scores)
    reach = float(x[-1] - x[0])
    if weights == "quadratic":
        return q * q - 2 * float(q * (x @ x) - x.sum() ** 2) / reach**2
    if weights == "linear":
        return q * q - 2 * float((2 * np.arange(q) - q + 1) @ x) / reach
    apart = np.arange(1, q)
    return q * q - float((2 * (q - apart) * apart * (apart + 1)).sum()) / (q * (q - 1))
