"""A published folder read back and compared with its source: what is gone or different, and the step that says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.media.probe import AT_HAND
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.key import keyed_hash, secret_key
from heartfelt.publishing.anonymity.pseudonyms import pseudonymise
from heartfelt.publishing.digests import SOURCE
from heartfelt.publishing.record import RECORD
from heartfelt.publishing.release import ReleaseRecord, ReleaseStep
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
    reasons: tuple[str, ...]
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
    out: list[ReadBackDifference] = []
    for first, second, change in ((before, after, "the column is not published"), (after, before, "the column is new")):
        absent = [name for name in first.columns if name not in second.columns and first[name].count()]
        out += [
            ReadBackDifference(table=table, column=name, change=change, rows=first.height, reasons=())
            for name in absent
        ]
    key = [name for name in names if name in before.columns and name in after.columns]
    numbered = before.with_row_index(_ROW)
    right = after.select(*key, *(pl.col(name).alias(f"_{name}") for name in after.columns if name not in key))
    right = right.unique(key, maintain_order=True) if table == "ledger" else right
    both = numbered.join(right, on=key, how="inner", nulls_equal=True, maintain_order="left")
    gone = before.height - both[_ROW].n_unique()
    if gone:
        out.append(
            ReadBackDifference(
                table=table, column=None, change=f"{plural(gone, 'row')} not published", rows=gone, reasons=()
            )
        )
    added = after.height - both.height
    if added > 0:
        out.append(
            ReadBackDifference(table=table, column=None, change=f"{plural(added, 'row')} added", rows=added, reasons=())
        )
    equal = both.height * len(key)
    for name in before.columns:
        if name in key or name not in after.columns:
            continue
        after_values = both[f"_{name}"]
        before_values = both[name] if both[name].dtype == after_values.dtype else both[name].cast(pl.String)
        after_values = after_values if before_values.dtype == after_values.dtype else after_values.cast(pl.String)
        changed = int(before_values.ne_missing(after_values).sum())
        equal += both.height - changed
        if changed:
            emptied = int((before_values.is_not_null() & after_values.is_null()).sum())
            change = f"{plural(changed, 'value')} changed" + (f", {emptied:,} of them left out" if emptied else "")
            out.append(ReadBackDifference(table=table, column=name, change=change, rows=changed, reasons=()))
    return out, equal


def _explained(difference: ReadBackDifference, steps: tuple[ReleaseStep, ...]) -> ReadBackDifference:
    column = "path" if difference.table == "stimuli" and difference.column in AT_HAND else difference.column
    table_steps = [
        step for step in steps if step.table == difference.table and step.kind not in {"pseudonyms", "check"}
    ]
    exact = [step.about for step in table_steps if column in (step.column, step.settings.get("was"))]
    if column is None:
        exact = [step.about for step in table_steps]
        if difference.table in {"ledger", "raters"}:
            exact += [step.about for step in steps if step.kind in {"wishes", "free-text", "hold-out"}]
    return ReadBackDifference(
        table=difference.table,
        column=difference.column,
        change=difference.change,
        rows=difference.rows,
        reasons=tuple(dict.fromkeys(exact)),
    )
