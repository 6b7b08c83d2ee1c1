"""The pages of examples run as printed on the real data, and print what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "examples" / "avt-ai-images.md"
BLOCK = re.compile(r"^```(bash|python|yaml|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_about_ai_images_runs_as_printed(shared_data: Path, tmp_path: Path) -> None:
    for name in ("avt_ai_images", "oasis"):
        if not (shared_data / name).is_dir():
            pytest.skip(f"{name} is not among the public data")
        (tmp_path / name).symlink_to(shared_data / name)
    environment, printed = {**os.environ, "PYTHONPATH": str(ROOT / "src")}, ""
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "yaml":
            (tmp_path / "verify" / "study.yaml").write_text(text, encoding="utf-8")
        elif language == "text":
            assert printed == text, "the page shows what the code above it prints"
        else:
            program = (
                text.replace("heartfelt ", f"{sys.executable} -m heartfelt ") if language == "bash" else text
            )
            command = ["bash", "-ec", program] if language == "bash" else [sys.executable, "-c", program]
            result = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert result.returncode == 0, result.stderr
            printed = result.stdout
    page = PAGE.read_text(encoding="utf-8")
    summary = json.loads((tmp_path / "out" / "avt-report" / "summary.json").read_text(encoding="utf-8"))
    for row in summary["systems"]:
        mean = row["mean"]
        assert f"{mean['value']:.2f} [{mean['low']:.2f}, {mean['high']:.2f}]" in page
    assert summary["counts"]["answers"] == 10155
    oasis = json.loads((tmp_path / "out" / "oasis-report" / "summary.json").read_text(encoding="utf-8"))
    assert oasis["counts"]["means"] == 2 * 433
