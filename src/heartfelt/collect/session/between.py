"""Questionnaires between trials: the page that is due, and the trials that may be fetched before the next one."""

from __future__ import annotations

from heartfelt.collect import commands
from heartfelt.collect.assign.model import Rater, ReservedTrial
from heartfelt.collect.session.conditions import pending_page
from heartfelt.study import Study
from heartfelt.study.between import occurrence


def pending_between(study: Study, rater: Rater, *, resting: bool) -> commands.AskQuestionnaire | None:
    """The next page of a questionnaire that has come due. Of one that comes several times only the latest is asked."""
    for block in study.between:
        trials = block.due(rater.answered, resting=resting)
        if trials is None:
            continue
        time = occurrence(block, trials)
        questions = pending_page(study, rater, time)
        if questions:
            return commands.AskQuestionnaire(time, questions)
    return None


def trials_before_questionnaire(study: Study, rater: Rater) -> list[ReservedTrial]:
    """Of the trials that are reserved for the rater those that come before the next questionnaire.

    A page shows trials that it has fetched without asking first, so it must not have those that come later.
    """
    coming = (block.trials_until(rater.answered) for block in study.between)
    remaining = min((trials for trials in coming if trials is not None), default=len(rater.queue))
    out: list[ReservedTrial] = []
    for trial in rater.queue:
        if not remaining:
            break
        out.append(trial)
        remaining -= trial.kind != "practice"
    return out
