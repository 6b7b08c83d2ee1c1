"""What people made of values a machine filled in first: accepted, fixed or rejected, with intervals.

Shares are over verifications. One rater verifies many values and one stimulus is verified by many raters, so verifications
are not independent: the interval is Wilson's with the effective sample size ``n p (1 - p) / V``, where V is the two-way
clustered variance over raters and stimuli (Cameron, Gelbach & Miller 2011; Dean & Pagano 2015 for the interval). Where
everybody says the same there is no such variance, and the number of raters is the sample size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from heartfelt.stats._bounds import wilson
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.triples import Floats

VERDICTS = ("accepted", "fixed", "rejected")
_METHOD = "share of verifications"
_INTERVAL = "Wilson, effective sample size over raters and stimuli"


@dataclass(frozen=True, slots=True)
class MachineField:
    """One question that a machine filled in first."""

    question: str
    verified: int
    """Verifications of the machine's own value."""
    accepted: Estimate
    fixed: Estimate
    rejected: Estimate
    planted_accepted: Estimate
    """Values that were wrong on purpose and were accepted all the same."""
    hidden: int
    """Answers given without seeing the machine's value."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for the API."""
        return {
            "question": self.question,
            "verified": self.verified,
            "hidden": self.hidden,
            **{name: getattr(self, name).to_json() for name in (*VERDICTS, "planted_accepted")},
        }


def machine_fields(fields: pl.DataFrame, questions: Sequence[str]) -> list[MachineField]:
    """Every question of ``questions``, from a snapshot's table of fields."""
    return [_field(fields.filter(pl.col("field") == name), name) for name in questions]


def _field(fields: pl.DataFrame, question: str) -> MachineField:
    shown = fields["shown"] if "shown" in fields.columns else pl.Series("shown", [], pl.String)
    own, planted = fields.filter(shown == "true"), fields.filter(shown == "planted")
    shares = {verdict: share(own, verdict) for verdict in VERDICTS}
    return MachineField(
        question,
        own.height,
        **shares,
        planted_accepted=share(planted, "accepted"),
        hidden=int((shown == "hidden").sum()),
    )


def share(rows: pl.DataFrame, verdict: str) -> Estimate:
    """The share of rows with that verdict. A value that was changed without a verdict counts as fixed."""
    counts = {"verifications": rows.height}
    if not rows.height:
        return Estimate.missing("no machine value has been verified yet", _METHOD, counts)
    same = pl.col("final") == pl.col("machine")
    told = rows.with_columns(
        pl.coalesce("verdict", pl.when(same).then(pl.lit("accepted")).otherwise(pl.lit("fixed"))).alias(
            "told"
        )
    )
    hit = (told["told"] == verdict).to_numpy().astype(np.float64)
    raters, stimuli = (_codes(rows[name]) for name in ("verified_by", "stimulus"))
    counts |= {"raters": int(raters.max()) + 1, "stimuli": int(stimuli.max()) + 1}
    n, value = hit.size, float(hit.mean())
    size = effective_size(hit, raters, stimuli)
    low, high = wilson(value * size, size, 0.95)
    if value in {0.0, 1.0}:
        low, high = (0.0, high) if value == 0.0 else (low, 1.0)
    return Estimate(value, low, high, _METHOD, _INTERVAL, counts=counts | {"verifications": n})


def effective_size(hit: Floats, raters: np.ndarray[Any, Any], stimuli: np.ndarray[Any, Any]) -> float:
    """How many independent verifications would tell as much."""
    n, value = hit.size, float(hit.mean())
    groups = int(raters.max()) + 1
    if value in {0.0, 1.0} or groups < 2:
        return float(min(n, groups))
    rest = hit - value
    by_rater, by_stimulus = (_clustered(rest, codes) for codes in (raters, stimuli))
    single = float(np.sum(rest**2)) / n**2
    variance = max(by_rater + by_stimulus - single, by_rater, by_stimulus, single)
    return float(np.clip(value * (1 - value) / variance, 1.0, n))


def _clustered(rest: Floats, codes: np.ndarray[Any, Any]) -> float:
    sums = np.bincount(codes, rest)
    groups = sums.size
    return float(np.sum(sums**2)) / rest.size**2 * groups / max(groups - 1, 1)


def _codes(names: pl.Series) -> np.ndarray[Any, Any]:
    return names.fill_null("").rank("dense").cast(pl.Int64).to_numpy() - 1
