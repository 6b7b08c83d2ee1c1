"""Category labels: how often the plurality of a small panel names what a large one would.

A label is the most frequent category among an item's ratings, tied categories sharing it equally. The
items' long-run category distributions are taken to be Dirichlet around the overall one, with the
concentration that reproduces the agreement of pairs of ratings on the same item (method of moments); each
item's own counts sharpen its distribution. The ceiling is the expected agreement of each item's long-run
most frequent category with the label of a fresh panel of the item's size. A single human is a rating
against the plurality of the item's other ratings.

Balanced accuracy averages, over the label categories, the share of each that is met. Range 0 to 1.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stats.triples import Floats, Ints

CategoryMetric: TypeAlias = Literal["accuracy", "balanced_accuracy"]
Counts: TypeAlias = npt.NDArray[np.float64]
BLOCK = 25_000


def category_counts(item: Ints, category: Ints, items: int, categories: int) -> Counts:
    """Ratings per item and category."""
    key = item * categories + category
    return np.bincount(key, minlength=items * categories).reshape(items, categories).astype(np.float64)


def shares_of_plurality(counts: Counts) -> Counts:
    """Weight of each category in the label: 1 for the most frequent, split among ties, 0 for the rest."""
    top = (counts == counts.max(axis=1, keepdims=True)).astype(np.float64)
    out: Counts = top / top.sum(axis=1, keepdims=True)
    return out


def score(confusion: Counts, metric: CategoryMetric) -> float | None:
    """Accuracy or balanced accuracy from weights of (label, answer)."""
    total = confusion.sum()
    if total <= 0:
        return None
    if metric == "accuracy":
        return float(np.trace(confusion) / total)
    rows = confusion.sum(axis=1)
    used = rows > 0
    return float(np.mean(np.diag(confusion)[used] / rows[used]))


def concentration(counts: Counts) -> tuple[Floats, float]:
    """Overall shares and Dirichlet concentration by moments, kept between 1e-3 and 1e6."""
    n = counts.sum(axis=1)
    base = counts.sum(axis=0) / counts.sum()
    pairs = float((n * (n - 1)).sum())
    observed = float((counts * (counts - 1)).sum()) / pairs if pairs > 0 else float(base @ base)
    expected = float(base @ base)
    rho = (observed - expected) / (1.0 - expected) if expected < 1.0 else 1.0
    rho = float(np.clip(rho, 1e-6, 1.0 - 1e-3))
    return base, (1.0 - rho) / rho


def noise_ceiling(
    counts: Counts, metric: CategoryMetric, draws: int, rng: np.random.Generator
) -> float | None:
    """Expected agreement of the long-run category with the label of a fresh panel, by simulation."""
    counts = counts[counts.sum(axis=1) > 0]
    if counts.shape[0] == 0:
        return None
    base, strength = concentration(counts)
    used = base > 0
    counts, base = counts[:, used], base[used]
    copies = max(1, min(BLOCK, draws) // counts.shape[0])
    block = np.tile(counts, (copies, 1))
    n = block.sum(axis=1).astype(np.int64)
    confusion = np.zeros((base.size, base.size))
    for _ in range(max(1, -(-draws // block.shape[0]))):
        gammas = rng.standard_gamma(strength * base + block) + 1e-300
        p = gammas / gammas.sum(axis=1, keepdims=True)
        label = shares_of_plurality(rng.multinomial(n, p).astype(np.float64))
        confusion += _by_answer(label, p.argmax(axis=1), base.size)
    return score(confusion, metric)


def human(item: Ints, category: Ints, counts: Counts, metric: CategoryMetric) -> float | None:
    """One rating against the plurality of the item's other ratings."""
    several = counts.sum(axis=1)[item] >= 2
    item, category = item[several], category[several]
    if item.size == 0:
        return None
    others = counts[item]
    others[np.arange(item.size), category] -= 1
    return score(_by_answer(shares_of_plurality(others), category, counts.shape[1]), metric)


def cell_plurality(counts: Counts, cells: Ints, metric: CategoryMetric, own: bool) -> float | None:
    """The most frequent label in the cell (without the item's own unless ``own``) against the label."""
    here = counts.sum(axis=1) > 0
    label, cell = shares_of_plurality(counts[here]), cells[here]
    size = np.bincount(cell)
    total = np.zeros((size.size, counts.shape[1]))
    np.add.at(total, cell, label)
    enough = size[cell] >= 2
    label, cell = label[enough], cell[enough]
    if label.shape[0] == 0:
        return None
    guess = shares_of_plurality(np.round(total[cell] - (0.0 if own else label), 9))
    return score(label.T @ guess, metric)


def _by_answer(label: Counts, answer: Ints, categories: int) -> Counts:
    out = np.zeros((categories, categories))
    for c in range(categories):
        out[:, c] = label[answer == c].sum(axis=0)
    return out
