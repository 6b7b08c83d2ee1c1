"""Sets, ranks, best and worst, grades and traces in plain tables."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.errors import InputError
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.set_scale import BestWorst, Grade, Ranking, Trace
from tests.cases import check_all

QUADS = pl.DataFrame(
    {
        "worker": ["w1", "w1", "w2", "w2", "w3"],
        "Item1": ["a", "a", "b", "a", "a"],
        "Item2": ["b", "c", "b", "b", None],
        "Item3": ["c", "d", "c", "c", None],
        "Item4": ["d", "e", "e", "d", None],
        "Best": ["a", "e", "b", "Item2", "a"],
        "Worst": ["d", "e", "c", "3", "a"],
    }
)


def reasons(snapshot: Snapshot) -> set[str]:
    return set(snapshot.ledger["reason"])


def again(snapshot: Snapshot, folder: Path) -> None:
    heartfelt.export(snapshot, "long", folder)
    read = heartfelt.read(folder, "long")
    left, right = dict(snapshot.table_hashes), dict(read.table_hashes)
    left.pop("ledger"), right.pop("ledger")
    assert left == right
    assert read.study.hash == snapshot.study.hash


@pytest.mark.slow
def test_best_and_worst_by_name_column_or_place(tmp_path: Path) -> None:
    snapshot = heartfelt.read(QUADS, members="Item1,Item2,Item3,Item4", best="Best", worst="Worst")
    rows = snapshot.ratings.filter(pl.col("value") != 0).select("rater", "stimulus", "value", "place").rows()
    assert rows == [("w1", "a", 1.0, 1), ("w1", "d", -1.0, 4), ("w2", "b", 1.0, 2), ("w2", "c", -1.0, 3)]
    assert reasons(snapshot) == {
        "the trial has one stimulus only",
        "a stimulus is in the set twice",
        "best and worst are not two different members of the set",
    }
    assert isinstance(snapshot.study.scales["scale"], BestWorst)
    assert snapshot.study.sets is not None
    assert snapshot.study.sets.type == "best-worst"
    again(snapshot, tmp_path / "out")


@pytest.mark.slow
def test_ranks_in_columns_and_by_order(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": ["u", "v"], "s1": ["a", "b"], "s2": ["b", "c"], "r1": [2, 1], "r2": [1, 2]})
    ranked = heartfelt.read(frame, members="s1,s2", ranks="r1,r2")
    assert ranked.ratings.select("stimulus", "value").rows() == [("a", 2.0), ("b", 1.0), ("b", 1.0), ("c", 2.0)]
    listed = heartfelt.read(frame.select("user", "s1", "s2"), members="s1,s2")
    assert listed.ratings["value"].to_list() == [1.0, 2.0, 1.0, 2.0]
    assert listed.ratings["place"].null_count() == 4  # the order of preference says nothing of the order on the page
    assert isinstance(listed.study.scales["scale"], Ranking)
    again(ranked, tmp_path / "ranked")
    again(listed, tmp_path / "listed")
    with pytest.raises(InputError, match="as many ranks"):
        heartfelt.read(frame, members="s1,s2", ranks="r1")
    with pytest.raises(InputError, match="belong together"):
        heartfelt.read(QUADS, members="Item1,Item2", best="Best")


def grades() -> pl.DataFrame:
    rows = [
        (listener, item, codec, grade)
        for listener in ("l1", "l2")
        for item in ("piano", "voice")
        for codec, grade in (("Original", 100), ("LP35", 20 if listener == "l1" else 100), ("codec", 60))
    ]
    return pl.DataFrame(rows, schema=["listener", "item", "codec", "grade"], orient="row")


OPTIONS = {
    "rater": "listener", "trial": "item", "stimulus": "item+codec", "system": "codec", "value": "grade",
    "scale": "grade:0-100", "hidden_reference": "Original", "low_anchors": "LP35",
}  # fmt: skip


@pytest.mark.slow
def test_grades_of_sets_with_roles(tmp_path: Path) -> None:
    snapshot = heartfelt.read(grades(), **OPTIONS)
    assert isinstance(snapshot.study.scale_of("grade"), Grade)
    assert snapshot.study.sets is not None
    assert (snapshot.study.sets.type, snapshot.study.sets.reference) == ("mushra", "Original")
    assert snapshot.ratings.group_by("role").len().sort("role").rows() == [
        ("anchor", 4), ("hidden-reference", 4), ("member", 4),
    ]  # fmt: skip
    again(snapshot, tmp_path / "out")
    sets = pl.read_csv(tmp_path / "out" / "sets.csv")
    assert sets.filter(pl.col("role") == "reference")["stimulus"].to_list() == ["piano/Original", "voice/Original"]


def test_trials_of_one_and_rows_listed_twice_are_left_out() -> None:
    frame = grades()
    alone = pl.DataFrame({"listener": ["l3"], "item": ["piano"], "codec": ["codec"], "grade": [50]})
    snapshot = heartfelt.read(pl.concat([frame, frame.head(1), alone]), **OPTIONS)
    assert snapshot.ratings.height == frame.height
    assert reasons(snapshot) == {"the same row is there more than once", "the trial has one stimulus only"}


def test_a_rater_may_have_a_trial_again() -> None:
    frame = pl.concat([grades().with_columns(repeat=pl.lit(0)), grades().with_columns(repeat=pl.lit(1))])
    snapshot = heartfelt.read(frame, **OPTIONS, repeat="repeat")
    assert snapshot.ratings["trial"].n_unique() == 4
    assert snapshot.ratings.height == 24


def test_a_reference_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="nothing is called 'Orignal'"):
        heartfelt.read(grades(), **{**OPTIONS, "hidden_reference": "Orignal"})
    with pytest.raises(InputError, match="does not say what was done"):
        heartfelt.read(grades(), **{**OPTIONS, "scale": "numeric"})


def test_choices_by_rows_must_agree_with_each_other() -> None:
    frame = pl.DataFrame(
        {
            "rater": ["r"] * 7,
            "trial": ["1", "1", "2", "2", "3", "3", "3"],
            "stimulus": ["a", "b", "a", "c", "a", "b", "c"],
            "value": [1, 0, 1, 1, 1, 0, 0],
        }
    )
    snapshot = heartfelt.read(frame, trial="trial", scale="choice")
    assert snapshot.ratings.select("stimulus", "value", "place").rows() == [("a", 1.0, None), ("b", 0.0, None)]
    assert "no order is assumed" in snapshot.source.notes[0]
    listed = heartfelt.read(frame, trial="trial", scale="choice", order="known")
    assert listed.ratings["place"].to_list() == [1, 2]
    assert reasons(snapshot) == {
        "the two values of the trial contradict each other",
        "a comparison of two has another number of stimuli",
    }


@pytest.mark.slow
def test_best_and_worst_by_rows_in_words(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"rater": ["r"] * 3, "trial": ["1"] * 3, "stimulus": ["a", "b", "c"], "value": ["best", None, "worst"]}
    )
    snapshot = heartfelt.read(frame, trial="trial", scale="best-worst")
    assert snapshot.ratings["value"].to_list() == [1.0, 0.0, -1.0]
    again(snapshot, tmp_path / "out")


def test_an_ordinary_column_called_trial_stays_one() -> None:
    frame = pl.DataFrame({"rater": ["r", "r"], "stimulus": ["a", "b"], "value": [1, 2], "trial": [1, 2]})
    snapshot = heartfelt.read(frame)
    assert snapshot.study.sets is None
    assert "place" not in snapshot.ratings.columns


# --- traces -----------------------------------------------------------------------------------------------------------

SAMPLES = pl.DataFrame(
    {
        "rater": ["u"] * 4 + ["v"] * 3,
        "song": ["s"] * 7,
        "t_ms": [0, 500, 1500, 2000, 0, 500, 1000],
        "valence": [0.1, 0.2, 0.4, 0.5, 0.0, 0.0, 0.0],
        "arousal": [-1.0, -0.5, 0.5, 1.0, 0.3, None, 0.3],
    }
)


def trace(snapshot: Snapshot, rater: str, question: str) -> list[float | None]:
    rows = snapshot.traces.filter((pl.col("rater") == rater) & (pl.col("question") == question))
    return [None if sample is None else round(sample, 4) for sample in rows["samples"][0]]


@pytest.mark.slow
def test_a_row_per_sample(tmp_path: Path) -> None:
    snapshot = heartfelt.read(SAMPLES, stimulus="song", time="t_ms")
    assert trace(snapshot, "u", "valence") == [0.1, 0.2, None, 0.4, 0.5]  # the gap stays one
    assert trace(snapshot, "v", "arousal") == [0.3, None, 0.3]
    assert trace(snapshot, "v", "valence") == [0.0, 0.0, 0.0]  # constant, and kept
    assert snapshot.traces["rate"].unique().to_list() == [2.0]
    means = snapshot.ratings.filter(pl.col("rater") == "u").select("question", "value").rows()
    assert means == [("valence", pytest.approx(0.3)), ("arousal", pytest.approx(0.0))]
    again(snapshot, tmp_path / "out")


def test_irregular_moments_are_held() -> None:
    frame = pl.DataFrame(
        {"rater": ["u"] * 4, "stimulus": ["s"] * 4, "time": [0.0, 0.1, 0.9, 2.0], "value": [0.0, 0.5, 1.0, -1.0]}
    )
    snapshot = heartfelt.read(frame, time="time", rate=2)
    assert trace(snapshot, "u", "value") == [0.0, 0.5, 1.0, 1.0, -1.0]
    assert "irregular" in snapshot.source.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("cells", [[[0.1, 0.2, None], [0.3]], ["[0.1, 0.2, nan]", "[0.3]"], ["0.1;0.2;", "0.3"]])
def test_a_list_per_row_of_any_length(cells: list[object], tmp_path: Path) -> None:
    frame = pl.DataFrame({"rater": ["u", "v"], "song": ["s", "s"], "arousal": cells}, strict=False)
    snapshot = heartfelt.read(frame, stimulus="song", samples="arousal", rate=2, start=15)
    assert trace(snapshot, "u", "arousal") == [0.1, 0.2, None]
    assert trace(snapshot, "v", "arousal") == [0.3]
    assert snapshot.traces.select("rate", "start").unique().rows() == [(2.0, 15.0)]
    again(snapshot, tmp_path / "out")


def test_a_column_per_moment_and_a_file_per_song(tmp_path: Path) -> None:
    folder = tmp_path / "arousal"
    folder.mkdir()
    head = "WorkerId,sample_15000ms,sample_15500ms,sample_16500ms\n"
    (folder / "2.csv").write_text(f"{head}a,0.1,0.2,0.3\nb,0.4,0.5,\n", encoding="utf-8")
    (folder / "3.csv").write_text(f"{head}a,,,\nb,0.4,,0.5\n", encoding="utf-8")
    snapshot = heartfelt.read(
        folder, "long", stimulus="filename", question="folder", rater="WorkerId", samples="sample_{time}ms",
        scale="trace:-1-1",
    )  # fmt: skip
    rows = {(row["rater"], row["stimulus"]): row["samples"] for row in snapshot.traces.iter_rows(named=True)}
    rounded = {key: [s if s is None else round(s, 4) for s in samples] for key, samples in rows.items()}
    assert rounded[("a", "2")] == [0.1, 0.2, None, 0.3]
    assert rounded[("b", "2")] == [0.4, 0.5]
    assert rounded[("b", "3")] == [0.4, None, None, 0.5]
    assert snapshot.traces.select("question", "rate", "start").unique().rows() == [("arousal", 2.0, 15.0)]
    assert reasons(snapshot) == {"a trace without samples"}
    assert snapshot.study.scale_of("arousal") == Trace(type="trace")


def test_traces_off_their_scale_are_an_error_with_the_rater() -> None:
    with pytest.raises(InputError, match=r"scale.*rater.*'u'"):
        heartfelt.read(SAMPLES, stimulus="song", time="t_ms", scale="trace:0-1")
    with pytest.raises(InputError, match="no column fits the pattern"):
        heartfelt.read(SAMPLES, stimulus="song", samples="at_{time}")
    with pytest.raises(InputError, match="rate=fast"):
        heartfelt.read(SAMPLES, stimulus="song", time="t_ms", rate="fast")


def test_a_column_per_rater(tmp_path: Path) -> None:
    (tmp_path / "P16.csv").write_text("time;FM1 ;FM2 \n0.00;0.1;0.2\n0.04;0.3;0.4\n", encoding="utf-8")
    options = {"stimulus": "filename", "rater": "columns", "time": "time", "question": "arousal"}
    snapshot = heartfelt.read(tmp_path, "long", **options)
    assert trace(snapshot, "FM1", "arousal") == [0.1, 0.3]
    assert trace(snapshot, "FM2", "arousal") == [0.2, 0.4]
    assert snapshot.traces["rate"].to_list() == [25.0, 25.0]
    assert snapshot.stimuli["stimulus"].to_list() == ["P16"]


def test_averages_nobody_signed() -> None:
    frame = pl.DataFrame({"song_id": [2, 3], "sample_15000ms": [0.1, 0.2], "sample_15500ms": [0.3, None]})
    snapshot = heartfelt.read(frame, rater="none", stimulus="song_id", samples="sample_{time}ms", question="arousal")
    assert snapshot.traces.select("rater", "stimulus").rows() == [("average", "2"), ("average", "3")]
    assert "does not say who rated" in snapshot.source.notes[0]


def test_moments_in_the_wrong_unit_are_an_error() -> None:
    frame = pl.DataFrame({"rater": ["u"] * 3, "stimulus": ["s"] * 3, "time": [0, 1, 1_000_000_000], "value": [0.1] * 3})
    with pytest.raises(InputError, match="more than 100,000 samples"):
        heartfelt.read(frame, time="time")


@pytest.mark.slow
def test_abx_and_reference_trials_by_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"rater": ["r", "r"], "trial": ["1", "2"], "stimulus": ["a", "b"], "value": [1, 0], "set": ["a|b", "a|b"]}
    )
    snapshot = heartfelt.read(frame, trial="trial", set="set", scale="choice", type="abx")
    assert snapshot.study.sets is not None
    assert (snapshot.study.sets.type, snapshot.ratings["role"].unique().to_list()) == ("abx", ["x"])
    again(snapshot, tmp_path / "abx")
    rated = heartfelt.read(frame.with_columns(value=pl.Series([4, 2])), trial="trial", scale="1-5", type="reference")
    assert rated.study.sets is not None
    assert rated.study.sets.type == "reference"
    assert rated.ratings["value"].to_list() == [4.0, 2.0]
    again(rated, tmp_path / "reference")


CELLS = (
    "x",
    "y",
    "z",
    None,
    "",
    "tie",
    "model_a",
    "a",
    "1",
    "0",
    "0.5",
    "-3",
    "nan",
    "[1,2]",
    "1e9",
    "best",
    "é",
    "=1+1",
)
COLUMNS = [
    "rater",
    "stimulus",
    "first",
    "second",
    "winner",
    "value",
    "trial",
    "set",
    "place",
    "role",
    "time",
    "valence",
    "model_a",
    "model_b",
    "judge",
    "question_id",
    "Best",
    "Worst",
    "m1",
    "m2",
    "m3",
    "samples",
    "repeat",
    "at",
    "seconds",
    "question",
    "system",
]
READINGS: tuple[tuple[str, dict[str, str]], ...] = (
    ("arena", {}),
    ("arena", {"prompt": "none", "judge": "none"}),
    ("webmushra", {"rater": "rater", "trial": "trial", "condition": "system", "score": "value"}),
    ("long", {"first": "first", "second": "second", "winner": "winner"}),
    ("long", {"first": "first", "second": "second", "value": "value"}),
    ("long", {"first": "first", "second": "second", "votes": "m1,m2"}),
    ("long", {"members": "m1,m2,m3", "best": "Best", "worst": "Worst"}),
    ("long", {"members": "m1,m2,m3"}),
    *(("long", {"trial": "trial", "scale": scale}) for scale in ("choice", "rank", "best-worst", "grade:0-100")),
    ("long", {"time": "time", "value": "valence"}),
    ("long", {"samples": "samples", "rate": "2"}),
    ("long", {"samples": "m{time}"}),
)


@pytest.mark.slow
@check_all(("format", "options"), READINGS)
def test_nonsense_is_read_or_explained(format: str, options: dict[str, str], tmp_path: Path) -> None:
    """Whatever the cells hold, there is a snapshot that survives writing, or an error in words."""
    rng = random.Random(str(options))
    explained: list[tuple[str, str]] = []
    for turn in range(12):
        size = rng.choice([0, 1, 2, 6, 12])
        pool = rng.choice([CELLS, ("x", "y", "1", "0"), ("1", "2", "3", "0.5"), ("x", "y", "z"), (None,)])
        cells = {c: [rng.choice(pool if rng.random() < 0.8 else CELLS) for _ in range(size)] for c in COLUMNS}
        frame = pl.DataFrame(cells, schema=dict.fromkeys(COLUMNS, pl.String))
        try:
            snapshot = heartfelt.read(frame, format, **options)
        except InputError as error:
            explained.append((error.problem, error.fix))
            continue
        heartfelt.export(snapshot, "long", tmp_path / str(turn))
        read = heartfelt.read(tmp_path / str(turn), "long")
        assert read.ratings.height == snapshot.ratings.height
        assert read.traces.height == snapshot.traces.height
    assert all(problem and fix for problem, fix in explained)
