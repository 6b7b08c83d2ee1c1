"""Category labels by the model of Dawid & Skene (1979).

Each item has a true category, drawn with class shares; each rater answers with chances that depend on it
(their confusion matrix). Both are estimated by EM from the items' vote shares (equation 3.1 of the paper),
without any randomness. The first steps are plain EM; after that every two steps are extrapolated (SQUAREM,
Varadhan & Roland 2008) and the extrapolation is taken only if the log likelihood does not fall, so it never
does. EM slows down long before it arrives, so a small step is no sign of the end: it stops when the *rest* of
the climb, extrapolated from the rate at which steps shrink, is below ``tolerance`` times the log likelihood and
no posterior has further to go than ``POSTERIOR_LEFT``, and when steps from slightly disturbed posteriors lead no
higher (EM also lingers at saddles). Otherwise ``converged`` is false and a note says how much
the last step raised the log likelihood. ``support`` holds each item's posterior, the label is its largest entry (the first
in category order if several), ``shares`` its posterior probability and ``standard_errors`` sqrt(p (1 - p)).

``smoothing`` adds that many imagined answers to every cell of every confusion matrix; the quantity that
rises is then the penalised log likelihood. Raters with few ratings fit their own answers closely; smoothing
tempers that. A rater may rate an item more than once, as in the paper's data. Categories may be strings.

Source: Dawid & Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Applied
Statistics 28 (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats.aggregate.result import CategoryConsensus
from heartfelt.stats.aggregate.sorted_ratings import SortedRatings, sorted_categories
from heartfelt.stats.columns.triples import Floats, Ids, Values

METHOD = "Dawid-Skene EM"
TABLE_CELLS = 100_000_000
PLAIN_STEPS = 20
POSTERIOR_STEP = 1e-5
POSTERIOR_LEFT = 1e-3
CALIBRATED = 20
NUDGE = 0.02
NUDGE_STEPS = 120


def dawid_skene(
    rater: Ids,
    item: Ids,
    value: Values,
    *,
    categories: Sequence[Any] | None = None,
    smoothing: float = 0.0,
    tolerance: float = 1e-9,
    limit: int = 3000,
) -> CategoryConsensus:
    """Most probable true category per item, with raters' confusion matrices and class shares."""
    if smoothing < 0 or tolerance < 0 or limit < 1:
        raise InputError(
            f"EM cannot run with smoothing={smoothing}, tolerance={tolerance}, limit={limit}.",
            "smoothing and tolerance must be at least 0, limit at least 1.",
        )
    s = sorted_categories(rater, item, value, categories=categories, repeats=True)
    k, raters = len(s.categories), len(s.raters)
    if s.value.size == 0:
        none = np.zeros(0)
        return CategoryConsensus(
            **s.facts,
            values=(),
            shares=none,
            standard_errors=none,
            categories=s.categories,
            support=np.zeros((0, k)),
            method=METHOD,
        )
    if raters * k * k > TABLE_CELLS:
        raise InputError(
            f"Dawid-Skene keeps a {k} x {k} table for each of {raters} raters, which is too large.",
            "Use it for answers in a few categories; group the answers first.",
        )
    em = _Em(
        s=s, raters=raters, smoothing=float(smoothing), posterior=_vote_shares(s, k), tolerance=tolerance, limit=limit
    )
    em.run()
    posterior = em.posterior
    notes = [] if em.converged else [em.unsettled]
    per_category = s.value.size / raters / k
    if k > 1 and per_category < CALIBRATED:
        notes.append(
            f"raters gave {per_category:.1f} answers per category on average: below {CALIBRATED} posteriors are too high"
        )
    best = posterior.argmax(axis=1)
    p = posterior[np.arange(best.size), best]
    return CategoryConsensus(
        **s.facts,
        values=[s.categories[c] for c in best],
        shares=p,
        standard_errors=np.sqrt(np.maximum(p * (1.0 - p), 0.0)),
        categories=s.categories,
        support=posterior,
        method=METHOD + (f", smoothing {smoothing:g}" if smoothing else ""),
        confusion=np.ascontiguousarray(em.table.transpose(0, 2, 1)),
        priors=em.shares,
        log_likelihoods=tuple(em.trace),
        iterations=len(em.trace),
        converged=em.converged,
        notes=tuple(notes),
    )


def _vote_shares(s: SortedRatings, k: int) -> Floats:
    """Shares of each category among the item's ratings."""
    votes = np.bincount(s.item * k + s.value, minlength=len(s.items) * k).reshape(-1, k)
    return np.asarray(votes / s.counts[:, None])


