"""``make bench``: measures beside peers in one run and prints ratios. ``python -m benchmarks reading`` runs one part.

What takes long and compares with nobody (simulations of coverage and error rates, the accuracy of drafters) runs only when named.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

ONLY_IF_NAMED = {
    "agreement_by_part",
    "ceiling_coverage",
    "cheats",
    "draft_evidence",
    "drafters",
    "faults",
    "finetuning",
    "generating",
    "leaderboards",
    "ordinal",
    "planning_coverage",
    "planning_power",
    "recordings",
    "reliability_coverage",
    "score_intervals",
    "screening",
    "set_distances",
    "speech_activity",
    "tastes",
    "text_coverage",
    "two_way_variance",
    "valence_arousal",
    "which_metric",
}


def main() -> None:
    known = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    )
    wanted = sys.argv[1:] or [name for name in known if name not in ONLY_IF_NAMED]
    for name in wanted:
        if name not in known:
            sys.exit(f"No benchmark is called '{name}'.\nKnown: {', '.join(known)}.")
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
