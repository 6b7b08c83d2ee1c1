"""A bug in any part of a command is printed and ends it with 1, after everything else was written; a refusal is a reason.

Errors are injected into one inner function after the other; a failing assertion names the function.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.failures import (
    Failed,
    attempt,
    collect_bugs,
    collecting_in_thread,
    is_bug,
    report_bug,
    result_of_worker,
    run_in_worker,
)
from heartfelt.wording import number
from tests.analysis.made import answers, snapshot, stimuli

RULES_MODULE = "heartfelt.screening.rules"
REPORT = ("summary.json", "labels.csv", "raters.csv", "ledger.csv", "report.html")
_ANALYSIS = (
    *("reliability", "agreement", "variance_tables", "pairwise", "rating_models", "stimulus_scores"),
    *("quadrants", "ellipses", "crossfit", "_both_sides", "raters_table", "majorities", "answers_used", "methods"),
)
PARTS = (
    *(f"heartfelt.analysis.run.{name}" for name in _ANALYSIS),
    "heartfelt.analysis.systems.effects._effects",
    "heartfelt.analysis.systems.effects._one_way",
    "heartfelt.analysis.systems.rating_models._fitted",
    "heartfelt.analysis.data.counts._tested",
    "heartfelt.analysis.consistency.reliability.question_reliability",
    "heartfelt.analysis.text.verdict_systems.sentences",
    f"{RULES_MODULE}.collusion",
    "heartfelt.report.sections.opening.opening",
    "heartfelt.report.sections.outcome.conclusions",
    "heartfelt.report.sections.systems.answers",
    "heartfelt.report.sections.raters.raters",
)
"""Functions that make one part each of what ``analyze`` writes."""
REFUSING = ("variance_tables", "slopes", "raters_table", "methods")


def bug(*_args: Any, **_options: Any) -> Any:
    raise TypeError("injected")


def refusal(*_args: Any, **_options: Any) -> Any:
    raise InputError("The injected data refuse.", "Use others.")


def break_function(patch: pytest.MonkeyPatch, target: str, function: Callable[..., Any]) -> None:
    """Replace a function, named with its module; packages hide some modules behind functions of the same name."""
    module, _, name = target.rpartition(".")
    if module == RULES_MODULE:
        from heartfelt.screening.rules import RULES

        patch.setitem(RULES._things, name, replace(RULES[name], judge=function))
        return
    import_module(module)
    patch.setattr(sys.modules[module], name, function)


def written(folder: Path, names: tuple[str, ...]) -> list[str]:
    """Which of the files are absent or empty."""
    return [name for name in names if not (folder / name).is_file() or not (folder / name).stat().st_size]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    table = stimuli(8)
    return snapshot("conveyance", table, answers("conveyance", table, raters=4)).write(tmp_path / "snapshot")


@pytest.mark.slow
def test_a_bug_in_a_part_of_an_analysis_ends_it_with_1_and_costs_nothing_else(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, target in enumerate(PARTS):
        out = tmp_path / str(place)
        with pytest.MonkeyPatch.context() as patch:
            break_function(patch, target, bug)
            code = main(["analyze", str(source), "--out", str(out), "--no-figures"])
        printed = capsys.readouterr().err
        assert code == 1, (target, printed)
        assert "TypeError: injected" in printed, (target, printed)
        assert "--verbose" in printed, (target, printed)
        assert "Traceback" not in printed, (target, printed)
        assert written(out, REPORT) == [], target


@pytest.mark.slow
def test_a_refusal_in_the_same_place_is_a_reason(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = [f"heartfelt.analysis.run.{name}" for name in REFUSING]
    targets += [target for target in PARTS if target.startswith(("heartfelt.report", "heartfelt.screening"))]
    for place, target in enumerate(targets):
        out = tmp_path / str(place)
        with pytest.MonkeyPatch.context() as patch:
            break_function(patch, target, refusal)
            code = main(["analyze", str(source), "--out", str(out), "--no-figures"])
        assert (code, capsys.readouterr().err) == (0, ""), target
        assert written(out, REPORT) == [], target
        text = "".join((out / name).read_text(encoding="utf-8") for name in ("summary.json", "report.html"))
        assert "The injected data refuse" in text, target


BENCH = ("bench", "--out", "OUT", "-p", "intent", "--resamples", "100")
PUBLISH = ("publish", "OUT", "--layout", "csv", "--no-figures")
ANALYZE = ("analyze", "--out", "OUT", "--no-figures")
STAGES: tuple[tuple[tuple[str, ...], str, tuple[str, ...], tuple[str, ...]], ...] = (
    (BENCH, "heartfelt.scoring.bench.run.score", ("runs/intent/predictions.csv",), ("scores.json",)),
    (BENCH, "heartfelt.report.bench.page.coverage", ("scores.json", "predictions.csv", "report.html"), ()),
    (BENCH, "heartfelt.report.bench.page._misses", ("scores.json", "ledger.csv", "report.html"), ()),
    (BENCH, "heartfelt.scoring.scorer.tasks_of", (), ("scores.json",)),
    (ANALYZE, "heartfelt.analysis.run.prepare", (), ("report.html",)),
    (ANALYZE, "heartfelt.labels.labelling._labelled", (), ("report.html",)),
    (PUBLISH, "heartfelt.analysis.run.variance_tables", ("README.md", "snapshot/manifest.json"), ()),
    (PUBLISH, "heartfelt.publishing.publish.check_release", (), ("README.md",)),
    (PUBLISH, "heartfelt.publishing.publish.write_papers", (), ("README.md",)),
    (("export", "long", "OUT"), "heartfelt.formats.export", (), ("ratings.csv",)),
)
"""A command, a function it calls, the files that are complete after a bug in it, and files that must be absent."""


@pytest.mark.slow
def test_every_stage_is_loud_and_leaves_only_what_is_complete(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, (command, target, complete, absent) in enumerate(STAGES):
        out = tmp_path / str(place)
        first, *rest = (str(out) if word == "OUT" else word for word in command)
        before = 1 if first == "export" else 0
        words = [first, *rest[:before], str(source), *rest[before:]]
        with pytest.MonkeyPatch.context() as patch:
            break_function(patch, target, bug)
            code = main(words)
        printed = capsys.readouterr().err
        assert code == 1, (target, printed)
        assert "TypeError: injected" in printed, (target, printed)
        assert "This is a bug in heartfelt" in printed, (target, printed)
        assert written(out, complete) == [], target
        assert [name for name in absent if (out / name).exists()] == [], target


@pytest.mark.slow
def test_a_bug_of_a_predictor_of_ours_is_a_problem_in_every_row_and_is_loud(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", str(source), "--out", str(tmp_path / "out"), "--resamples", "100"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heartfelt.predictors.baselines.Prediction", None)
        code = main([*words, "-p", "intent", "-p", "sham"])
    printed = capsys.readouterr().err
    assert code == 1
    assert printed.count("heartfelt failed in the predictor 'intent': TypeError") == 1, printed
    assert written(tmp_path / "out", ("scores.json", "predictions.csv", "report.html")) == []


def test_notebooks_get_the_bug_itself(source: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        break_function(patch, "heartfelt.analysis.run.variance_tables", bug)
        with pytest.raises(TypeError, match="injected"):
            heartfelt.analyze(heartfelt.load(source), resamples=100)
        break_function(patch, "heartfelt.analysis.run.variance_tables", refusal)
        reasons = heartfelt.analyze(heartfelt.load(source), resamples=100).summary.why_missing
        assert reasons["anova"] == "The injected data refuse"


def test_the_traceback_is_printed_on_request(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_function(monkeypatch, "heartfelt.formats.export", bug)
    export = ["export", "long", str(source), str(tmp_path / "out")]
    for words, variable, shown in (
        (export, "", False),
        (export, "1", True),
        (["--verbose", *export], "", True),
        ([*export, "--verbose"], "", True),
        ([export[0], "--verbose", *export[1:]], "", True),
    ):
        monkeypatch.setenv("HEARTFELT_TRACEBACK", variable)
        code = main(words)
        printed = capsys.readouterr().err
        assert code == 1, words
        assert ("in bug\n    raise TypeError" in printed) is shown, (words, printed)
        assert ("INFO heartfelt.cli.command: reading" in printed) is ("--verbose" in words), (words, printed)
    assert logging.getLogger("heartfelt").handlers == []


def test_the_log_goes_where_it_is_asked_for(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, show = tmp_path / "heartfelt.log", ["show", str(source)]
    for place, (value, verbose, in_file, on_screen) in enumerate(
        (
            ("info", False, False, True),
            ("error", False, False, False),
            (f"info:{file}", False, True, False),
            (f"info:{file},info", False, True, True),
            (f"info:{file}", True, True, True),
        )
    ):
        file.unlink(missing_ok=True)
        monkeypatch.setenv("HEARTFELT_LOG", value)
        assert main([*show, "--verbose"] if verbose else show) == 0
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        assert ("heartfelt.cli.command: reading" in text) is in_file, place
        assert ("heartfelt.cli.command: reading" in capsys.readouterr().err) is on_screen, place
    for value, message in (("loud", "names no level: 'loud'"), (f"info:{source}", "cannot be written to")):
        monkeypatch.setenv("HEARTFELT_LOG", value)
        assert main(show) == 2
        assert message in capsys.readouterr().err


def test_what_is_a_bug_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(TypeError) as ours:
        number("x")  # type: ignore[arg-type]  # the bug
    with pytest.raises(TypeError) as foreign:
        bug()
    with pytest.raises(InputError) as refused:
        refusal()
    assert is_bug(ours.value)
    assert not is_bug(foreign.value)
    assert not is_bug(refused.value)
    with collect_bugs() as bugs:
        assert report_bug("a part", ours.value)
        assert report_bug("a part", ours.value)
        assert not report_bug("a part", foreign.value)
        assert attempt(bug) == Failed("heartfelt failed here (TypeError: injected)")
        assert attempt(refusal) == Failed("The injected data refuse")
    assert [found.part for found in bugs] == ["a part", "bug"]
    assert bugs[1].summary == "bug: TypeError: injected"
    assert not caplog.records
    # Where nobody collects bugs:
    assert report_bug("the predictor 'x'", ours.value)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert caplog.records[0].exc_info is not None
    with pytest.raises(TypeError, match="injected"):
        attempt(bug)


def test_errors_of_the_system_are_raised_at_once() -> None:
    def full() -> None:
        raise OSError("full")

    with collect_bugs() as bugs, pytest.raises(OSError, match="full"):
        attempt(full)
    assert bugs == []


def test_bugs_of_other_threads_are_collected() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(_: int) -> object:
        return attempt(bug)

    with collect_bugs() as bugs, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(collecting_in_thread(work), range(3)))
    assert all(isinstance(result, Failed) for result in results)
    assert len(bugs) == 1


def test_bugs_of_other_processes_are_collected_with_their_traceback() -> None:
    result = pickle.loads(pickle.dumps(run_in_worker(attempt, bug)))
    with collect_bugs() as bugs:
        assert isinstance(result_of_worker(result), Failed)
    assert [found.summary for found in bugs] == ["bug: TypeError: injected"]
    assert "in bug\n    raise TypeError" in "".join(format_exception(bugs[0].error))


def test_missing_extras_are_reasons() -> None:
    def needs_torch() -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    result = attempt(needs_torch)
    assert isinstance(result, Failed)
    assert "torch" in result.reason
