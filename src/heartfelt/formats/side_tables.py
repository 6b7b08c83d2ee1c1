"""Tables of stimuli and raters beside the ratings: which of the columns that options name are in which table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.formats.columns import ABOUT_STIMULUS
from heartfelt.formats.source_table import SourceTable, open_table, side_table

LISTED_SYSTEM = "\0system"
"""The column of the system while the rows of the ratings have it from the table of stimuli."""


def companion_of(table: SourceTable, table_name: str, stem: str | None = "ratings.") -> Path | None:
    """The table of ``stimuli`` or ``raters`` that an option names, or that lies beside one this program wrote.

    ``stem`` is how the name of such a file begins; None if only the option counts.
    """
    companion = table.path.parent / table.options.get(table_name, f"{table_name}.csv")
    ours = stem is not None and table.path.name.startswith(stem) and companion.is_file()
    return companion if table_name in table.options or ours else None


def own_columns(
    table: SourceTable, names: Iterable[str], table_name: str, stem: str | None = "ratings."
) -> list[str]:
    """Those of the named columns that the table itself has; the others must be in its table of ``table_name``."""
    elsewhere = [name for name in names if name not in table.columns]
    companion = companion_of(table, table_name, stem) if elsewhere else None
    listed_columns = [] if companion is None else open_table(companion, {}).columns
    for name in elsewhere:
        if name not in listed_columns:
            if companion is None:
                raise InputError(
                    f"{table.where} has no column '{name}'.", suggestion(name, table.columns, "It has")
                )
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
    own_columns(
        table, [table.options[role] for role in ABOUT_STIMULUS if role in listed_roles], "stimuli", stem
    )
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
        "stimulus",
        *(name for name in stimuli.columns[1:] if name in ABOUT_STIMULUS or name not in listed.columns),
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
    rows = table.rows.join(
        systems.lazy(), left_on=key, right_on="stimulus", how="left", maintain_order="left"
    )
    return replace(table, rows=rows, delimited=None)


def _listed(table: SourceTable, companion: Path, same_as: str | None) -> pl.DataFrame:
    return side_table(companion, "stimulus", table.options.get("stimuli_id"), same_as, table.options)
