"""Reading a table nobody described: as proposed where that is certain, else an error that holds the proposal to copy.

Layouts are tried from the most to the least specific: counts with their sum, two stimuli per row, one answer per row, one row
per stimulus with means, with counts or with a column per rater, one row per rater with a column per stimulus. A proposal is
tried before it is shown, so that the command in the error works as it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError, as_option, is_on_command_line
from heartfelt.formats.proposals.column_profiles import profiles
from heartfelt.formats.proposals.item_proposals import means_proposal, tally_proposal, votes_proposal
from heartfelt.formats.proposals.long_proposal import REPEATED, long_proposal
from heartfelt.formats.proposals.pair_proposal import pair_proposal
from heartfelt.formats.proposals.roles import ProfiledTable, Proposal
from heartfelt.formats.proposals.wide_names import wide_proposal
from heartfelt.formats.tables.json_files import JSON
from heartfelt.formats.tables.participant_files import open_source
from heartfelt.formats.tables.source_table import TABLES
from heartfelt.snapshot import Snapshot

_ALWAYS_TABLES = TABLES - JSON - {".txt"}
_ROWS = 50_000
"""Rows that a proposal rests on."""
_OPENING = ("delimiter", "encoding", "personal", "sheet", "header", "labels")
"""Options that change which columns a table has."""
_LAYOUTS = (tally_proposal, pair_proposal, long_proposal, means_proposal, votes_proposal, wide_proposal)
"""From the most to the least specific."""
Reader = Callable[[Proposal], Snapshot]


class UnclearTableError(InputError):
    """A table whose columns may be read in more than one way, with the most likely one to copy."""

    def __init__(self, problem: str, proposal: Proposal, source: str, folder: str | None = None) -> None:
        self.unclear = problem
        self.proposal = proposal
        self.source = source
        path = Path(source)
        if is_on_command_line():
            call = proposal.command(source, folder or f"{path.stem}-snapshot")
        else:
            call = proposal.call("frame" if source == FRAME else repr(source))
        self.details = (
            f"Best guess ({proposal.format}: {proposal.layout}):",
            *(f"  {line}" for line in proposal.lines()),
        )
        super().__init__(problem, f"If that is right: {call}")

    def __reduce__(self) -> tuple[type[UnclearTableError], tuple[str, Proposal, str]]:  # type: ignore[override]  # more facts
        return type(self), (self.unclear, self.proposal, self.source)

    def __str__(self) -> str:
        return "\n".join([self.problem, *self.details, self.fix])

    def for_folder(self, folder: Path) -> UnclearTableError:
        """The same error, whose command makes this snapshot folder."""
        return UnclearTableError(self.unclear, self.proposal, self.source, str(folder))


FRAME = "frame"
"""The name that messages give a Polars or pandas frame."""


def propose(
    frame: pl.DataFrame, stated: Mapping[str, str] | None = None, texts: Mapping[str, str] | None = None
) -> Proposal | None:
    """How a table can be read; None where nothing speaks for any layout.

    ``frame`` may be the first rows only. ``stated`` are options that a person gave already, ``texts`` those of the
    questions behind the columns.
    """
    options = stated or {}
    columns = {name: profile for name, profile in profiles(frame).items() if profile.filled}
    if not columns:
        return None
    roles = {role: column for role, column in options.items() if column in columns}
    table = ProfiledTable(frame=frame, columns=columns, stated=roles, texts=texts or {})
    proposal = next(filter(None, (layout(table) for layout in _LAYOUTS)), None)
    return proposal and proposal.with_options(options)


def proposal_for(source: Path, options: Mapping[str, str]) -> Proposal | None:
    """How a plain table can be read, by its first rows; None for anything that is not a table.

    A file that should be a table, and cannot be opened as one or has no rows, is an error that says so.
    """
    suffix = source.suffix.lower() if source.is_file() else None
    if suffix not in {None, *TABLES}:
        return None
    try:
        table = open_source(source, {name: options[name] for name in _OPENING if name in options})
        frame = table.rows.head(_ROWS).collect()
    except InputError:
        if suffix in _ALWAYS_TABLES:
            raise
        return None
    except pl.exceptions.PolarsError:
        return None
    if suffix is not None and not frame.height:
        raise InputError(f"{source} has no rows below its header.", "Point to a table with answers.")
    return propose(frame, options, table.texts)


def read_guided(proposal: Proposal, read: Reader, problem: str, source: str, stated: Mapping[str, str]) -> Snapshot:
    """Read a table as proposed, if that is certain; otherwise an error with the first proposal that works.

    A scale that only the answers suggest is proposed, and never assumed.
    """
    failed: InputError | None = None
    for attempt in _variants(proposal, stated):
        try:
            snapshot = read(attempt)
        except InputError as error:
            failed = failed or error
            continue
        if not attempt.certain:
            remarks = tuple(column.note for column in snapshot.source.marked_columns)
            raise UnclearTableError(problem, replace(attempt, remarks=remarks), source)
        guessed = None if "scale" in stated else proposal.settings.get("scale")
        if guessed is None:
            return snapshot
        finding = f"The answers are whole numbers from {guessed.replace('-', ' to ')}"
        return snapshot.noted(f"No scale was stated. {finding}; if that is it: {as_option('scale', guessed)}.")
    raise failed or InputError(problem, "Name the format and its columns.")


def _variants(proposal: Proposal, stated: Mapping[str, str]) -> Iterator[Proposal]:
    """The proposal as it is, or without a guessed scale; with repeated rows numbered."""
    settings = {name: value for name, value in proposal.settings.items() if name != "scale" or "scale" in stated}
    if not proposal.certain:
        yield proposal
    if proposal.certain or settings != proposal.settings:
        yield replace(proposal, settings=settings)
    if proposal.format == "long" and "repeat" not in settings and "first" not in proposal.options:
        doubts = {**proposal.doubts, "repeat": REPEATED}
        yield replace(proposal, settings={**settings, "repeat": "order"}, doubts=doubts)
