"""What to do about each participant of a recruiter: a suggestion from how the session ended and what screening says.

The researcher decides. Nobody is suggested for rejection: whoever is in doubt is to be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import polars as pl

from heartfelt.screening import RULES

Suggestion: TypeAlias = Literal["approve", "review", "pay in part", "screened out", "return", "wait"]
_BY_ENDING: Mapping[str, Suggestion] = {
    "complete": "approve",
    "later": "approve",
    "review": "review",
    "excluded": "review",
    "partial": "pay in part",
    "left": "pay in part",
    "screened-out": "screened out",
    "no-consent": "return",
    "full": "return",
    "closed": "return",
}


def suggested(ended: str, reasons: Sequence[str] = ()) -> Suggestion:
    """What to do about somebody whose session ended so; ``reasons`` are flags, each beginning with its rule.

    A flag that tells of carelessness makes it ``review`` for everybody who is to be paid. ``wait`` is for raters at work.
    A session that is not the last (``later``) is paid for like a complete one, by its own code.
    """
    by_ending = _BY_ENDING.get(ended, "wait")
    careless = any(RULES[rule].careless for rule in (reason.partition(":")[0] for reason in reasons))
    return "review" if careless and by_ending in {"approve", "pay in part"} else by_ending


def payment_list(participants: pl.DataFrame, reasons: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The table of participants of a collection with what screening flagged in each (``flags``) and a ``suggestion``.

    ``reasons`` are those of a panel, by rater.
    """
    flags = [list(reasons.get(rater, ())) for rater in participants["rater"].to_list()]
    endings = participants["ended"].to_list()
    return participants.with_columns(
        pl.Series("flags", [" ".join(of_rater) or None for of_rater in flags], pl.String),
        pl.Series("suggestion", list(map(suggested, endings, flags)), pl.String),
    )
