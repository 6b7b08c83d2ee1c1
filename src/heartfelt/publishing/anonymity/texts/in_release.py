"""Private texts that the final search found in a release: where they go, and what becomes of them the next time.

Whatever the search finds is a row of the quarantine file, so that every such refusal has a way out: the researcher decides that
the text may be read (``publish``), is taken out wherever it stands (``redact``), or takes its cell along (``drop``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.publishing.anonymity.check import Hit, PrivateDataError, PrivateTexts, check_files
from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, REQUIRED, Draft
from heartfelt.publishing.anonymity.recognise.personal_data import folded, whole_word
from heartfelt.publishing.anonymity.texts.quarantine import (
    QUARANTINE,
    QuarantinedText,
    TextInRelease,
    read_decisions,
    write_quarantine,
)
from heartfelt.publishing.options import PublishOptions
from heartfelt.wording import listed, plural

_PLACEHOLDER = "[private]"


def decided_in_release(options: PublishOptions, private: Path) -> tuple[TextInRelease, ...]:
    """What an earlier final search found and somebody has decided about."""
    path = options.decisions or private / QUARANTINE
    listed_texts = read_decisions(path, required=options.decisions is not None).in_release
    return tuple(private_text for private_text in listed_texts if private_text.decision)


def with_allowed(options: PublishOptions, decided: Sequence[TextInRelease]) -> PublishOptions:
    """With the texts that may be read; those that were taken out are private as before."""
    allowed = [private_text.text for private_text in decided if private_text.decision == "publish"]
    return replace(options, allow=(*options.allow, *allowed)) if allowed else options


def take_out(draft: Draft, decided: Sequence[TextInRelease]) -> Draft:
    """Without the texts that are to be redacted, and without the cells of those that are to be dropped."""
    for private_text in decided:
        if private_text.decision == "publish":
            continue
        pattern, drops = whole_word(private_text.text), private_text.decision == "drop"
        way = "left out with its cell" if drops else "taken out"
        about = f"A private text that the final search found is {way}."
        for table, name in _text_columns(draft):
            column = draft.tables[table][name]
            holds = [text for text in column.drop_nulls().unique() if pattern.search(text)]
            if holds:
                clean = [None if drops else pattern.sub(_PLACEHOLDER, text) for text in holds]
                frame = draft.with_values(table, **{name: column.replace(holds, clean)})
                draft = draft.after("free-text", table, name, about, frame, rows=int(column.is_in(holds).sum()))
    return draft


def _text_columns(draft: Draft) -> list[tuple[str, str]]:
    """Every column of texts that may be changed, with its table."""
    return [
        (table, name)
        for table, frame in draft.tables.items()
        for name, dtype in frame.schema.items()
        if dtype == pl.String and (table, name) not in {*REQUIRED, *PERSON_COLUMNS}
    ]


def check_release(folder: Path, secret: PrivateTexts, private: Path, typed: Sequence[QuarantinedText]) -> None:
    """Search every file; what is found goes into the quarantine, and the release is refused with every way out."""
    try:
        check_files(folder, secret)
    except PrivateDataError as error:
        if not error.hits:
            raise
        path = private / QUARANTINE
        earlier = {private_text.id: private_text for private_text in read_decisions(path, required=False).in_release}
        rows = [replace(row, decision=earlier.get(row.id, row).decision) for row in _rows(error.hits)]
        earlier_only = {**earlier}
        for row in rows:
            earlier_only.pop(row.id, None)
        write_quarantine(path, typed, [*earlier_only.values(), *rows])
        raise PrivateDataError(error.problem, _ways_out(path, rows)) from None


def _rows(hits: Sequence[Hit]) -> list[TextInRelease]:
    by_text: dict[str, list[Hit]] = {}
    for hit in hits:
        by_text.setdefault(folded(hit.private), []).append(hit)
    return [
        TextInRelease(
            text=first.private,
            where=listed(list(dict.fromkeys(f"{hit.file} ({hit.where})" for hit in hits_of_text)), 5),
            times=len(hits_of_text),
            suggestion=whole_word(first.private).sub(_PLACEHOLDER, first.text)[:500],
        )
        for hits_of_text in by_text.values()
        for first in hits_of_text[:1]
    ]


def _ways_out(path: Path, rows: Sequence[TextInRelease]) -> str:
    not_taken_out = [row.text for row in rows if row.decision in {"redact", "drop"}]
    found_texts = plural(len(rows), "private text")
    ways = (
        f"{path} now lists {found_texts} with where: decide 'publish' where it may be read, 'redact' or 'drop' to take it out,"
        f" and publish again. Or leave the column out with --drop, or allow the text with --allow '{rows[0].text[:40]}'."
    )
    if not_taken_out:
        ways += (
            f" It could not be taken out of names and ids ('{not_taken_out[0][:40]}'): rename those in the source, or decide"
            " 'publish'."
        )
    return ways
