"""Answers: checked against their questions, stored once, counted; and problems raters report about a trial."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from heartfelt.collect.assign.model import IMPOSSIBLE, LISTENED, Rater, ReservedTrial
from heartfelt.collect.messages import commands
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer, TrialClosed, TrialNotFound
from heartfelt.collect.session.listening import Listened, listened
from heartfelt.collect.session.progress.conditions import is_asked, not_shown, refused, without_answer
from heartfelt.collect.session.progress.screeners import judge_attention
from heartfelt.collect.session.progress.transaction import Transaction, clean, count, plain_json, seconds
from heartfelt.collect.session.steps import (
    attention_probe,
    displayed_unit,
    give_back,
    next_step,
    presented_members,
    questions_of,
    renew,
    retake,
    show,
)
from heartfelt.collect.store.tables import packed
from heartfelt.errors import InputError, suggestion
from heartfelt.study import Question
from heartfelt.study.consistency.conditions import Source
from heartfelt.study.scales.answer import REJECTED, Coded, read_number
from heartfelt.study.scales.set_scale import Choice, Ranking, SetScale, Trace

_LONGEST_COMMENT = 4000


class CheckedAnswer(NamedTuple):
    """One valid answer; the fields are columns of the table of ratings."""

    question: str
    value: float | None
    answer: str | None
    machine: str | None = None
    shown: str | None = None
    verdict: str | None = None


class GivenTrace(NamedTuple):
    """The samples of an answer that is a course over time."""

    question: str
    rate: float
    samples: list[float | None]


class Checked(NamedTuple):
    """What a valid answer to a trial comes to."""

    answers: list[CheckedAnswer]
    traces: list[GivenTrace]
    outcome: dict[str, float]
    """For a pair: how its first member fared against the second in the study's first question: 1, 0.5 or 0."""


def answer(work: Transaction, command: commands.Answer) -> commands.Receipt:
    """Store the answers to a trial. Nothing is changed before everything has been checked."""
    rater, trial = _trial(work, command)
    if trial is None:
        return commands.Receipt(command.trial, "already", next_step(work, rater) if command.wants_next else None)
    if trial.closed:
        raise TrialClosed("This trial was given back and accepts no answer.", "Continue with the next trial.")
    # Trials are answered in their order; one sent ahead must not be answered before the one on the screen.
    if not trial.shown and trial in rater.queue[1:]:
        raise _not_found()
    checked_trial = _check(work, trial, command)
    if not trial.shown:
        # Fetched ahead and answered while the connection was lost: this is the first the server hears of it.
        show(work, rater, trial)
    late = not trial.live and trial.kind != "practice"
    listening = listened(work, rater, trial, command.log)
    _store(work, rater, trial, command, late, listening)
    practice, stimulus = trial.kind == "practice", work.stimulus_of(trial)
    for checked in checked_trial.answers:
        work.insert(
            "ratings",
            trial=trial.id,
            rater=rater.number,
            stimulus=stimulus,
            repeat=trial.repeat,
            practice=practice,
            **_logged(work, trial, checked, command.log.fields.get(checked.question)),
        )
    if stimulus is not None:
        _store_members(work, rater, trial, command.log, listening)
        for trace in checked_trial.traces:
            _store_trace(work, rater, trial, command.log, trace)
    steering = _steering(work, rater, trial, checked_trial, listening)
    words = json.dumps(steering) if steering else None
    work.record("answered", rater.number, trial.id, trial.unit, number=float(late), words=words)
    if trial.kind == "attention":
        judge_attention(work, rater, trial.probe, checked_trial.answers)
    following = next_step(work, rater) if command.wants_next else None
    return commands.Receipt(command.trial, "late" if late else "stored", following)


def _steering(
    work: Transaction, rater: Rater, trial: ReservedTrial, checked: Checked, listening: Listened
) -> dict[str, float]:
    """What the journal needs of an answer: numbers that later assignments depend on, and how credible the listening was."""
    steering: dict[str, float] = {}
    demand = work.state.demand(rater)
    if demand.errors is not None and trial.kind == "rating":
        steering = {answer.question: answer.value for answer in checked.answers if answer.value is not None}
    elif demand.pairs is not None and trial.kind == "rating":
        steering = dict(checked.outcome)
    if listening.seconds:
        steering[LISTENED] = listening.seconds
    if listening.flag == "impossible":
        steering[IMPOSSIBLE] = 1.0
    return steering


