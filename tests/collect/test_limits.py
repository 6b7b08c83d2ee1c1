"""Values from outside at their exact limits: texts, numbers, settings, demographic minimums, the headphone check."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    ChangeSettings,
    Demographics,
    GiveConsent,
    Headphones,
    Leave,
    MediaProblem,
    Next,
    Ready,
    SessionEnd,
    ShowInstructions,
    ShowTrial,
)
from heartfelt.collect.messages.errors import MissingAnswer
from heartfelt.collect.session.progress.transaction import clean, count, plain_json, seconds, session_keys
from heartfelt.errors import InputError

Make = Callable[..., Path]
Open = Callable[[Path], Collection]


@pytest.fixture
def collect() -> Iterator[Open]:
    made: list[Collection] = []

    def open_(folder: Path) -> Collection:
        made.append(Collection.open(folder, options=CollectOptions(seed=1, durable=False)))
        return made[-1]

    yield open_
    for collection in made:
        collection.close()


@pytest.mark.parametrize(
    ("text", "longest", "stored"),
    [
        (None, 5, None),
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcde"),
        ("a b-c!", 5, "a b-c"),
        ("a\x00b", 5, "ab"),
        ("a\ud800b", 5, "a?b"),
        ("é", 5, "é"),
        ("", 5, ""),
    ],
)
def test_texts_that_every_database_accepts(text: str | None, longest: int, stored: str | None) -> None:
    assert clean(text, longest) == stored


def test_the_longest_text() -> None:
    assert len(clean("x" * 20_001) or "") == len(clean("x " * 20_001) or "") == 20_000


def test_plain_data_as_json() -> None:
    assert plain_json([1, "a\x00b"]) == '[1,"ab"]'
    assert plain_json([1] * 3, longest=7) == "[1,1,1]"
    assert json.loads(plain_json([1] * 3, longest=6)) == {"dropped": "too long"}
    for odd in ({1, 2}, [math.nan], object()):
        assert json.loads(plain_json(odd)) == {"dropped": "not plain data"}


@pytest.mark.parametrize(
    ("value", "stored"),
    [(0, 0.0), (2.5, 2.5), (-3, -3.0), (True, None), ("2", None), (None, None), (1e15, None), (9.9e14, 9.9e14)],
)
def test_seconds_are_finite_numbers(value: Any, stored: float | None) -> None:
    assert seconds(value) == stored
    assert seconds(math.nan) is seconds(math.inf) is seconds(-1e15) is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [(0, 0), (3, 3), (2.9, 2), (-1, 0), (2**31 - 1, 2**31 - 1), (2**31, 2**31 - 1), (1e15, 0), ("3", 0), (None, 0)],
)
def test_counts_fit_the_database(value: Any, stored: int) -> None:
    assert count(value) == stored


def test_only_a_session_or_an_assignment_proves_a_person() -> None:
    assert session_keys({"session": "a", "assignment": "b", "study": "c"}) == {"a", "b"}
    assert session_keys({"session": "", "hit": "c"}) == frozenset()


@pytest.mark.parametrize(("age", "ends"), [(17.99, True), ("17,9", True), (18, False), ("18", False), (99, False)])
def test_exactly_the_minimum_is_enough(make_study: Make, collect: Open, age: object, ends: bool) -> None:
    asked = [{"id": "age", "text": "Age", "type": "number", "at_least": 18}]
    collection = collect(make_study(demographics=asked))
    rater = collection.do(Arrive()).rater
    step = collection.do(Demographics(rater, {"age": age}))
    assert isinstance(step, SessionEnd if ends else ShowInstructions)
    assert collection.raters()["state"].to_list() == ["screened-out" if ends else "beginning"]


@pytest.mark.parametrize(("right", "ends"), [(3, True), (4, False), (6, False)])
def test_exactly_as_many_as_needed_pass_the_headphone_check(
    make_study: Make, collect: Open, right: int, ends: bool
) -> None:
    probe = {"id": "ears", "type": "headphones", "trials": 6, "pass_at": 4, "blocks": True}
    collection = collect(make_study(probes=[probe]))
    rater = collection.do(Arrive()).rater
    quietest = collection.quietest_tones(rater)
    given = quietest[:right] + [place % 3 + 1 for place in quietest[right:]]
    step = collection.do(Headphones(rater, "ears", given))
    assert isinstance(step, SessionEnd if ends else ShowInstructions)
    row = collection.raters().row(0, named=True)
    assert (row["headphones_correct"], row["headphones_passed"]) == (right, not ends)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("open", [True, False], [1, 0, None, "true"]),
        ("cap", [None, 0, 2**31 - 1], [-1, 2**31, True, 1.0, "3"]),
        ("ratings_per_item", [None, 2, 3, 999_999], [0, 1_000_000, True, 2.5]),
        ("code_full", ["x", "y" * 200], ["", " ", "y" * 201, None, 7]),
        ("return_url", [None, "https://a", "http://a"], ["ftp://a", "a", 7]),
    ],
)
def test_settings_at_their_limits(
    make_study: Make, collect: Open, name: str, valid: list[object], invalid: list[object]
) -> None:
    collection = collect(make_study())
    for value in valid:
        settings = collection.do(ChangeSettings({name: value}))
        assert getattr(settings, name) == value or value is None
    before = collection.settings
    for value in invalid:
        with pytest.raises(InputError, match=f"the setting '{name}'"):
            collection.do(ChangeSettings({name: value}))
    assert collection.settings == before


def test_every_ending_has_its_code(make_study: Make, collect: Open) -> None:
    codes = {"complete": "C", "screened_out": "S", "declined": "D", "full": "F", "partial": "P"}
    consent = {"text": "Agree?", "version": "1"}
    collection = collect(make_study(recruiting={"codes": codes, "return_url": "https://a/{code}"}, consent=consent))
    settings = collection.settings
    assert [settings.code_complete, settings.code_screened_out, settings.code_no_consent] == ["C", "S", "D"]
    assert [settings.code_full, settings.code_partial] == ["F", "P"]
    rater = collection.do(Arrive()).rater
    assert collection.do(Leave(rater)) == SessionEnd(ending="left", code="P", url="https://a/P")
    assert collection.do(Next(rater)) == SessionEnd(ending="left", code="P", url="https://a/P")
    other = collection.do(Arrive()).rater
    assert collection.do(GiveConsent(other, False)) == SessionEnd(ending="no-consent", code="D", url="https://a/D")


@pytest.mark.parametrize("nothing", [None, "", " ", []])
def test_nothing_is_no_answer(make_study: Make, collect: Open, nothing: object) -> None:
    collection = collect(make_study())
    rater = collection.do(Arrive()).rater
    trial = collection.do(Ready(rater))
    assert isinstance(trial, ShowTrial)
    with pytest.raises(MissingAnswer, match="Not answered: valence"):
        collection.do(Answer(rater, trial.trial, key="k", values={"valence": nothing}))
    assert collection.do(Answer(rater, trial.trial, key="k", values={"valence": 1})).status == "stored"


def test_the_answers_of_another_check_are_refused(make_study: Make, collect: Open) -> None:
    probe = {"id": "ears", "type": "headphones", "trials": 6, "pass_at": 4}
    collection = collect(make_study(probes=[probe]))
    rater = collection.do(Arrive()).rater
    for name, given in (("tones", [1] * 6), ("ears", [1] * 5), ("ears", [1] * 7)):
        with pytest.raises(InputError, match="'ears' has 6 trials"):
            collection.do(Headphones(rater, name, given))


def test_a_media_problem_is_stored_with_its_stimulus(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(1))
    rater = collection.do(Arrive()).rater
    trial = collection.do(Ready(rater))
    assert isinstance(trial, ShowTrial)
    collection.do(MediaProblem(rater, trial.trial, "no sound"))
    row = collection.problems().row(0, named=True)
    assert (row["stimulus"], row["rater"], row["problem"]) == ("s0", rater, "no sound")
