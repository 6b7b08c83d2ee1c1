"""``heartfelt snapshot`` and ``heartfelt simulate-collection``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from heartfelt.cli.app import app
from heartfelt.collect import Collection
from heartfelt.errors import InputError, StudyError
from heartfelt.snapshot import load
from heartfelt.study import load_study
from tests.collect.people import Person, add_media, write_study
from tests.facts import mentions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study", "small", 6, design={"stimuli_per_rater": 3})


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_a_running_study_is_frozen(folder: Path, tmp_path: Path) -> None:
    with Collection.open(folder) as collection:
        Person(collection).finish()
        answer = run("snapshot", folder, tmp_path / "frozen")
        Person(collection).finish()
    assert "3" in answer
    assert load(tmp_path / "frozen").survey.ratings == 3
    run("snapshot", folder)
    made = list((folder / "snapshots").iterdir())
    assert [load(each).survey.ratings for each in made] == [6]


def test_a_study_nobody_has_rated(folder: Path) -> None:
    with pytest.raises(InputError, match="has no ratings yet"):
        run("snapshot", folder)
    assert not (folder / "collected.sqlite").exists()


@pytest.mark.slow
def test_a_snapshot_does_not_overwrite(folder: Path, tmp_path: Path) -> None:
    Collection.open(folder).close()
    target = tmp_path / "there"
    target.mkdir()
    (target / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="not empty"):
        run("snapshot", folder, target)


@pytest.mark.slow
def test_simulating_prints_the_histogram(folder: Path) -> None:
    answer = run("simulate-collection", folder)
    assert "4 raters" in answer
    assert mentions(answer, "2", "2 ratings", "0 stimuli")
    assert "█" in answer


@pytest.mark.slow
def test_studies_with_sets_count_sets(tmp_path: Path) -> None:
    folder = write_study(
        tmp_path / "study", "pairs", sets={"type": "pair", "rule": "table", "file": "sets.csv"},
        scales={"which": {"type": "choice"}}, questions=[{"id": "q", "text": "Which?", "scale": "which"}],
    )  # fmt: skip
    (folder / "sets.csv").write_text("set,stimulus\nx,s0\nx,s1\ny,s0\ny,s2\n", encoding="utf-8")
    checked = run("check", "--no-pages", add_media(folder))
    assert "6 stimuli, 1 questions, 2 sets." in checked
    assert mentions(checked, "3 stimuli", "s3")
    assert "gave 4 ratings of 2 sets" in run("simulate-collection", folder)


@pytest.mark.slow
def test_simulating_in_json(folder: Path) -> None:
    answer = run("simulate-collection", folder, "--raters", 3, "--trials", 4, "--dropout", 0.2, "--seed", 7, "--json")
    result = json.loads(answer)
    assert set(result) >= {"stimuli", "ratings", "lost_stimuli", "min", "max", "histogram"}
    assert result["stimuli"] == 6
    assert sum(int(count) * stimuli for count, stimuli in result["histogram"].items()) == result["ratings"]
    assert (
        json.loads(
            run("simulate-collection", folder, "--raters", 3, "--trials", 4, "--dropout", 0.2, "--seed", 7, "--json")
        )
        == result
    )


def test_a_folder_that_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"study\.yaml"):
        run("simulate-collection", tmp_path)


@pytest.mark.slow
def test_participants_are_listed_and_one_is_erased(folder: Path, tmp_path: Path) -> None:
    with Collection.open(folder) as collection:
        goes = Person(collection, recruiter="prolific", person="PID-1")
        goes.finish()
        Person(collection, recruiter="prolific", person="PID-2").finish()
    run("snapshot", folder)
    answer = run("study", "participants", folder)
    assert f"PID-1,prolific,{goes.id}" in answer
    (first, _) = json.loads(run("study", "participants", folder, "--json"))["participants"]
    assert (first["participant"], first["ended"], first["suggestion"]) == ("PID-1", "complete", "approve")
    run("study", "participants", folder, "--out", tmp_path / "who.csv")
    assert (tmp_path / "who.csv").read_text(encoding="utf-8") == answer
    refused = CliRunner().invoke(app, ["study", "erase", str(folder), "--participant", "PID-1"], input="n\n")
    assert refused.exit_code != 0
    message = run("study", "erase", folder, "--participant", "PID-1", "--yes")
    assert f"Erased rater {goes.id}: 3 answered trials" in message
    assert "still contains them" in message
    assert "PID-1" not in run("study", "participants", folder)
    with pytest.raises(InputError, match="one person"):
        run("study", "erase", folder, "--yes")


@pytest.mark.slow
def test_the_quota_is_raised(folder: Path) -> None:
    assert mentions(run("study", "quota", folder, 3), "3 ratings", "2")
    with Collection.open(folder) as collection:
        assert collection.coverage().quota == 3
    with pytest.raises(InputError, match="cannot be lowered to 1"):
        run("study", "quota", folder, 1)


@pytest.mark.slow
def test_senior_raters_are_admitted_listed_revoked_and_erased(tmp_path: Path) -> None:
    rules = {"rules": [{"type": "disagreement", "range_above": 2}], "after": 2}
    folder = write_study(tmp_path / "study", "small", 2, adjudication=rules)
    assert mentions(run("check", "--no-pages", add_media(folder)), "raters", "2 ratings", "disagreement")
    with Collection.open(folder) as collection:
        for value in (2, 8):
            person = Person(collection)
            person.begin()
            person.answer(value)
            person.answer(value)
    added = run("study", "adjudicators", folder, "--add", "a reader", "--url", "https://example.org/one/")
    who = added.split("Senior rater ")[1].split(";")[0]
    assert "https://example.org/one/a/" in added
    assert "shown only once" in added, "the dashboard's password was made by this"
    assert "shown only once" not in run("study", "adjudicators", folder, "--add", "another")
    listed = run("study", "adjudicators", folder)
    assert mentions(listed, "2 items", "0")
    assert f"{who}  0 decisions  a reader" in listed
    assert f"{who}  0 decisions, revoked" in run("study", "adjudicators", folder, "--revoke", who)
    state = json.loads(run("study", "adjudicators", folder, "--erase", who, "--json").partition("\n")[2])
    assert (state["waiting"], state["decided"], len(state["adjudicators"])) == (2, 0, 1)
    with pytest.raises(InputError, match="has no adjudication"):
        run("study", "adjudicators", write_study(tmp_path / "plain", "plain", 2), "--add", "x")


@pytest.mark.slow
def test_check_says_of_how_many_stimuli_a_conditional_question_is_asked(tmp_path: Path) -> None:
    questions: list[dict[str, Any]] = [
        {"id": "face", "text": "A face?", "scale": "yes", "machine_first": True},
        {"id": "look", "text": "Which?", "scale": "nine", "show_if": {"draft": "face", "is": "yes"}},
        {"id": "none", "text": "None?", "scale": "nine", "show_if": {"draft": "face", "answered": False}},
    ]
    scales = {"yes": {"type": "yes-no"}, "nine": {"type": "points", "points": 9}}
    rows = ["stimulus,face", "s0,yes", "s1,no", "s2,yes"]
    folder = write_study(tmp_path / "study", "s", questions=questions, scales=scales, rows=rows)
    shown = run("check", "--no-pages", add_media(folder))
    assert mentions(shown, "look", "2 of 3 stimuli")
    assert "warning: none: no stimulus has drafts that fulfil its conditions, so nobody would be asked." in shown
    later = [questions[1] | {"show_if": {"question": "face", "is": "yes"}}, questions[0]]
    add_media(write_study(tmp_path / "other", "s", questions=later, scales=scales, rows=rows))
    with pytest.raises(StudyError, match=r"line \d+, questions.0.show_if: 'face' comes after 'look'"):
        load_study(tmp_path / "other")


@pytest.mark.slow
def test_check_lists_arms_and_screeners(tmp_path: Path) -> None:
    arms = [{"id": "calm", "instructions": "Calmly."}, {"id": "some", "stimuli": {"stimulus": ["s0"]}, "weight": 2}]
    fact = {"id": "hearing", "text": "?", "type": "choice", "choices": ["good", "bad"]}
    parts: dict[str, Any] = {
        "demographics": [fact],
        "screeners": [{"id": "deaf", "when": {"rater": "hearing", "is": "bad"}}],
        "design": {"ratings_per_item": 3, "arms": arms, "strata": ["hearing"]},
    }
    shown = run("check", "--no-pages", add_media(write_study(tmp_path / "study", "s", 4, **parts)))
    assert mentions(shown, "'calm'", "1", "4 stimuli", "1 question")
    assert mentions(shown, "'some'", "2", "1 stimulus", "1 question")
    assert mentions(shown, "3 ratings", "items")
    assert "Arms are balanced within: hearing." in shown
    assert "Screeners: deaf." in shown


def test_check_does_not_call_a_study_valid_whose_arm_shows_nothing(tmp_path: Path) -> None:
    arms = [{"id": "none", "stimuli": {"stimulus": ["s9"]}}, {"id": "all"}]
    folder = add_media(write_study(tmp_path / "study", "s", 2, design={"arms": arms}))
    result = CliRunner().invoke(app, ["check", "--no-pages", str(folder)])
    assert isinstance(result.exception, InputError | StudyError)
    assert "valid" not in result.output
