"""Fitting heads: closed forms where there are any, small networks by full-batch Adam, the same bytes from the same seed.

Conventions: rows are stimuli, each with a weight; every block of columns is brought to the same size, so that a block of two
thousand columns counts no more than one of seventy. Settings of a head are tried together: a ridge path costs one
eigendecomposition, whatever the number of penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predict.trained.embeddings import Block
from heartfelt.predict.trained.head import Head, radial, softmax
from heartfelt.streams import stream

Floats: TypeAlias = npt.NDArray[np.float64]
Setting: TypeAlias = tuple[float, ...]

PENALTIES = tuple(float(10.0**power) for power in np.arange(-3.0, 1.51, 0.25))
COMPONENTS = 64
_KERNEL = tuple((width, penalty) for width in (0.3, 1.0) for penalty in PENALTIES[::2])
_DECAYS = ((3e-3,), (3e-2,))
_HIDDEN = (32, 16)
_STEPS = 150


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What a head is fitted to: columns, labels, weights, the labels' spread, and the scale's points for soft labels."""

    x: npt.NDArray[np.float32]
    y: Floats
    weight: Floats
    spread: Floats
    blocks: Sequence[Block]
    points: Floats
    seed: int = 0

    def take(self, at: npt.NDArray[Any]) -> Rows:
        """Some of the rows."""
        return Rows(
            self.x[at], self.y[at], self.weight[at], self.spread[at], self.blocks, self.points, self.seed
        )


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Rows scaled and centred, with what the closed forms share."""

    rows: Rows
    mean: Floats
    factor: Floats
    z: Floats
    gram: Floats
    level: float

    @classmethod
    def of(cls, rows: Rows) -> View:
        """Scale by the rows' own weighted mean and spread."""
        share = rows.weight / rows.weight.sum()
        x = rows.x.astype(np.float64)
        mean = share @ x
        spread = np.sqrt(share @ (x - mean) ** 2)
        size = np.concatenate([np.full(block.size, block.size, np.float64) for block in rows.blocks])
        # A column that hardly varies says nothing and would be blown up by its own scale.
        useful = spread > 1e-5 * np.maximum(np.abs(mean), 1.0)
        factor = np.where(useful, 1.0 / (np.where(useful, spread, 1.0) * np.sqrt(size)), 0.0)
        z = (x - mean) * factor
        return cls(rows, mean, factor, z, z @ z.T, float(share @ rows.y))

    def basis(self) -> Floats:
        """The directions of the leading components."""
        values, vectors = np.linalg.eigh(self.gram)
        kept = np.flatnonzero(values > 1e-9 * values[-1])[::-1][:COMPONENTS]
        # The sign of a component is free; fixing it keeps the bytes the same.
        directions = self.z.T @ (vectors[:, kept] / np.sqrt(values[kept]))
        signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(kept.size)])
        return np.asarray(directions * signs)

    def head(self, kind: str, arrays: dict[str, Any], width: float = 0.0) -> Head:
        """A head that scales as these rows were scaled."""
        return Head(kind, self.level, {"mean": self.mean, "factor": self.factor, **arrays}, width)


def fit_all(kind: str, view: View, settings: Sequence[Setting] | None = None) -> dict[Setting, Head]:
    """Heads of one kind, one for each setting."""
    return _FITS[kind](view, list(settings or SETTINGS[kind]))


def _ridge(view: View, settings: list[Setting]) -> dict[Setting, Head]:
    root = np.sqrt(view.rows.weight)
    values, vectors = np.linalg.eigh(view.gram * root[:, None] * root[None, :])
    along = vectors.T @ (root * (view.rows.y - view.level))
    back = view.z.T @ (root[:, None] * vectors)
    return {one: view.head("ridge", {"weight": back @ (along / (values + one[0]))}) for one in settings}


def _kernel(view: View, settings: list[Setting]) -> dict[Setting, Head]:
    basis = view.basis()
    seen = view.z @ basis
    root = np.sqrt(view.rows.weight)
    typical = 1.0 / float(2.0 * (seen**2).sum(axis=1).mean())
    out: dict[Setting, Head] = {}
    for width in sorted({one[0] for one in settings}):
        near = radial(seen, seen, width * typical)
        values, vectors = np.linalg.eigh(near * root[:, None] * root[None, :])
        along = vectors.T @ (root * (view.rows.y - view.level))
        for one in settings:
            if one[0] == width:
                weight = root * (vectors @ (along / (values + one[1])))
                arrays = {"basis": basis, "centres": seen, "weight": weight}
                out[one] = view.head("kernel", arrays, width * typical)
    return out


