"""Functions of one's own as predictors."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from heartfelt.errors import HeartfeltError
from heartfelt.predictors import RunOptions, cases, predictor_from, run
from tests.predictors.studies import snapshot

MODULE = """
import os

def size(path):
    return os.path.getsize(path) / 1000

def by_text(text, words):
    return {"score": len(text), "reason": words}

def all_three(case):
    return {"valence": 5, "fits": "yes", "mood": {"shares": {"joy": 1.0}}}

def in_order(asks):
    return [3.5, True, "grief"]

def some(stimulus):
    return {"valence": 5}

def strange(stimulus):
    return {"arousal": 5}

def worse(question):
    return {"size": 5}

def single(content):
    return len(content) / 1000

def raises(question):
    raise RuntimeError("out of memory")

def nothing(question):
    return None

def odd(question):
    return object()

def flexible(question, weight=3, **more):
    return weight
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def answers(module: str, function: str, tmp_path: Path, questions: list[str] | None = None) -> list[tuple[object, ...]]:
    data = snapshot(tmp_path / function, 2)
    done = run(predictor_from(f"{module}:{function}"), cases(data, questions), None, RunOptions())
    return done.table.select("value", "score", "answer", "problem").rows()


@pytest.mark.slow
def test_what_functions_may_return(module: str, tmp_path: Path) -> None:
    assert answers(module, "all_three", tmp_path)[:3] == [
        (5.0, None, None, None), (1.0, None, "yes", None), (0.0, None, "joy", None),
    ]  # fmt: skip
    assert answers(module, "in_order", tmp_path)[:3] == [
        (3.5, None, None, None), (1.0, None, "yes", None), (1.0, None, "grief", None),
    ]  # fmt: skip
    assert answers(module, "by_text", tmp_path)[0] == (None, 28.0, None, None)
    assert answers(module, "size", tmp_path, ["valence"])[0] == (1.644, None, None, None)
    assert answers(module, "single", tmp_path, ["valence"])[0] == (1.644, None, None, None)
    assert answers(module, "flexible", tmp_path, ["valence"])[0] == (3.0, None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "problems"),
    [
        ("some", [None, "the function left this question out", "the function left this question out"]),
        ("strange", ["the function answered 'arousal', which was not asked"] * 3),
        ("worse", ["the function's answer has an unknown part 'size'"] * 3),
        ("single", ["the function gave one answer to 3 questions"] * 3),
        ("raises", ["RuntimeError: out of memory"] * 3),
        ("nothing", ["the function gave no answer"] * 3),
        ("odd", ["the function gave object, which is not a prediction"] * 3),
    ],
)
def test_what_functions_do_wrong_is_told(
    module: str, function: str, problems: list[str | None], tmp_path: Path
) -> None:
    assert [row[3] for row in answers(module, function, tmp_path)[:3]] == problems


def test_without_media_a_function_that_wants_them_is_not_called(module: str, tmp_path: Path) -> None:
    data = snapshot(tmp_path / "s", 2)
    (tmp_path / "s" / "media" / "clip_000.wav").unlink()
    done = run(predictor_from(f"{module}:size"), cases(data, ["valence"]))
    assert done.table["problem"].to_list() == ["the media file is missing: clip_000.wav", None]
    assert run(predictor_from(f"{module}:flexible"), cases(data, ["valence"])).counts["answered"] == 2


def test_the_identity_follows_the_source_and_a_function_travels(module: str, tmp_path: Path) -> None:
    each, two = predictor_from(f"{module}:size"), predictor_from(f"call:{module}:by_text")
    assert each.identity != two.identity
    again = pickle.loads(pickle.dumps(each))
    assert again.identity == each.identity
    assert not each.cacheable


def test_calls_may_run_at_the_same_time(module: str) -> None:
    assert predictor_from(f"call[at_once=4]:{module}:size").at_once == 4
    with pytest.raises(HeartfeltError, match="at_once must be"):
        predictor_from(f"call[at_once=0]:{module}:size")
