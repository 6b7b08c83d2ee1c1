"""What the columns of published tables mean: from the contracts of the tables, from the study, and from the authors.

Layouts and the codebook describe a column with :func:`about_column`, so that a column means the same wherever it appears.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heartfelt.files import packaged_toml
from heartfelt.labels.benchmark import BENCHMARK_COURSES, BENCHMARK_ITEMS, CHOICES
from heartfelt.labels.labelling import LABELS
from heartfelt.labels.strengths import STRENGTHS
from heartfelt.publishing.statements.details import Details
from heartfelt.study import Study
from heartfelt.study.model import say
from heartfelt.study.parts.instrument import score_column
from heartfelt.tables import CONTRACTS

UNDESCRIBED = "a column of the source, which does not describe it"
"""What is said of a column that neither heartfelt, the study nor the authors describe."""
RENAMED = "source_"
"""How the name of a column of the source begins whose own name a layout needs."""

_DESCRIPTIONS: dict[str, dict[str, str]] = {
    contract.name: {column.name: column.about for column in contract.columns}
    for contract in (*CONTRACTS, LABELS, STRENGTHS, CHOICES, BENCHMARK_COURSES)
}
_DESCRIPTIONS["benchmark items"] = {column.name: column.about for column in BENCHMARK_ITEMS.columns}
COLUMN_WORDS: Mapping[str, Any] = packaged_toml(__package__, "columns.toml")
"""What ``columns.toml`` says of columns, by table; of columns of every table ``units``, and what ``empty`` cells mean."""
for _table in ("stimuli", "ratings", "raters", "ledger", "media"):
    _DESCRIPTIONS[_table] = {**COLUMN_WORDS[_table], **_DESCRIPTIONS.get(_table, {})}


def about_column(table: str, name: str, study: Study, details: Details | None = None) -> str:
    """What a column holds, in a phrase; :data:`UNDESCRIBED` where nobody has said.

    ``table`` is a table of a snapshot (stimuli, raters, ratings …), ``labels``, ``strengths``, ``courses``, ``choices``, or
    ``benchmark items``. What the authors say in ``details.columns`` goes before everything else.
    """
    stated = details.columns if details is not None else {}
    if description := stated.get(f"{table}.{name}") or stated.get(name):
        return description
    documented = _DESCRIPTIONS.get(table, {}).get(name)
    if documented is None and name.startswith(RENAMED):
        original = about_column(table, name.removeprefix(RENAMED), study, details)
        return original if original == UNDESCRIBED else f"as the source gives it: {original}"
    return documented or _asked_of_raters(name, study) or _asked_of_stimuli(name, study) or UNDESCRIBED


def _asked_of_raters(name: str, study: Study) -> str | None:
    return next((about for column, about in _rater_columns(study) if column == name), None)


def _rater_columns(study: Study) -> Iterator[tuple[str, str]]:
    """The columns of everything that raters are asked about themselves, each with what it holds."""
    for fact in study.demographics:
        about = f"the rater's answer to: {_line(say(fact.text) or fact.id)}"
        yield from ((fact.id, about), (f"about_{fact.id}", about))
    for form in (form for form in study.forms if form != "questions"):
        for question in study.asked_in(form):
            text = _line(say(question.text) or question.id)
            yield (
                f"{form.replace(':', '_')}_{question.id}",
                f"the rater's answer {form.partition(':')[0]} the stimuli to: {text}",
            )
    for box in () if study.consent is None else study.consent.boxes:
        yield f"ticked_{box.id}", f"whether the rater ticked: {_line(say(box.text) or box.id)}"
    for key, instrument in study.instruments.items():
        for subscale, rule in instrument.subscales.items():
            how = f"{rule.score} of {len(rule.items)} items"
            score = f"the rater's score: {rule.name or subscale} ({instrument.name}; {how})"
            yield score_column(key, subscale), score


def _asked_of_stimuli(name: str, study: Study) -> str | None:
    """Columns of wide tables: a question's id, alone or with the name of a figure."""
    for question in study.asked:
        if name == question.id:
            return f"the answer to: {_line(say(question.text) or question.id)}"
    return None


def _line(text: str) -> str:
    return " ".join(text.split())
