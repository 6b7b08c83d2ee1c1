"""Writing the EmoLia files: annotations, users and flags as they were read, byte for byte where possible."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from heartfelt.datasets.emolia.tables import (
    ANNOTATIONS,
    FLAGS,
    SUPERSEDED,
    UNANSWERED,
    USER_COLUMNS,
    USERS,
    EmoliaSubset,
    file_names,
    spelt,
)
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text, with_line_ends
from heartfelt.snapshot import Snapshot

_OURS = ("rater", "stimulus", "question", "value", "answer", "position", "seconds", "at", "repeat", "_intent")


def write_files(snapshot: Snapshot, target: Path, subset: EmoliaSubset) -> None:
    """Write ``annotations.csv``, and ``users.csv`` and ``flags.csv`` where there is something to write."""
    is_own_format = snapshot.source.format == subset.name and ANNOTATIONS in snapshot.source.layout
    layout = snapshot.source.layout if is_own_format else {}
    names = {*layout} if is_own_format else {USERS, *([FLAGS] if "flags" in snapshot.items.columns else [])}
    tables = {ANNOTATIONS: _annotations(snapshot, subset, layout)}
    if USERS in names:
        tables[USERS] = _users(snapshot)
    if FLAGS in names:
        tables[FLAGS] = _flags(snapshot, subset, layout)
    for name, frame in tables.items():
        noted = layout.get(f"{name} columns")
        if noted is not None:
            frame = frame.select(column for column in noted.split("\t") if column in frame.columns)
        write_text(target / name, with_line_ends(csv_text(frame), layout.get(name, "lf")))


def _annotations(snapshot: Snapshot, subset: EmoliaSubset, layout: Mapping[str, str]) -> pl.DataFrame:
    ratings = snapshot.ratings
    if "repeat" in ratings.columns:
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    ledger = snapshot.ledger
    left_out = ledger.filter(pl.col("reason").is_in([SUPERSEDED, UNANSWERED])) if layout else ledger.clear()
    if left_out.height:  # a row that was superseded counts again where the one that replaced it is gone
        key = ["rater", "stimulus", "question"]
        answered = ratings.select(key).unique().with_columns(_answered=pl.lit(True))
        left_out = left_out.join(answered, on=key, how="left", maintain_order="left")
        left_out = left_out.filter((pl.col("reason") == UNANSWERED) | pl.col("_answered")).drop("_answered")
    rows = _in_place(ratings, left_out.drop("what", "reason", "stage"), layout.get(f"{ANNOTATIONS} left out", ""))
    rows = _with_columns(_with_keys(rows, snapshot, subset), snapshot, subset)
    extras = [name for name in rows.columns if name not in {*_OURS, *subset.columns, "file_name"}]
    noted = layout.get(f"{ANNOTATIONS} columns", "").split("\t")
    also = [name for name in ("position",) if name in noted and name in rows.columns]
    return rows.select(*subset.columns, *extras, *also)


def _in_place(ratings: pl.DataFrame, left_out: pl.DataFrame, positions: str) -> pl.DataFrame:
    """All rows; those that do not count where they stood, or first, where nothing can make them count."""
    total = ratings.height + left_out.height
    at = [int(position) for position in positions.split(",") if position]
    if len(at) != left_out.height or (at and max(at) >= total):
        at = list(range(left_out.height))
    free = sorted(set(range(total)) - set(at))
    placed = [
        frame.with_columns(pl.Series("_row", rows, pl.Int64)) for frame, rows in ((ratings, free), (left_out, at))
    ]
    return pl.concat(placed, how="diagonal").sort("_row").drop("_row")


def _with_keys(rows: pl.DataFrame, snapshot: Snapshot, subset: EmoliaSubset) -> pl.DataFrame:
    table: list[tuple[str, ...]] = []
    for name in rows["question"].unique(maintain_order=True):
        about = snapshot.study.question(name).about
        missing = [key for key in subset.keys if key not in about]
        if missing:
            raise InputError(
                f"The question '{name}' has no {missing[0]}, so it cannot be written as {subset.name}.",
                f"Give its questions for_each with {', '.join(subset.keys)}, or choose another format.",
            )
        table.append((name, *(about[key] for key in subset.keys)))
    keys = pl.DataFrame(table, schema=dict.fromkeys(("question", *subset.keys), pl.String), orient="row")
    bare = rows.drop(subset.keys, strict=False)
    return bare.join(keys, on="question", how="left", maintain_order="left")


def _with_columns(rows: pl.DataFrame, snapshot: Snapshot, subset: EmoliaSubset) -> pl.DataFrame:
    """The columns under the names and in the forms of the files; what a source does not know is empty."""
    have = set(rows.columns)
    words = {float(code): word for code, word in enumerate(subset.answers)}
    rating = pl.col("value").replace_strict(words, default=None, return_dtype=pl.String)
    rows = rows.drop("file_name", strict=False).join(
        file_names(snapshot.stimuli), on="stimulus", how="left", maintain_order="left"
    )
    empty = pl.lit(None, pl.String)
    expressions = {
        "annotation_id": pl.format("a{}", pl.int_range(1, pl.len() + 1)),
        "reaction_time_ms": (pl.col("seconds") * 1000).round().cast(pl.Int64) if "seconds" in have else empty,
        "sample_time_ms": empty,
        "created_at": pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S") if "at" in have else empty,
        **dict.fromkeys(subset.further, pl.col("_intent")),
    }
    return rows.with_columns(
        pl.col("rater").alias("username"),
        (pl.coalesce("answer", rating) if "answer" in have else rating).alias("rating"),
        *(expression.alias(name) for name, expression in expressions.items() if name not in have),
    )


def _users(snapshot: Snapshot) -> pl.DataFrame:
    raters = snapshot.raters
    if "in_users_csv" in raters.columns:
        raters = raters.filter(pl.col("in_users_csv").fill_null(False)).drop("in_users_csv")
    frame = spelt(raters).rename({"rater": "username"})
    if "annotation_count" not in frame.columns:
        counted = snapshot.ratings.group_by(pl.col("rater").alias("username")).len("annotation_count")
        frame = frame.join(counted, on="username", how="left", maintain_order="left")
        frame = frame.with_columns(pl.col("annotation_count").fill_null(0))
    missing = [name for name in USER_COLUMNS if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    return frame.select(*USER_COLUMNS, pl.exclude(USER_COLUMNS))


def flags_of(items: pl.DataFrame, keys: tuple[str, ...]) -> list[dict[str, object]]:
    """Every flag of the items with the item's key and file name."""
    flagged = items.filter(pl.col("flags").is_not_null()) if "flags" in items.columns else items.clear()
    return [
        {**flag, **{name: item[name] for name in (*keys, "file_name")}}
        for item in flagged.iter_rows(named=True)
        for flag in json.loads(item["flags"])
    ]


def _flags(snapshot: Snapshot, subset: EmoliaSubset, layout: Mapping[str, str]) -> pl.DataFrame:
    names = file_names(snapshot.stimuli)
    items = snapshot.items.drop("file_name", strict=False)
    rows = flags_of(items.join(names, on="stimulus", how="left", maintain_order="left"), subset.keys)
    order = [int(position) for position in layout.get(f"{FLAGS} order", "").split(",") if position]
    if len(order) == len(rows):
        rows = [row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])]
    columns = dict.fromkeys([*subset.flag_columns, *(name for row in rows for name in row)], pl.String)
    return pl.DataFrame(rows, schema=columns)
