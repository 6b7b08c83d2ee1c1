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
    found = []
    for _ in range(runs):
        begun = time.process_time()
        call()
        found.append(time.process_time() - begun)
    return min(found)


def line(what: str, ours: float, peer: float | None = None, note: str = "") -> None:
    text = f"{what:<58} {1000 * ours:>10.2f} ms"
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

    for size, points in (
        ((24_000, 4_000, 200), 9),
        ((24_000, 4_000, 200), 101),
        ((1_000_000, 160_000, 2_000), 9),
    ):
        columns = ratings(size, points)
        rater, item, value = columns
        counts = value_counts(columns)
        for level in ("interval", "ordinal", "nominal"):
            name = f"alpha {level}, {size[0]:,} ratings, {points} values"
            peer = None
            if points < 100 or level == "interval":
                peer = best(
                    lambda c=counts, at=level: krippendorff.alpha(value_counts=c, level_of_measurement=at), 2
                )  # type: ignore[misc] # mypy cannot type a lambda's defaults
            line(
                f"{name}, no ids, no interval",
                best(lambda at=level: alpha(None, item, value, at, interval=None)),
                peer,
                "krippendorff, value counts" if peer else "",
            )  # type: ignore[misc]
            line(
                f"{name}, no interval",
                best(lambda at=level: alpha(rater, item, value, at, interval=None)),
                peer,
            )  # type: ignore[misc]
            line(f"{name}, as called", best(lambda at=level: alpha(rater, item, value, at), 3), peer)  # type: ignore[misc]
    quarter = ratings((250_000, 40_000, 2_000))
    matrix = np.full((2_000, 40_000), np.nan)
    matrix[quarter[0], quarter[1]] = quarter[2]
    peer = best(lambda: krippendorff.alpha(matrix), 1)
    ours = best(lambda: alpha(*quarter, interval=None))  # type: ignore[misc] # three columns
    line(
        "alpha interval, 250,000 ratings of 40,000 items",
        ours,
        peer,
        "krippendorff, matrix (a quarter of the full size)",
    )
    small = ratings((24_000, 4_000, 200))
    line(
        "alpha interval, 24,000 ratings, 1,000 bootstrap resamples",
        best(lambda: alpha(*small, interval=Interval("bootstrap")), 2),
    )  # type: ignore[misc]


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
    line(
        "mean kappa, 24,000 ratings, 200 raters, no interval",
        best(lambda: cohen_kappa(*columns, interval=None)),
        peer,
        note,
    )  # type: ignore[misc]
    line("mean kappa, 24,000 ratings, 200 raters, as called", best(lambda: cohen_kappa(*columns)), peer, note)  # type: ignore[misc]


def votes() -> None:
    from statsmodels.stats.inter_rater import aggregate_raters
    from statsmodels.stats.inter_rater import fleiss_kappa as peer_kappa

    columns = ratings((1_000_000, 160_000, 2_000))
    n = 160_000
    rng = np.random.default_rng(1)
    even = (np.tile(np.arange(6), n), np.repeat(np.arange(n), 6), rng.integers(1, 10, 6 * n))
    raw = even[2].reshape(n, 6)
    peer = best(lambda: peer_kappa(aggregate_raters(raw)[0]), 1)
    note = "statsmodels, from the votes"
    line(
        "Fleiss' kappa, 960,000 votes, no ids, no interval",
        best(lambda: fleiss_kappa(None, even[1], even[2], interval=None), 3),
        peer,
        note,
    )
    line("Fleiss' kappa, 960,000 votes, as called", best(lambda: fleiss_kappa(*even), 3), peer, note)  # type: ignore[misc]
    for statistic in (gwet_ac1, leave_one_out):
        line(f"{statistic.__name__}, 1,000,000 votes, as called", best(lambda f=statistic: f(*columns), 2))  # type: ignore[misc]


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
    print(f"{'':<58} {'ours':>13} {'peer':>15} {'ratio':>10}")
    alphas()
    kappas()
    votes()
    alone()


if __name__ == "__main__":
    main()
