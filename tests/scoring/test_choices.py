"""Predicted choices against people's: every number by hand, and what happens where there is little to score."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.labels import SplitOptions, freeze
from heartfelt.predictors.answers.sets import answers_of, set_name, win_shares
from heartfelt.scoring import ItemSelection, ScoreOptions, Scores, score, truth_of
from heartfelt.scoring.results.details import ChoiceDetails
from heartfelt.serialization import from_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats.comparison.predicted.recalibration import ChoiceCalibration
from tests.facts import mentions
from tests.scoring.compared import arena, rankings
from tests.scoring.made import as_json, predictions

QUICK = ScoreOptions(ceilings=False)


@cache
def data() -> tuple[Snapshot, dict[str, float]]:
    return arena()


def scalar(truth: dict[str, float], model: str = "scalar", without: str = "") -> pl.DataFrame:
    rows = [{"stimulus": s, "question": "better", "value": v} for s, v in truth.items() if s != without]
    return predictions(model, rows)


def probable(snapshot: Snapshot, truth: dict[str, float], tie: float = 0.15) -> pl.DataFrame:
    rows = []
    for one, other in truth_of(snapshot).pairs.items.select("one", "other").iter_rows():
        p = (1 - tie) / (1 + math.exp(truth[other] - truth[one]))
        shares = {one: p, other: 1 - tie - p} | ({"tie": tie} if tie else {})
        rows.append({"stimulus": set_name((one, other)), "question": "better", "shares": json.dumps(shares)})
    return predictions("probable", rows)


def by_hand(snapshot: Snapshot, truth: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    answers = answers_of(snapshot, ["better"])
    lead = np.array([truth[a] - truth[b] for a, b in answers.select("first", "second").iter_rows()])
    return lead, answers["value"].to_numpy()


def value(scores: Scores, metric: str, model: str, part: str = "with_failures") -> float:
    found = scores.find("better", model, metric)
    assert found is not None
    return float(getattr(found, part))


@pytest.mark.slow
def test_a_number_per_stimulus_decides_pairs_by_the_sign_of_the_difference() -> None:
    snapshot, truth = data()
    scores = score(snapshot, scalar(truth), QUICK)
    lead, v = by_hand(snapshot, truth)
    right = np.where(lead > 0, v, 1 - v)
    assert value(scores, "choice_accuracy", "scalar") == pytest.approx(right.mean())
    assert value(scores, "decided_accuracy", "scalar") == pytest.approx(right[v != 0.5].mean())
    found = scores.find("better", "scalar")
    assert found is not None
    assert found.with_failures.counts["comparisons"] == len(v)
    assert found.with_failures.low is not None
    assert found.p_chance.value is not None
    assert found.p_chance.value < 0.01
    assert found.chance.value == 0.5
    assert "raters" in found.with_failures.interval
    loss = scores.find("better", "scalar", "log_loss")
    assert loss is not None
    assert mentions(loss.with_failures.why_missing, "model", "probabilities")
    details = scores.details["better"].models["scalar"]
    assert isinstance(details, ChoiceDetails)
    assert details.always_first.value == pytest.approx(v.mean())
    assert details.position_bias is None


@pytest.mark.slow
def test_log_loss_and_brier_are_those_of_the_probabilities() -> None:
    snapshot, truth = data()
    scores = score(snapshot, probable(snapshot, truth), QUICK)
    lead, v = by_hand(snapshot, truth)
    first = 0.85 / (1 + np.exp(-lead))
    m = first + 0.075
    assert value(scores, "log_loss", "probable") == pytest.approx(np.mean(-v * np.log(m) - (1 - v) * np.log(1 - m)))
    assert value(scores, "choice_brier", "probable") == pytest.approx(np.mean((m - v) ** 2))
    happened = np.where(v == 1, first, np.where(v == 0, 0.85 - first, 0.15))
    assert value(scores, "outcome_log_loss", "probable") == pytest.approx(np.mean(-np.log(happened)))
    tie = np.mean(v == 0.5)
    entropy = -(tie * math.log(tie) + (1 - tie) * math.log((1 - tie) / 2))
    assert value(scores, "outcome_log_loss", "probable", "chance") == pytest.approx(entropy)
    details = scores.details["better"].models["probable"]
    assert isinstance(details, ChoiceDetails)
    calibrated = details.choice_calibration
    assert isinstance(calibrated, ChoiceCalibration)
    assert calibrated.slope.low is not None
    assert calibrated.slope.high is not None
    assert calibrated.slope.low < 1 < calibrated.slope.high
    assert from_json(Scores, as_json(scores)).details["better"].models["probable"] == details


@pytest.mark.slow
def test_the_order_of_names_does_not_matter() -> None:
    """Pairs are named by their stimuli in the order of names; raters met them in either order."""
    snapshot, truth = data()
    table = probable(snapshot, truth, 0.0)
    turned = table.with_columns(
        pl.Series("shares", [json.dumps(dict(reversed(json.loads(text).items()))) for text in table["shares"]])
    )
    one, other = (score(snapshot, each, QUICK) for each in (table, turned))
    assert [each.with_failures.value for each in one.scores] == [each.with_failures.value for each in other.scores]


def test_a_failed_prediction_counts_as_the_choice_of_the_minority() -> None:
    snapshot, truth = data()
    scores = score(snapshot, scalar(truth, without="A03"), QUICK)
    answers = answers_of(snapshot, ["better"])
    total, known = 0.0, []
    for (pair,), part in answers.group_by("pair", maintain_order=True):
        one, other = str(pair).split("|")
        v = part.select(pl.when(pl.col("first") == one).then("value").otherwise(1 - pl.col("value"))).to_series()
        if "A03" in (one, other):
            total += min(float(v.sum()), float((1 - v).sum()))
        else:
            right = v if truth[one] > truth[other] else 1 - v
            known += right.to_list()
    full = (total + sum(known)) / answers.height
    assert value(scores, "choice_accuracy", "scalar") == pytest.approx(full)
    assert value(scores, "choice_accuracy", "scalar", "estimate") == pytest.approx(np.mean(known))
    coverage = scores.coverage["scalar"]["better"]
    assert (coverage.items, coverage.answered) == (36, 34)
    assert coverage.problems == {"A03: no prediction was given": 2}


def test_a_prediction_that_is_not_a_number_is_a_failure() -> None:
    snapshot, truth = data()
    rows = [{"stimulus": s, "question": "better", "value": math.nan if s == "B00" else v} for s, v in truth.items()]
    scores = score(snapshot, predictions("broken", rows), QUICK)
    coverage = scores.coverage["broken"]["better"]
    assert (coverage.items, coverage.answered) == (36, 34)
    assert list(coverage.problems) == ["B00: what was given cannot be scored on this task"]


@pytest.mark.slow
def test_pairs_that_were_never_predicted_are_failures_and_named() -> None:
    snapshot, truth = data()
    scores = score(snapshot, probable(snapshot, truth).head(10), QUICK)
    coverage = scores.coverage["probable"]["better"]
    assert (coverage.items, coverage.answered) == (36, 10)
    found = scores.find("better", "probable", "log_loss")
    assert found is not None
    assert found.with_failures.value is not None
    assert found.estimate.counts["pairs"] == 10
    assert found.with_failures.counts["pairs"] == 36


def test_equal_numbers_are_half_right_and_have_no_rank() -> None:
    snapshot, truth = data()
    scores = score(snapshot, scalar(dict.fromkeys(truth, 1.0), "constant"), QUICK)
    assert value(scores, "choice_accuracy", "constant") == 0.5
    (rank,) = scores.ranked("better")
    assert mentions(rank.why_none, "beat", "chance")


@pytest.mark.slow
def test_all_ties() -> None:
    snapshot, truth = arena(prompts=4, raters=4, ties=1.0)
    scores = score(snapshot, pl.concat([scalar(truth), probable(snapshot, truth)], how="diagonal"))
    assert value(scores, "choice_accuracy", "scalar") == 0.5
    for metric, why in (
        ("decided_accuracy", "no comparison was decided"),
        ("majority_accuracy", "no pair has a majority"),
    ):
        found = scores.find("better", "scalar", metric)
        assert found is not None
        assert found.with_failures.why_missing == why
    loss = scores.find("better", "probable", "outcome_log_loss")
    assert loss is not None
    assert loss.with_failures.value == pytest.approx(-math.log(0.15))
    assert {rank.place for rank in scores.ranked("better")} == {None}


@pytest.mark.slow
def test_always_the_first() -> None:
    snapshot, _ = arena(prompts=8, raters=6, first=1.5)
    rows = [
        {"stimulus": name, "question": "better", "answer": "first"}
        for name in truth_of(snapshot).pairs.items["stimulus"]
    ]
    scores = score(snapshot, predictions("first", rows), QUICK)
    answers = answers_of(snapshot, ["better"])["value"]
    assert value(scores, "choice_accuracy", "first") == pytest.approx(float(answers.mean()))  # type: ignore[arg-type]  # a mean of numbers
    details = scores.details["better"].models["first"]
    assert isinstance(details, ChoiceDetails)
    assert details.decided_by == "the order of presentation"


@pytest.mark.slow
def test_always_the_first_of_a_ranking() -> None:
    snapshot, _ = rankings(prompts=3)
    rows = [
        {"stimulus": set_name(f"{s}{k:02}" for s in "ABCD"), "question": "better", "answer": "first"} for k in range(3)
    ]
    scores = score(snapshot, predictions("first", rows), QUICK)
    assert value(scores, "choice_accuracy", "first") == pytest.approx(answers_of(snapshot, ["better"])["value"].mean())


@pytest.mark.slow
def test_position_bias_of_a_judge() -> None:
    snapshot, _ = data()
    rows = []
    for place, name in enumerate(truth_of(snapshot).pairs.items["stimulus"]):
        one, other = name.split("|")
        biased = place % 3 == 0
        members = {one: 0.5, other: 0.5} if biased else {one: 1.0, other: 0.0}
        orders = [1.0, 1.0] if biased else [1.0, 0.0]
        row = {"stimulus": name, "question": "better", "members": json.dumps(members), "orders": json.dumps(orders)}
        rows.append(row)
    scores = score(snapshot, predictions("judge", rows), QUICK)
    details = scores.details["better"].models["judge"]
    assert isinstance(details, ChoiceDetails)
    bias = details.position_bias
    assert bias is not None
    assert bias.inconsistent.value == pytest.approx(12 / 36)
    assert bias.favours_first.value == 1.0
    assert bias.p_value == pytest.approx(2 * 0.5**12)


@pytest.mark.slow
def test_two_models_are_compared_answer_by_answer() -> None:
    snapshot, truth = data()
    wrong = {name: -number for name, number in truth.items()}
    scores = score(snapshot, pl.concat([scalar(truth), scalar(wrong, "wrong")]), QUICK)
    (pair,) = [each for each in scores.comparisons if each.task == "better"]
    lead, v = by_hand(snapshot, truth)
    right = np.where(lead > 0, v, 1 - v)
    assert pair.difference.value == pytest.approx((right - (1 - right)).mean())
    assert pair.apart
    assert pair.difference.counts["raters"] == 8
    leader = scores.leader("better")
    assert leader is not None
    assert leader.model == "scalar"
    assert leader.generalises_to == "other pairs and raters like these"
    assert [rank.why_none for rank in scores.ranked("better")] == [None, "it does not beat chance"]


@pytest.mark.slow
def test_one_rater_is_the_agreement_of_two() -> None:
    snapshot, truth = data()
    scores = score(snapshot, scalar(truth), QUICK)
    agreed = []
    for _, part in answers_of(snapshot, ["better"]).group_by("pair"):
        ordered = pl.col("first") < pl.col("second")
        v = part.select(pl.when(ordered).then("value").otherwise(1 - pl.col("value"))).to_series().to_list()
        agreed += [
            0.5 if b == 0.5 else (a if b == 1 else 1 - a)
            for place, a in enumerate(v)
            for other, b in enumerate(v)
            if place != other
        ]
    assert scores.one_rater("better").value == pytest.approx(np.mean(agreed))
    # A rater's own further answers are not those of another.
    again = snapshot.ratings.with_columns(pl.format("{}#2", "trial").alias("trial"))
    ratings = pl.concat([snapshot.ratings, again])
    twice = Snapshot.build(snapshot.study, stimuli=snapshot.stimuli, ratings=ratings)
    repeated = score(twice, scalar(truth), QUICK).one_rater("better")
    assert repeated.value == pytest.approx(np.mean(agreed))


@pytest.mark.slow
def test_the_ceilings_hold_what_a_perfect_model_reaches() -> None:
    """The true probabilities score at the ceiling, on average over studies; one rater below it."""
    reached, tops, one = [], [], []
    for seed in range(6):
        snapshot, truth = arena(prompts=20, raters=10, seed=seed)
        scores = score(snapshot, probable(snapshot, truth))
        found = scores.find("better", "probable")
        assert found is not None
        reached.append(float(found.with_failures))
        tops.append(float(found.ceiling))
        one.append(float(scores.one_rater("better")))
    assert np.mean(reached) == pytest.approx(np.mean(tops), abs=0.02)
    assert np.mean(one) < np.mean(tops) - 0.05


@pytest.mark.slow
def test_a_frozen_benchmark_is_scored_like_its_snapshot() -> None:
    snapshot, truth = data()
    frozen = freeze(snapshot, split=SplitOptions(by="prompt"))
    one, other = (score(source, scalar(truth), QUICK) for source in (snapshot, frozen))
    for metric in ("choice_accuracy", "majority_accuracy"):
        a, b = one.find("better", "scalar", metric), other.find("better", "scalar", metric)
        assert a is not None
        assert b is not None
        assert a.with_failures.value == pytest.approx(b.with_failures.value)
        assert a.with_failures.low == pytest.approx(b.with_failures.low)
    part = score(frozen, scalar(truth), ScoreOptions(ceilings=False, part=frozen.parts[0]))
    found = part.find("better", "scalar")
    assert found is not None
    assert 0 < found.with_failures.counts["pairs"] < 36


def test_a_sample_of_pairs() -> None:
    snapshot, truth = data()
    scores = score(snapshot, scalar(truth), ScoreOptions(ceilings=False, selection=ItemSelection(limit=10)))
    assert scores.coverage["scalar"]["better"].items == 10
    assert scores.ledger.filter(pl.col("reason").str.contains("not in the sample")).height == 26


@pytest.mark.slow
@pytest.mark.parametrize("best_worst", [False, True])
def test_rankings_count_as_the_pairs_that_follow(best_worst: bool) -> None:
    snapshot, truth = rankings(best_worst=best_worst)
    by_set = []
    for k in range(10):
        names = [f"{system}{k:02}" for system in "ABCD"]
        ordered = sorted(names, key=lambda name: -truth[name])
        members = {name: float(ordered.index(name) + 1) for name in names}
        if best_worst:
            members = {name: {1.0: 1.0, 4.0: -1.0}.get(rank, 0.0) for name, rank in members.items()}
        by_set.append({"stimulus": set_name(names), "question": "better", "members": json.dumps(members)})
    table = pl.concat([scalar(truth), predictions("sets", by_set)], how="diagonal")
    scores = score(snapshot, table, QUICK)
    lead, v = by_hand(snapshot, truth)
    assert value(scores, "choice_accuracy", "scalar") == pytest.approx(np.where(lead > 0, v, 1 - v).mean())
    if not best_worst:
        assert value(scores, "choice_accuracy", "sets") == value(scores, "choice_accuracy", "scalar")
    assert scores.coverage["sets"]["better"].answered == scores.coverage["sets"]["better"].items


@pytest.mark.slow
def test_why_a_set_failed_is_why_its_pairs_did() -> None:
    snapshot, _ = rankings(prompts=2)
    rows = [
        {
            "stimulus": "A00|B00|C00|D00",
            "question": "better",
            "members": json.dumps({"A00": 1, "B00": 2, "C00": 3, "D00": 4}),
        },
        {"stimulus": "A01|B01|C01|D01", "question": "better", "problem": "the model refused"},
    ]
    scores = score(snapshot, predictions("judge", rows), QUICK)
    coverage = scores.coverage["judge"]["better"]
    assert (coverage.items, coverage.answered) == (12, 6)
    assert coverage.problems == {"the model refused": 6}


@pytest.mark.slow
def test_graded_preferences_are_scored_by_their_sign() -> None:
    snapshot, truth = arena(graded=True)
    scores = score(snapshot, scalar(truth), QUICK)
    lead, v = by_hand(snapshot, truth)
    assert set(v) == {0.0, 0.5, 1.0}
    assert value(scores, "choice_accuracy", "scalar") == pytest.approx(np.where(lead > 0, v, 1 - v).mean())


@pytest.mark.data
@pytest.mark.slow
def test_musav(shared_data: Path) -> None:
    """MusAV's 2,085 pairs, predicted by how often each track was chosen in all its pairs."""
    snapshot = heartfelt.read(shared_data / "musav" / "annotations.arousal.all")
    (question,) = (each.id for each in snapshot.study.asked)
    answers = answers_of(snapshot, [question])
    assert (answers.height, answers["pair"].n_unique()) == (6_222, 2_085)  # 33 of the 6,255 rows have no answer
    shares = win_shares(snapshot, [question])
    rows = [
        {"stimulus": name, "question": question, "value": v}
        for name, v in shares.select("stimulus", "value").iter_rows()
    ]
    scores = score(snapshot, predictions("shares", rows))
    found = scores.find(question, "shares")
    assert found is not None
    ceiling, one = found.ceiling, scores.one_rater(question)
    assert found.with_failures.counts["comparisons"] == 6_222
    assert one.value == pytest.approx(0.704, abs=0.002)
    assert ceiling.low is not None
    assert ceiling.high is not None
    assert ceiling.low < float(one) + 0.1 < ceiling.high
    assert any(note.startswith(f"No strengths are scored for '{question}'") for note in scores.notes)
