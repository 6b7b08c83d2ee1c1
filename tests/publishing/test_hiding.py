"""The test of what is published about held-out stimuli, by hand: features, models, thresholds, names, and the list of columns."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.labels import SplitOptions, freeze
from heartfelt.publishing.hiding import leaks
from heartfelt.publishing.hiding.columns import HiddenColumns, _gives_away, _labels, _renumbered, hidden_columns
from heartfelt.publishing.hiding.features import (
    MOST_CATEGORIES,
    MOST_WORDS,
    Matrix,
    _categories,
    _words,
    decoded,
    encoded,
    words_of,
)
from heartfelt.publishing.hiding.hold_out import hold_out
from heartfelt.publishing.hiding.leaks import LabelsToHide, design_agreement, label_leaks
from heartfelt.publishing.hiding.spelled import spelled_out
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.snapshot import Source
from tests.facts import mentions
from tests.publishing.attacks import MOODS, label_only, labels

PUBLISHED = SplitOptions(by="split", shares={"train": 0.75, "test": 0.25}, fixed={"train": "train", "test": "test"})


# --- features ---------------------------------------------------------------------------------------------------------


def test_words_numbers_and_codes_of_texts() -> None:
    assert words_of("Joy_03.5x, très-bien") == ["joy", "03.5", "x", "très", "bien"]
    assert decoded(base64.b64encode(b"joy:7").decode()) == "joy:7"
    assert decoded(base64.urlsafe_b64encode("über?>".encode()).decode()) == "über?>"
    assert decoded(b"joy".hex()).split()[-1] == "joy"
    assert not decoded("no")
    assert not decoded("//8=")
    assert not decoded(base64.b64encode(b"\x01\x02\x03").decode())
    assert not decoded(base64.b64encode(b"?!. ").decode())


def test_features_are_standardised_and_none_where_nothing_varies() -> None:
    assert encoded([]).shape == (0, 0)
    assert encoded([pl.Series([3, 3, 3])]).shape == (3, 0)
    matrix = encoded([pl.Series([1.0, 2.0, 4.0, 9.0])])
    assert matrix.shape == (4, 2), "the value and its rank"
    assert np.allclose(matrix.mean(axis=0), 0)
    assert np.isclose((matrix**2).sum(axis=1).mean(), 1)
    assert encoded([pl.Series([1.0, 2.0, None, 9.0])]).shape == (4, 3), "and whether it is missing"
    assert encoded([pl.Series([1.0, float("nan"), float("inf"), 9.0])]).shape == (4, 3)
    assert np.abs(encoded([pl.Series([0.0] * 99 + [1e9])])).max() <= 4 / np.sqrt(3)
    both = encoded([pl.Series([1.0, 2.0, 4.0, 9.0]), pl.Series([True, False, True, False])])
    assert both.shape == (4, 6), "a value, a rank, and one column for each of two values"


def test_texts_that_are_numbers_are_read_as_such() -> None:
    numbers, texts = pl.Series([3.0, 1.0, 2.0, 5.0]), pl.Series(["3", "1", "2", "5.0"])
    assert np.allclose(encoded([numbers]), encoded([texts]))
    nearly = pl.Series([*map(str, range(9)), "x"])
    assert encoded([nearly]).shape[1] == 3
    assert encoded([pl.Series([*map(str, range(8)), "x", "y"])]).shape[1] > 3


def test_categories_words_and_places_of_numbers() -> None:
    colours = pl.Series(["red", "blue", "red", "blue", "green", None])
    columns = {tuple(np.round(column, 6)) for column in encoded([colours]).T}
    size = np.sqrt(len(encoded([colours]).T))
    wanted = np.array([1.0, 0, 1, 0, 0, 0])
    assert tuple(np.round((wanted - wanted.mean()) / wanted.std() / size, 6)) in columns
    pairs = [f"v{at // 2}" for at in range(2 * MOST_CATEGORIES)]
    assert len(_categories(pl.Series(pairs))) == MOST_CATEGORIES
    assert not _categories(pl.Series([*pairs, "w", *map(str, range(20))])), "too many to be categories"
    # Up to half as many values as rows are categories, beyond the thirty that always are.
    half = [f"v{at // 2}" for at in range(70)]
    assert len(_categories(pl.Series(half))) == MOST_CATEGORIES + 1
    assert not _categories(pl.Series([*half[:-2], "w", "x"]))
    names = pl.Series([f"clip {at} take {10 - at}" for at in range(10)])
    rising = encoded([names])
    order = np.arange(10.0)
    order = (order - order.mean()) / order.std() / np.sqrt(rising.shape[1])
    assert np.isclose(np.abs(rising - order[:, None]).sum(axis=0), 0).any()
    assert np.isclose(np.abs(rising + order[:, None]).sum(axis=0), 0).any(), "the second number falls"
    wording = pl.Series(["a joyful song", "a sad song", "a joyful tune", "a sad tune"])
    assert encoded([wording], numbers_only=True).shape[1] == 0
    assert encoded([wording]).shape[1] > 3
    assert encoded([pl.Series(["song 1", "song 2", "song 3"])], numbers_only=True).shape[1] > 0


def test_order_and_length_of_texts_are_looked_at_and_nothing_of_none() -> None:
    texts = pl.Series(["a", "zz", "bbb", "yyyy", None])
    matrix = encoded([texts])
    for wanted in ([1.0, 4, 2, 3, 0], [1.0, 2, 3, 4, 0]):
        column = (np.array(wanted) - np.mean(wanted)) / np.std(wanted) / np.sqrt(matrix.shape[1])
        assert np.isclose(np.abs(matrix - column[:, None]).sum(axis=0), 0).any()
    assert encoded([pl.Series([None, None, None], dtype=pl.String)]).shape == (3, 0)
    days = pl.Series(["2026-01-03", "2026-01-01", "2026-02-01"]).str.to_date()
    assert np.allclose(encoded([days]), encoded([pl.Series([2, 0, 31])])), "a date is a number of days"


def test_lists_are_looked_at_as_a_whole() -> None:
    rated = [["a"] * 7 + [mood] + ["a"] * 7 for mood in ("joy", "fear", "joy", "fear")]
    for column in (
        pl.Series(rated),
        pl.Series(rated, dtype=pl.Array(pl.String, 15)),
        pl.Series([{"first": 1, "last": row[7]} for row in rated]),
    ):
        matrix = encoded([column])
        assert matrix.shape[1] > 0
        assert np.allclose(matrix[0], matrix[2])
        assert not np.allclose(matrix[0], matrix[1])
    assert encoded([pl.Series([["a"], None, ["a", "b"]])]).shape[1] > 0


def test_numbers_are_looked_at_three_from_either_end() -> None:
    def names(varying: int) -> pl.Series:
        return pl.Series([" ".join(str(at if place == varying else 7) for place in range(8)) for at in range(9)])

    looked_at = [encoded([names(place)], numbers_only=True).shape[1] > 0 for place in range(8)]
    assert looked_at == [True] * 3 + [False] * 2 + [True] * 3
    # A text that is a number tells by its size only, where wording is meant to be telling.
    values = ["1", "3", "2"] * 4
    telling = encoded([pl.Series(values)], numbers_only=True)
    for column in telling.T:
        assert abs(np.corrcoef(column, [float(value) for value in values])[0, 1]) == pytest.approx(1)
    assert encoded([pl.Series(values)]).shape[1] > telling.shape[1]


# --- models -----------------------------------------------------------------------------------------------------------


def test_predictions_leave_their_own_label_out() -> None:
    rng = np.random.default_rng(1)
    features, labels_of = rng.normal(size=(12, 3)), rng.normal(size=(12, 1))
    kernel = features @ features.T
    at_once = leaks._left_out(kernel, 0.3) @ labels_of
    for out in range(12):
        rest = np.arange(12) != out
        weights = np.linalg.solve(kernel[np.ix_(rest, rest)] + 0.3 * np.eye(11), labels_of[rest])
        assert np.isclose(kernel[out, rest] @ weights, at_once[out]).all()


def test_agreement_by_hand() -> None:
    ranks = np.array([[1.0], [2.0], [3.0], [4.0]])
    tried = np.stack([ranks * 2 + 7, -ranks, np.ones((4, 1))])
    assert np.allclose(leaks._agreement(ranks, tried), [1, -1, 0])
    codes = np.eye(3)[[0, 0, 1, 2]]
    right, most, half = np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[0, 0, 0, 0]], np.eye(3)[[0, 0, 1, 1]]
    assert np.allclose(leaks._agreement(codes, np.stack([right, most, half])), [1, 0, 0.5])


def asked(values: np.ndarray, hidden: int = 12, *, nominal: bool = False, question: str = "q") -> LabelsToHide:
    frame = pl.DataFrame({"row": np.arange(len(values)), "label": np.asarray(values, dtype=float)})
    return LabelsToHide(question=question, hidden=frame[:hidden], public=frame[hidden:], nominal=nominal)


def noise(seed: int, rows: int = 40) -> Matrix:
    return encoded([pl.Series(np.random.default_rng(seed).normal(size=rows))])


def test_a_copy_is_found_with_its_figures_and_noise_is_not() -> None:
    values = np.random.default_rng(2).normal(size=40)
    columns = {"copy": encoded([pl.Series(values)]), "noise": noise(3), "more": noise(4)}
    (leak,) = label_leaks([asked(values)], columns, {})
    assert leak.columns == ("copy",)
    assert leak.question == "q"
    assert leak.agreement > 0.95
    assert leak.without == 0
    assert not label_leaks([asked(values)], {name: columns[name] for name in ("noise", "more")}, {})
    assert not label_leaks([asked(values)], {}, {})
    assert not label_leaks([asked(values, hidden=7)], columns, {}), "too few to tell"
    assert not label_leaks([asked(np.ones(40))], columns, {}), "nothing to tell"


def test_every_guilty_column_is_named_once() -> None:
    values = np.random.default_rng(2).normal(size=40)
    columns = {"one": encoded([pl.Series(values)]), "two": encoded([pl.Series(-values)]), "noise": noise(3)}
    named = [name for leak in label_leaks([asked(values)], columns, {}) for name in leak.columns]
    assert sorted(named) == ["one", "two"]


def test_columns_that_only_together_tell() -> None:
    rng = np.random.default_rng(5)
    values, first = rng.normal(size=40), rng.normal(0, 2, 40)
    columns = {"one": encoded([pl.Series(first)]), "two": encoded([pl.Series(values - first)]), "noise": noise(3)}
    (leak,) = label_leaks([asked(values)], columns, {})
    assert set(leak.columns) >= {"one", "two"}
    either = rng.random(60) < 0.5
    truth = rng.random(60) < 0.5
    columns = {"one": encoded([pl.Series(either)]), "two": encoded([pl.Series(either ^ truth)]), "noise": noise(3, 60)}
    (leak,) = label_leaks([asked(truth, nominal=True)], columns, {})
    assert set(leak.columns) == {"one", "two"}


def test_a_column_of_the_held_out_part_alone_is_found() -> None:
    values = np.random.default_rng(6).normal(size=40)
    there = pl.Series([*values[:20], *[None] * 20])
    (leak,) = label_leaks([asked(values, hidden=20)], {"late": encoded([there]), "noise": noise(3)}, {})
    assert leak.columns == ("late",)


def test_what_the_design_says_already_is_no_leak() -> None:
    rng = np.random.default_rng(7)
    intent = rng.integers(0, 4, 60)
    values = intent + rng.normal(0, 0.2, 60)
    design = {"intent": encoded([pl.Series([f"i{at}" for at in intent])])}
    copy = {"name": encoded([pl.Series([f"i{at}_{place}" for place, at in enumerate(intent)])])}
    assert design_agreement([asked(values)], design)["q"] > 0.9
    assert design_agreement([asked(values)], {}) == {"q": 0.0}
    assert not label_leaks([asked(values)], copy, design)
    assert label_leaks([asked(values)], copy, {})
    (leak,) = label_leaks([asked(values)], {"mean": encoded([pl.Series(values)])}, design)
    assert leak.without > 0.9, "and yet the exact labels are"


def test_weak_relations_are_no_leak() -> None:
    values = np.random.default_rng(8).normal(size=80)
    weak = values + np.random.default_rng(9).normal(0, 3, 80)
    assert not label_leaks([asked(values, hidden=40)], {"weak": encoded([pl.Series(weak)])}, {})


def test_which_columns_are_tried_together() -> None:
    sets = leaks._sets(["votes_joy", "votes_fear", "tempo", "key"])
    every = ("votes_joy", "votes_fear", "tempo", "key")
    assert sets == [*((name,) for name in every), every[:2], every]
    assert leaks._sets(["a"]) == [("a",)]


# --- names ------------------------------------------------------------------------------------------------------------


def rows(*values: float) -> pl.DataFrame:
    return pl.DataFrame(
        {"row": list(range(len(values))), "label": list(values)}, schema={"row": pl.Int64, "label": pl.Float64}
    )


def test_names_that_spell_the_labels_out() -> None:
    nothing = pl.DataFrame()
    words = {0.0: "joy", 1.0: "deep fear"}
    right = pl.Series(["joy_1", "a/deep-fear.wav", "x"])
    assert spelled_out(right, nothing, rows(0, 1, 0), words)
    assert not spelled_out(right, nothing, rows(1, 0, 0), words)
    assert not spelled_out(right, pl.DataFrame({"intent": ["joy", "deep fear", "joy"]}), rows(0, 1, 0), words)
    assert not spelled_out(pl.Series(["joy_1", "x", "y", "z"]), nothing, rows(0, 1, 0, 1), words), (
        "half is no accident, one is"
    )
    assert not spelled_out(pl.Series(["joy_1", "x", "y", "deep fear"]), nothing, rows(0, 1, 0, 1), words), (
        "half are not most"
    )
    assert spelled_out(pl.Series(["joy"] * 5 + list("wxyz")), nothing, rows(0, 0, 0, 0, 0, 1, 1, 1, 1), words), (
        "five of nine are"
    )
    assert not spelled_out(pl.Series(["joy"]), nothing, rows(0), words)
    assert not spelled_out(pl.Series(["joy", "joy"]), nothing, rows(0, 0), words), "one category tells nothing"
    assert spelled_out(
        pl.Series([base64.b64encode(b"joy").decode(), base64.b64encode(b"deep fear").decode()]),
        nothing,
        rows(0, 1),
        words,
    )
    assert not spelled_out(pl.Series([None, "x"], dtype=pl.String), nothing, rows(0, 1), words)


def test_names_whose_numbers_are_in_the_order_of_the_labels() -> None:
    nothing, values = pl.DataFrame(), (1.5, 2.5, 3.0, 4.0, 7.0, 8.0)
    assert spelled_out(pl.Series([f"c{at}" for at in range(6)]), nothing, rows(*values), {})
    assert spelled_out(pl.Series([f"x1c{9 - at}" for at in range(6)]), nothing, rows(*values), {})
    assert not spelled_out(pl.Series([f"c{at}" for at in (0, 2, 1, 3, 4, 5)]), nothing, rows(*values), {})
    assert not spelled_out(pl.Series([f"c{at}" for at in range(5)]), nothing, rows(*values[:5]), {}), "too few"
    assert not spelled_out(pl.Series([f"c{at}" for at in range(6)]), nothing, rows(1, 1, 1, 2, 2, 2), {})
    assert not spelled_out(pl.Series(list("abcdef")), nothing, rows(*values), {})
    thrice = pl.Series([f"c{at}" for at in (5, 5, 7, 7, 8, 8)])
    assert spelled_out(thrice, nothing, rows(1, 1, 2, 2, 3, 3), {}), "three labels have an order"
    # Of names with several numbers each place is looked at, up to the shortest name's last.
    second = pl.Series([f"c{(at * 5) % 7} {at}" for at in range(5)] + ["c9 8 1"])
    assert spelled_out(second, nothing, rows(*values), {})
    assert not spelled_out(pl.Series([f"c{at}" for at in range(5)] + ["x"]), nothing, rows(*values), {})


# --- the list ---------------------------------------------------------------------------------------------------------


def chosen(source: Snapshot, **names: tuple[str, ...]) -> HiddenColumns:
    return hidden_columns(source, freeze(source, split=PUBLISHED), "test", **names)


def test_only_listed_and_named_columns_are_published() -> None:
    moods = labels()
    columns: dict[str, Sequence[object]] = {
        "system": ["a", "b"] * 20, "prompt": ["p"] * 40, "checks": ["x"] * 40, "model": ["m"] * 40, "seed": list(range(40)),
        "tempo": [at * 37 % 41 for at in range(40)], "duration": [1.0 + at for at in range(40)], "found": [False] * 40,
    }  # fmt: skip
    source = label_only(moods, columns=columns)
    result = chosen(source)
    assert result.stimuli == ("stimulus", "prompt", "system", "split", "found", "model", "seed")
    assert result.items == ("stimulus", "question")
    assert result.fields == result.emptied == result.insisted == result.untested == ()
    assert result.names == result.stimuli
    named = chosen(source, named=("stimuli.tempo", "tempo"))
    assert named.names == (*result.stimuli, "tempo")
    assert chosen(source, anyway=("tempo",)).insisted == ("tempo",)
    assert chosen(source, named=("system",)).stimuli == result.stimuli, "it is there already"
    with pytest.raises(InputError, match=r"hold-out-columns.*'temp'") as refused:
        chosen(source, named=("temp",))
    assert "tempo" in str(refused.value.fix)


def test_facts_of_a_file_are_published_where_the_file_is(tmp_path: Path) -> None:
    columns: dict[str, Sequence[object]] = {
        "path": [f"{at}.wav" for at in range(40)], "found": [True] * 35 + [False] * 5, "duration": [1.0 + at for at in range(40)],
    }  # fmt: skip
    source = label_only(labels(), columns=columns, source=Source(format="tables", name="x", media_root=tmp_path))
    public = hold_out(source, "test", PUBLISHED).snapshot.stimuli
    assert public["duration"].null_count() == 5
    assert public.filter(pl.col("duration").is_null())["found"].to_list() == [False] * 5
    without = label_only(labels(), columns=columns)
    assert hold_out(without, "test", PUBLISHED).snapshot.stimuli["duration"].null_count() == 10


def test_values_of_machines_are_published_where_named_and_untouched() -> None:
    moods, names = labels(), [f"c{at:02}" for at in range(40)]
    fields = pl.DataFrame(
        {"stimulus": names, "field": "tempo", "machine": [str(at * 37 % 41) for at in range(40)], "confidence": 0.5}
    ).with_columns(verdict=pl.Series(["accepted"] + [None] * 38 + ["fixed"]))
    source = label_only(moods, fields=fields)
    assert hold_out(source, "test", PUBLISHED).snapshot.fields.height == 30
    result = hold_out(source, "test", PUBLISHED, columns=["machine"])
    assert result.columns.fields == ("stimulus", "field", "machine")
    assert "fields.machine" in result.columns.names
    public = result.snapshot.fields
    assert public.height == 39, "the one that a person fixed is not published"
    assert public["confidence"].null_count() == 9
    assert not public.filter(stimulus="c00")["confidence"].null_count()
    with pytest.raises(InputError, match="no column 'verdict'"):
        hold_out(source, "test", PUBLISHED, columns=["verdict"])


def test_in_doubt_columns_are_refused() -> None:
    moods = labels()
    source = label_only(moods, columns={"mean": moods, "late": [None] * 30 + list(range(10))})
    with pytest.raises(InputError, match=r"'mean'.*'mood'.*1\.00"):
        chosen(source, named=("mean",))
    with pytest.raises(InputError, match=r"10 items.*'mood'.*'late'"):
        chosen(source, named=("late",))
    few = label_only(moods, hidden=7, columns={"tempo": list(range(40))})
    with pytest.raises(InputError, match=r"7 held-out.*'mood'"):
        chosen(few, named=("tempo",))
    assert chosen(few).untested == ("mood",)
    assert chosen(few, anyway=("tempo",)).stimuli[-1] == "tempo"
    assert not chosen(label_only(moods, hidden=8)).untested
    # Of a column of items, the question with most values counts.
    about = [(at, "mood") for at in range(40)] + [(at, "appeal") for at in range(5)]
    items = pl.DataFrame(
        {
            "stimulus": [f"c{at:02}" for at, _ in about],
            "question": [question for _, question in about],
            "tempo": [at * 37 % 23 for at, _ in about],
        }
    )
    published = chosen(label_only(moods, hidden=8, items=items), named=("items.tempo",))
    assert published.items == ("stimulus", "question", "tempo")
    by_mood = [f"{MOODS[mood]}{at}" for at, mood in enumerate(moods)]
    with pytest.raises(InputError, match="'stimulus' would give away") as refused:
        chosen(label_only(moods, hidden=5, names=by_mood))
    assert "Rename what it holds" in str(refused.value.fix)
    assert chosen(label_only(moods, hidden=5, names=by_mood), anyway=("stimulus",)).insisted == ("stimulus",)


def test_generators_columns_that_predict_are_emptied_unless_named() -> None:
    moods = labels(60, seed=9)
    source = label_only(
        moods, hidden=16, columns={"settings": [MOODS[mood] for mood in moods], "model": ["m", "n"] * 30}
    )
    result = chosen(source)
    assert result.emptied == ("settings",)
    assert "settings" not in result.stimuli
    assert "model" in result.stimuli
    with pytest.raises(InputError, match="'settings' would give away"):
        chosen(source, named=("settings",))
    assert "settings" in chosen(source, anyway=("settings",)).stimuli


def test_systems_as_many_as_stimuli_are_names() -> None:
    moods = labels(48, seed=8)
    few = label_only(moods, hidden=12, columns={"system": [MOODS[mood] for mood in moods]})
    assert chosen(few).design["mood"] > 0.9
    unique = label_only(moods, hidden=12, columns={"system": [f"{MOODS[mood]}_{at}" for at, mood in enumerate(moods)]})
    with pytest.raises(InputError, match="'system' would give away"):
        chosen(unique)
    numbered = label_only(
        moods, hidden=12, columns={"prompt": [f"a song {mood}.{at % 7}" for at, mood in enumerate(moods)]}
    )
    wordy = label_only(moods, hidden=12, columns={"prompt": [f"a song of {MOODS[mood]}" for mood in moods]})
    assert chosen(wordy).design["mood"] > 0.9
    with pytest.raises(InputError, match="'prompt' would give away"):
        chosen(numbered)


def test_prompts_are_always_the_design_and_systems_where_two_stimuli_share_one() -> None:
    moods = labels(48, seed=5)  # of every mood an even number
    letters = [chr(97 + at // 26) + chr(97 + at % 26) for at in range(48)]
    prompts = [f"{MOODS[mood]} {letter}" for mood, letter in zip(moods, letters, strict=True)]
    assert chosen(label_only(moods, hidden=12, columns={"prompt": prompts})).design["mood"] > 0.5
    before = [moods[:at].count(mood) for at, mood in enumerate(moods)]
    systems = [f"{MOODS[mood]} {letters[earlier // 2]}" for mood, earlier in zip(moods, before, strict=True)]
    assert len(set(systems)) == 24
    assert chosen(label_only(moods, hidden=12, columns={"system": systems})).design["mood"] > 0.5
    more = [*systems[:-1], f"{systems[-1]} {letters[-1]}"]
    with pytest.raises(InputError, match="'system' would give away"):
        chosen(label_only(moods, hidden=12, columns={"system": more}))


# --- what is left ------------------------------------------------------------------------------------------------------


def test_steps_tell_what_was_done_and_no_counts_of_answers() -> None:
    moods, names = labels(), [f"c{at:02}" for at in range(40)]
    items = pl.DataFrame({"stimulus": names, "question": "mood", "note": names})
    ledger = pl.DataFrame(
        {
            "what": ["rater", "item", "item"], "rater": ["r", None, None], "stimulus": [None, "c01", "c39"],
            "reason": ["12 of 30", "2 of 6", "x"], "stage": "s", "rule": "a", "value": [1.0, 2.0, 3.0],
        }
    )  # fmt: skip
    source = label_only(moods, columns={"tempo": list(range(40))}, items=items, ledger=ledger)
    source = Snapshot.build(
        source.study, stimuli=source.stimuli, ratings=source.ratings, items=items, ledger=ledger,
        raters=pl.DataFrame({"rater": ["r"], "C35": [1.0], "answer_to:c36": [2.0], "age": [30]}),
    )  # fmt: skip
    result = hold_out(source, "test", PUBLISHED)
    public = result.snapshot
    assert public.ledger.select("stimulus", "reason", "value").rows() == [
        (None, "… of …", None),
        ("c01", "2 of 6", 2.0),
    ]
    assert public.ledger["rule"].to_list() == ["a", "a"]
    assert public.raters.columns == ["rater", "age"]
    assert public.table("items")["note"].null_count() == 10
    assert {step.rows for step in result.steps} == {10}
    assert {(step.table, step.column) for step in result.steps} == {
        ("ratings", None), ("ledger", None), ("ledger", "reason"), ("ledger", "value"), ("raters", "C35"),
        ("raters", "answer_to:c36"), ("stimuli", "tempo"), ("items", "note"), ("stimuli", None),
    }  # fmt: skip
    (listed,) = [step for step in result.steps if "columns" in step.settings]
    assert mentions(listed.about, "10 stimuli", "'test'")
    assert listed.settings == {"part": "test", "by": "split", "columns": "stimulus,split"}
    assert not [step for step in result.steps if "limit" in step.settings]


def test_what_the_authors_should_know_is_a_limit() -> None:
    moods = labels()
    source = label_only(moods, columns={"intent": [MOODS[mood] for mood in moods], "mean": moods})
    limits = [
        step.about for step in hold_out(source, "test", PUBLISHED, anyway=["mean"]).steps if "limit" in step.settings
    ]
    assert len(limits) == 2
    assert mentions(limits[0], "Prompt, system and intent", "'mood'")
    assert mentions(limits[1], "authors", "'mean'", "held-out")
    few = [
        step.about
        for step in hold_out(label_only(moods, hidden=5), "test", PUBLISHED).steps
        if "limit" in step.settings
    ]
    assert few == ["'mood': too few held-out labels to test whether ids and file names predict them."]


def test_stimuli_are_sorted_and_the_split_stays() -> None:
    moods = labels()
    names = [f"c{at:02}" for at in np.random.default_rng(5).permutation(40)]
    result = hold_out(label_only(moods, names=names), "test", PUBLISHED)
    assert result.snapshot.stimuli["stimulus"].is_sorted()
    assert result.benchmark is not None
    assert not result.benchmark.part("test").height
    assert result.benchmark.stimuli.height == 40
    assert result.private.part("test").height == result.to_predict.filter(question="mood").height == 10
    assert result.to_predict["stimulus"].is_sorted()
    assert replace(result.private, notes=()).hash == result.private.hash


def test_thresholds_are_those_of_the_documentation() -> None:
    limits = (leaks.GIVES_AWAY, leaks.CLOSES, leaks.BY_CHANCE, leaks.LEAST_ITEMS, leaks.LEAST_VALUES)
    assert limits == (0.5, 0.3, 0.005, 8, 20)
    moods = [at * 7 % 4 for at in range(20)]
    tempo = [at * 37 % 23 for at in range(20)]
    assert "tempo" in chosen(label_only(moods, hidden=8, columns={"tempo": tempo}), named=("tempo",)).stimuli
    with pytest.raises(InputError, match="Only 19 items of 'mood'"):
        chosen(label_only(moods, hidden=8, columns={"tempo": [None, *tempo[1:]]}), named=("tempo",))


def test_large_parts_are_sampled() -> None:
    moods = labels(300)
    source = label_only(moods, hidden=140, columns={"mean": moods})
    (sampled,) = _labels(source, freeze(source, split=PUBLISHED), "test")
    assert (sampled.hidden.height, sampled.public.height) == (leaks.MOST_ITEMS, leaks.MOST_ITEMS)
    assert sampled.hidden["row"].min() >= 160 > sampled.public["row"].max()  # type: ignore[operator]  # numbers
    assert all(moods[row] == label for row, label in sampled.hidden.iter_rows())
    (whole,) = _labels(label_only(moods, hidden=40), freeze(label_only(moods, hidden=40), split=PUBLISHED), "test")
    assert whole.hidden.height == 40
    (tested,), rows = _renumbered([sampled])
    assert all(moods[rows[row]] == label for row, label in [*tested.hidden.iter_rows(), *tested.public.iter_rows()])
    with pytest.raises(InputError, match="'mean' would give away"):
        chosen(source, named=("mean",))


def test_permutations_bring_the_columns_of_other_stimuli() -> None:
    values = np.random.default_rng(2).normal(size=30)
    view, *_ = leaks._views([asked(values, hidden=30)], {})
    copy = {"copy": encoded([pl.Series(values)])}
    chance = leaks._by_permutation([view], copy, [("copy",)])
    assert chance.shape == (199,)
    assert leaks._reached(view, copy, ("copy",)) > 0.95
    assert (chance > 0).mean() < 0.05, "hardly any reaches what counts"
    assert chance.max() < 0.9


def test_permuted_columns_close_as_much_as_columns_that_say_nothing() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=20)
    design = {"system": (values + rng.normal(size=20))[:, None]}
    view, *_ = leaks._views([asked(values, hidden=20)], design)
    assert 0.6 < view.without < 0.8
    chance = leaks._by_permutation([view], {"x": rng.normal(size=(20, 1))}, [("x",)])
    random = [
        leaks._closed(leaks._reached(view, {"x": rng.normal(size=(20, 1))}, ("x",)), view.without) for _ in range(100)
    ]
    assert np.quantile(chance, 0.9) == pytest.approx(float(np.quantile(random, 0.9)), abs=0.06)
    assert 0.1 < np.quantile(random, 0.9) < 0.3


def test_the_models_by_hand() -> None:
    values = np.random.default_rng(2).normal(size=10)
    view, *_ = leaks._views([asked(values, hidden=10)], {})
    features = np.random.default_rng(3).normal(size=(10, 2))
    centred = features - features.mean(axis=0)
    linear = centred @ centred.T
    linear /= np.diag(linear).mean()
    quadratic = (1 + linear) ** 2 - 1
    distance = ((centred[:, None] - centred[None]) ** 2).sum(axis=2)
    kernels = (
        linear,
        quadratic / np.diag(quadratic).mean(),
        np.exp(-2 * distance / np.median(distance[distance > 1e-12])),
    )
    made = list(leaks._operators(view, {"x": features}, ("x",)))
    assert len(made) == 3
    for operator, kernel in zip(made, kernels, strict=True):
        assert np.allclose(operator, leaks._left_out(kernel, 0.1))
    assert not list(leaks._operators(view, {"x": np.ones((10, 2))}, ("x",)))


def test_words_that_divide_best_are_looked_at() -> None:
    rare = [f"rare{at} rare{at}" for at in range(MOST_WORDS + 20)] * 2
    texts = [f"{text} {'even' if at % 2 else 'odd'}" for at, text in enumerate(rare)]
    chosen_words = _words(texts)
    assert len(chosen_words) == MOST_WORDS
    even = np.array([float(at % 2) for at in range(len(texts))])
    assert any((column == even).all() for column in chosen_words)
    assert not _words(["a", "a"]), "what all have divides nothing"
    assert not _words(["a", "b"]), "nor does what one has"


def test_refusals_name_every_column() -> None:
    error = _gives_away(leaks.Leak(columns=("stimulus", "path"), question="q", agreement=0.876, without=0.123))
    assert mentions(error.problem, "'stimulus'", "'path'", "'q'", "0.88", "0", "1", "0.12", "prompt, system and intent")
    assert mentions(error.fix, "--hold-out-anyway")
    alone = _gives_away(leaks.Leak(columns=("tempo",), question="q", agreement=0.9, without=0.0))
    assert str(alone.fix).startswith("Do not name it; or publish it all the same")
