"""``make bench``: measures beside peers in one run and prints ratios. ``python -m benchmarks reading`` runs one part."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    known = sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    )
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            sys.exit(f"There is no benchmark called '{name}'.\nKnown: {', '.join(known)}.")
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main()
