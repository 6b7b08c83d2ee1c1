"""Votes and machines against the majority: what a person, or a prior, gets right by other people's votes.

- leave one out: each vote against the majority of the other votes, on items with three or more votes. It is
  the usual human upper bound of a benchmark whose labels are majorities.
- prior against majority: a machine's value against the majority of all votes on the item.

A majority is the single most frequent category among the votes concerned. A tie has no majority: it is
skipped and counted, never forced to a side. Accuracy is the share right of those compared; balanced
accuracy the mean, over the categories that are ever a majority, of the share right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.agreement.categories import absent
from heartfelt.stats.agreement.grouped import Grouped, Prior, grouped, read_prior
from heartfelt.stats.agreement.interval import Interval, wanted
from heartfelt.stats.agreement.tallies import NO_PRIOR, share
from heartfelt.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class AgainstMajority:
    """Right answers against a majority; ``ties`` were skipped for want of one."""

    accuracy: Estimate
    balanced_accuracy: Estimate
    ties: int

    @property
    def value(self) -> float | None:
        """The accuracy."""
        return self.accuracy.value

    @property
    def low(self) -> float | None:
        """Lower bound of the accuracy."""
        return self.accuracy.low

    @property
    def high(self) -> float | None:
        """Upper bound of the accuracy."""
        return self.accuracy.high

    def to_json(self) -> dict[str, Any]:
        """A plain object for strict JSON."""
        return {
            "accuracy": self.accuracy.to_json(),
            "balanced_accuracy": self.balanced_accuracy.to_json(),
            "n_ties": self.ties,
        }


def leave_one_out(
    rater: Any,
    item: Any,
    value: Any,
    *,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
    prior: Prior = None,
) -> AgainstMajority:
    """Each vote against the majority of the others, on items with three or more votes; ties skipped."""
    from heartfelt.stats.agreement import _kernels_votes as kernels

    votes = grouped(rater, item, value, numbers=False, prior=prior)
    return _against(
        votes,
        kernels.LEAVE_ONE_OUT,
        "each vote against the majority of the others",
        votes.counts(at_least=3),
        wanted(interval, resample, "jackknife"),
        "no item has three or more votes with a majority among the others",
    )


def prior_against_majority(
    rater: Any,
    item: Any,
    value: Any,
    prior: Mapping[Any, Any] | tuple[Any, Any],
    *,
    interval: str | Interval | None = "jackknife",
    resample: str | None = None,
) -> AgainstMajority:
    """A machine's value per item against the majority of the votes on it; ties skipped."""
    from heartfelt.stats.agreement import _kernels_votes as kernels

    if prior is None:
        raise InputError("There is no prior to hold against the majority.", "Pass prior={item: value, ...}.")
    votes = grouped(rater, item, value, numbers=False)
    told, unused = _prior_codes(votes, prior)
    has = (told >= 0) & (votes.sizes > 0)
    counts = votes.counts(at_least=1) | {"priors": int(has.sum())}
    counts |= {"prior_unused": unused} if unused else {}
    return _against(
        votes,
        kernels.AGAINST_PRIOR,
        "prior against the majority of votes",
        counts,
        wanted(interval, resample, "jackknife"),
        "no item has both a prior and a majority of votes",
        told,
    )


def _prior_codes(votes: Grouped, prior: Prior) -> tuple[npt.NDArray[np.int64], int]:
    assert votes.categories is not None
    names = {name: at for at, name in enumerate(votes.categories.names)}
    items, values = read_prior(prior)
    said = dict(zip(items, values, strict=True))
    told = np.full(votes.start.size - 1, -1, dtype=np.int64)
    used = 0
    for at in np.flatnonzero(votes.sizes).tolist():
        answer = said.get(votes.items[at])
        if not absent(answer):
            # A category no one voted for can never be right: it gets a code beyond all categories.
            told[at] = names.get(answer, len(names))
            used += 1
    return told, len(said) - used


def _against(
    votes: Grouped,
    kind: int,
    method: str,
    counts: dict[str, int],
    plan: Interval | None,
    why: str,
    told: npt.NDArray[np.int64] = NO_PRIOR,
) -> AgainstMajority:
    accuracy, ties = share(votes, kind, f"accuracy of {method}", counts, plan, why, told)
    balanced, _ = share(votes, kind, f"balanced accuracy of {method}", counts, plan, why, told, balanced=True)
    return AgainstMajority(accuracy, balanced, ties)
