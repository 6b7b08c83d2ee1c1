"""Consent with boxes and a document, and withdrawing after the debriefing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heartfelt.collect import Collection
from heartfelt.collect.messages.commands import AskConsent, GiveConsent, Next, SessionEnd, ShowTrial, Withdraw
from heartfelt.collect.messages.errors import InvalidAnswer, MissingAnswer, UnknownRater
from heartfelt.errors import InputError, StudyError
from heartfelt.publishing.statements.columns import about_column
from heartfelt.study import parse_study
from heartfelt.study.load import check_documents
from tests.collect.people import Person

Make = Callable[..., Path]
Open = Callable[..., Collection]
CONSENT = {
    "text": "I take part.",
    "version": "3",
    "document": {"en": "consent.html", "ko": "consent.ko.pdf"},
    "boxes": [
        {"id": "adult", "text": "I am 18 or older."},
        {"id": "contact", "text": "You may write to me again.", "required": False},
    ],
}


def stored(collection: Collection) -> list[tuple[object, ...]]:
    query = "SELECT agreed, version, ticked, document FROM consents ORDER BY rater"
    with collection._database.reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


@pytest.mark.slow
def test_required_boxes_must_be_ticked_and_all_are_stored_with_the_document(make_study: Make, opened: Open) -> None:
    folder = make_study(stimuli=1, consent=CONSENT)
    (folder / "consent.html").write_text("<p>All of it.", encoding="utf-8")
    (folder / "consent.ko.pdf").write_bytes(b"%PDF-1.4 ko")
    collection = opened(folder)
    person = Person(collection)
    assert person.step == AskConsent(("adult",))
    for ticked, error, problem in (
        ((), MissingAnswer, "Not ticked: I am 18"),
        (("contact",), MissingAnswer, "Not ticked: I am 18"),
        (("adult", "x"), InvalidAnswer, "No box of the consent is called 'x'"),
    ):
        with pytest.raises(error, match=problem):
            collection.do(GiveConsent(person.id, True, ticked))
    assert stored(collection) == [], "nothing is stored of a consent that was not given"
    collection.do(GiveConsent(person.id, True, ("contact", "adult")))
    other = Person(collection)
    collection.do(GiveConsent(other.id, True, ("adult",), "ko"))
    digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("consent.html", "consent.ko.pdf")]
    assert [(bool(row[0]), *row[1:]) for row in stored(collection)] == [
        (True, "3", json.dumps({"adult": True, "contact": True}, separators=(",", ":")), digests[0]),
        (True, "3", '{"adult":true,"contact":false}', digests[1]),
    ]
    (folder / "consent.html").write_text("<p>Something else.", encoding="utf-8")
    third = Person(collection)
    collection.do(GiveConsent(third.id, True, ("adult",)))
    assert stored(collection)[2][3] != digests[0], "an edited document is another one"
    declined = Person(collection)
    assert collection.do(GiveConsent(declined.id, False)) == SessionEnd(
        ending="no-consent", code=collection.settings.code_no_consent
    )
    raters = collection.raters()
    assert raters["ticked_adult"].to_list() == ["yes"] * 3
    assert raters["ticked_contact"].to_list() == ["yes", "no", "no"]
    assert raters["consent_document"].to_list()[:2] == digests
    assert about_column("raters", "ticked_contact", collection.study).endswith("You may write to me again.")


@pytest.mark.slow
def test_whoever_withdraws_is_erased_and_keeps_the_code(make_study: Make, opened: Open) -> None:
    debriefing = {"text": "It was about chance.", "withdraw": True}
    folder = make_study(stimuli=2, debriefing=debriefing, design={"ratings_per_item": 1})
    collection = opened(folder)
    person = Person(collection)
    person.begin()
    with pytest.raises(InputError, match="at the end of the study"):
        collection.do(Withdraw(person.id))
    while isinstance(person.step, ShowTrial):
        person.answer()
    end = person.step
    assert isinstance(end, SessionEnd)
    assert end.ending == "complete"
    gone = collection.withdraw(person.id)
    assert (gone.ending, gone.code) == ("withdrawn", end.code)
    assert collection.do(Next(person.id)) == gone, "a reload shows the same page"
    assert collection.raters().height == 0
    assert collection.ratings().height == 0
    assert collection.snapshot().ledger["reason"].to_list() == ["erased on request (2 trials)"]
    with pytest.raises(InputError):
        collection.do(Withdraw(person.id))
    collection.close()
    collection = opened(folder)
    with pytest.raises(UnknownRater):
        collection.do(Next(person.id))
    again = Person(collection)
    assert isinstance(again.begin(), ShowTrial), "the places are free again"


@pytest.mark.slow
def test_a_study_that_does_not_offer_it_lets_nobody_withdraw(make_study: Make, opened: Open) -> None:
    collection = opened(make_study(stimuli=1, debriefing={"text": "Thanks.", "shown_to": ["complete"]}))
    person = Person(collection)
    person.begin()
    person.answer()
    with pytest.raises(InputError, match="does not offer"):
        collection.do(Withdraw(person.id))


def test_files_that_cannot_be_served_are_refused(tmp_path: Path) -> None:
    base = "name: x\nscales: {n: {type: yes-no}}\nquestions: [{id: v, text: V, scale: n}]\n"
    study = parse_study(base + "consent: {text: Yes, document: consent.pdf}\n")
    with pytest.raises(StudyError, match=r"consent\.pdf.*read"):
        check_documents(study, tmp_path)
    (tmp_path / "consent.pdf").write_bytes(b"%PDF-1.4")
    check_documents(study, tmp_path)
    outside = parse_study(base + "debriefing: {text: Yes, document: ../x.html}\n")
    with pytest.raises(StudyError, match="leads out"):
        check_documents(outside, tmp_path)
    with pytest.raises(StudyError, match=r"neither a \.pdf nor an \.html"):
        parse_study(base + "consent: {text: Yes, document: consent.docx}\n")
    with pytest.raises(StudyError, match=r"called.*'a'"):
        parse_study(base + "consent: {text: Yes, boxes: [{id: a, text: A}, {id: a, text: B}]}\n")
