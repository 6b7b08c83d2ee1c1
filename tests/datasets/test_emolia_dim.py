"""EmoLia, emolia-dim: places as ids, levels as rubrics, flags that stay."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from heartfelt.datasets.emolia.reader import DIM, EmoliaDim
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot, load
from heartfelt.study.recipes import recipe_study

FORMAT = EmoliaDim()
HEAD = ",".join(DIM.columns)
LEVELS = {"TEMP": {"short_description": "Tempo", "long_description": "Speed.", "levels": {"0": "Slow.", "5": "Fast."}}}


def row(name: str = "a1", user: str = "u", **cells: str) -> str:
    values = {
        "dimension": "TEMP",
        "level": "5",
        "polarity": "positive",
        "file_name": "sample_00.mp3",
        "rating": "yes",
        "reaction_time_ms": "1500",
        "sample_time_ms": "9000",
        "created_at": "2026-05-03 12:00:00",
        **cells,
    }
    return ",".join([name, user, *values.values()])


def subset(folder: Path, *rows: str, head: str = HEAD, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "annotations.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8", newline="")
    for name, text in files.items():
        (folder / name.replace("_csv", ".csv").replace("_json", ".json")).write_text(text, encoding="utf-8", newline="")
    return folder


def again(snapshot: Snapshot, folder: Path) -> tuple[Snapshot, Path]:
    out = folder / "again"
    out.mkdir(parents=True)
    FORMAT.write(snapshot, out)
    return FORMAT.read(out, {}), out


@pytest.mark.slow
def test_the_same_file_name_in_two_folders_is_two_stimuli(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    names = snapshot.stimuli["stimulus"].to_list()
    assert "TEMP/5/positive/sample_00.mp3" in names
    assert "TEMP/5/negative/sample_00.mp3" in names
    assert "LANG/Asian/negative/sample_00.mp3" in names
    facts = snapshot.stimuli.filter(pl.col("stimulus") == "LANG/European/positive/sample_07.mp3").row(0, named=True)
    assert (facts["dimension"], facts["level"], facts["polarity"]) == ("LANG", "European", "positive")
    assert (facts["file_name"], facts["intent"], facts["path"]) == ("sample_07.mp3", "LANG", facts["stimulus"])


@pytest.mark.slow
def test_answers_items_and_flags(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    counted = {r["annotation_id"]: (r["value"], r["answer"]) for r in snapshot.ratings.iter_rows(named=True)}
    assert counted == {"d6": (1.0, "yes"), "d5": (0.0, "no"), "d3": (0.0, "no"), "d2": (1.0, "yes"), "d1": (0.0, "no")}
    assert snapshot.ledger["annotation_id"].to_list() == ["d4"]
    items = {r["stimulus"]: r for r in snapshot.items.iter_rows(named=True)}
    assert items["TEMP/5/positive/sample_00.mp3"]["intended"] == "yes"
    assert items["TEMP/5/negative/sample_00.mp3"]["intended"] == "no"
    flagged = {name for name, item in items.items() if item["flagged"]}
    assert flagged == {"TEMP/5/positive/sample_00.mp3", "TEMP/5/negative/sample_09.mp3"}
    answer = json.loads(items["TEMP/5/negative/sample_09.mp3"]["flags"])
    assert answer == [
        {"flag_id": "f2", "username": "user_7", "reason": "silence, nothing else", "created_at": "2026-05-04 09:56:15"}
    ]
    assert snapshot.counts["unrated"] == 1
    assert "user_7" not in snapshot.raters["rater"].to_list()


@pytest.mark.slow
def test_the_rubric_is_the_text_the_raters_read(tmp_path: Path) -> None:
    study = FORMAT.read(FORMAT.example(tmp_path), {}).study
    assert study.question("TEMP/5/negative").rubric == "Fast: “words run together”."
    assert study.question("TEMP/5/negative").about == {"dimension": "TEMP", "level": "5", "polarity": "negative"}
    assert study.question("TEMP/0/positive").rubric == "Very slow."
    assert study.question("LANG/European/positive").rubric is None
    assert study.question("LANG/European/positive").text == "Does this voice match level European of LANG?"
    bare = FORMAT.read(subset(tmp_path / "bare", row()), {}).study
    assert bare.question("TEMP/5/positive").rubric is None
    assert len(bare.asked) == 2


@pytest.mark.slow
def test_files_come_back_byte_for_byte_also_through_a_snapshot_folder(tmp_path: Path) -> None:
    source = FORMAT.example(tmp_path)
    snapshot = FORMAT.read(source, {})
    snapshot.write(tmp_path / "snapshot")
    repeated, out = again(load(tmp_path / "snapshot"), tmp_path)
    assert repeated.hash == snapshot.hash
    space = source / "annotations" / DIM.name
    for name in ("annotations.csv", "users.csv", "flags.csv"):
        assert (out / name).read_bytes() == (space / name).read_bytes()
    assert (out / "variables.json").read_bytes() == (source / "dataset" / DIM.name / "variables.json").read_bytes()


@pytest.mark.slow
def test_users_in_either_column_order_are_the_same_people(tmp_path: Path) -> None:
    each = 'username,age,languages,gender\nu,26,"English,Hindi",Female\n'
    two = 'username,gender,age,languages\nu,Female,26,"English,Hindi"\n'
    hashes = {
        FORMAT.read(subset(tmp_path / name, row(), users_csv=text), {}).hash for name, text in (("a", each), ("b", two))
    }
    assert len(hashes) == 1
    _, out = again(FORMAT.read(tmp_path / "b", {}), tmp_path)
    assert (out / "users.csv").read_text() == two


@pytest.mark.slow
def test_an_item_may_have_several_flags(tmp_path: Path) -> None:
    flags = (
        ",".join(DIM.flag_columns)
        + ",severity\nf3,w,TEMP,5,positive,sample_01.mp3,music,2026-01-03 00:00:00,2\n"
        + 'f1,v,TEMP,5,positive,sample_00.mp3,"say ""no""",2026-01-01 00:00:00,\n'
        + "f2,w,TEMP,5,positive,sample_00.mp3,silence,2026-01-02 00:00:00,1\n"
    )
    snapshot = FORMAT.read(subset(tmp_path / "in", row(), flags_csv=flags), {})
    assert [len(json.loads(text)) for text in snapshot.items["flags"]] == [2, 1]
    repeated, out = again(snapshot, tmp_path)
    assert repeated.hash == snapshot.hash
    assert (out / "flags.csv").read_text() == flags


