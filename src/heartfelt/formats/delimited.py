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
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from polars._typing import PolarsDataType

from heartfelt.errors import InputError, as_option
from heartfelt.files import TemporaryFolder
from heartfelt.formats.headers import ROWS_SAMPLED, Header, find_header, refuse_patterns

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
    if b"\0" in head and encoding is None and bom_of(head) in {None, "utf-8-sig"}:
        raise InputError(f"{path} is not a text file (it holds zero bytes).", _PLAIN_TEXT_FIX)
    try:
        stated = None if encoding is None else codecs.lookup(encoding).name
    except LookupError as error:
        raise InputError(
            f"No encoding is called '{encoding}'.", "Usual ones: utf-8, utf-16, cp949, cp932, gb18030, big5, cp1252."
        ) from error
    encoding = stated or bom_of(head)
    sample = head.decode(encoding or "latin-1", "replace")
    first = sample.lstrip("\ufeff").splitlines()[0] if sample.strip() else ""
    if not first.strip():
        raise InputError(f"{path} is empty.", "Point to a file with a header line and rows below it.")
    unquoted = "".join(first.split('"')[::2])
    mark = delimiter or max(DELIMITERS, key=unquoted.count)
    width = unquoted.count(mark) + 1
    counts = _counts(path, mark, width)
    one_end = counts.returns == counts.crlf and counts.crlf in {0, counts.newlines}
    as_it_is = encoding in {None, "utf-8"} and counts.utf8 and one_end
    keep_alive: object = None
    readable = path
    notes: tuple[str, ...] = ()
    if not as_it_is:
        if encoding is None and not counts.utf8:
            encoding = detect_encoding(path)
            notes = (
                f"{path.name} is not in UTF-8; it was read as {encoding}. If letters look wrong, state the encoding"
                f" ({as_option('encoding', '…')}).",
            )
        readable, keep_alive = _rewritten(path, encoding or "utf-8", stated=stated is not None)
        counts = _counts(readable, mark, width)
    layout = _header(readable, mark, path, header_lines) if names is None else None
    header = tuple(names or ()) if layout is None else layout.names
    uneven = counts.quotes or len(header) == 1 or len(header) != width or not counts.even
    as_saved = None
    if uneven and _check_rows(readable, mark, len(header), path):
        as_saved, copy = readable, keep_alive
        readable, keep_alive = _well_formed(readable, mark)
        keep_alive = (keep_alive, copy)
    return Delimited(
        path=path,
        readable=readable,
        delimiter=mark,
        header=header,
        keep_alive=keep_alive,
        first_row=0 if layout is None else layout.body,
        escaped=counts.apostrophes,
        notes=notes if layout is None else (*notes, *_header_notes(readable, mark, path, layout)),
        texts={} if layout is None else layout.texts,
        as_saved=as_saved,
    )


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

    sample = b""
    with path.open("rb") as file:
        for line in file:
            if not line.isascii():
                sample += line
            if len(sample) > _ENCODING_SAMPLE:
                break
    foreign = sum(byte > 127 for byte in sample)
    matches = from_bytes(sample, cp_isolation=_ENCODINGS) if foreign >= _ENOUGH_LETTERS else None
    best = None if matches is None else matches.best()
    if matches is None or best is None:
        return "cp1252"
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    as_good = western is not None and (
        western.chaos <= best.chaos + 0.02 and western.coherence >= best.coherence - 0.05
    )
    return "cp1252" if as_good else str(best.encoding)


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


def _counts(path: Path, delimiter: str, width: int) -> _Counts:
    """Count over the whole file, in threads: a chunk that is being counted does not block the others."""
    starts = range(0, path.stat().st_size, _COUNTED_AT_ONCE)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        parts = list(pool.map(lambda at: _chunk_counts(path, at, ord(delimiter), width), starts))
    if not parts:
        return _Counts(0, 0, 0, False, False, True, b"\n\n", True, 0, 0)
    even, pending = True, 0
    for part in parts:
        even = even and part.even and (not part.newlines or pending + part.before == width - 1)
        pending = part.after if part.newlines else pending + part.before
    even = even and pending == (0 if parts[-1].ends[1:] == b"\n" else width - 1)
    split = sum(earlier.ends[1:] + right.ends[:1] == b"\r\n" for earlier, right in pairwise(parts))
    return _Counts(
        sum(part.newlines for part in parts),
        sum(part.returns for part in parts),
        sum(part.crlf for part in parts) + split,
        any(part.quotes for part in parts),
        any(part.apostrophes for part in parts),
        all(part.utf8 for part in parts) or is_utf8(path),
        parts[0].ends[:1] + parts[-1].ends[1:],
        even,
        0,
        pending,
    )


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
    try:
        lines = [row for _, row in islice(_rows(readable, delimiter), ROWS_SAMPLED)]
    except csv.Error:  # somewhere below the header: the check of the rows names the line
        try:
            lines = [next(_rows(readable, delimiter))[1]]
        except csv.Error as error:
            raise InputError(f"{path}, line 1: the header cannot be read ({error}).", _PLAIN_TEXT_FIX) from error
    lines = [row for row in lines if row]
    if stated is None and _is_qualtrics(lines):
        names = tuple(_plain(name).strip() for name in lines[0])
        texts = {name: " ".join(text.split()) for name, text in zip(names, lines[1], strict=False)}
        header = Header(first=0, depth=_QUALTRICS_LINES, names=names, texts=texts)
    else:
        even = [row for row in lines if len(row) == len(lines[0])]
        header = find_header([[_plain(cell) for cell in row] for row in even], stated or _one_line(even), str(path))
    names = header.names
    refuse_patterns(names, str(path))
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InputError(
                f"{path}, line {header.first + 1}: the column '{name}' is there twice (columns {names.index(name) + 1} and"
                f" {index + 1}).",
                "Rename one of them, so that every column has a name of its own.",
            )
    return header


def _one_line(rows: Sequence[Sequence[str]]) -> str | None:
    """The line of the header where it cannot be another: a text table has no title above it, unlike a spreadsheet."""
    return "1" if sum(map(bool, rows[0])) < min(2, len(rows[0])) else None


def _header_notes(readable: Path, delimiter: str, path: Path, header: Header) -> tuple[str, ...]:
    if header.first == 0 and header.depth == 1:
        return ()
    if header.depth == _QUALTRICS_LINES and _is_qualtrics(
        [row for _, row in islice(_rows(readable, delimiter), _QUALTRICS_LINES)]
    ):
        return (
            f"{path.name} is an export of Qualtrics: its second and third line (question texts, import ids) are not answers.",
        )
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
    line, row = 0, [""]
    bad: tuple[int, int] | None = None
    try:
        for line, row in _rows(readable, delimiter):
            if not row:
                rewrite = True
            elif bad is not None:
                break
            elif len(row) != width:
                bad = (line, len(row))
            elif not rewrite:
                rewrite = any('"' in cell for cell in row)
    except csv.Error as error:
        raise InputError(
            f"{path}: a quoted field that begins on or after line {line + 1} is never closed properly ({error}).",
            "The file may be cut off; get a complete copy, or close the quote.",
        ) from error
    if bad is not None:
        at, fields = bad
        cut = at == line and fields < width
        raise InputError(
            f"{path}, line {at}: {fields} fields where the header has {width}."
            + (" It is the last line: the file seems to be cut off." if cut else ""),
            "Get a complete copy of the file."
            if cut
            else f"Check the delimiter ('{delimiter}') and the quotes on that line.",
        )
    return rewrite


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
