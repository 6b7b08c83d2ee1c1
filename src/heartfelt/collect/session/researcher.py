"""What a researcher does: exclude and restore raters, change settings, invite, store values."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heartfelt.collect.assign import State
from heartfelt.collect.assign.model import Rater
from heartfelt.collect.material import with_quota
from heartfelt.collect.messages.commands import AdmissionSettings, ChangeSettings, Command, Exclude, Invite, Restore
from heartfelt.collect.session.progress.transaction import Transaction, clean, settings_of
from heartfelt.collect.versions import Edit, edits_text
from heartfelt.errors import InputError, suggestion
from heartfelt.study import study_text

_MOST_INVITATIONS = 10_000
RAISED_QUOTA = "ratings per item"
"""The name under which a raised quota is stored."""
AUTOMATED = "automated fetches"
"""The name under which fetches by robots are counted."""
_SCREENERS = "code_screeners"
_CODES = (
    "code_complete",
    "code_screened_out",
    "code_no_consent",
    "code_full",
    "code_partial",
    "code_review",
    "code_session",
)
_ALLOWED = {
    "open": "true or false",
    "cap": "a whole number, or none for no limit",
    **dict.fromkeys(_CODES, "a text of 1 to 200 characters"),
    _SCREENERS: "a text of 1 to 200 characters for each screener, by its id",
    "return_url": "an address that begins with https:// or http://, or none",
    "ratings_per_item": "a whole number",
}
_FROM_STUDY = "recruiting"
"""Among the settings, what ``study.yaml`` said when it was last read."""


@dataclass(frozen=True, slots=True)
class ApplyStudySettings(Command[None]):
    """Set what an older store lacks, and apply the recruiting settings of ``study.yaml`` if they have changed."""


@dataclass(frozen=True, slots=True)
class SetValue(Command[None]):
    """Store a value under a name, replacing an older one."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class CountAutomated(Command[None]):
    """Count a page that a robot or a link preview fetched; neither is a rater."""


def count_automated(work: Transaction) -> None:
    """Handle :class:`CountAutomated`."""
    name = {"name": AUTOMATED}
    insert = "INSERT INTO kept (name, value) VALUES (:name, '0') ON CONFLICT DO NOTHING"
    count = "UPDATE kept SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = :name"
    work.after_rows += [(insert, name), (count, name)]


@dataclass(frozen=True, slots=True)
class StateSummary:
    """The counts of a collection: copies, so that the writer can continue."""

    counts: dict[str, tuple[list[int], list[int]]]
    """By arm, complete valid ratings and leases by unit; a study without arms is one arm without a name."""
    raters: list[Rater]
    settings: AdmissionSettings


@dataclass(frozen=True, slots=True)
class Refresh(Command[StateSummary]):
    """Take in what other processes did, and summarise the state."""


def first_settings() -> dict[str, object]:
    """The settings of a new store: open to everyone, with codes of its own."""
    return {"open": True, "cap": None, **{name: _new_code() for name in _CODES}, "return_url": None}


def _new_code() -> str:
    return "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(8))


def apply_study_settings(work: Transaction) -> None:
    """Bring the settings up to date after the study was opened."""
    current, recruiting = work.state.settings, work.study.recruiting
    of_study = recruiting.model_dump(mode="json", exclude_defaults=True)
    changed: dict[str, object] = {name: _new_code() for name in _CODES if not current.get(name)}
    by_screener = dict(current.get(_SCREENERS, {}))
    by_screener |= {screener.id: _new_code() for screener in work.study.screeners if screener.id not in by_screener}
    if of_study != current.get(_FROM_STUDY, {}):
        codes = recruiting.codes
        from_study = {
            "code_complete": codes.complete,
            "code_screened_out": codes.screened_out,
            "code_no_consent": codes.declined,
            "code_full": codes.full,
            "code_partial": codes.partial,
            "code_review": codes.review,
            "return_url": recruiting.return_url,
            "cap": recruiting.cap,
        }
        changed |= {name: value for name, value in from_study.items() if value is not None}
        changed[_FROM_STUDY] = of_study
        by_screener |= codes.screeners
    if by_screener != current.get(_SCREENERS, {}):
        changed[_SCREENERS] = by_screener
    if changed:
        work.record("set", words=json.dumps(changed))


def exclude(work: Transaction, command: Exclude) -> int:
    """Exclude a rater; their slots open again."""
    rater = work.rater(command.rater)
    if rater.excluded:
        return 0
    touched = {*rater.rated_units, *(trial.unit for trial in rater.queue if trial.unit is not None)}
    pool, quota = work.state.demand(rater).pool, work.state.layout.quota
    before = {unit: max(0, quota - pool.load(unit)) for unit in touched}
    _store_exclusion(work, rater, "excluded", clean(command.reason, 2000), command.by)
    return sum(max(0, quota - pool.load(unit)) - slots for unit, slots in before.items())


