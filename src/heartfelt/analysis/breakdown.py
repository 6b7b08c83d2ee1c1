"""Studies of categories: labels by what is known of the items, and intended against answered categories.

For every fact about the items that takes few values (task type, polarity, dimension …) a table of how many items there are,
how many got a label, how many are unanimous, and how often the label is what the item was chosen to show; and, for
questions that ask whether something is present (yes or no, or ordered categories whose lowest says that it is not), how often
the label is above the lowest category. Shares have Wilson intervals over items.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt.analysis.chance import chance_of_hits
from heartfelt.analysis.material import Material, QuestionData
from heartfelt.stats._bounds import wilson
from heartfelt.stats.estimate import Estimate

MOST_VALUES = 60
_OWN = {"stimulus", "question", "flags", "flagged", "intended", "intended_present"}


def breakdown(material: Material) -> dict[str, list[dict[str, Any]]] | None:
    """One table per fact about the items, for questions answered with categories."""
    items = _items(material)
    if items is None or not items.height:
        return None
    facts = [name for name in items.columns if name.startswith("fact ")]
    out: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        values = items[fact].drop_nulls().unique().sort().to_list()
        if 1 <= len(values) <= MOST_VALUES:
            out[fact.removeprefix("fact ")] = [
                {"value": value, **_row(items.filter(pl.col(fact) == value))} for value in values
            ]
    out["all"] = [{"value": "all", **_row(items)}]
    return out


def _items(material: Material) -> pl.DataFrame | None:
    """One row per item with a category: its label, whether all agreed, what it was meant to be, and its facts."""
    asked = {one.id: one for one in material.questions if one.categorical and one.items.height}
    if not asked:
        return None
    listed = material.snapshot.table("items")
    said = "intended_present" in listed.columns
    lowest = {name: min(one.categories) for name, one in asked.items() if one.asks_presence or said}
    table = material.labels.table.filter(pl.col("question").is_in(list(asked)))
    least = pl.col("question").replace_strict(lowest, default=None, return_dtype=pl.Float64)
    table = table.with_columns(
        (pl.col("value") > least).alias("present"),
        (pl.col("share") == 1.0).alias("unanimous"),
    )
    if listed.height:
        table = table.join(
            listed, on=["stimulus", "question"], how="left", maintain_order="left", suffix="_item"
        )
    about = {question.id: question.about for question in material.study.asked if question.id in asked}
    names = sorted({name for facts in about.values() for name in facts})
    columns = [
        pl.col("question")
        .replace_strict(
            {q: facts.get(name) for q, facts in about.items()}, default=None, return_dtype=pl.String
        )
        .alias(f"fact {name}")
        for name in names
    ]
    extra = [name for name in listed.columns if name not in _OWN and name not in names]
    columns += [pl.col(name).cast(pl.String).alias(f"fact {name}") for name in extra if name in table.columns]
    if len(asked) > 1:
        columns.append(pl.col("question").alias("fact question"))
    return table.with_columns(_matches(table), *columns)


def _matches(table: pl.DataFrame) -> pl.Series:
    if "intended" in table.columns:
        return (table["answer"] == table["intended"].cast(pl.String)).alias("matches")
    if "intended_present" in table.columns:
        return (table["present"] == table["intended_present"]).alias("matches")
    return pl.Series("matches", [None] * table.height, dtype=pl.Boolean)


def _row(items: pl.DataFrame) -> dict[str, Any]:
    shared = items.filter(pl.col("n") >= 2)
    return {
        "n_items": items.height,
        "n_ratings": int(items["n"].sum()),
        "n_labels": items["value"].count(),
        "n_ties": items.height - items["value"].count(),
        "n_single": items.filter(pl.col("n") == 1).height,
        "present": _share(
            items["present"],
            "share of labels above the lowest category",
            "nothing can be present or absent in these answers",
        ),
        "unanimous": _share(shared["unanimous"], "share of items with two or more ratings that all agree"),
        "matches_intended": _share(
            items["matches"], "share of labels that are what the item was chosen to show"
        ),
    }


def _share(column: pl.Series, method: str, why: str = "no item says so") -> dict[str, Any]:
    known = column.drop_nulls()
    counts = {"items": known.len()}
    if not known.len():
        return Estimate.missing(why, method, counts).to_json()
    hits = int(known.sum())
    low, high = wilson(hits, known.len(), 0.95)
    return Estimate(hits / known.len(), low, high, method, "Wilson over items", 0.95, counts).to_json()


def intent_confusion(material: Material, seed: int = 0) -> list[dict[str, Any]] | None:
    """Intended against answered categories, where intents are among the categories of a question."""
    out = []
    for one in material.questions:
        names = set(one.categories.values())
        intents = one.items["intent"].drop_nulls().unique().sort().to_list()
        if one.level != "nominal" or len(names) < 3 or not names & set(intents):
            continue
        out.append(_confusion(one, [name for name in intents if name in names], seed))
    return out or None


def _confusion(one: QuestionData, intents: list[str], seed: int) -> dict[str, Any]:
    codes = one.categories
    labelled = one.items.filter(pl.col("intent").is_in(intents)).with_columns(
        pl.col("value").replace_strict(codes, default="tied", return_dtype=pl.String).alias("answer")
    )
    answers = [*codes.values(), "tied"]
    counted = dict.fromkeys(((i, a) for i in intents for a in answers), 0)
    for intent, answer, n in labelled.group_by("intent", "answer").len().iter_rows():
        counted[(intent, answer)] = n
    table = [[counted[(i, a)] for a in answers] for i in intents]
    hit = labelled.select((pl.col("answer") == pl.col("intent")).alias("hit"), "system")
    method = "share of stimuli whose most frequent answer is the intent"
    by_chance = chance_of_hits(
        labelled["intent"].to_list(), labelled["answer"].to_list(), labelled["system"].to_list(), seed
    )
    return {
        "question": one.id,
        "labels": answers,
        "rows": intents,
        "columns": answers,
        "counts": table,
        "proportions": [[n / sum(row) if sum(row) else None for n in row] for row in table],
        "hit_rate": _share(hit["hit"], method),
        "hit_rate_by_chance": None if by_chance is None else by_chance.to_json(),
        "hit_rate_by_system": {
            name: _share(hit.filter(pl.col("system") == name)["hit"], method) for name in one.systems
        },
    }
