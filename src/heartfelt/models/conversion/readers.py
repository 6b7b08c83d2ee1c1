"""Readers of the files other people's weights come in. They read numbers; none of them runs code.

TensorFlow checkpoints (the V2 "bundle") are an index, which is a sorted table of entries, and a file of raw numbers. Safetensors
files are a length, a JSON header with type, shape and place of each tensor, and the numbers. PyTorch files are read in
both layouts, the zip archive of today and the older run of pickles followed by raw storages; the unpickler knows tensors,
storages and dictionaries and refuses anything else.

Source: the table format of LevelDB (``doc/table_format.md``) and TensorFlow's ``tensor_bundle.proto``; the format's description
at https://github.com/huggingface/safetensors; ``torch/serialization.py`` of PyTorch 2.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]

_TABLE_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TENSORFLOW_TYPES: dict[int, np.dtype[Any]] = {
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    3: np.dtype("<i4"),
    9: np.dtype("<i8"),
}
_SAFETENSORS_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
}
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


def _damaged(why: str, kind: str = "TensorFlow checkpoint") -> DamagedError:
    return DamagedError(f"The {kind} cannot be read: {why}.", "Pull the model again.")


def read_checkpoint(index: bytes, data: bytes) -> Tensors:
    """Every tensor of a checkpoint in one shard, by its variable's name."""
    try:
        return dict(_tensors(index, data))
    except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
        raise _damaged(str(error)) from error


def _tensors(index: bytes, data: bytes) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    if len(index) < _FOOTER or struct.unpack("<Q", index[-8:])[0] != _TABLE_MAGIC:
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
    if kind not in _TENSORFLOW_TYPES:
        raise _damaged(f"it holds numbers of kind {kind}")
    if offset + size > len(data):
        raise _damaged("its data end before its index says")
    return np.frombuffer(data[offset : offset + size], dtype=_TENSORFLOW_TYPES[kind]).reshape(shape)


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


def read_safetensors(content: bytes) -> Tensors:
    """Every tensor of the file, by name."""
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        start = 8 + length
        out: Tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            low, high = entry["data_offsets"]
            kind = _SAFETENSORS_TYPES[entry["dtype"]]
            out[name] = np.frombuffer(content[start + low : start + high], dtype=kind).reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(str(error), "safetensors file") from error
    return out


@dataclass(slots=True)
class _Storage:
    kind: np.dtype[Any]
    key: str
    count: int
    values: npt.NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()


def read_torch(content: bytes) -> Tensors:
    """Every tensor of a saved dictionary; the names of nested dictionaries are joined by dots."""
    try:
        saved = _zipped(content) if content[:2] == b"PK" else _legacy(content)
        return dict(_named("", saved))
    except (
        pickle.UnpicklingError,
        zipfile.BadZipFile,
        struct.error,
        EOFError,
        KeyError,
        ValueError,
        TypeError,
    ) as error:
        raise _torch_damaged(str(error) or type(error).__name__) from error


def _zipped(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        pickled = next(name for name in file.namelist() if name.endswith("/data.pkl"))
        reader = _Reader(io.BytesIO(file.read(pickled)))
        saved = reader.load()
        for storage in reader.storages.values():
            raw = file.read(f"{pickled.removesuffix('data.pkl')}data/{storage.key}")
            storage.values = np.frombuffer(raw, dtype=storage.kind, count=storage.count)
    return saved


def _legacy(content: bytes) -> Any:
    stream = io.BytesIO(content)
    if _Reader(stream).load() != _TORCH_MAGIC:
        raise _torch_damaged("it does not begin as one")
    for _ in range(2):  # the protocol's version and the writing machine's sizes
        _Reader(stream).load()
    reader = _Reader(stream)
    saved = reader.load()
    for key in _Reader(stream).load():
        storage = reader.storages[str(key)]
        (count,) = struct.unpack("<q", stream.read(8))
        if count != storage.count:
            raise _torch_damaged(f"a storage holds {count} numbers where {storage.count} were announced")
        storage.values = np.frombuffer(
            stream.read(count * storage.kind.itemsize), dtype=storage.kind, count=count
        )
    return saved


def _named(prefix: str, value: Any) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    if isinstance(value, _Tensor):
        yield prefix, _resolved(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _named(f"{prefix}.{name}" if prefix else str(name), inner)


def _resolved(tensor: _Tensor) -> npt.NDArray[Any]:
    values = tensor.storage.values
    if values is None:
        raise _torch_damaged("a tensor's numbers are missing")
    steps = zip(tensor.shape, tensor.stride, strict=True)
    last = tensor.offset + sum((size - 1) * step for size, step in steps)
    if min(tensor.stride, default=0) < 0 or tensor.offset < 0 or last >= max(values.size, 1):
        raise _torch_damaged("a tensor reaches beyond its numbers")
    strides = tuple(step * values.itemsize for step in tensor.stride)
    view = np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, strides, writeable=False)
    return np.ascontiguousarray(view).reshape(tensor.shape)


class _Reader(pickle.Unpickler):
    """An unpickler that makes tensors and plain containers, and nothing else."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, encoding="utf-8")
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuilt
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is no tensor")

    def persistent_load(self, pid: Any) -> _Storage:
        word, kind, key, _, count = pid[:5]
        if word != "storage" or not isinstance(kind, np.dtype):
            raise pickle.UnpicklingError("it holds something that is no storage")
        return self.storages.setdefault(str(key), _Storage(kind, str(key), int(count)))


def _rebuilt(
    storage: _Storage, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any
) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(stride))


def _torch_damaged(why: str) -> DamagedError:
    return _damaged(why, "PyTorch file")
