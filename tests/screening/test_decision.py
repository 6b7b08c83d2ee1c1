"""Whom a policy drops at and beyond its limits, and the constants of rules at their very values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import RULES, Policy, RatingsView, RuleOptions
from heartfelt.screening.decision import ScreeningDecision, decide, ledger_rows
from heartfelt.screening.policy import actions_of
from heartfelt.screening.rule import FLAGS
from heartfelt.screening.rules.collusion import ParallelPairs, _Comparison, parallel_pairs
from heartfelt.screening.rules.ratings.repetition import _answers_differ
from heartfelt.screening.sequences.comparable import Sequences, comparable_sequences
from tests.facts import mentions
from tests.screening.pinned import PANELS
from tests.screening.planted import long, snapshot


def view_of(raters: int) -> RatingsView:
    return RatingsView.of(snapshot(long({f"r{r}": {"a": 1.0, "b": 2.0} for r in range(raters)})))


def flags_of(flagged: dict[str, str]) -> pl.DataFrame:
    rows = [
        {"rater": rater, "rule": rule, "statistic": "s", "flagged": True, "error_controlled": True}
        | {"words": f"{rater} by {rule}.", "n": 2}
        for rater, rule in flagged.items()
    ]
    return pl.DataFrame(rows, schema={column.name: column.dtype for column in FLAGS.columns})


def dropped(raters: int, flagged: dict[str, str], **limits: float) -> tuple[list[str], list[str]]:
    policy = Policy(name="p", actions=actions_of(["spread", "straight-lining"]), **limits)  # type: ignore[arg-type]  # numbers of the policy
    decision = decide(view_of(raters), flags_of(flagged), policy, 0, (), ())
    return sorted(decision.raters), decision.notes


def test_the_share_dropped_may_be_at_its_limit_and_not_beyond() -> None:
    assert dropped(4, {"r0": "spread", "r1": "spread"}) == (["r0", "r1"], [])
    assert dropped(5, {"r0": "spread"}, at_most_dropped=0.2) == (["r0"], [])
    nobody, notes = dropped(4, {"r0": "spread", "r1": "spread", "r2": "spread"}, least_raters=0)
    assert nobody == []
    assert notes == [
        "The policy would drop 3 of 4 raters, more than its limit of 50%, so nobody is dropped. Check the flags,"
        " then raise at_most_dropped or name raters to exclude."
    ]


def test_as_many_raters_as_the_policy_asks_for_may_be_left_and_no_fewer() -> None:
    flagged = {"r0": "spread", "r1": "spread"}
    assert dropped(4, flagged, least_raters=2)[0] == ["r0", "r1"]
    nobody, (note,) = dropped(4, flagged, least_raters=3)
    assert nobody == []
    assert mentions(note, "2 of 4 raters", "3")


def test_straight_liners_count_neither_as_dropped_nor_as_raters() -> None:
    flagged = {"r0": "straight-lining", "r1": "straight-lining", "r2": "spread"}
    assert dropped(4, flagged, least_raters=1)[0] == ["r0", "r1", "r2"]
    lines, (note,) = dropped(6, flagged | {"r3": "spread", "r4": "spread"}, least_raters=1)
    assert lines == ["r0", "r1"]
    assert mentions(note, "3 of 4 raters", "50%")


def test_a_source_is_spared_for_its_copies_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heartfelt.screening.decision._sources", lambda *_: {"r0"})
    policy = Policy(name="p", actions=actions_of(["collusion", "spread"]))
    flags = pl.concat([flags_of({"r0": "collusion", "r1": "collusion"}), flags_of({"r0": "spread"})])
    assert decide(view_of(6), flags, policy, 0, (), ()).raters == {"r1": ["collusion"], "r0": ["spread"]}
    spared = decide(view_of(6), flags.head(2), policy, 0, (), ())
    assert (list(spared.raters), [note[:10] for note in spared.notes]) == (["r1"], ["r0 is kept"])


def test_who_is_restored_keeps_every_batch() -> None:
    flags = flags_of({"r0": "spread", "r1": "spread"}).with_columns(batch=pl.lit("b1"))
    policy = Policy(name="p", actions=actions_of(["spread"]))
    assert list(decide(view_of(4), flags, policy, 0, (), ()).batches) == [("r0", "b1"), ("r1", "b1")]
    assert list(decide(view_of(4), flags, policy, 0, (), ["r0"]).batches) == [("r1", "b1")]
    excluded = decide(view_of(4), flags, policy, 0, ["r1"], ())
    assert (list(excluded.raters), list(excluded.batches)) == (["r1"], [("r0", "b1")])


@pytest.mark.parametrize(
    ("answers", "differ"), [([5, 5, 5, 1], False), ([5, 5, 1, 1], True), ([5, 5], False), ([5], False)]
)
def test_candidates_have_settled_on_one_answer_if_three_quarters_have(answers: list[int], differ: bool) -> None:
    ratings = long({f"r{r}": {f"s{k}": a for k in range(6)} for r, a in enumerate(answers)})
    view = RatingsView.of(snapshot(ratings))
    assert _answers_differ(view, np.ones(len(answers), dtype=bool)) == differ
    assert not _answers_differ(view, np.zeros(len(answers), dtype=bool))


@pytest.mark.parametrize(("share", "joined"), [(0.599, True), (0.601, False), (0.65, False)])
def test_a_sequence_that_matches_elsewhere_by_three_fifths_is_a_pattern(
    share: float, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = RULES["collusion"]
    options = rule.complete(RuleOptions(seed=3, settings={"draws": 40}))

    def pairs() -> pl.DataFrame:
        result = parallel_pairs(RatingsView.of(PANELS["parallel"]()), options)
        assert isinstance(result, ParallelPairs)
        return result.table

    own = pl.col("rater") == "pattern1"
    score = pairs().filter(own)["score"].item()
    monkeypatch.setattr("heartfelt.screening.sequences.alignment.best_elsewhere", lambda *_: share * score)
    again = pairs().filter(own)
    assert again["elsewhere"].item() == pytest.approx(share)
    assert again["copies"].item() == joined


def test_a_dropped_batch_has_the_words_and_figures_of_its_own_flag() -> None:
    ratings = long({"r0": {"a": 1.0, "b": 2.0}, "r1": {"a": 3.0}}).with_columns(batch=pl.lit("b1"))
    ratings = ratings.with_columns(batch=pl.when(pl.col("stimulus") == "b").then(pl.lit("b2")).otherwise("batch"))
    flags = pl.concat([flags_of({"r0": "spread"}), flags_of({"r0": "spread"})]).with_columns(
        batch=pl.Series(["b1", "b2"]), words=pl.Series(["First.", "Second."]), value=pl.Series([1.0, 2.0])
    )
    decision = ScreeningDecision({}, {("r0", "b2"): ["spread"]}, [])
    (row,) = ledger_rows(flags, decision, ratings.lazy()).iter_rows(named=True)
    assert (row["rater"], row["stimulus"], row["value"]) == ("r0", "b", 2.0)
    assert row["reason"] == "Batch b2: Second."


def test_offsets_are_those_of_the_first_and_the_last_aligned_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = np.array([(9, 12), (8, 9), (7, 8), (6, 6), (5, 4)])  # from the last trial to the first
    monkeypatch.setattr("heartfelt.screening.sequences.alignment.path", lambda *_: steps)
    options = RULES["collusion"].complete(RuleOptions(seed=3, settings={"draws": 40}))
    result = parallel_pairs(RatingsView.of(PANELS["parallel"]()), options)
    assert isinstance(result, ParallelPairs)
    assert set(result.table.select("trials", "first_offset", "last_offset").iter_rows()) == {(5, -1, 3)}


def test_the_source_is_the_most_clearly_informative_of_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    clear = {"r0": 0.2, "r1": 0.9, "r2": 0.5}
    monkeypatch.setattr("heartfelt.screening.decision.clearly_informative", lambda *_: clear)
    flags = flags_of(dict.fromkeys(["r0", "r1", "r2", "r3"], "collusion")).with_columns(group=pl.lit(1))
    policy = Policy(name="p", actions=actions_of(["collusion"]), at_most_dropped=1.0, least_raters=0)
    assert sorted(decide(view_of(6), flags, policy, 0, (), ()).raters) == ["r0", "r2", "r3"]


@pytest.mark.parametrize(("share", "residual", "joined"), [(0.5, 0.04, True), (1.0, 0.04, False), (0.5, 0.05, False)])
def test_a_pair_at_the_level_of_either_test_is_not_joined(
    share: float, residual: float, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``share`` is the pair's corrected p-value as a part of the level."""
    options = RULES["collusion"].complete(RuleOptions(seed=3, settings={"draws": 40}))
    view = RatingsView.of(PANELS["parallel"]())
    sequences = comparable_sequences(view)
    assert isinstance(sequences, Sequences)
    assert not sequences.shared_order
    comparison = _Comparison(view, sequences, 1, options)
    tails = iter([share * comparison.level, residual])
    monkeypatch.setattr("heartfelt.screening.rules.collusion._tail", lambda *_: next(tails))
    monkeypatch.setattr("heartfelt.screening.sequences.alignment.best_elsewhere", lambda *_: 0.0)
    assert comparison.examine(0, 1)["copies"] == joined
