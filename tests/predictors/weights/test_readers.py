"""Files of weights read without the libraries that wrote them, and nothing in them run."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts.weights.readers import (
    read_checkpoint,
    read_hdf5,
    read_lists,
    read_safetensors,
    read_support_vectors,
    read_torch,
)

from heartfelt.errors import DamagedError

pytestmark = pytest.mark.slow  # they load libraries that take seconds


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """A table block whose keys share what they can with the one before."""
    out, last = b"", b""
    for key, value in entries:
        shared = next((i for i, (a, b) in enumerate(zip(last, key, strict=False)) if a != b), min(len(last), len(key)))
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return out + struct.pack("<II", 0, 1)


def checkpoint(tensors: dict[str, Any], compression: bytes = b"\0") -> tuple[bytes, bytes]:
    """A checkpoint written by the table format's description."""
    data, entries = b"", [(b"", b"\x08\x01")]
    for name, array in sorted(tensors.items()):
        sizes = [b"\x08" + varint(size) for size in array.shape]
        shape = b"".join(b"\x12" + varint(len(size)) + size for size in sizes)
        entry = b"\x08" + varint({"f4": 1, "i8": 9}[array.dtype.str[1:]])
        entry += b"\x12" + varint(len(shape)) + shape
        entry += b"\x20" + varint(len(data)) + b"\x28" + varint(array.nbytes) + b"\x35" + b"\0\0\0\0"
        entries.append((name.encode(), entry))
        data += array.tobytes()
    tail = compression + bytes(4)
    first = block(entries)
    index = first + tail
    handle = varint(0) + varint(len(first))
    top = block([(b"zzz", handle)])
    place = varint(len(index)) + varint(len(top))
    index += top + tail
    footer = (varint(0) + varint(0) + place).ljust(40, b"\0")
    return index + footer + struct.pack("<Q", 0xDB4775248B80FB57), data


def test_a_checkpoint_is_read() -> None:
    tensors = {
        "conv2d/kernel": np.arange(24, dtype="<f4").reshape(2, 3, 4),
        "conv2d/bias": np.array([1.5, -2.0], dtype="<f4"),
        "step": np.array(300, dtype="<i8"),
    }
    result = read_checkpoint(*checkpoint(tensors))
    assert set(result) == set(tensors)
    for name, array in tensors.items():
        np.testing.assert_array_equal(result[name], array)
        assert result[name].shape == array.shape


@pytest.mark.parametrize("harm", ["no footer", "short data", "compressed", "empty"])
def test_a_damaged_checkpoint_is_refused(harm: str) -> None:
    index, data = checkpoint({"a": np.zeros(8, dtype="<f4")})
    if harm == "no footer":
        index = index[:-1]
    elif harm == "short data":
        data = data[:-1]
    elif harm == "empty":
        index = b""
    else:
        index, data = checkpoint({"a": np.zeros(8, dtype="<f4")}, compression=b"\x01")
    with pytest.raises(DamagedError, match="cannot be read"):
        read_checkpoint(index, data)


@pytest.mark.parametrize("zipped", [True, False])
def test_pytorch_files_are_read(zipped: bool) -> None:
    torch = pytest.importorskip("torch")
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    saved = {
        "whole": base,
        "turned": base.T,
        "part": base[1:3, ::2],
        "half": torch.tensor([0.5, 1.5], dtype=torch.float16),
        "count": torch.tensor(7),
        "inner": OrderedDict(weight=torch.ones(2, 2, dtype=torch.float64)),
        "step": 12,
    }
    memory = io.BytesIO()
    torch.save(saved, memory, _use_new_zipfile_serialization=zipped)
    result = read_torch(memory.getvalue())
    assert set(result) == {"whole", "turned", "part", "half", "count", "inner.weight"}
    for name in ("whole", "turned", "part", "half", "count"):
        expected = saved[name].numpy()
        np.testing.assert_array_equal(result[name], expected)
        assert result[name].shape == expected.shape
    np.testing.assert_array_equal(result["inner.weight"], np.ones((2, 2)))


class Harmful:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_code_in_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    sign = tmp_path / "ran"
    harmful = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    harmful += pickle.dumps({"weight": Harmful(sign)}, 2)
    with pytest.raises(DamagedError, match="which is no tensor"):
        read_torch(harmful)
    assert not sign.exists()


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_cut_pytorch_file_is_refused(zipped: bool, share: float) -> None:
    torch = pytest.importorskip("torch")
    memory = io.BytesIO()
    torch.save({"a": torch.zeros(4000)}, memory, _use_new_zipfile_serialization=zipped)
    content = memory.getvalue()
    with pytest.raises(DamagedError, match="cannot be read"):
        read_torch(content[: int(share * len(content))])


