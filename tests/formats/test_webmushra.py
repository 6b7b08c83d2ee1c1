"""webMUSHRA's files in their versions, and tables like them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.formats.format import candidates
from heartfelt.snapshot import Snapshot
from tests.facts import mentions


def read(tmp_path: Path, text: str, name: str = "mushra.csv", **options: str) -> Snapshot:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return heartfelt.read(path, **options)


GRADES = "trial_id,rating_stimulus,rating_score,rating_time,rating_comment\n"


def session(head: str, scores: tuple[object, ...] = (100, 70, 20)) -> str:
    conditions = ("reference", "C1", "anchor35")
    return "".join(
        f"{head}{trial},{condition},{score},12000,\n"
        for trial in ("t1", "t2")
        for condition, score in zip(conditions, scores, strict=True)
    )


def test_grades_with_roles_listeners_and_seconds(tmp_path: Path) -> None:
    text = f"session_test_id,email,age,session_uuid,{GRADES}"
    text += session("demo,a@b.org,20,u1,") + session("demo,c@d.org,30,u2,", (40, 70, 90))
    snapshot = read(tmp_path, text)
    assert snapshot.source.format == "webmushra"
    assert snapshot.raters.rows() == [("u1", 20), ("u2", 30)]
    assert "email" in snapshot.source.notes[0]
    assert snapshot.ratings["seconds"].unique().to_list() == [12.0]
    assert snapshot.ratings.group_by("role").len()["len"].to_list() == [4, 4, 4]
    # A hidden reference below an anchor is data: post-screening is about it.
    low = snapshot.ratings.filter((pl.col("rater") == "u2") & (pl.col("role") != "member"))
    assert low["value"].to_list() == [40.0, 90.0, 40.0, 90.0]
    assert snapshot.ledger.height == 0
    assert snapshot.stimuli.filter(pl.col("stimulus") == "t1/C1").rows() == [("t1/C1", "C1", "t1")]


def test_older_files_tell_listeners_apart_by_what_they_said(tmp_path: Path) -> None:
    text = f"session_test_id,email,age,gender,{GRADES}"
    text += session("demo,a@b.org,20,f,") + session("demo,c@d.org,20,f,")
    snapshot = read(tmp_path, text)
    assert snapshot.raters["rater"].to_list() == ["listener1", "listener2"]
    assert "email" not in snapshot.raters.columns
    assert any("distinguished by email, age, gender" in note for note in snapshot.source.notes)


def test_files_that_say_nothing_of_listeners(tmp_path: Path) -> None:
    snapshot = read(tmp_path, f"session_test_id,{GRADES}" + session("demo,") + session("demo,", (90, 60, 10)))
    assert snapshot.raters.height == 2
    assert snapshot.ratings.filter(pl.col("rater") == "listener2")["value"].to_list() == [90.0, 60.0, 10.0] * 2


def test_grades_that_cannot_be_used(tmp_path: Path) -> None:
    text = f"session_test_id,session_uuid,{GRADES}" + session("demo,u1,")
    text += "demo,u2,t1,reference,,1,\ndemo,u2,t1,C1,loud,1,\ndemo,u2,t1,anchor35,120,1,\ndemo,u2,t1,C2,50,1,\n"
    snapshot = read(tmp_path, text)
    assert sorted(snapshot.ledger["reason"]) == [
        "no answer",
        "the grade is not a number",
        "the grade is not between 0 and 100",
        "the trial has one graded condition only",
    ]
    assert snapshot.ratings.height == 6


@pytest.mark.slow
def test_names_of_reference_and_anchors_can_be_stated(tmp_path: Path) -> None:
    text = "Name,Item,Codec,Grade\nl,i,Studio,90\nl,i,muffled,10\nl,i,codec,50\n"
    columns = {"rater": "Name", "trial": "Item", "condition": "Codec", "score": "Grade"}
    path = tmp_path / "grades.csv"
    path.write_text(text, encoding="utf-8")
    plain = heartfelt.read(path, "webmushra", **columns)
    assert plain.ratings["role"].to_list() == ["member"] * 3
    stated = heartfelt.read(path, "webmushra", **columns, hidden_reference="Studio", low_anchors="muffled")
    assert stated.ratings["role"].to_list() == ["hidden-reference", "anchor", "member"]
    with pytest.raises(InputError, match=r"condition.*'Sudio'"):
        heartfelt.read(path, "webmushra", **columns, hidden_reference="Sudio")


def test_paired_comparisons_are_abx_trials(tmp_path: Path) -> None:
    text = (
        "session_test_id,age,trial_id,choice_reference,choice_non_reference,choice_answer,choice_time,choice_comment\n"
    )
    text += "".join(f"demo,{20 + n},p1,ref,C1,{answer},900,\n" for n, answer in enumerate(
        ["correct", "incorrect", "undecided", "unknown", "correct"]
    ))  # fmt: skip
    snapshot = read(tmp_path, text, "paired_comparison.csv")
    assert snapshot.study.sets is not None
    assert snapshot.study.sets.type == "abx"
    assert snapshot.ratings.select("stimulus", "role", "value", "set").rows() == [
        ("p1/ref", "x", value, "p1/ref|p1/C1") for value in (1.0, 0.0, 1.0)
    ]
    assert snapshot.ledger["reason"].to_list() == ["undecided", "no answer"]


def test_bs1116_grades_both(tmp_path: Path) -> None:
    text = "session_test_id,session_uuid,trial_id,rating_reference,rating_non_reference,rating_reference_score,"
    text += "rating_non_reference_score,rating_time,choice_comment\n"
    text += "demo,u1,t1,ref,C1,5,3.2,9000,\ndemo,u1,t1,ref,C2,4.8,6,9000,\n"
    snapshot = read(tmp_path, text, "bs1116.csv")
    rows = snapshot.ratings.select("trial", "stimulus", "role", "value").sort("trial", "role").rows()
    assert rows[:2] == [("t1/C1", "t1/ref", "hidden-reference", 5.0), ("t1/C1", "t1/C1", "member", 3.2)]
    assert snapshot.ledger["reason"].to_list() == ["the grade is not a number from 1 to 5"]


def test_likert_pages_are_ordinary_ratings(tmp_path: Path) -> None:
    text = "session_test_id,age,trial_id,stimuli_rating1,stimuli_rating2,stimuli,rating_time\n"
    text += "demo,20,t1, 3 , 4 ,C1,500\ndemo,20,t1,5,1,C2,500\n"
    snapshot = read(tmp_path, text, "lss.csv", scale="1-5")
    assert snapshot.study.sets is None
    assert snapshot.ratings.select("question", "stimulus", "value").rows() == [
        ("rating1", "t1/C1", 3.0), ("rating1", "t1/C2", 5.0), ("rating2", "t1/C1", 4.0), ("rating2", "t1/C2", 1.0),
    ]  # fmt: skip


def test_preference_pages(tmp_path: Path) -> None:
    text = "session_test_id,session_uuid,trial_id,option_a,option_b,choice_answer,choice_time\n"
    text += "demo,u1,t1,C1,C2,C2,500\ndemo,u2,t1,C1,C2,C1,500\ndemo,u3,t1,C1,C1,C1,500\n"
    snapshot = read(tmp_path, text, "preference.csv")
    assert snapshot.ratings.filter(pl.col("place") == 1)["value"].to_list() == [0.0, 1.0]
    assert snapshot.ledger["reason"].to_list() == ["a stimulus is compared with itself"]


def test_it_is_recognised_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("Testname,Listener,Trial,Condition,Ratingscore\nx,l,t,orig,100\nx,l,t,a,3\n", encoding="utf-8")
    assert candidates(path) == ["webmushra"]
    path.write_text("rater,stimulus,question,value\nl,s,q,3\n", encoding="utf-8")
    assert candidates(path) == ["long"]


def test_a_column_per_condition(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Listener,Trial,reference,C1,anchor\nl1,t,100,60,20\nl2,t,90,,10\n", encoding="utf-8")
    snapshot = heartfelt.read(path, "webmushra", conditions="reference,C1,anchor")
    rows = snapshot.ratings.select("rater", "role", "value").sort("rater", "role").rows()
    assert rows == [
        ("l1", "anchor", 20.0), ("l1", "hidden-reference", 100.0), ("l1", "member", 60.0),
        ("l2", "anchor", 10.0), ("l2", "hidden-reference", 90.0),
    ]  # fmt: skip
    assert snapshot.ledger["reason"].to_list() == ["no answer"]


@pytest.mark.slow
def test_trials_without_a_reference_are_read_and_counted(tmp_path: Path) -> None:
    text = f"session_test_id,session_uuid,{GRADES}" + session("demo,u1,")
    text += "demo,u2,t1,C1,50,1,\ndemo,u2,t1,anchor35,10,1,\n"
    snapshot = read(tmp_path, text)
    assert snapshot.ratings.height == 8
    assert snapshot.source.notes == ("1 of 3 trials have no hidden reference.",)
    text = f"session_test_id,session_uuid,{GRADES}" + "demo,u2,t1,C1,50,1,\ndemo,u2,t1,C2,10,1,\n"
    (note,) = read(tmp_path, text).source.notes
    assert mentions(note, "name", 'hidden_reference="NAME"')
