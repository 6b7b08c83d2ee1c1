"""Whether published columns predict hidden labels, alone or together, beyond what prompt, system and intent say.

Two attacks are tried, in both of which every label is predicted from the others (leave one out): on held-out and published labels
together, which have most power and stand for learning from the public part; and within the held-out part alone, since a column may
be filled in there only. Kernel ridge regression (linear, quadratic, Gaussian) predicts the labels, and what the design leaves of
them. Every column is tried alone, with the others of its name stem, all together, and in pairs.
Agreement is the correlation with the ranks of the labels, or the share of categories that are right, 0 for always naming the
most frequent one. Columns give labels away if the agreement reaches :data:`GIVES_AWAY`, closes at least :data:`CLOSES` of the
gap that the design leaves, and at most :data:`BY_CHANCE` of permutations of the columns' rows do as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
import polars as pl

from heartfelt.publishing.hiding.features import Matrix, Vector

Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
GIVES_AWAY = 0.5
"""Agreement with hidden labels from which a column counts as giving them away."""
CLOSES = 0.3
"""The share of the gap between the design's agreement and 1 that a column must close."""
BY_CHANCE = 0.005
LEAST_ITEMS = 8
"""With fewer labels no test can tell a copy from chance."""
LEAST_VALUES = 20
"""Labels, published ones among them, that a column must have values for to be tested."""
_PERMUTATIONS = 199
MOST_ITEMS = 120
"""Of more labels of a part a sample is tested: enough to find what gives them away."""
_MOST_PAIRED = 8
_RIDGE = 0.1
_DESIGN_RIDGES = (0.1, 1.0, 10.0)
_MOST_OF_IT = 0.9
_DESIGN_COUNTS = 0.1
"""Agreement from which the design is taken into account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Columns that together give the hidden labels of a question away."""

    columns: tuple[str, ...]
    question: str
    agreement: float
    without: float
    """What the design alone reaches."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelsToHide:
    """The labels of one question: numbers, or codes of categories."""

    question: str
    hidden: pl.DataFrame
    """``row, label`` of held-out stimuli; ``row`` is that of the features."""
    public: pl.DataFrame
    """The same of published labels."""
    nominal: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _View:
    """Labels of one question, with what the design says about each without its own label."""

    question: str
    rows: Rows
    truth: Matrix
    bases: tuple[Matrix, ...]
    """What columns are added to: the design's prediction, and none."""
    without: float
    pooled: bool
    """With published labels, or those of the held-out part alone."""


def design_agreement(labels: Sequence[LabelsToHide], design: Mapping[str, Matrix]) -> dict[str, float]:
    """By question, how well the design alone predicts the hidden labels."""
    out: dict[str, float] = {}
    for view in _views(labels, design):
        out[view.question] = max(view.without, out.get(view.question, 0.0))
    return out


def label_leaks(
    labels: Sequence[LabelsToHide], candidates: Mapping[str, Matrix], design: Mapping[str, Matrix]
) -> list[Leak]:
    """Every set of columns that gives hidden labels away, the strongest first; columns that are named are not looked at again."""
    views = list(_views(labels, design))
    remaining = {name: matrix for name, matrix in candidates.items() if matrix.shape[1]}
    out: list[Leak] = []
    while remaining and views:
        leak = _strongest(views, remaining)
        if leak is None:
            break
        out.append(leak)
        remaining = {name: matrix for name, matrix in remaining.items() if name not in leak.columns}
    return out


# --- what is known without the columns --------------------------------------------------------------------------------


def _views(labels: Sequence[LabelsToHide], design: Mapping[str, Matrix]) -> Iterator[_View]:
    for question_labels in labels:
        hidden, public = question_labels.hidden, question_labels.public
        for table, pooled in ((hidden, False), (pl.concat([hidden, public]), True)):
            if hidden.height >= LEAST_ITEMS and table["label"].n_unique() > 1:
                yield _view(question_labels, table.sort("row"), design, pooled)


