"""Informativeness: do a rater's answers depend at all on what was played?

*Effect.* For each question, the rater's answers are correlated with predictions made from everybody else's answers
(``heartfelt.screening.consensus``: shrunken cell and stimulus means without the rater). The effect is the mean of these
correlations over the questions. If what is played is given in random order and the answers do not depend on it, every
pairing of the rater's answers with the rater's stimuli is equally likely; the mean and variance of the effect over
these pairings are exact and keep the rater's use of the scale, the autocorrelation of the answers and the relation
between the questions. Effects go through Fisher's transformation.

*Test.* A permutation test of any dependence, in any direction and, with few questions, across them (a question
answered in another's place): the sum of squared correlations between answer and prediction columns, over ``draws``
pairings. ``p`` is its p-value. A rater who reads a scale upside down is unlike the others, but informative.

*Decision.* No evidence of dependence is not evidence of none: a rater with six answers can show nothing. So raters
are taken as two kinds (``heartfelt.screening.mixture``), and one is flagged when the posterior chance of carrying no
information is at least ``posterior`` and the test does not find a dependence at ``rescue``. Where the panel as a
whole agrees on nothing, nobody is judged; a rater whose answers never change is for the rule ``straight-lining``. Range
-1 to 1; 0 without information.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from heartfelt.screening.blocks import Block, blocks
from heartfelt.screening.mixture import TwoKinds, two_kinds
from heartfelt.screening.rule import MOST_EVIDENCE, RULES, Rule, RuleOptions, Setting
from heartfelt.screening.view import Bools, RatingsView
from heartfelt.screening.words import chance, number
from heartfelt.stats.triples import Floats, Ints
from heartfelt.streams import derived_seed

LEAST_WEIGHT = 3.0
LEAST_TRIALS = 8
LEAST_RATERS = 3
AGREEMENT_NEEDED = 3.0
NEVER_CHANGES = "all answers to a question are the same; see the rule straight-lining"


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Per rater: mean correlation, its weight on Fisher's scale, p of any dependence, ratings, and why there is none."""

    r: Floats
    weight: Floats
    p: Floats
    n: Ints
    why: list[str | None]

    @property
    def fisher(self) -> Floats:
        """Fisher's transformation of the mean correlation."""
        return np.arctanh(np.clip(self.r, -0.999, 0.999))


class Informativeness(Rule):
    """Answers that depend on what was played."""

    name: ClassVar[str] = "informativeness"
    about: ClassVar[str] = "whether the answers depend on what was played, jointly over the questions"
    statistic: ClassVar[str] = "mean correlation with what others' answers predict"
    settings: ClassVar[Mapping[str, Setting]] = {
        "posterior": (0.9, "chance of no information from which a rater is flagged"),
        "rescue": (0.01, "p-value of the permutation test below which a rater is never flagged"),
        "draws": (999, "permutations for each rater"),
    }

    def judge(self, view: RatingsView, options: RuleOptions) -> pl.DataFrame:
        """One row per rater."""
        found = self.effects(view, options)
        nobody = _why_nobody(found)
        if nobody is not None:
            return self._nobody(view, found, nobody)
        known = np.array([reason is None for reason in found.why], dtype=bool)
        return self._table(view, found, known, options)

    def no_information(self, view: RatingsView, options: RuleOptions) -> tuple[Floats, list[str | None]]:
        """Each rater's posterior chance of carrying no information, and why it is not known (then NaN)."""
        found = self.effects(view, options)
        nobody = _why_nobody(found)
        why = [reason or nobody for reason in found.why]
        known = np.array([reason is None for reason in why], dtype=bool)
        if not known.any():
            return np.full(len(view.raters), np.nan), why
        _, posterior = _posterior(found, known, self.number(options, "rescue"))
        return np.where(known, posterior, np.nan), why

    def clearly_informative(self, view: RatingsView, options: RuleOptions) -> dict[str, float]:
        """Raters whose answers surely depend on what was played, with their mean correlation."""
        found = self.effects(view, options)
        known = np.array([reason is None for reason in found.why], dtype=bool)
        if int(known.sum()) < LEAST_RATERS:
            return {}
        rescue = self.number(options, "rescue")
        _, posterior = _posterior(found, known, rescue)
        clear = known & (posterior < 1 - self.number(options, "posterior")) & (found.p < rescue)
        return {view.raters[rater]: float(found.r[rater]) for rater in np.flatnonzero(clear).tolist()}

    def effects(self, view: RatingsView, options: RuleOptions) -> Effects:
        """Every rater's effect, computed once for a view."""
        draws = int(self.number(options, "draws"))
        return view.remember(("effects", draws, options.seed), lambda: effects(view, draws, options.seed))

    def _table(self, view: RatingsView, found: Effects, known: Bools, options: RuleOptions) -> pl.DataFrame:
        rescue, needed = self.number(options, "rescue"), self.number(options, "posterior")
        kinds, posterior = _posterior(found, known, rescue)
        fit = known & (posterior > 0)
        flagged = fit & (posterior >= needed) & (found.p >= rescue)
        limit = np.full(len(view.raters), np.nan)
        limit[known] = kinds.limit(found.weight[known], needed)
        odds = np.log10(np.maximum(posterior, 1e-12)) - np.log10(np.maximum(1 - posterior, 1e-12))
        weight = np.where(known, np.clip(odds, 0.0, MOST_EVIDENCE), np.nan)
        return self.rows(
            rater=list(view.raters),
            value=np.where(known, found.r, np.nan),
            threshold=limit,
            p=np.where(known, found.p, np.nan),
            flagged=flagged,
            evidence=weight,
            words=[
                self._words(found, kinds, rater, float(posterior[rater])) for rater in range(len(view.raters))
            ],
            n=found.n,
            why_missing=found.why,
        )

    @staticmethod
    def _words(found: Effects, kinds: TwoKinds, rater: int, posterior: float) -> str:
        why = found.why[rater]
        if why is not None:
            return f"Not judged: {why}."
        return (
            f"The answers correlate {number(float(found.r[rater]))} on average with what others' answers predict for the same"
            f" stimuli, where raters here typically reach {number(float(np.tanh(kinds.centre)))}"
            f" ({chance(float(found.p[rater]))} for any dependence; chance of none {number(posterior)})."
        )

    def _nobody(self, view: RatingsView, found: Effects, why: str) -> pl.DataFrame:
        reasons = [reason or why for reason in found.why]
        return self.rows(
            rater=list(view.raters),
            words=[f"Not judged: {reason}." for reason in reasons],
            n=found.n,
            why_missing=reasons,
        )


