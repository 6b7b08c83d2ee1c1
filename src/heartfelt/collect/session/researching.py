"""What a researcher does: leave raters out and take them back, change settings, invite, keep things."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from heartfelt.collect.assign import State
from heartfelt.collect.assign.rater import Rater
from heartfelt.collect.commands import (
    Change,
    Command,
    Erase,
    Erased,
    Exclude,
    Invite,
    Restore,
    Settings,
)
from heartfelt.collect.errors import UnknownRater
from heartfelt.collect.material import with_quota
from heartfelt.collect.session.erasing import forget
from heartfelt.collect.session.people import hashed
from heartfelt.collect.session.work import Work, clean, settings_of
from heartfelt.collect.versions import Edit, edits_text
from heartfelt.errors import InputError, suggestion
from heartfelt.study import study_text

_MOST_INVITATIONS = 10_000
RAISED_QUOTA = "ratings per item"
"""The name under which a raised quota is kept."""
_CODES = ("code_complete", "code_screened_out", "code_no_consent", "code_full", "code_partial")
SETTINGS = ("open", "cap", *_CODES, "return_url", "ratings_per_item")
_FROM_STUDY = "recruiting"
"""Among the settings, what ``study.yaml`` said when it was last read."""


def first_settings() -> dict[str, Any]:
    """The settings of a new store: open to everyone, with codes of its own."""
    return {"open": True, "cap": None, **{name: _new_code() for name in _CODES}, "return_url": None}


def _new_code() -> str:
    return "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(8))


class Settle(Command[None]):
    """Give settings that an older store lacks a value, and take over what ``study.yaml`` says if that has changed."""

    __slots__ = ()


def settle(work: Work, command: Settle) -> None:
    """Bring the settings up to date after the study was opened."""
    del command
    have, recruiting = work.state.settings, work.context.material.study.recruiting
    said = recruiting.model_dump(mode="json", exclude_defaults=True)
    changed: dict[str, Any] = {name: _new_code() for name in _CODES if not have.get(name)}
    if said != have.get(_FROM_STUDY, {}):
        codes = recruiting.codes
        given = {
            "code_complete": codes.complete,
            "code_screened_out": codes.screened_out,
            "code_no_consent": codes.declined,
            "code_full": codes.full,
            "code_partial": codes.partial,
            "return_url": recruiting.return_url,
            "cap": recruiting.cap,
        }
        changed |= {name: value for name, value in given.items() if value is not None}
        changed[_FROM_STUDY] = said
    if changed:
        work.tell("set", words=json.dumps(changed))


def exclude(work: Work, command: Exclude) -> int:
    """Leave a rater out; their slots open again."""
    rater = work.rater(command.rater)
    if rater.excluded:
        return 0
    touched = {*rater.done, *(trial.unit for trial in rater.queue if trial.unit is not None)}
    pool, quota = work.state.pool, work.state.layout.quota
    before = {unit: max(0, quota - pool.load(unit)) for unit in touched}
    seq = work.tell("excluded", rater.number)
    by, reason = clean(command.by, 200), clean(command.reason, 2000)
    work.store("exclusions", seq, work.now, rater.number, True, reason, by)
    return sum(max(0, quota - pool.load(unit)) - slots for unit, slots in before.items())


def restore(work: Work, command: Restore) -> int:
    """Take a rater back in; what they rated counts again."""
    rater = work.rater(command.rater)
    if not rater.excluded:
        return 0
    seq = work.tell("restored", rater.number)
    work.store("exclusions", seq, work.now, rater.number, False, None, clean(command.by, 200))
    return len(rater.done)


def change(work: Work, command: Change) -> Settings:
    """Change settings by name."""
    changed = {name: _setting(name, value) for name, value in command.settings.items()}
    quota = changed.get("ratings_per_item")
    if quota is None:
        changed.pop("ratings_per_item", None)
    elif quota != work.state.layout.quota:
        _raise_quota(work, quota)
    if changed:
        work.tell("set", words=json.dumps(changed))
    return work.settings()


def _raise_quota(work: Work, quota: int) -> None:
    """Record the raised quota as a version of the study, and so that it holds after a restart."""
    if quota < work.state.layout.quota:
        raise InputError(
            f"The study asks for {work.state.layout.quota} ratings per item; that cannot be lowered to {quota}.",
            "Give a higher number; to stop earlier, close the study.",
        )
    study = with_quota(work.context.material.study, quota)
    edit = Edit("design.ratings_per_item", f"raised from {work.state.layout.quota} to {quota}")
    work.changes.append(
        (
            "INSERT INTO versions (version, at, hash, study, changes)"
            " SELECT max(version) + 1, :at, :hash, :study, :changes FROM versions",
            {"at": work.now, "hash": study.hash, "study": study_text(study), "changes": edits_text([edit])},
        )
    )
    keep(work, Keep(RAISED_QUOTA, str(quota)))


def _setting(name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise InputError(f"There is no setting '{clean(name, 100)}'.", suggestion(name, SETTINGS, "Settings"))
    if name == "open":
        right = isinstance(value, bool)
    elif name == "cap":
        right = value is None or (
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
        )
    elif name == "ratings_per_item":
        right = value is None or (
            isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1_000_000
        )
    elif name == "return_url":
        right = value is None or (isinstance(value, str) and value.startswith(("https://", "http://")))
    else:
        right = isinstance(value, str) and 0 < len(value.strip()) <= 200
    if not right:
        allowed = {
            "open": "true or false",
            "cap": "a whole number, or none for no limit",
            "ratings_per_item": "a whole number",
            "return_url": "an address that begins with https:// or http://, or none",
        }.get(name, "a text of 1 to 200 characters")
        raise InputError(
            f"'{clean(str(value), 100)}' is no value for the setting '{name}'.", f"Give {allowed}."
        )
    return clean(value.strip(), 2000) if isinstance(value, str) else value


def erase(work: Work, command: Erase) -> Erased:
    """Delete everything one person said."""
    name = command.rater
    if name is None:
        name = _rater_of(work, command.participant or "")
    rater = work.state.by_id.get(name or "")
    if rater is None:
        raise UnknownRater(
            "There is nobody of that id in this study.",
            "See 'heartfelt participants DIR' or the dashboard for the ids; somebody may be erased already.",
        )
    context = work.context
    for invitation in list(context.invitations):
        if context.persons.get(hashed(context.secret, "link", invitation)) == rater.id:
            context.invitations.discard(invitation)
            work.changes.append(
                ("DELETE FROM invitations WHERE invitation = :invitation", {"invitation": invitation})
            )
    return Erased(rater.id, forget(work, rater, "erased"))


def _rater_of(work: Work, participant: str) -> str | None:
    """The rater a recruiter's id belongs to."""
    context = work.context
    for recruiter in ("prolific", "mturk", "link"):
        known = context.persons.get(hashed(context.secret, recruiter, participant))
        if known is not None:
            return known
    return None


