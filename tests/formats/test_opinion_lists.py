"""Lists of opinion scores: SHEET and MOS-Bench, VoiceMOS, AudioMOS track 2."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

import heartfelt
from heartfelt.errors import HeartfeltError
from heartfelt.formats import FORMATS
from heartfelt.formats.format import candidates, system_scores
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from heartfelt.study.scales.scale import Points
from tests.cases import check_all
from tests.facts import mentions
from tests.predictors.studies import snapshot

SHEET = "wav_path,score,system_id,sample_id"
RATED = ("rater", "stimulus", "question", "value")


def rows(table: pl.DataFrame) -> set[tuple[object, ...]]:
    return set(table.select(RATED).rows())


def example(name: str, folder: Path) -> tuple[Path, Snapshot]:
    source = FORMATS[name].example(folder)
    return source, heartfelt.read(source)


@pytest.mark.parametrize("name", ["sheet", "voicemos", "audiomos"])
def test_each_is_recognised_as_a_folder_and_as_a_file(name: str, tmp_path: Path) -> None:
    source, read = example(name, tmp_path)
    assert read.source.format == name
    inside = sorted(path for path in source.rglob("*") if path.suffix in {".csv", ".txt"} and "system" not in path.name)
    for path in inside:
        assert candidates(path) == [name], path
    heartfelt.export(read, name, tmp_path / "again")
    assert candidates(tmp_path / "again") == [name]


def test_sheet_takes_ratings_by_listener_and_splits_from_the_files_names(tmp_path: Path) -> None:
    _, read = example("sheet", tmp_path)
    assert (read.counts["stimuli"], read.counts["raters"], read.ratings.height, read.means.height) == (15, 4, 60, 0)
    assert read.stimuli["split"].value_counts().sort("split").rows() == [("dev", 3), ("test", 3), ("train", 9)]
    assert read.stimuli["system"].n_unique() == 3
    assert isinstance(read.study.scale_of("quality"), Points)
    assert read.study.media == "speech"


def test_what_sheet_trains_on_is_what_was_rated(tmp_path: Path) -> None:
    """SOURCE: sheet/datasets/non_intrusive.py reads wav_path, score, system_id, sample_id and listener_id with csv.DictReader."""
    data = snapshot(tmp_path / "study", 8)
    numeric = data.study.changed(questions=[data.study.question("valence")])
    only = Snapshot.build(
        numeric, stimuli=data.stimuli, ratings=data.ratings.filter(question="valence"), source=data.source
    )
    heartfelt.export(only, "sheet", tmp_path / "out")
    files = sorted((tmp_path / "out").glob("*.csv"))
    assert {path.stem for path in files} <= {"train", "dev", "test"}
    listed = [row for path in files for row in csv.DictReader(path.read_text().splitlines())]
    means: dict[str, list[float]] = defaultdict(list)
    for row in listed:
        means[row["sample_id"]].append(float(row["score"]))
        assert Path(row["wav_path"]).is_absolute()
        assert soundfile.info(row["wav_path"]).frames == 800
        assert row["listener_idx"] == str(("r1", "r2", "r3").index(row["listener_id"]))
    expected = only.ratings.group_by("stimulus").agg(pl.mean("value"))
    assert {name: np.mean(scores) for name, scores in means.items()} == dict(expected.rows())
    again = heartfelt.read(tmp_path / "out", scale="1-9")
    assert rows(again.ratings) == rows(only.ratings)


def test_several_questions_have_a_folder_each_and_come_back(tmp_path: Path) -> None:
    study = parse_study(
        "name: two\nscales:\n  five: {type: points, points: 5}\n  mood: {type: categories, categories: [a, b]}\nquestions:\n"
        "  - {id: quality, text: Q, scale: five}\n  - {id: ease, text: E, scale: five}\n  - {id: mood, text: M, scale: mood}\n"
    )
    answers = [
        {"rater": who, "stimulus": f"s{n}-u{n}.wav", "question": question,
         "value": float((n + at) % 2 if at == 2 else 1 + (n + at) % 5)}
        for who in ("r_1", "r_2") for n in range(6) for at, question in enumerate(("quality", "ease", "mood"))
    ]  # fmt: skip
    stimuli = pl.DataFrame({"stimulus": [f"s{n}-u{n}.wav" for n in range(6)], "system": [f"s{n}" for n in range(6)]})
    both = Snapshot.build(study, stimuli=stimuli, ratings=pl.DataFrame(answers))
    asked = both.ratings.filter(pl.col("question") != "mood")
    heartfelt.export(both, "sheet", tmp_path / "sheet")
    assert rows(heartfelt.read(tmp_path / "sheet").ratings) == rows(asked)
    heartfelt.export(both, "voicemos", tmp_path / "voice")
    for question in ("quality", "ease"):
        again = heartfelt.read(tmp_path / "voice" / question, question=question)
        assert rows(again.ratings) == rows(asked.filter(question=question))


def test_voicemos_listeners_and_means(tmp_path: Path) -> None:
    """SOURCE: the challenge's README: sysID,uttID,rating,ignore,info, with info {}_AGE_LISTENER_GENDER_…_…_HEARING."""
    sets = tmp_path / "phase1" / "DATA" / "sets"
    sets.mkdir(parents=True)
    (sets / "TRAINSET").write_text(
        "sys64e2f,sys64e2f-utt9c183cd.wav,4,VDP1_1,{}_30-39_bZPQE7w4Zl3g_Female_Valid_1_No\n"
        "sys64e2f,sys64e2f-utt9c183cd.wav,3,VDP1_1,{}_20-29_q4_Male_Valid_1_No\n"
    )
    (sets / "train_mos_list.txt").write_text("sys64e2f-utt9c183cd.wav,3.5\n")
    (sets / "val_mos_list.txt").write_text("sys1-utt2.wav,2.25\n")
    read = heartfelt.read(tmp_path / "phase1")
    assert read.ratings.select("rater", "value").rows() == [("bZPQE7w4Zl3g", 4.0), ("q4", 3.0)]
    assert read.raters.select("age", "gender", "hearing").row(0) == ("30-39", "Female", "No")
    assert read.means.select("stimulus", "mean").rows() == [("sys1-utt2.wav", 2.25)]
    assert dict(read.stimuli.select("stimulus", "split").rows()) == {
        "sys64e2f-utt9c183cd.wav": "train",
        "sys1-utt2.wav": "dev",
    }
    assert "were not read for clips" in read.source.notes[0]
    heartfelt.export(read, "voicemos", tmp_path / "again")
    assert (tmp_path / "again/DATA/sets/TRAINSET").read_text().splitlines()[0] == (
        "sys64e2f,sys64e2f-utt9c183cd.wav,4,1,{}_30-39_bZPQE7w4Zl3g_Female_na_na_No"
    )


