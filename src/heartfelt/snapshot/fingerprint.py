"""A hash of a table's content that does not depend on the order of its rows or columns.

Each row becomes 64 bits mixed from its cells; the sorted row hashes, with the column names, are hashed once more
with SHA-256. A cell's bits come from its own content alone (text through BLAKE2b, numbers through their IEEE bits), so
the hash is the same on every machine and in every version of the libraries beneath. An empty cell adds nothing, so a
column without any value says nothing. Cost is linear in rows (and their sort) and needs eight bytes a row beyond the
batch at hand.
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


def text_bits(text: str) -> int:
    """64 bits for one text, the same everywhere."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class TextBits(dict[str, int]):
    """Remembers the bits of texts already met, since ids come back batch after batch."""

    def __missing__(self, text: str) -> int:
        bits = self[text] = text_bits(text)
        return bits


class RowHasher:
    """Hashes batches of rows of one table; keeps what it learnt about texts between batches."""

    def __init__(self) -> None:
        self._texts = TextBits()

    def cells(self, name: str, column: pa.Array) -> U64:
        """64 bits for every cell of the column called ``name``; 0 where it is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        salt = np.uint64(text_bits(name))
        kind = column.type
        if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            coded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
            words = coded.dictionary.to_pylist()
            table = np.fromiter((self._texts[word] for word in words), np.uint64, len(words))
            table = np.append(mixed(table ^ salt), np.uint64(0))
            codes = pc.fill_null(coded.indices, len(words)) if coded.null_count else coded.indices
            return table[codes.to_numpy(zero_copy_only=False)]
        if pa.types.is_timestamp(kind):
            raw = column.cast(pa.timestamp("us", kind.tz)).view(pa.int64())
            numbers = pc.fill_null(raw, 0).to_numpy(zero_copy_only=False)
        elif pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            as_double = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column
            numbers = pc.fill_null(as_double.cast(pa.float64(), safe=False), 0.0).to_numpy(zero_copy_only=False) + 0.0
            numbers[np.isnan(numbers)] = np.nan
        else:
            return self.cells(name, pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string()))
        bits = mixed(numbers.view(np.uint64) ^ salt)
        if column.null_count:
            bits[pc.is_null(column).to_numpy(zero_copy_only=False)] = 0
        return bits

    def rows(self, cells: Sequence[U64]) -> U64:
        """64 bits a row from the bits of its cells, whatever the order of the columns."""
        total = np.zeros(len(cells[0]) if cells else 0, dtype=np.uint64)
        for bits in cells:
            total += bits
        return mixed(total)


def arrow_batches(source: pl.DataFrame | Path, dictionary: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield a table, or a Parquet file, batch by batch; the columns of ``dictionary`` come as codes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(source, Path):
        with pq.ParquetFile(source, read_dictionary=list(dictionary)) as file:
            yield from file.iter_batches(batch_size=BATCH)
        return
    table: Any = source.to_arrow()
    views = [i for i, kind in enumerate(table.schema.types) if kind == pa.string_view()]
    for i in views:
        table = table.set_column(i, table.schema.names[i], table.column(i).cast(pa.large_string()))
    yield from table.to_batches(max_chunksize=BATCH)


def combine(name: str, columns: Sequence[str], rows: U64) -> str:
    """The hash of a table from the hashes of its rows. Sorts ``rows`` in place."""
    rows.sort()
    digest = hashlib.sha256()
    digest.update("\x1f".join(["table", name, str(rows.size), *sorted(columns)]).encode())
    digest.update(memoryview(np.ascontiguousarray(rows)).cast("B") if rows.size else b"")
    return digest.hexdigest()


def table_hash(name: str, frame: pl.DataFrame) -> str:
    """The hash of a table in memory."""
    hasher = RowHasher()
    used = [column for column in frame.columns if frame[column].null_count() < frame.height]
    parts = [
        hasher.rows([hasher.cells(column, batch.column(column)) for column in used])
        for batch in arrow_batches(frame.select(used), ())
    ] if used else []
    return combine(name, used, np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64))
