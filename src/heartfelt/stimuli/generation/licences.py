"""Licences of models: shown before their first use, and remembered once somebody accepted them.

Answers lie in the user's configuration folder, one line of JSON per licence, model and terms; other terms are asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heartfelt.errors import InputError
from heartfelt.serialization import read_json, write_json
from heartfelt.stimuli.generation.make_file import MakePlan
from heartfelt.stimuli.generation.state import now
from heartfelt.stimuli.generators.generator import Licence

_FILE = "licences.json"


@dataclass(frozen=True, slots=True)
class LicenceNotice:
    """A licence that somebody has to accept before its model is used."""

    systems: tuple[str, ...]
    generator: str
    model: str
    licence: Licence

    @property
    def key(self) -> str:
        return f"{self.generator} {self.model} {self.licence.name}"

    @property
    def words(self) -> str:
        uses = {
            True: "commercial use is allowed",
            False: "commercial use is not allowed",
            None: "whether commercial use is allowed is not known",
        }[self.licence.commercial]
        about = "its licence is not known: read its page" if self.licence.name == "not known" else self.licence.name
        note = f" {self.licence.note}" if self.licence.note else ""
        url = f" {self.licence.url}" if self.licence.url else ""
        return f"{self.model or self.generator} ({', '.join(self.systems)}): {about}; {uses}.{note}{url}"


@dataclass(frozen=True, slots=True)
class AcceptedLicences:
    """The answers so far: when each licence was accepted."""

    accepted: dict[str, str]


def licence_file() -> Path:
    from platformdirs import user_config_path

    return user_config_path("heartfelt") / _FILE


def notices(plan: MakePlan) -> list[LicenceNotice]:
    out: dict[tuple[str, str], LicenceNotice] = {}
    for system in plan.systems:
        licence = system.kind.licence(system.settings)
        if licence is None:
            continue
        model = str(getattr(system.settings, "model", None) or "")
        earlier = out.get((system.kind.name, model))
        systems = (*(earlier.systems if earlier else ()), system.name)
        out[system.kind.name, model] = LicenceNotice(systems, system.kind.name, model, licence)
    return list(out.values())


def unaccepted(needed: Sequence[LicenceNotice]) -> list[LicenceNotice]:
    accepted = _read()
    return [notice for notice in needed if notice.key not in accepted]


def accept(accepted: Sequence[LicenceNotice]) -> None:
    path = licence_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, AcceptedLicences(_read() | {notice.key: now() for notice in accepted}))


def require_accepted(plan: MakePlan) -> None:
    missing = unaccepted(notices(plan))
    if missing:
        raise InputError(
            f"The licence of {missing[0].words}",
            "Read it, then run 'heartfelt make' in a terminal and accept it, or add --accept-licences.",
        )


def _read() -> dict[str, str]:
    path = licence_file()
    return dict(read_json(path, AcceptedLicences).accepted) if path.is_file() else {}
