"""Scores against chance: a model that knows nothing reaches nothing of the ceiling, has no rank and is never called best."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt.labels import buckets, labels
from heartfelt.report.bench.page import sentences
from heartfelt.scoring import METRICS, ScoreOptions, Scores, score
from heartfelt.scoring.results.metrics import chance_of
from heartfelt.snapshot import Snapshot
from heartfelt.streams import stream
from tests.cases import check_all
from tests.facts import mentions
from tests.scoring import made

SOURCE = "sklearn.dummy for constant predictors; the formula (score - chance) / (ceiling - chance) by hand; simulation of shams"


def sham(snapshot: Snapshot, seed: int, model: str = "sham") -> pl.DataFrame:
    """A coin for every item."""
    held = buckets(snapshot).table.filter(pl.col("majority_present").is_not_null())
    coin = stream(seed, "tests", "sham", model).integers(0, 2, held.height)
    return made.predictions(
        model,
        [
            {"stimulus": r["stimulus"], "question": r["question"], "value": float(c)}
            for r, c in zip(held.to_dicts(), coin.tolist(), strict=True)
        ],
    )


@pytest.mark.slow
def test_a_coin_reaches_nothing_of_the_ceiling() -> None:
    snapshot, _ = made.presence(stimuli=120)
    shares = []
    for seed in range(5):
        result = score(snapshot, sham(snapshot, seed), ScoreOptions(slices=(), seed=1)).find("presence", "sham")
        assert result is not None
        assert result.chance.value == 0.5
        by_hand = (float(result.with_failures) - 0.5) / (float(result.ceiling) - 0.5)
        assert result.of_ceiling.value == pytest.approx(by_hand)
        assert result.of_ceiling.low is not None
        shares.append(float(result.of_ceiling))
    assert abs(float(np.mean(shares))) < 0.15


@pytest.mark.slow
def test_shams_are_seldom_said_to_beat_chance_whatever_their_number() -> None:
    snapshot, _ = made.presence(stimuli=60)
    wrong = 0
    for seed in range(12):
        tables = [sham(snapshot, seed, f"sham {k}") for k in range(4)]
        result = score(snapshot, pl.concat(tables), ScoreOptions(ceilings=False, slices=()))
        wrong += any(rank.beats_chance for rank in result.ranks if rank.task == "presence")
    assert wrong <= 2


@pytest.fixture(scope="module")
def both() -> Scores:
    """A coin and a model that knows something."""
    snapshot, truth = made.presence(stimuli=80)
    draw = stream(3, "tests", "chance")
    good = [{"stimulus": s, "question": q, "value": v if draw.random() < 0.8 else 0.0} for (s, q), v in truth.items()]
    tables = [sham(snapshot, 5), made.predictions("good", good)]
    return score(snapshot, pl.concat(tables), ScoreOptions(slices=()))


def test_a_model_that_does_not_beat_chance_has_no_rank(both: Scores) -> None:
    rank = {rank.model: rank for rank in both.ranks if rank.task == "presence"}
    assert (rank["good"].place, rank["good"].beats_chance) == (1, True)
    assert (rank["sham"].place, rank["sham"].best, rank["sham"].beats_chance) == (None, None, False)
    assert mentions(rank["sham"].why_none, "beat", "chance")
    leader = both.leader("presence")
    assert leader is not None
    assert leader.model == "good"
    answer = made.as_json(both)
    mine = next(r for r in answer["ranks"] if r["model"] == "sham" and r["task"] == "presence")
    assert mine["beats_chance"] is False
    assert mine["best"] is None


@pytest.mark.slow
def test_alone_it_is_not_called_best_either(both: Scores) -> None:
    snapshot, _ = made.presence(stimuli=80)
    scores = score(snapshot, sham(snapshot, 5), ScoreOptions(slices=()))
    assert scores.leader("presence") is None
    for benched in (scores, both):
        for task in benched.tasks:
            for sentence in sentences(benched, task):
                assert "sham has the best" not in sentence
    assert "no model beats chance" in sentences(scores, scores.tasks[0])[0]


@pytest.mark.slow
def test_chance_is_what_constant_answers_score() -> None:
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, mean_squared_error

    draw = stream(4, "tests", "chance")
    x = draw.choice([0.0, 1.0, 2.0], 200, p=[0.5, 0.3, 0.2])
    blind = np.zeros((200, 1))
    most = DummyClassifier(strategy="most_frequent").fit(blind, x).predict(blind)
    assert chance_of("accuracy", x).value == pytest.approx(accuracy_score(x, most))
    assert chance_of("balanced_accuracy", x).value == pytest.approx(1 / 3)
    guess = [
        f1_score(
            x, DummyClassifier(strategy="stratified", random_state=k).fit(blind, x).predict(blind), average="macro"
        )
        for k in range(200)
    ]
    assert chance_of("macro_f1", x).value == pytest.approx(float(np.mean(guess)), abs=0.01)
    y = draw.gamma(2, size=200)
    mean = DummyRegressor(strategy="mean").fit(blind, y).predict(blind)
    median = DummyRegressor(strategy="median").fit(blind, y).predict(blind)
    assert chance_of("mse", y).value == pytest.approx(mean_squared_error(y, mean))
    assert chance_of("rmse", y).value == pytest.approx(mean_squared_error(y, mean) ** 0.5)
    assert chance_of("mae", y).value == pytest.approx(mean_absolute_error(y, median))
    sides = (x > 0).astype(float)
    assert chance_of("f1", sides).value == pytest.approx(f1_score(sides, np.ones(200)))
    for metric in ("pearson", "spearman", "kendall", "ccc", "quadratic_kappa"):
        assert chance_of(metric, y).value == 0
    assert chance_of("auroc", sides).value == 0.5


@check_all("metric", sorted(METRICS))
def test_every_metric_says_what_chance_is_or_why_there_is_none(metric: str) -> None:
    result = chance_of(metric, np.array([0.0, 1.0, 1.0, 0.0])).estimate(metric)
    assert result.value is not None or result.why_missing
    assert METRICS[metric].chance_rule


@pytest.mark.slow
def test_errors_are_measured_from_the_constant_predictor() -> None:
    snapshot, truth = made.numbers(per_cell=5)
    held = labels(snapshot).table
    mean = float(held["value"].to_numpy().mean())
    tables = [
        made.predictions("truth", [{"stimulus": n, "question": "valence", "value": v} for n, v in truth.items()]),
        made.predictions("mean", [{"stimulus": n, "question": "valence", "value": mean} for n in truth]),
    ]
    result = score(snapshot, pl.concat(tables), ScoreOptions(slices=()))
    for metric in ("rmse", "mse"):
        nothing, best = result.find("valence", "mean", metric), result.find("valence", "truth", metric)
        assert nothing is not None
        assert best is not None
        assert nothing.of_ceiling.value == pytest.approx(0, abs=1e-9)
        by_hand = (float(best.chance) - float(best.estimate)) / (float(best.chance) - float(best.ceiling))
        assert best.of_ceiling.value == pytest.approx(by_hand)
        assert best.p_chance.value is not None
        assert best.p_chance.value < 0.001


@pytest.mark.slow
def test_texts_are_measured_from_texts_of_other_items() -> None:
    snapshot = made.feelings(stimuli=40)
    messages = [
        {"stimulus": f"c{k}", "question": "caption", "answer": f"a joy song with drums number {k}"} for k in range(40)
    ]
    same = [{"stimulus": f"c{k}", "question": "caption", "answer": "a joy song with drums"} for k in range(40)]
    result = score(
        snapshot, pl.concat([made.predictions("particular", messages), made.predictions("same", same)]), ScoreOptions()
    )
    rank = {rank.model: rank for rank in result.ranks if rank.task == "caption"}
    assert rank["particular"].beats_chance is True
    assert not rank["same"].beats_chance


def of_clips(values: dict[str, float], model: str = "m") -> pl.DataFrame:
    return made.predictions(model, [{"stimulus": n, "question": "valence", "value": v} for n, v in values.items()])


@pytest.mark.slow
def test_two_clips_that_carry_the_correlation_do_not_cost_a_model_its_rank() -> None:
    """The jackknife has three degrees of freedom there, and its p-value was .07."""
    snapshot, _ = made.numbers(per_cell=1)
    label = dict(labels(snapshot).table.select("stimulus", "value").rows())
    draw = stream(8, "tests", "chance")
    low, *rest, high = sorted(label, key=label.__getitem__)
    given = {name: 5 + 0.1 * (label[name] - 5) + draw.normal(0, 0.45) for name in rest}
    given |= {low: 1.0, high: 8.5}
    result = score(snapshot, of_clips(given), ScoreOptions(slices=(), ceilings=False))
    headline = result.find("valence", "m")
    assert headline is not None
    assert float(headline.p_chance) < 0.01
    assert headline.p_chance.method == "p-value, predictions rearranged within and between systems"
    assert [rank.place for rank in result.ranks] == [1]


@pytest.mark.slow
def test_noise_shared_within_systems_is_not_ranked_for_other_systems() -> None:
    """One of eight such studies, in which chance over stimuli alone is beaten, and ranked it first for other systems."""
    snapshot, _ = made.numbers(per_cell=3)
    label = dict(labels(snapshot).table.select("stimulus", "value").rows())
    names = list(label)
    draw = stream(9, "tests", "chance")
    luck = 0.0
    while luck < 0.35:
        level = dict(zip(made.SYSTEMS, draw.normal(0, 1.5, len(made.SYSTEMS)), strict=True))
        given = {name: 5 + level[name.split("_")[0]] + draw.normal(0, 0.3) for name in names}
        luck = float(np.corrcoef(list(label.values()), list(given.values()))[0, 1])
    result = score(snapshot, of_clips(given), ScoreOptions(slices=(), ceilings=False))
    (rank,) = result.ranks
    assert luck > 0.35
    assert rank.over_systems.best is None
    assert rank.over_systems.beats_chance is not True
    assert rank.place is None
    headline = result.find("valence", "m")
    assert headline is not None
    assert float(headline.beyond_chance.low or 0) > 0
    _, why = sentences(result, result.tasks[0])
    assert "the interval of m leaves chance out because it is over single clips" in why


@pytest.mark.slow
def test_every_headline_is_tested_for_these_systems_and_for_others() -> None:
    numbers, truth = made.numbers(per_cell=2)
    presence, strong = made.presence(stimuli=40)
    cases = {
        "numbers": (numbers, of_clips(truth)),
        "presence": (
            presence,
            made.predictions("m", [{"stimulus": s, "question": q, "value": v} for (s, q), v in strong.items()]),
        ),
    }
    for snapshot, table in cases.values():
        result = score(snapshot, table, ScoreOptions(slices=(), ceilings=False))
        flat = result.table()
        assert {"p_chance", "p_chance_over_systems"} <= set(flat.columns)
        for task in result.tasks:
            headline = result.find(task.id, "m")
            assert headline is not None
            assert float(headline.p_chance) < 0.01, task.id
            over = headline.p_chance_over_systems
            assert over.value is not None or over.why_missing
            assert made.as_json(headline)["p_chance_over_systems"]["method"]
        for each in result.scores:
            assert each.p_chance.value is not None or each.p_chance.why_missing
            if each.chance.value is not None and each.with_failures.value is not None:
                assert each.p_chance.value is not None, (each.metric, each.p_chance.why_missing)
