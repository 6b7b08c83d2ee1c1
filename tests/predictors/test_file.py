"""Predictions from files: the layouts people have, and what does not match."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.predictors import Run, cases, predictor_from, run
from heartfelt.predictors.answers.texts import StimulusNames
from heartfelt.snapshot import Snapshot
from tests.datasets.emolia_data import dim, emo
from tests.predictors.studies import snapshot


@pytest.fixture
def data(tmp_path: Path) -> Snapshot:
    return snapshot(tmp_path / "study", 4)


def ran(path: Path, data: Snapshot, questions: list[str] | None = None, options: str = "") -> Run:
    return run(predictor_from(f"file{options}:{path}"), cases(data, questions))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_for_every_item(data: Snapshot, tmp_path: Path) -> None:
    rows = "stimulus,question,value\nclip_000.wav,valence,4.5\nclip_000.wav,fits,yes\nclip_001,mood,grief\nclip_009,mood,joy\n"
    done = ran(write(tmp_path / "p.csv", rows), data)
    results = {
        (s, q): (v, a)
        for s, q, v, a, ok in done.table.select("stimulus", "question", "value", "answer", "ok").rows()
        if ok
    }
    assert results == {
        ("clip_000.wav", "valence"): (4.5, None),
        ("clip_000.wav", "fits"): (1.0, "yes"),
        ("clip_001.wav", "mood"): (1.0, "grief"),
    }
    assert set(done.table.filter(~pl.col("ok"))["problem"]) == {"the file holds no prediction for this item"}
    assert done.counts["failed"] == 9
    assert done.ledger.select("stimulus", "question", "reason").rows() == [
        ("clip_009", "mood", "p.csv: no stimulus that is asked about has this name")
    ]


def test_a_column_for_every_question(data: Snapshot, tmp_path: Path) -> None:
    rows = "clip;valence;mood\nclip_000.wav;4,5;joy\nmedia/clip_001.wav;;calm\nclip_002.wav;x;2\n"
    done = ran(write(tmp_path / "p.csv", rows), data, ["valence", "mood"])
    results = {
        (s[:8], q): (v, a, p)
        for s, q, v, a, p in done.table.select("stimulus", "question", "value", "answer", "problem").rows()
    }
    assert results["clip_000", "valence"] == (4.5, None, None)
    assert results["clip_001", "valence"] == (None, None, "the file's cell for this item is empty")
    assert results["clip_001", "mood"] == (2.0, "calm", None)
    assert results["clip_002", "valence"] == (None, None, "the file's 'x' is not a number")
    assert results["clip_002", "mood"] == (2.0, "calm", None)
    assert results["clip_003", "mood"] == (None, None, "the file holds no prediction for this item")


@pytest.mark.slow
def test_musicevals_answer_file(tmp_path: Path) -> None:
    """SOURCE: the challenge's answer file, `wavid,overall,textual` without a header and without extensions."""
    data = heartfelt.read(FORMATS["musiceval"].example(tmp_path / "in"), "musiceval")
    stem = "audiomos2025-track1-"
    rows = f"{stem}S002_P001,3.5,4.25\n{stem}S003_P001,2.0,1.5\n{stem}S009_P001,1,1\n"
    done = ran(write(tmp_path / "answer.txt", rows), data)
    result = dict(
        done.table.filter(pl.col("ok")).select(pl.concat_str("stimulus", pl.lit(" "), "question"), "value").rows()
    )
    assert result == {
        f"{stem}S002_P001.wav impression": 3.5,
        f"{stem}S002_P001.wav alignment": 4.25,
        f"{stem}S003_P001.wav impression": 2.0,
        f"{stem}S003_P001.wav alignment": 1.5,
    }
    assert set(done.ledger["stimulus"]) == {f"{stem}S009_P001"}
    named = write(tmp_path / "named.csv", f"wavid,overall,textual\n{rows}")
    assert ran(named, data).table.drop("model", "seconds").equals(done.table.drop("model", "seconds"))


