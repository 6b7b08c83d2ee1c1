"""Who earns which code: impossible listening, honest raters, and the same ending in every process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import yaml

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import ChangeSettings, SessionEnd, TrialLog
from tests.collect.people import Clock, Person, write_study

Open = Callable[..., Collection]
CLIP = 10.0
SILENT = TrialLog()
WHOLE = TrialLog(seconds=1.0, plays=1, intervals=((0.0, CLIP),))


def clips(folder: Path, listening: str = "full", count: int = 10, **parts: Any) -> Path:
    """A study of clips that last ten seconds; every rater gets all of them."""
    rows = ["stimulus,path", *(f"s{n},s{n}.wav" for n in range(count))]
    write_study(folder, "clips", rows=rows, **{"design": {"listening": listening}, **parts})
    (folder / "media").mkdir()
    for number in range(count):
        soundfile.write(folder / "media" / f"s{number}.wav", np.zeros(int(CLIP * 800)), 800)
    return folder


def session(collection: Collection, clock: Clock, logs: list[tuple[float, TrialLog]]) -> SessionEnd:
    """A rater who answers each trial after so many seconds, with that report."""
    person = Person(collection)
    person.begin()
    for seconds, log in logs:
        clock.now += seconds
        person.answer(log=log)
    assert isinstance(person.step, SessionEnd), person.step
    return person.step


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listening", "seconds", "log", "ending"),
    [
        ("full", 0.01, SILENT, "review"),
        ("started", 0.01, SILENT, "review"),
        ("free", 0.01, SILENT, "complete"),
        # Reports that nobody can have sent: a play that took no time, a clip faster than it lasts.
        ("full", 0.01, TrialLog(plays=1), "review"),
        ("started", 0.01, TrialLog(plays=1, intervals=((0.0, 0.2),)), "review"),
        ("started", 0.01, WHOLE, "review"),
        ("free", 0.01, WHOLE, "review"),
        ("full", 3.0, SILENT, "review"),
        # The pages wait until the clip was started.
        ("started", 3.0, SILENT, "review"),
        # Somebody who obeys the rule, and no more.
        ("started", 0.8, TrialLog(plays=1, intervals=((0.0, 0.5),)), "complete"),
        ("full", 10.2, WHOLE, "complete"),
        ("full", 10.2, TrialLog(plays=1), "complete"),
        ("free", 0.5, TrialLog(plays=1, intervals=((0.0, 0.4),)), "complete"),
        # Too little was heard, but what was reported is possible: the rule `heard` sees that.
        ("full", 11.0, TrialLog(plays=1, intervals=((0.0, 8.0),)), "complete"),
    ],
)
def test_impossible_listening_does_not_earn_the_complete_code(
    tmp_path: Path, collect: Open, clock: Clock, listening: str, seconds: float, log: TrialLog, ending: str
) -> None:
    collection = collect(clips(tmp_path / "clips", listening))
    end = session(collection, clock, [(seconds, log)] * 10)
    settings = collection.settings
    codes = {"complete": settings.code_complete, "review": settings.code_review}
    assert (end.ending, end.code) == (ending, codes[ending])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "impossible", "ending"),
    [(0.2, 2, "complete"), (0.2, 3, "review"), (0.0, 1, "complete"), (0.0, 2, "review"), (1.0, 10, "complete")],
)
def test_a_share_of_the_trials_decides_and_one_fault_costs_nobody_the_code(
    tmp_path: Path, collect: Open, clock: Clock, share: float, impossible: int, ending: str
) -> None:
    folder = clips(tmp_path / "clips", recruiting={"impossible_share": share})
    logs = [(1.0, WHOLE)] * impossible + [(40.0, WHOLE)] * (10 - impossible)
    assert session(collect(folder), clock, logs).ending == ending


@pytest.mark.slow
def test_answers_that_were_given_offline_and_arrive_together_are_believed(
    tmp_path: Path, collect: Open, clock: Clock
) -> None:
    """Three trials are held at a time: each batch comes after as long as it took to hear it."""
    collection = collect(clips(tmp_path / "clips", count=9))
    logs = [(0.0 if number % 3 else 3 * (CLIP + 1), WHOLE) for number in range(9)]
    assert session(collection, clock, logs).ending == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-3600.0, -2.0, 3600.0])
def test_a_clock_that_is_set_accuses_nobody(tmp_path: Path, collect: Open, clock: Clock, jump: float) -> None:
    collection = collect(clips(tmp_path / "clips"))
    logs = [(CLIP + 1 + (jump if number == 4 else 0.0), WHOLE) for number in range(10)]
    assert session(collection, clock, logs).ending == "complete"
    flags = set(collection.ratings()["heard_flag"])
    assert flags == {None}


@pytest.mark.slow
def test_an_answer_sent_twice_counts_once(tmp_path: Path, collect: Open, clock: Clock) -> None:
    collection = collect(clips(tmp_path / "clips", count=5))
    person = Person(collection)
    person.begin()
    for number in range(5):
        trial = person.trial
        clock.now += 1.0 if number == 0 else 30.0
        person.answer(log=WHOLE, key=f"k{number}")
        if isinstance(person.step, SessionEnd):
            break
        later, person.step = person.step, trial
        assert person.answer(log=SILENT, key=f"k{number}").status == "already"
        person.step = later
    assert person.step == SessionEnd(ending="complete", code=collection.settings.code_complete)


@pytest.mark.slow
def test_every_process_comes_to_the_same_ending(tmp_path: Path, clock: Clock, collect: Open) -> None:
    """The count is in the journal: another process, or the same one after a restart, goes on from it."""
    folder = clips(tmp_path / "clips")
    person = Person(collect(folder))
    person.begin()
    for number in range(10):
        clock.now += 0.01 if number < 3 else 60.0
        person.answer(log=SILENT if number < 3 else WHOLE)
        if number == 4:
            person.collection = collect(folder)
    assert isinstance(person.step, SessionEnd)
    assert person.step.ending == "review"
    assert set(collect(folder).raters()["state"]) == {"review"}


@pytest.mark.slow
def test_practice_images_and_clips_of_unknown_length_are_not_judged(
    tmp_path: Path, collect: Open, clock: Clock, make_study: Callable[..., Path]
) -> None:
    practised = clips(tmp_path / "practised", count=4, design={"practice": 3, "ratings_per_item": 2})
    person = Person(collect(practised))
    person.begin()
    while not isinstance(person.step, SessionEnd):
        practice = person.trial.kind == "practice"
        clock.now += 0.01 if practice else 60.0
        person.answer(log=SILENT if practice else WHOLE)
    assert person.step.ending == "complete"
    without_media = make_study(stimuli=10)
    assert session(collect(without_media), clock, [(0.01, SILENT)] * 10).ending == "complete"


@pytest.mark.slow
def test_the_code_of_review_is_made_set_and_changed(tmp_path: Path, collect: Open, clock: Clock) -> None:
    folder = clips(tmp_path / "clips", count=2, recruiting={"return_url": "https://example.org/?cc={code}"})
    collection = collect(folder)
    first = collection.settings.code_review
    assert first is not None
    assert len(first) == 8
    collection.do(ChangeSettings({"code_review": "LOOK"}))
    end = session(collection, clock, [(0.01, SILENT)] * 2)
    assert end == SessionEnd(ending="review", code="LOOK", url="https://example.org/?cc=LOOK")
    collection.close()
    study = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    study["recruiting"]["codes"] = {"review": "R1"}
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    assert collect(folder).settings.code_review == "R1"


@pytest.mark.slow
def test_reviewed_raters_count_against_the_cap(tmp_path: Path, collect: Open, clock: Clock) -> None:
    """Or scripts would come for ever."""
    folder = clips(tmp_path / "clips", count=3, recruiting={"cap": 1})
    collection = collect(folder)
    assert session(collection, clock, [(0.01, SILENT)] * 3).ending == "review"
    assert collection.coverage().raters_complete == 1
    with pytest.raises(Exception, match="all the raters it needs"):
        Person(collection)
