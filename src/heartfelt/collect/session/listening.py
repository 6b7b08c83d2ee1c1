"""What was heard of a clip: what the page reports, held against the clip's length and the time that really passed.

A page can report anything. A rater cannot have listened longer than the time between the moment the trial was held for
them and their answer, and no second of it can be spent on two trials. ``heard`` is the share of the clip that was
played at least once, as far as that time allows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from heartfelt.collect.assign.rater import Rater, Trial
from heartfelt.collect.commands import Heard
from heartfelt.collect.session.work import Work

ENOUGH = 0.95
"""The share of a clip from which it counts as heard to the end; players stop reporting a moment before."""
_SLACK_SECONDS = 0.5
_SLACK_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Listened:
    """What is believed of the listening in one trial."""

    share: float | None
    """Of the clip, 0 to 1; None where there is no clip with a known length."""
    flag: str | None
    """``impossible`` if more was reported than the time allows, ``incomplete`` if less was heard than the study asks."""
    seconds: float
    """Time spent on it, which no other trial can claim."""


def listened(work: Work, rater: Rater, trial: Trial, heard: Heard) -> Listened:
    """Compare what was reported with what was possible."""
    unit = None if trial.unit is None else work.context.material.units.get(trial.unit)
    duration = None if unit is None else unit.duration
    if not duration:
        return Listened(None, None, 0.0)
    distinct, total = played(heard.intervals, duration)
    if not heard.intervals and heard.plays > 0:
        distinct = total = duration
    passed = work.now - max(trial.leased_at, rater.listened_until)
    possible = max(0.0, passed) + _SLACK_SECONDS + _SLACK_SHARE * total
    share = min(1.0, min(distinct, possible) / duration)
    flag = "impossible" if total > possible else _short(work, share)
    return Listened(round(share, 4), flag, round(min(total, max(0.0, passed)), 3))


def played(intervals: Sequence[tuple[float, float]], duration: float) -> tuple[float, float]:
    """Seconds of the clip that were played at least once, and seconds of playing in all."""
    spans = sorted(
        (max(0.0, min(begin, end)), min(duration, max(begin, end)))
        for begin, end in intervals
        if not math.isnan(begin) and not math.isnan(end)
    )
    distinct = total = 0.0
    reached = 0.0
    for begin, end in spans:
        if end > begin:
            total += end - begin
            distinct += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
    return distinct, total


def _short(work: Work, share: float) -> str | None:
    rule = work.context.material.study.design.listening
    too_little = (rule == "full" and share < ENOUGH) or (rule == "started" and share <= 0.0)
    return "incomplete" if too_little else None
