"""Writing the EmoLia files: annotations, users and flags as they were read, byte for byte where possible."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.datasets.emolia.reader import (
    ANNOTATIONS,
    FLAGS,
    SUPERSEDED,
    UNANSWERED,
    USER_COLUMNS,
    USERS,
    Subset,
)
from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text, with_line_ends
from heartfelt.snapshot import Snapshot

_OURS = ("rater", "stimulus", "question", "value", "answer", "position", "seconds", "at", "repeat")


def write_files(snapshot: Snapshot, target: Path, subset: Subset) -> None:
    """Write ``annotations.csv``, and ``users.csv`` and ``flags.csv`` where there is something to write."""
    own = snapshot.source.format == subset.name and ANNOTATIONS in snapshot.source.layout
    layout = snapshot.source.layout if own else {}
    tables = {ANNOTATIONS: _annotations(snapshot, subset, layout)}
    if not own or USERS in layout:
        tables[USERS] = _users(snapshot)
    if FLAGS in layout or (not own and "flags" in snapshot.items.columns):
        tables[FLAGS] = _flags(snapshot, subset, layout)
    for name, frame in tables.items():
        noted = layout.get(f"{name} columns")
        if noted is not None:
            frame = frame.select(column for column in noted.split("\t") if column in frame.columns)
        write_text(target / name, with_line_ends(csv_text(frame), layout.get(name, "lf")))


def _annotations(snapshot: Snapshot, subset: Subset, layout: Mapping[str, str]) -> pl.DataFrame:
    ratings = snapshot.ratings
    if "repeat" in ratings.columns:
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    ledger = snapshot.ledger
    left = ledger.filter(pl.col("reason").is_in([SUPERSEDED, UNANSWERED])) if layout else ledger.clear()
    if left.height:
        key = ["rater", "stimulus", "question"]
        answered = ratings.select(key).unique().with_columns(_answered=pl.lit(True))
        left = left.join(answered, on=key, how="left", maintain_order="left")
        left = left.filter((pl.col("reason") == UNANSWERED) | pl.col("_answered").fill_null(False)).drop(
            "_answered"
        )
    rows = _in_place(ratings, left.drop("what", "reason", "stage"), layout.get(f"{ANNOTATIONS} left out", ""))
    rows = _spelt(_with_keys(rows, snapshot, subset), snapshot, subset)
    extras = [name for name in rows.columns if name not in {*_OURS, *subset.columns, "file_name"}]
    noted = layout.get(f"{ANNOTATIONS} columns", "").split("\t")
    also = [name for name in ("position",) if name in noted and name in rows.columns]
    return rows.select(*subset.columns, *extras, *also)


def _in_place(ratings: pl.DataFrame, left: pl.DataFrame, places: str) -> pl.DataFrame:
    """All rows; those that do not count where they stood, or first, where nothing can make them count."""
    total = ratings.height + left.height
    at = [int(place) for place in places.split(",") if place]
    if len(at) != left.height or (at and max(at) >= total):
        at = list(range(left.height))
    taken = set(at)
    free = [place for place in range(total) if place not in taken]
    ratings = ratings.with_columns(pl.Series("_row", free, pl.Int64))
    left = left.with_columns(pl.Series("_row", at, pl.Int64))
    return pl.concat([ratings, left], how="diagonal").sort("_row").drop("_row")


def _with_keys(rows: pl.DataFrame, snapshot: Snapshot, subset: Subset) -> pl.DataFrame:
    table: list[dict[str, str]] = []
    for name in rows["question"].unique(maintain_order=True):
        about = snapshot.study.question(name).about
        missing = [key for key in subset.keys if key not in about]
        if missing:
            raise InputError(
                f"The question '{name}' has no {missing[0]}, so it cannot be written as {subset.name}.",
                f"Give its questions for_each with {', '.join(subset.keys)}, or choose another format.",
            )
        table.append({"question": name, **{key: about[key] for key in subset.keys}})
    keys = pl.DataFrame(table, schema=dict.fromkeys(("question", *subset.keys), pl.String))
    return rows.drop([key for key in subset.keys if key in rows.columns]).join(
        keys, on="question", how="left", maintain_order="left"
    )


def _spelt(rows: pl.DataFrame, snapshot: Snapshot, subset: Subset) -> pl.DataFrame:
    """The columns under the names and in the forms of the files; what a source does not know is empty."""
    have = set(rows.columns)
    words = {float(code): word for code, word in enumerate(subset.answers)}
    rating = pl.col("value").replace_strict(words, default=None, return_dtype=pl.String)
    stimuli = snapshot.stimuli
    files = stimuli.select(
        "stimulus", pl.col("file_name" if "file_name" in stimuli.columns else "stimulus").alias("file_name")
    )
    if subset.further and not have.issuperset(subset.further):
        intent = pl.col("intent") if "intent" in stimuli.columns else pl.lit(None, pl.String)
        files = files.with_columns(stimuli.select(intent.alias(name)).to_series() for name in subset.further)
    rows = rows.drop("file_name", strict=False).join(files, on="stimulus", how="left", maintain_order="left")
    empty = pl.lit(None, pl.String)
    seconds = (pl.col("seconds") * 1000).round().cast(pl.Int64) if "seconds" in have else empty
    moment = pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S") if "at" in have else empty
    made = {
        "annotation_id": pl.format("a{}", pl.int_range(1, pl.len() + 1)),
        "reaction_time_ms": seconds,
        "sample_time_ms": empty,
        "created_at": moment,
    }
    return rows.with_columns(
        pl.col("rater").alias("username"),
        (pl.coalesce("answer", rating) if "answer" in have else rating).alias("rating"),
        *(expression.alias(name) for name, expression in made.items() if name not in have),
    )


def _users(snapshot: Snapshot) -> pl.DataFrame:
    raters = snapshot.raters
    if "in_users_csv" in raters.columns:
        raters = raters.filter(pl.col("in_users_csv").fill_null(False)).drop("in_users_csv")
    truth = [
        pl.col(name).replace_strict({True: "True", False: "False"}, return_dtype=pl.String)
        for name, kind in raters.schema.items()
        if kind == pl.Boolean
    ]
    frame = raters.with_columns(truth).rename({"rater": "username"})
    if "annotation_count" not in frame.columns:
        counted = snapshot.ratings.group_by(pl.col("rater").alias("username")).len("annotation_count")
        frame = frame.join(counted, on="username", how="left", maintain_order="left").with_columns(
            pl.col("annotation_count").fill_null(0)
        )
    frame = frame.with_columns(
        pl.lit(None, pl.String).alias(name) for name in USER_COLUMNS if name not in frame.columns
    )
    return frame.select(*USER_COLUMNS, *(name for name in frame.columns if name not in USER_COLUMNS))


def _flags(snapshot: Snapshot, subset: Subset, layout: Mapping[str, str]) -> pl.DataFrame:
    items = snapshot.items
    names = dict(
        snapshot.stimuli.select(
            "stimulus",
            "file_name" if "file_name" in snapshot.stimuli.columns else pl.col("stimulus").alias("file_name"),
        ).iter_rows()
    )
    rows: list[dict[str, Any]] = []
    for item in (
        items.filter(pl.col("flags").is_not_null()).iter_rows(named=True) if "flags" in items.columns else ()
    ):
        key = {name: item[name] for name in subset.keys}
        rows += [{**flag, **key, "file_name": names[item["stimulus"]]} for flag in json.loads(item["flags"])]
    order = [int(place) for place in layout.get(f"{FLAGS} order", "").split(",") if place]
    if len(order) == len(rows):
        rows = [row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])]
    extras = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in subset.flag_columns
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys((*subset.flag_columns, *extras), pl.String))
