"""``wide``: one row per rater, or per stimulus, and one column per item.

``rows=rater`` (the usual survey export): the columns that fit the pattern hold answers, the others describe the rater. Without
a pattern, names are read as ``wide_names`` says: ``{question}_{stimulus}``, or the other way round where they show it.
``rows=stimulus``: the columns that fit hold one rater's answers each (``{rater}`` or ``{question}_{rater}``); the others
describe the stimulus. An empty cell means no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError, RatingError, UnclearColumnError, as_option, suggestion
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.proposals.wide_names import ColumnSubject, NamesReading, read_names, texts_of
from heartfelt.formats.ratings.described import COMMON_OPTIONS, UNSTATED, build, new_names, stated_scale
from heartfelt.formats.tables.columns import ABOUT_STIMULUS, NamedTable, id_notes, need, number_expr, with_roles_named
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.side_tables import roles_beside, with_people
from heartfelt.formats.tables.source_table import (
    SourceTable,
    compile_pattern,
    joined_columns,
    pick_optional,
    side_table,
)
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.scale import AnyScale, Categories
from heartfelt.tables import number_types

ONE_QUESTION = "rating"
_LONGEST_TEXT = 60


class Wide(Format):
    """One row per rater or stimulus, one column per item."""

    name = "wide"
    example_data = "example/survey.csv"
    about = "one row per rater (or stimulus), one column per item"
    options: ClassVar[Mapping[str, str]] = {
        "rows": "rater or stimulus: what a row is; rater if left out",
        "id": "column of the row's id; rows are numbered if there is none",
        "pattern": "how answer columns are named: {question}_{stimulus}, {stimulus}, {question}_{rater}, {rater}",
        "question": "the name of the only question, where the pattern has no {question}",
        **{
            role: f"column of the {role}, in the table of stimuli or where a row is a stimulus"
            for role in ABOUT_STIMULUS
        },
        "stimuli": "a table of stimuli beside this one",
        "stimuli_id": "the id's column in the table of stimuli",
        "raters": "a table of raters beside this one, such as Prolific's export of demographics",
        "raters_id": "the id's column in the table of raters",
        "rater_columns": "columns that describe the rater although their names look like answers, with commas",
        "stimulus_columns": "columns that describe the stimulus although their names look like answers, with commas",
        **COMMON_OPTIONS,
    }

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        return read_wide(self.name, joined_columns(open_source(source, options)), source, progress)

    def write(self, snapshot: Snapshot, target: Path) -> None:
        ratings = snapshot.ratings
        if ratings["rater"].null_count():
            raise InputError("These ratings do not say who gave them.", "Write them as 'votes' instead.")
        if "repeat" in ratings.columns:
            ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
        answer = pl.col("value").cast(pl.String).str.strip_suffix(".0")
        cell = pl.coalesce("answer", answer) if "answer" in ratings.columns else answer
        item = pl.format("{}_{}", "question", "stimulus")
        tall = ratings.select("rater", item.alias("item"), cell.alias("cell"))
        wide = tall.pivot("item", index="rater", values="cell", maintain_order=True)
        joined = snapshot.raters.join(wide, on="rater", how="left", maintain_order="left")
        write_text(target / "ratings.csv", csv_text(joined))

    def example_options(self) -> Mapping[str, str]:
        return {"scale": "1-7"}


def read_wide(format: str, table: SourceTable, source: Path, progress: Progress | None) -> Snapshot:
    """The snapshot of a table that was opened, with one row per rater or stimulus."""
    options = table.options
    rows = options.get("rows", "rater")
    if rows not in {"rater", "stimulus"}:
        raise InputError(f"rows={rows} is not possible.", suggestion(rows, ["rater", "stimulus"], "A row is a"))
    column_role = "stimulus" if rows == "rater" else "rater"
    named = _facts_of_stimuli(table, rows)
    sheet, notes = _with_id(table, rows)
    read = _cells(sheet.frame, rows, column_role, table)
    cells = list(read.cells)
    described = number_types(sheet.frame.drop(cell.column for cell in cells), keep=[rows])
    ratings, scales = _ratings(sheet, rows, column_role, cells, options)
    names = pl.DataFrame({column_role: list(dict.fromkeys(cell.other for cell in cells))})
    if read.texts.others:
        texts = [read.texts.others.get(name) for name in names[column_role]]
        names = names.with_columns(pl.Series("text", texts, pl.String))
    if read.doubt is not None:
        turned = as_option("pattern", read.turned)
        notes = [
            *notes,
            f"Check which part of '{cells[0].column}' names the {column_role}: {read.doubt}. To turn it round: {turned}.",
        ]
    described = with_roles_named(described, named)
    stimuli, raters = (names, described) if rows == "rater" else (described, names)
    stimuli, raters, about_raters = _with_side_tables(stimuli, raters, table)
    notes = [*notes, *about_raters]
    return build(
        format,
        table,
        source,
        progress,
        stimuli=stimuli,
        scales=scales,
        notes=notes,
        ratings=ratings,
        raters=raters,
        reading=_sentences(read, column_role, table.texts),
        texts=read.texts.questions,
    )


def _facts_of_stimuli(table: SourceTable, rows: str) -> dict[str, str]:
    """The columns about stimuli that options name, with their roles; an error where a row is a rater."""
    listed_roles = roles_beside(table, None)
    roles = [role for role in ABOUT_STIMULUS if role in table.options and role not in listed_roles]
    if roles and rows == "rater":
        raise InputError(
            f"{table.where}: a row is a rater, so '{table.options[roles[0]]}' cannot be the {roles[0]} of a stimulus.",
            f"Name a column of a table of stimuli, and the table with {as_option('stimuli', 'FILE')}.",
        )
    return {table.options[role]: role for role in roles}


def _with_side_tables(
    stimuli: pl.DataFrame, raters: pl.DataFrame, table: SourceTable
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Stimuli and raters with what the tables beside this one say, and notes on raters who did not match."""
    options, notes = table.options, list[str]()
    if "stimuli" in options:
        path = table.path.parent / options["stimuli"]
        listed = side_table(path, "stimulus", options.get("stimuli_id"), options=options)
        stimuli = stimuli.join(listed, on="stimulus", how="full", coalesce=True, maintain_order="left")
    if "raters" in options:
        path = table.path.parent / options["raters"]
        raters, notes = with_people(raters, path, table.path.name, options.get("raters_id"))
    return stimuli, raters, notes


