"""Conditions, questionnaires, pages and grids in ``study.yaml``: what each means, and what is refused with its line."""

from __future__ import annotations

from typing import Any

import pytest

from heartfelt.errors import InputError, StudyError
from heartfelt.study import Study, parse_study, study_text
from heartfelt.study.consistency.conditions import holds, is_shown, scale_of
from heartfelt.study.model import Condition
from heartfelt.study.scales.answer import NONE, Coded
from tests.cases import check_all
from tests.study.condition_cases import CASES, SCALES

BASE = """\
name: images
media: image
scales:
  seven: {type: points, points: 7}
  yes: {type: yes-no}
  emotions: {type: categories, categories: [joy, fear]}
  steps: {type: ordered, categories: [low, mid, high]}
  words: {type: text}
  things: {type: tags, tags: [cat, dog], open: false}
  amount: {type: numeric, low: 0, high: 10}
demographics:
  - {id: age, text: Age, type: number, at_least: 18}
  - {id: eyes, text: Eyes, type: choice, choices: [brown, blue]}
"""


def study(*questions: str, more: str = "") -> Study:
    return parse_study(BASE + more + "questions:\n" + "".join(f"  - {question}\n" for question in questions))


def q(name: str, scale: str = "yes", **keys: str) -> str:
    rest = "".join(f", {key}: {value}" for key, value in keys.items())
    return f"{{id: {name}, text: {name}, scale: {scale}{rest}}}"


@check_all("case", CASES, ids=[f"{n}" for n in range(len(CASES))])
def test_a_condition_holds_or_not(case: tuple[str, dict[str, Any], Any, bool]) -> None:
    scale_name, tests, given, expected = case
    scale = SCALES[scale_name]
    answer: Coded | None = None if given is None else (None, NONE) if given == NONE else scale.read(given)
    condition = Condition.model_validate({"question": "x", **tests})
    assert holds(condition, answer, scale) is expected
    turned = Condition.model_validate({"question": "x", **tests, "not": not tests.get("not", False)})
    assert holds(turned, answer, scale) is not expected


def test_all_conditions_must_hold_and_for_each_fills_names() -> None:
    made = study(
        "{id: 'is_{what}', text: '{what}?', scale: yes, for_each: {what: [face, hand]}}",
        "{id: 'big_{what}', text: Big, scale: yes, for_each: {what: [face, hand]},"
        " show_if: [{question: 'is_{what}', is: yes}, {rater: age, above: 20}]}",
    )
    question = made.question("big_hand")
    assert [condition.about for condition in question.show_if] == [("question", "is_hand"), ("rater", "age")]
    yes, old = {("question", "is_hand"): (1.0, "yes")}, {("rater", "age"): (30.0, None)}
    assert is_shown(made, question, {**yes, **old})
    assert not is_shown(made, question, yes)
    assert not is_shown(made, question, old)
    assert is_shown(made, question, yes, skip=("rater",))
    assert parse_study(study_text(made)).hash == made.hash
    assert "is:" in study_text(made)