def _network(view: View, settings: list[Setting], ordinal: bool) -> dict[Setting, Head]:
    basis = view.basis()
    seen = view.z @ basis
    basis = basis / max(float(seen[:, 0].std()), 1e-9)
    seen = view.z @ basis
    kind = "ordinal" if ordinal else "mlp"
    out = {}
    for one in settings:
        layers = _Layers(seen.shape[1], view.rows.points.size if ordinal else 1, view.rows.seed, kind)
        layers.fit(seen, _targets(view, ordinal), view.rows.weight, one[0])
        arrays: dict[str, Any] = {"basis": basis, **layers.arrays}
        if ordinal:
            arrays["points"] = view.rows.points
        else:
            arrays["w3"] = arrays["w3"][:, 0]
            del arrays["b3"]
        out[one] = view.head(kind, arrays)
    return out


def _targets(view: View, ordinal: bool) -> Floats:
    if not ordinal:
        return (view.rows.y - view.level)[:, None]
    apart = (view.rows.points[None, :] - view.rows.y[:, None]) / view.rows.spread[:, None]
    return softmax(-0.5 * apart**2)


class _Layers:
    """Two hidden layers of tanh, fitted by full-batch Adam with weight decay."""

    def __init__(self, inputs: int, outputs: int, seed: int, name: str) -> None:
        sizes = (inputs, *_HIDDEN, outputs)
        self.soft = name == "ordinal"
        self.arrays: dict[str, Floats] = {}
        for at, (into, out) in enumerate(pairwise(sizes), 1):
            draw = stream(seed, "train", name, f"layer {at}")
            self.arrays[f"w{at}"] = draw.normal(0.0, 1.0 / np.sqrt(into), (into, out))
            self.arrays[f"b{at}"] = np.zeros(out)

    def fit(self, x: Floats, target: Floats, weight: Floats, decay: float) -> None:
        """Adjust the layers to the targets."""
        share = (weight / weight.sum())[:, None]
        first = {key: np.zeros_like(value) for key, value in self.arrays.items()}
        second = {key: np.zeros_like(value) for key, value in self.arrays.items()}
        for step in range(1, _STEPS + 1):
            slopes = self._slopes(x, target, share)
            rate = 0.02 * min(1.0, 2.0 * (1.0 - step / (_STEPS + 1)))
            for key, value in self.arrays.items():
                slope = slopes[key] + (decay * value if key[0] == "w" else 0.0)
                first[key] = 0.9 * first[key] + 0.1 * slope
                second[key] = 0.999 * second[key] + 0.001 * slope**2
                move = first[key] / (1 - 0.9**step) / (np.sqrt(second[key] / (1 - 0.999**step)) + 1e-8)
                self.arrays[key] = value - rate * move

    def _slopes(self, x: Floats, target: Floats, share: Floats) -> dict[str, Floats]:
        a = self.arrays
        one = np.tanh(x @ a["w1"] + a["b1"])
        two = np.tanh(one @ a["w2"] + a["b2"])
        said = two @ a["w3"] + a["b3"]
        off = (softmax(said) if self.soft else said) - target
        last = share * off
        middle = (last @ a["w3"].T) * (1 - two**2)
        lowest = (middle @ a["w2"].T) * (1 - one**2)
        return {
            "w3": two.T @ last, "b3": last.sum(axis=0), "w2": one.T @ middle,
            "b2": middle.sum(axis=0), "w1": x.T @ lowest, "b1": lowest.sum(axis=0),
        }  # fmt: skip


def _mlp(view: View, settings: list[Setting]) -> dict[Setting, Head]:
    return _network(view, settings, ordinal=False)


def _ordinal(view: View, settings: list[Setting]) -> dict[Setting, Head]:
    return _network(view, settings, ordinal=True)


_FITS: dict[str, Callable[[View, list[Setting]], dict[Setting, Head]]] = {
    "ridge": _ridge,
    "kernel": _kernel,
    "mlp": _mlp,
    "ordinal": _ordinal,
}
SETTINGS: dict[str, tuple[Setting, ...]] = {
    "ridge": tuple((penalty,) for penalty in PENALTIES),
    "kernel": _KERNEL,
    "mlp": _DECAYS,
    "ordinal": _DECAYS,
}
