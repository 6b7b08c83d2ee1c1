"""Two servers on one PostgreSQL: they share keys, tokens, settings and what was rated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import load_keys
from heartfelt.web.serving.app import create_app
from tests.collect.conftest import postgres, postgres_server  # noqa: F401 - fixtures
from tests.collect.postgres import PostgresServer
from tests.web.conftest import log_in
from tests.web.studies import rate

API = "/api/v1"


@pytest.fixture
def two(folder: Path, postgres: str) -> Iterator[list[Collection]]:  # noqa: F811  # a fixture taken in by name
    text = (folder / "study.yaml").read_text(encoding="utf-8").replace("name: small", "name: web-shared")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    quick = CollectOptions(seed=1, durable=False)
    with (
        Collection.open(folder, database=postgres, options=quick) as each,
        Collection.open(folder, database=postgres, options=quick) as other,
    ):
        yield [each, other]


@pytest.mark.slow
def test_two_servers_are_one_study(two: list[Collection], hashed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARTFELT_SECRET", raising=False)
    monkeypatch.delenv("HEARTFELT_ADMIN_PASSWORD", raising=False)
    keys = [load_keys(collection) for collection in two]
    assert keys[0].new_password
    assert keys[1].new_password is None
    assert (keys[0].secret, keys[0].password) == (keys[1].secret, keys[1].password)
    options = WebOptions(secret=keys[0].secret, password=hashed, refresh_seconds=0.0, access_log=False)
    clients = [TestClient(create_app(c, options), base_url="http://study.test", follow_redirects=False) for c in two]
    with clients[0], clients[1]:
        log_in(clients[0])
        token = clients[0].post(f"{API}/tokens", json={"name": "other"}).json()["token"]
        program = {"authorization": f"Bearer {token}"}
        rater, done = rate(two[0], "a")
        assert done == 12
        message = clients[1].get(f"{API}/coverage", headers=program)
        assert message.status_code == 200
        assert message.json()["complete"] == 12
        assert clients[1].get(f"{API}/raters", headers=program).json()["raters"][0]["rater"] == rater
        excluded = clients[1].post(f"{API}/raters/{rater}/exclude", json={"reason": "x\u0000y"}, headers=program)
        assert excluded.json()["slots"] == 12
        assert clients[0].get(f"{API}/coverage").json()["complete"] == 0
        clients[1].patch(f"{API}/settings", json={"open": False}, headers=program)
        assert clients[0].get(f"{API}/settings").json()["open"] is False
        listed = clients[0].get(f"{API}/tokens").json()["tokens"]
        assert clients[0].delete(f"{API}/tokens/{listed[0]['id']}").status_code == 204
        assert clients[1].get(f"{API}/coverage", headers=program).status_code == 401
        assert clients[0].get(f"{API}/raters/no%00body/trials").status_code in {404, 422}
        assert clients[0].get(f"{API}/stimuli", params={"search": "\x00"}).json()["total"] == 0


def test_a_database_that_goes_away_and_comes_back(
    two: list[Collection],
    hashed: str,
    postgres_server: PostgresServer,  # noqa: F811  # a fixture taken in by name
) -> None:
    options = WebOptions(
        secret=b"a secret for tests, long enough", password=hashed, refresh_seconds=0.0, access_log=False
    )
    with TestClient(create_app(two[0], options), base_url="http://study.test", follow_redirects=False) as client:
        log_in(client)
        token = client.post(f"{API}/tokens", json={"name": "away"}).json()["token"]
        postgres_server.stop()
        try:
            for path in ("coverage", "raters", "reliability", "settings", "stimuli", "tokens"):
                message = client.get(f"{API}/{path}")
                assert message.status_code == 503, path
                assert int(message.headers["retry-after"]) >= 1
            assert client.get(f"{API}/study", headers={"authorization": f"Bearer {token}"}).status_code == 503
            assert client.patch(f"{API}/settings", json={"cap": 5}).status_code == 503
            assert client.get("/study").status_code == 200
        finally:
            postgres_server.start()
        assert client.get(f"{API}/settings").json()["cap"] is None
        assert client.get(f"{API}/coverage").status_code == 200
