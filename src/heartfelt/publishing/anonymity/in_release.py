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
from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, Draft
from heartfelt.publishing.anonymity.personal_data import folded, whole_word
from heartfelt.publishing.anonymity.quarantine import (
    QUARANTINE,
    QuarantinedText,
    TextInRelease,
    read_decisions,
    write_quarantine,
)
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.release import ReleaseStep
from heartfelt.tables import CONTRACTS
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
    needed = {(contract.name, column.name) for contract in CONTRACTS for column in contract.columns if column.required}
    for private_text in decided:
        if private_text.decision == "publish":
            continue
        pattern = whole_word(private_text.text)
        tables: dict[str, pl.DataFrame] = {}
        steps: list[ReleaseStep] = []
        for table, frame in draft.tables.items():
            for name, dtype in frame.schema.items():
                if dtype != pl.String or (table, name) in {*needed, *PERSON_COLUMNS}:
                    continue
                holds = [text for text in frame[name].drop_nulls().unique() if pattern.search(text)]
                if not holds:
                    continue
                clean = [None if private_text.decision == "drop" else pattern.sub(_PLACEHOLDER, text) for text in holds]
                rows = frame.filter(pl.col(name).is_in(holds)).height
                frame = frame.with_columns(pl.col(name).replace(holds, clean))
                tables[table] = frame
                about = (
                    "A private text that the final search found is"
                    f" {'left out with its cell' if private_text.decision == 'drop' else 'taken out'}."
                )
                steps.append(ReleaseStep(kind="free-text", table=table, column=name, about=about, rows=rows))
        draft = draft.changed(*steps, **tables)
    return draft


def check_release(folder: Path, secret: PrivateTexts, private: Path, typed: Sequence[QuarantinedText]) -> None:
    """Search every file; what is found goes into the quarantine, and the release is refused with every way out."""
    try:
        check_files(folder, secret)
    except PrivateDataError as error:
        if not error.hits:
            raise
        path = private / QUARANTINE
        earlier = {private_text.id: private_text for private_text in read_decisions(path, required=False).in_release}
        rows = _rows(error.hits)
        decided = [
            private_text.text
            for private_text in rows
            if earlier.get(private_text.id, private_text).decision in {"redact", "drop"}
        ]
        earlier_only = [private_text for name, private_text in earlier.items() if name not in {row.id for row in rows}]
        waiting = [
            replace(private_text, decision=earlier.get(private_text.id, private_text).decision) for private_text in rows
        ]
        write_quarantine(path, typed, [*earlier_only, *waiting])
        raise PrivateDataError(error.problem, _ways_out(path, rows, decided)) from None


def _rows(hits: Sequence[Hit]) -> list[TextInRelease]:
    rows: dict[str, list[Hit]] = {}
    for hit in hits:
        rows.setdefault(folded(hit.private), []).append(hit)
    out = []
    for several in rows.values():
        first = several[0]
        locations = list(dict.fromkeys(f"{hit.file} ({hit.where})" for hit in several))
        clean = whole_word(first.private).sub(_PLACEHOLDER, first.text)
        out.append(
            TextInRelease(text=first.private, where=listed(locations, 5), times=len(several), suggestion=clean[:500])
        )
    return out


def _ways_out(path: Path, rows: Sequence[TextInRelease], decided: Sequence[str]) -> str:
    found_texts = plural(len(rows), "private text")
    ways = (
        f"{path} now lists {found_texts} with where: decide 'publish' where it may be read, 'redact' or 'drop' to take it out,"
        f" and publish again. Or leave the column out with --drop, or allow the text with --allow '{rows[0].text[:40]}'."
    )
    if decided:
        ways += (
            f" It could not be taken out of names and ids ('{decided[0][:40]}'): rename those in the source, or decide"
            " 'publish'."
        )
    return ways
