"""The section of a bench page on predicted choices and traces: calibration, position bias, and the lag of courses."""

from __future__ import annotations

from functools import partial

from heartfelt.analysis.text.sentences import template_lines
from heartfelt.report.layout.page import Section
from heartfelt.report.layout.tables import CellValue
from heartfelt.report.layout.templates import section
from heartfelt.scoring import Scores
from heartfelt.scoring.results.details import ChoiceDetails, TraceDetails
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.stats.comparison.judges.position import PositionBias
from heartfelt.stats.comparison.predicted.recalibration import ChoiceCalibration
from heartfelt.wording import spaced


def judges(scores: Scores) -> Section:
    """Calibration and position bias of predicted choices, and the lag of predicted courses."""
    tasks = []
    for task in scores.tasks:
        by_model = scores.details[task.id].models if task.id in scores.details else {}
        chosen = [(model, row) for model, row in by_model.items() if isinstance(row, ChoiceDetails)]
        traced = [(model, row) for model, row in by_model.items() if isinstance(row, TraceDetails)]
        tasks.append((task, chosen, traced))
    return section(
        "bench/judges",
        "judges",
        scores=scores,
        tasks=tasks,
        has_choices=any(task.kind == "choices" for task in scores.tasks),
        calibrated_of=_calibrated,
        biased_of=_biased,
        sentences_of=_sentences,
        score_of=partial(_score, scores),
    )


def _calibrated(rows: list[tuple[str, ChoiceDetails]]) -> list[tuple[str, ChoiceCalibration]]:
    details = ((model, row.choice_calibration) for model, row in rows)
    return [(model, result) for model, result in details if isinstance(result, ChoiceCalibration)]


def _biased(rows: list[tuple[str, ChoiceDetails]]) -> list[tuple[str, PositionBias]]:
    return [(model, row.position_bias) for model, row in rows if row.position_bias is not None]


def _score(scores: Scores, task: ScoringTask, model: str, index: int) -> CellValue:
    rows = [row for row in scores.scores if (row.task, row.model) == (task.id, model)]
    return rows[index].with_failures if len(rows) > index else None


def _sentences(task: ScoringTask, rows: list[tuple[str, ChoiceDetails]]) -> list[str]:
    """How often raters chose the first, and the position bias of every judge."""
    return template_lines("report/bench/sentences", "judges", name=spaced(task.id), rows=rows)
