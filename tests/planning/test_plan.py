"""Plans of whole study folders: grids, prices, words, files, preregistration, and input that cannot be planned."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.analysis import AnalyzeOptions, analyze
from heartfelt.analysis.data.preregistration import FILE, find_preregistration, read_preregistration
from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.planning import PlanOptions, StudyPlan, plan_study
from heartfelt.planning.pilots.builtin import BUILT_IN, built_in_pilot
from heartfelt.planning.pilots.pilot import estimate_pilot
from heartfelt.planning.preregister import preregister
from heartfelt.planning.search import price
from heartfelt.planning.simulated import workers
from heartfelt.planning.simulated.comparison import comparison_pilot
from heartfelt.planning.simulated.design import grid, layout_of, material_of
from heartfelt.planning.simulated.incidence import assign
from heartfelt.planning.simulated.rehearsed import rehearse
from heartfelt.report import write_plan
from heartfelt.serialization import dumps, read_json
from heartfelt.snapshot import Snapshot
from heartfelt.stimuli.options import StarterOptions
from heartfelt.stimuli.starter import start_study
from tests import compared
from tests.facts import mentions
from tests.report.studies import presence

FAST = PlanOptions(studies=24, policy="flag-only", assignments=1, workers=1)


def fast(**changes: Any) -> PlanOptions:
    """Options for a quick plan."""
    return replace(FAST, **changes)


def folder_of(base: Path, recipe: str, per_cell: int = 1) -> Path:
    start_study(recipe, base / recipe, StarterOptions(per_cell=per_cell, media=False, seed=None))
    return base / recipe


@pytest.fixture(scope="module")
def music(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of(tmp_path_factory.mktemp("plans"), "aimoclips", 2)


@pytest.fixture(scope="module")
def made(music: Path) -> StudyPlan:
    options = fast(ratings=(4, 8), clips=(2, 4), effect=1.0, pay_per_hour=12.0, afford=150.0)
    return plan_study(music, options)


def simulated_pilot(music: Path, raters: int, seed: int = 0) -> Snapshot:
    material = material_of(open_study(music))
    [design, *_], _ = grid(material, PlanOptions(), 0.0)
    layout = layout_of(material, design)
    incidence = assign(layout.units, 20, 24, raters, 0.0, seed)
    pilot = replace(BUILT_IN["aimoclips"], careless=0.0)
    return rehearse(layout, incidence, pilot, material, PlanOptions(), np.random.default_rng(seed)).snapshot


@pytest.mark.slow
def test_more_ratings_and_more_clips_find_more_and_cost_more(made: StudyPlan) -> None:
    by = {(each.design.stimuli, each.design.ratings): each for each in made.designs}
    few, many, wide = by[96, 4], by[96, 8], by[192, 8]
    for question in ("valence", "arousal"):
        widths = [each.questions[question].difference_width.value or 0 for each in (few, many, wide)]
        assert widths[0] > widths[1] > widths[2] > 0
        trust = [each.questions[question].icc1k.value or 0 for each in (few, many)]
        assert 0.3 < trust[0] < trust[1] < 1
        powers = [each.questions[question].power.value or 0 for each in (few, many, wide)]
        assert powers[0] < powers[2]
        estimate = few.questions[question].power
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < powers[0] < estimate.high, "Monte Carlo error is shown"
        # Systems at half the effect above and below: a third of the six pairs do not differ.
        assert len([c for c in few.questions[question].contrasts if abs(c.difference) < 1e-9]) == 2
    assert (few.cost or 0) < (many.cost or 0) < (wide.cost or 0)
    assert few.design.raters < many.design.raters


@pytest.mark.slow
def test_the_same_seed_gives_the_same_plan(music: Path, made: StudyPlan) -> None:
    again = plan_study(music, made.options)
    assert dumps(again) == dumps(made)


@pytest.mark.slow
def test_answers_are_direct(made: StudyPlan) -> None:
    raters, clips, afford = made.answers.sentences
    assert raters.startswith("How many raters: ")
    assert "raters" in raters
    assert mentions(clips, "192 clips", "4 ratings", "96 clips", "8")
    assert "narrower with more clips" in clips
    assert afford.startswith("What 150 affords: ")
    assert any("more than the study lists" in note for note in made.notes), "clips that do not exist yet"
    assert any("another study" in note for note in made.notes)
    if made.recommended is not None:
        assert made.best.power >= made.options.power
        assert (made.best.cost or 0) <= 150


@pytest.mark.slow
def test_time_and_cost_by_hand(made: StudyPlan) -> None:
    design = replace(made.designs[0].design, raters=10, per_rater=30)
    options = PlanOptions(pay_per_hour=12, fee=0.25, overhead_minutes=3)
    taken = price(design, options, seconds=20, answered=300)
    assert taken.minutes_per_rater == 13
    assert taken.hours == pytest.approx((30 + 100) / 60)
    assert taken.cost == pytest.approx(12 * 130 / 60 * 1.25)
    assert price(design, PlanOptions(), 20, 300).cost is None
    assert price(design, PlanOptions(pay_per_rating=0.1), 20, 300).cost == pytest.approx(30)


@pytest.mark.slow
def test_plan_files_round_trip_and_the_page_says_what_to_do(made: StudyPlan, tmp_path: Path) -> None:
    folder = write_plan(made, tmp_path / "plan")
    assert dumps(read_json(folder / "plan.json", StudyPlan)) == (folder / "plan.json").read_text().rstrip("\n")
    page = (folder / "plan.html").read_text()
    assert "How many raters: " in page
    assert "CC BY 4.0" in page
    for name in ("plan-power", "plan-width", "plan-reliability"):
        assert (folder / "figures" / f"{name}.svg").stat().st_size > 1000
        assert f'data-figure="{name}"' in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "question", "alpha"),
    [("musiceval", "impression", (0.2, 0.6)), ("emolia-emo", None, (0.2, 0.5)), ("emolia-dim", None, (0.2, 0.5))],
)
def test_opinion_and_presence_designs(
    tmp_path: Path, recipe: str, question: str | None, alpha: tuple[float, float]
) -> None:
    folder = folder_of(tmp_path, recipe)
    options = fast(clips=(6,), ratings=(6,), per_rater=(12,), careless=0.0)
    last = plan_study(folder, options).designs[-1]
    name = question or next(iter(last.questions))
    forecast = last.questions[name]
    assert alpha[0] < (forecast.alpha.value or 0) < alpha[1]
    assert 0 <= (forecast.power.value or 0) <= 1
    assert 0 < (forecast.ceiling.value or 0) < 1


@pytest.mark.slow
def test_comparison_designs_go_through_the_real_strengths(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "arena", 2)
    opened = open_study(folder)
    material = material_of(opened)
    [own, *_], _ = grid(material, PlanOptions(), 0.0)
    assert opened.sets is not None
    assert own.sets == len(opened.sets.sets)
    layout = layout_of(material, own)
    assert (layout.system[layout.first] != layout.system[layout.second]).all()
    options = fast(ratings=(1, 4), effect=1.0)
    few, many = plan_study(folder, options).designs[-2:]
    [one], [other] = few.questions.values(), many.questions.values()
    assert (one.difference_width.value or 0) > (other.difference_width.value or 0) > 0
    assert (one.power.value or 0) < (other.power.value or 0)
    assert one.alpha.estimate.is_missing
    assert few.design.sets > 0


@pytest.mark.slow
def test_a_pilot_carries_its_uncertainty_into_the_ranges(music: Path) -> None:
    options = fast(ratings=(6,), studies=60, effect=1.0, power=0.05)
    pilot = estimate_pilot(simulated_pilot(music, 20))
    unsure = plan_study(music, options, pilot=pilot)
    fixed = {name: replace(each, freedom=None) for name, each in pilot.questions.items()}
    sure = plan_study(music, options, pilot=replace(pilot, questions=fixed, careless_raters=None))

    def width(plan: StudyPlan) -> float:
        power = plan.designs[0].questions["valence"].power
        return (power.high or 0) - (power.low or 0)

    assert unsure.pilot.from_pilot
    assert not sure.pilot.from_pilot
    assert width(unsure) > 1.2 * width(sure)
    assert mentions(unsure.notes, "pilot", "'valence'")


@pytest.mark.slow
def test_screening_is_the_real_one(music: Path) -> None:
    options = fast(ratings=(12,), careless=0.2, policy="default")
    [each] = [one for one in plan_study(music, options).designs if one.design.ratings == 12]
    assert each.screening is not None
    assert each.screening.careless == 0.2
    assert (each.screening.careless_dropped.value or 0) > 0.5
    assert (each.screening.attentive_dropped.value or 0) < 0.2
    assert 0.05 < each.screening.ratings_lost < 0.3


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"effect": 0.0}, "An effect of 0 cannot be planned for"),
    ({"effect": float("nan")}, "cannot be planned for"),
    ({"effect": 20.0}, "does not fit the scale"),
    ({"effects": {"Sinewood": 0.0, "Pluckbox": 0.0}}, "there is no difference to find"),
    ({"effects": {"Nobody": 1.0, "Pluckbox": 0.0}}, "no system 'Nobody'"),
    ({"ratings": (0,)}, "ratings must be at least 1"),
    ({"raters": (1,)}, "raters must be at least 2"),
    ({"careless": 1.0}, "careless must be at least 0 and below 1"),
    ({"afford": 100.0}, "depends on what raters are paid"),
    ({"studies": 5}, "at least 20 simulated studies"),
    ({"clips": (10_000,), "ratings": (50,)}, "too large to simulate"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("given", "words"), BAD)
def test_bad_input_is_explained(music: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_study(music, PlanOptions(**given))


@pytest.mark.slow
def test_a_pilot_of_three_raters_is_refused(music: Path) -> None:
    with pytest.raises(InputError, match=r"3 raters.*differ"):
        plan_study(music, PlanOptions(), pilot=simulated_pilot(music, 3))
    with pytest.raises(InputError, match="pilot must ask"):
        plan_study(music, PlanOptions(), pilot=replace(BUILT_IN["mos"]))


def test_designs_that_cannot_be_are_noted_not_failed(music: Path) -> None:
    material = material_of(open_study(music))
    designs, notes = grid(material, PlanOptions(per_rater=(500,), raters=(4,), ratings=(9,)), 0.0)
    assert designs[-1].per_rater == 48
    assert designs[-1].ratings == 4
    assert any("at most 48 trials" in note for note in notes)
    assert mentions(notes, "9 ratings", "9 raters")
    _, notes = grid(material, PlanOptions(ratings=(2,)), 0.0)
    assert any("no clip gets a label" in note for note in notes)
    empty = replace(material, system=np.zeros(0, np.int64), intent=np.zeros(0, np.int64))
    with pytest.raises(InputError, match="lists no stimuli"):
        grid(empty, PlanOptions(), 0.0)
    designs, _ = grid(empty, PlanOptions(clips=(3,)), 0.0)
    assert designs[0].stimuli == 144


def test_the_built_in_pilot_follows_the_scale(music: Path) -> None:
    study = open_study(music).study
    known = built_in_pilot(study)
    assert known.questions["valence"].components == BUILT_IN["aimoclips"].questions["valence"].components
    assert "CC BY 4.0" in known.credit


@pytest.mark.slow
def test_preregistration_and_deviations(made: StudyPlan, music: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    for name in ("study.yaml", "stimuli.csv"):
        (folder / name).write_text((music / name).read_text(encoding="utf-8"), encoding="utf-8")
    registered = preregister(made, folder, tmp_path / "plan.md")
    text = (tmp_path / "plan.md").read_text(encoding="utf-8")
    for heading in ("## Hypotheses", "## Design", "## Sample size", "## Exclusion rules", "## Analyses"):
        assert heading in text
    assert read_preregistration(folder / FILE) == registered
    assert find_preregistration(folder) == folder / FILE
    with pytest.raises(InputError, match="never overwritten"):
        preregister(made, folder, tmp_path / "other.md")
    with pytest.raises(InputError, match=r"read.*Preregistration"):
        read_preregistration(folder / "study.yaml")
    pilot = simulated_pilot(music, 12)
    # A snapshot in the study folder knows the study's preregistration.
    pilot.write(folder / "snapshots" / "first")
    arguments = ["-o", str(tmp_path / "report"), "--no-figures"]
    assert main(["analyze", str(folder / "snapshots" / "first"), *arguments]) == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Preregistration and deviations" in page
    listed = json.loads((tmp_path / "report" / "summary.json").read_text())["registered"]
    topics = {each["topic"]: each for each in listed["deviations"]}
    assert topics["raters"]["done"] == "12"
    assert "scale of 'valence'" in topics
    assert "exclusion rules (screening policy)" not in topics, "both are flag-only"
    plain = analyze(pilot, AnalyzeOptions(resamples=100))
    assert plain.summary.registered is None
    assert "registered" not in json.loads(dumps(plain.summary))


@pytest.mark.slow
def test_the_command(music: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["plan", str(music), "--studies", "20", "--policy", "flag-only", "--ratings", "6"]
    assert main([*common, "--expect", "Sinewood=1", "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "How many raters" in shown
    assert (tmp_path / "out" / "plan.html").is_file()
    assert main([*common, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["designs"][0]["design"]["own"] is True
    for wrong, words in (
        (["--raters", "a,b"], "not whole numbers"),
        (["--expect", "Sinewood"], "not of the form SYSTEM=POINTS"),
        (["--policy", "harsh"], "--policy = 'harsh' is unknown"),
        (["--effect", "0"], "An effect of 0 cannot be planned for"),
    ):
        assert main([*common, *wrong]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes_give_what_one_gives(
    music: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    options = fast(ratings=(5,), clips=(2, 3))
    alone = plan_study(music, options)
    monkeypatch.setattr(workers, "LEAST_RATINGS", 0)
    both = plan_study(music, replace(options, workers=2))
    assert dumps(replace(both, options=options)) == dumps(alone)
    # Where the helper cannot start, its designs are simulated here.
    monkeypatch.setattr(sys, "executable", str(music / "no-python"))
    assert dumps(replace(plan_study(music, replace(options, workers=2)), options=options)) == dumps(alone)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_pilots_of_comparisons_and_of_categories() -> None:
    snapshot = compared.arena(raters=16, seed=3)
    known = comparison_pilot(snapshot.study, snapshot)
    [(question, model)] = known.questions.items()
    assert question in [each.id for each in snapshot.study.asked]
    assert len(model.systems) >= 3
    assert model.components.system > 0
    assert np.array(model.system_noise).shape == (len(model.systems), len(model.systems))
    drawn = model.system_draws(500, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx(list(model.systems.values()), abs=0.5)
    with pytest.raises(InputError, match="A pilot of 2 raters"):
        comparison_pilot(snapshot.study, compared.arena(raters=2))
    with pytest.raises(InputError, match="cannot be planned"):
        comparison_pilot(compared.mushra().study, None)
    categories = estimate_pilot(presence())
    assert set(categories.questions) == {"joy", "pride"}
    assert categories.questions["joy"].scale.values == (0.0, 1.0, 2.0)
    clear, unclear = (categories.questions[name].components for name in ("joy", "pride"))
    assert clear.residual < unclear.residual
    assert any("fewer than 15" in note for note in categories.notes)


@pytest.mark.slow
def test_a_pilot_without_a_difference_says_that_power_is_false_alarms(music: Path) -> None:
    pilot = BUILT_IN["aimoclips"]
    flat = {
        name: replace(each, components=replace(each.components, system=0.0)) for name, each in pilot.questions.items()
    }
    made = plan_study(music, fast(ratings=(6,)), pilot=replace(pilot, questions=flat))
    assert any("shows no difference between systems" in note for note in made.notes)
    assert (made.designs[0].questions["valence"].power.value or 0) < 0.1
    assert "though no systems differ" in made.designs[0].questions["valence"].power.method
