"""Tables in text files, as people really save them.

Read are UTF-8, UTF-16 and older encodings (detected, and reported as a note), LF, CRLF or bare CR line ends, comma, semicolon,
tab or bar as delimiter, quoted fields, blank lines; what is broken is an error with its line. Everything is read as text.

Text that a spreadsheet would run as a formula (it starts with ``=``, ``+``, ``-``, ``@``, a tab or a line break) is written
with an apostrophe in front, and read back without it: :func:`spreadsheet_safe` and :meth:`Delimited.scan` are inverses.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from polars._typing import PolarsDataType

from heartfelt.errors import InputError, as_option
from heartfelt.files import TemporaryFolder
from heartfelt.formats.tables.headers import ROWS_SAMPLED, Header, find_header, refuse_patterns

CHUNK = 1 << 24
_COUNTED_AT_ONCE = 1 << 21
"""Small enough to stay in the processor's cache."""
DELIMITERS = (",", ";", "\t", "|")
_QUALTRICS_LINES = 3
_PLAIN_TEXT_FIX = "Save the table as CSV in UTF-8, and try again."
_FORMULA_STARTS = r"=+\-@\t\r\n＝＋－＠"
_PLAIN_NUMBER = r"^(?:-|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)$"
_ENCODINGS = ["cp949", "cp932", "gb18030", "big5", "cp1252", "cp1250", "cp1251", "cp1253", "cp1254"]
_ENCODINGS += ["cp1255", "cp1256", "koi8_r"]
"""Encodings that spreadsheets and survey tools still write."""
_ENCODING_SAMPLE = 1 << 16
_ENOUGH_LETTERS = 4
"""Bytes outside ASCII below which an encoding cannot be detected."""
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delimited:
    """A text table that was checked once: where it can be read as plain UTF-8, and how."""

    path: Path
    readable: Path
    delimiter: str
    header: tuple[str, ...]
    keep_alive: object = None
    first_row: int = 1
    """How many rows come before the first one below the header: 0 in a file without a header, 3 in an export of Qualtrics."""
    escaped: bool = False
    """Whether cells may start with the apostrophe that :func:`spreadsheet_safe` puts before formulas."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the file was read, such as a detected encoding."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of the question of each column, where a line below the names holds such texts."""
    as_saved: Path | None = None
    """The text as it was saved, where ``readable`` is a copy without blank lines, with quotes where they belong."""

    def line(self, row: int) -> int:
        """The line of the file where a row begins; rows count from 0. Blank lines and cells of several lines count."""
        lines = (at for at, cells in _rows(self.as_saved or self.readable, self.delimiter) if cells)
        try:
            return next(islice(lines, self.first_row + row, None), self.first_row + row + 1)
        except csv.Error:
            return self.first_row + row + 1

    def scan(self, numbers: Mapping[str, PolarsDataType] | None = None) -> pl.LazyFrame:
        """All columns as text, lazily, but those of ``numbers``, which must parse; an empty cell is null."""
        table = pl.scan_csv(
            self.readable,
            separator=self.delimiter,
            has_header=False,
            skip_rows=self.first_row,
            new_columns=list(self.header),
            infer_schema=False,
            encoding="utf8",
            raise_if_empty=False,
            schema={name: (numbers or {}).get(name, pl.String) for name in self.header},
        )
        if not self.escaped:
            return table
        texts = [name for name in self.header if name not in (numbers or {})]
        return table.with_columns(_without_apostrophe(pl.col(name)).alias(name) for name in texts)


