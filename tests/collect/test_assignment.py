"""Who gets what next: balance, cells, blocks, squares, probes, adaptivity. Through the real collection."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.assign.pool import williams
from heartfelt.collect.messages.commands import Answer, Exclude, Flag, Leave, Next, SessionEnd, ShowTrial
from tests.collect.people import Clock, Person, loads

Make = Callable[..., Path]
Open = Callable[..., Collection]


def cells(systems: int, intents: int, each: int) -> list[str]:
    rows = ["stimulus,system,intent,prompt"]
    for s in range(systems):
        for i in range(intents):
            rows += [f"m{s}-{i}-{k},m{s},i{i},p{k}" for k in range(each)]
    return rows


def order_of(collection: Collection, person: Person) -> pl.DataFrame:
    frame = collection.ratings().filter(pl.col("rater") == person.id, pl.col("kind") != "practice")
    return frame.unique("trial").sort("position")


@pytest.mark.slow
def test_counts_never_drift_apart(make_study: Make, collect: Open, clock: Clock) -> None:
    """People come together, answer, leave, vanish and come back: open items stay within one of each other.

    The last item of a round may have been rated by the very person who comes next; only then two are apart for a moment.
    """
    collection = collect(make_study(40, design={"ratings_per_item": 4}))
    rng = random.Random(5)
    people = [Person(collection) for _ in range(9)]
    for person in people:
        person.begin()
    apart: Counter[int] = Counter()
    for _ in range(400):
        clock.now += rng.uniform(0, 4)
        at_work = [person for person in people if not isinstance(person.step, SessionEnd)]
        if not at_work:
            break
        person = rng.choice(at_work)
        person.step = collection.do(Next(person.id))
        if isinstance(person.step, ShowTrial):
            person.answer()
        counts = loads(collection).values()
        apart[max(counts) - min(counts)] += 1
    assert set(apart) <= {0, 1, 2}
    assert apart[2] <= 8, apart
    assert dict(collection.coverage().histogram) == {4: 40}


@pytest.mark.slow
def test_people_who_come_together_are_spread(make_study: Make, collect: Open) -> None:
    """The first of thirty who arrive at once do not all get the first stimulus."""
    collection = collect(make_study(60, design={"ratings_per_item": 3}), ahead=0)
    people = [Person(collection) for _ in range(30)]
    for person in people:
        person.begin()
    assert Counter(loads(collection).values()) == {0: 30, 1: 30}
    for person in people:
        person.answer()
    other = collect(make_study(60, design={"ratings_per_item": 3}), seed=2, ahead=0)
    firsts = []
    for _ in range(12):
        person = Person(other)
        person.begin()
        person.answer(wants_next=False)
        firsts.append(order_of(other, person)["stimulus"][0])
    assert firsts != sorted(firsts, key=lambda name: int(name[1:])), "ties are broken at random"


@pytest.mark.slow
def test_eighteen_raters_in_a_minute_with_a_fifth_leaving(make_study: Make, collect: Open, clock: Clock) -> None:
    """The contract's own case: 60 items at 3 ratings each. Nothing over; what the leavers held, the next one gets."""
    collection = collect(make_study(60, design={"ratings_per_item": 3, "stimuli_per_rater": 12}))
    rng = random.Random(1)
    people = [Person(collection) for _ in range(18)]
    leaves = {person.id: rng.randint(1, 10) for person in people[:4]}
    for _ in range(12):
        for person in people:
            clock.now += 0.5
            if person.id in leaves:
                leaves[person.id] -= 1
                if leaves[person.id] <= 0:
                    continue
            if isinstance(person.begin(), ShowTrial):
                person.answer()
    clock.now += 500
    assert max(loads(collection).values()) == 3
    short = {name for name, count in loads(collection).items() if count < 3}
    assert 0 < len(short) <= 12, "four people held three each"
    last = Person(collection)
    last.finish()
    assert short <= set(order_of(collection, last)["stimulus"])
    counts = loads(collection).values()
    assert max(counts) == 3
    assert max(counts) - min(counts) <= 1


