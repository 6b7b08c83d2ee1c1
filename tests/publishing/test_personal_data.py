"""Personal data in texts: how much is recognised and taken out, and how much is taken for it wrongly."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from heartfelt.publishing.anonymity.recognise.personal_data import (
    folded,
    is_telling,
    is_too_short,
    merged,
    personal_data,
    redacted,
    whole_word,
)
from heartfelt.publishing.anonymity.recognise.rule import Finding
from tests.cases import check_all
from tests.publishing.complaints import MISSED
from tests.publishing.measuring import comments, measure
from tests.publishing.personal_texts import HARMLESS, PERSONAL


def kinds(text: str, *regions: str) -> list[str]:
    return [each.kind for each in personal_data(text, regions=regions)]


def test_texts_that_were_once_written_for_the_patterns() -> None:
    assert not [text for kind, text in PERSONAL if kind not in kinds(text)]
    assert not [text for text in HARMLESS if kinds(text)]


@check_all(("kind", "text", "secret"), MISSED)
def test_what_was_missed_or_left_half_is_taken_out_whole(kind: str, text: str, secret: str) -> None:
    clean = redacted(text, personal_data(text))
    assert f"[{kind}]" in clean
    assert secret not in clean
    assert not personal_data(clean), "nothing is left to recognise"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["development", "held_out"])
def test_recall_and_false_alarms_on_comments_that_the_patterns_were_not_written_from(name: str) -> None:
    result = measure(comments(name))
    assert result.asked.total() >= 150
    assert result.harmless >= 300
    assert result.recall >= 0.95, result.missed
    assert result.complete >= 0.93, result.left_over
    assert result.false_alarm <= 0.01, result.false_alarms
    for language in ("en", "de", "zh", "ko"):
        asked = sum(count for (_, own), count in result.asked.items() if own == language)
        found = sum(count for (_, own), count in result.held_back.items() if own == language)
        assert found / asked >= 0.9, language


@pytest.mark.data
def test_real_prompts_and_themes_are_not_taken_for_personal_data(shared_data: Path) -> None:
    sources = {"agiqa/data.csv": "prompt", "avt_ai_images/prompts.csv": "prompts", "oasis/norms.csv": "theme"}
    texts: set[str] = set()
    for path, column in sources.items():
        with (shared_data / path).open(encoding="utf-8") as file:
            texts |= {row[column] for row in csv.DictReader(file)}
    wrong = [text for text in texts if personal_data(text)]
    assert len(texts) > 700
    assert len(wrong) <= len(texts) * 0.01, wrong


@check_all(("kind", "text"), PERSONAL)
def test_redacting_leaves_nothing_to_recognise(kind: str, text: str) -> None:
    clean = redacted(text, personal_data(text))
    assert f"[{kind}]" in clean
    assert not personal_data(clean), clean


def test_ids_that_the_source_knows_are_recognised_as_whole_words_in_any_disguise() -> None:
    def found(text: str) -> list[str]:
        return [text[each.start : each.stop] for each in personal_data(text, ["worker-77"])]

    assert found("I am worker-77, hello") == ["worker-77"]
    assert found("I am WORKER-77, hello") == ["WORKER-77"]
    assert found("我是worker-77。") == ["worker-77"]
    assert found("ｗｏｒｋｅｒ－７７") == ["ｗｏｒｋｅｒ－７７"]
    assert found("work\u200ber-77 x") == ["work\u200ber-77"]
    assert not found("coworker-777")
    assert not found("worker-77b")
    assert [each.kind for each in personal_data("worker-77", ["worker-77"])] == ["participant id"]


def test_findings_that_overlap_are_one_and_parts_of_an_address_too() -> None:
    text = "Weg 1, 50667 Köln und mehr"
    parts = [Finding("postal address", 0, 5), Finding("postal address", 7, 17)]
    assert merged(text, parts) == [Finding("postal address", 0, 17)]
    assert merged(text, reversed(parts)) == [Finding("postal address", 0, 17)]
    apart = [Finding("postal address", 0, 5), Finding("postal address", 18, 21)]
    assert merged(text, apart) == apart
    assert merged(text, [Finding("name", 0, 5), Finding("name", 7, 17)]) == [
        Finding("name", 0, 5),
        Finding("name", 7, 17),
    ]
    assert merged(text, [Finding("e-mail", 4, 9), Finding("handle", 0, 5)]) == [Finding("e-mail", 0, 9)]
    assert merged(text, [Finding("e-mail", 4, 9), Finding("handle", 9, 12)]) == [
        Finding("e-mail", 4, 9),
        Finding("handle", 9, 12),
    ]
    several = [Finding("name", 0, 3), Finding("name", 6, 9), Finding("e-mail", 2, 7)]
    assert merged(text, several) == [Finding("name", 0, 9)]


def test_a_private_text_is_compared_without_capitals_and_within_words_where_there_are_no_spaces() -> None:
    assert whole_word("robert").search("So sang ROBERT_1")
    assert not whole_word("robert").search("Roberta")
    assert not whole_word("robert").search("xRobert")
    assert whole_word("müller").search("MÜLLER!")
    assert whole_word("王小明").search("我叫王小明吗")
    assert whole_word("abc王").search("abc王小")
    assert whole_word("王小明").search("x王小明abc")
    assert not whole_word("王abc").search("王abcd")
    assert whole_word("robert").search("我叫robert吗")
    assert folded("ＲＯＢＥＲＴ\u200b Ü") == "robert ü"


def test_an_id_is_telling_if_it_cannot_be_there_by_chance() -> None:
    assert [is_telling(name) for name in ("abcd1", "abc1", "abcdefgh", "abcdefg", "12345678", "1234567")] == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]
    assert [is_too_short(text) for text in ("Anna", "Annas", "王小", "王小明", "a小明", "김민")] == [
        True,
        False,
        True,
        False,
        True,
        True,
    ]


def test_an_address_may_have_no_figure_and_no_letter_of_its_country() -> None:
    assert [each.kind for each in personal_data("我住在北京市朝阳区")] == ["postal address"]
    assert [each.kind for each in personal_data("〒123-4567")] == ["postal address"]


def test_what_stands_apart_is_apart_in_whatever_order_it_was_found() -> None:
    text = "I am Robert Miller, call 0170 1234567 or a.b@example.org"
    assert [each.kind for each in personal_data(text)] == ["name", "phone number", "e-mail"]
    one, other, between = Finding("name", 5, 9), Finding("phone number", 9, 12), Finding("e-mail", 8, 10)
    assert merged("x" * 12, [other, one]) == [one, other], "next to each other is not one"
    assert merged("x" * 12, [other, one, between]) == [Finding("phone number", 5, 12)]
