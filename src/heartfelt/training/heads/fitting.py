"""Heads: fitted by closed forms where there are any, small networks by full-batch Adam, and chosen on inner folds only.

Conventions: rows are stimuli, each with a weight; every block of columns is scaled to the same size, so that a block of two
thousand columns counts no more than one of seventy. Scaling and components use columns only and are computed once for all
inner folds; each fit uses its own labels alone. The same seed gives the same bytes.

*Choice.* Every kind and setting is tried on the same inner folds: five by group (or by stimulus, where no group is known), and,
where there are three systems or more, each system left out in turn. The errors of both are added, so that a head is chosen
that does well on known and on unknown systems. What counts is the error that a straight line through the left-out predictions
leaves: a stronger penalty pulls predictions together, which a line undoes. The chosen head predicts along that line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.predictors.trained.answers import AnswerSpread
from heartfelt.predictors.trained.embeddings import EmbeddingBlock
from heartfelt.predictors.trained.heads.head import Head, radial, softmax
from heartfelt.streams import stream
from heartfelt.wording import plural

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Setting: TypeAlias = tuple[float, ...]

COMPONENTS = 128
_RIDGE = tuple((float(10.0**power),) for power in np.arange(-1.5, 2.51, 0.5))
_KERNEL = tuple((width, float(10.0**power)) for width in (0.3, 0.6, 1.2, 2.4) for power in np.arange(-1.5, 0.76, 0.25))
_DECAYS = ((3e-3,), (3e-2,))
_HIDDEN = (32, 16)
_STEPS = 150
INNER_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rows:
    """What a head is fitted to: columns, labels, weights, the labels' spread, and the scale's points for soft labels."""

    x: npt.NDArray[np.float32]
    y: Floats
    weight: Floats
    spread: Floats
    blocks: Sequence[EmbeddingBlock]
    points: Floats
    seed: int = 0
    ignored: tuple[str, ...] = ()
    """Blocks the head does not look at."""
    variance: Floats | None = None
    """The variance of each label, where the raters were modelled."""
    answers: AnswerSpread | None = None
    """How single answers spread, likewise."""
    components: int = COMPONENTS
    """How many components heads other than ridge look at."""

    def take(self, at: npt.NDArray[Any]) -> Rows:
        selected = {name: getattr(self, name)[at] for name in ("x", "y", "weight", "spread")}
        return replace(self, variance=None if self.variance is None else self.variance[at], **selected)


class ScaledRows:
    """Rows scaled and centred once, with what every fit shares. No label is used here."""

    def __init__(self, rows: Rows) -> None:
        share = rows.weight / rows.weight.sum()
        x = rows.x.astype(np.float64)
        self.rows = rows
        self.mean: Floats = share @ x
        spread = np.sqrt(share @ (x - self.mean) ** 2)
        size = np.concatenate([np.full(block.size, block.size, np.float64) for block in rows.blocks])
        # A column that hardly varies carries nothing and would be blown up by its own scale.
        useful = spread > 1e-5 * np.maximum(np.abs(self.mean), 1.0)
        used = [np.full(block.size, block.name not in rows.ignored) for block in rows.blocks]
        useful &= np.concatenate(used)
        self.factor: Floats = np.where(useful, 1.0 / (np.where(useful, spread, 1.0) * np.sqrt(size)), 0.0)
        self.z: Floats = (x - self.mean) * self.factor
        # A margin keeps rounding from moving the rows that made the edge.
        self.reach: Floats = np.abs(self.z).max(axis=0) * 1.001
        self.gram: Floats = self.z @ self.z.T
        self.everything: Ints = np.arange(rows.y.size)
        self._near: dict[float, tuple[Floats, float]] = {}

    @cached_property
    def basis(self) -> Floats:
        """The directions of the leading components, scaled to the size of the first."""
        values, vectors = np.linalg.eigh(self.gram)
        leading = np.flatnonzero(values > 1e-9 * values[-1])[::-1][: self.rows.components]
        directions = self.z.T @ (vectors[:, leading] / np.sqrt(values[leading]))
        # The sign of a component is free; fixing it keeps the bytes the same.
        signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(leading.size)])
        return np.asarray(directions * signs / np.sqrt(values[leading[0]] / len(self.z)))

    @cached_property
    def projected(self) -> Floats:
        """The rows through the leading components."""
        return np.asarray(self.z @ self.basis)

    def near(self, width: float) -> tuple[Floats, float]:
        """Radial basis functions between all rows, and their width in absolute terms."""
        if width not in self._near:
            typical = width / float(2.0 * (self.projected**2).sum(axis=1).mean())
            self._near[width] = (radial(self.projected, self.projected, typical), typical)
        return self._near[width]

    def head(self, kind: str, intercept: float, arrays: dict[str, Floats], width: float = 0.0) -> Head:
        """A head that scales as these rows were scaled."""
        shared = {"mean": self.mean, "factor": self.factor, "reach": self.reach}
        return Head(kind, intercept, {**shared, **arrays}, width)


def predictions(kind: str, view: ScaledRows, train: Ints, test: Ints) -> dict[Setting, Floats]:
    """What heads fitted to the rows ``train`` predict for the rows ``test``, for every setting of a kind."""
    return {
        setting: _model(kind, view, train, setting, centred=kind == "ridge").predict(test) for setting in SETTINGS[kind]
    }


def fit(kind: str, view: ScaledRows, setting: Setting) -> Head:
    return _model(kind, view, view.everything, setting).head(kind)


def _model(kind: str, view: ScaledRows, train: Ints, setting: Setting, *, centred: bool = False) -> _Dual | _Layers:
    if kind == "ridge":
        return _Dual(view, view.gram, 0.0, train, setting[0], centred=centred)
    if kind == "kernel":
        return _Dual(view, *view.near(setting[0]), train, setting[1])
    return _Layers(view, train, kind, setting[0])


class _Dual:
    """Weighted ridge on a kernel: one weight per row."""

    def __init__(
        self, view: ScaledRows, kernel: Floats, width: float, train: Ints, penalty: float, *, centred: bool = False
    ) -> None:
        from scipy.linalg import solve

        weight, y = view.rows.weight[train], view.rows.y[train]
        self.view, self.kernel, self.width, self.train = view, kernel, width, train
        self.share = weight / weight.sum()
        self.mean_label = float(self.share @ y)
        # One equation per row, whatever the width: embeddings have thousands of columns, studies hundreds of stimuli.
        root = np.sqrt(weight)
        inner = kernel[np.ix_(train, train)]
        # The columns were centred over all rows; a fold's own mean is taken out of the kernel, which costs nothing per column.
        self.shift = self.share @ inner if centred else None
        if self.shift is not None:
            inner = inner - self.shift[None, :] - self.shift[:, None] + float(self.shift @ self.share)
        # Roots of the weights on both sides keep the matrix symmetric, so that Cholesky solves it.
        matrix = inner * root[:, None] * root[None, :]
        matrix[np.diag_indices_from(matrix)] += penalty
        self.weight: Floats = root * solve(matrix, root * (y - self.mean_label), assume_a="pos", check_finite=False)

    def predict(self, test: Ints) -> Floats:
        across = self.kernel[np.ix_(test, self.train)]
        if self.shift is not None:
            across = across - self.shift[None, :] - (across @ self.share)[:, None] + float(self.shift @ self.share)
        return np.asarray(self.mean_label + across @ self.weight)

    def head(self, kind: str) -> Head:
        """The head: weights of columns, or of the rows it was fitted to."""
        arrays = {"weight": self.view.z.T @ self.weight}
        if kind == "kernel":
            arrays = {"basis": self.view.basis, "centres": self.view.projected, "weight": self.weight}
        return self.view.head(kind, self.mean_label, arrays, self.width)


class _Layers:
    """Two hidden layers of tanh, fitted by full-batch Adam with weight decay."""

    def __init__(self, view: ScaledRows, train: Ints, kind: str, decay: float) -> None:
        self.view, self.rows = view, view.rows.take(train)
        rows, inputs = self.rows, view.projected.shape[1]
        self.soft = kind == "ordinal"
        self.mean_label = float(rows.weight @ rows.y / rows.weight.sum())
        self.arrays: dict[str, Floats] = {}
        sizes = (inputs, *_HIDDEN, rows.points.size if self.soft else 1)
        for at, (into, out) in enumerate(pairwise(sizes), 1):
            draw = stream(rows.seed, "train", kind, f"layer {at}")
            self.arrays[f"w{at}"] = draw.normal(0.0, 1.0 / np.sqrt(into), (into, out))
            self.arrays[f"b{at}"] = np.zeros(out)
        self._fit(view.projected[train], decay)

    def _targets(self) -> Floats:
        """The labels less their mean, or as soft labels: the closer a point of the scale, the more of the label it gets."""
        if not self.soft:
            return (self.rows.y - self.mean_label)[:, None]
        distance = (self.rows.points[None, :] - self.rows.y[:, None]) / self.rows.spread[:, None]
        return softmax(-0.5 * distance**2)

    def predict(self, test: Ints) -> Floats:
        raw = self._forward(self.view.projected[test])[2]
        return np.asarray(softmax(raw) @ self.rows.points if self.soft else self.mean_label + raw[:, 0])

    def _forward(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Both hidden layers and the raw output."""
        a = self.arrays
        first = np.tanh(x @ a["w1"] + a["b1"])
        second = np.tanh(first @ a["w2"] + a["b2"])
        return first, second, second @ a["w3"] + a["b3"]

    def head(self, kind: str) -> Head:
        """The head; of several outputs their points, of one its weights and all constants in the intercept."""
        arrays, intercept = {"basis": self.view.basis, **self.arrays}, self.mean_label
        if self.soft:
            arrays["points"] = self.rows.points
        else:
            arrays["w3"] = self.arrays["w3"][:, 0]
            intercept += float(self.arrays["b3"][0])
        return self.view.head(kind, intercept, arrays)

    def _fit(self, x: Floats, decay: float) -> None:
        share = (self.rows.weight / self.rows.weight.sum())[:, None]
        target = self._targets()
        first, second = ({key: np.zeros_like(array) for key, array in self.arrays.items()} for _ in range(2))
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
        first, second, raw = self._forward(x)
        # Softmax with cross-entropy and identity with squares have the same slope: what is predicted less the target.
        last = share * ((softmax(raw) if self.soft else raw) - target)
        middle = (last @ a["w3"].T) * (1 - second**2)
        lowest = (middle @ a["w2"].T) * (1 - first**2)
        inputs = {"3": (second, last), "2": (first, middle), "1": (x, lowest)}
        slopes = {f"w{layer}": before.T @ error for layer, (before, error) in inputs.items()}
        return slopes | {f"b{layer}": error.sum(axis=0) for layer, (_, error) in inputs.items()}


