"""How far a rater stands from the others: a robust norm of the panel, and the chance of standing so far out.

Each rater has a value ``v`` with a sampling error ``e``. Careful raters are taken to scatter normally around a common
centre with variance ``between^2 + e^2``. The centre is the median; ``between`` comes from the median absolute
deviation (times 1.4826) less the typical sampling variance, so a minority of odd raters does not move the norm. That
deviation is worth 37% of the raters it comes from (its efficiency for normal data), so the p-value is the tail of
Student's t with 0.37 (raters - 1) degrees of freedom. The family-wise error rate is controlled by Bonferroni over the
raters judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from heartfelt.screening.rule import Reasons, RuleOptions, RuleVerdicts, is_judged
from heartfelt.screening.view.ratings import Bools, RatingsView
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.wording import number, p_value

Side: TypeAlias = Literal["low", "high", "both"]

MAD_TO_SD = 1.4826
LEAST_RATERS = 5
EFFICIENCY = 0.37
TOO_FEW = f"fewer than {LEAST_RATERS} raters can be compared, so there is no norm to compare them with"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Standing:
    """Where each rater stands: ``p`` of the tail on the requested side, and the ``limit`` a value must pass."""

    centre: float
    between: float
    z: Floats
    p: Floats
    limit: Floats


def standing(value: Floats, error: Floats, side: Side, chance: float) -> Standing:
    """Compare values with their own robust norm. ``chance`` is the tail chance at which the limit lies.

    Values of NaN are passed over. Needs at least ``LEAST_RATERS`` values; the caller checks.
    """
    from scipy.special import stdtr, stdtrit

    finite = np.isfinite(value)
    centre = float(np.median(value[finite]))
    spread = MAD_TO_SD * float(np.median(np.abs(value[finite] - centre)))
    between = float(np.sqrt(max(0.0, spread**2 - float(np.median(error[finite] ** 2)))))
    # Where nobody differs and nothing is uncertain, a rater is at the centre or infinitely far from it.
    scale = np.sqrt(between**2 + error**2)
    deviation = value - centre
    z = np.divide(deviation, scale, out=np.where(deviation == 0, 0.0, np.copysign(np.inf, deviation)), where=scale > 0)
    z = np.where(finite, z, np.nan)
    freedom = max(1.0, EFFICIENCY * (int(finite.sum()) - 1))
    if side == "both":
        p, far = 2 * stdtr(freedom, -np.abs(z)), -float(stdtrit(freedom, chance / 2))
        limit = centre + np.copysign(far, np.where(finite, deviation, 1.0)) * scale
    else:
        sign = 1.0 if side == "high" else -1.0
        p, far = stdtr(freedom, -sign * z), -float(stdtrit(freedom, chance))
        limit = centre + sign * far * scale
    return Standing(centre=centre, between=between, z=z, p=np.minimum(p, 1.0), limit=limit)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RaterMeasure:
    """One number per rater of the view, on a scale where careful raters scatter normally, with its sampling error.

    Raters who were not ``asked`` have no row. ``why`` says whose number is missing. ``finding(rater)`` describes the number in
    words, ``median`` that of the panel, where it is told; ``shown`` turns numbers back into the unit a person reads.
    """

    question: str | None
    asked: Ints
    value: Floats
    error: Floats
    n: Ints
    why: Reasons
    finding: Callable[[int], str]
    median: Callable[[float], str] | None = lambda centre: number(centre, 2)
    ending: Callable[[int], str] = lambda _rater: "."
    """What the sentence ends with, after the p-value."""
    shown: Callable[[Floats], Floats] = lambda numbers: numbers

    def sentence(self, rater: int, stand: Standing) -> str:
        """The finding next to the raters' median, with its p-value."""
        median = ""
        if self.median is not None:
            centre = float(self.shown(np.asarray(stand.centre)))
            median = f", where the raters' median is {self.median(centre)}"
        return f"{self.finding(rater)}{median} ({p_value(stand.p[rater])}){self.ending(rater)}"

    @property
    def known(self) -> Bools:
        """Whose number is known."""
        return np.isin(np.arange(self.n.size), self.asked) & is_judged(self.why)


def compare_with_norm(measures: Sequence[RaterMeasure], side: Side, alpha: float) -> list[RuleVerdicts] | str:
    """One verdict per rater and measure, Bonferroni over all that could be judged."""
    judged = sum(int(measure.known.sum()) for measure in measures)
    chance = RuleOptions(alpha).limit(judged)
    verdicts = [_verdicts(measure, side, chance) for measure in measures if measure.asked.size]
    return verdicts or "nobody gave an answer it could examine"


def within_arms(measure: RaterMeasure, view: RatingsView) -> list[RaterMeasure]:
    """The measure within each arm, where arms ask different questions, so that their raters have norms of their own."""
    if view.arm is None or not any(arm.questions for arm in view.study.design.arms):
        return [measure]
    arm = view.arm[measure.asked]
    return [replace(measure, asked=measure.asked[arm == code]) for code in np.unique(arm).tolist()]


def _verdicts(measure: RaterMeasure, side: Side, chance: float) -> RuleVerdicts:
    finite, raters = measure.known, measure.asked
    if int(finite.sum()) < LEAST_RATERS:
        reasons: Reasons = [measure.why[rater] or TOO_FEW for rater in raters.tolist()]
        return RuleVerdicts(rater=raters, n=measure.n[raters], why=reasons, question=measure.question)
    value = np.where(finite, measure.value, np.nan)
    stand = standing(value, measure.error, side, chance)
    return RuleVerdicts.about(
        raters,
        n=measure.n,
        words=lambda rater: measure.sentence(rater, stand),
        why=measure.why,
        value=measure.shown(value),
        threshold=measure.shown(stand.limit),
        p=stand.p,
        flagged=finite & (np.where(finite, stand.p, 1.0) < chance),
        question=measure.question,
    )
