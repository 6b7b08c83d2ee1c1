"""What a researcher does: leave raters out and take them back, change settings, invite, keep things."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from heartfelt.collect.assign.rater import Rater
from heartfelt.collect.commands import Change, Command, Exclude, Invite, Restore, Settings
from heartfelt.collect.session.work import Work, clean
from heartfelt.errors import InputError, suggestion

_MOST_INVITATIONS = 10_000
_CODES = ("code_complete", "code_screened_out", "code_no_consent")
SETTINGS = ("open", "cap", *_CODES, "return_url")


def first_settings() -> dict[str, Any]:
    """The settings of a new store: open to everyone, with codes of its own."""
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    codes = {name: "".join(secrets.choice(letters) for _ in range(8)) for name in _CODES}
    return {"open": True, "cap": None, **codes, "return_url": None}


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
    if changed:
        work.tell("set", words=json.dumps(changed))
    return work.settings()


def _setting(name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise InputError(f"There is no setting '{clean(name, 100)}'.", suggestion(name, SETTINGS, "Settings"))
    if name == "open":
        right = isinstance(value, bool)
    elif name == "cap":
        right = value is None or (
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
        )
    elif name == "return_url":
        right = value is None or (isinstance(value, str) and value.startswith(("https://", "http://")))
    else:
        right = isinstance(value, str) and 0 < len(value.strip()) <= 200
    if not right:
        allowed = {
            "open": "true or false",
            "cap": "a whole number, or none for no limit",
            "return_url": "an address that begins with https:// or http://, or none",
        }.get(name, "a text of 1 to 200 characters")
        raise InputError(
            f"'{clean(str(value), 100)}' is no value for the setting '{name}'.", f"Give {allowed}."
        )
    return clean(value.strip(), 2000) if isinstance(value, str) else value


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
    state = work.state
    return Standing(
        list(state.pool.valid), list(state.pool.leases), list(state.raters.values()), work.settings()
    )
