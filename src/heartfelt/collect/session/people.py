"""Arriving, agreeing, telling who one is, checking headphones, being ready, leaving."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from typing import Any

from heartfelt.collect.assign.rater import Rater
from heartfelt.collect.commands import (
    Arrive,
    Arrived,
    Consent,
    Demographics,
    Headphones,
    Leave,
    Next,
    Ready,
    Step,
    TheEnd,
)
from heartfelt.collect.errors import OffScale, StudyClosed, StudyFull, Unanswered, UnknownRater
from heartfelt.collect.session.steps import end, has_room, step
from heartfelt.collect.session.work import Work, clean, plain_json
from heartfelt.errors import InputError, suggestion
from heartfelt.study.design import Demographic
from heartfelt.study.probe import HeadphoneProbe


def hashed(secret: bytes, *words: str) -> str:
    """What is kept of a recruiter's id: the same for the same id, and no way back without the store's secret."""
    return hmac.new(
        secret, "\0".join(("person", *words)).encode("utf-8", "replace"), hashlib.sha256
    ).hexdigest()


def arrive(work: Work, command: Arrive) -> Arrived:
    """Know the person again, or let them in if there is room."""
    context = work.context
    person: str | None = None
    if command.recruiter == "link" and command.person not in context.invitations:
        raise UnknownRater("This invitation was not made for this study.", "Ask for a new link.")
    if command.person is not None:
        person = hashed(context.secret, command.recruiter, command.person)
        known = context.persons.get(person)
        if known is not None:
            return Arrived(known, resumed=True)
    elif command.recruiter in {"link", "prolific", "mturk"}:
        raise InputError(
            f"A rater from {command.recruiter} came without their id.",
            "Open the link the recruiter gave you.",
        )
    _room(work)
    number = len(work.state.raters) + 1
    name = context.new_id()
    facts = {str(clean(key)): hashed(context.secret, value) for key, value in command.facts.items()}
    work.store(
        "raters",
        number,
        name,
        work.now,
        command.recruiter,
        person,
        plain_json(facts),
        clean(command.language, 40),
        plain_json(dict(command.device)),
        context.version,
    )
    work.tell("arrived", number, words=name)
    context.languages[name] = command.language
    if person is not None:
        context.persons[person] = name
    return Arrived(name, resumed=False)


def _room(work: Work) -> None:
    if not work.settings().open:
        raise StudyClosed("This study is closed.", "It takes no new raters now. Thank you for coming.")
    if not has_room(work):
        raise StudyFull("This study has all it needs.", "It takes no new raters now. Thank you for coming.")


def next_step(work: Work, command: Next) -> Step:
    """Where the rater is."""
    return step(work, work.rater(command.rater))


def consent(work: Work, command: Consent) -> Step:
    """Agree or not, once."""
    rater = work.rater(command.rater)
    asked = work.context.material.study.consent
    if asked is None or rater.agreed is not None:
        return step(work, rater)
    agreed = bool(command.agreed)
    work.store("consents", rater.number, work.now, agreed, asked.version, work.context.version)
    work.tell("consented", rater.number, number=float(agreed))
    if not agreed and asked.required:
        return end(work, rater, "no-consent")
    return step(work, rater)


def demographics(work: Work, command: Demographics) -> Step:
    """Take the answers about the rater, once; too low a number screens out."""
    rater = work.rater(command.rater)
    study = work.context.material.study
    if not study.demographics or rater.told or not _agreed(work, rater):
        return step(work, rater)
    answers = told(study.demographics, command.answers)
    low = [
        one.id
        for one in study.demographics
        if one.at_least is not None
        and isinstance(answers.get(one.id), float)
        and answers[one.id] < one.at_least
    ]
    work.store("demographics", rater.number, work.now, plain_json(answers), not low)
    work.tell("told", rater.number, number=float(not low))
    return end(work, rater, "screened-out") if low else step(work, rater)


def _agreed(work: Work, rater: Rater) -> bool:
    return work.context.material.study.consent is None or rater.agreed is not None


def told(asked: list[Demographic], given: Mapping[str, Any]) -> dict[str, Any]:
    """The answers about a rater, held to what may be answered."""
    known = {one.id for one in asked}
    for name in given:
        if name not in known:
            raise OffScale(
                f"There is no question '{clean(name, 100)}' about you.", suggestion(name, known, "Asked")
            )
    out: dict[str, Any] = {}
    for one in asked:
        answer = given.get(one.id)
        if answer is None or answer == "" or answer == []:
            if one.required:
                raise Unanswered(f"'{one.id}' has not been answered.", "Answer it to go on.")
            continue
        out[one.id] = _fact(one, answer)
    return out


def _fact(one: Demographic, answer: Any) -> Any:
    if one.type == "number":
        try:
            number = (
                float(str(answer).strip().replace(",", ".")) if not isinstance(answer, bool) else math.nan
            )
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise OffScale(
                f"'{clean(str(answer), 100)}' is not a number, but '{one.id}' asks for one.",
                "Write a number.",
            )
        return number
    if one.type == "choice":
        if str(answer) not in one.choices:
            raise OffScale(
                f"'{clean(str(answer), 100)}' is not a choice for '{one.id}'.",
                suggestion(str(answer), one.choices, "Choices"),
            )
        return str(answer)
    if isinstance(answer, list | tuple):
        return [clean(str(part), 1000) for part in answer[:50]]
    return clean(str(answer), 1000)


def headphones(work: Work, command: Headphones) -> Step:
    """Keep what came of the headphone check; it stops nobody unless the study says so."""
    rater = work.rater(command.rater)
    probe = next((p for p in work.context.material.study.probes if isinstance(p, HeadphoneProbe)), None)
    if probe is None or rater.heard or not _agreed(work, rater):
        return step(work, rater)
    if command.probe != probe.id or not (len(command.given) == len(command.right) == probe.trials):
        raise InputError(
            f"The headphone check '{probe.id}' has {probe.trials} trials; {len(command.given)} answers came.",
            "Take the check from its beginning.",
        )
    right = sum(1 for given, wanted in zip(command.given, command.right, strict=True) if given == wanted)
    passed = right >= probe.pass_at
    given, wanted = plain_json(list(command.given)), plain_json(list(command.right))
    work.store("headphones", rater.number, probe.id, work.now, given, wanted, right, passed)
    goes_on = passed or not probe.blocks
    work.tell("heard", rater.number, number=float(goes_on))
    return step(work, rater) if goes_on else end(work, rater, "screened-out")


def ready(work: Work, command: Ready) -> Step:
    """Go on after the instructions or a break; anywhere else it changes nothing."""
    rater = work.rater(command.rater)
    here = step(work, rater)
    if type(here).__name__ in {"ShowInstructions", "TakeBreak"}:
        work.tell("ready", rater.number)
        return step(work, rater)
    return here


def leave(work: Work, command: Leave) -> TheEnd:
    """Stop for good: what is held is given back at once."""
    rater = work.rater(command.rater)
    if rater.ended is None and not rater.excluded:
        return end(work, rater, "left")
    here = step(work, rater)
    assert isinstance(here, TheEnd)
    return here
