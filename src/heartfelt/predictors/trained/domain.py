"""The domain of a model: how far a stimulus lies from those it was trained on, and from where on that is too far.

Two measures. *Distance*: in every block of the embedding, through its leading components brought to equal spread, the mean distance
to the five nearest training stimuli, divided by what is typical of stimuli from systems that were left out; the logarithms are
averaged over the blocks, so that 0 is an ordinary new stimulus. *Outside*: the share of columns beyond the range of all training
stimuli, averaged over the blocks. Beyond the 98% quantile of either among left-out stimuli, a stimulus is foreign: nothing is
known about the errors made there, and its interval is the whole scale. Speech is far; steady noise is not far but outside.

Sources: Papadopoulos, Vovk and Gammerman (2011) for conformal intervals normalised by a difficulty; Sun et al. (2022),
*Out-of-distribution detection with deep nearest neighbors*.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.sound_features import product

Floats: TypeAlias = npt.NDArray[np.float64]

COMPONENTS = 24
NEIGHBOURS = 5
QUANTILE = 0.98
_FAR = 30.0
"""Standard deviations a column is cut off at: one wild column must not decide alone."""
_ARRAYS = ("mean", "scale", "low", "high", "basis", "centres")


@dataclass(frozen=True, slots=True)
class DomainDistance:
    """Where a stimulus lies."""

    distance: float = 0.0
    """0 for an ordinary stimulus of a new system, in units of a logarithm."""
    outside: float = 0.0
    foreign: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Domain:
    """The training stimuli as a model remembers them; calibrated by :meth:`calibrated`."""

    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict, metadata={"skip": True})
    blocks: tuple[int, ...] = ()
    """The columns of each block."""
    typical: tuple[float, ...] = ()
    """The typical distance in each block."""
    distance_limit: float = float("inf")
    outside_limit: float = float("inf")

    @classmethod
    def of(cls, rows: npt.NDArray[np.float32], blocks: Sequence[int]) -> Domain:
        """Remember the training stimuli."""
        mean, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        useful = spread > 1e-5 * np.maximum(np.abs(mean), 1.0)
        scale = np.where(useful, 1.0 / np.where(useful, spread, 1.0), 0.0)
        z = ((rows - mean) * scale).astype(np.float32)
        basis = np.zeros((rows.shape[1], COMPONENTS), np.float32)
        for part in _slices(blocks):
            components = _components(z[:, part])
            basis[part, : components.shape[1]] = components
        centres = np.concatenate([z[:, part] @ basis[part] for part in _slices(blocks)], axis=1)
        # Single precision for the edges: the rows that made them must not fall outside.
        arrays: dict[str, npt.NDArray[Any]] = {
            "mean": mean.astype(np.float32),
            "scale": scale.astype(np.float32),
            "low": rows.min(axis=0).astype(np.float32),
            "high": rows.max(axis=0).astype(np.float32),
            "basis": basis.astype(np.float16),
            "centres": centres.astype(np.float16),
        }
        return cls(arrays=arrays, blocks=tuple(blocks))

    def parts(self, rows: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """The distance in each block and the share of columns outside, for each row."""
        a = self.arrays
        z = np.clip((rows - a["mean"]) * a["scale"], -_FAR, _FAR).astype(np.float32)
        beyond = (rows < a["low"]) | (rows > a["high"])
        basis, centres = a["basis"].astype(np.float32), a["centres"].astype(np.float32)
        near, outside = [], []
        for at, part in enumerate(_slices(self.blocks)):
            part_centres = centres[:, at * COMPONENTS : (at + 1) * COMPONENTS]
            near.append(_nearest(product(z[:, part], basis[part]), part_centres))
            outside.append(beyond[:, part].mean(axis=1))
        return np.stack(near, axis=1), np.mean(outside, axis=0)

    def measures(self, rows: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        near, outside = self.parts(rows)
        return self.distance_from(near), outside

    def distance_from(self, near: Floats) -> Floats:
        typical = np.array(self.typical or [1.0] * len(self.blocks))
        return np.asarray(np.log(np.maximum(near, 1e-6) / typical).mean(axis=1))

    def place(self, rows: npt.NDArray[Any]) -> DomainDistance:
        """Where a stimulus lies, from the rows of its windows; foreign if at least half of them are."""
        distance, outside = self.measures(rows)
        foreign = (distance > self.distance_limit) | (outside > self.outside_limit)
        return DomainDistance(float(distance.mean()), float(outside.mean()), bool(foreign.mean() >= 0.5))

    def calibrated(self, near: Floats, outside: Floats) -> Domain:
        """The domain with what is typical and what is too far, from stimuli that were left out."""
        with_typical = replace(self, typical=tuple(np.maximum(np.median(near, axis=0), 1e-6).tolist()))
        return replace(
            with_typical,
            distance_limit=float(np.quantile(with_typical.distance_from(near), QUANTILE)),
            outside_limit=float(np.quantile(outside, QUANTILE)),
        )

    @property
    def hash(self) -> str:
        """A hash of everything that decides where a stimulus lies."""
        numbers = (self.blocks, self.typical, self.distance_limit, self.outside_limit)
        digest = hashlib.sha256(repr(numbers).encode())
        for name in _ARRAYS:
            digest.update(np.ascontiguousarray(self.arrays[name]).tobytes())
        return digest.hexdigest()

    def with_arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Domain:
        """The domain with the arrays that were stored; a ValueError where some are missing."""
        if missing := [name for name in _ARRAYS if name not in arrays]:
            raise ValueError(f"the domain has no arrays {', '.join(missing)}")
        return replace(self, arrays={name: arrays[name] for name in _ARRAYS})


def _slices(blocks: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *blocks]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def _components(z: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The leading directions of a block, each divided by the spread along it."""
    size, columns = z.shape
    wide = columns > size
    values, vectors = np.linalg.eigh((z @ z.T if wide else z.T @ z).astype(np.float64) / size)
    leading = np.flatnonzero(values > 1e-6 * max(float(values[-1]), 1e-12))[::-1][:COMPONENTS]
    directions = vectors[:, leading]
    if wide:
        directions = z.T @ (directions / np.sqrt(values[leading] * size))
    # The sign of a component is free; fixing it keeps the bytes the same.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(leading.size)])
    return np.asarray(directions * signs / np.sqrt(values[leading]), np.float32)


def _nearest(rows: npt.NDArray[np.float32], centres: npt.NDArray[np.float32]) -> Floats:
    """The mean distance to the nearest training stimuli; a stimulus is not its own neighbour."""
    square = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :] - 2.0 * product(rows, centres.T)
    count = min(NEIGHBOURS + 1, centres.shape[0])
    near = np.sqrt(np.maximum(np.sort(np.partition(square, count - 1, axis=1)[:, :count], axis=1), 0.0))
    # Half precision moves a row by less than this from its own centre.
    same_stimulus = near[:, :1] < 0.05
    first, second = near[:, :-1].mean(axis=1), near[:, 1:].mean(axis=1)
    return np.asarray(np.where(same_stimulus[:, 0], second, first), np.float64)
