"""A hash of a table's content that does not depend on the order of its rows or columns.

Each row becomes 64 bits mixed from its cells; the sorted row hashes, with the column names, are hashed once more
with BLAKE2b. A cell's bits come from its own content alone (text from its UTF-8 bytes, eight at a time, and their
places, numbers from their IEEE bits), so the hash is the same on every machine and in every version of the libraries
beneath. An empty cell adds nothing, and so does a column without any value. The cost is linear in the number of rows,
apart from their sort, and needs eight bytes per row beyond the batch at hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

U64 = npt.NDArray[np.uint64]

_INLINE = 12
"""Bytes of text that an Arrow string view holds itself."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_GOLDEN_TWICE = np.uint64(0x3C6EF372FE94F82A)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)


def mixed(bits: U64) -> U64:
    """Spread 64 bits so that every input bit touches every output bit (the splitmix64 finaliser), in place."""
    bits ^= bits >> np.uint64(30)
    bits *= _MIX_1
    bits ^= bits >> np.uint64(27)
    bits *= _MIX_2
    bits ^= bits >> np.uint64(31)
    return bits


def text_bits(texts: pl.Series) -> U64:
    """64 bits for every text of a column, from its UTF-8 bytes and their places; arbitrary where a cell is empty."""
    longest = texts.str.len_bytes().max()
    if isinstance(longest, int) and longest > _INLINE:
        coded: Any = texts.to_arrow().dictionary_encode()
        codes = coded.indices.fill_null(0) if coded.null_count else coded.indices
        bits: U64 = _long_text_bits(coded.dictionary)[codes.to_numpy(zero_copy_only=False)]
        return bits
    chunks = [np.zeros(0, dtype=np.uint64)]
    for chunk in texts.get_chunks():
        # A view is sixteen bytes: the length in four, then the text, padded with zeros.
        views: Any = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
        raw = np.frombuffer(views.buffers()[1], dtype=np.uint64).reshape(-1, 2)
        chunks.append(_short_text_bits(raw[views.offset : views.offset + len(views)]))
    return np.concatenate(chunks)


def _short_text_bits(views: U64) -> U64:
    head, tail = views[:, 0], views[:, 1]
    length = head & np.uint64(0xFFFFFFFF)
    first = mixed(((head >> _HALF) | (tail << _HALF)) + _GOLDEN)
    total = length + np.where(length > 0, first, np.uint64(0))
    if (length > 8).any():
        second = mixed((tail >> _HALF) + _GOLDEN_TWICE)
        total += np.where(length > 8, second, np.uint64(0))
    return mixed(total)


def _long_text_bits(texts: Any) -> U64:
    """The same for an Arrow array of large strings of any length, without empty cells."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = np.frombuffer(texts.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets - offsets[0]
    lengths = np.diff(starts)
    ends = np.cumsum(-(-lengths // 8))
    begins = ends - (-(-lengths // 8))
    padded = np.zeros(8 * int(ends[-1]), dtype=np.uint8)
    padded[np.arange(raw.size) - np.repeat(starts[:-1] - 8 * begins, lengths)] = raw
    words = padded.view("<u8").astype(np.uint64, copy=False)
    place = np.arange(words.size) - np.repeat(begins, ends - begins)
    sums = np.zeros(words.size + 1, dtype=np.uint64)
    np.cumsum(mixed(words + (place + 1).astype(np.uint64) * _GOLDEN), out=sums[1:])
    return mixed(sums[ends] - sums[begins] + lengths.astype(np.uint64))


def number_bits(numbers: pl.Series) -> U64:
    """The IEEE bits of a column of numbers, or the microseconds of moments; arbitrary where a cell is empty."""
    if isinstance(numbers.dtype, pl.Datetime):
        return numbers.dt.cast_time_unit("us").to_physical().fill_null(0).to_numpy().view(np.uint64)
    plain = numbers.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0  # -0.0 becomes 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


@lru_cache(maxsize=1024)
def _salt(column: str) -> np.uint64:
    return np.uint64(text_bits(pl.Series([column]))[0])


def bits_of(column: pl.Series) -> U64:
    """64 bits for every cell of a plain column; arbitrary where it is empty."""
    return text_bits(column) if column.dtype == pl.String else number_bits(column)


def cells_of(column: pl.Series, bits: U64) -> U64:
    """The bits of every cell as part of its row: those of the same content in another column differ; 0 if empty."""
    cells = mixed(bits ^ _salt(column.name))
    if column.null_count():
        cells[column.is_null().to_numpy()] = 0
    return cells


def row_hashes(cells: Iterable[U64], rows: int) -> U64:
    """64 bits per row from the bits of its cells, whatever the order of the columns."""
    total = np.zeros(rows, dtype=np.uint64)
    for bits in cells:
        total += bits
    return mixed(total)


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of text, numbers and moments; what is none of these (categories, dates, lists) becomes text."""
    odd = {
        name: kind
        for name, kind in frame.schema.items()
        if not (kind.is_numeric() or kind in (pl.String, pl.Boolean) or isinstance(kind, pl.Datetime))
    }
    nested = [name for name, kind in odd.items() if kind.is_nested()]
    words = [
        pl.Series(name, [None if cell is None else str(cell) for cell in frame[name].to_list()], pl.String)
        for name in nested
    ]
    return frame.with_columns(*words, *(pl.col(name).cast(pl.String) for name in odd if name not in nested))


def combine(name: str, columns: Sequence[str], rows: U64) -> str:
    """The hash of a table from the hashes of its rows. Sorts ``rows`` in place."""
    rows.sort()
    digest = hashlib.blake2b(digest_size=32)
    digest.update("\x1f".join(["table", name, str(rows.size), *sorted(columns)]).encode())
    digest.update(rows.astype("<u8", copy=False).data)
    return digest.hexdigest()


def table_hash(name: str, frame: pl.DataFrame) -> str:
    """The hash of a table in memory."""
    columns = [column for column in plain_frame(frame) if column.null_count() < frame.height]
    rows = row_hashes((cells_of(c, bits_of(c)) for c in columns), frame.height if columns else 0)
    return combine(name, [column.name for column in columns], rows)
