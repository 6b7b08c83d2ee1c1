"""Pseudonyms in place of every id that joins to a person, and rows in an order that says nothing about the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, Draft
from heartfelt.publishing.anonymity.key import pseudonyms
from heartfelt.publishing.release import ReleaseStep
from heartfelt.serialization import dumps
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.tables import CONTRACTS, rating_key
from heartfelt.wording import plural


def people_of(draft: Draft) -> list[str]:
    """Everybody named in any table, each once."""
    columns = [draft.tables[table][column] for table, column in PERSON_COLUMNS if draft.having(table, column)]
    names = pl.concat([column.drop_nulls().unique().alias("id") for column in columns]).unique().to_list()
    shown = {answer.rater for history in _histories(draft) for answer in history.answers}
    decided = {decision.by for history in _histories(draft) for decision in history.decisions}
    return sorted({*names, *shown, *decided})


def _histories(draft: Draft) -> list[AdjudicationHistory]:
    if not draft.having("adjudications", "history"):
        return []
    return [AdjudicationHistory.read(text) for text in draft.tables["adjudications"]["history"].drop_nulls()]


def pseudonymise(draft: Draft, key: bytes) -> tuple[Draft, pl.DataFrame]:
    """The draft under pseudonyms, and who is who (``id, pseudonym``)."""
    people = pseudonyms(key, "person", people_of(draft))
    steps: list[ReleaseStep] = []
    tables = dict(draft.tables)
    for table, column in PERSON_COLUMNS:
        if draft.having(table, column) and tables[table][column].null_count() < tables[table].height:
            tables[table] = _replaced(tables[table], column, people)
            about = "Ids of people are pseudonyms (HMAC-SHA256 under a key that is not published)."
            steps.append(
                ReleaseStep(kind="pseudonyms", table=table, column=column, about=about, rows=tables[table].height)
            )
    if draft.having("adjudications", "history"):
        names = dict(people.iter_rows())
        written = [None if text is None else _renamed(text, names) for text in tables["adjudications"]["history"]]
        tables["adjudications"] = tables["adjudications"].with_columns(pl.Series("history", written, pl.String))
        about = "Ids of people in the history of decisions are pseudonyms."
        steps.append(
            ReleaseStep(kind="pseudonyms", table="adjudications", column="history", about=about, rows=len(written))
        )
    for column, reason in _presentations(tables["ratings"]):
        ids = tables["ratings"][column].drop_nulls().unique().to_list()
        kind = "trial" if column == "trial" else "set"
        tables["ratings"] = _replaced(tables["ratings"], column, pseudonyms(key, kind, ids))
        steps.append(
            ReleaseStep(
                kind="pseudonyms",
                table="ratings",
                column=column,
                about=f"{reason} are pseudonyms.",
                rows=tables["ratings"].height,
            )
        )
    about = f"Rows are sorted by their published key: the order in which {plural(people.height, 'person', 'people')} came is gone."
    steps.append(ReleaseStep(kind="pseudonyms", table="ratings", column=None, about=about))
    return draft.changed(*steps, **{name: _sorted(name, frame) for name, frame in tables.items()}), people


def _replaced(frame: pl.DataFrame, column: str, names: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with pseudonyms in ``column``, by one join."""
    new = "(pseudonym)"
    lookup = names.lazy().select(pl.col("id").alias(column), pl.col("pseudonym").alias(new))
    joined = frame.lazy().join(lookup, on=column, how="left", maintain_order="left")
    return joined.with_columns(pl.col(new).alias(column)).select(frame.columns).collect()


def _renamed(text: str, names: Mapping[str, str]) -> str:
    history = AdjudicationHistory.read(text)
    answers = tuple(replace(answer, rater=names[answer.rater]) for answer in history.answers)
    decisions = tuple(replace(decision, by=names[decision.by]) for decision in history.decisions)
    return dumps(replace(history, answers=answers, decisions=decisions), indent=None)


def _presentations(ratings: pl.DataFrame) -> list[tuple[str, str]]:
    """Columns whose ids stand for one person's presentation: trials, and sets that no two people were shown."""
    out = []
    if "trial" in ratings.columns:
        out.append(("trial", "Ids of presentations"))
    if "set" in ratings.columns and ratings["set"].null_count() < ratings.height:
        seen_by = ratings.drop_nulls("set").group_by("set").agg(pl.n_unique("rater"))["rater"]
        if seen_by.max() == 1:
            out.append(("set", "Ids of sets that only one person was shown"))
    return out


def _sorted(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    if name in {"stimuli", "items", "means"}:
        return frame
    keys = {contract.name: contract.key for contract in CONTRACTS}
    key = rating_key(frame.columns) if name == "ratings" else keys[name] or tuple(frame.columns)
    return frame.sort([column for column in key if column in frame.columns])
