"""Categories without an order, and degrees with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.score.measure import Measure, Pairing
from heartfelt.score.scores import Score
from heartfelt.score.sheet import Floats, Sheet
from heartfelt.score.truth import ITEM, Truth
from heartfelt.stats.classify import confusion
from heartfelt.stats.divergence import jensen_shannon, top_k

_NO_SHARES = "the model gives no shares by category"


def categories(sheet: Sheet, measure: Measure, truth: Truth) -> tuple[list[Score], dict[str, Any]]:
    """Accuracy, macro F1, top-k, divergence from the votes, and the confusion behind them."""
    x, codes = sheet.truth, np.array(sorted(sheet.task.scale.labels()))
    place = np.searchsorted(codes, x)
    filled = np.where(np.isfinite(sheet.code), sheet.code, codes[(place + 1) % codes.size])
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
            out.append(measure.score(sheet, _mean(f"top_{k}", hit, 0.0, why)))
    out.append(measure.score(sheet, _divergence(sheet, truth, codes, shares, why)))
    rows = sheet.answered
    names = np.array([sheet.task.scale.labels()[code] for code in codes], dtype=object)
    said = np.searchsorted(codes, np.clip(sheet.code[rows], codes[0], codes[-1]))
    return out, {"confusion": confusion(names[place[rows]], names[said]).to_json()}


def _mean(metric: str, values: Floats, worst: float, why: str | None) -> Pairing:
    filled = np.where(np.isfinite(values), values, worst)
    return Pairing(metric, np.zeros(values.size), values, filled, mean=True, why_none=why)


def _divergence(
    sheet: Sheet, truth: Truth, codes: Floats, shares: npt.NDArray[np.float64] | None, why: str | None
) -> Pairing:
    votes = truth.votes.filter(pl.col("question").is_in(sheet.task.questions))
    if why is None and not votes.height:
        why = "the source gives labels, not votes"
    values = np.full(sheet.rows.height, np.nan)
    if why is None and shares is not None:
        table = _votes(sheet, votes, codes)
        both = np.isfinite(shares).all(axis=1) & (table.sum(axis=1) > 0)
        values[both] = jensen_shannon(shares[both], table[both])
    return _mean("divergence", values, 1.0, why)


def _votes(sheet: Sheet, votes: pl.DataFrame, codes: Floats) -> npt.NDArray[np.float64]:
    """Votes by row of the sheet and category."""
    placed = sheet.rows.select(ITEM).with_row_index("_row").join(votes, on=ITEM, how="inner")
    table = np.zeros((sheet.rows.height, codes.size))
    column = np.searchsorted(codes, placed["value"].to_numpy())
    table[placed["_row"].to_numpy(), column] = placed["votes"].to_numpy()
    return table


def ordinal(sheet: Sheet, measure: Measure) -> tuple[list[Score], dict[str, Any]]:
    """Quadratic kappa of the nearest category, and Spearman's correlation of the number itself."""
    x, codes = sheet.truth, np.array(sorted(sheet.task.scale.labels()))
    nearest = np.where(np.isfinite(sheet.code), _nearest(sheet.code, codes), np.nan)
    furthest = np.where(np.abs(x - codes[0]) > np.abs(x - codes[-1]), codes[0], codes[-1])
    why = None if sheet.on_scale else "the model gives scores, not degrees"
    order = sheet.code if sheet.on_scale else sheet.score
    known = np.isfinite(nearest)
    kappa = Pairing("quadratic_kappa", x, nearest, np.where(known, nearest, furthest), why_none=why)
    filled = np.where(np.isfinite(order), order, furthest)
    rank = Pairing("spearman", x, order, filled, why_none=why)
    return [measure.score(sheet, kappa), measure.score(sheet, rank)], {}


def _nearest(values: Floats, codes: Floats) -> Floats:
    values = np.where(np.isfinite(values), values, codes[0])
    return np.asarray(codes[np.abs(values[:, None] - codes[None, :]).argmin(axis=1)])