def invite(work: Work, command: Invite) -> tuple[str, ...]:
    """Make personal invitations."""
    if not 1 <= command.count <= _MOST_INVITATIONS:
        raise InputError(
            f"{command.count} invitations cannot be made.", f"Ask for 1 to {_MOST_INVITATIONS:,} at a time."
        )
    made = tuple(secrets.token_hex(8) for _ in range(command.count))
    for one in made:
        work.store("invitations", one, work.now, clean(command.note, 500))
    work.context.invitations.update(made)
    work.tell("noted", number=float(len(made)), words="invited")
    return made


class Keep(Command[None]):
    """Keep a value under a name, in the place of an older one."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value = value


@dataclass(frozen=True, slots=True)
class Standing:
    """How a collection stands: copies, so that the writer can go on."""

    valid: list[int]
    """Complete valid ratings by unit."""
    leases: list[int]
    raters: list[Rater]
    settings: Settings


class Refresh(Command[Standing]):
    """Take in what other processes did; answered with how the collection stands."""

    __slots__ = ()


def keep(work: Work, command: Keep) -> None:
    """Keep a value."""
    work.changes.append(("DELETE FROM kept WHERE name = :name", {"name": command.name}))
    work.changes.append(
        (
            "INSERT INTO kept (name, value) VALUES (:name, :value)",
            {"name": command.name, "value": command.value},
        )
    )


def refresh(work: Work, command: Refresh) -> Standing:
    """How the collection stands."""
    del command
    return standing_of(work.state)


def standing_of(state: State) -> Standing:
    """How a state stands: copies, so that it can go on."""
    return Standing(
        list(state.pool.valid), list(state.pool.leases), list(state.raters.values()), settings_of(state)
    )
