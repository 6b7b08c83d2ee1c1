"""What every registered format must do. A new format is tested by being registered."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.formats.tools.export import ToolExport
from heartfelt.snapshot import Snapshot
from heartfelt.tables import RATINGS, STIMULI
from tests.cases import check_all
from tests.docs import reference

every_format = check_all("name", FORMATS.names())


def example(name: str, folder: Path) -> tuple[Path, Snapshot]:
    source = FORMATS[name].example(folder)
    return source, heartfelt.read(source, name, **FORMATS[name].example_options())


@pytest.mark.slow
@every_format
def test_reads_its_own_example(name: str, tmp_path: Path) -> None:
    _, snapshot = example(name, tmp_path / "in")
    assert snapshot.source.format == name
    assert snapshot.counts["stimuli"] > 0
    assert snapshot.ratings.height + snapshot.means.height > 0
    RATINGS.check(snapshot.ratings, name)
    STIMULI.check(snapshot.stimuli, name)


@pytest.mark.slow
@every_format
def test_reading_twice_gives_the_same_snapshot(name: str, tmp_path: Path) -> None:
    source, snapshot = example(name, tmp_path / "in")
    assert heartfelt.read(source, name, **FORMATS[name].example_options()).hash == snapshot.hash


@pytest.mark.slow
@every_format
def test_a_written_snapshot_loads_the_same(name: str, tmp_path: Path) -> None:
    _, snapshot = example(name, tmp_path / "in")
    snapshot.write(tmp_path / "out")
    assert heartfelt.load(tmp_path / "out").hash == snapshot.hash


@pytest.mark.slow
@every_format
def test_writing_and_reading_again_loses_nothing(name: str, tmp_path: Path) -> None:
    if not FORMATS[name].writes:
        with pytest.raises(HeartfeltError, match="read but not written"):
            FORMATS[name].write(example(name, tmp_path / "in")[1], tmp_path)
        return
    _, snapshot = example(name, tmp_path / "in")
    heartfelt.export(snapshot, name, tmp_path / "out")
    again = heartfelt.read(tmp_path / "out", name, **FORMATS[name].example_options())
    assert again.table_hashes["ratings"] == snapshot.table_hashes["ratings"]
    assert again.table_hashes["means"] == snapshot.table_hashes["means"]
    assert again.table_hashes["fields"] == snapshot.table_hashes["fields"]
    assert set(again.stimuli["stimulus"]) >= set(snapshot.survey.stimuli)


@pytest.mark.slow
@every_format
def test_decisions_of_senior_raters_are_written_beside_every_format(name: str, tmp_path: Path) -> None:
    if not FORMATS[name].writes:
        return
    _, snapshot = example(name, tmp_path / "in")
    stimulus, question = snapshot.items.select("stimulus", "question").row(0)
    item = {"stimulus": [stimulus], "question": [question], "value": [1.0], "by": ["a1"], "history": ['{"erased": 0}']}
    tables = {table: snapshot.table(table) for table in ("raters", "fields", "means", "traces", "ledger")}
    decided = Snapshot.build(
        snapshot.study, stimuli=snapshot.stimuli, ratings=snapshot.ratings, source=snapshot.source,
        adjudications=pl.DataFrame(item), **tables,
    )  # fmt: skip
    assert decided.table_hashes["adjudications"]
    heartfelt.export(decided, name, tmp_path / "out")
    written = pl.read_csv(tmp_path / "out" / "adjudications.csv", infer_schema=False)
    assert written.row(0, named=True)["history"] == item["history"][0]
    again = heartfelt.read(tmp_path / "out", name, **FORMATS[name].example_options())
    assert again.table_hashes["ratings"] == snapshot.table_hashes["ratings"]


@every_format
def test_unknown_options_are_refused_with_the_known_ones(name: str, tmp_path: Path) -> None:
    source = FORMATS[name].example(tmp_path)
    with pytest.raises(HeartfeltError, match="has no option 'nonsense'"):
        heartfelt.read(source, name, nonsense="1")


@every_format
def test_a_source_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(HeartfeltError, match="no file or folder"):
        heartfelt.read(tmp_path / "nowhere", name)


@every_format
def test_an_empty_folder_is_told_in_words(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(HeartfeltError):
        heartfelt.read(tmp_path / "empty", name)


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    return [
        path
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.suffix in {".csv", ".txt", ".jsonl", ".json", ".tsv"}
    ]


DAMAGES = ["empty", "cut", "binary", "doubled header", "latin-1", "crlf", "cr", "bom", "no newline"]
# Tools open their files as the plain formats do, so that damage to bytes and line ends is tried with those.
OF_PLAIN_FORMATS = {"binary", "crlf", "cr", "no newline"}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@every_format
def test_damaged_files_give_an_error_or_are_read_and_leave_nothing_half_done(
    name: str, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the command line, as users meet it: exit code 0 with a whole folder, or 2 with two lines and none."""
    if damage in OF_PLAIN_FORMATS and isinstance(FORMATS[name], ToolExport):
        return
    options = [part for key, value in FORMATS[name].example_options().items() for part in ("--map", f"{key}={value}")]
    every = _files(FORMATS[name].example(tmp_path / "count"))
    # What does no harm is done to all files at once, what may be refused to one at a time.
    harmless = damage in {"crlf", "bom", "no newline"}
    alike = isinstance(FORMATS[name], ToolExport)  # its files are all of one kind, or of two
    for place in range(1 if harmless else min(2, len(every)) if alike else len(every)):
        home = tmp_path / f"{place}"
        source = FORMATS[name].example(home / "in")
        for path in _files(source) if harmless else [_files(source)[place]]:
            path.write_bytes(_damaged(path.read_bytes(), damage))
        code = main(["import", name, str(source), str(home / "out"), *options])
        answer = capsys.readouterr().err.strip().splitlines()
        if code == 0:
            assert heartfelt.load(home / "out").counts["stimuli"] > 0
        else:
            assert code == 2, answer
            assert len(answer) == 2 or answer[-1].startswith("If that is right: "), answer
            assert not (home / "out").exists()
        assert [p.name for p in home.iterdir() if p.name.startswith(".")] == []
        if harmless:
            assert code == 0, answer


