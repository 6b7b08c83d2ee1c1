"""Simulated raters through the front door: what the server said it kept is what the snapshot holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.collect import Collection
from heartfelt.collect.simulation import Visit
from heartfelt.formats.study_folder.drafts import write_drafts
from heartfelt.simulate import RaterMix, StrengthOptions, VerifierMix
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import pairs
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study
from heartfelt.web.security.signing import load_keys
from heartfelt.web.serving.rehearsal import RehearsalOptions, rehearse
from tests.web.rater.test_sets import write

TRIALS, PEOPLE = 10, 6
STARTER = StarterOptions(design={"ratings_per_item": 8, "stimuli_per_rater": TRIALS}, seed=3)
REHEARSAL = RehearsalOptions(raters=PEOPLE, mix=RaterMix(shares={"colluder": 0.34}, hazard=0.0), at_once=3, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rehearsal") / "study"


@pytest.fixture(scope="module")
def rehearsed(folder: Path) -> tuple[list[Visit], Snapshot]:
    start_study("aimoclips", folder, STARTER)
    return rehearse(folder, REHEARSAL)


def test_everybody_comes_to_the_end_and_every_answer_is_there(rehearsed: tuple[list[Visit], Snapshot]) -> None:
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
    alike = [float(np.mean(sequences[a] == sequences[b])) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert sum(share > 0.6 for share in alike) >= 2, sorted(alike)[-4:]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_snapshot(rehearsed: tuple[list[Visit], Snapshot], tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_grades_of_sets_are_rehearsed(tmp_path: Path) -> None:
    """Raters grade every member of a MUSHRA set, who always answers the same included."""
    folder = write(tmp_path / "grades", "grade", {"type": "mushra", "reference": "Quillbox"})
    mix = RaterMix(shares={"straightline": 0.34})
    visits, snapshot = rehearse(folder, RehearsalOptions(raters=3, mix=mix, at_once=1, seed=2))
    assert {visit.ending for visit in visits} == {"complete"}
    assert snapshot.ratings.height == 3 * 2 * 3


def test_drafts_are_verified(tmp_path: Path) -> None:
    """A study with drafts is answered through its pages; who accepts everything accepts what is planted, others do not."""
    folder = tmp_path / "study"
    starter = StarterOptions(per_cell=1, design={"ratings_per_item": 4, "practice": 0}, seed=3)
    made = start_study("aigiemo", folder, starter)
    design = (folder / "study.yaml").read_text()
    own = "stimuli_per_rater: 12\n  planted_drafts: 0.3"
    (folder / "study.yaml").write_text(design.replace("batch: 40", own))
    names = made.stimuli["stimulus"].to_list()
    words = ["oil painting", "linocut", "neon drawing", "paper collage"]
    drafts = [(name, "style", words[place % 4], "tagger") for place, name in enumerate(names)]
    drafts += [(name, "brightness", f"{place % 11 / 10}", "pixels") for place, name in enumerate(names)]
    schema = ["stimulus", "question", "value", "source"]
    write_drafts(folder, pl.DataFrame(drafts, schema=schema, orient="row"))
    mix = VerifierMix(shares={"rubber-stamper": 0.4}, accuracy=1.0)
    intended = {"valence": {"sadness": 0.02, "amusement": 0.98}}
    options = RehearsalOptions(raters=5, verifying=mix, intended=intended, at_once=1, seed=2)
    visits, snapshot = rehearse(folder, options)
    assert {visit.answers for visit in visits} == {12}
    fields = snapshot.fields
    assert fields.height == 5 * 12 * 2
    assert set(fields.filter(shown="hidden")["verdict"].unique()) == {None}
    assert fields.filter(shown="true")["seconds"].median() < fields.filter(shown="hidden")["seconds"].median()  # type: ignore[operator]  # numbers
    assert fields.filter(verdict="accepted")["keystrokes"].unique().to_list() == [1]
    planted = fields.filter(shown="planted").with_columns(accepted=pl.col("verdict") == "accepted")
    by_rater = planted.group_by("verified_by").agg(pl.mean("accepted"), pl.len())
    assert by_rater["len"].min() >= 3  # type: ignore[operator]  # a number
    assert sorted(by_rater["accepted"] == 1.0) == [False] * 3 + [True] * 2
    numbers = planted.filter(field="brightness").join(
        pl.DataFrame(drafts, schema=schema, orient="row").filter(pl.col("question") == "brightness"), on="stimulus"
    )
    apart = (numbers["machine"].cast(pl.Float64) - numbers["value"].cast(pl.Float64)).abs()
    assert apart.min() > 0.19, "a planted number is clearly wrong"  # type: ignore[operator]  # a number
    felt = snapshot.ratings.join(snapshot.stimuli, on="stimulus").filter(question="valence")
    means = dict(felt.group_by("intent").agg(pl.mean("value")).iter_rows())
    assert means["sadness"] < means["amusement"]
