"""How questions are laid out: pages of several questions, and grids whose rows share one scale."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from heartfelt.study.content import StudyContent
from heartfelt.study.model import AttentionProbe, Place, Question, ReferenceProblem
from heartfelt.study.parts.between import QuestionnaireSource
from heartfelt.study.scales.scale import Categories, Ordered, Points, YesNo

MOST_COLUMNS = 11
"""A grid with more columns does not fit on a page."""


def check_layout(study: StudyContent) -> None:
    """Refuse pages and grids that are interrupted, that mix what cannot stand together, or that do not fit."""
    for form in study.forms.values():
        written = list(_written(form))
        _contiguous(written, "page", lambda question: question.page)
        _contiguous(written, "grid", lambda question: question.grid)
        for question, path in written:
            if question.grid is not None:
                _check_grid(study, question, path, [row for row, _ in written if row.grid == question.grid])
            if question.page is not None:
                _check_page(question, path, [row for row, _ in written if row.page == question.page])
    _check_fixed_questions(study)


def _written(form: QuestionnaireSource) -> Iterator[tuple[Question, Place]]:
    for number, part in enumerate(form.questions):
        yield from ((question, (*form.place, number)) for question in part.spread())


def _check_page(question: Question, path: Place, page: list[Question]) -> None:
    if any(neighbour.machine_first != question.machine_first for neighbour in page):
        raise ReferenceProblem(
            (*path, "page"),
            f"the page '{question.page}' has questions with and without a draft. "
            "No draft may be in sight of a question without one: use two pages",
        )


def _contiguous(written: list[tuple[Question, Place]], key: str, name_of: Callable[[Question], str | None]) -> None:
    finished: set[str] = set()
    for name, members in itertools.groupby(written, key=lambda pair: name_of(pair[0])):
        question, path = next(members)
        if name in finished:
            raise ReferenceProblem(
                (*path, key),
                f"the {key} '{name}' is interrupted before '{question.id}'. Write its questions one after another",
            )
        if name is not None:
            finished.add(name)


def _check_grid(study: StudyContent, question: Question, path: Place, rows: list[Question]) -> None:
    scale = study.scales[question.scale]
    path = (*path, "grid")
    columns = scale.points if isinstance(scale, Points) else len(scale.codes())
    if not isinstance(scale, Points | Ordered | Categories | YesNo) or columns > MOST_COLUMNS:
        raise ReferenceProblem(
            path, f"the columns of a grid are the points or categories of its scale, {MOST_COLUMNS} at most"
        )
    if question.machine_first:
        raise ReferenceProblem(path, "a question with a draft is shown by itself. Leave out 'grid'")
    for key, requirement in (("scale", "the same scale"), ("page", "the same page"), ("none", "the same 'none'")):
        if getattr(question, key) != getattr(rows[0], key):
            raise ReferenceProblem(path, f"all rows of the grid '{question.grid}' need {requirement}")


def _check_fixed_questions(study: StudyContent) -> None:
    affect = study.design.affect_grid or ()
    for name in affect:
        question = study.question(name)
        for key in ("show_if", "none", "grid"):
            if getattr(question, key):
                raise ReferenceProblem(
                    ("design", "affect_grid"), f"a question of the affect grid cannot have '{key}': '{name}' has"
                )
    if len({study.question(name).page for name in affect}) > 1:
        raise ReferenceProblem(("design", "affect_grid"), "both questions of the affect grid need the same page")
    for number, probe in enumerate(study.probes):
        if isinstance(probe, AttentionProbe) and study.question(probe.question).show_if:
            raise ReferenceProblem(
                ("probes", number, "question"),
                f"'{probe.question}' is not always shown. Ask for the answer to a question without show_if",
            )
