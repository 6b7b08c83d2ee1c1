"""Which ending a rater has earned who went through everything there was for them."""

from __future__ import annotations

import math

from heartfelt.collect.assign.model import Rater
from heartfelt.collect.messages.commands import AdmissionSettings, Ending
from heartfelt.collect.session.progress.transaction import Transaction

FINISHED = frozenset({"complete", "review"})
"""Endings of raters who did everything that was asked of them; those are counted against the cap."""
LEAST_IMPOSSIBLE = 2
"""Trials with impossible listening that it takes at least: a single one may be a fault of the device."""


def code_of(settings: AdmissionSettings, ending: str, screener: str | None = None) -> str | None:
    """The code that reports an ending to the recruiter; a screener of the study has its own."""
    if screener is not None and screener in settings.code_screeners:
        return settings.code_screeners[screener]
    return {
        "complete": settings.code_complete,
        "review": settings.code_review,
        "screened-out": settings.code_screened_out,
        "no-consent": settings.code_no_consent,
        "full": settings.code_full,
        "closed": settings.code_full,
        "left": settings.code_partial,
        "partial": settings.code_partial,
    }.get(ending)


def earned_ending(work: Transaction, rater: Rater) -> Ending:
    """``partial`` if the study ran out too early for the rater, ``review`` if they cannot have listened, else ``complete``."""
    if rater.exhausted and rater.on_time < _enough(work, rater):
        return "partial"
    share = work.study.recruiting.impossible_share
    doubtful = rater.impossible >= LEAST_IMPOSSIBLE and rater.impossible > share * rater.answered
    return "review" if doubtful else "complete"


def _enough(work: Transaction, rater: Rater) -> int:
    """Answers in time that earn the complete code when the study runs out of stimuli for a rater."""
    study = work.study
    if study.design.stimuli_per_rater is None:
        return 1
    wanted = min(study.design.stimuli_per_rater, work.state.demand(rater).layout.most)
    return max(1, math.ceil(study.recruiting.complete_share * wanted))
