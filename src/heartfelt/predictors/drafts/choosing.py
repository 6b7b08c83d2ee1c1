"""Which machine drafts which question.

In this order: ``FIELD=NAME`` of the command; ``NAME`` of the command, for fields that the command names; the question's own key
``draft``; a built-in drafter that goes by the question's id; ``NAME`` of the command, for all that is left. A drafter is a
predictor (:mod:`heartfelt.predictors.interface.spec`).
Fields with the same drafter are asked together, in one request where it is a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.measures.pictures.pixels import measure_named
from heartfelt.study import Question, Study

BY_ID: dict[str, str] = {
    "objects": "objects",
    **dict.fromkeys(("faces", "people"), "faces"),
    **dict.fromkeys(("facial_expression", "facial_expressions", "expression", "expressions"), "expressions"),
}
"""The built-in drafter of questions that have one of these ids; ``pixels`` knows the names of its measures itself."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A drafter, as it is requested, and the fields it drafts."""

    spec: str
    fields: tuple[Question, ...]
    named: bool = False
    """Whether it is named in ``study.yaml``, which may be somebody else's, rather than in the command."""


def assign(
    study: Study, fields: Sequence[str] = (), drafters: Sequence[str] = ()
) -> tuple[list[Assignment], list[str]]:
    """The drafters with their fields, in the order of the questions, and the ids of fields that have none.

    ``fields`` are ``machine_first`` questions, all of them if empty; ``drafters`` are texts ``NAME`` or ``FIELD=NAME``.
    """
    first = {question.id: question for question in study.asked if question.machine_first}
    if not first:
        raise InputError(
            f"The study '{study.name}' has no question that a machine fills in first.",
            "Add 'machine_first: true' to the questions to be drafted.",
        )
    for name in fields:
        _check_field(study, name, first)
    machines = _parsed(study, drafters, first)
    chosen: dict[tuple[str, bool], list[Question]] = {}
    without = []
    for name, question in first.items():
        if fields and name not in fields:
            continue
        spec = machines.of(study, question, named_field=bool(fields))
        if spec is None:
            without.append(name)
        else:
            chosen.setdefault((spec, machines.is_of_study(spec, question)), []).append(question)
    _check_machines(without, required=bool(fields) or not chosen)
    return [Assignment(spec, tuple(questions), named) for (spec, named), questions in chosen.items()], without


@dataclass(frozen=True, slots=True)
class _Machines:
    """The drafters that the command names."""

    by_field: dict[str, str]
    general: str | None
    """The one for all fields that no other is named for."""

    def of(self, study: Study, question: Question, *, named_field: bool) -> str | None:
        """The drafter of a question; None where there is none. What the command names comes first for fields it names."""
        own_machine = question.draft or by_id(study, question)
        candidates = (self.general, own_machine) if named_field else (own_machine, self.general)
        return self.by_field.get(question.id) or candidates[0] or candidates[1]

    def is_of_study(self, spec: str, question: Question) -> bool:
        """Whether only ``study.yaml`` names this drafter of a question."""
        return spec == question.draft and spec not in {*self.by_field.values(), self.general}


def _check_machines(without: Sequence[str], *, required: bool) -> None:
    if without and required:
        raise InputError(
            f"No machine is named for '{without[0]}'.",
            f"Add --with {without[0]}=NAME, such as --with {without[0]}=chat:MODEL@URL, or a key 'draft' to the question.",
        )


def by_id(study: Study, question: Question) -> str | None:
    """The built-in drafter that goes by a question's id; None where there is none."""
    if study.media != "image":
        return None
    measure = measure_named(question.about.get("measure", "")) or measure_named(question.id)
    return "pixels" if measure else BY_ID.get(question.id.casefold())


def _check_field(study: Study, name: str, first: dict[str, Question]) -> None:
    if name in first:
        return
    if any(name == question.id for question in study.asked):
        raise InputError(
            f"The question '{name}' is answered by people alone.",
            "Add 'machine_first: true' to it, or name another field.",
        )
    raise InputError(f"The study has no question '{name}'.", suggestion(name, first, "Fields"))


def _parsed(study: Study, drafters: Sequence[str], first: dict[str, Question]) -> _Machines:
    of_field: dict[str, str] = {}
    general: str | None = None
    questions = {question.id for question in study.asked}
    for text in drafters:
        name, equals, spec = (part.strip() for part in text.partition("="))
        if equals and name in questions:
            _check_field(study, name, first)
            if name in of_field:
                raise InputError(f"Two machines are named for '{name}'.", "Name one.")
            of_field[name] = spec
        elif general is not None:
            raise InputError(
                f"'{general}' and '{text}' are both to draft everything.",
                f"Say which drafts what: --with FIELD={text}.",
            )
        else:
            general = text.strip()
    return _Machines(of_field, general)
