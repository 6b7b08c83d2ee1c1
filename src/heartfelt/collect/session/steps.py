"""Where a rater is: from consent to the end. Trials are leased here, a few ahead of the one that is shown."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, Literal

from heartfelt.collect.assign.plan import Slot, probes_each_session, session_plan
from heartfelt.collect.assign.rater import Rater, Trial
from heartfelt.collect.commands import (
    AskConsent,
    AskDemographics,
    AskHeadphones,
    Ending,
    ShowInstructions,
    ShowTrial,
    Step,
    TakeBreak,
    TheEnd,
)
from heartfelt.collect.material import Unit
from heartfelt.collect.session.work import Work
from heartfelt.study.model import say
from heartfelt.study.probe import AttentionProbe, HeadphoneProbe

_RENEW_BELOW = 2 / 3
_AWAY = 1800.0
"""Seconds without a sign of life after which somebody does not count towards the cap any more."""
RETRY_SECONDS = 20.0
"""How soon somebody who has to wait asks again."""


def step(work: Work, rater: Rater) -> Step:
    """The rater's next step. Asking twice gives the same one."""
    before = _before_trials(work, rater)
    if before is not None:
        return before
    if _wants_break(work, rater):
        return TakeBreak(rater.answered, rater.of)
    fill_queue(work, rater)
    if not rater.queue:
        return _nothing_left(work, rater)
    trial = rater.queue[0]
    if not trial.shown:
        place = -1 if trial.kind == "practice" else rater.positions + 1
        work.tell("shown", rater.number, trial.id, number=float(place))
    else:
        renew(work, rater)
    return _show(work, rater, trial)


def _before_trials(work: Work, rater: Rater) -> Step | None:
    study = work.context.material.study
    if rater.excluded:
        return the_end(work, "screened-out")
    waits = rater.exhausted and not rater.queue and not rater.answered and rater.ended is None
    if (waits or (rater.ended == "full" and places(work) == "free")) and (
        work.state.pick(rater, work.context.rng) is not None
    ):
        work.tell("resumed", rater.number)
    if rater.ended is not None:
        return the_end(work, rater.ended)
    if study.consent is not None and rater.agreed is None:
        return AskConsent()
    if study.demographics and not rater.told:
        return AskDemographics()
    probe = next((p for p in study.probes if isinstance(p, HeadphoneProbe)), None)
    if probe is not None and not rater.heard:
        return AskHeadphones(probe.id, probe.trials)
    return None if rater.instructed else ShowInstructions()


def places(work: Work) -> Literal["free", "later", "none"]:
    """Whether the study takes another rater now, perhaps in a moment, or not at all.

    The cap counts those who are through and those who are at work: not somebody who only opened the link, as link
    previews do, and not somebody who was not seen for a while.
    """
    settings = work.settings()
    if not settings.open or not work.state.unfilled:
        return "none"
    if settings.cap is not None:
        raters = [rater for rater in work.state.raters.values() if not rater.excluded]
        complete = sum(1 for rater in raters if rater.ended == "complete")
        if complete >= settings.cap:
            return "none"
        patience = max(_AWAY, work.state.layout.lease)
        at_work = sum(
            1
            for rater in raters
            if rater.ended is None and rater.engaged and work.now - rater.last < patience
        )
        if complete + at_work >= settings.cap:
            return "later"
    return "free" if work.state.open else "later"


def _nothing_left(work: Work, rater: Rater) -> TheEnd:
    """The end of a rater who holds no trial: through with the plan, or out of stimuli before that."""
    if not rater.exhausted and rater.answered:
        return end(work, rater, "complete")
    if rater.answered:
        return end(work, rater, "complete" if rater.on_time >= _enough(work) else "partial")
    return the_end(work, "wait") if work.state.unfilled else end(work, rater, "full")


def _enough(work: Work) -> int:
    """Answers in time that earn the complete code when the study runs out of stimuli for a rater."""
    study = work.context.material.study
    if study.design.stimuli_per_rater is None:
        return 1
    wanted = min(study.design.stimuli_per_rater, work.state.layout.most)
    return max(1, math.ceil(study.recruiting.complete_share * wanted))


def _wants_break(work: Work, rater: Rater) -> bool:
    between = not rater.queue and not rater.plan and rater.sessions > 0 and not rater.exhausted
    return between and not rater.rested and rater.planned < rater.target and work.state.open


def renew(work: Work, rater: Rater) -> float:
    """Renew the rater's leases if enough of them has passed; answers with the seconds they last."""
    lease = work.state.layout.lease
    if rater.until - work.now < lease * _RENEW_BELOW:
        work.tell("renewed", rater.number)
    return max(0.0, rater.until - work.now)


