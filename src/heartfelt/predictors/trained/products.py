"""Products of tables that one clip is described by, on one thread.

The linear algebra library starts threads even for one row, and these then wait for more work, using a processor, longer than the
whole prediction of a clip takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_SMALL = 1 << 20
"""From this many multiplications on, threads are worth it: in training, not in predicting."""


def product(rows: npt.NDArray[Any], matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``rows @ matrix``; the same numbers up to rounding."""
    if rows.size * matrix.shape[1] > _SMALL:
        return np.asarray(rows @ matrix)
    return np.asarray(np.einsum("ij,jk->ik", rows, matrix))