@check_all(
    ("questions", "problem"),
    [
        ([q("a"), q("b", show_if="{question: c, is: yes}")], "no question is called 'c'"),
        ([q("a", show_if="{question: b, is: yes}"), q("b")], "'b' comes after 'a'"),
        ([q("a", show_if="{question: a, is: yes}")], "'a' depends on itself"),
        (
            [q("a", show_if="{question: b, is: yes}"), q("b", show_if="{question: a, is: yes}")],
            "'a' and 'b' depend on each other in a circle",
        ),
        ([q("a"), q("b", show_if="{question: a, is: maybe}")], "'maybe' is not on the scale"),
        ([q("a", "seven"), q("b", show_if="{question: a, above: 7}")], "'b' could never be shown"),
        ([q("a", "seven"), q("b", show_if="{question: a, above: 3, below: 4}")], "could never be shown"),
        ([q("a", "amount"), q("b", show_if="{question: a, below: 0}")], "could never be shown"),
        ([q("a", "amount"), q("b", show_if="{question: a, above: 3, below: 2}")], "could never be shown"),
        ([q("a"), q("b", show_if="{question: a, answered: false}")], "could never be shown"),
        ([q("a"), q("b", show_if="{question: a, none: true}")], "could never be shown"),
        ([q("a"), q("b", show_if="{question: a, is: [yes, no], not: true}")], "could never be shown"),
        ([q("a"), q("b", show_if="[{question: a, is: yes}, {question: a, is: no}]")], "could never be shown"),
        (
            [
                q("a"),
                q("b", show_if="{question: a, is: yes}"),
                q("c", show_if="[{question: b, answered: true}, {question: a, is: no}]"),
            ],
            "'c' could never be shown",
        ),
        ([q("a", "things"), q("b", show_if="{question: a, includes: bird}")], "'bird' is not a tag"),
        ([q("a"), q("b", show_if="{question: a, includes: yes}")], "is not answered with tags"),
        ([q("a", "emotions"), q("b", show_if="{question: a, above: 1}")], "have no order"),
        ([q("a", show_if="{rater: height, above: 1}")], "nothing asked about raters is called 'height'"),
        ([q("a", show_if="{rater: age, below: 18}")], "'a' could never be shown"),
        ([q("a", show_if="{rater: eyes, is: green}")], "'green' is not a category"),
        ([q("a"), q("b", show_if="{draft: a, is: yes}")], "no machine_first question is called 'a'"),
        (
            [q("a", machine_first="true"), q("b", show_if="{question: a, is: yes}")],
            "'b' is asked before any draft is shown",
        ),
        ([q("a"), q("b", show_if="{question: a}")], "a condition needs a test"),
        ([q("a"), q("b", show_if="{question: a, draft: a, is: yes}")], "a condition is about one thing"),
        ([q("a"), q("b", show_if="{question: a, are: yes}")], "there is no such key here"),
        ([q("a", page="p"), q("b"), q("c", page="p")], "the page 'p' is interrupted before 'c'"),
        ([q("a", page="p"), q("b", page="p", machine_first="true")], "with and without a draft"),
        ([q("a", grid="g"), q("b", "seven", grid="g")], "need the same scale"),
        ([q("a", "words", grid="g")], "the columns of a grid are"),
        ([q("a", grid="g", machine_first="true")], "a question with a draft is shown by itself"),
    ],
)
def test_what_cannot_work_is_refused_with_its_line(questions: list[str], problem: str) -> None:
    with pytest.raises(StudyError) as error:
        study(*questions)
    assert problem in str(error.value)
    first = BASE.count("\n") + 2
    wrong = [number for number, line in enumerate(questions) if "show_if" in line or "grid" in line or "page" in line]
    assert any(f"line {first + number}," in str(error.value) for number in wrong)


def test_conditions_that_can_hold_are_accepted() -> None:
    study(
        q("a", "seven", none="true"),
        q("b", required="false", show_if="{question: a, none: false, above: 6}"),
        q("c", show_if="{question: b, answered: false}"),
        q("d", show_if="[{question: b, is: yes}, {question: a, is: 7}]"),
        q("e", show_if="[{rater: age, above: 17.5, below: 19}, {rater: eyes, is: blue, not: true}]"),
        q("f", "things", machine_first="true", none="{en: Nothing, ko: 없음}"),
        q("g", "steps", machine_first="true", show_if="{question: f, includes: [cat, dog]}"),
        q("h", show_if="{draft: g, above: 0}"),
    )


def test_unused_keys_leave_the_hash_as_it_was() -> None:
    made = study(q("a", "words"), q("b", "things"), q("c", "seven"))
    written = made.model_dump(mode="json")
    assert not {"before", "after"} & set(written)
    assert not {"show_if", "none", "page", "grid"} & set(written["questions"][0])
    assert set(written["scales"]["words"]) == {"type", "min_words", "max_words"}
    assert set(written["scales"]["things"]) == {"type", "tags", "open", "separator"}
    assert made.hash == "f57a9a165802cdc46b833baeba261ca2c2cb6d6e478a3ce303a0e1a9ede1be63"


