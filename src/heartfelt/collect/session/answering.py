"""Answers: checked against their questions, stored once, counted; and what else is said about a trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heartfelt.collect.assign.rater import Rater, Trial
from heartfelt.collect.assign.state import LISTENED
from heartfelt.collect.commands import Answer, Beat, Flag, Heard, MediaProblem, Receipt, Step
from heartfelt.collect.errors import NotYourTrial, OffScale, TrialOver, Unanswered
from heartfelt.collect.session.listening import Listened, listened
from heartfelt.collect.session.steps import asked as questions_of
from heartfelt.collect.session.steps import attention_probe, give_back, renew, shown_unit, step, take_up
from heartfelt.collect.session.work import Work, clean, counted, plain_json, seconds
from heartfelt.errors import InputError, suggestion

_VERDICTS = ("accepted", "fixed", "rejected")
_LONGEST_COMMENT = 4000


@dataclass(frozen=True, slots=True)
class Checked:
    """One answer that is on its scale."""

    question: str
    value: float | None
    answer: str | None
    machine: str | None = None
    shown: str | None = None
    verdict: str | None = None


def answer(work: Work, command: Answer) -> Receipt:
    """Store the answers to a trial. Nothing is changed before everything is known to be right."""
    rater = work.rater(command.rater)
    trial = _trial(work, rater, command.trial)
    if trial is None:
        return Receipt(command.trial, "already", step(work, rater) if command.go_on else None)
    if trial.over:
        raise TrialOver(
            "This trial was given back and takes no answer any more.", "Go on with the next trial."
        )
    if not trial.shown and trial in rater.queue[1:]:
        raise _not_yours()
    checked = check(work, trial, command)
    if not trial.shown:
        # Fetched ahead and answered while the connection was lost: this is the first the server hears of it.
        place = -1 if trial.kind == "practice" else rater.positions + 1
        work.tell("shown", rater.number, trial.id, number=float(place))
    late = not trial.live and trial.kind != "practice"
    listening = listened(work, rater, trial, command.heard)
    _store(work, rater, trial, command, checked, (late, listening))
    values: dict[str, float] = {}
    if work.state.errors is not None and trial.kind == "rating":
        values = {one.question: one.value for one in checked if one.value is not None}
    if listening.seconds:
        values[LISTENED] = listening.seconds
    words = json.dumps(values) if values else None
    work.tell("answered", rater.number, trial.id, trial.unit, number=float(late), words=words)
    return Receipt(command.trial, "late" if late else "stored", step(work, rater) if command.go_on else None)


def _not_yours() -> NotYourTrial:
    return NotYourTrial(
        "This trial is not yours to answer.", "Load the page again to get your own next trial."
    )


def _trial(work: Work, rater: Rater, name: str) -> Trial | None:
    """The rater's trial of that id; None if it was answered already."""
    number = int(name) if name.isascii() and name.isdecimal() and len(name) < 16 else -1
    if work.state.answered.get(number) == rater.number:
        return None
    trial = work.state.trials.get(number)
    if trial is None or trial.rater != rater.number:
        raise _not_yours()
    return trial


def check(work: Work, trial: Trial, command: Answer) -> list[Checked]:
    """Hold every answer to its question; the first at fault is named."""
    study = work.context.material.study
    if trial.kind != "attention" and shown_unit(work, trial) is None:
        raise TrialOver("The stimulus of this trial has left the study.", "Continue with the next trial.")
    asked = questions_of(work, trial)
    for name in (*command.values, *command.verdicts):
        if name not in asked:
            raise OffScale(
                f"The question '{clean(str(name), 100)}' is not asked in this trial.",
                suggestion(str(name), asked, "Asked"),
            )
    out: list[Checked] = []
    missing: list[str] = []
    for question in asked:
        given = command.values.get(question)
        verdict = command.verdicts.get(question)
        if verdict is not None and verdict not in _VERDICTS:
            raise OffScale(
                f"Question '{question}': '{clean(str(verdict), 100)}' is no verdict.",
                "Allowed: accepted, fixed, rejected.",
                (question,),
            )
        shown, kind = trial.machine.get(question, (None, None))
        if verdict == "accepted" and _empty(given):
            given = shown
        if _empty(given):
            if verdict == "rejected" and kind is not None:
                out.append(Checked(question, None, None, shown, kind, verdict))
            elif study.question(question).required:
                missing.append(question)
            continue
        value, words = _on_scale(work, question, given)
        out.append(Checked(question, value, words, shown, kind, verdict))
    if missing:
        raise Unanswered(
            f"Not answered: {', '.join(missing)}.", "Answer every question of the trial.", tuple(missing)
        )
    if trial.kind == "attention":
        probe = attention_probe(work, trial)
        return [one for one in out if probe is not None and one.question == probe.question]
    return out