def test_nobody_gets_an_item_twice(make_study: Make, collect: Open, clock: Clock) -> None:
    collection = collect(make_study(7, design={"ratings_per_item": 5}))
    person = Person(collection)
    person.begin()
    for _ in range(3):
        person.answer()
    clock.now += 1000
    person.step = collection.do(Next(person.id))
    person.finish()
    rated = order_of(collection, person)["stimulus"].to_list()
    assert sorted(rated) == sorted(set(rated))
    assert len(rated) == 7


@pytest.mark.slow
def test_each_cell_at_most_once(make_study: Make, collect: Open) -> None:
    folder = make_study(
        rows=cells(3, 4, 5), design={"ratings_per_item": 2, "distinct": ["system", "intent"], "stimuli_per_rater": 9}
    )
    collection = collect(folder)
    stimuli = collection.opened.stimuli
    for _ in range(6):
        person = Person(collection)
        person.finish()
        met = order_of(collection, person).join(stimuli, on="stimulus")
        assert met.height == 9
        assert met.select("system", "intent").is_duplicated().sum() == 0


def test_a_raters_quota(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(20, design={"stimuli_per_rater": 5}))
    person = Person(collection)
    assert person.finish().ending == "complete"
    assert len(person.shown) == 5
    assert {trial.of for trial in person.shown} == {5}


@pytest.mark.slow
def test_blocks_stay_together(make_study: Make, collect: Open) -> None:
    folder = make_study(rows=cells(4, 1, 6), design={"order": "blocks", "block_by": "system", "ratings_per_item": 3})
    collection = collect(folder)
    for _ in range(3):
        person = Person(collection)
        person.finish()
        systems = [name.split("-")[0] for name in order_of(collection, person)["stimulus"]]
        changes = sum(1 for a, b in itertools.pairwise(systems) if a != b)
        assert changes == 3, systems
    assert dict(collection.coverage().histogram) == {3: 24}


@pytest.mark.slow
def test_a_latin_square_puts_every_condition_in_every_place(make_study: Make, collect: Open) -> None:
    folder = make_study(
        rows=cells(4, 1, 3), design={"order": "latin-square", "block_by": "system", "ratings_per_item": 4}
    )
    collection = collect(folder)
    at: dict[int, Counter[str]] = defaultdict(Counter)
    for _ in range(4):
        person = Person(collection)
        person.finish()
        for place, name in enumerate(order_of(collection, person)["stimulus"]):
            at[place][name.split("-")[0]] += 1
    for place in range(12):
        assert set(at[place].values()) == {1}, place


def test_a_williams_square_balances_what_follows_what() -> None:
    """SOURCE: Williams (1949), balance of first-order carry-over for an even number of treatments."""
    first = williams(6)
    rows = [[(each + shift) % 6 for each in first] for shift in range(6)]
    for place in range(6):
        assert {row[place] for row in rows} == set(range(6))
    pairs = Counter((row[k], row[k + 1]) for row in rows for k in range(5))
    assert set(pairs.values()) == {1}
    assert len(pairs) == 30


def test_manifest_order(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(9, design={"order": "manifest", "ratings_per_item": 2}))
    person = Person(collection)
    person.finish()
    assert order_of(collection, person)["stimulus"].to_list() == [f"s{n}" for n in range(9)]


def test_order_is_logged_from_one(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(6, design={"practice": 2}))
    person = Person(collection)
    person.finish()
    assert order_of(collection, person)["position"].to_list() == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
def test_practice_is_set_aside_and_never_counted(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(5, design={"practice": 2, "practice_stimuli": ["s0", "s1"]}))
    person = Person(collection)
    person.finish()
    frame = collection.ratings()
    practice = frame.filter(kind="practice")
    assert set(practice["stimulus"]) == {"s0", "s1"}
    assert practice["counts"].sum() == 0
    assert set(frame.filter(kind="rating")["stimulus"]) == {"s2", "s3", "s4"}
    assert set(collection.coverage().items["stimulus"]) == {"s2", "s3", "s4"}
    assert set(collection.snapshot().ratings["stimulus"]) == {"s2", "s3", "s4"}


