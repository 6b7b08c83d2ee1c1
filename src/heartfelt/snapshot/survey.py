"""One pass over the ratings: who, what, how many, within which limits, and the hash of it all.

The pass works batch by batch on a table in memory or on a Parquet file, so a file larger than memory is fine. What it
finds is enough to check the ratings against a study without looking at them again; only an error goes back to the
rows to name the first one at fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.snapshot.fingerprint import U64, RowHasher, arrow_batches, combine
from heartfelt.study import Scale, Study
from heartfelt.tables import RATINGS

if TYPE_CHECKING:
    import pyarrow as pa

IDS = ("rater", "stimulus", "question")


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """What the answers to one question look like."""

    ratings: int
    low: float | None
    high: float | None
    whole: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over the ratings found."""

    ratings: int
    unknown_raters: int
    raters: list[str]
    stimuli: list[str]
    questions: dict[str, QuestionFacts]
    hash: str
    doubled: bool


@dataclass(slots=True)
class _Tally:
    hashes: list[U64] = field(default_factory=list)
    keys: list[U64] = field(default_factory=list)
    seen: dict[str, dict[str, None]] = field(default_factory=lambda: {name: {} for name in IDS})
    answers: list[pl.DataFrame] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    ratings: int = 0
    unknown_raters: int = 0


def survey(source: pl.DataFrame | Path, where: str) -> Survey:
    """Look at every rating once. ``where`` names the origin in errors."""
    hasher, tally = RowHasher(), _Tally()
    for batch in arrow_batches(source, (*IDS, "answer")):
        _take(batch, hasher, tally, where)
    answers = (
        pl.concat(tally.answers)
        .group_by("question", maintain_order=True)
        .agg(pl.sum("ratings"), pl.min("low"), pl.max("high"), pl.all("whole"))
        if tally.answers
        else pl.DataFrame(schema={"question": pl.String, "ratings": pl.Int64, "low": pl.Float64, "high": pl.Float64, "whole": pl.Boolean})
    )
    keys = np.concatenate(tally.keys) if tally.keys else np.zeros(0, dtype=np.uint64)
    keys.sort()
    empty = np.zeros(0, dtype=np.uint64)
    return Survey(
        ratings=tally.ratings,
        unknown_raters=tally.unknown_raters,
        raters=list(tally.seen["rater"]),
        stimuli=list(tally.seen["stimulus"]),
        questions={row[0]: QuestionFacts(*row[1:]) for row in answers.iter_rows()},
        hash=combine("ratings", sorted(tally.used), np.concatenate(tally.hashes) if tally.hashes else empty),
        doubled=bool((keys[1:] == keys[:-1]).any()),
    )


def _take(batch: pa.RecordBatch, hasher: RowHasher, tally: _Tally, where: str) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return
    cells: dict[str, U64] = {}
    columns: dict[str, pa.Array] = {}
    for name in batch.schema.names:
        column = batch.column(name)
        if name in IDS and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        columns[name] = column
        if column.null_count < len(column):
            tally.used.add(name)
            cells[name] = hasher.cells(name, column)
    for name in ("stimulus", "question"):
        if columns[name].null_count:
            row = tally.ratings + int(np.argmax(pc.is_null(columns[name]).to_numpy(zero_copy_only=False))) + 1
            raise InputError(
                f"{where}: rating {row} has no {name}.", f"Fill in the {name} of every rating, or remove the row."
            )
    tally.hashes.append(hasher.rows(list(cells.values())))
    for name in IDS:
        tally.seen[name].update(dict.fromkeys(columns[name].dictionary.drop_null().to_pylist()))
    known = [bits for name, bits in cells.items() if name in RATINGS.key]
    keys = hasher.rows(known)
    if columns["rater"].null_count:
        tally.unknown_raters += columns["rater"].null_count
        keys = keys[pc.is_valid(columns["rater"]).to_numpy(zero_copy_only=False)]
    tally.keys.append(keys)
    value = pl.Series("value", pl.from_arrow(columns["value"]))
    coded = pl.DataFrame({"code": pl.from_arrow(columns["question"].indices), "value": value})
    names = pl.DataFrame({"question": columns["question"].dictionary.to_pylist()}).with_row_index("code")
    facts = (
        coded.with_columns(pl.col("code").cast(pl.UInt32))
        .group_by("code")
        .agg(
            pl.len().cast(pl.Int64).alias("ratings"),
            pl.min("value").alias("low"),
            pl.max("value").alias("high"),
            (pl.col("value") == pl.col("value").floor()).all().alias("whole"),
        )
        .join(names, on="code")
        .select("question", "ratings", "low", "high", "whole")
    )
    tally.answers.append(facts)
    tally.ratings += batch.num_rows


