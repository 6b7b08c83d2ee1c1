"""Studies in which a trial presents a set: from lease to snapshot, for every type of set, on both databases."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.assign.balance import PositionBalance
from heartfelt.collect.messages.commands import Answer, Erase, Exclude, Flag, MediaProblem, Next, ShowTrial, TrialLog
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer, TrialClosed
from heartfelt.errors import StudyError
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import pairs
from heartfelt.snapshot.folder import load
from tests.collect.people import Clock, Person

Open = Callable[..., Collection]
Make = Callable[..., Path]
SEEDED = CollectOptions(seed=1, durable=False)
SCALES = {
    "choice": {"type": "choice", "ties": True},
    "forced": {"type": "choice"},
    "cmos": {"type": "preference"},
    "five": {"type": "points", "points": 5},
    "grade": {"type": "grade"},
    "rank": {"type": "rank"},
    "best-worst": {"type": "best-worst"},
}
ROWS = ["stimulus,system,prompt", *(f"{s}{p},{s},{p}" for p in range(3) for s in "abc")]


def ask(scale: str, name: str = "better") -> dict[str, Any]:
    return {"id": name, "text": "Which is better?", "scale": scale}


def study(make: Make, kind: str, scale: str, *, design: Mapping[str, Any] = {}, **parts: Any) -> Path:
    """Three systems, a, b and c, with a stimulus for each of three prompts: a0, b0, c0, a1 …"""
    more = parts.pop("sets", {})
    parts.setdefault("questions", [ask(scale)])
    parts.setdefault("rows", ROWS)
    return make(sets={"type": kind, **more}, scales=SCALES, design=dict(design), **parts)


def shown(collection: Collection, trial: ShowTrial) -> list[str]:
    """The stimuli of a trial in the order shown."""
    names = {media: stimulus for stimulus, media in collection.media_ids().items()}
    return [names[str(member.media)] for member in trial.members]


def order(collection: Collection, person: Person, trial: ShowTrial) -> list[dict[str, Any]]:
    """What is stored of the members of a trial."""
    table = collection.trials(person.id).filter(pl.col("trial") == trial.trial)
    members: list[dict[str, Any]] = json.loads(table["members"].item())
    return members


def walk(collection: Collection, answer: Callable[[ShowTrial], Any], people: int = 2) -> list[Person]:
    """People who answer every question of every trial with what ``answer`` says."""
    out = []
    for _ in range(people):
        person = Person(collection)
        person.begin()
        while isinstance(person.step, ShowTrial):
            person.answer(answer(person.step))
        out.append(person)
    return out


def frozen(collection: Collection, folder: Path) -> Snapshot:
    """A snapshot that was written and read again."""
    snapshot = collection.snapshot()
    snapshot.write(folder / "snap")
    again = load(folder / "snap")
    assert again.hash == snapshot.hash
    return again


# --- every type -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pair", "ab"])
def test_a_choice_between_two(kind: str, make_study: Make, opened: Open, tmp_path: Path) -> None:
    collection = opened(study(make_study, kind, "choice"))
    answers = iter([0, 1, "tie"] * 6)
    walk(collection, lambda _: next(answers))
    ratings = frozen(collection, tmp_path).ratings
    assert ratings.height == 2 * 9 * 2
    assert set(ratings["place"]) == {1, 2}
    assert set(ratings["role"]) == {"member"}
    for _, rows in ratings.group_by("rater", "trial"):
        assert rows["value"].sum() == 1.0
        assert rows["set"].n_unique() == 1
        assert "|".join(sorted(rows["stimulus"])) == "|".join(sorted(rows["set"][0].split("|")))
    first = ratings.filter(pl.col("place") == 1)
    assert Counter(first["value"]) == {1.0: 6, 0.0: 6, 0.5: 6}
    assert pairs(ratings, "better").height == 18
    assert collection.coverage().complete == 18
    assert collection.ratings().filter("counts").height == 36


@pytest.mark.slow
def test_a_preference_in_favour_of_the_second(make_study: Make, opened: Open) -> None:
    collection = opened(study(make_study, "pair", "cmos"))
    walk(collection, lambda _: 2, 1)
    ratings = collection.snapshot().ratings
    assert set(ratings.select("place", "value").iter_rows()) == {(1, -2.0), (2, 2.0)}


@pytest.mark.slow
def test_abx_has_one_row_about_x(make_study: Make, opened: Open, tmp_path: Path) -> None:
    collection = opened(study(make_study, "abx", "forced", design={"ratings_per_item": 8}))
    walk(collection, lambda _: 0, 8)
    ratings = frozen(collection, tmp_path).ratings
    assert ratings.height == 9 * 8
    assert set(ratings["role"]) == {"x"}
    # Everybody answered A: right where X was presented as A.
    assert ((ratings["place"] == 1) == (ratings["value"] == 1.0)).all()
    counts = ratings.group_by("set").agg(
        (pl.col("place") == 1).sum().alias("as_a"), pl.col("stimulus").unique_counts().alias("x")
    )
    assert counts["as_a"].min() >= 2  # type: ignore[operator]  # a number
    assert all(set(each) <= {3, 4, 5} for each in counts["x"])


@pytest.mark.slow
def test_a_reference_is_named_and_not_judged(make_study: Make, opened: Open) -> None:
    folder = study(make_study, "reference", "five", sets={"reference": "a"})
    collection = opened(folder)
    person = walk(collection, lambda _: 4, 1)[0]
    assert all([member.kind for member in trial.members] == ["reference", "judged"] for trial in person.shown)
    ratings = collection.snapshot().ratings
    assert ratings.height == 6
    assert set(ratings["value"]) == {4.0}
    assert set(ratings["place"]) == {1}
    assert not any(name.startswith("a") for name in ratings["stimulus"])
    stored = order(collection, person, person.shown[0])
    assert [(member["place"], member["role"]) for member in stored] == [(0, "reference"), (1, "member")]


@pytest.mark.slow
def test_mushra(make_study: Make, opened: Open, tmp_path: Path) -> None:
    folder = study(make_study, "mushra", "grade", sets={"reference": "a", "anchors": ["c"]})
    collection = opened(folder)
    person = walk(collection, lambda _: [80, 60, 40], 1)[0]
    trial = person.shown[0]
    assert [member.kind for member in trial.members] == ["reference", "judged", "judged", "judged"]
    ratings = frozen(collection, tmp_path).ratings
    assert ratings.height == 9
    roles = {(name[0], role) for name, role in zip(ratings["stimulus"], ratings["role"], strict=True)}
    assert roles == {("a", "hidden-reference"), ("b", "member"), ("c", "anchor")}
    assert set(ratings.select("place", "value").iter_rows()) == {(1, 80.0), (2, 60.0), (3, 40.0)}


@pytest.mark.slow
def test_an_order_of_a_set(make_study: Make, opened: Open) -> None:
    collection = opened(study(make_study, "ranking", "rank"))
    walk(collection, lambda _: [2, 0, 1], 1)
    ratings = collection.snapshot().ratings
    assert set(ratings.select("place", "value").iter_rows()) == {(3, 1.0), (1, 2.0), (2, 3.0)}


@pytest.mark.slow
def test_the_best_and_the_worst(make_study: Make, opened: Open) -> None:
    collection = opened(study(make_study, "best-worst", "best-worst"))
    walk(collection, lambda _: {"best": 1, "worst": 0}, 1)
    ratings = collection.snapshot().ratings
    assert set(ratings.select("place", "value").iter_rows()) == {(1, -1.0), (2, 1.0), (3, 0.0)}


@pytest.mark.slow
def test_a_table_of_sets_and_one_question_per_page(make_study: Make, opened: Open) -> None:
    folder = study(
        make_study, "pair", "choice", sets={"rule": "table", "file": "sets.csv"},
        questions=[ask("choice"), ask("cmos", "how_much")], design={"questions_per_page": "one"},
    )  # fmt: skip
    (folder / "sets.csv").write_text("set,stimulus\nx,a0\nx,b1\ny,b0\ny,c0\n", encoding="utf-8")
    collection = opened(folder)
    walk(collection, lambda _: 1)
    snapshot = collection.snapshot()
    counts = snapshot.ratings.group_by("set", "question").len()
    assert set(counts.iter_rows()) == {(s, q, 4) for s in "xy" for q in ("better", "how_much")}
    ledger = snapshot.ledger.filter(pl.col("what") == "stimulus")
    assert set(ledger["stimulus"]) == {"c1", "a1", "a2", "b2", "c2"}


# --- answers that are refused -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scale", "wrong"),
    [
        ("pair", "forced", "tie"),
        ("pair", "forced", 2),
        ("pair", "forced", -1),
        ("pair", "forced", True),
        ("pair", "cmos", 4),
        ("pair", "cmos", 0.5),
        ("pair", "grade", [1]),
        ("pair", "grade", [1, 101]),
        ("pair", "grade", 50),
        ("ranking", "rank", [0, 1]),
        ("ranking", "rank", [0, 1, 1]),
        ("ranking", "rank", "012"),
        ("best-worst", "best-worst", {"best": 1, "worst": 1}),
        ("best-worst", "best-worst", {"best": 1}),
        ("best-worst", "best-worst", {"best": 1, "worst": 3}),
        ("pair", "forced", {"samples": [1]}),
        ("pair", "forced", "x" * 30_000),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_answer_is_refused_and_leaves_no_trace(
    kind: str, scale: str, wrong: Any, make_study: Make, tmp_path: Path, clock: Clock
) -> None:
    with Collection.open(study(make_study, kind, scale), clock=clock, options=SEEDED) as collection:
        person = Person(collection)
        person.begin()
        before = collection.change()
        with pytest.raises(InvalidAnswer, match="better") as refusal:
            person.answer(wrong)
        assert refusal.value.questions == ("better",)
        assert collection.change() == before
        assert collection.ratings().height == 0


def test_a_set_that_is_not_answered(make_study: Make, clock: Clock) -> None:
    with Collection.open(study(make_study, "ranking", "rank"), clock=clock, options=SEEDED) as collection:
        person = Person(collection)
        person.begin()
        with pytest.raises(MissingAnswer):
            person.answer([])


# --- what is presented ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_order_survives_a_reload_and_a_restart(make_study: Make, opened: Open) -> None:
    folder = study(make_study, "ranking", "rank")
    collection = opened(folder)
    person = Person(collection)
    trial = person.begin()
    assert isinstance(trial, ShowTrial)
    assert collection.do(Next(person.id)) == trial
    collection.close()
    again = opened(folder, seed=99)
    assert again.do(Next(person.id)) == trial
    again.do(Answer(person.id, trial.trial, key="k", values={"better": [2, 1, 0]}))
    stored = again.ratings().sort("place")
    assert stored["value"].to_list() == [3.0, 2.0, 1.0]
    words = stored["stimulus"].to_list()
    assert sorted(words) == sorted({f"{s}{words[0][1]}" for s in "abc"})


@pytest.mark.slow
def test_orders_are_balanced_over_raters_and_within_a_rater(make_study: Make, clock: Clock) -> None:
    with Collection.open(
        study(make_study, "pair", "choice", design={"ratings_per_item": 10}), clock=clock, options=SEEDED
    ) as collection:
        walk(collection, lambda _: 0, 10)
        first = collection.ratings().filter(pl.col("place") == 1)
    system = pl.col("stimulus").str.slice(0, 1).alias("system")
    for _, rows in first.group_by("set"):
        assert set(Counter(rows["stimulus"]).values()) <= {4, 5, 6}
    within = first.group_by("rater", system).len()
    assert within["len"].min() >= 2  # type: ignore[operator]  # of three on average
    assert within["len"].max() <= 4  # type: ignore[operator]  # of three on average


@pytest.mark.slow
def test_the_first_answers_connect_all_systems(make_study: Make, clock: Clock) -> None:
    rows = ["stimulus,system,prompt", *(f"s{n},m{n},p" for n in range(30))]
    folder = study(make_study, "pair", "choice", rows=rows, design={"stimuli_per_rater": 10})
    with Collection.open(folder, clock=clock, options=SEEDED) as collection:
        walk(collection, lambda _: 0, 6)
        table = pairs(collection.ratings().with_columns(pl.col("trial").cast(pl.String)), "better")
    part = {f"s{n}": f"s{n}" for n in range(30)}
    for first, second in table.select("first", "second").iter_rows():
        old, new = part[first], part[second]
        part = {name: new if where == old else where for name, where in part.items()}
    assert len(set(part.values())) == 1
    met = Counter(table["first"].to_list() + table["second"].to_list())
    assert max(met.values()) - min(met.values()) <= 2


@pytest.mark.slow
def test_a_repeated_set_comes_in_another_order(make_study: Make, clock: Clock) -> None:
    probes = [{"type": "repeat", "id": "again", "gap": 2}]
    with Collection.open(study(make_study, "pair", "choice", probes=probes), clock=clock, options=SEEDED) as collection:
        walk(collection, lambda _: 0, 2)
        ratings = collection.snapshot().ratings
    again = ratings.filter(pl.col("repeat") == 1)
    assert again.height == 2 * 2
    both = ratings.join(again.select("rater", "set"), on=["rater", "set"], how="semi")
    places = both.group_by("rater", "set", "stimulus").agg(pl.col("place").sort())
    assert all(list(each) == [1, 2] for each in places["place"])


@pytest.mark.slow
def test_practice_and_anchor_stimuli_set_their_sets_aside(make_study: Make, clock: Clock) -> None:
    probes = [{"type": "anchor", "id": "known", "stimuli": ["c2"], "question": "better", "at_least": 1}]
    design = {"practice": 1, "practice_stimuli": ["c1"]}
    with Collection.open(
        study(make_study, "ranking", "rank", probes=probes, design=design), clock=clock, options=SEEDED
    ) as collection:
        assert collection.coverage().units == 1
        walk(collection, lambda _: [0, 1, 2], 1)
        kinds = dict(collection.ratings().select("set", "kind").unique().iter_rows())
        assert kinds == {"1": "practice", "2": "anchor", "0": "rating"}
        assert set(collection.snapshot().ratings["set"]) == {"0", "2"}


@pytest.mark.slow
def test_distinct_prompts_and_blocks_of_sets(make_study: Make, clock: Clock) -> None:
    folder = study(make_study, "pair", "choice", design={"distinct": ["prompt"], "ratings_per_item": 3})
    with Collection.open(folder, clock=clock, options=SEEDED) as collection:
        for person in walk(collection, lambda _: 0, 2):
            assert len(person.shown) == 3
    by = study(make_study, "pair", "choice", design={"order": "blocks", "block_by": "prompt"})
    with Collection.open(by, clock=clock, options=SEEDED) as collection:
        walk(collection, lambda _: 0, 1)
        prompts = collection.ratings().sort("position", "place")["stimulus"].str.slice(1).to_list()
        assert sum(first != second for first, second in itertools.pairwise(prompts)) == 2


# --- probes, flags, erasing -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_attention_trials_about_a_choice(make_study: Make, clock: Clock) -> None:
    probes = [
        {"type": "attention", "id": "a", "text": "Choose the second.", "question": "better", "answer": 2},
        {"type": "attention", "id": "t", "text": "Say no difference.", "question": "better", "answer": "tie"},
    ]
    with Collection.open(study(make_study, "pair", "choice", probes=probes), clock=clock, options=SEEDED) as collection:
        told = {"Choose the second.": 1, "Say no difference.": "tie", None: 0}
        walk(collection, lambda trial: told[trial.words], 1)
        walk(collection, lambda _: 0, 1)
        raters = collection.snapshot().raters
        assert raters.select("attention_asked", "attention_right").rows() == [(2, 2), (2, 0)]


def test_attention_trials_that_cannot_be(make_study: Make) -> None:
    for kind, scale, answer in [("ranking", "rank", 1), ("pair", "forced", "tie"), ("pair", "cmos", 9)]:
        probe = {"type": "attention", "id": "a", "text": "Do.", "question": "better", "answer": answer}
        with pytest.raises(StudyError, match="answer"):
            Collection.open(study(make_study, kind, scale, probes=[probe]))


def test_a_flagged_set_and_one_whose_media_fail(make_study: Make, opened: Open) -> None:
    collection = opened(study(make_study, "pair", "choice"))
    person = Person(collection)
    person.begin()
    person.step = collection.do(Flag(person.id, person.trial.trial, reason="silent", skip=True))
    person.step = collection.do(MediaProblem(person.id, person.trial.trial, "decode"))
    person.answer(0)
    assert len(collection.flags()["stimulus"].item().split("|")) == 2
    assert len(collection.problems()["stimulus"].item().split("|")) == 2
    assert collection.ratings()["trial"].n_unique() == 1


@pytest.mark.slow
def test_erasing_and_excluding(make_study: Make, opened: Open) -> None:
    collection = opened(study(make_study, "mushra", "grade", sets={"reference": "a"}))
    first, second = walk(collection, lambda _: [1, 2, 3])
    collection.do(Exclude(second.id, "test"))
    assert collection.coverage().complete == 3
    collection.do(Erase(first.id))
    assert set(collection.ratings()["rater"]) == {second.id}
    with collection._database.reading() as connection:
        for table in ("members", "ratings", "answers"):
            rows = connection.exec_driver_sql(f"SELECT DISTINCT rater FROM {table}").scalars().all()
            assert len(rows) == 1, table


@pytest.mark.slow
def test_what_was_presented_is_known_after_a_restart_and_without_the_erased(make_study: Make, opened: Open) -> None:
    folder = study(make_study, "abx", "forced", design={"ratings_per_item": 6, "stimuli_per_rater": 5})
    collection = opened(folder)
    people = walk(collection, lambda _: 0, 4)
    person = Person(collection)
    person.begin()
    person.step = collection.do(Flag(person.id, person.trial.trial, reason="silent", skip=True))
    collection.do(Erase(people[1].id))
    collection.do(Exclude(people[2].id, "test"))

    def counts(balance: PositionBalance) -> list[dict[Any, float]]:
        tables = (balance._offsets, balance._rater_offsets, balance._matched, balance._matched_place, balance._met)
        return [{key: value for key, value in table.items() if value} for table in tables]

    before = collection._store.state
    assert before is not None
    assert before.demands[0].balance is not None
    known = counts(before.demands[0].balance)
    assert sum(known[-1].values()) == 2 * (3 * 5 + 4), "three raters with five sets, and one with four leased"
    collection.close()
    after = opened(folder)._store.state
    assert after is not None
    assert after.demands[0].balance is not None
    assert counts(after.demands[0].balance) == known


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_edits_to_sets_with_answers(make_study: Make, opened: Open) -> None:
    folder = study(make_study, "pair", "choice", sets={"rule": "table", "file": "sets.csv"})
    (folder / "sets.csv").write_text("set,stimulus\nx,a0\nx,b1\ny,b0\ny,c0\n", encoding="utf-8")
    collection = opened(folder, ahead=0)
    person = Person(collection)
    person.begin()
    person.answer(0)
    name = collection.ratings()["set"][0]
    collection.close()
    other = "y" if name == "x" else "x"
    members = {"x": ("a0", "b1"), "y": ("b0", "c0")}

    def lines(**sets: tuple[str, ...]) -> str:
        return "set,stimulus\n" + "".join(f"{s},{m}\n" for s, names in sets.items() for m in names)

    text = lines(**{name: ("a2", "b2"), other: members[other]})
    (folder / "sets.csv").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"1 sets.*answers.*stimuli"):
        opened(folder)
    (folder / "sets.csv").write_text(lines(**{other: members[other], "z": ("a2", "b2")}), encoding="utf-8")
    again = opened(folder)
    assert again.snapshot().ratings["set"].unique().to_list() == [name]
    assert again.coverage().units == 2
    again.close()
    text = (folder / "study.yaml").read_text(encoding="utf-8").replace("type: pair", "type: ab")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"sets\.type"):
        opened(folder)


@pytest.mark.slow
def test_a_trial_whose_set_was_edited_takes_no_answer(make_study: Make, opened: Open) -> None:
    folder = study(make_study, "pair", "choice", sets={"rule": "table", "file": "sets.csv"})
    (folder / "sets.csv").write_text("set,stimulus\nx,a0\nx,b1\n", encoding="utf-8")
    collection = opened(folder)
    person = Person(collection)
    trial = person.begin()
    assert isinstance(trial, ShowTrial)
    collection.close()
    (folder / "sets.csv").write_text("set,stimulus\nx,a0\nx,c0\n", encoding="utf-8")
    again = opened(folder)
    with pytest.raises(TrialClosed, match="has changed"):
        again.do(Answer(person.id, trial.trial, key="k", values={"better": 0}))
    assert not isinstance(again.do(Next(person.id)), ShowTrial), "they have met the set, though it was another"
    assert again.ratings().height == 0
    assert again.coverage().leased == 0


# --- listening --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_log_is_optional_for_sets_without_media(make_study: Make, clock: Clock) -> None:
    with Collection.open(study(make_study, "pair", "choice"), clock=clock, options=SEEDED) as collection:
        person = Person(collection)
        person.begin()
        person.answer(0, log=TrialLog(played=(((0.0, 1.0),), ())))
        stored = order(collection, person, person.shown[0])
        assert [member["intervals"] for member in stored] == [[[0.0, 1.0]], []]
        assert [member["heard"] for member in stored] == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scale", "answer"),
    [("pair", "cmos", 1), ("ab", "choice", 0), ("abx", "forced", 0), ("ranking", "rank", [0, 1, 2])],
)
def test_the_reference_comes_first_where_the_study_says_so(
    kind: str, scale: str, answer: Any, make_study: Make, collect: Open
) -> None:
    """Without the key its place is drawn; with it, it is the first of every set, also when a set comes again."""
    firsts = {}
    for first in (False, True):
        sets = {"reference": "b", **({"reference_first": True} if first else {})}
        folder = study(make_study, kind, scale, sets=sets, probes=[{"type": "repeat", "id": "again", "gap": 1}])
        people = walk(collect(folder), lambda _: answer)
        collection = people[0].collection
        leading = [order(collection, person, trial)[0]["stimulus"][0] for person in people for trial in person.shown]
        firsts[first] = Counter(leading)["b"] / len(leading)
    assert firsts[True] == 1.0
    assert firsts[False] < 1.0


@pytest.mark.slow
def test_the_reference_is_judged_against_itself_where_the_study_says_so(
    make_study: Make, collect: Open, tmp_path: Path
) -> None:
    folder = study(make_study, "reference", "five", sets={"reference": "a", "hidden_reference": True})
    collection = collect(folder)
    person = walk(collection, lambda _: 4, 1)[0]
    assert len(person.shown) == 9
    assert all([member.kind for member in trial.members] == ["reference", "judged"] for trial in person.shown)
    ratings = frozen(collection, tmp_path).ratings
    assert Counter(ratings["role"]) == {"member": 6, "hidden-reference": 3}
    hidden = ratings.filter(pl.col("role") == "hidden-reference")
    assert sorted(hidden["set"]) == ["a0|a0", "a1|a1", "a2|a2"]
