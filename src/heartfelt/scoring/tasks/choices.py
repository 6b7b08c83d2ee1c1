"""Predicted choices against people's: accuracy, log loss, calibration and position bias.

Every answer to a pair counts, with intervals over raters and pairs
(:mod:`heartfelt.stats.comparison.predicted.prediction`). A failed prediction counts as the stimulus that fewer people
chose; in log loss and Brier scores as even odds, with ties as often as they occur, which is also their chance level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from heartfelt.labels.strengths import rater_of
from heartfelt.scoring.measurement.measure import Marked, MetricMeasurer, from_chance, of_ceiling
from heartfelt.scoring.measurement.sheet import Flags, PredictionSheet, floats_of
from heartfelt.scoring.results.details import ChoiceDetails, NoCalibration
from heartfelt.scoring.results.metrics import METRICS, ChanceLevel
from heartfelt.scoring.results.scores import ModelScore
from heartfelt.scoring.tasks.pairs import NO_ORDER
from heartfelt.stats.columns.triples import Floats
from heartfelt.stats.comparison.judges.position import PositionBias, position_bias
from heartfelt.stats.comparison.predicted.hits import hits, mean_hits
from heartfelt.stats.comparison.predicted.prediction import ChoiceScores, choice_scores
from heartfelt.stats.comparison.predicted.recalibration import ChoiceCalibration, choice_calibration
from heartfelt.stats.estimate import Estimate

OF_SIDES = {
    "choice_accuracy": "accuracy",
    "decided_accuracy": "decided_accuracy",
    "majority_accuracy": "majority_accuracy",
}
OF_PROBABILITIES = {
    "log_loss": "log_loss",
    "choice_brier": "brier",
    "outcome_accuracy": "outcome_accuracy",
    "outcome_log_loss": "outcome_log_loss",
    "outcome_brier": "outcome_brier",
}
"""The scores and what :class:`ChoiceScores` calls them: by the sides predicted, and by probabilities."""
NO_PROBABILITIES = "the model gives no probabilities"
OVER_SYSTEMS = "a pair lies between systems; see the strengths of systems"
HEADLINE_ONLY = "only the headline is tested against chance"
OTHER_RATERS = "a left-out rater is scored by the other raters' single choices"
_Columns: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class PairAnswers:
    """Every answer to the pairs of a sheet, in the order presented, next to what was predicted of the pair."""

    table: pl.DataFrame
    """rater, first, second, value, pair, and the place of the pair's row in the sheet."""
    sheet: PredictionSheet
    confidence: float
    seed: int

    @cached_property
    def rater(self) -> pl.Series | None:
        """The raters; None where none is known."""
        return rater_of(self.table)

    @cached_property
    def row(self) -> Any:
        """The row of the sheet that each answer belongs to."""
        return self.table["_row"].to_numpy()

    @cached_property
    def value(self) -> Floats:
        """1 where the first was chosen, 0 where the second was, 0.5 for a tie."""
        return self.table["value"].to_numpy()

    @cached_property
    def turned(self) -> Floats:
        """1 where the pair was presented in the order of its name, else -1."""
        return np.where((self.table["first"] < self.table["second"]).to_numpy(), 1.0, -1.0)

    @cached_property
    def lean(self) -> Floats:
        """Above 0 where the first is predicted; NaN without a prediction."""
        position = floats_of(self.sheet.rows["place"])[self.row]
        lean = np.where(position != 0, position, self.sheet.code[self.row] * self.turned)
        return np.where(self.sheet.answered[self.row], lean, np.nan)

    @cached_property
    def counted(self) -> Floats:
        """The same with failures counted: as the stimulus that fewer people chose."""
        fewer = -np.sign(self.sheet.truth - 0.5)[self.row] * self.turned
        return np.where(np.isfinite(self.lean), self.lean, fewer)

    def outcome(self, *, failures: bool) -> tuple[Floats, Floats | None]:
        """Probability of the first and, where the model gives any, of a tie."""
        chance, tie = (floats_of(self.sheet.rows[name])[self.row] for name in ("chance", "tie"))
        with_ties = bool(np.isfinite(tie).any())
        tie = np.where(np.isfinite(chance) & ~np.isfinite(tie), 0.0, tie)
        first = np.where(self.turned > 0, chance, 1.0 - chance - np.nan_to_num(tie))
        if failures:
            share = self.tie_share if with_ties else 0.0
            first = np.where(np.isfinite(first), first, (1.0 - share) / 2)
            tie = np.where(np.isfinite(tie), tie, share)
        return first, tie if with_ties else None

    @property
    def tie_share(self) -> float:
        """How often raters saw no difference."""
        return float(np.mean(self.value == 0.5)) if self.value.size else 0.0

    def scores(self, lean: Floats, rows: Flags | None = None) -> ChoiceScores:
        """Scores of predicted sides."""
        return choice_scores(
            *self.columns(rows), difference=lean if rows is None else lean[rows], confidence=self.confidence
        )

    def columns(self, rows: Flags | None = None) -> tuple[Any, ...]:
        """rater, first, second, value, as statistics take them."""
        table = self.table if rows is None else self.table.filter(pl.Series(rows))
        rater = self.rater if rows is None or self.rater is None else self.rater.filter(pl.Series(rows))
        return rater, table["first"], table["second"], table["value"]


