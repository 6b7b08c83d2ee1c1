"""A bench: predictors asked and scored, with a page of leaderboard, ceilings, scatter, misses, calibration and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.report.bench.page import bench_page
    from heartfelt.report.bench.write import run_bench, write_bench

__all__ = ["bench_page", "run_bench", "write_bench"]

__getattr__ = on_demand(__name__, {"page": ("bench_page",), "write": ("run_bench", "write_bench")})
