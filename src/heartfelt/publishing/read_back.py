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


@dataclass(frozen=True, slots=True)
class ReadBackDifference:
    """What a published table has not, or has otherwise, and why."""

    table: str
    column: str | None
    """None where whole rows are concerned."""
    what: str
    rows: int
    why: tuple[str, ...]
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
        return tuple(each for each in self.differences if not each.why)

    @property
    def sentences(self) -> list[str]:
        """In words: how much is as it was, and what is not."""
        lines = [f"Read back: {self.same:,} of {self.cells:,} values are as they were in the source."]
        lines += [
            f"  {each.table}{'' if each.column is None else '.' + each.column}: {each.what}"
            for each in self.differences
        ]
        lines += [f"Not explained by any step: {each.table} {each.what}" for each in self.unexplained]
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
        out += [_explained(each, record.steps) for each in differences]
    return ReadBack(tuple(out), same, cells)


def _compared(
    table: str, before: pl.DataFrame, after: pl.DataFrame, names: tuple[str, ...]
) -> tuple[list[ReadBackDifference], int]:
    out: list[ReadBackDifference] = []
    for here, there, what in (
        (before, after, "the column is not published"),
        (after, before, "the column is new"),
    ):
        absent = [name for name in here.columns if name not in there.columns and here[name].count()]
        out += [ReadBackDifference(table, name, what, here.height, ()) for name in absent]
    key = [name for name in names if name in before.columns and name in after.columns]
    left = before.with_row_index(_ROW)
    right = after.select(*key, *(pl.col(name).alias(f"_{name}") for name in after.columns if name not in key))
    right = right.unique(key, maintain_order=True) if table == "ledger" else right
    both = left.join(right, on=key, how="inner", nulls_equal=True, maintain_order="left")
    gone = before.height - both[_ROW].n_unique()
    if gone:
        out.append(ReadBackDifference(table, None, f"{plural(gone, 'row')} not published", gone, ()))
    added = after.height - both.height
    if added > 0:
        out.append(ReadBackDifference(table, None, f"{plural(added, 'row')} added", added, ()))
    equal = both.height * len(key)
    for name in before.columns:
        if name in key or name not in after.columns:
            continue
        other = both[f"_{name}"]
        own = both[name] if both[name].dtype == other.dtype else both[name].cast(pl.String)
        other = other if own.dtype == other.dtype else other.cast(pl.String)
        changed = int(own.ne_missing(other).sum())
        equal += both.height - changed
        if changed:
            emptied = int((own.is_not_null() & other.is_null()).sum())
            what = f"{plural(changed, 'value')} changed" + (
                f", {emptied:,} of them left out" if emptied else ""
            )
            out.append(ReadBackDifference(table, name, what, changed, ()))
    return out, equal


def _explained(each: ReadBackDifference, steps: tuple[ReleaseStep, ...]) -> ReadBackDifference:
    column = "path" if each.table == "stimuli" and each.column in AT_HAND else each.column
    own = [step for step in steps if step.table == each.table and step.kind not in {"pseudonyms", "check"}]
    exact = [step.about for step in own if column in (step.column, step.settings.get("was"))]
    if column is None:
        exact = [step.about for step in own]
        if each.table in {"ledger", "raters"}:
            exact += [step.about for step in steps if step.kind in {"wishes", "free-text", "hold-out"}]
    return ReadBackDifference(each.table, each.column, each.what, each.rows, tuple(dict.fromkeys(exact)))
