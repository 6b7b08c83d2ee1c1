"""Benches of functions with planted errors: what is asked, what a folder keeps, and when models together beat the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import DamagedError, InputError, UnknownNameError
from heartfelt.files import file_stem
from heartfelt.predictors import Case
from heartfelt.predictors.execution.store import JOURNAL
from heartfelt.report.bench.write import run_bench
from heartfelt.scoring import ScoreOptions
from heartfelt.scoring.bench import Bench, BenchOptions, bench
from heartfelt.scoring.bench.earlier import PREDICTED, earlier_bench, run_folder
from heartfelt.scoring.bench.prediction_file import FileScorer, in_order
from heartfelt.scoring.bench.stacking import NO_VARIANCE
from heartfelt.snapshot import Snapshot
from tests.scoring.made import numbers
from tests.web.challenge.made import STUDY, benchmark, predictions
from tests.web.challenge.made import snapshot as three_kinds

QUICK = ScoreOptions(resamples=100, ceilings=False, slices=())
OPTIONS = BenchOptions(score=QUICK)


@cache
def felt() -> tuple[Snapshot, dict[str, float]]:
    return numbers(per_cell=4, raters=8, noise=0.5)


def model(noise: float, seed: int, *, refuses: str = "") -> Callable[[Case], float]:
    """A function that knows the truth but for its noise."""
    truth = felt()[1]
    draw = np.random.default_rng(seed)
    said = {name: float(np.clip(true + draw.normal(0, noise), 1, 9)) for name, true in truth.items()}

    def answer(case: Case) -> float:
        name = case.stimulus
        if name == refuses:
            raise ValueError("no answer")
        return said[name]

    return answer


def constant(case: Case) -> float:
    return 5.0


def names(result: Bench) -> set[str]:
    return set(result.scores.models)


def test_models_with_errors_of_their_own_gain_together_and_useless_ones_do_not() -> None:
    snapshot, truth = felt()
    refused = next(iter(truth))
    result = bench(
        snapshot,
        {
            "a": model(0.8, 1),
            "b": model(0.8, 2),
            "c": model(0.8, 3),
            "flat": constant,
            "gap": model(0.1, 4, refuses=refused),
        },
        OPTIONS,
    )
    first = result.scores.parts.stacks[0]
    assert first.left_out["flat"] == NO_VARIANCE
    assert set(first.left_out) == {"flat"}, "a failure counts as the middle of the scale and is an answer"
    noisy = bench(snapshot, {"a": model(9.0, 5), "b": model(9.0, 6)}, OPTIONS)
    assert noisy.scores.parts.stacks
    assert not any(stack.gains for stack in noisy.scores.parts.stacks)
    four = bench(snapshot, {name: model(1.5, seed) for seed, name in enumerate("abcd", 1)}, OPTIONS)
    stack = four.scores.parts.stacks[0]
    assert stack.gains
    assert stack.result.p.value is not None
    assert stack.result.p.value <= 0.05
    alone = bench(snapshot, {"a": model(1.0, 1)}, OPTIONS)
    assert not alone.scores.parts.stacks


def test_only_the_questions_named_are_asked() -> None:
    asked: set[str] = set()

    def answer(case: Case) -> float:
        asked.update(ask.question for ask in case.asks)
        return 1.0

    options = replace(OPTIONS, questions=("valence", "fear"))
    result = bench(three_kinds(), {"one": answer}, options)
    assert asked == {"valence", "fear"}
    assert set(result.predictions["question"]) == asked
    with pytest.raises(UnknownNameError):
        bench(three_kinds(), {"one": answer}, replace(OPTIONS, questions=("joy",)))


def test_models_that_answer_nothing_are_named_with_their_reason() -> None:
    def broken(case: Case) -> float:
        raise ValueError("it is tired")

    result = bench(felt()[0], {"good": model(0.5, 1), "broken": broken}, OPTIONS)
    assert set(result.failed) == {"broken"}
    assert "it is tired" in result.failed["broken"]
    assert any("broken" in note for note in result.scores.notes)
    with pytest.raises(Exception, match="it is tired") as error:
        result.check()
    assert "good" in str(error.value)
    bench(felt()[0], {"good": model(0.5, 1)}, OPTIONS).check()


def test_what_does_not_name_models_is_refused() -> None:
    with pytest.raises(InputError):
        bench(felt()[0], [], OPTIONS)
    with pytest.raises(InputError):
        bench(felt()[0], 7, OPTIONS)  # type: ignore[arg-type]  # no models
    with pytest.raises(InputError):
        bench(felt()[0], ["intent", "intent"], OPTIONS)
    with pytest.raises(UnknownNameError):
        BenchOptions(layout="unheard-of")


def test_another_model_joins_those_of_an_earlier_bench(tmp_path: Path) -> None:
    snapshot, folder = felt()[0], tmp_path / "bench"
    first = run_bench(snapshot, {"a": model(0.5, 1), "b": model(1.0, 2)}, folder, OPTIONS)
    second = run_bench(snapshot, {"c": model(0.7, 3)}, folder, OPTIONS)
    assert names(first) == {"a", "b"}
    assert names(second) == {"a", "b", "c"}
    assert [run.model for run in second.runs] == ["c"]
    for name in ("a", "b"):
        assert second.scores.headline("valence", name) == first.scores.headline("valence", name)
    again = run_bench(snapshot, {"b": model(0.1, 9)}, tmp_path / "bench", OPTIONS)
    assert names(again) == {"a", "b", "c"}

    def kept(*new: str, data: str = second.scores.hash, options: ScoreOptions = QUICK) -> set[str]:
        return set(earlier_bench(folder, new, data, options).about)

    assert kept() == {"a", "b", "c"}
    assert kept("a", "d") == {"b", "c"}
    assert kept("a", "b", "c") == set()
    assert earlier_bench(None, (), "", QUICK).predictions.height == 0
    assert earlier_bench(tmp_path, (), "", QUICK).predictions.height == 0
    assert set(earlier_bench(folder, ("a",), second.scores.hash, QUICK).predictions["model"]) == {"b", "c"}
    assert set(earlier_bench(folder, ("a",), second.scores.hash, QUICK).ledgers) <= {"b", "c"}
    with pytest.raises(InputError, match="other data"):
        kept(data="0" * 64)
    with pytest.raises(InputError, match="resamples was 100 and is now 110"):
        kept(options=replace(QUICK, resamples=110))
    assert kept("a", "b", "c", data="0" * 64) == set(), "what is asked again may be about anything"
    (folder / PREDICTED).write_text("no table")
    with pytest.raises(DamagedError):
        kept()


def test_a_model_keeps_the_folder_that_an_earlier_version_gave_it(tmp_path: Path) -> None:
    spec = "chat:Seer@http://host/v1"
    shared = tmp_path / "chat_Seer_http_host_v1"
    assert run_folder(tmp_path, "intent") == tmp_path / "intent"
    assert run_folder(tmp_path, spec) == tmp_path / file_stem(spec)
    shared.mkdir()
    assert run_folder(tmp_path, spec) == tmp_path / file_stem(spec), "it holds no journal"
    (shared / JOURNAL).write_text("")
    assert run_folder(tmp_path, spec) == shared
    (shared / "run.json").write_text('{"predictor": {"spec": "chat:Other@http://host/v1"}}')
    assert run_folder(tmp_path, spec) == tmp_path / file_stem(spec), "another model was the last to finish in it"
    (shared / "run.json").write_text('{"predictor": {"spec": "' + spec + '"}}')
    assert run_folder(tmp_path, spec) == shared
    (tmp_path / file_stem(spec)).mkdir()
    assert run_folder(tmp_path, spec) == tmp_path / file_stem(spec)


def test_a_file_is_scored_whatever_the_order_of_its_rows(tmp_path: Path) -> None:
    scorer = FileScorer.of(benchmark(), replace(QUICK, part="test"))
    table = predictions()
    table.write_csv(tmp_path / "seer.csv")
    table.sample(fraction=1.0, shuffle=True, seed=3).write_csv(tmp_path / "other.csv")
    first, second = scorer.read(tmp_path / "seer.csv"), scorer.read(tmp_path / "other.csv", "renamed")
    assert (first.name, second.name) == ("seer", "renamed")
    assert first.content_hash == second.content_hash
    assert scorer.score_file(tmp_path / "other.csv").answers[0].name == "other"
    ordered = in_order(benchmark())
    assert ordered.items["question"].is_sorted()
    assert ordered.stimuli["stimulus"].is_sorted()
    assert in_order(replace(benchmark(), items=ordered.items.reverse())).items.equals(ordered.items)


def test_what_a_file_has_beyond_the_benchmark_is_counted_once_per_reason(tmp_path: Path) -> None:
    scorer = FileScorer.of(benchmark(), replace(QUICK, part="test"))
    extra = pl.DataFrame({"stimulus": ["nobody", "noone"], "question": ["valence"] * 2, "value": [5.0, 6.0]})
    pl.concat([predictions(), extra], how="diagonal").write_csv(tmp_path / "m.csv")
    plain = scorer.score(scorer.read(tmp_path / "m.csv"))
    assert plain.answers[0].unused.height == 2
    assert any(note.startswith("2 ") for note in plain.scores.notes)
    assert STUDY.name == plain.scores.study
