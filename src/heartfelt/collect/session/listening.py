"""How much of a clip, or of each clip of a set, a rater has heard, as far as that is credible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from heartfelt.collect.assign.model import Rater, ReservedTrial
from heartfelt.collect.messages import commands
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.collect.session.steps import presented_members
from heartfelt.study.parts.design import HEARD_ENOUGH

_SLACK_SECONDS = 0.5
_SLACK_SHARE = 0.05
_START_SECONDS = 0.1
"""The least time in which a clip can be started and answered."""


Clip: TypeAlias = tuple[float, Sequence[tuple[float, float]]]
"""The length of a clip and the parts of it that were played, in seconds."""


class Listened(NamedTuple):
    """How much of a clip was heard, as far as that is credible.

    A page can report anything. A rater cannot have listened longer than the time between the moment the trial was
    reserved for them and their answer, and no second of it can be spent on two trials, or on two members of a set.
    """

    share: float | None
    """Share of the clip played at least once, 0 to 1; None where there is no clip with a known length. Of a set, that of
    the member that was heard least."""
    flag: str | None
    """``impossible`` if more was reported than the time allows, or if the answer came without what the pages wait for: before
    the clips can have been heard as the study asks, or with a clip that was never started. ``incomplete`` if less was heard
    than the study asks."""
    seconds: float
    """Time spent on it, which no other trial can claim."""
    shares: tuple[float | None, ...] = ()
    """The share of each member of a set, in the order shown."""


def listened(work: Transaction, rater: Rater, trial: ReservedTrial, log: commands.TrialLog) -> Listened:
    """Compare what was reported with what was possible."""
    unit = work.unit_of(trial)
    members = presented_members(unit, trial)
    if members:
        durations = [member.duration for member, _ in members]
        reports = list(log.played[: len(members)]) + [()] * (len(members) - len(log.played))
    else:
        durations, reports = [None if unit is None else unit.duration], [log.intervals]
    clips = [(duration, intervals) for duration, intervals in zip(durations, reports, strict=True) if duration]
    if not clips:
        return Listened(None, None, 0.0, (None,) * len(members))
    passed = _passed(work, rater, trial)
    claims = _claims(clips, passed, log)
    total = sum(seconds for _, seconds in claims)
    # Players report a little more than was played, and clocks differ: a small excess proves nothing.
    possible = passed + _SLACK_SECONDS + _SLACK_SHARE * total
    rule = work.study.design.listening
    needed = _needed(rule, [duration for duration, _ in clips])
    by_clip = iter(
        min(1.0, min(distinct, possible) / duration) for (distinct, _), (duration, _) in zip(claims, clips, strict=True)
    )
    shares = [next(by_clip) if duration else None for duration in durations]
    share = min(share for share in shares if share is not None)
    flag = None
    if total > possible or needed > passed or _is_unstarted(rule, clips, log):
        flag = "impossible"
    elif (rule == "full" and share < HEARD_ENOUGH) or (rule == "started" and share <= 0.0):
        flag = "incomplete"
    rounded = tuple(None if share is None else round(share, 4) for share in shares)
    spent = round(min(max(total, needed), passed), 3)
    return Listened(round(share, 4), flag, spent, rounded if members else ())


def _is_unstarted(rule: str, clips: Sequence[Clip], log: commands.TrialLog) -> bool:
    """Whether a clip that must be played never was; a page that counts plays without parts has started all of them."""
    started = [bool(intervals) for _, intervals in clips]
    return rule != "free" and not all(started) and (any(started) or log.plays == 0)


def _passed(work: Transaction, rater: Rater, trial: ReservedTrial) -> float:
    """Seconds since the trial was reserved that no other trial has claimed; no limit if the clock was set back since."""
    begun = max(trial.leased_at, rater.listened_until)
    return work.now - begun if work.now >= begun else math.inf


def _claims(clips: Sequence[Clip], passed: float, log: commands.TrialLog) -> list[tuple[float, float]]:
    """Of each clip, the seconds that were played at least once and the seconds of playing in all, as reported.

    A page that counts a play without saying of what has played as much as there was time for.
    """
    if log.plays > 0 and not any(intervals for _, intervals in clips):
        share = min(1.0, passed / sum(duration for duration, _ in clips))
        return [(share * duration, share * duration) for duration, _ in clips]
    return [played(intervals, duration) for duration, intervals in clips]


def _needed(rule: str, durations: Sequence[float]) -> float:
    """The least seconds in which clips can have been played as the study asks."""
    if rule == "free":
        return 0.0
    start = sum(min(duration, _START_SECONDS) for duration in durations)
    return start if rule == "started" else max(start, (1 - _SLACK_SHARE) * sum(durations) - _SLACK_SECONDS)


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
