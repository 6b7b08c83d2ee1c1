"""Categories without an order, and degrees with one."""

from __future__ import annotations

import numpy as np
import polars as pl

from heartfelt.scoring.ground_truth.truth import ITEM
from heartfelt.scoring.measurement.measure import LabelsAndPredictions, Marked, MetricMeasurer, mean_of
from heartfelt.scoring.measurement.sheet import Flags, PredictionSheet
from heartfelt.scoring.results.details import CategoryDetails, OrdinalDetails
from heartfelt.scoring.results.metrics import ChanceLevel
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.prediction.association import confusion
from heartfelt.stats.prediction.probability import jensen_shannon, top_k

_NO_SHARES = "the model gives no shares by category"


def categories(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """Accuracy, macro F1, top-k, divergence from the votes, and the confusion."""
    x, codes = sheet.truth, sheet.codes
    index = np.searchsorted(codes, x)
    # A failed prediction counts as a category other than the label.
    wrong = codes[(index + 1) % codes.size]
    filled = np.where(np.isfinite(sheet.code), sheet.code, wrong)
    pairings = [
        LabelsAndPredictions(metric=name, x=x, y=sheet.code, filled=filled)
        for name in ("accuracy", "balanced_accuracy", "macro_f1")
    ]
    shares = sheet.shares
    has_shares: Flags = np.zeros(x.size, np.bool_)
    if shares is not None:
        has_shares = np.asarray(np.isfinite(shares).all(axis=1), np.bool_)
    why_none = None if has_shares.any() else _NO_SHARES
    pairings += [_top(k, index, shares, has_shares, why_none) for k in (2, 3) if k < codes.size]
    pairings.append(_divergence(sheet, measure.truth.votes, why_none))
    rows = sheet.answered
    names = np.array([sheet.scale.labels()[code] for code in codes], dtype=object)
    answers = np.searchsorted(codes, np.clip(sheet.code[rows], codes[0], codes[-1]))
    details = CategoryDetails(confusion(names[index[rows]], names[answers]))
    scores = [measure.score(sheet, pairing) for pairing in pairings]
    return Marked(
        scores=scores,
        details=details,
        predicted=sheet.code,
        fallback=wrong,
        sliced={"accuracy": sheet.code, "macro_f1": sheet.code},
    )


def _top(k: int, label: Ints, shares: Floats | None, has_shares: Flags, why_none: str | None) -> LabelsAndPredictions:
    """Whether the label is among the ``k`` categories with the largest shares."""
    hit = np.full(label.size, np.nan)
    if shares is not None and has_shares.any():
        hit[has_shares] = top_k(label[has_shares], shares[has_shares], k)
    chance = ChanceLevel(None, "there are no labels")
    if label.size:
        frequent = np.argsort(-np.bincount(label), kind="stable")[:k]
        always = np.isin(label, frequent).astype(np.float64)
        chance = ChanceLevel(float(always.mean()), f"always the {k} most frequent labels", always)
    return mean_of(f"top_{k}", hit, np.nan_to_num(hit), why_none, chance, share=True)


def _divergence(sheet: PredictionSheet, votes: pl.DataFrame, why_none: str | None) -> LabelsAndPredictions:
    votes = votes.filter(pl.col("question").is_in(sheet.task.questions))
    if why_none is None and not votes.height:
        why_none = "the source gives labels, not votes"
    values = np.full(sheet.rows.height, np.nan)
    chance = ChanceLevel(None, why_none or "")
    if why_none is None and sheet.shares is not None:
        placed = sheet.rows.select(ITEM).with_row_index("_row").join(votes, on=ITEM, how="inner", maintain_order="left")
        table = np.zeros((sheet.rows.height, sheet.codes.size))
        column = np.searchsorted(sheet.codes, placed["value"].to_numpy())
        table[placed["_row"].to_numpy(), column] = placed["votes"].to_numpy()
        voted = table.sum(axis=1) > 0
        both = np.isfinite(sheet.shares).all(axis=1) & voted
        values[both] = jensen_shannon(sheet.shares[both], table[both])
        blind = np.ones(values.size)
        blind[voted] = jensen_shannon(np.broadcast_to(table.sum(axis=0), table[voted].shape), table[voted])
        chance = ChanceLevel(float(blind.mean()), "always the distribution of all votes", blind)
    return mean_of("divergence", values, np.where(np.isfinite(values), values, 1.0), why_none, chance)


def ordinal(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """Quadratic kappa of the nearest category, and Spearman's correlation of the number itself."""
    has_code, codes, x = np.isfinite(sheet.code), sheet.codes, sheet.truth
    values = np.where(has_code, sheet.code, codes[0])
    nearest = np.where(has_code, codes[np.abs(values[:, None] - codes[None, :]).argmin(axis=1)], np.nan)
    # A failed prediction counts as the category furthest from the label.
    furthest = np.where(np.abs(x - codes[0]) > np.abs(x - codes[-1]), codes[0], codes[-1])
    why_none = None if sheet.on_scale else "the model gives scores, not degrees"
    order = sheet.code if sheet.on_scale else sheet.score
    scores = [
        measure.score(
            sheet,
            LabelsAndPredictions(
                metric=metric, x=x, y=y, filled=np.where(np.isfinite(y), y, furthest), why_none=why_none
            ),
        )
        for metric, y in (("quadratic_kappa", nearest), ("spearman", order))
    ]
    return Marked(
        scores=scores,
        details=OrdinalDetails(),
        predicted=nearest,
        fallback=furthest,
        sliced={"quadratic_kappa": sheet.code},
    )
