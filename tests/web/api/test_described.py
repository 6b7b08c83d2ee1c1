"""The API is as described, whatever is sent: Schemathesis makes requests from the description; nothing is a 500."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.errors
import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.web.requests.options import WebOptions
from heartfelt.web.security.access import Tokens
from heartfelt.web.serving.app import create_app
from tests.lazily import Lazily
from tests.web.conftest import SECRET
from tests.web.studies import fill

schemathesis = Lazily("schemathesis")
EXAMPLES = 4
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@pytest.fixture(scope="module")
def described(small_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[str, str]]]:
    """The description of a running application, and a token."""
    pytest.importorskip("schemathesis")
    folder = Path(shutil.copytree(small_study, tmp_path_factory.mktemp("described") / "study"))
    with Collection.open(folder, options=CollectOptions(seed=1, durable=False)) as collection:
        fill(collection, ["a", "b"])
        options = WebOptions(secret=SECRET, address_per_minute=0, refresh_seconds=60.0, access_log=False)
        app = create_app(collection, options)
        token = Tokens(collection).make("schemathesis").text
        schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
        # The token that the requests are made with stays.
        yield schema.exclude(method="DELETE"), {"authorization": f"Bearer {token}"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_every_request_gets_an_answer_that_was_described(described: tuple[Any, dict[str, str]], mode: str) -> None:
    """``NEGATIVE`` requests break the description on purpose."""
    schema, headers = described
    tried = 0
    for result in schema.get_all_operations():
        try:
            strategy = result.ok().as_strategy(generation_mode=schemathesis.GenerationMode[mode])
            try_out(strategy, headers)
        except hypothesis.errors.Unsatisfiable:
            assert mode == "NEGATIVE"
            continue
        tried += 1
    assert tried >= {"POSITIVE": 23, "NEGATIVE": 10}[mode]


def try_out(strategy: Any, headers: dict[str, str]) -> None:
    """A few requests of one operation, each held to the description."""

    @hypothesis.given(case=strategy)
    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    def never_a_fault(case: Any) -> None:
        response = case.call(headers=headers)
        assert response.status_code < 500, (case.method, case.path, response.text)
        case.validate_response(response, checks=[schemathesis.checks.CHECKS.get_one(name) for name in CHECKS])

    never_a_fault()
