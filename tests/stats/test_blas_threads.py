"""Linear algebra has one thread inside a fit, and afterwards as many as before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  so that its library is loaded and counted
from threadpoolctl import threadpool_info

from heartfelt.stats.compiled.blas_threads import one_blas_thread


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_one_thread_inside_and_as_many_as_before_after() -> None:
    before = threads()
    with one_blas_thread():
        with one_blas_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
    assert threads() == before


def test_errors_restore_the_threads() -> None:
    @one_blas_thread()
    def singular() -> None:
        np.linalg.inv(np.zeros((2, 2)))

    before = threads()
    with pytest.raises(np.linalg.LinAlgError):
        singular()
    assert threads() == before


def test_overlapping_contexts_of_several_threads_restore_them_too() -> None:
    before = threads()

    @one_blas_thread()
    def solve(seed: int) -> float:
        return float(np.linalg.det(np.random.default_rng(seed).normal(size=(60, 60))))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(solve, range(40)))
    assert found == [solve(seed) for seed in range(40)]
    assert threads() == before
