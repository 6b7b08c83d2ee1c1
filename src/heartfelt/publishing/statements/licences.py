"""Licences by their SPDX identifier: name, address, what they allow, and the text where it is short or part of heartfelt.

An identifier that is not listed is an error with the nearest known one. Terms of one's own are given as ``LicenseRef-`` and a
name, as SPDX has it; ``LICENSE`` then says that the terms are the authors' own and where to ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from heartfelt.errors import InputError, suggestion
from heartfelt.files import packaged_toml
from heartfelt.templates import text_templates

CUSTOM_PREFIX = "LicenseRef-"


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenceText:
    """One licence; ``hub`` is its id on the Hugging Face Hub."""

    spdx: str
    name: str
    url: str
    about: str
    hub: str = "other"


LICENCES = {
    spdx: LicenceText(spdx=spdx, **terms) for spdx, terms in packaged_toml(__package__, "licences.toml").items()
}


def licence(name: str) -> LicenceText:
    """A licence by its SPDX identifier, in whatever case it is spelt."""
    by_lower = {spdx.lower(): known_licence for spdx, known_licence in LICENCES.items()}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    if (
        name.startswith(CUSTOM_PREFIX)
        and len(name) > len(CUSTOM_PREFIX)
        and name.isascii()
        and not set(name) & set(" \t\n/\\:")
    ):
        words = name.removeprefix(CUSTOM_PREFIX).replace("-", " ")
        return LicenceText(
            spdx=name, name=words, url="", about="The terms are the authors' own; ask them before you use the material."
        )
    raise InputError(
        f"'{name[:80]}' is not an SPDX identifier that heartfelt knows.",
        f"{suggestion(name, LICENCES, 'Known licences')} For terms of your own, write {CUSTOM_PREFIX}NAME.",
    )


def licence_file(name: str | None, subject: str, holders: str, contact: str | None) -> str:
    """The text of a LICENSE file for ``subject`` (the ratings, the media) by ``holders``; says so where none is stated."""
    terms = None if name is None else licence(name)
    legal = None if terms is None else files(__package__) / "legal" / f"{terms.spdx}.txt"
    text = legal.read_text(encoding="utf-8").strip("\n") if legal is not None and legal.is_file() else None
    template = text_templates(__package__).get_template("license.txt.j2")
    return template.render(terms=terms, subject=subject, holders=holders, contact=contact, text=text)
