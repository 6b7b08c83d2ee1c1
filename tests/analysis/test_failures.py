"""A part that fails is missing, because …; everything else stands, in the summary and on the page.

Bugs are collected here, as commands do; tests/test_bugs_are_loud.py is about commands.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.text import verdict_systems
from heartfelt.errors import InputError
from heartfelt.failures import Bug, collect_bugs
from heartfelt.report import write_analysis
from heartfelt.report.analysis import analysis_page, charts_of
from heartfelt.report.charts import Absent
from heartfelt.report.figures import FIGURES
from heartfelt.report.layout.page import render
from tests.analysis.made import answers, snapshot, stimuli, summary_of
from tests.analysis.test_bad_input import check_parts, check_reasons

QUICK = AnalyzeOptions(resamples=100)
# The package exports the function of the same name, so the module is looked up among those loaded.
MODULE = sys.modules["heartfelt.analysis.run"]


def broken(*_args: Any, **_options: Any) -> Any:
    raise ZeroDivisionError("float division by zero")


@pytest.fixture(autouse=True)
def bugs() -> Iterator[list[Bug]]:
    with collect_bugs() as collected:
        yield collected


def made() -> Any:
    table = stimuli(12)
    return snapshot("conveyance", table, answers("conveyance", table, raters=5))


PARTS = [
    ("reliability", "reliability"),
    ("agreement", "agreement"),
    ("variance_tables", "anova"),
    ("pairwise", "pairwise"),
    ("rating_models", "mixed"),
    ("ordinal_checks", "ordinal"),
    ("system_means", "systems"),
    ("intent_means", "intents"),
    ("quadrants", "quadrants"),
    ("slopes", "slopes"),
    ("ellipses", "ellipses"),
    ("distributions", "distributions"),
    ("breakdown", "breakdown"),
    ("intent_confusion", "intent_confusion"),
    ("question_means", "questions"),
    ("checks", "checks"),
    ("sensitivity", "sensitivity"),
    ("crossfit", "crossfit"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("function", "part"), PARTS)
def test_a_failing_part_is_missing_with_the_reason(function: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = "_both_sides" if function == "sensitivity" else function
    monkeypatch.setattr(MODULE, target, broken)
    result = analyze(made(), QUICK)
    reason = summary_of(result)["why_missing"][part]
    assert "ZeroDivisionError" in reason
    assert "float division by zero" in reason
    assert "Traceback" not in json.dumps(summary_of(result))
    assert any(part in note and "ZeroDivisionError" in note for note in summary_of(result)["notes"])
    check_reasons(summary_of(result))
    check_parts(result)
    retained = {"reliability", "anova", "systems", "slopes"} - {part}
    assert all(summary_of(result)[name] for name in retained)
    page = render(analysis_page(result, charts_of(result), Path("report.html")))
    assert "ZeroDivisionError" in page
    assert "This section is missing" not in page


@pytest.mark.slow
def test_failing_screening_judges_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from heartfelt.screening.rules import RULES

    monkeypatch.setattr(type(RULES["informativeness"]), "apply", broken)
    result = analyze(made(), AnalyzeOptions(policy="default", resamples=100))
    assert summary_of(result)["screening"]["flagged"] == {}
    assert any("screening" in note and "ZeroDivisionError" in note for note in summary_of(result)["notes"])
    assert not any("No rater is flagged" in sentence for sentence in summary_of(result)["verdict"])
    assert any("Raters were not screened" in sentence for sentence in summary_of(result)["verdict"])
    assert summary_of(result)["anova"]


@pytest.mark.slow
def test_a_failing_mixed_model_costs_its_question_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from heartfelt.analysis.systems import rating_models
    from heartfelt.stats.inference import mixed_model as real

    calls: list[int] = []

    def sometimes(*args: Any, **options: Any) -> Any:
        calls.append(1)
        return broken() if len(calls) == 1 else real(*args, **options)

    monkeypatch.setattr(rating_models, "mixed_model", sometimes)
    rows = summary_of(analyze(made(), QUICK))["mixed"]
    by = {name: [row for row in rows if row["outcome"] == name] for name in ("valence", "arousal")}
    assert all("ZeroDivisionError" in row["why_missing"] for row in by["valence"])
    assert all(row["f"] is not None for row in by["arousal"])


@pytest.mark.slow
def test_a_failing_reliability_costs_its_question_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import heartfelt.analysis.consistency.reliability
    from heartfelt.stats.ceilings.noise_ceiling import ceiling as real

    calls: list[int] = []

    def sometimes(*args: Any, **options: Any) -> Any:
        calls.append(1)
        return broken() if len(calls) == 1 else real(*args, **options)

    monkeypatch.setattr(heartfelt.analysis.consistency.reliability, "ceiling", sometimes)
    result = analyze(made(), QUICK)
    trust = summary_of(result)["reliability"]
    assert "ZeroDivisionError" in trust["valence"]["icc2"]["why_missing"]
    assert trust["arousal"]["icc2"]["value"] is not None
    check_reasons(summary_of(result))
    check_parts(result)
    assert any("Reliability of valence: unknown" in sentence for sentence in summary_of(result)["verdict"])


@pytest.mark.slow
def test_a_failing_verdict_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_systems, "sentences", broken)
    result = summary_of(analyze(made(), QUICK))
    assert any("verdict on the systems is missing" in sentence for sentence in result["verdict"])
    assert result["verdict_groups"]["reliability"]


@pytest.mark.slow
def test_a_failing_figure_or_section_costs_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = analyze(made(), QUICK)
    monkeypatch.setitem(FIGURES._things, "slopes", replace(FIGURES["slopes"], chart=broken))
    monkeypatch.setattr("heartfelt.report.sections.reliability.trust", broken)
    charts = charts_of(result)
    assert isinstance(charts["slopes"], Absent)
    assert "ZeroDivisionError" in charts["slopes"].reason
    folder = write_analysis(result, tmp_path / "out")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "This section is missing: heartfelt failed here (ZeroDivisionError: float division by zero)." in page
    assert (folder / "figures" / "answers.png").is_file()


def test_a_figure_that_cannot_be_drawn_leaves_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from heartfelt.report.charts import Chart
    from heartfelt.report.drawing import files

    monkeypatch.setattr(files, "save", broken)
    files.save_or_explain(Chart(title="t", caption="c.", panels=[], rows=[]), tmp_path, "answers")
    assert "ZeroDivisionError" in (tmp_path / "answers.txt").read_text(encoding="utf-8")

    def full(*_args: Any) -> Any:
        raise OSError("no space left on device")

    monkeypatch.setattr(files, "save", full)
    with pytest.raises(OSError, match="no space"):
        files.save_or_explain(Chart(title="t", caption="c.", panels=[], rows=[]), tmp_path, "answers")


def test_mistakes_of_the_caller_are_still_errors() -> None:
    with pytest.raises(InputError):
        analyze(made(), AnalyzeOptions(covariates=("nothing",)))
    with pytest.raises(InputError):
        analyze(made(), AnalyzeOptions(by="nothing"))
