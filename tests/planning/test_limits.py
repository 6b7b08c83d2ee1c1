"""Where parts of plans begin and end: nothing rated, everything found, a budget to the cent, a power met exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from heartfelt.errors import InputError
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.search import affordable, first_reaching, price, with_ratings
from heartfelt.planning.simulated.design import PlannedDesign
from heartfelt.planning.simulated.incidence import Incidence
from heartfelt.planning.simulated.power import bar_for, chances, difference_weights, expected_errors, power_draws
from heartfelt.planning.simulated.reliability import carried_over, enough, real_figures
from heartfelt.stats.agreement import alpha
from heartfelt.stats.ceilings.number_ceiling import number_ceiling
from heartfelt.stats.reliability import icc
from tests.planning.test_by_hand import MATERIAL, PAID, Forecasted

NOBODY = np.zeros(0, np.int64)


class Drawn:
    """A generator whose every standard normal number is the same."""

    def __init__(self, number: float) -> None:
        self.number = number

    def standard_normal(self, shape: tuple[int, ...]) -> Any:
        return np.full(shape, self.number)


def drawn(number: float) -> Any:
    return Drawn(number)


class TestPower:
    def test_weights_where_nobody_rated_anything(self) -> None:
        weights = difference_weights(NOBODY, NOBODY, np.array([0, 1]), 2)
        assert weights.tolist() == [[0, 0, 0, 2.0, 0, 0, 0, 0]]

    def test_weights_where_nobody_rated_the_last_system(self) -> None:
        weights = difference_weights(np.array([0]), np.array([0]), np.array([0, 1]), 2)
        assert weights.tolist() == [[0, 0, 0, 2.0, 1.0, 1.0, 0, 1.0]]

    def test_errors_count_where_both_are_known(self) -> None:
        """Only the second study has an error and a variance: 2 squared over a half is 8."""
        made = expected_errors(np.array([[0.0], [0.5], [4.0]]), np.array([[1.0], [2.0], [np.nan]]))
        assert made[:, 0] == pytest.approx(np.sqrt([0.0, 4.0, 32.0]))

    @pytest.mark.parametrize(("detected", "share"), [(1.0, 1 - 0.5 / 11), (0.0, 0.5 / 11)])
    def test_ten_studies_show_no_share_nearer_to_all_or_none(self, detected: float, share: float) -> None:
        ratio, found = np.full((10, 1), 3.0), np.full((10, 1), detected)
        assert power_draws(ratio, found, np.ones((10, 1), np.bool_), drawn(0.0)) == pytest.approx(share)
        # The share is known as well as a share of ten studies: its binomial error, two of which are drawn here.
        bar = bar_for(ratio, share)
        slope = (norm.cdf(3 - bar + 0.05) - norm.cdf(3 - bar - 0.05)) / 0.1
        moved = norm.cdf(3 - bar - 2 * np.sqrt(share * (1 - share) / 10) / slope)
        made = power_draws(ratio, found, np.ones((10, 1), np.bool_), drawn(2.0))
        assert made == pytest.approx(moved, rel=1e-3)

    def test_the_bar_is_known_as_well_as_the_studies_agree(self) -> None:
        """A half of 100 studies find a pair: an error of .05, which moves the bar by .05 over the density."""
        ratio, found = np.full((100, 1), 4.0), np.tile([[0.0], [1.0]], (50, 1))
        made = power_draws(ratio, found, np.ones((100, 1), np.bool_), drawn(2.0))
        assert made == pytest.approx(norm.cdf(-2 * 0.05 / norm.pdf(0)), rel=1e-3)

    def test_pairs_of_a_study_count_together(self) -> None:
        """Both pairs or neither: 100 studies, not 200; without one study's pair, and another's study, which are not known."""
        ratio, found = np.full((102, 2), 4.0), np.repeat(np.tile([[0.0], [1.0]], (51, 1)), 2, axis=1)
        found[100], found[101] = np.nan, [1.0, np.nan]
        ratio[0, 0] = np.nan
        made = power_draws(ratio, found, np.ones((102, 2), np.bool_), drawn(2.0))
        counted = np.ones((102, 2), np.bool_)
        counted[0, 0] = counted[101, 1] = counted[100, 0] = counted[100, 1] = False
        assert (np.isnan(made) == ~counted).all()
        share, per_study = found[counted].mean(), [0.0, 1.0] * 50 + [1.0]
        bar = 4.0 - norm.ppf(share)
        slope = (norm.cdf(4 - bar + 0.05) - norm.cdf(4 - bar - 0.05)) / 0.1
        assert made[counted] == pytest.approx(
            norm.cdf(4 - bar - 2 * np.sqrt(np.var(per_study) / 101) / slope), rel=1e-4
        )

    def test_a_share_that_no_bar_moves_says_nothing_about_the_bar(self) -> None:
        ratio, found = np.array([[0.0], [50.0]] * 50), np.array([[0.0], [1.0]] * 50)
        assert power_draws(ratio, found, np.ones((100, 1), np.bool_), drawn(2.0)).max() < 0.01

    def test_no_bar_lies_beyond_sixty(self) -> None:
        assert bar_for(np.array([100.0]), 0.5) == pytest.approx(60.0)
        assert chances(np.array([0.0]), 0.0) == pytest.approx(1.0)


class TestSearch:
    def test_a_budget_that_pays_nothing(self) -> None:
        """One rating per clip costs 2.50: two raters of five minutes."""
        assert affordable(MATERIAL, replace(PAID, afford=2.49), 0.0, 20.0) is None
        only = affordable(MATERIAL, replace(PAID, afford=2.5), 0.0, 20.0)
        assert only is not None
        assert (only.ratings, only.raters, only.per_rater) == (1, 2, 6)

    @pytest.mark.parametrize(("budget", "ratings"), [(7.6, 3), (40.0, 16), (399.99, 159), (400.0, 160)])
    def test_the_most_that_is_paid_by_hand(self, budget: float, ratings: int) -> None:
        made = affordable(MATERIAL, replace(PAID, afford=budget), 0.0, 20.0)
        assert made is not None
        assert made.ratings == ratings

    def test_a_budget_without_end_is_not_followed(self) -> None:
        made = affordable(MATERIAL, replace(PAID, afford=1e6), 0.0, 20.0)
        assert made is not None
        assert made.ratings == 255, "twice 32 times the study's own four, less one"

    def test_trials_that_were_asked_for(self) -> None:
        assert with_ratings(MATERIAL, PAID, 0.0, 4).per_rater == 6
        made = with_ratings(MATERIAL, replace(PAID, per_rater=(3, 5)), 0.0, 4)
        assert (made.per_rater, made.raters) == (3, 16)

    def test_both_ways_to_pay_add_up(self) -> None:
        design = PlannedDesign(
            systems=("A", "B"), intents=("",), clips=6.0, stimuli=12, ratings=4, per_rater=6, raters=8
        )
        both = price(design, PlanOptions(pay_per_hour=12.0, pay_per_rating=0.1), 20.0, 48)
        assert (both.cost, both.cost_at_most) == pytest.approx((8 * 5 / 60 * 12 + 4.8,) * 2)
        over = price(design, PlanOptions(pay_per_rating=0.1), 20.0, 60)
        assert over.cost == over.cost_at_most == pytest.approx(4.8), "nobody gives more than their trials"

    def looked(self, power: Any, tried: tuple[int, ...] = (4, 8), others: tuple[Any, ...] = ()) -> list[Any]:
        def forecast(design: PlannedDesign) -> Any:
            return Forecasted(design, power(design))

        known = [forecast(with_ratings(MATERIAL, PAID, 0.0, ratings)) for ratings in tried]
        return list(first_reaching(MATERIAL, PAID, 0.0, [*known, *others], forecast))

    @pytest.mark.parametrize(
        ("needed", "ratings"),
        [(9, [32, 16, 12, 10, 9]), (11, [32, 16, 12, 10, 11]), (17, [32, 16, 24, 20, 18, 17]), (33, [32])],
    )
    def test_which_designs_are_looked_at_by_hand(self, needed: int, ratings: list[int]) -> None:
        """From 8 to 32: first by ratios, then by halves, and the first that is enough at the end."""
        made = self.looked(lambda design: 0.8 if needed <= design.ratings < 33 else 0.5)
        own = [each.design.ratings for each in made if each.design.stimuli == 12]
        assert sorted(own) == sorted(ratings)
        if needed < 33:
            assert own[-1] == needed
            assert len(own) == len(made)

    def test_twice_the_grids_most_ratings_are_looked_at(self) -> None:
        made = self.looked(lambda design: 0.8 if design.ratings >= 35 else 0.5, (4, 20))
        assert max(each.design.ratings for each in made) == 40
        assert 35 <= made[-1].design.ratings <= 38
        assert min(each.design.ratings for each in made) > 20

    def test_nothing_is_looked_for_without_a_start_or_a_need(self) -> None:
        def never(_: PlannedDesign) -> Any:
            pytest.fail("simulated")

        half = Forecasted(with_ratings(MATERIAL, PAID, 0.0, 4), 0.5)
        full = Forecasted(with_ratings(MATERIAL, PAID, 0.0, 8), 0.8)
        other = Forecasted(replace(half.design, stimuli=24), 0.5)
        alone = replace(MATERIAL, systems=("A",), system=np.zeros(12, np.int64))
        tried: Any
        for material, tried in ((MATERIAL, [half, full]), (MATERIAL, [other]), (alone, [half])):
            assert first_reaching(material, PAID, 0.0, tried, never) == []

    def test_more_clips_up_to_eight_times(self) -> None:
        made = self.looked(lambda design: 0.8 if design.stimuli >= 96 else 0.5)
        assert [each.design.stimuli for each in made] == [12, 20, 24, 36, 48, 72, 96]
        assert {(each.design.ratings, each.design.per_rater) for each in made[1:]} == {(4, 6)}
        assert [each.design.raters for each in made[1:]] == [14, 16, 24, 32, 48, 64]
        exactly = self.looked(lambda design: 0.8 if design.stimuli >= 24 else 0.5)
        assert exactly[-1].design.stimuli == 24
        more = Forecasted(replace(with_ratings(MATERIAL, PAID, 0.0, 4), stimuli=24), 0.8)
        [only] = self.looked(lambda _: 0.5, others=(more,))
        assert only.design.ratings == 32, "more clips were tried, and enough"

    def test_what_is_too_large_to_simulate_ends_the_search(self) -> None:
        def large(design: PlannedDesign) -> float:
            if design.ratings > 8 or design.stimuli > 24:
                raise InputError("too large", "plan less")
            return 0.5

        assert self.looked(large) == []

        def clips(design: PlannedDesign) -> float:
            return 0.5 if design.stimuli == 12 else large(design)

        assert [each.design.stimuli for each in self.looked(clips)] == [12, 20, 24]


class TestReliability:
    def test_constants_are_known_to_two_percent(self) -> None:
        """Eight logarithms of odds at +-d about 0 have a standard error of d over the root of 7."""

        def done(d: float) -> bool:
            numbers = [float(expit(d)), float(expit(-d))] * 4
            return enough({"icc2k": numbers, "ceiling": [0.8] * 8}, {"icc1k": np.full(8, 0.5)}, 100)

        assert done(0.0528)
        assert not done(0.0531)

    def test_too_few_known_figures_ask_for_no_more_studies(self) -> None:
        def done(*numbers: float) -> bool:
            real = [*numbers, *[np.nan] * (8 - len(numbers))]
            return enough({"icc2k": real, "ceiling": [np.nan] * 8}, {"icc1k": np.full(8, 0.5)}, 100)

        assert done()
        assert done(0.6)
        assert not done(0.5, 0.9), "two tell"

    def test_odds_of_small_reliabilities_are_carried_over(self) -> None:
        figures = {"icc1k": np.array([0.5, 0.005, 0.0, 0.995])}
        made = carried_over({"icc2k": np.array([0.5])}, figures)
        assert made["icc2k"] == pytest.approx([0.5, 0.005, 0.0, 0.995])
        assert set(made) == {"icc2k"}

    def test_the_real_functions_see_the_kept_ratings(self) -> None:
        """The dropped rater alone rated the last unit; the unit before it is left with one rating, the one before with two."""
        rater = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 3, 3])
        unit = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6])
        value = np.array([1.0, 2, 2, 4, 5, 4, 7, 8, 9, 3, 3, 5, 6, 5, 9, 1, 1])
        incidence = Incidence(
            rater=rater,
            unit=unit,
            position=np.zeros(17, np.int64),
            raters=4,
            left=0,
            turned_away=0,
            first=np.zeros(17, np.int64),
        )
        made = real_figures(incidence, value, np.array([False, False, False, True]), 2)
        kept = slice(0, 14)
        both = icc(rater[kept], unit[kept], value[kept])
        assert made["icc2"] == pytest.approx(both.icc2.value)
        assert made["icc2k"] == pytest.approx(both.icc2k.value)
        assert made["icc1k_width"] == pytest.approx((both.icc1k.high or 0) - (both.icc1k.low or 0))
        assert made["alpha_ordinal"] == pytest.approx(alpha(rater[kept], unit[kept], value[kept], "ordinal").value)
        from heartfelt.stats.ratings import as_ratings

        ratings = as_ratings(rater[kept], unit[kept], value[kept])
        assert made["ceiling"] == pytest.approx(number_ceiling(ratings, None, "correlation", 0.95, 0).value)
        assert 0 < made["icc1k_width"] < 1

    def test_what_cannot_be_computed_is_not_a_number(self) -> None:
        two, zeros = np.array([0, 1]), np.zeros(2, np.int64)
        incidence = Incidence(rater=two, unit=zeros, position=zeros, raters=2, left=0, turned_away=0, first=zeros)
        made = real_figures(incidence, np.array([3.0, 5.0]), np.zeros(2, np.bool_), 2)
        assert all(np.isnan(number) for name, number in made.items() if name != "alpha_ordinal")
