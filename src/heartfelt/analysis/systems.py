"""Every system and every intent under every question: mean, deviation and absolute deviation, rank and ties.

Systems are ranked by absolute deviation (closest to its intents first) where stimuli have references, else by mean
rating (highest first). A system is tied with those it does not differ from in the same measure by the two-way jackknife
with Holm's correction. ``absolute_deviation_corrected`` is without the noise of the ratings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.material import Material
from heartfelt.analysis.pairwise import JACKKNIFE
from heartfelt.analysis.scores import METHODS, Outcome, Scored
from heartfelt.analysis.two_way import estimate

MOST_INTENTS = 500
OUTCOMES: tuple[tuple[str, Outcome], ...] = (
    ("mean", "value"),
    ("deviation", "signed"),
    ("absolute_deviation", "absolute"),
    ("absolute_deviation_corrected", "corrected"),
)


def overall(laid: dict[str, Scored]) -> list[dict[str, Any]]:
    """Every question over all its stimuli."""
    out = []
    for name, one in laid.items():
        everything = np.ones(len(one.data.names), dtype=np.bool_)
        row = {"question": name, "level": one.question.level, **_sizes(one, everything)}
        sd = one.question.items["mean"].std() if one.question.numbers else None
        row["sd_of_labels"] = float(sd) if isinstance(sd, float) else None
        out.append(row | _estimates(one, everything))
    return out


def systems(material: Material, laid: dict[str, Scored], pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every system under every question, with its rank."""
    out: list[dict[str, Any]] = []
    for one in material.questions:
        here = laid[one.id]
        rows = []
        for name in one.systems:
            chosen = here.where("system", name)
            rows.append(
                {"system": name, "question": one.id, **_sizes(here, chosen), **_estimates(here, chosen)}
            )
        out += _ranked(rows, "absolute" if one.referenced else "value", pairs)
    return out


def intents(material: Material, laid: dict[str, Scored]) -> list[dict[str, Any]]:
    """Every intent under every question, with its reference."""
    out: list[dict[str, Any]] = []
    for one in material.questions:
        here = laid[one.id]
        names = one.items["intent"].drop_nulls().unique(maintain_order=True).sort().to_list()
        if len(names) > MOST_INTENTS or not one.numbers:
            continue
        known = dict(
            one.items.select("intent", "reference").drop_nulls("intent").unique("intent").iter_rows()
        )
        groups = dict(
            one.items.select("intent", "quadrant").drop_nulls("intent").unique("intent").iter_rows()
        )
        for name in names:
            chosen = here.where("intent", name)
            facts = {"intent": name, "question": one.id, "quadrant": groups[name], "reference": known[name]}
            out.append(facts | _sizes(here, chosen) | _estimates(here, chosen))
    return out


def distributions(material: Material) -> list[dict[str, Any]]:
    """How often each answer was given, over all stimuli and by system; long scales in twenty bins."""
    out: list[dict[str, Any]] = []
    for one in material.questions if not material.many else material.pools:
        ratings = one.ratings.select("system", "value")
        if not ratings.height:
            continue
        values, edges = _binned(ratings["value"])
        ratings = ratings.with_columns(values.alias("value"))
        names = [None, *one.systems] if len(one.systems) <= MOST_INTENTS else [None]
        for name in names:
            mine = ratings if name is None else ratings.filter(pl.col("system") == name)
            found = mine.group_by("value").len("n").sort("value")
            answers = [{"value": v, "answer": one.categories.get(v), "n": n} for v, n in found.iter_rows()]
            out.append({"question": one.id, "system": name or "all", "bins": edges, "answers": answers})
    return out


def _binned(values: pl.Series) -> tuple[pl.Series, list[float] | None]:
    if values.n_unique() <= 101:
        return values, None
    numbers = values.to_numpy()
    edges = np.linspace(float(numbers.min()), float(numbers.max()), 21)
    at = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, 19)
    return pl.Series("value", edges[at]), edges.tolist()


def _sizes(here: Scored, chosen: Any) -> dict[str, int]:
    rows = int(np.count_nonzero(chosen[here.data.stimulus])) if here.data.stimulus.size else 0
    return {"n_stimuli": int(np.count_nonzero(chosen)), "n_ratings": rows}


def _estimates(here: Scored, chosen: Any) -> dict[str, Any]:
    return {
        key: estimate(here.changes(chosen, outcome), METHODS[outcome]).to_json() for key, outcome in OUTCOMES
    }


def _ranked(rows: list[dict[str, Any]], outcome: str, pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    key, sign = ("absolute_deviation", 1.0) if outcome == "absolute" else ("mean", -1.0)
    words = "absolute deviation, smallest first" if outcome == "absolute" else "mean, highest first"
    known = [row for row in rows if row[key]["value"] is not None]
    order = sorted(known, key=lambda row: (sign * row[key]["value"], row["system"]))
    place = {row["system"]: rank for rank, row in enumerate(order, 1)}
    question = rows[0]["question"] if rows else ""
    tests = [
        pair
        for pair in pairs
        if pair["method"] == JACKKNIFE
        and (pair["outcome"], pair["deviation"], pair["factor"]) == (question, outcome, "system")
    ]
    tied: dict[str, list[str]] = {row["system"]: [] for row in rows}
    for pair in tests:
        if not pair["significant"]:
            tied[pair["a"]].append(pair["b"])
            tied[pair["b"]].append(pair["a"])
    for row in rows:
        row["rank"] = place.get(row["system"])
        row["ranked_by"] = words
        row["tied_with"] = sorted(tied[row["system"]]) if tests else None
    return rows