def _not_found() -> TrialNotFound:
    return TrialNotFound("This trial is not yours to answer.", "Reload the page to get your own next trial.")


def _trial(work: Transaction, command: commands.TrialCommand[Any]) -> tuple[Rater, ReservedTrial | None]:
    """The rater and their trial that a command is about; no trial if it was answered already."""
    rater, name = work.rater(command.rater), command.trial
    number = int(name) if name.isascii() and name.isdecimal() and len(name) < 16 else -1
    if work.state.answered.get(number) == rater.number:
        return rater, None
    trial = work.state.trials.get(number)
    if trial is None or trial.rater != rater.number:
        raise _not_found()
    return rater, trial


def _check(work: Transaction, trial: ReservedTrial, command: commands.Answer) -> Checked:
    """Validate every answer against its question; the error names the first invalid one."""
    _check_unchanged(work, trial)
    names = questions_of(work, trial)
    for name in (*command.values, *command.verdicts):
        if name not in names:
            raise _not_asked(name, names)
    checked = Checked([], [], {})
    missing: list[str] = []
    coded_answers: dict[Source, Coded] = {}
    for question in names:
        given, verdict = command.values.get(question), command.verdicts.get(question)
        asks = work.study.question(question)
        if asks.show_if and not is_asked(work.study, asks, coded_answers, "questions"):
            if verdict is not None or not without_answer(given):
                raise not_shown(question)
            continue
        if verdict is not None:
            _check_verdict(question, verdict)
        machine, kind = trial.machine.get(question, (None, None))
        if verdict == "accepted" and without_answer(given):
            given = machine
        if not without_answer(given):
            try:
                value, text = _read(work, trial, asks, given, checked)
            except InputError as error:
                raise refused(question, error) from None
            coded_answers["question", question] = (value, text)
            checked.answers.append(CheckedAnswer(question, value, clean(text), machine, kind, verdict))
        elif verdict == "rejected" and kind is not None:
            checked.answers.append(CheckedAnswer(question, None, None, machine, kind, verdict))
        elif asks.required:
            missing.append(question)
    if missing:
        raise MissingAnswer(f"Not answered: {', '.join(missing)}.", "Answer every required question.", tuple(missing))
    if trial.kind != "attention":
        return checked
    probe = attention_probe(work, trial.probe)
    tested = [answer for answer in checked.answers if probe is not None and answer.question == probe.question]
    return checked._replace(answers=tested)


def _not_asked(name: object, names: Sequence[str]) -> InvalidAnswer:
    problem = f"The question '{clean(str(name), 100)}' is not asked in this trial."
    return InvalidAnswer(problem, suggestion(str(name), names, "Asked"))


def _check_unchanged(work: Transaction, trial: ReservedTrial) -> None:
    """Refuse an answer about what an edit of the study has taken away since the trial was shown."""
    unit = displayed_unit(work, trial)
    if trial.kind != "attention" and unit is None:
        raise TrialClosed("The stimulus of this trial has left the study.", "Continue with the next trial.")
    if unit is not None and unit.signature != trial.members:
        raise TrialClosed("The set of this trial has changed.", "Continue with the next trial.")


def _check_verdict(question: str, verdict: str) -> None:
    if verdict not in get_args(commands.Verdict):
        raise InvalidAnswer(
            f"Question '{question}': '{clean(str(verdict), 100)}' is not a verdict.",
            "Allowed: accepted, fixed, rejected.",
            (question,),
        )


def _read(work: Transaction, trial: ReservedTrial, asks: Question, answer: Any, checked: Checked) -> Coded:
    """An answer as it is stored. A trace, and how the first member of a pair fared, are added to ``checked``."""
    scale = work.study.scale_of(asks.id)
    if isinstance(scale, SetScale):
        value, text, values = _read_set(work, trial, scale, answer)
        if len(values) == 2 and asks.id == work.study.asked[0].id:
            checked.outcome[asks.id] = _outcome(scale, values, trial)
        return value, text
    coded = work.study.read(asks, _plain(answer, isinstance(scale, Trace)))
    if isinstance(scale, Trace):
        checked.traces.append(GivenTrace(asks.id, scale.rate, scale.read_samples(answer)))
    return coded


def _plain(answer: Any, trace: bool) -> Any:
    """An answer about one stimulus: a number, a text or a list of tags, or samples for a trace."""
    if isinstance(answer, Mapping | list) if trace else not isinstance(answer, Mapping) and not _long(answer):
        return answer
    raise InputError("this is not an answer.", "Answer as the question asks.")


