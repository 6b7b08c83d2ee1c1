"""``votes``: one row per item, and a count per category.

Who voted is not known, so each vote becomes a rating without a rater. Statistics that only need the votes of an item
(Fleiss kappa, alpha, label distributions) work; those that need to know who rated what say why they are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError, UnclearColumnError, as_option
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.ratings.described import COMMON_OPTIONS, build, new_names
from heartfelt.formats.tables.columns import NamedTable, distinct_column, id_notes, ids, is_unnamed
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.source_table import SourceTable, compile_pattern, joined_columns
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.scale import AnyScale, Categories, Category, Ordered
from heartfelt.tables import number_types
from heartfelt.wording import listed as join_names

TOTALS = {"n", "total", "votes", "count", "sum", "n_raters", "num_raters", "num_annotators"}
TOTALS |= {"n_votes", "total_votes"}
ITEM = ["stimulus", "question"]


class Votes(Format):
    """A count per category for each item."""

    name = "votes"
    example_data = "example/votes.csv"
    about = "one row per item with a count per category; no raters"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "column of the stimulus id; rows are numbered if there is none",
        "question": "column that names the question, or the name of the only question",
        "categories": "the count columns, with commas; every column of whole numbers that is no total if left out",
        "pattern": "how count columns are named, such as {category}_votes",
        "ordered": "yes if the categories are in order, lowest first",
        "values": "the code of each category, with commas; 0, 1, 2 … if left out",
        **{key: text for key, text in COMMON_OPTIONS.items() if key != "scale"},
    }

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        table = joined_columns(open_source(source, options))
        sheet = table.sheet("item")
        key = table.pick_optional("stimulus") or distinct_column(sheet.frame)
        if key is None:
            key = "item_row"
            sheet = sheet.with_columns(pl.format("item{}", pl.int_range(1, pl.len() + 1)).alias(key))
        question_column = options.get("question", "question")
        named = question_column in sheet and question_column != key
        key_columns = [key, question_column] if named else [key]
        columns = _columns(sheet, key_columns, table)
        sheet.unique(*key_columns, option="stimulus", answers=columns)
        question = pl.col(question_column).cast(pl.String) if named else pl.lit(options.get("question", "category"))
        further_columns = sheet.frame.select(pl.exclude(*key_columns, *columns)).columns
        items = sheet.frame.select(
            ids(sheet[key]).alias("stimulus"),
            question.alias("question"),
            *(pl.col(name).alias(f"source_{name}" if name in ITEM else name) for name in further_columns),
        )
        renamed = new_names(options, items["question"].drop_nulls().unique())
        items = items.with_columns(pl.col("question").replace(renamed))
        scale = _scale(list(columns.values()), options)
        ratings = _ratings(sheet, items, columns, scale)
        stimuli, items = _moved(number_types(items, keep=ITEM))
        return build(
            self.name,
            table,
            source,
            progress,
            stimuli=stimuli,
            scales=dict.fromkeys(items["question"].unique(maintain_order=True), scale),
            notes=[*_id_notes(key, table), *id_notes(sheet[key], "stimulus")],
            ratings=ratings,
            items=items,
            reading=[f"read {key} as stimulus, {join_names(list(columns))} as counts"],
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        ratings = snapshot.ratings.filter(pl.col("value").is_not_null())
        study = snapshot.study
        order = list(dict.fromkeys(name for q in study.asked for name in study.scale_of(q.id).labels().values()))
        code = pl.col("value").cast(pl.String).str.strip_suffix(".0")
        answer = pl.coalesce("answer", code) if "answer" in ratings.columns else code
        ratings = ratings.with_columns(answer.alias("answer"))
        order = order or ratings["answer"].unique().sort().to_list()
        wide = ratings.pivot("answer", index=ITEM, values="value", aggregate_function="len", maintain_order=True)
        wide = wide.with_columns(pl.lit(0).alias(name) for name in order if name not in wide.columns)
        listed = snapshot.table("items")
        if listed.height:
            wide = listed.join(wide, on=ITEM, how="left", maintain_order="left")
        counts = [name for name in wide.columns if name in {*order, *ratings["answer"]}]
        counted = wide.with_columns(pl.col(counts).fill_null(0).cast(pl.Int64))
        write_text(target / "votes.csv", csv_text(counted))


def _id_notes(key: str, table: SourceTable) -> list[str]:
    stated = "stimulus" in table.options or table.pick_optional("stimulus") is not None
    if stated or key not in table.columns:
        return []
    return [
        f"The column '{key}' was taken as the stimulus: each of its cells differs."
        f" Name another with {as_option('stimulus', 'COLUMN')}."
    ]


def _columns(sheet: NamedTable, used_columns: Sequence[str], table: SourceTable) -> dict[str, str]:
    """The count columns, each with the category it counts."""
    frame, options = sheet.frame, table.options
    if "categories" in options:
        columns = {name: name for name in table.names_in("categories")}
        sheet.need(*columns)
    else:
        shape = compile_pattern(options.get("pattern", "{category}_votes"), ["category"])
        unused = frame.drop(used_columns).columns
        columns = {name: match["category"] for name in unused if (match := shape.fullmatch(name))}
        if not columns and "pattern" not in options:
            columns = {name: name for name in _whole_columns(frame, used_columns)}
    if len(columns) < 2:
        raise UnclearColumnError(
            f"{table.where}: fewer than two columns hold counts.",
            f"Name them with {as_option('categories', 'a,b,c')}. The columns are: {', '.join(frame.columns[:30])}.",
        )
    return columns


def _whole_columns(frame: pl.DataFrame, used_columns: Sequence[str]) -> list[str]:
    """The columns of whole numbers that are no totals, neither by name nor by their sums."""
    integer_columns = _integer_columns(frame.drop(used_columns))
    for name, column in integer_columns.items():
        remaining = [other_column for key, other_column in integer_columns.items() if key != name]
        if len(remaining) > 1 and (sum(remaining[1:], remaining[0]) == column).all():
            return [column_name for column_name in integer_columns if column_name != name]
    return list(integer_columns)


def _integer_columns(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns of whole numbers from 0 that are not named like totals."""
    named = (name for name in frame.columns if name.casefold() not in TOTALS and not is_unnamed(name))
    numbers = {name: frame[name].cast(pl.Float64, strict=False) for name in named}
    return {n: c for n, c in numbers.items() if not c.null_count() and ((c >= 0) & (c == c.floor())).all()}


