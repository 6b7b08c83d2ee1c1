"""How the quadrants of a study look in figures: their order, colours, short names and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heartfelt.analysis.material import find_plane
from heartfelt.report.charts import Key
from heartfelt.report.palette import SOFT, colour
from heartfelt.study import Study
from heartfelt.wording import spaced

# Warm above, cool below; neighbours differ in hue and in lightness.
SIDE_COLOURS = {(1, 1): "#e69f00", (-1, 1): "#d55e00", (-1, -1): "#0072b2", (1, -1): "#009e73"}


@dataclass(frozen=True, slots=True)
class QuadrantLook:
    """How quadrants, or other groups of intents, are shown: in which order, and with which colours and names."""

    ids: tuple[str, ...]
    of_intent: Mapping[str, str]
    colours: Mapping[str, str]
    short_names: Mapping[str, str]
    names: Mapping[str, str]

    def colour(self, group: str | None) -> str:
        """The colour of a quadrant; grey for what lies in none."""
        return self.colours.get(group or "", SOFT)

    def short(self, group: str) -> str:
        """A quadrant in a few letters."""
        return self.short_names.get(group, spaced(group))

    def name(self, group: str) -> str:
        """A quadrant in words."""
        return self.names.get(group, spaced(group))

    def legend(self) -> list[Key]:
        """One entry per quadrant."""
        return [Key(self.name(group), self.colour(group), "circle", group) for group in self.ids]


def quadrant_look(study: Study) -> QuadrantLook:
    """The quadrants of the first two axes; the groups of the intents where there are no quadrants."""
    quadrants = find_plane(study)
    if isinstance(quadrants, str) or not quadrants.of_intent:
        of_intent = {intent.id: intent.group or intent.id for intent in study.intents}
        groups = tuple(dict.fromkeys(of_intent.values()))
        return QuadrantLook(
            groups, of_intent, {name: colour(place) for place, name in enumerate(groups)}, {}, {}
        )
    first, second = quadrants.axes
    used = set(quadrants.of_intent.values())
    end = {1: "high", -1: "low"}
    short = {
        name: f"{end[x][0]}{first[0]}{end[y][0]}{second[0]}".upper()
        for name, (x, y) in quadrants.sides.items()
        if first[0] != second[0]
    }
    return QuadrantLook(
        tuple(name for name in quadrants.names if name in used),
        quadrants.of_intent,
        {name: SIDE_COLOURS[side] for name, side in quadrants.sides.items()},
        short,
        {
            name: f"{end[x]} {spaced(first)}, {end[y]} {spaced(second)}"
            for name, (x, y) in quadrants.sides.items()
        },
    )
