"""Sections of a bench page on predicted choices and traces: calibration, position bias, and the lag of courses."""

from __future__ import annotations

from typing import TypeAlias

from markupsafe import Markup

from heartfelt.report.page import Section, absent, bullets, joined
from heartfelt.report.tables import CellValue, Columns, PValue, table_of
from heartfelt.scoring import Scores
from heartfelt.scoring.details import ChoiceDetails, TraceDetails
from heartfelt.scoring.scores import ScoringTask
from heartfelt.stats.comparison.position import PositionBias
from heartfelt.stats.comparison.recalibration import ChoiceCalibration
from heartfelt.wording import interval, number, spaced

_Choice: TypeAlias = tuple[str, ChoiceDetails]
_Trace: TypeAlias = tuple[str, TraceDetails]


def judges(scores: Scores) -> Section:
    """Calibration and position bias of predicted choices, and the lag of predicted courses."""
    parts = []
    for task in scores.tasks:
        by_model = scores.details[task.id].models if task.id in scores.details else {}
        chosen = [
            (model, details) for model, details in by_model.items() if isinstance(details, ChoiceDetails)
        ]
        traced = [
            (model, details) for model, details in by_model.items() if isinstance(details, TraceDetails)
        ]
        if chosen:
            parts += [_calibrations(task, chosen), _biases(task, chosen), bullets(_sentences(task, chosen))]
        if traced:
            parts.append(_traces(scores, task, traced))
    lead = (
        "A calibration slope below 1 means overconfidence, above 1 timidity; an intercept above 0 that the first was chosen more"
        " often than predicted. A judge that compares every pair in both orders is inconsistent where its verdict changes with"
        " the order; without position bias such changes favour the first place as often as the second (exact sign test)."
    )
    if not any(task.kind == "choices" for task in scores.tasks):
        lead = ""
    return Section(
        id="judges", title="Choices and traces in detail", lead=lead, html=joined(*parts), short="Judges"
    )


def _calibrations(task: ScoringTask, rows: list[_Choice]) -> Markup:
    calibrated = [
        (model, details.choice_calibration)
        for model, details in rows
        if isinstance(details.choice_calibration, ChoiceCalibration)
    ]
    if not calibrated:
        return absent(f"{spaced(task.id)}: no model gives probabilities, so there is no calibration to show.")
    columns: Columns[tuple[str, ChoiceCalibration]] = {
        "model": lambda row: row[0],
        "slope": lambda row: row[1].slope,
        "intercept": lambda row: row[1].intercept,
        "calibration error": lambda row: None if row[1].table is None else row[1].table.error,
    }
    return table_of(f"{spaced(task.id)}: calibration", calibrated, columns)


def _biases(task: ScoringTask, rows: list[_Choice]) -> Markup:
    biased = [(model, details.position_bias) for model, details in rows if details.position_bias is not None]
    if not biased:
        return absent(
            f"{spaced(task.id)}: no model judged pairs in both orders, so position bias is not known."
        )
    columns: Columns[tuple[str, PositionBias]] = {
        "model": lambda row: row[0],
        "inconsistent pairs": lambda row: row[1].inconsistent,
        "of these in favour of the first": lambda row: row[1].favours_first,
        "p (no position bias)": lambda row: PValue(row[1].p_value),
    }
    return table_of(f"{spaced(task.id)}: position bias", biased, columns)


def _sentences(task: ScoringTask, rows: list[_Choice]) -> list[str]:
    """How often raters chose the first, and the position bias of every judge."""
    out = [
        f"{spaced(task.id)}: decided by "
        + "; ".join(f"{details.decided_by} ({model})" for model, details in rows)
        + ".",
    ]
    first = rows[0][1].always_first
    if not first.is_missing:
        chosen = f"{spaced(task.id)}: raters chose the stimulus presented first in {interval(first)} of their answers,"
        out.insert(0, f"{chosen} which is the accuracy of always predicting it (a tie counts half).")
    for model, details in rows:
        bias = details.position_bias
        if bias is None or bias.inconsistent.value is None:
            continue
        text = f"{spaced(task.id)}: {model} changed its verdict with the order in {interval(bias.inconsistent)} of pairs"
        if bias.favours_first.value is not None:
            text += f"; of these, {interval(bias.favours_first)} favoured the first place"
        out.append(f"{text}.")
    return out


def _traces(scores: Scores, task: ScoringTask, rows: list[_Trace]) -> Markup:
    def score(row: _Trace, index: int) -> CellValue:
        model_scores = [
            score_row for score_row in scores.scores if (score_row.task, score_row.model) == (task.id, row[0])
        ]
        return model_scores[index].with_failures if len(model_scores) > index else None

    columns: Columns[_Trace] = {
        "model": lambda row: row[0],
        "lag (s)": lambda row: "not timed" if row[1].lag is None else number(row[1].lag, 1),
        f"{scores.metric_title(task.headline)} after the lag": lambda row: score(row, 0),
        "without the lag": lambda row: score(row, 1) if row[1].lag else score(row, 0),
        "stimuli compared": lambda row: row[1].scored,
    }
    return table_of(f"{spaced(task.id)}: by how much raters follow the prediction", rows, columns)
