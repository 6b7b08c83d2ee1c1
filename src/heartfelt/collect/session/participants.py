"""Participants outside of trials: arriving, consent, demographics, headphone check, leaving, and being erased."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from heartfelt.collect.assign.model import Rater
from heartfelt.collect.messages import commands, errors
from heartfelt.collect.session.adjudication import forget_words
from heartfelt.collect.session.headphones import quietest_tones
from heartfelt.collect.session.progress.arms import prefer_arm
from heartfelt.collect.session.progress.consenting import check_withdrawal, consent_details
from heartfelt.collect.session.progress.screeners import due_screener, screen_out
from heartfelt.collect.session.progress.transaction import Transaction, clean, plain_json, session_keys
from heartfelt.collect.session.steps import end, headphone_probe, next_step, places, session_end
from heartfelt.errors import InputError, suggestion
from heartfelt.study.consistency.conditions import read_fact
from heartfelt.study.consistency.screeners import probe_screener
from heartfelt.study.model import HeadphoneProbe
from heartfelt.study.parts.design import Demographic
from heartfelt.study.scales.answer import Coded

_REMEMBERED = 10_000
_DATA_TABLES = (
    "ratings",
    "members",
    "traces",
    "answers",
    "demographics",
    "questionnaires",
    "headphones",
    "flags",
    "media_problems",
    "exclusions",
    "arms",
    "screen_outs",
)
_PERSON_TABLES = ("consents", "participants")


def person_hash(secret: bytes, *words: str) -> str:
    """What is stored of a recruiter's id: the same for the same id, and irreversible without the store's secret."""
    return hmac.digest(secret, "\0".join(("person", *words)).encode("utf-8", "replace"), "sha256").hex()


def arrive(work: Transaction, command: commands.Arrive) -> commands.Arrived:
    """Recognise the person, or admit them if there is a free place."""
    context, person = work.context, None
    if command.recruiter == "link" and command.person not in context.invitations:
        raise errors.UnknownRater("This invitation was not made for this study.", "Ask for a new link.")
    facts = {str(clean(key)): person_hash(context.secret, value) for key, value in command.facts.items()}
    if command.person is not None:
        person = person_hash(context.secret, command.recruiter, command.person)
        returning = work.state.by_id.get(context.persons.get(person, ""))
        if returning is not None:
            return _resume(work, command, returning, session_keys(facts))
    elif command.recruiter in {"link", "prolific", "mturk"}:
        raise InputError(
            f"A rater from {command.recruiter} came without their id.", "Open the link the recruiter gave you."
        )
    # After the check of who they are: a rater who returns needs no free place.
    _check_places(work)
    number = work.state.last_number + 1
    name = context.new_id()
    if command.person is not None:
        cleaned = {str(clean(key)): clean(value, 200) for key, value in command.facts.items()}
        work.insert(
            "participants",
            rater=number,
            at=work.now,
            recruiter=command.recruiter,
            participant=clean(command.person, 200),
            facts=plain_json(cleaned),
        )
    row = {
        "number": number,
        "rater": name,
        "at": work.now,
        "recruiter": command.recruiter,
        "person": person,
        "facts": plain_json(facts),
        "language": clean(command.language, 40),
        "device": plain_json(dict(command.device)),
        "study_version": context.version,
    }
    work.insert("raters", **row)
    work.record("arrived", number, words=name)
    context.recognize(row)
    if command.arm:
        prefer_arm(work, work.rater(name), command.arm)
    return commands.Arrived(name, resumed=False)


def _resume(work: Transaction, command: commands.Arrive, rater: Rater, sessions: frozenset[str]) -> commands.Arrived:
    """Let a person continue who is known by their id, if it is theirs to use."""
    if (
        command.recruiter not in {"prolific", "mturk"}
        or rater.id in command.proven
        or not rater.engaged
        or sessions & work.context.sessions.get(rater.id, frozenset())
        # A later session is another one of the recruiter's too, often on another device; it shows nothing of the first.
        or (rater.ended == "later" and sessions)
    ):
        return commands.Arrived(rater.id, resumed=True)
    raise errors.StartedElsewhere(
        "This study was already started with this participant id, in another browser.",
        "Continue in that browser, or open the study again from the recruiting page. If neither works, ask the researcher"
        " for a link to continue.",
    )


def _check_places(work: Transaction) -> None:
    closed = "It admits no new raters now. Thank you for coming."
    if not work.settings.open:
        raise errors.StudyClosed("This study is closed.", closed, session_end(work, "closed"))
    free = places(work)
    if free == "later":
        raise errors.StudyBusy(
            "Every place is taken at the moment.", "Try again in a minute.", session_end(work, "wait")
        )
    if free == "none":
        raise errors.StudyFull("This study has all the raters it needs.", closed, session_end(work, "full"))


def current_step(work: Transaction, command: commands.Next | commands.GiveConsent | commands.Withdraw) -> commands.Step:
    """Where the rater is; somebody who declined is no longer known, but is shown the same page again."""
    if command.rater in work.context.gone and command.rater not in work.state.by_id:
        return work.context.gone[command.rater]
    return next_step(work, work.rater(command.rater))


def consent(work: Transaction, command: commands.GiveConsent) -> commands.Step:
    """Agree or decline, once."""
    rater, form = work.state.by_id.get(command.rater), work.study.consent
    if rater is None or form is None or rater.consented is not None:
        return current_step(work, command)
    agreed = bool(command.agreed)
    if not agreed and form.required:
        _forget(work, rater, "declined")
        return _remembered_end(work, rater.id, session_end(work, "no-consent"))
    details = consent_details(work, rater, command)
    version, study_version = form.version, work.context.version
    work.insert_about(rater, "consents", agreed=agreed, version=version, study_version=study_version, **details)
    work.record("consented", rater.number, number=float(agreed))
    return next_step(work, rater)


def withdraw(work: Transaction, command: commands.Withdraw) -> commands.SessionEnd:
    """Erase a rater who withdraws after the debriefing, where the study offers that; their code stays theirs."""
    step = current_step(work, command)
    if not isinstance(step, commands.SessionEnd) or command.rater not in work.state.by_id:
        raise InputError("Withdrawing is possible at the end of the study.", "Continue, or leave the study first.")
    check_withdrawal(work.study, step)
    erased = erase(work, commands.Erase(command.rater))
    return _remembered_end(work, erased.rater, replace(step, ending="withdrawn"))


def _remembered_end(work: Transaction, rater: str, page: commands.SessionEnd) -> commands.SessionEnd:
    """Show somebody who is no longer known the same page after a reload. Nothing of it is stored."""
    gone = work.context.gone
    gone[rater] = page
    if len(gone) > _REMEMBERED:
        del gone[next(iter(gone))]
    return page


def _consent_given(work: Transaction, rater: Rater) -> bool:
    return work.study.consent is None or rater.consented is not None


def demographics(work: Transaction, command: commands.Demographics) -> commands.Step:
    """Store the answers about the rater, once; a number below its minimum screens the rater out."""
    rater, demographic_questions = work.rater(command.rater), work.study.demographics
    if not demographic_questions or not _consent_given(work, rater):
        return next_step(work, rater)
    if rater.demographics_done:
        _check_same(rater, demographic_questions, command.answers)
        return next_step(work, rater)
    answers = _check_demographics(demographic_questions, command.answers)
    too_low = any(_is_too_low(fact, answers.get(fact.id)) for fact in demographic_questions)
    facts = {} if too_low else _facts(demographic_questions, answers)
    words = json.dumps({"time": "about", "questions": [], "answers": facts}) if facts else None
    work.record("told", rater.number, number=float(not too_low), words=words)
    screened = too_low or due_screener(work.study, rater) is not None
    work.insert_about(rater, "demographics", answers=plain_json(answers), kept=not screened)
    return end(work, rater, "screened-out") if too_low else next_step(work, rater)


def _check_same(rater: Rater, demographic_questions: list[Demographic], raw_answers: Mapping[str, Any]) -> None:
    """Refuse other answers than those that were stored; once the rater's session has ended, nobody minds."""
    stored = {name: tuple(fact) for (time, name), fact in rater.facts.items() if time == "about"}
    if (
        rater.ended is None
        and _facts(demographic_questions, _check_demographics(demographic_questions, raw_answers)) != stored
    ):
        raise errors.page_answered()