def _long(answer: Any) -> bool:
    return isinstance(answer, str) and len(answer) > 20_000


def _read_set(
    work: Transaction, trial: ReservedTrial, scale: SetScale, answer: Any
) -> tuple[float | None, str | None, list[float]]:
    """An answer about a set: as one number where it is one, as JSON in the order shown, and the value of every member.

    A choice is stored as the place of the member chosen, from 1.
    """
    if _long(answer):
        raise InputError("this is not an answer.", "Answer as the question asks.")
    judged = sum(kind == "judged" for _, kind in presented_members(displayed_unit(work, trial), trial))
    values = scale.read_set(answer, judged)
    number = read_number(answer)
    if isinstance(scale, Choice) and number is not None:
        number += 1
    return number, plain_json(dict(answer) if isinstance(answer, Mapping) else answer), values


def _outcome(scale: SetScale, values: list[float], trial: ReservedTrial) -> float:
    """How the first member of a pair fared against the second, by their values in the order shown."""
    lead = values[0] - values[1]
    if isinstance(scale, Ranking):
        lead = -lead
    if trial.order and trial.order[0] != 0:
        lead = -lead
    return 0.5 + 0.5 * ((lead > 0) - (lead < 0))


def _store(
    work: Transaction, rater: Rater, trial: ReservedTrial, command: commands.Answer, late: bool, listening: Listened
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
        away=seconds(log.away) or None,
    )


def _logged(
    work: Transaction, trial: ReservedTrial, checked: CheckedAnswer, log: commands.FieldLog | None
) -> dict[str, object]:
    """The columns of one answer, with how it was given, and which machine drafted it if one did.

    A draft that was withheld is stored with the answer that was given without it.
    """
    columns = checked._asdict()
    unit = displayed_unit(work, trial)
    draft, source = (None, None) if unit is None else unit.machine.get(checked.question, (None, None))
    if checked.shown == "hidden":
        columns["machine"] = draft
    matches_log = checked.shown is not None and (checked.shown != "true" or checked.machine == draft)
    log = log or commands.FieldLog()
    return columns | {
        "first": None if log.first is None else _first(work, checked, log.first),
        "seconds": seconds(log.seconds),
        "keystrokes": None if log.keystrokes is None else count(log.keystrokes),
        "source": clean(source) if matches_log else None,
    }


def _first(work: Transaction, checked: CheckedAnswer, first_answer: Any) -> str | None:
    """The first answer as its scale writes answers, if it is another one than the last."""
    if without_answer(first_answer):
        return None
    if first_answer == REJECTED:
        return None if checked.verdict == "rejected" else REJECTED
    try:
        value, text = work.study.scale_of(checked.question).read(_plain(first_answer, trace=False))
    except InputError:
        return clean(str(first_answer), _LONGEST_COMMENT)
    same = checked.verdict != "rejected" and (value, clean(text)) == (checked.value, checked.answer)
    return None if same else clean(text) if text is not None else f"{value:.12g}"


def _store_members(
    work: Transaction, rater: Rater, trial: ReservedTrial, log: commands.TrialLog, listening: Listened
) -> None:
    """Store what was presented where in a set, and how much of it was heard.

    Judged members are numbered from 1, X comes after them, and a reference that is named as such is at place 0.
    """
    position = 0
    for number, (member, kind) in enumerate(presented_members(work.unit_of(trial), trial)):
        position += kind != "reference"
        intervals = log.played[number] if number < len(log.played) else ()
        work.insert(
            "members",
            trial=trial.id,
            place=0 if kind == "reference" else position,
            rater=rater.number,
            stimulus=member.stimulus,
            role=member.role,
            kind=kind,
            heard=listening.shares[number],
            intervals=plain_json(intervals) if intervals else None,
        )


def _store_trace(
    work: Transaction, rater: Rater, trial: ReservedTrial, log: commands.TrialLog, trace: GivenTrace
) -> None:
    work.insert(
        "traces",
        trial=trial.id,
        question=trace.question,
        rater=rater.number,
        rate=trace.rate,
        start=0.0,
        away=seconds(log.away),
        samples=packed(trace.samples),
    )


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
        work.insert_about(rater, "media_problems", seq=seq, trial=trial.id, stimulus=stimulus, problem=problem)
    return next_step(work, rater)
