from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.agreement import alpha
from heartfelt.stats.agreement import sets as sets_module
from heartfelt.stats.agreement.sets import SET_DISTANCES
from tests.facts import mentions

SOURCE = (
    "NLTK 3.10.4: AnnotationTask(data, distance).alpha() with jaccard_distance and masi_distance, on the ratings below"
    " (it has no value for empty sets); Passonneau (2006) for MASI; the definition, pair by pair"
)
# Four raters, twelve items; each letter is a tag.
RATINGS = [
    "i0 r1:a r2:c r3:bc",
    "i1 r0:ab r2:ab r3:a",
    "i2 r1:bdeg r2:bcde r3:bde",
    "i3 r0:d r1:ade r2:de r3:df",
    "i4 r0:cf r1:f r2:f r3:f",
    "i5 r0:c r1:c r2:c",
    "i6 r0:ae r1:ade",
    "i7 r0:c r1:c",
    "i8 r0:abe r2:abde r3:abde",
    "i9 r0:bd r1:c r2:b r3:b",
    "i10 r0:e r1:e r3:e",
    "i11 r0:c r1:c r2:c r3:c",
]
PUBLISHED = {"jaccard": 0.6151753355620474, "masi": 0.5241251292136244}


def columns() -> tuple[list[str], list[str], list[list[str]]]:
    rows = [
        (rater, item, list(tags))
        for line in RATINGS
        for item, *given in [line.split()]
        for rater, tags in [each.split(":") for each in given]
    ]
    rater, item, value = zip(*rows, strict=True)
    return list(rater), list(item), list(value)


def distance(a: frozenset[Any], b: frozenset[Any], masi: bool) -> float:
    if a == b:
        return 0.0
    index = len(a & b) / len(a | b)
    return 1 - index * ((2 / 3 if a <= b or b <= a else 1 / 3) if masi else 1)


def by_pairs(item: list[Any], value: list[frozenset[Any]], masi: bool) -> float:
    units = [[v for i, v in zip(item, value, strict=True) if i == unit] for unit in dict.fromkeys(item)]
    units = [unit for unit in units if len(unit) > 1]
    pool = [v for unit in units for v in unit]
    observed = sum(distance(x, y, masi) / (len(unit) - 1) for unit in units for x, y in itertools.permutations(unit, 2))
    expected = sum(distance(x, y, masi) for x, y in itertools.permutations(pool, 2))
    return 1 - (len(pool) - 1) * observed / expected


def drawn(seed: int, raters: int, items: int, empty: float = 0.2) -> tuple[Any, Any, list[frozenset[int]]]:
    rng = np.random.default_rng(seed)
    rater, item, value = [], [], []
    for i in range(items):
        core = set(rng.choice(12, rng.integers(0, 4), replace=False).tolist())
        for r in range(raters):
            if rng.random() < 0.7:
                own = {t for t in core if rng.random() < 0.8} | (
                    {int(rng.integers(12))} if rng.random() < 0.4 else set()
                )
                rater.append(r)
                item.append(i)
                value.append(frozenset(own if rng.random() > empty else ()))
    return np.array(rater), np.array(item), value


@pytest.mark.parametrize("level", SET_DISTANCES)
def test_equals_nltk(level: str) -> None:
    rater, item, value = columns()
    for road in (None, "jackknife"):
        result = alpha(rater, item, value, level, interval=road)
        assert result.value == pytest.approx(PUBLISHED[level], abs=1e-12), SOURCE
        assert result.counts["items"] == 12
    assert result.low is not None
    assert result.high is not None
    assert result.low < PUBLISHED[level] < result.high
    assert {"jaccard": "Jaccard", "masi": "MASI"}[level] in result.method


@pytest.mark.parametrize("level", SET_DISTANCES)
def test_equals_the_definition_with_empty_sets(level: str) -> None:
    rater, item, value = drawn(1, 5, 40)
    assert any(not each for each in value)
    expected = by_pairs(item.tolist(), value, level == "masi")
    assert alpha(rater, item, value, level, interval=None).value == pytest.approx(expected, abs=1e-12)
    assert alpha(None, item, value, level).value == pytest.approx(expected, abs=1e-12)


