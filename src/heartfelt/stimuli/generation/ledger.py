"""``make-ledger.csv``: every attempt to make a stimulus, successful or not, in the order they ended.

Rows are appended and synced to disk before the stimulus's file is put in its place, so a run that was killed loses nothing that is
in the ledger. A last line that was cut off is removed when the next run opens the file. One run at a time writes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.tables.columns import NamedTable
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.journal import GrowingFile

LEDGER_FILE = "make-ledger.csv"
MADE, FAILED = "made", "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One attempt."""

    at: str
    """When it ended, in UTC."""
    system: str
    stimulus: str
    attempt: int
    seed: int
    outcome: str
    """``made`` or ``failed``."""
    problem: str = ""
    path: str = ""
    """The file below the media folder."""
    source: str = ""
    """The file it was taken from, where there is one."""
    seconds: float = 0.0
    batch: int = 1
    """How many were made together."""
    cost: float = 0.0
    generator: str = ""
    model: str = ""
    revision: str = ""
    licence: str = ""
    hardware: str = ""
    settings: str = ""
    """A hash of the system's settings; ``make.json`` lists them."""
    digest: str = ""
    """A hash of everything that decides the stimulus: settings, text, seed, source."""
    sha256: str = ""
    fingerprint: str = ""


_TYPES: dict[str, Any] = {
    column.name: {"int": pl.Int64, "float": pl.Float64}.get(str(column.type), pl.String) for column in fields(LedgerRow)
}


def read_ledger(folder: Path) -> list[LedgerRow]:
    """Every attempt so far; none where there is no ledger."""
    path = folder / LEDGER_FILE
    if not path.is_file() or not path.stat().st_size:
        return []
    try:
        with whole_lines(path) as complete_lines:
            sheet = NamedTable.read(complete_lines)
        sheet.need(*_TYPES)
        frame = sheet.frame.select(pl.col(name).cast(kind) for name, kind in _TYPES.items())
        gaps = [pl.col(name).fill_null("" if kind == pl.String else 0) for name, kind in _TYPES.items()]
        return [LedgerRow(**row) for row in frame.select(gaps).to_dicts()]
    except (InputError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{path} cannot be read: {str(error).splitlines()[0]}",
            "Restore it, or move it away: everything is then made again.",
        ) from error


@contextmanager
def whole_lines(path: Path) -> Iterator[Path]:
    """The file, or a copy of it without a last line that was cut off."""
    content = path.read_bytes()
    if content.endswith(b"\n"):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content[: content.rfind(b"\n") + 1])
        yield copy


class GenerationLedger:
    """The ledger of a folder, open for one run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER_FILE
        self._file = GrowingFile(self.path)
        try:
            self.rows = read_ledger(folder)
        except BaseException:  # closed, and raised again
            self._file.close()
            raise

    def add(self, rows: Sequence[LedgerRow]) -> None:
        """Append rows; they are on disk when this returns, all of them or, where the disk is full, none."""
        if not rows:
            return
        columns = {name: [getattr(row, name) for row in rows] for name in _TYPES}
        columns["problem"] = [" ".join(row.problem.split()) for row in rows]
        self._file.append(csv_text(pl.DataFrame(columns, schema=_TYPES), header=self._file.size == 0).encode())
        self.rows += rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self.path.is_file() and not self.path.stat().st_size:
            self.path.unlink()
