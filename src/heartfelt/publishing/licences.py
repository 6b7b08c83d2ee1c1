"""Licences by their SPDX identifier: name, address, what they allow, and the text where it is short or part of heartfelt.

An identifier that is not listed is an error with the nearest known one. Terms of one's own are given as ``LicenseRef-`` and a
name, as SPDX has it; ``LICENSE`` then says that the terms are the authors' own and where to ask.
"""

from __future__ import annotations

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


def _creative(kind: str, version: str, name: str, about: str) -> LicenceText:
    spdx = f"CC-{kind}-{version}"
    url = f"https://creativecommons.org/licenses/{kind.lower()}/{version}/"
    return LicenceText(
        spdx=spdx, name=f"Creative Commons {name} {version}", url=url, about=about, hub=spdx.lower()
    )


_CREDIT = "You may share and adapt the material for any purpose if you give credit and say what you changed."
_NO_TRADE = "You may share and adapt the material for purposes that are not commercial, with credit."
_UNCHANGED = "You may share the material unchanged, with credit; adapted versions may not be shared."
_LICENCES = (
    LicenceText(
        spdx="CC0-1.0",
        name="Creative Commons Zero 1.0 Universal",
        url="https://creativecommons.org/publicdomain/zero/1.0/",
        about="The authors waive their rights: you may use the material for any purpose without asking.",
        hub="cc0-1.0",
    ),
    _creative("BY", "4.0", "Attribution", _CREDIT),
    _creative("BY", "3.0", "Attribution", _CREDIT),
    _creative(
        "BY-SA", "4.0", "Attribution-ShareAlike", f"{_CREDIT} Share what you adapt under this licence."
    ),
    _creative(
        "BY-SA", "3.0", "Attribution-ShareAlike", f"{_CREDIT} Share what you adapt under this licence."
    ),
    _creative("BY-NC", "4.0", "Attribution-NonCommercial", _NO_TRADE),
    _creative(
        "BY-NC-SA",
        "4.0",
        "Attribution-NonCommercial-ShareAlike",
        f"{_NO_TRADE} Share what you adapt under this licence.",
    ),
    _creative("BY-ND", "4.0", "Attribution-NoDerivatives", _UNCHANGED),
    _creative(
        "BY-NC-ND",
        "4.0",
        "Attribution-NonCommercial-NoDerivatives",
        "You may share the material unchanged, with credit, for purposes that are not commercial.",
    ),
    LicenceText(
        spdx="ODC-By-1.0",
        name="Open Data Commons Attribution License 1.0",
        url="https://opendatacommons.org/licenses/by/1-0/",
        about="You may use and share the database for any purpose if you give credit.",
        hub="odc-by",
    ),
    LicenceText(
        spdx="ODbL-1.0",
        name="Open Data Commons Open Database License 1.0",
        url="https://opendatacommons.org/licenses/odbl/1-0/",
        about="You may use and share the database if you give credit and share adapted databases under this licence.",
        hub="odbl",
    ),
    LicenceText(
        spdx="PDDL-1.0",
        name="Open Data Commons Public Domain Dedication and License 1.0",
        url="https://opendatacommons.org/licenses/pddl/1-0/",
        about="The authors waive their rights in the database: you may use it for any purpose.",
        hub="pddl",
    ),
    LicenceText(
        spdx="CDLA-Permissive-2.0",
        name="Community Data License Agreement, Permissive 2.0",
        url="https://cdla.dev/permissive-2-0/",
        about="You may use and share the data for any purpose if you pass on this agreement.",
        hub="cdla-permissive-2.0",
    ),
    LicenceText(
        spdx="Apache-2.0",
        name="Apache License 2.0",
        url="https://www.apache.org/licenses/LICENSE-2.0",
        about="You may use, change and share the material if you pass on the licence and its notices.",
        hub="apache-2.0",
    ),
    LicenceText(
        spdx="MIT",
        name="MIT License",
        url="https://opensource.org/license/mit",
        about="You may use, change and share the material if you pass on the copyright notice and this licence.",
        hub="mit",
    ),
    LicenceText(
        spdx="BSD-3-Clause",
        name="BSD 3-Clause License",
        url="https://opensource.org/license/bsd-3-clause",
        about="You may use, change and share the material if you pass on the copyright notice and this licence.",
        hub="bsd-3-clause",
    ),
)
LICENCES = {licence.spdx: licence for licence in _LICENCES}


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
            spdx=name,
            name=words,
            url="",
            about="The terms are the authors' own; ask them before you use the material.",
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
        return (
            f"{head}\nThe text of the licence follows; it applies, not the summary above.\n\n{'-' * 78}\n\n"
            + (path.read_text(encoding="utf-8").strip("\n") + "\n")
        )
    where = f"The full text at {terms.url} applies" if terms.url else "The terms that the authors give apply"
    return f"{head}\n{where}, not this summary.\n"
