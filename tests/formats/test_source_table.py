"""Other people's tables: old encodings, JSON, frames, filters, personal data, lists, ids with spaces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.snapshot import load
from heartfelt.tables import number_types

ROWS = [
    {"rater": "p1", "stimulus": "a", "question": "valence", "value": 5},
    {"rater": "p1", "stimulus": "b", "question": "valence", "value": 2},
    {"rater": "p2", "stimulus": "a", "question": "valence", "value": 4},
    {"rater": "p2", "stimulus": "b", "question": "valence", "value": 1},
]


def table(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp949", ("슬픈 음악이에요", "밝고 경쾌한 느낌")),
        ("cp932", ("悲しい音楽です", "明るい感じ")),
        ("gb18030", ("悲伤的音乐", "欢快的感觉")),
        ("big5", ("悲傷的音樂", "歡快的感覺")),
        ("cp1252", ("très agréable", "schön und fröhlich")),
        ("cp1251", ("грустная музыка", "весёлая музыка")),
    ],
)
def test_old_encodings_are_detected_and_reported(encoding: str, words: tuple[str, str], tmp_path: Path) -> None:
    lines = [f"p{i},clip{i},{words[i % 2]}" for i in range(6)]
    path = table(tmp_path / "t.csv", "rater,stimulus,value\n" + "\n".join(lines) + "\n", encoding)
    snapshot = heartfelt.read(path, "long")
    assert set(snapshot.ratings["answer"]) == set(words)
    assert len(snapshot.source.notes) == 1
    assert encoding in snapshot.source.notes[0]
    snapshot.write(tmp_path / "out")
    assert load(tmp_path / "out").source.notes == snapshot.source.notes


def test_a_stated_encoding_is_used_or_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "rater,stimulus,value\np1,소리,슬픔\np2,소리,기쁨\n", "cp949")
    assert heartfelt.read(path, "long", encoding="cp949").source.notes == ()
    with pytest.raises(InputError, match="not in utf-8"):
        heartfelt.read(path, "long", encoding="utf-8")
    with pytest.raises(InputError, match=r"encoding.*'cp9999'"):
        heartfelt.read(path, "long", encoding="cp9999")


def test_utf8_needs_no_note(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "rater,stimulus,value\np1,소리,3\np2,소리,4\n")
    assert heartfelt.read(path, "long").source.notes == ()


@pytest.mark.parametrize("form", ["records", "lines", "columns", "wrapped"])
def test_json_is_recognised(form: str, tmp_path: Path) -> None:
    content = {
        "records": json.dumps(ROWS),
        "lines": "\n".join(json.dumps(row) for row in ROWS),
        "columns": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
        "wrapped": json.dumps({"version": 1, "data": ROWS}),
    }[form]
    path = table(tmp_path / ("t.jsonl" if form == "lines" else "t.json"), content)
    snapshot = heartfelt.read(path)
    assert snapshot.counts["ratings"] == 4
    assert snapshot.ratings["value"].sum() == 12


def test_nested_json_becomes_rows_and_columns(tmp_path: Path) -> None:
    nested = [
        {
            "stimulus": "a",
            "about": {"system": "X"},
            "ratings": [{"rater": "p1", "value": 5}, {"rater": "p2", "value": 4}],
        },
        {"stimulus": "b", "about": {"system": "Y"}, "ratings": [{"rater": "p1", "value": 1}]},
    ]
    path = table(tmp_path / "t.json", json.dumps(nested))
    snapshot = heartfelt.read(path, "long", system="about.system")
    assert snapshot.counts["ratings"] == 3
    assert snapshot.counts["systems"] == 2


@pytest.mark.parametrize("text", ["{", "[1, 2]", "{}", '[{"rater": 1}\n{"x"'])
def test_broken_json_is_two_lines(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        heartfelt.read(table(tmp_path / "t.json", text), "long")


@pytest.mark.slow
def test_frames_are_read_like_files() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pl.DataFrame(ROWS)
    hashes = {heartfelt.read(source, name="s").hash for source in (frame, frame.lazy(), pandas.DataFrame(ROWS))}
    assert len(hashes) == 1
    with pytest.raises(InputError, match="Polars or pandas"):
        heartfelt.read(5)


@pytest.mark.slow
def test_personal_data_are_dropped_unless_asked_for(tmp_path: Path) -> None:
    path = table(
        tmp_path / "t.csv",
        "rater,stimulus,value,IPAddress,contact,LocationLatitude,LocationLongitude,host,note\n"
        "p1,a,5,192.0.2.7,one@example.org,48.1,11.5,2001:db8:0:1::9,fine\n"
        "p2,a,4,192.0.2.8,two@example.org,52.5,13.4,2001:db8:0:1::a,late\n",
    )
    snapshot = heartfelt.read(path, "long")
    assert (
        set(snapshot.ratings.columns) & {"IPAddress", "contact", "LocationLatitude", "LocationLongitude", "host"}
        == set()
    )
    assert "note" in snapshot.ratings.columns
    assert all(name in snapshot.source.notes[0] for name in ("IPAddress", "contact", "LocationLatitude", "host"))
    retained = heartfelt.read(path, "long", personal="keep")
    assert {"IPAddress", "contact", "LocationLatitude"} <= set(retained.ratings.columns)
    named = heartfelt.read(path, "long", rater_columns="contact")
    assert "contact" in named.raters.columns


def test_latitude_of_something_else_stays(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "rater,stimulus,value,long\np1,a,5,yes\np2,a,4,no\n")
    assert "long" in heartfelt.read(path, "long").ratings.columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("value>=4", 2),
        ("stimulus=a;value<5", 1),
        ("rater!=p1", 2),
        ("rater=p1|p2", 4),
        ("value=5", 1),
        ("value=5.0", 1),
    ],
)
def test_rows_are_filtered_and_counted(where: str, left: int) -> None:
    snapshot = heartfelt.read(pl.DataFrame(ROWS), where=where)
    assert snapshot.counts["ratings"] == left
    assert (snapshot.ledger.height > 0) == (left < 4)


@pytest.mark.parametrize("where", ["nonsense", "stimulus>b", "colour=red"])
def test_a_condition_that_makes_no_sense_is_refused(where: str) -> None:
    with pytest.raises(InputError):
        heartfelt.read(pl.DataFrame(ROWS), where=where)


@pytest.mark.slow
def test_questions_are_renamed() -> None:
    frame = pl.DataFrame(ROWS).with_columns(question=pl.lit("Q1"))
    snapshot = heartfelt.read(frame, rename={"Q1": "valence"}, scale={"valence": "1-9"})
    assert [q.id for q in snapshot.study.asked] == ["valence"]
    with pytest.raises(InputError, match=r"question.*'Q7'"):
        heartfelt.read(frame, rename={"Q7": "valence"})
    wide = pl.DataFrame({"person": ["p1", "p2"], "Q1_1": [1, 2], "Q1_2": [3, 4]})
    assert [q.id for q in heartfelt.read(wide, "wide", rename={"Q1": "valence"}).study.asked] == ["valence"]
    means = pl.DataFrame({"file": ["a", "b"], "Q1_mean": [1.0, 2.0]})
    assert [q.id for q in heartfelt.read(means, "means", rename={"Q1": "valence"}).study.asked] == ["valence"]
    votes = pl.DataFrame({"stimulus": ["a", "b"], "happy": [1, 2], "sad": [3, 4]})
    assert [q.id for q in heartfelt.read(votes, "votes", rename={"category": "mood"}).study.asked] == ["mood"]


@pytest.mark.slow
def test_intents_get_their_references(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS).with_columns(intent=pl.col("stimulus").replace({"a": "happy", "b": "sad"}))
    given: Any = {"happy": {"valence": 8.0}, "sad": {"valence": 2.0}}
    snapshot = heartfelt.read(frame, reference=given)
    assert snapshot.study.reference("valence") == {"happy": 8.0, "sad": 2.0}
    assert snapshot.study.question("valence").axis == "valence"
    listed = table(tmp_path / "references.csv", "intent,valence\nhappy,8\nsad,2\n")
    assert heartfelt.read(frame, references=str(listed)).study.reference("valence") == {"happy": 8.0, "sad": 2.0}
    with pytest.raises(InputError, match="intent 'angry'"):
        heartfelt.read(frame, reference={"angry": {"valence": 2.0}})
    with pytest.raises(InputError, match="axis of the references"):
        heartfelt.read(frame, reference={"happy": {"warmth": 2.0}})
    with pytest.raises(InputError, match="does not place"):
        heartfelt.read(frame, reference={"happy": "much"})


def test_a_table_that_does_not_say_who_rated() -> None:
    frame = pl.DataFrame({"clip": ["a", "a", "b"], "score": [3, 4, 5]})
    with pytest.raises(InputError) as error:
        heartfelt.read(frame)
    assert "rater='none'" in error.value.fix
    snapshot = heartfelt.read(frame, rater="none")
    assert snapshot.counts["ratings"] == 3
    assert snapshot.ratings["rater"].null_count() == 3


@pytest.mark.parametrize("cells", [[[3, 4, 5], [1]], ["[3, 4, 5]", "[1]"]])
def test_several_numbers_in_a_cell_are_several_ratings(cells: list[Any]) -> None:
    frame = pl.DataFrame({"clip": ["a", "b"], "score": cells})
    snapshot = heartfelt.read(frame, rater="none")
    assert sorted(snapshot.ratings["value"]) == [1, 3, 4, 5]
    with pytest.raises(InputError, match="several numbers"):
        heartfelt.read(frame.with_columns(rater=pl.lit("p1")))


@pytest.mark.parametrize("cells", [[["calm", "sad"], ["calm"]], ['["calm", "sad"]', "['calm']"]])
def test_several_words_in_a_cell_are_tags(cells: list[Any]) -> None:
    frame = pl.DataFrame({"rater": ["p1", "p1"], "clip": ["a", "b"], "mood": cells})
    snapshot = heartfelt.read(frame, value="mood")
    assert snapshot.ratings.sort("stimulus")["answer"].to_list() == ["calm;sad", "calm"]
    assert getattr(snapshot.study.scale_of("mood"), "type", None) == "tags"


def test_a_raters_table_joins_by_its_own_column(tmp_path: Path) -> None:
    path = table(tmp_path / "answers.csv", "session,stimulus,value\np1,a,5\np2,a,4\n")
    table(tmp_path / "people.csv", "code,age\np1,31\np2,24\n")
    options = {"rater": "session", "raters": "people.csv"}
    with pytest.raises(InputError):
        heartfelt.read(path, "long", **options)
    snapshot = heartfelt.read(path, "long", raters_id="code", **options)
    assert dict(snapshot.raters.select("rater", "age").iter_rows()) == {"p1": 31, "p2": 24}


def test_trimmed_and_merged_ids_are_reported(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "rater,stimulus,value\np1,a,5\np1 ,b,4\n p2,a,3\n")
    snapshot = heartfelt.read(path, "long")
    assert snapshot.counts["raters"] == 2
    assert snapshot.source.notes == (
        "Spaces around 2 rater ids were removed, and 1 became equal to another id ('p1').",
    )


@pytest.mark.parametrize("last", ["1.25", "1.20", "1.00"])
def test_a_timing_column_keeps_its_type_whatever_its_last_digit(last: str, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", f"rater,stimulus,value,rt\np1,a,5,0.75\np2,a,4,{last}\n")
    assert heartfelt.read(path, "long").ratings.schema["rt"] == pl.Float64


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "2"], pl.Int64),
        (["1.0", "2.50"], pl.Float64),
        (["1.1", "1.10"], pl.String),
        (["007", "8"], pl.String),
        (["+1", "2"], pl.String),
        (["12345678901234567890", "1"], pl.String),
        (["1e3", "-2.5"], pl.Float64),
        (["nan", "1"], pl.String),
    ],
)
def test_what_counts_as_a_column_of_numbers(cells: list[str], dtype: type[pl.DataType]) -> None:
    assert number_types(pl.DataFrame({"x": cells})).schema["x"] == dtype


def test_wide_asks_about_columns_that_only_look_like_answers(tmp_path: Path) -> None:
    path = table(
        tmp_path / "survey.csv",
        "person,birth_year,valence_a,valence_b,arousal_a,arousal_b\np1,1990,3,4,5,6\np2,1988,2,3,4,5\n",
    )
    with pytest.raises(InputError) as error:
        heartfelt.read(path, "wide", pattern="{question}_{stimulus}", scale="1-7")
    assert "birth_year" in error.value.problem
    assert 'rater_columns="birth_year"' in error.value.fix
    snapshot = heartfelt.read(path, "wide", pattern="{question}_{stimulus}", scale="1-7", rater_columns="birth_year")
    assert snapshot.raters["birth_year"].to_list() == [1990, 1988]
    assert snapshot.counts["ratings"] == 8


def test_wide_asks_when_values_do_not_fit_the_scale(tmp_path: Path) -> None:
    path = table(tmp_path / "survey.csv", "person,age_1,age_2,valence_1,valence_2\np1,31,33,3,4\np2,24,25,2,3\n")
    with pytest.raises(InputError, match="not on the scale"):
        heartfelt.read(path, "wide", scale="1-7")
    stated = heartfelt.read(path, "wide", scale={"valence": "1-7", "age": "numeric"})
    assert stated.counts["questions"] == 2


def test_a_file_that_is_no_snapshot_says_how_to_read_it(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", "a,b\n1,2\n")
    with pytest.raises(InputError) as error:
        heartfelt.load(path)
    assert "heartfelt.read('x.csv', 'long')" in error.value.fix
    with pytest.raises(InputError, match="no folder"):
        heartfelt.load(tmp_path / "nowhere")


@pytest.mark.slow
def test_free_text_survives_export_and_import(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "rater": ["p1", "p1", "p2"],
            "stimulus": ["a", "b", "a"],
            "question": ["why"] * 3,
            "value": ["because it rains", "it is slow, and 'sad'", "=no idea"],
        }
    )
    snapshot = heartfelt.read(frame, scale="text")
    heartfelt.export(snapshot, "long", tmp_path / "out")
    again = heartfelt.read(tmp_path / "out")
    columns = ["rater", "stimulus", "question", "answer"]
    assert again.ratings.select(columns).sort(columns).equals(snapshot.ratings.select(columns).sort(columns))


@pytest.mark.slow
def test_coded_answers_survive_without_their_study(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS).with_columns(value=pl.Series(["sad", "calm", "sad", "happy"]))
    snapshot = heartfelt.read(frame)
    heartfelt.export(snapshot, "long", tmp_path / "out")
    (tmp_path / "out" / "study.yaml").unlink()
    again = heartfelt.read(tmp_path / "out")
    columns = ["rater", "stimulus", "question", "value", "answer"]
    assert again.ratings.select(columns).sort(columns).equals(snapshot.ratings.select(columns).sort(columns))


@pytest.mark.parametrize("options", [{"where": "value>1"}, {}])
def test_a_rewritten_copy_lives_until_the_rows_are_read(options: dict[str, str], tmp_path: Path) -> None:
    lines = ["rater,stimulus,value,email", "p1,é,2,a@b.org", "p2,é,3,c@d.org"]
    path = table(tmp_path / "t.csv", "\n".join(lines) + "\n", "cp1252")
    assert heartfelt.read(path, "long", encoding="cp1252", **options).ratings["value"].to_list() == [2, 3]
