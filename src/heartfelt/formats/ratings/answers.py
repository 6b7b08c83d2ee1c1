"""Answers that are not one number per cell: lists of several answers, and answers in words.

A cell may hold ``[3, 4, 5]`` of raters nobody knows, or ``["calm", "sad"]`` as a set of tags. Answers in words get the code
of their category, and a question whose scale nobody stated gets one from its answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from heartfelt.errors import InputError, RatingError, as_option
from heartfelt.formats.proposals.roles import NO_RATER
from heartfelt.formats.ratings.described import UNSTATED
from heartfelt.formats.tables.source_table import SourceTable
from heartfelt.snapshot.snapshot import Spooled, spool
from heartfelt.study.scales.answer import NONE
from heartfelt.study.scales.scale import AnyScale, Categories, Category, FreeText, Tags

MOST_CATEGORIES = 60
"""Distinct answers in words above which a question has free text, not categories."""


def single_answers(table: SourceTable, values: Sequence[str], *, known_raters: bool) -> tuple[SourceTable, Tags | None]:
    """The table with one answer per row: numbers become a row each, words become tags, whose scale is returned."""
    lists = _list_cells(table.rows, values)
    if not lists:
        return table, None
    if not all(lists.values()):
        tags = Tags(type="tags")
        rows = table.rows.with_columns(_cells(name, pl.String()).list.join(tags.separator) for name in lists)
        return replace(table, rows=rows, delimited=None), tags
    if known_raters:
        raise InputError(
            f"{table.path}: the column '{next(iter(lists))}' holds several numbers per cell, but a rater gives one"
            " answer per row.",
            f"Write one answer per row, or state that the raters are unknown with {as_option('rater', NO_RATER)}.",
        )
    try:
        rows = table.rows.with_columns(_cells(name, pl.Float64()) for name in lists).explode(list(lists))
        rows = rows.collect().lazy()
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{table.path}: the lists in {', '.join(lists)} differ in length within a row.",
            "Read one of these columns at a time.",
        ) from error
    return replace(table, rows=rows, delimited=None), None


def _list_cells(rows: pl.LazyFrame, values: Sequence[str]) -> dict[str, bool]:
    """The columns whose cells are lists, each with whether they are lists of numbers."""
    schema = rows.collect_schema()
    out: dict[str, bool] = {}
    for name in values:
        dtype = schema[name]
        if isinstance(dtype, pl.List):
            out[name] = dtype.inner.is_numeric()
        elif dtype == pl.String:
            cells = rows.select(pl.col(name).drop_nulls().str.strip_chars()).head(2000).collect()[name]
            if cells.len() and cells.str.contains(r"^\[.*\]$").all():
                parts = cells.str.extract_all(r"[^\[\],]+").explode().str.strip_chars(" '\"").drop_nulls()
                out[name] = parts.cast(pl.Float64, strict=False).is_not_null().all()
    return out


def _cells(name: str, inner: pl.DataType) -> pl.Expr:
    """A column of lists, or of text such as ``[1, 2]`` or ``["a", "b"]``, as lists."""
    return pl.col(name).map_batches(lambda cells: _as_lists(cells, inner), return_dtype=pl.List(inner))


def _as_lists(cells: pl.Series, inner: pl.DataType) -> pl.Series:
    if cells.dtype == pl.String:
        parts = cells.str.strip_chars().str.strip_chars("[]").str.split(",")
        cells = parts.list.eval(pl.element().str.strip_chars(" '\"").replace("", None)).list.drop_nulls()
    return cells.cast(pl.List(inner), strict=False)


def coded_answers(
    spooled: Spooled, stated: Mapping[str, AnyScale | None], where: str
) -> tuple[Spooled, dict[str, AnyScale]]:
    """Answers in words get the code of their category; a question answered in numbers and in words is a mistake."""
    lazy = spooled.lazy()
    if "answer" not in lazy.collect_schema():
        return spooled, {question: scale or UNSTATED for question, scale in stated.items()}
    words = (
        lazy.filter(pl.col("answer").is_not_null() & (pl.col("answer") != NONE))
        .group_by("question", "answer")
        .agg(pl.len(), pl.col("value").min().alias("code"), (pl.col("value").n_unique() == 1).alias("coded"))
        .sort("question", "answer")
        .collect()
    )
    scales: dict[str, AnyScale] = {}
    codes: list[pl.DataFrame] = []
    for question, facts in spooled.survey.questions.items():
        question_words = words.filter(pl.col("question") == question)
        scale = stated[question] or _own_codes(question_words)
        if scale is None and question_words.height and facts.low is not None:
            _raise_mixed(lazy, question, question_words["answer"][0], where)
        scales[question] = scale or _scale_of_words(question_words["answer"].to_list())
        if question_words.height and _needs_codes(scales[question], question_words):
            codes.append(_codes(question_words, scales[question], where))
    if not codes:
        return spooled, scales
    table = pl.concat(codes).lazy()
    recoded = lazy.join(table, on=["question", "answer"], how="left", maintain_order="left")
    recoded = recoded.with_columns(pl.coalesce("value", "code").alias("value")).drop("code")
    return spool(recoded, where), scales


def _scale_of_words(words: list[str]) -> AnyScale:
    """The scale of a question about which nothing is known but these answers."""
    if not words:
        return UNSTATED
    if 2 <= len(words) <= MOST_CATEGORIES:
        return Categories(type="categories", categories=[*words])
    return FreeText(type="text")


def _needs_codes(scale: AnyScale, words: pl.DataFrame) -> bool:
    """Whether answers in words need their numbers: those of comparisons may come with them, texts have none."""
    return scale.level != "text" and (scale.level != "comparison" or words["code"].null_count() > 0)


def _codes(words: pl.DataFrame, scale: AnyScale, where: str) -> pl.DataFrame:
    codes = []
    for row in words.iter_rows(named=True):
        try:
            codes.append(scale.read(row["answer"])[0])
        except InputError as error:
            raise RatingError.about(
                {"question": row["question"], "value": row["answer"]},
                f"{where}: {row['len']} answers to '{row['question']}' are '{row['answer']}'. {error.problem}",
                error.fix,
            ) from error
    return words.select("question", "answer", pl.Series("code", codes, pl.Float64))


def _own_codes(words: pl.DataFrame) -> Categories | None:
    """The categories of a table that gives each answer in words and as its code, as this format writes it."""
    codes = words["code"]
    if words.height < 2 or codes.null_count() or not words["coded"].all() or codes.is_duplicated().any():
        return None
    listed: list[Category | str] = [
        Category(id=row["answer"], value=row["code"]) for row in words.sort("code").iter_rows(named=True)
    ]
    return Categories(type="categories", categories=listed)


def _raise_mixed(lazy: pl.LazyFrame, question: str, answer: str, where: str) -> None:
    same = (pl.col("question") == question) & (pl.col("answer") == answer)
    row = lazy.filter(same).head(1).collect().row(0, named=True)
    raise RatingError.about(
        {**row, "value": answer},
        f"{where}: the answers to '{question}' are numbers, but rater '{row['rater']}' answered '{answer}' on stimulus"
        f" '{row['stimulus']}'.",
        f"Correct the cell, leave it empty where there is no answer, or state the scale with {as_option('scale', '…')}.",
    )
