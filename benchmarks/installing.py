"""Installing: packages, megabytes and seconds of the base install and of each extra, each in an empty environment."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from scripts.try_installs import ENVIRONMENTS, build_wheel, install, measured


def main() -> None:
    print("| install | packages | MB | seconds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = build_wheel(scratch)
        for extra in ENVIRONMENTS:
            begun = time.perf_counter()
            environment = install(extra, wheel, scratch / extra)
            seconds = time.perf_counter() - begun
            packages, size = measured(environment)
            print(f"| `{extra}` | {packages} | {size:,.0f} | {seconds:.0f} |", flush=True)
