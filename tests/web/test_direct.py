"""Requests on the direct way are treated as on FastAPI's: the same headers, refusals, prefix and faults."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.direct import StudyApp
from heartfelt.web.security.guard import CONTENT_POLICY
from heartfelt.web.serving.app import create_app


def application(client: TestClient) -> StudyApp:
    assert isinstance(client.app, StudyApp)
    return client.app


def test_every_direct_endpoint_is_also_a_route(stranger: TestClient) -> None:
    app = application(stranger)
    assert {("POST", "/rate/answer"), ("GET", "/rate/step"), ("POST", "/rate/beat")} <= set(app.direct)
    for method, path in sorted(app.direct):
        direct = stranger.request(method, path, json={} if method == "POST" else None)
        kept, app.direct = app.direct, {}
        routed = stranger.request(method, path, json={} if method == "POST" else None)
        app.direct = kept
        assert (direct.status_code, direct.content) == (routed.status_code, routed.content)
        assert {**direct.headers} == {**routed.headers}
        assert direct.headers["content-security-policy"] == CONTENT_POLICY


def test_refusals_and_faults_have_words(stranger: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger.get("/")
    assert stranger.get("/rate/answer").status_code == 405
    assert stranger.post("/rate/answer", content=b"{", headers={"content-type": "application/json"}).json()
    assert stranger.post("/rate/answer", json={"trial": 3}).status_code == 422
    assert stranger.post("/rate/beat", json={"trial": "7"}).status_code == 404

    async def broken(request: object) -> None:
        raise TypeError("a fault")

    app = application(stranger)
    monkeypatch.setattr(app, "direct", {("POST", "/rate/answer"): broken})
    fault = stranger.post("/rate/answer", json={})
    assert fault.status_code == 500
    assert "reference" in fault.json()["problem"]
    assert fault.headers["x-content-type-options"] == "nosniff"


def test_a_prefix_reaches_the_same_endpoints(collection: Collection, options: WebOptions) -> None:
    with TestClient(create_app(collection, replace(options, prefix="/lab")), base_url="http://study.test") as client:
        client.get("/lab/")
        cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
        steps = [client.get(path, headers=cookie).json()["step"] for path in ("/lab/rate/step", "/rate/step")]
        assert steps[0]["kind"] == steps[1]["kind"]
