"""One thread for the linear algebra of small equations.

A fit factorises the same few hundred equations hundreds of times. The threads of OpenBLAS spend more time waiting for one another
than solving them: five times the seconds on two cores. Inside ``one_blas_thread`` they are switched off, and afterwards
there are as many as before. The limit holds for the whole process: where contexts overlap, nested or in several threads,
the first sets and lifts it, and the others do nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_LIMITED = threading.Lock()
"""Held while the limit is set."""


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  NumPy's and SciPy's own libraries must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context, or a decorator, in which linear algebra has one thread; may be nested."""
    if not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.release()
