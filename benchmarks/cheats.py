"""Scripted cheats of eight kinds in studies of 20 trials, each collected, frozen and screened by the default policy.

One cheat of each kind among 40 honest raters of many styles, in a rating study, a MUSHRA test and an arena
(``tests/screening/cheats.py`` says what each of them does). The table of docs/screening.md comes from
``HEARTFELT_BENCH=full`` (20 studies of each type, about four minutes); otherwise three studies. A rater counts as
flagged by a rule with error control or by ``shared-browser``. Raters whose answers were copied are counted apart: they are flagged
with their copy, and kept.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict

from tests.screening.cheats import CHEATS, STUDIES, Cheated, cheated_study

from heartfelt.screening import screen

SEEDS = 20 if os.environ.get("HEARTFELT_BENCH") == "full" else int(os.environ.get("N", 3))
HONEST = 40
REPORTS = {"shared-browser"}


def flagged_by(cheated: Cheated, seed: int) -> dict[str, set[str]]:
    """The rules by which each rater is flagged."""
    flags = screen(cheated.snapshot, seed=seed).flags.filter("flagged")
    rules: defaultdict[str, set[str]] = defaultdict(set)
    for rater, rule, controlled in flags.select("rater", "rule", "error_controlled").iter_rows():
        if controlled or rule in REPORTS:
            rules[rater].add(rule)
    return rules


def main() -> None:
    print(f"{SEEDS} studies of each type, {HONEST} honest raters and one cheat of each kind: raters flagged")
    for study in STUDIES:
        hits: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        by_rule: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for seed in range(SEEDS):
            cheated = cheated_study(study, seed, honest=HONEST)
            rules = flagged_by(cheated, seed)
            for rater, kind in cheated.kinds.items():
                kind = "source of a copy" if rater in cheated.sources else kind
                counts[kind] += 1
                hits[kind] += bool(rules.get(rater))
                by_rule[kind].update(rules.get(rater, ()))
        for kind in (*CHEATS, "honest", "source of a copy"):
            rules_used = ", ".join(f"{rule} {n}" for rule, n in by_rule[kind].most_common())
            print(f"{study:7} {kind:17} {hits[kind]:4} of {counts[kind]:4}  {rules_used}", flush=True)
