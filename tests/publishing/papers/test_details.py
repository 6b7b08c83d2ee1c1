"""What the authors state: reading it, what is wrong with it, and what is missing."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from heartfelt.errors import InputError, StudyError
from heartfelt.publishing.statements.details import (
    DETAILS_FILE,
    QUESTIONS,
    Author,
    Details,
    details_template,
    not_stated,
    parse_details,
    read_details,
    write_details_template,
)
from heartfelt.publishing.statements.licences import LICENCES, licence, licence_file
from tests.cases import check_all
from tests.publishing.papers.markup_checks import HOSTILE

ROOT = Path(__file__).parents[3]


def test_every_statement_has_a_key_with_an_explanation() -> None:
    assert [each.name for each in fields(Details)] == list(QUESTIONS)
    assert parse_details(details_template()) == Details()
    assert len(not_stated(Details())) > 12
    assert not any(line.startswith("licence:") for line in not_stated(Details(licence="MIT")))


@check_all("title", HOSTILE[:-1])
def test_a_template_may_be_given_any_title(title: str) -> None:
    cleaned = " ".join(title.replace("\x00", "").split())
    made = parse_details(details_template(Details(title=cleaned)))
    assert made.title == cleaned


def test_reading(tmp_path: Path) -> None:
    assert read_details(None) == read_details(tmp_path) == Details()
    text = """
title: Tones
authors:
  - Family, Given
  - {name: The tone group}
  - {name: "Other, Person", affiliation: A university, orcid: https://orcid.org/0000-0002-1825-0097}
licence: cc-by-4.0
doi: https://doi.org/10.5281/zenodo.1
language: en
media_may_be_shared: false
released: 2026-11-16
columns: {stimuli.theme: the theme}
"""
    (tmp_path / DETAILS_FILE).write_text(text, encoding="utf-8")
    made = read_details(tmp_path)
    assert made.licence == "CC-BY-4.0"
    assert made.doi == "10.5281/zenodo.1"
    assert made.language == ("en",)
    assert made.media_may_be_shared is False
    assert made.columns == {"stimuli.theme": "the theme"}
    assert made.authors[0].parts == ("Family", "Given")
    assert str(made.authors[0]) == "Given Family"
    assert made.authors[1] == Author("The tone group")
    assert made.authors[2].orcid == "0000-0002-1825-0097"
    with pytest.raises(InputError, match="is there already"):
        write_details_template(tmp_path)
    other = tmp_path / "study"
    other.mkdir()
    assert read_details(write_details_template(other)) == Details()


@check_all(
    ("text", "problem", "fix"),
    [
        ("title: x\nlicense: MIT", "line 2: there is no key 'license'", "Did you mean 'licence'"),
        ("licence: CC-BY-4", "line 1, licence: 'CC-BY-4' is not an SPDX", "Did you mean 'CC-BY-4.0'"),
        ("licence: my own", "is not an SPDX identifier", "LicenseRef-NAME"),
        ("pay: [1, 2]", "line 1, pay: this must be text", "sentence"),
        ("doi: zenodo 17", "is not a DOI", "10.5281"),
        ("url: example", "is not a web address", "https"),
        ("released: 16.11.2026", "is not a day", "2026-11-16"),
        ("released: '2026-02-30'", "is not a day", "2026-11-16"),
        ("authors:\n  - {name: A, orcid: 0000-0002-1825-0096}", "is not an ORCID", "0000"),
        ("language: [English]", "is not a language tag", "zh-Hans"),
        ("media_may_be_shared: maybe", "is neither true nor false", "true or false"),
        ("authors:\n  - {nam: x}", "an author has no key 'nam'", "Did you mean 'name'"),
        ("authors:\n  - {affiliation: x}", "an author without a name", "Family, Given"),
        ("authors:\n  - {name: A, orcid: '1'}", "is not an ORCID", "0000"),
        ("columns: theme", "table.column", "stimuli.theme"),
        ("- a\n- b", "is not a list of keys", "title"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, problem: str, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_details(text)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no"):
        read_details(tmp_path / "none.yaml")
    with pytest.raises(StudyError, match="line 1"):
        parse_details("title: 'x")
    (tmp_path / "odd.yaml").write_bytes(b"title: \xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_details(tmp_path / "odd.yaml")


@check_all("spdx", LICENCES)
def test_licences(spdx: str) -> None:
    own = licence(spdx.lower())
    text = licence_file(spdx, "the media", "The tone group", "tones@example.org")
    assert own.spdx == spdx
    for part in (own.name, f"SPDX-License-Identifier: {spdx}", own.url, "The tone group", "tones@example.org"):
        assert part in text


def test_licence_texts() -> None:
    """Texts that heartfelt has are given in full; Apache's is that of heartfelt itself."""
    apache = (ROOT / "LICENSE").read_text(encoding="utf-8").strip("\n")
    assert apache in licence_file("Apache-2.0", "the ratings", "x", None)
    assert "Section 8 -- Interpretation." in licence_file("CC-BY-4.0", "the ratings", "x", None)
    assert "Affirmer" in licence_file("CC0-1.0", "the ratings", "x", None)
    assert "have not stated a licence" in licence_file(None, "the ratings", "x", None)
    assert "authors' own" in licence_file("LicenseRef-Tones-1", "the ratings", "x", None)
