"""Boxes and limits of drafts as people who verify them see them; a file of drafts may be anybody's."""

from __future__ import annotations

import json

import polars as pl

from heartfelt.formats.study_folder.drafts import draft_facts
from tests.cases import check_all

BOX = {"tag": "dog", "confidence": 0.9, "box": [0, 0.25, 0.5, 1]}


def drafts(**columns: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame({"stimulus": ["a", "b"], "question": ["objects"] * 2, "value": ["dog", "cat"], **columns})


def test_boxes_belong_to_the_value_that_was_drafted() -> None:
    facts = draft_facts(drafts(boxes=[json.dumps([BOX]), None], limits=["No people.", "No people."]))
    seen = (("dog", (0.0, 0.25, 0.5, 1.0)),)
    assert facts.boxes_of("a", "objects", "dog", planted=False) == seen
    assert facts.boxes_of("a", "objects", "wolf", planted=False) == (), "drafted anew since"
    assert facts.boxes_of("b", "objects", "cat", planted=False) == ()
    assert facts.boxes_of("b", "objects", "dog", planted=False) == ()
    assert facts.limits == {"objects": "No people."}


def test_a_planted_draft_looks_like_the_others() -> None:
    """It comes with the boxes it has in its own image: without any, whoever looks for boxes would know it."""
    facts = draft_facts(drafts(boxes=[json.dumps([BOX]), None]))
    assert facts.boxes_of("b", "objects", "dog", planted=True) == (("dog", (0.0, 0.25, 0.5, 1.0)),)
    assert facts.boxes_of("a", "objects", "cat", planted=True) == ()
    assert facts.boxes_of("b", "colour", "dog", planted=True) == ()


@check_all(
    "text",
    [
        "{", "7", "null", '["dog"]', '[{"tag": "dog"}]', '[{"tag": "dog", "box": 7}]', '[{"tag": "dog", "box": ["x", 0, 1, 1]}]',
        '[{"tag": "dog", "box": [0, 0, 1]}]', '[{"tag": "dog", "box": [0, 0, 1.01, 1]}]', '[{"tag": "dog", "box": [-1, 0, 1, 1]}]',
        '[{"tag": "dog", "box": [0, 0, 0, 1]}]', '[{"tag": "dog", "box": [0, 1, 1, 1]}]', '[{"tag": "dog", "box": [NaN, 0, 1, 1]}]',
    ],
)  # fmt: skip
def test_boxes_that_cannot_be_drawn_are_left_out(text: str) -> None:
    facts = draft_facts(drafts(boxes=[text, json.dumps([BOX, {**BOX, "box": [0, 0, 2, 2]}])]))
    assert facts.boxes_of("a", "objects", "dog", planted=False) == ()
    assert len(facts.boxes_of("b", "objects", "cat", planted=False)) == 1


def test_drafts_without_boxes_have_none() -> None:
    facts = draft_facts(drafts())
    assert (facts.boxes, facts.limits) == ({}, {})
    two = draft_facts(drafts(limits=["No people.", "No sky."]))
    assert two.limits == {"objects": "No people. No sky."}