def _is_too_low(fact: Demographic, answer: object) -> bool:
    return fact.at_least is not None and isinstance(answer, float) and answer < fact.at_least


def _facts(demographic_questions: list[Demographic], answers: Mapping[str, Any]) -> dict[str, Coded]:
    """The answers as conditions test them."""
    return {fact.id: read_fact(fact, answers[fact.id]) for fact in demographic_questions if fact.id in answers}


def _check_demographics(demographic_questions: list[Demographic], raw_answers: Mapping[str, Any]) -> dict[str, object]:
    fact_ids = {fact.id for fact in demographic_questions}
    for name in raw_answers:
        if name not in fact_ids:
            raise errors.InvalidAnswer(
                f"No demographic question is called '{clean(name, 100)}'.", suggestion(name, fact_ids, "Asked")
            )
    out: dict[str, object] = {}
    for fact in demographic_questions:
        answer = raw_answers.get(fact.id)
        if answer is not None and answer != "" and answer != []:
            out[fact.id] = _check_fact(fact, answer)
        elif fact.required:
            raise errors.MissingAnswer(f"'{fact.id}' has not been answered.", "Answer it to continue.")
    return out


def _check_fact(fact: Demographic, answer: Any) -> Any:
    shown = clean(str(answer), 100)
    if fact.type == "number":
        try:
            number = math.nan if isinstance(answer, bool) else float(str(answer).strip().replace(",", "."))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise errors.InvalidAnswer(f"'{shown}' is not a number, but '{fact.id}' asks for one.", "Enter a number.")
        return number
    if fact.type == "choice":
        if str(answer) not in fact.choices:
            raise errors.InvalidAnswer(
                f"'{shown}' is not a choice for '{fact.id}'.", suggestion(str(answer), fact.choices, "Choices")
            )
        return str(answer)
    if isinstance(answer, list | tuple):
        return [clean(str(part), 1000) for part in answer[:50]]
    return clean(str(answer), 1000)


