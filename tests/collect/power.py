"""Power failures: a store as it is on disk when everything that was not synced is lost."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("synced.c")


def synced_copies(folder: Path) -> Path:
    """A library to preload: next to every file of a store it keeps a copy of what has been synced."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = folder / "synced.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def loses_power(folder: Path) -> int:
    """Put the synced state in place of every file of the store; returns how many bytes were not synced or not the same."""
    dropped = 0
    for path in [folder / f"collected.sqlite{end}" for end in ("", "-wal", "-shm")]:
        copy = path.with_name(f"{path.name}.synced")
        before = path.read_bytes() if path.exists() else b""
        after = copy.read_bytes() if copy.exists() else b""
        dropped += sum(old != new for old, new in zip(before, after, strict=False)) + abs(len(before) - len(after))
        path.unlink(missing_ok=True)
        if copy.exists():
            shutil.copyfile(copy, path)
    return dropped
