"""What a long table says about stimuli and raters besides the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.tables.columns import ABOUT_STIMULUS, read_table
from heartfelt.formats.tables.side_tables import companion_of, with_listed, with_people
from heartfelt.formats.tables.source_table import SourceTable
from heartfelt.snapshot.snapshot import Spooled
from heartfelt.study.study import Prompt
from heartfelt.tables import STIMULI, number_types

PROMPT_TEXTS = ("text", "prompt", "prompts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column of the table plays which role."""

    rater: str | None
    """None where nobody knows who rated."""
    stimulus: str
    question: str | None
    values: tuple[str, ...]
    others: Mapping[str, str] = field(default_factory=dict)
    """position, seconds, at, repeat, system, intent, prompt, path: by role."""
    stimulus_columns: tuple[str, ...] = ()
    rater_columns: tuple[str, ...] = ()

    @property
    def taken(self) -> set[str | None]:
        named = (*self.values, *self.others.values(), *self.stimulus_columns, *self.rater_columns)
        return {self.rater, self.stimulus, self.question, *named}


def _facts(table: SourceTable, key: str, columns: Mapping[str, str], role: str) -> pl.DataFrame:
    """What the rows say about each stimulus or rater; two rows that contradict each other are a mistake."""
    named = [pl.col(column).alias(name) for name, column in columns.items()]
    fact_rows = table.rows.select(pl.col(key).cast(pl.String).str.strip_chars().alias(role), *named)
    facts = fact_rows.unique(maintain_order=True).collect()
    doubled = facts.filter(pl.col(role).is_duplicated())
    if doubled.height:
        first = doubled[role][0]
        rows = doubled.filter(pl.col(role) == first)
        name = next(name for name in columns if rows[name].n_unique() > 1)
        raise InputError(
            f"{table.where}: {role} '{first}' has two values of '{columns[name]}': '{rows[name][0]}' and '{rows[name][1]}'.",
            f"A column that describes the {role} must be the same in all of its rows.",
        )
    return facts


def rated_stimuli(table: SourceTable, roles: Roles, spooled: Spooled) -> pl.DataFrame:
    """The stimuli that were rated, with what the table and one next to it say about them."""
    base = pl.DataFrame({"stimulus": spooled.survey.stimuli}, schema={"stimulus": pl.String})
    columns = {role: roles.others[role] for role in ABOUT_STIMULUS if role in roles.others}
    columns |= {name: name for name in roles.stimulus_columns}
    if columns:
        facts = _facts(table, roles.stimulus, columns, "stimulus")
        base = base.join(facts, on="stimulus", how="left", maintain_order="left")
    return STIMULI.check(with_listed(base, table, roles.stimulus), table.where)


def known_raters(table: SourceTable, roles: Roles, spooled: Spooled) -> tuple[pl.DataFrame | None, list[str]]:
    """What the table, and one next to it, says about raters, and notes on who is in one of them only."""
    companion = companion_of(table, "raters")
    if roles.rater is None or (companion is None and not roles.rater_columns):
        return None, []
    if roles.rater_columns:
        facts = _facts(table, roles.rater, {name: name for name in roles.rater_columns}, "rater")
        facts = number_types(facts, keep=["rater"])
    else:
        facts = pl.DataFrame({"rater": spooled.survey.raters}, schema={"rater": pl.String})
    if companion is None:
        return facts, []
    return with_people(facts, companion, table.path.name, table.options.get("raters_id"), roles.rater)


def stated_prompts(table: SourceTable, stimuli: pl.DataFrame) -> list[Prompt]:
    """The texts of the prompts that the stimuli name by id, from the table that ``prompts`` names."""
    if "prompts" not in table.options:
        return []
    path = table.path.parent / table.options["prompts"]
    listed = read_table(path).with_columns(pl.all().cast(pl.String).str.strip_chars())
    used = set(stimuli.get_column("prompt", default=pl.Series(dtype=pl.String)).drop_nulls())
    ids = [name for name in listed.columns if used & set(listed[name])]
    texts = [name for name in listed.columns if name.casefold() in PROMPT_TEXTS and name not in ids]
    if not ids or not texts:
        raise InputError(
            f"{path} has no column with the stimuli's prompts, or none with their texts.",
            f"Give it the ids that the stimuli have as 'prompt', and a column {' or '.join(PROMPT_TEXTS)}.",
        )
    pairs = listed.select(ids[0], texts[0]).drop_nulls().unique(ids[0], maintain_order=True)
    return [Prompt(id=name, text=text) for name, text in pairs.filter(pl.col(ids[0]).is_in(used)).iter_rows()]
