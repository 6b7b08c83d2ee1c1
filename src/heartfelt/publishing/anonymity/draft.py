"""The tables of a snapshot on their way to being published, with the steps so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import polars as pl

from heartfelt.publishing.release.release import ReleaseStep, StepKind
from heartfelt.serialization import dumps
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.snapshot.snapshot import SMALL_TABLES, Source
from heartfelt.study import Study
from heartfelt.tables import CONTRACTS, LEDGER

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
REQUIRED = frozenset((table.name, column.name) for table in CONTRACTS for column in table.columns if column.required)
"""Every column that a snapshot cannot be without, with its table."""
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

    def after(
        self,
        kind: StepKind,
        table: str,
        column: str | None,
        about: str,
        frame: pl.DataFrame | None = None,
        *,
        rows: int | None = None,
        lost: float | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Draft:
        """After one step; ``frame`` is what it made of the table, ``rows`` what it changed: all rows if left out."""
        rows = self.tables[table].height if rows is None else rows
        step = ReleaseStep(
            kind=kind, table=table, column=column, about=about, rows=rows, lost=lost, settings=settings or {}
        )
        return self.changed(step, **({} if frame is None else {table: frame}))

    def without(self, kind: StepKind, table: str, column: str, about: str, *, lost: float | None = 1.0) -> Draft:
        """Without a column, all of whose information is lost."""
        return self.after(kind, table, column, about, self.tables[table].drop(column), lost=lost)

    def with_values(self, table: str, **columns: pl.Series | pl.Expr) -> pl.DataFrame:
        """A table with other values in some columns."""
        return self.tables[table].with_columns(**columns)

    @property
    def histories(self) -> list[AdjudicationHistory | None]:
        """The history of every decision of a senior rater; none where the table has no such column."""
        if not self.having("adjudications", "history"):
            return []
        texts = self.tables["adjudications"]["history"]
        return [None if text is None else AdjudicationHistory.read(text) for text in texts]

    def with_histories(self, change: Callable[[AdjudicationHistory], AdjudicationHistory]) -> pl.DataFrame:
        """The adjudications with every history changed; the table must have the column."""
        texts = [None if history is None else dumps(change(history), indent=None) for history in self.histories]
        return self.with_values("adjudications", history=pl.Series(texts, dtype=pl.String))

    def ledger_with(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The ledger with rows added for what publishing left out: ``what``, ``reason`` and what else is known."""
        added = rows.with_columns(pl.lit(STAGE).alias("stage"))
        added = LEDGER.typed(added.lazy(), STAGE).collect()
        return pl.concat([self.tables["ledger"], added], how="diagonal")
