"""Figures that the authors of a dataset published, next to the same figures computed from its ratings.

The comparison always uses every rater, whatever policy the analysis follows. A figure agrees when it rounds to the
printed digits. Which data have published figures, and which these are, is up to the datasets.
"""

from __future__ import annotations

from typing import Any, Protocol

from heartfelt.registry import Registry
from heartfelt.snapshot import Snapshot

Rows = list[dict[str, Any]]


class PublishedFigures(Protocol):
    """The published figures of one dataset."""

    def applies(self, snapshot: Snapshot) -> bool:
        """Whether these are the data the figures were published for, and not others in the same format."""

    def compare(self, counts: dict[str, Any], anova: Rows, pairwise: Rows) -> Rows:
        """Published figures with recomputed ones, from parts computed with all raters."""


FIGURES: Registry[PublishedFigures] = Registry("set of published figures", offered="figures")


def published(snapshot: Snapshot, counts: dict[str, Any], anova: Rows, pairwise: Rows) -> Rows | None:
    """The comparison for data whose published figures are known; None for other data."""
    for figures in FIGURES.values():
        if figures.applies(snapshot):
            return figures.compare(counts, anova, pairwise)
    return None


def exact(what: str, printed: Any, recomputed: Any) -> dict[str, Any]:
    """A published figure that agrees when it is equal."""
    return {"what": what, "published": printed, "recomputed": recomputed, "agrees": printed == recomputed}


def rounded(what: str, printed: str, recomputed: float | None) -> dict[str, Any]:
    """A published figure that agrees when the recomputed one rounds to the digits that were printed."""
    places = len(printed.partition(".")[2])
    agrees = recomputed is not None and f"{recomputed:.{places}f}" == f"{float(printed):.{places}f}"
    return {
        "what": what,
        "published": float(printed),
        "printed": printed,
        "recomputed": recomputed,
        "agrees": agrees,
    }
