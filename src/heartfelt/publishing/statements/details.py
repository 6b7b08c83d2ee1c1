"""What only the authors know about a dataset: who made it, under which licence, how raters were paid.

It is read from ``publication.yaml`` in the study folder, or from the file given with ``--details``. Every key may be left
out: the papers then say "Not stated by the authors", and :func:`not_stated` lists what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import TypeAlias

import yaml

from heartfelt.errors import InputError, suggestion
from heartfelt.files import packaged_toml, read_text, write_text
from heartfelt.publishing.statements.licences import licence
from heartfelt.study.model import is_language
from heartfelt.study.yaml_lines import Document, read_yaml
from heartfelt.templates import text_templates

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


QUESTIONS: Mapping[str, tuple[str, str]] = packaged_toml(__package__, "details.toml")
"""What each key asks for, and an example."""
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
    stated = {"title": yaml.safe_dump({"title": title}, allow_unicode=True).rstrip()} if title else {}
    template = text_templates(__package__).get_template("publication.yaml.j2")
    return template.render(questions=QUESTIONS, stated=stated)


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
        if key in _READERS:
            return _READERS[key](raw)
        return _checked(key, _text(raw))
    except InputError as error:
        line = document.line((key,))
        raise InputError(f"{where}, line {line}, {key}: {error.problem}", error.fix) from error


def _listed(raw: object) -> list[object]:
    return raw if isinstance(raw, list) else [raw]


def _truth(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise InputError(f"'{raw}' is neither true nor false.", "Write true or false.")
    return raw


def _descriptions(raw: object) -> dict[str, str]:
    if not isinstance(raw, dict):
        raise InputError("this must be table.column and a description.", "Write 'stimuli.theme: …'.")
    return {str(name): _text(about) for name, about in raw.items() if about is not None}


def _words(raw: object) -> tuple[str, ...]:
    return tuple(map(_text, _listed(raw)))


def _languages(raw: object) -> tuple[str, ...]:
    tags = _words(raw)
    wrong = [tag for tag in tags if not is_language(tag)]
    if wrong:
        raise InputError(f"'{wrong[0][:40]}' is not a language tag.", "Write tags such as en or zh-Hans.")
    return tags


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
        raw = {"name": _text(raw)}
    keys = [field.name for field in fields(Author)]
    unknown = [str(key) for key in raw if key not in keys]
    if unknown:
        raise InputError(f"an author has no key '{unknown[0]}'.", suggestion(unknown[0], keys, "Keys"))
    parts = {key: _text(value) for key, value in raw.items() if value is not None}
    if not parts.get("name"):
        raise InputError("an author without a name.", "Add 'name: Family, Given'.")
    if parts.get("orcid"):
        parts["orcid"] = _orcid(parts["orcid"])
    return Author(**parts)


def _orcid(text: str) -> str:
    match = _ORCID.match(text)
    if match is None or not _checks_out(match[1]):
        raise InputError(f"'{text[:40]}' is not an ORCID.", "Write it as 0000-0002-1825-0097.")
    return match[1]


_READERS: Mapping[str, Callable[[object], Value]] = {
    "authors": lambda raw: tuple(map(_author, _listed(raw))),
    "media_may_be_shared": _truth,
    "columns": _descriptions,
    "language": _languages,
    "keywords": _words,
}
"""What reads the keys that are no single text."""
