"""PyTorch files, read without PyTorch and without running what a pickle may hold.

Both layouts are known: the zip archive of today and the older run of pickles followed by raw storages. The unpickler
knows tensors, storages and dictionaries; anything else is refused.

Source: ``torch/serialization.py`` of PyTorch 2.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError

_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


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
    stride: tuple[int, ...] = field(default=())


def read_torch(content: bytes) -> dict[str, npt.NDArray[Any]]:
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
        raise _damaged(str(error) or type(error).__name__) from error


def _damaged(why: str) -> DamagedError:
    return DamagedError(f"The PyTorch file cannot be read: {why}.", "Pull the model again.")


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
    if _Reader(stream).load() != _MAGIC:
        raise _damaged("it does not begin as one")
    for _ in range(2):  # the protocol's version and the writing machine's sizes
        _Reader(stream).load()
    reader = _Reader(stream)
    saved = reader.load()
    for key in _Reader(stream).load():
        storage = reader.storages[str(key)]
        (count,) = struct.unpack("<q", stream.read(8))
        if count != storage.count:
            raise _damaged(f"a storage holds {count} numbers where {storage.count} were announced")
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
        raise _damaged("a tensor's numbers are missing")
    steps = zip(tensor.shape, tensor.stride, strict=True)
    last = tensor.offset + sum((size - 1) * step for size, step in steps)
    if min(tensor.stride, default=0) < 0 or tensor.offset < 0 or last >= max(values.size, 1):
        raise _damaged("a tensor reaches beyond its numbers")
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
