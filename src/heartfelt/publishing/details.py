"""What only the authors know about a dataset: who made it, under which licence, how raters were paid.

It is read from ``publication.yaml`` in the study folder, or from the file given with ``--details``. Every key may be left
out: the papers then say "Not stated by the authors", and :func:`not_stated` lists what is missing.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from importlib import resources
from pathlib import Path
from typing import TypeAlias

import yaml

from heartfelt.errors import InputError, suggestion
from heartfelt.files import read_text, write_text
from heartfelt.publishing.licences import licence
from heartfelt.study.model import is_language
from heartfelt.study.yaml_lines import Document, read_yaml

DETAILS_FILE = "publication.yaml"
_ORCID = re.compile(r"^(?:https://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])$")
_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\d{4,9}/\S+)$")
_DAY = re.compile(r"^\d{4}-\d{2}-\d{2}$")
Value: TypeAlias = "str | bool | tuple[str, ...] | tuple[Author, ...] | Mapping[str, str] | None"


@dataclass(frozen=True, slots=True)
class Author:
    """A person or a group. A person's name is given as "Family, Given" where the parts should be known."""

    name: str
    affiliation: str | None = None
    orcid: str | None = None

    @property
    def parts(self) -> tuple[str, str] | None:
        """Family name and given names; None where the name was given as a whole."""
        family, comma, given_name = self.name.partition(",")
        return (family.strip(), given_name.strip()) if comma and given_name.strip() else None

    def __str__(self) -> str:
        return f"{self.parts[1]} {self.parts[0]}" if self.parts else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Statements of the authors; every one may be missing, and the papers then say that it is not stated."""

    title: str | None = None
    authors: tuple[Author, ...] = ()
    version: str | None = None
    released: str | None = None
    """The day of publication, as 2026-11-16."""
    licence: str | None = None
    """Of the ratings and labels, as an SPDX identifier such as CC-BY-4.0."""
    media_licence: str | None = None
    media_may_be_shared: bool | None = None
    """False: links and hashes are published in place of the media."""
    contact: str | None = None
    url: str | None = None
    doi: str | None = None
    citation: str | None = None
    language: tuple[str, ...] = ()
    """Of the ratings and media, as tags such as en; the languages of the study where it is not given."""
    keywords: tuple[str, ...] = ()
    purpose: str | None = None
    uses: str | None = None
    not_for: str | None = None
    recruitment: str | None = None
    pay: str | None = None
    collected: str | None = None
    ethics: str | None = None
    funding: str | None = None
    conflicts: str | None = None
    limits: str | None = None
    biases: str | None = None
    content: str | None = None
    sources: str | None = None
    """Whose work the stimuli, prompts or questions build on."""
    maintenance: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """What columns of the source mean, by ``table.column``."""


QUESTIONS: Mapping[str, tuple[str, str]] = tomllib.loads(
    resources.files("heartfelt.publishing").joinpath("details.toml").read_text("utf-8")
)
"""What each key asks for, and an example."""
LISTS = frozenset({"language", "keywords"})
OPTIONAL = frozenset(
    {
        *("title", "version", "released", "url", "doi", "citation", "language", "keywords", "columns"),
        "media_may_be_shared",
    }
)
"""Keys whose absence needs no remark, or that are made up for by the study."""


def not_stated(details: Details) -> tuple[str, ...]:
    """The keys that the authors left out and readers will ask for, each with what it asks for."""
    return tuple(
        f"{key}: {about}"
        for key, (about, _) in QUESTIONS.items()
        if key not in OPTIONAL and getattr(details, key) in (None, ())
    )


def details_template(details: Details | None = None) -> str:
    """A ``publication.yaml`` with every key explained and empty, so that it reads as no statement at all."""
    title = details.title if details is not None else None
    lines = [
        "# What only the authors know. Every key may stay empty: the papers then say that it is not stated.",
        "# heartfelt publish reads this file from the study folder, or from --details FILE.",
        "",
    ]
    for key, (about, example) in QUESTIONS.items():
        lines.append(f"# {about}{f', such as {example}' if example else ''}")
        if key == "authors":
            lines += ["authors:", "#  - name: Family, Given", "#    affiliation: University"]
            lines.append("#    orcid: 0000-0000-0000-0000")
        elif key == "columns":
            lines += ["columns:", "#  stimuli.theme: the theme of the prompt, chosen by the authors"]
        else:
            line = yaml.safe_dump({key: title}, allow_unicode=True).rstrip() if key == "title" and title else f"{key}:"
            lines.append(line)
    return "\n".join(lines) + "\n"


def write_details_template(target: Path, details: Details | None = None) -> Path:
    """Write an empty ``publication.yaml`` into a folder, or as a YAML file; one that is there is never overwritten."""
    path = target if target.suffix in {".yaml", ".yml"} and not target.is_dir() else target / DETAILS_FILE
    if path.exists():
        raise InputError(f"{path} is there already.", "Edit it, or move it away first.")
    if not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent}.", "Point to the study folder.")
    write_text(path, details_template(details))
    return path


def read_details(source: Path | str | None) -> Details:
    """Details from a file, or from ``publication.yaml`` in a folder; none where the folder has no such file."""
    if source is None:
        return Details()
    path = Path(source)
    if path.is_dir():
        path = path / DETAILS_FILE
        if not path.is_file():
            return Details()
    fix = "Write one with 'heartfelt publish DIR --details', and fill it in."
    return parse_details(read_text(path, fix), str(path))


def parse_details(text: str, where: str = DETAILS_FILE) -> Details:
    """Details from the text of a ``publication.yaml``; ``where`` names it in errors."""
    document = read_yaml(text, where)
    if document.data is None:
        return Details()
    if not isinstance(document.data, dict):
        raise InputError(f"{where} is not a list of keys.", "Write 'title: …', 'licence: …' and so on.")
    values: dict[str, Value] = {}
    for key, raw in document.data.items():
        if key not in QUESTIONS:
            problem = f"{where}, line {document.line((key,))}: there is no key '{key}' here."
            raise InputError(problem, suggestion(str(key), QUESTIONS, "Keys"))
        if raw is not None:
            values[key] = _value(str(key), raw, document, where)
    return Details(**values)  # type: ignore[arg-type]  # _value gives each key its own type


def _value(key: str, raw: object, document: Document, where: str) -> Value:
    try:
        if key == "authors":
            people = raw if isinstance(raw, list) else [raw]
            return tuple(_author(person) for person in people)
        if key == "media_may_be_shared":
            if not isinstance(raw, bool):
                raise InputError(f"'{raw}' is neither true nor false.", "Write true or false.")
            return raw
        if key == "columns":
            if not isinstance(raw, dict):
                raise InputError("this must be table.column and a description.", "Write 'stimuli.theme: …'.")
            return {str(name): _text(about) for name, about in raw.items() if about is not None}
        if key in LISTS:
            words = tuple(_text(element) for element in (raw if isinstance(raw, list) else [raw]))
            wrong = [word for word in words if key == "language" and not is_language(word)]
            if wrong:
                raise InputError(f"'{wrong[0][:40]}' is not a language tag.", "Write tags such as en or zh-Hans.")
            return words
        return _checked(key, _text(raw))
    except InputError as error:
        line = document.line((key,))
        raise InputError(f"{where}, line {line}, {key}: {error.problem}", error.fix) from error


def _checked(key: str, text: str) -> str | None:
    if not text:
        return None
    if key in {"licence", "media_licence"}:
        return licence(text).spdx
    if key == "doi":
        match = _DOI.match(text)
        if match is None:
            raise InputError(f"'{text[:80]}' is not a DOI.", "Write it as 10.5281/zenodo.1234567.")
        return match[1]
    if key == "url" and not re.match(r"^https?://\S+$", text):
        raise InputError(f"'{text[:80]}' is not a web address.", "Write it as https://…")
    if key == "released" and not _is_day(text):
        raise InputError(f"'{text[:80]}' is not a day.", "Write it as 2026-11-16.")
    return text


def _is_day(text: str) -> bool:
    try:
        return bool(_DAY.match(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _checks_out(orcid: str) -> bool:
    """Whether the last character of an ORCID is its check digit (ISO 7064, MOD 11-2)."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    return orcid[-1] == ("X" if check == 10 else str(check))


def _text(raw: object) -> str:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise InputError("this must be text.", "Write a sentence, in quotes if it holds a colon.")
    return str(raw).strip()


def _author(raw: object) -> Author:
    if not isinstance(raw, dict):
        name = _text(raw)
        raw = {"name": name}
    keys = [field.name for field in fields(Author)]
    unknown = [str(key) for key in raw if key not in keys]
    if unknown:
        raise InputError(f"an author has no key '{unknown[0]}'.", suggestion(unknown[0], keys, "Keys"))
    parts = {key: _text(value) for key, value in raw.items() if value is not None}
    if not parts.get("name"):
        raise InputError("an author without a name.", "Add 'name: Family, Given'.")
    if orcid := parts.get("orcid"):
        match = _ORCID.match(orcid)
        if match is None or not _checks_out(match[1]):
            raise InputError(f"'{orcid[:40]}' is not an ORCID.", "Write it as 0000-0002-1825-0097.")
        parts["orcid"] = match[1]
    return Author(**parts)
