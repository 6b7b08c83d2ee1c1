"""``quarantine.csv`` of the private folder: what waits for a decision, and what was decided.

A row is a text that somebody typed (``q_…``), or a private text that the final search found in the release (``f_…``). The column
``decision`` is filled in by hand: ``publish`` (as it is), ``redact`` (with the kind of data in place of the data) or ``drop``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text, read_delimited
from heartfelt.publishing.anonymity.recognise.personal_data import redacted
from heartfelt.publishing.anonymity.recognise.rule import Finding

QUARANTINE = "quarantine.csv"
DECISIONS = ("publish", "redact", "drop")
IN_THE_RELEASE = "private, found in the release"
_COLUMNS = ("id", "kinds", "where", "times", "text", "redacted", "decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedText:
    """A text that is not published as it is unless a person decides so."""

    id: str
    text: str
    findings: tuple[Finding, ...]
    where: str
    times: int
    decision: str

    @property
    def published(self) -> str | None:
        """What is published in its place."""
        if self.decision == "publish":
            return self.text
        return redacted(self.text, self.findings) if self.decision == "redact" else None

    @property
    def private(self) -> list[str]:
        """What must not be anywhere in what is published: personal data, and the text that holds them."""
        if self.decision == "publish" or not self.findings:
            return []
        return [self.text, *(self.text[finding.start : finding.stop] for finding in self.findings)]

    @property
    def row(self) -> tuple[str | int, ...]:
        kinds = ", ".join(dict.fromkeys(finding.kind for finding in self.findings))
        clean = redacted(self.text, self.findings)
        return (self.id, kinds, self.where, self.times, self.text, clean, self.decision)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextInRelease:
    """A private text that the final search found in files of a release, which was not published therefore."""

    text: str
    where: str
    times: int
    suggestion: str
    """One of the cells or lines that hold it, without it."""
    decision: str = ""

    @property
    def id(self) -> str:
        """The same for the same text, whatever its capitals."""
        return f"f_{hashlib.sha256(self.text.casefold().encode()).hexdigest()[:16]}"

    @property
    def row(self) -> tuple[str | int, ...]:
        return (self.id, IN_THE_RELEASE, self.where, self.times, self.text, self.suggestion, self.decision)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineDecisions:
    """What a quarantine file says."""

    by_id: Mapping[str, str]
    in_release: tuple[TextInRelease, ...] = ()


def read_decisions(path: Path, *, required: bool) -> QuarantineDecisions:
    """What was decided about texts, by their id, and the texts that a final search found."""
    if not path.exists():
        if required:
            raise InputError(f"There is no file {path}.", f"Publish once; {QUARANTINE} is in the private folder.")
        return QuarantineDecisions(by_id={})
    frame = read_delimited(path)
    missing = [name for name in ("id", "decision") if name not in frame.columns]
    if missing:
        raise InputError(f"{path} has no column '{missing[0]}'.", f"Its columns are {', '.join(_COLUMNS)}.")
    decided: dict[str, str] = {}
    in_release: list[TextInRelease] = []
    for number, row in enumerate(frame.iter_rows(named=True), start=2):
        word = _decision(row["decision"], f"{path}, line {number}")
        decided[str(row["id"])] = word
        if str(row["id"]).startswith("f_") and row.get("text"):
            in_release.append(_text_in_release(row, word))
    return QuarantineDecisions(by_id=decided, in_release=tuple(in_release))


def _text_in_release(row: Mapping[str, str | None], decision: str) -> TextInRelease:
    text, where, suggestion = (str(row.get(name) or "") for name in ("text", "where", "redacted"))
    times = int(row.get("times") or 1)
    return TextInRelease(text=text, where=where, times=times, suggestion=suggestion, decision=decision)


def _decision(cell: str | None, where: str) -> str:
    """A decision as it was written; empty where there is none yet."""
    word = (cell or "").strip().casefold()
    if word and word not in DECISIONS:
        raise InputError(f"{where}: '{cell}' is not a decision.", f"Write one of {', '.join(DECISIONS)}, or nothing.")
    return word


def write_quarantine(path: Path, texts: Sequence[QuarantinedText], in_release: Sequence[TextInRelease] = ()) -> None:
    """Write every text that waits or was decided about, for the researcher alone."""
    rows = [*(text.row for text in texts), *(text.row for text in in_release)]
    kinds = {name: pl.Int64 if name == "times" else pl.String for name in _COLUMNS}
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    write_text(path, csv_text(table), private=True)
