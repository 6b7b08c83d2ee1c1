"""The page on predictors is held to the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heartfelt.predictors import ENGINES, PREDICTIONS, Retry, RunOptions
from heartfelt.predictors.hosted.http import LONGEST_ANSWER, is_transient
from tests.docs.reference import meanings, sections, settings_pages
from tests.predictors.servers import serving
from tests.predictors.studies import snapshot

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "predictors.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_first_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot(tmp_path / "study", 4).write(tmp_path / "snapshot")
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
    names: dict[str, object] = {}
    with serving() as server:
        exec(code.replace("http://localhost:8000/similarity", server.url), names)
    assert names["done"].counts["answered"] == 12  # type: ignore[attr-defined]  # made by the code of the page
    assert (tmp_path / "runs" / "endpoint" / "predictions.parquet").is_file()


def test_every_column_and_every_engine_is_explained() -> None:
    columns = meanings(sections(settings_pages()["predictors.md"])["Columns of predictions"])
    assert list(columns) == list(PREDICTIONS.names)
    assert all(len(meaning) > 8 for meaning in columns.values())
    for name in ENGINES.names():
        assert f"`{name}`" in PAGE, name


def test_the_numbers_are_those_of_the_code() -> None:
    assert Retry().retries == 4
    assert "up to four times" in PAGE
    assert RunOptions().give_up_after == 50
    assert "when fifty stimuli in a row" in PAGE.replace("When", "when")
    assert Retry().longest_retry_after == 900
    assert "up to 900 seconds" in PAGE
    assert LONGEST_ANSWER == 16 * 1024**2
    assert "longer than 16 MiB" in PAGE
    assert [status for status in range(500, 600) if not is_transient(status)] == [501, 505, 506, 510, 511]
