"""Tables and logs with a comparison of two stimuli per row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import pairs
from heartfelt.study.scales.set_scale import Choice, Preference
from tests.facts import mentions


def values(snapshot: Snapshot, question: str = "preference") -> list[float]:
    return pairs(snapshot.ratings, question).sort("trial", "rater", nulls_last=True)["value"].to_list()


def reasons(snapshot: Snapshot) -> list[str]:
    return snapshot.ledger["reason"].to_list()


def lines(path: Path, *records: Mapping[str, object]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def battle(a: str, b: str, winner: str | None, **more: object) -> dict[str, object]:
    return {"model_a": a, "model_b": b, "winner": winner, **more}


def same_tables(one: Snapshot, other: Snapshot) -> None:
    left, right = dict(one.table_hashes), dict(other.table_hashes)
    left.pop("ledger"), right.pop("ledger")
    assert left == right
    assert one.study.hash == other.study.hash
    if not one.ledger.height:
        assert one.hash == other.hash


def test_winners_in_every_usual_wording(tmp_path: Path) -> None:
    first = ["model_a", "A", "left", "leftvote", "First", "x"]
    second = ["model_b", "b", "Right", "rightvote", "second", "y"]
    ties = ["tie", "TIE", "tie (bothbad)", "BOTH_BAD", "bothbad_vote", "tievote", "no difference"]
    rows = [battle("x", "y", word, question_id=f"q{n}") for n, word in enumerate([*first, *second, *ties])]
    snapshot = heartfelt.read(lines(tmp_path / "log.jsonl", *rows))
    table = pairs(snapshot.ratings, "preference").with_columns(pl.col("trial").cast(pl.Int64)).sort("trial")
    assert table["value"].to_list() == [1.0] * 6 + [0.0] * 6 + [0.5] * 7
    assert (
        snapshot.ratings["answer"].drop_nulls().len() == 2 * 3
    )  # both rows of the three battles in which both were bad
    assert snapshot.survey.unknown_raters == snapshot.ratings.height


def test_battles_that_cannot_be_used_are_listed_with_the_reason(tmp_path: Path) -> None:
    rows = [
        battle("x", "y", "model_a", judge="j", tstamp=1.0),
        battle("x", "y", "model_a", judge="j", tstamp=1.0),
        battle("x", "x", "model_a", judge="j", tstamp=2.0),
        battle("x", "y", None, judge="j", tstamp=3.0),
        battle("x", "y", "the moon", judge="j", tstamp=4.0),
        battle("x", "y", "tie", judge="j", tstamp=5.0),
    ]
    snapshot = heartfelt.read(lines(tmp_path / "log.jsonl", *rows))
    assert reasons(snapshot) == [
        "the same row is there more than once",
        "a stimulus is compared with itself",
        "no answer",
        "the answer is neither side nor a tie",
    ]
    assert snapshot.ledger["row"].to_list() == [2, 3, 4, 5]
    assert values(snapshot) == [1.0, 0.5]
    assert snapshot.ratings["repeat"].to_list() == [0, 1, 0, 1]  # the judge met the same two twice


def test_without_ids_equal_rows_are_different_battles(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("model_a,model_b,winner\n" + "x,y,model_a\n" * 5 + "y,x,model_a\n" * 2, encoding="utf-8")
    snapshot = heartfelt.read(path)
    assert snapshot.ratings.height == 14
    assert snapshot.ledger.height == 0
    assert values(snapshot) == [1.0] * 7


@pytest.mark.slow
def test_conversations_do_not_hurt(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    meta = {"toxic": {"flagged": False}, "tags": ["a", "b"]}
    rows = [
        battle("x", "y", "model_a", question_id="q1", judge="u1", conversation_a=talk, conversation_b=talk, meta=meta),
        battle("y", "z", "tie", question_id="q2", judge="u2", conversation_a=talk, conversation_b=[], meta=meta),
    ]
    snapshot = heartfelt.read(lines(tmp_path / "log.jsonl", *rows))
    assert set(snapshot.ratings.columns) >= {"meta.toxic.flagged"}
    assert "conversation_a" not in snapshot.ratings.columns
    assert "conversation_a" in snapshot.source.notes[0]
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps(rows), encoding="utf-8")
    frame = pl.read_json(listed)
    frame.write_parquet(tmp_path / "log.parquet")
    for path in (listed, tmp_path / "log.parquet"):
        assert heartfelt.read(path).table_hashes["ratings"] == snapshot.table_hashes["ratings"]


def test_fields_of_mixed_types_are_read_record_by_record(tmp_path: Path) -> None:
    rows = [battle("x", "y", "model_a", judge=7, extra=[1]), battle("x", "y", "model_b", judge="u", extra={"k": 1})]
    snapshot = heartfelt.read(lines(tmp_path / "log.jsonl", *rows))
    assert snapshot.raters["rater"].to_list() == ["7", "u"]


@pytest.mark.slow
def test_logs_of_other_arenas(tmp_path: Path) -> None:
    music = {
        "uuid": "b1",
        "a_metadata": {"system_key": {"system_tag": "north", "variant_tag": "v1"}},
        "b_metadata": {"system_key": {"system_tag": "south", "variant_tag": "v1"}},
        "vote": {"preference": "B", "a_feedback": None},
        "session": {"uuid": "s1"},
    }
    snapshot = heartfelt.read(lines(tmp_path / "music.jsonl", music), "arena")
    assert values(snapshot) == [0.0]
    assert snapshot.stimuli["system"].to_list() == ["north", "south"]
    assert snapshot.raters["rater"].to_list() == ["s1"]
    path = tmp_path / "images.csv"
    path.write_text(
        "left_model,right_model,vote_type,prompt\nx,y,bothbad_vote,a cat\ny,x,leftvote,a dog\n", encoding="utf-8"
    )
    snapshot = heartfelt.read(path, "arena")
    assert sorted(snapshot.stimuli["stimulus"]) == ["a cat/x", "a cat/y", "a dog/x", "a dog/y"]
    # The same judge, question and systems in two turns: two trials.
    rows = [battle("x", "y", "model_a", question_id=81, judge="e1", turn=turn) for turn in (1, 2)]
    snapshot = heartfelt.read(lines(tmp_path / "turns.jsonl", *rows))
    assert snapshot.ratings["trial"].n_unique() == 2
    assert snapshot.stimuli["stimulus"].to_list() == ["81/x", "81/y"]


def test_long_prompts_get_ids_and_keep_their_text(tmp_path: Path) -> None:
    text = "Write a piece of music that " + "goes on and " * 10
    snapshot = heartfelt.read(lines(tmp_path / "log.jsonl", battle("x", "y", "tie", prompt=text)))
    assert snapshot.stimuli["stimulus"].to_list() == ["prompt-1/x", "prompt-1/y"]
    assert snapshot.stimuli["prompt"].unique().to_list() == [text.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["arena", "long"])
def test_arena_logs_come_back_as_they_were(format: str, tmp_path: Path) -> None:
    rows = [
        battle(
            a, b, winner, question_id=f"q{n % 3}", judge=f"u{n % 2}", turn=n, tstamp=1.7e9 + n / 3, language="Deutsch"
        )
        for n, (a, b, winner) in enumerate(
            [
                ("x", "y", "model_a"),
                ("y", "z", "tie (bothbad)"),
                ("z", "x", "model_b"),
                ("x", "y", "tie"),
                ("x", "z", "tie"),
            ]
        )
    ]
    snapshot = heartfelt.read(lines(tmp_path / "log.jsonl", *rows))
    heartfelt.export(snapshot, format, tmp_path / "out")
    same_tables(heartfelt.read(tmp_path / "out"), snapshot)
    assert (tmp_path / "out" / "sets.csv").read_text(encoding="utf-8").startswith("set,stimulus,role\n")


def test_a_snapshot_without_pairs_is_no_arena_log(tmp_path: Path) -> None:
    frame = pl.DataFrame({"rater": ["a"], "stimulus": ["x"], "value": [1]})
    with pytest.raises(InputError, match="no trials with two stimuli"):
        heartfelt.export(heartfelt.read(frame), "arena", tmp_path / "out")
    assert not (tmp_path / "out").exists()


PAIRS = pl.DataFrame(
    {
        "listener": ["a", "a", "b", "b"],
        "clip1": ["x", "y", "x", "y"],
        "clip2": ["y", "z", "y", "y"],
        "better": ["x", "z", "equal", "y"],
    }
)


def test_long_tables_of_pairs_name_the_winner() -> None:
    snapshot = heartfelt.read(PAIRS, rater="listener", first="clip1", second="clip2", winner="better")
    assert pairs(snapshot.ratings, "preference")["value"].to_list() == [1.0, 0.0, 0.5]
    assert reasons(snapshot) == ["a stimulus is compared with itself"]
    assert isinstance(snapshot.study.scales["scale"], Choice)


def test_words_are_explained_by_options() -> None:
    frame = PAIRS.with_columns(better=pl.Series(["0", "1", "0", "1"]))
    with pytest.raises(InputError, match=r"numbers.*names"):
        heartfelt.read(frame, rater="listener", first="clip1", second="clip2", winner="better")
    snapshot = heartfelt.read(
        frame, rater="listener", first="clip1", second="clip2", winner={"0": "first", "1": "second"}, value="better"
    )
    assert values(snapshot) == [1.0, 1.0, 0.0]
    with pytest.raises(InputError, match="names no side"):
        heartfelt.read(frame, rater="listener", first="clip1", second="clip2", winner={"0": "up"}, value="better")


@pytest.mark.parametrize(
    ("grades", "favours", "expected"),
    [
        ([2, -3, 0, 1], None, [-2.0, 3.0, 0.0]),
        ([2, -3, 0, 1], "first", [2.0, -3.0, 0.0]),
        ([1, 0, 0.5, 1], None, [1.0, 0.0, 0.5]),
        ([1, 0, 0.5, 1], "second", [0.0, 1.0, 0.5]),
    ],
)
def test_numbers_favour_a_side(grades: list[float], favours: str | None, expected: list[float]) -> None:
    """A choice of 1 is the first; a positive grade favours the second, as in P.800's comparison category rating."""
    frame = PAIRS.with_columns(better=pl.Series(grades, dtype=pl.Float64))
    snapshot = heartfelt.read(frame, rater="listener", first="clip1", second="clip2", value="better", favours=favours)
    assert pairs(snapshot.ratings, "preference")["value"].to_list() == expected
    sums = snapshot.ratings.group_by("rater", "trial").agg(pl.sum("value"))["value"].unique().to_list()
    assert sums == [0.0 if max(grades) > 1 else 1.0]
    said = [note for note in snapshot.source.notes if "favours=" in note]
    assert len(said) == (favours is None)
    assert all(f"the {'first' if max(grades) > 1 else 'second'}:" in note for note in said)