def _why_nobody(found: Effects) -> str | None:
    """Why no rater can be judged, if none can."""
    known = np.array([reason is None for reason in found.why], dtype=bool)
    if int(known.sum()) < LEAST_RATERS:
        return f"fewer than {LEAST_RATERS} raters can be compared"
    z = found.fisher[known] * np.sqrt(found.weight[known])
    if float(z.sum() / np.sqrt(z.size)) < AGREEMENT_NEEDED:
        return "the raters as a whole do not agree about the stimuli, so there is nothing to hold a rater against"
    return None


def _posterior(found: Effects, known: Bools, rescue: float) -> tuple[TwoKinds, Floats]:
    """The fitted mixture, and every rater's chance of carrying no information (0 where there is no effect)."""
    # A rater who runs against the others is informative but would widen the spread of those who go with them.
    fit = known & ~((found.p < rescue) & (found.r < 0))
    posterior = np.zeros(found.r.size)
    if not fit.any():
        fit = known
    kinds = two_kinds(found.fisher[fit], found.weight[fit])
    posterior[fit] = kinds.posterior
    return kinds, posterior


def effects(view: RatingsView, draws: int, seed: int) -> Effects:
    """The effect and test of every rater."""
    size = len(view.raters)
    r, weight, p = np.zeros(size), np.zeros(size), np.ones(size)
    why: list[str | None] = ["too few answers"] * size
    for block in blocks(view):
        r[block.rater], weight[block.rater], p[block.rater], why[block.rater] = _effect(
            block, draws, derived_seed(seed, "panel", "informativeness", view.raters[block.rater])
        )
    return Effects(r, weight, p, view.ratings_of, why)


def _effect(block: Block, draws: int, seed: int) -> tuple[float, float, float, str | None]:
    from heartfelt.screening._kernels_dependence import dependence, standardise

    if block.answers.shape[0] < LEAST_TRIALS:
        return 0.0, 0.0, 1.0, f"fewer than {LEAST_TRIALS} trials"
    y, x = block.answers.copy(), block.predictions.copy()
    moves, differs = standardise(y, block.seen), standardise(x, block.seen)
    if not moves.any():
        return 0.0, 0.0, 1.0, NEVER_CHANGES
    use = np.flatnonzero(moves & differs)
    if not use.size:
        return 0.0, 0.0, 1.0, "nothing the others said tells these stimuli apart"
    y, x = np.ascontiguousarray(y[:, use]), np.ascontiguousarray(x[:, use])
    _, stratum = np.unique(block.seen[:, use], axis=0, return_inverse=True)
    stratum = stratum.ravel().astype(np.int64)
    total, mean, variance, p = dependence(y, x, stratum, int(stratum.max()) + 1, draws, seed)
    if variance <= 1e-12:
        return 0.0, 0.0, 1.0, "no two trials had the same questions answered"
    weight = use.size**2 / variance - 2.0
    if weight < LEAST_WEIGHT:
        return 0.0, 0.0, 1.0, "too few answers to tell"
    return float((total - mean) / use.size), float(weight), float(p), None


RULES.add(Informativeness.name, Informativeness())
