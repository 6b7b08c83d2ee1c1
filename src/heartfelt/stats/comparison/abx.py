"""ABX tests: can people tell A from B, how well, and if not, is that more than a lack of data?

A trial presents A, B and X, which is one of the two; an answer is correct or not. Guessing is correct half the time. The test of
guessing is the exact binomial test, one-sided. The interval of the share correct is Clopper and Pearson's (1934) where every answer
stands for itself, and a jackknife over raters where raters gave several. d' follows from the share correct by the
differencing model (Macmillan and Creelman 2005, eq. 9.10):

    share = Phi(d'/sqrt 2) Phi(d'/sqrt 6) + Phi(-d'/sqrt 2) Phi(-d'/sqrt 6)

A large p-value does not show that nobody hears a difference. Equivalence does: the exact test that the share correct is below
one half plus a margin. Raters who all guess are alike, which is why the exact test of guessing needs no more; but raters whose
share lies at the margin on average may differ. Where they gave several answers, equivalence must also be shown with raters as
the sample: its p-value is the larger one of the exact test and of Student's t over raters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._bounds import check_confidence, clopper_pearson
from heartfelt.stats.columns.triples import Floats, IdCodes, Ids, Ints, Values, as_array, as_floats, code
from heartfelt.stats.comparison.spread import ratio_over_raters, without_each
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.reliability.two_way_jackknife import jackknife_variance

GUESSING = 0.5
_METHOD = "ABX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Abx:
    """The result of an ABX test."""

    share: Estimate
    """Share of correct answers; guessing gives one half."""
    d_prime: Estimate
    p_value: float | None = None
    """Of the hypothesis that everyone guesses, by the exact binomial test."""
    margin: float
    equivalence_p_value: float | None = None
    """Of the hypothesis that the share is one half plus ``margin`` or more, with raters as the sample."""
    raters: Mapping[Any, Estimate] = field(default_factory=dict)
    """The share of each rater, with its exact interval."""


def abx(rater: Ids | None, correct: Values, *, margin: float = 0.1, confidence: float = 0.95) -> Abx:
    """Test whether the answers (1 correct, 0 not) are better than guessing."""
    check_confidence(confidence)
    if not 0 < margin < GUESSING:
        raise InputError(f"margin must lie between 0 and 0.5; got {margin:g}.", "Use 0.1: up to 60% correct.")
    alone = rater is None
    values, raters, left_out = _answers(rater, correct)
    trials, right = int(values.size), int(values.sum())
    counts = {"answers": trials} | ({} if alone else {"raters": raters.count})
    if left_out:
        counts["left_out"] = left_out
    if not trials:
        none = Estimate.missing("there are no answers", _METHOD, counts)
        return Abx(share=none, d_prime=none, margin=margin)
    per_rater = np.bincount(raters.codes)
    share = _exact_share(right, trials, _METHOD, confidence, counts)
    rights = np.bincount(raters.codes, values)
    several = not alone and int(per_rater.max()) > 1
    if several and raters.count < 2:
        share = share.without_interval("one rater: the answers of one person are not a sample of people")
    elif several:
        share = ratio_over_raters(share, rights, per_rater, confidence, (0.0, 1.0)) or share
    equivalence = 1.0 - binomial_upper(right + 1, trials, GUESSING + margin)
    if several and raters.count > 1:
        equivalence = max(equivalence, _below(GUESSING + margin, np.asarray(rights, np.float64), per_rater))
    single = {
        name: _exact_share(int(hits), int(answers), _METHOD, confidence, {"answers": int(answers)})
        for name, hits, answers in zip(raters.names, rights, per_rater, strict=True)
    }
    return Abx(
        share=share,
        d_prime=_d_prime(share),
        p_value=binomial_upper(right, trials, GUESSING),
        margin=margin,
        equivalence_p_value=equivalence,
        raters={} if alone else single,
    )


def _answers(rater: Ids | None, correct: Values) -> tuple[Floats, IdCodes, int]:
    """The answers, their raters (each answer's own where unknown), and how many have no answer."""
    values = as_floats(correct, "correct")
    ids = np.arange(values.size) if rater is None else as_array(rater)
    if ids.size != values.size:
        raise InputError(
            f"The columns differ in length: rater {ids.size}, correct {values.size}.",
            "Pass parallel arrays: one entry per answer in each.",
        )
    keep = np.isfinite(values)
    odd = values[keep & (values != 0) & (values != 1)]
    if odd.size:
        raise InputError(f"{odd[0]:g} is not an answer of an ABX test.", "Code correct as 1, not correct as 0.")
    return values[keep], code(ids[keep]), int(values.size - keep.sum())


def _below(limit: float, rights: Floats, answers: Ints) -> float:
    """The p-value of a share of ``limit`` or more in the population of raters, by a jackknife; 0 where none differ."""
    from scipy.special import stdtr

    variance = jackknife_variance(without_each(rights, answers.astype(np.float64)))
    share = rights.sum() / answers.sum()
    if variance <= 0:
        return 0.0 if share < limit else 1.0
    return float(stdtr(rights.size - 1.0, (share - limit) / math.sqrt(variance)))


def _exact_share(successes: int, trials: int, method: str, confidence: float, counts: dict[str, int]) -> Estimate:
    share = Estimate(value=successes / trials, method=method, counts=counts)
    return share.with_interval(*exact_bounds(successes, trials, confidence), "Clopper-Pearson", confidence)


def exact_bounds(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    low, high = clopper_pearson(successes, trials, (1 - check_confidence(confidence)) / 2)
    return float(low), float(high)


def binomial_upper(successes: int, trials: int, share: float) -> float:
    from scipy.special import bdtrc

    return 1.0 if successes <= 0 else float(bdtrc(successes - 1, trials, share))


def share_of_d_prime(d_prime: float) -> float:
    """The share correct that a d' gives by the differencing model."""
    from scipy.special import ndtr

    a, b = d_prime / math.sqrt(2), d_prime / math.sqrt(6)
    return float(ndtr(a) * ndtr(b) + ndtr(-a) * ndtr(-b))


def d_prime_of_share(share: float) -> float | None:
    """The d' behind a share correct: 0 at one half or less, None at 1, where it is infinite."""
    from scipy.optimize import brentq

    if share <= GUESSING:
        return 0.0
    if share >= 1.0 - 1e-12:
        return None
    return float(brentq(lambda d: share_of_d_prime(d) - share, 0.0, 40.0, xtol=1e-12))


def _d_prime(share: Estimate) -> Estimate:
    method = "d' by the differencing model"
    value = d_prime_of_share(float(share))
    if value is None:
        return Estimate.missing("every answer was correct; d' is not finite", method, share.counts)
    estimate = Estimate(value=value, method=method, counts=share.counts, why_no_interval=share.why_no_interval)
    if share.low is None or share.high is None:
        return estimate
    low, high = d_prime_of_share(share.low), d_prime_of_share(share.high)
    if high is None:
        return estimate.without_interval("the upper bound of the share is 1")
    return estimate.with_interval(low, high, share.interval, share.confidence)
