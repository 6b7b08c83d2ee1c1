"""Measurements and names as answers on every kind of scale."""

from __future__ import annotations

import pytest

from heartfelt.predictors import Ask, Prediction
from heartfelt.predictors.answers.scales import Label, Measurement, answer_labels, answer_number, normalised
from heartfelt.predictors.execution.work import checked
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Categories, Category, FreeText, Numeric, Ordered, Points, Tag, Tags, YesNo
from tests.cases import check_all
from tests.facts import mentions

WORDS = ("dark", "medium", "bright")
DOG = Label("Beagle", 0.6, ("dog", "mammal", "animal"))
CAT = Label("tabby cat", 0.3, ("tabby", "cat", "mammal", "animal"))


def light(value: float) -> Measurement:
    return Measurement(name="brightness", value=value, low=0, high=100, words=WORDS)


def settled(prediction: Prediction, ask: Ask) -> Prediction:
    """As the runner stores it, and readable on the scale."""
    result = checked(prediction, ask)
    assert result.problem is None, result.problem
    if result.answer is not None:
        ask.scale.read(result.answer)
    elif result.value is not None:
        ask.scale.read(result.value)
    return result


@check_all(
    ("scale", "value", "expected"),
    [
        (Numeric(type="numeric", low=0, high=100), 62.345678, 62.345678),
        (Numeric(type="numeric", low=0, high=1), 62.5, 0.625),
        (Numeric(type="numeric", low=0, high=1, step=0.01), 62.345678, 0.62),
        (Numeric(type="numeric", low=0, high=1, step=0.3), 100.0, 0.9),
        (Numeric(type="numeric", low=-1, high=1), 25, -0.5),
        (Numeric(type="numeric"), 62.5, 62.5),
        (Numeric(type="numeric", low=10), 62.5, 62.5),
        (Numeric(type="numeric", low=0, high=100), 140, 100),
        (Numeric(type="numeric", low=0, high=1), -3, 0),
        (Points(type="points", points=5), 0, 1),
        (Points(type="points", points=5), 100, 5),
        (Points(type="points", points=5), 37.4, 2),
        (Points(type="points", points=5), 37.5, 3),
        (Points(type="points", points=3, first=-1), 50, 0),
        (Ordered(type="ordered", categories=["low", "mid", "high"]), 33.3, 0),
        (Ordered(type="ordered", categories=["low", "mid", "high"]), 33.4, 1),
        (Ordered(type="ordered", categories=["low", "mid", "high"]), 100, 2),
        (YesNo(type="yes-no"), 49.9, 0),
        (YesNo(type="yes-no"), 50, 1),
    ],
)
def test_a_number_on_a_scale(scale: Scale, value: float, expected: float) -> None:
    ask = Ask(question="q", scale=scale, text="")
    result = settled(answer_number(light(value), ask), ask)
    assert result.value == pytest.approx(expected, abs=1e-12)
    assert "brightness is" in (result.note or "")
    assert ("held at the end" in (result.note or "")) == (not 0 <= value <= 100)


def test_categories_with_codes_of_their_own_are_in_the_order_of_their_codes() -> None:
    scale = Ordered(
        type="ordered",
        categories=[Category(id="bright", value=9), Category(id="dim", value=4), Category(id="dark", value=1)],
    )
    ask = Ask(question="q", scale=scale, text="")
    assert [settled(answer_number(light(value), ask), ask).answer for value in (5, 50, 95)] == ["dark", "dim", "bright"]


def test_a_number_in_words() -> None:
    tags = Ask(question="q", scale=Tags(type="tags", tags=["Bright", "Dark"], open=False), text="")
    assert settled(answer_number(light(90), tags), tags).answer == "Bright"
    assert mentions(answer_number(light(50), tags).problem or "", "1", "Bright", "Dark")
    named = Ask(question="q", scale=Categories(type="categories", categories=["dark", "bright"]), text="")
    assert settled(answer_number(light(10), named), named).answer == "dark"
    text = Ask(question="q", scale=FreeText(type="text", max_words=12), text="")
    assert (settled(answer_number(light(10), text), text).answer or "").startswith("dark (brightness is 10")
    short = Ask(question="q", scale=FreeText(type="text", max_words=1), text="")
    assert "length the scale allows" in (answer_number(light(10), short).problem or "")


