"""What a run leaves behind and goes on from: the journal, and the cache that other runs share."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors import Case, Prediction, RunOptions, predictor_from, run
from heartfelt.predictors.baselines import similarity
from heartfelt.predictors.execution.store import JOURNAL
from tests.predictors.runs import Scripted, ran, wait_for_lines
from tests.predictors.servers import Reply, good, serving
from tests.predictors.studies import CountedMedia, texts_case


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_where_it_was(clips: list[Path], tmp_path: Path) -> None:
    """kill -9 of a real process while the server is answering; the journal's last line is torn as well."""
    code = (
        "import sys; from pathlib import Path\n"
        "from heartfelt.predictors import predictor_from, run, RunOptions\n"
        "from tests.predictors.studies import texts_case\n"
        "clips = sorted(Path(sys.argv[2]).iterdir())\n"
        "run(predictor_from('endpoint:' + sys.argv[1]), [texts_case(p, ['one']) for p in clips], Path(sys.argv[3]),"
        " RunOptions(at_once=2))\n"
    )
    asked = [texts_case(path, ["one"]) for path in clips]

    killed, requests = Event(), iter(range(1, 1000))

    def until_killed(request: dict[str, Any], count: int) -> Reply:
        """However late the kill comes, the run is in the middle: after twelve requests it is told to wait."""
        if next(requests) > 12 and not killed.is_set():
            return Reply(status=429, headers={"retry-after": "600"})
        return Reply(wait=0.05, body=good(request, count).body)

    with serving(until_killed) as server:
        root = Path(__file__).resolve().parents[2]
        process = subprocess.Popen(
            [sys.executable, "-c", code, server.url, str(clips[0].parent), str(tmp_path / "run")], cwd=root
        )
        journal = tmp_path / "run" / JOURNAL
        wait_for_lines(journal, 5)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed.set()
        retained = journal.read_bytes().count(b"\n")
        assert 5 <= retained < 24
        assert not (tmp_path / "run" / "predictions.parquet").exists()
        with journal.open("ab") as file:
            file.write(b'{"crc":"00000000","row":{"stimulus":"c2')
        server.requests.clear()
        done = ran(f"endpoint:{server.url}", asked, tmp_path / "run", RunOptions(at_once=2))
        assert len(server.requests) == 24 - retained
        assert done.counts == {
            "items": 24, "answered": 24, "failed": 0, "kept": retained, "cached": 0, "asked": 24 - retained,
        }  # fmt: skip
    assert done.table["score"].to_list() == [similarity(path.stem, "one") for path in clips]
    assert pl.read_parquet(tmp_path / "run" / "predictions.parquet").equals(done.table)


def test_a_damaged_line_in_the_journal_is_asked_again(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(path, ["one"]) for path in clips[:4]]
    with serving() as server:
        ran(f"endpoint[batch=never]:{server.url}", asked, tmp_path, RunOptions(at_once=1))
        lines = (tmp_path / JOURNAL).read_text().splitlines(keepends=True)
        lines[1] = lines[1].replace('"score":', '"score":1')
        (tmp_path / JOURNAL).write_text("".join(lines))
        server.requests.clear()
        done = ran(f"endpoint[batch=never]:{server.url}", asked, tmp_path)
        assert [request["audio_filename"] for request in server.requests] == ["c01.wav"]
        assert done.table["score"].to_list() == [similarity(path.stem, "one") for path in clips[:4]]


def test_a_second_run_at_the_same_time_is_kept_out(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(clips[0], ["one"])]

    def nested(case: Case, call: int) -> list[Prediction]:
        with pytest.raises(InputError, match="Another run is writing"):
            run(Scripted(lambda *_: [Prediction(score=1)]), asked, tmp_path)
        return [Prediction(score=0.5)]

    assert run(Scripted(nested), asked, tmp_path).table["score"].to_list() == [0.5]


def test_changed_media_and_changed_questions_are_asked_again(clips: list[Path], tmp_path: Path) -> None:
    with serving() as server:
        spec = f"endpoint[batch=never]:{server.url}"
        ran(spec, [texts_case(path, ["one"]) for path in clips[:4]], tmp_path)
        clips[2].write_bytes(b"another clip altogether")
        server.requests.clear()
        ran(spec, [texts_case(path, ["one"]) for path in clips[:4]], tmp_path)
        assert [request["audio_filename"] for request in server.requests] == ["c02.wav"]
        server.requests.clear()
        done = ran(spec, [texts_case(path, ["one", "two"]) for path in clips[:4]], tmp_path)
        assert sorted(request["text"] for request in server.requests) == ["two"] * 4
        assert done.counts["kept"] == 4


def test_the_cache_answers_for_the_same_content_under_another_name(clips: list[Path], tmp_path: Path) -> None:
    clips[1].write_bytes(clips[0].read_bytes())
    options = RunOptions(at_once=1, cache=tmp_path / "cache" / "kept.sqlite")
    with serving() as server:
        spec = f"endpoint[batch=never,version=1]:{server.url}"
        done = ran(spec, [texts_case(path, ["one"]) for path in clips[:3]], None, options)
        assert len(server.requests) == 2
        assert done.counts["cached"] == 1
        assert done.table["attempts"].to_list() == [1, 0, 1]
        assert done.table["score"][0] == done.table["score"][1]
        assert CountedMedia.reads == {"c00.wav": 1, "c01.wav": 1, "c02.wav": 1}
        server.requests.clear()
        ran(spec, [texts_case(path, ["one"]) for path in clips[:3]], None, options)
        assert not server.requests
        ran(spec.replace("version=1", "version=2"), [texts_case(clips[0], ["one"])], None, options)
        assert len(server.requests) == 1


