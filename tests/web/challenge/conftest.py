"""Every challenge of these tests divides its labels in the same way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def fixed_key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heartfelt.publishing.submissions.ledger_file.new_key", lambda: "7d" * 32)
        yield
