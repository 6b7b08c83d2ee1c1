"""A limit takes a sample that stands for the whole, whatever the order of the rows."""

from __future__ import annotations

from collections import Counter
from itertools import product

import polars as pl
import pytest

from heartfelt.predictors.task import balanced_sample

QUESTIONS, SYSTEMS, INTENTS = ("valence", "arousal"), ("A", "B", "C"), ("calm", "sad", "happy", "angry")


def items(each: int = 5) -> pl.DataFrame:
    """Sorted by question, as a table often is: its first rows are of one question, one system and one intent."""
    rows = [
        {"stimulus": f"{system}_{intent}_{at}", "question": question, "system": system, "intent": intent}
        for question, system, intent, at in product(QUESTIONS, SYSTEMS, INTENTS, range(each))
    ]
    return pl.DataFrame(rows)


def counts(sample: pl.DataFrame, column: str, whole: pl.DataFrame | None = None) -> dict[str, int]:
    full = items() if whole is None else whole
    return dict(Counter(sample.join(full, on=["stimulus", "question"])[column].to_list()))


@pytest.mark.parametrize("size", [2, 3, 6, 12, 24, 48, 60])
def test_it_is_balanced(size: int) -> None:
    sample = balanced_sample(items(), size)
    assert sample.height == size
    assert sample.is_unique().all()
    for column, names in (("question", QUESTIONS), ("system", SYSTEMS), ("intent", INTENTS)):
        result = counts(sample, column)
        assert max(result.values()) - min(result.get(name, 0) for name in names) <= 1, (column, result)


def test_the_order_of_the_rows_does_not_matter_and_the_seed_does() -> None:
    each = set(balanced_sample(items(), 20).rows())
    other = set(balanced_sample(items().sample(fraction=1.0, shuffle=True, seed=3), 20).rows())
    assert each == other
    assert len({frozenset(balanced_sample(items(), 20, seed).rows()) for seed in range(5)}) == 5


def test_it_keeps_the_order_of_the_rows() -> None:
    place = {row: at for at, row in enumerate(items().select("stimulus", "question").rows())}
    at = [place[row] for row in balanced_sample(items(), 30).rows()]
    assert at == sorted(at)


def test_a_larger_sample_asks_everything_about_the_same_stimuli() -> None:
    sample = balanced_sample(items(), 48)
    assert sample["stimulus"].n_unique() == 24


def test_what_is_scarce_is_taken_and_the_rest_fills_up() -> None:
    rare = pl.DataFrame({"stimulus": ["x"], "question": ["rare"], "system": ["A"], "intent": ["calm"]})
    whole = pl.concat([items(), rare])
    result = counts(balanced_sample(whole, 31), "question", whole)
    assert result == {"rare": 1, "valence": 15, "arousal": 15}


def test_gaps_and_missing_columns_are_fine() -> None:
    bare = items().select("stimulus", "question")
    assert Counter(balanced_sample(bare, 10)["question"].to_list()) == {"valence": 5, "arousal": 5}
    gaps = items().with_columns(pl.lit(None, dtype=pl.String).alias("intent"))
    assert counts(balanced_sample(gaps, 6), "system") == {"A": 2, "B": 2, "C": 2}
    assert balanced_sample(items(), 9_999).height == items().height
