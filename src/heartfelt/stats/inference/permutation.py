"""Permutation tests: is this difference or correlation more than shuffling gives?

All arrangements are enumerated when there are at most 200,000 of them (the p-value is then exact); otherwise
``resamples`` random ones are drawn and the data's own arrangement counts as one more, so that no p-value is 0 and the
test keeps its level (Phipson and Smyth 2010). A drawn p-value carries a Clopper-Pearson interval for what more
resamples would give. Two-sided means at least as far from 0, either way; arrangements within rounding count as equal.

The two-sample and correlation tests assume that rows can be exchanged under the null hypothesis. With unequal spreads
use ``statistic="welch"`` (Janssen 1997); where rows come in blocks, ``within`` shuffles inside each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Any, Literal, get_args

import numpy as np

from heartfelt.errors import InputError, suggestion
from heartfelt.stats._bounds import check_confidence, clopper_pearson
from heartfelt.stats.columns.paired import Column, coded, mid_ranks, pairs, sort_rows
from heartfelt.stats.columns.triples import Floats, Ints, as_array
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.inference.equivalence import independent, paired
from heartfelt.stats.prediction.association import Correlation, metric_estimate
from heartfelt.streams import derived_seed

Alternative = Literal["two-sided", "greater", "less"]
EXACT_LIMIT = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationTest:
    """The observed effect (the headline) and its p-value.

    ``arrangements`` is how many were compared, the observed one included; ``exact`` whether those were all.
    """

    estimate: Estimate
    p: Estimate
    alternative: Alternative
    arrangements: int = field(metadata={"formerly": "n_arrangements"})
    exact: bool
    method: str


def permutation_two_sample(
    a: Column,
    b: Column,
    *,
    statistic: Literal["mean", "welch"] = "mean",
    alternative: Alternative = "two-sided",
    resamples: int = 9999,
    seed: int = 0,
    confidence: float = 0.95,
) -> PermutationTest:
    """Test whether two independent groups differ in mean; ``greater`` means that ``a`` is."""
    _check(statistic, ("mean", "welch"), alternative, resamples, confidence)
    (first, second), effect = independent(a, b)
    method = f"two-sample permutation test of the {'mean' if statistic == 'mean' else 'Welch t'}"
    everything = np.concatenate([first, second])
    reason = effect.why_missing
    if reason is None and float(np.ptp(everything)) == 0:
        reason = "the values do not vary"
    if reason is None and statistic == "welch":
        reason = effect.why_no_error
    if reason:
        return _none(effect.estimate(confidence), reason, alternative, method)
    centred = everything - everything.mean()
    sizes = first.size, second.size
    observed_sums = np.array([[centred[: sizes[0]].sum(), float(np.sum(centred[: sizes[0]] ** 2))]])
    exact = math.comb(everything.size, sizes[0]) <= EXACT_LIMIT
    sums = _divisions(centred, sizes[0], exact, resamples, seed)
    values = _two_sample(np.vstack([observed_sums, sums]), centred, sizes, statistic)
    return _result(effect.estimate(confidence), values[0], values[1:], alternative, exact, method)


def _divisions(centred: Floats, size: int, exact: bool, resamples: int, seed: int) -> Floats:
    if exact:
        picked = np.fromiter(
            (i for chosen in combinations(range(centred.size), size) for i in chosen), np.int64
        ).reshape(-1, size)
        values = centred[picked]
        return np.column_stack([values.sum(axis=1), (values * values).sum(axis=1)])
    from heartfelt.stats.compiled._kernels_permutation import shuffle_sums

    # Picking the smaller group is less work; the other's sums are what is left.
    small = min(size, centred.size - size)
    sums = shuffle_sums(centred, small, resamples, _state(seed, "two-sample"))
    if small == size:
        return sums
    full_sums = np.array([float(centred.sum()), float(centred @ centred)])
    return np.asarray(full_sums - sums)


def _two_sample(sums: Floats, centred: Floats, sizes: tuple[int, int], statistic: str) -> Floats:
    total, squares = float(centred.sum()), float(centred @ centred)
    mean_a, mean_b = sums[:, 0] / sizes[0], (total - sums[:, 0]) / sizes[1]
    if statistic == "mean":
        return np.asarray(mean_a - mean_b)
    spread_a = np.maximum(sums[:, 1] - sizes[0] * mean_a**2, 0) / (sizes[0] - 1) / sizes[0]
    spread_b = np.maximum(squares - sums[:, 1] - sizes[1] * mean_b**2, 0) / (sizes[1] - 1) / sizes[1]
    error = np.sqrt(spread_a + spread_b)
    # An arrangement without spread in either group is as extreme as can be.
    tiny = 1e-8 * math.sqrt(squares / centred.size)
    return np.asarray((mean_a - mean_b) / np.maximum(error, tiny))


def permutation_paired(
    a: Column,
    b: Column,
    *,
    alternative: Alternative = "two-sided",
    resamples: int = 9999,
    seed: int = 0,
    confidence: float = 0.95,
) -> PermutationTest:
    """Test whether paired values differ in mean, by swapping the two of each pair."""
    _check("mean", ("mean",), alternative, resamples, confidence)
    gaps, effect = paired(a, b)
    method = "paired permutation test of the mean (sign flips)"
    reason = effect.why_missing
    if reason is None and not np.any(gaps):
        reason = "no pair differs"
    if reason:
        return _none(effect.estimate(confidence), reason, alternative, method)
    from heartfelt.stats.compiled._kernels_permutation import all_flip_sums, flip_sums

    moving = gaps[gaps != 0]
    exact = 2**moving.size <= EXACT_LIMIT
    sums = all_flip_sums(moving) if exact else flip_sums(moving, resamples, _state(seed, "paired"))
    return _result(effect.estimate(confidence), float(moving.sum()), sums, alternative, exact, method)


def permutation_correlation(
    x: Column,
    y: Column,
    *,
    kind: Correlation = "pearson",
    within: Column | None = None,
    alternative: Alternative = "two-sided",
    resamples: int = 9999,
    seed: int = 0,
) -> PermutationTest:
    """Test whether two columns are correlated, by shuffling one against the other (``within`` blocks, if given)."""
    _check(kind, ("pearson", "spearman", "kendall"), alternative, resamples, 0.95)
    data = pairs(x, y)
    estimate = metric_estimate(kind, x, y)
    method = f"permutation test of {estimate.method}" + (" within blocks" if within is not None else "")
    if estimate.is_missing:
        return _none(estimate, estimate.why_missing or "", alternative, method)
    starts, order = _blocks(within, data.used)
    if kind == "kendall" and within is not None:
        raise InputError("Kendall's tau is not shuffled within blocks.", "Use kind='spearman' with blocks.")
    exact = within is None and math.factorial(min(data.n, 20)) <= EXACT_LIMIT
    observed: float | None
    if kind == "kendall":
        observed, values = _concordances(data.x, data.y, exact, resamples, seed)
    else:
        ranked = kind == "spearman"
        first, second = (mid_ranks(c) if ranked else c for c in (data.x, data.y))
        observed, values = _products(first[order], second[order], starts, exact, (resamples, seed))
    if observed is None:
        return _none(estimate, "shuffling within blocks changes nothing", alternative, method)
    return _result(estimate, observed, values, alternative, exact, method)


def _blocks(within: Column | None, used: Any) -> tuple[Ints, Ints]:
    n = int(np.count_nonzero(used))
    if within is None:
        return np.array([0, n]), np.arange(n)
    ids = as_array(within)
    if ids.size != used.size:
        raise InputError(f"The column of blocks has {ids.size} rows, not {used.size}.", "Pass one block per pair.")
    _, codes, has_block = coded(ids[used], "within")
    if not has_block.all():
        raise InputError("A pair has no block.", "Give every pair a block, or leave out those without.")
    return np.append(0, np.cumsum(np.bincount(codes))), np.argsort(codes, kind="stable")


def _products(x: Floats, y: Floats, starts: Ints, exact: bool, how: tuple[int, int]) -> tuple[float | None, Floats]:
    """Sums of products; centring inside blocks leaves the order of arrangements as it is."""
    sizes = np.diff(starts)
    code = np.repeat(np.arange(sizes.size), sizes)
    x, y = (column - (np.bincount(code, weights=column) / sizes)[code] for column in (x, y))
    x, y = x / max(float(np.abs(x).max()), 1e-300), y / max(float(np.abs(y).max()), 1e-300)
    if not (np.any(np.abs(x) > 1e-13) and np.any(np.abs(y) > 1e-13)):
        return None, np.zeros(0)
    if exact:
        shuffled = np.array(list(permutations(range(x.size))))
        return float(x @ y), np.asarray(y[shuffled] @ x)
    from heartfelt.stats.compiled._kernels_permutation import shuffle_products

    return float(x @ y), shuffle_products(x, y, starts, how[0], _state(how[1], "correlation"))


def _concordances(x: Floats, y: Floats, exact: bool, resamples: int, seed: int) -> tuple[float, Floats]:
    first, second = sort_rows(x), sort_rows(y)
    if exact:
        lower, upper = np.triu_indices(x.size, 1)
        signs = np.sign(first.rank[lower] - first.rank[upper])
        shuffled = second.rank[np.array(list(permutations(range(x.size))))]
        values = (np.sign(shuffled[:, lower] - shuffled[:, upper]) @ signs).astype(np.float64)
        return float(np.sign(second.rank[lower] - second.rank[upper]) @ signs), values
    from heartfelt.stats.compiled._kernels_permutation import shuffle_concordance
    from heartfelt.stats.compiled._kernels_resample import kendall_scores

    observed = kendall_scores(first.order, first.starts, second.rank, second.distinct).sum() / 2
    state = _state(seed, "concordance")
    return float(observed), shuffle_concordance(second.rank, first.order, first.starts, resamples, state)


def _state(seed: int, name: str) -> Any:
    return np.uint64(derived_seed(seed, "permutation", name))


def _check(statistic: str, statistics: tuple[str, ...], alternative: str, resamples: int, confidence: float) -> None:
    if statistic not in statistics:
        raise InputError(f"There is no permutation test of '{statistic}'.", suggestion(statistic, statistics))
    if alternative not in get_args(Alternative):
        fix = suggestion(alternative, get_args(Alternative))
        raise InputError(f"No alternative is called '{alternative}'.", fix)
    if resamples < 1:
        raise InputError(f"Cannot draw {resamples} resamples.", "Ask for 9,999 or so.")
    check_confidence(confidence)


def _none(estimate: Estimate, reason: str, alternative: Alternative, method: str) -> PermutationTest:
    p = Estimate.missing(reason, f"p-value, {method}", estimate.counts)
    return PermutationTest(estimate=estimate, p=p, alternative=alternative, arrangements=0, exact=False, method=method)


def _result(
    estimate: Estimate, observed: float, values: Floats, alternative: Alternative, exact: bool, method: str
) -> PermutationTest:
    slack = 1e-10 * max(abs(observed), float(np.abs(values).max()))
    if alternative == "two-sided":
        observed, values = abs(observed), np.abs(values)
    elif alternative == "less":
        observed, values = -observed, -values
    hits, total = int(np.count_nonzero(values >= observed - slack)), int(values.size)
    name = f"p-value, {method}"
    test = PermutationTest(
        estimate=estimate,
        p=Estimate(value=hits / total, method=name, counts=estimate.counts, why_no_interval="exact"),
        alternative=alternative,
        arrangements=total,
        exact=True,
        method=method,
    )
    if exact:
        return test
    low, high = map(float, clopper_pearson(hits, total, 0.025))
    value = (hits + 1) / (total + 1)
    p = Estimate(value=value, method=name, counts={**estimate.counts, "resamples": total})
    p = p.with_interval(min(low, value), max(high, value), "Clopper-Pearson over resamples")
    return replace(test, p=p, arrangements=total + 1, exact=False)
