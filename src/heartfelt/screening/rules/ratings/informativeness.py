"""Informativeness: do a rater's answers depend at all on what was played?

*Effect.* For each question, the rater's answers are correlated with predictions made from everybody else's answers
(``heartfelt.screening.view.consensus``: shrunken cell and stimulus means without the rater). The effect is the mean of these
correlations over the questions. If stimuli come in random order and the answers do not depend on them, every pairing of the
rater's answers with the rater's stimuli is equally likely; the mean and variance of the effect over these pairings are
exact and keep the rater's use of the scale, the autocorrelation of the answers and the relation between the questions.
Effects go through Fisher's transformation.

*Test.* A permutation test of any dependence, in any direction and, with few questions, across them (a question
answered in another's place): the sum of squared correlations between answer and prediction columns, over ``draws``
pairings. ``p`` is its p-value. A rater who reads a scale upside down is unlike the others, but informative.

*Decision.* No evidence of dependence is not evidence of none: six answers can show nothing. So raters are taken as two
kinds, those whose answers carry no information (the effect has mean 0) and the others (effects scatter normally around a
common ``centre`` with standard deviation ``spread``). Share, centre and spread are fitted by expectation-maximisation with
weak priors, worth a handful of raters, that keep small panels from fitting a single odd rater exactly: a share of 1 in 10
and a spread of 0.2. The *posterior* is each rater's chance of carrying no information: a local false discovery rate (Efron
2008, "Microarrays, empirical Bayes and the two-groups model"). A rater is flagged when the posterior is at least
``posterior`` and the test does not find a dependence at ``rescue``. Where the panel as a whole agrees on nothing, nobody is
judged; a rater whose answers never change is for the rule ``straight-lining``. Range -1 to 1; 0 without information.

*Power.* The chance that a rater who answers at random would be flagged here, from the fitted mixture and the number of the
rater's answers: a panel of few raters or answers flags nobody because it can tell nobody apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.screening.permutations.dependence import dependence, standardise
from heartfelt.screening.rule import MOST_EVIDENCE, Reasons, RuleOptions, RuleVerdicts, is_judged
from heartfelt.screening.view.ratings import Bools, RaterBlock, RatingsView, remembered
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.streams import derived_seed
from heartfelt.wording import number, p_value

DRAWS = 999
RESCUE = 0.01
POSTERIOR = 0.9
LEAST_WEIGHT = 3.0
LEAST_TRIALS = 8
LEAST_RATERS = 3
AGREEMENT_NEEDED = 3.0
NEVER_CHANGES = "all answers to a question are the same; see the rule straight-lining"

_PRIOR_RATERS = 5.0
_PRIOR_SHARE = 0.1
_PRIOR_SPREAD = 0.2
_ROUNDS = 300
_QUANTILES = 400


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Effects:
    """Per rater: mean correlation, its weight on Fisher's scale, p of any dependence, ratings, and why there is none."""

    r: Floats
    weight: Floats
    p: Floats
    n: Ints
    why: Reasons

    @property
    def fisher(self) -> Floats:
        """Fisher's transformation of the mean correlation."""
        return np.arctanh(np.clip(self.r, -0.999, 0.999))


@remembered
def effects(view: RatingsView, seed: int, draws: int = DRAWS) -> Effects:
    size = len(view.raters)
    r, weight, p = np.zeros(size), np.zeros(size), np.ones(size)
    reasons: Reasons = ["too few answers"] * size
    for block in view.blocks():
        own_seed = derived_seed(seed, "panel", "informativeness", view.raters[block.rater])
        result = _effect(block, draws, own_seed, compiled=not view.is_small)
        if isinstance(result, str):
            reasons[block.rater] = result
        else:
            r[block.rater], weight[block.rater], p[block.rater] = result
            reasons[block.rater] = None
    return Effects(r=r, weight=weight, p=p, n=view.ratings_of, why=reasons)


def _effect(block: RaterBlock, draws: int, seed: int, *, compiled: bool) -> tuple[float, float, float] | str:
    if block.answers.shape[0] < LEAST_TRIALS:
        return f"fewer than {LEAST_TRIALS} trials"
    y, x = block.answers.copy(), block.predictions.copy()
    moves, differs = standardise(y, block.seen), standardise(x, block.seen)
    if not moves.any():
        return NEVER_CHANGES
    use = np.flatnonzero(moves & differs)
    if not use.size:
        return "the others' answers do not tell these stimuli apart"
    y, x = np.ascontiguousarray(y[:, use]), np.ascontiguousarray(x[:, use])
    _, stratum = np.unique(block.seen[:, use], axis=0, return_inverse=True)
    stratum = stratum.ravel().astype(np.int64)
    total, mean, variance, p = dependence(y, x, stratum, draws, seed, compiled=compiled)
    if variance <= 1e-12:
        return "no two trials had the same questions answered"
    weight = use.size**2 / variance - 2.0
    if weight < LEAST_WEIGHT:
        return "too few answers to tell"
    return float((total - mean) / use.size), float(weight), float(p)