@dataclass(slots=True, kw_only=True)
class _Em:
    """EM on one set of answers: posteriors, parameters, and the log likelihood at each step."""

    s: SortedRatings
    raters: int
    smoothing: float
    posterior: Floats
    tolerance: float
    limit: int
    shares: Floats = field(init=False)
    table: Floats = field(init=False)
    trace: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def unsettled(self) -> str:
        """How far the fit was from its end."""
        gain = self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else 0.0
        last_gain = f"; the last raised the log likelihood by {gain:.2g}" if gain > 0.0 else ""
        return f"not converged after {len(self.trace)} iterations{last_gain}"

    def run(self) -> None:
        """Climb until the rest of the climb is negligible and a nudge leads nowhere higher, or to the limit."""
        self._step()
        self._climb()
        while self.converged and len(self.trace) < self.limit:
            if not self._nudged():
                break
            self._climb()

    def _nudged(self) -> bool:
        """Whether steps from slightly disturbed posteriors get higher than here: then this was a saddle."""
        if self.posterior.shape[1] < 2:
            return False
        start = (1.0 - NUDGE) * self.posterior + NUDGE * _vote_shares(self.s, self.posterior.shape[1])
        tried = _Em(
            s=self.s, raters=self.raters, smoothing=self.smoothing, posterior=start, tolerance=1e-9, limit=NUDGE_STEPS
        )
        tried._step()
        tried._climb()
        if tried.trace[-1] <= self.trace[-1] + max(self.tolerance * abs(self.trace[-1]), 1e-6):
            return False
        self.posterior, self.shares, self.table = tried.posterior, tried.shares, tried.table
        self.trace.append(tried.trace[-1])
        self.converged = False
        return True

    def _climb(self) -> None:
        move = None
        while len(self.trace) < self.limit and not self.converged:
            before, parameters = self.posterior.copy(), (self.shares, self.table)
            self._step()
            after_one = (self.shares, self.table)
            last, move = move, float(np.abs(self.posterior - before).max())
            self.converged = self._settled(last, move)
            if self.converged or len(self.trace) < PLAIN_STEPS or len(self.trace) + 2 > self.limit:
                continue
            before = self.posterior.copy()
            self._step()
            self.converged = self._settled(move, float(np.abs(self.posterior - before).max()))
            if not self.converged and len(self.trace) < self.limit:
                self._leap(parameters, after_one)
            move = None

    def _step(self) -> None:
        """One step of EM: parameters from the posterior, then the posterior from them."""
        from heartfelt.stats.aggregate import _kernels_aggregate as kernels

        s = self.s
        self.shares, self.table = kernels.maximise(
            s.starts, s.rater, s.value, self.posterior, self.raters, self.smoothing
        )
        self.trace.append(self._expect(self.posterior))

    def _expect(self, posterior: Floats) -> float:
        from heartfelt.stats.aggregate import _kernels_aggregate as kernels

        s = self.s
        likelihood = float(kernels.expect(s.starts, s.rater, s.value, self.shares, self.table, posterior))
        if self.smoothing:
            likelihood += self.smoothing * float(np.log(np.maximum(self.table, 1e-300)).sum())
        return likelihood

    def _settled(self, last: float | None, move: float) -> bool:
        """Whether the rest of the climb is negligible, from two steps of plain EM in a row."""
        if len(self.trace) < 2 or self.tolerance <= 0.0 or last is None:
            return False
        gain = max(self.trace[-1] - self.trace[-2], 0.0)
        rate = min(move / last, 1.0 - 1e-6) if last > 0 else 0.0
        remaining_gain = gain * rate**2 / (1.0 - rate**2)
        near = move <= POSTERIOR_STEP and move * rate / (1.0 - rate) <= POSTERIOR_LEFT
        return near and remaining_gain <= self.tolerance * max(abs(self.trace[-1]), 1.0)

    def _leap(self, start: tuple[Floats, Floats], middle: tuple[Floats, Floats]) -> None:
        """Extrapolate the last two steps; stay where the likelihood would fall."""
        end = (self.shares, self.table)
        first = [b - a for a, b in zip(start, middle, strict=True)]
        bend = [(c - b) - r for b, c, r in zip(middle, end, first, strict=True)]
        length, curve = (float(np.sqrt(sum(float((x * x).sum()) for x in parts))) for parts in (first, bend))
        factor = length / curve if curve > 0 else 1.0
        if factor <= 1.0:
            return
        # SQUAREM: a leap along the two last steps, kept above a tenth of where they led, so that no share turns negative.
        leapt = [
            np.maximum(a + 2.0 * factor * r + factor**2 * v, 0.1 * c)
            for a, r, v, c in zip(start, first, bend, end, strict=True)
        ]
        self.shares = leapt[0] / leapt[0].sum()
        total = leapt[1].sum(axis=1, keepdims=True)
        self.table = np.divide(leapt[1], total, out=leapt[1], where=total > 0)
        posterior = np.empty_like(self.posterior)
        likelihood = self._expect(posterior)
        if likelihood >= self.trace[-1]:
            self.posterior = posterior
            self.trace.append(likelihood)
        else:
            self.shares, self.table = end
