"""Run the tests in parallel; those of a browser or server that failed are repeated once, alone.

What such a test sees depends on the time a browser takes, and a machine on which many tests run at once may leave it none. A
test that passes when it is repeated is named loudly; one that fails again, any other test that failed, and more failures than a
busy machine explains fail the run. Arguments go to the first run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPEATED = "browser or server"
MOST = 12
"""More failures than this are no matter of speed."""
TESTS_FAILED, NONE_SELECTED = 1, 5
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def pytest(*arguments: str, quiet: bool = False) -> int:
    """Run pytest and return its exit status."""
    output = subprocess.DEVNULL if quiet else None
    return subprocess.call([sys.executable, "-m", "pytest", *arguments], stdout=output, stderr=output)


def main(arguments: list[str]) -> int:
    """Exit status of the run: 0 where every test passed, in parallel or alone."""
    FAILED.unlink(missing_ok=True)  # of an earlier run
    status = pytest(*arguments)
    if status != TESTS_FAILED or not FAILED.is_file():
        return status
    names = list(json.loads(FAILED.read_text(encoding="utf-8")))
    last = ["--last-failed", "--last-failed-no-failures", "none"]
    if len(names) > MOST:
        print(f"\n{len(names)} tests failed: too many to repeat.", flush=True)
        return status
    if pytest(*last, "--collect-only", "-q", "-m", f"not ({REPEATED})", quiet=True) != NONE_SELECTED:
        print("\nTests failed that do not depend on a browser or server; nothing is repeated.", flush=True)
        return status
    print(f"\nRepeating, alone, what failed: {', '.join(names)}", flush=True)
    status = pytest(*last, "-m", REPEATED)
    if status == 0:
        print(f"\nPASSED ONLY ON A QUIET MACHINE: {', '.join(names)}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
