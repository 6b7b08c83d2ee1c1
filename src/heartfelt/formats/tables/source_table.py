"""Opening the table a plain format reads, and finding its columns.

Rows may be filtered (``where``), columns with personal data are dropped unless they are asked for (``personal=keep``), and what
a person should know about the reading becomes a note of the snapshot's source. Text and Parquet stay lazy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, UnclearColumnError, as_option, suggestion
from heartfelt.formats.tables.columns import (
    ABOUT_STIMULUS,
    ADJUDICATIONS_FILE,
    PARQUET,
    NamedTable,
    need,
    number_expr,
    scan_parquet,
    with_roles_named,
)
from heartfelt.formats.tables.delimited import Delimited, collected, open_delimited
from heartfelt.formats.tables.headers import refuse_patterns
from heartfelt.formats.tables.json_files import JSON, flat_columns, json_records, json_table, looks_like_json
from heartfelt.formats.tables.spss import LABELS, SPSS, read_spss
from heartfelt.formats.tables.workbooks import WORKBOOKS, TextTable, read_workbook
from heartfelt.tables import LEDGER, number_types

TABLES = {".csv", ".tsv", ".txt", *PARQUET, *JSON, *WORKBOOKS, *SPSS}
OPTIONS: Mapping[str, str] = {
    "delimiter": "what separates the columns; detected if left out",
    "encoding": "the encoding of a text file, such as cp949; detected if left out",
    "sheet": "the sheet of a spreadsheet, by name or number; the one with most cells if left out",
    "header": "the lines of the header, such as 2 or 1-2; detected if left out",
    "labels": "in an SPSS file, which labelled values are read as words: nominal (of nominal variables), all or none",
    "where": "only rows that meet these conditions, with semicolons between them: status=complete;age>=18;group=a|b",
    "ordinary": "columns that look like marks of anchors, practice, attention checks or exclusions and are not, with commas",
    "personal": "keep: keep columns with IP addresses, e-mail addresses or coordinates, which are dropped otherwise",
}
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "rater": "rater rater_id user user_id username participant participant_id subject subject_id worker worker_id"
        " annotator annotator_id listener respondent pid person id",
        "stimulus": "stimulus stimulus_id stimuli item item_id clip clip_id file file_name filename name audio_file"
        " image image_id stim wav wavname wavid wav_id wav_path wav_file wavfile audio audio_id audio_path utt utt_id utterance"
        " utterance_id file_path filepath data_path sample sample_id key id",
        "question": "question question_id dimension scale attribute criterion",
        "value": "value rating score response answer label",
        "system": "system model generator",
        "intent": "intent target_emotion intended_emotion",
        "prompt": "prompt",
        "path": "path",
        "position": "position trial order",
        "seconds": "seconds rt_seconds",
        "at": "at time timestamp created_at",
        "repeat": "repeat",
    }.items()
}
"""Usual names of the column that plays each role, in the order they are tried."""
_COLUMN_OPTIONS = (
    *SYNONYMS, "trial", "set", "first", "second", "winner", "judge", "members", "id",
    "mean", "sd", "n", "stimulus_columns", "rater_columns", "categories", "anchors",
)  # fmt: skip
ROW_NUMBER = "\0number"
"""The column of a numbered table with the rows' numbers in the file."""
_ROWS_CHECKED = 2000
_PERSONAL_SHARE = 0.5
"""A column whose cells look personal in more than this share is personal."""
_PERSONAL_CELLS: Mapping[str, str] = {
    "IP addresses": r"^(?:\d{1,3}\.){3}\d{1,3}$|^(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}$",
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
}
_PERSONAL_NAMES: Mapping[str, str] = {
    "IP addresses": r"^(?:user_?|client_?|remote_?)?ip(?:_?addr(?:ess)?)?$",
    "e-mail addresses": r"^(?:recipient_?|user_?|contact_?)?e_?mail(?:_?addr(?:ess)?)?$",
    "coordinates": r"^(?:location_?|gps_?|geo_?)?(?:lat|latitude|lon|lng|long|longitude)$",
}
_CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A table that was opened: its rows, the options it is read with, and what to say about the reading."""

    path: Path
    rows: pl.LazyFrame
    options: Mapping[str, str]
    delimited: Delimited | None = None
    """The text file behind the rows, where they are exactly the file's."""
    notes: tuple[str, ...] = ()
    ledger: pl.DataFrame | None = None
    keep_alive: object = None
    """What must not be removed before the rows are read, such as a copy of the file in UTF-8."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of the question of each column, where the file has such texts."""
    records: bool = False
    first_line: int | None = None
    """The line of the first row in a spreadsheet."""
    reopens: bool = True
    """Whether the rows are those of ``path``, so that a row's line can be looked up there."""

    @property
    def where(self) -> str:
        return str(self.path)

    @property
    def columns(self) -> list[str]:
        return self.rows.collect_schema().names()

    def sheet(self, row: str) -> NamedTable:
        """All rows in memory, each a ``row``; an error where there is none."""
        frame = self.frame()
        if not frame.height:
            raise InputError(f"{self.path} has a header but no rows.", f"Point to a table with one row per {row}.")
        return NamedTable(frame, self.where, position=self.position)

    def refuse_nested(self, names: Iterable[str], *, lists: bool = False) -> None:
        """Raise for a column whose cells are lists or objects; ``lists``: lists of plain values are fine."""
        schema = self.rows.collect_schema()
        for name in names:
            dtype = schema[name]
            fine = lists and isinstance(dtype, pl.List) and not dtype.inner.is_nested() and dtype.inner != pl.Null
            if dtype.is_nested() and not fine:
                raise InputError(
                    f"{self.where}: the cells of '{name}' are lists or objects.",
                    "Write one value per cell, or name another column.",
                )

    def frame(self) -> pl.DataFrame:
        """All rows in memory; lists and objects in cells are text."""
        frame = collected(self.rows, self.path)
        nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
        return frame.with_columns(
            pl.Series(name, [None if cell is None else str(cell) for cell in frame[name].to_list()], pl.String)
            for name in nested
        )

    def position(self, row: int) -> str:
        """Where a row of the table stands in its file, whichever rows were left out: ``line 12``, or ``row 11``."""
        if not self.reopens:
            return f"row {row + 1}"
        table = open_table(self.path, {**self.options, "personal": "keep"}, records=self.records, numbered=True)
        numbers = table.rows.select(ROW_NUMBER).slice(row, 1).collect().to_series()
        return self.place_of(int(numbers[0]) if numbers.len() else row)

    def place_of(self, number: int) -> str:
        """The line of a row of the file, by its number from 0; the row where the file has no lines."""
        opened = self.keep_alive
        if isinstance(opened, Delimited):
            return f"line {opened.line(number)}"
        return f"row {number + 1}" if self.first_line is None else f"line {number + self.first_line}"

    def pick(self, role: str) -> str:
        return pick(self.columns, role, self.options, self.where)

    def pick_optional(self, role: str) -> str | None:
        return pick_optional(self.columns, role, self.options, self.where)

    def names_in(self, *keys: str) -> list[str]:
        """The names that options list with commas between them."""
        return [name.strip() for key in keys for name in self.options.get(key, "").split(",") if name.strip()]