def answers_to(sheet: PredictionSheet, measure: MetricMeasurer) -> PairAnswers:
    """The answers to the pairs of a sheet."""
    rows = sheet.rows.select(pl.col("stimulus").alias("pair")).with_row_index("_row")
    table = measure.truth.pairs.of(sheet.task.questions[0]).join(rows, on="pair", how="inner", maintain_order="left")
    return PairAnswers(table, sheet, measure.options.confidence, measure.options.seed)


def choices(sheet: PredictionSheet, measure: MetricMeasurer) -> Marked:
    """Every score of predicted choices."""
    answers = answers_to(sheet, measure)
    if not sheet.answered.any():
        missing = Estimate.missing(next(iter(sheet.coverage.problems), "no pair was answered"), "accuracy")
        return _without_answers(sheet, measure, answers, missing)
    if sheet.against_other_labels:
        return _left_out_rater(sheet, measure, answers)
    has_probability = np.isfinite(floats_of(sheet.rows["chance"]))
    why_none = None if has_probability[sheet.answered].all() and has_probability.any() else NO_PROBABILITIES
    scores = [_score(sheet, metric, forms, measure, answers) for metric, forms in _forms(answers, why_none).items()]
    right = hits(answers.counted, answers.value)
    details = ChoiceDetails(
        decided_by="probabilities" if why_none is None else _decided_by(sheet),
        choice_calibration=_calibrated(answers, why_none),
        position_bias=_bias(sheet, answers.confidence),
        always_first=_always_first(answers),
    )
    own_hits, all_hits = (_by_pair(answer_hits, answers) for answer_hits in (hits(answers.lean, answers.value), right))
    return Marked(
        scores=scores,
        details=details,
        predicted=own_hits,
        fallback=all_hits,
        sliced={},
        right=right,
        slice_of=lambda inside: _slice(answers, inside),
    )


def _always_first(answers: PairAnswers) -> Estimate:
    """How often raters chose what was presented first."""
    if not answers.table["ordered"].all():
        return Estimate.missing(NO_ORDER, "accuracy")
    return answers.scores(np.ones(answers.value.size)).accuracy