def test_questionnaires_are_of_the_same_questions() -> None:
    made = study(
        q("a", show_if="{rater: mood, above: 3}"),
        more="before:\n  - {id: mood, text: Mood, scale: seven}\n"
        "  - {id: 'bfi_{n}', text: 'Item {n}', scale: seven, grid: bfi, for_each: {n: ['1', '2']}}\n"
        "  - {id: why, text: Why, scale: words, show_if: {question: mood, below: 3}}\n"
        "after:\n  - {id: mood, text: Mood now, scale: seven, show_if: {rater: why, answered: true}}\n",
    )
    assert [question.id for question in made.asked_in("before")] == ["mood", "bfi_1", "bfi_2", "why"]
    assert [question.id for question in made.asked_in("after")] == ["mood"]
    assert scale_of(made, ("rater", "mood")).bounds() == (1.0, 7.0)
    assert parse_study(study_text(made)).hash == made.hash


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("before: [{id: age, text: Age, scale: words}]\n", "a demographic is called 'age' too"),
        ("before: [{id: a, text: A, scale: words}, {id: a, text: A, scale: words}]\n", "two before are called 'a'"),
        ("after: [{id: a, text: A, scale: words, machine_first: true}]\n", "'machine_first' is about stimuli"),
        ("after: [{id: a, text: A, scale: none}]\n", "no scale is called 'none'"),
        ("before: [{id: a, text: A, scale: yes, show_if: {draft: x, is: yes}}]\n", "a draft is about a stimulus"),
        (
            "before: [{id: a, text: A, scale: yes, show_if: {rater: a, is: yes}}]\n",
            "nothing asked about raters is called 'a'",
        ),
    ],
)
def test_questionnaires_that_cannot_work_are_refused(more: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        study(q("x"), more=more)


def test_none_is_an_answer_only_where_it_may_be() -> None:
    made = study(q("a", "things", none="true"), q("b", "things"))
    assert made.read(made.question("a"), NONE) == (None, NONE)
    with pytest.raises(InputError, match="is not a tag"):
        made.read(made.question("b"), NONE)


def test_long_texts_have_limits_in_characters() -> None:
    text = parse_study(
        BASE.replace("words: {type: text}", "words: {type: text, min_characters: 3, max_characters: 5, rows: 4}")
        + "questions: [{id: a, text: A, scale: words}]\n"
    ).scale_of("a")
    assert text.read(" 안녕하 ")[1] == " 안녕하 "
    for wrong in ("ab", "abcdef", "  a  "):
        with pytest.raises(InputError, match="3 to 5 characters"):
            text.read(wrong)
    with pytest.raises(StudyError, match=r"min_characters.*max_characters"):
        parse_study(
            BASE.replace("{type: text}", "{type: text, min_characters: 3, max_characters: 2}")
            + "questions: [{id: a, text: A, scale: words}]\n"
        )


def test_suggestions_are_tags_too() -> None:
    things = "things: {type: tags, tags: [cat], suggestions: [{id: dog, text: {en: Dog, ko: 개}}], open: false}"
    made = parse_study(
        BASE.replace("things: {type: tags, tags: [cat, dog], open: false}", things)
        + "questions: [{id: a, text: A, scale: things}]\n"
    )
    assert made.scale_of("a").read(["dog", "cat"]) == (None, "dog;cat")
    with pytest.raises(InputError, match="'cow' is not a tag"):
        made.scale_of("a").read(["cow"])
    with pytest.raises(StudyError, match=r"tags.*'cat'"):
        parse_study(
            BASE.replace("tags: [cat, dog]", "tags: [cat], suggestions: [cat]")
            + "questions: [{id: a, text: A, scale: things}]\n"
        )
