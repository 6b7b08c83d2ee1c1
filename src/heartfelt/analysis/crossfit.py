"""How much of the rise in agreement after screening is real: raters chosen on one half of the stimuli, measured on the other.

Screening leaves out raters who disagree with the rest, so agreement rises on the very ratings they were chosen by, even if
everybody were equally careful. Here the stimuli are split in two halves at random. The default policy chooses raters on
one half, alpha with and without them is measured on the other, and the halves change places; the figures are means of both.
With half the ratings fewer raters stand out, so the rise is, if anything, on the low side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from heartfelt.analysis.material import Material, QuestionData, lay_out
from heartfelt.screening.panel import Panel, screen
from heartfelt.screening.policy import POLICIES
from heartfelt.snapshot import Snapshot
from heartfelt.stats.agreement import alpha
from heartfelt.streams import stream

LEAST_STIMULI = 8
MOST_RATINGS = 300_000


@dataclass(frozen=True, slots=True)
class HeldOutAlpha:
    """Alpha of one question on stimuli the raters were not chosen on, with everybody and without those left out."""

    question: str
    measurement_level: str
    with_all: float
    without: float
    halves: tuple[tuple[float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "question": self.question,
            "figure": f"alpha_{self.measurement_level}",
            "with_all": self.with_all,
            "without": self.without,
            "rise": self.without - self.with_all,
            "halves": [{"with_all": a, "without": b} for a, b in self.halves],
        }


def crossfit(panel: Panel, default: Panel, seed: int) -> dict[str, Any]:
    """Held-out alpha per question, or ``why_missing``."""
    source = panel.source
    if not default.dropped:
        return {"why_missing": "the default policy leaves nobody out"}
    if source.survey.ratings > MOST_RATINGS:
        return {"why_missing": f"there are more than {MOST_RATINGS:,} ratings"}
    halves = _halves(source, seed)
    if halves is None:
        return {"why_missing": f"fewer than {LEAST_STIMULI} rated stimuli"}
    chosen = [set(screen(half, POLICIES["default"], seed=seed).dropped) for half in halves]
    materials = [lay_out(half) for half in halves]
    rows = []
    for place in range(len(materials[0].questions)):
        row = _question(materials, place, chosen)
        if row is not None:
            rows.append(row.to_json())
    if not rows:
        return {"why_missing": "alpha cannot be computed on both halves"}
    return {"left_out": [len(names) for names in chosen], "questions": rows}


def _question(materials: list[Material], place: int, chosen: list[set[str]]) -> HeldOutAlpha | None:
    pairs = []
    for half, other in ((0, 1), (1, 0)):
        one = materials[half].questions[place]
        rest = one.ratings.filter(~pl.col("rater").is_in(list(chosen[other])))
        both = (_alpha(one, one.ratings), _alpha(one, rest))
        if both[0] is None or both[1] is None:
            return None
        pairs.append((both[0], both[1]))
    one = materials[0].questions[place]
    with_all, without = (float(np.mean([pair[k] for pair in pairs])) for k in (0, 1))
    return HeldOutAlpha(one.id, one.level, with_all, without, tuple(pairs))


def _alpha(one: QuestionData, ratings: pl.DataFrame) -> float | None:
    if not ratings.height or one.why_no_raters is not None:
        return None
    return alpha(ratings["rater"], ratings["item"], ratings["value"], one.level).value


def _halves(source: Snapshot, seed: int) -> list[Snapshot] | None:
    """The snapshot twice, each with half of its rated stimuli at random, and with all of its probes."""
    names = sorted(source.without_probes.survey.stimuli)
    probes = set(source.survey.stimuli) - set(names)
    if len(names) < LEAST_STIMULI:
        return None
    order = stream(seed, "analysis", "crossfit").permutation(len(names))
    first = {names[place] for place in order[: len(names) // 2].tolist()}
    out = []
    for chosen in (first | probes, set(names) - first | probes):
        stimuli = source.stimuli.filter(pl.col("stimulus").is_in(list(chosen)))
        ratings = source.scan_ratings().filter(pl.col("stimulus").is_in(list(chosen))).collect()
        items = source.table("items")
        if items.height:
            items = items.filter(pl.col("stimulus").is_in(list(chosen)))
        out.append(
            Snapshot.build(
                source.study,
                stimuli=stimuli,
                ratings=ratings,
                raters=source.raters,
                source=source.source,
                items=items,
            )
        )
    return out
