"""What was heard: reports held against the clip's length and the time that passed on the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import TrialLog
from heartfelt.collect.session.listening import played
from heartfelt.screening import RULES
from tests.collect.people import Clock, Person
from tests.web.studies import write_study

Open = Callable[..., Collection]
CLIP = 0.25 * 40


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], (0.0, 0.0)),
        ([(0, 4)], (4.0, 4.0)),
        ([(0, 4), (2, 6)], (6.0, 8.0)),
        ([(2, 6), (0, 4), (0, 10)], (10.0, 18.0)),
        ([(8, 99)], (2.0, 2.0)),
        ([(-5, 1), (4, 3)], (2.0, 2.0)),
        ([(float("nan"), 3), (0, float("inf"))], (10.0, 10.0)),
    ],
)
def test_seconds_that_were_played(intervals: list[tuple[float, float]], expected: tuple[float, float]) -> None:
    assert played(intervals, 10.0) == expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of clips that last ten seconds and are to be heard to the end."""
    import numpy as np
    import soundfile

    home = write_study(tmp_path / "clips", each=3)
    for path in (home / "media").iterdir():
        soundfile.write(path, np.zeros(10 * 800), 800)
    text = (home / "study.yaml").read_text(encoding="utf-8").replace("listening: free", "listening: full")
    (home / "study.yaml").write_text(text, encoding="utf-8")
    return home


WHOLE = TrialLog(seconds=2.0, plays=1, intervals=((0.0, 10.0),))


@pytest.mark.slow
def test_what_is_stored(folder: Path, clock: Clock) -> None:
    with Collection.open(folder, clock=clock) as collection:
        person = Person(collection)
        person.begin()
        clock.now += 12
        person.answer(log=WHOLE)
        clock.now += 8
        person.answer(log=TrialLog(plays=1, intervals=((0.0, 5.0),)))
        clock.now += 1
        person.answer(log=WHOLE)
        clock.now += 30
        person.answer(log=TrialLog(plays=0))
        rows = collection.ratings().filter(question="valence").select("heard", "heard_flag").rows()
        assert rows[0] == (1.0, None)
        assert rows[1] == (0.5, "incomplete")
        assert rows[2][1] == "impossible"
        assert rows[2][0] < 0.9
        assert rows[3] == (0.0, "impossible"), "the pages wait until the clip was started"
        frozen = collection.snapshot()
        assert frozen.ratings["heard"].null_count() == 0
        assert set(collection.trials(person.id)["heard_flag"]) >= {"impossible", "incomplete"}


@pytest.mark.slow
def test_trials_answered_offline_are_believed_once_the_time_has_passed(folder: Path, clock: Clock) -> None:
    """Three clips are held; half a minute passes, then the answers arrive together."""
    with Collection.open(folder, clock=clock) as collection:
        person = Person(collection)
        person.begin()
        clock.now += 33
        for _ in range(3):
            person.answer(log=WHOLE)
        clock.now += 2
        person.answer(log=WHOLE)
        flags = collection.ratings().filter(question="valence")["heard_flag"].to_list()
        assert flags == [None, None, None, "impossible"], "no second is spent on two clips"


@pytest.mark.slow
def test_time_is_not_spent_twice_after_a_restart(folder: Path, clock: Clock) -> None:
    collection = Collection.open(folder, clock=clock)
    person = Person(collection)
    person.begin()
    clock.now += 11
    person.answer(log=WHOLE)
    collection.close()
    with Collection.open(folder, clock=clock) as again:
        person.collection = again
        person.answer(log=WHOLE)
        assert again.ratings().filter(question="valence")["heard_flag"].to_list() == [None, "impossible"]


@pytest.mark.slow
def test_the_rule_flags_who_did_not_listen(folder: Path, clock: Clock) -> None:
    with Collection.open(folder, clock=clock) as collection:
        for careful in (True, True, False):
            person = Person(collection)
            person.begin()
            while person.step.__class__.__name__ == "ShowTrial":
                clock.now += 11 if careful else 1
                person.answer(log=WHOLE)
        hasty = person.id
        frozen = collection.snapshot()
    result = RULES["heard"].apply(frozen)
    assert result.filter("flagged")["rater"].to_list() == [hasty]
    row = result.filter(rater=hasty).row(0, named=True)
    assert (row["value"], row["n"]) == (1.0, 18)
    # Eighteen short trials of eighteen at a rate of a tenth.
    assert row["p"] == pytest.approx(0.1**18)
    assert "18 of 18 trials" in row["words"]


@pytest.mark.slow
def test_images_and_free_listening_are_not_judged(tmp_path: Path, clock: Clock) -> None:
    home = write_study(tmp_path / "free")
    with Collection.open(home, clock=clock) as collection:
        Person(collection).finish()
        frozen = collection.snapshot()
    assert "without listening" in RULES["heard"].apply(frozen)["why_missing"][0]


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A study of clips that last ten seconds and are to be heard to the end."""
    import numpy as np
    import soundfile

    home = write_study(tmp_path / "clips", each=1)
    for path in (home / "media").iterdir():
        soundfile.write(path, np.zeros(10 * 800), 800)
    text = (home / "study.yaml").read_text(encoding="utf-8").replace("listening: free", "listening: full")
    (home / "study.yaml").write_text(text, encoding="utf-8")
    return home


@pytest.mark.slow
def test_more_than_the_time_allows_is_impossible_and_what_fits_is_not(clips: Path, collect: Open, clock: Clock) -> None:
    """A 10 s clip: 10 s may be claimed once 10 - 0.5 - 0.05 * 10 = 9.0 s have passed."""
    collection = collect(clips, ahead=0)
    person = Person(collection)
    person.begin()
    flags = []
    for passed in (8.99, 9.01):
        clock.now += passed
        person.answer(log=TrialLog(intervals=((0.0, 10.0),), plays=1))
        flags.append(collection.ratings().filter(question="valence").row(-1, named=True))
    assert [row["heard_flag"] for row in flags] == ["impossible", None]
    assert [row["heard"] for row in flags] == [0.999, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(("share", "flag"), [(0.0, "incomplete"), (0.9499, "incomplete"), (0.95, None), (1.0, None)])
def test_how_much_is_enough(clips: Path, collect: Open, clock: Clock, share: float, flag: str | None) -> None:
    collection = collect(clips, ahead=0)
    person = Person(collection)
    person.begin()
    clock.now += 60
    person.answer(log=TrialLog(intervals=((0.0, 10.0 * share),), plays=1))
    row = collection.ratings().filter(question="valence").row(-1, named=True)
    assert (row["heard"], row["heard_flag"]) == (pytest.approx(share), flag)


def test_what_is_played_twice_is_heard_once() -> None:
    assert played(((0.0, 4.0), (2.0, 6.0), (9.0, 20.0), (5.0, 5.0), (8.0, 7.0)), 10.0) == (8.0, 10.0)
    assert played(((float("nan"), 1.0), (-3.0, 1.0)), 10.0) == (1.0, 1.0)
    assert played((), 10.0) == (0.0, 0.0)