def test_safetensors_are_read() -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]},
    }
    text = json.dumps(header).encode()
    body = np.array([1, 2, 3, 4], dtype="<f4").tobytes() + np.array([9], dtype="<i8").tobytes()
    content = struct.pack("<Q", len(text)) + text + body
    result = read_safetensors(content)
    np.testing.assert_array_equal(result["a"], [[1, 2], [3, 4]])
    np.testing.assert_array_equal(result["b"], [9])
    for cut in (0, 4, 20, len(content) - 1):
        with pytest.raises(DamagedError, match="cannot be read"):
            read_safetensors(content[:cut])


def hdf5(name: str, array: np.ndarray[Any, np.dtype[Any]], kind: int = 0x11, layout: int = 1) -> bytes:
    """A file with one group that holds one data set, written by the specification; every object header is split in two."""
    out = bytearray(b"\x89HDF\r\n\x1a\n" + bytes(5) + b"\x08\x08\0" + bytes(80))

    def put(content: bytes) -> int:
        out.extend(content)
        return len(out) - len(content)

    def header(messages: list[tuple[int, bytes]]) -> int:
        blocks = [struct.pack("<HHI", number, len(data), 0) + data for number, data in messages]
        rest = put(b"".join(blocks[1:]))
        more = struct.pack("<HHIQQ", 0x10, 16, 0, rest, len(out) - rest)
        first = blocks[0] + more
        return put(struct.pack("<BBHIII", 1, 0, len(messages) + 1, 1, len(first), 0) + first)

    def group(entries: list[tuple[str, int]]) -> int:
        words = put(b"\0" * 8 + b"".join(word.encode() + b"\0" for word, _ in entries))
        heap = put(b"HEAP" + bytes(4) + struct.pack("<QQQ", 64, 0, words))
        node, place = b"SNOD\x01\0" + struct.pack("<H", len(entries)), 8
        for word, at in entries:
            node += struct.pack("<QQ", place, at) + bytes(24)
            place += len(word) + 1
        tree = put(b"TREE\0\0" + struct.pack("<HQQQQQ", 1, 0, 0, 0, put(node), 0))
        return header([(0, bytes(8)), (0x11, struct.pack("<QQ", tree, heap))])

    place = put(array.tobytes())
    shape = struct.pack(f"<BB6x{array.ndim}Q", 1, array.ndim, *array.shape)
    data = header(
        [
            (1, shape),
            (3, bytes([kind, 0x20, 0x1F, 0]) + struct.pack("<I", 4)),
            (8, struct.pack("<BBQQ", 3, layout, place, array.nbytes)),
        ]
    )
    root = group([("inner", group([(name, data)]))])
    struct.pack_into("<Q", out, 64, root)
    return bytes(out)


def test_an_hdf5_file_of_weights() -> None:
    array = np.arange(24, dtype="<f4").reshape(2, 3, 4)
    result = read_hdf5(hdf5("kernel:0", array))
    assert list(result) == ["inner/kernel:0"]
    np.testing.assert_array_equal(result["inner/kernel:0"], array)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "version 0"),
        (b"\x89HDF\r\n\x1a\n\x02" + bytes(100), "version 0"),
        (hdf5("k", np.zeros(3, "<f4"), kind=0x10), "not a piece of little-endian floats"),
        (hdf5("k", np.zeros(3, "<f4"), layout=2), "not a piece of little-endian floats"),
        (hdf5("k", np.zeros(3, "<f8")), "reaches beyond"),
        (hdf5("k", np.zeros(300, "<f4"))[:-200], "cannot be read"),
    ],
)
def test_other_hdf5_files_are_refused(content: bytes, why: str) -> None:
    with pytest.raises(DamagedError, match=why):
        read_hdf5(content)


SUPPORT = b"""svm_type epsilon_svr
kernel_type rbf
gamma 0.05
total_sv 2
rho -1.5
SV
-2 1:0.5 3:0.25
1e1 2:-1
"""


def test_support_vectors_are_read_with_gaps_as_zero() -> None:
    facts, table = read_support_vectors(SUPPORT)
    assert facts == {"gamma": 0.05, "rho": -1.5}
    assert table.tolist() == [[-2, 0.5, 0, 0.25], [10, 0, -1, 0]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (SUPPORT.replace(b"rbf", b"linear"), "Gaussian kernels"),
        (SUPPORT.replace(b"total_sv 2", b"total_sv 3"), "2 support vectors where 3"),
        (SUPPORT.replace(b"rho -1.5\n", b""), "rho"),
        (SUPPORT.replace(b"3:0.25", b"3:x"), "could not convert"),
        (b"", "cannot be read"),
    ],
)
def test_other_support_vectors_are_refused(content: bytes, why: str) -> None:
    with pytest.raises(DamagedError, match=why):
        read_support_vectors(content)


def test_lists_are_read_from_a_pickle_that_holds_nothing_else() -> None:
    lists = {"low": [0.5, 1.0], "high": [2.0]}
    assert {name: values.tolist() for name, values in read_lists(pickle.dumps(lists)).items()} == lists
    for content in (pickle.dumps({"low": Path("x")}), pickle.dumps([1.0]), pickle.dumps({"low": "text"}), b"\x80"):
        with pytest.raises(DamagedError):
            read_lists(content)