def restore(work: Transaction, command: Restore) -> int:
    """Restore an excluded rater; their ratings count again."""
    rater = work.rater(command.rater)
    if not rater.excluded:
        return 0
    _store_exclusion(work, rater, "restored", None, command.by)
    return len(rater.rated_units)


def _store_exclusion(work: Transaction, rater: Rater, kind: str, reason: str | None, by: str) -> None:
    seq, excluded = work.record(kind, rater.number), kind == "excluded"
    work.insert_about(rater, "exclusions", seq=seq, excluded=excluded, reason=reason, made_by=clean(by, 200))


def change(work: Transaction, command: ChangeSettings) -> AdmissionSettings:
    changed = {name: _check_setting(name, value) for name, value in command.settings.items()}
    if _SCREENERS in changed:
        changed[_SCREENERS] = _screener_codes(work, changed[_SCREENERS])
    quota = changed.get("ratings_per_item")
    if quota is None:
        changed.pop("ratings_per_item", None)
    elif quota != work.state.layout.quota:
        _raise_quota(work, quota)
    if changed:
        work.record("set", words=json.dumps(changed))
    return work.settings


def _raise_quota(work: Transaction, quota: int) -> None:
    """Record the raised quota as a version of the study, and so that it survives a restart."""
    before = work.state.layout.quota
    if quota < before:
        raise InputError(
            f"The study asks for {before} ratings per item; that cannot be lowered to {quota}.",
            "Give a higher number; to stop earlier, close the study.",
        )
    study = with_quota(work.study, quota)
    edit = Edit(key="design.ratings_per_item", problem=f"raised from {before} to {quota}")
    work.after_rows.append(
        (
            "INSERT INTO versions (version, at, hash, study, changes)"
            " SELECT max(version) + 1, :at, :hash, :study, :changes FROM versions",
            {"at": work.now, "hash": study.hash, "study": study_text(study), "changes": edits_text([edit])},
        )
    )
    work.set_value(RAISED_QUOTA, str(quota))


def _screener_codes(work: Transaction, codes: dict[str, str]) -> dict[str, str]:
    """The codes of all screeners after a change of some."""
    names = [screener.id for screener in work.study.screeners]
    for name in codes:
        if name not in names:
            problem = f"The study has no screener '{clean(name, 100)}'."
            raise InputError(problem, suggestion(name, names, "Screeners"))
    return {**work.settings.code_screeners, **codes}


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value < high


_IS_VALID: Mapping[str, Callable[[object], bool]] = {
    "open": lambda value: isinstance(value, bool),
    "cap": lambda value: value is None or _is_whole(value, 0, 2**31),
    "ratings_per_item": lambda value: value is None or _is_whole(value, 1, 1_000_000),
    "return_url": lambda value: value is None or (isinstance(value, str) and value.startswith(("https://", "http://"))),
    _SCREENERS: lambda _: False,  # a mapping, whose codes are checked one by one
}


def _is_code(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= 200


def _check_setting(name: str, value: Any) -> Any:
    if name not in _ALLOWED:
        raise InputError(f"Unknown setting '{clean(name, 100)}'.", suggestion(name, _ALLOWED, "Settings"))
    if name == _SCREENERS and isinstance(value, Mapping):
        return {str(screener): _check_setting(_CODES[0], code) for screener, code in value.items()}
    if not _IS_VALID.get(name, _is_code)(value):
        raise InputError(
            f"'{clean(str(value), 100)}' is not a valid value for the setting '{name}'.", f"Give {_ALLOWED[name]}."
        )
    return clean(value.strip(), 2000) if isinstance(value, str) else value


def invite(work: Transaction, command: Invite) -> tuple[str, ...]:
    if not 1 <= command.count <= _MOST_INVITATIONS:
        raise InputError(f"Cannot make {command.count} invitations.", f"Ask for 1 to {_MOST_INVITATIONS:,} at a time.")
    invitations = tuple(secrets.token_hex(8) for _ in range(command.count))
    for invitation in invitations:
        work.insert("invitations", invitation=invitation, at=work.now, note=clean(command.note, 500))
    work.context.invitations.update(invitations)
    work.record("noted", number=float(len(invitations)), words="invited")
    return invitations


def summarize(state: State) -> StateSummary:
    names = tuple(state.arms) or ("",)
    counts = {
        name: (list(demand.pool.valid), list(demand.pool.leases))
        for name, demand in zip(names, state.demands, strict=True)
    }
    return StateSummary(counts, list(state.raters.values()), settings_of(state))
