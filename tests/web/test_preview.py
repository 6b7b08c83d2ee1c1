"""A preview walks the real pages, says so on each, starts again at will, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.serving.app import create_app
from heartfelt.web.serving.serve import preview
from tests.web.conftest import log_in
from tests.web.rater.studies import small_study


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def walk(address: str) -> str:
    """One visitor from the first page to the last; the ending."""
    with httpx.Client(base_url=address, follow_redirects=True, trust_env=False) as client:
        page = client.get("/")
        assert "Preview: nothing is stored." in page.text
        step = client.get("/rate/step").json()["step"]
        bodies = {"consent": {"agreed": True}, "demographics": {"answers": {"age": 30, "gender": "other"}}}
        while step["kind"] != "end":
            if step["kind"] == "trial":
                assert client.get(f"/media/{step['media']}").status_code == 200
                values = dict.fromkeys(step["questions"], 5)
                body = {"trial": step["trial"], "key": step["trial"], "values": values}
                step = client.post("/rate/answer", json=body).json()["then"]
            else:
                name = step["kind"] if step["kind"] in bodies else "ready"
                step = client.post(f"/rate/{name}", json=bodies.get(step["kind"], {})).json()["step"]
        assert client.get("/").text.count("screen-consent") == 1
        assert client.get("/rate/step").json()["step"]["kind"] == "consent", "a new visit starts again"
        assert client.get("/study", follow_redirects=False).status_code == 303
        return str(step["ending"])


def client_of(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://study.test", follow_redirects=False)


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", "/lab/one"])
def test_the_researcher_previews_a_running_study(
    prefix: str, folder: Path, options: WebOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a browser in which somebody rates the study, too: the study's own store gets nothing of the preview."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        with client_of(create_app(collection, replace(options, prefix=prefix))) as client:
            at = f"{prefix}/study/preview"
            refused = client.get(f"{at}/")
            assert (refused.status_code, refused.headers["location"]) == (303, f"{prefix}/study/login")
            assert client.post(f"{at}/rate/ready", json={}).status_code == 401
            assert not list(tmp_path.glob("heartfelt-preview-*"))
            client.get(f"{prefix}/")
            own = client.get(f"{prefix}/rate/step").json()
            log_in(client, prefix)
            client.follow_redirects = True
            before, stored = collection.change(), contents(folder)
            for _ in range(2):
                page = client.get(f"{at}/")
                assert "Preview: nothing is stored." in page.text
                step = client.post(f"{at}/rate/consent", json={"agreed": True}).json()["step"]
                while step["kind"] != "end":
                    if step["kind"] == "trial":
                        assert client.get(f"{at}/media/{step['media']}").status_code == 200
                        values = dict.fromkeys(step["questions"], 5)
                        body = {"trial": step["trial"], "key": step["trial"], "values": values}
                        step = client.post(f"{at}/rate/answer", json=body).json()["then"]
                    else:
                        step = client.post(f"{at}/rate/ready", json={}).json()["step"]
                assert step["ending"] == "complete"
            assert collection.change() == before
            assert collection.raters().height == 1
            assert contents(folder) == stored
            assert client.get(f"{prefix}/rate/step").json() == own, "the rater of this browser is still there"
            (store,) = tmp_path.glob("heartfelt-preview-*")
            assert store.stat().st_mode & 0o777 == 0o700
        assert not list(tmp_path.glob("heartfelt-preview-*"))


@pytest.mark.slow
def test_a_preview_leaves_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_DATABASE", "sqlite:////nowhere/at/all.sqlite")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    folder = tmp_path / "study"
    small_study("aimoclips", folder, count=2, design={"ratings_per_item": 1})
    before = contents(folder)
    with preview(folder) as address:
        assert address.startswith("http://127.0.0.1:")
        for _ in range(3):
            assert walk(address) == "complete", "never full"
    assert contents(folder) == before
    assert not list(tmp_path.glob("heartfelt-preview-*"))
