"""Analysing: ``heartfelt analyze`` on four sizes of study, with time and peak memory of a process of its own.

``python -m benchmarks.analyzing crowd`` runs one of them. Each is a CSV with planted item, rater and system effects; the
figures cover reading it, the analysis and writing the report.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

SYSTEMS = np.array(["north", "south", "east", "west", "centre"])
MIKELS = np.array(["amusement", "anger", "awe", "contentment", "disgust", "excitement", "fear", "sadness"])


def _nine_points(rng: np.random.Generator, rater: Ints, item: Ints) -> Ints:
    items, raters = int(item.max()) + 1, int(rater.max()) + 1
    value = 5 + 1.2 * rng.normal(size=items)[item] + 0.6 * rng.normal(size=raters)[rater]
    value = value + 0.3 * (item % SYSTEMS.size) + 1.3 * rng.normal(size=item.size)
    points: Ints = np.clip(np.rint(value), 1, 9).astype(np.int64)
    return points


def _assigned(rng: np.random.Generator, items: int, raters: int, each: int) -> tuple[Ints, Ints]:
    """Raters and items: blocks of ``each`` raters, shifted so that nobody meets an item twice."""
    item = np.repeat(np.arange(items), each)
    first = rng.integers(0, raters, items)
    step = rng.integers(1, max(raters // each, 2), items)
    rater = (first[item] + step[item] * np.tile(np.arange(each), items)) % raters
    return rater, item


def _frame(rater: Ints, item: Ints, answers: Mapping[str, npt.NDArray[Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "rater": [f"r{r:05d}" for r in rater],
            "stimulus": [f"s{i:06d}" for i in item],
            "system": SYSTEMS[item % SYSTEMS.size],
            **answers,
        }
    )


def twelve(path: Path) -> list[str]:
    """12,000 ratings: 1,000 stimuli, six raters each, two questions, 100 raters."""
    rng = np.random.default_rng(5)
    rater, item = _assigned(rng, 1_000, 100, 6)
    answers = {name: _nine_points(rng, rater, item) for name in ("pleasant", "intense")}
    _frame(rater, item, answers).write_csv(path)
    return ["--map", "value=pleasant,intense", "--map", "scale=1-9"]


def crowd(path: Path) -> list[str]:
    """22,000 ratings of 1,100 stimuli by 280 raters on a nine-point scale."""
    rng = np.random.default_rng(1)
    rater, item = _assigned(rng, 1_100, 280, 20)
    _frame(rater, item, {"pleasant": _nine_points(rng, rater, item)}).write_csv(path)
    return ["--map", "value=pleasant", "--map", "scale=1-9"]


def million(path: Path) -> list[str]:
    """1.2 million ratings: 100,000 stimuli, six raters each, two questions, 1,200 raters."""
    rng = np.random.default_rng(2)
    rater, item = _assigned(rng, 100_000, 1_200, 6)
    answers = {name: _nine_points(rng, rater, item) for name in ("pleasant", "intense")}
    _frame(rater, item, answers).write_csv(path)
    return ["--map", "value=pleasant,intense", "--map", "scale=1-9"]


def images(path: Path) -> list[str]:
    """160,000 images, three raters each, two numbers and one of eight emotions."""
    rng = np.random.default_rng(3)
    rater, item = _assigned(rng, 160_000, 300, 3)
    answers = {name: (_nine_points(rng, rater, item) - 1) / 8 for name in ("valence", "arousal")}
    true = rng.integers(0, 8, 160_000)[item]
    emotion = np.where(rng.random(item.size) < 0.6, true, rng.integers(0, 8, item.size))
    _frame(rater, item, answers | {"emotion": MIKELS[emotion]}).write_csv(path)
    categories = "|".join(MIKELS)
    return [
        *("--map", "value=valence,arousal,emotion", "--map", "scale=numeric:0-1"),
        *("--map", f"scale.emotion=categories:{categories}"),
    ]


SIZES: dict[str, Callable[[Path], list[str]]] = {"twelve": twelve, "crowd": crowd, "million": million, "images": images}


def measured(name: str) -> tuple[float, float, float]:
    """Seconds of wall and CPU time and peak memory in GiB of one ``heartfelt analyze``."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "ratings.csv"
        options = SIZES[name](source)
        command = [sys.executable, "-m", "heartfelt", "analyze", str(source), "-f", "long", *options]
        begun = time.perf_counter()
        child = subprocess.Popen([*command, "--out", str(Path(folder) / "out")], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"analyze ended with status {child.returncode}")
        return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def main() -> None:
    print(f"{'':<90} {'wall':>8} {'CPU':>8} {'memory':>10}")
    for name in [word for word in sys.argv[1:] if word in SIZES] or SIZES:
        wall, cpu, memory = measured(name)
        print(f"{SIZES[name].__doc__!s:<90} {wall:>6.1f} s {cpu:>6.1f} s {memory:>6.2f} GiB", flush=True)


if __name__ == "__main__":
    main()
