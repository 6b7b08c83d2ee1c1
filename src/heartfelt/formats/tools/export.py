"""What the readers of tools share: a first look at a file, rows that are no answers, and columns found by their cells."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal

import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.formats.format import Format
from heartfelt.formats.ratings.set_rows import joined_ledgers
from heartfelt.formats.table_formats.long import Long, read_long
from heartfelt.formats.table_formats.webmushra import WebMushra, read_pages
from heartfelt.formats.table_formats.wide import Wide, read_wide
from heartfelt.formats.tables.columns import MISSING
from heartfelt.formats.tables.delimited import DELIMITERS
from heartfelt.formats.tables.json_files import JSON
from heartfelt.formats.tables.source_table import TABLES, SourceTable, folded, open_table, prepared
from heartfelt.formats.tables.spss import SPSS
from heartfelt.formats.tables.workbooks import WORKBOOKS
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot

Layout = Literal["long", "wide", "webmushra"]
PRACTICE = r"(?i)^practi[cs]e|(?:^|[_\s-])(?:practi[cs]e|training|warm.?up|tutorial)(?:$|[_\s\d.-])"
NOT_RATED = r"(?i)instruct(?:ions?)?$|consent|welcome|fixation|debrief|preload|full.?screen"
ATTENTION = r"(?i)(?:^|[_\s-])(?:attention|catch|instructed|sanity)"
MEDIA = r"(?i)\.(?:wav|mp3|ogg|flac|m4a|aac|opus|png|jpe?g|gif|webp|bmp|mp4|webm|mov)(?:[?#].*)?$"
_RATER_NAMES = """
participant_id participantid participant subject_id subjectid subject prolific_pid prolific_id worker_id workerid
user_id userid user rater rater_id listener annotator pid ppt sona_id run_id participant_file
"""
"""Usual names of the participant's column, in the order they are tried."""
_STIMULUS_NAME = re.compile(r"(?i)(?:stim(?:ulus|uli)?|clip|item|audio|image|video|sound|file)(?:_?(?:id|file|name))?")
_HEAD = 1 << 18
_ROWS_GLANCED = 4
_READERS = {"long": read_long, "wide": read_wide, "webmushra": read_pages}
_OPTIONS: Mapping[str, Mapping[str, str]] = {"long": Long.options, "wide": Wide.options, "webmushra": WebMushra.options}


class ToolExport(Format):
    """The files of one tool. Subclasses recognise them and open them as a table in one of the plain layouts."""

    title: ClassVar[str]
    """The tool's name as it writes it."""
    writes: ClassVar[bool] = False
    own_options: ClassVar[Mapping[str, str]] = {}
    layouts: ClassVar[Sequence[Layout]]
    """The plain layouts that its files have, whose options it understands."""

    def __init_subclass__(cls, *, layouts: Sequence[Layout] = ("long",)) -> None:
        super().__init_subclass__()
        shared = {option: text for layout in layouts for option, text in _OPTIONS[layout].items()}
        cls.options = {**cls.own_options, **shared}
        cls.layouts = layouts

    @abstractmethod
    def table(self, source: Path, options: Mapping[str, str]) -> tuple[Layout, SourceTable]:
        """The answers as a table in a plain layout; its options say what the columns are."""

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        """Read the tool's files; rows that are no answers are in the ledger."""
        if not source.exists():
            raise InputError(f"There is no file or folder {source}.", "Check the path.")
        layout, table = self.table(source, options)
        stated = {option: value for option, value in options.items() if option not in self.own_options}
        table = replace(table, options={**table.options, **stated}, delimited=None, reopens=False)
        return _READERS[layout](self.name, table, source, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The beginning of a file, or of the first table of a folder: enough to recognise a tool by."""

    path: Path
    head: str = ""
    """The first characters of a text file."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The first rows of a table, the header included."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.rows[0]) if self.rows else frozenset()

    @property
    def is_json(self) -> bool:
        return self.head.lstrip().startswith(("[", "{"))

    def has_keys(self, *keys: str) -> bool:
        """Whether the beginning of a JSON file holds every key."""
        return self.is_json and all(f'"{key}"' in self.head for key in keys)


def glance(source: Path) -> Glance | None:
    """A first look at a file, or at the first table in a folder; None where there is none."""
    path = source
    if source.is_dir():
        tables = sorted(p for p in source.iterdir() if p.is_file() and p.suffix.lower() in TABLES)
        if not tables:
            return None
        path = tables[0]
    if not path.is_file() or path.suffix.lower() not in TABLES:
        return None
    status = path.stat()
    return _glance(path, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)