def end(work: Work, rater: Rater, ending: Ending) -> TheEnd:
    """Bring the rater to an end."""
    work.tell("ended", rater.number, words=ending)
    return the_end(work, ending)


def the_end(work: Work, ending: Ending) -> TheEnd:
    """The end a rater sees, with the code that says so to the recruiter."""
    settings = work.settings()
    code = {
        "complete": settings.code_complete,
        "screened-out": settings.code_screened_out,
        "no-consent": settings.code_no_consent,
        "full": settings.code_full,
        "closed": settings.code_full,
        "left": settings.code_partial,
        "partial": settings.code_partial,
    }.get(ending)
    url = settings.return_url.replace("{code}", code) if settings.return_url and code else None
    return TheEnd(ending, code, url, RETRY_SECONDS if ending == "wait" else None)


def fill_queue(work: Work, rater: Rater) -> None:
    """Hold the next trial and a few ahead of it, as the plan says."""
    _drop_gone(work, rater)
    if not rater.live:
        take_up(work, rater)
    most = 1 + work.context.options.ahead
    while len(rater.queue) < most and rater.practised < _practice(work):
        if not _lease_practice(work, rater):
            break
    while len(rater.queue) < most:
        if not rater.plan:
            if rater.exhausted or (rater.sessions and (rater.queue or rater.planned >= rater.target)):
                return
            if not _plan(work, rater):
                return
        _lease_slot(work, rater, rater.plan.head)
        if rater.exhausted:
            return


def give_back(work: Work, rater: Rater, trial: Trial, why: str) -> int:
    """Take a trial from the rater, with its repeat if that is held already; answers with the fact's number."""
    for held in list(rater.queue):
        if held.kind == "repeat" and held.unit == trial.unit and held is not trial:
            work.tell("returned", rater.number, held.id, words=why)
    return work.tell("returned", rater.number, trial.id, words=why)


def _drop_gone(work: Work, rater: Rater) -> None:
    """Give back trials whose stimulus has left the study, or whose media have, since they were leased."""
    playable = work.context.material.playable
    for trial in list(rater.queue):
        if trial in rater.queue and trial.unit is not None and trial.unit not in playable:
            give_back(work, rater, trial, "gone")


def take_up(work: Work, rater: Rater) -> None:
    """Take lapsed leases up again where the unit has not found another rater; else give the trial back."""
    for trial in list(rater.queue):
        if trial.live or trial not in rater.queue:
            continue
        if work.state.may_retake(trial):
            work.tell("retaken", rater.number, trial.id)
        else:
            give_back(work, rater, trial, "lapsed")


def _practice(work: Work) -> int:
    return work.context.material.study.design.practice


def _lease_practice(work: Work, rater: Rater) -> bool:
    material, rng = work.context.material, work.context.rng
    choices = [unit for unit in material.practice if unit not in rater.tried]
    if not choices and not material.study.design.practice_stimuli:
        ordinary = material.layout.units
        draws = (ordinary[int(rng.random() * len(ordinary))] for _ in range(20)) if ordinary else iter(())
        choices = [unit for unit in draws if unit not in rater.tried][:1]
    if not choices:
        return False
    _lease(work, rater, rng.choice(choices), {"kind": "practice"})
    return True


