"""A hash of a table's content that does not depend on the order of its rows or columns.

Each row becomes 64 bits mixed from its cells; the sorted row hashes, with the column names, are hashed once more
with BLAKE2b. A cell's bits come from its own content alone (text from its UTF-8 bytes, eight at a time, and their
places, numbers from their IEEE bits), so the hash is the same on every machine and in every version of the libraries
beneath. An empty cell adds nothing, so a column without any value says nothing. Cost is linear in rows (and their sort)
and needs eight bytes a row beyond the batch at hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa

U64 = npt.NDArray[np.uint64]

BATCH = 1 << 20
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def mixed(bits: U64) -> U64:
    """Spread 64 bits so that every input bit touches every output bit (the splitmix64 finaliser), in place."""
    bits ^= bits >> np.uint64(30)
    bits *= _MIX_1
    bits ^= bits >> np.uint64(27)
    bits *= _MIX_2
    bits ^= bits >> np.uint64(31)
    return bits


def text_buffers(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where each text of an Arrow string array begins, and the UTF-8 bytes of all of them."""
    import pyarrow as pa

    wide = texts.cast(pa.large_string())
    if not len(wide):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    offsets = np.frombuffer(wide.buffers()[1], dtype=np.int64)[wide.offset : wide.offset + len(wide) + 1]
    data = wide.buffers()[2]
    raw = (
        np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]]
        if data is not None
        else np.zeros(0, np.uint8)
    )
    return offsets - offsets[0], raw


def text_bits(texts: pa.Array) -> U64:
    """64 bits for every text of an Arrow string array without gaps, from its bytes and where they stand."""
    starts, raw = text_buffers(texts)
    lengths = np.diff(starts)
    ends = np.cumsum(-(-lengths // 8))
    begins = ends - (-(-lengths // 8))
    padded = np.zeros(8 * int(ends[-1]) if ends.size else 0, dtype=np.uint8)
    padded[np.arange(raw.size) - np.repeat(starts[:-1] - 8 * begins, lengths)] = raw
    words = padded.view("<u8").astype(np.uint64, copy=False)
    place = np.arange(words.size) - np.repeat(begins, ends - begins)
    sums = np.zeros(words.size + 1, dtype=np.uint64)
    np.cumsum(mixed(words + (place + 1).astype(np.uint64) * _GOLDEN), out=sums[1:])
    return mixed(sums[ends] - sums[begins] + lengths.astype(np.uint64))


def word_bits(word: str) -> np.uint64:
    """64 bits for one text."""
    import pyarrow as pa

    return np.uint64(text_bits(pa.array([word], pa.large_string()))[0])


def coded_cells(name: str, coded: pa.Array, bits: U64) -> U64:
    """64 bits for every cell of a dictionary-coded column, given the bits of its dictionary; 0 where it is empty."""
    import pyarrow.compute as pc

    table = np.append(mixed(bits ^ word_bits(name)), np.uint64(0))
    codes = pc.fill_null(coded.indices, table.size - 1) if coded.null_count else coded.indices
    out: U64 = table[codes.to_numpy(zero_copy_only=False)]
    return out


def cells_of(name: str, column: pa.Array) -> U64:
    """64 bits for every cell of the column called ``name``; 0 where it is empty."""
    import pyarrow.compute as pc

    if is_text(column):
        coded = column.dictionary_encode()
        return coded_cells(name, coded, text_bits(coded.dictionary))
    bits = mixed(number_bits(column) ^ word_bits(name))
    if column.null_count:
        bits[pc.is_null(column).to_numpy(zero_copy_only=False)] = 0
    return bits


def is_text(column: pa.Array) -> bool:
    """Whether a column holds texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def number_bits(column: pa.Array) -> U64:
    """The IEEE bits of a column of numbers, or the microseconds of moments; anything where it is empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind):
        raw = column.cast(pa.timestamp("us", kind.tz)).view(pa.int64())
        numbers = pc.fill_null(raw, 0).to_numpy(zero_copy_only=False)
    else:
        as_number = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column
        filled = pc.fill_null(as_number.cast(pa.float64(), safe=False), 0.0)
        numbers = filled.to_numpy(zero_copy_only=False) + 0.0
        numbers[np.isnan(numbers)] = np.nan
    out: U64 = numbers.view(np.uint64)
    return out


def row_hashes(cells: Sequence[U64]) -> U64:
    """64 bits a row from the bits of its cells, whatever the order of the columns."""
    total = np.zeros(len(cells[0]) if cells else 0, dtype=np.uint64)
    for bits in cells:
        total += bits
    return mixed(total)


def among(bits: U64, known: U64) -> npt.NDArray[np.bool_]:
    """Which of ``bits`` are in the sorted ``known``."""
    if not known.size:
        return np.zeros(bits.size, dtype=np.bool_)
    place = np.minimum(np.searchsorted(known, bits), known.size - 1)
    out: npt.NDArray[np.bool_] = known[place] == bits
    return out


def arrow_batches(source: pl.DataFrame | Path, dictionary: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield a table, or a Parquet file, batch by batch; the columns of ``dictionary`` come as codes."""
    if isinstance(source, Path):
        import pyarrow.parquet as pq

        with pq.ParquetFile(source, read_dictionary=list(dictionary)) as file:
            yield from file.iter_batches(batch_size=BATCH)
        return
    for begin in range(0, source.height, BATCH):
        yield arrow_batch(source.slice(begin, BATCH))


def arrow_batch(frame: pl.DataFrame) -> pa.RecordBatch:
    """A table in memory as one Arrow batch."""
    import pyarrow as pa

    table: Any = plain_frame(frame).rechunk().to_arrow()
    for i, kind in enumerate(table.schema.types):
        if kind == pa.string_view():
            table = table.set_column(i, table.schema.names[i], table.column(i).cast(pa.large_string()))
    return table.combine_chunks().to_batches()[0]


def plain_frame(batch: pl.DataFrame | pa.RecordBatch) -> pl.DataFrame:
    """A batch as text, numbers and moments; what is none of these (categories, dates, lists) as text."""
    frame = batch if isinstance(batch, pl.DataFrame) else pl.DataFrame(pl.from_arrow(batch))
    schema = frame.schema
    odd = [
        n
        for n, t in schema.items()
        if not (t.is_numeric() or t in (pl.String, pl.Boolean) or isinstance(t, pl.Datetime))
    ]
    nested = [n for n in odd if schema[n].is_nested()]
    words = [
        pl.Series(n, [None if v is None else str(v) for v in frame[n].to_list()], dtype=pl.String)
        for n in nested
    ]
    if odd:
        frame = frame.with_columns(pl.col([n for n in odd if n not in nested]).cast(pl.String)).with_columns(
            words
        )
    return frame


def combine(name: str, columns: Sequence[str], rows: U64) -> str:
    """The hash of a table from the hashes of its rows. Sorts ``rows`` in place."""
    rows.sort()
    digest = hashlib.blake2b(digest_size=32)
    digest.update("\x1f".join(["table", name, str(rows.size), *sorted(columns)]).encode())
    digest.update(rows.astype("<u8", copy=False).data)
    return digest.hexdigest()


def table_hash(name: str, frame: pl.DataFrame) -> str:
    """The hash of a table in memory."""
    used = [column for column in frame.columns if frame[column].null_count() < frame.height]
    parts = [
        row_hashes([cells_of(column, batch.column(column)) for column in used])
        for batch in (arrow_batches(frame.select(used), ()) if used else ())
    ]
    return combine(name, used, np.concatenate([np.zeros(0, dtype=np.uint64), *parts]))
