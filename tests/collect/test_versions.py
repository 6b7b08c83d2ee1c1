"""Edits to study.yaml while people answer: harmless ones are recorded, breaking ones are refused, none is pooled."""

from __future__ import annotations

import copy
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from sqlalchemy import Connection

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Next
from heartfelt.collect.store import Database
from heartfelt.collect.store.database import HEAD, revision
from heartfelt.collect.store.tables import LAYOUTS, metadata
from heartfelt.collect.stored import STORE_FILE
from heartfelt.collect.versions import edits
from heartfelt.errors import StudyError
from heartfelt.snapshot.folder import load
from heartfelt.study import load_study, parse_study
from tests.cases import check_all
from tests.collect.people import Person

Make = Callable[..., Path]
Open = Callable[..., Collection]
DATA = Path(__file__).parent / "data"

STUDY: dict[str, Any] = {
    "languages": ["en", "ko"],
    "scales": {
        "nine": {"type": "points", "points": 9, "anchors": {1: "low", 9: "high"}},
        "kinds": {"type": "categories", "categories": ["sad", {"id": "glad", "text": "happy"}]},
        "slider": {"type": "numeric", "low": 0, "high": 100},
        "sure": {"type": "yes-no"},
        "words": {"type": "text"},
        "moods": {"type": "tags", "tags": ["calm", "wild"]},
    },
    "questions": [
        {"id": "valence", "text": "How pleasant?", "scale": "nine"},
        {"id": "kind", "text": "Which?", "scale": "kinds"},
        {"id": "much", "text": "How much?", "scale": "slider"},
        {"id": "sure", "text": "Sure?", "scale": "sure"},
        {"id": "why", "text": "Why?", "scale": "words", "required": False},
        {"id": "mood", "text": "Mood?", "scale": "moods", "required": False},
    ],
    "instructions": "Listen.",
    "probes": [{"type": "attention", "id": "a", "text": "Say 1", "question": "valence", "answer": 1}],
    "design": {"ratings_per_item": 3, "practice": 0},
}
ANSWERS = {"valence": 5, "kind": "sad", "much": 50, "sure": "yes"}


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    study = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    change(study)
    (folder / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    *keys, last, value = path

    def change(study: dict[str, Any]) -> None:
        here: Any = study
        for key in keys:
            here = here[key]
        here[last] = value

    return change


def drop(*path: Any) -> Callable[[dict[str, Any]], None]:
    *keys, last = path

    def change(study: dict[str, Any]) -> None:
        here: Any = study
        for key in keys:
            here = here[key]
        del here[last]

    return change


BREAKING = {
    "fewer points": (put("scales", "nine", {"type": "points", "points": 5}), "scales.nine"),
    "reversed anchors": (put("scales", "nine", "anchors", {1: "high", 9: "low"}), "scales.nine.anchors"),
    "another first point": (put("scales", "nine", {"type": "points", "points": 9, "first": 0}), "scales.nine"),
    "wording": (put("questions", 0, "text", "How unpleasant?"), "questions.valence.text"),
    "another scale": (put("questions", 0, "scale", "slider"), "scales.slider"),
    "what is felt": (put("questions", 0, "emotion", "felt"), "questions.valence.emotion"),
    "a category more": (
        put("scales", "kinds", "categories", ["sad", {"id": "glad", "text": "happy"}, "mad"]),
        "scales.kinds.categories",
    ),
    "categories swapped": (
        put("scales", "kinds", "categories", [{"id": "glad", "text": "happy"}, "sad"]),
        "scales.kinds.categories",
    ),
    "a category reworded": (put("scales", "kinds", "categories", 1, "text", "pleased"), "scales.kinds.categories"),
    "a shorter slider": (put("scales", "slider", "high", 10), "scales.slider.high"),
    "yes reworded": (put("scales", "sure", "yes", "Maybe"), "scales.sure.yes"),
    "a question removed": (drop("questions", 5), "questions.mood"),
    "a tag removed": (put("scales", "moods", "tags", ["wild"]), "scales.moods.tags"),
    "a lower quota": (put("design", "ratings_per_item", 1), "design.ratings_per_item"),
    "listening": (put("design", "listening", "free"), "design.listening"),
    "one by one": (put("design", "questions_per_page", "one"), "design.questions_per_page"),
    "another medium": (put("media", "image"), "media"),
    "another right answer": (put("probes", 0, "answer", 9), "probes.a.answer"),
    "a condition": (put("questions", 4, "show_if", {"question": "sure", "is": "yes"}), "questions.why.show_if"),
    "none as an answer": (put("questions", 5, "none", True), "questions.mood.none"),
    "rows of a grid": (put("questions", 0, "grid", "g"), "questions.valence.grid"),
}
HARMLESS = {
    "instructions": put("instructions", "Listen closely."),
    "a title": put("title", "Feelings"),
    "help": put("questions", 0, "help", "Go with your first impression."),
    "a translated question": put("questions", 0, "text", {"en": "How pleasant?", "ko": "얼마나?"}),
    "a translated anchor": put("scales", "nine", "anchors", {1: {"en": "low", "ko": "낮음"}, 9: "high"}),
    "a translated category": put("scales", "kinds", "categories", 1, "text", {"en": "happy", "ko": "기쁨"}),
    "a further question": lambda study: study["questions"].append(
        {"id": "arousal", "text": "How exciting?", "scale": "nine", "required": False}
    ),
    "a further tag": put("scales", "moods", "tags", ["calm", "wild", "odd"]),
    "a higher quota": put("design", "ratings_per_item", 9),
    "more trials": put("design", "stimuli_per_rater", 4),
    "longer texts": put("scales", "words", "max_words", 400),
    "who is asked": put("demographics", [{"id": "age", "text": "Age?", "type": "number"}]),
    "no probe": put("probes", []),
    "pages": put("questions", 0, "page", "first"),
    "suggestions": put("scales", "moods", "suggestions", ["odd"]),
    "characters": put("scales", "words", "min_characters", 20),
    "a questionnaire": put("before", [{"id": "how", "text": "How are you?", "scale": "nine"}]),
}


@pytest.mark.slow
@check_all("name", BREAKING)
def test_breaking_edits_are_named(name: str) -> None:
    change, key = BREAKING[name]
    before = parse_study(yaml.safe_dump({"name": "s", **STUDY}))
    after = {"name": "s", **copy.deepcopy(STUDY)}
    change(after)
    breaking = [edit for edit in edits(before, parse_study(yaml.safe_dump(after))) if edit.breaking]
    assert breaking, name
    assert breaking[0].key.startswith(key)


@check_all("name", HARMLESS)
def test_harmless_edits_are_not(name: str) -> None:
    before = parse_study(yaml.safe_dump({"name": "s", **STUDY}))
    after = {"name": "s", **copy.deepcopy(STUDY)}
    HARMLESS[name](after)
    result = edits(before, parse_study(yaml.safe_dump(after)))
    assert result, name
    assert not [each for each in result if each.breaking], result


def test_questionnaires_may_change_but_not_what_an_answer_means() -> None:
    asked = [{"id": "mood", "text": "Mood?", "scale": "nine"}, {"id": "why", "text": "Why?", "scale": "words"}]
    before = parse_study(yaml.safe_dump({"name": "s", **STUDY, "after": asked}))
    for after, breaking in (
        ([asked[0]], []),
        ([asked[1], asked[0]], []),
        ([{**asked[0], "text": {"en": "Mood?", "ko": "기분?"}}, asked[1]], []),
        ([*asked, {"id": "age", "text": "Age?", "scale": "slider"}], []),
        ([{**asked[0], "text": "How bad?"}, asked[1]], ["after.mood.text"]),
        ([{**asked[0], "scale": "slider"}, asked[1]], ["scales.slider.type", "scales.slider.points"]),
    ):
        changes = edits(before, parse_study(yaml.safe_dump({"name": "s", **STUDY, "after": after})))
        named = [each.key for each in changes if each.breaking]
        assert named[: len(breaking)] == breaking, named
        assert bool(named) == bool(breaking)
        assert not any(each.question for each in changes), "no rating is left out for it"


@pytest.mark.slow
def test_a_running_study_refuses_and_records(make_study: Make, opened: Open) -> None:
    folder = make_study(4, **copy.deepcopy(STUDY))
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    person.answer(values=ANSWERS)
    collection.close()
    as_it_was = (folder / "study.yaml").read_text(encoding="utf-8")

    edit(folder, put("questions", 0, "text", "How unpleasant?"))
    with pytest.raises(StudyError, match=r"line \d+, questions\.valence\.text: changed from 'How pleasant\?'") as no:
        opened(folder)
    assert "new id" in no.value.fix
    assert "new study" in no.value.fix
    line = int(str(no.value.problem).split("line ")[1].split(",")[0])
    assert "How unpleasant" in (folder / "study.yaml").read_text(encoding="utf-8").splitlines()[line - 1]

    (folder / "study.yaml").write_text(as_it_was, encoding="utf-8")
    edit(folder, put("instructions", "Listen twice."))
    again = opened(folder)
    person.collection, person.step = again, again.do(Next(person.id))
    while person.trial.kind == "attention":
        person.answer(1)
    person.answer(values=ANSWERS)
    served = again.versions()
    assert served["version"].to_list() == [1, 2]
    assert served["changes"].to_list() == [[], ["instructions: changed"]]
    assert served["trials"].to_list()[1] >= 1
    frozen = again.snapshot()
    assert frozen.ratings["study_version"].n_unique() == 2, "both versions of the study are named"
    assert set(frozen.source.versions) == set(frozen.ratings["study_version"])
    assert again.raters()["study_version"].to_list() == [served["hash"][0]]


@pytest.mark.slow
def test_a_snapshot_carries_every_version(make_study: Make, opened: Open, tmp_path: Path) -> None:
    folder = make_study(4)
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    person.answer()
    collection.close()
    edit(folder, put("instructions", "Listen."))
    again = opened(folder)
    person.collection, person.step = again, again.do(Next(person.id))
    person.answer()
    written = again.snapshot().write(tmp_path / "frozen")
    texts = load(written).source.versions
    assert len(texts) == 2
    assert [bool(parse_study(text).instructions) for text in texts.values()].count(True) == 1


@pytest.mark.slow
def test_before_anybody_answers_everything_goes(make_study: Make, opened: Open) -> None:
    folder = make_study(4)
    collection = opened(folder)
    Person(collection).begin()
    collection.close()
    edit(folder, put("questions", 0, "text", "How unpleasant?"))
    assert opened(folder).versions().height == 2


@pytest.mark.slow
def test_stimuli_may_be_added_but_not_removed_once_rated(make_study: Make, opened: Open) -> None:
    folder = make_study(3)
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    person.answer()
    rated = collection.ratings()["stimulus"][0]
    collection.close()
    rows = (folder / "stimuli.csv").read_text(encoding="utf-8").splitlines()
    (folder / "stimuli.csv").write_text("\n".join([*rows, "s9"]) + "\n", encoding="utf-8")
    opened(folder).close()
    (folder / "stimuli.csv").write_text("\n".join(row for row in rows if row != rated) + "\n", encoding="utf-8")
    with pytest.raises(StudyError, match=rf"1 stimuli with ratings were removed.*{rated}"):
        opened(folder)
    others = [row for row in rows if row in {"stimulus", rated}]
    (folder / "stimuli.csv").write_text("\n".join(others) + "\n", encoding="utf-8")
    opened(folder).close()


def old_store(folder: Path, database: str | None) -> Path:
    """A study with the store that heartfelt wrote in its first layout: three raters and a question that was reversed."""
    folder.mkdir()
    shutil.copy(DATA / "store_0001.yaml", folder / "study.yaml")
    (folder / "stimuli.csv").write_text("stimulus\ns0\ns1\ns2\ns3\n", encoding="utf-8")
    old = sqlite3.connect(":memory:" if database else folder / STORE_FILE)
    old.executescript((DATA / "store_0001.sql").read_text(encoding="utf-8"))
    old.commit()
    if database:
        name = f"{folder.name}{folder.parent.name[-20:]}".lower().replace("-", "").replace("_", "")
        text = (folder / "study.yaml").read_text(encoding="utf-8").replace("old-store", name)
        (folder / "study.yaml").write_text(text, encoding="utf-8")
        _copy(old, Database(database, name), name)
    old.close()
    return folder


def _migrate(connection: Connection, layout: str) -> None:
    from alembic import command
    from alembic.config import Config

    import heartfelt.collect.store.migrations as migrations

    config = Config()
    config.set_main_option("script_location", str(Path(str(migrations.__file__)).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, layout)


def _copy(old: sqlite3.Connection, store: Database, name: str) -> None:
    with store.connect() as connection, connection.begin():
        connection.exec_driver_sql(f'CREATE SCHEMA "{store.schema}"')
        _migrate(connection, "0001")
        for table in metadata.sorted_tables:
            if table.name not in LAYOUTS["0001"].tables:
                continue
            rows = old.execute(f'SELECT * FROM "{table.name}"')
            names = [column[0] for column in rows.description]
            for row in rows.fetchall():
                values = {n: bool(v) if n in BOOLEANS and v is not None else v for n, v in zip(names, row, strict=True)}
                if table.name == "versions":
                    values["study"] = str(values["study"]).replace("old-store", name)
                connection.execute(table.insert().values(values))
    store.close()


BOOLEANS = {"agreed", "kept", "passed", "late", "practice", "skipped", "excluded"}


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["0001", "0002"])
def test_a_store_of_an_older_layout_opens(layout: str, tmp_path: Path, database: str | None, opened: Open) -> None:
    folder = old_store(tmp_path / f"old{layout}", database)
    older = Database(database or folder / STORE_FILE, load_study(folder).name)
    if layout == "0002":
        with older.connect() as connection, connection.begin():
            _migrate(connection, layout)
            connection.exec_driver_sql("UPDATE answers SET heard = 0.5, heard_flag = 'incomplete' WHERE trial = 3")
    with older.connect() as connection:
        assert revision(connection) == layout
    older.close()
    collection = opened(folder, seed=7)
    assert collection.ratings().height == 12
    heard = collection.ratings().filter(pl.col("heard").is_not_null())
    assert heard.select("trial", "heard").unique().rows() == ([(3, 0.5)] if layout == "0002" else [])
    assert collection.raters().height == 3
    assert collection.versions()["version"].to_list() == [1, 2], "the same study is no new version"
    store = Database(database or folder / STORE_FILE, load_study(folder).name)
    with store.connect() as connection:
        assert revision(connection) == HEAD
    store.close()
    Person(collection).finish()
    assert collection.ratings().height == 20


@pytest.mark.slow
def test_versions_that_were_pooled_before_are_kept_apart(tmp_path: Path, database: str | None, opened: Open) -> None:
    """The old store took a reversed question silently; its older answers must not be averaged with the newer ones."""
    frozen = opened(old_store(tmp_path / "old", database)).snapshot()
    assert frozen.ratings.filter(pl.col("question") == "valence").height == 1
    assert frozen.ratings.filter(pl.col("question") == "arousal").height == 6
    apart = frozen.ledger.filter(pl.col("reason").str.contains("asked differently in version 1"))
    assert apart.height == 5
    assert set(apart["question"]) == {"valence"}
