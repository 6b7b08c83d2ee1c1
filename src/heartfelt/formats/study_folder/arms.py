"""Which stimuli or sets of a study folder each arm shows."""

from __future__ import annotations

from collections.abc import Mapping

from heartfelt.errors import require, suggestion
from heartfelt.formats.study_folder.manifest import OpenStudy
from heartfelt.media.probe import PROBED
from heartfelt.study.parts.design import Arm
from heartfelt.tables import need_columns


def arm_stimuli(opened: OpenStudy) -> dict[str, frozenset[str]]:
    """By arm, the stimuli (or sets, in a study with sets) that its raters may get; an arm without any is refused."""
    study = opened.study
    if not study.design.arms:
        return {}
    columns = [name for name in opened.stimuli.columns if name not in PROBED]
    rows = {row["stimulus"]: row for row in opened.stimuli.select(columns).iter_rows(named=True)}
    out: dict[str, frozenset[str]] = {}
    for arm in study.design.arms:
        where = f"study.yaml, design.arms, {arm.id}"
        need_columns(columns, list(arm.stimuli), f"{where}: the manifest")
        shown = _sets(opened, arm, rows, where) if opened.sets is not None else _stimuli(opened, arm, rows)
        out[arm.id] = shown - study.set_aside.keys()
        require(
            bool(out[arm.id]),
            f"{where}: no stimulus or set of the study fits, so its raters would have nothing to rate.",
            "Change its 'stimuli', 'sets' or 'questions'.",
        )
    return out


def _stimuli(opened: OpenStudy, arm: Arm, rows: Mapping[str, Mapping[str, object]]) -> frozenset[str]:
    stimulus_questions = opened.items.select("stimulus", "question").iter_rows()
    return frozenset(name for name, question in stimulus_questions if arm.asks(question) and arm.shows(rows[name]))


def _sets(opened: OpenStudy, arm: Arm, rows: Mapping[str, Mapping[str, object]], where: str) -> frozenset[str]:
    """The sets an arm shows: those it names, whose members all fit. References and anchors are no part of the choice."""
    sets = {} if opened.sets is None else {stimulus_set.id: stimulus_set.members for stimulus_set in opened.sets.sets}
    for name in arm.sets:
        require(name in sets, f"{where}: there is no set '{name}'.", suggestion(name, sets, "Sets"))
    return frozenset(
        name
        for name, members in sets.items()
        if (not arm.sets or name in arm.sets)
        and all(arm.shows(rows[stimulus]) for stimulus, role in members if role == "member")
    )