def _empty(given: Any) -> bool:
    return given is None or (isinstance(given, str) and not given.strip()) or given == []


def _on_scale(work: Work, question: str, given: Any) -> tuple[float | None, str | None]:
    if isinstance(given, Mapping) or (isinstance(given, str) and len(given) > 20_000):
        raise OffScale(
            f"Question '{question}': this is no answer.",
            "Answer as the question asks.",
            (question,),
            "this is no answer.",
        )
    try:
        value, words = work.context.material.study.scale_of(question).read(given)
    except InputError as error:
        problem = str(clean(error.problem, 300))
        raise OffScale(
            f"Question '{question}': {problem}", str(clean(error.fix, 2000)), (question,), problem
        ) from None
    return value, clean(words)


def _store(
    work: Work,
    rater: Rater,
    trial: Trial,
    command: Answer,
    checked: list[Checked],
    outcome: tuple[bool, Listened],
) -> None:
    heard: Heard = command.heard
    late, listening = outcome
    work.store(
        "answers",
        trial.id,
        rater.number,
        clean(command.key, 200),
        work.now,
        trial.kind,
        trial.probe,
        max(0, trial.position),
        trial.session,
        late,
        seconds(heard.seconds),
        seconds(heard.first_play),
        counted(heard.plays),
        counted(heard.focus_losses),
        plain_json(heard.intervals) if heard.intervals else None,
        plain_json(heard.changes) if heard.changes else None,
        clean(heard.device, 40),
        seconds(heard.began),
        clean(command.comment, _LONGEST_COMMENT) or None,
        work.context.version,
        listening.share,
        listening.flag,
    )
    unit = None if trial.unit is None else work.context.material.units.get(trial.unit)
    stimulus = None if unit is None else unit.stimulus
    practice = trial.kind == "practice"
    for one in checked:
        work.store(
            "ratings",
            trial.id,
            one.question,
            rater.number,
            stimulus,
            trial.repeat,
            practice,
            one.value,
            one.answer,
            one.machine,
            one.shown,
            one.verdict,
        )


def beat(work: Work, command: Beat) -> float:
    """Renew the leases; a trial that is over has none."""
    rater = work.rater(command.rater)
    trial = _trial(work, rater, command.trial)
    if trial is None or trial not in rater.queue or rater.ended is not None or rater.excluded:
        return 0.0
    take_up(work, rater)
    return renew(work, rater) if trial in rater.queue else 0.0


def flag(work: Work, command: Flag) -> Step:
    """Keep what the rater finds wrong with a stimulus; with ``skip`` the trial is given back."""
    rater = work.rater(command.rater)
    trial = _trial(work, rater, command.trial)
    held = trial is not None and trial in rater.queue
    skip = command.skip and held
    stimulus = None if trial is None else _stimulus(work, trial)
    number = trial.id if trial is not None else int(command.trial)
    if skip and trial is not None:
        seq = give_back(work, rater, trial, "flagged")
    else:
        seq = work.tell("noted", rater.number, number, words="flagged")
    reason, comment = clean(command.reason, 200), clean(command.comment, _LONGEST_COMMENT)
    work.store("flags", seq, work.now, rater.number, number, stimulus, reason, comment, skip)
    return step(work, rater)


def media_problem(work: Work, command: MediaProblem) -> Step:
    """Give the trial back because its media would not play, and keep what went wrong."""
    rater = work.rater(command.rater)
    trial = _trial(work, rater, command.trial)
    if trial is None or trial not in rater.queue:
        return step(work, rater)
    stimulus = _stimulus(work, trial)
    seq = give_back(work, rater, trial, "media")
    work.store(
        "media_problems", seq, work.now, rater.number, trial.id, stimulus, clean(command.problem, 1000)
    )
    return step(work, rater)


def _stimulus(work: Work, trial: Trial) -> str | None:
    unit = None if trial.unit is None else work.context.material.units.get(trial.unit)
    return None if unit is None else unit.stimulus
