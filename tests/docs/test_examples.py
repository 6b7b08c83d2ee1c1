"""The pages of examples run as printed on the real data, and print what they say."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
BLOCK = re.compile(r"^```(bash|python|yaml|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_line(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a line prints. Commands of heartfelt run in this process, which has loaded and compiled everything; others in bash."""
    words = shlex.split(line)
    if words[0] == "heartfelt" and ">" not in words:
        capsys.readouterr()
        code = main(words[1:])
        printed = capsys.readouterr()
        assert code == 0, f"{line}\n{printed.err}"
        return printed.out
    program = line.replace("heartfelt ", f"{sys.executable} -m heartfelt ", 1)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(["bash", "-ec", program], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{line}\n{result.stderr}"
    return result.stdout


def run_page(page: str, folder: Path, yaml: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a page's blocks in ``folder`` as they stand; YAML is written to the file ``yaml``. Returns the page's text."""
    printed = ""
    text = (EXAMPLES / page).read_text(encoding="utf-8")
    with contextlib.chdir(folder):
        for language, block in BLOCK.findall(text):
            if language == "yaml":
                Path(yaml).write_text(block, encoding="utf-8")
            elif language == "text":
                assert printed == block, "the page shows what the code above it prints"
            else:
                assert language == "bash", "Python blocks have nobody to run them"
                printed = "".join(run_line(line, capsys) for line in block.splitlines())
    return text


def _labels_beside_the_published_means(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page says of the authors' means, which leave out five people: equal, but for three labels of each question."""
    command = next(block for language, block in BLOCK.findall(page) if language == "bash" and " out/avt " in block)
    finished = command.replace(" out/avt ", " out/avt-finished ").replace(
        'range_prompt_matching"', 'range_prompt_matching;user_ID!=82|87|96|98|104"'
    )
    with contextlib.chdir(folder):
        run_line(finished.strip(), capsys)
    published = pl.read_csv(folder / "avt_ai_images" / "all_ratings.csv").rename(
        {"prompt_matching_mean": "prompt_match_mean"}
    )
    snapshot = heartfelt.load(folder / "out" / "avt-finished")
    means = snapshot.ratings.group_by("stimulus", "question").agg(pl.mean("value"))
    different: list[float] = []
    for question in ("appeal", "realism", "prompt_match"):
        for table, expected in ((means, 0), (snapshot.label().table, 3)):
            both = published.join(table.filter(question=question), left_on="image_key", right_on="stimulus").select(
                (pl.col("value") - pl.col(f"{question}_mean")).abs().alias("difference")
            )
            beyond = both.filter(pl.col("difference") > 1e-9)["difference"].to_list()
            assert (both.height, len(beyond)) == (146, expected)
            different += beyond
    assert f"{max(different):.3f}".lstrip("0") in page


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_about_ai_images_runs_as_printed(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("avt_ai_images", "oasis"):
        if not (shared_data / name).is_dir():
            pytest.skip(f"{name} is not among the public data")
        (tmp_path / name).symlink_to(shared_data / name)
    page = run_page("avt-ai-images.md", tmp_path, "verify/study.yaml", capsys)
    summary = json.loads((tmp_path / "out" / "avt-report" / "summary.json").read_text(encoding="utf-8"))
    for row in summary["systems"]:
        mean = row["mean"]
        assert f"{mean['value']:.2f} [{mean['low']:.2f}, {mean['high']:.2f}]" in page
    assert summary["counts"]["answers"] == 10155
    oasis = json.loads((tmp_path / "out" / "oasis-report" / "summary.json").read_text(encoding="utf-8"))
    assert oasis["counts"]["means"] == 2 * 433
    _labels_beside_the_published_means(page, tmp_path, capsys)


@pytest.mark.data
@pytest.mark.slow
def test_the_page_about_stimuli_of_aimoclips_runs_as_printed(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "aimoclips").symlink_to(shared_data / "aimoclips")
    run_page("aimoclips-stimuli.md", tmp_path, "my-study/make.yaml", capsys)
    table = pl.read_csv(tmp_path / "my-study" / "stimuli.csv")
    assert table.group_by("system").len()["len"].to_list() == [4] * 6
    texts = dict(table.select("stimulus", "prompt").iter_rows())
    assert texts["MusicGen_happy_1"] == "happy, instrumental"
    assert texts["Suno_happy_1"] == "happy", "the commercial systems have their own template"
    assert table["source"][0] == "AudioLDM2_happy_1.opus"
    assert set(table["seconds"]) == {9.0}
    assert table["crop_start"].is_between(0.0, 1.25).all()
    report = (tmp_path / "preparation" / "report.html").read_text(encoding="utf-8")
    assert "Means by system" in report
    original = shared_data / "aimoclips" / "music_clips" / "Suno" / "Suno_happy_1.opus"
    copy = tmp_path / "my-study" / "media" / "Suno" / "Suno_happy_1.opus"
    assert copy.read_bytes() == original.read_bytes()
