"""Models have a name for people, a version and a hash, and whoever asks for one may give it a name."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import pytest

from heartfelt.predictors import Prediction, cases, parse_spec, predictor_from, run
from tests.predictors.examples import example
from tests.predictors.studies import snapshot


@pytest.mark.parametrize(
    ("text", "label", "name", "argument", "options"),
    [
        ("my model=file:a.csv", "my model", "file", "a.csv", {}),
        ("file:a=b.csv", "", "file", "a=b.csv", {}),
        ("chat[temperature=1]:m@http://host/v1", "", "chat", "m@http://host/v1", {"temperature": "1"}),
        ("Judge=chat[temperature=1]:m@http://h?a=b", "Judge", "chat", "m@http://h?a=b", {"temperature": "1"}),
        ("mine=package.module:function", "mine", "call", "package.module:function", {}),
        ("zero=constant", "zero", "constant", "", {}),
    ],
)
def test_a_label_before_the_predictor(text: str, label: str, name: str, argument: str, options: dict[str, str]) -> None:
    spec = parse_spec(text)
    assert (spec.label, spec.name, spec.argument, dict(spec.options)) == (label, name, argument, options)


def test_a_file_has_a_display_name_and_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "run3" / "wav2vec.csv"
    path.parent.mkdir()
    path.write_text("stimulus,question,value\nclip_000.wav,valence,4\n")
    asked = cases(snapshot(tmp_path / "study", 2), ["valence"])
    with predictor_from(f"file:{path}") as plain:
        done = run(plain, asked, tmp_path / "out")
    assert done.predictor is not None
    assert done.predictor.display_name == "wav2vec"
    assert done.predictor.hash == hashlib.sha256(path.read_bytes()).hexdigest()
    answer = json.loads((tmp_path / "out" / "run.json").read_text())
    assert answer["predictor"]["display_name"] == "wav2vec"
    assert answer["model"] == f"file:{path}"
    with predictor_from(f"Wave model=file:{path}") as named:
        table = run(named, asked, None).table
        assert pickle.loads(pickle.dumps(named)).info == named.info
    assert set(table["model"]) == {"Wave model"}
    assert named.info.display_name == "Wave model"
    assert named.info.spec == f"file:{path}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chat", "endpoint", "trained", "clip"])
def test_what_stands_behind_a_predictor_is_named(name: str, tmp_path: Path) -> None:
    argument = "http://host:1/sim" if name == "endpoint" else example(name, tmp_path)
    with predictor_from(f"{name}:{argument}") as made:
        info = made.info
    assert info.predictor == name
    assert info.model
    assert str(tmp_path) not in info.display_name
    assert (info.hash is None) == (name in {"chat", "endpoint"})


def test_a_number_alone_is_a_prediction() -> None:
    assert Prediction(4.2) == Prediction(value=4.2)
