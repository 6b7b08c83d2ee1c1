"""How somebody's table can be read: which layout it has, and which column plays which role in it.

Layouts are tried from the most to the least specific: counts with their sum, two stimuli per row, one answer per row, one row
per stimulus with means, with counts or with a column per rater, one row per rater with a column per stimulus.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from heartfelt.formats.column_profiles import profiles
from heartfelt.formats.item_proposals import means_proposal, tally_proposal, votes_proposal
from heartfelt.formats.long_proposal import long_proposal
from heartfelt.formats.pair_proposal import pair_proposal
from heartfelt.formats.roles import ProfiledTable, Proposal
from heartfelt.formats.wide_names import wide_proposal


def propose(
    frame: pl.DataFrame, stated: Mapping[str, str] | None = None, texts: Mapping[str, str] | None = None
) -> Proposal | None:
    """How a table can be read; None where nothing speaks for any layout.

    ``frame`` may be the first rows only. ``stated`` are options that a person gave already, ``texts`` those of the
    questions behind the columns.
    """
    options = stated or {}
    columns = {name: profile for name, profile in profiles(frame).items() if profile.filled}
    roles = {role: column for role, column in options.items() if column in columns}
    table = ProfiledTable(frame=frame, columns=columns, stated=roles, texts=texts or {})
    if not table.columns or not frame.height:
        return None
    for layout in (
        tally_proposal,
        pair_proposal,
        long_proposal,
        means_proposal,
        votes_proposal,
        wide_proposal,
    ):
        proposal = layout(table)
        if proposal is not None:
            return proposal.with_options(options)
    return None