def _with_id(table: SourceTable, rows: str) -> tuple[NamedTable, list[str]]:
    """The table with its id in a column named ``rows``, first, and notes on trimmed ids."""
    frame, key = table.frame(), table.options.get("id")
    if key is not None:
        need(frame, [key], table.where)
    else:
        key = pick_optional(frame.columns, rows, {}, table.where)
        if key is not None and (frame[key].null_count() or frame[key].is_duplicated().any()):
            key = None
    if key != rows and rows in frame.columns:  # not the id: its cells are not unique
        frame = frame.rename({rows: f"source_{rows}"})
    if key is None:
        numbered = pl.format("row{}", pl.int_range(1, pl.len() + 1)).alias(rows)
        return NamedTable(frame.select(numbered, pl.all()), table.where, position=table.position), []
    sheet = NamedTable(frame, table.where, position=table.position).with_ids(key)
    sheet.unique(key, option="id")
    named = sheet.frame.select(pl.col(key).alias(rows), pl.exclude(key))
    return NamedTable(named, table.where, position=table.position), id_notes(frame[key], rows)


def _cells(frame: pl.DataFrame, rows: str, column_role: str, table: SourceTable) -> NamesReading:
    """The columns of answers, by the pattern of their names or, where none is given, as these are usual."""
    options = table.options
    about = map(options.get, ABOUT_STIMULUS)
    described = {rows, *about, *table.names_in("rater_columns", "stimulus_columns")}
    columns = [name for name in frame.columns if name not in described]
    by_pattern = "pattern" in options
    read = (
        _by_pattern(columns, options, column_role, table.texts)
        if by_pattern
        else read_names(columns, table.texts, column_role)
    )
    if read is None or not read.cells:
        pattern = options.get("pattern", f"{{question}}_{{{column_role}}}")
        raise UnclearColumnError(
            f"{table.where}: no column name fits the pattern '{pattern}'.",
            f"Give the pattern with {as_option('pattern', '…')}. The columns are: {', '.join(frame.columns[:20])}.",
        )
    renamed = new_names(options, {cell.question for cell in read.cells})
    cells = tuple(replace(cell, question=renamed.get(cell.question, cell.question)) for cell in read.cells)
    _no_demographics(frame, list(cells), rows, table)
    questions = {renamed.get(name, name): text for name, text in read.texts.questions.items()}
    return replace(read, cells=cells, texts=read.texts._replace(questions=questions))


def _by_pattern(
    columns: Sequence[str], options: Mapping[str, str], column_role: str, texts: Mapping[str, str]
) -> NamesReading:
    pattern = options["pattern"]
    shape = compile_pattern(pattern, ["question", column_role])
    only = options.get("question", ONE_QUESTION)
    cells: list[ColumnSubject] = []
    for column in columns:
        match = shape.fullmatch(column)
        if match is not None:
            parts = match.groupdict()
            question, name = parts.get("question") or only, parts.get(column_role) or ONE_QUESTION
            cells.append(ColumnSubject(column=column, question=question, other=name))
    return NamesReading(cells=tuple(cells), pattern=pattern, texts=texts_of(cells, texts))


def _sentences(read: NamesReading, column_role: str, texts: Mapping[str, str]) -> list[str]:
    """How the first columns were understood: ``read Q3_1 as question Q3, stimulus 1: 'How pleasant …'``."""
    first = [read.cells[0]]
    for attribute in ("other", "question"):  # one where the stimulus changes, and one where the question does
        first += [c for c in read.cells if getattr(c, attribute) != getattr(first[0], attribute)][:1]
    return [
        f"read {cell.column} as question {cell.question}, {column_role} {cell.other}"
        + (f": '{_shortened(texts[cell.column])}'" if texts.get(cell.column) else "")
        for cell in dict.fromkeys(first)
    ]