def panel_agrees(effect: Effects, judged: Bools) -> bool:
    """Whether the known raters as a whole agree about the stimuli: their summed effect in standard errors."""
    z = effect.fisher[judged] * np.sqrt(effect.weight[judged])
    return bool(z.size) and float(z.sum() / np.sqrt(z.size)) >= AGREEMENT_NEEDED


def _reasons(effect: Effects) -> Reasons:
    """Why each rater cannot be judged, reasons that hold for everybody included."""
    judged = is_judged(effect.why)
    nobody = None
    if int(judged.sum()) < LEAST_RATERS:
        nobody = f"fewer than {LEAST_RATERS} raters can be compared"
    elif not panel_agrees(effect, judged):
        nobody = "the raters as a whole do not agree about the stimuli, so there is nothing to compare a rater with"
    return [reason or nobody for reason in effect.why]


@dataclass(frozen=True, slots=True, eq=False)
class TwoKinds:
    """The fitted mixture and each rater's chance of carrying no information."""

    posterior: Floats
    share: float
    centre: float
    spread: float

    def limit(self, weight: Floats, posterior: float) -> Floats:
        """The largest correlation, for each weight, with a chance of no information of ``posterior``; NaN if none."""
        grid = np.arange(191) / 200
        out = np.full(weight.shape, np.nan)
        # Raters with as many answers share a limit: one grid for each weight, rounded.
        weights, inverse = np.unique(np.round(weight, 1), return_inverse=True)
        for index, w in enumerate(weights.tolist()):
            chances = _posterior(np.arctanh(grid), np.full(grid.size, w), self.share, self.centre, self.spread)
            passed = np.flatnonzero(chances >= posterior)
            if passed.size:
                out[inverse == index] = grid[passed[-1]]
        return out

    def power(self, weight: Floats, posterior: float, rescue: float) -> Floats:
        """For each weight, the chance that a rater without information is flagged at ``posterior`` and ``rescue``."""
        from scipy.special import ndtr, ndtri

        z = ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
        z = z[2 * ndtr(-np.abs(z)) >= rescue]
        weights, inverse = np.unique(np.round(weight, 1), return_inverse=True)
        chances = _posterior(z / np.sqrt(weights[:, None]), weights[:, None], self.share, self.centre, self.spread)
        flagged: Floats = (chances >= posterior).sum(axis=1) / _QUANTILES
        return flagged[inverse]


def two_kinds(effect: Floats, weight: Floats) -> TwoKinds:
    """Fit the mixture to effects on Fisher's scale with their weights (1 / variance)."""
    z = effect * np.sqrt(weight)
    clear = effect[z > 1.64]
    centre = float(np.median(clear)) if clear.size else max(float(np.median(effect)), 0.05)
    share, spread = _PRIOR_SHARE, _PRIOR_SPREAD
    for _ in range(_ROUNDS):
        # Expectation: each rater's chance of either kind. Maximisation: share, centre and spread, weighted with them.
        none = _posterior(effect, weight, share, centre, spread)
        some = 1.0 - none
        pull = some / (1.0 / weight + spread**2)
        new_centre = max(0.0, float((pull * effect).sum() / pull.sum())) if pull.sum() > 1e-9 else centre
        variance = 1.0 / (1.0 / max(spread**2, 1e-8) + weight)
        mean = variance * (new_centre / max(spread**2, 1e-8) + weight * effect)
        squares = float((some * ((mean - new_centre) ** 2 + variance)).sum())
        squares += _PRIOR_RATERS * _PRIOR_SPREAD**2
        new_spread = float(np.sqrt(squares / (float(some.sum()) + _PRIOR_RATERS)))
        new_share = (float(none.sum()) + _PRIOR_RATERS * _PRIOR_SHARE) / (effect.size + _PRIOR_RATERS)
        moved = abs(new_centre - centre) + abs(new_spread - spread) + abs(new_share - share)
        centre, spread, share = new_centre, new_spread, new_share
        if moved < 1e-9:
            break
    return TwoKinds(_posterior(effect, weight, share, centre, spread), share, centre, spread)


