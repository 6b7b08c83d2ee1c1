"""How a fact about raters can be coarsened: the levels of every column, from as it was given to nothing at all.

Numbers become bands whose ends take in rare values, countries become regions and continents, lists of languages the first one.
Answers that few gave are left empty or united with others under the names of all of them ("man or non-binary"): at every level
what is said of a rater is true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl

from heartfelt.publishing.anonymity.generalisation.regions import are_countries, continent_of, region_of

_RECOGNISED = 0.8
_MOST_LEVELS = 10
_MAX_LISTED = 8
"""Answers that are named together; the name of more would be no answer."""
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})((?:[-_](?:[A-Za-z]{2}|[A-Za-z]{4}|\d{3}))*)")
_CODE = re.compile(r"[a-z]{2,3}(?![^\W_])")
_FIGURE = re.compile(r"\D{0,2}(\d+(?:\.\d+)?)")
_DATE = re.compile(r"(\d{4})-\d{2}(?:-\d{2})?")


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A column, coarsened in one way."""

    about: str
    """In words, after "age: "."""
    values: pl.Series


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A column and the levels it may be published at; the last is nothing at all."""

    column: str
    original: pl.Series
    """As it was given: numbers as such, of dates the year, everything else as text."""
    levels: tuple[Level, ...]


def hierarchy(column: pl.Series, k: int, *, typed_freely: bool = False, choices: Sequence[str] = ()) -> Hierarchy:
    """The levels of one column of the raters. What was ``typed_freely`` is never published as it was given.

    An answer of fewer than ``k`` raters is named together with others only if it is one of the ``choices``, which are public.
    """
    name, values = column.name, _normalised(column)
    if values.dtype.is_numeric():
        levels = list(_numbers(values, k, "as given" if column.dtype.is_numeric() else "as years"))
    else:
        levels = list(_categories(values, k, typed_freely, choices))
    levels = [level for at, level in enumerate(levels) if at == 0 or level.values.count()]
    nothing = Level("left out", pl.Series(name, [None] * len(column), pl.String))
    return Hierarchy(name, values, tuple(_distinct([*levels, nothing])))


def _normalised(column: pl.Series) -> pl.Series:
    """Numbers as such, dates as years, everything else as text without spaces around it; empty text is no answer."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.dt.year().cast(pl.Int64)
    if column.dtype == pl.Boolean:
        return column.cast(pl.String)
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None) if column.dtype.is_float() else column.cast(pl.Int64)
    text = column.cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    values = text.drop_nulls().unique().to_list()
    if values and all(_is_date(value) for value in values):
        return text.str.slice(0, 4).cast(pl.Int64)
    return text


def _is_date(value: str) -> bool:
    match = _DATE.fullmatch(value)
    return match is not None and 1800 < int(match[1]) <= date.max.year


