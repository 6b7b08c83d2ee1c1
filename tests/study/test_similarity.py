"""How alike two answers are, by hand."""

from __future__ import annotations

import pytest

from heartfelt.study import Scale
from heartfelt.study.scales.scale import Categories, FreeText, Numeric, Ordered, Points, Tags, YesNo
from heartfelt.study.scales.similarity import clearly_different, similarity
from tests.cases import check_all

NUMBER = Numeric(type="numeric", low=0, high=10)
FREE = Numeric(type="numeric")
POINTS = Points(type="points", points=5)
STYLE = Categories(type="categories", categories=["oil", "ink", "photo"])
GRADE = Ordered(type="ordered", categories=["low", "middle", "high"])
TAGS = Tags(type="tags")
TEXT = FreeText(type="text")


@check_all(
    ("scale", "one", "other", "alike"),
    [
        (NUMBER, "2", "4.5", 0.75),
        (NUMBER, "2", "2.0", 1.0),
        (NUMBER, "0", "10", 0.0),
        (NUMBER, "2", "bright", 0.0),
        (FREE, "50", "100", 0.5),
        (FREE, "0", "0.0", 1.0),
        (POINTS, "1", "2", 0.75),
        (STYLE, "oil", "ink", 0.0),
        (STYLE, "oil", "0", 1.0),
        (GRADE, "low", "middle", 0.5),
        (YesNo(type="yes-no"), "yes", "true", 1.0),
        (TAGS, "Cat; dog", "dog;cat", 1.0),
        (TAGS, "cat;dog", "dog;boat", 1 / 3),
        (TAGS, "", ";", 1.0),
        (TAGS, "(none)", "", 1.0),
        (TAGS, "(none)", "cat", 0.0),
        (NUMBER, "(none)", "3", 0.0),
        (TEXT, "An oil painting.", "oil painting", 2 / 3),
        (TEXT, "红色 天空", "天空", 0.5),
        (TEXT, "ink", "charcoal", 0.0),
    ],
)
def test_by_hand(scale: Scale, one: str, other: str, alike: float) -> None:
    assert similarity(scale, one, other) == pytest.approx(alike)
    assert similarity(scale, other, one) == pytest.approx(alike)


def test_what_nobody_who_looks_would_confuse() -> None:
    assert clearly_different(NUMBER, "2", "4")
    assert not clearly_different(NUMBER, "2", "3.9")
    assert clearly_different(STYLE, "oil", "ink")
    assert not clearly_different(TAGS, "cat;dog;boat", "cat;dog")
    assert clearly_different(TAGS, "cat;dog", "dog;boat")
