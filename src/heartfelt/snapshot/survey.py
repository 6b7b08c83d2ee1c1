"""One pass over the ratings: who, what, how many, within which limits, and the hash of it all.

The pass works batch by batch on a table in memory or on a Parquet file, so a file larger than memory is fine. Its
result is enough to check the ratings against a study without looking at them again; only an error goes back to the
rows to name the first one at fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from heartfelt.errors import EmptyIdError, InputError, RatingError, suggestion
from heartfelt.progress import Progress
from heartfelt.snapshot.fingerprint import U64, bits_of, cells_of, combine, plain_frame, row_hashes
from heartfelt.study import Scale, Study
from heartfelt.study.scales.set_scale import Trace
from heartfelt.tables import RATINGS, TRACES, is_answered, rating_key

IDS = ("rater", "stimulus", "question")
BATCH = 262_144
WORKERS = 2
ONE_RATING_EACH = (
    "Number repeated presentations in a column 'repeat' (0, 1, …); keep one rating each where they are copies."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFacts:
    """What the answers to one question look like."""

    ratings: int
    """Rows with an answer."""
    blank: int
    """Rows without one."""
    low: float | None
    high: float | None
    integers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsSurvey:
    """What one pass over the ratings found."""

    rows: int
    """Rows of the table of ratings: those with an answer and those without."""
    unknown_raters: int
    """Answers whose rater is not known."""
    raters: list[str]
    stimuli: list[str]
    questions: dict[str, QuestionFacts]
    hash: str
    doubled: bool

    @property
    def ratings(self) -> int:
        """How many answers there are; rows without one are :attr:`blank`."""
        return sum(facts.ratings for facts in self.questions.values())

    @property
    def blank(self) -> int:
        return self.rows - self.ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one batch of ratings holds: row and key hashes, the ids with their bits, facts by question."""

    rows: U64
    keys: U64
    columns: list[str]
    ids: dict[str, pl.DataFrame]
    answers: pl.DataFrame
    unknown_raters: int
    gap: tuple[str, int] | None


