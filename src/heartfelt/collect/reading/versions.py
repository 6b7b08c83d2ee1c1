"""The versions of a study that were served, and ratings that must not be pooled across them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from heartfelt.collect.reading.frames import TEXT, WHOLE, moment
from heartfelt.collect.versions import changed_questions
from heartfelt.errors import StudyError
from heartfelt.study import Study, parse_study

if TYPE_CHECKING:
    from sqlalchemy import Connection

LEDGER_COLUMNS = ("what", "rater", "stimulus", "question", "reason", "stage")


@dataclass(frozen=True, slots=True)
class Versions:
    """Every version by its hash: its text, its number, and the questions it asked differently from now."""

    studies: Mapping[str, str]
    numbers: Mapping[str, int]
    changed: Mapping[tuple[str, str], str]
    """What changed since, by version hash and question."""

    @classmethod
    def read(cls, connection: Connection, study: Study) -> Versions:
        """All versions in the store, compared with the study as it is now."""
        rows = connection.exec_driver_sql("SELECT version, hash, study FROM versions ORDER BY version").all()
        changed: dict[tuple[str, str], str] = {}
        for _, known, text in rows:
            if known == study.hash:
                continue
            try:
                old = parse_study(text)
            except StudyError:
                continue
            changed |= {(known, name): words for name, words in changed_questions(old, study).items()}
        return cls({row[1]: row[2] for row in rows}, {row[1]: row[0] for row in rows}, changed)

    def split(self, ratings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Ratings of questions as they are asked now, and ledger rows for those that were asked differently."""
        empty = pl.DataFrame(schema=dict.fromkeys(LEDGER_COLUMNS, pl.String))
        if not self.changed:
            return ratings, empty
        keys = pl.DataFrame(
            [
                (version, question, self._reason(version, words))
                for (version, question), words in self.changed.items()
            ],
            schema={"study_version": TEXT, "question": TEXT, "reason": TEXT},
            orient="row",
        )
        on = ["study_version", "question"]
        apart = ratings.join(keys, on=on, how="inner", maintain_order="left")
        rows = apart.select(
            pl.lit("rating").alias("what"),
            "rater",
            "stimulus",
            "question",
            "reason",
            pl.lit("collect").alias("stage"),
        )
        return ratings.join(keys, on=on, how="anti", maintain_order="left"), rows

    def _reason(self, version: str, words: str) -> str:
        return f"the question was asked differently in version {self.numbers[version]} of the study ({words})"

    def texts(self, ratings: pl.DataFrame) -> dict[str, str]:
        """The text of every version that ratings were given under, where there is more than one."""
        used = ratings["study_version"].unique().to_list()
        return {name: self.studies[name] for name in sorted(used)} if len(used) > 1 else {}


def versions(connection: Connection) -> pl.DataFrame:
    """Every version that was served: number, since when, hash, what changed, and the ratings given under it."""
    rows: list[tuple[Any, ...]] = [
        (number, at, name, json.loads(changes or "[]"), count or 0)
        for number, at, name, changes, count in connection.exec_driver_sql(
            "SELECT v.version, v.at, v.hash, v.changes, a.n FROM versions v LEFT JOIN"
            " (SELECT study_version, count(*) AS n FROM answers GROUP BY study_version) a"
            " ON a.study_version = v.version ORDER BY v.version"
        )
    ]
    schema: dict[str, Any] = {
        "version": WHOLE,
        "at": pl.Float64,
        "hash": TEXT,
        "changes": pl.List(TEXT),
        "trials": WHOLE,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(moment("at"))
