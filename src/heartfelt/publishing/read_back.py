"""A published folder read back and compared with its source: what is gone or different, and the step that says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.media.probe import AT_HAND
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import keyed_hash, secret_key
from heartfelt.publishing.anonymity.pseudonyms import pseudonymise
from heartfelt.publishing.digests import SOURCE
from heartfelt.publishing.release.record import RECORD
from heartfelt.publishing.release.release import ReleaseRecord, ReleaseStep
from heartfelt.serialization import read_json
from heartfelt.snapshot import Snapshot, load
from heartfelt.tables import CONTRACTS, rating_key
from heartfelt.wording import plural

_ROW = "_row"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBackDifference:
    """What a published table has not, or has otherwise, and why."""

    table: str
    column: str | None
    """None where whole rows are concerned."""
    change: str
    rows: int
    reasons: tuple[str, ...] = ()
    """The steps of the record that say so; empty where none does."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Everything in which a publication differs from its source once pseudonyms are resolved."""

    differences: tuple[ReadBackDifference, ...]
    same: int
    """Cells of the source that were read back as they were."""
    cells: int

    @property
    def unexplained(self) -> tuple[ReadBackDifference, ...]:
        """Differences that no step of the record states; there should be none."""
        return tuple(difference for difference in self.differences if not difference.reasons)

    @property
    def sentences(self) -> list[str]:
        """In words: how much is as it was, and what is not."""
        lines = [f"Read back: {self.same:,} of {self.cells:,} values are as they were in the source."]
        lines += [
            f"  {difference.table}{'' if difference.column is None else '.' + difference.column}: {difference.change}"
            for difference in self.differences
        ]
        lines += [
            f"Not explained by any step: {difference.table} {difference.change}" for difference in self.unexplained
        ]
        return lines


def read_back(snapshot: Snapshot, folder: Path, private: Path, key: Path | None = None) -> ReadBack:
    """Load a published folder and compare every table with the source, under the pseudonyms of ``private``."""
    published = load(folder / "snapshot")
    record = read_json(folder / RECORD, ReleaseRecord)
    secret = secret_key(folder, private, key)
    if record.source_hash != keyed_hash(secret, SOURCE, snapshot.hash):
        raise InputError(
            f"{folder} was not published from this source, or with another key.",
            "Compare it with the snapshot it was made from, and the private folder that belongs to it.",
        )
    source, _ = pseudonymise(Draft.of(snapshot), secret)
    out: list[ReadBackDifference] = []
    same = cells = 0
    for contract in CONTRACTS:
        before, after = source.tables[contract.name], published.table(contract.name)
        names = rating_key(before.columns) if contract.name == "ratings" else contract.key or before.columns
        differences, equal = _compared(contract.name, before, after, tuple(names))
        same, cells = same + equal, cells + before.height * before.width
        out += [_explained(difference, record.steps) for difference in differences]
    return ReadBack(tuple(out), same, cells)


def _compared(
    table: str, before: pl.DataFrame, after: pl.DataFrame, names: tuple[str, ...]
) -> tuple[list[ReadBackDifference], int]:
    """How a table differs, and how many of its cells are as they were."""
    out: list[ReadBackDifference] = []

    def differs(column: str | None, change: str, rows: int) -> None:
        out.append(ReadBackDifference(table=table, column=column, change=change, rows=rows))

    for first, second, change in ((before, after, "the column is not published"), (after, before, "the column is new")):
        for name in first.columns:
            if name not in second.columns and first[name].count():
                differs(name, change, first.height)
    shared = [name for name in before.columns if name in after.columns]
    key = [name for name in names if name in shared]
    right = after.select(*key, *(pl.col(name).alias(f"_{name}") for name in after.columns if name not in key))
    right = right.unique(key, maintain_order=True) if table == "ledger" else right
    numbered = before.with_row_index(_ROW)
    both = numbered.join(right, on=key, how="inner", nulls_equal=True, maintain_order="left")
    gone, added = before.height - both[_ROW].n_unique(), after.height - both.height
    if gone:
        differs(None, f"{plural(gone, 'row')} not published", gone)
    if added > 0:
        differs(None, f"{plural(added, 'row')} added", added)
    equal = both.height * len(key)
    for name in (name for name in shared if name not in key):
        changed, emptied = _changes(both[name], both[f"_{name}"])
        equal += both.height - changed
        if changed:
            left_out = f", {emptied:,} of them left out" if emptied else ""
            differs(name, f"{plural(changed, 'value')} changed{left_out}", changed)
    return out, equal


def _changes(before: pl.Series, after: pl.Series) -> tuple[int, int]:
    """How many values are no longer the same, and how many of these are no longer there."""
    if before.dtype != after.dtype:
        before, after = before.cast(pl.String), after.cast(pl.String)
    return int(before.ne_missing(after).sum()), int((before.is_not_null() & after.is_null()).sum())


def _explained(difference: ReadBackDifference, steps: tuple[ReleaseStep, ...]) -> ReadBackDifference:
    table, column = difference.table, difference.column
    if table == "stimuli" and column in AT_HAND:
        column = "path"
    stated = [step for step in steps if step.table == table and step.kind not in {"pseudonyms", "check"}]
    reasons = [step.about for step in stated if column is None or column in (step.column, step.settings.get("was"))]
    if column is None and table in {"ledger", "raters"}:
        reasons += [step.about for step in steps if step.kind in {"wishes", "free-text", "hold-out"}]
    return replace(difference, reasons=tuple(dict.fromkeys(reasons)))
