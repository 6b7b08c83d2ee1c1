"""Aggregation: P.910, BT.500 and Dawid-Skene, beside sureal and crowd-kit.

Best CPU time of several warm runs; memory from a process of its own. The peers want an older NumPy: set PEERS_PYTHON to
an interpreter that has sureal 0.9 and crowd-kit 1.4, and they run there on the same ratings. HEARTFELT_BENCH=full gives
crowd-kit the million ratings too; sureal's dense arrays do not hold them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats import aggregate

Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]
FULL = os.environ.get("HEARTFELT_BENCH") == "full"
PEERS = os.environ.get("PEERS_PYTHON")
ITERATIONS = 50

_SUREAL = """
import contextlib, io, sys, time, types, warnings
import numpy as np
from sureal.dataset_reader import RawDatasetReader
from sureal import subjective_model as models
warnings.simplefilter("ignore")
rater, item, value = np.load(sys.argv[1])["columns"]
scores = [{} for _ in range(int(item.max()) + 1)]
for r, i, v in zip(rater.astype(int), item.astype(int), value):
    scores[i]["s%05d" % r] = float(v)
clips = [{"content_id": 0, "asset_id": i, "path": str(i), "os": s} for i, s in enumerate(scores)]
data = types.SimpleNamespace(dataset_name="x", yuv_fmt="yuv420p", width=1, height=1,
    ref_videos=[{"content_id": 0, "content_name": "c", "path": "r"}], dis_videos=clips)
def run():
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        getattr(models, sys.argv[2])(RawDatasetReader(data)).run_modeling()
"""
_CROWD = """
import sys, time, warnings
import numpy as np, pandas as pd
from crowdkit.aggregation import DawidSkene
warnings.simplefilter("ignore")
rater, item, value = np.load(sys.argv[1])["columns"].astype(int)
table = pd.DataFrame({"worker": rater, "task": item, "label": value})
def run():
    DawidSkene(n_iter=int(sys.argv[2]), tol=-1e300).fit(table)
"""
_TIME = """
found = []
for _ in range(int(sys.argv[3])):
    begun = time.process_time()
    run()
    found.append(time.process_time() - begun)
print(min(found))
"""
_ALONE = """
import re, time
from pathlib import Path
from benchmarks.aggregate import alike, categories, ratings
from heartfelt.stats import aggregate

columns = {columns}
begun = time.process_time(), time.perf_counter()
{call}
print(time.process_time() - begun[0], time.perf_counter() - begun[1], end=" ")
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**10)
"""


def pairs_of(count: int, items: int, raters: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    drawn = np.concatenate([np.arange(items), rng.integers(0, items, count - items)])
    return rng.permutation(np.unique(drawn * raters + rng.integers(0, raters, count)))


def ratings(count: int, items: int, raters: int, differ: float = 0.4) -> Columns:
    """Nine-point ratings by raters whose noise differs by up to that share either way."""
    rng = np.random.default_rng(1)
    pairs = pairs_of(count, items, raters, rng)
    item, rater = pairs // raters, pairs % raters
    spread = rng.uniform(1.0 - differ, 1.0 + differ, raters)[rater]
    value = rng.normal(size=items)[item] + rng.normal(0, 0.5, raters)[rater] + spread * rng.normal(size=item.size)
    return rater, item, np.clip(np.round(5 + 1.5 * value), 1, 9)


def alike(count: int, items: int, raters: int) -> Columns:
    return ratings(count, items, raters, 0.0)


def categories(count: int, items: int, raters: int) -> Columns:
    rng = np.random.default_rng(2)
    pairs = pairs_of(count, items, raters, rng)
    item, rater = pairs // raters, pairs % raters
    right = rng.random(item.size) < rng.uniform(0.4, 0.9, raters)[rater]
    answer = np.where(right, rng.integers(0, 5, items)[item], rng.integers(0, 5, item.size))
    return rater, item, answer.astype(np.float64)


def best(call: Callable[[], Any], runs: int = 5) -> float:
    call()
    results = []
    for _ in range(runs):
        begun = time.process_time()
        call()
        results.append(time.process_time() - begun)
    return min(results)


def peer(code: str, columns: Columns, option: str, runs: int) -> float | None:
    """The peer's best time on the same ratings, or None where there is no interpreter for it."""
    if not PEERS:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "columns.npz"
        np.savez(path, columns=np.vstack(columns))
        command = [PEERS, "-c", code + _TIME, str(path), option, str(runs)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def line(what: str, ours: float, theirs: float | None = None, note: str = "") -> None:
    text = f"{what:<56} {1000 * ours:>10.2f} ms"
    if theirs is not None:
        text += f" {1000 * theirs:>12.1f} ms {theirs / ours:>9.0f}x"
    print(f"{text}  {note}".rstrip(), flush=True)


def opinion_scores() -> None:
    for size in ((6_000, 1_000, 110), (24_000, 4_000, 200)):
        for what, columns in (("raters alike", alike(*size)), ("raters differ", ratings(*size))):
            theirs = peer(_SUREAL, columns, "SubjectMLEModelProjectionSolver", 2)
            steps = aggregate.p910(*columns).iterations
            ours = best(partial(aggregate.p910, *columns))
            line(f"P.910, {size[0]:,} ratings, {what}, {steps} iterations", ours, theirs, "sureal")
        theirs = peer(_SUREAL, columns, "SubjrejMosModel", 2)
        line(f"BT.500, {size[0]:,} ratings", best(partial(aggregate.bt500, *columns)), theirs, "sureal")


def dawid_skene() -> None:
    sizes = [(6_000, 1_000, 110), (24_000, 4_000, 200)] + ([(1_000_000, 160_000, 2_000)] if FULL else [])
    for size in sizes:
        columns = categories(*size)
        call = partial(aggregate.dawid_skene, *columns, tolerance=0.0, limit=ITERATIONS)
        theirs = peer(_CROWD, columns, str(ITERATIONS), 1)
        line(f"Dawid-Skene, {size[0]:,} ratings, {ITERATIONS} iterations", best(call, 3), theirs, "crowd-kit")


def alone() -> None:
    """Big runs in a process of their own, for their memory."""
    size = "(1_000_000, 160_000, 2_000)"
    steps = f"tolerance=0.0, limit={ITERATIONS}"
    for name, columns, call in (
        ("mean", "ratings", "mean(*columns)"),
        ("median", "ratings", "median(*columns)"),
        ("mode", "ratings", "mode(*columns)"),
        ("BT.500", "ratings", "bt500(*columns)"),
        ("P.913", "ratings", "p913(*columns)"),
        ("P.910, raters alike", "alike", "p910(*columns)"),
        ("P.910, raters differ, with leverage", "ratings", "p910(*columns, leverage=True)"),
        ("P.910, raters differ, runs off to its limit", "ratings", "p910(*columns)"),
        (f"Dawid-Skene, {ITERATIONS} iterations", "categories", f"dawid_skene(*columns, {steps})"),
    ):
        code = _ALONE.format(columns=columns + size, call="aggregate." + call)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        cpu, wall, memory = map(float, done.stdout.split())
        note = f"{wall:.2f} s of wall time, {memory:.0f} MiB in all, first call in its process"
        line(f"{name}, 1,000,000 ratings", cpu, None, note)


def main() -> None:
    print(f"{'':<56} {'ours':>13} {'peer':>15} {'ratio':>10}")
    if not PEERS:
        print("PEERS_PYTHON is not set: sureal and crowd-kit are left out")
    opinion_scores()
    dawid_skene()
    alone()


if __name__ == "__main__":
    main()
