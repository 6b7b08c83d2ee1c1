"""Fitting heads: closed forms where there are any, small networks by full-batch Adam, the same bytes from the same seed.

Conventions: rows are stimuli, each with a weight; every block of columns is brought to the same size, so that a block of two
thousand columns counts no more than one of seventy. Scaling and components look at columns only and are made once for all
inner folds; labels are looked at by each fit alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.trained.embeddings import Block
from heartfelt.predictors.trained.model import Head, radial, softmax
from heartfelt.streams import stream

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Setting: TypeAlias = tuple[float, ...]

COMPONENTS = 128
_RIDGE = tuple((float(10.0**power),) for power in np.arange(-1.5, 2.51, 0.5))
_KERNEL = tuple(
    (width, float(10.0**power)) for width in (0.3, 0.6, 1.2, 2.4) for power in np.arange(-1.5, 0.76, 0.25)
)
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


class View:
    """Rows scaled and centred once, with what every fit shares: no label is looked at here."""

    def __init__(self, rows: Rows) -> None:
        share = rows.weight / rows.weight.sum()
        x = rows.x.astype(np.float64)
        self.rows = rows
        self.mean: Floats = share @ x
        spread = np.sqrt(share @ (x - self.mean) ** 2)
        size = np.concatenate([np.full(block.size, block.size, np.float64) for block in rows.blocks])
        # A column that hardly varies says nothing and would be blown up by its own scale.
        useful = spread > 1e-5 * np.maximum(np.abs(self.mean), 1.0)
        self.factor: Floats = np.where(useful, 1.0 / (np.where(useful, spread, 1.0) * np.sqrt(size)), 0.0)
        self.z: Floats = (x - self.mean) * self.factor
        # A margin keeps rounding from moving the rows that made the edge.
        self.reach: Floats = np.abs(self.z).max(axis=0) * 1.001
        self.gram: Floats = self.z @ self.z.T
        self.everything: Ints = np.arange(rows.y.size)

    @cached_property
    def basis(self) -> Floats:
        """The directions of the leading components, brought to the size of the first."""
        values, vectors = np.linalg.eigh(self.gram)
        kept = np.flatnonzero(values > 1e-9 * values[-1])[::-1][:COMPONENTS]
        directions = self.z.T @ (vectors[:, kept] / np.sqrt(values[kept]))
        # The sign of a component is free; fixing it keeps the bytes the same.
        signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(kept.size)])
        return np.asarray(directions * signs / np.sqrt(values[kept[0]] / len(self.z)))

    @cached_property
    def seen(self) -> Floats:
        """The rows through the leading components."""
        return np.asarray(self.z @ self.basis)

    def near(self, width: float) -> tuple[Floats, float]:
        """Radial basis functions between all rows, and their width in absolute terms."""
        if width not in self._near:
            typical = width / float(2.0 * (self.seen**2).sum(axis=1).mean())
            self._near[width] = (radial(self.seen, self.seen, typical), typical)
        return self._near[width]

    @cached_property
    def _near(self) -> dict[float, tuple[Floats, float]]:
        return {}

    def head(self, kind: str, confidence: float, arrays: dict[str, Any], width: float = 0.0) -> Head:
        """A head that scales as these rows were scaled."""
        shared = {"mean": self.mean, "factor": self.factor, "reach": self.reach}
        return Head(kind, confidence, {**shared, **arrays}, width)


def predictions(kind: str, view: View, train: Ints, test: Ints) -> dict[Setting, Floats]:
    """What heads fitted to some rows say of others, for every setting of a kind."""
    if kind == "ridge":
        return {one: _Dual(view, view.gram, train, one[0], centred=True).of(test) for one in SETTINGS[kind]}
    if kind == "kernel":
        return {one: _Dual(view, view.near(one[0])[0], train, one[1]).of(test) for one in SETTINGS[kind]}
    return {one: _network(view, kind, train, one).answer_seen(view.seen[test]) for one in SETTINGS[kind]}


def fit(kind: str, view: View, setting: Setting) -> Head:
    """The head of one setting, fitted to all rows."""
    if kind == "ridge":
        dual = _Dual(view, view.gram, view.everything, setting[0])
        return view.head("ridge", dual.level, {"weight": view.z.T @ dual.weight})
    if kind == "kernel":
        near, width = view.near(setting[0])
        dual = _Dual(view, near, view.everything, setting[1])
        arrays = {"basis": view.basis, "centres": view.seen, "weight": dual.weight}
        return view.head("kernel", dual.level, arrays, width)
    found = _network(view, kind, view.everything, setting)
    level = found.level if found.soft else found.level + float(found.arrays["b3"][0])
    return view.head(kind, level, {"basis": view.basis, **found.stored()})


class _Dual:
    """Weighted ridge on a kernel: one weight a row."""

    def __init__(
        self, view: View, kernel: Floats, train: Ints, penalty: float, *, centred: bool = False
    ) -> None:
        from scipy.linalg import solve

        weight, y = view.rows.weight[train], view.rows.y[train]
        self.kernel, self.train = kernel, train
        self.share = weight / weight.sum()
        self.level = float(self.share @ y)
        root = np.sqrt(weight)
        inner = kernel[np.ix_(train, train)]
        self.shift = self.share @ inner if centred else None
        if self.shift is not None:
            inner = inner - self.shift[None, :] - self.shift[:, None] + float(self.shift @ self.share)
        matrix = inner * root[:, None] * root[None, :]
        matrix[np.diag_indices_from(matrix)] += penalty
        self.weight: Floats = root * solve(
            matrix, root * (y - self.level), assume_a="pos", check_finite=False
        )

    def of(self, test: Ints) -> Floats:
        """What is said of other rows."""
        across = self.kernel[np.ix_(test, self.train)]
        if self.shift is not None:
            across = (
                across - self.shift[None, :] - (across @ self.share)[:, None] + float(self.shift @ self.share)
            )
        return np.asarray(self.level + across @ self.weight)


def _network(view: View, kind: str, train: Ints, setting: Setting) -> _Layers:
    rows = view.rows.take(train)
    layers = _Layers(view.seen.shape[1], rows, kind)
    layers.fit(view.seen[train], setting[0])
    return layers


class _Layers:
    """Two hidden layers of tanh, fitted by full-batch Adam with weight decay."""

    def __init__(self, inputs: int, rows: Rows, kind: str) -> None:
        self.rows = rows
        self.soft = kind == "ordinal"
        self.level = float(rows.weight @ rows.y / rows.weight.sum())
        self.arrays: dict[str, Floats] = {}
        sizes = (inputs, *_HIDDEN, rows.points.size if self.soft else 1)
        for at, (into, out) in enumerate(pairwise(sizes), 1):
            draw = stream(rows.seed, "train", kind, f"layer {at}")
            self.arrays[f"w{at}"] = draw.normal(0.0, 1.0 / np.sqrt(into), (into, out))
            self.arrays[f"b{at}"] = np.zeros(out)

    def targets(self) -> Floats:
        """The labels less their mean, or as soft labels: the closer a point of the scale, the more of the label it gets."""
        if not self.soft:
            return (self.rows.y - self.level)[:, None]
        apart = (self.rows.points[None, :] - self.rows.y[:, None]) / self.rows.spread[:, None]
        return softmax(-0.5 * apart**2)

    def answer_seen(self, seen: Floats) -> Floats:
        """What is said of rows seen through the components."""
        a = self.arrays
        said = np.tanh(np.tanh(seen @ a["w1"] + a["b1"]) @ a["w2"] + a["b2"]) @ a["w3"] + a["b3"]
        return np.asarray(softmax(said) @ self.rows.points if self.soft else self.level + said[:, 0])

    def stored(self) -> dict[str, Floats]:
        """The arrays of a head."""
        if self.soft:
            return {**self.arrays, "points": self.rows.points}
        return {**self.arrays, "w3": self.arrays["w3"][:, 0]}

    def fit(self, x: Floats, decay: float) -> None:
        """Adjust the layers to the targets."""
        share = (self.rows.weight / self.rows.weight.sum())[:, None]
        target = self.targets()
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


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "ridge": _RIDGE,
    "kernel": _KERNEL,
    "mlp": _DECAYS,
    "ordinal": _DECAYS,
}
