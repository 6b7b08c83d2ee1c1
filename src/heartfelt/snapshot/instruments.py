"""Scores of instruments, from the answers in a table of raters."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from heartfelt.errors import InputError
from heartfelt.study import Study
from heartfelt.study.parts.instrument import FORMS, Instrument, question_id, score_column


class Unscored(NamedTuple):
    """A score that could not be computed for a rater who answered some of the instrument's items."""

    rater: str
    column: str
    reason: str


def answer_column(study: Study, question: str) -> str | None:
    """The column of the raters with the answers to a question of a questionnaire."""
    for where in FORMS:
        if any(question_asked.id == question for question_asked in study.asked_in(where)):
            return f"{where}_{question}"
    return None


def item_numbers(study: Study, raters: pl.DataFrame, key: str) -> pl.DataFrame:
    """What every rater's answers count: a column per item, turned round where reversed; null where there is no answer.

    An item whose column the raters lack, as in a release that leaves answers out, is null throughout.
    """
    instrument = study.instruments[key]
    columns = {}
    for item in instrument.items:
        question = question_id(key, item.id)
        column = answer_column(study, question)
        answers = raters[column].to_list() if column in raters.columns else [None] * raters.height
        columns[item.id] = [_number(study, instrument, key, item.id, answer) for answer in answers]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))


def _number(study: Study, instrument: Instrument, key: str, item_id: str, answer: object) -> float | None:
    item = next(item for item in instrument.items if item.id == item_id)
    if answer is None or instrument.limits(item) is None:
        return None
    # Answers that all look like numbers are numbers in the table; the ids of categories are texts.
    text = f"{answer:.12g}" if isinstance(answer, float) else answer
    try:
        value, _ = study.scales[f"{key}_{instrument.scale_of(item)}"].read(text)
    except InputError:  # an answer to an earlier version of the scale
        return None
    return None if value is None else instrument.number(item_id, value)


def instrument_scores(study: Study, raters: pl.DataFrame) -> tuple[pl.DataFrame, list[Unscored]]:
    """A column per score, in the order of ``raters``, and the scores that are missing of people who began an instrument."""
    out: dict[str, list[float | None]] = {}
    missing: list[Unscored] = []
    names = raters["rater"].to_list()
    for key, instrument in study.instruments.items():
        rows = item_numbers(study, raters, key).to_dicts()
        for subscale in instrument.subscales:
            column = score_column(key, subscale)
            out[column] = []
            for rater, row in zip(names, rows, strict=True):
                score, reason = instrument.score(subscale, row)
                out[column].append(score)
                if reason is not None and any(number is not None for number in row.values()):
                    missing.append(Unscored(rater, column, reason))
    return pl.DataFrame(out, schema=dict.fromkeys(out, pl.Float64)), missing
