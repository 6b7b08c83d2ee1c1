"""Answers from planted strengths: what they follow, and that every scale accepts them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.simulate import Habits, StrengthOptions, judge, match, strengths, trace
from heartfelt.simulate.judgements import course
from heartfelt.study.scales.scale import Numeric, Points
from heartfelt.study.scales.set_scale import BestWorst, Choice, Grade, Preference, Ranking, SetScale, Trace

SETS: list[SetScale] = [
    Choice(type="choice"),
    Choice(type="choice", ties=True),
    Preference(type="preference"),
    Grade(type="grade"),
    Grade(type="grade", low=-1, high=1, step=0.3),
    Ranking(type="rank"),
    BestWorst(type="best-worst"),
]
TRIALS = 4000


@pytest.mark.parametrize("scale", SETS, ids=str)
def test_scales_accept_the_answers(scale: SetScale) -> None:
    rng = np.random.default_rng(1)
    size = 2 if scale.fits >= {"ab"} or isinstance(scale, Choice | Preference) else 5
    for spread in (0.0, 1.0, 400.0):
        planted = np.linspace(-spread, spread, size).tolist()
        assert len(scale.read_set(judge(scale, planted, rng), size)) == size


def test_scales_for_single_stimuli_accept_the_answers() -> None:
    rng = np.random.default_rng(1)
    for scale in (Points(type="points", points=5), Numeric(type="numeric", low=0, high=10)):
        for strength in (-400.0, 0.0, 400.0):
            assert scale.read(judge(scale, [strength], rng))[0] is not None


def shares(answers: list[Any]) -> dict[Any, float]:
    return {answer: count / len(answers) for answer, count in Counter(answers).items()}


@pytest.mark.parametrize("difference", [0.0, 0.7, -1.5])
def test_choices_follow_bradley_and_terry(difference: float) -> None:
    rng, scale = np.random.default_rng(2), Choice(type="choice")
    first = shares([judge(scale, [difference, 0.0], rng) for _ in range(TRIALS)])[0]
    expected = 1 / (1 + math.exp(-difference))
    assert abs(first - expected) < 4 * math.sqrt(expected * (1 - expected) / TRIALS)


def test_a_side_bias_adds_to_the_first() -> None:
    rng, scale = np.random.default_rng(3), Choice(type="choice")
    first = shares([judge(scale, [0.0, 0.0], rng, Habits(side_bias=1.0)) for _ in range(TRIALS)])[0]
    assert abs(first - 1 / (1 + math.exp(-1.0))) < 0.03


def test_ties_are_the_close_ones() -> None:
    rng, scale = np.random.default_rng(4), Choice(type="choice", ties=True)
    close = shares([judge(scale, [0.0, 0.0], rng, Habits(tie_width=1.0)) for _ in range(TRIALS)])["tie"]
    far = shares([judge(scale, [5.0, 0.0], rng, Habits(tie_width=1.0)) for _ in range(TRIALS)]).get("tie", 0.0)
    # The difference of two Gumbel variables is logistic: P(|D| < 1) = (e - 1) / (e + 1).
    assert abs(close - (math.e - 1) / (math.e + 1)) < 0.03
    assert far < 0.05


def test_orders_follow_plackett_and_luce() -> None:
    rng, scale, planted = np.random.default_rng(5), Ranking(type="rank"), [1.0, 0.0, -0.5]
    orders = [tuple(judge(scale, planted, rng)) for _ in range(TRIALS)]
    weights = np.exp(planted)
    for order, share in shares(orders).items():
        left, expected = weights.sum(), 1.0
        for member in order:
            expected *= weights[member] / left
            left -= weights[member]
        assert abs(share - expected) < 4 * math.sqrt(expected / TRIALS)


def test_x_is_guessed_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(6)
    for difference, expected in [(0.0, 0.5), (1.0, 1 - 0.5 * math.exp(-1.0)), (50.0, 1.0)]:
        right = np.mean([match(1, difference, rng) == 1 for _ in range(TRIALS)])
        assert abs(right - expected) < 0.03


def test_strengths_depend_on_names_and_not_on_the_order() -> None:
    stimuli = pl.DataFrame({"stimulus": ["a1", "b1", "a2"], "system": ["a", "b", "a"]})
    options = StrengthOptions({"b": 2.0}, stimulus_sd=0.1)
    table = strengths(stimuli, options, question="q", seed=1)
    again = strengths(stimuli[::-1], options, question="q", seed=1)
    assert table.sort("stimulus").equals(again.sort("stimulus"))
    assert not table.equals(strengths(stimuli, options, question="r", seed=1))
    systems = dict(table.select("system", "system_strength").iter_rows())
    assert systems["b"] == 2.0
    assert abs(table["strength"] - table["system_strength"]).max() < 0.5  # type: ignore[operator]  # a number
    plain = strengths(stimuli.drop("system"), StrengthOptions(stimulus_sd=0.0))
    assert plain["strength"].to_list() == [0.0, 0.0, 0.0]


def test_a_trace_follows_the_course_late() -> None:
    scale = Trace(type="trace", low=0, high=10, rate=5)
    rng = np.random.default_rng(7)
    people = [trace(scale, "s", "q", 60.0, rng, Habits(lag=3.0), seed=2)["samples"] for _ in range(40)]
    samples = np.array(people, dtype=float)
    assert samples.shape == (40, 300)
    assert np.nanmin(samples) >= 0
    assert np.nanmax(samples) <= 10
    assert np.isnan(samples[:, 0]).all()
    mean = np.nanmean(samples[:, 25:], axis=0)
    times = np.arange(25, 300) / 5
    error = {lag: np.abs(5 + 5 * course("s", "q", times - lag, 2) - mean).mean() for lag in (0.0, 1.5, 3.0, 5.0)}
    assert min(error, key=error.__getitem__) == 3.0
    assert error[3.0] < 0.2
    assert len(trace(scale, "s", "q", 0.05, rng)["samples"]) == 1
    assert scale.read_samples(trace(scale, "s", "q", None, rng))


@pytest.mark.parametrize("wrong", [{"noise": -1.0}, {"tie_width": -0.1}, {"step_width": 0.0}, {"lag": -1.0}])
def test_habits_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Habits(**wrong)
    with pytest.raises(InputError):
        StrengthOptions(system_sd=-1.0)