def _left_out_rater(sheet: PredictionSheet, measure: MetricMeasurer, answers: PairAnswers) -> Marked:
    """One rater's choice of each pair against those of the others: the share of them who chose the same, a tie being half right."""
    chosen = 0.5 + np.sign(sheet.code) / 2.0
    others_share = floats_of(sheet.rows["against"])
    right = np.where(sheet.answered, chosen * others_share + (1.0 - chosen) * (1.0 - others_share), np.nan)
    scored = sheet.rows.filter(pl.Series(np.isfinite(right)))
    shares = right[np.isfinite(right)]
    ends = (scored["one"], scored["other"])
    accuracy = mean_hits(None, *ends, shares, np.zeros(shares.size), confidence=answers.confidence).estimate
    return _without_answers(sheet, measure, answers, accuracy, right)


def _without_answers(
    sheet: PredictionSheet,
    measure: MetricMeasurer,
    answers: PairAnswers,
    accuracy: Estimate,
    right: Floats | None = None,
) -> Marked:
    """The scores of a model of which no answer is compared with those of all raters: an accuracy at most."""
    missing = Estimate.missing(accuracy.why_missing or OTHER_RATERS, "choices")
    of = {metric: accuracy if metric == sheet.task.headline else missing for metric in (*OF_SIDES, *OF_PROBABILITIES)}
    scores = [_score(sheet, metric, (estimate, estimate), measure, answers) for metric, estimate in of.items()]
    none = NoCalibration(why_missing=NO_PROBABILITIES)
    by_pair = np.full(sheet.rows.height, np.nan) if right is None else right
    return Marked(
        scores=scores,
        details=ChoiceDetails(_decided_by(sheet), none, None, _always_first(answers)),
        predicted=by_pair,
        fallback=by_pair,
        sliced={},
    )


def _forms(answers: PairAnswers, why_none: str | None) -> dict[str, tuple[Estimate, Estimate]]:
    """Every metric over the answered pairs, and with failures counted."""
    complete = bool(answers.sheet.answered.all())
    counted = answers.scores(answers.counted)
    sides = counted if complete else answers.scores(answers.lean), counted
    forms = {metric: _parts(sides, part) for metric, part in OF_SIDES.items()}
    if why_none is not None:
        missing = {metric: Estimate.missing(why_none, metric) for metric in OF_PROBABILITIES}
        return forms | {metric: (estimate, estimate) for metric, estimate in missing.items()}
    full = _by_probability(answers, failures=True)
    chances = full if complete else _by_probability(answers, failures=False), full
    return forms | {metric: _parts(chances, part) for metric, part in OF_PROBABILITIES.items()}


def _parts(scores: tuple[ChoiceScores, ChoiceScores], part: str) -> tuple[Estimate, Estimate]:
    return getattr(scores[0], part), getattr(scores[1], part)


def _by_probability(answers: PairAnswers, *, failures: bool) -> ChoiceScores:
    first, tie = answers.outcome(failures=failures)
    return choice_scores(*answers.columns(), probability=first, tie=tie, confidence=answers.confidence)


def _score(
    sheet: PredictionSheet, metric: str, forms: tuple[Estimate, Estimate], measure: MetricMeasurer, answers: PairAnswers
) -> ModelScore:
    of_answered, full = forms
    part, tops = OF_SIDES.get(metric) or OF_PROBABILITIES[metric], measure.choice_ceilings(sheet.task)
    top = Estimate.missing(tops, f"ceiling, {metric}") if isinstance(tops, str) else getattr(tops, part)
    chance = chance_of_choices(metric, answers.value).estimate(metric)
    test = f"p-value of {metric} against chance"
    if full.value is None or chance.value is None:
        reason = full.why_missing or chance.why_missing or "no chance level is known"
        beyond, p = Estimate.missing(reason, f"{metric} beyond chance"), Estimate.missing(reason, test)
    elif metric == sheet.task.headline and not sheet.against_other_labels:
        even = np.full(answers.value.size, 0.5)
        rater, first, second, _ = answers.columns()
        right = hits(answers.counted, answers.value)
        difference = mean_hits(rater, first, second, right, even, confidence=answers.confidence)
        beyond, p = from_chance(difference.estimate, 0.0, 1, metric), difference.p
        if p.value is None:
            p = measure.flipped(right - even, answers.row)
    else:
        beyond = from_chance(full, chance.value, METRICS[metric].sign, metric)
        p = Estimate.missing(HEADLINE_ONLY, test)
    return ModelScore(
        model=sheet.model,
        task=sheet.task.id,
        aggregation="item",
        metric=metric,
        at="",
        estimate=of_answered,
        with_failures=full,
        over_systems=Estimate.missing(OVER_SYSTEMS, f"{metric}, over systems"),
        ceiling=top,
        of_ceiling=of_ceiling(metric, full, top, chance, beyond),
        chance=chance,
        beyond_chance=beyond,
        p_chance=p,
        p_chance_over_systems=Estimate.missing(OVER_SYSTEMS, "p-value, systems rearranged"),
    )


