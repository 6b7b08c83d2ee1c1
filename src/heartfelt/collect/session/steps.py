"""Where a rater is, from consent to the end. Trials are leased here, a few ahead of the one that is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from heartfelt.collect.assign.demand import pick_unit
from heartfelt.collect.assign.model import Rater, ReservedTrial, Slot, probes_each_session, session_plan
from heartfelt.collect.material import Unit, UnitMember
from heartfelt.collect.messages import commands
from heartfelt.collect.session.progress.arms import arm_instructions, arm_probes, arm_units, assign_arm, at_work
from heartfelt.collect.session.progress.conditions import (
    asked_questions,
    pending_between,
    pending_page,
    trials_before_questionnaire,
)
from heartfelt.collect.session.progress.consenting import required_boxes
from heartfelt.collect.session.progress.drafts import shown_boxes, shown_drafts
from heartfelt.collect.session.progress.endings import FINISHED, code_of, earned_ending
from heartfelt.collect.session.progress.screeners import due_screener, screen_out, screener_text
from heartfelt.collect.session.progress.sessions import (
    RETEST,
    begin_next_session,
    has_next_session,
    later_page,
    plan_retest,
    promised_trials,
    session_state,
)
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.study import Study
from heartfelt.study.model import AttentionProbe, HeadphoneProbe, say

_RENEW_BELOW = 2 / 3
"""Leases are renewed once less than this share of them is left."""
RETRY_SECONDS = 20.0
"""How soon a rater who has to wait asks again."""


def next_step(work: Transaction, rater: Rater) -> commands.Step:
    """The rater's next step. Asking twice returns the same one."""
    earlier = _before_trials(work, rater)
    if earlier is not None:
        return earlier
    resting = _wants_break(work, rater)
    if not resting:
        _fill_queue(work, rater)
    # Only where the rater goes on: a questionnaire between trials is not for those who are through.
    if (resting or rater.queue) and (due := pending_between(work.study, rater, resting=resting)):
        return due
    if resting:
        return commands.TakeBreak(rater.answered_now, rater.of)
    if not rater.queue:
        return _nothing_left(work, rater)
    trial = rater.queue[0]
    if trial.shown:
        renew(work, rater)
    else:
        show(work, rater, trial)
    present = [_present(work, rater, reserved) for reserved in trials_before_questionnaire(work.study, rater)]
    return replace(present[0], following=tuple(present[1:]))


def show(work: Transaction, rater: Rater, trial: ReservedTrial) -> None:
    position = -1 if trial.kind == "practice" else rater.positions + 1
    work.record("shown", rater.number, trial.id, number=float(position))


def headphone_probe(study: Study) -> HeadphoneProbe | None:
    return next((probe for probe in study.probes if isinstance(probe, HeadphoneProbe)), None)


def _before_trials(work: Transaction, rater: Rater) -> commands.Step | None:
    if rater.excluded:
        return session_end(work, "screened-out", rater)
    if rater.ended == "later" and not begin_next_session(work, rater):
        return session_end(work, session_state(work, rater), rater)
    if rater.exhausted or rater.ended == "full":
        _resume_if_possible(work, rater)
    if rater.ended is not None:
        return session_end(work, rater.ended, rater)
    screener = due_screener(work.study, rater)
    if screener is not None:
        screen_out(work, rater, screener)
        return session_end(work, "screened-out", rater)
    page = page_before_trials(work.study, rater)
    # Not earlier: only those who pass every screener count in an arm, and the instructions may be the arm's own.
    if page in {"instructions", ""}:
        assign_arm(work, rater)
    return _step_of(work.study, rater, page) if page else None


def _resume_if_possible(work: Transaction, rater: Rater) -> None:
    """Give trials again to a rater for whom nothing was left: one who waits, or one who came to a full study."""
    waits = rater.exhausted and not rater.queue and not rater.answered_now and rater.ended is None
    comes_back = rater.ended == "full" and places(work) == "free"
    if (waits or comes_back) and work.state.pick(rater, work.context.rng) is not None:
        work.record("resumed", rater.number)


def _step_of(study: Study, rater: Rater, page: str) -> commands.Step | None:
    """The step that shows a page before the trials; None if there is none."""
    match page:
        case "consent":
            return commands.AskConsent(required_boxes(study))
        case "demographics":
            return commands.AskDemographics()
        case "before":
            return commands.AskQuestionnaire("before", pending_page(study, rater, "before"))
        case "instructions":
            return commands.ShowInstructions(arm_instructions(study, rater))
        case "headphones":
            probe = headphone_probe(study)
            return None if probe is None else commands.AskHeadphones(probe.id, probe.trials)
    return None