def test_system_means_of_voicemos_are_system_truth(tmp_path: Path) -> None:
    source, read = example("voicemos", tmp_path)
    truth = system_scores(source / "mydata_system.csv")["quality"]
    joined = read.ratings.join(read.stimuli.filter(pl.col("split") != "test"), on="stimulus", how="inner")
    expected = dict(joined.group_by("system").agg(pl.mean("value").round(4)).rows())
    assert truth == pytest.approx(expected, abs=1e-4)


def test_the_two_kinds_of_mos_lists_are_told_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "sets", tmp_path / "b" / "sets"
    for folder, line in ((one, "sys1-utt1.wav,3.5\n"), (two, "S001_P001.wav,3.5,4\n")):
        folder.mkdir(parents=True)
        (folder / "train_mos_list.txt").write_text(line)
    assert candidates(tmp_path / "a") == ["voicemos"]
    assert "voicemos" not in candidates(tmp_path / "b")
    assert len(candidates(tmp_path / "b")) == 1


def test_audiomos_has_four_axes_with_means(tmp_path: Path) -> None:
    _, read = example("audiomos", tmp_path)
    assert read.ratings.height == 0
    assert sorted(read.means["question"].unique()) == [
        "content_enjoyment", "content_usefulness", "production_complexity", "production_quality",
    ]  # fmt: skip
    assert sorted(read.stimuli["system"].unique()) == ["sysA1", "sysB2"]
    assert sorted(read.stimuli["split"].unique()) == ["dev", "test", "train"]
    assert read.study.scale_of("production_quality").bounds() == (1.0, 10.0)


