"""Screening rules: how often honest raters with natural response styles are flagged, and how often a change is seen.

The tables of docs/screening.md come from ``HEARTFELT_BENCH=full`` (200 studies a cell, about twenty minutes); otherwise 20
studies. ``HEARTFELT_BENCH_PARTS`` names the parts to run: ``lines``, ``changes``, ``power``, ``noisy``, ``styles``.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import polars as pl
from tests.screening.styles import (
    CARELESS,
    STYLES,
    Design,
    changing_study,
    constant_study,
    honest_study,
    random_study,
    seven_kinds_study,
)

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
DESIGNS = (Design(12, 40, 4, 5), Design(24, 60, 6, 9), Design(24, 60, 4, 7, 1), Design(48, 30, 5, 100))
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
    print(f"Share of all-honest studies with any flag, {STUDIES} studies a line (40% of the raters in the style)")
    print("raters trials per-stimulus points questions style      " + " ".join(f"{r:>17}" for r in RULES_MEASURED))
    for design in DESIGNS:
        head = f"{design.raters:6} {design.trials:6} {design.per_stimulus:12} {design.points:6} {design.questions:9}"
        for style in STYLES:
            rates = false_flags(design, style)
            print(f"{head} {style:10} " + " ".join(f"{rates[rule]:17.3f}" for rule in RULES_MEASURED), flush=True)


def _changes() -> None:
    print("Share of raters seen whose second half is careless (random answers / own answers shuffled / one answer)")
    for raters in PANELS:
        for trials in TRIALS:
            rates = [seen(Design(raters, trials, 6), how, 0.5) for how in CARELESS]
            print(
                f"{raters:3} raters {trials:4} trials 6 a stimulus: " + " / ".join(f"{r:.2f}" for r in rates),
                flush=True,
            )
    for per_stimulus in PER_STIMULUS:
        rates = [seen(Design(24, 60, per_stimulus), how, 0.5) for how in CARELESS]
        print(f" 24 raters   60 trials {per_stimulus} a stimulus: " + " / ".join(f"{r:.2f}" for r in rates), flush=True)
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


SMALL_PANELS = (
    Design(8, 30, 8, 7, 2),
    Design(12, 40, 12, 5, 1),
    Design(12, 40, 4, 5, 1),
    Design(12, 40, 12, 7, 1, 1.5),
    Design(24, 60, 6, 5, 1),
    Design(24, 60, 24, 9, 1, 2.0),
)


def _power() -> None:
    print("One rater who answers at random: share flagged by informativeness, and the power that the rule states")
    for design in SMALL_PANELS:
        hits = wrong = 0
        stated = 0.0
        for seed in range(STUDIES):
            view = RatingsView.of(random_study(design, seed, style="mixed"))
            table = RULES["informativeness"].apply(view, RuleOptions(seed=seed))
            names = set(table.filter("flagged")["rater"])
            hits, wrong = hits + ("r000" in names), wrong + len(names - {"r000"})
            power = table.filter(pl.col("rater") != "r000")["power"].mean()
            stated += 0.0 if power is None else float(str(power))
        honest = STUDIES * (design.raters - 1)
        print(f"{design}: {hits / STUDIES:.2f}, stated {stated / STUDIES:.2f}; honest {wrong} of {honest}", flush=True)


def _noisy_panels() -> None:
    print(
        "Collusion among honest raters with noise of twice the signal, and a change among seven kinds of carelessness"
    )
    for design in (Design(24, 60, 24, 5, 1, 2.0), Design(24, 60, 6, 9, 2, 2.0), Design(12, 40, 12, 7, 1, 2.0)):
        joined = sum(
            bool(flagged("collusion", RatingsView.of(honest_study(design, "plain", seed)), seed))
            for seed in range(STUDIES)
        )
        print(f"{design}: raters joined in {joined} of {STUDIES} studies", flush=True)
    for design in (Design(24, 60, 6), Design(24, 60, 24, 5, 1)):
        hits = wrong = 0
        for seed in range(STUDIES):
            names = flagged("change", RatingsView.of(seven_kinds_study(design, seed)), seed)
            hits += "r000" in names
            wrong += sum(int(name[1:]) > 6 for name in names)
        honest = STUDIES * (design.raters - 7)
        print(f"{design}: half-way {hits} of {STUDIES}; honest {wrong} of {honest}", flush=True)


PARTS = {"lines": _lines, "changes": _changes, "power": _power, "noisy": _noisy_panels, "styles": _styles}


def main() -> None:
    chosen = os.environ.get("HEARTFELT_BENCH_PARTS", " ".join(PARTS)).split()
    for part in (PARTS[name] for name in chosen):
        begun = time.perf_counter()
        part()
        print(f"({time.perf_counter() - begun:.0f} s)")
