"""Readers of the files other people's weights come in. They read numbers; none of them runs code.

TensorFlow checkpoints (the V2 "bundle") are an index, which is a sorted table of entries, and a file of raw numbers. HDF5 files are
read in their oldest layout, in which Keras 2 wrote weights: groups are trees of names, data sets lie in one piece. PyTorch files
are read in both layouts, the zip archive and the older run of pickles followed by raw storages; the unpickler knows tensors,
storages and dictionaries and refuses anything else. Support vectors are read from LIBSVM's text.

Source: the table format of LevelDB (``doc/table_format.md``) and TensorFlow's ``tensor_bundle.proto``; the HDF5 File Format
Specification 1.1 (The HDF Group); ``torch/serialization.py`` of PyTorch 2.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]

_TABLE_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TORCH_MAGIC = 0x1950A86A20F9469CFC6C
_TENSORFLOW_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}
_TORCH_STORAGES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


@contextmanager
def _reading(kind: str) -> Iterator[None]:
    try:
        yield
    except (
        *(struct.error, pickle.UnpicklingError, zipfile.BadZipFile, EOFError),
        *(LookupError, ValueError, TypeError, AttributeError),
    ) as error:
        reason = str(error) or type(error).__name__
        raise DamagedError(f"The {kind} cannot be read: {reason}.", "Pull the model again.") from error


def read_checkpoint(index: bytes, data: bytes) -> Tensors:
    """Every tensor of a TensorFlow checkpoint in one shard, by its variable's name."""
    with _reading("TensorFlow checkpoint"):
        if len(index) < _FOOTER or struct.unpack("<Q", index[-8:])[0] != _TABLE_MAGIC:
            raise ValueError("its index is not a table")
        # The footer holds two handles: that of the meta index, which is passed over, and that of the index.
        _, _, offset, size, *_ = _varints(index[-_FOOTER:], 4)
        return {
            key.decode("utf-8"): _tensor(value, data)
            for _, handle in _block(index, offset, size)
            for key, value in _block(index, *_varints(handle, 2)[:2])
            if key  # the empty key holds the header
        }


