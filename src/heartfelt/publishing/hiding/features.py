"""Columns as numbers that a simple model can learn from: values, ranks, categories, words, numbers in texts, decoded texts."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
MOST_WORDS = 64
"""Words of a column that are looked at, those that divide the rows best."""
MOST_CATEGORIES = 30
MOST_NUMBERS = 3
"""Numbers of a text that are looked at, from its beginning and from its end."""
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_CODED = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")
_NUMERIC_SHARE = 0.9


def words_of(text: str) -> list[str]:
    """Words and numbers of a text, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def decoded(text: str) -> str:
    """What the parts of a text say that are base-64 or hexadecimal for readable text; empty where none is."""
    out = []
    for part in _CODED.findall(text):
        unpadded = part.rstrip("=")
        for read in (_from_base64, bytes.fromhex):
            try:
                content = read(unpadded).decode()
            except (ValueError, binascii.Error):
                continue
            if content.isprintable() and any(letter.isalnum() for letter in content):
                out.append(content)
    return " ".join(out)


def _from_base64(text: str) -> bytes:
    padded = text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
    return base64.b64decode(padded, validate=True)


def encoded(columns: Sequence[pl.Series], *, numbers_only: bool = False) -> Matrix:
    """Features of columns that belong together, standardised, with unit length per row on average; no columns where nothing varies.

    ``numbers_only`` looks only at numbers and coded words inside texts, for texts whose wording is meant to be telling.
    """
    height = columns[0].len() if columns else 0
    parts = [part for column in columns for part in _features(column, numbers_only)] if height else []
    varying = [part for part in parts if np.ptp(part) > 0]
    if not varying:
        return np.zeros((height, 0))
    matrix = np.column_stack(varying)
    matrix = (matrix - matrix.mean(axis=0)) / matrix.std(axis=0)
    return np.asarray(np.clip(matrix, -4, 4) / np.sqrt(matrix.shape[1]))


def _features(column: pl.Series, numbers_only: bool) -> list[Vector]:
    if column.dtype.is_temporal():
        column = column.to_physical()
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return _numbers(column.cast(pl.Float64)) + _categories(column)
    if column.dtype.is_nested():
        column = pl.Series([None if value is None else str(value) for value in column.to_list()], dtype=pl.String)
    texts = column.cast(pl.String, strict=False)
    as_numbers = texts.cast(pl.Float64, strict=False)
    if as_numbers.count() >= max(1, _NUMERIC_SHARE * texts.count()) and not numbers_only:
        return _numbers(as_numbers) + _categories(texts)
    values = texts.fill_null("").to_list()
    decoded_values = [decoded(text) for text in values]
    both = [f"{text} {more}" for text, more in zip(values, decoded_values, strict=True)]
    out = _positions(both) + _words(decoded_values)
    if numbers_only:
        return out
    order = texts.rank("dense").cast(pl.Float64).fill_null(0).to_numpy()
    length = texts.str.len_chars().cast(pl.Float64).fill_null(0).to_numpy()
    return [*out, order, length, *_categories(texts), *_words(values)]


def _numbers(column: pl.Series) -> list[Vector]:
    column = column.fill_nan(None)
    column = pl.select(pl.when(column.is_finite()).then(column)).to_series()
    middle = column.median()
    filled = column.fill_null(middle if isinstance(middle, float) else 0.0)
    absent = column.is_null().cast(pl.Float64)
    return [filled.to_numpy(), filled.rank().to_numpy().astype(np.float64), absent.to_numpy()]


def _categories(column: pl.Series) -> list[Vector]:
    """One feature per value that comes more than once, where there are few."""
    counts = Counter(column.to_list())
    common = [value for value, count in counts.most_common(MOST_CATEGORIES + 1) if count > 1]
    if len(counts) > max(MOST_CATEGORIES, column.len() / 2):
        return []
    values = column.to_list()
    return [np.array([float(value == category) for value in values]) for category in common]


def _words(texts: Sequence[str]) -> list[Vector]:
    """One feature per word that some texts have and some have not."""
    sets = [set(words_of(text)) for text in texts]
    counts = Counter(word for words in sets for word in words)
    half = len(texts) / 2
    dividing = [word for word, count in counts.items() if 1 < count < len(texts)]
    dividing.sort(key=lambda word: (abs(counts[word] - half), word))
    return [np.array([float(word in words) for words in sets]) for word in dividing[:MOST_WORDS]]


def _positions(texts: Sequence[str]) -> list[Vector]:
    """Numbers of texts by their place among the text's numbers, from the beginning and from the end, with their ranks."""
    numbers = [[float(word) for word in words_of(text) if word[0].isdecimal()] for text in texts]
    out: list[Vector] = []
    for index in (*range(MOST_NUMBERS), *range(-1, -MOST_NUMBERS - 1, -1)):
        needed = index + 1 if index >= 0 else -index
        column = pl.Series(
            [value_numbers[index] if len(value_numbers) >= needed else None for value_numbers in numbers],
            dtype=pl.Float64,
        )
        if column.count():
            out += _numbers(column)
    return out