def locate(source: Path, preferred: Sequence[str] = (), suffixes: Set[str] = TABLES) -> Path:
    """The table to read: the file itself, or the one table of a folder."""
    if source.is_file():
        return source
    if not source.is_dir():
        raise InputError(f"There is no file or folder {source}.", "Check the path.")
    tables = _tables_in(source, preferred, suffixes)
    if len(tables) == 1:
        return tables[0]
    if not tables:
        kinds = "CSV, TSV, Parquet, JSON, Excel or SPSS table" if suffixes == TABLES else " or ".join(sorted(suffixes))
        raise InputError(f"{source} holds no {kinds}.", "Point to the table itself.")
    listed = ", ".join(p.name for p in tables[:6])
    raise InputError(f"{source} holds {len(tables)} tables ({listed}).", "Point to the one to read.")


def _tables_in(folder: Path, preferred: Sequence[str], suffixes: Set[str]) -> list[Path]:
    """The first table with a preferred name, else all tables but that of adjudications."""
    named = [folder / name for name in preferred if (folder / name).is_file()]
    return named[:1] or sorted(
        p for p in folder.iterdir() if p.suffix.lower() in suffixes and p.is_file() and p.name != ADJUDICATIONS_FILE
    )


def open_table(path: Path, options: Mapping[str, str], *, records: bool = False, numbered: bool = False) -> SourceTable:
    """Open a table with the shared options; columns that options name are never taken for personal data.

    ``records``: one JSON record is one row, whatever lists it holds; otherwise a list of records inside it becomes rows.
    ``numbered``: with a column of the rows' numbers in the file, from 0.
    """
    table = _opened(path, options, records=records)
    refuse_patterns(table.columns, str(path))
    if not numbered:
        return prepared(table, options)
    return replace(prepared(replace(table, rows=table.rows.with_row_index(ROW_NUMBER)), options), delimited=None)