def _shortened(text: str) -> str:
    return (
        text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT // 2 - 1]} … {text[-_LONGEST_TEXT // 2 + 2 :]}"
    )


def _no_demographics(frame: pl.DataFrame, cells: list[ColumnSubject], rows: str, table: SourceTable) -> None:
    """Ask where a column that is named like an answer holds something else, such as ``birth_year`` or ``age_1``."""
    groups: dict[str, list[ColumnSubject]] = {}
    for cell in cells:
        groups.setdefault(cell.question, []).append(cell)
    for question, group in groups.items():
        problem = _misfit(frame, question, groups, table.options)
        if problem:
            columns = ",".join(cell.column for cell in group[:5])
            raise InputError(
                f"{table.where}: the column '{group[0].column}' is named like an answer to a question '{question}', but {problem}.",
                f"If it describes the {rows}, say so: {as_option(f'{rows}_columns', columns)}. If it holds answers, state"
                f" their scale: {as_option(f'scale.{question}', '…')}.",
            )


def _misfit(
    frame: pl.DataFrame, question: str, groups: Mapping[str, list[ColumnSubject]], options: Mapping[str, str]
) -> str | None:
    """Why these columns do not look like answers, if they do not; a scale stated for this question settles it."""
    if f"scale.{question}" in options:
        return None
    group = groups[question]
    elsewhere = {cell.other for name, cells in groups.items() if name != question for cell in cells}
    if len(group) == 1 < max(map(len, groups.values())) and group[0].other not in elsewhere:
        return f"no other question is asked about '{group[0].other}'"
    scale = stated_scale(question, options)
    if scale is None or scale.level != "interval" or len(groups) == 1:
        return None
    return _off_scale(frame, [cell.column for cell in group], scale.bounds())


def _off_scale(frame: pl.DataFrame, columns: Sequence[str], limits: tuple[float, float] | None) -> str | None:
    """The first column most of whose cells are not on the scale, in words."""
    if limits is None:
        return None
    for column in columns:
        values = frame.select(number_expr(column)).to_series()
        unread = values.is_null() & frame[column].is_not_null()
        off_scale = unread | ~values.is_between(*limits).fill_null(True)
        if int(off_scale.sum()) > off_scale.len() / 2:
            return f"'{frame[column][0]}' is not on the scale from {limits[0]:g} to {limits[1]:g}"
    return None


def _ratings(
    sheet: NamedTable, rows: str, column_role: str, cells: list[ColumnSubject], options: Mapping[str, str]
) -> tuple[pl.DataFrame, dict[str, AnyScale]]:
    tables: list[pl.DataFrame] = []
    scales: dict[str, AnyScale] = {}
    for question in dict.fromkeys(cell.question for cell in cells):
        subject_of = {cell.column: cell.other for cell in cells if cell.question == question}
        scale = stated_scale(question, options) or _categories(sheet.frame.select(list(subject_of)))
        scales[question] = scale or UNSTATED
        in_words = scale is not None and scale.level in {"nominal", "ordinal", "text"}
        answers = sheet.frame.select(
            rows, *(pl.col(name).cast(pl.String) if in_words else sheet.numbers(name) for name in subject_of)
        )
        tall = answers.unpivot(list(subject_of), index=rows, variable_name="column", value_name="given")
        tall = tall.drop_nulls("given").with_columns(
            pl.col("column").replace_strict(subject_of, return_dtype=pl.String).alias(column_role),
            pl.lit(question).alias("question"),
        )
        tables.append(_coded(tall, scales[question], sheet.where))
    return pl.concat(tables, how="diagonal"), scales


def _categories(answers: pl.DataFrame) -> Categories | None:
    """The categories of answers that are words throughout, and not always the same word."""
    words = [c.drop_nulls() for c in answers if c.dtype == pl.String]
    if not words or not all(cells.cast(pl.Float64, strict=False).is_null().all() for cells in words):
        return None
    distinct = pl.concat(words).unique().sort().to_list()
    return Categories(type="categories", categories=distinct) if len(distinct) > 1 else None


def _coded(tall: pl.DataFrame, scale: AnyScale, where: str) -> pl.DataFrame:
    if tall.schema["given"].is_numeric():
        return tall.select("rater", "stimulus", "question", pl.col("given").alias("value"))
    coded: dict[str, tuple[float | None, str | None]] = {}
    for answer in tall["given"].unique(maintain_order=True):
        try:
            coded[answer] = scale.read(answer)
        except InputError as error:
            row = tall.filter(pl.col("given") == answer).row(0, named=True)
            raise RatingError.about(
                {**row, "value": answer},
                f"{where}, column '{row['column']}', rater '{row['rater']}': {error.problem}",
                error.fix,
            ) from error
    return tall.select("rater", "stimulus", "question").with_columns(
        pl.Series("value", [coded[answer][0] for answer in tall["given"]], dtype=pl.Float64),
        pl.Series("answer", [coded[answer][1] for answer in tall["given"]], dtype=pl.String),
    )


FORMATS.add(Wide.name, Wide())
