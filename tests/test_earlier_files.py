"""Files of heartfelt 0.8, which wrote some fields under other names, are read: every number of theirs is restored.

The files in ``tests/earlier_files`` were written by that version; of lists of rows, all but the first row were cut.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heartfelt.analysis.summary import Summary
from heartfelt.predictors.trained.facts import TrainingFacts
from heartfelt.predictors.trained.folder import read_manifest
from heartfelt.predictors.trained.heads.head import QuestionHead
from heartfelt.report.site.sources.runs import read_scores
from heartfelt.scoring.bench.manifest import ScoringManifest
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import LAYOUT
from heartfelt.screening.panel import PanelCounts
from heartfelt.serialization import from_json, read_json, to_json

FOLDER = Path(__file__).parent / "earlier_files"
ANYWHERE = {"F": "f", "why_no_test": "why_missing"}
OF_SCORES = {
    "source": "hash", "system_truth": "systems_from", "n_items": "items", "n_answered": "answered",
    "n_pairs_compared": "pairs",
}  # fmt: skip


def renamed(content: Any, parent: str = "") -> Any:
    """What 0.8 wrote, under today's names."""
    if isinstance(content, list):
        return [renamed(part, parent) for part in content]
    if not isinstance(content, dict):
        return content
    out = {}
    for name, part in content.items():
        key = ANYWHERE.get(name, name)
        if name == "level" and isinstance(part, float):
            key = "alpha" if parent == "policy" else "confidence"
        elif parent == "reliability" and name == "from":
            key = "single_rating"
        elif name == "value" and content.keys() <= {"value", "p", "method", "why_no_test"}:
            key = "share"
        out[key] = renamed(part, parent if parent == "reliability" else name)
    return out


def renamed_scores(content: Any, parent: str = "") -> Any:
    if isinstance(content, list):
        return [renamed_scores(part, parent) for part in content]
    if not isinstance(content, dict):
        return content
    out = {}
    for name, part in content.items():
        key = name
        if name == "level":
            key = "aggregation" if isinstance(part, str) else "confidence"
        elif name in OF_SCORES and (parent or name == "source") and "method" not in content:
            key = OF_SCORES[name]
        elif (parent, name) == ("tasks", "task"):
            key = "id"
        elif parent == "metrics" and name == "chance":
            key = "chance_rule"
        out[key] = renamed_scores(part, "metrics" if parent == "metrics" else name)
    return out


@pytest.mark.parametrize("name", ["summary", "summary-categories"])
def test_an_analysis_is_restored_in_full(name: str) -> None:
    path = FOLDER / f"{name}.json"
    before = json.loads(path.read_text("utf-8"))
    restored = read_json(path, Summary)
    assert to_json(restored) == renamed(before)
    assert '"level": 0.95' in path.read_text("utf-8"), "the file is of 0.8"


def test_the_figures_of_an_analysis_are_those_that_were_written() -> None:
    before = json.loads((FOLDER / "summary.json").read_text("utf-8"))
    summary = read_json(FOLDER / "summary.json", Summary)
    assert summary.anova is not None
    assert summary.anova[0].f == before["anova"][0]["F"]
    assert summary.anova[0].f is not None
    assert summary.anova[0].partial_eta_squared.confidence == before["anova"][0]["partial_eta_squared"]["level"]


def test_scores_are_restored_in_full() -> None:
    before = json.loads((FOLDER / "scores.json").read_text("utf-8"))
    scores = read_scores(FOLDER / "scores.json")
    assert to_json(scores) == renamed_scores(before) | {"heartfelt_scores": LAYOUT}
    assert scores.heartfelt_version == "0.8.5"
    assert scores.hash == before["source"]
    assert scores.tasks[0].id == before["tasks"][0]["task"]
    assert scores.scores[0].aggregation == before["scores"][0]["level"]


def test_a_model_of_layout_2_is_restored() -> None:
    before = json.loads((FOLDER / "model.json").read_text("utf-8"))
    assert read_manifest(FOLDER)["layout"] == 2
    (output,) = from_json(tuple[QuestionHead, ...], before["outputs"])
    assert (output.head.intercept, output.confidence) == (5.5, 0.8)
    facts = from_json(TrainingFacts, before["facts"])
    assert facts.confidence == 0.8
    assert facts.panel == {"raters": 12, "retained": 10, "ratings": 480, "ratings_retained": 400}


def test_counts_of_a_panel_and_options_are_restored() -> None:
    counts = {
        "raters": 12, "kept": 10, "dropped": 2, "flagged": 3, "flagged_by_standards": 0, "ratings": 480, "ratings_kept": 400,
    }  # fmt: skip
    panel = from_json(PanelCounts, counts)
    assert (panel.retained, panel.ratings_retained) == (10, 400)
    options = from_json(ScoreOptions, {"level": 0.8, "system_truth": "the file mos.csv"})
    assert (options.confidence, options.systems_from) == (0.8, "the file mos.csv")


def test_the_manifest_of_scores_is_restored(tmp_path: Path) -> None:
    manifest = {
        "heartfelt_score": 1, "scores_sha256": "", "options": {"level": 0.9}, "seeds": {}, "versions": {}, "settings": {},
        "platform": {}, "scored": {
            "study": "", "benchmark": "", "part": None, "predictions": "", "model": "", "file": "", "file_sha256": "", "rows": 0,
        },
    }  # fmt: skip
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    restored = read_json(tmp_path / "manifest.json", ScoringManifest)
    assert (restored.heartfelt_score, restored.options.confidence) == (1, 0.9)
