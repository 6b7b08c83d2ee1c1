"""Arms: who is assigned to which, and what an arm shows.

A rater gets an arm before the instructions, after everything that could screen them out: the arm with the fewest people,
relative to its weight, who are complete or at work in the rater's stratum; among equals the one with the fewest in all
strata; among equals at random. Only arms that still want ratings are chosen. Somebody who leaves, is excluded or stays
away no longer counts, so the next rater takes their place; one who comes back keeps their arm.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

from heartfelt.collect.assign.demand import Demand
from heartfelt.collect.assign.model import Rater
from heartfelt.collect.session.progress.endings import FINISHED
from heartfelt.collect.session.progress.transaction import Transaction
from heartfelt.errors import InputError, suggestion
from heartfelt.study import Study
from heartfelt.study.consistency.arms import find_arm, questions_in
from heartfelt.study.model import AnchorProbe, AttentionProbe, Probe, Text
from heartfelt.study.scales.answer import Coded

AWAY_SECONDS = 1800.0
"""A rater who did nothing for so long no longer counts towards the cap, nor in their arm."""


def at_work(work: Transaction, rater: Rater) -> bool:
    """Whether a rater has begun and was there a moment ago."""
    return rater.engaged and _is_there(work, rater)


def _is_there(work: Transaction, rater: Rater) -> bool:
    """Whether a rater was there a moment ago; one who only opened the link is soon given up, as a lease is."""
    lease = work.state.layout.lease
    patience = max(AWAY_SECONDS, lease) if rater.engaged else lease
    return rater.ended is None and work.now - rater.last < patience


def _wanting(arms: Mapping[str, Demand]) -> list[str]:
    """The arms that want ratings now, else those that will when a lease expires, else all."""
    open_arms = [name for name, demand in arms.items() if demand.open]
    return open_arms or [name for name, demand in arms.items() if demand.unfilled] or list(arms)


def _fills_arm(work: Transaction, rater: Rater) -> bool:
    """Whether a rater counts in their arm: complete, between two sessions, or at work."""
    return rater.counts and (rater.ended in {*FINISHED, "later"} or _is_there(work, rater))


def assign_arm(work: Transaction, rater: Rater) -> None:
    """Assign the rater to an arm, once; nothing changes in a study without arms."""
    arms = work.state.arms
    if not arms or rater.arm in arms:
        return
    in_all: Counter[str] = Counter()
    in_stratum: Counter[str] = Counter()
    own_stratum = _stratum(work.study, rater)
    for member in work.state.raters.values():
        if member.arm in arms and _fills_arm(work, member):
            in_all[member.arm] += 1
            in_stratum[member.arm] += _stratum(work.study, member) == own_stratum
    wanting = _wanting(arms)
    weights = {arm.id: arm.weight for arm in work.study.design.arms if arm.id in wanting}
    _record(work, rater, least_filled(weights, in_stratum, in_all, work.context.rng))


def least_filled(
    weights: Mapping[str, float], in_stratum: Mapping[str, int], in_all: Mapping[str, int], rng: Random
) -> str:
    """The arm that is furthest behind its share in the stratum, then in all strata; at random among equals."""
    arms: Collection[str] = weights
    for counts in (in_stratum, in_all):
        # Half a person more: the arm whose share would be overshot least.
        loads = {name: (counts.get(name, 0) + 0.5) / weights[name] for name in arms}
        least = min(loads.values())
        arms = [name for name, load in loads.items() if math.isclose(load, least, rel_tol=1e-9)]
    return rng.choice(list(arms))


def prefer_arm(work: Transaction, rater: Rater, name: str) -> None:
    """Assign the rater to the arm that a preview asked for."""
    if name not in work.state.arms:
        problem = f"The study has no arm '{name[:80]}'."
        raise InputError(problem, suggestion(name, work.state.arms, "Arms"))
    _record(work, rater, name)


def _record(work: Transaction, rater: Rater, name: str) -> None:
    for trial in list(rater.queue):
        work.record("returned", rater.number, trial.id, words="gone")
    work.record("assigned", rater.number, words=name)
    work.insert_about(rater, "arms", arm=name)


def _stratum(study: Study, rater: Rater) -> tuple[Coded | None, ...]:
    """The rater's answers to the questions of ``strata``."""
    facts = rater.facts
    return tuple(facts.get(("about", name), facts.get(("before", name))) for name in study.design.strata)


# --- what an arm shows ------------------------------------------------------------------------------------------------


def arm_instructions(study: Study, rater: Rater) -> Text | None:
    """The instructions of the rater's arm; None if they are the study's."""
    arm = find_arm(study, rater.arm)
    return None if arm is None else arm.instructions


def arm_units(work: Transaction, rater: Rater, units: Sequence[int]) -> Sequence[int]:
    """Those of the units, set aside for practice or anchors, that ask something in the rater's arm."""
    if not work.state.arms:
        return units
    all_units = work.material.units
    return [unit for unit in units if questions_in(work.study, rater.arm, all_units[unit].questions)]


def arm_probes(study: Study, rater: Rater) -> Sequence[Probe]:
    """The study's probes, without those whose question the rater's arm does not ask."""
    arm = find_arm(study, rater.arm)
    if arm is None:
        return study.probes
    return [
        probe
        for probe in study.probes
        if not isinstance(probe, AnchorProbe | AttentionProbe) or arm.asks(probe.question)
    ]
