"""Tables of stimuli and raters beside the ratings: which of the columns that options name are in which table.

People (demographics, such as Prolific's export) are matched by the raters' ids, or by another column of the raters that holds
the same ids (a survey that stores ``PROLIFIC_PID`` beside an id of its own). Who is in one table only is said in a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.formats.tables.columns import ABOUT_STIMULUS
from heartfelt.formats.tables.source_table import SourceTable, open_table, side_table
from heartfelt.tables import RATERS, number_types

LISTED_SYSTEM = "\0system"
"""The column of the system while the rows of the ratings have it from the table of stimuli."""


def companion_of(table: SourceTable, table_name: str, stem: str | None = "ratings.") -> Path | None:
    """The table of ``stimuli`` or ``raters`` that an option names, or that lies beside one this program wrote.

    ``stem`` is how the name of such a file begins; None if only the option counts.
    """
    companion = table.path.parent / table.options.get(table_name, f"{table_name}.csv")
    ours = stem is not None and table.path.name.startswith(stem) and companion.is_file()
    return companion if table_name in table.options or ours else None


def own_columns(table: SourceTable, names: Iterable[str], table_name: str, stem: str | None = "ratings.") -> list[str]:
    """Those of the named columns that the table itself has; the others must be in its table of ``table_name``."""
    elsewhere = [name for name in names if name not in table.columns]
    companion = companion_of(table, table_name, stem) if elsewhere else None
    listed_columns = [] if companion is None else open_table(companion, {}).columns
    for name in elsewhere:
        if name not in listed_columns:
            if companion is None:
                raise InputError(f"{table.where} has no column '{name}'.", suggestion(name, table.columns, "It has"))
            fix = suggestion(name, [*table.columns, *listed_columns], "\0").partition("\0")[0]
            raise InputError(
                f"Neither {table.where} nor {companion.name} has a column '{name}'.",
                f"{fix}{table.path.name} has: {', '.join(table.columns)}. {companion.name} has: {', '.join(listed_columns)}.",
            )
    return [name for name in names if name in table.columns]


def roles_beside(table: SourceTable, stem: str | None = "ratings.") -> set[str]:
    """The roles of columns about stimuli that options name and that the table of stimuli has, not this one."""
    listed_roles = {
        role for role in ABOUT_STIMULUS if role in table.options and table.options[role] not in table.columns
    }
    own_columns(table, [table.options[role] for role in ABOUT_STIMULUS if role in listed_roles], "stimuli", stem)
    return listed_roles


def with_listed(
    stimuli: pl.DataFrame, table: SourceTable, same_as: str | None = None, stem: str | None = "ratings."
) -> pl.DataFrame:
    """The stimuli with what the table beside the ratings says about them, which counts where both say something."""
    companion = companion_of(table, "stimuli", stem)
    if companion is None:
        return stimuli
    listed = _listed(table, companion, same_as)
    facts = stimuli.select(
        "stimulus", *(name for name in stimuli.columns[1:] if name in ABOUT_STIMULUS or name not in listed.columns)
    )
    joined = listed.join(facts, on="stimulus", how="left", maintain_order="left", suffix="\0")
    doubled = [name for name in listed.columns if f"{name}\0" in joined.columns]
    joined = joined.with_columns(pl.coalesce(name, f"{name}\0").alias(name) for name in doubled)
    joined = joined.drop(f"{name}\0" for name in doubled)
    new = stimuli.filter(~pl.col("stimulus").is_in(listed["stimulus"].implode()))
    return pl.concat([joined, new], how="diagonal_relaxed") if new.height else joined


def with_listed_system(table: SourceTable, stimulus: str) -> SourceTable:
    """The ratings with the system that the table of stimuli states for each, as ``LISTED_SYSTEM``."""
    companion = companion_of(table, "stimuli")
    assert companion is not None, "where the column of the system was found"
    systems = _listed(table, companion, stimulus).select("stimulus", pl.col("system").alias(LISTED_SYSTEM))
    key = pl.col(stimulus).cast(pl.String).str.strip_chars()
    rows = table.rows.join(systems.lazy(), left_on=key, right_on="stimulus", how="left", maintain_order="left")
    return replace(table, rows=rows, delimited=None)


def _listed(table: SourceTable, companion: Path, same_as: str | None) -> pl.DataFrame:
    return side_table(companion, "stimulus", table.options.get("stimuli_id"), same_as, table.options)


_PROLIFIC_MARKS = ({"Submission id"}, {"session_id", "entered_code"})
"""Columns that only Prolific's export has, in its present and in its older layout."""
_PROLIFIC_BOOKKEEPING = {
    "Submission id", "Completion code", "Custom study tncs accepted at", "Reviewed at", "Archived at", "session_id",
    "entered_code", "reviewed_at_datetime",
}  # fmt: skip
_PROLIFIC_GAPS = ("DATA_EXPIRED", "CONSENT_REVOKED")
_MOST_NAMED = 3


