from __future__ import annotations

import numpy as np
import pytest

from heartfelt.errors import InputError
from heartfelt.stats.agreement import Interval, fleiss_kappa, fleiss_kappa_counts
from tests.facts import mentions
from tests.stats.agreement.designs import columns
from tests.stats.agreement.test_gwet import FOUR_RATERS, UNEVEN, recovered_error

SOURCE_FLEISS = "Fleiss, Measuring nominal scale agreement among many raters, 1971, as reproduced in textbooks: 10 x 5"
TABLE = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
SOURCE_IRRCAC = "irrCAC 0.4.4, CAC(...).fleiss(), value and standard error"


def test_textbook_table() -> None:
    item, category = (part.ravel() for part in np.indices((10, 5)))
    result = fleiss_kappa_counts(item, category, np.array(TABLE).ravel())
    assert result.value == pytest.approx(0.2099, abs=5e-5), SOURCE_FLEISS
    assert mentions(result.interval, "jackknife", "items", "raters")
    assert result.low < 0.2099 < result.high  # type: ignore[operator] # neither is missing
    assert result.counts["ratings"] == 140


@pytest.mark.peer
def test_equals_statsmodels_for_equal_counts() -> None:
    peer = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 4, (50, 6)) * (rng.random((50, 6)) < 0.7)
    expected = peer.fleiss_kappa(peer.aggregate_raters(votes)[0])
    item, rater = (part.ravel() for part in np.indices(votes.shape))
    assert fleiss_kappa(rater, item, votes.ravel()).value == pytest.approx(expected, abs=1e-12)
    assert fleiss_kappa(None, item, votes.ravel()).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "value", "error"),
    [(FOUR_RATERS, 0.761169275422411, None), (UNEVEN, 0.258146868899234, 0.111061664067057)],
)
def test_unequal_counts(table: list[list[float]], value: float, error: float | None) -> None:
    item, rater, vote = columns(table)
    result = fleiss_kappa(rater, item, vote, resample="items")
    assert result.value == pytest.approx(value, abs=1e-12), SOURCE_IRRCAC
    if error is not None:
        assert recovered_error(result, len(table)) == pytest.approx(error, rel=1e-9), SOURCE_IRRCAC


def test_a_table_of_votes_is_the_votes() -> None:
    item, _, vote = columns(UNEVEN)
    cells, times = np.unique(np.column_stack([item, vote]), axis=0, return_counts=True)
    words = [f"category {int(c)}" for c in cells[:, 1]]
    counted = fleiss_kappa_counts(cells[:, 0], words, times)
    assert counted == fleiss_kappa(None, item, vote)
    assert fleiss_kappa_counts(cells[:, 0], words, times, interval=None).low is None


def test_a_table_of_votes_must_hold_counts() -> None:
    with pytest.raises(InputError, match="whole numbers"):
        fleiss_kappa_counts([1, 1], ["a", "b"], [1, 0.5])
    with pytest.raises(InputError, match="whole numbers"):
        fleiss_kappa_counts([1, 1], ["a", "b"], [1, -1])
    with pytest.raises(InputError, match="two counts"):
        fleiss_kappa_counts([1, 1], ["a", "a"], [1, 1])
    with pytest.raises(InputError, match="differ in length"):
        fleiss_kappa_counts([1, 1], ["a"], [1, 1])


def test_one_category_has_no_kappa() -> None:
    result = fleiss_kappa([1, 2, 1, 2], [1, 1, 2, 2], ["a"] * 4)
    assert mentions(result.why_missing, "category", "chance")


def test_there_is_no_bootstrap_here() -> None:
    with pytest.raises(InputError, match="no bootstrap interval"):
        fleiss_kappa([1, 2], [1, 1], ["a", "b"], interval=Interval(method="bootstrap"))
