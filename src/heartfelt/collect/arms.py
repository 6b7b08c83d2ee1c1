"""The units of every arm: those of its stimuli or sets that ask one of its questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from heartfelt.collect.assign.model import Layout
from heartfelt.errors import require
from heartfelt.study import Study
from heartfelt.study.arms import Arm
from heartfelt.tables import need_columns

if TYPE_CHECKING:
    from heartfelt.collect.material import Unit

Rows = Mapping[str, Mapping[str, object]]
"""Rows of the manifest by stimulus."""


def arm_layouts(study: Study, layout: Layout, units: Mapping[int, Unit], rows: Rows) -> dict[str, Layout]:
    """The part of a layout that each arm shows; an arm that would show nothing is refused."""
    columns = set(next(iter(rows.values()), ()))
    out: dict[str, Layout] = {}
    for arm in study.design.arms:
        where = f"study.yaml, design.arms, {arm.id}"
        need_columns(columns, list(arm.stimuli), f"{where}: the manifest")
        for name in arm.sets:
            require(
                any(unit.stimulus == name for unit in units.values()),
                f"{where}: there is no set '{name}'.",
                "Name sets of the study; 'heartfelt check' counts them.",
            )
        shown = [number for number in layout.units if _shows(arm, units[number], rows)]
        require(
            bool(shown) or not layout.units,
            f"{where}: no stimulus or set of the study fits, so its raters would have nothing to rate.",
            "Change its 'stimuli', 'sets' or 'questions'.",
        )
        out[arm.id] = _part(layout, shown)
    return out


def _shows(arm: Arm, unit: Unit, rows: Rows) -> bool:
    if not any(arm.asks(question) for question in unit.questions):
        return False
    if arm.sets and unit.stimulus not in arm.sets:
        return False
    judged = [member.stimulus for member in unit.members if member.role == "member"]
    return all(arm.shows(rows[stimulus]) for stimulus in judged or unit.stimuli)


def _part(layout: Layout, units: Collection[int]) -> Layout:
    """The layout of some of its units; blocks are numbered from 0, as a Latin square needs them."""
    block = {unit: layout.block[unit] for unit in units} if layout.block else {}
    numbers = {code: number for number, code in enumerate(sorted(set(block.values())))}
    return replace(
        layout,
        units=sorted(units),
        cell={unit: layout.cell[unit] for unit in units} if layout.cell else {},
        block={unit: numbers[code] for unit, code in block.items()},
    )