def with_people(
    raters: pl.DataFrame, path: Path, source: str, id_column: str | None = None, same_as: str | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """The raters with the facts of the people in ``path``, and notes on who did not match.

    ``source`` is the ratings' file, for errors. ``id_column`` names the column of the ids in ``path``; otherwise it is the
    one called ``same_as``, or by a usual name.
    """
    people = side_table(path, "rater", id_column, same_as)
    prolific = any(marks <= set(people.columns) for marks in _PROLIFIC_MARKS)
    if prolific:
        texts = pl.col(pl.String).replace(dict.fromkeys(_PROLIFIC_GAPS))
        people = people.drop(_PROLIFIC_BOOKKEEPING, strict=False).with_columns(texts)
        people = number_types(people, keep=["rater"])
    key = _matching_column(raters, people, path, source)
    shared_columns = set(raters.columns) & set(people.columns) - {"rater"}
    facts = people.rename({name: f"{name}_{path.stem}" for name in shared_columns}).rename({"rater": key})
    joined = raters.join(facts, on=key, how="left" if prolific else "full", coalesce=True, maintain_order="left")
    notes = _mismatches(raters[key].drop_nulls().to_list(), people["rater"].to_list(), path)
    if key != "rater":
        joined = joined.filter(pl.col("rater").is_not_null()).drop(key)
        notes.append(f"{path.name} was matched by the column '{key}', which is left out of the raters.")
    return RATERS.check(joined, str(path)), notes


def _matching_column(raters: pl.DataFrame, people: pl.DataFrame, path: Path, source: str) -> str:
    """The column of the raters with most of the people's ids."""
    ids = people["rater"].implode()
    shared = {
        name: raters[name].cast(pl.String).str.strip_chars().is_in(ids).sum()
        for name, dtype in raters.schema.items()
        if dtype == pl.String
    }
    best = max(shared, key=lambda name: (shared[name], name == "rater"))
    if raters.height and people.height and not shared[best]:
        raise InputError(
            f"No rater of {source} is in {path.name}: '{raters['rater'][0]}' here, '{people['rater'][0]}' there.",
            f"Use the same ids in both files, or name the id's column in {path.name} with {as_option('raters_id', 'COLUMN')}.",
        )
    return best


def _mismatches(raters: Sequence[str], people: Sequence[str], path: Path) -> list[str]:
    people_ids, rated = set(people), set(raters)
    unknown = [name for name in dict.fromkeys(raters) if name not in people_ids]
    silent = [name for name in people if name not in rated]
    notes = []
    if unknown:
        listed = ", ".join(unknown[:_MOST_NAMED]) + (" …" if len(unknown) > _MOST_NAMED else "")
        notes.append(f"{len(unknown):,} of {len(rated):,} raters are not in {path.name}: {listed}.")
    if silent:
        notes.append(f"{len(silent):,} of {len(people):,} people in {path.name} gave no answers.")
    return notes
