"""Two releases of the same people: what somebody who has both can find out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import heartfelt
from heartfelt.cli import main
from heartfelt.errors import InputError
from heartfelt.publishing.anonymity.earlier import linked_by_answers
from heartfelt.publishing.options import PublishOptions
from heartfelt.publishing.papers.facts import unlike_others
from heartfelt.publishing.publish import publish
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
K = 5
QUICK = PublishOptions(k=K, analysis=False, figures=False, layouts=("csv",))
COUNTRIES = ("Germany", "France", "Brazil", "Japan")


def study_of(people: Sequence[int], clips: int = 12, facts: Sequence[str] = ("age", "gender", "country")) -> Snapshot:
    """Ratings of these people: what a person is and answers does not depend on who else is there."""
    raters: list[dict[str, Any]] = []
    ratings = []
    for person in people:
        rng = np.random.default_rng(person)
        name = f"worker-{person:04d}"
        who = {
            "age": int(rng.integers(18, 70)),
            "gender": str(rng.choice(["woman", "man", "non-binary"], p=[0.5, 0.4, 0.1])),
            "country": str(rng.choice(COUNTRIES)),
            "ill": str(rng.choice(["yes", "no"])),
        }
        raters.append({"rater": name} | {fact: who[fact] for fact in facts})
        ratings += [(name, f"clip{clip}", "valence", float(rng.integers(1, 10))) for clip in range(clips)]
    stimuli = pl.DataFrame({"stimulus": [f"clip{clip}" for clip in range(clips)]})
    table = pl.DataFrame(ratings, schema=["rater", "stimulus", "question", "value"], orient="row")
    return Snapshot.build(parse_study(STUDY), stimuli=stimuli, ratings=table, raters=pl.DataFrame(raters))


# --- the attack, on files alone ---------------------------------------------------------------------------------------


def read(folder: Path) -> tuple[dict[str, dict[str, str]], dict[str, dict[tuple[str, str], str]]]:
    raters = pl.read_csv(folder / "csv" / "raters.csv", infer_schema=False)
    facts = {
        row["rater"]: {name: row[name] or "" for name in row if name != "rater"} for row in raters.iter_rows(named=True)
    }
    answers: dict[str, dict[tuple[str, str], str]] = {name: {} for name in facts}
    table = pl.read_csv(folder / "csv" / "ratings.csv", infer_schema=False)
    for row in table.iter_rows(named=True):
        answers[row["rater"]][row["stimulus"], row["question"]] = row["value"]
    return facts, answers


def link(first: Path, second: Path) -> dict[str, str]:
    """Rows of the second release by the rows of the first whose answers are the same on everything both have."""
    _, early = read(first)
    _, late = read(second)
    pairs = {}
    for one, given in early.items():
        same = [
            other
            for other, theirs in late.items()
            if len(given.items() & theirs.items()) >= 0.9 * len(given.keys() & theirs.keys()) > 0
        ]
        if len(same) == 1:
            pairs[one] = same[0]
    return pairs


def joined_groups(first: Path, second: Path) -> tuple[list[int], list[int]]:
    """How many share what both releases say of them, of those in both; and how many of the new ones share what is said."""
    pairs = link(first, second)
    early, _ = read(first)
    late, _ = read(second)
    both = Counter((tuple(early[one].items()), tuple(late[other].items())) for one, other in pairs.items())
    new = Counter(tuple(facts.items()) for name, facts in late.items() if name not in pairs.values())
    return sorted(both.values()), sorted(new.values())


@pytest.mark.slow
def test_a_person_is_found_in_two_releases_under_any_key(tmp_path: Path) -> None:
    """What docs/publishing.md says: sixty of sixty are linked by how they rated."""
    everybody = study_of(range(60))
    one = publish(everybody, tmp_path / "one", QUICK)
    two = publish(everybody, tmp_path / "two", replace(QUICK, without_demographics=True))
    pairs = link(one.folder, two.folder)
    names = [dict(pl.read_csv(each.private / "pseudonyms.csv").iter_rows()) for each in (one, two)]
    assert sum(pairs[names[0][person]] == names[1][person] for person in names[0]) == 60
    assert not set(names[0].values()) & set(names[1].values())
    for folder in (one.folder, two.folder):
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert mentions(card[card.index("## Limits") :], "60 of 60 raters", "answers")
        sheet = (folder / "DATASHEET.md").read_text(encoding="utf-8")
        assert "another release of the same people under any key" in sheet
    docs = Path(__file__).parents[2] / "docs"
    assert not any("two pseudonyms are one person" in path.read_text(encoding="utf-8") for path in docs.rglob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["another key", "the same key", "no key"])
def test_what_two_releases_say_together_is_shared_by_k(tmp_path: Path, how: str) -> None:
    """Sixty people published by age and gender, later with 24 more by gender and country."""
    early = study_of(range(60), facts=("age", "gender"))
    late = study_of(range(84), facts=("age", "gender", "country"))
    first = publish(early, tmp_path / "first", QUICK)
    heedless = publish(late, tmp_path / "heedless", replace(QUICK, weights={"country": 4}))
    both, new = joined_groups(first.folder, heedless.folder)
    assert sum(both) == 60
    assert min(both) < K, "the attack finds small groups where the earlier release is not named"
    options = replace(QUICK, weights={"country": 4}, earlier=(first.folder,))
    if how == "the same key":
        options = replace(options, private=first.private)
    elif how == "no key":
        first.private.rename(tmp_path / "elsewhere")
    careful = publish(late, tmp_path / "careful", options)
    both, new = joined_groups(first.folder, careful.folder)
    assert sum(both) == 60
    assert sum(new) == 24
    assert min(both) >= K
    assert min(new) >= K
    step = next(step for step in careful.record.steps if step.kind == "earlier")
    assert mentions(step.about, "60 raters", "84")
    assert ("by how they rated, as anybody could" in step.about) == (how == "no key")
    facts, _ = read(careful.folder)
    assert any(value for row in facts.values() for value in row.values()), "everything was left out"


@pytest.mark.slow
def test_few_new_people_are_refused_and_can_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = publish(study_of(range(40)), tmp_path / "first", QUICK)
    late = study_of(range(43))
    options = replace(QUICK, earlier=(first.folder,))
    with pytest.raises(InputError, match=r"3 raters.*= 5"):
        publish(late, tmp_path / "second", options)
    assert not (tmp_path / "second").exists()
    same = publish(late, tmp_path / "same", replace(options, people="earlier", private=first.private))
    assert set(read(same.folder)[0]) == set(read(first.folder)[0])
    assert same.release.snapshot.counts["ratings"] == 40 * 12
    assert same.release.snapshot.ledger["reason"].to_list() == ["is not in an earlier release"] * 3
    only = publish(study_of(range(60)), tmp_path / "only", replace(options, people="new"))
    assert len(read(only.folder)[0]) == 20
    assert link(first.folder, only.folder) == {}
    study_of(range(60)).write(tmp_path / "source")
    command = ["publish", str(tmp_path / "source"), str(tmp_path / "told"), "--earlier", str(first.folder)]
    more = ["--people", "new", "--weight", "age=3", "--no-analysis", "--layout", "csv"]
    assert main([*command, *more]) == 0
    said = capsys.readouterr().out
    assert mentions(said, "40 raters", "--people")
    record = json.loads((tmp_path / "told" / "publication.json").read_text(encoding="utf-8"))
    weights = {
        step["column"]: step["settings"].get("weight") for step in record["steps"] if step["kind"] == "demographics"
    }
    assert weights == {"age": "3", "gender": "1", "country": "1"}


@pytest.mark.slow
def test_people_who_left_are_counted_and_small_rests_refused(tmp_path: Path) -> None:
    first = publish(study_of(range(40)), tmp_path / "first", QUICK)
    facts = read(first.folder)[0]
    sizes = Counter(tuple(row.items()) for row in facts.values())
    tight = min(sizes, key=lambda row: sizes[row])
    names = dict(pl.read_csv(first.private / "pseudonyms.csv").iter_rows())
    leaver = next(person for person in range(40) if tuple(facts[names[f"worker-{person:04d}"]].items()) == tight)
    rest = study_of([person for person in range(40) if person != leaver])
    options = replace(QUICK, earlier=(first.folder,))
    if sizes[tight] == K:
        with pytest.raises(InputError, match=r"4 raters of an earlier release would stand out.*the fewest: 4"):
            publish(rest, tmp_path / "second", options)
    group = [person for person in range(40) if tuple(facts[names[f"worker-{person:04d}"]].items()) == tight]
    without = study_of([person for person in range(40) if person not in group])
    second = publish(without, tmp_path / "third", options)
    step = next(step for step in second.record.steps if step.kind == "earlier")
    assert f"{len(group)} raters of the earlier release are not in this one" in step.about
    assert f"in groups of {len(group)} or more" in step.about
    assert min(joined_groups(first.folder, second.folder)[0]) >= K


@pytest.mark.slow
def test_two_earlier_releases_and_a_sensitive_column(tmp_path: Path) -> None:
    facts = ("age", "gender", "country", "ill")
    options = replace(QUICK, sensitive=("ill",))
    one = publish(study_of(range(50), facts=facts), tmp_path / "one", options)
    two = publish(study_of(range(80), facts=facts), tmp_path / "two", replace(options, earlier=(one.folder,)))
    last = publish(
        study_of(range(120), facts=facts), tmp_path / "three", replace(options, earlier=(one.folder, two.folder))
    )
    rows: Counter[tuple[object, ...]] = Counter()
    ill: dict[tuple[object, ...], set[str]] = {}
    late = read(last.folder)[0]
    links = [{later: earlier for earlier, later in link(each.folder, last.folder).items()} for each in (one, two)]
    tables = [read(each.folder)[0] for each in (one, two)]
    for name, row in late.items():
        known = [
            None
            if name not in pairs
            else tuple(sorted((fact, value) for fact, value in table[pairs[name]].items() if fact != "ill"))
            for pairs, table in zip(links, tables, strict=True)
        ]
        key = (*known, tuple(value for fact, value in row.items() if fact != "ill"))
        rows[key] += 1
        ill.setdefault(key, set()).add(row["ill"])
    assert min(rows.values()) >= K
    assert min(map(len, ill.values())) >= 2


# --- the parts --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_an_earlier_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a release"):
        publish(study_of(range(12)), tmp_path / "out", replace(QUICK, earlier=(tmp_path / "nothing",)))
    with pytest.raises(InputError, match=r"people.*release"):
        PublishOptions(people="new")
    with pytest.raises(InputError, match="people = 'some' is unknown"):
        PublishOptions(people="some", earlier=(tmp_path,))  # type: ignore[arg-type]  # refused
    with pytest.raises(InputError, match=r"'age'.*-1"):
        PublishOptions(weights={"age": -1})
    with pytest.raises(InputError, match=r"weights.*'agee'"):
        publish(study_of(range(12)), tmp_path / "out", replace(QUICK, weights={"agee": 2}))


def answers(*rows: tuple[str, str, float | None]) -> pl.DataFrame:
    table = pl.DataFrame(rows, schema=["rater", "stimulus", "value"], orient="row")
    return table.with_columns(question=pl.lit("q"))


def test_people_are_linked_by_nine_in_ten_of_their_answers() -> None:
    early = answers(*(("a", f"s{at}", float(at % 4)) for at in range(10)), *(("b", f"s{at}", 1.0) for at in range(3)))
    late = answers(
        *(("x", f"s{at}", float(at % 4) if at < 9 else 8.0) for at in range(10)),  # one of ten is another
        *(("y", f"s{at}", float(at % 4) if at < 8 else 8.0) for at in range(10)),  # two of ten
        *(("z", f"s{at}", 1.0) for at in range(3)),
    )
    assert dict(linked_by_answers(late, early).iter_rows()) == {"x": "a", "z": "b"}
    twins = pl.concat([late, late.filter(pl.col("rater") == "z").with_columns(rater=pl.lit("zz"))])
    assert dict(linked_by_answers(twins, early).iter_rows()) == {"x": "a"}
    for first, second in ((early, late.with_columns(repeat=0)), (early.with_columns(repeat=0), late)):
        assert dict(linked_by_answers(second, first).iter_rows()) == {"x": "a", "z": "b"}
    few = early.filter(pl.col("rater") == "b").head(2)
    assert linked_by_answers(few, few).height == 0
    assert linked_by_answers(late, early.clear()).height == 0


def test_raters_with_the_same_answers_hide_each_other() -> None:
    base = study_of(range(3), clips=4)
    copied = base.ratings.filter(pl.col("rater") == "worker-0000").with_columns(rater=pl.lit("worker-0009"))
    twins = Snapshot.build(base.study, stimuli=base.stimuli, ratings=pl.concat([base.ratings, copied]))
    assert unlike_others(base) == (3, 3)
    assert unlike_others(twins) == (2, 4)
    fewer = Snapshot.build(base.study, stimuli=base.stimuli, ratings=pl.concat([base.ratings, copied.head(3)]))
    assert unlike_others(fewer) == (4, 4)
    assert heartfelt.publish.__doc__ is not None
