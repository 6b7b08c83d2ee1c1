"""What every column of a snapshot is to publishing: an id, a time, a text, a fact about a person, or none of these."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.publishing.anonymity.columns.durations import session_lengths
from heartfelt.publishing.anonymity.columns.machine import machine_fact
from heartfelt.publishing.anonymity.draft import REQUIRED, Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.study import Study
from heartfelt.tables import CONTRACTS

Role: TypeAlias = Literal[
    "id", "time", "duration", "machine", "text", "outcome", "quasi-identifier", "typed", "sensitive", "open", "wish"
]
OUTCOMES = (
    "ended", "excluded", "agreed", "headphones_correct", "headphones_passed", "attention_asked", "attention_right",
    "study_version", "consent_document",
)  # fmt: skip
"""Columns of the raters that say what happened in the study, which nobody else can know."""
COLLECTED = (
    "kind", "probe", "late", "counts", "plays", "first_play", "focus_losses", "heard", "heard_flag", "media_version", "comment",
    "study_version", "shown", "verdict", "first", "field_seconds", "keystrokes", "batch",
)  # fmt: skip
"""Columns that a running study adds to the ratings."""
WISHES = {"comments": "wish_comments", "answers": "wish_answers"}
"""Columns of imported raters that say what a person does not want to be shared."""
_LONG_TEXT = 60


def matching(patterns: Iterable[str], columns: Iterable[str]) -> list[str]:
    """The columns that the patterns name, such as ``about_age`` or ``before_*``."""
    return [name for name in columns if any(fnmatchcase(name, pattern) for pattern in patterns)]


def check_named_columns(draft: Draft, options: PublishOptions) -> None:
    """Refuse a column that no table of the source has, or that cannot be left out."""
    columns = {name for table, frame in draft.tables.items() for name in frame.columns if (table, name) not in REQUIRED}
    about_raters = [name for name in draft.tables["raters"].columns if name != "rater"]
    for option, patterns, names in (
        ("open", options.open, sorted(columns)),
        ("drop", options.drop, sorted(columns)),
        ("sensitive", options.sensitive, about_raters),
        ("weights", options.weights, [*about_raters, "at"]),
    ):
        for pattern in patterns:
            if not matching([pattern], names):
                raise InputError(f"{option}: there is no column '{pattern}'.", suggestion(pattern, names, "Columns"))


def text_questions(study: Study, where: str) -> list[str]:
    """The questions that are answered in words of the rater's own, or with tags."""
    return [question.id for question in study.asked_in(where) if study.scales[question.scale].level == "text"]


def wish_columns(study: Study, columns: Iterable[str]) -> dict[str, str]:
    """The columns of the raters that hold a wish, each with what is not to be shared."""
    have = set(columns)
    wish_of: dict[str, str] = {
        f"{where}_{question.id}": question.wish
        for where in ("before", "after")
        for question in study.asked_in(where)
        if question.wish is not None
    }
    wish_of |= {column: wish for wish, column in WISHES.items()}
    return {column: wish for column, wish in wish_of.items() if column in have}


def rater_roles(draft: Draft, options: PublishOptions) -> dict[str, Role]:
    study, raters = draft.study, draft.tables["raters"]
    forms = [form for form in study.forms if form != "questions"]
    texts = {f"{form.replace(':', '_')}_{name}" for form in forms for name in text_questions(study, form)}
    columns = _StudyColumns(
        texts=texts,
        typed={f"about_{fact.id}" for fact in study.demographics if fact.type == "text"},
        about_raters={
            *texts,
            *(f"about_{fact.id}" for fact in study.demographics),
            *(f"{form.replace(':', '_')}_{question.id}" for form in forms for question in study.asked_in(form)),
        },
        outcomes={*OUTCOMES, "arm"} if study.design.arms else set(OUTCOMES),
        wishes=set(wish_columns(study, raters.columns)),
        lengths=set() if options.seconds else set(session_lengths(draft)),
    )
    roles = {column.name: columns.role(column) for column in raters}
    about_raters = [name for name in raters.columns if name != "rater"]
    roles |= dict.fromkeys(matching(options.open, about_raters), "open")
    roles |= dict.fromkeys(matching(options.sensitive, about_raters), "sensitive")
    return roles


@dataclass(frozen=True, slots=True, kw_only=True)
class _StudyColumns:
    """Columns of the raters by what the study says of them."""

    texts: Set[str]
    typed: Set[str]
    about_raters: Set[str]
    """Everything that raters were asked about themselves."""
    outcomes: Set[str]
    wishes: Set[str]
    lengths: Set[str]

    def role(self, column: pl.Series) -> Role:
        """The first role that fits: what says more about a person comes first."""
        name, dtype = column.name, column.dtype
        fits: tuple[tuple[Role, bool], ...] = (
            ("id", name == "rater"),
            ("time", isinstance(dtype, pl.Datetime) or name in {"arrived", "last_seen"}),
            ("machine", name == "device"),
            ("outcome", name in self.outcomes or name.startswith("ticked_")),
            ("wish", name in self.wishes),
            ("duration", name in self.lengths),
            ("machine", name not in self.about_raters and machine_fact(column) is not None),
            ("text", name in self.texts or name == "reason" or (dtype == pl.String and _is_long(column))),
            ("typed", name in self.typed),
        )
        return next((role for role, fitting in fits if fitting), "quasi-identifier")


def _is_long(column: pl.Series) -> bool:
    longest = column.str.len_chars().max()
    return isinstance(longest, int) and longest > _LONG_TEXT


def unknown_columns(draft: Draft, table: str, options: PublishOptions) -> list[str]:
    """Unknown columns of a table about people's answers that the researcher did not open."""
    contract_columns = {contract.name: contract.names for contract in CONTRACTS}[table]
    columns = draft.tables[table].columns
    opened = matching(options.open, columns)
    extra = [name for name in columns if name not in contract_columns and name not in opened]
    return [name for name in extra if name not in COLLECTED] if table == "ratings" else extra
