"""``means``: one row per stimulus with mean, spread and count; no single ratings.

Many datasets publish no more than this. The snapshot then holds means and no ratings; whatever needs to know who rated
what says so in place of a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import polars as pl

from heartfelt.errors import InputError, UnclearColumnError, as_option
from heartfelt.files import write_text
from heartfelt.formats.format import FORMATS, Format
from heartfelt.formats.ratings.described import COMMON_OPTIONS, UNSTATED, build, new_names, stated_scale
from heartfelt.formats.tables.columns import NamedTable, id_notes, ids, need, with_roles_named
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.source_table import compile_pattern, joined_columns
from heartfelt.media.probe import PROBED
from heartfelt.progress import Progress
from heartfelt.snapshot import Snapshot
from heartfelt.tables import number_types

ONE_QUESTION = "rating"
WORDS = {"mean": ("mean", "mos", "avg"), "sd": ("sd", "std", "stdev"), "n": ("n", "count", "num", "votes")}
"""How columns of means, spreads and counts are usually called, before or after the question's name."""


class PublishedMeans(Format):
    """Published means, with spread and count where they are given."""

    name = "means"
    example_data = "example/norms.csv"
    about = "one row per stimulus with mean, spread and count; no raters"
    options: ClassVar[Mapping[str, str]] = {
        "stimulus": "column of the stimulus id",
        "mean": "the mean's column, several with commas (each a question), or a pattern such as {question}_mean or mos_{question}",
        "sd": "the standard deviation's column or pattern",
        "n": "the count's column or pattern",
        "question": "the name of the only question, where the pattern has no {question}",
        "system": "column of the system",
        "intent": "column of the intent",
        "prompt": "column of the prompt",
        **COMMON_OPTIONS,
    }

    def read(self, source: Path, options: Mapping[str, str], progress: Progress | None = None) -> Snapshot:
        table = joined_columns(open_source(source, options))
        sheet = table.sheet("stimulus")
        key = table.pick("stimulus")
        questions = _questions(sheet.frame.columns, options, sheet.where)
        used = {column for columns in questions.values() for column in columns.values()}
        if key in used:
            raise InputError(
                f"{sheet.where}: the column '{key}' cannot play two parts.",
                f"Name the columns with {as_option('stimulus', '…')} and {as_option('mean', '…')}.",
            )
        sheet.unique(key, option="stimulus", answers=used)
        renamed = new_names(options, questions)
        questions = {renamed.get(question, question): columns for question, columns in questions.items()}
        names = ids(sheet[key]).alias("stimulus")
        means = [
            pl.DataFrame([names, *_figures(sheet, columns)]).with_columns(question=pl.lit(question))
            for question, columns in questions.items()
        ]
        roles = {options[role]: role for role in ("system", "intent", "prompt") if role in options}
        sheet.need(*roles)
        described = sheet.frame.with_columns(names.alias(key)).drop(used)
        stimuli = with_roles_named(described, {key: "stimulus", **roles})
        scales = {question: stated_scale(question, options) or UNSTATED for question in questions}
        for part, (question, scale) in zip(means, scales.items(), strict=True):
            _on_scale(sheet, part, question, scale.bounds())
        return build(
            self.name,
            table,
            source,
            progress,
            stimuli=number_types(stimuli, keep=["stimulus", "system", "intent", "prompt", "path"]),
            scales=scales,
            notes=id_notes(sheet[key], "stimulus"),
            means=pl.concat(means, how="diagonal"),
            reading=[
                f"read {key} as stimulus",
                *(f"read {columns['mean']} as mean of {question}" for question, columns in list(questions.items())[:3]),
            ],
        )

    def write(self, snapshot: Snapshot, target: Path) -> None:
        means = snapshot.means
        if not means.height:
            rated = snapshot.ratings.filter(pl.col("value").is_not_null())
            means = rated.group_by("stimulus", "question", maintain_order=True).agg(
                mean=pl.mean("value"), sd=pl.std("value"), n=pl.len().cast(pl.Int64)
            )
        wide = snapshot.stimuli.drop(PROBED, strict=False)
        for question in means["question"].unique(maintain_order=True):
            question_means = means.filter(pl.col("question") == question)
            figures = [pl.col(c).alias(f"{question}_{c}") for c in WORDS if c in question_means.columns]
            wide = wide.join(
                question_means.select("stimulus", *figures), on="stimulus", how="left", maintain_order="left"
            )
        write_text(target / "means.csv", csv_text(wide))


