"""The study's key ``adjudication``: what is accepted, and what 'heartfelt check' explains."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from heartfelt.errors import StudyError
from heartfelt.study import Study, parse_study
from heartfelt.study.consistency.adjudication import adjudicated
from heartfelt.study.parts.adjudication_rules import Adjudication, DisagreementRule
from tests.cases import check_all

SCALES = {
    "nine": {"type": "points", "points": 9},
    "any": {"type": "numeric"},
    "emotions": {"type": "categories", "categories": ["joy", "awe", "fear", "anger"]},
    "tags": {"type": "tags"},
    "caption": {"type": "text"},
    "course": {"type": "trace", "low": 0, "high": 1},
}


def study(adjudication: dict[str, Any] | None, *scales: str, quota: int = 3, **parts: Any) -> Study:
    questions = [
        {"id": f"q_{name}", "text": "?", "scale": name} | ({"machine_first": True} if name == "tags" else {})
        for name in scales or ("emotions",)
    ]
    text: dict[str, Any] = {
        "name": "small",
        "scales": SCALES,
        "questions": questions,
        "design": {"ratings_per_item": quota},
        **({"adjudication": adjudication} if adjudication else {}),
        **parts,
    }
    return parse_study(yaml.safe_dump(text))


def test_a_study_without_it_keeps_its_hash_and_one_with_it_comes_back_as_it_was() -> None:
    plain = study(None)
    assert "adjudication" not in plain.model_dump(mode="json")
    given = study({"rules": [{"type": "disagreement"}, {"type": "random", "share": 0.1}], "after": 2})
    assert given.hash != plain.hash
    assert parse_study(yaml.safe_dump(given.plain())).hash == given.hash


def test_every_question_that_can_be_decided_is() -> None:
    rules = {"rules": [{"type": "all"}]}
    every = study(rules, "emotions", "nine", "tags", "caption", "course")
    assert adjudicated(every) == ["q_emotions", "q_nine", "q_tags", "q_caption"], "a trace has no single value"
    assert adjudicated(study({**rules, "questions": ["q_nine"]}, "emotions", "nine")) == ["q_nine"]
    assert adjudicated(study(None)) == []


def test_without_a_limit_numbers_disagree_beyond_half_of_their_scale() -> None:
    rule = DisagreementRule(type="disagreement")
    given = study({"rules": [{"type": "disagreement"}]}, "nine")
    assert rule.limits(given.scale_of("q_nine")) == (4.0, None)
    assert DisagreementRule(type="disagreement", sd_above=2).limits(given.scale_of("q_nine")) == (None, 2)


@check_all(
    ("adjudication", "scales", "problem"),
    [
        ({"rules": []}, ["nine"], "at least 1"),
        ({"rules": [{"type": "quarrel"}]}, ["nine"], "'quarrel' is not one of the choices"),
        ({"rules": [{"type": "all"}], "questions": ["q_nin"]}, ["nine"], "no question is called 'q_nin'"),
        ({"rules": [{"type": "all"}], "questions": ["q_course"]}, ["nine", "course"], "with a trace"),
        ({"rules": [{"type": "all"}]}, ["course"], "no question that can be decided"),
        ({"rules": [{"type": "all"}], "after": 4}, ["nine"], "never reaches 4"),
        ({"rules": [{"type": "rejected"}]}, ["nine"], "none of the questions is machine_first"),
        ({"rules": [{"type": "planted"}]}, ["nine"], "none of the questions is machine_first"),
        ({"rules": [{"type": "random", "share": 0}]}, ["nine"], "greater than 0"),
        ({"rules": [{"type": "random", "share": 1.01}]}, ["nine"], "less than or equal to 1"),
        ({"rules": [{"type": "disagreement", "range_above": 8}]}, ["nine"], "less than 8"),
        ({"rules": [{"type": "disagreement", "sd_above": 5.66}]}, ["nine"], "less than 5.66"),
        ({"rules": [{"type": "disagreement"}]}, ["any"], "Give range_above or sd_above"),
        ({"rules": [{"type": "disagreement", "share_at_most": 0.24}]}, ["emotions"], "Give 0.25 or more"),
        ({"rules": [{"type": "disagreement", "overlap_below": 1.1}]}, ["tags"], "less than or equal to 1"),
        (
            {"rules": [{"type": "disagreement", "questions": ["q_nine"]}], "questions": ["q_emotions"]},
            ["nine", "emotions"],
            "not among the questions that are adjudicated",
        ),
    ],
)
def test_what_cannot_be_is_explained(adjudication: dict[str, Any], scales: list[str], problem: str) -> None:
    with pytest.raises(StudyError) as raised:
        study(adjudication, *scales)
    assert problem in f"{raised.value.problem} {raised.value.fix}"
    assert "line" in raised.value.problem


def test_one_rating_cannot_disagree_but_an_adaptive_study_may_give_more() -> None:
    with pytest.raises(StudyError, match="one rating per item cannot disagree"):
        study({"rules": [{"type": "disagreement"}]}, quota=1)
    study({"rules": [{"type": "all"}]}, quota=1)
    adaptive = {"ratings_per_item": 1, "adaptive": True}
    study({"rules": [{"type": "disagreement"}], "after": 4}, design=adaptive)


def test_sets_have_no_items_to_decide() -> None:
    sets = {"type": "ranking"}
    scales = {"better": {"type": "rank"}}
    questions = [{"id": "better", "text": "?", "scale": "better"}]
    with pytest.raises(StudyError, match="compared in sets"):
        study({"rules": [{"type": "all"}]}, sets=sets, scales=scales, questions=questions)


def test_the_keys_are_described() -> None:
    for name, field in Adjudication.model_fields.items():
        assert field.description, name
