"""Licences by their SPDX identifier: name, address, what they allow, and the text where it is short or part of heartfelt.

An identifier that is not listed is an error with the nearest known one. Terms of one's own are given as ``LicenseRef-`` and a
name, as SPDX has it; ``LICENSE`` then says that the terms are the authors' own and where to ask.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from heartfelt.errors import InputError, suggestion

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
    spdx: LicenceText(spdx=spdx, **terms)
    for spdx, terms in tomllib.loads(files("heartfelt.publishing").joinpath("licences.toml").read_text("utf-8")).items()
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
    ask = f"Contact: {contact}\n" if contact else ""
    if name is None:
        return (
            f"The authors have not stated a licence for {subject}.\n\n"
            "Without a licence nobody but the rights holders may copy or use them beyond what the law allows.\n"
            f"Ask the authors before you use them.\n{ask}"
        )
    terms = licence(name)
    head = f"{subject[0].upper()}{subject[1:]} are published under:\n\n{terms.name}\nSPDX-License-Identifier: {terms.spdx}\n"
    head += f"{terms.url}\n" if terms.url else ""
    head += f"\nRights holders: {holders}\n{ask}\n{terms.about}\n"
    path = files("heartfelt.publishing.papers") / "legal" / f"{terms.spdx}.txt"
    if path.is_file():
        return f"{head}\nThe text of the licence follows; it applies, not the summary above.\n\n{'-' * 78}\n\n" + (
            path.read_text(encoding="utf-8").strip("\n") + "\n"
        )
    where = f"The full text at {terms.url} applies" if terms.url else "The terms that the authors give apply"
    return f"{head}\n{where}, not this summary.\n"
