"""Variances of random intercepts alone, without tests or intervals: what plans need, many times over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from heartfelt.stats._paired import Column, coded
from heartfelt.stats.inference.mixed import MOST_WORK
from heartfelt.stats.inference.random_intercepts import TOO_LARGE, first_independent
from heartfelt.stats.reml import maximise
from heartfelt.stats.reml_blocks import Groups, arranged
from heartfelt.stats.triples import Ints, as_floats, id_array


def random_variances(
    outcome: Column, cells: Sequence[Ints], random: Mapping[str, Column], *, precision: float = 1e-6
) -> dict[str, float] | str:
    """Variances of random intercepts and of the residual, the means of cells held constant; or why they cannot be estimated.

    ``cells`` are codes of each row under one or more factors without interaction.
    """
    values = as_floats(outcome, "outcome")
    groups: Groups = {}
    for name, column in random.items():
        names, codes, _ = coded(id_array(column), name)
        groups[name] = (codes, len(names))
    parts = [np.ones((values.size, 1))]
    parts += [(codes[:, None] == np.arange(1, int(codes.max()) + 1)).astype(np.float64) for codes in cells]
    matrix = np.hstack(parts)
    matrix = np.ascontiguousarray(matrix[:, first_independent(matrix)])
    order = arranged(groups, matrix.shape[1])
    if order.work > MOST_WORK:
        return TOO_LARGE
    try:
        fit = maximise(order.system(values, matrix), [0.3] * len(groups), precision=precision)
    except np.linalg.LinAlgError:
        return "the ratings do not determine the variances"
    if fit.exact or not fit.converged:
        return "no maximum of the likelihood was found"
    return dict(zip([*order.groups, "residual"], fit.step.variances.tolist(), strict=True))
