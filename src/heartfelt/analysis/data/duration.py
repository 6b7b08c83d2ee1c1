"""How long the analysis of a large table will take, roughly, so that people know whether to wait for it.

The time is proportional to the answers; what a question costs depends on its scale and on how many people rated what, so the
figure may be off by half. It is that of two cores on which a stable sort of 200,000 numbers takes ``SORT_SECONDS``, scaled
to this machine by timing the same sort.
"""

from __future__ import annotations

import time

import numpy as np

LEAST_ANSWERS = 300_000
SECONDS_TO_START = 4.0
SECONDS_PER_ANSWER = 18e-6
SORT_SECONDS = 0.017


def sort_seconds() -> float:
    """What the reference sort takes here, the quickest of three."""
    numbers = np.random.default_rng(0).random(200_000)
    durations = []
    for _ in range(3):
        begun = time.perf_counter()
        np.argsort(numbers, kind="stable")
        durations.append(time.perf_counter() - begun)
    return min(durations)


def expected_seconds(answers: int, sort: float = SORT_SECONDS) -> float:
    """Seconds from reading the ratings to the report, where the reference sort takes ``sort`` seconds."""
    return (SECONDS_TO_START + SECONDS_PER_ANSWER * answers) * sort / SORT_SECONDS


def time_estimate(answers: int) -> str | None:
    """A line such as ``1,200,000 ratings: about 25 s on this machine``; None for a table that takes less than that."""
    if answers < LEAST_ANSWERS:
        return None
    seconds = expected_seconds(answers, sort_seconds())
    length = f"{5 * round(seconds / 5):,} s" if seconds < 100 else f"{seconds / 60:,.0f} min"
    return f"{answers:,} ratings: about {length} on this machine"
