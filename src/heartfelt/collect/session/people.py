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
from heartfelt.collect.errors import (
    OffScale,
    StartedElsewhere,
    StudyBusy,
    StudyClosed,
    StudyFull,
    Unanswered,
    UnknownRater,
)
from heartfelt.collect.session.erasing import forget
from heartfelt.collect.session.steps import end, places, step, the_end
from heartfelt.collect.session.work import Work, clean, plain_json
from heartfelt.errors import InputError, suggestion
from heartfelt.study.design import Demographic
from heartfelt.study.probe import HeadphoneProbe

_REMEMBERED = 10_000


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
        known = work.state.by_id.get(context.persons.get(person, ""))
        if known is not None:
            return _again(work, command, known)
    elif command.recruiter in {"link", "prolific", "mturk"}:
        raise InputError(
            f"A rater from {command.recruiter} came without their id.",
            "Open the link the recruiter gave you.",
        )
    _room(work)
    number = work.state.last_number + 1
    name = context.new_id()
    facts = {str(clean(key)): hashed(context.secret, value) for key, value in command.facts.items()}
    if command.person is not None:
        plain = {str(clean(key)): clean(value, 200) for key, value in command.facts.items()}
        participant = clean(command.person, 200)
        work.store("participants", number, work.now, command.recruiter, participant, plain_json(plain))
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
    context.sessions[name] = session_keys(facts)
    if person is not None:
        context.persons[person] = name
    return Arrived(name, resumed=False)


def session_keys(facts: Mapping[str, str]) -> frozenset[str]:
    """Of a recruiter's hashed facts, those that only the person's own link carries."""
    return frozenset(facts[name] for name in ("session", "assignment") if facts.get(name))


def _again(work: Work, command: Arrive, known: Rater) -> Arrived:
    """Let a person go on who is known by their id, if it is theirs to use."""
    context = work.context
    facts = {key: hashed(context.secret, value) for key, value in command.facts.items()}
    if (
        command.recruiter not in {"prolific", "mturk"}
        or known.id in command.proven
        or not known.engaged
        or session_keys(facts) & context.sessions.get(known.id, frozenset())
    ):
        return Arrived(known.id, resumed=True)
    raise StartedElsewhere(
        "This study was already started with this participant id, in another browser.",
        "Continue in that browser, or open the study again from the recruiting page. If neither works, ask the researcher"
        " for a link to continue.",
    )


def _room(work: Work) -> None:
    if not work.settings().open:
        raise StudyClosed(
            "This study is closed.",
            "It takes no new raters now. Thank you for coming.",
            the_end(work, "closed"),
        )
    free = places(work)
    if free == "later":
        raise StudyBusy(
            "Every place is taken at the moment.", "Try again in a minute.", the_end(work, "wait")
        )
    if free == "none":
        raise StudyFull(
            "This study has all it needs.",
            "It takes no new raters now. Thank you for coming.",
            the_end(work, "full"),
        )


def next_step(work: Work, command: Next) -> Step:
    """Where the rater is."""
    if _turned_down(work, command.rater):
        return the_end(work, "no-consent")
    return step(work, work.rater(command.rater))


def _turned_down(work: Work, rater: str) -> bool:
    return rater in work.context.turned_down and rater not in work.state.by_id


def consent(work: Work, command: Consent) -> Step:
    """Agree or not, once."""
    if _turned_down(work, command.rater):
        return the_end(work, "no-consent")
    rater = work.rater(command.rater)
    asked = work.context.material.study.consent
    if asked is None or rater.agreed is not None:
        return step(work, rater)
    agreed = bool(command.agreed)
    if not agreed and asked.required:
        forget(work, rater, "declined")
        turned_down = work.context.turned_down
        turned_down[rater.id] = None
        if len(turned_down) > _REMEMBERED:
            del turned_down[next(iter(turned_down))]
        return the_end(work, "no-consent")
    work.store("consents", rater.number, work.now, agreed, asked.version, work.context.version)
    work.tell("consented", rater.number, number=float(agreed))
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
