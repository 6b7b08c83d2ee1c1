"""Very common given and family names, and names of artists and works that are in comments without being anybody's own.

Written from general knowledge; no list covers everybody, which docs/publishing.md says with figures.
"""

from __future__ import annotations

import tomllib
from importlib import resources

from heartfelt.publishing.anonymity.recognise.rule import word_set

_TEXTS = tomllib.loads(
    resources.files("heartfelt.publishing.anonymity.recognise").joinpath("common_names.toml").read_text("utf-8")
)
GIVEN_NAMES = word_set(_TEXTS["given_names"])
WORDS_TOO = word_set(_TEXTS["words_too"])
"""Given names that are also words or months: somebody's only before a family name that is common."""
AMBIGUOUS = WORDS_TOO | word_set(_TEXTS["ambiguous"])
"""Given names that are also places, works or artists besides: alone they are nobody's, with a family name they are."""
FAMILY = word_set(_TEXTS["family"])
PUBLIC = word_set(_TEXTS["public"], between=", ")
"""Artists and figures that people compare with: such a name says nothing about who wrote the comment."""
WORKS = word_set(_TEXTS["works"], between=", ")
"""Titles, bands and things with a given name in them."""
CHINESE_FAMILY = _TEXTS["chinese_family"]
CHINESE_GIVEN = _TEXTS["chinese_given"]
NOT_CHINESE_NAMES = word_set(_TEXTS["not_chinese_names"])
KOREAN_FAMILY = _TEXTS["korean_family"]
KOREAN_GIVEN = _TEXTS["korean_given"]
NOT_KOREAN_NAMES = word_set(_TEXTS["not_korean_names"])
JAPANESE_FAMILY = _TEXTS["japanese_family"]
