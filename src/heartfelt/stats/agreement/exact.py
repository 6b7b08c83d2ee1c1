"""Exact agreement: on how many items do all votes agree, and how many pairs of votes do?

Both are shares between 0 and 1 over items with two or more votes, uncorrected for chance. *Unanimous* falls
as items get more votes; *pairwise*, the mean over items of the share of agreeing pairs, does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heartfelt.stats.agreement.grouped import Prior, grouped
from heartfelt.stats.agreement.interval import Interval, wanted
from heartfelt.stats.agreement.tallies import share
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class ExactAgreement:
    """``unanimous``: items on which all votes agree; ``pairwise``: pairs of votes that agree, per item."""

    unanimous: Estimate
    pairwise: Estimate

    @property
    def value(self) -> float | None:
        """The share of unanimous items."""
        return self.unanimous.value

    @property
    def low(self) -> float | None:
        """Lower bound of the share of unanimous items."""
        return self.unanimous.low

    @property
    def high(self) -> float | None:
        """Upper bound of the share of unanimous items."""
        return self.unanimous.high

    def to_json(self) -> dict[str, Any]:
        """A plain object for strict JSON."""
        return {"unanimous": self.unanimous.to_json(), "pairwise": self.pairwise.to_json()}


def exact_agreement(
    rater: Any,
    item: Any,
    value: Any,
    *,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    prior: Prior = None,
) -> ExactAgreement:
    """The share of items on which all votes agree, and of pairs of votes that agree."""
    from heartfelt.stats.agreement import _kernels_votes as kernels

    plan = wanted(interval, resample, "jackknife")
    votes = grouped(rater, item, value, numbers=False, prior=prior)
    counts = votes.counts()
    found = [
        share(votes, kind, method, counts, plan, "no item has two or more votes")[0]
        for kind, method in (
            (kernels.UNANIMOUS, "share of unanimous items"),
            (kernels.MEAN_PAIRS, "share of agreeing pairs of votes, mean over items"),
        )
    ]
    return ExactAgreement(found[0], found[1])
