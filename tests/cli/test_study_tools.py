"""The commands around a study: instruments that are shipped, and who is due for the next session."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.collect import Collection, CollectOptions
from heartfelt.collect.messages.commands import Invite
from tests.collect.people import Person, add_media, write_study
from tests.facts import mentions


def test_instruments_are_listed_and_shown() -> None:
    listed = CliRunner().invoke(app, ["study", "instruments"]).output
    assert "tipi" in listed
    assert "CC BY 4.0" in listed
    shown = " ".join(CliRunner().invoke(app, ["study", "instruments", "tipi"]).output.split())
    assert "Gosling, S. D." in shown
    assert "6R Reserved, quiet." in shown


@pytest.mark.slow
def test_reminders_have_links_that_work_for_those_who_are_due(tmp_path: Path) -> None:
    sessions = {"count": 2, "wait_days": 2}
    folder = write_study(tmp_path / "s", "s", stimuli=4, design={"stimuli_per_rater": 1, "sessions": sessions})
    moments = iter([time.time() - 3 * 86_400.0] * 500)
    with Collection.open(folder, clock=lambda: next(moments), options=CollectOptions(seed=1)) as collection:
        (invitation,) = collection.do(Invite(1, "Dr. A"))
        for person in (Person(collection), Person(collection, recruiter="link", person=invitation)):
            person.begin()
            person.answer()
        Person(collection).begin()
    arguments = ["study", "reminders", str(folder), "--url", "https://x.org/"]
    printed = CliRunner().invoke(app, arguments)
    rows = list(csv.DictReader(io.StringIO(printed.stdout)))
    assert [(row["session"], row["due"]) for row in rows] == [("2", "true")] * 2
    assert {row["note"] for row in rows} == {"", "Dr. A"}
    assert all(row["link"].startswith("https://x.org/r/") for row in rows)
    out = tmp_path / "due.csv"
    CliRunner().invoke(app, [*arguments, "--all", "--out", str(out)])
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.slow
def test_check_names_scores_licences_and_what_to_know(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "s", "s", before=[{"instrument": "phq-9"}], branding={"colour": "#5a2d82"})
    said = " ".join(CliRunner().invoke(app, ["check", "--no-pages", str(add_media(folder))]).output.split())
    assert mentions(said, "phq_9_depression", "9 asks")
    assert "Contrast of the branding: #5a2d82 7.9:1" in said
