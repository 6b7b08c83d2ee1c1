"""Words in many scripts."""

from __future__ import annotations

import pytest

from heartfelt.stats.texts.segmentation import character_share, words
from tests.cases import check_all

SOURCE = "Unicode Standard Annex 29, revision 43, rules WB5 to WB13 and its table of word-break properties"


@check_all(
    ("text", "expected"),
    [
        ("It's a well-known CAFÉ, at 3.5!", ["it's", "a", "well", "known", "café", "at", "3", "5"]),
        ("o\u2019clock 'quoted' rock'n'roll", ["o'clock", "quoted", "rock'n'roll"]),
        ("cafe\u0301 snake_case", ["café", "snake", "case"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
        ("col·lecció", ["col·lecció"]),
        ("Stra\u00adße", ["strasse"]),
        ("안녕 세상", ["안녕", "세상"]),
        ("AI绘画很好。", ["ai", "绘", "画", "很", "好"]),
        ("コーヒーを飲む", ["コーヒー", "を", "飲", "む"]),
        ("ง่าย", ["ง่", "า", "ย"]),
        ("😀 … — !", []),
        ("", []),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_plain_text_with_and_without_an_apostrophe_is_cut_alike() -> None:
    text = "A b_c, d-e; f.g (h) 10% x^2 \t\n tab"
    assert words(text) == words(f"{text} it's")[:-1]


def test_the_share_of_characters_is_stated() -> None:
    assert character_share(["a b", "绘画"]) == 0.5
    assert character_share([""]) == character_share([]) == 0.0
    assert character_share(["コーヒー"]) == 0.0, "a run of katakana is a word"


@pytest.mark.slow
def test_a_long_text_is_cut_like_a_short_one() -> None:
    def lengths(size: int) -> list[int]:
        return [len(word) for word in words("é'" * size + " " + "वि " * size)]

    short, long = lengths(10), lengths(200_000)
    assert (len(short), len(long)) == (11, 200_001)
    assert set(short[1:]) == set(long[1:])
