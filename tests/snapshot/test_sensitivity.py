"""The snapshot's hash notices every table and column, loading notices every change, and probes are taken out exactly."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import DamagedError, InputError
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.snapshot.folder import is_snapshot
from heartfelt.snapshot.snapshot import Source, spool
from heartfelt.study import Study, parse_study
from tests.cases import check_all

STUDY = parse_study(
    "name: t\nscales:\n  nine: {type: points, points: 9}\n  slider: {type: numeric, low: 0, high: 1}\n"
    "  half: {type: numeric, low: 0}\n  three: {type: ordered, categories: [a, b, c]}\nquestions:\n"
    "  - {id: valence, text: V, scale: nine}\n  - {id: degree, text: D, scale: slider}\n"
    "  - {id: seconds, text: S, scale: half}\n  - {id: level, text: L, scale: three}\n"
)
MOMENT = datetime(2026, 1, 5, 10, 0, tzinfo=UTC)
TABLES: dict[str, pl.DataFrame] = {
    "stimuli": pl.DataFrame(
        {"stimulus": ["s1", "s2"], "system": ["A", "B"], "intent": ["i", "j"], "prompt": ["p", "q"], "note": ["x", "y"]}
    ),
    "raters": pl.DataFrame({"rater": ["a", "b"], "age": [30, 40], "paid": [True, False]}),
    "items": pl.DataFrame({"stimulus": ["s1", "s2"], "question": ["valence", "degree"], "intended": ["yes", "no"]}),
    "fields": pl.DataFrame(
        {
            "stimulus": ["s1", "s2"],
            "field": ["style", "style"],
            "machine": ["oil", "ink"],
            "source": ["m1", "m2"],
            "verdict": ["fixed", "accepted"],
            "final": ["tempera", "ink"],
            "verified_by": ["a", "b"],
            "at": [MOMENT, MOMENT],
        }
    ),
    "means": pl.DataFrame(
        {"stimulus": ["s1", "s2"], "question": ["valence"] * 2, "mean": [5.0, 6.0], "sd": [1.0, 2.0], "n": [4, 5]}
    ),
    "ledger": pl.DataFrame(
        {
            "what": ["rating", "rater"],
            "rater": ["a", "b"],
            "stimulus": ["s1", "s2"],
            "question": ["valence", "degree"],
            "reason": ["late", "left"],
            "stage": ["source", "import"],
        }
    ),
    "ratings": pl.DataFrame(
        {
            "rater": ["a", "b", "b"],
            "stimulus": ["s1", "s2", "s1"],
            "question": ["valence", "valence", "level"],
            "value": [3.0, 4.0, 1.0],
            "answer": [None, None, "b"],
            "position": [1, 1, 2],
            "seconds": [2.5, 3.5, 4.5],
            "at": [MOMENT] * 3,
            "repeat": [0, 0, 0],
            "device": ["phone", "desk", "desk"],
        }
    ),
}
AT_HAND = {
    "path": "a.wav", "found": False, "duration": 1.0, "rate": 8000, "channels": 2, "width": 3, "height": 4,
    "bytes": 5, "media_problem": "gone",
}  # fmt: skip


def build(own: Study = STUDY, /, **changed: pl.DataFrame) -> Snapshot:
    return built_from({**TABLES, **changed}, own)


def built_from(given: dict[str, pl.DataFrame], own: Study = STUDY) -> Snapshot:
    return Snapshot.build(own, **given)  # type: ignore[arg-type]  # the tables by their names


def _other(column: pl.Series) -> pl.Expr:
    """The column with another value in its last row."""
    last = pl.int_range(pl.len()) == pl.len() - 1
    name = column.name
    if column.dtype == pl.Boolean:
        changed = ~pl.col(name)
    elif column.dtype.is_numeric():
        changed = pl.col(name) + 1
    elif isinstance(column.dtype, pl.Datetime):
        changed = pl.col(name) + pl.duration(microseconds=1)
    else:
        changed = pl.col(name) + "'"
    return pl.when(last).then(changed).otherwise(pl.col(name)).alias(name)


KEYS = {("ratings", "stimulus"), ("ratings", "question")}  # these must name what the study knows
CASES = [
    (table, column)
    for table, frame in TABLES.items()
    for column in frame.columns
    if (table, column) not in KEYS and (table, column) != ("stimuli", "stimulus")
]


@pytest.mark.slow
@check_all(("table", "column"), CASES)
def test_every_column_of_every_table_is_part_of_the_hash(table: str, column: str) -> None:
    before = build()
    after = build(**{table: TABLES[table].with_columns(_other(TABLES[table][column]))})
    assert after.table_hashes[table] != before.table_hashes[table]
    assert after.hash != before.hash


@pytest.mark.parametrize("column", ["stimulus", "question"])
def test_which_item_was_rated_is_part_of_the_hash(column: str) -> None:
    to = {"stimulus": {"s2": "s1"}, "question": {"level": "valence"}}[column]
    assert build(ratings=TABLES["ratings"].with_columns(pl.col(column).replace(to))).hash != build().hash


@pytest.mark.parametrize("table", [name for name in TABLES if name not in {"stimuli", "ratings"}])
def test_a_table_that_is_left_out_changes_the_hash(table: str) -> None:
    given = {name: frame for name, frame in TABLES.items() if name != table}
    assert built_from(given).hash != build().hash


@pytest.mark.parametrize("table", TABLES)
def test_the_order_of_rows_is_no_part_of_the_hash(table: str) -> None:
    assert build(**{table: TABLES[table].reverse()}).hash == build().hash


@pytest.mark.parametrize("column", AT_HAND)
def test_what_was_at_hand_is_no_part_of_the_hash(column: str) -> None:
    assert build(stimuli=TABLES["stimuli"].with_columns(pl.lit(AT_HAND[column]).alias(column))).hash == build().hash


@pytest.mark.slow
def test_the_study_is_part_of_the_hash() -> None:
    assert build(STUDY.changed(seed=1)).hash != build().hash
    assert build(STUDY.changed(title="T")).hash != build().hash


def test_a_table_is_not_another_with_the_same_rows() -> None:
    frame = pl.DataFrame({"stimulus": ["s1"]})
    assert table_hash("stimuli", frame) != table_hash("raters", frame)
    assert table_hash("stimuli", frame) != table_hash("stimuli", frame.rename({"stimulus": "rater"}))


def test_cells_do_not_move_between_columns() -> None:
    each = pl.DataFrame({"a": ["x", "y"], "b": ["y", "x"]})
    assert table_hash("t", each) != table_hash(
        "t", each.select(pl.col("b").alias("a"), pl.col("a").alias("b")).reverse()[:1]
    )
    assert table_hash("t", pl.DataFrame({"a": ["ab"], "b": ["c"]})) != table_hash(
        "t", pl.DataFrame({"a": ["a"], "b": ["bc"]})
    )
    assert table_hash("t", pl.DataFrame({"a": ["12345678", "9"]})) != table_hash(
        "t", pl.DataFrame({"a": ["123456789", ""]})
    )


class TestLoading:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return build().write(tmp_path / "snap")

    @pytest.mark.parametrize("table", TABLES)
    def test_a_changed_table_is_named(self, folder: Path, table: str) -> None:
        path = folder / f"{table}.parquet"
        frame = pl.read_parquet(path)
        column = {"stimuli": "note", "raters": "age", "items": "intended"}.get(table, frame.columns[-1])
        frame.with_columns(_other(frame[column])).write_parquet(path)
        with pytest.raises(DamagedError, match=f"its table of {table} is not the one"):
            load(folder)

    @pytest.mark.parametrize("table", ["items", "fields", "means", "ledger"])
    def test_a_lost_table_is_noticed(self, folder: Path, table: str) -> None:
        (folder / f"{table}.parquet").unlink()
        with pytest.raises(DamagedError, match=f"{table}.parquet cannot be read"):
            load(folder)

    def test_tables_of_another_snapshot_are_noticed(self, folder: Path, tmp_path: Path) -> None:
        other = build(ratings=TABLES["ratings"].with_columns(value=pl.lit(2.0))).write(tmp_path / "other")
        shutil.copy(other / "ratings.parquet", folder / "ratings.parquet")
        with pytest.raises(DamagedError, match=r"table.*ratings"):
            load(folder)

    def test_a_study_of_another_snapshot_is_noticed(self, folder: Path, tmp_path: Path) -> None:
        other = build(STUDY.changed(seed=7)).write(tmp_path / "other")
        shutil.copy(other / "study.yaml", folder / "study.yaml")
        with pytest.raises(DamagedError, match="its study is not the one"):
            load(folder)

    def test_everything_comes_back(self, folder: Path) -> None:
        again, before = load(folder), build()
        assert again.hash == before.hash
        assert again.counts == before.counts
        for name in TABLES:
            assert again.table(name).equals(before.table(name))

    def test_the_source_comes_back(self, tmp_path: Path) -> None:
        media = tmp_path / "media"
        media.mkdir()
        source = Source(
            format="long",
            name="r.csv",
            options={"scale": "1-9"},
            media_root=media,
            layout={"r.csv": "crlf"},
            notes=("a note",),
            versions={"v1": "name: t\n"},
        )
        made = Snapshot.build(STUDY, stimuli=TABLES["stimuli"], source=source)
        again = load(made.write(tmp_path / "snap")).source
        assert again == source

    @pytest.mark.parametrize("key", ["tables", "hash", "source", "heartfelt_snapshot"])
    def test_a_manifest_without_a_part_is_damaged(self, folder: Path, key: str) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        del manifest[key]
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(DamagedError, match=r"manifest\.json.*read"):
            load(folder)

    def test_what_is_a_snapshot(self, folder: Path, tmp_path: Path) -> None:
        assert is_snapshot(folder)
        assert not is_snapshot(tmp_path)
        (tmp_path / "manifest.json").write_text("{}")
        assert not is_snapshot(tmp_path)

    @pytest.mark.slow
    def test_a_written_snapshot_does_not_replace_another_unless_asked(self, folder: Path) -> None:
        with pytest.raises(InputError, match="already exists"):
            build().write(folder)
        changed = build(STUDY.changed(seed=2))
        changed.write(folder, replace=True)
        assert load(folder).hash == changed.hash


def _rating(question: str, value: float | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"rater": ["a"], "stimulus": ["s1"], "question": [question], "value": [value]},
        schema={"rater": pl.String, "stimulus": pl.String, "question": pl.String, "value": pl.Float64},
    )


@check_all(
    ("question", "value", "fits"),
    [
        ("valence", 1.0, True),
        ("valence", 9.0, True),
        ("valence", 0.0, False),
        ("valence", 10.0, False),
        ("valence", 5.5, False),
        ("degree", 0.0, True),
        ("degree", 1.0, True),
        ("degree", 0.25, True),
        ("degree", 1.0000001, False),
        ("degree", -0.0000001, False),
        ("seconds", 0.0, True),
        ("seconds", 1e9, True),
        ("seconds", -0.001, False),
        ("seconds", float("inf"), False),
        ("level", 0.0, True),
        ("level", 2.0, True),
        ("level", 3.0, False),
        ("level", 0.5, False),
        ("valence", None, True),
    ],
)
def test_ratings_are_held_to_their_scale(question: str, value: float | None, fits: bool) -> None:
    ratings = _rating(question, value)
    if fits:
        assert build(ratings=ratings).survey.questions[question].low == value
        return
    with pytest.raises(InputError, match=f"answers to '{question}' are off its scale"):
        build(ratings=ratings)


def test_what_the_survey_finds() -> None:
    frame = pl.DataFrame(
        {
            "rater": ["b", "a", None, "b", None],
            "stimulus": ["s2", "s1", "s1", "s1", "s1"],
            "question": ["q", "q", "q", "p", "q"],
            "value": [1.0, 2.5, None, 4.0, 7.0],
        }
    )
    result = spool(frame, "x").survey
    assert (result.rows, result.ratings, result.blank) == (5, 4, 1)
    assert (result.unknown_raters, result.doubled) == (1, False)
    assert (result.raters, result.stimuli) == (["b", "a"], ["s2", "s1"])
    q, p = result.questions["q"], result.questions["p"]
    assert (q.ratings, q.blank, q.low, q.high, q.integers) == (3, 1, 1.0, 7.0, False)
    assert (p.ratings, p.low, p.high, p.integers) == (1, 4.0, 4.0, True)


@pytest.mark.parametrize("name", ["stimulus", "question"])
def test_a_rating_without_an_id_is_numbered(name: str) -> None:
    frame = TABLES["ratings"].with_columns(
        pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col(name)).alias(name)
    )
    with pytest.raises(InputError, match=f"rating 2 has no {name}"):
        spool(frame, "x")


def test_a_rating_counts_as_doubled_by_its_whole_key() -> None:
    two = pl.concat([_rating("valence", 1.0), _rating("valence", 2.0)])
    assert spool(two, "x").survey.doubled
    assert not spool(two.with_columns(repeat=pl.Series([0, 1])), "x").survey.doubled
    assert not spool(two.with_columns(stimulus=pl.Series(["s1", "s2"])), "x").survey.doubled
    assert not spool(two.with_columns(rater=pl.lit(None, pl.String)), "x").survey.doubled


class TestProbes:
    STUDY = STUDY.changed(
        probes=[{"type": "anchor", "id": "known", "stimuli": ["s2"], "question": "valence", "at_least": 3}],
        design={"practice_stimuli": ["s3", "never there"]},
    )
    RATINGS = pl.DataFrame(
        {
            "rater": ["a", "b", "a", "a"],
            "stimulus": ["s1", "s2", "s2", "s3"],
            "question": ["valence"] * 4,
            "value": [3.0, 4.0, 5.0, 6.0],
        }
    )

    def made(self) -> Snapshot:
        stimuli = pl.DataFrame({"stimulus": ["s1", "s2", "s3"]})
        items = stimuli.with_columns(question=pl.lit("valence"))
        means = items.with_columns(mean=pl.lit(5.0))
        fields = pl.DataFrame({"stimulus": ["s1", "s2"], "field": ["f", "f"], "machine": ["x", "y"]})
        return Snapshot.build(
            self.STUDY, stimuli=stimuli, ratings=self.RATINGS, items=items, means=means, fields=fields,
            ledger=TABLES["ledger"],
        )  # fmt: skip

    def test_they_are_gone_from_every_table_and_in_the_ledger(self) -> None:
        made = self.made()
        panel = made.without_probes
        for name in ("stimuli", "ratings", "items", "means", "fields"):
            assert set(panel.table(name)["stimulus"]) == {"s1"}, name
        added = panel.ledger.filter(pl.col("stage") == "probes")
        assert added.select("what", "stimulus", "reason", "ratings").rows() == [
            ("stimulus", "s2", "anchor of the probe 'known': used for screening raters only", 2),
            ("stimulus", "s3", "practice stimulus: used for screening raters only", 1),
        ]
        assert panel.ledger.height == TABLES["ledger"].height + 2
        assert set(panel.raters["rater"]) == {"a", "b"}
        assert made.ratings.height == 4

    def test_a_snapshot_without_any_is_itself(self) -> None:
        plain = build()
        assert plain.without_probes is plain
        once = self.made().without_probes
        assert once.without_probes is once
