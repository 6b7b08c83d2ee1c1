"""The quadrants of a study as they appear in figures: order, colours, short names and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heartfelt.analysis.material import find_plane
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.report.words import plain
from heartfelt.study import Study

# Warm above, cool below; neighbours differ in hue and in lightness.
SIDE_COLOURS = {(1, 1): "#e69f00", (-1, 1): "#d55e00", (-1, -1): "#0072b2", (1, -1): "#009e73"}


@dataclass(frozen=True, slots=True)
class QuadrantLook:
    """How quadrants, or other groups of intents, are shown."""

    names: tuple[str, ...]
    of_intent: Mapping[str, str]
    colours: Mapping[str, str]
    short: Mapping[str, str]
    words: Mapping[str, str]

    def colour(self, name: str | None) -> str:
        """The colour of a quadrant; grey for what lies in none."""
        return self.colours.get(name or "", SOFT)

    def abbreviated(self, name: str) -> str:
        """A quadrant in a few letters."""
        return self.short.get(name, plain(name))

    def said(self, name: str) -> str:
        """A quadrant in words."""
        return self.words.get(name, plain(name))

    def legend(self) -> list[dict[str, str]]:
        """One entry per quadrant."""
        return [
            {"label": self.said(name), "colour": self.colour(name), "shape": "circle", "group": name}
            for name in self.names
        ]


def quadrant_look(study: Study) -> QuadrantLook:
    """The quadrants of the first two axes; the groups of the intents where there are no quadrants."""
    found = find_plane(study)
    if isinstance(found, str) or not found.of_intent:
        of_intent = {intent.id: intent.group or intent.id for intent in study.intents}
        names = tuple(dict.fromkeys(of_intent.values()))
        return QuadrantLook(
            names,
            of_intent,
            {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)},
            {},
            {},
        )
    first, second = found.axes
    used = set(found.of_intent.values())
    names = tuple(name for name in found.names if name in used)
    level = {1: "high", -1: "low"}
    return QuadrantLook(
        names,
        found.of_intent,
        {name: SIDE_COLOURS[side] for name, side in found.sides.items()},
        {
            name: f"{level[x][0]}{first[0]}{level[y][0]}{second[0]}".upper()
            if first[0] != second[0]
            else plain(name)
            for name, (x, y) in found.sides.items()
        },
        {
            name: f"{level[x]} {plain(first)}, {level[y]} {plain(second)}"
            for name, (x, y) in found.sides.items()
        },
    )