@pytest.mark.slow
def test_emolias_own_predictions(tmp_path: Path) -> None:
    rows = (
        "file_name,queried_emotion,task_type,similarity,pred_present,ok,error\n"
        "f1.mp3,Joy,affirmative,0.25,True,True,\nf4.mp3,Awe,ultimate,,,False,timed out\n"
    )
    done = ran(write(tmp_path / "e.csv", rows), emo(tmp_path / "emo"))
    results = {s: (score, p) for s, score, p in done.table.select("stimulus", "score", "problem").rows()}
    assert results["f1.mp3"] == (0.25, None)
    assert results["f4.mp3"] == (None, "timed out")
    rows = "file_name,dimension,level,polarity,similarity\nsample_01.mp3,TEMP,5,positive,-0.5\nsample_01.mp3,TEMP,5,negative,1\n"
    done = ran(write(tmp_path / "d.csv", rows), dim(tmp_path / "dim"))
    results = {s: (score, p) for s, score, p in done.table.select("stimulus", "score", "problem").rows()}
    assert results["TEMP/5/positive/sample_01.mp3"] == (-0.5, None)
    assert done.ledger["stimulus"].to_list() == ["TEMP/5/negative/sample_01.mp3"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_our_own_predictions_come_back(ending: str, data: Snapshot, tmp_path: Path) -> None:
    table = run(predictor_from("constant:1"), cases(data)).table
    labels = table.with_columns(
        pl.when(pl.col("question") == "mood").then(pl.lit('{"joy": 0.25, "grief": 0.75, "calm": 0.0}')).alias("shares")
    )
    path = tmp_path / f"predictions.{ending}"
    if ending == "parquet":
        labels.write_parquet(path)
    elif ending == "csv":
        labels.write_csv(path)
    else:
        rows = [{**row, "shares": json.loads(row["shares"] or "null")} for row in labels.to_dicts()]
        path.write_text("\n".join(json.dumps(row) for row in rows))
    again = ran(path, data).table
    for name in ("stimulus", "question", "value", "score", "answer", "problem", "ok"):
        assert again[name].to_list() == labels[name].to_list(), name
    shares = again.filter(pl.col("question") == "mood")["shares"]
    assert json.loads(shares[0]) == {"joy": 0.25, "grief": 0.75, "calm": 0.0}


def test_several_models_in_one_file(data: Snapshot, tmp_path: Path) -> None:
    rows = "model,stimulus,question,value\na,clip_000,valence,1\nb,clip_000,valence,2\n"
    path = write(tmp_path / "p.csv", rows)
    with pytest.raises(HeartfeltError, match="of 2 models") as caught:
        predictor_from(f"file:{path}")
    assert "file[model=a]" in caught.value.fix
    assert ran(path, data, ["valence"], "[model=b]").table["value"][0] == 2.0
    with pytest.raises(HeartfeltError, match="no model 'c'"):
        predictor_from(f"file[model=c]:{path}")


@pytest.mark.slow
def test_columns_may_be_named(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.tsv", "which\tq\tguess\nclip_000\tvalence\t7\n")
    done = ran(path, data, ["valence"], "[stimulus=which,question=q,value=guess]")
    assert done.table["value"][0] == 7.0
    with pytest.raises(HeartfeltError, match="has no column 'gues'"):
        ran(path, data, ["valence"], "[stimulus=which,question=q,value=gues]")


def test_one_question_needs_no_column_for_it(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "file,prediction\nclip_000.wav,7\n")
    assert ran(path, data, ["valence"]).table["value"][0] == 7.0
    with pytest.raises(HeartfeltError, match="does not say which question"):
        ran(path, data, ["valence", "mood"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("a,b\n1,2\n", "has no column that names the stimulus"),
        ("stimulus,question,when\nclip_000,valence,1\n", "has no column of predictions"),
        ("stimulus,question,value\nclip_000,valence,1\nclip_000,valence,2\n", "has two predictions for 'valence'"),
        ("stimulus,question,value\nclip_000,valence,1\nclip_000.wav,valence,2\n", "has two predictions for 'valence'"),
        ("stimulus,question,value\n", "holds no predictions"),
        ("", "is empty"),
    ],
)
def test_files_that_cannot_be_used_say_why(rows: str, problem: str, data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", rows)
    with pytest.raises(HeartfeltError, match=problem):
        ran(path, data)


def test_a_name_that_could_be_two_stimuli_matches_none(tmp_path: Path) -> None:
    levels = dim(tmp_path / "dim")
    rows = "stimulus,question,value\nsample_00.mp3,TEMP/5/negative,1\nsample_02,LANG/European/positive,1\n"
    path = write(tmp_path / "p.csv", rows)
    done = run(predictor_from(f"file:{path}"), cases(levels, labelled=False))
    assert done.table.filter(pl.col("ok"))["stimulus"].to_list() == ["LANG/European/positive/sample_02.mp3"]
    assert done.ledger["stimulus"].to_list() == ["sample_00.mp3"]


@pytest.mark.slow
def test_what_does_not_match_is_told_again_after_a_resumed_run(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "stimulus,question,value\nclip_000,valence,1\nnobody,valence,1\n")
    for _ in range(2):
        done = run(predictor_from(f"file:{path}"), cases(data, ["valence"]), tmp_path / "run")
        assert done.ledger["stimulus"].to_list() == ["nobody"]
        assert "nobody" in (tmp_path / "run" / "predictions_ledger.csv").read_text()


def test_rows_that_name_nothing_are_in_the_ledger(data: Snapshot, tmp_path: Path) -> None:
    rows = (
        "stimulus,question,value\nclip_000,valence,4\n,valence,3\n,valence,2\nclip_001,,1\nx,valence,1\nx,valence,2\n"
    )
    done = ran(write(tmp_path / "p.csv", rows), data, ["valence"])
    assert done.table["value"].to_list() == [4.0, None, None, None]
    assert done.ledger.select("stimulus", "question", "reason").rows() == [
        (None, "valence", "p.csv: row 2 names no stimulus"),
        (None, "valence", "p.csv: row 3 names no stimulus"),
        ("clip_001", None, "p.csv: row 4 names no question"),
        ("x", "valence", "p.csv: no stimulus that is asked about has this name"),
        ("x", "valence", "p.csv: no stimulus that is asked about has this name"),
    ]


def test_values_of_a_system_that_is_not_there_are_in_the_ledger(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "system,question,value\nA,valence,4\nC,valence,3\n")
    done = ran(path, data, ["valence"])
    assert done.table["value"].to_list() == [4.0, None, 4.0, None]
    assert done.ledger["reason"].to_list() == ["p.csv: no stimulus is of the system 'C'"]


def test_columns_of_numbers_that_answer_nothing_are_in_the_ledger(data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "stimulus,valence,vallence,system,note\nclip_000,4,5,A,ok\n")
    assert ran(path, data).ledger["reason"].to_list() == ["p.csv: 'vallence' is no question that is asked"]
    table = ran(write(tmp_path / "q.csv", "stimulus,question,value\nclip_000,valence,4\n"), data).table
    table.write_csv(tmp_path / "own.csv")
    assert ran(tmp_path / "own.csv", data).ledger.height == 0


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"value": True}, "the file's 'True' is not a number"),
        ({"score": "high"}, "the file's 'high' is not a number"),
        ({"score": None}, "the file's cell for this item is empty"),
        ({"value": "NAN"}, "the predictor's value is nan"),
        ({"value": [3]}, "the file's '[3]' is not a number"),
    ],
)
def test_what_is_no_number_is_named(row: dict[str, object], problem: str, data: Snapshot, tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", json.dumps({"stimulus": "clip_000", **row}))
    assert ran(path, data, ["valence"]).table["problem"][0] == problem


@pytest.mark.parametrize(
    ("name", "stimulus"),
    [
        ("/data/generated/A/1.wav", "A/1.wav"),
        ("C:\\data\\B\\1.flac", "B/1.wav"),
        ("1.wav", None),
        ("2", "A/2.wav"),
        ("resampled/2.wav", "A/2.wav"),
        ("B/2.wav", None),
        ("/data/B/2", None),
        ("B/3.wav", "3.wav"),
        ("z/y/4.wav", "x/y/4.wav"),
    ],
)
def test_a_stimulus_is_found_by_its_folders_and_never_taken_for_one_of_another_folder(
    name: str, stimulus: str | None
) -> None:
    names = StimulusNames(["A/1.wav", "B/1.wav", "A/2.wav", "3.wav", "x/y/4.wav"])
    assert names.find(name) == stimulus
    assert names.is_ambiguous(name) == (name == "1.wav")


def test_a_name_of_several_stimuli_is_said_to_be_one(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "stimulus,question,value\nsample_00.mp3,TEMP/5/negative,1\n")
    done = run(predictor_from(f"file:{path}"), cases(dim(tmp_path / "dim"), labelled=False))
    assert done.ledger["reason"].to_list() == ["p.csv: several stimuli that are asked about have this name"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_list_of_objects_may_have_a_mark_of_its_encoding(encoding: str, data: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps([{"key": "clip_000", "value": 4}]), encoding=encoding)
    assert ran(tmp_path / "p.json", data, ["valence"]).table["value"][0] == 4.0


def test_a_workbook_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "p.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(HeartfeltError, match=r"p\.xlsx is a workbook") as caught:
        predictor_from(f"file:{tmp_path / 'p.xlsx'}")
    assert "CSV" in caught.value.fix


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("p.json", b'[{"key": "clip_000", "value": 4, "value": 5}]', "the name 'value' is there twice"),
        ("p.json", b"[" * 100_000, "cannot be read as JSON"),
        ("p.jsonl.gz", gzip.compress(b'{"key": "clip_000", "value": 4}', mtime=0), "p.jsonl.gz is compressed"),
        ("p.csv", gzip.compress(b"stimulus,value\nclip_000,4\n", mtime=0), "p.csv is compressed"),
        ("p.json", gzip.compress(b"[]", mtime=0), "p.json is compressed"),
        ("p.jsonl", gzip.compress(b"{}", mtime=0), "p.jsonl is compressed"),
    ],
    ids=["a name twice", "nested", "jsonl.gz", "csv", "json", "jsonl"],
)
def test_files_that_hide_something_are_refused(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HeartfeltError, match=problem):
        predictor_from(f"file:{tmp_path / name}")
    with pytest.raises(HeartfeltError, match=problem):
        predictor_from(f"{tmp_path / name}")


def test_another_file_is_another_predictor(tmp_path: Path) -> None:
    each = write(tmp_path / "a.csv", "stimulus,question,value\nclip_000,valence,1\n")
    two = write(tmp_path / "b.csv", "stimulus,question,value\nclip_000,valence,2\n")
    assert predictor_from(f"file:{each}").identity != predictor_from(f"file:{two}").identity
