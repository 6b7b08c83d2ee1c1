"""Gwet's AC1 and AC2: agreement beyond chance that does not collapse when one category is rare.

Chance agreement is the chance of agreeing on an item that is hard to judge: it shrinks, rather than grows,
when nearly all votes go to one category. AC2 gives part credit to votes that are close. The number of
categories enters, so ``categories`` should list all that could have been chosen (see ``chance`` for the
formula).

Weights: ``linear`` and ``quadratic`` by distance between numbers (words: between places in ``categories``),
``ordinal`` by the number of pairs of categories spanned.

Source: Gwet, Computing inter-rater reliability and its variance in the presence of high agreement, 2008;
Handbook of Inter-Rater Reliability, 4th edition, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heartfelt.errors import InputError, suggestion
from heartfelt.stats.agreement.chance import coefficient
from heartfelt.stats.agreement.grouped import Prior, grouped
from heartfelt.stats.agreement.interval import Interval, wanted
from heartfelt.stats.estimate import Estimate

WEIGHTS = ("ordinal", "linear", "quadratic")


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
    return coefficient(votes, "Gwet's AC1", "identity", wanted(interval, resample, "jackknife"))


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
        raise InputError(f"There are no weights called {weights!r}.", suggestion(str(weights), WEIGHTS))
    votes = grouped(rater, item, value, numbers=False, prior=prior, categories=categories)
    return coefficient(votes, "Gwet's AC2", weights, wanted(interval, resample, "jackknife"))
