"""Personal data in texts: how much is recognised, and how much is taken for it wrongly."""

from __future__ import annotations

import pytest

from heartfelt.publishing.anonymity.personal_data import personal_data, redacted
from tests.publishing.personal_texts import HARMLESS, PERSONAL

MISSED = ("This is Anna speaking", "私は田中です")
"""Names that no pattern can tell from words."""


def test_precision_and_recall_on_texts_as_raters_type_them() -> None:
    missed = [text for kind, text in PERSONAL if kind not in {each.kind for each in personal_data(text)}]
    wrong = [text for text in HARMLESS if personal_data(text)]
    recall = 1 - len(missed) / len(PERSONAL)
    precision = (len(PERSONAL) - len(missed)) / (len(PERSONAL) - len(missed) + len(wrong))
    assert recall >= 0.97, missed
    assert precision >= 0.98, wrong


@pytest.mark.parametrize(("kind", "text"), PERSONAL)
def test_redacting_leaves_nothing_to_recognise(kind: str, text: str) -> None:
    clean = redacted(text, personal_data(text))
    assert f"[{kind}]" in clean or text in MISSED
    assert not personal_data(clean), clean


def test_checksums_tell_accounts_from_other_numbers() -> None:
    assert personal_data("4111 1111 1111 1111")[0].kind == "card number"
    assert "card number" not in {each.kind for each in personal_data("4111 1111 1111 1112")}
    assert personal_data("DE89370400440532013000")[0].kind == "IBAN"
    assert "IBAN" not in {each.kind for each in personal_data("DE89370400440532013001")}


def test_ids_that_the_source_knows_are_recognised_as_whole_words() -> None:
    assert [each.kind for each in personal_data("I am worker-77, hello", ["worker-77"])] == ["participant id"]
    assert not personal_data("coworker-777", ["worker-77"])