@pytest.mark.parametrize("codes", [["1", "0", "0.5", "1"], ["-1", "1", "1", "-1"], ["1", "1", "1", "1"]])
def test_numbers_that_name_no_winner_are_asked_about(codes: list[str]) -> None:
    frame = PAIRS.with_columns(better=pl.Series(codes))
    with pytest.raises(InputError, match=r"'better'.*numbers.*names") as caught:
        heartfelt.read(frame, rater="listener", first="clip1", second="clip2", winner="better")
    assert all(f'winner={{"{code}": "SIDE"}}' in caught.value.fix for code in codes)


def test_grades_off_the_stated_scale_are_left_out() -> None:
    frame = PAIRS.with_columns(better=pl.Series([2, -3, 9, 1]))
    options = {"rater": "listener", "first": "clip1", "second": "clip2", "value": "better"}
    snapshot = heartfelt.read(frame, **options, scale="preference:3")
    assert reasons(snapshot) == ["the answer is not between -3 and 3", "a stimulus is compared with itself"]
    unstated = heartfelt.read(frame, **options)
    scale = unstated.study.scales["scale"]
    assert isinstance(scale, Preference)
    assert scale.steps == 9
    with pytest.raises(InputError, match="neither choices"):
        heartfelt.read(frame.with_columns(better=pl.Series([0.3, 12.0, 1.0, 2.0])), **options)


