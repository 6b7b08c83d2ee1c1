"""How often labels of a few votes are wrong: near the truth, whatever parts the votes come from."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.scoring.comparison.part_errors import ModelErrors, part_errors
from heartfelt.scoring.results.parts import PartError
from heartfelt.stats.ceilings.label_errors import LabelErrors
from heartfelt.stats.columns.triples import Floats, Ints


def voted(rng: np.random.Generator, clear: Floats, votes: Ints, categories: int) -> tuple[Floats, Ints, Ints, Ints]:
    """Votes, labels, what most people would say and which items these are; items without a winner have no label."""
    true = rng.integers(0, categories, clear.size)
    shares = np.repeat(((1 - clear) / (categories - 1))[:, None], categories, axis=1)
    shares[np.arange(clear.size), true] = clear
    counts = np.array([rng.multinomial(n, row) for n, row in zip(votes, shares, strict=True)], np.float64)
    ordered = np.sort(counts, axis=1)
    labelled = np.flatnonzero(ordered[:, -1] > ordered[:, -2])
    return counts[labelled], counts[labelled].argmax(axis=1), true[labelled], labelled


def compared(
    rng: np.random.Generator, clear: tuple[float, float], votes: tuple[int, int], wrong: float, categories: int = 2
) -> tuple[PartError, float]:
    """A part of 60 of 140 items, of a model that is ``wrong`` as often in both; and the share of wrong labels in the part."""
    first = np.arange(140) < 60
    counts, label, true, kept = voted(rng, np.where(first, *clear), np.where(first, *votes), categories)
    off = rng.integers(1, categories, kept.size)
    said = np.where(rng.random(kept.size) < wrong, (true + off) % categories, true)
    names = ["a" if inside else "b" for inside in first[kept]]
    rows = part_errors(
        ModelErrors(
            model="m",
            task="t",
            wrong=(said != label).astype(np.float64),
            noise=None,
            stimulus=np.arange(kept.size),
            squared=False,
            label_errors=LabelErrors.of(counts, label),
            categories=categories,
        ),
        {"part": names},
        0.95,
    )
    return rows[0], float(np.mean((label != true)[first[kept]]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clear", "votes", "wrong", "categories"),
    [
        ((0.97, 0.72), (9, 9), 0.0, 2),
        ((0.72, 0.97), (9, 9), 0.25, 2),
        ((0.75, 0.75), (3, 9), 0.25, 2),
        ((0.9, 0.5), (7, 7), 0.2, 4),
    ],
    ids=["right everywhere", "ambiguous clips", "fewer votes", "four categories"],
)
def test_a_part_where_raters_agree_less_is_not_where_a_model_fails(
    clear: tuple[float, float], votes: tuple[int, int], wrong: float, categories: int
) -> None:
    rng = np.random.default_rng([7, *votes, categories, round(100 * wrong)])
    rows = [compared(rng, clear, votes, wrong, categories) for _ in range(60)]
    assert sum((row.p or 1.0) < 0.05 for row, _ in rows) <= 8
    noise = np.mean([row.from_noise or 0.0 for row, _ in rows])
    assert noise == pytest.approx(float(np.mean([of_labels for _, of_labels in rows])), abs=0.07)
    assert np.mean([row.beyond or 0.0 for row, _ in rows]) == pytest.approx(wrong, abs=0.1)


def test_a_model_that_fails_in_a_part_is_named() -> None:
    rng, found = np.random.default_rng(8), 0
    for _ in range(20):
        first = np.arange(140) < 60
        counts, label, true, kept = voted(rng, np.full(140, 0.8), np.full(140, 7), 2)
        said = np.where(rng.random(kept.size) < np.where(first[kept], 0.5, 0.1), 1 - true, true)
        rows = part_errors(
            ModelErrors(
                model="m", task="t", wrong=(said != label).astype(np.float64), noise=None, stimulus=np.arange(kept.size),
                squared=False, label_errors=LabelErrors.of(counts, label),
            ),
            {"part": ["a" if inside else "b" for inside in first[kept]]}, 0.95,
        )  # fmt: skip
        found += rows[0].differs and (rows[0].excess.value or 0.0) > 0
    assert found >= 18
