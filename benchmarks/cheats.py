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

from tests.screening.cheats import CHEATS, STUDIES, Cheated, cheated

from heartfelt.screening import screen

SEEDS = 20 if os.environ.get("HEARTFELT_BENCH") == "full" else 3
HONEST = 40
REPORTS = {"shared-browser"}


def flagged_by(study: Cheated, seed: int) -> dict[str, set[str]]:
    """The rules by which each rater is flagged."""
    flags = screen(study.snapshot, seed=seed).flags.filter("flagged")
    rules: defaultdict[str, set[str]] = defaultdict(set)
    for rater, rule, controlled in flags.select("rater", "rule", "error_controlled").iter_rows():
        if controlled or rule in REPORTS:
            rules[rater].add(rule)
    return rules


def main() -> None:
    print(f"{SEEDS} studies of each type, {HONEST} honest raters and one cheat of each kind: raters flagged")
    for name in STUDIES:
        hits: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        by_rule: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for seed in range(SEEDS):
            with cheated(name, seed, honest=HONEST) as study:
                rules = flagged_by(study, seed)
            for rater, kind in study.kinds.items():
                role = "source of a copy" if rater in study.sources else kind
                counts[role] += 1
                hits[role] += bool(rules.get(rater))
                by_rule[role].update(rules.get(rater, ()))
        for role in (*CHEATS, "honest", "source of a copy"):
            rules_used = ", ".join(f"{rule} {n}" for rule, n in by_rule[role].most_common())
            print(f"{name:7} {role:17} {hits[role]:4} of {counts[role]:4}  {rules_used}", flush=True)
