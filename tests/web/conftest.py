"""A small study, its collection, its application."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import argon2
import pytest
from starlette.testclient import TestClient

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security import signing
from heartfelt.web.security.signing import hash_password
from heartfelt.web.serving.app import create_app
from tests.web.studies import write_study

SECRET = b"a secret for tests, long enough"
PASSWORD = "correct horse battery"
Client = Callable[..., TestClient]


@pytest.fixture(scope="session", autouse=True)
def quick_hashes() -> Iterator[None]:
    """Hashes of passwords cost next to nothing here; ``test_passwords`` checks what they cost elsewhere."""
    quick = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing, "_hasher", lambda: quick)
        yield


@pytest.fixture(scope="session")
def hashed(quick_hashes: None) -> str:
    return hash_password(PASSWORD)


@pytest.fixture(scope="session")
def small_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study folder to copy."""
    return write_study(tmp_path_factory.mktemp("small") / "study")


@pytest.fixture
def folder(small_study: Path, tmp_path: Path) -> Path:
    """A study folder of one's own."""
    return Path(shutil.copytree(small_study, tmp_path / "study"))


@pytest.fixture
def collection(folder: Path) -> Iterator[Collection]:
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as opened:
        yield opened


@pytest.fixture
def options(hashed: str) -> WebOptions:
    return WebOptions(secret=SECRET, password=hashed, refresh_seconds=0.0, access_log=False)


@pytest.fixture
def stranger(collection: Collection, options: WebOptions) -> Iterator[TestClient]:
    """Somebody without cookie or token."""
    app = create_app(collection, options)
    with TestClient(app, base_url="http://study.test", follow_redirects=False, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def researcher(stranger: TestClient) -> TestClient:
    """Somebody with a login, who sends the page's token with every change."""
    return log_in(stranger)


def log_in(client: TestClient, base: str = "") -> TestClient:
    """Log in as a browser does, and take the page's token."""
    form = client.get(f"{base}/study/login").text
    hidden = form.split('name="page" value="')[1].split('"')[0]
    done = client.post(f"{base}/study/login", data={"password": PASSWORD, "page": hidden})
    assert done.status_code == 303, done.text
    page = client.get(f"{base}/study").text
    client.headers["x-heartfelt-token"] = page.split('name="heartfelt-token" content="')[1].split('"')[0]
    return client