def _damaged(content: bytes, damage: str) -> bytes:
    lines = content.replace(b"\r\n", b"\n")
    match damage:
        case "empty":
            return b""
        case "cut":
            return lines[: max(1, len(lines) * 2 // 3)].rstrip(b"\n") + b'\n"x'
        case "binary":
            return os.urandom(8) + b"\0" + content
        case "doubled header":
            head, _, rest = lines.partition(b"\n")
            first = head.split(b",")[0].split(b"\t")[0]
            return head + b"," + first + b"\n" + rest
        case "latin-1":
            return lines.replace(b"a", "á".encode("latin-1"), 1) if b"a" in lines else lines
        case "crlf":
            return lines.replace(b"\n", b"\r\n")
        case "cr":
            return lines.replace(b"\n", b"\r")
        case "bom":
            return b"\xef\xbb\xbf" + lines
        case _:
            return lines.rstrip(b"\n")


@every_format
def test_it_has_a_section_in_the_docs(name: str) -> None:
    """On a page, and in the generated reference with the meaning of every option."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    format = FORMATS[name]
    if isinstance(format, ToolExport):
        assert (docs / "how-to" / f"{name}.md").is_file()
        assert f"| `{name}` |" in (docs / "formats" / "tools.md").read_text(encoding="utf-8")
    else:
        (page,) = [p for p in (docs / "formats" / f"{name}.md", docs / "datasets" / f"{name}.md") if p.is_file()]
        assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")
    explained = reference.meanings(reference.sections(reference.format_page())[name])
    own = format.own_options if isinstance(format, ToolExport) else format.options
    assert explained.keys() == set(own)
    assert all(len(meaning) > 8 for meaning in explained.values())


def test_guessing_only_when_unmistakable(tmp_path: Path) -> None:
    assert heartfelt.read(FORMATS["aimoclips"].example(tmp_path / "a")).source.format == "aimoclips"
    assert heartfelt.read(FORMATS["long"].example(tmp_path / "b")).source.format == "long"
    path = tmp_path / "c.csv"
    pl.DataFrame({"x": [1], "y": [2]}).write_csv(path)
    with pytest.raises(HeartfeltError, match="Cannot detect the format"):
        heartfelt.read(path)
