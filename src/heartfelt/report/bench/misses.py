"""The worst misses of each model: the items on which it was furthest off, to hear and to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from markupsafe import Markup

from heartfelt.report.blocks import absent
from heartfelt.report.tables import table
from heartfelt.report.words import number

MOST = 10
_SIDES = {1.0: "present", 0.0: "absent"}


def misses(
    task: Mapping[str, Any], rows: pl.DataFrame, playable: Mapping[str, str], threshold: float
) -> Markup:
    """A table of the worst misses of every model of a task."""
    mine = rows.filter((pl.col("task") == task["task"]) & pl.col("answered"))
    if task["kind"] == "text":
        return absent("Texts have no misses: see the scores.")
    found = _off(mine, str(task["kind"]), threshold)
    worst = (
        found.filter(pl.col("_off") > 0)
        .sort("_off", "stimulus", descending=[True, False])
        .group_by("model", maintain_order=True)
        .head(MOST)
    )
    if not worst.height:
        return absent("No model missed any item.")
    several = mine["question"].n_unique() > 1
    columns = [
        "stimulus",
        "model",
        *(["question"] if several else []),
        "label",
        "prediction",
        "off by",
        "system",
        "intent",
    ]
    body = [_row(row, task, several, playable) for row in worst.iter_rows(named=True)]
    return table(f"Worst misses, {MOST} a model", columns, body)


def _off(mine: pl.DataFrame, kind: str, threshold: float) -> pl.DataFrame:
    truth = pl.col("truth")
    if kind in ("numbers", "ordinal"):
        on_scale = pl.col("code").is_not_null().any().over("model")
        # Scores that are not on the scale are compared by rank.
        ranks = pl.col("score").rank().over("model") - truth.rank().over("model")
        return mine.with_columns(
            pl.when(on_scale).then((pl.col("code") - truth).abs()).otherwise(ranks.abs()).alias("_off")
        )
    wrong = pl.col("said") != truth
    how = (pl.col("score") - threshold).abs().fill_null(1.0) if kind == "binary" else pl.lit(1.0)
    return mine.with_columns(pl.when(wrong).then(how).otherwise(0.0).alias("_off"))


def _row(
    row: Mapping[str, Any], task: Mapping[str, Any], several: bool, playable: Mapping[str, str]
) -> list[Any]:
    name = str(row["stimulus"])
    said = row["code"] if row["code"] is not None else row["score"]
    label: Any = number(row["truth"], 2)
    if task["kind"] == "binary":
        label = _SIDES.get(row["truth"], label)
    words = f"{name}\nlabel {label}, {row['model']} said {row['answer'] or number(said, 2)}"
    button = Markup("")
    if name in playable:
        button = Markup(
            '<button type="button" class="listen" data-stimulus="{}" data-words="{}" aria-label="Play {}">▶</button>'
        ).format(name, words, name)
    first = Markup("{}{}").format(button, name)
    told = row["answer"] if row["answer"] is not None and task["kind"] == "categories" else said
    middle = [str(row["question"])] if several else []
    return [first, str(row["model"]), *middle, label, told, row["_off"], row["system"], row["intent"]]
