"""What machines wrote about the stimuli of a study, as far as raters can verify it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.study import Study
from heartfelt.study.consistency.conditions import Source, is_shown
from heartfelt.study.scales.answer import NONE, Coded


def machine_values(opened: OpenStudy) -> dict[tuple[str, str], tuple[str, str]]:
    """Machine values and their sources by item: the drafts, else the items' column ``machine``, else a manifest column.

    A value that is no answer on its question's scale is left out: whoever accepted it could not be stored.
    """
    values = _all_machine_values(opened)
    values_of: dict[str, set[str]] = {}
    for (_, question), (value, _) in values.items():
        values_of.setdefault(question, set()).add(value)
    valid = {
        question: {value for value in drafted if _answers(opened.study, question, value)}
        for question, drafted in values_of.items()
    }
    return {item: fact for item, fact in values.items() if fact[0] in valid[item[1]]}


def invalid_machine_values(opened: OpenStudy) -> dict[tuple[str, str], str]:
    """Machine values by item that are no answer on their question's scale."""
    valid = machine_values(opened).keys()
    return {item: value for item, (value, _) in _all_machine_values(opened).items() if item not in valid}


def _answers(study: Study, question: str, value: str) -> bool:
    if value == NONE:
        return study.question(question).none is not False
    try:
        study.scale_of(question).read(value)
    except InputError:
        return False
    return True


def _all_machine_values(opened: OpenStudy) -> dict[tuple[str, str], tuple[str, str]]:
    filled: dict[tuple[str, str], tuple[str, str]] = {}
    first = {question.id for question in opened.study.asked if question.machine_first}
    for question in first & set(opened.stimuli.columns):
        for row in opened.stimuli.filter(pl.col(question).is_not_null()).iter_rows(named=True):
            source = row.get(f"{question}_source") or "manifest"
            filled[row["stimulus"], question] = (str(row[question]), str(source))
    if first and "machine" in opened.items.columns:
        has_machine_value = pl.col("question").is_in(list(first)) & pl.col("machine").is_not_null()
        for row in opened.items.filter(has_machine_value).iter_rows(named=True):
            filled[row["stimulus"], row["question"]] = (str(row["machine"]), str(row.get("source") or "items"))
    drafts = opened.drafts.select("stimulus", "question", "value", "source")
    return filled | {(stimulus, question): (value, source) for stimulus, question, value, source in drafts.iter_rows()}


def asked_with_drafts(
    study: Study, stimulus: str, questions: tuple[str, ...], machine: Mapping[tuple[str, str], tuple[str, str]]
) -> tuple[str, ...]:
    """The questions whose conditions on the stimulus's drafts hold, whatever raters are shown of the drafts."""
    if not study.conditional:
        return questions
    facts: dict[Source, Coded] = {}
    for name in {c.draft for q in questions for c in study.question(q).show_if if c.draft is not None}:
        if (stimulus, name) in machine:
            facts["draft", name] = study.read(study.question(name), machine[stimulus, name][0])
    skip = ("question", "rater")
    return tuple(q for q in questions if is_shown(study, study.question(q), facts, skip=skip))
