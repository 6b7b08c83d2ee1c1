"""Answers: checked against their questions, stored once, counted; and problems raters report about a trial."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from heartfelt.collect import commands
from heartfelt.collect.assign.model import Rater, Trial
from heartfelt.collect.assign.state import LISTENED
from heartfelt.collect.errors import InvalidAnswer, MissingAnswer, TrialClosed, TrialNotFound
from heartfelt.collect.session.steps import (
    attention_probe,
    displayed_unit,
    give_back,
    next_step,
    questions_of,
    renew,
    retake,
    show,
)
from heartfelt.collect.session.transaction import Transaction, clean, count, plain_json, seconds
from heartfelt.errors import InputError, suggestion

_LONGEST_COMMENT = 4000
HEARD_ENOUGH = 0.95
"""The share of a clip from which it counts as heard to the end; players stop reporting a moment before."""
_SLACK_SECONDS = 0.5
_SLACK_SHARE = 0.05


class CheckedAnswer(NamedTuple):
    """One valid answer; the fields are columns of the table of ratings."""

    question: str
    value: float | None
    answer: str | None
    machine: str | None = None
    shown: str | None = None
    verdict: str | None = None


def answer(work: Transaction, command: commands.Answer) -> commands.Receipt:
    """Store the answers to a trial. Nothing is changed before everything has been checked."""
    rater, trial = _trial(work, command)
    if trial is None:
        return commands.Receipt(
            command.trial, "already", next_step(work, rater) if command.wants_next else None
        )
    if trial.closed:
        raise TrialClosed("This trial was given back and accepts no answer.", "Continue with the next trial.")
    if not trial.shown and trial in rater.queue[1:]:
        raise _not_found()
    answers = _check(work, trial, command)
    if not trial.shown:
        # Fetched ahead and answered while the connection was lost: this is the first the server hears of it.
        show(work, rater, trial)
    late = not trial.live and trial.kind != "practice"
    listening = listened(work, rater, trial, command.log)
    _store(work, rater, trial, command, late, listening)
    practice, stimulus = trial.kind == "practice", work.stimulus_of(trial)
    for checked in answers:
        work.insert(
            "ratings",
            trial=trial.id,
            rater=rater.number,
            stimulus=stimulus,
            repeat=trial.repeat,
            practice=practice,
            **checked._asdict(),
        )
    steering: dict[str, float] = {}
    if work.state.errors is not None and trial.kind == "rating":
        steering = {checked.question: checked.value for checked in answers if checked.value is not None}
    if listening.seconds:
        steering[LISTENED] = listening.seconds
    words = json.dumps(steering) if steering else None
    work.record("answered", rater.number, trial.id, trial.unit, number=float(late), words=words)
    following = next_step(work, rater) if command.wants_next else None
    return commands.Receipt(command.trial, "late" if late else "stored", following)


def _not_found() -> TrialNotFound:
    return TrialNotFound("This trial is not yours to answer.", "Reload the page to get your own next trial.")


def _trial(work: Transaction, command: commands.TrialCommand[Any]) -> tuple[Rater, Trial | None]:
    """The rater and their trial that a command is about; no trial if it was answered already."""
    rater, name = work.rater(command.rater), command.trial
    number = int(name) if name.isascii() and name.isdecimal() and len(name) < 16 else -1
    if work.state.answered.get(number) == rater.number:
        return rater, None
    trial = work.state.trials.get(number)
    if trial is None or trial.rater != rater.number:
        raise _not_found()
    return rater, trial


def _check(work: Transaction, trial: Trial, command: commands.Answer) -> list[CheckedAnswer]:
    """Validate every answer against its question; the error names the first invalid one."""
    if trial.kind != "attention" and displayed_unit(work, trial) is None:
        raise TrialClosed("The stimulus of this trial has left the study.", "Continue with the next trial.")
    asked = questions_of(work, trial)
    for name in (*command.values, *command.verdicts):
        if name not in asked:
            raise InvalidAnswer(
                f"The question '{clean(str(name), 100)}' is not asked in this trial.",
                suggestion(str(name), asked, "Asked"),
            )
    out: list[CheckedAnswer] = []
    missing: list[str] = []
    for question in asked:
        given, verdict = command.values.get(question), command.verdicts.get(question)
        if verdict is not None and verdict not in get_args(commands.Verdict):
            raise InvalidAnswer(
                f"Question '{question}': '{clean(str(verdict), 100)}' is not a verdict.",
                "Allowed: accepted, fixed, rejected.",
                (question,),
            )
        machine, kind = trial.machine.get(question, (None, None))
        if verdict == "accepted" and _empty(given):
            given = machine
        if not _empty(given):
            value, text = _read(work, question, given)
            out.append(CheckedAnswer(question, value, text, machine, kind, verdict))
        elif verdict == "rejected" and kind is not None:
            out.append(CheckedAnswer(question, None, None, machine, kind, verdict))
        elif work.study.question(question).required:
            missing.append(question)
    if missing:
        raise MissingAnswer(
            f"Not answered: {', '.join(missing)}.", "Answer every required question.", tuple(missing)
        )
    if trial.kind == "attention":
        probe = attention_probe(work, trial.probe)
        return [checked for checked in out if probe is not None and checked.question == probe.question]
    return out


def _empty(given: Any) -> bool:
    return given is None or (isinstance(given, str) and not given.strip()) or given == []


def _read(work: Transaction, question: str, given: Any) -> tuple[float | None, str | None]:
    """An answer as its scale reads it: a number, a text, or both."""
    problem = "this is not an answer."
    if isinstance(given, Mapping) or (isinstance(given, str) and len(given) > 20_000):
        raise InvalidAnswer(
            f"Question '{question}': {problem}", "Answer as the question asks.", (question,), problem
        )
    try:
        value, text = work.study.scale_of(question).read(given)
    except InputError as error:
        problem = str(clean(error.problem, 300))
        fix = str(clean(error.fix, 2000))
        raise InvalidAnswer(f"Question '{question}': {problem}", fix, (question,), problem) from None
    return value, clean(text)


def _store(
    work: Transaction, rater: Rater, trial: Trial, command: commands.Answer, late: bool, listening: Listened
) -> None:
    log = command.log
    work.insert_about(
        rater,
        "answers",
        trial=trial.id,
        key=clean(command.key, 200),
        kind=trial.kind,
        probe=trial.probe,
        position=max(0, trial.position),
        session=trial.session,
        late=late,
        seconds=seconds(log.seconds),
        first_play=seconds(log.first_play),
        plays=count(log.plays),
        focus_losses=count(log.focus_losses),
        intervals=plain_json(log.intervals) if log.intervals else None,
        changes=plain_json(log.changes) if log.changes else None,
        device=clean(log.device, 40),
        began=seconds(log.began),
        comment=clean(command.comment, _LONGEST_COMMENT) or None,
        study_version=work.context.version,
        heard=listening.share,
        heard_flag=listening.flag,
    )


# --- listening --------------------------------------------------------------------------------------------------------


class Listened(NamedTuple):
    """How much of a clip was heard, as far as that is credible.

    A page can report anything. A rater cannot have listened longer than the time between the moment the trial was
    reserved for them and their answer, and no second of it can be spent on two trials.
    """

    share: float | None
    """Share of the clip played at least once, 0 to 1; None where there is no clip with a known length."""
    flag: str | None
    """``impossible`` if more was reported than the time allows, ``incomplete`` if less was heard than the study asks."""
    seconds: float
    """Time spent on it, which no other trial can claim."""


def listened(work: Transaction, rater: Rater, trial: Trial, log: commands.TrialLog) -> Listened:
    """Compare what was reported with what was possible."""
    unit = work.unit_of(trial)
    duration = None if unit is None else unit.duration
    if not duration:
        return Listened(None, None, 0.0)
    distinct, total = played(log.intervals, duration)
    if not log.intervals and log.plays > 0:
        distinct = total = duration
    passed = max(0.0, work.now - max(trial.leased_at, rater.listened_until))
    possible = passed + _SLACK_SECONDS + _SLACK_SHARE * total
    share = min(1.0, min(distinct, possible) / duration)
    rule = work.study.design.listening
    incomplete = (rule == "full" and share < HEARD_ENOUGH) or (rule == "started" and share <= 0.0)
    flag = "impossible" if total > possible else "incomplete" if incomplete else None
    return Listened(round(share, 4), flag, round(min(total, passed), 3))


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


# --- other messages about a trial -------------------------------------------------------------------------------------


def heartbeat(work: Transaction, command: commands.Heartbeat) -> float:
    """Renew the leases; a trial that was answered or given back has none."""
    rater, trial = _trial(work, command)
    if trial is None or trial not in rater.queue or rater.ended is not None or rater.excluded:
        return 0.0
    retake(work, rater)
    return renew(work, rater) if trial in rater.queue else 0.0


def flag(work: Transaction, command: commands.Flag) -> commands.Step:
    """Store a problem the rater reports with a stimulus; with ``skip`` the trial is given back."""
    rater, trial = _trial(work, command)
    number = int(command.trial)
    stimulus = None if trial is None else work.stimulus_of(trial)
    skipped = trial is not None and command.skip and trial in rater.queue
    if trial is not None and skipped:
        seq = give_back(work, rater, trial, "flagged")
    else:
        seq = work.record("noted", rater.number, number, words="flagged")
    work.insert_about(
        rater,
        "flags",
        seq=seq,
        trial=number,
        stimulus=stimulus,
        reason=clean(command.reason, 200),
        comment=clean(command.comment, _LONGEST_COMMENT),
        skipped=skipped,
    )
    return next_step(work, rater)


def media_problem(work: Transaction, command: commands.MediaProblem) -> commands.Step:
    """Give the trial back because its media would not play, and store the problem."""
    rater, trial = _trial(work, command)
    if trial is not None and trial in rater.queue:
        seq = give_back(work, rater, trial, "media")
        problem = clean(command.problem, 1000)
        stimulus = work.stimulus_of(trial)
        work.insert_about(
            rater, "media_problems", seq=seq, trial=trial.id, stimulus=stimulus, problem=problem
        )
    return next_step(work, rater)
