"""Preregistrations from outside: the command with a budget, and the written document read again with a pocket calculator."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.planning import DesignForecast, PlanOptions, QuestionForecast, StudyPlan, plan_study
from heartfelt.planning.preregister import markdown, preregistration_of, registered_design
from heartfelt.planning.results import PilotSummary, PlainAnswers, StudyForecast
from heartfelt.planning.simulated.design import PlannedDesign
from heartfelt.stats.estimate import Estimate
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study
from tests.cases import check_all
from tests.facts import mentions

MISSING = StudyForecast(Estimate.missing("not simulated", "none"))
SECTIONS = (*("Hypotheses", "Design", "Sample size", "Stopping rule", "Variables"), *("Exclusion rules", "Analyses"))


def planned(ratings: int, power: float | None, cost: float | None, stimuli: int = 96) -> DesignForecast:
    """A forecast with a power and a price, and nothing else."""
    method = "share of pairs"
    estimate = Estimate.missing("a single system", method)
    if power is not None:
        estimate = Estimate(
            value=power,
            low=power - 0.1,
            high=power + 0.1,
            method=method,
            interval="Monte Carlo",
            confidence=0.95,
            counts={"studies": 100},
        )
    names = ("A", "B") if power is not None else ("A",)
    design = PlannedDesign(
        systems=names, intents=("",), clips=1.0, stimuli=stimuli, ratings=ratings, per_rater=48, raters=2 * ratings
    )
    none = Estimate.missing("not simulated", method)
    accuracy: dict[str, Any] = dict.fromkeys(
        (
            *("difference_width", "mean_width", "label_error", "alpha", "icc1", "icc1k"),
            *("ceiling", "icc2", "icc2k", "icc1k_width", "alpha_ordinal"),
        ),
        MISSING,
    )
    question = QuestionForecast(
        question="valence",
        power=estimate,
        pairs=1,
        pairs_found=MISSING,
        power_systems=none,
        power_equivalence=none,
        power_intents=none,
        false_alarms=none,
        **accuracy,
    )
    return DesignForecast(
        design=design,
        words=design.words,
        ratings_given=1.0,
        ratings_per_unit=1.0,
        fewest_ratings=1.0,
        most_ratings=1.0,
        raters_left=0.0,
        raters_turned_away=0.0,
        minutes_per_rater=15.0,
        hours=5.0,
        cost=cost,
        screening=None,
        questions={"valence": question},
        cost_at_most=cost,
    )


def plan_of(
    *designs: DesignForecast, afford: float | None = None, power: float = 0.8, effect: float | None = 1.0
) -> StudyPlan:
    options = PlanOptions(afford=afford, power=power, effect=effect, pay_per_hour=12.0)
    pilot = PilotSummary(
        source="assumptions",
        raters=0,
        careless=0.1,
        dropout=0.05,
        seconds=15.0,
        components={},
        from_pilot=False,
        credit="",
    )
    return StudyPlan(
        heartfelt="0",
        study="s",
        hash="h",
        kind="ratings",
        options=options,
        pilot=pilot,
        designs=designs,
        recommended=None,
        answers=PlainAnswers("", "", ""),
        notes=(),
        listed=96,
    )


GRID = (planned(4, 0.5, 100.0), planned(9, 0.7, 200.0), planned(18, 0.85, 436.0), planned(6, 0.9, 250.0, stimuli=192))


@pytest.mark.parametrize(("afford", "cost"), [(None, 436.0), (436.0, 436.0), (5000.0, 436.0)])
def test_the_cheapest_design_of_the_studys_own_clips_is_registered(afford: float | None, cost: float) -> None:
    chosen = registered_design(plan_of(*GRID, afford=afford))
    assert chosen.cost_at_most == cost
    assert chosen.design.stimuli == 96


@pytest.mark.parametrize("afford", [100.0, 199.0, 300.0, 435.99])
def test_a_budget_that_does_not_reach_the_power_is_refused_with_two_ways_out(afford: float) -> None:
    with pytest.raises(InputError) as caught:
        registered_design(plan_of(*GRID, afford=afford))
    best = 0.7 if afford >= 200 else 0.5
    assert f"is {best:.0%}, and 80% was asked for" in str(caught.value)
    assert "--afford 436" in caught.value.fix
    assert f"--power {best:g}" in caught.value.fix
    chosen = registered_design(plan_of(*GRID, afford=afford, power=best))
    assert (chosen.cost_at_most or 0) <= afford
    assert chosen.power >= best


def test_other_refusals() -> None:
    with pytest.raises(InputError, match=r"8 raters.*48 trials.*96 clips.*4 ratings.*100"):
        registered_design(plan_of(*GRID, afford=99.0))
    with pytest.raises(InputError, match="names the effect") as caught:
        registered_design(plan_of(*GRID, effect=None))
    assert "--effect 0.5" in caught.value.fix
    with pytest.raises(InputError) as caught:
        registered_design(plan_of(GRID[0], GRID[3]))
    assert mentions(caught.value.fix, "stimuli", "12 raters")
    with pytest.raises(InputError) as caught:
        registered_design(plan_of(GRID[0]))
    assert "No design that was tried reaches it" in caught.value.fix
    single = registered_design(plan_of(planned(4, None, 50.0), effect=None))
    assert single.design.ratings == 4, "one system has no power to reach"


@check_all("afford", np.linspace(20, 1000, 50).round(2).tolist())
def test_whatever_the_budget_what_is_registered_is_paid_by_it(afford: float) -> None:
    for power in (0.4, 0.6, 0.8, 0.99):
        made = plan_of(*GRID, afford=afford, power=power)
        if any(each in GRID[:3] and each.power >= power for each in made.affordable):
            chosen = registered_design(made)
            assert (chosen.cost_at_most or 0) <= afford
            assert chosen.power >= power
        else:
            with pytest.raises(InputError):
                registered_design(made)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("registered") / "study"
    start_study("aimoclips", home, StarterOptions(per_cell=2, media=False, seed=None))
    return home


PRICES = ["--pay-per-hour", "12", "--fee", "0.33", "--effect", "1", "--seconds", "15"]
QUICK = ["--studies", "40", "--policy", "flag-only", "--ratings", "6,18"]


@pytest.mark.slow
def test_the_command_registers_what_the_budget_pays(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "preregistration.md"
    assert main(["plan", str(folder), *PRICES, *QUICK, "--afford", "300", "--preregister", str(target)]) == 0
    capsys.readouterr()
    text = target.read_text(encoding="utf-8")
    for section in SECTIONS:
        assert f"## {section}\n" in text
    raters, trials = (int(found) for found in re.findall(r"- Raters: (\d+), (\d+) trials", text)[0])
    [stated] = re.findall(r"- Cost: at most ([\d.]+)", text)
    # Three minutes and 15 seconds a trial for each rater, 12 an hour, a third for the service.
    minutes = 3 + trials * 15 / 60
    assert float(stated) == pytest.approx(raters * minutes / 60 * 12 * 1.33, abs=0.01)
    assert float(stated) <= 300
    assert "- Stimuli: 96 from 4 systems" in text
    assert mentions(text, "1 point", "systems")
    [power] = re.findall(r"- Power: (\d+)%", text)
    assert int(power) >= 80
    assert "~ system + intent + (1 | rater) + (1 | stimulus) + (1 | rater:system)" in text
    assert open_study(folder).study.hash in text
    registered = json.loads((folder / "preregistration.json").read_text(encoding="utf-8"))
    (folder / "preregistration.json").unlink()
    assert registered["cost_at_most"] <= 300
    assert registered["stimuli"] == 96
    assert registered["effect"]
    assert "Fixed size" in registered["stopping"]


@pytest.mark.slow
def test_the_command_refuses_what_the_budget_does_not_reach(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "preregistration.md"
    assert main(["plan", str(folder), *PRICES, *QUICK, "--afford", "60", "--preregister", str(target)]) == 2
    said = capsys.readouterr().err
    assert "--afford" in said
    assert "--power" in said
    assert not target.exists()
    assert not (folder / "preregistration.json").exists()


@pytest.mark.slow
def test_the_registered_power_is_that_of_the_design_simulated_again(folder: Path) -> None:
    options = PlanOptions(
        effect=1.0, pay_per_hour=12.0, seconds=15.0, afford=250.0, policy="flag-only", studies=200, ratings=(12, 18)
    )
    made = plan_study(folder, options)
    study = open_study(folder).study
    registered = preregistration_of(made, study)
    chosen = registered_design(made)
    assert registered.raters == chosen.design.raters
    assert "## Stopping rule" in markdown(registered, made, study)
    other = replace(options, seed=9, ratings=(chosen.design.ratings,), studies=400, afford=None)
    again = next(each for each in plan_study(folder, other).designs if each.design.ratings == chosen.design.ratings)
    for name, question in chosen.questions.items():
        power = question.power
        assert (power.low or 0) - 0.02 <= (again.questions[name].power.value or 0) <= (power.high or 0) + 0.02


def test_the_strict_policys_rules_are_registered_with_their_settings() -> None:
    from heartfelt.planning.preregister import _exclusions

    assert _exclusions("flag-only") == ()
    rules = _exclusions("default")
    assert rules
    assert all("level 0.05" in rule for rule in rules)
