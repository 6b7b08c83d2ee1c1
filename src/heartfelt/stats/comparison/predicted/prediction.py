"""Scores of predicted choices: how well something says which of two a person chooses.

A prediction is a ``difference`` (of two scores, positive in favour of the first: only its sign counts), or a ``probability``
that the first is chosen, with or without that of a ``tie``. With v the value of a comparison (1 first, 0 second, 0.5 tie),
p the probability of the first and t that of a tie:

| score | per comparison | a tie |
|---|---|---|
| accuracy | v where the first is predicted, 1 - v where the second is, 0.5 where neither is | half right for either side |
| decided accuracy | the same | left out |
| outcome accuracy | whether the likeliest of the three outcomes happened; needs t | an outcome |
| majority accuracy | the same, for the side that most decided answers to a pair chose | left out, as are evenly split pairs |
| log loss | -v log m - (1 - v) log(1 - m), m = p + t / 2, in nats | half a win each |
| outcome log loss | -log of the probability of what happened; needs t | an outcome |
| Brier | (m - v)^2 | a value of 0.5 |
| outcome Brier | half the sum of squares over the three outcomes; needs t | an outcome |

Intervals are over raters and pairs (:mod:`heartfelt.stats.reliability.two_way_jackknife`): shares by Wilson's score interval at the
effective sample size, losses on the log scale. Without raters they are over pairs. What a prediction gets wrong about a stimulus it
gets wrong in all its pairs, so pairs that share one are not taken as independent (``shared_members``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.stats._bounds import Transform, check_confidence
from heartfelt.stats.columns.triples import Floats, Ids, Ints, Values, as_floats
from heartfelt.stats.comparison.pairs import Comparisons, PairSets, as_comparisons, check_choices, judged_sets
from heartfelt.stats.comparison.predicted.hits import Without, crossed, hits
from heartfelt.stats.comparison.spread import without_each, without_units
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.jackknife import JackknifeError
from heartfelt.stats.reliability.two_way_jackknife import TwoWaySpread

ROUNDING = 1e-9
NO_PROBABILITIES = "the prediction gives no probabilities"
NO_TIES = "the prediction gives no probability of a tie"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceScores:
    """Scores of predicted choices, or the best that can be expected of them (``choice_ceilings``)."""

    accuracy: Estimate
    decided_accuracy: Estimate
    outcome_accuracy: Estimate
    majority_accuracy: Estimate
    log_loss: Estimate
    outcome_log_loss: Estimate
    brier: Estimate
    outcome_brier: Estimate


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Predicted:
    """Comparisons with their predictions, in the order of presentation. NaN probabilities: none were given."""

    data: Comparisons
    sets: PairSets
    lean: Floats
    """Positive where the first is predicted."""
    first: Floats
    tie: Floats | None
    confidence: float

    @property
    def members(self) -> tuple[Ints, int]:
        """The two members of every comparison as codes, in two rows, and how many members there are."""
        both = np.vstack([self.data.first, self.data.second])
        if self.data.stimulus is not None:
            both = both * max(self.data.stimuli, 1) + self.data.stimulus
        names, codes = np.unique(both, return_inverse=True)
        return codes.reshape(both.shape).astype(np.int64), int(names.size)

    @property
    def counts(self) -> dict[str, int]:
        raters = {} if self.data.rater is None else {"raters": self.data.raters}
        left_out = {"left_out": self.data.left_out} if self.data.left_out else {}
        return {"comparisons": self.data.size, "pairs": self.sets.count, **raters, **left_out}


def choice_scores(
    rater: Ids | None,
    first: Ids,
    second: Ids,
    value: Values,
    *,
    difference: Values = None,
    probability: Values = None,
    tie: Values = None,
    stimulus: Ids | None = None,
    confidence: float = 0.95,
) -> ChoiceScores:
    """Score predictions of choices; columns as in :func:`bradley_terry`, with one prediction per comparison.

    Comparisons without a finite value or prediction are left out and counted.
    """
    predicted = predictions(rater, first, second, value, difference, probability, tie, stimulus, confidence)
    names = {
        "accuracy": "accuracy, a tie is half right",
        "decided_accuracy": "accuracy of decided comparisons",
        "outcome_accuracy": "accuracy of three outcomes",
        "majority_accuracy": "accuracy of the majority's choice",
        "log_loss": "log loss, a tie is half a win each",
        "outcome_log_loss": "log loss of three outcomes",
        "brier": "Brier score, a tie has the value 0.5",
        "outcome_brier": "Brier score of three outcomes",
    }
    if not predicted.data.size:
        missing = {
            score: Estimate.missing("there are no comparisons", names[score], predicted.counts) for score in names
        }
        return ChoiceScores(**missing)
    v, everything = predicted.data.value, np.ones(predicted.data.size)
    right = hits(predicted.lean, v)
    scores = {
        "accuracy": _mean(predicted, names["accuracy"], right, everything, "logit"),
        "decided_accuracy": _mean(predicted, names["decided_accuracy"], right * (v != 0.5), (v != 0.5) * 1.0, "logit"),
        "majority_accuracy": _majority(predicted, names["majority_accuracy"]),
    }
    for kind in ("", "outcome_"):
        reason = NO_PROBABILITIES if np.isnan(predicted.first).any() else None
        reason = reason or (NO_TIES if kind and predicted.tie is None else None)
        wanted = [f"{kind}log_loss", f"{kind}brier", *(["outcome_accuracy"] if kind else [])]
        if reason:
            scores |= {name: Estimate.missing(reason, names[name], predicted.counts) for name in wanted}
            continue
        chances, happened = _outcomes(predicted, bool(kind))
        scores[f"{kind}log_loss"] = _log_loss(predicted, names[f"{kind}log_loss"], chances, happened)
        squares = ((chances - happened) ** 2).sum(axis=1) / 2
        scores[f"{kind}brier"] = _mean(predicted, names[f"{kind}brier"], squares, everything, "log")
        if kind:
            likeliest = np.isclose(chances, chances.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
            right = (likeliest * happened).sum(axis=1) / likeliest.sum(axis=1)
            scores["outcome_accuracy"] = _mean(predicted, names["outcome_accuracy"], right, everything, "logit")
    return ChoiceScores(**scores)


def predictions(
    rater: Ids | None,
    first: Ids,
    second: Ids,
    value: Values,
    difference: Values,
    probability: Values,
    tie: Values,
    stimulus: Ids | None,
    confidence: float,
) -> Predicted:
    """Check and code comparisons with their predictions; one of ``difference`` and ``probability`` is None."""
    check_confidence(confidence)
    if (difference is None) == (probability is None):
        raise InputError(
            "Pass either differences or probabilities.",
            "Use difference= for scores of two, or probability= for the chance that the first is chosen.",
        )
    if tie is not None and probability is None:
        raise InputError("A probability of a tie needs that of the first.", "Pass probability= as well.")
    values = as_floats(value)
    columns = _columns({"difference": difference, "probability": probability, "tie": tie}, values.size)
    complete = np.isfinite(np.vstack([values, *columns.values()])).all(axis=0)
    data = as_comparisons(rater, first, second, np.where(complete, values, np.nan), stimulus)
    check_choices(data.value)
    columns = {name: column[complete] for name, column in columns.items()}
    sets = judged_sets(data)
    if difference is not None:
        none = np.full(data.size, np.nan)
        return Predicted(data=data, sets=sets, lean=columns["difference"], first=none, tie=None, confidence=confidence)
    chance, ties = columns["probability"], columns.get("tie")
    second_chance = 1.0 - chance - (0.0 if ties is None else ties)
    parts = [chance, second_chance] if ties is None else [chance, second_chance, ties]
    if data.size and min(float(part.min()) for part in parts) < -ROUNDING:
        raise InputError(
            "Probabilities must lie between 0 and 1, and those of a comparison must not exceed 1 together.",
            "Pass the chance that the first is chosen, and that of a tie.",
        )
    # 0.4, 0.2 and what is left of 1 are two sides as likely as each other, but for rounding.
    lean = np.where(np.abs(chance - second_chance) > 1e-12, chance - second_chance, 0.0)
    return Predicted(data=data, sets=sets, lean=lean, first=chance, tie=ties, confidence=confidence)


def _columns(predictions: Mapping[str, Values], size: int) -> dict[str, Floats]:
    """The predictions that were given, one for each comparison."""
    columns = {name: as_floats(column, name) for name, column in predictions.items() if column is not None}
    for name, column in columns.items():
        if column.size != size:
            raise InputError(
                f"The columns differ in length: {name} {column.size}, value {size}.",
                "Pass one prediction per comparison.",
            )
    return columns


def _outcomes(predicted: Predicted, with_ties: bool) -> tuple[Floats, Floats]:
    """Probabilities and what happened, by outcome: first and second, then a tie where that is an outcome."""
    v, tie = predicted.data.value, np.zeros(predicted.data.size) if predicted.tie is None else predicted.tie
    if not with_ties:
        chance = np.clip(predicted.first + tie / 2, 0.0, 1.0)
        return np.column_stack([chance, 1.0 - chance]), np.column_stack([v, 1.0 - v])
    second_chance = np.clip(1.0 - predicted.first - tie, 0.0, 1.0)
    return np.column_stack([predicted.first, second_chance, tie]), np.column_stack([v == 1.0, v == 0.0, v == 0.5]) * 1.0


def _log_loss(predicted: Predicted, name: str, chances: Floats, happened: Floats) -> Estimate:
    ruled_out = int(((chances <= 0) & (happened > 0)).any(axis=1).sum())
    if ruled_out:
        reason = f"{ruled_out} comparisons turned out as the prediction had ruled out (probability 0); the log loss is infinite"
        return Estimate.missing(reason, name, predicted.counts)
    losses = -(happened * np.log(np.where(happened > 0, chances, 1.0))).sum(axis=1)
    return _mean(predicted, name, losses, np.ones(losses.size), "log")


# --- intervals --------------------------------------------------------------------------------------------------------


def _mean(predicted: Predicted, name: str, top: Floats, bottom: Floats, scale: Transform) -> Estimate:
    total = float(bottom.sum())
    if total <= 0:
        return Estimate.missing("no comparison was decided", name, predicted.counts)
    point_estimate = Estimate(value=float(top.sum()) / total, method=name, counts=predicted.counts)

    def without(codes: Ints, count: int) -> Floats:
        return without_units(top, bottom, codes, count)

    return with_spread(point_estimate, predicted_spread(predicted, without, bottom > 0), scale, predicted)


def predicted_spread(predicted: Predicted, without: Without, used: Any) -> TwoWaySpread:
    return crossed(predicted.data, predicted.sets, predicted.members, without, used)


def with_spread(point_estimate: Estimate, spread: TwoWaySpread, scale: Transform, predicted: Predicted) -> Estimate:
    """The estimate with its interval on the scale, or the reason it has none."""
    value = float(point_estimate)
    raters = predicted.data.rater is not None
    if raters and predicted.data.raters < 2:
        return point_estimate.without_interval("one rater: the choices of one person are not a sample of people")
    units = min(spread.item_count, spread.rater_count) if raters else spread.item_count
    if units < 2:
        return point_estimate.without_interval("fewer than two pairs")
    at_end = scale == "logit" and not 0 < value < 1
    if not at_end and (spread.variance <= 0 or (scale == "log" and value <= 0)):
        return point_estimate.without_interval("nothing varies")
    error = math.sqrt(spread.variance)
    how = "jackknife over pairs and raters" if raters else "jackknife over pairs"
    result = JackknifeError(value=value, scale=scale, units=int(units), error=error, df=spread.df, how=how)
    if scale == "logit":
        size = units if at_end else value * (1 - value) / error**2
        result = replace(result, df=units - 1.0 if at_end else spread.df, effective=size)
    elif scale == "log":
        result = replace(result, error=error / value)
    return result.estimate(point_estimate, predicted.confidence)


def _majority(predicted: Predicted, name: str) -> Estimate:
    """How often the prediction names the side that most decided answers to a pair chose."""
    sets = predicted.sets
    leads = sets.value - 0.5
    oriented = np.where(sets.swapped, -predicted.lean, predicted.lean)
    lean, lead = (
        np.asarray(np.bincount(sets.codes, part, minlength=sets.count), np.float64) for part in (oriented, leads)
    )
    hit, label = _labelled(lead, lean)
    counts = predicted.counts | {"labels": int(label.sum())}
    if not label.any():
        return Estimate.missing("no pair has a majority", name, counts)

    def without(codes: Ints, count: int) -> Floats:
        if codes is sets.codes:
            return without_each(hit[label > 0], label[label > 0])
        if codes.ndim == 2:
            of_pair = codes[:, np.unique(sets.codes, return_index=True)[1]]
            return without_units(hit, label, of_pair, count)
        keys, cell = np.unique(codes * sets.count + sets.codes, return_inverse=True)
        pair = keys % sets.count
        hit_then, label_then = _labelled(lead[pair] - np.bincount(cell, leads), lean[pair])
        moved, fewer = (
            np.bincount(keys // sets.count, now - before[pair], minlength=count)
            for now, before in ((hit_then, hit), (label_then, label))
        )
        remaining = label.sum() + fewer
        return np.asarray((hit.sum() + moved)[remaining > 0] / remaining[remaining > 0])

    point_estimate = Estimate(value=float(hit.sum() / label.sum()), method=name, counts=counts)
    return with_spread(point_estimate, predicted_spread(predicted, without, label[sets.codes] > 0), "logit", predicted)


def _labelled(lead: Floats, lean: Floats) -> tuple[Floats, Floats]:
    """For each pair whether the prediction meets its majority, and whether there is one."""
    label = np.asarray(np.abs(lead) > 1e-9, np.float64)
    hit = label * np.where(lean * lead > 0, 1.0, np.where(lean == 0, 0.5, 0.0))
    return np.asarray(hit, np.float64), label
