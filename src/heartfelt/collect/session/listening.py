"""How much of a clip, or of each clip of a set, a rater has heard, as far as that is credible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from heartfelt.collect import commands
from heartfelt.collect.assign.model import Rater, Trial
from heartfelt.collect.session.steps import presented_members
from heartfelt.collect.session.transaction import Transaction

HEARD_ENOUGH = 0.95
"""The share of a clip from which it counts as heard to the end; players stop reporting a moment before."""
_SLACK_SECONDS = 0.5
_SLACK_SHARE = 0.05


class Listened(NamedTuple):
    """How much of a clip was heard, as far as that is credible.

    A page can report anything. A rater cannot have listened longer than the time between the moment the trial was
    reserved for them and their answer, and no second of it can be spent on two trials, or on two members of a set.
    """

    share: float | None
    """Share of the clip played at least once, 0 to 1; None where there is no clip with a known length. Of a set, that of
    the member that was heard least."""
    flag: str | None
    """``impossible`` if more was reported than the time allows, ``incomplete`` if less was heard than the study asks."""
    seconds: float
    """Time spent on it, which no other trial can claim."""
    shares: tuple[float | None, ...] = ()
    """The share of each member of a set, in the order shown."""


def listened(work: Transaction, rater: Rater, trial: Trial, log: commands.TrialLog) -> Listened:
    """Compare what was reported with what was possible."""
    unit = work.unit_of(trial)
    members = presented_members(unit, trial)
    if members:
        durations = [member.duration for member, _ in members]
        reports = list(log.played[: len(members)]) + [()] * (len(members) - len(log.played))
    else:
        durations, reports = [None if unit is None else unit.duration], [log.intervals]
    unseen = log.plays > 0 and not any(reports)
    heard = [
        None if not duration else (duration, duration) if unseen else played(intervals, duration)
        for duration, intervals in zip(durations, reports, strict=True)
    ]
    nothing = (None,) * len(members)
    if not any(durations):
        return Listened(None, None, 0.0, nothing)
    total = sum(each[1] for each in heard if each is not None)
    passed = max(0.0, work.now - max(trial.leased_at, rater.listened_until))
    possible = passed + _SLACK_SECONDS + _SLACK_SHARE * total
    shares = [
        None if each is None or not duration else min(1.0, min(each[0], possible) / duration)
        for each, duration in zip(heard, durations, strict=True)
    ]
    share = min(each for each in shares if each is not None)
    rule = work.study.design.listening
    incomplete = (rule == "full" and share < HEARD_ENOUGH) or (rule == "started" and share <= 0.0)
    flag = "impossible" if total > possible else "incomplete" if incomplete else None
    rounded = tuple(None if each is None else round(each, 4) for each in shares)
    spent = round(min(total, passed), 3)
    return Listened(round(share, 4), flag, spent, rounded if members else ())


def played(intervals: Sequence[tuple[float, float]], duration: float) -> tuple[float, float]:
    """Seconds of the clip that were played at least once, and seconds of playing in all."""
    spans = sorted(
        (max(0.0, min(begin, end)), min(duration, max(begin, end)))
        for begin, end in intervals
        if not math.isnan(begin) and not math.isnan(end)
    )
    distinct = total = reached = 0.0
    for begin, end in spans:
        if end > begin:
            total += end - begin
            distinct += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
    return distinct, total
