"""The slices (per task type, emotion, dimension, polarity) and the items without the full number of raters.

Rates are shares of items: the majority's of items that have one, agreement with the prior of items that have both,
unanimity of items with two or more votes. After emolia-bench's columns stand, for each rate, how many items it is of and
Wilson's 95% bounds over items. A rate of no items is empty.
"""

from __future__ import annotations

import polars as pl

from heartfelt.datasets.emolia.labels_table import Material
from heartfelt.stats.estimate import Estimate

_Z = 1.959963984540054
_EMO = {
    "majority_present_rate": "_majority",
    "preselection_confirm_rate": "_matches",
    "unanimous_binary_rate": "_unanimous",
    "unanimous_ordinal_rate": "_unanimous_value",
}
_WHY_NONE = {
    "_majority": "no item has a majority",
    "_matches": "no item has both a majority and a prior",
    "_unanimous": "no item has two or more votes",
    "_unanimous_value": "no item has two or more votes",
}
_DIM = {"majority_yes_rate": "_majority", "unanimous_rate": "_unanimous", "polarity_match_rate": "_matches"}


def slices(material: Material) -> dict[str, pl.DataFrame]:
    """The tables of slices by their file names."""
    labels = material.labels
    if material.subset.form.kind == "emo":
        emotion = [name for name in _EMO if name != "preselection_confirm_rate"]
        by_task = _slice(material, labels, "task_type", _EMO, list(_EMO)).sort(
            "items", "task_type", descending=[True, False], nulls_last=True
        )
        by_emotion = _slice(material, labels, "queried_emotion", _EMO, emotion).sort(
            "majority_present_rate", "queried_emotion", nulls_last=True
        )
        return {"per_task_type_summary.csv": by_task, "per_emotion_summary.csv": by_emotion}
    polarity = ["majority_yes_rate", "unanimous_rate"]
    by_dimension = _slice(material, labels, "dimension", _DIM, list(_DIM)).sort(
        "items", "dimension", descending=[True, False]
    )
    by_polarity = _slice(material, labels, "polarity", _DIM, polarity).sort("polarity", nulls_last=True)
    return {"per_dimension_summary.csv": by_dimension, "per_polarity_summary.csv": by_polarity}


def _slice(
    material: Material, labels: pl.DataFrame, by: str, columns: dict[str, str], rates: list[str]
) -> pl.DataFrame:
    first = [pl.len().cast(pl.Int64).alias("items")]
    if by == "task_type":
        # Empty where the items of one task type were chosen to show different things.
        same = pl.when(pl.col("intended_present").n_unique() == 1).then(pl.col("intended_present").first())
        first.append(same.alias("intended_present"))
    shares = [pl.col(columns[name]).mean().alias(name) for name in rates]
    table = labels.group_by(by).agg(*first, *shares, *_with_bounds(columns, rates))
    extra = [c for name in rates for c in (f"{name}_items", f"{name}_low", f"{name}_high")]
    return table if material.options.honest else table.drop([*extra, "tied_items"])


def _with_bounds(columns: dict[str, str], rates: list[str]) -> list[pl.Expr]:
    out = [pl.col("majority_present_tie").sum().cast(pl.Int64).alias("tied_items")]
    for name in rates:
        known = pl.col(columns[name]).drop_nulls()
        low, high = _wilson(known)
        out += [
            known.len().cast(pl.Int64).alias(f"{name}_items"),
            low.alias(f"{name}_low"),
            high.alias(f"{name}_high"),
        ]
    return out


def _wilson(known: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    n, share = known.len().cast(pl.Float64), known.mean()
    centre = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * (share * (1 - share) / n + _Z * _Z / (4 * n * n)).sqrt()
    there = pl.when(n > 0)
    low, high = there.then((centre - half).clip(0, 1)), there.then((centre + half).clip(0, 1))
    return low.alias("low"), high.alias("high")


def overall(material: Material) -> dict[str, Estimate]:
    """The rates over all items of the subset, with Wilson's bounds."""
    columns = _EMO if material.subset.form.kind == "emo" else _DIM
    spell = [pl.col(column).alias(name) for name, column in columns.items()]
    row = material.labels.select(spell)
    out: dict[str, Estimate] = {}
    for name in columns:
        known = row[name].drop_nulls()
        method = f"{name.replace('_', ' ')} over items"
        if not known.len():
            out[name] = Estimate.missing(_WHY_NONE[columns[name]], method, {"items": 0})
            continue
        low, high = row.select(_wilson(pl.col(name).drop_nulls())).row(0)
        plain = Estimate(
            float(known.cast(pl.Float64).sum()) / known.len(), method=method, counts={"items": known.len()}
        )
        out[name] = plain.with_interval(low, high, "Wilson over items")
    return out


def incomplete(material: Material) -> pl.DataFrame:
    """Items with fewer raters than make them complete, those nobody rated included."""
    return _observed(material, pl.col("ratings_observed") < material.options.raters)


def more_raters(material: Material) -> pl.DataFrame:
    """Items with more raters than were asked for: complete, and worth knowing."""
    return _observed(material, pl.col("ratings_observed") > material.options.raters)


def _observed(material: Material, which: pl.Expr) -> pl.DataFrame:
    keys = material.subset.form.keys
    rated = material.labels.select("file_name", *keys, pl.col("n").alias("ratings_observed"), "usernames")
    unrated = material.unrated.select(
        "file_name",
        *keys,
        pl.lit(0, dtype=pl.Int64).alias("ratings_observed"),
        pl.lit(None, dtype=pl.String).alias("usernames"),
    )
    both = pl.concat([rated, unrated]).filter(which)
    return both.sort("ratings_observed", "file_name", *keys)