def page_before_trials(study: Study, rater: Rater) -> str:
    """The page a rater has to pass before the next trial; empty if there is none."""
    if study.consent is not None and rater.consented is None:
        return "consent"
    if study.demographics and not rater.demographics_done:
        return "demographics"
    if study.before and not rater.instructed and pending_page(study, rater, "before"):
        return "before"
    if headphone_probe(study) is not None and not rater.headphones_done:
        return "headphones"
    return "" if rater.instructed else "instructions"


def places(work: Transaction) -> Literal["free", "later", "none"]:
    """Whether the study admits another rater now, perhaps in a moment, or not at all.

    The cap counts raters who are complete and raters at work: not those who only opened the link, as link previews do,
    and not those who have been away for a while.
    """
    settings = work.settings
    full = not work.state.unfilled or promised_trials(work) >= work.state.budget_left
    if not settings.open or full:
        return "none"
    if settings.cap is not None:
        raters = [rater for rater in work.state.raters.values() if not rater.excluded]
        complete = sum(rater.ended in FINISHED or rater.ended == "later" for rater in raters)
        if complete >= settings.cap:
            return "none"
        if complete + sum(at_work(work, rater) for rater in raters) >= settings.cap:
            return "later"
    return "free" if work.state.open else "later"


def _nothing_left(work: Transaction, rater: Rater) -> commands.Step:
    """What comes for a rater without a trial: the plan is done, or the stimuli ran out before that."""
    if rater.answered_now:
        earned = earned_ending(work, rater)
        if earned == "complete" and has_next_session(work.study, rater):
            return end(work, rater, "later")
        questions = pending_page(work.study, rater, "after") if work.study.after else ()
        if questions:
            return commands.AskQuestionnaire("after", questions)
        return end(work, rater, earned)
    unfilled = work.state.demand(rater).unfilled
    if rater.visit > 1 and not unfilled:
        return end(work, rater, "complete")
    return session_end(work, "wait") if unfilled else end(work, rater, "full")


def _wants_break(work: Transaction, rater: Rater) -> bool:
    between = not rater.queue and not rater.plan and rater.sessions > 0 and not rater.exhausted
    return between and not rater.rested and rater.planned < rater.target and _is_open_for(work, rater)


def _is_open_for(work: Transaction, rater: Rater) -> bool:
    """Whether another session can be planned: a unit needs ratings, or one that everybody gets waits for the rater."""
    demand = work.state.demand(rater)
    waiting = rater.sessions > 0 and any(unit not in rater.seen for unit in demand.layout.common)
    return demand.open or waiting


def renew(work: Transaction, rater: Rater) -> float:
    """Renew the rater's leases if enough of them has passed; returns the seconds they last."""
    if rater.until - work.now < work.state.layout.lease * _RENEW_BELOW:
        work.record("renewed", rater.number)
    return max(0.0, rater.until - work.now)


def end(work: Transaction, rater: Rater, ending: commands.Ending) -> commands.SessionEnd:
    work.record("ended", rater.number, words=ending)
    return session_end(work, ending, rater)


def session_end(work: Transaction, ending: commands.Ending, rater: Rater | None = None) -> commands.SessionEnd:
    """The end a rater sees, with the code that reports it to the recruiter; a screener has its own."""
    settings = work.settings
    if rater is not None and ending in {"later", "too-late"}:
        return later_page(work, rater, ending)
    screener = None if rater is None or rater.excluded else rater.screener
    code = code_of(settings, ending, screener)
    url = settings.return_url.replace("{code}", code) if settings.return_url and code else None
    retry_seconds = RETRY_SECONDS if ending == "wait" else None
    return commands.SessionEnd(
        ending=ending, code=code, url=url, retry_seconds=retry_seconds, text=screener_text(work.study, screener)
    )


# --- leasing ----------------------------------------------------------------------------------------------------------


def _fill_queue(work: Transaction, rater: Rater) -> None:
    """Reserve the next trial and a few ahead of it, as the plan says."""
    _drop_unplayable(work, rater)
    if not rater.live:
        retake(work, rater)
    # Where drafts are verified together: those of this page and of the next.
    together = 2 * (work.study.design.drafts_per_page or 0)
    most = max(1 + work.context.options.ahead, together)
    practice = work.study.design.practice
    while len(rater.queue) < most and rater.practised < practice and _lease_practice(work, rater):
        pass
    while len(rater.queue) < most:
        if not rater.plan:
            if rater.exhausted or (rater.sessions and (rater.queue or rater.planned >= rater.target)):
                return
            if not _plan(work, rater):
                return
        _lease_slot(work, rater, rater.plan.head)
        if rater.exhausted:
            return


