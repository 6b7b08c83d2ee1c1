"""What a table of people says about raters: demographics beside the ratings, such as Prolific's export.

People are matched by the raters' ids, or by another column of the raters that holds the same ids (a survey that stores
``PROLIFIC_PID`` beside an id of its own). Who is in one of the two tables only is said in a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, as_option
from heartfelt.formats.source_table import side_table
from heartfelt.tables import RATERS, number_types

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
    joined = raters.join(
        facts, on=key, how="left" if prolific else "full", coalesce=True, maintain_order="left"
    )
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
