"""What a release says about itself in CITATION.cff, for services that ask for title, authors and licence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from heartfelt.errors import InputError
from heartfelt.publishing.papers.citation import NO_AUTHORS
from heartfelt.publishing.statements.details import Author, Details

FILE = "CITATION.cff"


def cited_details(folder: Path) -> Details:
    """Title, authors, version, day, licence, keywords and address as CITATION.cff states them; none without the file."""
    path = folder / FILE
    if not path.is_file():
        return Details()
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read.", "Publish again, or give --details.") from error
    if not isinstance(data, dict):
        return Details()

    def text(key: str) -> str | None:
        return str(data[key]) if data.get(key) else None

    return Details(
        title=text("title"),
        authors=tuple(_authors(data.get("authors") or ())),
        version=text("version"),
        released=text("date-released"),
        licence=text("license"),
        url=text("url"),
        purpose=text("abstract"),
        keywords=tuple(str(word) for word in data.get("keywords") or ()),
    )


def _authors(people: Iterable[object]) -> Iterator[Author]:
    """Who is named; nobody where the file says that the authors are not stated."""
    for person in people:
        author = _author(person) if isinstance(person, dict) else Author("")
        if author.name not in {"", NO_AUTHORS}:
            yield author


def _author(person: dict[str, object]) -> Author:
    family, first = person.get("family-names"), person.get("given-names")
    name = f"{family}, {first}" if family and first else str(person.get("name") or family or first or "")
    affiliation, orcid = person.get("affiliation"), person.get("orcid")
    return Author(
        name,
        str(affiliation) if affiliation else None,
        str(orcid).removeprefix("https://orcid.org/") if orcid else None,
    )
