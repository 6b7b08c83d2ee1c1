"""Answers as given on the page: patterns, and the same answers as another rater's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from heartfelt.screening import POLICIES, RULES, RuleOptions
from heartfelt.screening.rules.sets.given_answers import LEAST_TRIALS
from heartfelt.snapshot import Snapshot
from heartfelt.study import parse_study
from tests.screening.planted import long, planted, snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)
PAIRS = parse_study(
    "name: n\nscales: {s: {type: choice}}\nquestions: [{id: q, text: q, scale: s}]\n"
    "sets: {type: pair, rule: across-systems}\n"
)


def pairs(
    chosen: dict[str, list[int]], *, same: bool = False, timed: bool = True, begins: dict[str, int] | None = None
) -> Snapshot:
    """Which of two each rater chose, of pairs of their own or (``same``) of the same ones."""
    rows = [
        {
            "rater": rater,
            "stimulus": f"{'' if same else rater}{number}{'ab'[place]}",
            "question": "q",
            "value": float(place == choice),
            "position": number + 1,
            "trial": f"{rater}{number}",
            "place": place + 1,
            "at": START + timedelta(seconds=(begins or {}).get(rater, 0) + number) if timed else None,
        }
        for rater, choices in chosen.items()
        for number, choice in enumerate(choices)
        for place in (0, 1)
    ]
    ratings = pl.DataFrame(rows, schema_overrides={"at": pl.Datetime("us", "UTC")})
    stimuli = ratings.select("stimulus").unique(maintain_order=True)
    return Snapshot.build(PAIRS, stimuli=stimuli, ratings=ratings)


def flagged(rule: str, source: Snapshot) -> set[str]:
    return set(RULES[rule].apply(source).filter("flagged")["rater"].to_list())


def coins(raters: int, trials: int, seed: int) -> dict[str, list[int]]:
    rng = np.random.default_rng(seed)
    return {f"r{number}": rng.integers(0, 2, trials).tolist() for number in range(raters)}


@pytest.mark.slow
@pytest.mark.parametrize("cycle", [[0, 1], [0, 0, 1], [0, 1, 1, 0, 1]])
def test_a_pattern_of_choices_is_flagged(cycle: list[int]) -> None:
    chosen = coins(12, 30, 1) | {"cycle": (cycle * 30)[:30]}
    assert flagged("pattern", pairs(chosen)) == {"cycle"}
    row = RULES["pattern"].apply(pairs(chosen)).filter(pl.col("rater") == "cycle").row(0, named=True)
    assert row["value"] == 1.0
    assert f"{len(cycle)} trials before" in row["words"]
    assert POLICIES["default"].action("pattern") == "drop"


def test_one_answer_throughout_is_no_pattern_and_few_trials_are_not_judged() -> None:
    chosen = coins(6, 20, 2) | {"left": [0] * 20, "few": [0, 1] * 5}
    table = RULES["pattern"].apply(pairs(chosen))
    assert not table["flagged"].any()
    missing = table.filter(pl.col("why_missing").is_not_null())
    assert missing["rater"].to_list() == ["few"]
    assert f"fewer than {LEAST_TRIALS} trials" in missing["why_missing"][0]


@pytest.mark.slow
def test_a_zigzag_over_the_scale_is_flagged() -> None:
    snap, _ = planted(n=20, seed=2)
    zigzag = (pl.col("rater") == "rater_03", 5 + 4 * (pl.col("position") % 4 - 1.5).abs().floor())
    ratings = snap.ratings.with_columns(value=pl.when(zigzag[0]).then(zigzag[1]).otherwise("value"))
    assert flagged("pattern", snapshot(ratings, snap.stimuli)) == {"rater_03"}
    assert not flagged("pattern", snap)


@pytest.mark.slow
def test_who_follows_stimuli_in_a_regular_order_is_not_flagged() -> None:
    """Good and bad clips in turn: everybody's answers alternate, and rightly so."""
    rng = np.random.default_rng(3)
    values = {
        f"r{rater}": {f"s{number}": 8 - 6 * (number % 2) + int(rng.random() < 0.1) for number in range(24)}
        for rater in range(6)
    }
    values |= {"exact": {f"s{number}": 8 - 6 * (number % 2) for number in range(24)}}
    table = RULES["pattern"].apply(snapshot(long(values)))
    assert not table["flagged"].any()
    exact = table.filter(pl.col("rater") == "exact").row(0, named=True)
    assert "follow what was played" in exact["words"]
    assert exact["evidence"] == 0.0


@pytest.mark.slow
def test_patterns_and_equal_answers_of_independent_raters_stay_within_the_level() -> None:
    """60 studies of raters who toss coins: either rule flags anybody in at most 5% (0 to 7 of 60)."""
    hits = {"pattern": 0, "parallel-sets": 0}
    for seed in range(60):
        source = pairs(coins(20, 20, seed))
        for rule in hits:
            hits[rule] += bool(RULES[rule].apply(source, RuleOptions(seed=seed))["flagged"].any())
    assert max(hits.values()) <= 7, hits


@pytest.mark.slow
def test_the_later_of_two_raters_with_the_same_answers_is_flagged() -> None:
    chosen = coins(10, 20, 5)
    chosen |= {"copy": chosen["r4"]}
    begins = {"copy": 3600}
    later = pairs(chosen, begins=begins)
    assert flagged("parallel-sets", later) == {"copy"}
    rows = RULES["parallel-sets"].apply(later).filter(pl.col("group").is_not_null()).sort("rater")
    assert rows["rater"].to_list() == ["copy", "r4"]
    assert rows["group"].n_unique() == 1
    assert "answered first" in rows["words"][1]
    assert flagged("parallel-sets", pairs(chosen, timed=False)) == {"copy", "r4"}


@pytest.mark.slow
def test_equal_answers_to_the_same_pairs_are_agreement() -> None:
    chosen = coins(10, 20, 5)
    chosen |= {"copy": chosen["r4"]}
    assert flagged("parallel-sets", pairs(chosen, same=True)) == set()