def _targets(labels: pl.Series, nominal: bool) -> Matrix:
    """One column per category, or ranks scaled to unit variance."""
    if nominal:
        codes = labels.unique().sort().to_list()
        return np.array([[float(label == code) for code in codes] for label in labels])
    ranks = labels.rank().to_numpy().astype(np.float64)
    return np.asarray((ranks - ranks.mean()) / ranks.std())[:, None]


def _view(labels: LabelsToHide, table: pl.DataFrame, design: Mapping[str, Matrix], pooled: bool) -> _View:
    """With the best prediction that the design gives, or none where it gives nothing."""
    truth, rows = _targets(table["label"], labels.nominal), table["row"].to_numpy()
    mean = truth.mean(axis=0)
    nothing = np.tile(mean, (len(rows), 1))
    base, without = nothing, 0.0
    features = _joined(design, list(design), rows)
    if features is not None:
        kernel = _normalised(features @ features.T)
        for ridge in _DESIGN_RIDGES:
            tried = mean + _left_out(kernel, ridge) @ (truth - mean)
            reached = float(_agreement(truth, tried[None])[0])
            if reached > max(without, _DESIGN_COUNTS):
                base, without = tried, reached
    return _View(
        question=labels.question,
        rows=rows,
        truth=truth,
        bases=(base, nothing) if without else (nothing,),
        without=without,
        pooled=pooled,
    )


# --- what the columns add ---------------------------------------------------------------------------------------------


def _strongest(views: Sequence[_View], columns: Mapping[str, Matrix]) -> Leak | None:
    """The set of columns that closes most of the gap, if hardly any permutation does as well; pairs are tried last."""
    pairs = list(combinations(list(columns)[:_MOST_PAIRED], 2))
    tries: tuple[Sequence[tuple[str, ...]], ...] = (_sets(list(columns)), pairs)
    for sets, pooled in product(tries, (True, False)):
        alike = [view for view in views if view.pooled == pooled]
        tried = [(view, names, _reached(view, columns, names)) for view in alike for names in sets]
        telling = [
            (_closed(reached, view.without) - 0.02 * len(names), at)
            for at, (view, names, reached) in enumerate(tried)
            if reached >= GIVES_AWAY and _closed(reached, view.without) >= CLOSES
        ]
        if not telling:
            continue
        view, names, reached = tried[max(telling)[1]]
        chance = _by_permutation(alike, columns, sets)
        as_well = int((chance >= _closed(reached, view.without) - 1e-9).sum())
        if (1 + as_well) / (1 + _PERMUTATIONS) <= BY_CHANCE:
            needed = _needed(view, columns, names)
            reached = _reached(view, columns, needed)
            return Leak(columns=tuple(needed), question=view.question, agreement=reached, without=view.without)
    return None