def test_votes_are_raters_nobody_knows() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "n_a": [3, 0], "n_b": [2, 4], "same": [1, 0]})
    snapshot = heartfelt.read(frame, first="a", second="b", votes="n_a,n_b,same")
    table = pairs(snapshot.ratings, "preference")
    assert table.group_by("first").agg(pl.sum("value"), pl.len()).sort("first").rows() == [("x", 3.5, 6), ("y", 0.0, 4)]
    assert snapshot.survey.unknown_raters == snapshot.ratings.height == 20
    with pytest.raises(InputError, match="not a number of votes"):
        heartfelt.read(frame.with_columns(n_a=pl.Series([0.5, 1.0])), first="a", second="b", votes="n_a,n_b")


@pytest.mark.slow
@pytest.mark.parametrize("format", ["long"])
def test_long_pairs_come_back_as_they_were(format: str, tmp_path: Path) -> None:
    frame = PAIRS.head(3).with_columns(better=pl.Series([2, -3, 0]), at=pl.Series(["2025-01-01 10:00"] * 3))
    snapshot = heartfelt.read(frame, rater="listener", first="clip1", second="clip2", value="better")
    heartfelt.export(snapshot, format, tmp_path / "out")
    same_tables(heartfelt.read(tmp_path / "out"), snapshot)


