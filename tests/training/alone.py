"""Runs the code of docs/training.md where heartfelt cannot be imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "training.md"


def code_without_heartfelt(marker: str) -> str:
    """The one block of the section "Without heartfelt" that has these words."""
    section = DOCS.read_text(encoding="utf-8").split("### Without heartfelt", 1)[1].split("\n## ", 1)[0]
    code: str
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if marker in code]
    assert "heartfelt" not in code
    assert len([line for line in code.splitlines() if line and "import" not in line]) <= 5
    return code


def run_alone(code: str, folder: Path) -> str:
    """What the code prints in this folder."""
    blocked = f"import sys; sys.modules['heartfelt'] = None\nexec({code!r})"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", blocked], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
