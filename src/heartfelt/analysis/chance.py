"""How often stimuli would land where they were meant to by chance alone, and whether they land there more often.

Chance is what remains when the intents are dealt out anew among the stimuli of each system: every system keeps its intents
and keeps what was perceived, but which belongs to which is left to chance. The expected share is exact. The p-value is
one-sided, from 1,999 such deals (up to 2,000 stimuli), else from the normal distribution with the deals' exact variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heartfelt.stats.triples import Ints, code
from heartfelt.streams import stream

DEALS = 1999
MOST_DEALT = 2000
METHOD = "intents dealt out anew within systems"


@dataclass(frozen=True, slots=True)
class Chance:
    """The share of hits expected by chance, and the probability of as many as there were."""

    share: float
    p: float | None
    method: str
    why_missing: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        out: dict[str, Any] = {"value": self.share, "p": self.p, "method": self.method}
        return out | ({"why_no_test": self.why_missing} if self.why_missing else {})


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
    b = np.array([names[name or ""] if name else -1 for name in perceived], np.int64)
    group = code([name or "" for name in system]).codes
    expected, variance = _moments(a, b, group, len(names))
    hits = int(np.count_nonzero(a == b))
    share = expected / a.size
    if variance <= 1e-12:
        why = "every deal of the intents gives the same number of hits"
        return Chance(share, None, METHOD, why)
    if a.size > MOST_DEALT:
        from scipy.special import ndtr

        return Chance(share, float(ndtr(-(hits - 0.5 - expected) / math.sqrt(variance))), f"{METHOD}, normal")
    return Chance(share, _dealt(a, b, group, hits, seed), METHOD)


def _moments(a: Ints, b: Ints, group: Ints, size: int) -> tuple[float, float]:
    """Mean and variance of the hits over all deals (Hoeffding 1951)."""
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
            level = np.append(meant, 0.0) / n
            own = np.zeros((size, size + 1))
            own[np.arange(size), np.arange(size)] = 1.0
            apart = own - (seen / n)[:, None] - level[None, :] + both / n**2
            variance += float(meant @ apart**2 @ other) / (n - 1)
    return mean, variance


def _dealt(a: Ints, b: Ints, group: Ints, hits: int, seed: int) -> float:
    rng = stream(seed, "analysis", "chance of hits")
    found = np.zeros(DEALS, np.int64)
    for place in range(int(group.max()) + 1):
        mine = np.flatnonzero(group == place)
        deals = rng.permuted(np.broadcast_to(a[mine], (DEALS, mine.size)), axis=1)
        found += np.count_nonzero(deals == b[mine], axis=1)
    return (1 + int(np.count_nonzero(found >= hits))) / (1 + DEALS)
