"""Predictors by text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heartfelt.errors import HeartfeltError
from heartfelt.predictors import parse_spec, predictor_from
from tests.cases import check_all


def test_names_arguments_and_options() -> None:
    assert parse_spec("sham").name == "sham"
    spec = parse_spec(" endpoint[timeout=5, batch=never]:http://[::1]:80/a?b=c ")
    assert (spec.name, spec.argument) == ("endpoint", "http://[::1]:80/a?b=c")
    assert spec.options == {"timeout": "5", "batch": "never"}
    assert parse_spec("call:my.module:run").argument == "my.module:run"
    assert parse_spec("my.module:run").name == "call"
    assert parse_spec("file:C:\\data\\x.csv").argument == "C:\\data\\x.csv"


def test_options_may_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse_spec("chat[seed=1]:m@http://[::1]:80/v1[temperature=.5, input_price=1]")
    assert (spec.name, spec.argument) == ("chat", "m@http://[::1]:80/v1")
    assert spec.options == {"seed": "1", "temperature": ".5", "input_price": "1"}
    assert parse_spec("versa.jsonl[metrics=utmos]").options == {"metrics": "utmos"}
    assert parse_spec("endpoint:http://[::1]").argument == "http://[::1]"
    assert parse_spec("endpoint:http://x/?a[b]=c").argument == "http://x/?a[b]=c"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed[a=1]").mkdir()
    assert parse_spec("trained:seed[a=1]").argument == "seed[a=1]"


def test_a_predictor_knows_what_it_was_asked_for_with() -> None:
    assert predictor_from("constant:3").spec == "constant:3"
    assert predictor_from("human", {"seed": "4"}).identity.startswith("human any seed 4")
    assert predictor_from("human[seed=1]", {"seed": "4"}).identity.startswith("human any seed 4")


@check_all(
    ("spec", "problem", "fix"),
    [
        ("shame", "No predictor is called 'shame'.", "Did you mean 'sham'?"),
        ("", "does not name a predictor", "Write NAME"),
        ("endpont:http://x", "No predictor is called 'endpont'", "Did you mean 'endpoint'?"),
        ("shame:on_you", "No predictor is called 'shame', and no module is called 'shame'.", "Did you mean 'sham'?"),
        ("call:nowhere:run", "No module is called 'nowhere'.", "working folder"),
        ("json:dump5", "The module 'json' has no function 'dump5'.", "Did you mean 'dump'?"),
        ("json:dumps", "has an unknown parameter 'obj'", "Parameters it may have"),
        ("call:json", "'json' does not name a function.", "module:function"),
        ("sham:3", "takes no argument", "Ask for 'sham'."),
        ("sham[x=1]", "has no option 'x'", "Options: none."),
        ("human[sede=1]", "has no option 'sede'", "Did you mean 'seed'?"),
        ("human:any[sede=1]", "has no option 'sede'", "Did you mean 'seed'?"),
        ("human[seed]", "'seed' in 'human[seed]' is not an option.", "option=value"),
        ("human[seed=x]", "The seed 'x' is not a whole number.", "such as 0"),
        ("endpoint", "The endpoint has no address.", "endpoint:http://"),
        ("endpoint:localhost", "'localhost' is not the address of a server.", "endpoint:http://"),
        ("endpoint[audio=maybe]:http://x", "The option 'audio' of the endpoint is 'maybe'.", "send, stem"),
        ("endpoint[timeout=0]:http://x", "'0' is not a valid timeout", "above 0"),
        ("endpoint:http://me:secret@x", "holds a password", "token_from"),
        ("file", "has no file", "file:predictions.csv"),
        ("file:nowhere.csv", "There is no file nowhere.csv.", "Check the path."),
    ],
)  # fmt: skip
def test_what_cannot_be_made_says_why_and_what_to_do(spec: str, problem: str, fix: str) -> None:
    with pytest.raises(HeartfeltError) as caught:
        predictor_from(spec)
    assert problem in caught.value.problem
    assert fix in caught.value.fix


def test_importing_predictors_loads_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "ray", "numba", "matplotlib", "httpx", "onnxruntime", "soundfile", "fastapi"}
    code = "import sys, heartfelt.predictors; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & {name.split(".")[0] for name in done.stdout.split()}


@pytest.mark.slow
def test_other_packages_may_offer_predictors(tmp_path: Path) -> None:
    """A package with an entry point, as installed: its predictor is known by name."""
    home = tmp_path / "site"
    info = home / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[heartfelt.predictors]\nother = other_predictor:Other\n")
    (home / "other_predictor.py").write_text(
        "from heartfelt.predictors.baselines import Sham\nclass Other(Sham):\n    name = 'other'\n"
    )
    code = (
        "from heartfelt.predictors import PREDICTORS, predictor_from\n"
        "print(predictor_from('other').name, 'other' in PREDICTORS.names())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(home), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["other", "True"]