def open_delimited(
    path: Path,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    encoding: str | None = None,
    header_lines: str | None = None,
) -> Delimited:
    """Check a text table and make it readable.

    ``names`` are the columns of a file without a header; ``encoding`` overrides what the bytes suggest, ``header_lines``
    where the header seems to be (``2``, ``1-2``).
    """
    head = read_bytes(path, 1 << 20)
    byte_order_mark = bom_of(head)
    if b"\0" in head and encoding is None and byte_order_mark in {None, "utf-8-sig"}:
        raise InputError(f"{path} is not a text file (it holds zero bytes).", _PLAIN_TEXT_FIX)
    stated = None if encoding is None else _encoding_called(encoding)
    first = _first_line(head.decode(stated or byte_order_mark or "latin-1", "replace"), path)
    mark = delimiter or max(DELIMITERS, key=first.count)
    width = first.count(mark) + 1
    text = _as_utf8(path, stated or byte_order_mark, mark, width, stated=stated is not None)
    if names is None:
        header = _header(text.readable, mark, path, header_lines)
    else:
        header = Header(first=0, depth=0, names=tuple(names))
    even = text.counts.even and len(header.names) == width > 1
    as_saved = None
    if (text.counts.quotes or not even) and _check_rows(text.readable, mark, len(header.names), path):
        as_saved, copy = text.readable, text.keep_alive
        readable, keep_alive = _well_formed(as_saved, mark)
        text = text._replace(readable=readable, keep_alive=(keep_alive, copy))
    return Delimited(
        path=path,
        readable=text.readable,
        delimiter=mark,
        header=header.names,
        keep_alive=text.keep_alive,
        first_row=header.body,
        escaped=text.counts.apostrophes,
        notes=(*text.notes, *_header_notes(text.readable, mark, path, header)),
        texts=header.texts,
        as_saved=as_saved,
    )


