"""How often stimuli are perceived as intended: tables of intended against perceived, and what chance alone would give.

By chance means that the intents are reassigned at random among the stimuli of each system: every system keeps its
intents and keeps what was perceived, but which belongs to which is random. The expected share is exact. The p-value
is one-sided, from 1,999 such reassignments (up to 2,000 stimuli), else from the normal distribution with their exact
variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from heartfelt.analysis.results import Chance, Confusion
from heartfelt.stats.triples import Ints, code
from heartfelt.streams import stream

DRAWS = 1999
MOST_DRAWN = 2000
METHOD = "intents reassigned at random within systems"


def confusion(rows: Sequence[str], columns: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Confusion:
    """How many stimuli of each intended name (rows) were perceived as which (columns)."""
    counts = [[0] * len(columns) for _ in rows]
    row_of, column_of = ({name: at for at, name in enumerate(names)} for names in (rows, columns))
    for intended, perceived in pairs:
        counts[row_of[intended]][column_of[perceived]] += 1
    return Confusion(
        tuple(columns),
        tuple(rows),
        tuple(columns),
        tuple(map(tuple, counts)),
        tuple(tuple(n / sum(row) if sum(row) else None for n in row) for row in counts),
    )


def chance_of_hits(
    intended: Sequence[str], perceived: Sequence[str | None], system: Sequence[str | None], seed: int
) -> Chance | None:
    """Chance for stimuli with these intended and perceived names; None where there are no stimuli."""
    if not intended:
        return None
    names = {
        name: place for place, name in enumerate(dict.fromkeys([*intended, *(p or "" for p in perceived)]))
    }
    a = np.array([names[name] for name in intended], np.int64)
    b = np.array([names[name] if name else -1 for name in perceived], np.int64)
    group = code([name or "" for name in system]).codes
    expected, variance = _moments(a, b, group, len(names))
    hits = int(np.count_nonzero(a == b))
    share = expected / a.size
    if variance <= 1e-12:
        return Chance(share, None, METHOD, "every reassignment of the intents gives the same number of hits")
    if a.size > MOST_DRAWN:
        from scipy.special import ndtr

        return Chance(share, float(ndtr(-(hits - 0.5 - expected) / math.sqrt(variance))), f"{METHOD}, normal")
    return Chance(share, _drawn(a, b, group, hits, seed), METHOD)


def _moments(a: Ints, b: Ints, group: Ints, size: int) -> tuple[float, float]:
    """Mean and variance of the hits over all reassignments (Hoeffding 1951)."""
    mean, variance = 0.0, 0.0
    for place in range(int(group.max()) + 1):
        mine = group == place
        n = int(np.count_nonzero(mine))
        meant = np.bincount(a[mine], minlength=size).astype(np.float64)
        seen = np.bincount(b[mine][b[mine] >= 0], minlength=size).astype(np.float64)
        both = float(meant @ seen)
        mean += both / n
        if n > 1:
            other = np.append(seen, n - seen.sum())
            apart = np.eye(size, size + 1) - (seen / n)[:, None] - np.append(meant, 0.0) / n + both / n**2
            variance += float(meant @ apart**2 @ other) / (n - 1)
    return mean, variance


def _drawn(a: Ints, b: Ints, group: Ints, hits: int, seed: int) -> float:
    rng = stream(seed, "analysis", "chance of hits")
    counted = np.zeros(DRAWS, np.int64)
    for place in range(int(group.max()) + 1):
        mine = np.flatnonzero(group == place)
        drawn = rng.permuted(np.broadcast_to(a[mine], (DRAWS, mine.size)), axis=1)
        counted += np.count_nonzero(drawn == b[mine], axis=1)
    return (1 + int(np.count_nonzero(counted >= hits))) / (1 + DRAWS)
