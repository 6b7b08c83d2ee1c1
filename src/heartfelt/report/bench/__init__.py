"""A bench: models asked and scored, with a page of leaderboard, ceilings, scatter, misses, calibration and slices."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartfelt.report.bench.bench import Bench, BenchOptions, run_bench
    from heartfelt.report.bench.page import bench_page
    from heartfelt.report.bench.told import Told
    from heartfelt.report.bench.write import write_bench

__all__ = ["Bench", "BenchOptions", "Told", "bench_page", "run_bench", "write_bench"]

_HOMES = {
    "Bench": "bench",
    "BenchOptions": "bench",
    "Told": "told",
    "bench_page": "page",
    "run_bench": "bench",
    "write_bench": "write",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(f"heartfelt.report.bench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'heartfelt.report.bench' has no attribute '{name}'")
