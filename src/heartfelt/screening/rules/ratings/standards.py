"""The rater screening of ITU-R BT.500 and ITU-T P.913, question by question, as rules.

The computation is that of ``heartfelt.stats.aggregate``; P.913 removes each rater's bias first. The standards count outlying
ratings; they were written for panels in which everybody rates everything, have no false-positive rate of their own, and do
not detect raters who merely carry no information. Their counts do not enter the joint ranking. A rater is flagged by a
question when more than 5% of their ratings lie outside the stimulus' limits, about evenly above and below (difference
under 30%). Of fewer than ``LEAST_ANSWERS`` answers, 5% is less than one: such a rater is not judged. Unit: share of the
rater's answers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heartfelt.screening.rule import Judge, RuleOptions, RuleVerdicts, too_few
from heartfelt.screening.view.ratings import RatingsView
from heartfelt.stats.aggregate import Aggregate, bt500, p913
from heartfelt.stats.aggregate.opinion_scores import OUTLYING
from heartfelt.wording import number

LEAST_ANSWERS = round(1 / OUTLYING)


def _by_standard(method: Callable[..., Aggregate], standard: str) -> Judge:
    def judge(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
        del options
        return [
            _verdicts(view, q, method, standard) for q in view.ordered_questions
        ] or "no question has ordered answers"

    return judge


def _verdicts(view: RatingsView, q: int, method: Callable[..., Aggregate], standard: str) -> RuleVerdicts:
    rows = view.question == q
    question = view.questions[q]
    result = method(view.rater[rows], view.stimulus[rows], view.value[rows])
    outlying, balance = result.outlying, result.balance
    assert outlying is not None
    assert balance is not None
    assert result.rejected is not None
    raters = np.asarray(result.raters, dtype=np.int64)
    n = np.bincount(view.rater[rows], minlength=len(view.raters))[raters]
    note = f" Note: {'; '.join(result.notes)}." if result.notes else ""

    def words(row: int) -> str:
        uneven = f", {number(balance[row], 2)} of them unevenly to one side" if np.isfinite(balance[row]) else ""
        return f"{outlying[row]:.1%} of the answers to '{question}' lie outside the limits of {standard}{uneven}.{note}"

    return RuleVerdicts(
        rater=raters,
        n=n,
        words=words,
        why=too_few(n, LEAST_ANSWERS, f"answers, of which {OUTLYING:.0%} is less than one"),
        value=outlying,
        threshold=OUTLYING,
        flagged=result.rejected,
        question=question,
    )


judge_bt500 = _by_standard(bt500, "ITU-R BT.500")
judge_p913 = _by_standard(p913, "ITU-T P.913")
