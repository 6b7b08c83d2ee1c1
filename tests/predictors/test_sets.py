"""Sets of stimuli as predictors meet them: cases, baselines, and a whole bench."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile

from heartfelt.labels import freeze
from heartfelt.predictors import Ask, Case, Prediction, RunOptions, cases, predictor_from, run
from heartfelt.predictors.answers.sets import answers_of, sets_of, win_shares
from heartfelt.predictors.execution.store import StoredPrediction, predictions_table
from heartfelt.predictors.trained.embeddings import Features, MusicnnEmbedding
from heartfelt.predictors.trained.heads.head import Head, QuestionHead
from heartfelt.predictors.trained.model import TrainedModel
from heartfelt.predictors.trained.predictor import TrainedPredictor, answer_of, doubt_of
from heartfelt.scoring import ScoreOptions, score
from heartfelt.scoring.bench import bench
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from heartfelt.study.scales.scale import Numeric
from heartfelt.study.scales.set_scale import Choice, Trace
from tests.facts import mentions
from tests.predictors.runs import Scripted
from tests.scoring.compared import arena, rankings
from tests.scoring.made import predictions


def with_media(folder: Path, prompts: int = 2) -> Snapshot:
    """An arena whose clips last as long as their system is strong."""
    snapshot, _ = arena(prompts=prompts, raters=4)
    media = folder / "media"
    media.mkdir(parents=True)
    for name in snapshot.stimuli["stimulus"]:
        seconds = {"A": 0.3, "B": 0.2, "C": 0.1}[name[0]]
        soundfile.write(media / f"{name}.wav", 0.1 * np.sin(np.arange(int(8000 * seconds))), 8000)
    stimuli = snapshot.stimuli.with_columns((pl.col("stimulus") + ".wav").alias("path"))
    source = Source(format="simulation", name="arena", media_root=media)
    return Snapshot.build(snapshot.study, stimuli=stimuli, ratings=snapshot.ratings, source=source)


def test_a_predictor_that_compares_gets_a_case_for_every_set() -> None:
    snapshot, _ = arena(prompts=2)
    together = cases(snapshot, compares=True)
    assert [case.stimulus for case in together] == [
        "A00|B00", "A00|C00", "B00|C00", "A01|B01", "A01|C01", "B01|C01",
    ]  # fmt: skip
    first = together[0]
    assert [member.stimulus for member in first.members] == ["A00", "B00"]
    assert [member.system for member in first.members] == ["A", "B"]
    assert (first.prompt, first.facts["set"]) == ("p00", "0-AB")
    assert isinstance(first.asks[0].scale, Choice)
    assert first.asks[0].names == ("better", "arousal")


@pytest.mark.slow
def test_any_other_gets_a_case_for_every_stimulus_and_is_asked_for_a_number() -> None:
    snapshot, truth = arena(prompts=2)
    alone = cases(snapshot)
    assert [case.stimulus for case in alone] == list(truth)
    assert all(isinstance(case.asks[0].scale, Numeric) for case in alone)
    assert alone[0].asks[0].about["axis"] == "arousal"


def test_only_sets_that_hold_a_pair_that_is_wanted_are_asked() -> None:
    snapshot, _ = rankings(prompts=3)
    items = pl.DataFrame({"stimulus": ["A01|C01"], "question": ["better"]})
    (case,) = cases(snapshot, items=items, compares=True)
    assert case.stimulus == "A01|B01|C01|D01"
    assert [case.stimulus for case in cases(snapshot, items=items)] == ["A01", "B01", "C01", "D01"]
    assert len(cases(snapshot, limit=2, compares=True)) == 2


def test_a_benchmark_gives_the_pairs_of_its_sets() -> None:
    snapshot, _ = rankings(prompts=2)
    frozen = freeze(snapshot)
    assert sets_of(frozen, ["better"]).height == 12
    assert sets_of(snapshot, ["better"]).height == 2
    assert answers_of(frozen, ["better"])["value"].sum() == answers_of(snapshot, ["better"])["value"].sum()


def test_how_often_a_stimulus_was_chosen() -> None:
    snapshot, _ = arena(prompts=1, raters=3)
    answers = answers_of(snapshot, ["better"])
    shares = dict(win_shares(snapshot, ["better"]).select("stimulus", "value").iter_rows())
    mine = [
        v if a == "A00" else 1 - v
        for a, b, v in answers.select("first", "second", "value").iter_rows()
        if "A00" in (a, b)
    ]
    assert shares["A00"] == pytest.approx(np.mean(mine))
    assert sum(shares.values()) == pytest.approx(1.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prediction", "problem"),
    [
        (Prediction(members={"A00": 1.0}), "the predictor gave no value for 'B00'"),
        (Prediction(members={"A00": 1.0, "Z": 0.0}), "the predictor names 'Z', which is not in this set"),
        (Prediction(shares={"A00": 0.9, "B00": 0.4}), "the predictor's probabilities add up to 1.3"),
        (Prediction(shares={"A00": float("nan"), "B00": 0.4}), "the predictor's share of 'A00' is nan"),
        (Prediction(), "the predictor gave no answer"),
    ],
)
def test_predictions_that_do_not_fit_the_set_are_problems(prediction: Prediction, problem: str) -> None:
    snapshot, _ = arena(prompts=1)
    asked = cases(snapshot, compares=True)[:1]
    done = run(Scripted(lambda case, _: [prediction] * len(case.asks)), asked)
    assert done.table["problem"].to_list() == [problem]


def test_a_prediction_about_a_set_survives_the_journal(tmp_path: Path) -> None:
    snapshot, _ = arena(prompts=1)
    asked = cases(snapshot, compares=True)
    made = Prediction(members={}, orders=(1.0, 0.5))

    def say(case: Case, _: int) -> list[Prediction]:
        names = [member.stimulus for member in case.members]
        return [Prediction(members={names[0]: 1.0, names[1]: 0.0}, orders=made.orders)]

    first = run(Scripted(say), asked, tmp_path / "run")
    again = run(Scripted(lambda *_: []), asked, tmp_path / "run")
    assert again.counts["kept"] == 3
    assert again.table.drop("seconds").equals(first.table.drop("seconds"))
    assert json.loads(first.table["members"][0]) == {"A00": 1.0, "B00": 0.0}
    assert json.loads(first.table["orders"][0]) == [1.0, 0.5]


def test_ordinary_predictions_have_no_further_columns() -> None:
    table = predictions_table("m", [("s", "q", StoredPrediction(Prediction(value=1.0)))])
    assert not {"members", "orders", "samples", "rate", "start"} & set(table.columns)


@pytest.mark.slow
def test_a_missing_member_is_that_sets_problem(tmp_path: Path) -> None:
    snapshot = with_media(tmp_path)
    (tmp_path / "media" / "A00.wav").unlink()
    with predictor_from("chat:seer@http://127.0.0.1:9/v1") as chat:
        done = run(chat, cases(snapshot, compares=True)[:1], options=RunOptions())
    assert done.table["problem"].to_list() == ["the media file is missing: A00.wav"]
    assert done.table["attempts"].sum() == 0


@pytest.mark.slow
def test_a_bench_of_baselines(tmp_path: Path) -> None:
    snapshot = with_media(tmp_path, prompts=4)
    models = ["first", "constant", "system-mean", "measure:duration", "human"]
    result = bench(snapshot, models)
    scores = result.scores
    at = {model: scores.find("better", model) for model in models}
    values = {model: None if found is None else found.with_failures.value for model, found in at.items()}
    assert values["constant"] == 0.5
    assert values["measure:duration"] is not None
    answers = answers_of(snapshot, ["better"])
    hits = [v if a[0] < b[0] else 1 - v for a, b, v in answers.select("first", "second", "value").iter_rows()]
    assert values["measure:duration"] == pytest.approx(np.mean(hits))
    assert values["first"] == pytest.approx(float(answers["value"].mean()))  # type: ignore[arg-type]  # a mean of numbers
    human = scores.coverage["human"]["better"]
    assert human.answered > 0
    assert values["human"] == pytest.approx(float(scores.one_rater("better")), abs=0.12)
    ranks = {rank.model: rank for rank in scores.ranked("better")}
    assert mentions(ranks["human"].why_none, "against", "labels")


@pytest.mark.slow
def test_predictions_of_single_stimuli_need_no_pairs() -> None:
    """What ``predictions`` holds about stimuli that are in no pair is ignored."""
    snapshot, truth = arena(prompts=2)
    rows = [{"stimulus": name, "question": "better", "value": v} for name, v in {**truth, "other": 1.0}.items()]
    scores = score(snapshot, predictions("m", rows), ScoreOptions(ceilings=False))
    assert scores.coverage["m"]["better"].answered == 6


def trained(folder: Path) -> TrainedPredictor:
    """A model of arousal that says 5 plus the first feature of a window."""
    size = MusicnnEmbedding().size
    parts = {key: np.zeros(size) for key in ("mean", "weight")} | {key: np.ones(size) for key in ("factor", "reach")}
    parts["weight"][0] = 1.0
    output = QuestionHead(
        question="arousal", head=Head("ridge", 5.0, parts), bounds=(1.0, 9.0), half_width=2.0, confidence=0.9
    )
    return TrainedPredictor(
        TrainedModel(name="example", recipe="va-audio", embedding=MusicnnEmbedding.name, outputs=(output,))
    )


@pytest.mark.slow
def test_a_trained_model_answers_a_comparison_by_its_axis(tmp_path: Path) -> None:
    snapshot = with_media(tmp_path)
    done = run(trained(tmp_path), cases(snapshot)[:2])
    assert done.table["ok"].all()
    assert done.table["note"].str.starts_with("the model's arousal").all()


def test_a_trained_model_follows_a_clip_window_by_window(tmp_path: Path) -> None:
    model = trained(tmp_path).model
    rows = np.zeros((3, MusicnnEmbedding().size), np.float32)
    rows[:, 0] = [-1.0, 0.0, 1.0]
    features = Features(rows, np.array([0.0, 10.0, 20.0]), 30.0)
    ask = Ask(question="arousal", scale=Trace(type="trace", low=-1, high=1), text="How arousing?")
    (output,) = model.outputs
    made = answer_of(ask, output, features, doubt_of(model, features, Path("clip.wav")), None)
    assert made.samples == pytest.approx((-0.25, 0.0, 0.25))
    assert (made.rate, made.start) == (0.1, 5.0)
    # What it was trained on is predicted out of fold, of which there is no course.
    assert answer_of(ask, output, features, doubt_of(model, features, Path("clip.wav")), 5.0).samples is None
