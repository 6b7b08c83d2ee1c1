"""Media by opaque id: ranges, caching, who may have them, and no way out of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.rater.presentation import Blinding
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.signing import RATER_COOKIE, STUDY_COOKIE, Signer
from heartfelt.web.serving.app import create_app
from tests.facts import mentions
from tests.web.rater.studies import small_study

SECRET = b"a secret for the tests of the media"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("media") / "study"
    small_study("aimoclips", folder, count=2, design={"ratings_per_item": 60})
    with Collection.open(folder, options=CollectOptions(seed=3, durable=False)) as opened:
        yield opened


@pytest.fixture
def client(collection: Collection) -> Iterator[TestClient]:
    options = WebOptions(secret=SECRET, address_per_minute=0, rater_per_minute=0, access_log=False)
    with TestClient(create_app(collection, options), base_url="http://127.0.0.1") as made:
        made.get("/")
        yield made


@pytest.fixture
def address(client: TestClient) -> str:
    client.post("/rate/consent", json={"agreed": True})
    client.post("/rate/demographics", json={"answers": {"age": 30, "gender": "other"}})
    return f"/media/{client.post('/rate/ready', json={}).json()['step']['media']}"


@pytest.fixture
def content(collection: Collection, address: str) -> bytes:
    return path_of(collection, address).read_bytes()


def path_of(collection: Collection, address: str) -> Path:
    media = Blinding(SECRET, collection.study).media_of(address.removeprefix("/media/"))
    result = collection.media(str(media))
    assert result is not None
    return result.path


def test_the_whole_file(client: TestClient, address: str, content: bytes) -> None:
    whole = client.get(address)
    assert whole.content == content
    assert whole.headers["content-type"] == "audio/wav"
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["cache-control"].startswith("private")
    assert not {"content-disposition", "last-modified", "date", "server"} & set(whole.headers)
    assert client.head(address).headers["content-length"] == str(len(content))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("bytes=0-9", slice(0, 10)), ("bytes=100-", slice(100, None)), ("bytes=-7", slice(-7, None))],
)
def test_ranges(client: TestClient, address: str, content: bytes, wanted: str, expected: slice) -> None:
    part = client.get(address, headers={"range": wanted})
    assert part.status_code == 206
    assert part.content == content[expected]
    assert part.headers["content-range"].endswith(f"/{len(content)}")


def test_a_range_beyond_the_end_is_refused(client: TestClient, address: str, content: bytes) -> None:
    beyond = client.get(address, headers={"range": f"bytes={len(content)}-"})
    assert beyond.status_code == 416


def test_what_has_not_changed_is_not_sent_again(client: TestClient, address: str) -> None:
    tag = client.get(address).headers["etag"]
    again = client.get(address, headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag


def test_who_may_have_them(client: TestClient, address: str) -> None:
    signer = Signer(SECRET)
    for cookie, value, status in (
        (RATER_COOKIE, signer.sign("rater", "anyone", 60), 200),
        (STUDY_COOKIE, signer.sign("study", "researcher", 60), 200),
        (RATER_COOKIE, signer.sign("study", "researcher", 60), 401),
        (RATER_COOKIE, "forged", 401),
    ):
        client.cookies.clear()
        client.cookies.set(cookie, value)
        assert client.get(address).status_code == status, cookie
    client.cookies.clear()
    assert client.get(address).status_code == 401


@pytest.mark.parametrize("name", ["nothing", "..%2f..%2fstudy.yaml", "%2e%2e/study.yaml", "a" * 500, "%00"])
def test_no_other_file_can_be_had(client: TestClient, name: str) -> None:
    assert client.get(f"/media/{name}").status_code == 404


def test_a_file_that_is_gone_is_told(client: TestClient, collection: Collection, address: str) -> None:
    path = path_of(collection, address)
    retained = path.read_bytes()
    path.unlink()
    try:
        response = client.get(address)
        assert response.status_code == 404
        assert mentions(response.json()["problem"], "media", "file", "missing")
    finally:
        path.write_bytes(retained)
