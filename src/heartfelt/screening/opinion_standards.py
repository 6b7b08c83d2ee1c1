"""The rater screening of ITU-R BT.500 and ITU-T P.913, question by question, as rules.

The computation is ``heartfelt.stats.aggregate``'s. The standards count outlying ratings; they were written for panels
in which everybody rates everything, have no false-positive rate of their own, and do not find raters who merely carry
no information. Their counts do not enter the joint ranking. A rater is flagged by a question when more than 5% of
their ratings lie outside the stimulus' limits, about evenly above and below (difference under 30%).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from heartfelt.screening.rule import Rule
from heartfelt.screening.view import RatingsView
from heartfelt.screening.words import number
from heartfelt.stats.aggregate import Aggregate
from heartfelt.stats.aggregate.screening import OUTLYING


def by_standard(
    rule: Rule, view: RatingsView, method: Callable[..., Aggregate], standard: str
) -> pl.DataFrame:
    """The table of a rule that follows a standard."""
    tables = [
        _question(rule, view, q, method, standard)
        for q in range(len(view.questions))
        if not view.unordered[q]
    ]
    return pl.concat(tables) if tables else rule.cannot("no question has answers in an order")


def _question(
    rule: Rule, view: RatingsView, q: int, method: Callable[..., Aggregate], standard: str
) -> pl.DataFrame:
    rows = view.question == q
    question = view.questions[q]
    found = method(view.rater[rows], view.stimulus[rows], view.value[rows])
    raters = np.asarray(found.raters, dtype=np.int64)
    n = np.bincount(view.rater[rows], minlength=len(view.raters))[raters]
    assert found.outlying is not None
    assert found.balance is not None
    assert found.rejected is not None
    words = [
        f"{share:.1%} of the answers to '{question}' lie outside the limits of {standard}"
        + (f", {number(balance)} of them unevenly to one side." if np.isfinite(balance) else ".")
        for share, balance in zip(found.outlying.tolist(), found.balance.tolist(), strict=True)
    ]
    if found.notes:
        words = [f"{sentence} Note: {'; '.join(found.notes)}." for sentence in words]
    return rule.rows(
        rater=[view.raters[r] for r in raters.tolist()],
        question=[question] * raters.size,
        value=found.outlying,
        threshold=np.full(raters.size, OUTLYING),
        flagged=found.rejected,
        words=words,
        n=n,
    )