def _distinct(levels: Sequence[Level]) -> Iterator[Level]:
    """Levels that differ from the one before, and not more than a search can take."""
    chosen: list[Level] = []
    for level in levels:
        if not chosen or not _same(chosen[-1].values, level.values):
            chosen.append(level)
    inner = chosen[:-1]
    step = max(1, -(-len(inner) // (_MOST_LEVELS - 1)))
    yield from (*inner[::step], chosen[-1])


def _same(first: pl.Series, right: pl.Series) -> bool:
    return first.cast(pl.String).equals(right.cast(pl.String), null_equal=True)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(column: pl.Series, k: int, exact: str) -> Iterator[Level]:
    yield Level(exact, column)
    values = np.unique(column.drop_nulls().to_numpy().astype(float))
    values = values[np.isfinite(values)]
    if values.size < 2:
        return
    integers = bool((values == np.floor(values)).all())
    span = float(values[-1] - values[0])
    least = 1.0 if integers else span / 100
    for width in _round_widths(least, span):
        yield Level(f"in bands of {width:g}", _bands(column, width, k, integers=integers))


def _round_widths(above: float, below: float) -> Iterator[float]:
    power = int(np.floor(np.log10(above)))
    while True:
        for first in (1, 2, 5):
            width = first * 10.0**power
            if width >= below:
                return
            if width > above:
                yield width
        power += 1


def _bands(column: pl.Series, width: float, k: int, *, integers: bool) -> pl.Series:
    """Bands of equal width; from either end, bands are joined until each end has ``k`` raters."""
    numbers = column.cast(pl.Float64).to_numpy(allow_copy=True)
    finite = np.isfinite(numbers)
    band_numbers = np.floor(numbers[finite] / width)
    bands, counts = np.unique(band_numbers, return_counts=True)
    reached = np.cumsum(counts)
    low = int(np.searchsorted(reached, k))
    high = len(bands) - 1 - int(np.searchsorted(np.cumsum(counts[::-1]), k))
    if low >= high and (low > 0 or high < 0):
        return pl.Series(column.name, [None] * len(column), pl.String)
    names = {float(band): _band_name(float(band), width, integers=integers) for band in bands}
    if low > 0:
        end = _end(float(bands[low]), width, integers=integers)
        names |= dict.fromkeys(bands[: low + 1].tolist(), f"{end} or less" if integers else f"below {end}")
    if low < high < len(bands) - 1:
        names |= dict.fromkeys(bands[high:].tolist(), f"{float(bands[high]) * width:.12g} or more")
    labels: list[str | None] = [None] * len(column)
    for at, band in zip(np.flatnonzero(finite).tolist(), band_numbers.tolist(), strict=True):
        labels[at] = names[band]
    return pl.Series(column.name, labels, pl.String)


def _end(band: float, width: float, *, integers: bool) -> str:
    return f"{(band + 1) * width - (1 if integers else 0):.12g}"


def _band_name(band: float, width: float, *, integers: bool) -> str:
    low, high = f"{band * width:.12g}", _end(band, width, integers=integers)
    return f"{low}-{high}" if band >= 0 and integers else f"{low} to {high}"


# --- categories -------------------------------------------------------------------------------------------------------


def _categories(column: pl.Series, k: int, typed_freely: bool, choices: Sequence[str]) -> Iterator[Level]:
    rows = len(column)
    if not typed_freely:
        yield Level("as given", column)
    folded = column.str.to_lowercase() if typed_freely else column
    if folded.str.contains(";", literal=True).any():
        folded = _mapped(folded, lambda value: value.split(";")[0].strip() or None)
        if not typed_freely:
            yield Level("only the first of several", folded)
    if _has_regions(folded):
        folded = _mapped(folded, lambda value: re.split("[-_]", value)[0])
        if not typed_freely:
            yield Level("languages without their region", folded)
    names_countries = are_countries(column.name) or not _are_languages(column)
    if names_countries and _recognised(folded, lambda value: region_of(value) is not None, least=_RECOGNISED):
        yield Level(f"countries, those of fewer than {k} raters left out", _without_rare(folded, k))
        folded = _mapped(folded, region_of)
        yield Level("as regions of the world", folded)
        yield Level(f"as regions of the world, those of fewer than {k} raters left out", _without_rare(folded, k))
        folded = _mapped(folded, continent_of)
        yield Level("as continents", folded)
        choices = folded.drop_nulls().unique().sort().to_list()
    for least in sorted({k, max(2 * k, rows // 50), max(4 * k, rows // 20), max(8 * k, rows // 8)}):
        yield Level(f"answers of fewer than {least} raters left out", _without_rare(folded, least))
        united = _united(folded, k, least, choices)
        if united is not None:
            yield Level(f"answers united until each is that of {least} raters", united)


def _mapped(column: pl.Series, change: Callable[[str], str | None]) -> pl.Series:
    values = {value: change(value) for value in column.drop_nulls().unique().to_list()}
    if not values:
        return column
    return column.replace_strict(values, default=None, return_dtype=pl.String)


def _recognised(column: pl.Series, knows: Callable[[str], bool], *, least: float) -> bool:
    values = column.drop_nulls().unique().to_list()
    return bool(values) and sum(map(knows, values)) > least * len(values)


def _has_regions(column: pl.Series) -> bool:
    """Whether all values are tags of languages, some of them with a region: en-GB, pt_BR, zh-Hant."""
    tags = [_LANGUAGE.fullmatch(value) for value in column.drop_nulls().unique().to_list()]
    return all(tags) and any(tag[2] for tag in tags if tag)


def _are_languages(column: pl.Series) -> bool:
    """Whether all values are codes in small letters, as those of languages: ``sv`` is Swedish, and SV is El Salvador."""
    return all(_CODE.match(value) for value in column.drop_nulls().unique().to_list())


def _counts(column: pl.Series) -> dict[str, int]:
    return dict(column.drop_nulls().value_counts().iter_rows())


def _without_rare(column: pl.Series, least: int) -> pl.Series:
    """Answers of fewer than ``least`` raters left out."""
    counts = _counts(column)
    return _mapped(column, lambda value: value if counts[value] >= least else None)


def _united(column: pl.Series, k: int, least: int, choices: Sequence[str]) -> pl.Series | None:
    """Answers united, the rarest first, until each union is the answer of ``least`` raters; None where one answer is left.

    Answers that begin with a number are united with the one before or after, others with the next rarest.
    """
    counts = {value: count for value, count in _counts(column).items() if count >= k or value in choices}
    figures = {value: _FIGURE.match(value) for value in counts}
    in_order = all(figures.values())
    order_of = {value: at for at, value in enumerate(choices)}
    ordered = sorted(counts, key=lambda value: (order_of.get(value, len(order_of)), value))
    if in_order:
        ordered.sort(key=lambda value: float(match[1]) if (match := figures[value]) else 0.0)
    unions = [[value] for value in ordered]
    sizes = [counts[value] for value in ordered]
    while len(unions) > 1 and min(sizes) < least:
        at = sizes.index(min(sizes))
        first, second = sorted((at, _partner(at, sizes, in_order=in_order)))
        unions[first] = sorted(unions[first] + unions.pop(second), key=ordered.index)
        sizes[first] += sizes.pop(second)
    if len(unions) < 2:
        return None
    names = {value: _either(union) for union in unions for value in union}
    return _mapped(column, names.get)


def _partner(at: int, sizes: Sequence[int], *, in_order: bool) -> int:
    """The rarest union that another may be united with: one next to it where they have an order."""
    neighbours = (at - 1, at + 1) if in_order else range(len(sizes))
    partners = [neighbour for neighbour in neighbours if neighbour != at and 0 <= neighbour < len(sizes)]
    return min(partners, key=lambda partner: sizes[partner])


def _either(values: Sequence[str]) -> str | None:
    """``a``, ``a or b``, ``a, b or c``."""
    if len(values) > _MAX_LISTED:
        return None
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"
