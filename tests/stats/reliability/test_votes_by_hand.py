"""Ceilings of category labels in small exact cases: enumeration, loops, and equations that must hold."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from heartfelt.stats.ceilings import vote_ceiling, vote_family, vote_mixture, yardsticks
from heartfelt.stats.ratings import as_ratings
from tests.stats.reliability.ratings import CATEGORY, ITEM, RATER, of_rows, winner_of


def test_scores_by_category_by_hand() -> None:
    wins, answer = np.array([[0.6, 0.2, 0.0], [0.1, 0.5, 0.3], [0.0, 0.2, 0.7]]), np.array([0, 1, 2])
    weights = np.array([0.5, 0.3, 0.2])
    confusion = np.array([[(weights * wins[:, j] * (answer == a)).sum() for a in range(3)] for j in range(3)])
    asked, said = confusion.sum(axis=1), confusion.sum(axis=0)
    expected = {
        "balanced_accuracy": np.mean(np.diag(confusion) / asked),
        "macro_f1": np.mean(2 * np.diag(confusion) / (asked + said)),
    }
    for metric, value in expected.items():
        quantity = vote_ceiling.by_category(wins, answer, np.arange(3), metric)  # type: ignore[arg-type]  # one of two
        found, slope = quantity(weights)
        assert found == pytest.approx(value)
        h = 1e-6
        assert slope == pytest.approx(
            [(quantity(weights + h * e)[0] - quantity(weights - h * e)[0]) / (2 * h) for e in np.eye(3)], abs=1e-6
        )


def test_what_raters_add_to_the_likelihood_by_hand() -> None:
    d = as_ratings(RATER, ITEM, CATEGORY.astype(float))
    counts = yardsticks.category_counts(d)
    others = np.bincount(ITEM)[ITEM] - 1.0
    agreeing = np.array([np.sum((i == ITEM) & (c == CATEGORY)) - 1.0 for i, c in zip(ITEM, CATEGORY, strict=True)])
    excess = agreeing - agreeing.sum() / others.sum() * others
    of_items = np.sum((np.bincount(ITEM, excess) / 2) ** 2) * 7 / 6
    of_raters = max(np.sum(np.bincount(RATER, excess) ** 2) * 6 / 5 - np.sum(excess**2), 0.0)
    df = (of_items + of_raters) ** 2 / (of_items**2 / 6 + of_raters**2 / 5)
    expected = stats.t.ppf(0.95, df) ** 2 * (of_items + of_raters) / of_items
    assert vote_ceiling.critical_value(d, counts, 0.9) == pytest.approx(expected)
    same = as_ratings(RATER, ITEM, np.zeros(17))
    assert vote_ceiling.critical_value(same, yardsticks.category_counts(same), 0.9) == pytest.approx(
        stats.t.ppf(0.95, 6) ** 2
    )


def test_skills_solve_their_own_equations() -> None:
    rng = np.random.default_rng(3)
    rater, item = (axis.ravel() for axis in np.indices((5, 200)))
    truth, skill = rng.integers(0, 3, 200), np.array([0.9, 0.8, 0.6, 0.4, 0.2])
    answer = np.where(rng.random(rater.size) < skill[rater], truth[item], rng.integers(0, 3, rater.size))
    d = as_ratings(rater, item, answer.astype(float))
    counts = yardsticks.category_counts(d)
    found = vote_ceiling._skills(d, counts)
    assert found == pytest.approx(skill, abs=0.15)
    base = counts.sum(axis=0) / counts.sum()
    chance = float(base @ base)
    agreeing = counts[item, answer] - 1
    beyond = np.bincount(rater, (agreeing - chance * 4) / (1 - chance))
    assert found == pytest.approx(beyond / (200 * (found.sum() - found)), abs=1e-6)
    gain = vote_ceiling.fixed_panel_gain(d, counts, 0)
    # All 3^5 answers of the five raters against five drawn from them.
    right = []
    for skills in (skill, np.full(5, skill.mean())):
        own = [[s + (1 - s) / 3 if c == 0 else (1 - s) / 3 for c in range(3)] for s in skills]
        won = met = 0.0
        for answers in itertools.product(range(3), repeat=5):
            chance_of = math.prod(own[k][c] for k, c in enumerate(answers))
            winner = winner_of(np.bincount(answers, minlength=3))
            won += chance_of * (winner is not None)
            met += chance_of * (winner == 0)
        right.append(met / won)
    assert gain == pytest.approx(right[0] - right[1], abs=0.03)
    assert gain > 0
    one = as_ratings(RATER, ITEM, np.zeros(17))
    assert vote_ceiling._skills(one, yardsticks.category_counts(one)).tolist() == [1.0] * 6


def test_bounds_are_widened_by_the_chance_of_a_score() -> None:
    low, high = vote_ceiling.with_chance(0.7, 0.5, 0.8, 50, 0.9)
    z = stats.norm.ppf(0.95)
    ends = []
    for end, side in ((0.5, -1), (0.8, 1)):
        share = (50 * end + 2) / 54
        ends.append(0.7 + side * math.hypot(end - 0.7, z * math.sqrt(share * (1 - share) / 54)))
    assert (low, high) == pytest.approx(ends)
    assert vote_ceiling.with_chance(0.5, 0.02, 0.98, 1, 0.99) == (0.0, 1.0)


def test_panels_stand_for_all_sizes() -> None:
    sizes, shares = vote_ceiling.panel_sizes(np.array([3, 3, 5, 4]))
    assert (sizes.tolist(), shares.tolist()) == ([3, 4, 5], [0.5, 0.25, 0.25])
    five = vote_ceiling.panel_sizes(np.array([1, 2, 3, 4, 5]))[0]
    assert five.tolist() == [1, 2, 3, 4, 5]
    many, shares = vote_ceiling.panel_sizes(np.arange(10, 20))
    assert (many.tolist(), shares.tolist()) == ([10, 12, 14, 16, 18], [0.2] * 5)


def test_votes_are_drawn_without_replacement() -> None:
    counts = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]])
    rng = np.random.default_rng(0)
    drawn = np.stack([vote_ceiling._sampled_votes(counts, np.array([3, 2]), rng) for _ in range(400)])
    assert (drawn <= counts).all()
    assert (drawn.sum(axis=2) == [3, 2]).all()
    assert drawn.mean(axis=0) == pytest.approx(counts * np.array([[3 / 6], [2 / 6]]), abs=0.12)
    few = np.array([[20.0, 5.0], [30.0, 10.0]])
    thin = vote_ceiling.thinned(few, np.array([25, 40]), 0)
    assert thin[0].tolist() == [20.0, 5.0]
    assert thin[1].sum() == vote_mixture.MOST_VOTES


def test_halves_of_votes_by_hand() -> None:
    # Four votes each: unanimous items agree in every split, items of two and two never name the same but where both are mixed.
    counts = np.array([[4.0, 0.0]] * 6 + [[2.0, 2.0]] * 6 + [[1.0, 0.0]])
    found = vote_ceiling._halves(counts, 4.0, 0)
    assert found is not None
    assert found.panels[0].tolist() == [2]
    plain = vote_ceiling._halves(counts, 1.0, 0)
    assert plain is not None
    assert found.standard_error == pytest.approx(2 * plain.standard_error)
    # Of two and two, the halves are two alike in a third of the splits, and then they disagree.
    splits, alone = 4, 6
    agreed = splits * 6
    both = agreed / plain.observed
    assert 0 < both - agreed <= splits * alone
    assert plain.items >= 6
    assert vote_ceiling._halves(np.array([[1.0, 0.0]]), 1.0, 0) is None
    unanimous = vote_ceiling._halves(np.array([[4.0, 0.0]] * 5), 1.0, 0)
    assert unanimous is not None
    assert (unanimous.observed, unanimous.standard_error, unanimous.items) == (1.0, 0.0, 5)
    odd = vote_ceiling._halves(np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 1.0]]), 1.0, 0)
    assert odd is not None
    # Two items agree in all four splits, two in none: residuals 4 (1 - 1/2) and 4 / 2, over 16 splits.
    assert odd.observed == 0.5
    assert odd.standard_error == pytest.approx(math.sqrt(4 * 2**2) / 16)


def test_candidates_are_distributions_and_rows_are_counted() -> None:
    counts = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [2.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    rows, items = vote_mixture.distinct_rows(counts, 0)
    assert {tuple(row): times for row, times in zip(rows.tolist(), items, strict=True)} == {
        (2.0, 1.0, 0.0): 2.0,
        (0.0, 0.0, 3.0): 1.0,
        (1.0, 1.0, 1.0): 1.0,
    }
    points = vote_mixture.candidates(rows, items)
    assert points.sum(axis=1) == pytest.approx(np.ones(len(points)))
    assert points.min() >= 0
    overall = counts.sum(axis=0) / counts.sum()
    assert np.isclose(points, overall).all(axis=1).any()
    for category in range(3):
        assert np.isclose(points, np.eye(3)[category]).all(axis=1).any()
    two = vote_mixture.candidates(rows[:, :2], items)
    assert (len(two), two[:, 0].min(), two[:, 0].max()) in ((101, 0.0, 1.0), (102, 0.0, 1.0))
    for categories in (2, 3, 5):
        shares, times = vote_mixture.sorted_shares(categories)
        assert (shares * times).sum(axis=1) == pytest.approx(np.ones(len(shares)))
        assert (times.sum(axis=1) == categories).all()
        assert (shares[:, 0] >= shares[:, 1] - 1e-9).all()
        assert shares[:, 0].max() == 1.0
        assert shares[:, 0].min() == pytest.approx(1 / categories)
        assert (shares[:, 1] >= np.where(times[:, 2] > 0, shares[:, 2], 0.0) - 1e-9).all()


@pytest.mark.parametrize(("categories", "votes"), [(2, 3), (3, 4)])
def test_chances_of_panels_by_enumeration(categories: int, votes: int) -> None:
    chance, leader, outright, same = vote_mixture.panel_chances(categories, votes)
    shares, times = vote_mixture.sorted_shares(categories)
    for place in range(0, len(shares), max(len(shares) // 4, 1)):
        p = np.repeat(shares[place], times[place].astype(int))
        wins = np.zeros(categories)
        seen: dict[int, float] = {}
        for answers in itertools.product(range(categories), repeat=votes):
            weight = math.prod(p[a] for a in answers)
            counts = np.bincount(answers, minlength=categories)
            winner = winner_of(counts)
            if winner is not None:
                wins[winner] += weight
            first, second = sorted(counts)[::-1][:2]
            seen[first * (votes + 1) + second] = seen.get(first * (votes + 1) + second, 0.0) + weight
        assert leader[place] == pytest.approx(wins[0])
        assert outright[place] == pytest.approx(wins.sum())
        assert same[place] == pytest.approx(float(wins @ wins))
        for cell, weight in seen.items():
            assert chance[place, cell] == pytest.approx(weight)
    large = vote_mixture._simulated(shares[::60], times[::60], votes)
    for drawn, exact in zip(large, (leader, outright, same), strict=True):
        assert drawn == pytest.approx(exact[::60], abs=0.06)


def _mixture() -> tuple[Any, vote_mixture.Mixture]:
    counts = np.array([[4.0, 0.0]] * 9 + [[3.0, 1.0]] * 5 + [[2.0, 2.0]] * 3 + [[0.0, 4.0]] * 8 + [[1.0, 3.0]] * 4)
    return vote_mixture.fit_votes(counts)


def test_no_other_candidate_would_raise_the_likelihood() -> None:
    points, mixture = _mixture()
    fitted = mixture.likelihood @ mixture.weights
    slope = (mixture.items / fitted) @ mixture.likelihood
    assert float(slope.max()) <= 29 * (1 + 1e-4)
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert mixture.weights.min() >= 0
    assert mixture.log_likelihood == pytest.approx(float(mixture.items @ np.log(fitted)))
    assert mixture.items.sum() == 29
    # The likelihood of a row under a point, relative to that of its best point.
    rows = np.unique(np.array([[4, 0], [3, 1], [2, 2], [0, 4], [1, 3]]), axis=0)
    assert mixture.likelihood.shape == (5, len(points))
    assert mixture.likelihood.max(axis=1) == pytest.approx(np.ones(5))
    assert len(rows) == 5


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_bound_is_where_the_likelihood_has_fallen_by_as_much(side: float) -> None:
    points, mixture = _mixture()
    quantity = vote_ceiling.expected_ratio(np.maximum(points[:, 0], points[:, 1]), np.ones(len(points)))
    drop = 1.92
    bound = mixture.bound(quantity, drop, side)
    at, lost = mixture.reaching(quantity, bound - side * 1e-3, side)
    assert lost == pytest.approx(drop, rel=0.15)
    assert quantity(at)[0] == pytest.approx(bound, abs=0.01)
    assert side * bound > side * quantity(mixture.weights)[0]
    here, nothing = mixture.reaching(quantity, quantity(mixture.weights)[0], side)
    assert (here is mixture.weights, nothing) == (True, 0.0)
    wider = mixture.bound(quantity, 3 * drop, side)
    assert side * wider > side * bound


def test_members_of_the_family_have_its_shares() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    family = vote_family.VoteFamily(shares=shares, best=(0.0, 0.0, 0.0), within_range=())
    for point in ((0.0, 0.6, math.log(5.0)), (0.6, 0.8, math.log(50.0)), (0.3, 0.0, math.log(2.0))):
        drawn = family.draw(point, 0)
        undecided, lean, concentration = point[0], point[1], math.exp(point[2])
        assert drawn.mean(axis=0) == pytest.approx(shares, abs=0.025)
        # Of a Dirichlet about a mean: its variance, plus that of the mean itself among the items that lean.
        variance = 0.0
        for weight, by in ((undecided, 0.0), (1 - undecided, lean)):
            for j, share in enumerate(shares):
                mean = (1 - by) * shares + by * np.eye(3)[j]
                own = mean[0] * (1 - mean[0]) / (concentration + 1) + (mean[0] - shares[0]) ** 2
                variance += weight * share * own
        assert float(drawn[:, 0].var()) == pytest.approx(variance, rel=0.1)


def test_cells_are_joined_until_enough_is_expected() -> None:
    cells = np.array([[1.0, 2.0, 1.1], [4.0, 3.0, 1.1], [9.0, 8.0, 1.2], [1.0, 1.0, 1.2]])
    assert vote_family._joined(cells).tolist() == [[5.0, 5.0, 1.1], [10.0, 9.0, 1.2]]
    assert vote_family._joined(cells[:1]).shape == (0, 3)
    first, second = vote_family._patterns(np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 3.0], [2.0, 2.0, 0.0]]))
    assert first[0] == first[1] != first[2]
    assert len({*second.tolist()}) == 3


def test_the_check_of_fit_by_hand() -> None:
    """Votes of three: from a family where everybody names the first of two with .7, against counts that do not."""
    points = np.tile([0.7, 0.3], (20_000, 1))
    chances = [0.7**3, 3 * 0.7**2 * 0.3, 3 * 0.7 * 0.3**2, 0.3**3]
    counts = np.array([[3.0, 0.0]] * 40 + [[2.0, 1.0]] * 40 + [[1.0, 2.0]] * 15 + [[0.0, 3.0]] * 5)
    p = vote_family._fit_p(counts, np.full(100, 3), points, 1.0, 0)
    # Of two patterns of the two largest counts nothing is left to check. Of the leading answer with its votes the smallest cell
    # joins its neighbour, which leaves three.
    seen, expected = (np.array([40.0, 40, 20]), 100 * np.array([chances[0], chances[1], chances[2] + chances[3]]))
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    assert p == pytest.approx(stats.chi2.sf(statistic / (1 + 100 / 20_000), 1), abs=0.03)
    doubtful = vote_family._fit_p(counts, np.full(100, 3), points, 3.0, 0)
    assert doubtful == pytest.approx(stats.chi2.sf(statistic / 3, 1), abs=0.03)
    assert vote_family._fit_p(counts[:3], np.full(3, 3), points, 1.0, 0) is None


def test_the_best_member_is_the_most_likely_one_of_the_grid() -> None:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([2.0, 1.2, 0.8], 150)
    counts = rng.multinomial(6, shares).astype(float)
    family = vote_family.fit_family(counts, 3.84, 0)
    rows, items = vote_mixture.distinct_rows(counts, 0)
    assert family.shares == pytest.approx(counts.sum(axis=0) / counts.sum())
    grid = vote_family._log_likelihoods(rows.astype(np.int64), items, family.shares)
    w, u, c = np.unravel_index(int(grid.argmax()), grid.shape)
    lean, log_concentration = vote_family.LEANS, vote_family.LOG_CONCENTRATIONS
    step = [np.abs(np.diff(part)).max() for part in (lean, log_concentration)]
    assert family.best[0] in vote_family.UNDECIDED
    if family.best[0] == vote_family.UNDECIDED[int(w)]:
        assert abs(family.best[1] - lean[u]) <= step[0]
        assert abs(family.best[2] - log_concentration[c]) <= step[1]
    # The concentration that made the votes, 4, is within range; points far more and far less alike are not.
    logs = [point[2] for point in family.within_range if point[1] < 0.05 and point[0] == 0.0]
    assert min(logs) < math.log(4.0) < max(logs)
    assert math.log(1.0) < min(logs)
    assert max(logs) < math.log(40.0)
    wide = vote_family.fit_family(counts, 12.0, 0)
    assert max(point[2] for point in wide.within_range) > max(logs)


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_the_score_of_known_shares_is_that_of_their_panels(metric: Any) -> None:
    points = np.repeat([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], 3000, axis=0)
    panels = np.array([2, 3]), np.array([0.25, 0.75])
    confusion = np.zeros((3, 3))
    for p, best in (([0.6, 0.3, 0.1], 0), ([0.2, 0.2, 0.6], 2)):
        for size, share in zip(*panels, strict=True):
            for answers in itertools.product(range(3), repeat=int(size)):
                won = winner_of(np.bincount(answers, minlength=3))
                if won is not None:
                    confusion[won, best] += share * math.prod(p[a] for a in answers)
    expected = np.trace(confusion) / confusion.sum()
    if metric == "macro_f1":
        asked, said = confusion.sum(axis=1), confusion.sum(axis=0)
        expected = np.mean(2 * np.diag(confusion) / (asked + said))
    found = vote_family._expected_score(points, panels, np.arange(3), metric, 0)
    assert found == pytest.approx(expected, abs=0.015)


def test_the_ceiling_of_two_categories_is_that_of_its_mixture() -> None:
    counts = np.array([[4.0, 0.0]] * 9 + [[3.0, 1.0]] * 5 + [[2.0, 2.0]] * 3 + [[0.0, 4.0]] * 8 + [[1.0, 3.0]] * 4)
    found = vote_ceiling.vote_ceiling(counts, "accuracy", 3.84, 0.9, 0)
    points, mixture = _mixture()
    # Four votes: the likelier side wins outright with three or four of them, and some side unless it is two and two.
    top = points.max(axis=1)
    leader, outright = top**4 + 4 * top**3 * (1 - top), 1 - 6 * top**2 * (1 - top) ** 2
    quantity = vote_ceiling.expected_ratio(leader, outright)
    value = quantity(mixture.spread)[0]
    low, high = mixture.bound(quantity, 1.92, -1.0), mixture.bound(quantity, 2 * 1.92, 1.0)
    assert float(found.estimate) == pytest.approx(min(max(value, low), high), rel=1e-6)
    assert (found.estimate.low, found.estimate.high) == pytest.approx(
        vote_ceiling.with_chance(float(found.estimate), low, high, 26, 0.9), rel=1e-6
    )
    assert found.labels == 26
    gained = vote_ceiling.vote_ceiling(counts, "accuracy", 3.84, 0.9, 0, gain=0.02)
    assert float(gained.estimate) == pytest.approx(min(float(found.estimate) + 0.01, 1.0))
    assert found.half_panels is not None
    # Two halves of two: each has a winner where its votes agree.
    met = vote_ceiling.expected_ratio(
        points[:, 0] ** 4 + points[:, 1] ** 4, (points[:, 0] ** 2 + points[:, 1] ** 2) ** 2
    )
    assert found.half_panels.predicted == pytest.approx(met(mixture.weights)[0], rel=1e-6)


@pytest.mark.parametrize("fits", [True, False])
def test_rows_of_votes_count_where_halves_fit_them(fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    counts = rng.multinomial(4, rng.dirichlet([1.0, 0.8, 0.5], 40)).astype(float)
    monkeypatch.setattr(vote_ceiling.HalfPanels, "fits", property(lambda _: fits))
    found = vote_ceiling.vote_ceiling(counts, "accuracy", 3.84, 0.9, 0).estimate
    clearness, (points, rows) = vote_mixture.fit_clearness(counts), vote_mixture.fit_votes(counts, 0)
    _, leader, outright, _ = vote_mixture.panel_chances(3, 4)
    of_two = vote_ceiling.expected_ratio(leader, outright)(clearness.spread)[0]
    wins = vote_ceiling._wins(points, (np.array([4]), np.array([1.0])), 0)
    of_rows = vote_ceiling.expected_ratio(wins.max(axis=1), wins.sum(axis=1))(rows.spread)[0]
    assert of_two != pytest.approx(of_rows, abs=1e-4)
    assert float(found) == pytest.approx(max(of_two, of_rows) if fits else of_two, abs=1e-6)


def test_panels_up_to_a_size_are_counted_exactly() -> None:
    assert vote_mixture.panel_chances(2, vote_mixture.MOST_VOTES)[0].shape[1] > 0
    assert len(vote_mixture.panel_chances(2, vote_mixture.MOST_VOTES)[0]) == len(vote_mixture.sorted_shares(2)[0])


def test_no_skill_is_beyond_one() -> None:
    # Two raters agree with the first on eight items of ten each and with each other on six: the first would have 1.34.
    first = np.arange(10) % 2
    answers = np.column_stack(
        [first, np.where(np.arange(10) < 2, 1 - first, first), np.where(np.arange(10) // 2 == 1, 1 - first, first)]
    )
    d = as_ratings(*of_rows(answers.astype(float)))
    found = vote_ceiling._skills(d, yardsticks.category_counts(d))
    assert found[0] == pytest.approx(1.0)
    # The other two have s = (.6 + .2) / (1 + s), beyond a chance of one half.
    assert found[1:] == pytest.approx([(math.sqrt(4.2) - 1) / 2] * 2)
