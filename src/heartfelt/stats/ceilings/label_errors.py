"""How likely the label of an item is not the category that most people would choose, given the votes.

Of a few votes the winner may be the wrong one. A mixture of category distributions describes the votes of all items
(:mod:`heartfelt.stats.ceilings.vote_mixture`); of some of them it is fitted anew, from these weights, by expectation and
maximisation. An item's chance of a wrong label is that of the distributions whose largest share belongs to another category.
Votes against a label say something else: three in ten of a hundred people may disagree with a label that is certainly right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.stats.ceilings.vote_mixture import Matrix, fit_votes, votes_likelihood
from heartfelt.stats.columns.triples import Floats, Ints
from heartfelt.stats.prediction.part_and_rest import Flags

STEPS = 50
_FLOOR = 0.1
"""The share of the best weights in those a fit begins with; the rest are nearly as likely and more even."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelErrors:
    """The mixture of the votes of some items, and what each says of every item."""

    likelihood: Matrix
    """Of every kind of votes, under each distribution."""
    kind: Ints
    """Which kind each item's votes are."""
    right: Matrix
    """For each kind and label that occur together, which distributions make the label right."""
    pair: Ints
    """Which pair of kind and label each item is."""
    kind_of_pair: Ints
    weights: Floats

    @classmethod
    def of(cls, counts: Matrix, label: Ints) -> LabelErrors:
        points, mixture = fit_votes(counts)
        weights = (1 - _FLOOR) * mixture.spread / mixture.spread.sum() + _FLOOR * mixture.weights
        rows, kind = np.unique(counts, axis=0, return_inverse=True)
        pairs, pair = np.unique(np.column_stack([kind, label]), axis=0, return_inverse=True)
        largest = points >= points.max(axis=1, keepdims=True) - 1e-9
        # Where two categories share the lead, either label is half right.
        shares = largest / largest.sum(axis=1, keepdims=True)
        likelihood = votes_likelihood(rows, points)
        return cls(
            likelihood=likelihood,
            kind=kind.astype(np.int64),
            right=shares[:, pairs[:, 1]].T,
            pair=pair.astype(np.int64),
            kind_of_pair=pairs[:, 0],
            weights=weights,
        )

    def chances(self, items: Flags) -> Floats:
        """The chance of a wrong label of each of these items, from the votes of all of them."""
        times = np.bincount(self.kind[items], minlength=len(self.likelihood)).astype(np.float64)
        present, weights = times > 0, self.weights
        likelihood, times = self.likelihood[present], times[present]
        for _ in range(STEPS):
            weights = weights * ((times / (likelihood @ weights)) @ likelihood) / times.sum()
        joint = self.likelihood * weights
        below = np.maximum(joint.sum(axis=1), 1e-300)
        right = np.einsum("pk,pk->p", joint[self.kind_of_pair], self.right) / below[self.kind_of_pair]
        return np.asarray(np.clip(1 - right[self.pair[items]], 0.0, 1.0))