class Surveyor:
    """Takes batches of ratings one after the other, looks at them in threads, and sums up at the end."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._pool = ThreadPoolExecutor(WORKERS)
        self._waiting: deque[Future[_Part]] = deque()
        self._parts: list[_Part] = []
        self._known = {name: pl.DataFrame(schema={"id": pl.String, "bits": pl.UInt64}) for name in IDS}
        self._rows = 0
        self._gap: tuple[str, int] | None = None

    def take(self, batch: pl.DataFrame) -> None:
        """Look at one more batch; waits when too many are under way."""
        # Results are added in the order of the batches, whichever thread is done first: ids keep their order of appearance.
        self._waiting.append(self._pool.submit(_look_at, batch))
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > 2 * WORKERS):
            self._add(self._waiting.popleft().result())

    def _add(self, part: _Part) -> None:
        if part.gap is not None and self._gap is None:
            self._gap = (part.gap[0], self._rows + part.gap[1] + 1)
        for name, met in part.ids.items():
            new = met.filter(~met["bits"].is_in(self._known[name]["bits"].implode()))
            if new.height:
                self._known[name].extend(new)
        part.ids.clear()
        self._rows += part.rows.size
        self._parts.append(part)

    def finish(self) -> RatingsSurvey:
        try:
            while self._waiting:
                self._add(self._waiting.popleft().result())
        finally:
            self._pool.shutdown(cancel_futures=True)
        if self._gap is not None:
            name, number = self._gap
            raise EmptyIdError(
                f"{self._where}: rating {number} has no {name}.",
                f"Fill in the {name} of every rating, or remove the row.",
            )
        parts = self._parts or [_look_at(RATINGS.empty())]
        answers = pl.concat([part.answers for part in parts]).group_by("question", maintain_order=True)
        facts = answers.agg(pl.sum("ratings", "blank"), pl.min("low"), pl.max("high"), pl.all("integers"))
        with ThreadPoolExecutor(1) as pool:
            doubled = pool.submit(_any_twice, [part.keys for part in parts])
            # No ratings have no columns either: snapshots of published means were stored under that hash.
            columns = sorted({name for part in self._parts for name in part.columns})
            content = combine("ratings", columns, np.concatenate([part.rows for part in parts]))
        return RatingsSurvey(
            rows=self._rows,
            unknown_raters=sum(part.unknown_raters for part in parts),
            raters=self._known["rater"]["id"].to_list(),
            stimuli=self._known["stimulus"]["id"].to_list(),
            questions={row.pop("question"): QuestionFacts(**row) for row in facts.to_dicts()},
            hash=content,
            doubled=doubled.result(),
        )


def _any_twice(parts: list[U64]) -> bool:
    keys = np.concatenate(parts)
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def survey(source: pl.DataFrame | Path, where: str) -> RatingsSurvey:
    """Look at every rating once. ``where`` names the origin in errors."""
    surveyor = Surveyor(where)
    lazy = pl.scan_parquet(source) if isinstance(source, Path) else source.lazy()
    for batch in lazy.collect_batches(chunk_size=BATCH, maintain_order=True):
        surveyor.take(batch)
    return surveyor.finish()


def survey_on_the_way(ratings: pl.LazyFrame, path: Path, where: str, progress: Progress | None = None) -> RatingsSurvey:
    """Write a lazy table to a Parquet file, and look at every rating as it passes."""
    from polars.io.plugins import register_io_source

    surveyor = Surveyor(where)

    def passing(*_: Any) -> Iterator[pl.DataFrame]:
        count = 0
        for frame in ratings.collect_batches(chunk_size=BATCH, maintain_order=True):
            if frame.height:
                surveyor.take(frame)
                count += frame.height
                if progress is not None:
                    progress("reading ratings", count, 0)
            yield frame

    try:
        register_io_source(passing, schema=ratings.collect_schema()).sink_parquet(path, compression="snappy")
    finally:
        surveyed = surveyor.finish()
    return surveyed


def _look_at(batch: pl.DataFrame) -> _Part:
    columns = [c for c in plain_frame(batch) if c.null_count() < batch.height or c.name in IDS]
    bits = {column.name: bits_of(column) for column in columns}
    cells = {column.name: cells_of(column, bits[column.name]) for column in columns}
    key = rating_key(batch.columns)
    keys = row_hashes((cell_hashes for name, cell_hashes in cells.items() if name in key), batch.height)
    unknown = batch["rater"].null_count()
    if unknown:
        keys = keys[batch["rater"].is_not_null().to_numpy()]
    gaps = [name for name in IDS[1:] if batch[name].null_count()]
    value, answered = pl.col("value"), batch.select(given=is_answered(batch.columns))
    answers = (
        batch.select("question", "value", answered["given"], bits=bits["question"])
        .group_by("bits", maintain_order=True)
        .agg(
            pl.first("question"),
            pl.sum("given").cast(pl.Int64).alias("ratings"),
            (~pl.col("given")).sum().cast(pl.Int64).alias("blank"),
            value.min().alias("low"),
            value.max().alias("high"),
            (value == value.floor()).all().alias("integers"),
        )
    )
    return _Part(
        rows=row_hashes(cells.values(), batch.height),
        keys=keys,
        columns=list(cells),
        ids={name: _distinct(batch[name], bits[name]) for name in IDS},
        answers=answers.drop("bits"),
        unknown_raters=int((batch["rater"].is_null() & answered["given"]).sum()) if unknown else 0,
        gap=(gaps[0], int(batch[gaps[0]].is_null().arg_true()[0])) if gaps else None,
    )


def _distinct(ids: pl.Series, bits: U64) -> pl.DataFrame:
    """Each id of a batch once, in order of appearance, with its bits."""
    first = pl.Series(bits).arg_unique().sort()
    return pl.DataFrame({"id": ids.gather(first), "bits": bits[first.to_numpy()]}).drop_nulls("id")


def check_ratings(surveyed: RatingsSurvey, ratings: pl.LazyFrame, study: Study, stimuli: list[str], where: str) -> None:
    """Raise if the ratings do not fit the study, naming the first one at fault."""
    if surveyed.doubled:
        raise_doubled(ratings, where)
    questions = {question.id for question in study.asked}
    for name, facts in surveyed.questions.items():
        if name not in questions:
            raise InputError(
                f"{where}: {facts.ratings + facts.blank} ratings answer a question '{name}' the study does not ask.",
                suggestion(name, questions, "Questions"),
            )
    strangers = set() if surveyed.stimuli == stimuli else set(surveyed.stimuli) - set(stimuli)
    if strangers:
        name, few = min(strangers), len(stimuli) < 50
        raise InputError(
            f"{where}: {len(strangers)} rated stimuli are not among the stimuli; the first is '{name}'.",
            suggestion(name, stimuli, "Stimuli") if few else "Add them to the manifest, or remove their ratings.",
        )
    for name, facts in surveyed.questions.items():
        scale = study.scale_of(name)
        if not _fits(facts, scale):
            _raise_off_scale(ratings, name, scale, where)


def _fits(facts: QuestionFacts, scale: Scale) -> bool:
    if facts.low is None or facts.high is None:
        return True
    bounds = scale.bounds()
    continuous = not scale.whole or bounds is None
    low, high = bounds or (getattr(scale, "low", None), getattr(scale, "high", None))
    return bool(
        np.isfinite([facts.low, facts.high]).all()
        and (low is None or facts.low >= low)
        and (high is None or facts.high <= high)
        and (facts.integers or continuous)
    )


def raise_doubled(ratings: pl.LazyFrame, where: str, fix: str = ONE_RATING_EACH) -> None:
    """Raise an error that names the first known rater with two ratings of the same; return where there is none."""
    key = rating_key(ratings.collect_schema().names())
    doubled = (
        ratings.filter(pl.col("rater").is_not_null())
        .group_by(key)
        .agg(pl.len().alias("times"), pl.col("value").alias("values"))
        .filter(pl.col("times") > 1)
        .sort(key)
        .collect(engine="streaming")
    )
    if not doubled.height:
        return
    row = doubled.row(0, named=True)
    values = ", ".join("empty" if v is None else f"{v:g}" for v in row["values"][:4])
    raise RatingError.about(
        {**row, "value": None},
        f"{where}: {doubled.height} ratings are there more than once; the first is rater '{row['rater']}' on stimulus"
        f" '{row['stimulus']}', question '{row['question']}' ({row['times']} times: {values}).",
        fix,
    )


def _raise_off_scale(ratings: pl.LazyFrame, question: str, scale: Scale, where: str) -> None:
    answered = (pl.col("question") == question) & pl.col("value").is_not_null()
    bad = []
    for row in ratings.filter(answered).collect(engine="streaming").iter_rows(named=True):
        try:
            scale.read(row["value"])
        except InputError as error:
            bad.append((row, error.fix))
    if not bad:
        return
    row, fix = bad[0]
    raise RatingError.about(
        row,
        f"{where}: {len(bad)} answers to '{question}' are off its scale; the first is {row['value']:g} by rater"
        f" '{row['rater']}' on stimulus '{row['stimulus']}'.",
        f"{fix} Correct the values, or state the scale that was used.",
    )


def check_traces(traces: pl.DataFrame, study: Study, stimuli: Collection[str], where: str) -> pl.DataFrame:
    """The traces with gaps as empty samples, or an error that names the first one at fault."""
    sample = pl.element()
    gaps = pl.col("samples").list.eval(pl.when(sample.is_nan()).then(None).otherwise(sample))
    frame = TRACES.check(traces, where).with_columns(gaps)
    for name in frame["question"].unique(maintain_order=True):
        question_ids = [question.id for question in study.asked]
        if name not in question_ids:
            raise InputError(
                f"{where}: traces answer a question '{name}' the study does not ask.",
                suggestion(name, question_ids, "Questions"),
            )
        scale = study.scale_of(name)
        if not isinstance(scale, Trace):
            raise InputError(
                f"{where}: the question '{name}' has traces, but its scale is no trace.",
                "Give the question a scale of type 'trace', or leave its traces out.",
            )
        question_traces = frame.filter(pl.col("question") == name)
        samples = question_traces["samples"]
        off_scale = (samples.list.min() < scale.low - 1e-6) | (samples.list.max() > scale.high + 1e-6)
        if off_scale.fill_null(False).any():
            row = question_traces.row(int(off_scale.fill_null(False).arg_true()[0]), named=True)
            raise InputError(
                f"{where}: {off_scale.sum()} traces of '{name}' leave the scale; the first is by rater '{row['rater']}' on"
                f" stimulus '{row['stimulus']}'.",
                f"Samples lie between {scale.low:g} and {scale.high:g}; correct them, or state the scale used.",
            )
    strangers = set(frame["stimulus"].unique().to_list()) - set(stimuli)
    if strangers:
        raise InputError(
            f"{where}: {len(strangers)} stimuli with traces are not among the stimuli; the first is '{min(strangers)}'.",
            "Add them to the manifest, or remove their traces.",
        )
    return frame