def _ratings(sheet: NamedTable, items: pl.DataFrame, columns: Mapping[str, str], scale: AnyScale) -> pl.DataFrame:
    """One row per vote."""
    counts = [sheet.vote_counts(column).alias(f"\0{category}") for column, category in columns.items()]
    tall = (
        items.select(*ITEM, *counts)
        .unpivot(pl.selectors.starts_with("\0"), index=ITEM, variable_name="answer", value_name="votes")
        .with_columns(pl.col("answer").str.strip_prefix("\0"))
        .filter(pl.col("votes") > 0)
    )
    codes = {name: code for code, name in scale.labels().items()}
    return tall.select(pl.exclude("votes").repeat_by("votes").explode(empty_as_null=False)).select(
        pl.lit(None, dtype=pl.String).alias("rater"),
        *ITEM,
        pl.col("answer").replace_strict(codes, return_dtype=pl.Float64).alias("value"),
        "answer",
    )


def _scale(names: list[str], options: Mapping[str, str]) -> AnyScale:
    stated_values = options.get("values", ",".join(map(str, range(len(names)))))
    values = [float(value) for value in stated_values.split(",")]
    if len(values) != len(names):
        raise InputError(
            f"There are {len(names)} categories and {len(values)} values.", f"Categories: {', '.join(names)}."
        )
    listed: list[Category | str] = [
        name if value == index else Category(id=name, value=value)
        for index, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    if options.get("ordered", "no").lower() in {"yes", "true", "1"}:
        return Ordered(type="ordered", categories=listed)
    return Categories(type="categories", categories=listed)


def _moved(items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Stimuli and items; facts that are the same for all items of a stimulus belong to the stimulus."""
    stimuli = items.select("stimulus").unique(maintain_order=True)
    for name in ("system", "intent", "prompt", "path"):
        if name in items.columns:
            facts = items.select("stimulus", pl.col(name).cast(pl.String)).unique(maintain_order=True)
            if not facts["stimulus"].is_duplicated().any():
                stimuli = stimuli.join(facts, on="stimulus", how="left", maintain_order="left")
                items = items.drop(name)
    return stimuli, items


FORMATS.add(Votes.name, Votes())