def rows_of(path: Path, options: Mapping[str, str], *, records: bool = False) -> pl.DataFrame:
    """All rows of a table in memory."""
    table = open_table(path, options, records=records)  # keeps a rewritten copy until the rows are read
    return collected(table.rows, path)


def prepared(table: SourceTable, options: Mapping[str, str]) -> SourceTable:
    """The table without personal data and without the rows that ``where`` leaves out."""
    rows, delimited, notes = table.rows, table.delimited, list(table.notes)
    named = {part.strip() for key in _COLUMN_OPTIONS for part in options.get(key, "").split(",")}
    personal = {} if options.get("personal") == "keep" else _personal(rows, named)
    if personal:
        rows, delimited = rows.drop(personal), None
        dropped = ", ".join(f"'{name}' ({kind})" for name, kind in personal.items())
        notes.append(
            f"Columns with personal data were dropped: {dropped}. Keep them with {as_option('personal', 'keep')}."
        )
    ledgers = [] if table.ledger is None else [table.ledger]
    if "where" in options:
        rows, left_out = _filtered(rows, options["where"], table.where)
        ledgers, delimited = [*ledgers, left_out], None
    ledger = pl.concat(ledgers, how="diagonal") if ledgers else None
    return replace(table, rows=rows, options=options, delimited=delimited, notes=tuple(notes), ledger=ledger)


def joined_columns(table: SourceTable) -> SourceTable:
    """The table with the columns that options name as ``a+b``: the cells of several, with a slash between them."""
    columns, out = table.columns, table
    for name in dict.fromkeys(table.options.values()):
        parts = [part.strip() for part in name.split("+")]
        if len(parts) > 1 and name not in columns and all(part in columns for part in parts):
            cells = (pl.col(part).cast(pl.String).str.strip_chars() for part in parts)
            joined = pl.concat_str(*cells, separator="/").alias(name)
            out = replace(out, rows=out.rows.with_columns(joined), delimited=None)
    return out


def named_parts(table: SourceTable) -> SourceTable:
    """The table with what the stimuli's names say (``names``) in columns of its own; their ids are these parts with slashes.

    ``./clips/{system}/{prompt}.wav`` gives the columns system and prompt, and the id ``system/prompt``.
    """
    if "names" not in table.options:
        return table
    pattern, column = table.options["names"], table.pick("stimulus")
    parts = re.findall(r"\{(\w+)\}", pattern)
    rows = _with_parts(table, pattern, parts, column)
    roles = {part: part for part in parts if part in ("system", "intent", "prompt")}
    facts = [*table.names_in("stimulus_columns"), *(part for part in parts if part not in roles)]
    more = {"stimulus": column, **roles} | ({"stimulus_columns": ",".join(facts)} if facts else {})
    return replace(table, rows=rows, options={**table.options, **more}, delimited=None)


def _with_parts(table: SourceTable, pattern: str, parts: Sequence[str], column: str) -> pl.LazyFrame:
    """The rows with a column for each part of the names, which ``column`` then holds joined."""
    expression = f"^{compile_pattern(pattern, parts).pattern}$"
    duplicates = [part for part in parts if part in table.columns]
    if duplicates:
        raise InputError(
            f"{table.where} has a column '{duplicates[0]}' already.", f"Call that part of '{pattern}' something else."
        )
    cell = pl.col(column).cast(pl.String).str.strip_chars()
    strange = table.rows.select(cell).filter(~pl.col(column).str.contains(expression)).head(1).collect()
    if strange.height:
        raise InputError(
            f"{table.where}: '{strange[column][0]}' does not fit the pattern '{pattern}'.",
            "Change names=, or leave such rows out with where=.",
        )
    matched = cell.str.extract_groups(expression)
    part_columns = [matched.struct.field(part).alias(part) for part in parts]
    return table.rows.with_columns(part_columns).with_columns(pl.concat_str(parts, separator="/").alias(column))


