"""Whom to pay: a suggestion for everybody, and rejection for nobody."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console

from heartfelt.analysis.data.payment import Suggestion, payment_list, suggested
from heartfelt.cli.collecting.collect import participants_table
from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Exclude, Leave, TrialLog
from tests.cases import check_all
from tests.collect.people import Clock, Person
from tests.collect.test_endings import CLIP, SILENT, WHOLE, clips


@check_all(
    ("ended", "reasons", "suggestion"),
    [
        ("complete", [], "approve"),
        ("complete", ["heard: Heard too little."], "review"),
        ("complete", ["bias: Answers higher than others."], "approve"),
        ("complete", ["bias: Answers higher.", "response-time: Takes 0.2 s."], "review"),
        ("review", [], "review"),
        ("excluded", [], "review"),
        ("left", [], "pay in part"),
        ("partial", ["spread: One answer."], "review"),
        ("screened-out", ["heard: Heard too little."], "screened out"),
        ("full", [], "return"),
        ("closed", [], "return"),
        ("under way", [], "wait"),
        ("beginning", [], "wait"),
    ],
)
def test_what_is_suggested(ended: str, reasons: list[str], suggestion: str) -> None:
    assert suggested(ended, reasons) == suggestion
    assert not any("reject" in word for word in get_args(Suggestion))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[Clock], Collection]]:
    made: list[Collection] = []

    def start(clock: Clock) -> Collection:
        folder = clips(tmp_path / "clips", count=5, design={"ratings_per_item": 9})
        made.append(Collection.open(folder, clock=clock, options=CollectOptions(seed=1, durable=False)))
        return made[-1]

    yield start
    for collection in made:
        collection.close()


@pytest.mark.slow
def test_everything_it_takes_to_pay_is_in_one_table(opened: Callable[[Clock], Collection]) -> None:
    clock = Clock()
    collection = opened(clock)

    def take_part(name: str, log: TrialLog, seconds: float, trials: int = 5) -> Person:
        person = Person(collection, recruiter="prolific", person=name)
        person.begin()
        for _ in range(trials):
            clock.now += seconds
            person.answer(log=log)
        return person

    take_part("honest", WHOLE, CLIP + 2)
    take_part("script", SILENT, 0.01)
    leaves = take_part("leaves", TrialLog(plays=1, intervals=((0.0, CLIP / 2),)), CLIP + 2, trials=2)
    collection.do(Leave(leaves.id))
    away = take_part("a[b]way", WHOLE, CLIP + 2, trials=1)
    clock.now += 7200.0
    away.answer(log=WHOLE)
    excluded = take_part("excluded", WHOLE, CLIP + 2)
    collection.do(Exclude(excluded.id, "a friend"))
    codes = collection.settings
    table = payment_list(collection.participants(), {excluded.id: ["spread: The same answers."]})
    rows = {row["participant"]: row for row in table.iter_rows(named=True)}
    shown = ("ended", "code", "trials", "heard", "impossible", "minutes", "suggestion")
    assert {name: tuple(row[column] for column in shown) for name, row in rows.items()} == {
        "honest": ("complete", codes.code_complete, 5, 1.0, 0, 1.0, "approve"),
        "script": ("review", codes.code_review, 5, 0.0, 5, 0.0, "review"),
        "leaves": ("left", codes.code_partial, 2, 0.5, 0, 0.4, "pay in part"),
        "a[b]way": ("under way", None, 2, 1.0, 0, 0.2, "wait"),
        "excluded": ("excluded", codes.code_complete, 5, 1.0, 0, 1.0, "review"),
    }
    assert rows["excluded"]["flags"] == "spread: The same answers."
    assert rows["honest"]["flags"] is None
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(participants_table(table))
    text = console.export_text()
    assert "5 of 5" in text
    assert "a[b]way" in text