def test_results_of_sheet_with_answers_are_no_ratings_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("wav_path,system_id,sample_id,avg_score,answer\n/a/x.wav,s,x,3,2.5\n")
    assert "sheet" not in candidates(tmp_path / "results.csv")


@pytest.mark.parametrize(
    ("name", "file", "text", "problem"),
    [
        ("sheet", "train.csv", "wav_path,score,system_id\n/a.wav,1,s\n", "no table with the columns"),
        ("sheet", "train.csv", f"{SHEET}\n/a.wav,high,s,a\n", r"train\.csv, line 2, column 'score': 'high'"),
        ("sheet", "train.csv", f"{SHEET}\n/a.wav,4,s,a\n/b.wav,4,s,a\n", "'a' has more than one source path"),
        ("sheet", "train.csv", f"{SHEET},listener_id\n/a.wav,4,s,a,x\n/a.wav,4,s,a,x\n", "a"),
        ("voicemos", "DATA/sets/TRAINSET", "s,s-u.wav,five,x,y\n", "line 1, column 'score': 'five'"),
        ("voicemos", "DATA/sets/TRAINSET", "s,s-u.wav,5\n", "TRAINSET"),
        ("voicemos", "DATA/sets/train_mos_list.txt", "s-u.wav,3\ns-u.wav,4\n", "more than once"),
        ("audiomos", "l.csv", "sample_id,data_path,Production_Quality\na,b,3\n", "no table with the columns"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(
    name: str, file: str, text: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(HeartfeltError, match=problem):
        heartfelt.read(tmp_path, name)


AUDIOMOS = "sample_id,data_path,Production_Quality,Production_Complexity,Content_Enjoyment,Content_Usefulness"


def left_out(read: Snapshot) -> list[tuple[str, str | None, str]]:
    return read.ledger.select("what", "stimulus", "reason").rows()


@pytest.mark.parametrize(
    ("name", "complete", "lacking", "missing"),
    [
        ("sheet", f"{SHEET}\na.wav,3,s,a\nb.wav,4,t,b\n", "wav_path,score,sample_id\nc.wav,3,c\n", "system_id"),
        ("audiomos", f"{AUDIOMOS}\na,a.wav,3,4,5,6\n", "sample_id,data_path\nc,c.wav\n", "Production_Quality"),
    ],
)
def test_lists_that_lack_a_column_are_in_the_ledger(
    name: str, complete: str, lacking: str, missing: str, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    for path, text in (("train.csv", complete), ("dev.csv", lacking), ("more/empty.csv", "")):
        (tmp_path / path).write_text(text)
    assert candidates(tmp_path) == [name]
    read = heartfelt.read(tmp_path)
    assert "c" not in read.stimuli["stimulus"].to_list()
    whats, _, reasons = zip(*left_out(read), strict=True)
    assert whats == ("file", "file")
    assert mentions(reasons[0], "dev.csv")
    assert missing in reasons[0]
    assert mentions(reasons[1], "more/empty.csv")
    assert all(reason.endswith(", so it was not read") for reason in reasons)


@check_all("gap", ["", "NA", "nan", "-"])
@check_all(
    ("name", "file", "text", "questions"),
    [
        ("sheet", "train.csv", f"{SHEET}\na.wav,3,s,a\nb.wav,GAP,s,b\n", ["quality"]),
        ("sheet", "train.csv", f"{SHEET},listener_id\na.wav,3,s,a,x\nb.wav,GAP,s,b,x\n", ["quality"]),
        ("voicemos", "DATA/sets/train_mos_list.txt", "s-a,3\ns-b,GAP\n", ["quality"]),
        ("voicemos", "DATA/sets/TRAINSET", "s,s-a,3,_,x\ns,s-b,GAP,_,x\n", ["quality"]),
        (
            "audiomos",
            "train.csv",
            f"{AUDIOMOS}\na,a.wav,3,4,5,6\nb,b.wav,3,GAP,GAP,6\n",
            ["production_complexity", "content_enjoyment"],
        ),
    ],
)
def test_rows_without_a_score_are_in_the_ledger(
    name: str, file: str, text: str, questions: list[str], gap: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("GAP", gap))
    read = heartfelt.read(tmp_path, name)
    lacking = read.stimuli["stimulus"].to_list()[1]
    assert lacking.endswith("b")
    assert sorted(read.ledger["question"]) == sorted(questions)
    assert left_out(read) == [("score", lacking, "the list has no score here")] * len(questions)
    answered = [*read.ratings["value"], *read.means["mean"]]
    assert None not in answered
    assert len(answered) == (1 if name != "audiomos" else 6)


def test_lists_without_any_score_are_refused(tmp_path: Path) -> None:
    (tmp_path / "eval.csv").write_text(f"{AUDIOMOS}\na,a.wav,,,,\n")
    with pytest.raises(HeartfeltError, match="holds no scores"):
        heartfelt.read(tmp_path, "audiomos")


def test_other_columns_are_facts_about_stimuli(tmp_path: Path) -> None:
    columns = "listener_id,phoneme,cluster,reference,mood"
    rows = "a.wav,3,s,a,x,AH,1,r.wav,sad\na.wav,4,s,a,y,AH,1,r.wav,glad\nb.wav,2,s,b,x,,2,,\n"
    (tmp_path / "train.csv").write_text(f"{SHEET},{columns}\n{rows}")
    (tmp_path / "dev.csv").write_text(f"{SHEET}\nc.wav,3,s,c\n")
    read = heartfelt.read(tmp_path)
    facts = read.stimuli.sort("stimulus").select("stimulus", "phoneme", "cluster", "source_reference").rows()
    assert facts == [("a", "AH", 1, "r.wav"), ("b", None, 2, None), ("c", None, None, None)]
    assert read.source.notes == ("'mood' was not read: it differs within a stimulus.",)
    (tmp_path / "dev.csv").unlink()
    (tmp_path / "train.csv").write_text(f"{AUDIOMOS},Model\na,a.wav,3,4,5,6,m\n")
    assert heartfelt.read(tmp_path).stimuli["Model"].to_list() == ["m"]


def test_other_files_among_the_lists_of_voicemos_are_in_the_ledger(tmp_path: Path) -> None:
    source, _ = example("voicemos", tmp_path)
    (source / "sets" / "unlabeled.scp").write_text("sys1-utt1.wav\n")
    assert left_out(heartfelt.read(source)) == [
        ("file", None, "sets/unlabeled.scp is no list of scores of the challenge, so it was not read")
    ]


def test_two_stimuli_are_never_written_as_one_clip_of_voicemos(tmp_path: Path) -> None:
    _, read = example("voicemos", tmp_path)
    names = read.stimuli["stimulus"].to_list()
    renamed = {names[0]: "sysA/1.wav", names[1]: "sysA_1.wav"}
    stimuli, ratings = (
        table.with_columns(pl.col("stimulus").replace(renamed)) for table in (read.stimuli, read.ratings)
    )
    twins = Snapshot.build(read.study, stimuli=stimuli.with_columns(system=pl.lit("sysA")), ratings=ratings)
    with pytest.raises(HeartfeltError, match=r"'sysA/1\.wav'.*'sysA_1\.wav'"):
        heartfelt.export(twins, "voicemos", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_voicemos_has_three_parts_and_no_others(tmp_path: Path) -> None:
    _, read = example("voicemos", tmp_path)
    stimuli = read.stimuli.with_columns(split=pl.lit("fold_1"))
    folds = Snapshot.build(read.study, stimuli=stimuli, ratings=read.ratings)
    with pytest.raises(HeartfeltError, match=r"'fold_1'.*train, dev and test"):
        heartfelt.export(folds, "voicemos", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    heartfelt.export(folds, "sheet", tmp_path / "sheet")
    assert [path.name for path in (tmp_path / "sheet").iterdir()] == ["fold_1.csv"]
