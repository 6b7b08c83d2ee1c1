"""``webmushra``: results of webMUSHRA, a file per kind of page, and tables of MUSHRA grades with similar columns.

| page | columns | read as |
|---|---|---|
| mushra | ``rating_stimulus, rating_score`` | grades 0 to 100 of the conditions of a trial, sets of type ``mushra`` |
| paired_comparison | ``choice_reference, choice_non_reference, choice_answer`` | sets of type ``abx``: recognised or not |
| preference_test | ``choice_a, choice_b, choice_answer`` and the like | sets of type ``ab``: which was chosen |
| bs1116 | ``rating_reference, rating_non_reference`` and a score for each | grades 1 to 5 of both, sets of type ``mushra`` |
| likert (lms, lss) | ``stimuli, stimuli_rating`` | ratings of one stimulus |

A stimulus is a condition in a trial. Versions differ in the columns between the test's id and the trial's: those describe
the listener, who is ``session_uuid`` where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.ratings.described import COMMON_OPTIONS, build
from heartfelt.formats.ratings.set_rows import ROW, occurrence
from heartfelt.formats.ratings.webmushra_pages import read_page, require_roles
from heartfelt.formats.tables.columns import NamedTable, ids, need
from heartfelt.formats.tables.delimited import header_of
from heartfelt.formats.tables.source_table import SourceTable, locate, open_table
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.tables import number_types

NAMES: Mapping[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "test": "session_test_id testname test_name test test_id testid",
        "rater": "session_uuid uuid listener listener_id rater subject subject_id participant participant_id assessor user",
        "trial": "trial_id trial item page trialid",
        "condition": "rating_stimulus condition stimulus stimuli system codec",
        "score": "rating_score ratingscore score grade rating",
        "seconds": "rating_time choice_time time",
        "comment": "rating_comment choice_comment comment",
    }.items()
}
"""Usual names of the column that plays each role, in the order they are tried."""


class WebMushra(Format):
    """Results of webMUSHRA and of tables like them."""

    name = "webmushra"
    example_data = "example/mushra.csv"
    about = "results of webMUSHRA (MUSHRA, paired comparison, BS.1116, Likert), and tables like them"
    writes = False
    options: ClassVar[Mapping[str, str]] = {
        "test": "column of the test's id",
        "rater": "column of the listener; the session's uuid, or the columns about the listener, if left out",
        "trial": "column of the trial",
        "condition": "column of the condition that was graded",
        "score": "column of the grade",
        "conditions": "columns of grades, with commas, where each condition has a column of its own",
        "hidden_reference": "the condition that is the reference; reference, orig and the like if left out",
        "low_anchors": "conditions that are anchors, with commas; those with anchor in their name if left out",
        **COMMON_OPTIONS,
    }

    def recognises(self, source: Path) -> bool:
        if not source.is_file() or source.suffix.lower() not in {".csv", ".tsv", ".txt"}:
            return False
        have = {name.casefold() for name in header_of(source)}
        ours = "session_test_id" in have and "trial_id" in have
        like = have >= {"listener", "trial", "condition"} and bool(have & {"ratingscore", "score", "grade", "rating"})
        return ours or like

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        path = locate(source, ("mushra.csv", "results.csv"), {".csv", ".tsv", ".txt", ".parquet"})
        # Addresses of listeners are dropped from the table of raters below; here they may be all that names a listener.
        table = replace(open_table(path, {**options, "personal": "keep"}), options=options)
        return read_pages(self.name, table, source, progress)


def read_pages(format: str, table: SourceTable, source: Path, progress: Progress | None) -> Snapshot:
    """The snapshot of a table that was opened, with the columns of a webMUSHRA page."""
    options = table.options
    graded = _by_row(table) if "conditions" in options else table
    sheet = replace(graded.sheet("grade"), position=table.position)
    if graded is not table:  # one row of the file for each condition
        table, rows = graded, sheet.frame.height // len(table.names_in("conditions"))
        sheet = replace(sheet, position=lambda row: graded.position(row % rows))
    roles = _roles(table)
    frame, raters, notes = _listeners(sheet, roles, table)
    sheet = replace(sheet, frame=frame)
    page = read_page(sheet, roles, options)
    stimuli = page.ratings.select("stimulus", "system", "prompt").unique("stimulus", maintain_order=True)
    return build(
        format,
        table,
        source,
        progress,
        stimuli=stimuli,
        scales=page.scales,
        notes=[*notes, *page.notes],
        sets=page.sets,
        ratings=page.ratings.drop("system", "prompt", ROW, strict=False),
        raters=raters,
        ledger=page.ledger,
    )


def _by_row(table: SourceTable) -> SourceTable:
    """The table with a row per grade, from a column for each condition."""
    conditions = table.names_in("conditions")
    need(table.columns, conditions, table.where)
    index = [name for name in table.columns if name not in conditions]
    texts = table.rows.with_columns(pl.col(conditions).cast(pl.String))
    names = {"variable_name": "rating_stimulus", "value_name": "rating_score"}
    return replace(table, rows=texts.unpivot(conditions, index=index, **names), delimited=None)


def _roles(table: SourceTable) -> dict[str, str]:
    columns, options = table.columns, table.options
    folded = {column.strip().casefold(): column for column in reversed(columns)}
    out: dict[str, str] = {}
    for role, usual in NAMES.items():
        if role in options:
            need(columns, [options[role]], table.where)
        candidates = [options[role]] if role in options else map(folded.get, usual)
        column = next((name for name in candidates if name not in {None, *out.values()}), None)
        if column is not None:
            out[role] = column
    require_roles(out, ("trial",), columns, table.where)
    return out


def _listeners(
    sheet: NamedTable, roles: Mapping[str, str], table: SourceTable
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The rows with ``rater``, what is known of raters, and notes on how they were distinguished."""
    frame = sheet.frame
    columns = frame.columns
    start = columns.index(roles["test"]) + 1 if "test" in roles else len(columns)
    between = columns[start : columns.index(roles["trial"])]
    about = [name for name in between if name not in roles.values()]
    public = open_table(table.path, table.options).columns if about else []
    personal = [name for name in about if name not in public]
    rater, notes = _rater_of_rows(frame, roles, about)
    shown = [name for name in about if name not in personal]
    if personal:
        notes.append(f"Columns with personal data were dropped: {', '.join(personal)}.")
    frame = frame.drop(roles.get("rater", ""), strict=False).with_columns(rater)
    free = {name: f"source_{name}" for name in shown if name == "rater"}
    raters = frame.select(
        "rater", *(pl.col(name).alias(free.get(name, name)) for name in shown if name in frame.columns)
    )
    raters = number_types(raters.drop_nulls("rater").unique("rater", keep="first", maintain_order=True), keep=["rater"])
    return frame.drop(about, strict=False), raters, notes


def _rater_of_rows(frame: pl.DataFrame, roles: Mapping[str, str], about: list[str]) -> tuple[pl.Series, list[str]]:
    """Who gave each row: by id, by the columns ``about`` the listener, or by how often trial and condition have come."""
    if "rater" in roles:
        return ids(frame[roles["rater"]]).alias("rater"), []
    if about:
        listener_ranks = frame.select(about).select(pl.struct(about).rank("dense")).to_series()
        order = listener_ranks.unique(maintain_order=True).to_list()
        names = {number: f"listener{position}" for position, number in enumerate(order, 1)}
        rater = listener_ranks.replace_strict(names, return_dtype=pl.String).alias("rater")
        note = f"Listeners were distinguished by {', '.join(about)}; they are numbered in order of appearance."
        return rater, [note]
    key = [roles[role] for role in ("test", "trial", "condition") if role in roles]
    if len(key) < 2:
        key = [name for name in frame.columns if name not in {roles.get("seconds"), roles.get("comment")}]
    rater = frame.select(pl.format("listener{}", occurrence(*key) + 1).alias("rater")).to_series()
    return rater, ["No column names the listener: every time a trial and condition come again is another listener."]


FORMATS.add(WebMushra.name, WebMushra())