def test_a_number_outside_an_open_scale() -> None:
    result = answer_number(light(3), Ask(question="q", scale=Numeric(type="numeric", low=10), text=""))
    assert "outside the scale" in (result.problem or "")


def test_free_tags_are_the_likely_names() -> None:
    ask = Ask(question="q", scale=Tags(type="tags"), text="")
    result = settled(answer_labels([CAT, DOG, Label("mat; rug", 0.1)], ask, least=0.1), ask)
    assert result.answer == "Beagle;tabby cat;mat rug"
    assert result.score == 0.6
    assert answer_labels([DOG, CAT], ask, most=1).answer == "Beagle"
    assert mentions(answer_labels([DOG, CAT], ask, least=0.7).problem or "", "Beagle", "0.6")
    assert "nothing was recognised" in (
        answer_labels([], Ask(question="q", scale=FreeText(type="text"), text="")).problem or ""
    )


def test_tags_of_a_list_are_matched_by_id_and_text_in_any_language() -> None:
    listed = [Tag(id="t1", text={"en": "Dogs", "ko": "개"}), Tag(id="t2", text="animal"), "CAT"]
    ask = Ask(question="q", scale=Tags(type="tags", tags=listed, open=False), text="")
    result = settled(answer_labels([DOG, CAT, Label("sofa", 0.1)], ask, least=0.2), ask)
    assert result.answer == "t2;t1;CAT"
    assert result.shares == pytest.approx({"t2": 0.9, "t1": 0.6, "CAT": 0.3})
    nothing = answer_labels([Label("sofa", 0.9)], ask)
    assert nothing.answer is None
    assert mentions(nothing.problem or "", "0.9", "answers")


def test_an_open_list_prefers_its_own_tags() -> None:
    ask = Ask(question="q", scale=Tags(type="tags", tags=["dog"], open=True, separator=","), text="")
    assert answer_labels([DOG, CAT], ask).answer == "dog,tabby cat"


def test_categories_take_the_largest_sum_of_the_most_special_match() -> None:
    ask = Ask(question="q", scale=Categories(type="categories", categories=["dog", "animal", "other thing"]), text="")
    hamster, hare = Label("hamster", 0.4, ("animal",)), Label("hare", 0.3, ("animal",))
    result = settled(answer_labels([DOG, hamster, hare], ask), ask)
    assert result.answer == "animal"
    assert result.shares == pytest.approx({"dog": 0.6, "animal": 0.7})
    assert "is not among the answers" in (answer_labels([Label("sofa", 1.0)], ask).problem or "")


def test_yes_or_no_asks_for_what_the_question_is_called() -> None:
    ask = Ask(question="dogs", scale=YesNo(type="yes-no"), text="")
    yes = settled(answer_labels([DOG, CAT], ask), ask)
    assert yes.answer == "yes"
    assert yes.score == pytest.approx(0.6)
    no = settled(answer_labels([CAT, Label("Beagle", 0.1, ("dog",))], ask), ask)
    assert no.answer == "no"
    assert no.score == pytest.approx(0.9)
    unknown = answer_labels([DOG], Ask(question="is it nice", scale=YesNo(type="yes-no"), text=""))
    assert "none of the names it knows" in (unknown.problem or "")


def test_names_are_no_numbers() -> None:
    for scale in (Numeric(type="numeric"), Points(type="points", points=5)):
        assert mentions(
            answer_labels([DOG], Ask(question="q", scale=scale, text="")).problem or "", "names", "Beagle 0.6"
        )


def test_a_text_lists_the_names() -> None:
    ask = Ask(question="q", scale=FreeText(type="text", max_words=4), text="")
    assert settled(answer_labels([DOG, CAT], ask), ask).answer == "Beagle, tabby cat"
    short = Ask(question="q", scale=FreeText(type="text", min_words=9), text="")
    assert "length the scale allows" in (answer_labels([DOG], short).problem or "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dogs", "dog"),
        ("dark_grey", "Dark Gray"),
        ("T-shirt", "t shirt"),
        ("glass", "Glass"),
        (" big  cat ", "big cat"),
    ],
)
def test_words_that_count_as_the_same(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert normalised("glass") == "glass"
    assert normalised("bus") == "bus"