@pytest.mark.slow
def test_a_practised_stimulus_comes_last_if_it_must_come(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(5, design={"practice": 1, "ratings_per_item": 1}))
    person = Person(collection)
    person.finish()
    frame = collection.ratings()
    tried = frame.filter(kind="practice")["stimulus"].to_list()
    assert frame.filter(kind="rating").sort("position")["stimulus"].to_list()[-1:] == tried
    assert collection.coverage().complete == 5


PROBED = [
    {"type": "anchor", "id": "real", "stimuli": ["s0", "s1"], "question": "valence", "at_least": 3, "per_session": 2},
    {"type": "repeat", "id": "again", "per_session": 1, "gap": 3},
    {
        "type": "attention",
        "id": "awake",
        "text": {"en": "Choose seven", "ko": "7을 고르세요"},
        "question": "valence",
        "answer": 7,
    },
]


@pytest.mark.slow
def test_probes_come_as_often_as_said_at_places_that_vary(make_study: Make, collect: Open) -> None:
    collection = collect(make_study(22, probes=PROBED, design={"batch": 10, "ratings_per_item": 9}))
    places: dict[str, set[int]] = defaultdict(set)
    for _ in range(8):
        person = Person(collection, language="ko")
        person.finish()
        mine = order_of(collection, person)
        for session in (1, 2):
            kinds = Counter(mine.filter(session=session)["kind"])
            assert kinds == {"rating": 10, "anchor": 2, "repeat": 1, "attention": 1}
        for kind, position in mine.filter(pl.col("kind") != "rating").select("kind", "position").iter_rows():
            places[kind].add(position)
        repeat = mine.filter(kind="repeat", session=1).row(0, named=True)
        first = mine.filter(kind="rating", stimulus=repeat["stimulus"]).row(0, named=True)
        assert repeat["position"] - first["position"] > 3
        assert (first["repeat"], repeat["repeat"]) == (0, 1)
        anchors = mine.filter(kind="anchor")
        assert set(anchors["stimulus"]) == {"s0", "s1"}
        assert anchors.select("stimulus", "repeat").is_duplicated().sum() == 0
        messages = {trial.kind: trial.words for trial in person.shown}
        assert messages == {"rating": None, "attention": "7을 고르세요"}, "other probes look like any trial"
        assert person.shown[-1].number == person.shown[-1].of == 28
    assert all(len(place) > 4 for place in places.values()), places
    assert all(1 not in place for place in places.values()), "no probe comes first"
    assert set(collection.coverage().items["stimulus"]) == {f"s{n}" for n in range(2, 22)}


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1, 3])
def test_a_skipped_source_takes_its_repeat_along(make_study: Make, collect: Open, gap: int) -> None:
    """Whatever is skipped, the session ends, and nothing is repeated that was not answered before."""
    again = {"type": "repeat", "id": "again", "per_session": 3, "gap": gap}
    collection = collect(make_study(12, probes=[again], design={"ratings_per_item": 4}))
    rng = random.Random(gap)
    repeated = 0
    for _ in range(4):
        person = Person(collection)
        person.begin()
        while isinstance(person.step, ShowTrial):
            if rng.random() < 0.3:
                person.step = collection.do(Flag(person.id, person.step.trial, reason="noise", skip=True))
            else:
                person.answer()
        mine = order_of(collection, person)
        for row in mine.filter(kind="repeat").iter_rows(named=True):
            first = mine.filter(kind="rating", stimulus=row["stimulus"])
            assert first.height == 1
            assert first["position"][0] < row["position"]
            repeated += 1
    assert repeated > 0


