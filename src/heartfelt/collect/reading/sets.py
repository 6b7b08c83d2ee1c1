"""What was answered about sets, with a row for every judged member; and traces."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import Connection

from heartfelt.collect.reading.tables import query, ratings
from heartfelt.collect.store.tables import unpacked
from heartfelt.errors import InputError
from heartfelt.study import Study
from heartfelt.study.scales.set_scale import SetScale
from heartfelt.tables import TRACES

_NEW = {
    "stimulus": pl.String, "value": pl.Float64, "answer": pl.String, "heard": pl.Float64, "set": pl.String,
    "place": pl.Int64, "role": pl.String,
}  # fmt: skip


class _Member(NamedTuple):
    place: int
    stimulus: str
    role: str
    kind: str
    heard: float | None


def ratings_by_stimulus(
    connection: Connection, study: Study, quota: int | None, common: Sequence[str] = ()
) -> pl.DataFrame:
    """Every answer to every question about every stimulus; see :func:`tables.ratings` and :func:`with_members`."""
    answered = ratings(connection, quota, common)
    return answered if study.sets is None else with_members(connection, answered, study)


def with_members(connection: Connection, answered: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Answers about sets with a row per judged member, with ``set``, ``place`` and ``role``.

    An ABX trial has one row: the stimulus that X was, the place at which it was presented as A or B, and whether it was
    matched (1) or not (0). An answer that the question's scale does not read has no value.
    """
    members: defaultdict[int, list[_Member]] = defaultdict(list)
    for trial, *about in connection.exec_driver_sql(
        "SELECT trial, place, stimulus, role, kind, heard FROM members ORDER BY trial, place"
    ):
        members[trial].append(_Member(*about))
    scales = {question.id: study.scale_of(question.id) for question in study.asked}
    rows: list[int] = []
    new: list[tuple[Any, ...]] = []
    columns = answered.select("trial", "question", "stimulus", "value", "answer", "heard")
    for row, (trial, question, stimulus, value, answer, heard) in enumerate(columns.iter_rows()):
        if trial not in members:
            rows.append(row)
            new.append((stimulus, value, answer, heard, None, None, None))
            continue
        shown, scale = members[trial], scales.get(question)
        judged = [member for member in shown if member.kind == "judged"]
        values: Sequence[float | None] = [value] * len(judged)
        if isinstance(scale, SetScale):
            values, answer = _values(scale, answer, len(judged)), None
        target = next((member for member in shown if member.kind == "x"), None)
        if target is not None:
            position = next(m.place for m in judged if m.stimulus == target.stimulus)
            judged, values = [target._replace(place=position, role="x")], [values[position - 1]]
        for member, member_value in zip(judged, values, strict=True):
            rows.append(row)
            new.append((member.stimulus, member_value, answer, member.heard, stimulus, member.place, member.role))
    return answered[rows].with_columns(pl.DataFrame(new, schema=_NEW, orient="row").get_columns())


def _values(scale: SetScale, answer: str | None, members: int) -> Sequence[float | None]:
    try:
        return scale.read_set(json.loads(answer or "null"), members)
    except (InputError, ValueError):
        return [None] * members


def traces(connection: Connection, answered: pl.DataFrame) -> pl.DataFrame | None:
    """The traces behind the answers in a table of ratings; None if there are none."""
    table = query(
        connection,
        "trial integer, question text, samples text, rate real, start real, away real",
        "FROM traces ORDER BY trial, question",
    )
    about = answered.select("trial", "question", "rater", "stimulus", "repeat")
    table = about.join(table, on=["trial", "question"], how="inner", maintain_order="left")
    if not table.height:
        return None
    # Traces of the same length would become arrays of that length.
    samples = pl.Series("samples", [unpacked(text) for text in table["samples"]]).cast(pl.List(pl.Float32))
    return table.with_columns(samples).select(TRACES.names)
