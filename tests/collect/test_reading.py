"""The read side: coverage, tables, snapshots; media that are not there; machine values."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
import yaml

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import (
    Answer,
    Arrive,
    Exclude,
    FieldLog,
    Leave,
    MediaProblem,
    Next,
    Ready,
    ShowTrial,
    TrialLog,
    Verdict,
)
from heartfelt.collect.messages.errors import InvalidAnswer, UnknownRater
from heartfelt.errors import InputError
from heartfelt.formats.study_folder.drafts import write_drafts
from heartfelt.formats.study_folder.machine_values import invalid_machine_values
from heartfelt.formats.study_folder.manifest import open_study
from heartfelt.snapshot import load
from tests.collect.people import Clock, Person

Make = Callable[..., Path]
Open = Callable[..., Collection]


@pytest.mark.slow
def test_coverage_counts_what_is_there_and_what_is_coming(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(5, design={"ratings_per_item": 2}))
    empty = collection.coverage()
    assert (empty.units, empty.wanted, empty.complete, empty.leased, empty.share) == (5, 10, 0, 0, 0.0)
    assert "only 0 trials" in (empty.forecast.reason or "")
    person = Person(collection)
    person.begin()
    person.answer()
    now = collection.coverage()
    assert (now.complete, now.leased, now.raters, now.raters_now) == (1, 3, 1, 1)
    assert dict(now.histogram) == {0: 4, 1: 1}
    assert now.items.height == 5
    assert now.items["leased"].sum() == 3


@pytest.mark.slow
def test_the_forecast_follows_the_recent_pace(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(30, design={"ratings_per_item": 2}))
    person = Person(collection)
    for _ in person.rate(20):
        clock.now += 60
    forecast = collection.coverage().forecast
    assert forecast.reason is None
    assert forecast.per_hour == pytest.approx(60, rel=0.1)
    assert forecast.finish == pytest.approx(clock.now + 40 * 60, rel=1e-6, abs=200)


def test_a_change_has_a_number(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    before = collection.change()
    assert collection.change() == before
    collection.do(Arrive())
    assert collection.change() > before


@pytest.mark.slow
def test_raters_where_they_are(make_study: Make, opened: Open, clock: Clock) -> None:
    collection = opened(make_study(6, consent={"text": "Agree?"}, design={"batch": 2}))
    fresh, busy, away, left = (Person(collection) for _ in range(4))
    for person in (busy, away, left):
        person.begin()
    collection.do(Leave(left.id))
    clock.now += 150
    collection.do(Next(busy.id))
    clock.now += 60
    frame = collection.raters()
    states = dict(frame.select("rater", "state").iter_rows())
    assert states == {fresh.id: "beginning", busy.id: "at work", away.id: "away", left.id: "left"}
    assert dict(frame.select("rater", "step").iter_rows())[fresh.id] == "consent"
    assert frame.filter(rater=busy.id)["last_seen"][0] > frame.filter(rater=away.id)["last_seen"][0]


def test_trials_of_somebody_unknown(make_study: Make, opened: Open) -> None:
    with pytest.raises(UnknownRater):
        opened(make_study()).trials("nobody")


@pytest.mark.slow
def test_a_snapshot_is_what_was_collected(make_study: Make, opened: Open, clock: Clock, tmp_path: Path) -> None:
    folder = make_study(
        5,
        demographics=[{"id": "age", "text": "Age", "type": "number"}],
        consent={"text": "Agree?"},
        design={"practice": 1, "batch": 3, "ratings_per_item": 3},
        probes=[
            {
                "type": "attention",
                "id": "awake",
                "text": "Choose 7",
                "question": "valence",
                "answer": 7,
                "per_session": 1,
            }
        ],
    )
    collection = opened(folder)
    good, bad, never = (Person(collection) for _ in range(3))
    for person, awake in ((good, 7), (bad, 5)):
        person.begin()
        while isinstance(person.step, ShowTrial) or type(person.step).__name__ == "TakeBreak":
            if not isinstance(person.step, ShowTrial):
                person.go_on()
                continue
            clock.now += 5
            person.answer(awake if person.step.kind == "attention" else 4, comment="hm")
    collection.do(Exclude(bad.id, "did not read"))
    never.collection.do(__import__("heartfelt.collect.messages.commands", fromlist=["x"]).GiveConsent(never.id, False))
    frozen = collection.snapshot()
    ratings = frozen.ratings
    assert ratings.height == 10, "practice and attention are no ratings"
    assert Counter(ratings["rater"]) == {good.id: 5, bad.id: 5}, "an excluded rater's ratings stay"
    assert set(ratings["batch"]) == {"1", "2"}
    mine = ratings.filter(rater=good.id).sort("at")
    assert mine["position"].is_sorted()
    assert mine["seconds"].to_list() == [2.0] * 5
    assert mine["comment"].to_list() == ["hm"] * 5
    assert set(mine["study_version"]) == {collection.study.hash}
    people = {row["rater"]: row for row in frozen.raters.iter_rows(named=True)}
    assert (people[good.id]["attention_right"], people[bad.id]["attention_right"]) == (2, 0)
    assert people[good.id]["about_age"] == 30.0
    reasons = dict(frozen.ledger.select("rater", "reason").iter_rows())
    assert reasons == {bad.id: "left out by a researcher: did not read", None: "did not agree to take part"}
    retained = collection.snapshot(excluded=False)
    assert set(retained.ratings["rater"]) == {good.id}
    assert retained.raters.height == 2
    assert retained.ledger.height == 2
    again = load(frozen.write(tmp_path / "frozen"))
    assert again.hash == frozen.hash


def test_a_snapshot_of_nothing(make_study: Make, opened: Open) -> None:
    frozen = opened(make_study(4)).snapshot()
    assert frozen.counts["ratings"] == 0
    assert frozen.counts["stimuli"] == 4


@pytest.mark.slow
def test_a_snapshot_is_of_one_moment(make_study: Make, opened: Open) -> None:
    """Taken while raters rate: every trial is there with all its questions, or not at all; nobody waits for it."""
    questions = [{"id": name, "text": name, "scale": "nine"} for name in ("a", "b", "c")]
    collection = opened(make_study(300, questions=questions, design={"ratings_per_item": 5}))
    sizes: list[int] = []

    async def rate() -> None:
        going = True

        async def each() -> None:
            rater = (await collection.ask(Arrive())).rater
            step = await collection.ask(Ready(rater))
            for number in range(25):
                assert isinstance(step, ShowTrial)
                values = dict.fromkeys(step.questions, number % 9 + 1)
                receipt = await collection.ask(Answer(rater, step.trial, key=f"{rater}-{number}", values=values))
                assert receipt.next_step is not None
                step = receipt.next_step

        async def watch() -> None:
            while going:
                frozen = await asyncio.to_thread(collection.snapshot)
                per_trial = frozen.ratings.group_by("rater", "stimulus").len()["len"]
                assert per_trial.is_in([3]).all()
                sizes.append(frozen.survey.ratings)

        watcher = asyncio.ensure_future(watch())
        await asyncio.gather(*(each() for _ in range(8)))
        going = False
        await watcher

    asyncio.run(rate())
    assert collection.ratings().height == 8 * 25 * 3
    assert sizes == sorted(sizes)


@pytest.mark.slow
def test_media_that_are_missing_or_broken_are_left_out(make_study: Make, opened: Open) -> None:
    folder = make_study(rows=["stimulus,path", "good,good.wav", "gone,gone.wav", "broken,broken.wav", "bare,"])
    media = folder / "media"
    media.mkdir()
    soundfile.write(media / "good.wav", np.zeros(800), 8000)
    (media / "broken.wav").write_bytes(b"RIFF but no more")
    collection = opened(folder)
    assert set(collection.coverage().items["stimulus"]) == {"good"}
    problems = dict(collection.problems().select("stimulus", "problem").iter_rows())
    assert set(problems) == {"gone", "broken", "bare"}
    assert "not found" in problems["gone"]
    person = Person(collection)
    person.begin()
    opaque = person.trial.media
    assert opaque is not None
    assert "good" not in opaque
    file = collection.media(opaque)
    assert file is not None
    assert (file.path, file.content_type, file.stimulus) == (media / "good.wav", "audio/wav", "good")
    collection.do(MediaProblem(person.id, person.trial.trial, "network"))
    assert collection.problems().height == 4
    assert collection.snapshot().ledger.filter(what="stimulus").height == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "../study.yaml", "good.wav", "0" * 24, "good\x00"])
def test_nothing_but_media_is_served(make_study: Make, opened: Open, name: str) -> None:
    folder = make_study(rows=["stimulus,path", "good,good.wav"])
    (folder / "media").mkdir()
    soundfile.write(folder / "media" / "good.wav", np.zeros(800), 8000)
    assert opened(folder).media(name) is None


@pytest.mark.slow
def test_the_next_media_are_named_ahead(make_study: Make, opened: Open) -> None:
    folder = make_study(rows=["stimulus,path", *(f"s{n},s{n}.wav" for n in range(5))])
    (folder / "media").mkdir()
    for n in range(5):
        soundfile.write(folder / "media" / f"s{n}.wav", np.zeros(80), 8000)
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    ahead = [trial.media for trial in person.trial.following]
    assert len(ahead) == 2
    person.answer()
    assert person.trial.media == ahead[0]
    assert person.trial.following[0].media == ahead[1]


def test_the_prompt_is_shown_where_a_question_wants_it(make_study: Make, opened: Open) -> None:
    folder = make_study(
        rows=["stimulus,intent,prompt", "a,happy,plain", "b,sad,a sad waltz"],
        intents=[{"id": "happy"}, {"id": "sad"}],
        prompts=[{"id": "plain", "text": "{intent}, instrumental"}],
        questions=[{"id": "match", "text": "Does it match?", "scale": "nine", "shows": ["prompt"]}],
    )
    person = Person(opened(folder))
    person.finish()
    assert {trial.prompt for trial in person.shown} == {"happy, instrumental", "a sad waltz"}


MACHINE = [
    {"id": "feel", "text": "Feel?", "scale": "nine"},
    {"id": "style", "text": "Style", "scale": "words", "machine_first": True},
]


def machine_study(make_study: Make, stimuli: int, quota: int) -> Path:
    return make_study(
        rows=["stimulus,style,style_source", *(f"s{n},style {n},tagger" for n in range(stimuli))],
        scales={"nine": {"type": "points", "points": 9}, "words": {"type": "text", "max_words": 5}},
        questions=MACHINE,
        design={"ratings_per_item": quota},
    )


@pytest.mark.slow
def test_machine_values_are_hidden_and_planted_at_random(make_study: Make, opened: Open) -> None:
    collection = opened(machine_study(make_study, 40, 10))
    shown: Counter[str] = Counter()
    for _ in range(10):
        person = Person(collection)
        for trial in person.rate():
            row = collection.trials(person.id).filter(trial=trial.trial).row(0, named=True)
            true = f"style {row['stimulus'][1:]}"
            given = trial.machine["style"]
            shown["hidden" if given is None else "true" if given == true else "planted"] += 1
            person.answer(
                values={"feel": 5, "style": given or "mine"}, verdicts={} if given is None else {"style": "accepted"}
            )
            break
        while isinstance(person.step, ShowTrial):
            given = person.step.machine["style"]
            person.answer(
                values={"feel": 5, "style": given or "mine"}, verdicts={} if given is None else {"style": "accepted"}
            )
    frame = collection.ratings().filter(question="style")
    share = {name: count / frame.height for name, count in Counter(frame["shown"]).items()}
    assert share["hidden"] == pytest.approx(0.10, abs=0.05)
    assert share["planted"] == pytest.approx(0.05, abs=0.04)
    fields = collection.snapshot().fields
    assert fields.height == frame.height
    planted = fields.filter(shown="planted")
    assert set(planted["source"]) == {"planted"}
    assert (planted["machine"] != "style " + planted["stimulus"].str.slice(1)).all()
    hidden = fields.filter(shown="hidden")
    assert set(hidden["final"]) == {"mine"}
    assert (hidden["machine"] == "style " + hidden["stimulus"].str.slice(1)).all()
    assert set(fields.filter(shown="true")["verdict"]) == {"accepted"}
    ratings = collection.snapshot().ratings
    assert ratings.filter(question="style").height == frame.height - planted.height, "verified answers are ratings"
    assert set(ratings.filter(question="style")["shown"]) == {"true", "hidden"}


@pytest.mark.slow
def test_verdicts(make_study: Make, opened: Open) -> None:
    collection = opened(machine_study(make_study, 3, 1), hidden=0.0, planted=0.0)
    person = Person(collection)
    person.begin()
    with pytest.raises(InvalidAnswer, match="maybe"):
        person.answer(values={"feel": 5}, verdicts={"style": "maybe"})
    person.answer(values={"feel": 5}, verdicts={"style": "accepted"})
    person.answer(values={"feel": 5, "style": "gouache"}, verdicts={"style": "fixed"})
    person.answer(values={"feel": 5}, verdicts={"style": "rejected"})
    fields = collection.snapshot().fields.sort("at")
    assert fields["verdict"].to_list() == ["accepted", "fixed", "rejected"]
    accepted, fixed, rejected = fields.iter_rows(named=True)
    assert accepted["final"] == accepted["machine"]
    assert fixed["final"] == "gouache"
    assert rejected["final"] is None
    assert {row["source"] for row in fields.iter_rows(named=True)} == {"tagger"}
    assert {row["verified_by"] for row in fields.iter_rows(named=True)} == {person.id}


BOXES = '[{"tag":"ink","box":[0.1,0.2,0.5,0.6]}]'


@pytest.mark.slow
def test_how_a_draft_was_verified_is_in_the_snapshot(make_study: Make, opened: Open) -> None:
    """First answers, time and keys of every field, and where its draft came from: in the store and in the snapshot."""
    folder = machine_study(make_study, 3, 2)
    stimulus = [f"s{n}" for n in range(3)]
    when = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    write_drafts(
        folder,
        pl.DataFrame({
            "stimulus": stimulus, "question": ["style"] * 3, "value": ["ink", "oil", "chalk"],
            "source": ["painter"] * 3, "version": ["2.1"] * 3, "prompt_hash": ["abc"] * 3, "at": [when] * 3,
            "confidence": [0.9, 0.8, None], "boxes": [BOXES, None, None], "limits": ["It sees no people."] * 3,
        }),
    )  # fmt: skip
    collection = opened(folder, hidden=0.0, planted=0.0)

    def log(first: object, spent: float, keys: int) -> TrialLog:
        fields = {"style": FieldLog(first, spent, keys), "feel": FieldLog(None, 1.5, 1)}
        return TrialLog(seconds=9.0, fields=fields)

    person = Person(collection)
    person.begin()
    for trial in (person.trial, *person.trial.following):
        boxes = {"style": (("ink", (0.1, 0.2, 0.5, 0.6)),)} if trial.machine["style"] == "ink" else {}
        assert trial.boxes == boxes
        assert trial.limits == {"style": "It sees no people."}
    given: list[tuple[object, Verdict, str | None]] = [
        ("(rejected)", "accepted", None), ("ink wash", "fixed", "gouache"), ("mine", "rejected", None),
    ]  # fmt: skip
    for place, (first, verdict, final) in enumerate(given):
        values = {"feel": 5} if final is None else {"feel": 5, "style": final}
        person.answer(values=values, verdicts={"style": verdict}, log=log(first, place + 0.25, place))
    again = Person(collection)
    again.begin()
    again.answer(values={"feel": 5}, verdicts={"style": "accepted"})
    frozen = collection.snapshot()
    fields = frozen.fields.sort("at")
    drafts = dict(zip(stimulus, ("ink", "oil", "chalk"), strict=True))
    assert fields["machine"].to_list() == [drafts[name] for name in fields["stimulus"]]
    assert fields["first"].to_list() == ["(rejected)", "ink wash", "mine", None]
    assert fields["seconds"].to_list() == [0.25, 1.25, 2.25, None]
    assert fields["keystrokes"].to_list() == [0, 1, 2, None]
    assert fields["verdict"].to_list() == ["accepted", "fixed", "rejected", "accepted"]
    assert set(fields["source"]) == {"painter"}
    assert set(fields["version"]) == {"2.1"}
    assert set(fields["drafted_at"]) == {when}
    assert fields["confidence"].to_list() == [{"s0": 0.9, "s1": 0.8, "s2": None}[name] for name in fields["stimulus"]]
    assert {name: set(part["boxes"]) for (name,), part in fields.group_by("stimulus")} == {
        "s0": {BOXES},
        "s1": {None},
        "s2": {None},
    }
    felt = frozen.ratings.filter(question="feel").sort("at")
    assert felt["field_seconds"].to_list() == [1.5, 1.5, 1.5, None]
    assert felt["seconds"].to_list() == [9.0, 9.0, 9.0, 2.0]
    # New drafts: what was verified before keeps the machine that wrote it, and claims nothing of the new one.
    collection.close()
    write_drafts(folder, pl.DataFrame({"stimulus": ["s0"], "question": ["style"], "value": ["fog"], "source": ["new"]}))
    later = opened(folder).snapshot().fields
    assert set(later["source"]) == {"painter"}
    assert "version" not in later.columns


@pytest.mark.slow
def test_drafts_that_are_not_on_the_scale_are_not_shown(make_study: Make, opened: Open) -> None:
    """Accepting one could not be stored, and the rater's other answers would be refused with it."""
    folder = machine_study(make_study, 3, 1)
    drafts = {"s0": "one two three four five six", "s1": "ink", "s2": "(none)"}
    rows = [(stimulus, "style", value, "painter") for stimulus, value in drafts.items()]
    schema = ["stimulus", "question", "value", "source"]
    write_drafts(folder, pl.DataFrame(rows, schema=schema, orient="row"))
    assert invalid_machine_values(open_study(folder)) == {("s0", "style"): drafts["s0"], ("s2", "style"): "(none)"}
    collection = opened(folder, hidden=0.0, planted=0.0)
    person = Person(collection)
    person.begin()
    while isinstance(person.step, ShowTrial):
        shown = person.step.machine.get("style")
        given = {"feel": 5} if shown else {"feel": 5, "style": "mine"}
        person.answer(values=given, verdicts={"style": "accepted"} if shown else {})
    fields = collection.snapshot().fields
    assert fields.select("stimulus", "machine", "final").rows() == [("s1", "ink", "ink")]
    assert collection.snapshot().ratings.filter(question="style").height == 3


