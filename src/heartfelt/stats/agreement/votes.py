"""Shares of agreeing votes: exact agreement, votes against the majority of the others, and machines against the majority.

- ``exact_agreement``: the share of items on which all votes agree (which falls as items get more votes), and the mean over
  items of the share of agreeing pairs of votes (which does not), both over items with two or more votes.
- ``leave_one_out``: each vote against the majority of the other votes, on items with three or more votes. It is the usual
  human upper bound of a benchmark whose labels are majorities.
- ``prior_against_majority``: a machine's value against the majority of all votes on the item.

A majority is the single most frequent category among the votes concerned. A tie has no majority: it is skipped and counted,
never forced to a side. Accuracy is the share right of those compared; balanced accuracy the mean, over the categories that are
ever a majority, of the share right. All lie between 0 and 1, uncorrected for chance. The interval is two-way (see
``interval``), from the first-order effect of each item, rater and vote; at exactly 0 or 1 it is Wilson's with the item as the
unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats._bounds import wilson
from heartfelt.stats.agreement.grouped import Grouped, Prior, grouped, read_prior
from heartfelt.stats.agreement.interval import Interval, leave_out, wanted, with_bounds
from heartfelt.stats.columns.categories import absent
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.estimate import Estimate

NO_PRIOR: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ExactAgreement:
    """``unanimous``: items on which all votes agree; ``pairwise``: pairs of votes that agree, per item."""

    unanimous: Estimate
    pairwise: Estimate


@dataclass(frozen=True, slots=True)
class AgainstMajority:
    """Right answers against a majority; ``ties`` were skipped because they have none."""

    accuracy: Estimate
    balanced_accuracy: Estimate
    ties: int = field(metadata={"formerly": "n_ties"})


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
    from heartfelt.stats.agreement.kernels._kernels_votes import MEAN_PAIRS, UNANIMOUS

    plan = wanted(interval, resample, "jackknife")
    votes = grouped(rater, item, value, numbers=False, prior=prior)
    counts = votes.counts()
    unanimous, pairwise = (
        share(votes, kind, method, counts, plan, "no item has two or more votes")[0]
        for kind, method in (
            (UNANIMOUS, "share of unanimous items"),
            (MEAN_PAIRS, "share of agreeing pairs of votes, mean over items"),
        )
    )
    return ExactAgreement(unanimous, pairwise)


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
    from heartfelt.stats.agreement.kernels._kernels_votes import LEAVE_ONE_OUT

    votes = grouped(rater, item, value, numbers=False, prior=prior)
    return _against(
        votes,
        LEAVE_ONE_OUT,
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
    from heartfelt.stats.agreement.kernels._kernels_votes import AGAINST_PRIOR

    if prior is None:
        raise InputError("There is no prior to compare with the majority.", "Pass prior={item: value, ...}.")
    votes = grouped(rater, item, value, numbers=False)
    codes, unused = _prior_codes(votes, prior)
    has = (codes >= 0) & (votes.sizes > 0)
    counts = votes.counts(at_least=1) | {"priors": int(has.sum())}
    counts |= {"prior_unused": unused} if unused else {}
    return _against(
        votes,
        AGAINST_PRIOR,
        "prior against the majority of votes",
        counts,
        wanted(interval, resample, "jackknife"),
        "no item has both a prior and a majority of votes",
        codes,
    )


def _prior_codes(votes: Grouped, prior: Prior) -> tuple[Ints, int]:
    """The category of the prior for each item, -1 where there is none, and how many priors were not used."""
    names = {name: at for at, name in enumerate(votes.named.names)}
    values = dict(zip(*read_prior(prior), strict=True))
    codes = np.full(votes.start.size - 1, -1, dtype=np.int64)
    used = 0
    for at in np.flatnonzero(votes.sizes).tolist():
        answer = values.get(votes.items[at])
        if not absent(answer):
            # A category no one voted for can never be right: it gets a code beyond all categories.
            codes[at] = names.get(answer, len(names))
            used += 1
    return codes, len(values) - used


def _against(
    votes: Grouped,
    kind: int,
    method: str,
    counts: dict[str, int],
    plan: Interval | None,
    reason: str,
    prior: Ints = NO_PRIOR,
) -> AgainstMajority:
    accuracy, ties = share(votes, kind, f"accuracy of {method}", counts, plan, reason, prior)
    name = f"balanced accuracy of {method}"
    balanced, _ = share(votes, kind, name, counts, plan, reason, prior, balanced=True)
    return AgainstMajority(accuracy, balanced, ties)


def share(
    votes: Grouped,
    kind: int,
    method: str,
    counts: dict[str, int],
    plan: Interval | None,
    reason: str,
    prior: npt.NDArray[np.int64] = NO_PRIOR,
    balanced: bool = False,
) -> tuple[Estimate, int]:
    """Accuracy or balanced accuracy of one kind of comparison, and how many comparisons were tied.

    Each item contributes right answers and trials by true category.
    """
    from heartfelt.stats.agreement.kernels import _kernels_votes as kernels

    widest = int(votes.sizes.max(initial=0))
    hit, trial, ties, items = kernels.tally(votes.start, votes.value, kind, prior, votes.named.count, widest)
    total = float(trial.sum())
    counts = {**counts, "compared": round(total), **({"ties": ties} if ties else {})}
    if total <= 0:
        return Estimate.missing(reason, method, counts), ties
    value, slopes = _balanced(hit, trial) if balanced else _pooled_share(hit, trial)
    estimate = Estimate(value=value, method=method, counts=counts)
    if plan is None:
        return estimate, ties
    if min(value, 1 - value) < 1e-12:
        low, high = wilson(items * round(value), items, plan.confidence)
        exact = replace(estimate, value=round(value))
        return exact.with_interval(low, high, "Wilson over items", plan.confidence), ties
    people = len(votes.raters) if votes.rater.size else 0
    by_item, item_trials, by_rater, rater_trials, ballots, *cells = kernels.tally_influence(
        (votes.start, votes.rater, votes.value), kind, prior, slopes, widest, people, votes.prior
    )
    used, voted = item_trials > 0, ballots > 0
    # Items change their meaning with one vote less (fewer votes agree more easily): that shift, the same for
    # every vote on average, says nothing about how raters differ.
    by_rater = by_rater - ballots * cells[1] / max(cells[0], 1)
    remaining = 1 - rater_trials[voted] / total
    remaining[remaining < 1e-9] = np.nan
    spread = leave_out(
        by_item[used] / np.maximum(1 - item_trials[used] / total, 1e-9),
        by_rater[voted] / remaining if people else None,
        (cells[0], cells[1], cells[2]),
        item_trials[used],
        ballots[voted],
    )
    return with_bounds(estimate, spread, plan, "share"), ties


def _pooled_share(hit: Floats, trial: Floats) -> tuple[float, Floats]:
    total = float(trial.sum())
    value = float(hit.sum()) / total
    return value, np.vstack([np.full(hit.size, 1 / total), np.full(hit.size, -value / total)])


def _balanced(hit: Floats, trial: Floats) -> tuple[float, Floats]:
    kinds = int(np.count_nonzero(trial))
    safe = np.where(trial > 0, trial, 1.0)
    slopes = np.vstack([1 / (kinds * safe), -hit / (kinds * safe * safe)])
    return float((hit / safe)[trial > 0].mean()), np.where(trial > 0, slopes, 0.0)
