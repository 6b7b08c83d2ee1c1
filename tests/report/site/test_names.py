"""What a site calls things, where it looks for benches, and what it replaces."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors.answers.sets import SEPARATOR
from heartfelt.report.site.frame import require_own_site
from heartfelt.report.site.sources.boards import display_names, file_names, files_of, members, unique
from heartfelt.report.site.sources.published import PublicFacts
from heartfelt.report.site.sources.runs import find_runs, folder_of, read_run
from heartfelt.report.site.sources.secrets import shown_spec, without_secrets
from heartfelt.scoring import ModelInfo
from heartfelt.study import parse_study
from tests.report.site.conftest import Made


def info(spec: str, name: str) -> ModelInfo:
    return ModelInfo(spec=spec, display_name=name, predictor=spec.partition(":")[0], version=None, hash=None)


def test_equal_names_are_numbered_from_two() -> None:
    assert unique({"a": "x", "b": "y", "c": "x", "d": "x"}) == {"a": "x", "b": "y", "c": "x (2)", "d": "x (3)"}
    assert unique({"a": "x (2)", "b": "x", "c": "x"}) == {"a": "x (2)", "b": "x", "c": "x (3)"}


def test_models_with_one_display_name_are_called_as_they_were_asked_for() -> None:
    about = {
        "chat:one": info("chat:one", "Seer"),
        "chat:two": info("chat:two", "Seer"),
        "file:/home/me/x.csv": info("file:/home/me/x.csv", ""),
        "clap": info("clap", "CLAP"),
    }
    assert display_names([*about, "intent"], about) == {
        "chat:one": "chat:one",
        "chat:two": "chat:two",
        "file:/home/me/x.csv": "file:…/x.csv",
        "clap": "CLAP",
        "intent": "intent",
    }


def test_pages_have_names_that_differ_whatever_their_case() -> None:
    assert file_names(["A b/c", "a b-c", "a-B-c", "index", "…", "--x.", "y" * 90]) == {
        "A b/c": "A-b-c.html",
        "a b-c": "a-b-c-2.html",
        "a-B-c": "a-B-c-3.html",
        "index": "index-2.html",
        "…": "page.html",
        "--x.": "x.html",
        "y" * 90: "y" * 80 + ".html",
    }
    assert files_of({1: "a", 2: "a"}) == {1: "a.html", 2: "a-2.html"}


def test_the_stimuli_of_sets_are_counted_one_by_one_too() -> None:
    rows = pl.DataFrame({"stimulus": ["a", f"b{SEPARATOR}c", "a"]})
    assert set(members(rows)) == {"a", f"b{SEPARATOR}c", "b", "c"}


def test_a_set_is_public_where_all_its_stimuli_are() -> None:
    study = parse_study(
        "name: s\nscales:\n  nine: {type: points, points: 9}\nquestions:\n  - {id: q, text: Q, scale: nine}\n"
    )
    items = pl.DataFrame({"stimulus": ["a", "b", "c"], "question": ["q", "q", "q"]})
    published = PublicFacts(study=study, stimuli=pl.DataFrame({"stimulus": ["a", "b", "c", "d"]}), items=items)
    rows = pl.DataFrame(
        {"stimulus": ["a", "d", f"a{SEPARATOR}b", f"a{SEPARATOR}d", "c"], "question": ["q", "q", "q", "q", "r"]}
    )
    assert published.public(rows)["stimulus"].to_list() == ["a", f"a{SEPARATOR}b"]
    assert PublicFacts().public(rows).equals(rows)


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    require_own_site(tmp_path / "new", "index.html", "a site")
    (tmp_path / "empty").mkdir()
    require_own_site(tmp_path / "empty", "index.html", "a site")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    require_own_site(tmp_path / "site", "index.html", "a site")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").touch()
    for target in (tmp_path / "photos", tmp_path / "site" / "index.html"):
        with pytest.raises(InputError):
            require_own_site(target, "index.html", "a site")


def test_benches_are_found_below_a_folder_but_not_in_hidden_ones_or_the_site(study: Made, tmp_path: Path) -> None:
    home = study.folder / "benches"
    (run,) = find_runs(home)
    assert run.name == "first"
    assert run.why_answered_only is None
    assert folder_of(run, home) == home / "first"
    (alone,) = find_runs(home / "first")
    assert alone.name == "first"
    assert folder_of(alone, home / "first") == home / "first"
    assert [found.name for found in find_runs(home, without=tmp_path)] == ["first"]
    (tmp_path / "all" / ".hidden").mkdir(parents=True)
    (tmp_path / "all" / ".hidden" / "bench").symlink_to(home / "first")
    for folder, without in ((home, home / "first"), (tmp_path / "all", None), (tmp_path / "none", None)):
        with pytest.raises(InputError):
            find_runs(folder, without)


def test_a_bench_of_an_earlier_version_or_without_items_says_so(study: Made, tmp_path: Path) -> None:
    home = study.folder / "benches" / "first"
    (tmp_path / "scores.json").write_bytes((home / "scores.json").read_bytes())
    bare = read_run(tmp_path, "bare")
    assert bare.items.height == 0
    assert bare.why_no_items
    assert bare.why_answered_only is None
    items = pl.read_parquet(home / "items.parquet")
    items.drop("counted").write_parquet(tmp_path / "items.parquet")
    old = read_run(tmp_path, "old")
    assert old.items.height == items.height
    assert old.why_answered_only
    scores = json.loads((home / "scores.json").read_text())
    (tmp_path / "scores.json").write_text(json.dumps({**scores, "heartfelt_scores": 99}))
    with pytest.raises(InputError):
        read_run(tmp_path, "future")


def test_passwords_keys_and_tokens() -> None:
    for text, shown in {
        "ftp://me@host/x": "ftp://***@host/x",
        "basic dXNlcjpwYXNz": "basic ***",
        "basic idea": "basic idea",
        "API-Key: abcdef": "API-Key: ***",
        "access_token=abcdef12": "access_token=***",
        "hf_" + "a" * 16: "***",
        "hf_" + "a" * 15: "hf_" + "a" * 15,
        "task-" + "a" * 20: "task-" + "a" * 20,
    }.items():
        assert without_secrets(text) == shown


def test_specs_are_shown_without_keys_and_folders() -> None:
    assert shown_spec("chat[key=abc,temperature=1]:m") == "chat[key=***,temperature=1]:m"
    assert shown_spec("x:http://h/p?a=1&token=zz&b=2") == "x:http://h/p?a=1&token=***&b=2"
    assert shown_spec("file:/srv/me/a b.csv, /tmp/c.csv") == "file:…/a b.csv, …/c.csv"