def _glance(path: Path, _: object) -> Glance:
    kind = path.suffix.lower()
    if kind in WORKBOOKS | SPSS:
        try:
            return Glance(path=path, rows=(tuple(open_table(path, {"personal": "keep"}).columns),))
        except InputError:
            return Glance(path=path)
    with path.open("rb") as file:
        content = file.read(_HEAD)
    encoding = "utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    head = content.decode(encoding, "replace")
    if kind in JSON or head.lstrip().startswith(("[", "{")):
        return Glance(path=path, head=head)
    first = "".join(head.split("\n", 1)[0].split('"')[::2])
    mark = max(DELIMITERS, key=first.count)
    try:
        lines = filter(None, csv.reader(io.StringIO(head), delimiter=mark))
        rows = tuple(tuple(cell.strip() for cell in row) for row in islice(lines, _ROWS_GLANCED))
    except csv.Error:
        rows = ()
    return Glance(path=path, head=head, rows=rows)


def left_out(table: SourceTable, reasons: Mapping[str, pl.Expr], rater: str | None = None) -> SourceTable:
    """The table without the rows that are no answers; each is in the ledger with the first reason that holds."""
    rows = table.rows.collect()
    ledgers: list[pl.DataFrame | None] = [table.ledger]
    for reason, is_left_out in reasons.items():
        lost = rows.filter(is_left_out.fill_null(False))
        if lost.height:
            raters = lost[rater].cast(pl.String) if rater in lost.columns else [None] * lost.height
            columns = {"what": ["row"] * lost.height, "rater": raters, "reason": [reason] * lost.height}
            schema = dict.fromkeys(("what", "rater", "reason", "stage"), pl.String)
            ledgers.append(pl.DataFrame({**columns, "stage": ["import"] * lost.height}, schema=schema))
            rows = rows.filter(~is_left_out.fill_null(False))
    if not rows.height:
        listed = "; ".join(sorted({reason for ledger in ledgers if ledger is not None for reason in ledger["reason"]}))
        raise InputError(
            f"{table.where}: no row is an answer ({listed or 'there are no rows'}).",
            "Name the columns, or read the table with the format 'long'.",
        )
    return replace(table, rows=rows.lazy(), ledger=joined_ledgers(*ledgers), delimited=None)


def selected(table: SourceTable, options: Mapping[str, str]) -> SourceTable:
    """A table that a reader made itself, without the rows that ``where`` leaves out and without personal data."""
    stated = {option: options[option] for option in ("where", "personal") if option in options}
    return replace(prepared(table, {**table.options, **stated}), options=table.options)


def filled(name: str) -> pl.Expr:
    """Whether a cell holds something: PsychoPy writes ``None`` where nothing was answered, jsPsych ``null``."""
    text = pl.col(name).cast(pl.String).str.strip_chars()
    return text.is_not_null() & ~text.is_in(MISSING)


def matches(names: Iterable[str], pattern: str) -> pl.Expr:
    """Whether a cell of one of these columns fits the pattern."""
    tests = [pl.col(name).cast(pl.String).str.contains(pattern).fill_null(False) for name in names]
    return pl.any_horizontal(tests) if tests else pl.lit(False)


def rater_column(columns: Sequence[str]) -> str | None:
    for usual in _RATER_NAMES.split():
        for name in columns:
            if folded(name) == usual:
                return name
    return None


def media_columns(rows: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """Those of the columns whose filled cells are mostly names of media files."""
    out = []
    for name in names:
        cells = rows[name].cast(pl.String).drop_nulls()
        if cells.len() and int(cells.str.contains(MEDIA).sum()) > cells.len() / 2:
            out.append(name)
    return out


def stimulus_column(rows: pl.DataFrame, names: Sequence[str], table: SourceTable) -> str:
    """The column that names the stimulus: of media files, by its usual name, or the only one that varies."""
    if "stimulus" in table.options:
        return table.options["stimulus"]
    media = media_columns(rows, names)
    usual = list(filter(_STIMULUS_NAME.fullmatch, names))
    varied = [name for name in names if rows[name].drop_nulls().n_unique() > 1]
    attempts = ([n for n in media if n in usual], media, [n for n in usual if n in varied], varied)
    candidates = next(filter(None, attempts), [])
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(
        f"{table.where}: no column is unmistakably the stimulus.",
        f"Name it with {as_option('stimulus', 'COLUMN')}. It may be one of: {', '.join(names[:20])}.",
    )


def without_empty(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without columns that hold nothing."""
    empty = [column.name for column in rows if column.null_count() == column.len()]
    return rows.drop(empty)