SETTINGS: dict[str, tuple[Setting, ...]] = {"ridge": _RIDGE, "kernel": _KERNEL, "mlp": _DECAYS, "ordinal": _DECAYS}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chosen:
    """The head, how it was chosen, and what was predicted of each row while it was left out of the inner folds."""

    head: Head
    kind: str
    setting: Setting
    tried: dict[str, float]
    """The best inner error of each kind: root mean squared, weighted."""
    left_out: Floats
    """By system where there are systems, else by stimulus; along the line, as the head predicts."""
    plan: Ints
    """The inner fold of each row in which it was left out."""
    answers: AnswerSpread | None = None
    """How single answers spread around what the head predicts, its own error included; None where raters were not modelled."""


def folds(groups: Ints, count: int, seed: int, *name: str) -> Ints:
    """A fold for each row, as even as possible with the rows of one group in one fold."""
    size = groups.size
    order = stream(seed, "train", "folds", *name).permutation(size)
    sizes = dict(zip(*(part.tolist() for part in np.unique(groups, return_counts=True)), strict=True))
    filled = np.zeros(min(count, len(sizes)), np.int64)
    fold_of: dict[int, int] = {}
    for at in order:
        group = int(groups[at])
        # The emptiest fold takes the next group, so that folds differ by about one group.
        if group not in fold_of:
            fold_of[group] = int(np.argmin(filled))
            filled[fold_of[group]] += sizes[group]
    return np.array([fold_of[int(group)] for group in groups], np.int64)


