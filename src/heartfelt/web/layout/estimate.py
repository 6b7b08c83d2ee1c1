"""Which words under a scale would not fit on a small phone, from the lengths of the texts: a guess, without a browser.

Words wrap, so that only a single word can be too long for its room. A letter is taken to be half as wide as the type is
high, and a sign of Chinese, Japanese or Korean as wide as it is high.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from heartfelt.study.model import Text, say
from heartfelt.study.scales.scale import Numeric, Points
from heartfelt.study.scales.set_scale import Grade
from heartfelt.web.layout.problem import LayoutProblem
from heartfelt.web.rater.forms import MOST_BUTTONS

if TYPE_CHECKING:
    from heartfelt.study import Scale, Study

WIDTH = 320
_TYPE = 13.5
"""Pixels the letters under a scale are high on a phone."""
_SCALE_WIDTH = 268.0
"""Pixels a scale has on a screen of 320."""
_BANDS_WIDTH = 155.0
_LINES = 2
"""Lines one word may take."""


def estimated_problems(study: Study) -> list[LayoutProblem]:
    """Words under the scales that a phone would have to break more than once."""
    used = {question.scale for time in ("before", "questions", "after") for question in study.asked_in(time)}
    return [
        LayoutProblem(
            page=f"scale '{name}'",
            language=language,
            width=WIDTH,
            text=text,
            problem="seems to have a word too long for its room",
        )
        for name, scale in study.scales.items()
        if name in used
        for language in study.languages
        for text, room in _rooms(scale, language)
        if _widest_word(text) > _LINES * room
    ]


def _rooms(scale: Scale, language: str) -> Iterator[tuple[str, float]]:
    """Every text under a scale, with the pixels it has."""
    if isinstance(scale, Grade):
        lines = 2 if len(scale.bands) < 7 else 3
        for band in scale.bands:
            yield say(band, language), lines * _BANDS_WIDTH / len(scale.bands)
    elif isinstance(scale, Points) and scale.points <= MOST_BUTTONS:
        # With a text for every point, they are listed one below the other where they do not fit.
        if len(scale.anchors) < scale.points:
            positions = [(point - scale.first + 0.5) / scale.points for point in sorted(scale.anchors)]
            yield from _shared(positions, [scale.anchors[point] for point in sorted(scale.anchors)], language)
    elif isinstance(scale, Points | Numeric) and scale.anchors:
        low, high = (scale.first, scale.last) if isinstance(scale, Points) else (scale.low, scale.high)
        if low is not None and high is not None:
            yield from _slider_rooms(low, high, scale.anchors, language)


def _slider_rooms(
    low: float, high: float, anchors: Mapping[int, Text] | Mapping[float, Text], language: str
) -> Iterator[tuple[str, float]]:
    texts: dict[float, Text] = {float(low): "", float(high): "", **{float(at): text for at, text in anchors.items()}}
    positions = [(at - low) / (high - low) for at in sorted(texts)]
    return _shared(positions, [texts[at] for at in sorted(texts)], language)


def _shared(positions: Sequence[float], texts: Sequence[Text], language: str) -> Iterator[tuple[str, float]]:
    """As ``spans`` in anchors.js, where words at an end have all their room on one side of it."""
    ends = (0, len(positions) - 1)
    for number, (position, text) in enumerate(zip(positions, texts, strict=True)):
        before = position - positions[number - 1] if number else position
        after = positions[number + 1] - position if number + 1 < len(positions) else 1 - position
        share = (before + after) / 2 if number in ends else min(before, after)
        yield say(text, language), share * _SCALE_WIDTH


def _widest_word(text: str) -> float:
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    if wide > len(text) / 2:
        return _TYPE
    return max((len(word) for word in re.split(r"[\s/–-]+", text)), default=0) * _TYPE / 2
