"""Several sessions of the same rater, days apart: when the next one opens, what is shown until then, and retest trials.

A session that is not the last ends with ``later``. Whoever comes back in time, by their link or the recruiter's id, begins
the next one (the event ``revisited``); before and after that they see when it opens, or that it is over.
"""

from __future__ import annotations

import json
import math

from heartfelt.collect.assign.model import Rater, probes_each_session, session_plan
from heartfelt.collect.messages import commands
from heartfelt.collect.session.progress.arms import at_work
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.study import Study
from heartfelt.study.model import RepeatProbe

DAY = 86_400.0
RETEST = "retest"
"""In place of a probe, for a trial that presents a stimulus of the first session again."""


def has_next_session(study: Study, rater: Rater) -> bool:
    """Whether another session follows the one the rater is in."""
    sessions = study.design.sessions
    return sessions is not None and rater.visit < sessions.count


def opening(study: Study, rater: Rater) -> tuple[float, float | None]:
    """When the next session of a rater who waits for it opens, and until when it is open."""
    sessions = study.design.sessions
    if sessions is None:  # the study had sessions once; nothing keeps the rater from continuing
        return rater.ended_at, None
    until = None if sessions.within_days is None else rater.ended_at + DAY * sessions.within_days
    return rater.ended_at + DAY * sessions.wait_days, until


def session_state(work: Transaction, rater: Rater) -> commands.Ending:
    """Whether the next session is still to come, or over."""
    _, until = opening(work.study, rater)
    return "too-late" if until is not None and work.now > until else "later"


def begin_next_session(work: Transaction, rater: Rater) -> bool:
    """Begin the next session if it is open now."""
    opens, until = opening(work.study, rater)
    if work.now < opens or (until is not None and work.now > until):
        return False
    work.record("revisited", rater.number, number=float(rater.visit + 1))
    return True


def session_code(study: Study, settings: commands.AdmissionSettings, visit: int) -> str:
    """The code for a session that is not the last: that of ``study.yaml``, else a general one with its number."""
    codes = study.recruiting.codes.sessions
    return codes[visit - 1] if visit <= len(codes) else f"{settings.code_session or ''}{visit}"


def later_page(work: Transaction, rater: Rater, ending: commands.Ending) -> commands.SessionEnd:
    """What a rater sees between two sessions: the code of the last one, and when the next one opens."""
    settings = work.settings
    code = session_code(work.study, settings, rater.visit)
    url = settings.return_url.replace("{code}", code) if settings.return_url else None
    opens, until = opening(work.study, rater)
    return commands.SessionEnd(
        ending=ending, code=code, url=url, opens=opens, opens_in=max(0.0, opens - work.now), closes=until
    )


def promised_trials(work: Transaction) -> float:
    """Trials set aside for raters who have begun a study of several sessions; minus infinity where nothing is set aside.

    Raters at work are promised what is left of this session and the sessions after it, raters who wait the sessions after
    it until they are too late. Those who have been away for a while within a session are promised nothing.
    """
    sessions, most = work.study.design.sessions, work.state.layout.most
    if sessions is None or sessions.stimuli == "same":
        return -math.inf
    per_session = min(work.study.design.stimuli_per_rater or most, most)
    promised = 0
    for rater in work.state.raters.values():
        waits = rater.ended == "later" and session_state(work, rater) == "later"
        if not rater.counts or not (waits or at_work(work, rater)):
            continue
        begun = per_session if waits else min(per_session, rater.answered_now + len(rater.queue))
        promised += min(per_session * (sessions.count - rater.visit) + per_session - begun, most - len(rater.seen))
    return float(promised)


def plan_retest(work: Transaction, rater: Rater) -> bool:
    """Plan a session that presents the stimuli of the first one again, in another order; False if that was done."""
    if rater.sessions or not rater.rated_units:
        return False
    probes = [probe for probe in work.study.probes if not isinstance(probe, RepeatProbe)]
    units = list(range(len(rater.rated_units)))
    work.context.rng.shuffle(units)
    sources = iter(units)
    slots = [
        slot if slot[0] != "rating" else ("repeat", RETEST, next(sources))
        for slot in session_plan(len(units), probes, work.context.rng)
    ]
    plan = {"target": 0, "length": len(slots), "probes": [(position, *slot) for position, slot in enumerate(slots)]}
    of = len(units) + probes_each_session(probes)
    work.record("planned", rater.number, number=float(of), words=json.dumps(plan, separators=(",", ":")))
    return True
