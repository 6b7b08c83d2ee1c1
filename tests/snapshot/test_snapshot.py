"""The waist: checked on entry, frozen, hashed whatever the order, whole on disk or absent."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heartfelt
from heartfelt.errors import DamagedError, InputError
from heartfelt.simulate import stimuli as simulated_stimuli
from heartfelt.simulate import study_ratings
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.fingerprint import table_hash
from heartfelt.snapshot.snapshot import spool
from heartfelt.study import Study, parse_study

STUDY = parse_study(
    "name: t\nscales:\n  nine: {type: points, points: 9}\nquestions:\n"
    "  - {id: valence, text: V, scale: nine}\n  - {id: arousal, text: A, scale: nine}\n"
)


def build(
    ratings: pl.DataFrame | pl.LazyFrame, study: Study = STUDY, stimuli: pl.DataFrame | None = None
) -> Snapshot:
    lazy = ratings.lazy()
    if stimuli is None:
        stimuli = (
            lazy.select(pl.col("stimulus").cast(pl.String)).unique().sort("stimulus").collect().drop_nulls()
        )
    return Snapshot.build(study, stimuli=stimuli, ratings=ratings)


@pytest.fixture(scope="module")
def made() -> Snapshot:
    stimuli = simulated_stimuli(per_cell=2)
    ratings = study_ratings(stimuli, 20, seed=5).ratings
    return Snapshot.build(STUDY, stimuli=stimuli.select("stimulus", "system", "intent"), ratings=ratings)


def plain(**columns: list[object]) -> pl.DataFrame:
    base: dict[str, list[object]] = {
        "rater": ["a", "a", "b"],
        "stimulus": ["s1", "s2", "s1"],
        "question": ["valence", "valence", "arousal"],
        "value": [1.0, 9.0, 5.0],
    }
    return pl.DataFrame(base | columns)


class TestHash:
    @given(st.randoms(use_true_random=False))
    @settings(deadline=None, max_examples=15)
    def test_order_of_rows_and_columns_does_not_matter(self, made: Snapshot, random: Random) -> None:
        seed = random.randrange(10**6)
        ratings = made.ratings.sample(fraction=1.0, shuffle=True, seed=seed)
        columns = pl.Series(ratings.columns).sample(fraction=1.0, shuffle=True, seed=seed).to_list()
        again = Snapshot.build(
            STUDY,
            stimuli=made.stimuli.reverse(),
            ratings=ratings.select(columns),
            raters=made.raters.sample(fraction=1.0, shuffle=True, seed=seed),
        )
        assert again.hash == made.hash

    @pytest.mark.parametrize(
        "change",
        [
            pl.col("value").replace({1.0: 2.0}),
            pl.lit("x").alias("device"),
            pl.col("rater") + "0",
            (pl.col("position") + 1),
            pl.col("seconds") * (1 + 1e-12),
        ],
    )
    def test_any_change_of_content_changes_it(self, made: Snapshot, change: pl.Expr) -> None:
        assert build(made.ratings.with_columns(change), stimuli=made.stimuli).hash != made.hash

    def test_swapping_two_answers_changes_it(self) -> None:
        assert build(plain()).found.hash != build(plain(value=[9.0, 1.0, 5.0])).found.hash

    def test_a_column_without_values_says_nothing(self) -> None:
        assert build(plain(seconds=[None, None, None])).hash == build(plain()).hash

    def test_the_number_of_rows_counts(self) -> None:
        votes = plain(rater=[None, None, None])
        assert build(votes).found.hash != build(pl.concat([votes, votes])).found.hash

    def test_it_is_the_same_through_a_file_and_in_memory(self, made: Snapshot) -> None:
        assert spool(made.ratings.lazy(), "x").found == made.found

    def test_compiled_and_plain_hashing_agree(self, made: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
        odd = made.ratings.with_columns(
            pl.when(pl.col("position") > 5).then(pl.lit("é✓")).alias("note"),
            pl.lit(None, pl.String).alias("nothing"),
            pl.col("position").cast(pl.String).str.pad_start(8, "a").alias("eight"),
            pl.lit("twelve bytes").str.slice(pl.col("position") % 9).alias("inline"),
            pl.lit("far longer than twelve bytes ✓").str.slice(pl.col("position") % 24).alias("long"),
            pl.when(pl.col("position") != 3).then(pl.col("rater")).alias("rater"),
        )
        for frame in (made.ratings, odd):
            plain = spool(frame, "x").found
            monkeypatch.setattr("heartfelt.snapshot.survey.COMPILED_FROM", 1)
            assert spool(frame, "x").found == plain
            assert spool(frame.lazy(), "x").found == plain
            monkeypatch.undo()

    def test_it_is_what_it_was(self) -> None:
        """A change here means published hashes no longer match: raise the schema version with it."""
        frame = pl.DataFrame(
            {"a": ["x", None, "é"], "b": [1.5, -0.0, None], "c": [1, 2, 3], "d": [True, False, None]}
        )
        assert table_hash("t", frame) == "56d1aed0572a607099a496e3a84cb7f83539137aa2be452a7188ea26876b81d4"

    def test_minus_zero_is_zero_and_a_number_is_a_number(self) -> None:
        assert table_hash("t", pl.DataFrame({"a": [0.0, 2.0]})) == table_hash(
            "t", pl.DataFrame({"a": [-0.0, 2.0]})
        )
        assert table_hash("t", pl.DataFrame({"a": [1, 2]})) == table_hash(
            "t", pl.DataFrame({"a": [1.0, 2.0]})
        )
        assert table_hash("t", pl.DataFrame({"a": ["1", "2"]})) != table_hash(
            "t", pl.DataFrame({"a": [1.0, 2.0]})
        )

    @given(st.lists(st.text(max_size=4), min_size=2, max_size=6, unique=True))
    @settings(deadline=None, max_examples=60)
    def test_different_texts_have_different_bits(self, texts: list[str]) -> None:
        import pyarrow as pa

        from heartfelt.snapshot.fingerprint import text_bits

        assert len(set(text_bits(pa.array(texts)).tolist())) == len(texts)

    def test_media_at_hand_are_no_part_of_it(self, made: Snapshot) -> None:
        probed = made.stimuli.with_columns(
            pl.lit(True).alias("found"), pl.lit(9.5).alias("duration"), pl.lit("x.wav").alias("path")
        )
        assert Snapshot.build(STUDY, stimuli=probed, ratings=made.ratings).hash == made.hash


class TestChecks:
    @pytest.mark.parametrize(
        ("frame", "problem"),
        [
            (
                plain(value=[1.0, 10.0, 5.0]),
                "1 answers to 'valence' are off its scale; the first is 10 by rater 'a' on stimulus 's2'",
            ),
            (plain(value=[1.0, 2.5, 5.0]), "the first is 2.5"),
            (plain(value=[1.0, float("inf"), 5.0]), "the first is inf"),
            (plain(question=["valence", "valenc", "arousal"]), "a question 'valenc' the study does not ask"),
            (plain(stimulus=["s1", None, "s1"]), "rating 2 has no stimulus"),
            (
                plain(stimulus=["s1", "s1", "s1"], question=["valence"] * 3, rater=["a", "a", "b"]),
                "rater 'a' on stimulus 's1', question 'valence' (2 times: 1, 9)",
            ),
        ],
    )
    @pytest.mark.parametrize("lazily", [False, True])
    def test_bad_ratings_are_named(self, frame: pl.DataFrame, problem: str, lazily: bool) -> None:
        with pytest.raises(InputError) as caught:
            build(frame.lazy() if lazily else frame)
        assert problem in caught.value.problem

    def test_a_rated_stimulus_must_be_listed(self) -> None:
        with pytest.raises(InputError, match="1 rated stimuli are not among the stimuli; the first is 's2'"):
            build(plain(), stimuli=pl.DataFrame({"stimulus": ["s1"]}))

    def test_raters_seen_only_in_ratings_are_added(self) -> None:
        snapshot = Snapshot.build(
            STUDY,
            stimuli=pl.DataFrame({"stimulus": ["s1", "s2"]}),
            ratings=plain(),
            raters=pl.DataFrame({"rater": ["b"], "age": [30]}),
        )
        assert snapshot.raters.sort("rater").to_dicts() == [
            {"rater": "a", "age": None},
            {"rater": "b", "age": 30},
        ]

    def test_no_ratings_at_all_is_a_snapshot_too(self, tmp_path: Path) -> None:
        empty = Snapshot.build(STUDY, stimuli=pl.DataFrame({"stimulus": ["s1"]}))
        empty.write(tmp_path / "x")
        assert load(tmp_path / "x").hash == empty.hash
        assert empty.counts["unrated"] == 1


class TestFolder:
    def test_reads_back_the_same(self, made: Snapshot, tmp_path: Path) -> None:
        made.write(tmp_path / "x")
        again = heartfelt.load(tmp_path / "x")
        assert again.hash == made.hash
        assert again.ratings.equals(made.ratings)
        assert again.study == made.study
        assert again.counts == made.counts

    def test_the_manifest_says_what_is_in_it(self, made: Snapshot, tmp_path: Path) -> None:
        made.write(tmp_path / "x")
        manifest = json.loads((tmp_path / "x" / "manifest.json").read_text())
        assert manifest["hash"] == made.hash
        assert manifest["heartfelt_snapshot"] == 2
        assert manifest["tables"]["ratings"]["rows"] == made.ratings.height
        assert manifest["counts"]["raters"] == 20
        assert manifest["exclusions"] == []

    def test_the_same_content_gives_the_same_bytes(self, made: Snapshot, tmp_path: Path) -> None:
        for name in ("x", "y"):
            made.write(tmp_path / name)
        for path in (tmp_path / "x").iterdir():
            assert path.read_bytes() == (tmp_path / "y" / path.name).read_bytes(), path.name

    def test_it_is_never_written_over(self, made: Snapshot, tmp_path: Path) -> None:
        made.write(tmp_path / "x")
        with pytest.raises(InputError, match="already exists"):
            made.write(tmp_path / "x")

    def test_a_changed_rating_is_noticed(self, made: Snapshot, tmp_path: Path) -> None:
        made.write(tmp_path / "x")
        made.ratings.with_columns(pl.col("value").replace({5.0: 6.0})).write_parquet(
            tmp_path / "x" / "ratings.parquet"
        )
        with pytest.raises(DamagedError, match="its table of ratings is not the one"):
            load(tmp_path / "x")

    def test_a_changed_study_is_noticed(self, made: Snapshot, tmp_path: Path) -> None:
        made.write(tmp_path / "x")
        path = tmp_path / "x" / "study.yaml"
        path.write_text(path.read_text() + "seed: 9\n")
        with pytest.raises(DamagedError, match="its study is not the one"):
            load(tmp_path / "x")

    @pytest.mark.parametrize("name", ["ratings.parquet", "stimuli.parquet", "study.yaml", "manifest.json"])
    def test_a_lost_or_cut_file_is_named(self, made: Snapshot, tmp_path: Path, name: str) -> None:
        made.write(tmp_path / "x")
        path = tmp_path / "x" / name
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises((DamagedError, InputError)):
            load(tmp_path / "x")
        path.unlink()
        with pytest.raises((DamagedError, InputError)):
            load(tmp_path / "x")

    def test_a_newer_layout_is_refused(self, made: Snapshot, tmp_path: Path) -> None:
        made.write(tmp_path / "x")
        path = tmp_path / "x" / "manifest.json"
        path.write_text(path.read_text().replace('"heartfelt_snapshot": 2', '"heartfelt_snapshot": 3'))
        with pytest.raises(InputError, match="layout 2"):
            load(tmp_path / "x")

    def test_no_snapshot_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds no snapshot"):
            load(tmp_path)


def test_pandas_for_those_who_want_it(made: Snapshot) -> None:
    pytest.importorskip("pandas")
    assert made.ratings.to_pandas().shape == made.ratings.shape


def test_every_pair_is_an_item_unless_listed(made: Snapshot) -> None:
    assert made.items.height == made.stimuli.height * 2
    listed = Snapshot.build(
        STUDY,
        stimuli=made.stimuli,
        items=pl.DataFrame(
            {"stimulus": [made.stimuli["stimulus"][0]], "question": ["valence"], "why": ["x"]}
        ),
    )
    assert listed.items.to_dicts() == [
        {"stimulus": made.stimuli["stimulus"][0], "question": "valence", "why": "x"}
    ]
