"""The page on scoring is held to the code."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from heartfelt.cli.app import app
from heartfelt.datasets.emolia.bench.benchmark_files import BANDS
from heartfelt.datasets.musiceval.layout import COLUMNS
from heartfelt.scoring import METRICS
from tests.cases import check_all

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scoring.md"


@check_all("metric", sorted(METRICS))
def test_every_metric_is_on_the_page(metric: str) -> None:
    assert f"`{metric}`" in PAGE.read_text(encoding="utf-8")


def test_every_option_on_the_page_exists() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group of commands
    here = (commands["bench"], commands["site"])
    known = {name for command in here for option in command.params for name in (*option.opts, *option.secondary_opts)}
    asked = set(re.findall(r"(--[a-z][a-z-]+)", PAGE.read_text(encoding="utf-8")))
    assert asked <= known
    assert len(asked) > 10


def test_bands_and_columns_are_those_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for below, word in BANDS:
        assert f"{below:.2f} {word}".lstrip("0") in text
    assert " ".join(COLUMNS) in text
