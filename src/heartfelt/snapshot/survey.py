"""One pass over the ratings: who, what, how many, within which limits, and the hash of it all.

The pass works batch by batch on a table in memory or on a Parquet file, so a file larger than memory is fine. What it
finds is enough to check the ratings against a study without looking at them again; only an error goes back to the
rows to name the first one at fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from heartfelt.errors import InputError
from heartfelt.snapshot.fingerprint import (
    BATCH,
    U64,
    among,
    arrow_batch,
    arrow_batches,
    cells_of,
    coded_cells,
    combine,
    number_bits,
    plain_frame,
    row_hashes,
    text_bits,
    text_buffers,
    word_bits,
)
from heartfelt.tables import RATINGS

if TYPE_CHECKING:
    import pyarrow as pa

IDS = ("rater", "stimulus", "question")
WORKERS = 2
COMPILED_FROM = 200_000
"""Rows in the first batch from which compiled hashing pays for its loading."""
INLINE = 12
"""Bytes of text that an Arrow string view holds itself."""
FEW = 256
"""Questions that are told apart by looking through them."""


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


@dataclass(frozen=True, slots=True)
class _Part:
    """What one batch of ratings holds."""

    rows: U64
    keys: U64
    used: tuple[str, ...]
    words: dict[str, tuple[Any, U64]]
    answers: pl.DataFrame
    ratings: int
    unknown_raters: int
    gap: tuple[str, int] | None
    gaps: dict[str, npt.NDArray[np.bool_]] | None = None
    """Only where the batch was looked at row by row: which ids are empty. ``words`` then holds every row."""


_ANSWERS = {
    "question": pl.String,
    "ratings": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
    "whole": pl.Boolean,
}


class Surveyor:
    """Takes batches of ratings one after the other, looks at them in threads, and tells at the end what it saw."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._pool = ThreadPoolExecutor(WORKERS)
        self._waiting: deque[Future[_Part]] = deque()
        self._parts: list[_Part] = []
        self._seen: dict[str, list[str]] = {name: [] for name in IDS}
        self._bits = {name: np.zeros(0, dtype=np.uint64) for name in IDS}
        self._ratings = 0
        self._gap: tuple[str, int] | None = None
        self._compiled: bool | None = None

    def take(self, batch: pa.RecordBatch | pl.DataFrame) -> None:
        """Look at one more batch; waits when too many are under way."""
        if self._compiled is None:
            rows = batch.height if isinstance(batch, pl.DataFrame) else batch.num_rows
            self._compiled = rows >= COMPILED_FROM
        self._waiting.append(self._pool.submit(self._looked_at, batch))
        while self._waiting and (self._waiting[0].done() or len(self._waiting) > 2 * WORKERS):
            self._keep(self._waiting.popleft().result())

    def _looked_at(self, batch: pa.RecordBatch | pl.DataFrame) -> _Part:
        if self._compiled:
            return _look_at_rows(plain_frame(batch))
        return _look_at(arrow_batch(batch) if isinstance(batch, pl.DataFrame) else batch)

    def _keep(self, part: _Part) -> None:
        if part.gap is not None and self._gap is None:
            self._gap = (part.gap[0], self._ratings + part.gap[1] + 1)
        for name, (words, bits) in part.words.items():
            if part.gaps is not None:
                new = self._meet(name, bits, part.gaps[name])
            else:
                new = ~among(bits, self._bits[name])
                self._bits[name] = np.sort(np.concatenate([self._bits[name], bits[new]]))
            if new.any():
                self._seen[name] += (
                    words.filter(new).to_pylist()
                    if part.gaps is None
                    else words.filter(pl.Series(new)).to_list()
                )
        self._ratings += part.ratings
        self._parts.append(replace(part, words={}))

    def _meet(self, name: str, bits: U64, empty: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which rows hold an id that no row before them had."""
        from heartfelt.snapshot import _kernels_rows as kernels

        needed = 2 * (len(self._seen[name]) + bits.size)
        if self._bits[name].size < needed:
            larger = np.zeros(1 << int(needed - 1).bit_length(), dtype=np.uint64)
            kernels.rehash(self._bits[name], larger)
            self._bits[name] = larger
        new = np.zeros(bits.size, dtype=np.bool_)
        kernels.meet(self._bits[name], bits, empty, new)
        return new

    def finish(self) -> Survey:
        """What all batches together hold."""
        try:
            while self._waiting:
                self._keep(self._waiting.popleft().result())
        finally:
            self._pool.shutdown(cancel_futures=True)
        if self._gap is not None:
            name, row = self._gap
            raise InputError(
                f"{self._where}: rating {row} has no {name}.",
                f"Fill in the {name} of every rating, or remove the row.",
            )
        parts = self._parts
        answers = pl.concat([pl.DataFrame(schema=_ANSWERS), *(part.answers for part in parts)])
        answers = answers.group_by("question", maintain_order=True).agg(
            pl.sum("ratings"), pl.min("low"), pl.max("high"), pl.all("whole")
        )
        none = np.zeros(0, dtype=np.uint64)
        with ThreadPoolExecutor(1) as beside:
            doubled = beside.submit(_any_twice, [none, *(part.keys for part in parts)])
            used = sorted({name for part in parts for name in part.used})
            content = combine("ratings", used, np.concatenate([none, *(part.rows for part in parts)]))
        return Survey(
            ratings=self._ratings,
            unknown_raters=sum(part.unknown_raters for part in parts),
            raters=self._seen["rater"],
            stimuli=self._seen["stimulus"],
            questions={row[0]: QuestionFacts(*row[1:]) for row in answers.iter_rows()},
            hash=content,
            doubled=doubled.result(),
        )


def _any_twice(parts: list[U64]) -> bool:
    keys = np.concatenate(parts)
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def get_ready() -> None:
    """Load the compiled kernels in the background, where a large table is about to come."""

    def load() -> None:
        from heartfelt.snapshot import _kernels_rows as kernels

        del kernels

    Thread(target=load, daemon=True).start()


def survey(source: pl.DataFrame | Path, where: str) -> Survey:
    """Look at every rating once. ``where`` names the origin in errors."""
    surveyor = Surveyor(where)
    for batch in arrow_batches(source, IDS):
        surveyor.take(batch)
    return surveyor.finish()


def survey_on_the_way(ratings: pl.LazyFrame, path: Path, where: str) -> Survey:
    """Write a lazy table to a Parquet file, and look at every rating as it passes."""
    from polars.io.plugins import register_io_source

    surveyor = Surveyor(where)

    def passing(*_: Any) -> Iterator[pl.DataFrame]:
        for frame in ratings.collect_batches(chunk_size=BATCH // 4, maintain_order=True):
            if frame.height:
                surveyor.take(frame)
            yield frame

    try:
        register_io_source(passing, schema=ratings.collect_schema()).sink_parquet(path, compression="snappy")
    finally:
        found = surveyor.finish()
    return found


def _look_at(batch: pa.RecordBatch) -> _Part:
    import pyarrow as pa
    import pyarrow.compute as pc

    cells: dict[str, U64] = {}
    words: dict[str, tuple[pa.Array, U64]] = {}
    gap: tuple[str, int] | None = None
    for name in batch.schema.names:
        column = batch.column(name)
        if name in IDS:
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            words[name] = (coded.dictionary, text_bits(coded.dictionary))
            cells[name] = coded_cells(name, coded, words[name][1])
            if coded.null_count and name != "rater" and gap is None:
                gap = (name, int(np.argmax(pc.is_null(coded).to_numpy(zero_copy_only=False))))
            if name == "question":
                answers = _answers(coded, batch.column("value"))
        elif column.null_count < len(column):
            cells[name] = cells_of(name, column)
    keys = row_hashes([bits for name, bits in cells.items() if name in RATINGS.key])
    unknown = batch.column("rater").null_count
    if unknown:
        keys = keys[pc.is_valid(batch.column("rater")).to_numpy(zero_copy_only=False)]
    rows = row_hashes(list(cells.values()))
    return _Part(rows, keys, tuple(cells), words, answers, batch.num_rows, unknown, gap)


def _look_at_rows(frame: pl.DataFrame) -> _Part:
    """The same as :func:`_look_at`, compiled: worth its loading time on many rows."""
    from heartfelt.snapshot import _kernels_rows as kernels

    rows, keys = np.zeros(frame.height, dtype=np.uint64), np.zeros(frame.height, dtype=np.uint64)
    words: dict[str, tuple[Any, U64]] = {}
    gaps: dict[str, npt.NDArray[np.bool_]] = {}
    gap: tuple[str, int] | None = None
    used: list[str] = []
    for name in frame.columns:
        column = frame[name]
        if column.null_count() == frame.height and name not in IDS:
            continue
        used.append(name)
        empty = column.is_null().to_numpy() if column.null_count() else np.zeros(0, dtype=np.bool_)
        bits = _text_bits(column) if column.dtype == pl.String else number_bits(column.to_arrow())
        salt = word_bits(name)
        kernels.add_cells(rows, bits, salt, empty)
        if name in RATINGS.key:
            kernels.add_cells(keys, bits, salt, empty)
        if name in IDS:
            words[name], gaps[name] = (column, bits), empty
            if column.null_count() and name != "rater" and gap is None:
                gap = (name, int(np.argmax(empty)))
    kernels.finish_rows(rows)
    kernels.finish_rows(keys)
    unknown = frame["rater"].null_count()
    if unknown:
        keys = keys[~gaps["rater"]]
    answers = _tallied(*words["question"], frame["value"])
    return _Part(rows, keys, tuple(used), words, answers, frame.height, unknown, gap, gaps)


def _text_bits(column: pl.Series) -> U64:
    """64 bits for every text of a column; anything where it is empty."""
    from heartfelt.snapshot import _kernels_rows as kernels

    longest = column.str.len_bytes().max()
    if isinstance(longest, int) and longest > INLINE:
        found: U64 = kernels.text_bits(*text_buffers(column.to_arrow()))
        return found
    parts = []
    for chunk in column.get_chunks():
        views = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
        raw = np.frombuffer(views.buffers()[1], dtype=np.uint64).reshape(-1, 2)
        parts.append(kernels.short_text_bits(raw[views.offset : views.offset + len(views)]))
    return np.concatenate([np.zeros(0, dtype=np.uint64), *parts])


def _tallied(questions: pl.Series, bits: U64, values: pl.Series) -> pl.DataFrame:
    """The same as :func:`_answers`, compiled."""
    from heartfelt.snapshot import _kernels_rows as kernels

    codes, first = np.zeros(bits.size, dtype=np.int64), np.zeros(FEW, dtype=np.int64)
    kinds = kernels.few_codes(bits, codes, first)
    if kinds < 0:
        return _answers(questions.to_arrow().dictionary_encode(), values.to_arrow())
    count = np.zeros(kinds, dtype=np.int64)
    facts = np.tile(np.array([np.inf, -np.inf, 1.0]), (kinds, 1))
    kernels.tally(codes, values.fill_null(np.nan).to_numpy(), count, facts)
    rows = [
        (
            questions[int(at)],
            int(n),
            *((None, None) if low > high else (float(low), float(high))),
            bool(whole),
        )
        for at, n, (low, high, whole) in zip(first[:kinds], count, facts, strict=True)
    ]
    return pl.DataFrame(rows, schema=_ANSWERS, orient="row")


def _answers(questions: pa.Array, values: pa.Array) -> pl.DataFrame:
    coded = pl.DataFrame({"code": pl.from_arrow(questions.indices), "value": pl.from_arrow(values)})
    names = pl.DataFrame(
        {"question": questions.dictionary.to_pylist()}, schema={"question": pl.String}
    ).with_row_index("code")
    value = pl.col("value")
    return (
        coded.with_columns(pl.col("code").cast(pl.UInt32))
        .group_by("code")
        .agg(
            pl.len().cast(pl.Int64).alias("ratings"),
            value.min().alias("low"),
            value.max().alias("high"),
            (value == value.floor()).all().alias("whole"),
        )
        .join(names, on="code")
        .select("question", "ratings", "low", "high", "whole")
    )