def _encoding_called(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise InputError(
            f"No encoding is called '{name}'.", "Usual ones: utf-8, utf-16, cp949, cp932, gb18030, big5, cp1252."
        ) from error


def _first_line(sample: str, path: Path) -> str:
    """The first line without what is quoted in it."""
    first = sample.lstrip("\ufeff").splitlines()[0] if sample.strip() else ""
    if not first.strip():
        raise InputError(f"{path} is empty.", "Point to a file with a header line and rows below it.")
    return "".join(first.split('"')[::2])


class _PlainText(NamedTuple):
    """A table in UTF-8 with LF line ends, or CRLF throughout: the file itself, or a copy of it."""

    readable: Path
    counts: _Counts
    keep_alive: object = None
    notes: tuple[str, ...] = ()


def _as_utf8(path: Path, encoding: str | None, mark: str, width: int, *, stated: bool) -> _PlainText:
    counts = _counts(path, mark, width)
    one_end = counts.returns == counts.crlf and counts.crlf in {0, counts.newlines}
    if encoding in {None, "utf-8"} and counts.utf8 and one_end:
        return _PlainText(path, counts)
    notes: tuple[str, ...] = ()
    if encoding is None and not counts.utf8:
        encoding = detect_encoding(path)
        advice = f"If letters look wrong, state the encoding ({as_option('encoding', '…')})."
        notes = (f"{path.name} is not in UTF-8; it was read as {encoding}. {advice}",)
    readable, keep_alive = _rewritten(path, encoding or "utf-8", stated=stated)
    return _PlainText(readable, _counts(readable, mark, width), keep_alive, notes)


def read_delimited(path: Path, delimiter: str | None = None, names: Sequence[str] | None = None) -> pl.DataFrame:
    """All rows of a text table, every column as text; an empty cell is null. ``names``: it has no header."""
    opened = open_delimited(path, delimiter, names)  # keeps a rewritten copy until the rows are read
    return collected(opened.scan(), path)


def collected(rows: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """All rows of a table in memory; what Polars cannot parse is an error that names the file."""
    try:
        return rows.collect()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} cannot be read as a table: {str(error).splitlines()[0]}.", _PLAIN_TEXT_FIX) from error


def read_bytes(path: Path, size: int = -1) -> bytes:
    """The first bytes of a file, or all of them."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}.", "Check the path.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error


def header_of(path: Path) -> set[str]:
    """The names in a CSV's first line, to recognise a file by; none where it cannot be read."""
    return set(first_row(path))


def first_row(path: Path) -> list[str]:
    """The fields of a CSV's first line that is not blank; none where it cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            line = next(filter(str.strip, iter(lambda: file.readline(1 << 20), "")), "")
            return [field.strip().strip('"') for field in line.split(",")]
    except OSError:
        return []


def detect_encoding(path: Path) -> str:
    """The encoding the file's letters outside ASCII suggest; Windows-1252 where it fits as well as another."""
    from charset_normalizer import from_bytes

    sample = _foreign_lines(path)
    if sum(byte > 127 for byte in sample) < _ENOUGH_LETTERS:
        return "cp1252"
    matches = from_bytes(sample, cp_isolation=_ENCODINGS)
    best = matches.best()
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if best is None:
        return "cp1252"
    as_good = western is not None and (
        western.chaos <= best.chaos + 0.02 and western.coherence >= best.coherence - 0.05
    )
    return "cp1252" if as_good else str(best.encoding)


def _foreign_lines(path: Path) -> bytes:
    """The first lines that are not plain ASCII."""
    sample = b""
    with path.open("rb") as file:
        for line in file:
            if not line.isascii():
                sample += line
            if len(sample) > _ENCODING_SAMPLE:
                break
    return sample


def bom_of(head: bytes) -> str | None:
    """The encoding that a byte-order mark at the beginning states; None without one."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


def is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


class _Counts(NamedTuple):
    """What some bytes of a file hold; ``ends`` are their first and their last byte."""

    newlines: int
    returns: int
    crlf: int
    quotes: bool
    apostrophes: bool
    utf8: bool
    ends: bytes
    even: bool
    """Whether every whole line has as many fields as the header."""
    before: int
    """Delimiters before the first line break, which belong to a line that began earlier."""
    after: int
    """Delimiters after the last line break, whose line goes on."""

    @property
    def pending(self) -> int:
        """Delimiters so far on the line that goes on."""
        return self.after if self.newlines else self.before

    def followed_by(self, right: _Counts, width: int) -> _Counts:
        """The counts of these bytes and those that follow them."""
        joint = self.pending + right.before
        return _Counts(
            self.newlines + right.newlines,
            self.returns + right.returns,
            self.crlf + right.crlf + (self.ends[1:] + right.ends[:1] == b"\r\n"),
            self.quotes or right.quotes,
            self.apostrophes or right.apostrophes,
            self.utf8 and right.utf8,
            self.ends[:1] + right.ends[1:],
            self.even and right.even and (joint == width - 1 or not (self.newlines and right.newlines)),
            self.before if self.newlines else joint,
            right.after if right.newlines else joint,
        )


def _counts(path: Path, delimiter: str, width: int) -> _Counts:
    """Count over the whole file, in threads: a chunk that is being counted does not block the others."""
    starts = range(0, path.stat().st_size, _COUNTED_AT_ONCE)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        parts = list(pool.map(lambda at: _chunk_counts(path, at, ord(delimiter), width), starts))
    if not parts:
        return _Counts(0, 0, 0, False, False, True, b"\n\n", True, 0, 0)
    counts = reduce(lambda counts, part: counts.followed_by(part, width), parts)
    first_is_even = not counts.newlines or counts.before == width - 1
    last_is_even = counts.pending == (0 if counts.ends[1:] == b"\n" else width - 1)
    return counts._replace(even=counts.even and first_is_even and last_is_even, utf8=counts.utf8 or is_utf8(path))


def _chunk_counts(path: Path, at: int, delimiter: int, width: int) -> _Counts:
    with path.open("rb", buffering=0) as file:
        file.seek(at)
        chunk = file.read(_COUNTED_AT_ONCE) or b""
    codes = np.frombuffer(chunk, dtype=np.uint8)
    carriage = b"\r" in chunk
    marks = codes == ord("\n")
    ends = marks[marks | (codes == delimiter)]
    newlines = int(np.count_nonzero(ends))
    before = int(ends.argmax()) if newlines else ends.size
    after = int(ends[::-1].argmax()) if newlines else 0
    # Between two line breaks of an even table lie width - 1 delimiters, so every width-th mark is a line break.
    regular = ends[before::width]
    return _Counts(
        newlines,
        chunk.count(b"\r") if carriage else 0,
        chunk.count(b"\r\n") if carriage else 0,
        b'"' in chunk,
        b"'" in chunk,
        chunk.isascii(),
        chunk[:1] + chunk[-1:],
        not newlines or int(np.count_nonzero(regular)) == newlines,
        before,
        after,
    )


def _rewritten(path: Path, encoding: str, *, stated: bool) -> tuple[Path, object]:
    """A copy in UTF-8 with LF line ends; where the encoding was only detected, Latin-1 is the last resort."""
    scratch = TemporaryFolder()
    target = scratch.path / "table.csv"
    for attempt in (encoding,) if stated else (encoding, "latin-1"):
        try:
            with (
                path.open(encoding=attempt, newline=None) as source,
                target.open("w", encoding="utf-8", newline="\n") as out,
            ):
                while text := source.read(CHUNK):
                    out.write(text)
            return target, scratch
        except UnicodeError as error:
            problem = error
    raise InputError(
        f"{path} is not in {encoding}: {problem}.", "State the encoding it was saved in, or save it as UTF-8."
    ) from problem


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        before = 0
        for row in reader:
            yield before + 1, row
            before = reader.line_num


def _header(readable: Path, delimiter: str, path: Path, stated: str | None) -> Header:
    """The header of a text table: its first line, and what Qualtrics and other survey tools write below it."""
    lines = _top_lines(readable, delimiter, path)
    if stated is None and _is_qualtrics(lines):
        names = tuple(_plain(name).strip() for name in lines[0])
        texts = {name: " ".join(text.split()) for name, text in zip(names, lines[1], strict=False)}
        header = Header(first=0, depth=_QUALTRICS_LINES, names=names, texts=texts)
    else:
        even = [row for row in lines if len(row) == len(lines[0])]
        header = find_header([[_plain(cell) for cell in row] for row in even], stated or _one_line(even), str(path))
    refuse_patterns(header.names, str(path))
    _refuse_doubled(header.names, f"{path}, line {header.first + 1}")
    return header


def _refuse_doubled(names: Sequence[str], where: str) -> None:
    second = next((index for index, name in enumerate(names) if name in names[:index]), None)
    if second is not None:
        raise InputError(
            f"{where}: the column '{names[second]}' is there twice (columns {names.index(names[second]) + 1} and"
            f" {second + 1}).",
            "Rename one of them, so that every column has a name of its own.",
        )


def _top_lines(readable: Path, delimiter: str, path: Path) -> list[list[str]]:
    """The first lines of a table that are not blank, or only the first where a quote below it is broken."""
    try:
        return [row for _, row in islice(_rows(readable, delimiter), ROWS_SAMPLED) if row]
    except csv.Error:  # somewhere below the header: the check of the rows names the line
        try:
            return [row for _, row in islice(_rows(readable, delimiter), 1) if row]
        except csv.Error as error:
            raise InputError(f"{path}, line 1: the header cannot be read ({error}).", _PLAIN_TEXT_FIX) from error


def _one_line(rows: Sequence[Sequence[str]]) -> str | None:
    """The line of the header where it cannot be another: a text table has no title above it, unlike a spreadsheet."""
    return "1" if sum(map(bool, rows[0])) < min(2, len(rows[0])) else None


def _header_notes(readable: Path, delimiter: str, path: Path, header: Header) -> tuple[str, ...]:
    if header.body <= 1:
        return ()
    top = [row for _, row in islice(_rows(readable, delimiter), _QUALTRICS_LINES)]
    if header.depth == _QUALTRICS_LINES and _is_qualtrics(top):
        lines = "its second and third line (question texts, import ids) are not answers"
        return (f"{path.name} is an export of Qualtrics: {lines}.",)
    return (
        f"{path.name}: the header is in {header.lines}. Name other lines with {as_option('header', 'FIRST-LAST')}.",
    )


def _is_qualtrics(lines: Sequence[Sequence[str]]) -> bool:
    """Whether the third line holds the ids that Qualtrics writes below the names and texts of its questions."""
    third = lines[_QUALTRICS_LINES - 1] if len(lines) >= _QUALTRICS_LINES else []
    return bool(third) and all(cell.lstrip().startswith('{"ImportId"') for cell in third)


def _check_rows(readable: Path, delimiter: str, width: int, path: Path) -> bool:
    """Compare every line with the header; return whether there are blank lines, or quotes inside cells.

    A quote in a cell that is not quoted (``5" disk``) is a character here and the start of a quoted cell to Polars.
    """
    rewrite = False
    line = 0
    uneven: tuple[int, int] | None = None
    try:
        for line, row in _rows(readable, delimiter):
            if row:
                if uneven is not None:
                    break
                if len(row) != width:
                    uneven = (line, len(row))
            rewrite = rewrite or not row or any('"' in cell for cell in row)
    except csv.Error as error:
        raise InputError(
            f"{path}: a quoted field that begins on or after line {line + 1} is never closed properly ({error}).",
            "The file may be cut off; get a complete copy, or close the quote.",
        ) from error
    if uneven is None:
        return rewrite
    at, fields = uneven
    problem = f"{path}, line {at}: {fields} fields where the header has {width}."
    if at == line and fields < width:
        problem += " It is the last line: the file seems to be cut off."
        raise InputError(problem, "Get a complete copy of the file.")
    raise InputError(problem, f"Check the delimiter ('{delimiter}') and the quotes on that line.")


def _well_formed(readable: Path, delimiter: str) -> tuple[Path, object]:
    """A copy without blank lines, in which every cell with a quote is quoted."""
    scratch = TemporaryFolder()
    target = scratch.path / "table.csv"
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerows(row for _, row in _rows(readable, delimiter) if row)
    return target, scratch


def spreadsheet_safe(frame: Frame) -> Frame:
    """``frame`` with an apostrophe before every text, column names included, that a spreadsheet would run as a formula.

    A text that starts with apostrophes and then such a sign gets one more, so that reading takes off exactly what
    writing put on. Numbers and a lone minus sign stay as they are.
    """
    schema = frame.collect_schema()
    texts = [name for name, dtype in schema.items() if dtype in (pl.String, pl.Categorical)]
    changed = frame.with_columns(_with_apostrophe(pl.col(name).cast(pl.String)).alias(name) for name in texts)
    risky = re.compile(rf"'*[{_FORMULA_STARTS}]")
    names = [n for n in schema.names() if risky.match(n) and not re.match(_PLAIN_NUMBER, n)]
    return changed.rename({name: f"'{name}" for name in names})


def _with_apostrophe(text: pl.Expr) -> pl.Expr:
    risky = text.str.contains(rf"^'*[{_FORMULA_STARTS}]") & ~text.str.contains(_PLAIN_NUMBER)
    return pl.when(risky).then(pl.lit("'") + text).otherwise(text)


def _without_apostrophe(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(rf"^'+[{_FORMULA_STARTS}]")).then(text.str.slice(1)).otherwise(text)


def _plain(name: str) -> str:
    return name[1:] if re.match(rf"'+[{_FORMULA_STARTS}]", name) else name


def csv_text(frame: pl.DataFrame, *, header: bool = True, delimiter: str = ",") -> str:
    """A table as CSV text with LF line ends; an empty cell is empty, and no cell is a formula."""
    out = io.StringIO()
    spreadsheet_safe(frame).write_csv(out, include_header=header, separator=delimiter)
    return out.getvalue()


def line_ends(path: Path) -> str:
    """How a file ends its lines: ``lf`` or ``crlf``, and whether the last line ends at all."""
    content = path.read_bytes()
    kind = "crlf" if b"\r\n" in content else "lf"
    return kind if content.endswith(b"\n") else f"{kind}, none at the end"


def with_line_ends(text: str, layout: str) -> str:
    """``text`` with the line ends that :func:`line_ends` layout."""
    text = text.removesuffix("\n") if layout.endswith("none at the end") else text
    return text.replace("\n", "\r\n") if layout.startswith("crlf") else text
