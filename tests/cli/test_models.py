"""``heartfelt models`` as users meet it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.errors import HeartfeltError
from heartfelt.predictors.weights import MODELS
from tests.cases import check_all

NAME = "musicnn-msd"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*arguments: str) -> str:
    """What a command prints; an error of the user's is raised as it is."""
    done = CliRunner().invoke(app, ["models", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


@pytest.mark.slow
def test_list_names_every_model_with_its_licence(cache: Path) -> None:
    text = run("list")
    for name in MODELS:
        assert name in text
        assert MODELS[name].licence in text
    assert "29 MB to fetch" in text
    assert str(cache) in text
    message = json.loads(run("list", "--json"))
    assert [model["name"] for model in message] == list(MODELS)


@pytest.mark.slow
@check_all("name", MODELS.names())
def test_show_says_where_a_model_comes_from(cache: Path, name: str) -> None:
    message = json.loads(run("show", name, "--json"))
    model = MODELS[name]
    assert message["licence"] == model.licence
    assert message["source"] == model.source
    assert model.sha256 in message["archive"]
    assert len(message["weights"]) == len(model.members)
    assert f"heartfelt models pull {name}" in message["kept"]
    assert model.credit in run("show", name).replace("\n", " ")


@pytest.mark.slow
def test_pull_verify_and_a_damaged_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from heartfelt.predictors.weights.store import PullError

    try:
        text = run("pull", NAME)
    except PullError as error:
        pytest.skip(f"{NAME} cannot be pulled: {error.problem}")
    assert f"{NAME}: {cache / 'models' / NAME}" in text.replace("\n", "")
    assert "here; ISC" in run("list")
    assert "sound" in run("verify", NAME)
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    assert NAME in run("pull", NAME)
    with (cache / "models" / NAME / "model.onnx").open("ab") as file:
        file.write(b"x")
    with pytest.raises(HeartfeltError, match="1 of 1 models failed"):
        run("verify")
    assert not (cache / "models" / NAME).exists()
    assert "No model is stored" in run("verify")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pull"], "No model is named"),
        (["pull", "musicn"], "No model is called"),
        (["pull", NAME], "HEARTFELT_OFFLINE is set"),
        (["pull", NAME, "--from", "nowhere"], "There is no"),
        (["pull", "owner/name"], "HEARTFELT_OFFLINE is set"),
        (["show", "nothing"], "No model is called"),
        (["verify", NAME], "1 of 1 models failed"),
        (["verify", "nothing"], "No model is called"),
    ],
)
def test_mistakes_are_told_with_a_fix(
    cache: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(cache / "hub"))
    if "owner/name" in arguments:
        pytest.importorskip("huggingface_hub")
    with pytest.raises(HeartfeltError, match=words) as caught:
        run(*arguments)
    assert caught.value.fix
    assert not [path for path in cache.rglob("*") if path.suffix in (".onnx", ".whl")]


@pytest.mark.slow
def test_nothing_is_fetched_by_looking(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    run("list")
    run("show", NAME)
    assert list(cache.iterdir()) == []
