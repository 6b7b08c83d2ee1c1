"""The waist: checked on entry, frozen, hashed whatever the order, whole on disk or absent."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heartfelt
from heartfelt.errors import DamagedError, InputError
from heartfelt.media.probe import AT_HAND
from heartfelt.simulate import stimuli as simulated_stimuli
from heartfelt.simulate import study_ratings
from heartfelt.snapshot import Snapshot, load
from heartfelt.snapshot.fingerprint import table_hash, text_bits
from heartfelt.snapshot.snapshot import spool
from heartfelt.study import Study, parse_study
from tests.cases import check_all

STUDY = parse_study(
    "name: t\nscales:\n  nine: {type: points, points: 9}\nquestions:\n"
    "  - {id: valence, text: V, scale: nine}\n  - {id: arousal, text: A, scale: nine}\n"
)


def build(ratings: pl.DataFrame | pl.LazyFrame, study: Study = STUDY, stimuli: pl.DataFrame | None = None) -> Snapshot:
    lazy = ratings.lazy()
    if stimuli is None:
        stimuli = lazy.select(pl.col("stimulus").cast(pl.String)).unique().sort("stimulus").collect().drop_nulls()
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
    @pytest.mark.slow
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
        assert build(plain()).survey.hash != build(plain(value=[9.0, 1.0, 5.0])).survey.hash

    def test_a_column_without_values_says_nothing(self) -> None:
        assert build(plain(seconds=[None, None, None])).hash == build(plain()).hash

    def test_the_number_of_rows_counts(self) -> None:
        votes = plain(rater=[None, None, None])
        assert build(votes).survey.hash != build(pl.concat([votes, votes])).survey.hash

    def test_it_is_the_same_through_a_file_and_in_memory(self, made: Snapshot) -> None:
        assert spool(made.ratings.lazy(), "x").survey == made.survey

    def test_it_is_what_it_was(self) -> None:
        """A change here means published hashes no longer match: raise the schema version with it."""
        frame = pl.DataFrame({"a": ["x", None, "é"], "b": [1.5, -0.0, None], "c": [1, 2, 3], "d": [True, False, None]})
        assert table_hash("t", frame) == "56d1aed0572a607099a496e3a84cb7f83539137aa2be452a7188ea26876b81d4"

    def test_text_of_any_length_and_all_types_are_hashed_as_before(self) -> None:
        moment = datetime(2026, 1, 5, 10, 0, 0, 250, tzinfo=UTC)
        long = [
            "far longer than twelve bytes ✓",
            "x",
            "",
            None,
            "thirteen byte",
            "sixteen bytes ok",
            "seventeen bytes o",
        ]
        frame = pl.DataFrame(
            {
                "short": ["", "a", "12345678", "123456789", "twelve bytes", None, "é✓"],
                "long": long,
                "when": [moment] * 3 + [None] + [datetime(1969, 1, 1, tzinfo=UTC)] * 3,
                "naive": [datetime(2026, 1, 5)] * 7,
                "day": [date(2026, 1, 5)] * 7,
                "list": [[1, 2], [3], None, [], [4], [5], [6]],
                "cat": pl.Series(["a", "b", None, "a", "b", "a", "c"], dtype=pl.Categorical),
                "i": [1, -2, 3, None, 5, 2**40, 7],
                "f": [0.1, -0.0, float("nan"), 1e300, None, 3.0, 4.5],
                "b": [True, False, None, True, True, False, False],
                "none": [None] * 7,
            }
        )
        assert table_hash("t", frame) == "f71e0b03ad1b26f3e5583fdef59fe739a08d1c9209f66dedd8d79dc996dc211c"
        ratings = pl.DataFrame(
            {
                "rater": ["a", "b", None, "rater with a long name"],
                "stimulus": ["s1", "s2", "s1", "s1"],
                "question": ["q", "q", "p", "q"],
                "value": [1.0, 2.5, None, 4.0],
                "position": [1, 2, 3, 4],
                "note": ["far longer than twelve bytes", "x", None, ""],
            }
        )
        expected = "5280f193a5b83987f341e4cf5f69ede29e4a512b1aa352023478be9dc67e7fb2"
        assert spool(ratings, "x").survey.hash == spool(ratings.lazy(), "x").survey.hash == expected

    def test_a_short_text_has_the_same_bits_next_to_a_long_one(self) -> None:
        short = ["", "a", "12345678", "123456789", "twelve bytes"]
        alone = text_bits(pl.Series(short)).tolist()
        assert text_bits(pl.Series([*short, "far longer than twelve bytes"])).tolist()[:-1] == alone
        assert text_bits(pl.Series(["x", *short])[1:]).tolist() == alone

    def test_minus_zero_is_zero_and_a_number_is_a_number(self) -> None:
        assert table_hash("t", pl.DataFrame({"a": [0.0, 2.0]})) == table_hash("t", pl.DataFrame({"a": [-0.0, 2.0]}))
        assert table_hash("t", pl.DataFrame({"a": [1, 2]})) == table_hash("t", pl.DataFrame({"a": [1.0, 2.0]}))
        assert table_hash("t", pl.DataFrame({"a": ["1", "2"]})) != table_hash("t", pl.DataFrame({"a": [1.0, 2.0]}))

    @pytest.mark.slow
    @given(st.lists(st.text(max_size=4), min_size=2, max_size=6, unique=True))
    @settings(deadline=None, max_examples=60)
    def test_different_texts_have_different_bits(self, texts: list[str]) -> None:
        assert len(set(text_bits(pl.Series(texts)).tolist())) == len(texts)

    def test_media_at_hand_are_no_part_of_it(self, made: Snapshot) -> None:
        probed = made.stimuli.with_columns(
            pl.lit(True).alias("found"), pl.lit(9.5).alias("duration"), pl.lit("x.wav").alias("path")
        )
        assert Snapshot.build(STUDY, stimuli=probed, ratings=made.ratings).hash == made.hash

    def test_when_stimuli_were_made_does_not_change_it(self, made: Snapshot, tmp_path: Path) -> None:
        earlier, later = (
            Snapshot.build(STUDY, stimuli=made.stimuli.with_columns(made_at=pl.lit(moment)), ratings=made.ratings)
            for moment in ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
        )
        assert earlier.hash == later.hash == made.hash
        earlier.write(tmp_path / "x")
        assert load(tmp_path / "x").stimuli["made_at"].unique().to_list() == ["2026-01-01T00:00:00Z"]

    def test_snapshots_whose_hash_counted_when_stimuli_were_made_are_read(self, made: Snapshot, tmp_path: Path) -> None:
        snapshot = Snapshot.build(
            STUDY, stimuli=made.stimuli.with_columns(made_at=pl.lit("2026-01-01")), ratings=made.ratings
        )
        snapshot.write(tmp_path / "x")
        path = tmp_path / "x" / "manifest.json"
        manifest = json.loads(path.read_text())
        stimuli = snapshot.table("stimuli").drop(AT_HAND, strict=False)
        manifest["tables"]["stimuli"]["hash"] = table_hash("stimuli", stimuli)
        hashes = {name: entry["hash"] for name, entry in manifest["tables"].items()}
        manifest["hash"] = snapshot.hash_of(hashes)
        path.write_text(json.dumps(manifest))
        assert load(tmp_path / "x").hash == snapshot.hash
        manifest["hash"] = "0" * 64
        path.write_text(json.dumps(manifest))
        with pytest.raises(DamagedError):
            load(tmp_path / "x")


class TestChecks:
    @pytest.mark.slow
    @check_all(
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
    @check_all("lazily", [False, True])
    def test_bad_ratings_are_named(self, frame: pl.DataFrame, problem: str, lazily: bool) -> None:
        with pytest.raises(InputError) as caught:
            build(frame.lazy() if lazily else frame)
        assert problem in caught.value.problem

    def test_a_rated_stimulus_must_be_listed(self) -> None:
        with pytest.raises(InputError, match=r"1 rated.*'s2'"):
            build(plain(), stimuli=pl.DataFrame({"stimulus": ["s1"]}))

    def test_raters_seen_only_in_ratings_are_added(self) -> None:
        snapshot = Snapshot.build(
            STUDY,
            stimuli=pl.DataFrame({"stimulus": ["s1", "s2"]}),
            ratings=plain(),
            raters=pl.DataFrame({"rater": ["b"], "age": [30]}),
        )
        assert snapshot.raters.sort("rater").to_dicts() == [{"rater": "a", "age": None}, {"rater": "b", "age": 30}]

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
        made.ratings.with_columns(pl.col("value").replace({5.0: 6.0})).write_parquet(tmp_path / "x" / "ratings.parquet")
        with pytest.raises(DamagedError, match=r"table.*ratings"):
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
        items=pl.DataFrame({"stimulus": [made.stimuli["stimulus"][0]], "question": ["valence"], "why": ["x"]}),
    )
    assert listed.items.to_dicts() == [{"stimulus": made.stimuli["stimulus"][0], "question": "valence", "why": "x"}]


def test_the_hash_of_no_ratings_is_the_one_older_snapshots_were_stored_under() -> None:
    means = pl.DataFrame({"stimulus": ["a", "b"], "valence_mean": ["1.5", "2"]})
    hashes = heartfelt.read(means, "means").table_hashes
    assert hashes["ratings"] == "5f6e31f9fc38cdc9e6989270123ad359ddae8abc01ad5b5aed4e50f623a20d5c"