def give_back(work: Transaction, rater: Rater, trial: ReservedTrial, reason: str) -> int:
    """Take a trial from the rater, with its repeat if that is reserved already; returns the event's number."""
    # Without the first presentation its repeat would be none.
    for reserved in list(rater.queue):
        if reserved.kind == "repeat" and reserved.unit == trial.unit and reserved is not trial:
            work.record("returned", rater.number, reserved.id, words=reason)
    return work.record("returned", rater.number, trial.id, words=reason)


def _drop_unplayable(work: Transaction, rater: Rater) -> None:
    """Give back trials whose stimulus or media have left the study since they were leased."""
    playable = work.material.playable
    for trial in list(rater.queue):
        unit = displayed_unit(work, trial)
        gone = trial.unit is not None and trial.unit not in playable
        if trial in rater.queue and (gone or (unit is not None and unit.signature != trial.members)):
            give_back(work, rater, trial, "gone")


def retake(work: Transaction, rater: Rater) -> None:
    """Renew lapsed leases whose unit has not been given to another rater; give the other trials back."""
    for trial in list(rater.queue):
        if trial.live or trial not in rater.queue:
            continue
        if work.state.may_retake(trial):
            work.record("retaken", rater.number, trial.id)
        else:
            give_back(work, rater, trial, "lapsed")


def _lease_practice(work: Transaction, rater: Rater) -> bool:
    material, rng = work.material, work.context.rng
    practice = arm_units(work, rater, material.practice)
    choices = [unit for unit in practice if unit not in rater.practised_units]
    if not choices and not material.study.design.practice_stimuli:
        ordinary = work.state.demand(rater).layout.units
        draws = (ordinary[int(rng.random() * len(ordinary))] for _ in range(20)) if ordinary else iter(())
        choices = [unit for unit in draws if unit not in rater.practised_units][:1]
    if choices:
        _lease(work, rater, rng.choice(choices), kind="practice")
    return bool(choices)


