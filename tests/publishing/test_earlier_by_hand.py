"""Who is in an earlier release and what it says of them, on twelve people who rated four clips."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.draft import Draft
from heartfelt.publishing.anonymity.earlier import EARLIER, linked_by_answers, with_earlier
from heartfelt.publishing.anonymity.pseudonyms import pseudonymise
from heartfelt.publishing.options import PublishOptions
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.facts import mentions

STUDY = """
name: twice
scales:
  v: {type: points, points: 9}
questions:
  - {id: valence, text: "How pleasant?", scale: v}
"""
KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
IN_IT = "in it"


def rated(people: range, **facts: Sequence[object]) -> Snapshot:
    """Everybody gave other answers than everybody else."""
    names = [f"person-{number:02d}" for number in people]
    rows = [
        (name, f"s{clip}", "valence", float(1 + (number * (clip + 2)) % 9 if clip < 3 else 1 + number % 8))
        for name, number in zip(names, people, strict=True)
        for clip in range(4)
    ]
    ratings = pl.DataFrame(rows, schema=["rater", "stimulus", "question", "value"], orient="row")
    stimuli = pl.DataFrame({"stimulus": [f"s{clip}" for clip in range(4)]})
    raters = pl.DataFrame({"rater": names, **facts})
    return Snapshot.build(parse_study(STUDY), stimuli=stimuli, ratings=ratings, raters=raters)


def released(folder: Path, snapshot: Snapshot, key: bytes) -> Path:
    draft, _ = pseudonymise(Draft.of(snapshot), key)
    draft.snapshot().write(folder / "snapshot")
    return folder


def now(people: range, options: PublishOptions) -> tuple[Draft, dict[str, str]]:
    """The draft of a second release, and what is known of every person already."""
    draft, names = pseudonymise(Draft.of(rated(people)), KEY)
    public, known = with_earlier(draft, names, KEY, options)
    assert known is not None
    assert set(known["rater"]) == set(public.tables["raters"]["rater"])
    ids = {pseudonym: name for name, pseudonym in names.iter_rows()}
    return public, {ids[rater]: said for rater, said in known.select("rater", EARLIER).iter_rows()}


@pytest.mark.parametrize("how", ["the same key", "a key beside it", "no key"])
def test_people_are_found_by_a_key_or_by_how_they_rated(tmp_path: Path, how: str) -> None:
    folder = released(tmp_path / "one", rated(range(8)), KEY if how == "the same key" else OTHER)
    if how == "a key beside it":
        (tmp_path / "one-private").mkdir()
        (tmp_path / "one-private" / "key").write_text(OTHER.hex(), encoding="utf-8")
    public, known = now(range(12), PublishOptions(k=4, earlier=(folder,)))
    assert known == {f"person-{at:02d}": IN_IT if at < 8 else "(new)" for at in range(12)}
    step = public.steps[-1]
    by = "how they rated, as anybody could, for its key is not at hand" if how == "no key" else "its key"
    assert f"8 raters of 12 are in it too (found by {by}), 4 are new." in step.about
    assert "not in this one" not in step.about
    assert (step.kind, step.rows) == ("earlier", 8)


@pytest.mark.parametrize(
    ("stayed", "words"), [(11, "1 rater of the earlier release is"), (9, "3 raters of the earlier release are")]
)
def test_who_left_is_said(tmp_path: Path, stayed: int, words: str) -> None:
    folder = released(tmp_path / "one", rated(range(12)), KEY)
    public, known = now(range(stayed), PublishOptions(k=4, earlier=(folder,)))
    assert set(known.values()) == {IN_IT}
    assert f" {words} not in this one, in groups of {12 - stayed} or more" in public.steps[-1].about
    apart = released(tmp_path / "two", rated(range(12), age=[20] * 10 + [30] * 2), KEY)
    public, _ = now(range(9), PublishOptions(k=4, earlier=(apart,)))
    assert mentions(public.steps[-1].about, "3 raters", "1")


def test_only_new_people_or_only_those_of_earlier(tmp_path: Path) -> None:
    folder = released(tmp_path / "one", rated(range(7)), KEY)
    fresh, known = now(range(12), PublishOptions(k=5, earlier=(folder,), people="new"))
    assert known == {f"person-{at:02d}": "(new)" for at in range(7, 12)}
    assert fresh.tables["ratings"].height == 5 * 4
    assert fresh.tables["ledger"]["reason"].to_list() == ["is in an earlier release"] * 7
    told = [step.about for step in fresh.steps if step.kind == "earlier"]
    assert told[0] == "7 raters left out as asked (--people new): who is in an earlier release."
    same, known = now(range(12), PublishOptions(k=7, earlier=(folder,), people="earlier"))
    assert known == {f"person-{at:02d}": IN_IT for at in range(7)}
    assert same.tables["ledger"]["reason"].to_list() == ["is not in an earlier release"] * 5
    assert mentions(next(step.about for step in same.steps if step.kind == "earlier"), "5 raters", "--people")


def test_too_few_are_refused(tmp_path: Path) -> None:
    folder = released(tmp_path / "one", rated(range(7)), KEY)
    now(range(12), PublishOptions(k=5, earlier=(folder,)))
    with pytest.raises(InputError, match=r"5 raters.*= 6"):
        now(range(12), PublishOptions(k=6, earlier=(folder,)))
    with pytest.raises(InputError, match=r"2 raters of an earlier release would stand out.*the fewest: 2"):
        now(range(2), PublishOptions(k=3, earlier=(folder,)))
    with pytest.raises(InputError, match="Nobody is left to be published"):
        now(range(7), PublishOptions(k=2, earlier=(folder,), people="new"))
    with pytest.raises(InputError, match="is not a release"):
        now(range(7), PublishOptions(earlier=(tmp_path,)))


def test_two_earlier_releases_are_read_together(tmp_path: Path) -> None:
    one = released(tmp_path / "one", rated(range(8), age=[20] * 4 + [None] * 4), KEY)
    two = released(tmp_path / "two", rated(range(4, 12), job=["a"] * 8, sort=["b"] * 8), OTHER)
    _, known = now(range(16), PublishOptions(k=4, earlier=(one, two)))
    assert set(known.values()) == {
        "age: 20\n(new)", "age: \njob: a; sort: b", "(new)\njob: a; sort: b", "(new)\n(new)"
    }  # fmt: skip
    with pytest.raises(InputError, match="3 raters new since"):
        now(range(15), PublishOptions(k=4, earlier=(one, two)))
    with pytest.raises(InputError, match=r"12 raters.*release"):
        now(range(17), PublishOptions(k=5, earlier=(one, two)))
    fresh, known = now(range(16), PublishOptions(k=4, earlier=(one, two), people="new"))
    assert set(known) == {f"person-{at:02d}" for at in range(12, 16)}
    assert [step.rows for step in fresh.steps if step.kind == "earlier" and step.rows == 8] == [8, 8]


def test_three_answers_are_enough_and_no_answer_is_none() -> None:
    rows = pl.DataFrame(
        {"rater": ["a"] * 3, "stimulus": ["x", "y", "z"], "question": ["q"] * 3, "value": [1.0, 2.0, 3.0]}
    )
    assert linked_by_answers(rows, rows.with_columns(rater=pl.lit("b"))).rows() == [("a", "b")]
    gap = rows.with_columns(value=pl.Series([1.0, 2.0, None]))
    assert linked_by_answers(gap, gap).height == 0
    assert linked_by_answers(rows.clear(), rows).height == 0
    numbers = pl.DataFrame({"number": range(1002)})
    many = rows.drop("rater").join(numbers, how="cross").with_columns(pl.col("value") + 3 * pl.col("number"))
    many = many.with_columns(rater=pl.format("r{}", "number"))
    pairs = linked_by_answers(many, many)
    assert pairs.height == 1002
    assert (pairs["rater"] == pairs["theirs"]).all()
