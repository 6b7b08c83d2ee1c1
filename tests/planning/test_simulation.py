"""The fast simulation against the real assignment, the real analysis and known answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.collect.options import SimulationOptions
from heartfelt.collect.simulation import simulate_collection
from heartfelt.planning.forecasts import question_forecast
from heartfelt.planning.options import PlanOptions
from heartfelt.planning.pilots.builtin import BUILT_IN
from heartfelt.planning.pilots.latent import Components, ScaleUse, latent_parts, latent_total
from heartfelt.planning.pilots.pilot import estimate_pilot, fit_components, rating_table
from heartfelt.planning.pilots.statistics import statistics
from heartfelt.planning.plan import with_taste
from heartfelt.planning.simulated.design import PlannedDesign, StudyContents, layout_of, standardised
from heartfelt.planning.simulated.incidence import AssignedUnits, assign
from heartfelt.planning.simulated.rehearsed import rehearse
from heartfelt.planning.simulated.simulation import (
    FIGURES,
    interval_width,
    model_errors,
    simulate_design,
    system_pairs,
    tukey_pairs,
)
from heartfelt.stats.inference import mixed_model
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study

SYSTEMS, INTENTS = ("A", "B", "C"), ("calm", "happy", "sad", "tense")


def material(per_cell: int = 4, minimum: int = 2) -> StudyContents:
    system = np.repeat(np.arange(3), 4 * per_cell)
    intent = np.tile(np.repeat(np.arange(4), per_cell), 3)
    return StudyContents(
        systems=SYSTEMS,
        intents=INTENTS,
        system=system,
        intent=intent,
        distinct=("system", "intent"),
        per_rater=12,
        ratings=5,
        minimum=minimum,
    )


def design(raters: int = 20, ratings: int = 5, per_cell: int = 4) -> PlannedDesign:
    return PlannedDesign(
        systems=SYSTEMS,
        intents=INTENTS,
        clips=per_cell,
        stimuli=12 * per_cell,
        ratings=ratings,
        per_rater=12,
        raters=raters,
        own=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("minimum", [1, 4])
def test_the_fast_figures_are_those_of_the_analysis(minimum: int) -> None:
    """Kernel figures on one simulated study equal what ``heartfelt.analysis`` reports of the same snapshot."""
    about = material(minimum=minimum)
    layout = layout_of(about, design())
    incidence = assign(layout.units, 5, 12, 17, 0.2, 3)
    rehearsed = rehearse(layout, incidence, BUILT_IN["aimoclips"], about, PlanOptions(), np.random.default_rng(5))
    summary = analyze(rehearsed.snapshot, AnalyzeOptions(resamples=100)).summary
    nobody = np.zeros(incidence.raters, np.bool_)
    for name, value in rehearsed.values.items():
        head, parts, effects, cover, _, _ = statistics(
            incidence.rater, incidence.unit, value, nobody, layout.system, layout.intent, 3, 4, minimum
        )
        known = dict(zip(FIGURES, head.tolist(), strict=True))
        assert summary.reliability is not None
        assert summary.anova is not None
        assert summary.pairwise is not None
        real = summary.reliability[name]
        assert known["alpha"] == pytest.approx(float(real.alpha_interval), abs=1e-9)
        assert known["icc1"] == pytest.approx(float(real.icc1), abs=1e-9)
        assert known["icc1k"] == pytest.approx(float(real.icc1k), abs=1e-9)
        tests = {each.effect: each for each in summary.anova if each.outcome == name}
        assert known["f_systems"] == pytest.approx(tests["system"].f, rel=1e-9)
        assert known["f_intents"] == pytest.approx(tests["intent"].f, rel=1e-9)
        assert tests["system"].df == (2, known["residual_df"])
        pairs = [
            pair
            for pair in summary.pairwise
            if pair.outcome == name and pair.method == "Tukey-Kramer, adjusted means" and pair.factor == "system"
        ]
        detected, width = tukey_pairs(effects[:3], cover, head)
        assert detected.tolist() == [float(bool(pair.significant)) for pair in pairs]
        widths = [(pair.difference.high or 0) - (pair.difference.low or 0) for pair in pairs]
        assert width == pytest.approx(float(np.mean(widths)), rel=1e-9)
        means = [row.means.mean for row in summary.systems or () if row.question == name]
        spans = [(each.high or 0) - (each.low or 0) for each in means]
        assert interval_width(parts) == pytest.approx(float(np.mean(spans)), rel=1e-6)


def test_dropped_raters_count_as_if_they_had_never_come() -> None:
    about = material()
    layout = layout_of(about, design())
    incidence = assign(layout.units, 5, 12, 20, 0.0, 1)
    value = np.random.default_rng(2).integers(1, 10, incidence.rater.size).astype(np.float64)
    dropped = np.zeros(incidence.raters, np.bool_)
    dropped[::3] = True
    keep = ~dropped[incidence.rater]
    whole = statistics(incidence.rater, incidence.unit, value, dropped, layout.system, layout.intent, 3, 4, 2)
    _, codes = np.unique(incidence.rater[keep], return_inverse=True)
    nobody = np.zeros(int(codes.max()) + 1, np.bool_)
    part = statistics(codes, incidence.unit[keep], value[keep], nobody, layout.system, layout.intent, 3, 4, 2)
    for one, other in zip(whole[:-1], part[:-1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert np.isnan(whole[-1][:, dropped]).all()
    np.testing.assert_allclose(whole[-1][:, ~dropped], part[-1], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_assignment_in_memory_spreads_ratings_like_a_collection(tmp_path: Path, dropout: float) -> None:
    folder = tmp_path / "study"
    made = start_study("aimoclips", folder, StarterOptions(per_cell=1, media=False, seed=None))
    raters = 18
    real = simulate_collection(folder, SimulationOptions(raters=raters, trials=16, dropout=dropout))
    cells = made.stimuli.select(pl.struct("system", "intent").rank("dense") - 1).to_series().to_list()
    counts = []
    for seed in range(4):
        incidence = assign(AssignedUnits(cells, len(cells)), 6, 16, raters, dropout, seed)
        counts.append(np.bincount(incidence.unit, minlength=len(cells)))
        assert incidence.position.max() <= 16
        pairs = np.column_stack([incidence.rater, incidence.unit])
        assert len(np.unique(pairs, axis=0)) == len(pairs), "nobody rates a stimulus twice"
    ratings = [count.sum() for count in counts]
    assert max(count.max() - count.min() for count in counts) <= max(real.max - real.min, 1) + 1
    if dropout == 0.0:
        assert set(ratings) == {real.ratings} == {raters * 16}
    else:
        assert 0.7 * raters * 16 < np.mean(ratings) < raters * 16


def test_cuts_give_the_shares_and_the_latent_correlation_is_inverted() -> None:
    rng = np.random.default_rng(1)
    use = ScaleUse((1.0, 2.0, 3.0, 4.0, 5.0), (0.1, 0.3, 0.2, 0.3, 0.1))
    assert use.mean == pytest.approx(3.0)
    wanted = 0.4
    latent = float(use.latent(wanted))
    both = rng.multivariate_normal([0, 0], [[1, latent], [latent, 1]], 400_000)
    answers = np.searchsorted(use.cuts[:-1], both) + 1
    assert np.bincount(answers[:, 0])[1:] / 400_000 == pytest.approx(use.shares, abs=0.004)
    assert float(np.asarray(np.corrcoef(answers.T))[0, 1]) == pytest.approx(wanted, abs=0.006)
    # A median split: 2/pi arcsin(r), the tetrachoric correlation (SOURCE: Sheppard 1899).
    split = ScaleUse((0.0, 1.0), (0.5, 0.5))
    r = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(split.latent(2 / np.pi * np.arcsin(r)), r, atol=2e-4)


def test_a_shift_moves_the_mean_by_so_many_points_and_none_beyond_the_scale() -> None:
    use = BUILT_IN["mos"].questions["quality"].scale
    shifts = use.shift_for(np.array([-0.5, 0.0, 0.5, 4.5]), 0.7)
    means = use.shifted_means(shifts[:3], 0.7)
    assert np.diff(means) == pytest.approx([0.5, 0.5], abs=1e-3)
    assert np.isnan(shifts[3])


def test_latent_parts_add_up_and_gains_take_from_the_residual() -> None:
    pilot = BUILT_IN["aimoclips"].questions["arousal"]
    parts = latent_parts(pilot.scale, pilot.components.as_array[None])[0]
    conveyed = parts[:4].sum()
    assert parts[:6].sum() + parts[7] + parts[6] * conveyed == pytest.approx(latent_total(parts[None])[0])
    assert latent_total(parts[None])[0] == pytest.approx(pilot.components.total / pilot.scale.variance, rel=0.1)
    assert (parts >= 0).all()
    everything = latent_parts(pilot.scale, np.array([[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.5, 0.0]]))[0]
    assert np.isfinite(everything).all()
    assert everything[5] > 0


def test_effects_have_variance_one_whatever_their_arrangement() -> None:
    drawn = standardised(50, 6, np.random.default_rng(0))
    assert drawn.mean(axis=1) == pytest.approx(np.zeros(50), abs=1e-12)
    assert drawn.std(axis=1, ddof=1) == pytest.approx(np.ones(50))
    assert standardised(3, 1, np.random.default_rng(0)).tolist() == [[0.0]] * 3


@pytest.mark.slow
def test_simulated_studies_have_the_planned_components() -> None:
    """Components estimated from simulated studies are those that were planted, on average."""
    wanted = Components(system=0.6, intent=0.5, cell=0.2, stimulus=0.4, rater=0.5, residual=1.5, gain=0.0, taste=0.3)
    use = ScaleUse(tuple(float(k) for k in range(1, 10)), (0.1, 0.1, 0.12, 0.12, 0.12, 0.12, 0.12, 0.1, 0.1))
    scaled = Components.scaled(wanted, use.variance / wanted.total)
    known = replace(BUILT_IN["aimoclips"].questions["valence"], components=scaled, scale=use)
    pilot = replace(BUILT_IN["aimoclips"], questions={"valence": known}, careless=0.0)
    about = material(per_cell=12)
    layout = layout_of(about, design(60, 5, 12))
    rng, estimates = np.random.default_rng(4), []
    incidence = assign(layout.units, 5, 12, 60, 0.0, 1)
    for _ in range(30):
        made = rehearse(layout, incidence, pilot, about, PlanOptions(), rng)
        fitted = fit_components(rating_table(made.snapshot, "valence"))
        assert not isinstance(fitted, str)
        estimates.append(fitted.components.as_array)
    mean = np.mean(estimates, axis=0)
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(30)
    apart = np.abs(mean - scaled.as_array)
    apart[6] = 0.0
    assert (apart < 4 * error + 0.04 * scaled.total).all(), (mean, scaled)


@pytest.mark.slow
def test_a_pilot_gives_back_what_was_planted_with_draws_around_it() -> None:
    about = material(per_cell=8)
    layout = layout_of(about, design(40, 5, 8))
    incidence = assign(layout.units, 5, 12, 40, 0.0, 2)
    pilot = replace(BUILT_IN["aimoclips"], careless=0.0)
    made = rehearse(layout, incidence, pilot, about, PlanOptions(), np.random.default_rng(11))
    known = estimate_pilot(made.snapshot)
    assert known.raters == incidence.raters
    assert set(known.questions) == {"valence", "arousal"}
    rng = np.random.default_rng(0)
    for each in known.questions.values():
        drawn = each.draws(2000, rng)
        assert drawn.shape == (2000, 8)
        assert (drawn >= 0).all()
        middle = np.median(drawn, axis=0)
        assert middle[5] == pytest.approx(each.components.residual, rel=0.15)
        effects = each.system_draws(2000, rng)
        assert effects.shape == (2000, 3)
        assert np.abs(effects.sum(axis=1)).max() < 1e-9
        # Three systems are not shrunk: the draws lie about the estimates.
        assert effects.mean(axis=0) == pytest.approx(list(each.systems.values()), abs=0.1)
    shares = known.shares(2000, rng)
    assert 0 < shares.mean() < 0.3


@pytest.mark.slow
def test_no_difference_gives_false_alarms_at_their_rate() -> None:
    known = BUILT_IN["aimoclips"].questions["valence"]
    none = replace(known, components=replace(known.components, system=0.0))
    pilot = replace(BUILT_IN["aimoclips"], questions={"valence": none}, careless=0.0)
    made = simulate_design(material(), design(), pilot, 0.0, PlanOptions(policy="flag-only"), 400)
    alarms = (made.questions["valence"].detected > 0).any(axis=1).mean()
    assert 0.02 < alarms < 0.09, "the family-wise error rate is .05"
    assert (np.abs(made.questions["valence"].planted) < 1e-9).all()


@pytest.mark.slow
def test_the_planned_power_is_that_of_the_model_of_the_ratings() -> None:
    """Simulated studies, tested by the plan's quick standard errors and by the mixed model the analysis rests on."""
    about = material(per_cell=4)
    layout = layout_of(about, design())
    incidence = assign(layout.units, 5, 12, 20, 0.0, 3)
    known = replace(BUILT_IN["mos"].questions["quality"], question="valence")
    pilot = replace(BUILT_IN["mos"], questions={"valence": known})
    rng, quick, exact, found = np.random.default_rng(8), [], [], []
    nobody = np.zeros(incidence.raters, np.bool_)
    system = np.array(SYSTEMS)[layout.system[incidence.unit]]
    intent = np.array(INTENTS)[layout.intent[incidence.unit]]
    for _ in range(25):
        made = rehearse(layout, incidence, pilot, about, PlanOptions(effect=0.8), rng)
        value = made.values["valence"]
        head, parts, effects, cover, _, moves = statistics(
            incidence.rater, incidence.unit, value, nobody, layout.system, layout.intent, 3, 4, 2
        )
        errors = model_errors(head, cover, parts, moves)
        quick.append(errors)
        found.append(system_pairs(effects[:3], errors)[0].sum())
        random = {
            "rater": incidence.rater, "stimulus": incidence.unit, "taste": incidence.rater * 3 + layout.system[incidence.unit]
        }  # fmt: skip
        fitted = mixed_model(value, {"system": system, "intent": intent}, random, means_of="system")
        assert fitted.pairs is not None
        exact.append(
            [(pair.standard_error or 0.0, pair.df or 0.0, float(bool(pair.significant))) for pair in fitted.pairs.pairs]
        )
    errors, free, significant = np.array(exact).transpose(2, 0, 1)
    assert float(np.mean(np.array(quick)[:, 0])) == pytest.approx(float(np.mean(errors)), rel=0.1)
    assert float(np.mean(np.array(quick)[:, 1])) == pytest.approx(float(np.mean(free)), rel=0.35)
    assert float(np.sum(found)) == pytest.approx(float(significant.sum()), abs=8)


@pytest.mark.slow
def test_tastes_cost_power_and_equivalence_needs_a_margin() -> None:
    about = material()
    pilot = BUILT_IN["aimoclips"]
    found = {}
    for tastes in (0.0, 1.5):
        options = PlanOptions(policy="flag-only", effect=1.0, tastes=tastes, smallest_effect=1.0, studies=20)
        known = replace(pilot, questions={name: with_taste(each, tastes**2) for name, each in pilot.questions.items()})
        made = simulate_design(about, design(), known, 0.0, options, 20)
        found[tastes] = question_forecast("valence", made.questions["valence"], design(), options)
    assert (found[1.5].difference_width.value or 0) > 1.2 * (found[0.0].difference_width.value or 0)
    assert (found[1.5].power.value or 0) < (found[0.0].power.value or 0)
    assert 0 <= (found[1.5].power_equivalence.value or 0) < (found[0.0].power_equivalence.value or 0) <= 1
    unasked = question_forecast("valence", made.questions["valence"], design(), PlanOptions())
    assert "--smallest-effect" in (unasked.power_equivalence.why_missing or "")