def check_ratings(found: Survey, ratings: pl.LazyFrame, study: Study, stimuli: Iterable[str], where: str) -> None:
    """Hold the ratings to the study; the first rating at fault is named."""
    if found.doubled:
        _raise_doubled(ratings, where)
    questions = {question.id for question in study.asked}
    for name in found.questions:
        if name not in questions:
            raise InputError(
                f"{where}: {found.questions[name].ratings} ratings answer a question '{name}' the study does not ask.",
                suggestion(name, questions, "Questions"),
            )
    strangers = set(found.stimuli) - set(stimuli)
    if strangers:
        name = sorted(strangers)[0]
        raise InputError(
            f"{where}: {len(strangers)} rated stimuli are not among the stimuli; the first is '{name}'.",
            suggestion(name, stimuli, "Stimuli") if len(list(stimuli)) < 50 else "Add them to the manifest, or remove their ratings.",
        )
    for name, facts in found.questions.items():
        scale = study.scale_of(name)
        if not _fits(facts, scale):
            _raise_off_scale(ratings, name, scale, where)


def _fits(facts: QuestionFacts, scale: Scale) -> bool:
    bounds = scale.bounds()
    if facts.low is None or facts.high is None:
        return True
    if bounds is None:
        low, high = getattr(scale, "low", None), getattr(scale, "high", None)
        return np.isfinite(facts.low) and np.isfinite(facts.high) and (low is None or facts.low >= low) and (high is None or facts.high <= high)
    whole = facts.whole or scale.level == "interval" and getattr(scale, "type", "") == "numeric"
    return bool(bounds[0] <= facts.low and facts.high <= bounds[1] and whole)


def _raise_doubled(ratings: pl.LazyFrame, where: str) -> None:
    key = [name for name in RATINGS.key if name in ratings.collect_schema()]
    first = (
        ratings.filter(pl.col("rater").is_not_null())
        .group_by(key)
        .agg(pl.len().alias("times"), pl.col("value").alias("values"))
        .filter(pl.col("times") > 1)
        .sort(key)
        .collect(engine="streaming")
    )
    if not first.height:
        return
    row = first.row(0, named=True)
    values = ", ".join("empty" if v is None else f"{v:g}" for v in row["values"][:4])
    raise InputError(
        f"{where}: {first.height} ratings are there more than once; the first is rater '{row['rater']}' on stimulus"
        f" '{row['stimulus']}', question '{row['question']}' ({row['times']} times: {values}).",
        "Keep one rating each, or number repeated presentations in a column 'repeat' (0, 1, …).",
    )


def _raise_off_scale(ratings: pl.LazyFrame, question: str, scale: Scale, where: str) -> None:
    frame = ratings.filter((pl.col("question") == question) & pl.col("value").is_not_null()).collect(engine="streaming")
    bad = []
    for row in frame.iter_rows(named=True):
        try:
            scale.read(row["value"])
        except InputError as error:
            bad.append((row, error.fix))
    if not bad:
        return
    row, fix = bad[0]
    raise InputError(
        f"{where}: {len(bad)} answers to '{question}' are off its scale; the first is {row['value']:g} by rater"
        f" '{row['rater']}' on stimulus '{row['stimulus']}'.",
        f"{fix} Correct the values, or state the scale that was used.",
    )
