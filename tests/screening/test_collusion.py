from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from heartfelt import simulate
from heartfelt.screening import RULES, RatingsView, RuleOptions
from heartfelt.screening.rules.collusion import ParallelPairs, _Comparison, equal_by_chance, parallel_pairs
from heartfelt.screening.sequences import comparable as sequences_module
from heartfelt.screening.sequences.alignment_kernels import align, path, surrogate_scores
from heartfelt.screening.sequences.comparable import Sequences, comparable_sequences
from heartfelt.simulate import DesignOptions
from heartfelt.snapshot import Snapshot
from heartfelt.stats.columns.triples import Floats
from tests.screening.planted import long, noise, planted, snapshot, study
from tests.screening.styles import Design, honest_study

SOURCE = "Smith and Waterman (1981), written out over the full matrix with no band trick"
HOW = (4, 3.0, 0.7)


def slow_alignment(a: Floats, b: Floats, how: tuple[int, float, float], weight: float) -> float:
    band, gap, rho = how
    h = np.zeros((len(a) + 1, len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if abs(j - i) > band:
                continue
            cov = np.array([[1, rho], [rho, 1]])
            pairs = np.stack([a[i - 1], b[j - 1]])
            together = -0.5 * np.einsum("iq,ij,jq->q", pairs, np.linalg.inv(cov), pairs) - 0.5 * np.log(1 - rho**2)
            ratio = float((together + 0.5 * (pairs**2).sum(axis=0)).sum())
            up = h[i - 1, j] - gap if abs(j - i + 1) <= band else -np.inf
            left = h[i, j - 1] - gap if abs(j - 1 - i) <= band else -np.inf
            h[i, j] = max(0.0, h[i - 1, j - 1] + weight * ratio, up, left)
    return float(h.max())


@pytest.mark.parametrize("seed", range(6))
def test_the_score_is_that_of_a_plain_alignment(seed: int) -> None:
    rng = noise(seed)
    a, b = rng.normal(size=(15, 2)), rng.normal(size=(13, 2))
    b[2:9] = a[3:10] + 0.3 * rng.normal(size=(7, 2))
    here, there = np.arange(15), np.arange(100, 113)
    assert align(a, b, here, there, HOW, 0.8) == pytest.approx(slow_alignment(a, b, HOW, 0.8))


def test_a_lost_trial_costs_the_gap_and_the_path_shows_it() -> None:
    a = noise(1).normal(size=(30, 2))
    b = np.delete(a, [10, 20], axis=0)
    sa, sb = np.arange(30), np.arange(100, 128)
    steps = path(a, b, sa, sb, HOW, 1.0)[::-1]
    offsets = steps[:, 1] - steps[:, 0]
    assert len(steps) == 28
    assert sorted(set(offsets.tolist())) == [-2, -1, 0]
    whole = align(a, a, sa, np.arange(100, 130), HOW, 1.0)
    assert align(a, b, sa, sb, HOW, 1.0) < whole - 2 * HOW[1]


def test_trials_of_the_same_stimulus_say_nothing() -> None:
    a = noise(2).normal(size=(30, 2))
    assert align(a, a, np.arange(30), np.arange(30), HOW, 1.0) < 0.3 * align(
        a, a, np.arange(30), np.arange(100, 130), HOW, 1.0
    )


def test_missing_answers_say_nothing() -> None:
    a = noise(3).normal(size=(20, 2))
    gone = a.copy()
    gone[:, 1] = np.nan
    sa, sb = np.arange(20), np.arange(100, 120)
    assert align(gone, gone, sa, sb, HOW, 1.0) == pytest.approx(align(a[:, :1], a[:, :1], sa, sb, HOW, 1.0))


def test_surrogates_keep_the_values_and_lose_the_copy() -> None:
    rng = noise(4)
    a = rng.normal(size=(56, 2))
    null = surrogate_scores(a, a, np.arange(56), HOW, 1.0, 5, 100, 1)
    other = surrogate_scores(a, rng.normal(size=(56, 2)), np.arange(56), HOW, 1.0, 5, 100, 1)
    copy = align(a, a, np.arange(56), np.arange(100, 156), HOW, 1.0)
    assert null.max() < 0.5 * copy
    assert null.mean() == pytest.approx(other.mean(), abs=1.5)
    assert np.array_equal(null, surrogate_scores(a, a, np.arange(56), HOW, 1.0, 5, 100, 1))
    assert not np.array_equal(null, surrogate_scores(a, a, np.arange(56), HOW, 1.0, 5, 100, 2))


def pairs_of(snap: Snapshot, seed: int = 0) -> ParallelPairs:
    result = parallel_pairs(RatingsView.of(snap), RULES["collusion"].complete(RuleOptions(seed=seed)))
    assert isinstance(result, ParallelPairs)
    return result


def joined(result: ParallelPairs) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in result.table.filter("copies").select("rater", "other").rows()}


@pytest.mark.slow
def test_independent_raters_are_seldom_joined() -> None:
    """The level is 5% of data sets; with 14 of them, 3 or fewer have a chance of 99.6%."""
    wrong = 0
    for seed in range(14):
        shares = {"random": 0.2, "ignores-stimulus": 0.2} if seed % 3 == 0 else {}
        snap, _ = planted(shares, n=40, seed=seed)
        wrong += bool(pairs_of(snap, seed).groups)
    assert wrong <= 3


@pytest.mark.slow
def test_copies_are_found_and_named() -> None:
    hits = true = wrong = 0
    for seed, design in enumerate([DesignOptions(), DesignOptions(copy_gap=0.05, copy_shift=0.2)] * 2):
        snap, raters = planted({"colluder": 0.1}, n=60, seed=seed, design=design)
        planted_pairs = {
            frozenset(pair) for pair in raters.drop_nulls("colluder_of").select("rater", "colluder_of").rows()
        }
        pairs = joined(pairs_of(snap, seed))
        hits, true, wrong = (
            hits + len(pairs & planted_pairs),
            true + len(planted_pairs),
            wrong + len(pairs - planted_pairs),
        )
    assert hits / true > 0.85
    assert wrong == 0


@pytest.mark.slow
def test_the_table_describes_a_copy() -> None:
    snap, raters = planted({"colluder": 0.05}, n=40, seed=3, design=DesignOptions(copy_gap=0.0, copy_shift=0.0))
    row = pairs_of(snap).table.filter("copies").row(0, named=True)
    assert row["trials"] == 56
    assert row["equal"] == 1.0
    assert row["correlation"] == pytest.approx(1.0)
    assert (row["first_offset"], row["last_offset"]) == (0, 0)
    flags = RULES["collusion"].apply(snap)
    names = flags.filter("flagged")
    assert names.height == 2 * raters["colluder_of"].count()
    words = names["words"][0]
    assert "in parallel" in words
    assert "cop" not in words
    assert names.group_by("group").len()["len"].to_list() == [2] * raters["colluder_of"].count()


@pytest.mark.slow
def test_three_who_share_a_sheet_are_one_group() -> None:
    snap, raters = planted(n=30, seed=4)
    names = raters["rater"].to_list()
    rng = noise(5)
    ratings = snap.ratings
    sheet = dict(
        ratings.filter(pl.col("rater") == names[0]).select(pl.concat_str("position", "question"), "value").iter_rows()
    )
    copied = ratings.filter(pl.col("rater").is_in(names[1:3]))
    new = [
        float(np.clip(sheet[f"{position}{question}"] + rng.integers(-1, 2) * (rng.random() < 0.3), 1, 9))
        for position, question in copied.select("position", "question").iter_rows()
    ]
    ratings = pl.concat([ratings.filter(~pl.col("rater").is_in(names[1:3])), copied.with_columns(value=pl.Series(new))])
    assert pairs_of(snapshot(ratings, snap.stimuli)).groups == (tuple(sorted(names[:3])),)


def same_order(snap: Snapshot, by: str) -> Snapshot:
    """Everybody meets the stimuli in blocks of one intent or system, the blocks in the same order."""
    ratings = snap.ratings.join(snap.stimuli, on="stimulus", maintain_order="left")
    place = pl.struct(pl.col(by), "position").rank("dense").over("rater").cast(pl.Int64)
    return snapshot(ratings.with_columns(position=place).drop("system", "intent", "at", "seconds"), snap.stimuli)


@pytest.mark.slow
def test_careful_raters_in_one_order_of_blocks_are_not_joined() -> None:
    for seed in range(3):
        snap = same_order(planted(n=40, seed=seed)[0], "intent")
        made = comparable_sequences(RatingsView.of(snap))
        assert isinstance(made, Sequences)
        assert made.shared_order
        assert pairs_of(snap, seed).groups == ()


@pytest.mark.slow
def test_a_random_order_is_not_taken_for_a_shared_one() -> None:
    for seed in range(8):
        made = comparable_sequences(RatingsView.of(planted(n=30, seed=seed)[0]))
        assert isinstance(made, Sequences)
        assert not made.shared_order


@pytest.mark.slow
def test_raters_who_tire_alike_are_not_joined() -> None:
    for seed in range(3):
        snap, _ = planted(n=40, seed=seed)
        tired = (pl.col("value") + 3 * (1 - pl.col("position") / 28)).round().clip(1, 9)
        assert pairs_of(snapshot(snap.ratings.with_columns(value=tired), snap.stimuli), seed).groups == ()


@pytest.mark.slow
def test_regular_patterns_are_not_copies() -> None:
    for seed in range(3):
        assert pairs_of(planted({"pattern": 0.25}, n=40, seed=seed)[0], seed).groups == ()


@pytest.mark.slow
def test_everybody_on_the_same_stimuli_in_the_same_order() -> None:
    stimuli = simulate.stimuli(("A", "B"), per_cell=2)
    made = simulate.study_ratings(stimuli, 20, design=DesignOptions(per_rater=48), seed=1)
    ratings = made.ratings.with_columns(position=pl.col("stimulus").rank("dense").cast(pl.Int64))
    snap = snapshot(ratings.drop("at", "seconds"), stimuli.select("stimulus", "system", "intent"), study())
    assert pairs_of(snap).groups == ()


@pytest.mark.slow
def test_beyond_a_thousand_raters_shared_stretches_lead_to_the_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    snap, raters = planted({"colluder": 0.05}, n=120, seed=6)
    every = pairs_of(snap)
    monkeypatch.setattr(sequences_module, "ALL_PAIRS_UP_TO", 50)
    some = pairs_of(Snapshot.build(snap.study, stimuli=snap.stimuli, ratings=snap.ratings))
    assert some.compared < 0.05 * some.pairs == 0.05 * every.pairs
    planted_pairs = {frozenset(pair) for pair in raters.drop_nulls("colluder_of").select("rater", "colluder_of").rows()}
    assert len(joined(some) & planted_pairs) >= len(planted_pairs) - 1
    assert joined(some) <= joined(every)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_table() -> None:
    snap, _ = planted({"colluder": 0.1}, n=30, seed=7)
    first = RULES["collusion"].apply(snap, RuleOptions(seed=5))
    assert first.equals(RULES["collusion"].apply(snap, RuleOptions(seed=5)))


def copies_of_one_sequence(raters: int) -> Snapshot:
    """Raters who give the same answers in the same order, each about stimuli of their own."""
    answers = noise(4).integers(1, 10, 24).tolist()
    return snapshot(long({f"r{r:02d}": {f"s{r}x{k}": a for k, a in enumerate(answers)} for r in range(raters)}))


@pytest.mark.slow
def test_twenty_pairs_a_rater_are_examined_and_the_others_counted() -> None:
    rule = RULES["collusion"]
    options = rule.complete(RuleOptions(seed=1, settings={"draws": 20}))
    few, many = (parallel_pairs(RatingsView.of(copies_of_one_sequence(n)), options) for n in (41, 43))
    assert isinstance(few, ParallelPairs)
    assert isinstance(many, ParallelPairs)
    assert (few.pairs, few.unexamined) == (41 * 20, 0)
    assert (many.pairs, many.unexamined) == (43 * 21, 43)
    assert [len(group) for group in many.groups] == [43]


def test_equal_by_chance_of_a_single_answer() -> None:
    known = np.array([[True, False]])
    assert equal_by_chance(np.array([[3.0, 1.0]]), np.array([[3.0, 2.0]]), known) == 1.0
    assert equal_by_chance(np.array([[3.0, 1.0]]), np.array([[4.0, 1.0]]), known) == 0.0
    assert equal_by_chance(np.zeros((1, 2)), np.zeros((1, 2)), ~np.ones((1, 2), dtype=bool)) == 0.0


def test_why_a_sequence_is_not_compared() -> None:
    answers = noise(5).integers(1, 10, 24).tolist()
    rows = {f"r{r}": {f"s{r}x{k}": a for k, a in enumerate(answers)} for r in range(3)}
    rows |= {"still": {f"q{k}": 5 for k in range(24)}, "short": {f"t{k}": k % 9 + 1 for k in range(11)}}
    table = RULES["collusion"].apply(snapshot(long(rows)), RuleOptions(settings={"draws": 20}))
    why = dict(table.select("rater", "why_missing").iter_rows())
    assert why == {
        "r0": None,
        "r1": None,
        "r2": None,
        "still": "the answers do not vary",
        "short": "fewer than 12 trials",
    }


@pytest.mark.parametrize(("trials", "judged"), [(13, False), (40, True)])
def test_answers_too_few_to_tell_a_copy_from_chance_are_not_judged(trials: int, judged: bool) -> None:
    """Among 24 raters an exact copy of 13 answers to one question could be chance; one of 40 could not."""
    table = RULES["collusion"].apply(honest_study(Design(24, trials, 6, 5, 1), "plain", 1))
    assert (table["why_missing"].null_count() == 24) == judged
    if not judged:
        assert table["why_missing"].drop_nulls().str.contains("exact copy").any()


def test_an_exact_copy_has_the_score_of_its_alignment() -> None:
    view = RatingsView.of(honest_study(Design(6, 20, 3), "plain", 1))
    sequences = comparable_sequences(view)
    assert isinstance(sequences, Sequences)
    comparison = _Comparison(view, sequences, 15, RULES["collusion"].complete(RuleOptions()))
    scores = comparison.exact_copies(sequences.raw)
    for rater in range(6):
        own = sequences.of(rater)
        weight = float(comparison.alignment.pair_weight(*[sequences.covariance[rater]] * 2))
        here = np.arange(len(own))
        assert scores[rater] == pytest.approx(align(own, own, here, here + 100, comparison.how, weight))


def test_parallel_answers_count_from_a_fifth_of_the_level_on() -> None:
    """Two honest raters of a noisy panel whose likeness is beyond 5% of such panels, and not beyond 1%."""
    table = pairs_of(honest_study(Design(24, 60, 24, 5, 1, 2.0), "plain", 5), 5).table
    like = table.filter((pl.col("p_adjusted") < 0.05) & (pl.col("p_residual") < 0.05) & (pl.col("elsewhere") < 0.6))
    assert like.height == 1
    assert like["p_adjusted"].item() > 0.01
    assert not like["copies"].item()
