"""``make bench``: measures beside peers in one run and prints ratios. ``python -m benchmarks reading`` runs one part.

Simulations of coverage and error rates take long and compare with nobody, so they run only when they are named.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

SIMULATIONS = {
    "ceiling_coverage",
    "reliability_coverage",
    "score_intervals",
    "screening",
    "text_coverage",
    "draft_evidence",
}


def main() -> None:
    known = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    )
    wanted = sys.argv[1:] or [name for name in known if name not in SIMULATIONS]
    for name in wanted:
        if name not in known:
            sys.exit(f"No benchmark is called '{name}'.\nKnown: {', '.join(known)}.")
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main()
