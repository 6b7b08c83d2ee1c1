"""TensorFlow checkpoints (the V2 "bundle"): an index, which is a sorted table of entries, and a file of raw numbers.

Source: the table format of LevelDB (``doc/table_format.md``) and TensorFlow's ``tensor_bundle.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    3: np.dtype("<i4"),
    9: np.dtype("<i8"),
}

Tensors = dict[str, npt.NDArray[Any]]


def read_checkpoint(index: bytes, data: bytes) -> Tensors:
    """Every tensor of a checkpoint in one shard, by its variable's name."""
    try:
        return dict(_tensors(index, data))
    except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
        raise _damaged(str(error)) from error


def _damaged(why: str) -> DamagedError:
    return DamagedError(f"The TensorFlow checkpoint cannot be read: {why}.", "Pull the model again.")


def _tensors(index: bytes, data: bytes) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    if len(index) < _FOOTER or struct.unpack("<Q", index[-8:])[0] != _MAGIC:
        raise _damaged("its index is not a table")
    footer = index[-_FOOTER:]
    at = 0
    for _ in range(2):  # the meta index, which is passed over
        _, at = _varint(footer, at)
    offset, at = _varint(footer, at)
    size, _ = _varint(footer, at)
    for _, handle in _block(index, offset, size):
        where, after = _varint(handle, 0)
        length, _ = _varint(handle, after)
        for key, value in _block(index, where, length):
            if key:  # the empty key holds the header
                yield key.decode("utf-8"), _tensor(value, data)


def _block(index: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    if index[offset + size] != 0:
        raise _damaged("its index is compressed")
    block = index[offset : offset + size]
    restarts = struct.unpack("<I", block[-4:])[0]
    end = len(block) - 4 * (restarts + 1)
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        fresh, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + length]
        at += length


def _tensor(entry: bytes, data: bytes) -> npt.NDArray[Any]:
    kind = offset = size = 0
    shape: tuple[int, ...] = ()
    for field, value in _fields(entry):
        if field == 1:
            kind = _whole(value)
        elif field == 2:
            shape = tuple(_dimension(dim) for f, dim in _fields(_bytes(value)) if f == 2)
        elif field == 3 and value:
            raise _damaged("it is spread over several files")
        elif field == 4:
            offset = _whole(value)
        elif field == 5:
            size = _whole(value)
    if kind not in _TYPES:
        raise _damaged(f"it holds numbers of kind {kind}")
    if offset + size > len(data):
        raise _damaged("its data end before its index says")
    return np.frombuffer(data[offset : offset + size], dtype=_TYPES[kind]).reshape(shape)


def _dimension(value: int | bytes) -> int:
    return next((_whole(size) for field, size in _fields(_bytes(value)) if field == 1), 0)


def _whole(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise _damaged("a number was expected where there is text")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _damaged("a message was expected where there is a number")
    return value


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer message, without its description."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield field, value
        elif wire == 2:
            size, at = _varint(message, at)
            yield field, message[at : at + size]
            at += size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            yield field, int.from_bytes(message[at : at + size], "little")
            at += size
        else:
            raise _damaged(f"wire type {wire} is not used there")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
