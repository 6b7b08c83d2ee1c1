"""Safetensors: a length, a JSON header with type, shape and place of each tensor, and the numbers.

Source: the format's description at https://github.com/huggingface/safetensors.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import DamagedError

_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
}


def read_safetensors(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Every tensor of the file, by name."""
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        start = 8 + length
        out: dict[str, npt.NDArray[Any]] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            low, high = entry["data_offsets"]
            kind = _TYPES[entry["dtype"]]
            out[name] = np.frombuffer(content[start + low : start + high], dtype=kind).reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"The safetensors file cannot be read: {error}.", "Pull the model again."
        ) from error
    return out