def _plan(work: Transaction, rater: Rater) -> bool:
    """Plan the rater's next session; False if there is nothing more for them."""
    design, demand = work.study.design, work.state.demand(rater)
    probes, most = arm_probes(work.study, rater), demand.layout.most
    batch = design.batch
    if rater.visit > 1 and design.sessions is not None and design.sessions.stimuli == "same":
        return plan_retest(work, rater)
    target = rater.target or min(design.stimuli_per_rater or most, most)
    ordinary = min(batch or target, target - rater.planned)
    if ordinary <= 0 or not _is_open_for(work, rater):
        return False
    slots = session_plan(ordinary, probes, work.context.rng)
    sessions = -(-target // batch) if batch else 1
    of = target + sessions * probes_each_session(probes)
    probe_slots = [(position, *slot) for position, slot in enumerate(slots) if slot[0] != "rating"]
    plan = {"target": target, "length": len(slots), "probes": probe_slots}
    work.record("planned", rater.number, number=float(of), words=_compact(plan))
    return True


def _lease_slot(work: Transaction, rater: Rater, slot: Slot) -> None:
    kind, probe, _ = slot
    if kind == "attention":
        _lease(work, rater, None, kind=kind, probe=probe, **_lookalike(work, rater, probe))
        return
    if kind == "rating":
        unit = pick_unit(work.state.demand(rater).layout, rater, work.context.rng, work.state.pick)
    else:
        unit = _probe_unit(work, rater, slot)
    if unit is None:
        work.record("exhausted" if kind == "rating" else "passed", rater.number)
    elif kind == "rating":
        _lease(work, rater, unit)
    else:
        _lease(work, rater, unit, kind=kind, probe=probe, repeat=rater.presentations.get(unit, 0))


def _lookalike(work: Transaction, rater: Rater, probe_id: str) -> dict[str, int]:
    """A unit to display in an attention trial: one set aside for practice, else one the rater has met already."""
    material, probe = work.material, attention_probe(work, probe_id)
    ordinary = work.state.demand(rater).layout.units
    for choices in (material.practice, rater.rated_units, rater.session_units, ordinary):
        present = [unit for unit in choices if unit in material.playable and unit in material.units]
        fitting = [u for u in present if probe is not None and probe.question in material.units[u].questions]
        if fitting:
            return {"shows": work.context.rng.choice(fitting)}
    return {}


def _probe_unit(work: Transaction, rater: Rater, slot: Slot) -> int | None:
    kind, probe, source = slot
    if probe == RETEST:
        return rater.rated_units[source] if source < len(rater.rated_units) else None
    if kind == "repeat":
        return rater.session_units[source] if source < len(rater.session_units) else None
    shown = rater.presentations
    units = arm_units(work, rater, work.material.anchors.get(probe, ()))
    fewest = min((shown.get(unit, 0) for unit in units), default=0)
    choices = [unit for unit in units if shown.get(unit, 0) == fewest]
    return work.context.rng.choice(choices) if choices else None


def _lease(work: Transaction, rater: Rater, number: int | None, **about: Any) -> None:
    balance, displayed = work.state.demand(rater).balance, about.get("shows", number)
    unit = None if displayed is None else work.material.units.get(displayed)
    if balance is not None and displayed is not None:
        about["order"] = balance.draw(rater, displayed, work.context.rng)
        about["members"] = work.material.units[displayed].signature
    if unit is not None and unit.machine:
        about["machine"] = shown_drafts(work, unit.machine)
    words = _compact(about) if about else None
    work.record("leased", rater.number, work.state.next_trial, number, words=words)


def _compact(content: dict[str, object]) -> str:
    return json.dumps(content, separators=(",", ":"))


# --- presenting -------------------------------------------------------------------------------------------------------


def _present(work: Transaction, rater: Rater, trial: ReservedTrial) -> commands.ShowTrial:
    practice = trial.kind == "practice"
    alike = [reserved for reserved in rater.queue if (reserved.kind == "practice") == practice]
    done = rater.practised - len(alike) if practice else rater.answered_now
    number = done + 1 + alike.index(trial)
    unit = displayed_unit(work, trial)
    return commands.ShowTrial(
        trial=str(trial.id),
        kind="practice" if practice else "attention" if trial.kind == "attention" else "rating",
        media=None if unit is None else unit.media,
        questions=questions_of(work, trial),
        number=number,
        of=work.study.design.practice if practice else max(rater.of, number),
        lease_seconds=max(0.0, rater.until - work.now),
        prompt=None if unit is None else unit.prompt,
        words=_instruction(work, rater, trial) if trial.kind == "attention" else None,
        machine={question: value for question, (value, _) in trial.machine.items()},
        boxes=shown_boxes(work, unit, trial.machine),
        limits={q: text for q, text in work.material.draft_facts.limits.items() if q in trial.machine},
        members=tuple(
            commands.ShownMember(member.media, kind, member.prompt) for member, kind in presented_members(unit, trial)
        ),
        unit=unit.number if unit is not None and unit.members else None,
    )


def _instruction(work: Transaction, rater: Rater, trial: ReservedTrial) -> str | None:
    """What an attention trial tells the rater to answer, in their language."""
    probe = attention_probe(work, trial.probe)
    return None if probe is None else say(probe.text, work.context.languages.get(rater.id, "en"))


Kind: TypeAlias = Literal["judged", "reference", "x"]


def presented_members(unit: Unit | None, trial: ReservedTrial) -> list[tuple[UnitMember, Kind]]:
    """The members of a trial's set in the order shown; none for a single stimulus."""
    if unit is None or not unit.members:
        return []
    out: list[tuple[UnitMember, Kind]] = []
    for index, number in enumerate(trial.order):
        member = unit.members[number]
        again = index >= len(unit.members)
        out.append((member, "x" if again else "reference" if member.role == "reference" else "judged"))
    return out


def displayed_unit(work: Transaction, trial: ReservedTrial) -> Unit | None:
    """The unit that is displayed in a trial; for an attention trial one that makes it look like the others."""
    number = trial.shows if trial.kind == "attention" else trial.unit
    return None if number is None else work.material.units.get(number)


def questions_of(work: Transaction, trial: ReservedTrial) -> tuple[str, ...]:
    """The questions of a trial. An attention trial asks what others ask, and only its probe's question counts."""
    unit = displayed_unit(work, trial)
    rater = work.state.raters[trial.rater]
    if trial.kind != "attention":
        return () if unit is None else asked_questions(work.study, rater, unit)
    probe = attention_probe(work, trial.probe)
    if probe is None:
        return ()
    if unit is not None and probe.question in unit.questions:
        return asked_questions(work.study, rater, unit)
    return (probe.question,)


def attention_probe(work: Transaction, name: str | None) -> AttentionProbe | None:
    """The attention probe of that id, if the study still has it."""
    return next((p for p in work.study.probes if isinstance(p, AttentionProbe) and p.id == name), None)
