"""What an analysis returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from heartfelt.representation import ShortRepr
from heartfelt.screening.panel import Panel
from heartfelt.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Analysis(ShortRepr):
    """Tables and numbers of one snapshot.

    ``snapshot`` is what was analysed (the panel kept), ``all_ratings`` what was read. ``labels`` has one row per item,
    ``raters`` one per rater, ``ledger`` one for everything left out at any stage. ``summary`` is plain data that strict
    JSON can hold; a figure that could not be computed is ``{"value": None, "why_missing": …}``, and a part that does not
    apply is None with its reason under ``why_missing``.
    """

    snapshot: Snapshot
    all_ratings: Snapshot
    panel: Panel
    labels: pl.DataFrame
    raters: pl.DataFrame
    ledger: pl.DataFrame
    summary: dict[str, Any]
