"""The pages on association and inference are held to the code: their examples run, every public name is
there.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.stats import inference
from heartfelt.stats.prediction import resample
from tests.cases import check_all

PAGES = Path(__file__).resolve().parents[2] / "docs" / "stats"
ASSOCIATION = ["ccc", "kendall", "mae", "mse", "pearson", "rmse", "spearman"]
CLASSIFY = [
    "accuracy", "auroc", "average_precision", "balanced_accuracy", "brier", "calibration", "confusion",
    "expected_calibration_error", "f1", "macro_f1", "precision", "quadratic_kappa", "recall",
]  # fmt: skip
RESAMPLE = ["bootstrap", "bootstrap_difference", "bootstrap_metric", "metric_names"]
OTHERS = ["jackknife_metric", "metric_difference", "ellipse", "overlap", "overlap_of", "shrinkage_slope"]


def _text(page: str) -> str:
    return (PAGES / page).read_text(encoding="utf-8")


@check_all("name", inference.__all__)
def test_every_public_name_of_inference_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", _text("inference.md"))


@check_all("name", sorted({*ASSOCIATION, *CLASSIFY, *RESAMPLE, *OTHERS}))
def test_every_public_name_of_association_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", _text("association.md"))


COMPARISON = [
    "abx", "best_worst", "best_worst_counts", "bootstrap_strengths", "bradley_terry", "choice_calibration",
    "choice_ceilings", "choice_scores", "cmos", "davidson", "first_choices", "mushra", "plackett_luce", "position_bias",
    "rank_concordance", "rao_kupper", "rater_consistency", "strength_ceiling", "thurstone", "transitivity", "win_matrix",
]  # fmt: skip


@check_all("name", COMPARISON)
def test_every_public_name_of_comparison_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", _text("comparison.md"))


def test_every_metric_that_can_be_resampled_is_documented() -> None:
    text = _text("association.md")
    assert [name for name in resample.metric_names() if not re.search(rf"`{name}[`(]", text)] == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["association.md", "comparison.md", "inference.md"])
def test_the_examples_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", _text(page), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})  # the page's own code is what is under test
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_the_printed_interval_is_the_one_computed(capsys: pytest.CaptureFixture[str]) -> None:
    text = _text("association.md")
    claimed = re.search(r"# (0\.\d+ \[.*\])", text)
    assert claimed
    exec(compile(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], "association.md", "exec"), {})
    assert capsys.readouterr().out.startswith(claimed[1])