@pytest.mark.slow
def test_verdicts_on_a_repeated_stimulus_are_all_in_the_snapshot(make_study: Make, opened: Open) -> None:
    folder = machine_study(make_study, 4, 2)
    study = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    study["probes"] = [{"type": "repeat", "id": "again", "per_session": 2, "gap": 1}]
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    collection = opened(folder, hidden=0.5, planted=0.0)
    person = Person(collection)
    person.begin()
    while isinstance(person.step, ShowTrial):
        shown = person.step.machine["style"]
        person.answer(
            values={"feel": 5, "style": shown or "mine"}, verdicts={} if shown is None else {"style": "accepted"}
        )
    fields = collection.snapshot().fields
    assert sorted(fields["repeat"].to_list()) == [0, 0, 0, 0, 1, 1]
    hidden = fields.filter(shown="hidden")
    assert hidden.height > 0
    assert (hidden["machine"] == "style " + hidden["stimulus"].str.slice(1)).all()
    assert set(hidden["source"]) == {"tagger"}


@pytest.mark.slow
def test_a_stimulus_without_a_machine_value_is_answered_freely(make_study: Make, opened: Open) -> None:
    folder = machine_study(make_study, 1, 1)
    (folder / "stimuli.csv").write_text("stimulus\ns0\n", encoding="utf-8")
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    assert person.trial.machine == {}
    with pytest.raises(InvalidAnswer, match="style"):
        person.answer(values={"feel": 5})
    person.answer(values={"feel": 5, "style": "ink"})
    assert set(collection.snapshot().ratings["question"]) == {"feel", "style"}


def test_anchors_must_be_in_the_manifest(make_study: Make, opened: Open) -> None:
    folder = make_study(
        2, probes=[{"type": "anchor", "id": "real", "stimuli": ["missing"], "question": "valence", "at_least": 3}]
    )
    with pytest.raises(InputError, match="missing"):
        opened(folder)


@pytest.mark.parametrize(
    "design", [{"distinct": ["intent"]}, {"order": "blocks"}, {"order": "blocks", "block_by": "prompt"}]
)
def test_the_manifest_must_have_what_the_design_goes_by(
    make_study: Make, opened: Open, design: dict[str, object]
) -> None:
    with pytest.raises(InputError, match="the manifest has no column"):
        opened(make_study(2, design=design))


def test_device_facts_are_kept(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    collection.do(Arrive(language="ko", device={"class": "phone", "width": 390, "touch": True}))
    row = collection.raters().row(0, named=True)
    assert json.loads(row["device"]) == {"class": "phone", "width": 390, "touch": True}
    assert row["language"] == "ko"
    assert isinstance(collection.raters()["arrived"].dtype, pl.Datetime)