def test_what_is_not_lasting_is_never_cached(clips: list[Path], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "kept.sqlite")
    with serving() as server:
        for _ in range(2):
            ran(f"endpoint[batch=never]:{server.url}", [texts_case(clips[0], ["one"])], None, options)
        assert len(server.requests) == 2


def test_problems_are_never_cached(clips: list[Path], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "kept.sqlite")
    with serving(lambda *_: Reply(404)) as server:
        spec = f"endpoint[batch=never,version=1]:{server.url}"
        ran(spec, [texts_case(clips[0], ["one"])], None, options)
        server.behaviour = good
        assert ran(spec, [texts_case(clips[0], ["one"])], None, options).counts["answered"] == 1


def test_what_a_run_leaves_behind(clips: list[Path], tmp_path: Path) -> None:
    done = ran("sham", [texts_case(path, ["a"]) for path in clips], tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        JOURNAL, "predictions.csv", "predictions.parquet", "run.json",
    ]  # fmt: skip
    answer = json.loads((tmp_path / "run" / "run.json").read_text())
    assert answer["model"] == "sham"
    assert answer["counts"]["answered"] == 24
    assert pl.read_csv(tmp_path / "run" / "predictions.csv")["score"].to_list() == done.table["score"].to_list()


def test_a_cache_that_cannot_be_used_is_told_before_anything_is_asked(clips: list[Path], tmp_path: Path) -> None:
    (tmp_path / "no.sqlite").write_text("this is no database, but text that is long enough to look like a file")
    predictor = Scripted(lambda *_: [Prediction(score=1)])
    with pytest.raises(InputError, match=r"no\.sqlite.*used"):
        run(predictor, [texts_case(clips[0], ["a"])], None, RunOptions(cache=tmp_path / "no.sqlite"))
    assert predictor.calls == []


def test_a_cache_that_breaks_in_the_middle_stops_nothing(clips: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    predictor = Scripted(lambda *_: [Prediction(score=1)])
    predictor.needs_media = True
    asked = [texts_case(path, ["a"]) for path in clips[:3]]

    def wreck(doing: str, done: int, total: int) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("DROP TABLE IF EXISTS answers")
        connection.close()

    assert run(predictor, asked, None, RunOptions(cache=path), wreck).counts["answered"] == 3
    damaged = tmp_path / "damaged.sqlite"
    run(predictor, asked, None, RunOptions(cache=damaged))
    with sqlite3.connect(damaged) as connection:
        connection.execute("UPDATE answers SET answer = '{'")
    connection.close()
    assert run(predictor, asked, None, RunOptions(cache=damaged)).counts["cached"] == 0
    assert run(predictor, asked, None, RunOptions(cache=damaged)).counts["cached"] == 3


def test_any_text_survives_the_journal(clips: list[Path], tmp_path: Path) -> None:
    """Line separators of Unicode, and half a character as some models give it."""
    words = "one\u2028two\x85three\nfour \ud83d five"
    asked = [texts_case(clips[0], ["a"])]
    predictor = Scripted(lambda *_: [Prediction(score=1, reason=words)])
    each = run(predictor, asked, tmp_path)
    two = run(predictor, asked, tmp_path)
    assert two.counts["kept"] == 1
    assert each.table["reason"].to_list() == two.table["reason"].to_list() == [words.replace("\ud83d", "?")]


def test_wherever_the_journal_is_cut_nothing_wrong_comes_back(clips: list[Path], tmp_path: Path) -> None:
    """The disk filled up, the machine went down: at any byte. What is whole is kept, the rest is asked again."""
    asked = [texts_case(path, ["a", "b"]) for path in clips[:5]]
    predictor = Scripted(lambda case, _: [Prediction(score=len(case.stimulus) + place) for place in (0.5, 0.25)])
    whole = run(predictor, asked, tmp_path / "whole").table.drop("seconds")
    journal = (tmp_path / "whole" / JOURNAL).read_bytes()
    for cut in range(0, len(journal), 41):
        folder = tmp_path / f"{cut}"
        folder.mkdir()
        (folder / JOURNAL).write_bytes(journal[:cut])
        predictor.calls.clear()
        done = run(predictor, asked, folder)
        assert done.table.drop("seconds").equals(whole), cut
        assert len(predictor.calls) == 5 - journal[:cut].count(b"\n"), cut


def test_a_flipped_bit_in_the_journal_never_changes_an_answer(clips: list[Path], tmp_path: Path) -> None:
    asked = [texts_case(path, ["a"]) for path in clips[:3]]
    predictor = Scripted(lambda case, _: [Prediction(score=float(case.stimulus[1:3]))])
    whole = run(predictor, asked, tmp_path / "whole").table.drop("seconds", "attempts")
    journal = (tmp_path / "whole" / JOURNAL).read_bytes()
    for place in range(0, len(journal), 17):
        folder = tmp_path / f"{place}"
        folder.mkdir()
        flipped = bytearray(journal)
        flipped[place] ^= 1 << (place % 8)
        (folder / JOURNAL).write_bytes(flipped)
        assert run(predictor, asked, folder).table.drop("seconds", "attempts").equals(whole), place


def test_a_folder_that_cannot_be_written_to_is_named(clips: list[Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="Cannot write to"):
        run(predictor_from("sham"), [texts_case(clips[0], ["a"])], tmp_path / "file")
