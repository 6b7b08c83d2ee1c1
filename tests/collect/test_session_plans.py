"""The plan of a session: where probes and repeats may come."""

from __future__ import annotations

from random import Random

from heartfelt.collect.assign.model import ORDINARY, ReservedTrial, SessionPlan, probes_each_session, session_plan
from heartfelt.study.model import AnchorProbe, AttentionProbe, RepeatProbe
from tests.collect.journal import Journal, layout


def test_a_repeat_needs_a_gap_and_a_source() -> None:
    probe = RepeatProbe(type="repeat", id="r", per_session=1, gap=4)
    assert [slot[0] for slot in session_plan(2, [probe], Random(1))] == ["rating"] * 2
    for seed in range(30):
        slots = session_plan(3, [probe], Random(seed))
        assert [slot[0] for slot in slots].count("repeat") == 1
        for place, (kind, _, source) in enumerate(slots):
            assert kind == "rating" or place - source >= 2
    three = RepeatProbe(type="repeat", id="r", per_session=3, gap=1)
    sources = [slot[2] for slot in session_plan(9, [three], Random(3)) if slot[0] == "repeat"]
    assert len(set(sources)) == 3


def test_two_kinds_of_repeats_never_repeat_the_same_trial() -> None:
    probes = [RepeatProbe(type="repeat", id=name, per_session=1, gap=1) for name in ("a", "b")]
    for seed in range(20):
        slots = session_plan(3, probes, Random(seed))
        sources = [source for kind, _, source in slots if kind == "repeat"]
        assert len(sources) == len(set(sources)) == 2


def test_no_probe_opens_a_session() -> None:
    probe = AttentionProbe(type="attention", id="t", text="t", question="q", answer=1, per_session=2)
    plans = [session_plan(2, [probe], Random(seed)) for seed in range(60)]
    assert {slots[0][0] for slots in plans} == {"rating"}
    assert {slots[-1][0] for slots in plans} == {"rating", "attention"}
    assert [slot[0] for slot in session_plan(0, [probe], Random(1))] == ["attention", "attention"]


def test_a_plan_gives_its_probes_at_their_places_and_ordinary_slots_elsewhere() -> None:
    probe = ("anchor", "known", -1)
    plan = SessionPlan(3, [(1, probe)])
    heads = []
    while plan:
        heads.append(plan.head)
        plan.advance()
    assert heads == [ORDINARY, probe, ORDINARY]
    plan = SessionPlan(2, [(0, probe)])
    plan.repeat_ordinary()
    assert (len(plan), plan.head) == (3, ORDINARY), "what was given back comes before the probe"
    plan.advance()
    assert (len(plan), plan.head) == (2, probe)


def test_a_repeat_may_be_the_last_trial() -> None:
    """Of three trials with one between a presentation and its repeat, the first or the second can come again."""
    probe = RepeatProbe(type="repeat", id="again", per_session=1, gap=1)
    plans = [session_plan(3, [probe], Random(seed)) for seed in range(40)]
    assert {slot[2] for plan in plans for slot in plan if slot[0] == "repeat"} == {0, 1}
    assert all(plan[0] == ORDINARY and len(plan) == 4 for plan in plans)


def test_probes_are_counted_by_how_often_they_come() -> None:
    repeat = RepeatProbe(type="repeat", id="again", per_session=2)
    anchor = AnchorProbe(type="anchor", id="known", stimuli=["a"], question="q", per_session=3, at_least=1)
    assert probes_each_session([repeat, anchor]) == 5
    assert probes_each_session([]) == 0


def test_an_ordinary_trial_is_no_repeat() -> None:
    journal = Journal(layout())
    journal.arrive(1)
    trial = journal.state.trials[journal.lease(1, 1)]
    assert (trial.kind, trial.repeat, trial.session, trial.position, trial.shown) == ("rating", 0, 1, 0, False)
    assert ReservedTrial(id=1, rater=1, unit=1).session == 0