def _questions(columns: list[str], options: Mapping[str, str], where: str) -> dict[str, dict[str, str]]:
    """The columns of each question: its mean and, where there are such, its sd and n."""
    only = options.get("question", ONE_QUESTION)
    by_role = _stated_figures(columns, options, where, only) if "mean" in options else _usual_figures(columns, only)
    if not by_role.get("mean"):
        raise UnclearColumnError(
            f"{where}: no column is unmistakably a mean.",
            f"Give a pattern such as {as_option('mean', '{question}_mean')}. The columns are: {', '.join(columns[:30])}.",
        )
    return {
        question: {role: named[question] for role, named in by_role.items() if question in named}
        for question in by_role["mean"]
    }


def _stated_figures(columns: list[str], options: Mapping[str, str], where: str, only: str) -> dict[str, dict[str, str]]:
    """The columns that options name, by role and question; a single spread or count is that of every question."""
    by_role = {role: _matching(columns, options[role], where, only) for role in WORDS if role in options}
    for role, named in by_role.items():
        if role != "mean" and "{" not in options[role] and len(named) == 1:
            by_role[role] = dict.fromkeys(by_role["mean"], options[role])
    return by_role


def _usual_figures(columns: list[str], only: str) -> dict[str, dict[str, str]]:
    """The columns with usual names, by role and question: of several questions, or of the only one."""
    by_role = {role: _usual(columns, words) for role, words in WORDS.items()}
    if by_role["mean"]:
        return by_role
    bare = {role: [name for name in columns if name.casefold() in words] for role, words in WORDS.items()}
    return {role: {only: names[0]} for role, names in bare.items() if names}


def _matching(columns: list[str], pattern: str, where: str, only: str) -> dict[str, str]:
    if "{" not in pattern:
        listed = [pattern] if pattern in columns else [name.strip() for name in pattern.split(",")]
        need(columns, listed, where)
        return {name: name for name in listed} if len(listed) > 1 else {only: pattern}
    shape = compile_pattern(pattern, ["question"])
    out = {match["question"]: column for column in columns if (match := shape.fullmatch(column))}
    if not out:
        raise InputError(
            f"{where}: no column name fits the pattern '{pattern}'.", f"The columns are: {', '.join(columns[:30])}."
        )
    return out


def _usual(columns: list[str], words: tuple[str, ...]) -> dict[str, str]:
    out: dict[str, str] = {}
    for column in columns:
        for word in words:
            match = re.fullmatch(rf"(?P<q>.+)[_. ]{word}|{word}[_. ](?P<p>.+)", column, re.IGNORECASE)
            if match:
                out[match["q"] or match["p"]] = column
    return out


def _figures(sheet: NamedTable, columns: Mapping[str, str]) -> list[pl.Series]:
    """The mean, sd and n of one question; a spread or a count below 0 is an error."""
    out = []
    for role, column in columns.items():
        figures = sheet.whole_numbers(column) if role == "n" else sheet.numbers(column)
        if role != "mean":
            sheet.refuse(figures < 0, figures, "{cell} is below 0.", "Correct the cell, or leave it empty.")
        out.append(figures.alias(role))
    return out


def _on_scale(sheet: NamedTable, means: pl.DataFrame, question: str, bounds: tuple[float, float] | None) -> None:
    if bounds is None:
        return
    sheet.refuse(
        ~means["mean"].is_between(*bounds),
        means["mean"].alias(question),
        f"the mean {{cell}} is off the scale from {bounds[0]:g} to {bounds[1]:g} ({{rows}} such means).",
        "Correct the means, or state the scale that was used.",
    )


FORMATS.add(PublishedMeans.name, PublishedMeans())
