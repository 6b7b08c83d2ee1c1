"""Reading: a long CSV of ten million rows into a snapshot, beside a bare Polars copy of the same file; import time.

Each figure comes from a process of its own, so that peak memory is that step's alone; both read the same file in turn.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 10_000_000
ROUNDS = 3

_BARE = """
import polars as pl
pl.scan_csv(SOURCE).sink_parquet(TARGET)
"""
_OURS = """
import heartfelt
heartfelt.read(SOURCE, "long").write(TARGET)
"""
_MEASURE = """
import resource, time, shutil, sys
SOURCE, TARGET = sys.argv[1:3]
import polars
begun = time.perf_counter()
{code}
print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def measured(code: str, source: Path, target: Path) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE.format(code=code), str(source), str(target)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, gib = done.stdout.split()
    return float(seconds), float(gib)


def import_milliseconds() -> float:
    def once() -> float:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "import heartfelt"], capture_output=True, text=True, check=True
        )
        result = re.findall(r"\|\s+(\d+) \|\s+heartfelt$", done.stderr, re.MULTILINE)
        return int(result[-1]) / 1000

    return statistics.median(once() for _ in range(5))


def main() -> None:
    from heartfelt.simulate import long_csv

    print(f"import heartfelt: {import_milliseconds():.0f} ms (median of 5, -X importtime)")
    with tempfile.TemporaryDirectory() as space:
        source = Path(space) / "ratings.csv"
        long_csv(source, ROWS, per_rater=1000, per_stimulus=30, seed=1)
        print(f"{ROWS:,} rows, {source.stat().st_size / 2**20:,.0f} MiB of CSV; best of {ROUNDS} rounds, in turn")
        bare, ours = [], []
        for place in range(ROUNDS):
            bare.append(measured(_BARE, source, Path(space) / f"bare{place}.parquet"))
            ours.append(measured(_OURS, source, Path(space) / f"ours{place}"))
        (slow, _), (quick, held) = min(bare), min(ours)
        print(f"bare scan_csv.sink_parquet: {slow:.2f} s   heartfelt.read(...).write(...): {quick:.2f} s")
        print(f"speed against the bare copy: {slow / quick:.2f} (wanted: at least 0.50)")
        print(f"resident: {held:.2f} GiB (wanted: under 2)")