def _varints(content: bytes, count: int, at: int = 0) -> list[int]:
    """The next numbers of seven bits a byte, and the place after them."""
    out = []
    for _ in range(count):
        value = shift = 0
        while content[at] >= 0x80:
            value |= (content[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
        out.append(value | content[at] << shift)
        at += 1
    return [*out, at]


def _block(index: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a block of the table; each key shares its beginning with the one before."""
    if index[offset + size] != 0:
        raise ValueError("its index is compressed")
    block = index[offset : offset + size]
    restarts = struct.unpack("<I", block[-4:])[0]
    end = len(block) - 4 * (restarts + 1)
    at, key = 0, b""
    while at < end:
        shared, fresh, length, at = _varints(block, 3, at)
        key = key[:shared] + block[at : at + fresh]
        at += fresh
        yield key, block[at : at + length]
        at += length


def _tensor(entry: bytes, data: bytes) -> npt.NDArray[Any]:
    fields = _message(entry)
    kind, shard, offset, size = (fields.get(number, [0])[0] for number in (1, 3, 4, 5))
    dimensions = [_message(part) for shape in fields.get(2, []) for part in _message(shape).get(2, [])]
    if shard:
        raise ValueError("it is spread over several files")
    if kind not in _TENSORFLOW_TYPES:
        raise ValueError(f"it holds numbers of kind {kind}")
    if offset + size > len(data):
        raise ValueError("its data end before its index says")
    values = np.frombuffer(data[offset : offset + size], dtype=_TENSORFLOW_TYPES[kind])
    return values.reshape([part.get(1, [0])[0] for part in dimensions])


def _message(content: bytes) -> dict[int, list[Any]]:
    """The fields of a protocol buffer message by their numbers: integers, and bytes for what is nested."""
    fields: dict[int, list[Any]] = {}
    at = 0
    while at < len(content):
        tag, at = _varints(content, 1, at)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == 0:
            value, at = _varints(content, 1, at)
        elif wire == 2:
            size, at = _varints(content, 1, at)
            value, at = content[at : at + size], at + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = int.from_bytes(content[at : at + size], "little"), at + size
        else:
            raise ValueError(f"wire type {wire} is not used there")
        fields.setdefault(number, []).append(value)
    return fields


def read_safetensors(content: bytes) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    with _reading("safetensors file"):
        try:
            return dict(load(content))
        except SafetensorError as error:
            raise ValueError(str(error)) from error


def read_lists(content: bytes) -> Tensors:
    """Lists of numbers by name, from a pickled dictionary that holds nothing else."""
    with _reading("pickle"):
        saved = _Reader(io.BytesIO(content)).load()
        return {str(name): np.array(values, dtype=np.float64) for name, values in saved.items()}


def read_support_vectors(content: bytes) -> tuple[dict[str, float], npt.NDArray[np.float64]]:
    """The numbers in the head of a LIBSVM model, and a row per support vector: its weight, then its components."""
    with _reading("LIBSVM model"):
        head, _, body = content.decode("ascii").partition("\nSV\n")
        facts = dict(line.split(" ", 1) for line in head.splitlines())
        if (facts["svm_type"], facts["kernel_type"]) != ("epsilon_svr", "rbf"):
            raise ValueError("it is no support vector regression with Gaussian kernels")
        rows = [line.split() for line in body.splitlines() if line.strip()]
        if len(rows) != int(facts["total_sv"]):
            raise ValueError(f"it holds {len(rows)} support vectors where {facts['total_sv']} were announced")
        pairs = [[part.split(":") for part in row[1:]] for row in rows]
        table = np.zeros((len(rows), 1 + max(int(at) for row in pairs for at, _ in row)))
        for line, row, parts in zip(table, rows, pairs, strict=True):
            line[0] = float(row[0])
            line[[int(at) for at, _ in parts]] = [float(number) for _, number in parts]
        return {name: float(facts[name]) for name in ("gamma", "rho")}, table


def read_hdf5(content: bytes) -> Tensors:
    with _reading("HDF5 file"):
        if content[:9] != b"\x89HDF\r\n\x1a\n\0" or content[13:15] != b"\x08\x08":
            raise ValueError("it is not in the layout of version 0")
        return dict(_hdf5_objects(content, "", struct.unpack_from("<Q", content, 64)[0]))


def _hdf5_objects(content: bytes, path: str, header: int) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """The data sets at and below the object whose header is at this place."""
    messages = dict(_hdf5_messages(content, header))
    if 0x11 in messages:
        tree, heap = struct.unpack_from("<QQ", content, messages[0x11])
        (names,) = struct.unpack_from("<Q", content, heap + 24)
        for name, offset in _hdf5_links(content, tree):
            start = names + name
            word = content[start : content.index(b"\0", start)].decode("utf-8")
            yield from _hdf5_objects(content, f"{path}/{word}" if path else word, offset)
    elif 0x08 in messages:
        rank = content[messages[0x01] + 1]
        shape = struct.unpack_from(f"<{rank}Q", content, messages[0x01] + 8)
        kind, order = content[messages[0x03]], content[messages[0x03] + 1] & 1
        version, layout, offset, size = struct.unpack_from("<BBQQ", content, messages[0x08])
        if (kind & 0x0F, order, version, layout) != (1, 0, 3, 1):
            raise ValueError(f"'{path}' is not a piece of little-endian floats")
        if offset + size > len(content) or size != 4 * int(np.prod(shape)):
            raise ValueError(f"'{path}' reaches beyond its numbers")
        yield path, np.frombuffer(content[offset : offset + size], dtype="<f4").reshape(shape)


def _hdf5_messages(content: bytes, header: int) -> Iterator[tuple[int, int]]:
    """The kinds of an object header's messages, with the places of what they hold."""
    version, _, count, _, size = struct.unpack_from("<BBHII", content, header)
    if version != 1:
        raise ValueError(f"it has headers of version {version}")
    blocks = [(header + 16, size)]
    while blocks and count:
        at, size = blocks.pop(0)
        end = at + size
        while at + 8 <= end and count:
            kind, length = struct.unpack_from("<HH", content, at)
            if kind == 0x10:
                blocks.append(struct.unpack_from("<QQ", content, at + 8))
            yield kind, at + 8
            at, count = at + 8 + length, count - 1


def _hdf5_links(content: bytes, tree: int) -> Iterator[tuple[int, int]]:
    """The entries of a group: the place of the name in its heap, and of the object's header."""
    if content[tree : tree + 4] == b"SNOD":
        (count,) = struct.unpack_from("<H", content, tree + 6)
        for number in range(count):
            yield struct.unpack_from("<QQ", content, tree + 8 + 40 * number)
        return
    if content[tree : tree + 4] != b"TREE":
        raise ValueError("a group's tree is missing")
    (count,) = struct.unpack_from("<H", content, tree + 6)
    for number in range(count):
        yield from _hdf5_links(content, struct.unpack_from("<Q", content, tree + 32 + 16 * number)[0])


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
    with _reading("PyTorch file"):
        return dict(_named("", _zipped(content) if content[:2] == b"PK" else _legacy(content)))


def _zipped(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        [pickled] = [name for name in file.namelist() if name.endswith("/data.pkl")]
        reader = _Reader(io.BytesIO(file.read(pickled)))
        saved = reader.load()
        for storage in reader.storages.values():
            raw = file.read(f"{pickled.removesuffix('data.pkl')}data/{storage.key}")
            storage.values = np.frombuffer(raw, dtype=storage.kind, count=storage.count)
    return saved


def _legacy(content: bytes) -> Any:
    stream = io.BytesIO(content)
    if _Reader(stream).load() != _TORCH_MAGIC:
        raise ValueError("it does not begin as one")
    for _ in range(2):  # the protocol's version and the writing machine's sizes
        _Reader(stream).load()
    reader = _Reader(stream)
    saved = reader.load()
    for key in _Reader(stream).load():
        storage = reader.storages[str(key)]
        (count,) = struct.unpack("<q", stream.read(8))
        if count != storage.count:
            raise ValueError(f"a storage holds {count} numbers where {storage.count} were announced")
        raw = stream.read(count * storage.kind.itemsize)
        storage.values = np.frombuffer(raw, dtype=storage.kind, count=count)
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
        raise ValueError("a tensor's numbers are missing")
    steps = zip(tensor.shape, tensor.stride, strict=True)
    last = tensor.offset + sum((size - 1) * step for size, step in steps)
    if min(tensor.stride, default=0) < 0 or tensor.offset < 0 or last >= max(values.size, 1):
        raise ValueError("a tensor reaches beyond its numbers")
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
        if module == "torch" and name in _TORCH_STORAGES:
            return _TORCH_STORAGES[name]
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is no tensor")

    def persistent_load(self, pid: Any) -> _Storage:
        word, kind, key, _, count = pid[:5]
        if word != "storage" or not isinstance(kind, np.dtype):
            raise pickle.UnpicklingError("it holds something that is no storage")
        return self.storages.setdefault(str(key), _Storage(kind, str(key), int(count)))


def _rebuilt(storage: _Storage, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(stride))