def _opened(path: Path, options: Mapping[str, str], *, records: bool) -> SourceTable:
    """A file as a table, whatever kind of file it is."""
    kind = path.suffix.lower()
    if kind in PARQUET:
        rows = scan_parquet(path)
        return SourceTable(path=path, rows=flat_columns(rows) if records else rows, options=options)
    if kind in JSON or ((records or kind == ".txt") and looks_like_json(path)):
        read = json_records if records else json_table
        return SourceTable(path=path, rows=read(path, options.get("encoding")).lazy(), options=options)
    if kind in WORKBOOKS:
        return _in_memory(path, read_workbook(path, options.get("sheet"), options.get("header")), options)
    if kind in SPSS:
        return replace(_in_memory(path, read_spss(path, options.get("labels", LABELS[0])), options), first_line=None)
    opened = open_delimited(
        path, options.get("delimiter"), encoding=options.get("encoding"), header_lines=options.get("header")
    )
    return SourceTable(
        path=path,
        rows=opened.scan(),
        options=options,
        delimited=opened,
        notes=opened.notes,
        keep_alive=opened,
        texts=opened.texts,
    )


def _in_memory(path: Path, table: TextTable, options: Mapping[str, str]) -> SourceTable:
    return SourceTable(
        path=path,
        rows=table.rows.lazy(),
        options=options,
        notes=table.notes,
        first_line=table.first_line,
        texts=table.texts,
    )


def _personal(rows: pl.LazyFrame, wanted: set[str]) -> dict[str, str]:
    """The columns that hold personal data, each with its kind; those the options name are wanted."""
    schema = rows.collect_schema()
    kinds = {name: kind for name in schema if name not in wanted and (kind := _kind_by_name(name))}
    texts = [name for name, dtype in schema.items() if dtype == pl.String and name not in {*wanted, *kinds}]
    if texts:  # after those by name, as the note lists them
        kinds |= _kinds_by_cells(rows.select(texts).head(_ROWS_CHECKED).collect())
    return {n: kind for n, kind in kinds.items() if kind != "coordinates" or _are_degrees(rows, n)}


