"""Frozen benchmarks: groups stay together, old items stay put, the hash names the content, the folder is whole."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import DamagedError, InputError
from heartfelt.labels.benchmark import BENCHMARK_ITEMS, freeze, load_benchmark
from heartfelt.labels.labelling import LabelOptions, labels
from heartfelt.labels.splits import SplitOptions
from heartfelt.simulate import stimuli as simulated_stimuli
from heartfelt.simulate import study_ratings
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.datasets.emolia_data import emo

STUDY = parse_study(
    "name: t\nscales:\n  nine: {type: points, points: 9}\nquestions:\n"
    "  - {id: valence, text: V, scale: nine}\n  - {id: arousal, text: A, scale: nine}\n"
)


@pytest.fixture(scope="module")
def made() -> Snapshot:
    stimuli = simulated_stimuli(per_cell=2)
    ratings = study_ratings(stimuli, 20, seed=5).ratings
    facts = stimuli.select("stimulus", "system", "intent").with_columns(
        pl.concat_str("intent", pl.lit(" prompt")).alias("prompt")
    )
    return Snapshot.build(STUDY, stimuli=facts, ratings=ratings)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["stimulus", "system", "prompt", "intent"])
def test_no_group_is_in_two_parts(made: Snapshot, by: str) -> None:
    result = freeze(made, split=SplitOptions(by=by, folds=3))
    values = result.items.join(made.stimuli, on="stimulus").group_by(by).agg(pl.col("split").n_unique())
    assert values["split"].max() == 1
    assert result.items["group"].n_unique() == made.stimuli[by].n_unique()
    assert sum(part["items"] for part in result.counts.values()) == result.items.height


def test_items_carry_the_labels(made: Snapshot) -> None:
    result = freeze(made)
    assert result.items.columns == list(BENCHMARK_ITEMS.names)
    table = labels(made).table
    both = result.items.join(table, on=["stimulus", "question"])
    assert both.height == table.height == result.items.height
    assert both["label"].to_list() == pytest.approx(both["value"].to_list(), abs=1e-12)
    assert both["standard_error"].to_list() == pytest.approx(both["standard_error_right"].to_list(), abs=1e-12)
    assert both["n"].equals(both["n_right"], check_names=False)
    assert result.part("test").height == result.counts["test"]["items"]
    with pytest.raises(InputError, match="no part 'tets'"):
        result.part("tets")


@pytest.mark.slow
def test_the_hash_does_not_depend_on_order_but_on_content(made: Snapshot) -> None:
    result = freeze(made)
    shuffled = Snapshot.build(
        STUDY,
        stimuli=made.stimuli.sample(fraction=1, shuffle=True, seed=3),
        ratings=made.ratings.sample(fraction=1, shuffle=True, seed=4),
    )
    assert freeze(shuffled).hash == result.hash
    assert freeze(shuffled, LabelOptions(method="p910")).hash == freeze(made, LabelOptions(method="p910")).hash
    hashes = {
        result.hash,
        freeze(made, split=SplitOptions(seed=1)).hash,
        freeze(made, split=SplitOptions(by="system")).hash,
        freeze(made, labels(made, LabelOptions(method="median"))).hash,
    }
    assert len(hashes) == 4


@pytest.mark.slow
def test_new_stimuli_do_not_move_old_ones(made: Snapshot) -> None:
    half = made.stimuli.filter(pl.int_range(pl.len()) % 2 == 0)
    fewer = Snapshot.build(
        STUDY, stimuli=half, ratings=made.ratings.join(half.select("stimulus"), on="stimulus", how="semi")
    )
    for by in ("stimulus", "system"):
        split = SplitOptions(by=by, seed=9)
        old = freeze(fewer, split=split).items.select("stimulus", "question", "split")
        new = freeze(made, split=split).items.select("stimulus", "question", "split")
        assert old.height < new.height
        assert old.join(new, on=["stimulus", "question", "split"], how="anti").height == 0


@pytest.mark.slow
@given(st.integers(0, 2**31), st.sampled_from([None, 4]))
@settings(deadline=None, max_examples=25)
def test_shares_are_met_over_many_groups(seed: int, folds: int | None) -> None:
    split = SplitOptions(folds=folds, seed=seed)
    n = 2000
    parts = [split.part_of(f"clip_{at}") for at in range(n)]
    for name, share in split.shares.items():
        # Five standard deviations of a binomial share: a failure in 10 million draws.
        assert abs(parts.count(name) / n - share) < 5 * (share * (1 - share) / n) ** 0.5


SOURCE = "printf 'heartfelt-split 1\\x1f0\\x1fstimulus\\x1fclip_1' | sha256sum: the first hexadecimal digits over 16^4"
PINNED = {
    "clip_1": "657d",
    "clip_5": "ca4c",
    "clip_9": "3cd7",
    "clip_10": "de51",
    "clip_11": "4e44",
    "clip_12": "9b8c",
    "clip_13": "cad3",
}


def test_a_part_is_pinned_for_good() -> None:
    """The rule is written down in docs/labels.md; changing it would move every published benchmark."""
    for name, digits in PINNED.items():
        place = int(digits, 16) / 16**4
        part = "train" if place < 0.7 else "dev" if place < 0.85 else "test"
        assert SplitOptions().part_of(name) == part, name


def test_groups_can_be_held_out_by_name(made: Snapshot) -> None:
    name = made.stimuli["system"].unique().sort()[0]
    split = SplitOptions(by="system", shares={"train": 0.999999, "test": 0.000001}, fixed={name: "test"})
    assert freeze(made, split=split).part("test")["group"].unique().to_list() == [name]
    with pytest.raises(InputError, match="No stimulus has 'nobody'"):
        freeze(made, split=SplitOptions(by="system", fixed={"nobody": "test"}))


def test_an_empty_part_and_stimuli_without_a_group_are_noted(made: Snapshot) -> None:
    split = SplitOptions(by="system", shares={"train": 0.9999999, "test": 0.0000001})
    assert any("fell into test" in note for note in freeze(made, split=split).notes)
    gaps = made.stimuli.with_columns(pl.when(pl.int_range(pl.len()) > 2).then("system").alias("system"))
    patchy = Snapshot.build(STUDY, stimuli=gaps, ratings=made.ratings)
    result = freeze(patchy, split=SplitOptions(by="system", folds=2))
    assert "3 stimuli have no system" in " ".join(result.notes)


@pytest.mark.slow
def test_tied_items_are_left_out_and_stand_in_the_ledger(tmp_path: Path) -> None:
    snapshot = emo(tmp_path / "emo")
    result = freeze(snapshot, labels(snapshot, LabelOptions(minimum_ratings=1)))
    assert result.items["stimulus"].sort().to_list() == ["f1.mp3", "f4.mp3", "f5.mp3", "f6.mp3"]
    assert set(result.ledger["stimulus"]) == {"f2.mp3", "f3.mp3", "f7.mp3"}
    assert result.items.filter(pl.col("stimulus") == "f1.mp3")["answer"].to_list() == ["strongly_present"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"shares": {"train": 0.7, "test": 0.2}}, "add up to 0.9"),
        ({"shares": {"train": 1.2, "test": -0.2}}, "above 0"),
        ({"shares": {}}, "add up to 0"),
        ({"folds": 1}, "at least two folds, not 1"),
        ({"fixed": {"a": "tset"}}, "no part 'tset'"),
    ],
)
def test_splits_that_cannot_be(options: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        SplitOptions(**options)  # type: ignore[arg-type]  # the point is to pass what does not fit


def test_what_cannot_be_frozen_says_so(made: Snapshot) -> None:
    with pytest.raises(InputError, match="no column 'speaker'"):
        freeze(made, split=SplitOptions(by="speaker"))
    bare = Snapshot.build(STUDY, stimuli=made.stimuli)
    with pytest.raises(InputError, match="nothing to freeze"):
        freeze(bare)


class TestFolder:
    def test_it_comes_back_as_it_was(self, made: Snapshot, tmp_path: Path) -> None:
        result = freeze(made, split=SplitOptions(by="system", folds=3, seed=2, fixed={}))
        back = load_benchmark(result.write(tmp_path / "bench"))
        assert back.hash == result.hash
        assert back.items.equals(result.items)
        assert back.split == result.split
        assert back.notes == result.notes
        assert back.snapshot_hash == made.hash
        answer = json.loads((tmp_path / "bench" / "manifest.json").read_text())
        assert answer["counts"] == result.counts
        with pytest.raises(InputError, match="already exists"):
            result.write(tmp_path / "bench")

    def test_a_changed_label_is_found_out(self, made: Snapshot, tmp_path: Path) -> None:
        folder = freeze(made).write(tmp_path / "bench")
        path = folder / "items.parquet"
        pl.read_parquet(path).with_columns(pl.col("label") + 0.01).write_parquet(path)
        with pytest.raises(DamagedError, match="table of items"):
            load_benchmark(folder)

    def test_a_changed_seed_is_found_out(self, made: Snapshot, tmp_path: Path) -> None:
        folder = freeze(made).write(tmp_path / "bench")
        answer = json.loads((folder / "manifest.json").read_text())
        answer["split"]["seed"] = 5
        (folder / "manifest.json").write_text(json.dumps(answer))
        with pytest.raises(DamagedError, match="study or its split"):
            load_benchmark(folder)

    @pytest.mark.slow
    @pytest.mark.parametrize("lost", ["items.parquet", "stimuli.parquet", "ledger.parquet", "study.yaml"])
    def test_a_lost_file_is_named(self, made: Snapshot, tmp_path: Path, lost: str) -> None:
        folder = freeze(made).write(tmp_path / "bench")
        (folder / lost).unlink()
        with pytest.raises(DamagedError, match=lost.split(".")[0]):
            load_benchmark(folder)

    def test_a_folder_that_is_no_benchmark(self, made: Snapshot, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is not a benchmark"):
            load_benchmark(tmp_path)
        made.write(tmp_path / "snapshot")
        with pytest.raises(InputError, match="does not describe a benchmark"):
            load_benchmark(tmp_path / "snapshot")
        folder = freeze(made).write(tmp_path / "bench")
        (folder / "manifest.json").write_text("{")
        with pytest.raises(DamagedError, match="cannot be read"):
            load_benchmark(folder)
