from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import InputError
from heartfelt.serialization import dumps
from heartfelt.stats.agreement import exact_agreement, leave_one_out, prior_against_majority
from tests.facts import mentions

SOURCE = "hand calculation"

VOTES = {
    "clip 1": ["yes", "yes", "yes"],
    "clip 2": ["yes", "yes", "no"],
    "clip 3": ["no", "no", "yes", "yes"],
    "clip 4": ["no", "no"],
    "clip 5": ["no"],
}


def rows(votes: dict[str, list[str]]) -> tuple[list[str], list[str], list[str]]:
    flat = [(f"rater {r}", item, vote) for item, cast in votes.items() for r, vote in enumerate(cast)]
    rater, item, value = zip(*flat, strict=True)
    return list(rater), list(item), list(value)


def majority(cast: list[Any]) -> Any:
    """The single most frequent vote, or None."""
    top = Counter(cast).most_common(2)
    return None if not top or (len(top) > 1 and top[0][1] == top[1][1]) else top[0][0]


def test_exact_agreement_by_hand() -> None:
    result = exact_agreement(*rows(VOTES))
    assert result.unanimous.value == pytest.approx(2 / 4), SOURCE
    assert result.pairwise.value == pytest.approx((1 + 1 / 3 + 1 / 3 + 1) / 4), SOURCE
    assert result.unanimous.counts["items"] == 4
    assert result.unanimous.counts["unused"] == 1
    dumps(result)


def test_leave_one_out_by_hand() -> None:
    result = leave_one_out(*rows(VOTES))
    # Clip 1: three right. Clip 2: both "yes" face yes/no, a tie; "no" faces two "yes" and is wrong.
    # Clip 3: each faces one of its own kind and two of the other, and is wrong.
    assert result.accuracy.value == pytest.approx(3 / 8), SOURCE
    assert result.ties == 2
    assert result.accuracy.counts["compared"] == 8
    assert result.accuracy.counts["unused"] == 3
    # Truth "yes": clip 1 (3 of 3), clip 2 (0 of 1), clip 3 (0 of 2); truth "no": clip 3 (0 of 2).
    assert result.balanced_accuracy.value == pytest.approx((3 / 6 + 0 / 2) / 2), SOURCE
    dumps(result)


def test_prior_against_majority_by_hand() -> None:
    prior = {"clip 1": "yes", "clip 2": "no", "clip 3": "yes", "clip 4": "no", "clip 5": "maybe", "clip 6": "no"}
    result = prior_against_majority(*rows(VOTES), prior)
    assert result.accuracy.value == pytest.approx(2 / 4), SOURCE
    assert result.balanced_accuracy.value == pytest.approx((1 / 2 + 1 / 2) / 2), SOURCE
    assert result.ties == 1
    assert result.accuracy.counts["prior_unused"] == 1
    assert result.accuracy.counts["compared"] == 4
    with pytest.raises(InputError, match="no prior"):
        prior_against_majority(*rows(VOTES), None)  # type: ignore[arg-type] # the mistake under test
    nothing = prior_against_majority(*rows(VOTES), {})
    assert mentions(nothing.accuracy.why_missing, "item", "majority")
    unknown = prior_against_majority(None, *rows(VOTES)[1:], prior)
    assert unknown.accuracy.value == result.accuracy.value
    assert "raters unknown" in unknown.accuracy.interval


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=6))
def test_equal_a_plain_count(cast: list[list[int]]) -> None:
    item = [i for i, votes in enumerate(cast) for _ in votes]
    value = [v for votes in cast for v in votes]
    judged = [
        (majority(votes[:k] + votes[k + 1 :]), votes[k]) for votes in cast if len(votes) > 2 for k in range(len(votes))
    ]
    result = leave_one_out(None, item, value)
    compared = [(truth, vote) for truth, vote in judged if truth is not None]
    assert result.ties == len(judged) - len(compared)
    if compared:
        assert result.accuracy.value == pytest.approx(np.mean([truth == vote for truth, vote in compared]))
        recalls = [
            np.mean([vote == kind for truth, vote in compared if truth == kind])
            for kind in {truth for truth, _ in compared}
        ]
        assert result.balanced_accuracy.value == pytest.approx(np.mean(recalls))
    else:
        assert result.accuracy.why_missing
    prior = {i: i % 4 for i in range(len(cast))}
    pairs = [(majority(votes), i % 4) for i, votes in enumerate(cast) if majority(votes) is not None]
    against = prior_against_majority(None, item, value, prior)
    assert against.accuracy.value == (pytest.approx(np.mean([a == b for a, b in pairs])) if pairs else None)
    several = [votes for votes in cast if len(votes) > 1]
    exact = exact_agreement(None, item, value)
    assert exact.unanimous.value == (pytest.approx(np.mean([len(set(v)) == 1 for v in several])) if several else None)


def test_a_share_of_exactly_one_has_wilson_bounds() -> None:
    item = np.repeat(np.arange(20), 3)
    result = leave_one_out(np.tile(np.arange(3), 20), item, item % 2)
    assert result.accuracy.interval == "Wilson over items"
    # SOURCE: Wilson, 1927, for 20 of 20: 20 / (20 + 1.96**2).
    assert result.accuracy.low == pytest.approx(20 / (20 + 1.959964**2), abs=1e-6)
    assert result.accuracy.high == 1


def test_three_raters_leave_nothing_when_one_goes() -> None:
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(30), 3)
    result = leave_one_out(np.tile(np.arange(3), 30), item, rng.integers(0, 2, 90))
    assert mentions(result.accuracy.interval, "jackknife", "items", "raters")
