"""Courses over time, from the answer to the snapshot, on both databases; and what was heard of the members of a set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import soundfile
import yaml

from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Erase, TrialLog
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer
from heartfelt.collect.store.tables import packed, unpacked
from heartfelt.errors import StudyError
from heartfelt.snapshot.folder import load
from tests.collect.people import Clock, Person

Open = Callable[..., Collection]
Make = Callable[..., Path]
SEEDED = CollectOptions(seed=1, durable=False)
PLANE: dict[str, Any] = {
    "scales": {"course": {"type": "trace", "rate": 4}, "nine": {"type": "points", "points": 9}},
    "questions": [
        {"id": "valence", "text": "How pleasant?", "scale": "course"},
        {"id": "arousal", "text": "How arousing?", "scale": "course", "required": False},
    ],
}
GRID = {"affect_grid": ["valence", "arousal"]}


@pytest.mark.parametrize("samples", [[0.5], [None, -1.0, 0.25, None, 1.0], list(np.linspace(-1, 1, 6000))])
def test_samples_are_packed_without_loss(samples: list[float | None]) -> None:
    again = unpacked(packed(samples))
    assert again.dtype == np.float32
    expected = np.array([np.nan if sample is None else sample for sample in samples], np.float32)
    assert np.array_equal(again, expected, equal_nan=True)


@pytest.mark.slow
def test_traces_reach_the_snapshot(make_study: Make, opened: Open, tmp_path: Path) -> None:
    collection = opened(make_study(3, **PLANE, design=GRID))
    person = Person(collection)
    person.begin()
    trace = {"samples": [None, 0.0, 0.5, None, -0.25]}
    person.answer(values={"valence": trace, "arousal": {"samples": [1, 1]}}, log=TrialLog(away=2.5))
    person.answer(values={"valence": trace})
    person.answer(values={"valence": trace, "arousal": {"samples": [None, None]}})
    snapshot = collection.snapshot()
    snapshot.write(tmp_path / "frozen")
    again = load(tmp_path / "frozen")
    assert again.hash == snapshot.hash
    assert dict(again.ratings.select("question", "value").iter_rows()) == {"valence": 0.25 / 3, "arousal": 1.0}
    assert again.ratings.height == again.traces.height == 4
    first = again.traces.filter(pl.col("question") == "valence").row(0, named=True)
    assert first["samples"] == [None, 0.0, 0.5, None, -0.25]
    assert (first["rate"], first["start"], first["away"], first["repeat"]) == (4.0, 0.0, 2.5, 0)
    assert collection.trials(person.id)["away"].to_list() == [2.5, None, None]
    collection.do(Erase(person.id))
    assert collection.snapshot().traces.height == 0
    with collection._database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM traces").scalar() == 0


@pytest.mark.slow
def test_ten_minutes_on_two_axes(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(1, **PLANE))
    person = Person(collection)
    person.begin()
    course = [round(float(value), 4) for value in np.sin(np.arange(6000) / 50)]
    person.answer(values={"valence": {"samples": course}, "arousal": {"samples": course[::-1]}})
    traces = collection.snapshot().traces
    assert traces.schema["samples"] == pl.List(pl.Float32)
    stored = dict(traces.select("question", "samples").iter_rows())
    assert np.allclose(stored["valence"], course, atol=1e-6)
    assert np.allclose(stored["arousal"], course[::-1], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [{"samples": [2.0]}, {"samples": "x"}, {"samples": [0.1, "x"]}, [5.0], 0.5, "0.5", {"best": 1}, {}]
)
def test_a_trace_that_is_none_is_refused(wrong: Any, make_study: Make, clock: Clock) -> None:
    with Collection.open(make_study(2, **PLANE), clock=clock, options=SEEDED) as collection:
        person = Person(collection)
        person.begin()
        before = collection.change()
        with pytest.raises(InvalidAnswer, match="valence"):
            person.answer(values={"valence": wrong})
        with pytest.raises(MissingAnswer):
            person.answer(values={"valence": {"samples": [None, None]}})
        assert collection.change() == before


@pytest.mark.slow
def test_practice_and_repeats(make_study: Make, clock: Clock) -> None:
    probes = [{"type": "repeat", "id": "again", "gap": 1}]
    folder = make_study(4, **PLANE, probes=probes, design={"practice": 1, "practice_stimuli": ["s0"]})
    with Collection.open(folder, clock=clock, options=SEEDED) as collection:
        person = Person(collection)
        person.begin()
        while hasattr(person.step, "questions"):
            person.answer(values={"valence": {"samples": [0.5]}})
        traces = collection.snapshot().traces
        assert "s0" not in traces["stimulus"]
        assert sorted(traces["repeat"]) == [0, 0, 0, 1]


def test_no_attention_trial_asks_for_a_trace(make_study: Make) -> None:
    probe = {"type": "attention", "id": "a", "text": "Move.", "question": "valence", "answer": 1}
    with pytest.raises(StudyError, match="is a trace"):
        Collection.open(make_study(2, **PLANE, probes=[probe]))


# --- what was heard of each member of a set ---------------------------------------------------------------------------


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A MUSHRA study of clips that last two seconds."""
    (tmp_path / "media").mkdir()
    for name in "abc":
        soundfile.write(tmp_path / "media" / f"{name}.wav", np.zeros(1600), 800)
    study = {
        "heartfelt": 1,
        "name": "clips",
        "sets": {"type": "mushra", "reference": "a"},
        "scales": {"grade": {"type": "grade"}},
        "questions": [{"id": "quality", "text": "How good?", "scale": "grade"}],
        "design": {"ratings_per_item": 9, "practice": 0},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    lines = ["stimulus,system,prompt,path", *(f"{name},{name},p,{name}.wav" for name in "abc")]
    (tmp_path / "stimuli.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


WHOLE = ((0.0, 2.0),)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "rule", "played", "heard", "flag"),
    [
        (9, "full", (WHOLE, WHOLE, WHOLE, WHOLE), [1.0, 1.0, 1.0, 1.0], None),
        (9, "full", (WHOLE, ((0.0, 1.0),), WHOLE, WHOLE), [1.0, 0.5, 1.0, 1.0], "incomplete"),
        (9, "started", (WHOLE, ((0.0, 1.0),), WHOLE, WHOLE), [1.0, 0.5, 1.0, 1.0], None),
        (9, "started", (WHOLE, (), WHOLE), [1.0, 0.0, 1.0, 0.0], "impossible"),
        (9, "free", (), [0.0, 0.0, 0.0, 0.0], None),
        # Each could have been heard in three seconds, but not all four.
        (3, "full", (WHOLE, WHOLE, WHOLE, WHOLE), [1.0, 1.0, 1.0, 1.0], "impossible"),
    ],
)
def test_what_was_heard_of_each_member(
    seconds: float, rule: str, played: Any, heard: list[float], flag: str | None, clips: Path, clock: Clock
) -> None:
    text = (clips / "study.yaml").read_text(encoding="utf-8").replace("design:", f"design:\n  listening: {rule}")
    (clips / "study.yaml").write_text(text, encoding="utf-8")
    with Collection.open(clips, clock=clock, options=SEEDED) as collection:
        person = Person(collection)
        person.begin()
        assert len({member.media for member in person.trial.members}) == 3, "the hidden reference is one of the files"
        clock.now += seconds
        person.answer([1, 2, 3], log=TrialLog(seconds=1.0, played=played))
        ratings = collection.ratings().sort("place")
        assert ratings["heard"].to_list() == heard[1:]
        assert set(ratings["heard_flag"]) == {flag}
        assert collection.trials(person.id)["heard"].item() == min(heard)


def test_a_set_with_a_missing_file_is_not_presented(clips: Path, clock: Clock) -> None:
    (clips / "media" / "b.wav").unlink()
    with Collection.open(clips, clock=clock, options=SEEDED) as collection:
        assert collection.coverage().units == 0
        ledger = collection.snapshot().ledger
        assert ledger.filter(ledger["stimulus"] == "b").height == 1