def _kind_by_name(name: str) -> str | None:
    snake_name = re.sub(r"[\s.\-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())).casefold()
    return next((kind for kind, pattern in _PERSONAL_NAMES.items() if re.match(pattern, snake_name)), None)


def _kinds_by_cells(texts: pl.DataFrame) -> dict[str, str]:
    return {column.name: kind for column in texts if (kind := _kind_by_cells(column))}


def _kind_by_cells(column: pl.Series) -> str | None:
    cells = column.drop_nulls().str.strip_chars()
    shares = {kind: int(cells.str.contains(pattern).sum()) for kind, pattern in _PERSONAL_CELLS.items()}
    return next((kind for kind, count in shares.items() if count > _PERSONAL_SHARE * cells.len()), None)


def _are_degrees(rows: pl.LazyFrame, name: str) -> bool:
    head = rows.select(number_expr(name)).head(_ROWS_CHECKED).collect()[name].drop_nulls()
    return bool(head.len() and head.is_between(-180, 180).all())


def _filtered(rows: pl.LazyFrame, text: str, where: str) -> tuple[pl.LazyFrame, pl.DataFrame]:
    """The rows that meet every condition, and a ledger line for each condition that left some out."""
    reasons: dict[str, int] = {}
    for condition in (part.strip() for part in text.split(";") if part.strip()):
        meets = _condition(condition, rows, where)
        counts = rows.select(lost=(~meets).sum(), all=pl.len()).collect(engine="streaming").row(0, named=True)
        if counts["all"] and counts["lost"] == counts["all"]:
            raise InputError(
                f"{where}: no row meets the condition '{condition}'.", "Correct or leave out the condition."
            )
        if counts["lost"]:
            reasons[f"{counts['lost']:,} rows do not meet the condition '{condition}'"] = counts["lost"]
        rows = rows.filter(meets)
    lines = [("row", reason, "import", lost) for reason, lost in reasons.items()]
    schema = {"what": pl.String(), "reason": pl.String(), "stage": pl.String(), "ratings": pl.Int64()}
    ledger = pl.DataFrame(lines, schema=schema, orient="row")
    return rows, LEDGER.check(ledger, where)


def _condition(text: str, rows: pl.LazyFrame, where: str) -> pl.Expr:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is not a condition.", "Write for example where=status=complete;age>=18;group=a|b.")
    name, sign, value = match.groups()
    need(rows.collect_schema().names(), [name], where)
    number = number_expr(name)
    if sign in {"=", "!="}:
        cell = pl.col(name).cast(pl.String).str.strip_chars().fill_null("")
        if rows.collect_schema()[name] == pl.Boolean:  # written true and false by Polars
            value = value.casefold()
        same = cell.is_in([part.strip() for part in value.split("|")])
        wanted = [float(part) for part in value.split("|") if _is_number(part)]
        same = same | (number.is_in(wanted).fill_null(False) if wanted else pl.lit(False))
        return same if sign == "=" else ~same
    if not _is_number(value):
        raise InputError(f"'{text}' compares with '{value}', which is not a number.", "Compare with a number.")
    limit = float(value)
    compared = {"<": number < limit, "<=": number <= limit, ">": number > limit, ">=": number >= limit}[sign]
    return compared.fill_null(False)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def pick(columns: Sequence[str], role: str, options: Mapping[str, str], where: str) -> str:
    """The column that plays ``role``: the one the options name, else the first with a usual name."""
    column = pick_optional(columns, role, options, where)
    if column is None:
        raise UnclearColumnError(
            f"{where}: no column is unmistakably the {role}.",
            f"Name it with {as_option(role, 'COLUMN')}. The columns are: {', '.join(columns[:40])}.",
        )
    return column


def pick_optional(columns: Sequence[str], role: str, options: Mapping[str, str], where: str) -> str | None:
    """The same, but None where no column has a usual name; one whose name occurs twice in another case is skipped."""
    if role in options:
        need(columns, [options[role]], where)
        return options[role]
    for name in SYNONYMS[role]:
        same = [column for column in columns if folded(column) == name]
        if len(same) == 1:
            return same[0]
    return None


def folded(column: str) -> str:
    """A column's name to compare with usual ones: ``Participant id`` is ``participant_id``."""
    return re.sub(r"[\s\-]+", "_", column.strip()).casefold()


def side_table(
    path: Path,
    role: str,
    id_column: str | None = None,
    same_as: str | None = None,
    options: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """A table of stimuli or raters beside the ratings, with its id column named ``role``.

    ``id_column`` is the id's column where the options name it; otherwise the column called like the ratings' own
    (``same_as``), or the first with a usual name. In a table of stimuli, ``options`` may name the columns of system,
    intent, prompt and path.
    """
    table = open_table(path, {role: id_column or ""})
    if id_column is None and same_as in table.columns:
        id_column = same_as
    column = pick(table.columns, role, {} if id_column is None else {role: id_column}, table.where)
    about = ABOUT_STIMULUS if role == "stimulus" and options else ()
    named = {options[fact]: fact for fact in about if options and options.get(fact) in table.columns}
    rows = with_roles_named(collected(table.rows, path), {**named, column: role})
    sheet = NamedTable(rows, table.where, position=table.position).with_ids(role)
    sheet.unique(role, option={"stimulus": "stimuli_id", "rater": "raters_id"}.get(role))
    return number_types(sheet.frame, keep=[role, *ABOUT_STIMULUS])


def compile_pattern(pattern: str, allowed: Iterable[str]) -> re.Pattern[str]:
    """A column-name pattern such as ``{question}_{stimulus}`` as a regular expression."""
    names = re.findall(r"\{(\w+)\}", pattern)
    for name in names:
        if name not in allowed:
            raise InputError(f"The pattern '{pattern}' holds {{{name}}}.", suggestion(name, allowed, "It may hold"))
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"The pattern '{pattern}' must hold each of its names once.",
            f"Use one or more of: {', '.join('{' + name + '}' for name in allowed)}.",
        )
    parts = re.split(r"\{\w+\}", pattern)
    out = re.escape(parts[0])
    for number, (name, part) in enumerate(zip(names, parts[1:], strict=True), 1):
        out += f"(?P<{name}>{'.+?' if number < len(names) else '.+'}){re.escape(part)}"
    return re.compile(out)
