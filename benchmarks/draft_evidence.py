"""Drafts that people verify: how often who accepts everything is flagged, how often careful raters are, and how often
the intervals of shares and differences hold.

The tables of docs/screening.md and docs/stats/coverage.md come from ``HEARTFELT_BENCH=full`` (about five minutes).
"""

from __future__ import annotations

import os

import numpy as np
from tests.screening.verifying import Panel, verified_panel

from heartfelt.screening import RULES, RatingsView, RuleOptions
from heartfelt.screening.rules.verification import detection_power
from heartfelt.stats.reliability.clustered import Crossed, difference, share

FULL = os.environ.get("HEARTFELT_BENCH") == "full"
STUDIES = 200 if FULL else 20
DATA_SETS = 1000 if FULL else 100
PANELS = (
    Panel(images=20),
    Panel(images=40),
    Panel(images=100),
    Panel(images=20, planted=0.1),
    Panel(raters=8, images=20),
    Panel(raters=8, images=40),
    Panel(images=40, stampers=8),
    Panel(images=40, hard=0.8),
    Panel(images=40, image_sd=1.0),
    Panel(images=40, fields=1),
    Panel(images=100, fields=1),
)


def flags(panel: Panel, rule: str) -> tuple[float, float, float]:
    """The shares of stampers and of careful raters that are flagged, and of studies with a careful rater flagged."""
    found = careful = studies = 0
    for seed in range(STUDIES):
        view = RatingsView.of(verified_panel(panel, seed))
        named = set(RULES[rule].apply(view, RuleOptions()).filter("flagged")["rater"].to_list())
        stampers = {f"r{number:03d}" for number in range(panel.stampers)}
        found += len(named & stampers)
        careful += len(named - stampers)
        studies += bool(named - stampers)
    return (
        found / max(STUDIES * panel.stampers, 1),
        careful / (STUDIES * (panel.raters - panel.stampers)),
        studies / STUDIES,
    )


def cover(raters: int, stimuli: int, each: int, level: float, sd: tuple[float, float], seed: int) -> float:
    """How often the interval of a share holds, with raters and stimuli that differ by ``sd`` in log-odds."""
    rng = np.random.default_rng(seed)
    spread = np.linspace(-8, 8, 4001)
    weight = np.exp(-spread * spread / 2)
    true = float((weight / weight.sum() / (1 + np.exp(-(level + np.hypot(*sd) * spread)))).sum())
    hits = 0
    for _ in range(DATA_SETS):
        who = crossed(raters, stimuli, each, rng)
        odds = level + sd[0] * rng.standard_normal(raters)[who.rater]
        odds = odds + sd[1] * rng.standard_normal(stimuli)[who.stimulus]
        made = share(rng.random(who.rater.size) < 1 / (1 + np.exp(-odds)), who, "share")
        hits += made.low is not None and made.high is not None and made.low <= true <= made.high
    return hits / DATA_SETS


def cover_difference(
    raters: int, stimuli: int, each: int, sd: tuple[float, float, float], seed: int
) -> tuple[float, float]:
    """How often the interval of a difference of 0.2 holds, plain and within raters; a tenth is without a draft.

    ``sd`` are those of raters, stimuli and raters' own effects, in units of the noise.
    """
    rng, hits = np.random.default_rng(seed), np.zeros(2)
    for _ in range(DATA_SETS):
        who = crossed(raters, stimuli, each, rng)
        seen = rng.random(who.rater.size) > 0.1
        own = 0.2 + sd[2] * rng.standard_normal(raters)
        value = sd[0] * rng.standard_normal(raters)[who.rater] + sd[1] * rng.standard_normal(stimuli)[who.stimulus]
        value = value + own[who.rater] * seen + rng.standard_normal(seen.size)
        for place, within in enumerate((False, True)):
            made, _ = difference(value, seen, who, "difference", within_raters=within)
            hits[place] += made.low is not None and made.high is not None and made.low <= 0.2 <= made.high
    plain, within_raters = (hits / DATA_SETS).tolist()
    return plain, within_raters


def crossed(raters: int, stimuli: int, each: int, rng: np.random.Generator) -> Crossed:
    chosen = [rng.choice(stimuli, each, replace=False) for _ in range(raters)]
    return Crossed(np.repeat(np.arange(raters), each), np.concatenate(chosen))


def main() -> None:
    print("rubber-stamping: stampers flagged, careful raters flagged, studies with a careful rater flagged")
    for panel in PANELS:
        print(panel, *(f"{part:.3f}" for part in flags(panel, "rubber-stamping")))
    print("hasty-verification, stampers at 0.1 s for a draft:")
    for panel in PANELS[:2]:
        print(panel, *(f"{part:.3f}" for part in flags(panel, "hasty-verification")))
    print("power by drafts, planted share and share of errors accepted, 24 raters")
    for drafts in (70, 140, 280, 700):
        for planted in (0.02, 0.05, 0.1):
            print(drafts, planted, *(f"{detection_power(planted, drafts, 24, miss=m):.2f}" for m in (1.0, 0.8, 0.5)))
    print("coverage of shares")
    for design in ((4, 40, 20), (8, 40, 20), (12, 32, 21), (24, 100, 40)):
        for level in (0.0, 2.0, 3.5):
            held = [cover(*design, level, sd, 1) for sd in ((0.0, 0.0), (0.0, 1.0), (0.7, 0.7), (1.5, 0.5))]
            print(design, level, *(f"{part:.3f}" for part in held))
    print("coverage of differences, plain and within raters")
    for design in ((6, 40, 40), (8, 40, 20), (12, 32, 21), (24, 100, 40)):
        for spread in ((0.3, 0.3, 0.0), (1.0, 0.3, 0.5), (0.3, 1.0, 0.0)):
            print(design, spread, *(f"{part:.3f}" for part in cover_difference(*design, spread, 1)))
