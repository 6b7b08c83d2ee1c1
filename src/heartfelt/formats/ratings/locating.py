"""Where in a table a rating stands that cannot be used: its line, found again by what the rating says.

Ratings lose their lines on the way into a snapshot, and get them back only when an error needs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, RatingError, as_option
from heartfelt.formats.proposals.roles import NO_RATER
from heartfelt.formats.tables.columns import advice_on_doubled, number_expr
from heartfelt.formats.tables.source_table import (
    ROW_NUMBER,
    SourceTable,
    joined_columns,
    locate,
    named_parts,
    open_table,
)
from heartfelt.tables import row_sum
from heartfelt.wording import listed

_MOST_LINES = 4
_MOST_ROWS = 200_000
"""Rows that advice on repeated ratings rests on."""


def with_lines(error: RatingError, source: Path, options: Mapping[str, str]) -> RatingError:
    """The same error, with the lines of the rating it is about where its table can be read again."""
    try:
        opening = {**options, "personal": "keep"}
        table = named_parts(joined_columns(open_table(locate(source), opening, numbered=True)))
        rows = _matching_rows(table, error)
    except (InputError, pl.exceptions.PolarsError):
        return error
    if not rows:
        return error
    positions = [table.place_of(row) for row in rows[:_MOST_LINES]]
    kind = positions[0].split()[0]
    numbers = listed([position.split()[1] for position in positions])
    words = f"{kind} {numbers}" if len(positions) == 1 else f"{kind}s {numbers}"
    fix = error.fix
    if error.rating.get("value") is None and len(rows) > 1:
        fix = _advice(table) or fix
    out = RatingError(f"{error.problem.rstrip('.')} ({words}).", fix)
    out.rating = error.rating
    return out


def _advice(table: SourceTable) -> str:
    """What to do about ratings that are there more than once: the column that tells them apart, if there is one."""
    roles = {role: table.pick_optional(role) for role in ("stimulus", "rater", "question")}
    keys = [name for role, name in roles.items() if name is not None and table.options.get(role) != NO_RATER]
    if roles["stimulus"] is None or len(keys) < 2:
        return ""
    rows = table.rows.drop(ROW_NUMBER).head(_MOST_ROWS).collect()
    answers = table.names_in("value") or [table.pick_optional("value") or ""]
    repeats = f"If they are repeated presentations: {as_option('repeat', 'order')}."
    return f"{advice_on_doubled(rows, keys, 'stimulus', answers)} {repeats}"


def _matching_rows(table: SourceTable, error: RatingError) -> list[int]:
    """The rows that hold the rating: its answer, and as many as can be of rater, stimulus and question."""
    columns = [
        name for name, dtype in table.rows.collect_schema().items() if name != ROW_NUMBER and not dtype.is_nested()
    ]
    texts = {name: pl.col(name).cast(pl.String).str.strip_chars().str.replace(r"^(\d+)\.0$", "$1") for name in columns}
    facts = error.rating
    points: list[pl.Expr] = []
    for role in ("rater", "stimulus", "question"):
        wanted = facts.get(role)
        if wanted is not None:
            points.append(pl.any_horizontal(text == str(wanted) for text in texts.values()).cast(pl.Int64))
    value, question = facts.get("value"), facts.get("question")
    answer = _holds_answer(value, {str(question): texts[str(question)]} if question in columns else texts)
    scored = table.rows.filter(answer.fill_null(False)).select(ROW_NUMBER, points=row_sum(points))
    best = scored.collect().filter(pl.col("points") == pl.col("points").max())[ROW_NUMBER].to_list()
    return best[:1] if value is not None else best


def _holds_answer(value: object, texts: Mapping[str, pl.Expr]) -> pl.Expr:
    """Whether one of these columns holds the answer; true where none is known."""
    if isinstance(value, float):
        return pl.any_horizontal(number_expr(name) == value for name in texts)
    if value is not None:
        return pl.any_horizontal(text == str(value) for text in texts.values())
    return pl.lit(True)