@pytest.mark.slow
def test_without_a_file_of_flags_nothing_is_flagged(tmp_path: Path) -> None:
    snapshot = FORMAT.read(subset(tmp_path / "in", row()), {})
    assert snapshot.items["flagged"].to_list() == [False]
    repeated, out = again(snapshot, tmp_path)
    assert repeated.hash == snapshot.hash
    assert sorted(path.name for path in out.iterdir()) == ["annotations.csv"]


def test_the_levels_may_lie_elsewhere(tmp_path: Path) -> None:
    folder = subset(tmp_path / "in", row())
    (tmp_path / "levels.json").write_text(json.dumps(LEVELS))
    study = FORMAT.read(folder, {"variables": "../levels.json"}).study
    assert study.question("TEMP/5/positive").rubric == "Fast."
    assert (study.intents[0].model_extra or {})["long_description"] == "Speed."
    with pytest.raises(InputError, match="option 'variables'"):
        FORMAT.read(folder, {"variables": "nowhere.json"})


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ([HEAD, row(rating="yess")], "line 2, column 'rating': 'yess'", "Did you mean 'yes'"),
        ([HEAD, row(polarity="postive")], "line 2, column 'polarity': 'postive'", "Did you mean 'positive'"),
        ([HEAD.replace("level", "levels"), row()], "no column 'level'", "Did you mean 'levels'"),
        ([HEAD, row(level="..")], "line 2, column 'level': the path '..'", "inside"),
        ([HEAD, row(dimension="/TEMP")], "line 2, column 'dimension': the path '/TEMP'", "inside"),
        ([HEAD, row(level="")], "line 2: the column 'level' is empty", "Fill in"),
    ],
)
def test_mistakes_in_the_annotations_are_told(text: list[str], problem: str, fix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        FORMAT.read(subset(tmp_path, *text[1:], head=text[0]), {})
    assert problem in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("flags_csv", "flag_id,username\nf,u\n", "flags.csv has no column 'dimension'"),
        ("variables_json", '{"TEMP": {"levels": {"5": "Fast."}}', "variables.json, line 1: this is not valid JSON"),
        ("variables_json", '{"TEMP":\n {"levels": {"5": NaN}}}', "this is not valid JSON (NaN is not JSON)"),
        ("variables_json", "[1]", "holds no dimensions"),
        ("variables_json", '{"TEMP": {"level": {}}}', "the dimension 'TEMP' has no levels"),
        ("variables_json", '{"TEMP": {"levels": {"5": 3}}}', "'5' of 'TEMP' is no text"),
        (
            "variables_json",
            '{"TEMP": {"short_description": 1, "levels": {}}}',
            "'short_description' of 'TEMP' is no text",
        ),
        ("variables_json", '{"TEMP": {"group": "x", "levels": {}}}', "a key 'group', which is kept"),
    ],
)
def test_mistakes_in_the_other_files_are_told(name: str, text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        FORMAT.read(subset(tmp_path, row(), **{name: text}), {})
    assert problem in caught.value.problem


@pytest.mark.slow
def test_audio_is_found_below_the_media_folder(tmp_path: Path) -> None:
    root = FORMAT.example(tmp_path)
    place = root / "dataset" / DIM.name / "data" / "TEMP" / "5" / "positive"
    place.mkdir(parents=True)
    soundfile.write(place / "sample_00.mp3", np.zeros(2400), 24000, format="WAV")
    snapshot = FORMAT.read(root, {})
    result = snapshot.stimuli.filter(pl.col("found"))
    assert result["stimulus"].to_list() == ["TEMP/5/positive/sample_00.mp3"]
    assert result["duration"].to_list() == [0.1]
    assert snapshot.hash == FORMAT.read(FORMAT.example(tmp_path / "bare"), {}).hash


@pytest.mark.slow
def test_a_collected_study_is_written_with_its_levels(tmp_path: Path) -> None:
    stimuli = pl.DataFrame({"stimulus": ["x.mp3"], "intent": ["TEMP"]})
    ratings = pl.DataFrame({"rater": ["r"], "stimulus": ["x.mp3"], "question": ["TEMP/5/negative"], "value": [1.0]})
    FORMAT.write(Snapshot.build(recipe_study("emolia-dim"), stimuli=stimuli, ratings=ratings), tmp_path)
    assert (tmp_path / "annotations.csv").read_text().splitlines()[1] == "a1,r,TEMP,5,negative,x.mp3,yes,,,"
    levels = json.loads((tmp_path / "variables.json").read_text())
    assert levels["TEMP"]["short_description"] == "Tempo"
    assert list(levels["TEMP"]["levels"]) == [str(level) for level in range(7)]
    assert FORMAT.read(tmp_path, {}).ratings["value"].to_list() == [1.0]