def test_a_table_of_pairs_needs_both_sides() -> None:
    with pytest.raises(InputError, match="no column is the second"):
        heartfelt.read(PAIRS.rename({"clip2": "other"}), rater="listener", first="clip1", winner="better")
    with pytest.raises(InputError, match="two or three columns"):
        heartfelt.read(PAIRS, first="clip1", second="clip2", votes="better")


@pytest.mark.slow
def test_a_million_battles_are_read(tmp_path: Path) -> None:
    size = 1_000_000
    frame = pl.select(row=pl.int_range(size)).select(
        model_a=pl.format("m{}", pl.col("row") % 100),
        model_b=pl.format("m{}", (pl.col("row") * 7 + 1) % 100),
        winner=pl.when(pl.col("row") % 3 == 0).then(pl.lit("tie")).otherwise(pl.lit("model_a")),
        judge=pl.format("u{}", pl.col("row") % 1000),
        question_id=pl.col("row") % 500,
    )
    frame.write_parquet(tmp_path / "log.parquet")
    snapshot = heartfelt.read(tmp_path / "log.parquet")
    same = int((frame["model_a"] == frame["model_b"]).sum())
    repeated = frame.is_duplicated().sum()
    assert snapshot.ratings.height + 2 * snapshot.ledger.height == 2 * size
    assert snapshot.ledger.height >= same
    assert repeated  # equal rows with a prompt and a judge are the same battle listed twice


def test_winners_in_three_columns(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    path.write_text(
        "id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie\n1,x,y,p,1,0,0\n2,y,z,q,0,1,0\n3,x,z,r,0,0,1\n",
        encoding="utf-8",
    )
    snapshot = heartfelt.read(path)
    assert snapshot.source.format == "arena"
    assert pairs(snapshot.ratings, "preference").sort("first")["value"].to_list() == [1.0, 0.0, 0.5]


def test_what_is_said_about_a_stimulus_must_agree() -> None:
    frame = pl.DataFrame(
        {
            "first": ["a", "b"],
            "second": ["b", "c"],
            "value": [1, 0],
            "s1": ["m", "n"],
            "s2": ["n", "m"],
            "prompt": ["p", "q"],
        }
    )
    snapshot = heartfelt.read(frame, first_system="s1", second_system="s2")
    assert snapshot.stimuli.sort("stimulus").rows() == [("a", "m", "p"), ("b", "n", None), ("c", "m", "q")]
    assert mentions(snapshot.source.notes[0], "1 stimuli", "prompt", "empty")
    with pytest.raises(InputError, match=r"stimulus.*'b'.*systems"):
        heartfelt.read(frame.with_columns(s2=pl.Series(["m", "m"])), first_system="s1", second_system="s2")


def test_the_system_of_one_side_alone_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("rater,first_system,right,winner\nr1,a,b,a\nr2,a,b,b\nr1,b,a,tie\n", encoding="utf-8")
    snapshot = heartfelt.read(path, "long", first="first_system", second="right")
    assert values(snapshot) == [1.0, 0.0, 0.5]
    assert set(snapshot.stimuli["stimulus"]) == {"a", "b"}
