"""The registered document, whole: what a plan that was made by hand puts into it, and what stays out where nothing is known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from heartfelt import __version__
from heartfelt.errors import InputError
from heartfelt.planning import StudyPlan
from heartfelt.planning.preregister import (
    COMPARISONS,
    RATINGS,
    _exclusions,
    markdown,
    preregister,
    preregistration_of,
    registered_design,
)
from heartfelt.planning.results import DesignForecast, PilotSummary
from heartfelt.study import Study, parse_study
from tests.facts import mentions
from tests.planning.test_preregister import GRID, plan_of, planned

YAML = """
name: clips
title: Clips of two systems
intents: [{id: happy, reference: {valence: 8}}, {id: sad, reference: {valence: 2}}]
systems: [{id: A}, {id: B}]
scales: {nine: {type: points, points: 9}}
questions:
  - {id: valence, text: "How pleasant?", scale: nine, axis: valence, emotion: perceived}
  - {id: appeal, text: "How good?", scale: nine}
design: {ratings_per_item: 6, minimum_ratings: 3}
"""
RANDOM = "(1 | rater) + (1 | stimulus) + (1 | rater:system)"


@pytest.fixture(scope="module")
def study() -> Study:
    return parse_study(YAML)


def with_design(forecast: DesignForecast, **changes: Any) -> DesignForecast:
    return replace(forecast, design=replace(forecast.design, **changes))


def with_options(plan: StudyPlan, **changes: Any) -> StudyPlan:
    return replace(plan, options=replace(plan.options, **changes))


RICH = with_options(
    plan_of(with_design(planned(18, 0.85, 436.0), intents=("happy", "sad"), raters=37), afford=500.0, power=0.75),
    smallest_effect=0.3,
    pay_per_rating=0.05,
    fee=0.25,
    seed=7,
    overhead_minutes=2.5,
    policy="strict",
)
BARE = replace(
    with_options(plan_of(planned(4, None, None), effect=None), pay_per_hour=None, policy="flag-only", power=0.9),
    pilot=PilotSummary(
        source="a pilot of 12 raters",
        raters=12,
        careless=0.17,
        dropout=0.08,
        seconds=21.25,
        components={},
        from_pilot=True,
        credit="",
    ),
)


def test_everything_a_plan_says_is_registered(study: Study) -> None:
    made = preregistration_of(RICH, study, "2026-01-02")
    assert (made.heartfelt, made.written, made.study, made.hash) == (
        *(__version__, "2026-01-02"),
        *("clips", study.hash),
    )
    assert (made.raters, made.ratings_per_item, made.stimuli_per_rater, made.stimuli) == (37, 18, 48, 96)
    assert (made.systems, made.intents, made.minimum_ratings) == (("A", "B"), ("happy", "sad"), 3)
    assert [question.id for question in made.questions] == ["valence", "appeal"]
    assert made.hypotheses == (
        "Under 'valence' the systems (A and B) differ in their means.",
        "Systems whose difference lies within 0.3 points are shown to be equivalent (two one-sided tests at .05, Holm).",
    )
    assert made.analyses == (
        f"valence less its intent's reference ~ system + intent + {RANDOM}",
        f"appeal ~ system + intent + {RANDOM}",
        *RATINGS,
    )
    assert made.expected == (
        "15 min per rater, 5.0 h in all, cost 436; 1.0 ratings per clip (1 to 1)",
        "valence: power .85 [.75, .95], – of 1 pairs; difference ±–",
        "Intervals of powers: Monte Carlo",
    )
    assert made.effect == "a difference of 1 point between two systems"
    assert (made.smallest_effect, made.power, made.cost_at_most, made.seed) == (0.3, 0.85, 436.0, 7)
    assert (made.policy, made.exclusions) == ("strict", _exclusions("strict"))
    assert mentions(made.stopping, "18 complete", "37 raters", "5%")
    assert made.covariates == ()


def test_what_is_not_known_is_not_registered(study: Study) -> None:
    made = preregistration_of(BARE, study)
    assert made.written == datetime.now(UTC).strftime("%Y-%m-%d")
    assert made.hypotheses == ("No difference is tested: the study estimates means and their reliability.",)
    assert (made.effect, made.power, made.cost_at_most, made.smallest_effect) == ("", None, None, None)
    assert (made.systems, made.intents, made.exclusions) == (("A",), (), ())
    assert made.analyses[1] == f"appeal ~ system + {RANDOM}"
    assert made.expected[-1].startswith("valence: power none"), "no interval of a power that is not known"
    within = preregistration_of(with_options(BARE, smallest_effect=0.3), study)
    assert within.hypotheses == made.hypotheses, "one system is equivalent to nobody"


def test_expected_differences_are_hypotheses_largest_first(study: Study) -> None:
    plan = with_options(RICH, effect=None, effects={"A": -0.4, "B": 0.4}, smallest_effect=None)
    made = preregistration_of(plan, study)
    assert made.hypotheses == ("Under 'valence' systems differ as expected: B (+0.4) and A (-0.4).",)
    assert made.effect == "the expected differences between systems"


def test_comparisons_have_their_own_analyses_and_count_sets(study: Study) -> None:
    plan = replace(RICH, kind="comparison", designs=(with_design(RICH.designs[0], sets=48),))
    made = preregistration_of(plan, study)
    assert made.analyses == COMPARISONS
    assert made.effect.startswith("a difference of 1 log odds")
    assert mentions(made.stopping, "set", "18 complete", "ratings")


def test_the_document_to_read(study: Study) -> None:
    made = preregistration_of(RICH, study, "2026-01-02")
    text = markdown(made, RICH, study)
    assert text.startswith(
        f"# Preregistration: Clips of two systems\n\nWritten 2026-01-02 with heartfelt {__version__}; study hash `{study.hash}`."
    )
    size = text.split("## Sample size\n\n")[1].split("\n\n## Stopping rule")[0].splitlines()
    assert size == [
        "- Existing data: none was used",
        "- Effect to be found: a difference of 1 point between two systems",
        "- Smallest effect of interest: 0.3 points",
        "- Power: 85% (lowest over the questions); 75% was asked for",
        "- Cost: at most 436.00 (12 per hour, 0.05 per trial and fee 25%; 15.0 seconds per trial and 2.5 minutes besides)",
        "- Budget: 500.00",
        "- Rests on assumptions, 10% careless raters, 5% leaving early",
        *(f"- {line}" for line in made.expected),
    ]
    design = text.split("## Design\n\n")[1].split("\n\n## Sample size")[0].splitlines()[2:]
    assert design == [
        "- Raters: 37, 48 trials each",
        "- Stimuli: 96 from 2 systems (A and B)",
        "- Intents: happy and sad",
        "- Ratings per stimulus or set: 18; fewer than 3 give no label",
    ]
    assert mentions(text, "`strict`", "50%")
    assert all(f"\n- {rule}\n" in text for rule in made.exclusions)
    assert f"\n- `appeal ~ system + intent + {RANDOM}`\n" in text
    assert f"\n- {RATINGS[0]}\n- {RATINGS[1]}" in text
    assert "seed 7." in text
    assert "\n- appeal: How good? (`" in text


def test_the_document_to_read_leaves_out_what_is_not_known(study: Study) -> None:
    made = preregistration_of(BARE, study)
    text = markdown(replace(made, systems=()), BARE, study)
    for line in ("Effect to be found", "Smallest effect", "Power:", "Cost:", "Budget:", "Intents:"):
        assert f"- {line}" not in text
    assert mentions(text, "Existing", "analysed")
    assert "- Stimuli: 96\n" in text
    assert mentions(text, "Rests", "12 raters", "17% careless", "8%")
    assert mentions(text, "`flag-only`", "raters")


@pytest.mark.parametrize("given", ["folder", "file"])
def test_both_are_written_once_and_never_again(tmp_path: Path, given: str) -> None:
    home = tmp_path / "study"
    home.mkdir()
    (home / "study.yaml").write_text(YAML, encoding="utf-8")
    (home / "stimuli.csv").write_text("stimulus,system,intent\na,A,happy\nb,B,sad\n", encoding="utf-8")
    source, target = home if given == "folder" else home / "study.yaml", tmp_path / "registered.md"
    made = preregister(RICH, source, target)
    written = json.loads((home / "preregistration.json").read_text(encoding="utf-8"))
    assert written["raters"] == made.raters == 37
    assert "- Raters: 37, 48 trials each" in target.read_text(encoding="utf-8")
    for there in (home / "preregistration.json", target):
        kept = there.read_bytes()
        other = tmp_path / "other.md" if there != target else target
        with pytest.raises(InputError, match=re.escape(f"{there} is there already")):
            preregister(BARE, source, other)
        assert there.read_bytes() == kept
        assert not (tmp_path / "other.md").exists()
        there.unlink()


def test_the_cheapest_that_is_too_dear_is_named_whatever_the_order() -> None:
    dear = (GRID[1], GRID[2], GRID[0])
    with pytest.raises(InputError, match="96 clips x 4 ratings, may cost 100") as caught:
        registered_design(plan_of(*dear, afford=50.0))
    assert "--afford 100" in caught.value.fix


def test_without_prices_the_design_of_the_fewest_hours_is_registered() -> None:
    long, short = replace(planned(18, 0.9, None), hours=9.0), replace(planned(20, 0.9, None), hours=4.0)
    assert registered_design(plan_of(long, short)).hours == 4.0
    paid = (replace(planned(18, 0.9, 100.0), hours=9.0), replace(planned(20, 0.9, 200.0), hours=4.0))
    assert registered_design(plan_of(*paid)).cost_at_most == 100.0, "money before hours"
    assert registered_design(plan_of(*reversed(paid))).cost_at_most == 100.0


def test_refusals_say_what_they_know_and_no_more() -> None:
    with pytest.raises(InputError) as caught:
        registered_design(plan_of(*GRID[:2]))
    assert "own stimuli; its power" in str(caught.value), "no budget was given"
    with pytest.raises(InputError) as caught:
        registered_design(plan_of(*GRID, afford=300.0))
    assert mentions(str(caught.value), "300.00", "1 point")
    assert "18 ratings (--afford 436); or" in caught.value.fix
    cents = plan_of(GRID[0], planned(18, 0.85, 436.2), afford=300.0)
    with pytest.raises(InputError) as caught:
        registered_design(cents)
    assert "--afford 437" in caught.value.fix, "rounded up, or the design would still be refused"
    with pytest.raises(InputError) as caught:
        registered_design(with_options(plan_of(*GRID, effect=None), smallest_effect=0.3))
    assert "--effect 0.3," in caught.value.fix


def test_expected_effects_stand_for_an_effect_and_an_empty_list_of_stimuli_for_any() -> None:
    expected = with_options(plan_of(*GRID, effect=None), effects={"A": 0.5})
    assert registered_design(expected).cost_at_most == 436.0
    assert registered_design(replace(plan_of(*GRID), listed=0)).cost_at_most == 250.0
    assert registered_design(plan_of(planned(9, 0.8, 10.0))).power == 0.8, "exactly what was asked for is enough"


def test_a_budget_that_is_named_can_be_typed_and_pays() -> None:
    """To the next whole unit, without a comma."""
    for designs, afford in (((planned(18, 0.9, 1436.2),), 50.0), ((GRID[0], planned(18, 0.9, 1436.2)), 120.0)):
        with pytest.raises(InputError) as caught:
            registered_design(plan_of(*designs, afford=afford))
        assert "--afford 1437" in caught.value.fix
        assert registered_design(plan_of(*designs, afford=1437.0)).cost_at_most == 1436.2
