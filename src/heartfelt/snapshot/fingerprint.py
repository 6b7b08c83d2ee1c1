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

import numpy as np
import numpy.typing as npt
import polars as pl

U64 = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_FEW_BYTES = 64
"""Bytes up to which a text is hashed word by word, all rows together; longer ones are hashed as one list of words."""
_SAMPLE = 10_000
_OFTEN = 0.9
"""Longer texts are hashed once each where fewer than this share of a sample of rows differ."""
_ROWS = 1 << 16
"""Rows hashed at a time: their words fit a processor's cache, and their texts the 4 GiB of a single one."""
_ZEROS = pl.Series(["\0" * _FEW_BYTES])
_NOTHING = np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = np.arange(1, _FEW_BYTES // 8 + 1, dtype=np.uint64) * _GOLDEN
_MASKS = np.array(
    [
        [2 ** (8 * min(max(length - 8 * word, 0), 8)) - 1 for length in range(_FEW_BYTES + 1)]
        for word in range(_FEW_BYTES // 8)
    ],
    dtype=np.uint64,
)
"""By the place of a word and the length of its text: ones at the bytes of the word that belong to the text."""
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


def text_bits(texts: pl.Series) -> U64:
    """64 bits for every text of a column, from its UTF-8 bytes and their places; arbitrary where a cell is empty."""
    sizes = texts.str.len_bytes()
    lengths = (sizes.fill_null(0) if sizes.null_count() else sizes).to_numpy().astype(np.int64)
    if lengths.max(initial=0) > _FEW_BYTES:
        sample = texts.gather_every(max(1, len(texts) // _SAMPLE))
        if sample.n_unique() < _OFTEN * len(sample):
            distinct = texts.drop_nulls().unique()
            bits = texts.replace_strict(distinct, text_bits(distinct)).fill_null(0)
            return bits.to_numpy().astype(np.uint64, copy=False)
    slices = (_slice_bits(texts.slice(at, _ROWS), lengths[at : at + _ROWS]) for at in range(0, len(texts), _ROWS))
    return np.concatenate([np.zeros(0, dtype=np.uint64), *slices])


def _slice_bits(texts: pl.Series, lengths: Ints) -> U64:
    """The bits of some texts: those of their words of eight bytes, added up, and of the length."""
    raw = pl.concat([texts, _ZEROS]).str.join("").cast(pl.Binary).item()
    # The eight bytes from every byte on, not from every eighth.
    words = np.ndarray(len(raw) - 7, dtype="<u8", buffer=raw, strides=(1,))
    starts = np.cumsum(lengths) - lengths
    shortest, longest = int(lengths.min()), int(lengths.max())
    if longest > _FEW_BYTES:
        return _many_word_bits(words, starts, lengths)
    total = lengths.astype(np.uint64)
    for before, step, masks in zip(range(0, longest, 8), _STEPS, _MASKS, strict=False):
        word = words[before::longest][: lengths.size] if shortest == longest else words[starts + before]
        if shortest < before + 8:
            word = word & masks.take(lengths)
        bits = mixed(word.astype(np.uint64, copy=False) + step)
        total += np.where(lengths > before, bits, _NOTHING) if shortest <= before else bits
    return mixed(total)


def _many_word_bits(words: U64, starts: Ints, lengths: Ints) -> U64:
    """The same for texts of any length, from one list of all their words."""
    counts = -(-lengths // 8)
    ends = np.cumsum(counts)
    begins = ends - counts
    position = np.arange(ends[-1]) - np.repeat(begins, counts)
    remaining = np.minimum(np.repeat(lengths, counts) - 8 * position, 8)
    word = (words[np.repeat(starts, counts) + 8 * position] & _MASKS[0][remaining]).astype(np.uint64, copy=False)
    sums = np.zeros(word.size + 1, dtype=np.uint64)
    np.cumsum(mixed(word + (position + 1).astype(np.uint64) * _GOLDEN), out=sums[1:])
    return mixed(sums[ends] - sums[begins] + lengths.astype(np.uint64))


def number_bits(numbers: pl.Series) -> U64:
    """The IEEE bits of a column of numbers, or the microseconds of moments; arbitrary where a cell is empty."""
    if isinstance(numbers.dtype, pl.Datetime):
        return numbers.dt.cast_time_unit("us").to_physical().fill_null(0).to_numpy().view(np.uint64)
    canonical = numbers.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0  # -0.0 becomes 0.0
    canonical[np.isnan(canonical)] = np.nan
    return canonical.view(np.uint64)


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