def _sets(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Columns alone, by the stem of their names, and all together; none twice."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(re.sub(r"[_\W\d]*[^_\W]*$", "", name), []).append(name)
    groups = [tuple(group) for stem, group in stems.items() if stem and len(group) > 1]
    return list(dict.fromkeys([*((name,) for name in names), *groups, tuple(names)]))


def _needed(view: _View, columns: Mapping[str, Matrix], names: Sequence[str]) -> list[str]:
    """Without columns that hardly anything is lost by leaving out."""
    needed, reached = list(names), _reached(view, columns, names)
    for name in names:
        without_name = [needed_name for needed_name in needed if needed_name != name]
        if without_name and _reached(view, columns, without_name) >= _MOST_OF_IT * reached:
            needed = without_name
    return needed


def _joined(columns: Mapping[str, Matrix], names: Sequence[str], rows: Rows) -> Matrix | None:
    """The features of some rows, centred; None where nothing varies among them."""
    parts = [columns[name][rows] for name in names if columns[name].shape[1]]
    if not parts:
        return None
    features = np.hstack(parts)
    features = features[:, np.ptp(features, axis=0) > 0]
    return features - features.mean(axis=0) if features.shape[1] else None


def _reached(view: _View, columns: Mapping[str, Matrix], names: Sequence[str]) -> float:
    """The best agreement that a model of these columns has with the labels."""
    tried = [
        base + operator @ (view.truth - base) for operator in _operators(view, columns, names) for base in view.bases
    ]
    return float(_agreement(view.truth, np.stack(tried)).max()) if tried else 0.0


def _operators(view: _View, columns: Mapping[str, Matrix], names: Sequence[str]) -> Iterator[Matrix]:
    """Each model as the matrix that predicts every value from the others."""
    features = _joined(columns, names, view.rows)
    if features is None:
        return
    linear = _normalised(features @ features.T)
    diagonal = np.diag(linear)
    distance = np.maximum(diagonal[:, None] + diagonal[None] - 2 * linear, 0)
    middle = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
    for kernel in (linear, _normalised((1 + linear) ** 2 - 1), np.exp(-2 * distance / middle)):
        yield _left_out(kernel, _RIDGE)


def _normalised(kernel: Matrix) -> Matrix:
    return kernel / (float(np.diag(kernel).mean()) or 1.0)


def _left_out(kernel: Matrix, ridge: float) -> Matrix:
    """The matrix that predicts every value from the others by kernel ridge regression."""
    n = len(kernel)
    hat = np.linalg.solve(kernel + ridge * np.eye(n), kernel).T
    # The prediction without a value's own label follows from the hat matrix, with no model fitted again.
    leverage = np.diag(hat)
    return np.asarray((hat - np.diag(leverage)) / np.maximum(1 - leverage, 1e-9)[:, None])


def _by_permutation(views: Sequence[_View], columns: Mapping[str, Matrix], sets: Sequence[Sequence[str]]) -> Vector:
    """Of every permutation, the most that any model closes of the gap once the columns belong to other stimuli."""
    rng, chance = np.random.default_rng(0), np.zeros(_PERMUTATIONS)
    for view in views:
        orders = np.stack([rng.permutation(len(view.rows)) for _ in range(_PERMUTATIONS)])
        operators = [operator for names in sets for operator in _operators(view, columns, names)]
        for base in view.bases:
            n, targets = base.shape
            shuffled = np.empty((n, _PERMUTATIONS, targets))
            # Permuting the labels' residuals and undoing it after the prediction is the same as permuting the columns' rows, and
            # each operator is then applied to all permutations in one product.
            for at, order in enumerate(orders):
                shuffled[order, at] = view.truth - base
            for operator in operators:
                moved = (operator @ shuffled.reshape(n, -1)).reshape(n, _PERMUTATIONS, targets)
                predicted = np.stack([moved[order, at] for at, order in enumerate(orders)])
                reached = _agreement(view.truth, base[None] + predicted)
                closed = (reached - view.without) / max(1 - view.without, 1e-9)
                chance = np.maximum(chance, np.where(reached >= GIVES_AWAY, closed, 0.0))
    return chance


def _closed(reached: float, without: float) -> float:
    return (reached - without) / max(1 - without, 1e-9)


def _agreement(truth: Matrix, predicted: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]) -> Vector:
    """Of every prediction: the correlation with the ranks, or the share of right categories above the most frequent one."""
    if truth.shape[1] > 1:
        right = (predicted.argmax(axis=2) == truth.argmax(axis=1)[None]).mean(axis=1)
        most = float(truth.mean(axis=0).max())
        return np.asarray((right - most) / (1 - most))
    values = predicted[:, :, 0] - predicted[:, :, 0].mean(axis=1, keepdims=True)
    target = truth[:, 0] - truth[:, 0].mean()
    norms = np.sqrt((values**2).sum(axis=1) * (target**2).sum())
    return np.asarray(np.where(norms > 1e-12, values @ target / np.maximum(norms, 1e-12), 0.0))
