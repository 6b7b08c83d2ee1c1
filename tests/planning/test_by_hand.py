"""Parts of plans with values worked out by hand or from the distributions they draw from."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import beta, chi2, norm

from heartfelt.errors import InputError
from heartfelt.planning.forecasts import PILOT, mean_share, open_share, share_estimate
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.builtin import BUILT_IN
from heartfelt.planning.pilots.latent import Components
from heartfelt.planning.pilots.pilot import Pilot
from heartfelt.planning.pilots.statistics import taste_variance
from heartfelt.planning.pilots.uncertainty import (
    Freedom,
    effect_draws,
    effect_error,
    fixed_draws,
    freedom_of,
    harmonic_mean,
    level_draws,
    variance_draws,
)
from heartfelt.planning.plan import with_taste
from heartfelt.planning.search import affordable, first_reaching, price, with_ratings
from heartfelt.planning.simulated.comparison import (
    drawn_choices,
    pairs_freedom,
    strength_variance,
    tie_share,
    tie_widths,
)
from heartfelt.planning.simulated.design import PlannedDesign, StimulusTable, StudyContents
from heartfelt.planning.simulated.incidence import AssignedUnits, Incidence, assign
from heartfelt.planning.simulated.power import bar_for, chances, difference_weights, expected_errors, power_draws
from heartfelt.planning.simulated.reliability import carried_over, enough
from heartfelt.planning.simulated.simulation import (
    attentive_share,
    draw_people,
    mean_where,
    model_errors,
    settles,
    wanted_pairs,
)

MANY = 20_000
SURE = Freedom(
    stimuli=np.inf,
    ratings_per_stimulus=4.0,
    raters=np.inf,
    ratings_per_rater=12.0,
    tastes=np.inf,
    ratings_per_taste=3.0,
    residual=np.inf,
)
PARTS = Components(system=0.0, intent=0.0, cell=0.0, stimulus=0.5, rater=0.6, residual=1.2, gain=0.1, taste=0.2)


def sure_but(name: str, df: float) -> Freedom:
    changes: dict[str, Any] = {name: df}
    return replace(SURE, **changes)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class TestVariances:
    def test_what_is_known_exactly_stays(self) -> None:
        rows = variance_draws(PARTS, SURE, 3, rng())
        np.testing.assert_allclose(rows, np.tile(PARTS.as_array, (3, 1)), atol=1e-12)

    @pytest.mark.parametrize("column", [3, 4, 5, 7])
    def test_a_mean_square_is_drawn_as_its_degrees_of_freedom_over_a_chi_square(self, column: int) -> None:
        name = {3: "stimuli", 4: "raters", 5: "residual", 7: "tastes"}[column]
        parts = Components(
            system=0,
            intent=0,
            cell=0,
            stimulus=1.0,
            rater=1.0,
            residual=1e-9,
            gain=0,
            taste=0.0 if column == 4 else 1.0,
        )
        if column == 5:
            parts = Components(system=0, intent=0, cell=0, stimulus=0, rater=0, residual=1.0, gain=0, taste=0)
        rows = variance_draws(parts, sure_but(name, 10.0), MANY, rng())
        assert np.quantile(rows[:, column], [0.05, 0.5, 0.95]) == pytest.approx(
            10.0 / chi2.ppf([0.95, 0.5, 0.05], 11), rel=0.03
        )

    @pytest.mark.parametrize(("column", "name", "per"), [(3, "stimuli", 4.0), (7, "tastes", 3.0), (4, "raters", 12.0)])
    def test_an_estimate_of_zero_stays_open_upwards(self, column: int, name: str, per: float) -> None:
        parts = Components(system=0, intent=0, cell=0, stimulus=0, rater=0, residual=1.2, gain=0, taste=0)
        drawn = variance_draws(parts, sure_but(name, 8.0), MANY, rng())[:, column]
        assert np.mean(drawn == 0.0) == pytest.approx(chi2.sf(8.0, 9), abs=0.01)
        assert np.quantile(drawn, 0.975) == pytest.approx((8.0 / chi2.ppf(0.025, 9) - 1.0) * 1.2 / per, rel=0.05)

    def test_raters_differ_beyond_their_tastes_and_noise(self) -> None:
        """The mean square of a rater is 12 x 0.6 + 3 x 0.2 + 1.2 = 9; drawn tastes and noise are taken off."""
        drawn = variance_draws(PARTS, replace(SURE, raters=10.0), MANY, rng())[:, 4]
        assert np.median(drawn) == pytest.approx((9.0 * 10.0 / chi2.ppf(0.5, 11) - 1.8) / 12.0, rel=0.02)

    def test_gains_are_as_open_as_raters(self) -> None:
        drawn = variance_draws(PARTS, replace(SURE, raters=10.0), MANY, rng())[:, 6]
        assert np.median(drawn) == pytest.approx(1.0 / chi2.ppf(0.5, 11), rel=0.02)

    def test_stated_tastes_are_not_open(self) -> None:
        known = replace(BUILT_IN["mos"].questions["quality"], freedom=replace(SURE, tastes=5.0, residual=5.0))
        stated = with_taste(known, 0.3)
        rows = stated.draws(50, rng())
        np.testing.assert_allclose(rows[:, 7], 0.3)
        assert rows[:, 5].std() > 0
        assert stated.components.residual == pytest.approx(0.582 + 0.110 - 0.3)
        assert with_taste(known, 5.0).components.residual == pytest.approx(0.05 * known.components.total)

    def test_levels_that_stay_keep_their_variance_on_average(self) -> None:
        drawn = fixed_draws(0.5, 4, 0.1, MANY, rng())
        assert drawn.mean() == pytest.approx(0.5, rel=0.01)
        # Noncentral: two times the squared noise and four times noise times signal, over three degrees of freedom.
        kept = 0.5 / 0.6
        noise, signal = kept * 0.1, kept * 0.5
        assert drawn.var() == pytest.approx((2 * noise**2 + 4 * noise * signal) / 3, rel=0.06)
        for arguments in ((0.5, 1, 0.1), (0.0, 4, 0.1), (0.5, 4, 0.0)):
            assert fixed_draws(*arguments, 3, rng()).tolist() == [arguments[0]] * 3
        rows = variance_draws(
            Components(system=0.4, intent=0.5, cell=0.6, stimulus=0, rater=0, residual=1, gain=0, taste=0),
            replace(SURE, fixed=((3, 0.1), (4, 0.2), (12, 0.3))),
            MANY,
            rng(),
        )
        assert rows[:, :3].mean(axis=0) == pytest.approx([0.4, 0.5, 0.6], rel=0.03)
        assert (rows[:, :3].std(axis=0) > 0.05).all()

    def test_the_general_level_is_known_as_well_as_raters_stimuli_and_ratings_say(self) -> None:
        rows = np.tile(PARTS.as_array, (MANY, 1))
        drawn = level_draws(rows, replace(SURE, levels=(10, 20, 100)), rng())
        assert drawn.std() == pytest.approx(np.sqrt(0.6 / 10 + 0.5 / 20 + 1.2 / 100), rel=0.02)

    def test_degrees_of_freedom_by_counting(self) -> None:
        """Six raters rate two stimuli of each of two systems, one rater only those of the first."""
        rows = [(f"r{r}", f"{s}{k}", s) for r in range(6) for s in "AB" for k in (1, 2) if not (r == 5 and s == "B")]
        table = pl.DataFrame(rows, schema=["rater", "stimulus", "system"], orient="row")
        made = freedom_of(table, ((2, 0.1), (1, 0.0), (2, 0.2)))
        assert (made.stimuli, made.raters, made.tastes) == (4 - 2, 6 - 1, 11 - 6 - 2 + 1)
        assert made.residual == min(22 - 2 - 2 - 5 - 4, 5), "raters differ in their noise"
        assert made.ratings_per_taste == pytest.approx(2.0)
        assert made.ratings_per_rater == pytest.approx(6 / (5 / 4 + 1 / 2))
        assert made.ratings_per_stimulus == pytest.approx(4 / (2 / 6 + 2 / 5))
        assert made.levels == (6, 4, 22)
        assert made.varies
        assert not pairs_freedom(5, 9).varies
        assert pairs_freedom(5, 9).stimuli == 4
        few = freedom_of(table.head(2), ((1, 0.0), (1, 0.0), (2, 0.0)))
        assert (few.stimuli, few.raters, few.tastes, few.residual) == (1, 1, 1, 1)
        assert harmonic_mean(np.array([1, 2])) == pytest.approx(4 / 3)

    def test_the_noise_of_one_effect_is_half_that_of_a_difference(self) -> None:
        assert effect_error(np.eye(3) * 0.2) == pytest.approx(0.2)
        assert effect_error(np.array([[0.3, 0.1], [0.1, 0.5]])) == pytest.approx((0.3 + 0.5 - 0.2) / 2)
        assert effect_error(np.eye(1)) == 0.0


class TestEffects:
    def test_up_to_three_systems_are_not_shrunk_and_have_tails(self) -> None:
        effects, noise = np.array([0.5, 0.1, -0.6]), 0.06 * np.eye(3)
        drawn = effect_draws(effects, noise, 6.0, MANY, rng())
        assert drawn.mean(axis=0) == pytest.approx(effects, abs=0.01)
        assert np.abs(drawn.sum(axis=1)).max() < 1e-9
        # Student's t with six degrees of freedom: the variance is a half more, and 1% lie beyond 3.14 errors.
        apart = drawn[:, 0] - drawn[:, 1] - 0.4
        assert apart.var() == pytest.approx(0.12 * 6 / 4, rel=0.06)
        assert np.mean(apart > 3.143 * np.sqrt(0.12)) == pytest.approx(0.01, abs=0.003)

    def test_many_systems_that_hardly_differ_are_shrunk(self) -> None:
        effects = np.array([0.5, -0.5, 0.5, -0.5, 0.5, -0.5])
        noise = 0.25 * np.eye(6)
        # 3 x .25 of noise over a sum of squares of 1.5: half is taken.
        drawn = effect_draws(effects, noise, 1e6, MANY, rng())
        assert drawn.mean(axis=0) == pytest.approx(effects / 2, abs=0.02)
        # Morris: 5 x .25 x (1 - .5 x 4/6), and twice the squares of what was taken, over five.
        assert drawn.var(axis=0).sum() == pytest.approx(5 * 0.25 * (1 - 0.5 * 4 / 6) + 2 * 0.25 * 1.5 / 5, rel=0.03)
        assert effect_draws(effects, 9 * noise, 1e6, 200, rng()).mean(axis=0) == pytest.approx(np.zeros(6), abs=0.4)
        assert np.isfinite(effect_draws(np.zeros(5), np.eye(5), 9.0, 10, rng())).all()

    def test_a_shift_that_all_share_is_no_effect(self) -> None:
        noise = 0.05 * np.eye(3)
        one, other = (effect_draws(np.array([0.5, 0.1, -0.6]) + up, noise, 9.0, 50, rng()) for up in (0, 3))
        np.testing.assert_allclose(one, other)


def test_the_careless_share_has_jeffreys_prior() -> None:
    pilot = Pilot(source="p", questions={}, careless=0.2, dropout=0.0, raters=20, careless_raters=4)
    drawn = pilot.shares(MANY, rng())
    known = beta(4.5, 16.5)
    assert np.quantile(drawn, [0.05, 0.5, 0.95]) == pytest.approx(known.ppf([0.05, 0.5, 0.95]), rel=0.03)
    assert Pilot(source="p", questions={}, careless=0.2, dropout=0.0, raters=20).shares(2, rng()).tolist() == [0.2, 0.2]


class TestPower:
    def test_weights_of_a_complete_design(self) -> None:
        """Two raters rate two stimuli of each of two systems: every rating weighs a quarter."""
        rater, stimulus = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
        weights = difference_weights(rater, stimulus, np.array([0, 0, 1, 1]), 2)
        assert weights.tolist() == [[0, 0, 0, 1.0, 0.0, 0.5, 0, 1.0]]

    def test_weights_of_raters_of_one_system_each(self) -> None:
        """Rater 0 rates the two stimuli of A, rater 1 the one of B; a stimulus that nobody rated does not count."""
        weights = difference_weights(np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([0, 0, 1, 1]), 2)
        assert weights[0, 3] == pytest.approx(1 / 2 + 1)
        assert weights[0, 4] == pytest.approx(1 + 1)
        assert weights[0, 5] == pytest.approx(2 / 4 + 1)
        assert weights[0, 7] == pytest.approx(2.0)

    def test_weights_of_three_systems_are_pair_by_pair(self) -> None:
        weights = difference_weights(np.zeros(6, np.int64), np.arange(6), np.array([0, 1, 1, 2, 2, 2]), 3)
        assert weights[:, 3] == pytest.approx([1 + 1 / 2, 1 + 1 / 3, 1 / 2 + 1 / 3])

    def test_errors_follow_the_parameters_and_agree_on_average(self) -> None:
        made = expected_errors(np.array([[1.0], [4.0]]), np.array([[2.0], [3.0]]))
        assert np.square(made).mean() == pytest.approx((4 + 9) / 2)
        assert made[1, 0] / made[0, 0] == pytest.approx(2.0)
        assert np.isnan(expected_errors(np.ones((2, 1)), np.full((2, 1), np.nan))).all()

    def test_the_bar_of_a_plain_test(self) -> None:
        assert chances(np.array([0.0]), 1.959964) == pytest.approx(0.05, abs=1e-6)
        assert bar_for(np.array([2.8]), 0.8) == pytest.approx(2.8 - norm.ppf(0.8), abs=1e-4)

    def test_powers_have_the_share_that_was_detected_as_their_mean(self) -> None:
        ratio = np.array([[1.5, 9.0], [3.0, 9.0]] * 300)
        detected = (rng(1).random((600, 2)) < 0.5).astype(np.float64)
        wanted = np.tile([True, False], (600, 1))
        made = power_draws(ratio, detected, wanted, rng())
        assert np.isnan(made[:, 1]).all()
        assert made[:, 0].mean() == pytest.approx(detected[:, 0].mean(), abs=0.01)
        low, high = made[::2, 0].mean(), made[1::2, 0].mean()
        bar = bar_for(ratio[:, 0], float(detected[:, 0].mean()))
        assert (low, high) == pytest.approx((norm.cdf(1.5 - bar), norm.cdf(3.0 - bar)), abs=0.02)
        # Between parameters powers differ, within them only by the Monte Carlo error: sqrt(.25 / 600) = .02.
        assert made[::2, 0].std() == pytest.approx(np.sqrt(0.25 / 600), rel=0.4)
        assert np.isnan(power_draws(ratio, detected, np.zeros_like(wanted), rng())).all()

    def test_a_share_of_all_or_none_leaves_room(self) -> None:
        ratio, wanted = np.full((100, 1), 3.0), np.ones((100, 1), np.bool_)
        assert 0.98 < power_draws(ratio, np.ones((100, 1)), wanted, rng()).mean() < 1.0
        assert 0.0 < power_draws(ratio, np.zeros((100, 1)), wanted, rng()).mean() < 0.02

    def test_the_interval_holds_what_is_open(self) -> None:
        shares, powers = np.array([0.0, 1.0] * 50), np.linspace(0.2, 0.8, 101)
        made = open_share(shares, powers, "power")
        assert (made.value, made.low, made.high) == pytest.approx((0.5, 0.215, 0.785))
        assert made.interval == PILOT
        assert open_share(shares, None, "power").interval == "Monte Carlo"
        assert open_share(shares, np.full(3, np.nan), "power").interval == "Monte Carlo"
        beside = open_share(shares, np.array([0.7, 0.8]), "power")
        assert beside.low == 0.5, "the middle lies within"

    def test_monte_carlo_intervals(self) -> None:
        made = mean_share(np.array([0.0, 1.0, 1.0, 1.0, np.nan]), "power")
        assert made.value == 0.75
        assert made.counts == {"studies": 4}
        assert (made.low, made.high) == pytest.approx((0.75 - 1.959964 * 0.25, 1.0))
        wilson = share_estimate(8, 10, "share")
        assert (wilson.low, wilson.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
        assert mean_share(np.ones(10), "power").low == pytest.approx(1 / (1 + 1.959964**2 / 10), abs=1e-6)
        assert share_estimate(0, 0, "share").is_missing
        assert mean_share(np.array([np.nan]), "power").is_missing


class TestTests:
    def test_tastes_widen_a_difference(self) -> None:
        """Four raters move the difference of two systems by +-1, which is a jackknife variance of 3, less .5 of noise."""
        parts = np.zeros((2, 6))
        parts[:, 4] = 0.25
        moves = np.array([[1.0, -1.0, 1.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
        assert taste_variance(parts, moves) == pytest.approx((3 / 4 * 4 - 0.5, 3.0))
        assert taste_variance(parts, moves[:, :2]) == (0.0, 1.0)
        assert taste_variance(parts[:1], moves[:1]) == (0.0, 1.0)
        head = np.full(10, np.nan)
        head[6], head[7] = 0.5, 20.0
        error, free = model_errors(head, np.diag([1.0, 2.0]), parts, moves)
        assert error[0] == pytest.approx(np.sqrt(1.5 + 2.5))
        assert free[0] == pytest.approx(16 / (1.5**2 / 20 + 2.5**2 / 3))
        alone = np.array([[0.0, 1.0, np.nan, 2.0], [np.nan, 1.0, 0.0, 0.0]])
        assert taste_variance(np.zeros((2, 6)), alone)[0] == pytest.approx(3 / 4 * (0 + 0 + 0 + 4 - 4 / 4))

    def test_which_pairs_are_wanted(self) -> None:
        planted = np.array([[0.5, -0.5, 0.0], [1.0, 0.3, 0.5]])
        assert wanted_pairs(planted, PlanOptions(effect=0.5)).tolist() == [[True, True, False], [False, False, True]]
        assert wanted_pairs(planted, PlanOptions()).tolist() == [[True, True, False], [True] * 3]

    def test_means_of_what_is_chosen(self) -> None:
        values = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, 0.0]])
        chosen = np.array([[True, True, True], [False, False, False]])
        made = mean_where(values, chosen)
        assert made[0] == 0.5
        assert np.isnan(made[1])
        assert np.isnan(mean_where(np.zeros((2, 0)), np.zeros((2, 0), np.bool_))).all()

    def test_studies_are_simulated_until_the_power_is_known(self) -> None:
        sure, unsure = [np.ones(1)] * 400, [np.array([float(k % 2)]) for k in range(400)]
        wanted = np.ones((1000, 1), np.bool_)
        assert settles(200, 100, sure[:200], wanted)
        assert not settles(100, 100, sure[:100], wanted), "at least 200"
        assert not settles(250, 100, sure[:250], wanted), "looked at every hundred"
        assert not settles(400, 100, unsure, wanted), "an error of .025"
        assert settles(400, 3000, unsure, wanted), "1.2 million ratings are enough"
        assert not settles(400, 2999, unsure, wanted)
        assert settles(200, 10, [np.array([np.nan])] * 200, wanted)

    def test_careless_raters_dilute_what_is_left_after_screening(self) -> None:
        incidence = Incidence(
            rater=np.array([0, 0, 1, 2]),
            unit=np.zeros(4, np.int64),
            position=np.zeros(4, np.int64),
            raters=3,
            left=0,
            turned_away=0,
            first=np.zeros(4, np.int64),
        )
        careless, dropped = np.array([False, True, False]), np.array([False, False, True])
        assert attentive_share(incidence, ([careless], [dropped]), 0) == pytest.approx(2 / 3)
        assert attentive_share(incidence, ([careless], [np.ones(3, np.bool_)]), 0) == 1.0

    def test_as_many_are_careless_as_the_share_says(self) -> None:
        incidence = assign(AssignedUnits((), 10), 4, 4, 10, 0.0, 1)
        careless, dropped = draw_people([incidence], np.full(400, 0.25), (1.0, 0.0), rng())
        counts = [int(who.sum()) for who in careless]
        assert set(counts) == {2, 3}
        assert np.mean(counts) == pytest.approx(2.5, abs=0.1)
        assert all((one == other).all() for one, other in zip(careless, dropped, strict=True))


class TestReliability:
    figures = {  # noqa: RUF012  # read only
        "icc1": np.array([0.2, 0.3, 0.4, -0.1]),
        "icc1k": np.array([0.5, 0.6, 0.8, -0.5]),
        "alpha": np.array([0.2, 0.3, 0.4, 0.1]),
    }

    def test_odds_are_carried_over(self) -> None:
        """Odds of ICC(1,k) are 1, 1.5 and 4; the real ones twice that, in the two studies that were seen."""
        real = {
            "icc2k": np.array([2 / 3, 3 / 4]),
            "ceiling": np.sqrt([2 / 3, 3 / 4]),
            "icc2": np.array([0.2, 0.3]),
            "alpha_ordinal": np.array([0.25, 0.37]),
            "icc1k_width": np.array([0.1, 0.2]),
        }
        made = carried_over(real, self.figures)
        assert made["icc2k"] == pytest.approx([2 / 3, 3 / 4, 8 / 9, 0.0])
        assert made["ceiling"] == pytest.approx(np.sqrt([2 / 3, 3 / 4, 8 / 9, 0.0]))
        assert made["icc2"] == pytest.approx([0.2, 0.3, 0.4, 0.0])
        assert made["alpha_ordinal"] == pytest.approx(self.figures["alpha"] + 0.06)
        assert made["icc1k_width"].tolist() == [0.1, 0.2]
        unknown = carried_over({"icc2k": np.array([np.nan])}, self.figures)
        assert np.isnan(unknown["icc2k"]).all()

    def test_the_real_functions_see_as_many_studies_as_their_error_asks_for(self) -> None:
        figures = {"icc1k": np.full(60, 0.5)}
        steady, shaky = [0.6] * 60, [0.5, 0.9] * 30

        def done(numbers: list[float], ratings: int = 100) -> bool:
            return enough({"icc2k": numbers, "ceiling": [0.8] * len(numbers)}, figures, ratings)

        assert not enough({}, figures, 100)
        assert not done(steady[:7])
        assert done(steady[:8])
        assert not done(shaky[:8])
        assert not done(shaky[:47])
        assert done(shaky[:48])
        assert done(shaky[:8], 5000), "40,000 ratings"
        assert not done(shaky[:8], 4999)


class TestComparisons:
    def layout(self) -> tuple[StimulusTable, Incidence]:
        many = 4000
        layout = StimulusTable(
            system=np.array([0, 1]),
            intent=np.zeros(2, np.int64),
            units=AssignedUnits((), 1),
            first=np.array([0]),
            second=np.array([1]),
        )
        zeros = np.zeros(many, np.int64)
        return layout, Incidence(
            rater=np.arange(many) % 40, unit=zeros, position=zeros, raters=40, left=0, turned_away=0, first=zeros
        )

    @pytest.mark.parametrize(("gap", "ties"), [(0.0, 0.28), (6.0, 0.01)])
    def test_ties_come_where_differences_are_small(self, gap: float, ties: float) -> None:
        """Between equals, with an advantage of .1: F(.6 - .1) - F(-.6 - .1) of the logistic distribution."""
        known = replace(BUILT_IN["mos"].questions["quality"], scale=BUILT_IN["mos"].questions["quality"].scale)
        known = replace(known, scale=replace(known.scale, values=(0.0, 0.5, 1.0), shares=(0.4, 0.2, 0.4)))
        layout, incidence = self.layout()
        first, second, value = drawn_choices(layout, incidence, known, np.array([gap, 0.0]), 0.0, rng())
        assert set(first.tolist()) == {0}
        assert set(second.tolist()) == {1}
        assert np.mean(value == 0.5) == pytest.approx(expit(0.5 - gap) - expit(-0.7 - gap), abs=0.02)
        assert np.mean(value == 0.5) == pytest.approx(ties, abs=0.03)
        assert np.mean(value == 1.0) == pytest.approx(1 - expit(0.5 - gap), abs=0.02)
        _, _, wide = drawn_choices(layout, incidence, known, np.array([gap, 0.0]), 0.0, rng(), 50.0)
        assert set(wide.tolist()) == {0.5}

    def test_careless_raters_choose_at_random(self) -> None:
        known = replace(BUILT_IN["presence"].questions["presence"])
        layout, incidence = self.layout()
        _, _, value = drawn_choices(layout, incidence, known, np.array([9.0, 0.0]), 0.5, rng())
        assert value.mean() == pytest.approx(0.75, abs=0.03)

    def test_the_noise_of_strengths_is_taken_off(self) -> None:
        """Variance 1 of three strengths, noise with a trace of .8 over two degrees of freedom."""
        assert strength_variance(np.array([-1.0, 0.0, 1.0]), np.diag([0.2, 0.2, 0.4])) == pytest.approx(0.6)
        assert strength_variance(np.array([-0.1, 0.0, 0.1]), np.eye(3)) == 0.0

    def test_ties_of_a_pilot(self) -> None:
        pairs = pl.DataFrame({"rater": ["a"] * 4 + ["b"] * 4, "value": [0.5, 0.5, 0, 1, 0.5, 0, 0, 1]})
        assert tie_share(pairs) == pytest.approx((0.375, 0.125))
        assert tie_share(pairs.head(4)) == pytest.approx((0.5, 0.125))
        known = replace(BUILT_IN["mos"].questions["quality"], ties=(0.5, 0.0))
        assert tie_widths(known, 2, rng()) == pytest.approx([np.log(3.0)] * 2)
        assert tie_widths(replace(known, ties=None), 2, rng()).tolist() == [0.6, 0.6]
        wide = tie_widths(replace(known, ties=(0.5, 0.1)), MANY, rng())
        assert np.quantile(wide, 0.975) == pytest.approx(np.log(1.696 / 0.304), rel=0.03)


def test_people_for_whom_nothing_is_left_are_counted() -> None:
    """Two units wanted once each: whoever comes third gets nothing."""
    incidence = assign(AssignedUnits((), 2), 1, 1, 5, 0.0, 3)
    assert incidence.raters == 2
    assert incidence.turned_away == 3
    assert incidence.left == 0
    everybody = assign(AssignedUnits((), 4), 5, 4, 5, 0.0, 3)
    assert (everybody.turned_away, everybody.rater.size) == (0, 20)


SYSTEMS, INTENTS = ("A", "B"), ("calm", "happy")
MATERIAL = StudyContents(
    systems=SYSTEMS,
    intents=INTENTS,
    system=np.repeat([0, 1], 6),
    intent=np.tile(np.repeat([0, 1], 3), 2),
    distinct=(),
    per_rater=6,
    ratings=4,
    minimum=2,
)
PAID = PlanOptions(pay_per_hour=12.0, fee=0.25, overhead_minutes=3.0, afford=40.0, effect=0.5)


class Forecasted:
    """As much of a forecast as the search looks at."""

    def __init__(self, design: PlannedDesign, power: float) -> None:
        self.design, self.power = design, power


class TestSearch:
    def test_time_and_cost_by_hand(self) -> None:
        design = PlannedDesign(
            systems=SYSTEMS, intents=INTENTS, clips=3.0, stimuli=12, ratings=4, per_rater=6, raters=8
        )
        # Eight raters of 3 + 6 x 20 s = 5 minutes, paid 12 an hour and a quarter on top.
        taken = price(design, PAID, 20.0, 40)
        assert taken.minutes_per_rater == pytest.approx(5.0)
        assert taken.cost_at_most == pytest.approx(8 * 5 / 60 * 12 * 1.25)
        assert taken.hours == pytest.approx((8 * 3 + 40 / 3) / 60)
        assert taken.cost == pytest.approx(taken.hours * 12 * 1.25)
        per_trial = price(design, PlanOptions(pay_per_rating=0.1), 20.0, 40)
        assert (per_trial.cost, per_trial.cost_at_most) == pytest.approx((4.0, 4.8))
        assert price(design, PlanOptions(), 20.0, 40).cost_at_most is None

    @pytest.mark.parametrize("budget", [3.0, 10.0, 11.24, 11.25, 40.0, 77.7, 400.0])
    def test_the_budget_pays_the_most_ratings_and_no_more(self, budget: float) -> None:
        options = replace(PAID, afford=budget)
        made = affordable(MATERIAL, options, 0.0, 20.0)

        def cost(ratings: int) -> float:
            # Twelve clips, six trials each: two raters for every rating per clip.
            return 2 * ratings * 5 / 60 * 12 * 1.25

        if made is None:
            assert cost(1) > budget
            return
        assert made.stimuli == 12
        assert made.raters == max(2 * made.ratings, made.ratings)
        assert cost(made.ratings) <= budget < cost(made.ratings + 1)

    def test_no_budget_and_no_stimuli(self) -> None:
        assert affordable(MATERIAL, PlanOptions(), 0.0, 20.0) is None
        none = replace(MATERIAL, system=np.zeros(0, np.int64), intent=np.zeros(0, np.int64))
        assert affordable(none, PAID, 0.0, 20.0) is None

    def looked(self, power: Any, tried: tuple[int, ...] = (4, 8)) -> list[Any]:
        forecasts: Any = [
            Forecasted(with_ratings(MATERIAL, PAID, 0.0, k), power(with_ratings(MATERIAL, PAID, 0.0, k))) for k in tried
        ]

        def forecast(design: PlannedDesign) -> Any:
            return Forecasted(design, power(design))

        return list(first_reaching(MATERIAL, PAID, 0.0, forecasts, forecast))

    @pytest.mark.parametrize("needed", [9, 12, 13, 17, 30, 32])
    def test_the_first_number_of_ratings_that_is_enough(self, needed: int) -> None:
        made = self.looked(lambda design: 0.9 if design.ratings >= needed else 0.5)
        assert made[-1].power >= 0.8
        assert needed <= made[-1].design.ratings <= needed + max(1, needed // 10)
        assert all(each.design.stimuli == 12 for each in made)
        assert len(made) <= 8
        ends = [each.design.ratings for each in made]
        assert len(set(ends)) == len(ends)

    def test_more_clips_where_no_number_of_ratings_is_enough(self) -> None:
        made = self.looked(lambda design: 0.9 if design.stimuli >= 30 else 0.5)
        assert [each.design.stimuli for each in made] == [12, 20, 24, 36]
        assert made[0].design.ratings == 32
        assert all(low.design.stimuli < high.design.stimuli for low, high in pairwise(made))
        never = self.looked(lambda _: 0.5)
        assert max(each.design.stimuli for each in never) == 96

    def test_nothing_is_looked_for_where_it_was_reached(self) -> None:
        assert self.looked(lambda _: 0.8) == []
        alone = replace(MATERIAL, systems=("A",), system=np.zeros(12, np.int64))
        assert first_reaching(alone, PAID, 0.0, [], lambda _: pytest.fail("simulated")) == []


def test_effects_and_shares_that_make_no_sense_are_refused() -> None:
    for wrong in ({"tastes": -1.0}, {"smallest_effect": 0.0}, {"dropout": 1.0}, {"fee": -0.1}, {"power": 1.0}):
        with pytest.raises(InputError):
            PlanOptions(**wrong)  # type: ignore[arg-type]  # wrong on purpose
