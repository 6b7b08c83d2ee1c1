"""Named random streams: every source of chance is derived from a seed and a name.

Nothing in heartfelt draws from a global generator. Two streams of one seed with different names are
independent; the same seed and name give the same numbers on every machine. A stream's name is a path,
so that adding a new user of chance never shifts the numbers of an old one.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Return the generator called ``name`` of ``seed``, always from its beginning."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(_entropy(seed, name))))


def derived_seed(seed: int, *name: str | int) -> int:
    """Return a 63-bit seed for parts that want a plain integer."""
    return _entropy(seed, name) & ((1 << 63) - 1)


def _entropy(seed: int, name: tuple[str | int, ...]) -> int:
    text = "\x1f".join(["heartfelt", str(int(seed)), *(f"{type(part).__name__}:{part}" for part in name)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
