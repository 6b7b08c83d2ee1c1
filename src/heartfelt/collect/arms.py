"""The units of every arm: those of its stimuli or sets that ask one of its questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from heartfelt.collect.assign.model import AssignmentUnits
from heartfelt.formats.arms import arm_stimuli
from heartfelt.formats.manifest import OpenStudy
from heartfelt.study.arms import questions_in

if TYPE_CHECKING:
    from heartfelt.collect.material import Unit


def arm_layouts(
    opened: OpenStudy, layout: AssignmentUnits, units: Mapping[int, Unit]
) -> dict[str, AssignmentUnits]:
    """The part of a layout that each arm shows; empty for a study without arms."""
    return {
        arm: _part(
            layout,
            {
                number
                for number in layout.counted
                if units[number].stimulus in shown
                and questions_in(opened.study, arm, units[number].questions)
            },
        )
        for arm, shown in arm_stimuli(opened).items()
    }


def _part(layout: AssignmentUnits, shown: Collection[int]) -> AssignmentUnits:
    """The layout of the units that an arm shows; blocks are numbered from 0, as a Latin square needs them."""
    units = [unit for unit in layout.units if unit in shown]
    block = {unit: layout.block[unit] for unit in units} if layout.block else {}
    numbers = {code: number for number, code in enumerate(sorted(set(block.values())))}
    return replace(
        layout,
        units=sorted(units),
        common=[unit for unit in layout.common if unit in shown],
        cell={unit: layout.cell[unit] for unit in units} if layout.cell else {},
        block={unit: numbers[code] for unit, code in block.items()},
    )
