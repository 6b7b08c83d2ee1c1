"""Figures that the authors of a dataset published, next to the same figures computed from its ratings.

The comparison always uses every rater, whatever policy the analysis follows. A figure agrees when it rounds to the
printed digits. Which data have published figures, and which these are, is up to the datasets.
"""

from __future__ import annotations

from typing import Protocol

from heartfelt.analysis.findings.parts import AnalysisCounts, AnovaEffect, PairDifference
from heartfelt.analysis.summary import PublishedFigure
from heartfelt.registry import Registry
from heartfelt.snapshot import Snapshot


class PublishedFigures(Protocol):
    """The published figures of one dataset."""

    def applies(self, snapshot: Snapshot) -> bool:
        """Whether these are the data the figures were published for, and not others in the same format."""

    def compare(
        self, counts: AnalysisCounts, anova: tuple[AnovaEffect, ...], pairwise: tuple[PairDifference, ...]
    ) -> tuple[PublishedFigure, ...]:
        """Published figures with recomputed ones, from parts computed with all raters."""


FIGURES: Registry[PublishedFigures] = Registry("set of published figures", homes=("heartfelt.datasets.*.figures",))


def published(
    snapshot: Snapshot, counts: AnalysisCounts, anova: tuple[AnovaEffect, ...], pairwise: tuple[PairDifference, ...]
) -> tuple[PublishedFigure, ...] | None:
    """The comparison for data whose published figures are known; None for other data."""
    for figures in FIGURES.values():
        if figures.applies(snapshot):
            return figures.compare(counts, anova, pairwise)
    return None


def exact(
    label: str, printed: int | tuple[int, ...], recomputed: int | tuple[int | float | None, ...] | None
) -> PublishedFigure:
    """A published figure that agrees when it is equal."""
    return PublishedFigure(what=label, published=printed, recomputed=recomputed, agrees=printed == recomputed)


def rounded(label: str, printed: str, recomputed: float | None) -> PublishedFigure:
    """A published figure that agrees when the recomputed one rounds to the digits that were printed."""
    decimals = len(printed.partition(".")[2])
    agrees = recomputed is not None and f"{recomputed:.{decimals}f}" == f"{float(printed):.{decimals}f}"
    return PublishedFigure(what=label, published=float(printed), recomputed=recomputed, agrees=agrees, printed=printed)