def headphones(work: Transaction, command: commands.Headphones) -> commands.Step:
    """Store the result of the headphone check; it stops nobody unless the study says so."""
    rater = work.rater(command.rater)
    probe = headphone_probe(work.study)
    if probe is None or rater.headphones_done or not _consent_given(work, rater):
        return next_step(work, rater)
    if command.probe != probe.id or len(command.given) != probe.trials:
        raise InputError(
            f"The headphone check '{probe.id}' has {probe.trials} trials, but {len(command.given)} answers came.",
            "Take the check from its beginning.",
        )
    expected = quietest_tones(work.context.secret, rater.id, probe.id, probe.trials)
    correct = sum(answer == quietest for answer, quietest in zip(command.given, expected, strict=True))
    passed = correct >= probe.pass_at
    work.insert_about(
        rater,
        "headphones",
        probe=probe.id,
        given=plain_json(list(command.given)),
        expected=plain_json(expected),
        correct=correct,
        passed=passed,
    )
    continues = passed or not probe.blocks
    work.record("heard", rater.number, number=float(continues))
    return next_step(work, rater) if continues else failed_headphones(work, rater, probe)


def failed_headphones(work: Transaction, rater: Rater, probe: HeadphoneProbe) -> commands.SessionEnd:
    """End the session of a rater whom the headphone check stops, with the code of its screener if it has one."""
    screener = probe_screener(work.study, {probe.id: 1})
    if screener is None:
        return end(work, rater, "screened-out")
    screen_out(work, rater, screener)
    return session_end(work, "screened-out", rater)


def ready(work: Transaction, command: commands.Ready) -> commands.Step:
    """Continue after the instructions or a break; anywhere else it changes nothing."""
    rater = work.rater(command.rater)
    step = next_step(work, rater)
    if isinstance(step, commands.ShowInstructions | commands.TakeBreak):
        work.record("ready", rater.number)
        return next_step(work, rater)
    return step


def leave(work: Transaction, command: commands.Leave) -> commands.SessionEnd:
    """Stop for good: reserved trials are given back at once."""
    rater = work.rater(command.rater)
    if rater.ended is None and not rater.excluded:
        return end(work, rater, "left")
    step = next_step(work, rater)
    return step if isinstance(step, commands.SessionEnd) else end(work, rater, "left")


# --- erasing ----------------------------------------------------------------------------------------------------------


def erase(work: Transaction, command: commands.Erase) -> commands.Erased:
    """Delete everything about one person."""
    context = work.context
    name = command.rater
    if name is None:
        for recruiter in ("prolific", "mturk", "link"):
            hashed = person_hash(context.secret, recruiter, command.participant or "")
            name = name or context.persons.get(hashed)
    rater = work.state.by_id.get(name or "")
    if rater is None:
        raise errors.UnknownRater(
            "No rater or participant of this study has that id.",
            "'heartfelt study participants DIR' and the dashboard list the ids; the person may have been erased already.",
        )
    # A link that was used is as personal as an id; only its hash says whose it was.
    for invitation in list(context.invitations):
        if context.persons.get(person_hash(context.secret, "link", invitation)) == rater.id:
            context.invitations.discard(invitation)
            work.after_rows.append(
                ("DELETE FROM invitations WHERE invitation = :invitation", {"invitation": invitation})
            )
    return commands.Erased(rater.id, _forget(work, rater, "erased"))


def _forget(work: Transaction, rater: Rater, kind: Literal["erased", "declined"]) -> int:
    """Delete a rater from every table and from the journal; returns the number of trials they had answered.

    A single anonymous event takes their place, so that every process forgets them and the count is known.
    """
    trials = rater.answered
    seq = work.record(kind, rater.number, work.state.next_trial - 1, number=float(trials))
    values = {"rater": rater.number}
    delete_rater = ("DELETE FROM raters WHERE number = :rater", values)
    # Before the new rows, so that the same person may come again at once; and after, for what is stored just now.
    work.before_rows.append(delete_rater)
    if kind == "erased":
        forget_words(work, rater.number)
    tables = _PERSON_TABLES if kind == "declined" else (*_DATA_TABLES, *_PERSON_TABLES)
    work.after_rows += [(f"DELETE FROM {table} WHERE rater = :rater", values) for table in tables]
    work.after_rows.append(delete_rater)
    work.after_rows.append(
        (
            "DELETE FROM journal WHERE seq >= :first AND seq < :seq AND rater = :rater",
            {**values, "first": rater.first_seq, "seq": seq},
        )
    )
    work.context.forget(rater.id)
    return trials
