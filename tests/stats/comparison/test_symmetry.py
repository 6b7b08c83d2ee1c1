"""Results of comparisons do not depend on names, on the order of rows, on which side is listed first, or on who is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from heartfelt.stats.comparison.judges.consistency import rater_consistency, transitivity
from heartfelt.stats.comparison.strengths.choices import best_worst, plackett_luce
from heartfelt.stats.comparison.strengths.models import Strengths, bradley_terry, cmos, davidson, rao_kupper, thurstone

NAMES = "abcde"
OTHER_NAMES = dict(zip(NAMES, "mzkqb", strict=True))
"""Other names of the same contestants, in another alphabetical order."""
RNG = np.random.default_rng(5)


@dataclass(frozen=True)
class Answers:
    """Parallel columns of comparisons of two."""

    rater: np.ndarray
    first: np.ndarray
    second: np.ndarray
    value: np.ndarray

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return self.rater, self.first, self.second, self.value

    def rows(self, order: np.ndarray) -> Answers:
        return Answers(*(column[order] for column in self.columns))

    def renamed(self) -> Answers:
        first, second = (np.array([OTHER_NAMES[name] for name in side]) for side in self.columns[1:3])
        return replace(self, first=first, second=second)


def _answers(graded: bool, ties: bool) -> Answers:
    first = RNG.integers(0, 5, 160)
    second = (first + RNG.integers(1, 5, 160)) % 5
    lead = (first - second) / 3 + RNG.logistic(size=160)
    value = np.clip(np.rint(lead), -3, 3) if graded else (lead > 0).astype(float)
    if ties and not graded:
        value[np.abs(lead) < 0.4] = 0.5
    names = np.array(list(NAMES))
    return Answers(RNG.integers(0, 8, 160), names[first], names[second], value)


MODELS: dict[str, tuple[Callable[..., Strengths], bool, bool]] = {
    "bradley_terry": (bradley_terry, False, True),
    "davidson": (davidson, False, True),
    "rao_kupper": (rao_kupper, False, True),
    "thurstone": (thurstone, False, False),
    "cmos": (cmos, True, False),
}


def _described(result: Strengths, names: dict[str, str] | None = None) -> list[float]:
    """Strength, interval and one difference with its p-value, contestants in the order of ``NAMES``."""
    called = [name if names is None else names[name] for name in NAMES]
    figures = [figure for name in called for figure in _figures(result.strength(name))]
    difference = result.difference(called[0], called[3])
    return [*figures, *_figures(difference.estimate), float(difference.p_value or np.nan)]


def _figures(estimate: Any) -> tuple[float, float, float]:
    return tuple(np.nan if part is None else float(part) for part in (estimate.value, estimate.low, estimate.high))  # type: ignore[return-value]  # three parts


@pytest.mark.parametrize("order_effect", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_pairs_are_symmetric(model: str, order_effect: bool) -> None:
    fitted, graded, ties = MODELS[model]
    answers = _answers(graded, ties)
    whole = 0.0 if graded else 1.0

    def fit(these: Answers) -> Strengths:
        return fitted(*these.columns, order_effect=order_effect)

    own = fit(answers)
    expected = pytest.approx(_described(own), abs=1e-6, nan_ok=True)
    assert _described(fit(answers.rows(RNG.permutation(160)))) == expected
    assert _described(fit(answers.renamed()), OTHER_NAMES) == expected
    turned = fit(Answers(answers.rater, answers.second, answers.first, whole - answers.value))
    assert _described(turned) == expected
    reversed_question = fit(replace(answers, value=whole - answers.value))
    assert [-float(each) for each in reversed_question.strengths] == pytest.approx(
        [float(each) for each in own.strengths], abs=1e-6
    )
    if order_effect:
        assert turned.order_effect.estimate.value == pytest.approx(-float(own.order_effect.estimate), abs=1e-6)


def test_consistency_and_transitivity_are_symmetric() -> None:
    answers = _answers(graded=False, ties=True)
    order = RNG.permutation(160)
    turned = Answers(answers.rater, answers.second, answers.first, 1.0 - answers.value)
    own = rater_consistency(*answers.columns)
    for other in (answers.rows(order), answers.renamed(), turned):
        for before, after in zip(own, rater_consistency(*other.columns), strict=True):
            same = ("comparisons", "ties", "triads", "circular", "zeta")
            assert [getattr(before, name) for name in same] == [getattr(after, name) for name in same]
            assert after.agreement == pytest.approx(before.agreement)
            assert after.p_side == pytest.approx(before.p_side)
        deviances = [transitivity(*these.columns[1:], draws=1).deviance for these in (answers, other)]
        assert deviances[0] == pytest.approx(deviances[1])


def _sets(trials: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rankings of four of five, about half of them with shared ranks."""
    trial = np.repeat(np.arange(trials), 4)
    members = np.concatenate([RNG.choice(5, 4, replace=False) for _ in range(trials)])
    draws = (members / 3 + RNG.gumbel(size=members.size)).reshape(-1, 4)
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1.0
    ranks[::2] = np.minimum(ranks[::2], RNG.integers(1, 4, (ranks[::2].shape[0], 1)))
    return trial % 7, trial, np.array(list(NAMES))[members], ranks.ravel()


