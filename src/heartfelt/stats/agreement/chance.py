"""Agreement beyond chance from the votes on each item: Fleiss' kappa, and Gwet's AC1 and AC2.

All three are ``(pa - pe) / (1 - pe)``. ``pa`` is the mean, over items with two or more votes, of the share of pairs of votes
that agree (AC2: their mean credit). ``pe`` comes from ``p_k``, the mean over all items of the share of votes for category
``k``: Fleiss takes ``sum p_k**2``, the agreement of votes drawn from these shares; Gwet ``T sum p_k (1 - p_k) / (q (q - 1))``
with ``q`` categories and ``T`` the sum of all credits, the chance of agreeing on an item that is hard to judge, which shrinks
rather than grows when nearly all votes go to one category. AC2 gives part credit to votes that are close, by weights
``linear`` and ``quadratic`` in the distance between numbers (words: between their places in ``categories``) or ``ordinal`` in
the number of pairs of categories spanned. For Gwet ``categories`` should list all that could have been chosen.

Items may have different numbers of votes: every item weighs the same. An item with a single vote counts for ``p_k`` alone.
Range -1 to 1. Missing: fewer than two items with two votes, or ``pe = 1`` (0 / 0).

Source: Fleiss, Measuring nominal scale agreement among many raters, 1971; Gwet, Computing inter-rater reliability and its
variance in the presence of high agreement, 2008; Handbook of Inter-Rater Reliability, 4th edition, 2014, chapters 2 to 5. The
part of the interval that comes from items is Gwet's own linearised variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats.agreement.grouped import Grouped, Prior, differences_in, grouped
from heartfelt.stats.agreement.interval import Interval, leave_out, wanted, with_bounds
from heartfelt.stats.columns.triples import Floats, as_array, as_floats, code
from heartfelt.stats.estimate import Estimate

NO_PAIRS = "no item has two or more votes"
ONE_ITEM = "only one item has two or more votes, so chance agreement is not known"
WEIGHTS = ("ordinal", "linear", "quadratic")


def fleiss_kappa(
    rater: Any,
    item: Any,
    value: Any,
    *,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    prior: Prior = None,
) -> Estimate:
    """Fleiss' kappa of votes, any number per item; ``rater=None`` for votes without identities."""
    votes = grouped(rater, item, value, numbers=False, prior=prior)
    return _coefficient(votes, "Fleiss' kappa", None, wanted(interval, resample, "jackknife"))


def fleiss_kappa_counts(
    item: Any, category: Any, count: Any, *, interval: str | Interval | None = "jackknife"
) -> Estimate:
    """Fleiss' kappa of a table of votes: parallel columns of item, category and how many votes it got."""
    counts = as_floats(count, "count")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.floor(counts)).any():
        raise InputError("Some counts of votes are not whole numbers from zero up.", "Pass plain counts.")
    items, kinds = as_array(item), as_array(category)
    if not items.size == kinds.size == counts.size:
        raise InputError(
            f"The columns differ in length: item {items.size}, category {kinds.size}, count {counts.size}.",
            "Pass parallel arrays: one entry per item and category.",
        )
    pair = code(items).codes * (code(kinds).count + 1) + code(kinds).codes
    if np.unique(pair).size != pair.size:
        raise InputError("An item has two counts for one category.", "Add them up first.")
    times = counts.astype(np.int64)
    return fleiss_kappa(None, np.repeat(items, times), np.repeat(kinds, times), interval=interval)


def gwet_ac1(
    rater: Any,
    item: Any,
    value: Any,
    *,
    categories: Sequence[Any] | None = None,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    prior: Prior = None,
) -> Estimate:
    """Gwet's AC1 of votes; ``categories`` lists all that could have been chosen, used or not."""
    votes = grouped(rater, item, value, numbers=False, prior=prior, categories=categories)
    return _coefficient(votes, "Gwet's AC1", "identity", wanted(interval, resample, "jackknife"))


def gwet_ac2(
    rater: Any,
    item: Any,
    value: Any,
    weights: str = "ordinal",
    *,
    categories: Sequence[Any] | None = None,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    prior: Prior = None,
) -> Estimate:
    """Gwet's AC2 of votes, with part credit by ``"ordinal"``, ``"linear"`` or ``"quadratic"`` weights."""
    if weights not in WEIGHTS:
        raise InputError(f"No weights are called {weights!r}.", suggestion(str(weights), WEIGHTS))
    votes = grouped(rater, item, value, numbers=False, prior=prior, categories=categories)
    return _coefficient(votes, "Gwet's AC2", weights, wanted(interval, resample, "jackknife"))


def _coefficient(votes: Grouped, name: str, gwet: str | None, plan: Interval | None) -> Estimate:
    """The coefficient; ``gwet`` names the weights of Gwet's family, None is Fleiss."""
    from heartfelt.stats.agreement.kernels import _kernels_votes as kernels

    weighted = gwet not in (None, "identity")
    method = f"{name}, {gwet} weights" if weighted else name
    counts = votes.counts(at_least=1)
    counts["paired_items"] = int(np.count_nonzero(votes.sizes >= 2))
    if counts["paired_items"] == 0:
        return Estimate.missing(NO_PAIRS, method, counts)
    categories = votes.named
    q = categories.count
    scores = categories.scores() if weighted else np.arange(q, dtype=np.float64)
    kind = ("identity", "linear", "quadratic", "ordinal").index(gwet or "identity")
    credit = kernels.credits(votes.start, votes.value, kind, scores, int(votes.sizes.max()))
    items, paired, pa, share = kernels.agreement_parts(votes.start, votes.value, credit, q)
    if gwet is not None and q < 2:
        return Estimate.missing("there is one category, so chance agreement is certain", method, counts)
    pe, slope = _chance(share, gwet, scores)
    if 1 - pe < 1e-12:
        reason = "every vote is for one category, so chance agreement is certain"
        return Estimate.missing(reason, method, counts)
    if counts["paired_items"] == 1:
        return Estimate.missing(ONE_ITEM, method, counts)
    value = (pa - pe) / (1 - pe)
    estimate = Estimate(value=value, method=method, counts=counts)
    if plan is None:
        return estimate
    facts = (float(items), float(paired), pa, pe, value)
    people = len(votes.raters) if votes.rater.size else 0
    cast = (votes.start, votes.rater, votes.value)
    by_item, by_rater, ballots, *cells = kernels.chance_influence(
        cast, credit, slope, float(slope @ share), facts, people, votes.prior
    )
    used, voted = votes.sizes > 0, ballots > 0
    spread = leave_out(
        by_item[used] * items / max(items - 1, 1),
        by_rater[voted] if votes.rater.size else None,
        (cells[0], cells[1], cells[2]),
        np.ones(items),
        ballots[voted],
    )
    # Fleiss' kappa is alpha but for small samples; Gwet's coefficients take chance differently.
    if gwet is not None:
        return with_bounds(estimate, spread, plan)
    per_item = float(votes.sizes[votes.sizes >= 2].mean())
    return with_bounds(estimate, spread, plan, per_item=per_item, differences=differences_in(votes))


def _chance(share: Floats, gwet: str | None, scores: Floats) -> tuple[float, Floats]:
    """Agreement by chance from the mean shares of the categories, and its derivative by each share."""
    if gwet is None:
        return float(share @ share), 2 * share
    per = credit_total(gwet, scores) / (share.size * (share.size - 1))
    return float(per * (share @ (1 - share))), per * (1 - 2 * share)


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
    distance = np.arange(1, q)
    return q * q - float((2 * (q - distance) * distance * (distance + 1)).sum()) / (q * (q - 1))