def enough_folds(groups: Ints, count: int, seed: int, *name: str) -> Ints:
    """The same, or an error where there are fewer groups than folds."""
    have = np.unique(groups).size
    if have < count:
        raise InputError(
            f"{plural(have, 'group')} of stimuli cannot be put into {count} folds.",
            "Group by a column with more values (--group), use --group none, or fewer --folds.",
        )
    return folds(groups, count, seed, *name)


def left_out_share(groups: Ints, share: float, seed: int, *name: str) -> npt.NDArray[np.bool_]:
    """Which rows to leave out, in whole groups: about this share of them."""
    return np.asarray(folds(groups, max(2, round(1 / share)), seed, *name) == 0)


def choose(rows: Rows, systems: Ints | None, kinds: Sequence[str], groups: Ints | None = None) -> Chosen:
    """The best kind and setting on inner folds, fitted to all rows. ``groups`` stay in one fold each; rows alone if left out."""
    alone = np.arange(rows.y.size)
    plans = [folds(alone if groups is None else groups, INNER_FOLDS, rows.seed, "inner")]
    if systems is not None and np.unique(systems).size >= 3:
        plans.append(systems)
    view = ScaledRows(rows)
    predicted = [_left_out(kinds, view, plan) for plan in plans]
    best: tuple[float, str, Setting] | None = None
    tried: dict[str, float] = {}
    for kind, setting in predicted[0]:
        error = float(np.mean([_error(rows, part[kind, setting]) for part in predicted]))
        tried[kind] = min(tried.get(kind, np.inf), error)
        # Of equals the first counts; rounding must not decide.
        if best is None or error < best[0] - 1e-12:
            best = (error, kind, setting)
    assert best is not None
    _, kind, setting = best
    offset, slope = _line(
        np.tile(rows.y, len(predicted)),
        np.concatenate([part[kind, setting] for part in predicted]),
        np.tile(rows.weight, len(predicted)),
    )
    rooted = {name: float(np.sqrt(error)) for name, error in tried.items()}
    head = fit(kind, view, setting).along(offset, slope)
    left_out = offset + slope * predicted[-1][kind, setting]
    return Chosen(
        head=head,
        kind=kind,
        setting=setting,
        tried=rooted,
        left_out=left_out,
        plan=plans[-1],
        answers=_answers(rows, left_out),
    )