def _ends(ranks: np.ndarray) -> np.ndarray:
    places = ranks.reshape(-1, 4) + np.arange(4) / 10
    best, worst = (places == end(axis=1, keepdims=True) for end in (places.min, places.max))
    return np.asarray(best * 1.0 - worst).ravel()


@pytest.mark.parametrize("model", [plackett_luce, best_worst])
def test_sets_are_symmetric(model: Callable[..., Strengths]) -> None:
    rater, trial, item, ranks = _sets()
    value = ranks if model is plackett_luce else _ends(ranks)
    columns = (rater, trial, item, value)
    expected = pytest.approx(_described(model(*columns)), abs=1e-6, nan_ok=True)
    order = RNG.permutation(item.size)
    assert _described(model(*(column[order] for column in columns))) == expected
    renamed = np.array([OTHER_NAMES[name] for name in item])
    assert _described(model(rater, trial, renamed, value), OTHER_NAMES) == expected


@pytest.mark.parametrize("tied", [(1, 2, 2), (1, 1, 2), (1, 1, 1)], ids=["last", "first", "all"])
@pytest.mark.parametrize("listed", ["abc", "acb", "cab"])
def test_items_that_answers_do_not_tell_apart_are_equal(tied: tuple[int, ...], listed: str) -> None:
    # In the second half of the rankings b has the ranks that c has in the first; every third one has shared ranks.
    rankings = [tied if n % 3 == 0 else (1, 2, 3) if n % 2 else (2, 1, 3) for n in range(12)]
    rows = [
        (n % 5, f"{names} {n}", name, ranks[names.index(name)])
        for names in ("abc", "acb")
        for n, ranks in enumerate(rankings)
        for name in listed
    ]
    difference = plackett_luce(*zip(*rows, strict=True)).difference("b", "c")
    assert float(difference.estimate) == pytest.approx(0.0, abs=1e-9)


def test_a_shared_rank_of_two_is_half_a_win_for_each() -> None:
    first = np.array(list("abcabcacb" * 4))
    second = np.array(list("bcacabbac" * 4))
    value = RNG.choice([0.0, 0.5, 1.0], first.size)
    pairs = bradley_terry(np.arange(first.size) % 6, first, second, value)
    ranks = np.column_stack([2 - value, 1 + value]).ravel()
    trial, items = np.repeat(np.arange(first.size), 2), np.column_stack([first, second]).ravel()
    ranked = plackett_luce(trial % 6, trial, items, ranks)
    for name in "abc":
        assert _figures(ranked.strength(name)) == pytest.approx(_figures(pairs.strength(name)), abs=1e-6)
