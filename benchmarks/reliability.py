"""Reliability: intraclass correlations, crossed variance components, split halves, beside pingouin and statsmodels.

Best CPU time of several warm runs, ours and the peer's in turn in one process; memory from a process of its own.
HEARTFELT_BENCH=full runs the peers at the size named (minutes); otherwise they get a smaller one, and the line says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.reliability import icc, split_half, variance_components

Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]
FULL = os.environ.get("HEARTFELT_BENCH") == "full"

_ALONE = """
import re, time
from pathlib import Path
from benchmarks.reliability import complete, sparse
from heartfelt.stats.reliability import icc, split_half, variance_components

columns = {columns}
begun = time.process_time(), time.perf_counter()
{call}
print(time.process_time() - begun[0], time.perf_counter() - begun[1], end=" ")
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**10)
"""


def complete(items: int, raters: int) -> Columns:
    rng = np.random.default_rng(1)
    item, rater = (a.ravel() for a in np.indices((items, raters)))
    value = rng.normal(size=items)[item] + rng.normal(0, 0.6, raters)[rater] + rng.normal(size=item.size)
    return rater, item, value


def sparse(ratings: int, items: int, raters: int) -> Columns:
    rng = np.random.default_rng(2)
    drawn = np.concatenate([np.arange(items), rng.integers(0, items, ratings - items)])
    pairs = np.unique(drawn * raters + rng.integers(0, raters, ratings))
    pairs = rng.permutation(pairs)
    item, rater = pairs // raters, pairs % raters
    value = rng.normal(size=items)[item] + rng.normal(0, 0.6, raters)[rater] + rng.normal(0, 1.4, item.size)
    return rater, item, value


def best(call: Callable[[], Any], runs: int = 5) -> float:
    call()
    results = []
    for _ in range(runs):
        begun = time.process_time()
        call()
        results.append(time.process_time() - begun)
    return min(results)


def once(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def line(what: str, ours: float, peer: float | None = None, note: str = "") -> None:
    text = f"{what:<62} {1000 * ours:>10.2f} ms"
    if peer is not None:
        text += f" {1000 * peer:>12.1f} ms {peer / ours:>9.0f}x"
    print(f"{text}  {note}".rstrip(), flush=True)


def correlations() -> None:
    import pandas as pd
    import pingouin

    for items, raters in ((100, 60), (1_200, 20)) + (((100_000, 10),) if FULL else ()):
        columns = complete(items, raters)
        table = pd.DataFrame(dict(zip(("rater", "item", "value"), columns, strict=True)))
        theirs = partial(pingouin.intraclass_corr, table, targets="item", raters="rater", ratings="value")
        name = f"ICC, six forms, complete, {items * raters:,} ratings"
        line(name, best(partial(icc, *columns)), once(theirs), "pingouin")
    if not FULL:
        line("ICC, six forms, complete, 1,000,000 ratings", best(partial(icc, *complete(100_000, 10)), 3))
    columns = sparse(6_000, 1_000, 110)
    line("ICC, six forms, incomplete, 6,000 ratings, jackknife", best(partial(icc, *columns)))
    line("split half, 6,000 ratings, 100 splits", best(partial(split_half, *columns)))
    line("ceiling, 6,000 ratings", best(partial(ceiling, *columns), 2))


def components() -> None:
    import pandas as pd
    import statsmodels.formula.api as sm

    def theirs(columns: Columns) -> None:
        table = pd.DataFrame(dict(zip(("rater", "item", "value"), columns, strict=True))).assign(all=1)
        parts = {"item": "0 + C(item)", "rater": "0 + C(rater)"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sm.mixedlm("value ~ 1", table, groups="all", re_formula="0", vc_formula=parts).fit(reml=True)

    whole, part = sparse(6_000, 1_000, 110), sparse(2_000, 330, 60)
    size = whole if FULL else part
    peer = once(partial(theirs, size))
    name = f"crossed components by REML, {size[0].size:,} ratings"
    line(f"{name}, profile intervals", best(partial(variance_components, *size)), peer, "statsmodels")
    line(f"{name}, delta intervals", best(partial(variance_components, *size, interval="delta")), peer)
    if not FULL:
        line("crossed components by REML, 6,000 ratings", best(partial(variance_components, *whole)))


def alone() -> None:
    """Big runs in a process of their own, for their memory."""
    big = "sparse(1_000_000, 160_000, 2_000)"
    for what, columns, call in (
        ("ICC, complete, 1,000,000 ratings", "complete(100_000, 10)", "icc(*columns)"),
        ("ICC, incomplete, 1,000,000 ratings, 2,000 raters", big, "icc(*columns)"),
        ("crossed components, 1,000,000 ratings, 2,000 raters", big, "variance_components(*columns)"),
        ("same, 10,000 raters (iterative)", "sparse(1_000_000, 160_000, 10_000)", "variance_components(*columns)"),
        ("split half, 1,000,000 ratings, 20 splits", big, "split_half(*columns, splits=20)"),
    ):
        code = _ALONE.format(columns=columns, call=call)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        cpu, wall, memory = map(float, done.stdout.split())
        note = f"{wall:.2f} s of wall time, {memory:.0f} MiB in all, first call in its process"
        line(what, cpu, None, note)


def main() -> None:
    print(f"{'':<62} {'ours':>13} {'peer':>15} {'ratio':>10}")
    correlations()
    components()
    alone()


if __name__ == "__main__":
    main()
