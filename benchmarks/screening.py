"""Screening rules: how often honest raters with natural response styles are flagged, and how often a change is seen.

The tables of docs/screening.md come from ``HEARTFELT_BENCH=full`` (200 studies a cell, about ten minutes); otherwise 20 studies.
"""

from __future__ import annotations

import os
import time
from collections import Counter

from tests.screening.styles import CARELESS, STYLES, Design, changing_study, constant_study, honest_study

from heartfelt.screening import RULES, RatingsView, RuleOptions

STUDIES = 200 if os.environ.get("HEARTFELT_BENCH") == "full" else 20
RULES_MEASURED = (
    "agreement",
    "change",
    "identical-answers",
    "informativeness",
    "longest-run",
    "spread",
    "straight-lining",
)
DESIGNS = (
    Design(12, 40, 4, 5),
    Design(24, 60, 6, 9),
    Design(24, 60, 4, 7, 1),
    Design(48, 30, 5, 100),
)
PANELS = (12, 24, 48)
TRIALS = (30, 60, 120)
PER_STIMULUS = (3, 6, 10)


def flagged(rule: str, view: RatingsView, seed: int) -> set[str]:
    return set(RULES[rule].apply(view, RuleOptions(seed=seed)).filter("flagged")["rater"].to_list())


def false_flags(design: Design, style: str) -> dict[str, float]:
    """The share of all-honest studies in which each rule flags anybody."""
    counts: Counter[str] = Counter()
    for seed in range(STUDIES):
        view = RatingsView.of(honest_study(design, style, seed))
        counts.update(rule for rule in RULES_MEASURED if flagged(rule, view, seed))
    return {rule: counts[rule] / STUDIES for rule in RULES_MEASURED}


def seen(design: Design, how: str, at: float, *, late: bool = True) -> float:
    """How often the one rater who changes is flagged by the rule for change."""
    hits = 0
    for seed in range(STUDIES):
        view = RatingsView.of(changing_study(design, seed, how, at, late=late))
        hits += "r000" in flagged("change", view, seed)
    return hits / STUDIES


def lines_found(design: Design, constant: int) -> tuple[float, float]:
    """The shares of straight-liners and of honest raters flagged by the rule for straight-lining."""
    hits = wrong = 0
    for seed in range(STUDIES):
        result = flagged("straight-lining", RatingsView.of(constant_study(design, seed, constant)), seed)
        right = {f"r{rater:03d}" for rater in range(constant)}
        hits, wrong = hits + len(result & right), wrong + len(result - right)
    return hits / (STUDIES * constant), wrong / (STUDIES * max(design.raters - constant, 1))


def _styles() -> None:
    print(
        f"Share of all-honest studies with any flag, {STUDIES} studies a line (40% of the raters in the style)"
    )
    print(
        "raters trials per-stimulus points questions style      "
        + " ".join(f"{r:>17}" for r in RULES_MEASURED)
    )
    for design in DESIGNS:
        head = f"{design.raters:6} {design.trials:6} {design.per_stimulus:12} {design.points:6} {design.questions:9}"
        for style in STYLES:
            rates = false_flags(design, style)
            print(
                f"{head} {style:10} " + " ".join(f"{rates[rule]:17.3f}" for rule in RULES_MEASURED),
                flush=True,
            )


def _changes() -> None:
    print(
        "Share of raters seen whose second half is careless (random answers / own answers shuffled / one answer)"
    )
    for raters in PANELS:
        for trials in TRIALS:
            rates = [seen(Design(raters, trials, 6), how, 0.5) for how in CARELESS]
            print(
                f"{raters:3} raters {trials:4} trials 6 a stimulus: " + " / ".join(f"{r:.2f}" for r in rates),
                flush=True,
            )
    for per_stimulus in PER_STIMULUS:
        rates = [seen(Design(24, 60, per_stimulus), how, 0.5) for how in CARELESS]
        print(
            f" 24 raters   60 trials {per_stimulus} a stimulus: " + " / ".join(f"{r:.2f}" for r in rates),
            flush=True,
        )
    for at, late, words in (
        (0.25, True, "careless from a quarter on"),
        (0.5, True, "careless from half on"),
        (0.75, True, "careless from three quarters on"),
        (0.5, False, "careless until half"),
    ):
        rates = [seen(Design(24, 60, 6), how, at, late=late) for how in CARELESS]
        print(f" {words}: " + " / ".join(f"{r:.2f}" for r in rates), flush=True)
    entries = [seen(Design(24, 60, 6, questions=1), how, 0.5) for how in CARELESS]
    print(" one question: " + " / ".join(f"{r:.2f}" for r in entries), flush=True)


def _lines() -> None:
    print("Straight-liners among 24 raters x 60 stimuli: share found, share of the others flagged")
    for constant in (1, 4, 8, 12, 18, 22):
        hits, wrong = lines_found(Design(24, 60, 24), constant)
        print(f"{constant:3}: {hits:.3f} {wrong:.4f}", flush=True)


def main() -> None:
    for part in (_lines, _changes, _styles):
        begun = time.perf_counter()
        part()
        print(f"({time.perf_counter() - begun:.0f} s)")