def _plan(work: Work, rater: Rater) -> bool:
    """Lay out the rater's next session; False if there is nothing more for them."""
    study, layout = work.context.material.study, work.state.layout
    batch = study.design.batch
    target = rater.target or min(study.design.stimuli_per_rater or layout.most, layout.most)
    ordinary = min(batch or target, target - rater.planned)
    if ordinary <= 0 or not work.state.open:
        return False
    slots = session_plan(ordinary, study.probes, work.context.rng)
    sessions = -(-target // batch) if batch else 1
    of = target + sessions * probes_each_session(study.probes)
    probes = [(place, *slot) for place, slot in enumerate(slots) if slot[0] != "rating"]
    words = json.dumps({"target": target, "length": len(slots), "probes": probes}, separators=(",", ":"))
    work.tell("planned", rater.number, number=float(of), words=words)
    return True


def _lease_slot(work: Work, rater: Rater, slot: Slot) -> None:
    kind, probe, _ = slot
    if kind == "rating":
        unit = work.state.pick(rater, work.context.rng)
        if unit is None:
            work.tell("exhausted", rater.number)
        else:
            _lease(work, rater, unit, {})
    elif kind == "attention":
        _lease(work, rater, None, {"kind": "attention", "probe": probe, **_lookalike(work, rater, probe)})
    else:
        found = _probe_unit(work, rater, slot)
        if found is None:
            work.tell("passed", rater.number)
        else:
            about = {"kind": kind, "probe": probe, "repeat": rater.times.get(found, 0)}
            _lease(work, rater, found, about)


def _lookalike(work: Work, rater: Rater, name: str) -> dict[str, int]:
    """A unit to show in an attention trial: one set aside for practice, else one the rater has met or holds already."""
    material = work.context.material
    question = next(
        (p.question for p in material.study.probes if p.id == name and p.type == "attention"), None
    )
    for choices in (material.practice, rater.done, rater.session_units, material.layout.units):
        fitting = [
            unit
            for unit in choices
            if unit in material.playable
            and unit in material.units
            and question in material.units[unit].questions
        ]
        if fitting:
            return {"shows": work.context.rng.choice(fitting)}
    return {}


def _probe_unit(work: Work, rater: Rater, slot: Slot) -> int | None:
    kind, probe, source = slot
    if kind == "repeat":
        return rater.session_units[source] if source < len(rater.session_units) else None
    units = work.context.material.anchors.get(probe, ())
    if not units:
        return None
    fewest = min(rater.times.get(unit, 0) for unit in units)
    return work.context.rng.choice([unit for unit in units if rater.times.get(unit, 0) == fewest])


def _lease(work: Work, rater: Rater, unit: int | None, about: dict[str, Any]) -> None:
    shown = None if unit is None else work.context.material.units.get(unit)
    if shown is not None and shown.machine:
        about = {**about, "machine": _machine_values(work, shown)}
    words = json.dumps(about, separators=(",", ":")) if about else None
    work.tell("leased", rater.number, work.state.next_trial, unit, words=words)


def _machine_values(work: Work, unit: Unit) -> dict[str, tuple[str | None, str]]:
    """What the rater sees of each machine value: mostly the value, at times nothing, at times another stimulus's."""
    options, rng, others = work.context.options, work.context.rng, work.context.material.others
    out: dict[str, tuple[str | None, str]] = {}
    for question, value in unit.machine.items():
        draw = rng.random()
        wrong = [other for other in others.get(question, ()) if other != value]
        if draw < options.hidden:
            out[question] = (None, "hidden")
        elif draw < options.hidden + options.planted and wrong:
            out[question] = (rng.choice(wrong), "planted")
        else:
            out[question] = (value, "true")
    return out


def _show(work: Work, rater: Rater, trial: Trial) -> ShowTrial:
    """The trial, with those held after it: a rater whose connection is lost goes on with them."""
    assert rater.queue[0] is trial
    held = [_present(work, rater, one) for one in rater.queue]
    ahead = tuple(one.media for one in held[1:] if one.media is not None)
    return replace(held[0], upcoming=ahead, following=tuple(held[1:]))


def _present(work: Work, rater: Rater, trial: Trial) -> ShowTrial:
    practice = trial.kind == "practice"
    alike = [held for held in rater.queue if (held.kind == "practice") == practice]
    done = rater.practised - len(alike) if practice else rater.answered
    number = done + 1 + alike.index(trial)
    of = _practice(work) if practice else max(rater.of, number)
    left = max(0.0, rater.until - work.now)
    unit = shown_unit(work, trial)
    if trial.kind == "attention":
        probe = attention_probe(work, trial)
        language = work.context.languages.get(rater.id, "en")
        return ShowTrial(
            trial=str(trial.id),
            kind="attention",
            media=None if unit is None else unit.media,
            questions=asked(work, trial),
            number=number,
            of=of,
            lease_seconds=left,
            prompt=None if unit is None else unit.prompt,
            words=None if probe is None else say(probe.text, language),
        )
    assert unit is not None
    return ShowTrial(
        trial=str(trial.id),
        kind="practice" if practice else "rating",
        media=unit.media,
        questions=unit.questions,
        number=number,
        of=of,
        lease_seconds=left,
        prompt=unit.prompt,
        machine={question: shown for question, (shown, _) in trial.machine.items()},
    )


def shown_unit(work: Work, trial: Trial) -> Unit | None:
    """The unit that is shown in a trial; for an attention trial one that makes it look like the others."""
    number = trial.shows if trial.kind == "attention" else trial.unit
    return None if number is None else work.context.material.units.get(number)


def asked(work: Work, trial: Trial) -> tuple[str, ...]:
    """The questions of a trial. An attention trial asks what others ask, and only its probe's question counts."""
    unit = shown_unit(work, trial)
    if trial.kind != "attention":
        return () if unit is None else unit.questions
    probe = attention_probe(work, trial)
    if probe is None:
        return ()
    return unit.questions if unit is not None and probe.question in unit.questions else (probe.question,)


def attention_probe(work: Work, trial: Trial) -> AttentionProbe | None:
    """The probe of an attention trial, if the study still has it."""
    probes = work.context.material.study.probes
    return next((p for p in probes if isinstance(p, AttentionProbe) and p.id == trial.probe), None)
