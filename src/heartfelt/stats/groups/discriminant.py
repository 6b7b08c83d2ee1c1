"""How well numbers tell groups apart: linear discriminant analysis, each point classified by the others.

Groups are normal with one covariance matrix and their own means, prior shares as in the sample (Fisher; Rao 1948). Every point is
classified by the means, shares and covariance (over n - groups) of all other points, which is exact leave-one-out, at a cost
linear in points: leaving one out changes one mean and adds a rank-one term to the covariance.

A group with a single point has no mean without it: that point cannot be classified right and counts as wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.stats.columns.triples import Ints

SINGULAR = "the numbers do not vary within groups, or one follows from the others"


def discriminant_leave_one_out(points: npt.NDArray[np.float64], group: Ints) -> Ints | str:
    """The group each row of ``points`` is classified into by the others, or why that cannot be done."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[0] != group.size or not np.isfinite(points).all():
        raise InputError("Points must be finite, one row per item.", "Leave out items with missing numbers first.")
    kinds = int(group.max()) + 1 if group.size else 0
    n, width = points.shape
    counts = np.bincount(group, minlength=kinds).astype(np.float64)
    if np.count_nonzero(counts) < 2:
        return "all items are in one group"
    if n - kinds - 1 < width:
        return f"{n} items are too few for {kinds} groups"
    sums = np.stack([np.bincount(group, points[:, d], minlength=kinds) for d in range(width)], axis=1)
    means = sums / np.maximum(counts, 1.0)[:, None]
    deviation = points - means[group]
    within = deviation.T @ deviation
    group_size = counts[group]
    single = group_size < 2
    gone = np.where(single, 0.0, group_size / np.maximum(group_size - 1, 1.0))
    covariance = within - gone[:, None, None] * deviation[:, :, None] * deviation[:, None, :]
    # Without a point of a group of one, one group fewer is estimated.
    covariance /= (n - 1 - (kinds - single))[:, None, None]
    scale = np.maximum(np.diag(within), 1e-300)
    condition = np.linalg.eigvalsh(within / np.sqrt(np.outer(scale, scale)))[0]
    if np.diag(within).min() <= 0 or condition < 1e-12:
        return SINGULAR
    inverse = np.linalg.pinv(covariance, hermitian=True)
    scores = np.empty((n, kinds))
    for k in range(kinds):
        in_group = group == k
        centre = np.broadcast_to(means[k], points.shape).copy()
        remaining = np.full(n, counts[k])
        remaining[in_group] -= 1
        centre[in_group] -= deviation[in_group] / np.maximum(counts[k] - 1, 1.0)
        offset = points - centre
        distance = np.einsum("ni,nij,nj->n", offset, inverse, offset)
        scores[:, k] = np.where(remaining > 0, np.log(np.maximum(remaining, 1e-300)) - 0.5 * distance, -np.inf)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)
