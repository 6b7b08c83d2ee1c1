"""Categories without an order, and degrees with one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.scoring.measure import Measure, Pairing, mean_of
from heartfelt.scoring.metrics import Chance
from heartfelt.scoring.scores import CategoryDetails, OrdinalDetails, Score
from heartfelt.scoring.sheet import Sheet
from heartfelt.scoring.truth import ITEM, Truth
from heartfelt.stats.classify import confusion
from heartfelt.stats.probability import jensen_shannon, top_k
from heartfelt.stats.triples import Floats, Ints

_NO_SHARES = "the model gives no shares by category"


def categories(sheet: Sheet, measure: Measure, truth: Truth) -> tuple[list[Score], CategoryDetails]:
    """Accuracy, macro F1, top-k, divergence from the votes, and the confusion."""
    x, codes = sheet.truth, sheet.codes
    place = np.searchsorted(codes, x)
    filled = np.where(np.isfinite(sheet.code), sheet.code, wrong_category(sheet))
    pairings = [
        Pairing(name, x, sheet.code, filled) for name in ("accuracy", "balanced_accuracy", "macro_f1")
    ]
    shares = sheet.shares
    known = np.isfinite(shares).all(axis=1) if shares is not None else np.zeros(x.size, np.bool_)
    why = None if known.any() else _NO_SHARES
    for k in (2, 3):
        if k < codes.size:
            hit = np.full(x.size, np.nan)
            if shares is not None and known.any():
                hit[known] = top_k(place[known], shares[known], k)
            chance = _top_chance(place, k)
            pairings.append(mean_of(f"top_{k}", hit, np.nan_to_num(hit), why, chance, share=True))
    pairings.append(_divergence(sheet, truth, why))
    rows = sheet.answered
    names = np.array([sheet.scale.labels()[code] for code in codes], dtype=object)
    answers = np.searchsorted(codes, np.clip(sheet.code[rows], codes[0], codes[-1]))
    details = CategoryDetails(confusion(names[place[rows]], names[answers]))
    return [measure.score(sheet, pairing) for pairing in pairings], details


def wrong_category(sheet: Sheet) -> Floats:
    """For every row a category other than the label: what a failed prediction counts as."""
    return np.asarray(sheet.codes[(np.searchsorted(sheet.codes, sheet.truth) + 1) % sheet.codes.size])


def furthest_degree(sheet: Sheet) -> Floats:
    """For every row the category furthest from the label: what a failed prediction counts as."""
    low, high = sheet.codes[0], sheet.codes[-1]
    return np.asarray(np.where(np.abs(sheet.truth - low) > np.abs(sheet.truth - high), low, high))


def _top_chance(place: Ints, k: int) -> Chance:
    """Always naming the k most frequent labels."""
    if not place.size:
        return Chance(None, "there are no labels")
    frequent = np.argsort(-np.bincount(place), kind="stable")[:k]
    hit = np.isin(place, frequent).astype(np.float64)
    return Chance(float(hit.mean()), f"always the {k} most frequent labels", hit)


def _divergence(sheet: Sheet, truth: Truth, why: str | None) -> Pairing:
    votes = truth.votes.filter(pl.col("question").is_in(sheet.task.questions))
    if why is None and not votes.height:
        why = "the source gives labels, not votes"
    values = np.full(sheet.rows.height, np.nan)
    chance = Chance(None, why or "")
    if why is None and sheet.shares is not None:
        table = _votes(sheet, votes)
        voted = table.sum(axis=1) > 0
        both = np.isfinite(sheet.shares).all(axis=1) & voted
        values[both] = jensen_shannon(sheet.shares[both], table[both])
        blind = np.ones(values.size)
        blind[voted] = jensen_shannon(np.broadcast_to(table.sum(axis=0), table[voted].shape), table[voted])
        chance = Chance(float(blind.mean()), "always the distribution of all votes", blind)
    return mean_of("divergence", values, np.where(np.isfinite(values), values, 1.0), why, chance)


def _votes(sheet: Sheet, votes: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Votes by row of the sheet and category."""
    placed = sheet.rows.select(ITEM).with_row_index("_row").join(votes, on=ITEM, how="inner")
    table = np.zeros((sheet.rows.height, sheet.codes.size))
    column = np.searchsorted(sheet.codes, placed["value"].to_numpy())
    table[placed["_row"].to_numpy(), column] = placed["votes"].to_numpy()
    return table


def ordinal(sheet: Sheet, measure: Measure) -> tuple[list[Score], OrdinalDetails]:
    """Quadratic kappa of the nearest category, and Spearman's correlation of the number itself."""
    nearest, furthest = nearest_degree(sheet), furthest_degree(sheet)
    why = None if sheet.on_scale else "the model gives scores, not degrees"
    order = sheet.code if sheet.on_scale else sheet.score
    pairings = [
        Pairing(metric, sheet.truth, y, np.where(np.isfinite(y), y, furthest), why_none=why)
        for metric, y in (("quadratic_kappa", nearest), ("spearman", order))
    ]
    return [measure.score(sheet, pairing) for pairing in pairings], OrdinalDetails()


def nearest_degree(sheet: Sheet) -> Floats:
    """The category nearest to each number the model gave; NaN where it gave none."""
    given = np.isfinite(sheet.code)
    values = np.where(given, sheet.code, sheet.codes[0])
    nearest = sheet.codes[np.abs(values[:, None] - sheet.codes[None, :]).argmin(axis=1)]
    return np.where(given, nearest, np.nan)