def _answers(rows: Rows, left_out: Floats) -> AnswerSpread | None:
    """The spread of answers with the head's own error: what it is off by, less what the labels are."""
    if rows.answers is None or rows.variance is None:
        return None
    share = rows.weight / rows.weight.sum()
    error = float(share @ ((left_out - rows.y) ** 2 - rows.variance))
    return replace(rows.answers, error=float(np.sqrt(max(error, 0.0))))


def _left_out(kinds: Sequence[str], view: ScaledRows, plan: npt.NDArray[Any]) -> dict[tuple[str, Setting], Floats]:
    out = {(kind, setting): np.empty(plan.size) for kind in kinds for setting in SETTINGS[kind]}
    for fold in np.unique(plan):
        train, test = np.flatnonzero(plan != fold), np.flatnonzero(plan == fold)
        for kind in kinds:
            for setting, value in predictions(kind, view, train, test).items():
                out[kind, setting][test] = value
    return out


def _error(rows: Rows, predicted: Floats) -> float:
    """The mean square that a line leaves."""
    offset, slope = _line(rows.y, predicted, rows.weight)
    return float(rows.weight @ (offset + slope * predicted - rows.y) ** 2 / rows.weight.sum())


def _line(y: Floats, predicted: Floats, weight: Floats) -> tuple[float, float]:
    """Offset and slope of the labels on the predictions; a head unrelated or opposed to them is left as it is."""
    share = weight / weight.sum()
    deviation = predicted - share @ predicted
    spread = float(share @ deviation**2)
    slope = float(share @ (deviation * y)) / spread if spread > 1e-12 else 0.0
    if slope <= 0.0:
        return 0.0, 1.0
    return float(share @ y - slope * (share @ predicted)), slope
