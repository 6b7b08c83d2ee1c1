"""EmoLia, emolia-emo: which row counts, what is kept of the others, and files that come back as they were."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.datasets.emolia.reader import EMO, TASK_TYPES, EmoliaDim, EmoliaEmo
from heartfelt.datasets.emolia.tables import SUPERSEDED, UNANSWERED
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot, load
from heartfelt.study.model import readable
from heartfelt.study.recipes import recipe_study
from tests.cases import check_all

FORMAT = EmoliaEmo()
HEAD = ",".join(EMO.columns)
USERS = "username,age\n"


def row(name: str = "a1", user: str = "u", **cells: str) -> str:
    values = {
        "source_emotion": "Anger",
        "queried_emotion": "Anger",
        "task_type": "affirmative",
        "file_name": "EN_1.mp3",
        "rating": "not_present",
        "reaction_time_ms": "1500",
        "sample_time_ms": "9000",
        "created_at": "2026-04-15 12:00:00",
        **cells,
    }
    return ",".join([name, user, *values.values()])


def subset(folder: Path, *rows: str, head: str = HEAD, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "annotations.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8", newline="")
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
    return folder


def again(snapshot: Snapshot, folder: Path) -> tuple[Snapshot, Path]:
    out = folder / "again"
    out.mkdir(parents=True)
    FORMAT.write(snapshot, out)
    return FORMAT.read(out, {}), out


def test_the_example_says_what_it_should(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    assert snapshot.counts["ratings"] == 7
    first = snapshot.ratings.filter(pl.col("annotation_id") == "u7").row(0, named=True)
    assert first["question"] == "Awe/ultimate"
    assert (first["value"], first["answer"]) == (1.0, "weakly_present")
    assert first["seconds"] == pytest.approx(58.484)
    assert (first["reaction_time_ms"], first["sample_time_ms"]) == (58484, 16775)
    assert first["created_at"] == "2026-04-15 12:00:07"
    items = {(r["stimulus"], r["question"]): r for r in snapshot.items.iter_rows(named=True)}
    assert items["EN_1.mp3", "Awe/ultimate"]["source_emotion"] == "Anger|Joy___Glee"
    assert items["EN_1.mp3", "Awe/ultimate"]["intended_present"] is False
    assert items["EN_2.mp3", "Jealousy___Envy/affirmative"]["intended_present"] is True
    assert items["EN_2.mp3", "Jealousy___Envy/affirmative"]["task_type"] == "affirmative"
    intents = dict(snapshot.stimuli.select("stimulus", "intent").iter_rows())
    assert intents == {"EN_1.mp3": None, "EN_2.mp3": "Jealousy___Envy", "DE_3.mp3": "Pain", "EN_4.mp3": "Sadness"}
    asked = {question.id for question in snapshot.study.asked}
    assert asked == {question for _, question in items}
    assert {intent.id for intent in snapshot.study.intents} >= {"Joy___Glee", "Anger"}


def test_nothing_vanishes(tmp_path: Path) -> None:
    snapshot = FORMAT.read(FORMAT.example(tmp_path), {})
    rows = {row["annotation_id"]: row for row in snapshot.ledger.iter_rows(named=True)}
    assert set(rows) == {"u3", "u4"}
    assert rows["u4"]["reason"] == SUPERSEDED
    assert (rows["u4"]["rater"], rows["u4"]["answer"]) == ("user_1", "not_present")
    assert rows["u3"]["reason"] == UNANSWERED
    assert ("EN_2.mp3", "Pain/contrastive_1") in set(snapshot.items.select("stimulus", "question").iter_rows())


@pytest.mark.slow
def test_files_come_back_byte_for_byte_also_through_a_snapshot_folder(tmp_path: Path) -> None:
    source = FORMAT.example(tmp_path)
    snapshot = FORMAT.read(source, {})
    snapshot.write(tmp_path / "snapshot")
    repeated, out = again(load(tmp_path / "snapshot"), tmp_path)
    assert repeated.hash == snapshot.hash
    for name in ("annotations.csv", "users.csv"):
        assert (out / name).read_bytes() == (source / "annotations" / EMO.name / name).read_bytes()


@pytest.mark.slow
def test_the_source_may_be_root_folder_or_file(tmp_path: Path) -> None:
    root = FORMAT.example(tmp_path)
    places = [
        root,
        root / "annotations",
        root / "annotations" / EMO.name,
        root / "annotations" / EMO.name / "annotations.csv",
    ]
    assert len({FORMAT.read(place, {}).hash for place in places}) == 1
    assert all(FORMAT.recognises(place) for place in places)
    assert not FORMAT.recognises(root / "annotations" / EMO.name / "users.csv")
    assert not EmoliaDim().recognises(root)


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(*[st.integers(0, n) for n in (2, 2, 3, 3, 4)]), min_size=1, max_size=25), st.randoms())
def test_the_last_answer_counts_and_the_files_come_back(
    tmp_path_factory: pytest.TempPathFactory, picks: list[tuple[int, ...]], shuffle: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("emo")
    words = ["", *EMO.answers]
    rows = [
        row(
            f"n{i}",
            f"u{u}",
            file_name=f"f{f}.mp3",
            task_type=TASK_TYPES[t],
            rating=words[w],
            created_at=f"2026-04-15 12:00:0{s}",
        )
        for i, (u, f, t, w, s) in enumerate(picks)
    ]
    expected: dict[tuple[str, str, str], tuple[int, int, str]] = {}
    for i, (u, f, t, w, s) in enumerate(picks):
        key = (f"u{u}", f"f{f}.mp3", f"Anger/{TASK_TYPES[t]}")
        if w and (key not in expected or (s, i) >= expected[key][:2]):
            expected[key] = (s, i, words[w])
    snapshot = FORMAT.read(subset(folder / "in", *rows), {})
    results = {
        (a, b, c): d for a, b, c, d in snapshot.ratings.select("rater", "stimulus", "question", "answer").iter_rows()
    }
    assert results == {key: value[2] for key, value in expected.items()}
    assert snapshot.ratings.height + snapshot.ledger.height == len(rows)
    repeated, out = again(snapshot, folder)
    assert repeated.hash == snapshot.hash
    assert (out / "annotations.csv").read_bytes() == (folder / "in" / "annotations.csv").read_bytes()
    if not snapshot.ledger.height:
        shuffle.shuffle(rows)
        assert FORMAT.read(subset(folder / "shuffled", *rows), {}).hash == snapshot.hash


@pytest.mark.slow
def test_raters_who_are_no_users_are_kept_and_marked(tmp_path: Path) -> None:
    folder = subset(tmp_path / "in", row("a1", "7"), row("a2", "8"), users=USERS + "7.0,30\n9.0,40\n")
    snapshot = FORMAT.read(folder, {})
    raters = {r["rater"]: r for r in snapshot.raters.iter_rows(named=True)}
    assert set(raters) == {"7", "8", "9"}
    assert raters["7"]["age"] == 30
    assert [raters[name]["in_users_csv"] for name in ("7", "8", "9")] == [True, False, True]
    repeated, out = again(snapshot, tmp_path)
    assert repeated.hash == snapshot.hash
    assert (out / "users.csv").read_text() == USERS + "7,30\n9,40\n"


@pytest.mark.slow
def test_marks_line_ends_and_column_order_change_nothing(tmp_path: Path) -> None:
    rows = [row("a1", "u", rating="weakly_present"), row("a2", "v", file_name='"x, y.mp3"')]
    first = FORMAT.read(subset(tmp_path / "a", *rows), {})
    text = "\n".join([HEAD, *rows]) + "\n"
    for place, other in enumerate(("\ufeff" + text, text.replace("\n", "\r\n"), text.rstrip("\n"))):
        folder = subset(tmp_path / f"b{place}")
        (folder / "annotations.csv").write_text(other, encoding="utf-8", newline="")
        snapshot = FORMAT.read(folder, {})
        assert snapshot.hash == first.hash
        _, out = again(snapshot, tmp_path / f"c{place}")
        assert (out / "annotations.csv").read_bytes() == other.removeprefix("\ufeff").encode()


@pytest.mark.slow
def test_further_columns_are_kept_in_their_place(tmp_path: Path) -> None:
    head = "device," + HEAD + ",session"
    folder = subset(tmp_path / "in", "phone," + row("a1", "u") + ",3", "," + row("a2", "u") + ",4", head=head)
    snapshot = FORMAT.read(folder, {})
    assert snapshot.ratings.select("device", "session").row(0) == (None, 4)
    assert snapshot.ledger.select("device", "session").row(0) == ("phone", 3)
    _, out = again(snapshot, tmp_path)
    assert (out / "annotations.csv").read_bytes() == (folder / "annotations.csv").read_bytes()


@pytest.mark.slow
@check_all(
    ("text", "problem", "fix"),
    [
        ([HEAD, row(), row("a2", "v", rating="strongly")], "line 3, column 'rating': 'strongly'", "'strongly_present'"),
        ([HEAD, row(task_type="affirmativ")], "line 2, column 'task_type': 'affirmativ'", "Did you mean 'affirmative'"),
        (
            [HEAD.replace("queried", "querried"), row()],
            "no column 'queried_emotion'",
            "Did you mean 'querried_emotion'",
        ),
        ([HEAD, row(file_name="../../etc/passwd")], "line 2, column 'file_name': the path", "inside"),
        ([HEAD, row(file_name="C:\\x.mp3")], "line 2, column 'file_name': the path", "inside"),
        ([HEAD, row(queried_emotion="..")], "line 2, column 'queried_emotion': the path", "inside"),
        ([HEAD, row(created_at="yesterday")], "line 2, column 'created_at': 'yesterday'", "Write moments"),
        ([HEAD, row(reaction_time_ms="fast")], "line 2, column 'reaction_time_ms': 'fast' is not a number", "Correct"),
        ([HEAD, row(sample_time_ms="long")], "line 2, column 'sample_time_ms': 'long' is not a number", "Correct"),
        ([HEAD, row(user="")], "line 2: the column 'username' is empty", "Fill in"),
        (
            [HEAD, row("a1", "u"), row("a1", "v")],
            "line 2: the annotation_id 'a1' stands before different rows",
            "own id",
        ),
        ([HEAD, row(queried_emotion="x" * 130)], "column 'queried_emotion'", "at most 120"),
        ([HEAD + ",stimulus", row() + ",x"], "a column 'stimulus', a name that is reserved", "Rename"),
        ([HEAD], "has a header but no rows", "Point to"),
        ([HEAD, row()[:-30]], "fields where the header has 10", "complete copy"),
    ],
)
def test_mistakes_are_told_with_file_and_line(text: list[str], problem: str, fix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        FORMAT.read(subset(tmp_path, *text[1:], head=text[0]), {})
    assert problem in caught.value.problem
    assert str(tmp_path / "annotations.csv") in caught.value.problem
    assert fix in caught.value.fix


@pytest.mark.slow
def test_mistakes_in_the_users_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"users\.csv.*line 2.*'u'"):
        FORMAT.read(subset(tmp_path / "a", row(), users=USERS + "u,1\nu,2\n"), {})
    with pytest.raises(InputError, match=r"users\.csv.*'username'"):
        FORMAT.read(subset(tmp_path / "b", row(), users="user,age\nu,1\n"), {})
    with pytest.raises(InputError, match=r"annotations\.csv.*emolia-emo"):
        FORMAT.read(tmp_path / "a" / "..", {})


def test_the_other_subset_is_told_by_its_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'source_emotion'"):
        FORMAT.read(EmoliaDim().example(tmp_path) / "annotations" / "emolia-dim", {})


def test_the_same_row_twice_counts_once(tmp_path: Path) -> None:
    snapshot = FORMAT.read(subset(tmp_path, row(), row()), {})
    assert (snapshot.ratings.height, snapshot.ledger.height) == (1, 1)


@pytest.mark.slow
def test_audio_is_looked_up_in_the_folder_of_its_emotion(tmp_path: Path) -> None:
    root = FORMAT.example(tmp_path)
    for folder in ("Joy___Glee_best", "Pain_best"):
        place = root / "dataset" / EMO.name / "data" / folder
        place.mkdir(parents=True)
        soundfile.write(
            place / ("EN_1.mp3" if folder.startswith("Joy") else "DE_3.mp3"), np.zeros(4800), 24000, format="WAV"
        )
    snapshot = FORMAT.read(root, {})
    paths = {s: p for s, p, result in snapshot.stimuli.select("stimulus", "path", "found").iter_rows() if result}
    assert paths == {"EN_1.mp3": "Joy___Glee_best/EN_1.mp3", "DE_3.mp3": "Pain_best/DE_3.mp3"}
    assert snapshot.counts["media_missing"] == 2
    assert snapshot.hash == FORMAT.read(FORMAT.example(tmp_path / "bare"), {}).hash
    with pytest.raises(InputError, match="option 'media'"):
        FORMAT.read(root, {"media": "nowhere"})


@pytest.mark.slow
def test_flags_are_read_where_there_are_some(tmp_path: Path) -> None:
    flags = ",".join(EMO.flag_columns) + "\nf1,v,Awe,ultimate,EN_9.mp3,silence,2026-01-01 00:00:00\n"
    snapshot = FORMAT.read(subset(tmp_path / "in", row(), flags=flags), {})
    assert snapshot.items.select("stimulus", "flagged").sort("stimulus").rows() == [
        ("EN_1.mp3", False),
        ("EN_9.mp3", True),
    ]
    repeated, out = again(snapshot, tmp_path)
    assert repeated.hash == snapshot.hash
    assert (out / "flags.csv").read_text() == flags


def test_a_collected_study_is_written_in_this_layout(tmp_path: Path) -> None:
    stimuli = pl.DataFrame({"stimulus": ["a.mp3", "b.mp3"], "intent": ["Anger", "Awe"]})
    ratings = pl.DataFrame(
        {
            "rater": ["r1", "r2", "r1", "r1"],
            "stimulus": ["a.mp3", "a.mp3", "b.mp3", "b.mp3"],
            "question": ["Anger/affirmative", "Anger/affirmative", "Awe/ultimate", "Awe/ultimate"],
            "value": [2.0, 0.0, 1.0, 2.0],
            "seconds": [1.25, 2.0, 0.5, 0.5],
            "repeat": [0, 0, 0, 1],
        }
    )
    raters = pl.DataFrame({"rater": ["r1", "r2"], "age": [30, 40], "consent": [True, True]})
    FORMAT.write(Snapshot.build(recipe_study("emolia-emo"), stimuli=stimuli, ratings=ratings, raters=raters), tmp_path)
    assert (tmp_path / "annotations.csv").read_text().splitlines()[1:] == [
        "a1,r1,Anger,Anger,affirmative,a.mp3,strongly_present,1250,,",
        "a2,r2,Anger,Anger,affirmative,a.mp3,not_present,2000,,",
        "a3,r1,Awe,Awe,ultimate,b.mp3,weakly_present,500,,",
    ]
    assert (tmp_path / "users.csv").read_text().splitlines()[1] == "r1,,,,3,,30,,,True,,,"
    back = FORMAT.read(tmp_path, {})
    assert back.ratings.sort("annotation_id")["value"].to_list() == [2.0, 0.0, 1.0]


def test_a_study_without_such_questions_is_refused(tmp_path: Path) -> None:
    ratings = pl.DataFrame({"rater": ["r"], "stimulus": ["a"], "question": ["valence"], "value": [3.0]})
    snapshot = Snapshot.build(recipe_study("aimoclips"), stimuli=pl.DataFrame({"stimulus": ["a"]}), ratings=ratings)
    with pytest.raises(InputError, match=r"'valence'.*queried_emotion"):
        FORMAT.write(snapshot, tmp_path)


@pytest.mark.slow
def test_answers_that_were_left_out_do_not_bring_back_older_ones(tmp_path: Path) -> None:
    """A later stage may drop a rating; writing must not let the answer it replaced count again."""
    rows = [row("a1", "u"), row("a2", "u", rating="weakly_present", created_at="2026-04-15 12:00:05"), row("a3", "v")]
    whole = FORMAT.read(subset(tmp_path / "in", *rows), {})
    fewer = Snapshot.build(
        whole.study, stimuli=whole.stimuli, ratings=whole.ratings.filter(pl.col("rater") == "v"), raters=whole.raters,
        items=whole.items, ledger=whole.ledger, source=whole.source,
    )  # fmt: skip
    back, _ = again(fewer, tmp_path)
    assert back.ratings["annotation_id"].to_list() == ["a3"]


def test_labels_read_well() -> None:
    assert readable("Jealousy___Envy") == "Jealousy / Envy"
    assert readable("Hope_Enthusiasm_Optimism") == "Hope Enthusiasm Optimism"
