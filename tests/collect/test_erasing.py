"""Forgetting people: those who ask for it, and those who do not agree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import Arrive, Flag, GiveConsent, Invite, Next, SessionEnd
from heartfelt.collect.messages.errors import UnknownRater
from heartfelt.collect.store.tables import metadata
from heartfelt.collect.stored import STORE_FILE
from tests.collect.people import Person, loads

Make = Callable[..., Path]
Open = Callable[..., Collection]
ROOT = Path(__file__).resolve().parents[2]
STUDY = {
    "consent": {"text": "Agree?"},
    "demographics": [{"id": "town", "text": "Town?"}],
    "design": {"ratings_per_item": 3, "practice": 1},
}


def rows_of(collection: Collection, number: int) -> dict[str, int]:
    """How many rows of every table are about a rater."""
    out = {}
    with collection._database.reading() as connection:
        for table in metadata.sorted_tables:
            column = "number" if table.name == "raters" else "rater"
            if column in table.c:
                query = f'SELECT count(*) FROM "{table.name}" WHERE "{column}" = {number}'
                out[table.name] = int(connection.exec_driver_sql(query).scalar() or 0)
    return {name: count for name, count in out.items() if count}


@pytest.mark.slow
@pytest.mark.parametrize("by", ["rater", "participant"])
@pytest.mark.parametrize("adaptive", [False, True])
def test_erasing_one_person(make_study: Make, opened: Open, by: str, adaptive: bool) -> None:
    study = {**STUDY, "design": {"ratings_per_item": 3, "practice": 1, "adaptive": adaptive}}
    folder = make_study(4, **study)
    collection = opened(folder)
    stays = Person(collection, recruiter="prolific", person="stays")
    stays.finish()
    before = loads(collection)
    goes = Person(collection, recruiter="prolific", person="goes", facts={"session": "x"})
    for _ in goes.rate(2):
        pass
    collection.do(Flag(goes.id, goes.trial.trial, reason="broken", comment="I live in Narnia"))
    assert set(rows_of(collection, 2)) >= {"raters", "answers", "ratings", "consents", "participants", "flags"}
    done = collection.erase(**{by: goes.id if by == "rater" else "goes"})
    assert (done.rater, done.trials) == (goes.id, 1), "one of the two trials was practice"
    assert rows_of(collection, 2) == {"journal": 1}, "a count is left"
    assert loads(collection) == before, "their places are open again"
    with pytest.raises(UnknownRater):
        collection.do(Next(goes.id))
    with pytest.raises(UnknownRater):
        collection.erase(participant="goes")
    frozen = collection.snapshot()
    assert goes.id not in str([frozen.table(name).to_dicts() for name in ("ratings", "raters", "ledger", "fields")])
    reasons = frozen.ledger["reason"].to_list()
    assert reasons == [f"erased on request ({done.trials} trials)"]
    again = collection.do(Arrive(recruiter="prolific", person="goes"))
    assert again.rater != goes.id
    assert not again.resumed
    collection.close()
    reopened = opened(folder, seed=3)
    assert loads(reopened) == before
    assert reopened.raters().height == 2
    third = Person(reopened)
    assert third.finish().ending in {"complete", "partial"}
    assert reopened.ratings().filter(rater=stays.id).height == len(stays.shown)


@pytest.mark.slow
def test_another_process_forgets_too(make_study: Make, opened: Open) -> None:
    folder = make_study(4, **STUDY)
    each, two = opened(folder), opened(folder, seed=2)
    person = Person(each, recruiter="prolific", person="goes")
    for _ in person.rate(3):
        pass
    assert two.coverage().leased > 0
    each.erase(participant="goes")
    assert two.coverage().leased == 0
    assert two.coverage().complete == 0
    with pytest.raises(UnknownRater):
        two.do(Next(person.id))
    assert not two.do(Arrive(recruiter="prolific", person="goes")).resumed
    Person(two).finish()
    assert each.coverage().complete == 4


def test_the_file_holds_nothing_of_them(make_study: Make) -> None:
    folder = make_study(3, **STUDY)
    with Collection.open(folder) as collection:
        person = Person(collection, recruiter="prolific", person="PARTICIPANT-XYZ")
        person.begin()
        person.answer(comment="COMMENT-XYZ")
        person.answer(comment="COMMENT-XYZ")
        collection.erase(participant="PARTICIPANT-XYZ")
    stored = b"".join(path.read_bytes() for path in folder.glob(f"{STORE_FILE}*"))
    assert b"XYZ" not in stored
    assert person.id.encode() not in stored


def test_an_invitation_goes_with_the_person(make_study: Make, opened: Open) -> None:
    collection = opened(make_study())
    each, two = collection.do(Invite(2, "Ms Example"))
    rater = collection.do(Arrive(recruiter="link", person=each)).rater
    collection.erase(rater=rater)
    assert collection.invitations()["invitation"].to_list() == [two]


@pytest.mark.slow
def test_declining_leaves_a_count_and_nothing_else(make_study: Make, opened: Open) -> None:
    folder = make_study(3, **STUDY)
    collection = opened(folder)
    rater = collection.do(Arrive(recruiter="prolific", person="p1", facts={"session": "s"})).rater
    collection.do(Next(rater))
    end = collection.do(GiveConsent(rater, False))
    assert end == SessionEnd(ending="no-consent", code=collection.settings.code_no_consent)
    assert collection.do(Next(rater)) == end, "a reload shows the same page"
    assert rows_of(collection, 1) == {"journal": 1}
    assert collection.raters().height == 0
    assert collection.participants().height == 0
    assert collection.snapshot().ledger["reason"].to_list() == ["did not agree to take part"]
    assert not collection.do(Arrive(recruiter="prolific", person="p1")).resumed, "whoever thinks again may begin anew"
    collection.close()
    with pytest.raises(UnknownRater):
        opened(folder).do(Next(rater))


@pytest.mark.slow
def test_killed_right_after_erasing(make_study: Make) -> None:
    """Once it is acknowledged it is done, whatever happens to the process."""
    folder = make_study(4, **STUDY)
    code = textwrap.dedent(
        """
        import os, signal, sys
        from heartfelt.collect import Collection
        from tests.collect.people import Person
        collection = Collection.open(sys.argv[1])
        person = Person(collection, recruiter="prolific", person="goes")
        for _ in person.rate(3):
            pass
        stays = Person(collection, recruiter="prolific", person="stays")
        for _ in stays.rate(3):
            pass
        collection.erase(participant="goes")
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, env={**os.environ}, timeout=120)
    assert done.returncode == -signal.SIGKILL
    with Collection.open(folder) as collection:
        assert collection.participants()["participant"].to_list() == ["stays"]
        assert collection.raters().height == 1
        assert rows_of(collection, 1) == {"journal": 1}
        assert collection.coverage().complete == 2
