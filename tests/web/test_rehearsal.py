"""Simulated raters through the front door: what the server said it kept is what the snapshot holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.simulation import Visit
from heartfelt.make.starter import StarterOptions, start_study
from heartfelt.simulate import RaterMix, StrengthOptions
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import pairs
from heartfelt.web.rehearsal import RehearsalOptions, rehearse
from heartfelt.web.security.signing import load_keys
from tests.web.rater.test_sets import write

TRIALS, PEOPLE = 10, 6
STARTER = StarterOptions(design={"ratings_per_item": 8, "stimuli_per_rater": TRIALS}, seed=3)
REHEARSAL = RehearsalOptions(
    raters=PEOPLE, mix=RaterMix(shares={"colluder": 0.34}, hazard=0.0), at_once=3, seed=3
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rehearsal") / "study"


@pytest.fixture(scope="module")
def rehearsed(folder: Path) -> tuple[list[Visit], Snapshot]:
    start_study("aimoclips", folder, STARTER)
    return rehearse(folder, REHEARSAL)


def test_everybody_comes_to_the_end_and_every_answer_is_there(
    rehearsed: tuple[list[Visit], Snapshot],
) -> None:
    visits, snapshot = rehearsed
    practice = snapshot.study.design.practice
    assert {visit.ending for visit in visits} == {"complete"}
    assert {visit.answers for visit in visits} == {TRIALS + practice}
    assert snapshot.survey.ratings == PEOPLE * TRIALS * len(snapshot.study.asked)
    assert snapshot.raters.height == PEOPLE


def test_answers_come_with_their_time_and_place(rehearsed: tuple[list[Visit], Snapshot]) -> None:
    _, snapshot = rehearsed
    assert snapshot.ratings["seconds"].min() > 0  # type: ignore[operator]  # polars types it as any literal
    for (_rater, question), rows in snapshot.ratings.group_by("rater", "question"):
        assert sorted(rows["position"]) == list(range(1, TRIALS + 1)), question


def test_colluders_give_what_another_gave_in_order(rehearsed: tuple[list[Visit], Snapshot]) -> None:
    _, snapshot = rehearsed
    sequences = {
        str(rater): rows.sort("position", "question")["value"].to_numpy()
        for (rater,), rows in snapshot.ratings.group_by("rater")
    }
    names = sorted(sequences)
    alike = [
        float(np.mean(sequences[a] == sequences[b])) for i, a in enumerate(names) for b in names[i + 1 :]
    ]
    assert sum(share > 0.6 for share in alike) >= 2, sorted(alike)[-4:]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_snapshot(
    rehearsed: tuple[list[Visit], Snapshot], tmp_path: Path
) -> None:
    start_study("aimoclips", tmp_path / "again", STARTER)
    _, again = rehearse(tmp_path / "again", REHEARSAL)
    _, snapshot = rehearsed
    assert again.table_hashes == snapshot.table_hashes
    assert again.hash == snapshot.hash


@pytest.mark.usefixtures("rehearsed")
def test_whoever_serves_the_study_first_is_still_told_the_password(folder: Path) -> None:
    with Collection.open(folder) as collection:
        assert load_keys(collection).new_password


def test_pairs_and_traces_are_rehearsed(tmp_path: Path) -> None:
    """Raters compare pairs by planted strengths; the stronger system wins, and who always chooses the first is there."""
    folder = write(
        tmp_path / "pairs", "which", {"type": "pair"},
        design={"ratings_per_item": 8, "practice": 0, "listening": "full"},
        probes=[{"type": "attention", "id": "a", "text": "The second.", "question": "hiddenname", "answer": 2}],
    )  # fmt: skip
    options = RehearsalOptions(
        raters=8,
        mix=RaterMix(shares={"straightline": 0.13}),
        strengths=StrengthOptions({"Quillbox": 3.0, "Marrowtone": 0.0, "Vellum": -3.0}, stimulus_sd=0.0),
        seed=2,
    )
    visits, snapshot = rehearse(folder, options)
    assert {visit.ending for visit in visits} == {"complete"}
    table = pairs(snapshot.ratings, "hiddenname", snapshot.stimuli)
    assert table.height == 6 * 8
    assert set(snapshot.raters["attention_right"]) == {1}
    assert "heard_flag" not in snapshot.ratings.columns, "everything was heard"
    best = table.filter((pl.col("first_system") == "Quillbox") & (pl.col("second_system") == "Vellum"))
    assert best["value"].mean() > 0.9  # type: ignore[operator]  # a number
    one_sided = table.group_by("rater").agg(pl.col("value").min())
    assert (one_sided["value"] == 1.0).sum() == 1
    visits, snapshot = rehearse(
        write(tmp_path / "traces", "course", None), RehearsalOptions(raters=5, at_once=1, seed=2)
    )
    assert snapshot.traces.height == 3 * 6
    assert {visit.ending for visit in visits} == {"complete", "turned away"}
