"""Categories without an order, and degrees with one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.scoring.chance import Chance
from heartfelt.scoring.measure import Measure, Pairing
from heartfelt.scoring.scores import Score
from heartfelt.scoring.sheet import Floats, Sheet
from heartfelt.scoring.truth import ITEM, Truth
from heartfelt.stats.classify import confusion
from heartfelt.stats.divergence import jensen_shannon, top_k

_NO_SHARES = "the model gives no shares by category"


def categories(sheet: Sheet, measure: Measure, truth: Truth) -> tuple[list[Score], dict[str, Any]]:
    """Accuracy, macro F1, top-k, divergence from the votes, and the confusion behind them."""
    x, codes = sheet.truth, np.array(sorted(sheet.task.scale.labels()))
    place = np.searchsorted(codes, x)
    filled = np.where(np.isfinite(sheet.code), sheet.code, wrong_category(sheet))
    out = [
        measure.score(sheet, Pairing(name, x, sheet.code, filled))
        for name in ("accuracy", "balanced_accuracy", "macro_f1")
    ]
    shares = sheet.shares
    known = np.isfinite(shares).all(axis=1) if shares is not None else np.zeros(x.size, np.bool_)
    why = None if known.any() else _NO_SHARES
    for k in (2, 3):
        if k < codes.size:
            hit = np.full(x.size, np.nan)
            if shares is not None and known.any():
                hit[known] = top_k(place[known], shares[known], k)
            pairing = replace(_mean(f"top_{k}", hit, 0.0, why), share=True, chance=_top_chance(place, k))
            out.append(measure.score(sheet, pairing))
    out.append(measure.score(sheet, _divergence(sheet, truth, codes, shares, why)))
    rows = sheet.answered
    names = np.array([sheet.task.scale.labels()[code] for code in codes], dtype=object)
    said = np.searchsorted(codes, np.clip(sheet.code[rows], codes[0], codes[-1]))
    return out, {"confusion": confusion(names[place[rows]], names[said]).to_json()}


def wrong_category(sheet: Sheet) -> Floats:
    """A category other than the label, for every row: what a failed prediction counts as."""
    codes = np.array(sorted(sheet.task.scale.labels()))
    return np.asarray(codes[(np.searchsorted(codes, sheet.truth) + 1) % codes.size])


def furthest_degree(sheet: Sheet) -> Floats:
    """The category furthest from the label, for every row: what a failed prediction counts as."""
    codes = sorted(sheet.task.scale.labels())
    return np.where(np.abs(sheet.truth - codes[0]) > np.abs(sheet.truth - codes[-1]), codes[0], codes[-1])


def _mean(metric: str, values: Floats, worst: float, why: str | None) -> Pairing:
    filled = np.where(np.isfinite(values), values, worst)
    return Pairing(metric, np.zeros(values.size), values, filled, mean=True, why_none=why)


def _top_chance(place: npt.NDArray[np.int64], k: int) -> Chance:
    """Always naming the k most frequent labels."""
    if not place.size:
        return Chance(None, "there are no labels")
    frequent = np.argsort(-np.bincount(place), kind="stable")[:k]
    hit = np.isin(place, frequent).astype(np.float64)
    return Chance(float(hit.mean()), f"always the {k} most frequent labels", hit)


def _divergence(
    sheet: Sheet, truth: Truth, codes: Floats, shares: npt.NDArray[np.float64] | None, why: str | None
) -> Pairing:
    votes = truth.votes.filter(pl.col("question").is_in(sheet.task.questions))
    if why is None and not votes.height:
        why = "the source gives labels, not votes"
    values = np.full(sheet.rows.height, np.nan)
    chance = Chance(None, why or "")
    if why is None and shares is not None:
        table = _votes(sheet, votes, codes)
        voted = table.sum(axis=1) > 0
        both = np.isfinite(shares).all(axis=1) & voted
        values[both] = jensen_shannon(shares[both], table[both])
        blind = np.ones(values.size)
        blind[voted] = jensen_shannon(np.broadcast_to(table.sum(axis=0), table[voted].shape), table[voted])
        chance = Chance(float(blind.mean()), "always the distribution of all votes", blind)
    return replace(_mean("divergence", values, 1.0, why), chance=chance)


def _votes(sheet: Sheet, votes: pl.DataFrame, codes: Floats) -> npt.NDArray[np.float64]:
    """Votes by row of the sheet and category."""
    placed = sheet.rows.select(ITEM).with_row_index("_row").join(votes, on=ITEM, how="inner")
    table = np.zeros((sheet.rows.height, codes.size))
    column = np.searchsorted(codes, placed["value"].to_numpy())
    table[placed["_row"].to_numpy(), column] = placed["votes"].to_numpy()
    return table


def ordinal(sheet: Sheet, measure: Measure) -> tuple[list[Score], dict[str, Any]]:
    """Quadratic kappa of the nearest category, and Spearman's correlation of the number itself."""
    x = sheet.truth
    nearest = nearest_degree(sheet)
    furthest = furthest_degree(sheet)
    why = None if sheet.on_scale else "the model gives scores, not degrees"
    order = sheet.code if sheet.on_scale else sheet.score
    known = np.isfinite(nearest)
    kappa = Pairing("quadratic_kappa", x, nearest, np.where(known, nearest, furthest), why_none=why)
    filled = np.where(np.isfinite(order), order, furthest)
    rank = Pairing("spearman", x, order, filled, why_none=why)
    return [measure.score(sheet, kappa), measure.score(sheet, rank)], {}


def nearest_degree(sheet: Sheet) -> Floats:
    """The category nearest to each number the model gave; NaN where it gave none."""
    codes = np.array(sorted(sheet.task.scale.labels()))
    given = np.isfinite(sheet.code)
    values = np.where(given, sheet.code, codes[0])
    nearest = codes[np.abs(values[:, None] - codes[None, :]).argmin(axis=1)]
    return np.where(given, nearest, np.nan)