def _posterior(effect: Floats, weight: Floats, share: float, centre: float, spread: float) -> Floats:
    """The chance of no information given the effect."""
    wide = 1.0 / weight + spread**2
    log_none = np.log(share) - 0.5 * weight * effect**2 + 0.5 * np.log(weight)
    log_some = np.log1p(-share) - 0.5 * (effect - centre) ** 2 / wide - 0.5 * np.log(wide)
    # exp of at most 700 stays finite.
    odds: Floats = np.exp(np.minimum(log_some - log_none, 700.0))
    return 1.0 / (1.0 + odds)


def _mixture(effect: Effects, judged: Bools, rescue: float) -> tuple[TwoKinds, Floats]:
    """The fitted mixture, and every rater's chance of carrying no information (0 where there is no effect)."""
    # A rater who runs against the others is informative but would widen the spread of those who go with them.
    fit = judged & ~((effect.p < rescue) & (effect.r < 0))
    if not fit.any():
        fit = judged
    kinds = two_kinds(effect.fisher[fit], effect.weight[fit])
    posterior = np.zeros(effect.r.size)
    posterior[fit] = kinds.posterior
    return kinds, posterior


def no_information(view: RatingsView, seed: int) -> tuple[Floats, Reasons]:
    """Each rater's posterior chance of carrying no information, and why it is not known (then NaN)."""
    effect = effects(view, seed)
    reasons = _reasons(effect)
    judged = is_judged(reasons)
    if not judged.any():
        return np.full(len(view.raters), np.nan), reasons
    return np.where(judged, _mixture(effect, judged, RESCUE)[1], np.nan), reasons


def shows_no_information(view: RatingsView, seed: int) -> Bools:
    """Whom the rule flags at its defaults."""
    posterior, _ = no_information(view, seed)
    return (np.nan_to_num(posterior) >= POSTERIOR) & (effects(view, seed).p >= RESCUE)


def clearly_informative(view: RatingsView, options: RuleOptions) -> dict[str, float]:
    """Raters whose answers surely depend on what was played, with their mean correlation."""
    effect = effects(view, options.seed, int(options.number("draws")))
    judged = is_judged(effect.why)
    if int(judged.sum()) < LEAST_RATERS:
        return {}
    rescue = options.number("rescue")
    _, posterior = _mixture(effect, judged, rescue)
    clear = judged & (posterior < 1 - options.number("posterior")) & (effect.p < rescue)
    return {view.raters[rater]: float(effect.r[rater]) for rater in np.flatnonzero(clear).tolist()}


def judge_informativeness(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts]:
    effect = effects(view, options.seed, int(options.number("draws")))
    finding = "The answers correlate {} on average with what others' answers predict for the same stimuli"
    return [judged_as_two_kinds(effect, options, finding)]


def judged_as_two_kinds(
    effect: Effects, options: RuleOptions, finding: str, question: str | None = None
) -> RuleVerdicts:
    """Verdicts on raters of two kinds; ``finding`` says in words what correlates, with a place for the number."""
    reasons = _reasons(effect)
    judged = is_judged(reasons)
    if not judged.any():
        return RuleVerdicts(rater=None, n=effect.n, why=reasons, question=question)
    rescue, needed = options.number("rescue"), options.number("posterior")
    kinds, posterior = _mixture(effect, judged, rescue)
    limit = np.full(judged.size, np.nan)
    limit[judged] = kinds.limit(effect.weight[judged], needed)
    odds = np.log10(np.maximum(posterior, 1e-12)) - np.log10(np.maximum(1 - posterior, 1e-12))

    def words(rater: int) -> str:
        return (
            f"{finding.format(number(effect.r[rater], 2))}, where raters here typically reach {number(np.tanh(kinds.centre), 2)}"
            f" ({p_value(effect.p[rater])} for any dependence; chance of none {number(posterior[rater], 2)})."
        )

    return RuleVerdicts(
        rater=None,
        n=effect.n,
        words=words,
        why=reasons,
        value=effect.r,
        threshold=limit,
        p=effect.p,
        flagged=(posterior >= needed) & (effect.p >= rescue),
        evidence=np.clip(odds, 0.0, MOST_EVIDENCE),
        question=question,
        power=_power_against_random(effect, judged, rescue, needed),
    )


def _power_against_random(effect: Effects, judged: Bools, rescue: float, posterior: float) -> Floats:
    """The chance, for each known rater, that somebody answering at random instead would be flagged; NaN for the others.

    The mixture is fitted with one more rater who shows no effect: in a small panel such a rater changes it.
    """
    power = np.full(judged.size, np.nan)
    weight = effect.weight[judged]
    kinds = two_kinds(np.append(effect.fisher[judged], 0.0), np.append(weight, np.median(weight)))
    power[judged] = kinds.power(weight, posterior, rescue)
    return power
