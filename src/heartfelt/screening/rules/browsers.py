"""Raters who came from a browser in which somebody had taken part before.

The browser's signed cookie says how many raters of the study used it before; nothing is stored that tells one person or browser
from another. It may be one person with two accounts, or two people who share a computer, so there is no p-value and
no false-positive rate. Where more than ``at_most`` of the raters came so, people take turns at the same machines,
as in a laboratory, and nobody is judged. Unit: raters before this one.
"""

from __future__ import annotations

import numpy as np

from heartfelt.screening.rule import LIMIT_EVIDENCE, RuleOptions, RuleVerdicts
from heartfelt.screening.view import RatingsView
from heartfelt.wording import plural


def judge_shared_browser(view: RatingsView, options: RuleOptions) -> list[RuleVerdicts] | str:
    before = np.array([view.raters_before.get(name, 0) for name in view.raters], dtype=np.int64)
    if np.mean(before > 0) > options.number("at_most"):
        return "many raters share browsers, as where people take turns at the same machines"
    rater = np.flatnonzero(before)
    return [
        RuleVerdicts(
            rater=rater,
            n=1,
            words=lambda row: (
                f"Came from a browser in which {plural(int(before[rater[row]]), 'rater')} had taken part before."
            ),
            value=before[rater],
            threshold=0.0,
            flagged=np.ones(rater.size, dtype=bool),
            evidence=LIMIT_EVIDENCE,
        )
    ]
