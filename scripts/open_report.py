"""Open a report in a real browser, as a person would, and see that it is complete and that none of its scripts failed.

python scripts/open_report.py demo/report.html
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
    "--dump-dom",
)


def problem_with(report: Path) -> str | None:
    """What is wrong with a report; None if it opens."""
    if not report.is_file():
        return f"there is no {report}"
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return "there is no Chromium on the path to open it in"
    page = subprocess.run(
        [browser, *FLAGS, report.resolve().as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", page.stdout, re.DOTALL)
    if page.returncode or heading is None:
        return f"it does not open: {page.stderr[-500:]}"
    faults = [line for line in page.stderr.splitlines() if "CONSOLE" in line and "Uncaught" in line]
    if faults:
        return f"a script failed: {faults[0]}"
    for target in re.findall(r'href="([^"#:?]+)"', page.stdout):
        if not (report.parent / target).exists():
            return f"it links to {target}, which is not there"
    print(f"{report.name} opens: {re.sub('<[^>]+>', '', heading[1]).strip()}")
    return None


if __name__ == "__main__":
    wrong = problem_with(Path(sys.argv[1]))
    if wrong is not None:
        sys.exit(f"{sys.argv[1]}: {wrong}")
