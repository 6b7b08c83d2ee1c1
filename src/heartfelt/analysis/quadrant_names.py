"""The quadrants of a plane of two axes, such as valence and arousal: which intent lies in which.

The midpoint of each scale divides its axis. A coordinate on a midline belongs to neither side. Where the study groups
its intents and the groups are the quadrants, they keep the study's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from heartfelt.study import Study

Side = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Quadrants:
    """Two questions as axes, their midpoints, and the quadrant of every intent that lies in one.

    ``sides`` gives each name's place: (1, -1) is high on the first axis and low on the second.
    """

    axes: tuple[str, str]
    midpoints: tuple[float, float]
    sides: Mapping[str, Side]
    of_intent: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """The quadrants, from high-high against the clock."""
        order = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
        return sorted(self.sides, key=lambda name: order.index(self.sides[name]))


def find_quadrants(study: Study) -> Quadrants | str:
    """The quadrants of a study's first two axes with references, or why there are none."""
    chosen: list[tuple[str, str, float]] = []
    for question in study.asked:
        scale = study.scale_of(question.id)
        if not question.axis or scale.level != "interval" or not study.reference(question.axis):
            continue
        if question.axis in [axis for _, axis, _ in chosen]:
            continue
        limits = scale.bounds()
        if limits is None:
            return f"the scale of '{question.id}' has no ends, so no midpoint to divide it at"
        chosen.append((question.id, question.axis, sum(limits) / 2))
    if len(chosen) < 2:
        return "quadrants need two questions whose axes the intents have coordinates on"
    first, second = chosen[:2]
    side_of: dict[str, Side] = {}
    for intent in study.intents:
        if first[1] not in intent.reference or second[1] not in intent.reference:
            continue
        x, y = intent.reference[first[1]] - first[2], intent.reference[second[1]] - second[2]
        if x and y:
            side_of[intent.id] = (1 if x > 0 else -1, 1 if y > 0 else -1)
    names = _names(study, side_of, (first[1], second[1]))
    return Quadrants(
        (first[0], second[0]),
        (first[2], second[2]),
        MappingProxyType({name: side for side, name in names.items()}),
        MappingProxyType({intent: names[side] for intent, side in side_of.items()}),
    )


def _names(study: Study, side_of: Mapping[str, Side], axes: tuple[str, str]) -> dict[Side, str]:
    """A name for each of the four sides: the study's group where groups and sides are the same thing."""
    plain = {
        (x, y): f"{'high' if x > 0 else 'low'} {axes[0]}, {'high' if y > 0 else 'low'} {axes[1]}"
        for x in (1, -1)
        for y in (1, -1)
    }
    groups: dict[Side, set[str]] = {}
    for intent in study.intents:
        if intent.id in side_of:
            groups.setdefault(side_of[intent.id], set()).add(intent.group or "")
    found = [next(iter(names)) for names in groups.values() if len(names) == 1]
    if len(found) != len(groups) or len(set(found)) != len(found) or "" in found:
        return plain
    return plain | {side: next(iter(names)) for side, names in groups.items()}
