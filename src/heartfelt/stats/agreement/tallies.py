"""Shares of right answers among the votes: with which other votes does a vote agree?

Quantities are shares between 0 and 1. *Unanimous* and *pairwise* agreement are over items with two or more
votes; the rest compare an answer with a truth that other people's votes define:

- pooled pairs: each vote is held against every other vote on its item, each in turn taken as the truth;
- leave one out: each vote against the majority of the other votes, on items with three or more;
- prior against majority: a machine's value against the majority of all votes.

*Accuracy* is right answers over trials; *balanced accuracy* the mean over true categories of the share right.
A majority is the single most frequent category. A tie has no majority: it is skipped and counted, never
forced to a side.

Every share carries a two-way interval (see ``interval``); at exactly 0 or 1, Wilson's over items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.agreement.grouped import Grouped, Prior, grouped, read_prior
from heartfelt.stats.agreement.interval import Interval, leave_out, wanted, with_bounds
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

NO_PRIOR: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ExactAgreement:
    """``unanimous``: items on which all votes agree; ``pairwise``: pairs of votes that agree, item by item."""

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
        if answer is not None and answer == answer:
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


def share(
    votes: Grouped,
    kind: int,
    method: str,
    counts: dict[str, int],
    plan: Interval | None,
    why: str,
    told: npt.NDArray[np.int64] = NO_PRIOR,
    balanced: bool = False,
) -> tuple[Estimate, int]:
    """Accuracy or balanced accuracy of one kind of comparison, and how many comparisons were tied."""
    from heartfelt.stats.agreement import _kernels_votes as kernels

    assert votes.categories is not None
    widest = int(votes.sizes.max(initial=0))
    hit, trial, ties, items = kernels.tally(
        votes.start, votes.value, kind, told, votes.categories.count, widest
    )
    told_counts = {**counts, "compared": int(round(trial.sum())), **({"ties": ties} if ties else {})}
    if trial.sum() <= 0:
        return Estimate.missing(why, method, told_counts), ties
    value, slopes = _balanced(hit, trial) if balanced else _plain(hit, trial)
    estimate = Estimate(value, method=method, counts=told_counts)
    if plan is None:
        return estimate, ties
    if min(value, 1 - value) < 1e-12:
        return _wilson(estimate, items, plan), ties
    people = len(votes.raters) if votes.rater.size else 0
    by_item, item_trials, by_rater, rater_trials, ballots, *cells = kernels.tally_influence(
        votes.start, votes.rater, votes.value, kind, told, slopes, widest, people, votes.prior
    )
    used, there = item_trials > 0, ballots > 0
    total = float(trial.sum())
    # Items change their meaning with one vote less (fewer votes agree more easily): that shift, the same for
    # every vote on average, says nothing about how raters differ.
    by_rater = by_rater - ballots * cells[1] / max(cells[0], 1)
    remaining = 1 - rater_trials[there] / total
    remaining[remaining < 1e-9] = np.nan
    spread = leave_out(
        by_item[used] / np.maximum(1 - item_trials[used] / total, 1e-9),
        by_rater[there] / remaining if people else None,
        (cells[0], cells[1], cells[2]),
        item_trials[used],
        ballots[there],
    )
    return with_bounds(estimate, spread, plan, "share"), ties


def _plain(hit: Floats, trial: Floats) -> tuple[float, Floats]:
    total = float(trial.sum())
    value = float(hit.sum()) / total
    return value, np.vstack([np.full(hit.size, 1 / total), np.full(hit.size, -value / total)])


def _balanced(hit: Floats, trial: Floats) -> tuple[float, Floats]:
    kinds = int(np.count_nonzero(trial))
    safe = np.where(trial > 0, trial, 1.0)
    slopes = np.vstack([1 / (kinds * safe), -hit / (kinds * safe * safe)])
    return float((hit / safe)[trial > 0].mean()), np.where(trial > 0, slopes, 0.0)


def _wilson(estimate: Estimate, items: int, plan: Interval) -> Estimate:
    """Wilson's interval with the item as the unit, for a share of exactly 0 or 1."""
    from scipy.special import ndtri

    z2 = float(ndtri((1 + plan.confidence) / 2)) ** 2
    reach = z2 / (items + z2)
    low, high = (1 - reach, 1.0) if float(estimate) > 0.5 else (0.0, reach)
    found = replace(estimate, value=round(float(estimate)), counts=dict(estimate.counts))
    return found.with_interval(low, high, "Wilson over items", plan.confidence)