def chance_of_choices(metric: str, value: Floats) -> ChanceLevel:
    """The score of even odds on answers, with ties as often as they occur where they are an outcome."""
    info = METRICS[metric]
    if info.chance is not None:
        return ChanceLevel(info.chance, info.chance_rule)
    if not value.size:
        return ChanceLevel(None, "there are no comparisons")
    tie = float(np.mean(value == 0.5))
    side_share = (1.0 - tie) / 2
    parts = [share for share in (side_share, side_share, tie) if share > 0]
    levels: dict[str, Callable[[], float]] = {
        "choice_brier": lambda: float(np.mean((value - 0.5) ** 2)),
        "outcome_accuracy": lambda: max(float(np.mean(value == choice)) for choice in (0.0, 0.5, 1.0)),
        "outcome_log_loss": lambda: -sum(share * math.log(share) for share in parts),
        "outcome_brier": lambda: (1.0 - sum(share**2 for share in parts)) / 2,
    }
    level = levels[metric]()
    return ChanceLevel(level, info.chance_rule)


def _decided_by(sheet: PredictionSheet) -> str:
    if floats_of(sheet.rows["place"]).any():
        return "the order of presentation"
    notes = sheet.rows["note"].drop_nulls()
    return str(notes.mode().sort()[0]) if notes.len() else "its own verdicts"


def _calibrated(answers: PairAnswers, why_missing: str | None) -> ChoiceCalibration | NoCalibration:
    if why_missing is not None:
        return NoCalibration(why_missing=why_missing)
    first, tie = answers.outcome(failures=False)
    rater, left, right, value = answers.columns()
    confidence, seed = answers.confidence, answers.seed
    return choice_calibration(rater, left, right, value, first, tie=tie, confidence=confidence, seed=seed)


def _bias(sheet: PredictionSheet, confidence: float) -> PositionBias | None:
    """The position bias of a judge that compared pairs in both orders; None of one that did not."""
    rows = sheet.rows.filter(pl.col("orders").is_not_null())
    if not rows.height:
        return None
    ahead, behind = (rows["orders"].list.get(index) for index in (0, 1))
    first = pl.concat([rows["one"], rows["other"]])
    second = pl.concat([rows["other"], rows["one"]])
    return position_bias(first, second, pl.concat([ahead, behind]), confidence=confidence)


def _slice(answers: PairAnswers, inside: Flags) -> Estimate:
    """The headline on the answered pairs among some rows of the sheet."""
    rows = inside[answers.row] & np.isfinite(answers.lean)
    if not rows.any():
        return Estimate.missing("no item was answered", "choice_accuracy")
    return answers.scores(answers.lean, rows).accuracy


def _by_pair(values: Floats, answers: PairAnswers) -> Floats:
    """The mean of a value over the answers to each pair."""
    size = answers.sheet.rows.height
    counts = np.maximum(np.bincount(answers.row, minlength=size), 1)
    return np.asarray(np.bincount(answers.row, weights=values, minlength=size) / counts)
