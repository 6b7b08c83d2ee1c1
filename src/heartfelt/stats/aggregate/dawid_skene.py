"""Category labels by the model of Dawid & Skene (1979).

Each item has a true category, drawn with class shares; each rater answers with chances that depend on it
(their confusion matrix). Both are estimated by EM from the items' vote shares (equation 3.1 of the paper),
without any randomness. The log likelihood rises at every step, and EM stops when it rises by less than
``tolerance`` times its size. ``support`` holds each item's posterior, the label is its largest entry (the
first in category order if several), ``shares`` its posterior probability and ``standard_errors`` sqrt(p (1
- p)).

``smoothing`` adds that many imagined answers to every cell of every confusion matrix; the quantity that
rises is then the penalised log likelihood. Raters with few ratings fit their own answers closely; smoothing
tempers that. A rater may rate an item more than once, as in the paper's data. Categories may be strings.

Source: Dawid & Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Applied
Statistics 28 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import Consensus
from heartfelt.stats.aggregate.sorted_ratings import sorted_categories
from heartfelt.stats.triples import Ids, Values

METHOD = "Dawid-Skene EM"
TABLE_CELLS = 100_000_000


def dawid_skene(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    categories: Sequence[Any] | None = None,
    smoothing: float = 0.0,
    tolerance: float = 1e-9,
    limit: int = 1000,
) -> Consensus:
    """Most probable true category per item, with raters' confusion matrices and class shares."""
    from heartfelt.stats import _kernels_aggregate as kernels

    if smoothing < 0 or tolerance < 0 or limit < 1:
        raise InputError(
            f"EM cannot run with smoothing={smoothing}, tolerance={tolerance}, limit={limit}.",
            "Smoothing and tolerance are zero or more, the limit at least one.",
        )
    s = sorted_categories(rater, item, value, categories=categories, repeats=True)
    k, raters = len(s.categories), len(s.raters)
    if s.category.size == 0:
        none = np.zeros(0)
        return Consensus(
            s.items, (), none, none, s.counts, s.categories, np.zeros((0, k)), METHOD, left_out=s.left_out
        )
    if raters * k * k > TABLE_CELLS:
        raise InputError(
            f"Dawid-Skene keeps a {k} x {k} table for each of {raters} raters, which is too much.",
            "Use it for answers in a few categories; group the answers first.",
        )
    posterior = kernels.vote_shares(s.starts, s.category, k)
    trace: list[float] = []
    converged = False
    while len(trace) < limit and not converged:
        shares, table = kernels.maximise(s.starts, s.rater, s.category, posterior, raters, smoothing)
        likelihood = kernels.expect(s.starts, s.rater, s.category, shares, table, posterior)
        if smoothing:
            likelihood += smoothing * float(np.log(np.maximum(table, 1e-300)).sum())
        converged = bool(trace) and likelihood - trace[-1] <= tolerance * abs(likelihood)
        trace.append(likelihood)
    best = posterior.argmax(axis=1)
    p = posterior[np.arange(best.size), best]
    return Consensus(
        s.items,
        [s.categories[c] for c in best],
        p,
        np.sqrt(np.maximum(p * (1.0 - p), 0.0)),
        s.counts,
        s.categories,
        posterior,
        METHOD + (f", smoothing {smoothing:g}" if smoothing else ""),
        s.raters,
        np.ascontiguousarray(table.transpose(0, 2, 1)),
        shares,
        tuple(trace),
        len(trace),
        converged,
        s.left_out,
        () if converged else (f"not settled after {limit} iterations",),
    )
