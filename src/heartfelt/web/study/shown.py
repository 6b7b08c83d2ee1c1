"""Stimuli as the dashboard shows them: counts, means, media, flags and problems."""

from __future__ import annotations

from typing import Any

import polars as pl

from heartfelt.collect import Collection

_FACTS = ("system", "intent", "prompt", "media_problem")


def stimuli(collection: Collection, offset: int, limit: int, search: str) -> dict[str, Any]:
    """A page of stimuli, fewest ratings first."""
    table = collection.opened.stimuli
    have = [name for name in _FACTS if name in table.columns]
    table = table.select("stimulus", *(pl.col(name).cast(pl.String) for name in have))
    if search:
        words = [pl.col(name).fill_null("").str.to_lowercase() for name in ("stimulus", *have)]
        found = [one.str.contains(search.lower(), literal=True) for one in words]
        table = table.filter(pl.any_horizontal(found))
    counts = (
        collection.coverage().items.group_by("stimulus").agg(pl.min("complete"), pl.max("leased", "quota"))
    )
    table = table.join(counts, on="stimulus", how="left").with_columns(
        pl.col("complete", "leased", "quota").fill_null(0)
    )
    page = table.sort("complete", "stimulus").slice(offset, limit)
    means, media = _means(collection, page["stimulus"].to_list()), collection.media_ids()
    rows = [
        dict.fromkeys(_FACTS) | row
        | {"media": media.get(row["stimulus"]), "means": means.get(row["stimulus"], [])}
        for row in page.iter_rows(named=True)
    ]  # fmt: skip
    return {"total": table.height, "stimuli": rows}


def _means(collection: Collection, names: list[str]) -> dict[str, list[dict[str, Any]]]:
    ratings = collection.ratings().filter(
        (pl.col("kind") == "rating") & ~pl.col("excluded") & pl.col("stimulus").is_in(names)
    )
    order = {question.id: place for place, question in enumerate(collection.study.asked)}
    scales = {name: collection.study.scale_of(name) for name in order}
    numbers = {
        name for name, s in scales.items() if s.level in {"interval", "ordinal"} or len(s.labels()) == 2
    }
    found = ratings.group_by("stimulus", "question").agg(pl.mean("value"), pl.len().alias("n"))
    out: dict[str, list[dict[str, Any]]] = {}
    for stimulus, question, mean, n in sorted(found.iter_rows(), key=lambda row: order.get(row[1], -1)):
        if question in numbers:
            out.setdefault(stimulus, []).append({"question": question, "mean": mean, "n": n})
    return out


def flags(collection: Collection) -> list[dict[str, Any]]:
    """What raters found wrong, latest first."""
    return _with_media(
        collection, collection.flags(), ("stimulus", "rater", "reason", "comment", "skipped", "at")
    )


def problems(collection: Collection) -> list[dict[str, Any]]:
    """Media that would not play, latest first; those found when the study was opened come first."""
    return _with_media(collection, collection.problems(), ("stimulus", "rater", "problem", "at"))


def _with_media(
    collection: Collection, table: pl.DataFrame, columns: tuple[str, ...]
) -> list[dict[str, Any]]:
    media = collection.media_ids()
    rows = table.select(columns).sort("at", descending=True, nulls_last=False).iter_rows(named=True)
    return [row | {"media": media.get(row["stimulus"])} for row in rows]