def test_sets_with_one_member_are_categories() -> None:
    rng = np.random.default_rng(2)
    rater, item = np.tile(np.arange(6), 50), np.repeat(np.arange(50), 6)
    category = np.where(rng.random(300) < 0.7, item % 4, rng.integers(0, 4, 300))
    nominal = alpha(rater, item, category, "nominal")
    for level in SET_DISTANCES:
        result = alpha(rater, item, [[c] for c in category.tolist()], level)
        for name in ("value", "low", "high"):
            assert getattr(result, name) == pytest.approx(getattr(nominal, name), abs=1e-12)


def test_the_jackknife_is_by_leaving_out() -> None:
    """Without each rater and each item in turn, as the compiled deletions have it."""
    from heartfelt.stats.agreement.grouped import grouped
    from heartfelt.stats.agreement.kernels import _kernels_resampling as kernels
    from heartfelt.stats.agreement.sets import as_sets, set_distances

    rater, item, value = drawn(3, 4, 15)
    ratings = grouped(rater, item, as_sets(value), numbers=False)
    parts = set_distances(ratings, "masi", True, 0)
    by_item, by_rater, *_ = kernels.deletions(
        ratings.start, ratings.rater, parts.inside, parts.across, parts.by_rater, -1
    )
    sets = as_sets(value)
    for r in range(4):
        keep = rater != r
        expected = alpha(rater[keep], item[keep], sets[keep], "masi", interval=None)
        assert by_rater[r] == pytest.approx(float(expected), abs=1e-12)
    for place, name in enumerate(ratings.items):
        if ratings.sizes[place] > 1:
            keep = item != name
            expected = alpha(rater[keep], item[keep], sets[keep], "masi", interval=None)
            assert by_item[place] == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.slow
def test_a_sample_of_sets_stands_for_all_where_there_are_too_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    item = np.repeat(np.arange(2500), 2)
    rater = np.tile([0, 1], 2500)
    core = rng.integers(0, 300, (2500, 4))
    value = [frozenset([*core[i, :3].tolist(), int(rng.integers(300)), 999]) for i in item]
    exact = alpha(rater, item, value, "jaccard")
    monkeypatch.setattr(sets_module, "MOST_PAIRS", 1_000_000)
    sampled = alpha(rater, item, value, "jaccard")
    assert "different sets" in sampled.method
    assert "different sets" not in exact.method
    assert float(sampled) == pytest.approx(float(exact), abs=0.005)
    assert sampled == alpha(rater, item, value, "jaccard"), "the sample is drawn from a named stream"


def test_a_prior_joins_as_one_more_rater() -> None:
    rater, item, value = columns()
    prior = {name: ["c"] for name in dict.fromkeys(item)}
    joined = alpha(rater, item, value, "masi", prior=prior)
    plain = alpha([*rater, *["m"] * 12], [*item, *prior], [*value, *prior.values()], "masi", interval=None)
    assert joined.value == pytest.approx(float(plain), abs=1e-12)
    assert joined.counts["priors"] == 12


def test_missing_answers_and_bad_input() -> None:
    rater, item, value = columns()
    gaps: list[Any] = [None, *value[1:]]
    assert alpha(rater, item, gaps, "masi").counts["left_out"] == 1
    with pytest.raises(InputError, match=r"list.*set.*'tree; dog'"):
        alpha([1, 2], [1, 1], ["tree; dog", "tree"], "masi")
    with pytest.raises(InputError, match="no bootstrap interval"):
        alpha(rater, item, value, "masi", interval="bootstrap")
    same = alpha([1, 2, 1, 2], [1, 1, 2, 2], [[], [], [], []], "jaccard")
    assert mentions(same.why_missing, "ratings", "disagreement")


CODED = """
from heartfelt.stats.agreement.sets import _coded
start, members, width = _coded([frozenset({"tree", "dog", "sky"}), frozenset({"sky", "sea", 3, "3"}), frozenset()])
print(start.tolist(), members.tolist(), width)
"""


@pytest.mark.slow
def test_every_process_adds_in_the_same_order() -> None:
    # The order of a set of words differs from process to process, as the hash of a text does.
    printed = {
        subprocess.run(
            [sys.executable, "-c", CODED],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in "12345"
    }
    assert printed == {"[0, 3, 7, 7] [2, 4, 5, 0, 1, 3, 4] 6\n"}
