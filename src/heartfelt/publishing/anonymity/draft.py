"""The tables of a snapshot on their way to being published, with the steps so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from heartfelt.publishing.release import ReleaseStep
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import SMALL_TABLES, Source
from heartfelt.study import Study
from heartfelt.tables import LEDGER

PERSON_COLUMNS = (
    ("raters", "rater"),
    ("ratings", "rater"),
    ("traces", "rater"),
    ("fields", "verified_by"),
    ("adjudications", "by"),
    ("questionnaires", "rater"),
    ("ledger", "rater"),
)
"""Every column that says who."""
STAGE = "publish"


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Tables by name, ``ratings`` among them."""

    study: Study
    tables: Mapping[str, pl.DataFrame]
    source: Source
    steps: tuple[ReleaseStep, ...] = ()

    @classmethod
    def of(cls, snapshot: Snapshot) -> Draft:
        """The tables of a snapshot."""
        names = [*(contract.name for contract in SMALL_TABLES), "ratings"]
        return cls(snapshot.study, {name: snapshot.table(name) for name in names}, snapshot.source)

    def snapshot(self) -> Snapshot:
        """The tables as a snapshot, validated."""
        return Snapshot.build(self.study, source=self.source, **self.tables)

    def having(self, table: str, *columns: str) -> tuple[str, ...]:
        """Which of these columns the table has."""
        return tuple(name for name in columns if name in self.tables[table].columns)

    def changed(self, *steps: ReleaseStep, **tables: pl.DataFrame) -> Draft:
        """With other tables, and the steps that changed them."""
        return replace(self, tables={**self.tables, **tables}, steps=(*self.steps, *steps))

    def ledger_with(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The ledger with rows added for what publishing left out: ``what``, ``reason`` and what else is known."""
        added = rows.with_columns(pl.lit(STAGE).alias("stage"))
        added = LEDGER.typed(added.lazy(), STAGE).collect()
        return pl.concat([self.tables["ledger"], added], how="diagonal")
