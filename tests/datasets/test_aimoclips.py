"""AImoclips: the real files, byte for byte, and what happens when they are not quite right."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import heartfelt
from heartfelt.datasets.aimoclips.reader import CLIPS, INTENTS, RATINGS
from heartfelt.errors import InputError
from heartfelt.formats import FORMATS


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return FORMATS["aimoclips"].example(tmp_path)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


class TestRealData:
    @pytest.mark.slow
    def test_counts(self, shared_data: Path) -> None:
        snapshot = heartfelt.read(shared_data / "aimoclips")
        counts = snapshot.counts
        assert (counts["rated"], counts["unrated"], counts["raters"], counts["systems"], counts["intents"]) == (
            991,
            17,
            111,
            6,
            12,
        )
        assert {name: facts.ratings for name, facts in snapshot.survey.questions.items()} == {
            "valence": 6162,
            "arousal": 6162,
        }
        per_clip = (
            snapshot.ratings.filter(pl.col("question") == "valence")
            .group_by("stimulus")
            .len()["len"]
            .value_counts()
            .sort("len")
            .rows()
        )
        assert per_clip == [(4, 67), (5, 205), (6, 315), (7, 270), (8, 117), (9, 17)]
        assert snapshot.ledger.height == 17

    def test_the_clip_means_are_those_of_the_ratings(self, shared_data: Path) -> None:
        snapshot = heartfelt.read(shared_data / "aimoclips")
        for question in ("valence", "arousal"):
            means = snapshot.ratings.filter(pl.col("question") == question).group_by("stimulus").agg(pl.mean("value"))
            both = snapshot.stimuli.join(means, on="stimulus")
            assert float((both[f"mean_{question}"] - both["value"]).abs().max() or 0.0) <= 0.00051  # type: ignore[arg-type]  # a column of numbers

    def test_written_byte_for_byte(self, shared_data: Path, tmp_path: Path) -> None:
        heartfelt.read(shared_data / "aimoclips").write(tmp_path / "snapshot")
        heartfelt.export(heartfelt.load(tmp_path / "snapshot"), "aimoclips", tmp_path / "out")
        for name in (CLIPS, RATINGS, INTENTS):
            assert (tmp_path / "out" / name).read_bytes() == (shared_data / "aimoclips" / name).read_bytes()

    @pytest.mark.slow
    def test_media_are_found_under_another_ending(self, shared_data: Path) -> None:
        stimuli = heartfelt.read(shared_data / "aimoclips").stimuli
        assert stimuli["found"].sum() == 792
        mustango = stimuli.filter((pl.col("system") == "Mustango") & pl.col("found"))
        assert mustango["duration"].mean() == pytest.approx(10.24, abs=0.01)


class TestExample:
    def test_written_byte_for_byte(self, source: Path, tmp_path: Path) -> None:
        heartfelt.export(heartfelt.read(source), "aimoclips", tmp_path / "out")
        for name in (CLIPS, RATINGS, INTENTS):
            assert (tmp_path / "out" / name).read_bytes() == (source / name).read_bytes()

    def test_a_clip_nobody_published_is_in_the_ledger(self, source: Path) -> None:
        snapshot = heartfelt.read(source)
        assert snapshot.ledger["stimulus"].to_list() == ["Two_sad_3_crop.wav"]
        assert snapshot.counts["unrated"] == 1

    def test_row_order_within_a_rater_is_presentation_order(self, source: Path) -> None:
        ratings = heartfelt.read(source).ratings.filter((pl.col("rater") == "P2") & (pl.col("question") == "valence"))
        assert ratings["position"].to_list() == list(range(1, 12))

    def test_columns_nobody_asked_for_are_kept(self, source: Path, tmp_path: Path) -> None:
        frame = pl.read_csv(source / RATINGS).with_columns(pl.lit("phone").alias("device"))
        frame.write_csv(source / RATINGS)
        snapshot = heartfelt.read(source)
        assert snapshot.ratings["device"].unique().to_list() == ["phone"]
        heartfelt.export(snapshot, "aimoclips", tmp_path / "out")
        assert (tmp_path / "out" / RATINGS).read_bytes() == (source / RATINGS).read_bytes()

    def test_another_study_can_be_written_in_this_format(self, tmp_path: Path) -> None:
        path = tmp_path / "r.csv"
        path.write_text("rater,stimulus,system,intent,valence,arousal\nu,a,S,happy,3,4\nw,a,S,happy,4,4\n")
        snapshot = heartfelt.read(path, "long", value="valence,arousal")
        heartfelt.export(snapshot, "aimoclips", tmp_path / "out")
        assert (
            (tmp_path / "out" / CLIPS).read_text()
            == "index,audio_file,model,emotion,file_index,valence,arousal,num_annotators\n1,a,S,happy,1,3.5,4.0,2\n"
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "old", "new", "problem"),
        [
            (RATINGS, "user,", "usr,", "has no column 'user'"),
            (CLIPS, "file_index", "fileindex", "has no column 'file_index'"),
            (RATINGS, "P1,One_happy_1_crop.wav,3", "P1,One_happy_1_crop.wav,12", "the first is 12 by rater 'P1'"),
            (RATINGS, "P1,One_happy_1_crop.wav,3", "P1,One_happy_1_crop.wav,x", "'x' is not a number"),
            (RATINGS, "P1,One_happy_2", "P1,One_happy_1", "is there more than once"),
            (RATINGS, "P1,One_happy_2_crop.wav", "P1,One_hapy_2_crop.wav", f"of clips that {CLIPS} does not list"),
            (CLIPS, ",4\n", ",5\n", "has 4 ratings of"),
            (INTENTS, "gt_arousal", "arousal", "has no column 'gt_arousal'"),
            (INTENTS, "sad", "happy", "emotion 'happy' is there more than once"),
        ],
    )
    def test_mistakes_are_named(self, source: Path, name: str, old: str, new: str, problem: str) -> None:
        edit(source / name, old, new)
        with pytest.raises(InputError) as caught:
            heartfelt.read(source, "aimoclips")
        assert problem in caught.value.problem

    def test_a_file_cut_off_between_two_lines_is_noticed(self, source: Path) -> None:
        lines = (source / RATINGS).read_text().splitlines(keepends=True)
        (source / RATINGS).write_text("".join(lines[:-3]))
        with pytest.raises(InputError, match="seems incomplete"):
            heartfelt.read(source, "aimoclips")

    def test_a_missing_file_is_named(self, source: Path) -> None:
        (source / INTENTS).unlink()
        with pytest.raises(InputError, match=f"has no {INTENTS}"):
            heartfelt.read(source, "aimoclips")
