"""Arms in the analysis: compared between raters without being asked, screened within, and described."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from heartfelt.analysis import analyze
from heartfelt.analysis.data.arms import arm_sizes, arms_text
from heartfelt.analysis.options import AnalyzeOptions
from heartfelt.analysis.text.methods_section import methods_section
from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.columns.roles import rater_roles
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.options import PublishOptions
from heartfelt.report.analysis import charts_of
from heartfelt.report.sections.raters import rater_groups
from heartfelt.screening import screen
from heartfelt.snapshot import Snapshot
from heartfelt.study import Study
from tests.facts import mentions

STIMULI = 24


def snapshot(turned: bool = False, shift: float = 0.0, questions: list[str] | None = None) -> Snapshot:
    """Eighteen raters in one arm and six in another; in that one, answers are ``shift`` higher, or the scale is turned round."""
    arms: list[dict[str, Any]] = [{"id": "up"}, {"id": "down", "instructions": "Turn it round."}]
    if questions:
        arms[1]["questions"] = questions
    study = Study.model_validate(
        {
            "name": "arms",
            "scales": {"points": {"type": "points", "points": 9}},
            "questions": [{"id": name, "text": name, "scale": "points"} for name in ("valence", "arousal")],
            "design": {"arms": arms, "strata": []},
        }
    )
    rng = np.random.default_rng(4)
    truth = rng.uniform(2, 8, STIMULI)
    rows, raters = [], []
    for number in range(24):
        arm = arms[number % 4 == 0]
        raters.append({"rater": f"r{number}", "arm": arm["id"], "language": "en"})
        pace = float(np.exp(rng.normal(0, 0.1))) * (2.0 if questions and arm["id"] == "down" else 9.0)
        for place, stimulus in enumerate(rng.permutation(STIMULI).tolist()):
            down = arm["id"] == "down"
            value = 10 - truth[stimulus] if down and turned else truth[stimulus] + shift * down
            for question in arm.get("questions", ["valence", "arousal"]):
                answer = float(np.clip(round(value + rng.normal(0, 0.8)), 1, 9))
                seconds = pace * float(np.exp(rng.normal(0, 0.2)))
                rows.append((f"r{number}", f"s{stimulus}", question, answer, place, seconds))
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value", "position", "seconds"], orient="row")
    stimuli = pl.DataFrame({"stimulus": [f"s{number}" for number in range(STIMULI)]})
    return Snapshot.build(study, stimuli=stimuli, ratings=ratings, raters=pl.DataFrame(raters))


@pytest.mark.slow
def test_arms_are_compared_between_raters_unasked() -> None:
    shifted = snapshot(shift=1.0)
    analysis = analyze(shifted)
    groups = analysis.summary.by
    assert groups is not None
    assert groups.column == "arm"
    assert {size.group: size.raters for size in groups.groups} == {"up": 18, "down": 6}
    [row] = [row for row in groups.differences if row.question == "valence"]
    named = analyze(shifted, AnalyzeOptions(by="arm")).summary.by
    assert named == groups
    means = shifted.ratings.filter(pl.col("question") == "valence").join(shifted.raters, on="rater")
    by_arm = dict(means.group_by("arm").agg(pl.mean("value")).iter_rows())
    sign = 1 if row.a == "down" else -1
    assert float(row.difference) == pytest.approx(sign * (by_arm["down"] - by_arm["up"]))
    assert row.significant
    procedure = next(part.text for part in methods_section(analysis) if part.title == "Procedure")
    assert mentions(procedure, "18 raters", "6 raters")
    assert "Arms are compared between raters" in procedure
    section = rater_groups(analysis, charts_of(analysis))
    assert section is not None
    assert "Arms are compared between raters; all other figures pool them." in str(section.html)


@pytest.mark.slow
def test_raters_are_compared_with_their_own_arm() -> None:
    """With the scale turned round in one arm, nobody there runs against the others: they agree with their arm."""
    flags = screen(snapshot(turned=True)).flags.filter("flagged", ~pl.col("rule").is_in(["bt500", "p913"]))
    assert flags.height == 0


@pytest.mark.slow
def test_an_arm_with_fewer_questions_has_a_norm_of_its_own() -> None:
    """Raters of an arm who are asked half as much take half as long, and are not too quick for that."""
    flags = screen(snapshot(questions=["valence"])).flags.filter("flagged", pl.col("rule") == "response-time")
    assert flags.height == 0


def test_a_study_without_arms_says_nothing() -> None:
    one = snapshot()
    plain = one.study.changed(design=one.study.design.model_copy(update={"arms": []}))
    none = Snapshot.build(plain, stimuli=one.stimuli, ratings=one.ratings, raters=one.raters)
    assert arm_sizes(none) == {}
    assert list(arms_text(none)) == []
    assert arm_sizes(one) == {"up": 18, "down": 6}
    with pytest.raises(InputError, match="one group"):
        analyze(one, AnalyzeOptions(by="language"))


@pytest.mark.parametrize("arms", [True, False])
def test_the_arm_is_a_fact_of_the_design_only_where_there_are_arms(arms: bool) -> None:
    one = snapshot()
    study = one.study
    if not arms:
        study = study.changed(design=study.design.model_copy(update={"arms": []}))
    draft = replace(Draft.of(one), study=study)
    assert rater_roles(draft, PublishOptions())["arm"] == ("outcome" if arms else "quasi-identifier")
