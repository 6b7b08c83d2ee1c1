"""Installing: packages, megabytes and seconds of the base install and of each extra, each in an empty environment."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
EXTRAS = ("", "serve", "predict", "train", "all")


def installed(extra: str, folder: Path) -> tuple[int, float, float]:
    """Packages, megabytes and seconds; downloads may come from pip's cache."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    ours = {"pip", "setuptools", "heartfelt"}
    target = f"{PROJECT}[{extra}]" if extra else str(PROJECT)
    begun = time.perf_counter()
    subprocess.run(
        [*pip, "install", "-q", "--no-compile", "-c", str(PROJECT / "constraints.txt"), target], check=True
    )
    seconds = time.perf_counter() - begun
    listed = json.loads(
        subprocess.run([*pip, "list", "--format", "json"], capture_output=True, text=True, check=True).stdout
    )
    packages = [row["name"] for row in listed if row["name"].lower() not in ours]
    site = next(folder.glob("lib/python*/site-packages"))
    size = sum(
        path.stat().st_size
        for path in site.rglob("*")
        if path.is_file() and path.relative_to(site).parts[0].split("-")[0] not in ours
    )
    return len(packages), size / 1e6, seconds


def main() -> None:
    print("| pip install | packages | MB | seconds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for extra in EXTRAS:
            packages, size, seconds = installed(extra, Path(scratch) / (extra or "base"))
            name = f"heartfelt[{extra}]" if extra else "heartfelt"
            print(f"| `{name}` | {packages} | {size:,.0f} | {seconds:.0f} |", flush=True)
