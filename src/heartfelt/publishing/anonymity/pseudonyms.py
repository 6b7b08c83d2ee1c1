"""Pseudonyms in place of every id that joins to a person, and rows in an order that says nothing about the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from heartfelt.publishing.anonymity.draft import PERSON_COLUMNS, Draft
from heartfelt.publishing.anonymity.key import pseudonyms
from heartfelt.snapshot.adjudications import AdjudicationHistory
from heartfelt.tables import CONTRACTS, rating_key
from heartfelt.wording import plural


def people_of(draft: Draft) -> list[str]:
    """Everybody named in any table, each once."""
    columns = [draft.tables[table][column] for table, column in PERSON_COLUMNS if draft.having(table, column)]
    names = pl.concat([column.drop_nulls().unique().alias("id") for column in columns]).unique().to_list()
    histories = [history for history in draft.histories if history is not None]
    shown = {answer.rater for history in histories for answer in history.answers}
    decided = {decision.by for history in histories for decision in history.decisions}
    return sorted({*names, *shown, *decided})


def pseudonymise(draft: Draft, key: bytes) -> tuple[Draft, pl.DataFrame]:
    """The draft under pseudonyms, and who is who (``id, pseudonym``)."""
    people = pseudonyms(key, "person", people_of(draft))
    about = "Ids of people are pseudonyms (HMAC-SHA256 under a key that is not published)."
    for table, column in PERSON_COLUMNS:
        frame = draft.tables[table]
        if draft.having(table, column) and frame[column].null_count() < frame.height:
            draft = draft.after("pseudonyms", table, column, about, _replaced(frame, column, people))
    if draft.having("adjudications", "history"):
        names = dict(people.iter_rows())
        renamed = draft.with_histories(lambda history: _renamed(history, names))
        about = "Ids of people in the history of decisions are pseudonyms."
        draft = draft.after("pseudonyms", "adjudications", "history", about, renamed)
    for column, subject in _presentations(draft.tables["ratings"]):
        ratings = draft.tables["ratings"]
        lookup = pseudonyms(key, column, ratings[column].drop_nulls().unique().to_list())
        about = f"{subject} are pseudonyms."
        draft = draft.after("pseudonyms", "ratings", column, about, _replaced(ratings, column, lookup))
    count = plural(people.height, "person", "people")
    about = f"Rows are sorted by their published key: the order in which {count} came is gone."
    draft = draft.after("pseudonyms", "ratings", None, about, rows=0)
    return draft.changed(**{name: _sorted(name, frame) for name, frame in draft.tables.items()}), people


def _replaced(frame: pl.DataFrame, column: str, names: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with pseudonyms in ``column``, by one join."""
    new = "(pseudonym)"
    lookup = names.lazy().select(pl.col("id").alias(column), pl.col("pseudonym").alias(new))
    joined = frame.lazy().join(lookup, on=column, how="left", maintain_order="left")
    return joined.with_columns(pl.col(new).alias(column)).select(frame.columns).collect()


def _renamed(history: AdjudicationHistory, names: Mapping[str, str]) -> AdjudicationHistory:
    answers = tuple(replace(answer, rater=names[answer.rater]) for answer in history.answers)
    decisions = tuple(replace(decision, by=names[decision.by]) for decision in history.decisions)
    return replace(history, answers=answers, decisions=decisions)


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