def test_one_item_a_page(make_study: Make, collect: Open) -> None:
    """Items are assigned one by one: a listed pair is asked, nothing else is."""
    folder = make_study(
        3,
        questions=[{"id": name, "text": name, "scale": "nine"} for name in ("joy", "fear")],
        items=["stimulus,question", "s0,joy", "s1,joy", "s1,fear", "s2,fear"],
        design={"questions_per_page": "one", "ratings_per_item": 1},
    )
    collection = collect(folder)
    person = Person(collection)
    person.finish()
    asked = sorted(collection.ratings().select("stimulus", "question").iter_rows())
    assert asked == [("s0", "joy"), ("s1", "fear"), ("s1", "joy"), ("s2", "fear")]


@pytest.mark.slow
def test_the_adaptive_option_spends_where_raters_disagree(make_study: Make, collect: Open) -> None:
    collection = collect(
        make_study(6, design={"ratings_per_item": 6, "adaptive": True, "minimum_ratings": 2, "stimuli_per_rater": 3})
    )
    rng = random.Random(3)
    for _ in range(12):
        person = Person(collection)
        person.begin()
        while isinstance(person.step, ShowTrial):
            row = collection.trials(person.id).filter(trial=person.step.trial).row(0, named=True)
            person.answer(rng.choice([1, 9]) if row["stimulus"] in {"s0", "s1"} else 5)
    counts = dict(collection.coverage().items.select("stimulus", "complete").iter_rows())
    assert sum(counts.values()) == 36, "the budget is the same"
    assert min(counts.values()) >= 2
    assert min(counts["s0"], counts["s1"]) > max(counts[f"s{n}"] for n in range(2, 6)), counts
    with pytest.raises(Exception, match="all the raters it needs"):
        Person(collection)


def test_an_adaptive_study_forgets_excluded_answers(make_study: Make, collect: Open) -> None:
    folder = make_study(4, design={"ratings_per_item": 3, "adaptive": True})
    collection = collect(folder)
    person = Person(collection)
    person.begin()
    for _ in range(3):
        person.answer(9)
    collection.do(Leave(person.id))
    collection.do(Exclude(person.id, "x"))
    assert collection.coverage().complete == 0
    collection.close()
    assert collect(folder).coverage().complete == 0


@pytest.mark.slow
def test_the_same_seed_assigns_alike(make_study: Make, tmp_path: Path, clock: Clock) -> None:
    def orders(seed: int) -> list[list[str]]:
        with Collection.open(
            folder,
            database=f"sqlite:///{tmp_path}/{seed}-{random.random()}.sqlite",
            clock=clock,
            options=CollectOptions(seed=seed, durable=False),
        ) as collection:
            out = []
            for _ in range(3):
                person = Person(collection)
                person.finish()
                out.append(order_of(collection, person)["stimulus"].to_list())
            return out

    folder = make_study(8, design={"ratings_per_item": 3})
    assert orders(4) == orders(4)
    assert orders(4) != orders(5)


@pytest.mark.slow
def test_answers_after_the_study_changed(make_study: Make, collect: Open) -> None:
    """A stimulus that nobody rated may leave the study; it is not shown any more, not even where it was held."""
    folder = make_study(4, design={"ratings_per_item": 3})
    collection = collect(folder)
    other = Person(collection)
    other.begin()
    collection.close()
    (folder / "stimuli.csv").write_text("stimulus\ns2\ns3\ns4\n", encoding="utf-8")
    collection = collect(folder)
    other.collection = collection
    other.step = collection.do(Next(other.id))
    other.finish()
    frozen = collection.snapshot()
    assert set(frozen.ratings["stimulus"]) == {"s2", "s3", "s4"}
    gone = collection.trials(other.id).filter(pl.col("status") == "given back: gone")["trial"].to_list()
    assert gone
    with pytest.raises(Exception, match="not yours"):
        collection.do(Answer(other.id, "999", key="k", values={"valence": 5}))
