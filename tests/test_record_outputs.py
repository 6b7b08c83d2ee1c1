"""Recordings are compared by what matters: numbers and files always, wording only if asked."""

from __future__ import annotations

import importlib.util
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "record_outputs.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record_outputs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["record_outputs"] = module
    spec.loader.exec_module(module)
    return module


def write(folder: Path, **changed: str) -> Path:
    texts = {
        "stdout": "12 raters, alpha 0.71\n",
        "exit": "0\n",
        "files/summary.json.json": '{\n "kept": 12,\n "level": 0.95\n}\n',
        "files/labels.csv.table": "stimulus,label\na,1.5\nb,2.5\n",
        "files/ratings.parquet.table": "sha256 aa\nrater,value\nr1,3\n",
        "files/report.html.text": "<h2>Raters</h2><p>12 of 13</p>\n",
        "files/run/journal.jsonl.text": '{"n":1}\n{"n":2}\n',
        "files/.media-probes.parquet.table": "sha256 bb\n",
        "files/collected.sqlite.store": '{"cap": 3, "code_full": "SHNWYDDB"}\n',
        "files/run/calls.parquet.table": "sha256 dd\na,0.25\nb,0.5\n",
    } | changed
    slot = folder / "demo" / "001 analyze_snapshot"
    for name, text in texts.items():
        path = slot / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "interface.json").write_text("{}", encoding="utf-8")
    return folder


def test_the_same_and_what_need_not_be(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write(tmp_path / "before")
    after = write(
        tmp_path / "after",
        **{
            "files/run/journal.jsonl.text": '{"n":2}\n{"n":1}\n',
            "files/.media-probes.parquet.table": "sha256 cc\n",
            "files/collected.sqlite.store": '{"cap": 3, "code_full": "7J5JTUJX"}\n',
            "files/run/calls.parquet.table": "sha256 ee\nb,0.5\na,0.25\n",
        },
    )
    assert script.main(["compare", str(before), str(after)]) == 0
    assert "same    demo: analyze_snapshot" in capsys.readouterr().out


def test_wording_differs_and_numbers_do_not(script: ModuleType, tmp_path: Path) -> None:
    before = write(tmp_path / "before")
    after = write(
        tmp_path / "after",
        **{
            "stdout": "alpha 0.71 of 12 people\n",
            "files/summary.json.json": '{\n "confidence": 0.95,\n "retained": 12\n}\n',
            "files/report.html.text": "<h3>People</h3><p>12 out of 13</p>\n",
        },
    )
    assert script.main(["compare", str(before), str(after), "--numbers"]) == 0
    assert script.main(["compare", str(before), str(after)]) == 1


def test_every_kind_of_number_counts(script: ModuleType, tmp_path: Path) -> None:
    before = write(tmp_path / "before")
    changes = {
        "stdout": "12 raters, alpha 0.72\n",
        "exit": "1\n",
        "files/summary.json.json": '{\n "kept": 12,\n "level": 0.9500000001\n}\n',
        "files/labels.csv.table": "stimulus,label\na,2.5\nb,1.5\n",
        "files/ratings.parquet.table": "sha256 ab\nrater,value\nr1,3\n",
        "files/report.html.text": "<h2>Raters</h2><p>12 of -13</p>\n",
        "files/run/journal.jsonl.text": '{"n":1}\n{"n":3}\n',
        "files/new.csv.table": "a\n",
        "files/run/calls.parquet.table": "sha256 dd\na,0.25\nb,0.75\n",
        "files/collected.sqlite.store": '{"cap": 4, "code_full": "SHNWYDDB"}\n',
    }
    for name, text in changes.items():
        after = write(tmp_path / name.replace("/", "_"), **{name: text})
        for options in ([], ["--numbers"]):
            assert script.main(["compare", str(before), str(after), *options]) == 1, (name, options)


def test_a_step_that_is_missing_differs(script: ModuleType, tmp_path: Path) -> None:
    before, after = write(tmp_path / "before"), write(tmp_path / "after")
    (after / "demo" / "001 analyze_snapshot").rename(after / "demo" / "001 analyse_snapshot")
    assert script.main(["compare", str(before), str(after), "--numbers"]) == 1
    (after / "interface.json").unlink()
    assert script.main(["compare", str(before), str(after)]) == 2


def test_a_moved_step_is_the_same(script: ModuleType, tmp_path: Path) -> None:
    before, after = write(tmp_path / "before"), write(tmp_path / "after")
    (after / "demo" / "001 analyze_snapshot").rename(after / "demo" / "007 analyze_snapshot")
    assert script.main(["compare", str(before), str(after)]) == 0


def test_only_what_differs_between_runs_is_replaced(script: ModuleType) -> None:
    clean = script.Cleaner({"/tmp/recorded-x1": "<work>", "0.8.5": "<version>"})
    now = datetime.now(UTC)
    assert clean("/tmp/recorded-x1/a.csv by 0.8.5") == "<work>/a.csv by <version>"
    assert clean(f"at {now:%Y-%m-%dT%H:%M:%S.%fZ} and {now.timestamp()}") == "at <time> and <time>"
    data = f"rated 2022-09-26 15:41:38, 1664206898, alpha 0.71, share 12.5, hash 53ab{now.timestamp():.0f}c"
    assert clean(data) == data


def test_files_become_text(script: ModuleType, tmp_path: Path) -> None:
    clean = script.Cleaner({})
    pl.DataFrame({"a": [1, 2], "b": [[1.5], None]}).write_parquet(tmp_path / "t.parquet")
    text, kind = script.readable(tmp_path / "t.parquet", clean)
    assert (kind, text.splitlines()[1:]) == ("table", ["a,b", "1,[1.5]", "2,"])
    assert text.startswith("sha256 ")
    (tmp_path / "a.json").write_text('{"b": 1, "a": 2}', encoding="utf-8")
    assert json.loads(script.readable(tmp_path / "a.json", clean)[0]) == {"a": 2, "b": 1}
    assert script.readable(tmp_path / "a.json", clean)[0].index('"a"') < 5
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    assert script.readable(tmp_path / "a.png", clean)[1] == "hash"


def test_commands_are_counted_with_their_options(script: ModuleType) -> None:
    used = script._option_keys(["study", "token", "demo", "--name", "x", "-o=y"])
    assert {"study token", "study token --name", "study token -o"} <= used
    assert script._is_used("study token", ["--name"], used)
    assert not script._is_used("study token", ["--days"], used)
    assert not script._is_used("study quota", ["--name"], used)
