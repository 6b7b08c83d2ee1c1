"""Agreement: alpha, kappa over rater pairs, Fleiss, beside krippendorff, scikit-learn and statsmodels.

Best CPU time of several warm runs, ours and the peer's in turn in one process; memory from a process of its own.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.stats.agreement import Interval, alpha, cohen_kappa, fleiss_kappa, gwet_ac1, leave_one_out

Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]

_ALONE = """
import re, time
from pathlib import Path
from benchmarks.agreement import ratings
from heartfelt.stats.agreement import alpha, cohen_kappa

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**20

columns = ratings({size})
for call in {calls}:
    eval(call)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    begun = time.process_time()
    eval(call)
    print(time.process_time() - begun, status("VmHWM") - before, status("VmHWM"))
"""


def ratings(size: tuple[int, int, int], points: int = 9) -> Columns:
    """About ``size[0]`` ratings of ``size[1]`` items by ``size[2]`` raters in random order, whole numbers throughout."""
    n, items, raters = size
    rng = np.random.default_rng(0)
    key = rng.integers(0, items * raters, n)
    key = rng.permutation(np.unique(key))
    item, rater = key // raters, key % raters
    value = points / 2 + points / 5 * (rng.normal(size=items)[item] + rng.normal(size=key.size))
    return rater, item, np.clip(np.round(value), 1, points).astype(np.int64)


def best(call: Callable[[], Any], runs: int = 7) -> float:
    """Least CPU seconds of several runs after one to warm up."""
    call()
    results = []
    for _ in range(runs):
        begun = time.process_time()
        call()
        results.append(time.process_time() - begun)
    return min(results)


def line(what: str, ours: float, peer: float | None = None, note: str = "") -> None:
    text = f"{what:<64} {1000 * ours:>10.2f} ms"
    if peer is not None:
        text += f" {1000 * peer:>12.1f} ms {peer / ours:>9.0f}x"
    print(f"{text}  {note}".rstrip(), flush=True)


def value_counts(columns: Columns) -> npt.NDArray[np.int64]:
    _, item, value = columns
    table = np.zeros((int(item.max()) + 1, int(value.max()) + 1), dtype=np.int64)
    np.add.at(table, (item, value), 1)
    return table


def alphas() -> None:
    import krippendorff

    small, full = (24_000, 4_000, 200), (1_000_000, 160_000, 2_000)
    for size, points in ((small, 9), (small, 101), (full, 9)):
        columns = ratings(size, points)
        counts = value_counts(columns)
        for level in ("interval", "ordinal", "nominal"):
            name = f"alpha {level}, {size[0]:,} ratings, {points} values"
            theirs = partial(krippendorff.alpha, value_counts=counts, level_of_measurement=level)
            peer = best(theirs, 2) if points < 100 or level == "interval" else None
            unnamed = partial(alpha, None, *columns[1:], level, interval=None)
            line(f"{name}, no ids, no interval", best(unnamed), peer, "krippendorff, value counts" if peer else "")
            line(f"{name}, no interval", best(partial(alpha, *columns, level, interval=None)), peer)
            line(f"{name}, as called", best(partial(alpha, *columns, level), 3), peer)
    part = ratings((125_000, 20_000, 2_000))
    matrix = np.full((2_000, 20_000), np.nan)
    matrix[part[0], part[1]] = part[2]
    peer = best(partial(krippendorff.alpha, matrix), 1)
    ours = best(partial(alpha, *part, interval=None))
    line("alpha interval, 125,000 ratings", ours, peer, "krippendorff, matrix (an eighth of the full size)")
    resampled = partial(alpha, *ratings(small), interval=Interval(method="bootstrap"))
    line("alpha interval, 24,000 ratings, 1,000 resamples", best(resampled, 1))


def kappas() -> None:
    from sklearn.metrics import cohen_kappa_score

    columns = ratings((24_000, 4_000, 200))
    rater, item, value = columns
    mine = [dict(zip(item[rater == r].tolist(), value[rater == r].tolist(), strict=True)) for r in range(200)]
    pairs = list(itertools.combinations(range(200), 2))[::20]

    def loop() -> None:
        for a, b in pairs:
            both = mine[a].keys() & mine[b].keys()
            if len(both) > 1:
                cohen_kappa_score([mine[a][i] for i in both], [mine[b][i] for i in both])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = 20 * best(loop, 1)
    note = "scikit-learn, from every 20th pair"
    name = "mean kappa, 24,000 ratings, 200 raters"
    line(f"{name}, no interval", best(partial(cohen_kappa, *columns, interval=None)), peer, note)
    line(f"{name}, as called", best(partial(cohen_kappa, *columns)), peer, note)


def votes() -> None:
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as peer_kappa

    n = 160_000
    cast = np.random.default_rng(1).integers(1, 10, (n, 6))
    even = (np.tile(np.arange(6), n), np.repeat(np.arange(n), 6), cast.ravel())
    peer = best(lambda: peer_kappa(aggregate_raters(cast)[0]), 1)
    note = "statsmodels, from the votes"
    unnamed = partial(fleiss_kappa, None, *even[1:], interval=None)
    line("Fleiss' kappa, 960,000 votes, no ids, no interval", best(unnamed, 3), peer, note)
    line("Fleiss' kappa, 960,000 votes, as called", best(partial(fleiss_kappa, *even), 3), peer, note)
    columns = ratings((1_000_000, 160_000, 2_000))
    line("Gwet's AC1, 1,000,000 votes, as called", best(partial(gwet_ac1, *columns), 2))
    line("leave one out, 1,000,000 votes, as called", best(partial(leave_one_out, *columns), 2))


def alone() -> None:
    """Big runs in a process of their own, for their memory."""
    for what, size, function in (
        ("alpha interval, 10,000,000 ratings", (10_000_000, 1_600_000, 20_000), "alpha"),
        ("mean kappa, 1,000,000 ratings", (1_000_000, 160_000, 2_000), "cohen_kappa"),
    ):
        calls = (f"{function}(*columns, interval=None)", f"{function}(*columns)")
        code = _ALONE.format(size=size, calls=calls)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for kind, row in zip(("no interval", "as called"), done.stdout.splitlines(), strict=True):
            seconds, extra, held = map(float, row.split())
            line(f"{what}, {kind}", seconds, None, f"{extra:.2f} GiB beyond the ratings, {held:.2f} in all")


def main() -> None:
    print(f"{'':<64} {'ours':>13} {'peer':>15} {'ratio':>10}")
    alphas()
    kappas()
    votes()
    alone()


if __name__ == "__main__":
    main()
