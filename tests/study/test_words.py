"""Words of a free text, counted."""

from __future__ import annotations

from heartfelt.study.scales.scale import FreeText, count_words


def test_words_are_counted_in_languages_without_spaces_too() -> None:
    assert count_words("  a calm   evening sky ") == 4
    assert count_words("这张图片很安静") == 7
    assert count_words("잔잔한 저녁 하늘") == 3
    assert count_words("the 天空 above") == 4
    assert FreeText(type="text", min_words=3).read("很安静") == (None, "很安静")
