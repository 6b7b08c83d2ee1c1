"""BT.500, P.913 and P.910 against sureal, against their rules written out, and on planted truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.stats import aggregate
from heartfelt.stats.aggregate import Aggregate
from tests.facts import mentions
from tests.stats.aggregate import golden

SOURCE = "sureal 0.9.0: SubjrejMosModel, BiasremvSubjrejMosModel, SubjectMLEModelProjectionSolver; golden.py"

Triple = tuple[list[str], list[int], npt.NDArray[np.float64]]


def ratings(rows: Sequence[str]) -> Triple:
    cells = [(i, s, float(v)) for i, row in enumerate(rows) for s, v in enumerate(row) if v != "0"]
    return [f"r{s:02d}" for _, s, _ in cells], [i for i, _, _ in cells], np.array([v for _, _, v in cells])


def by_rater(found: Aggregate, column: npt.NDArray[np.float64] | npt.NDArray[np.bool_] | None) -> list[float]:
    assert column is not None
    return [float(column[r]) for r in np.argsort(np.array(found.raters))]


CASES = [
    (golden.COMPLETE, golden.SUREAL_COMPLETE, "own"),
    (golden.COMPLETE, golden.SUREAL_COMPLETE, "all"),
    (golden.SPARSE, golden.SUREAL_SPARSE, "all"),
]


@pytest.mark.parametrize(("rows", "expected", "of"), CASES)
@pytest.mark.parametrize("name", ["bt500", "p913"])
def test_screening_equals_sureal(
    name: str, rows: Sequence[str], expected: dict[str, dict[str, list[float]]], of: str
) -> None:
    want = expected[name]
    result = getattr(aggregate, name)(*ratings(rows), of=of)
    assert result.values == pytest.approx(want["quality_scores"], abs=1e-9)
    published = result.standard_errors if name == "bt500" else result.published_standard_errors
    assert published == pytest.approx(want["quality_scores_std"], abs=1e-9)
    assert by_rater(result, result.rejected) == want["observer_rejected"]
    assert by_rater(result, result.outlying) == pytest.approx(want["observer_rejected_1st_stats"], abs=1e-9)
    assert sum(want["observer_rejected"]) == 1
    if name == "p913":
        assert by_rater(result, result.bias) == pytest.approx(want["observer_bias"], abs=1e-9)


@pytest.mark.parametrize(
    ("rows", "expected"), [(golden.COMPLETE, golden.SUREAL_COMPLETE), (golden.SPARSE, golden.SUREAL_SPARSE)]
)
def test_p910_equals_sureal(rows: Sequence[str], expected: dict[str, dict[str, list[float]]]) -> None:
    want = expected["p910"]
    result = aggregate.p910(*ratings(rows))
    assert result.values == pytest.approx(want["quality_scores"], abs=1e-7)
    assert result.standard_errors == pytest.approx(want["quality_scores_std"], abs=1e-7)
    assert by_rater(result, result.bias) == pytest.approx(want["observer_bias"], abs=1e-7)
    assert by_rater(result, result.bias_standard_errors) == pytest.approx(want["observer_bias_std"], abs=1e-7)
    assert by_rater(result, result.inconsistency) == pytest.approx(want["observer_inconsistency"], abs=1e-7)
    assert result.iterations == want["num_iter"][0]
    assert result.converged
    assert result.notes == ()
    assert by_rater(result, result.bias) != [0.0] * len(result.raters)
    assert np.mean(by_rater(result, result.bias)) == pytest.approx(0.0, abs=1e-12)


def test_screening_by_its_rule_written_out() -> None:
    rater, item, value = ratings(golden.COMPLETE)
    table = np.array([[float(v) for v in row] for row in golden.COMPLETE])
    above, below = np.zeros(15), np.zeros(15)
    for row in table:
        d = row - row.mean()
        kurtosis = np.mean(d**4) / np.mean(d**2) ** 2
        limit = (2.0 if 2 <= kurtosis <= 4 else np.sqrt(20)) * row.std(ddof=1)
        above += d >= limit
        below += d <= -limit
    out = above + below
    balance = np.abs(above - below) / np.where(out > 0, out, 1)
    result = aggregate.bt500(rater, item, value, sd="sample")
    assert by_rater(result, result.outlying) == pytest.approx((out / 16).tolist())
    assert by_rater(result, result.rejected) == ((out / 16 > 0.05) & (out > 0) & (balance < 0.3)).tolist()


def test_sample_and_population_deviations_differ_where_it_matters() -> None:
    # Four 3s and a 5: the 5 lies exactly 2 population deviations out (kurtosis 3.25), inside 2 sample ones.
    rater, item, value = list("abcde"), [1] * 5, [3, 3, 3, 3, 5]
    population = aggregate.bt500(rater, item, value)
    sample = aggregate.bt500(rater, item, value, sd="sample")
    assert by_rater(population, population.outlying) == [0, 0, 0, 0, 1]
    assert by_rater(sample, sample.outlying) == [0, 0, 0, 0, 0]


def test_an_item_rated_alike_by_all_counts_against_nobody() -> None:
    rater = list("abcdef") * 3
    item = [1] * 6 + [2] * 6 + [3] * 6
    result = aggregate.bt500(rater, item, [4.0] * 6 + [2.0] * 6 + [0.1 + 0.2] * 6)
    assert result.outlying is not None
    assert not result.outlying.any()
    assert result.rejected is not None
    assert not result.rejected.any()


def test_nobody_is_rejected_where_the_rule_would_reject_everybody() -> None:
    # Each rater stands out once above and once below.
    raters, items = 5, 10
    table = np.full((items, raters), 3.0)
    for r in range(raters):
        table[2 * r, r], table[2 * r + 1, r] = 5.0, 1.0
    item, rater = np.indices(table.shape)
    result = aggregate.bt500(rater.ravel(), item.ravel(), table.ravel(), sd="population")
    assert result.rejected is not None
    assert not result.rejected.any()
    assert result.notes == ("the rule would reject every rater, so none was rejected",)


def test_an_item_left_without_raters_says_so() -> None:
    rows = [*golden.COMPLETE, "000010000000000"]
    result = aggregate.bt500(*ratings(rows))
    last = result.estimate(len(rows) - 1)
    assert last.value is None
    assert mentions(last.why_missing, "raters", "rejected")
    assert result.to_json()["items"][-1]["value"] is None


def planted(seed: int, items: int, raters: int, per_item: int) -> tuple[Triple, dict[str, npt.NDArray[np.float64]]]:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([rng.permutation(raters)[:per_item] for _ in range(items)])
    quality = rng.normal(0, 1, items)
    bias = rng.normal(0, 0.5, raters)
    bias -= bias.mean()
    spread = np.exp(rng.uniform(np.log(0.3), np.log(2.0), raters))
    value = quality[item] + bias[rater] + spread[rater] * rng.normal(size=item.size)
    truth = {"quality": quality, "bias": bias, "spread": spread}
    return ([f"r{r:03d}" for r in rater], item.tolist(), value), truth


def test_p910_recovers_planted_raters_and_beats_the_mean() -> None:
    (rater, item, value), truth = planted(3, 300, 30, 20)
    result = aggregate.p910(rater, item, value)
    assert np.corrcoef(by_rater(result, result.bias), truth["bias"])[0, 1] > 0.98
    assert np.corrcoef(by_rater(result, result.inconsistency), truth["spread"])[0, 1] > 0.98
    error = np.sqrt(np.mean((result.values - truth["quality"]) ** 2))
    plain = np.sqrt(np.mean((aggregate.mean(rater, item, value).values - truth["quality"]) ** 2))
    assert error < 0.75 * plain


def rated(
    rng: np.random.Generator, items: int, raters: int, per_item: int, kind: str
) -> tuple[Triple, npt.NDArray[np.float64]]:
    """Nine-point ratings, and the items' true values on the panel's own level."""
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([rng.permutation(raters)[:per_item] for _ in range(items)])
    quality, bias, gain, spread = (
        rng.normal(5, 1.5, items), rng.normal(0, 0.6, raters), np.ones(raters), np.ones(raters),
    )  # fmt: skip
    if kind == "unequal noise":
        spread = np.exp(rng.normal(0, 0.5, raters))
    elif kind == "unequal gain":
        gain = rng.uniform(0.6, 1.4, raters)
    value = 5 + gain[rater] * (quality[item] - 5) + bias[rater] + spread[rater] * rng.normal(size=item.size)
    used = np.unique(rater)
    truth = 5 + gain[used].mean() * (quality - 5) + bias[used].mean()
    return ([f"r{r:03d}" for r in rater], item.tolist(), np.clip(np.round(value), -1, 11)), truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "raters", "per_item"), [(60, 12, 3), (60, 12, 12), (60, 40, 4), (30, 6, 6), (60, 4, 4), (60, 3, 3)]
)
@pytest.mark.parametrize("kind", ["alike", "unequal noise", "unequal gain"])
def test_shrunken_p910_intervals_cover(items: int, raters: int, per_item: int, kind: str) -> None:
    rng = np.random.default_rng(items + raters + per_item)
    inside: list[npt.NDArray[np.bool_]] = []
    published: list[npt.NDArray[np.bool_]] = []
    for _ in range(12):
        (rater, item, value), truth = rated(rng, items, raters, per_item, kind)
        result = aggregate.p910(rater, item, value, shrinkage=True)
        low, high = result.bounds()
        inside.append((low <= truth[list(result.items)]) & (truth[list(result.items)] <= high))
        plain = aggregate.p910(rater, item, value)
        published.append(np.abs(plain.values - truth[list(plain.items)]) <= 1.96 * plain.standard_errors)
    assert 0.92 < np.mean(inside) < 0.995
    assert np.mean(published) < np.mean(inside)
    if per_item == 3 < raters:
        assert np.mean(published) < 0.6


def test_p910_refuses_intervals_that_do_not_hold() -> None:
    rater, item, value = ratings(golden.COMPLETE)
    published = aggregate.p910(rater, item, value).estimate(0)
    assert published.value is not None
    assert published.low is None
    assert "shrinkage" in str(published.why_no_interval)
    few = aggregate.p910(list("abab"), [1, 1, 2, 2], [1.0, 2, 3, 2], shrinkage=True)
    assert "3 raters or more" in str(few.estimate(1).why_no_interval)
    thin = aggregate.p910(list("abcdef"), [1, 1, 2, 2, 3, 3], [1.0, 2, 3, 2, 5, 4], shrinkage=True)
    assert thin.estimate(1).low is None
    whole = aggregate.p910(rater, item, value, shrinkage=True).estimate(0)
    assert whole.low is not None
    assert all("on this panel's own level" in e.method for e in (published, whole))


def test_shrinking_pulls_inconsistencies_together_and_keeps_their_order() -> None:
    (rater, item, value), truth = planted(4, 200, 25, 6)
    shrunken = aggregate.p910(rater, item, value, shrinkage=True)
    own = np.log(by_rater(shrunken, shrunken.inconsistency))
    assert np.corrcoef(own, np.log(truth["spread"]))[0, 1] > 0.95
    assert own.std() < np.log(truth["spread"]).std()
    assert np.sqrt(np.mean((shrunken.values - truth["quality"]) ** 2)) < np.sqrt(
        np.mean((aggregate.mean(rater, item, value).values - truth["quality"]) ** 2)
    )


def test_standard_errors_of_the_reference_code() -> None:
    """Deviation (divisor n) of an item's residuals over the root of n, by the definition written out."""
    rater, item, value = ratings(golden.COMPLETE)
    result = aggregate.p910(rater, item, value, errors="itu")
    plain = aggregate.p910(rater, item, value)
    assert result.values == pytest.approx(plain.values)
    bias = dict(zip(result.raters, np.asarray(result.bias), strict=True))
    for place, name in enumerate(result.items):
        rows = [at for at, i in enumerate(item) if i == name]
        left = np.array([value[at] - result.values[place] - bias[rater[at]] for at in rows])
        assert result.standard_errors[place] == pytest.approx(left.std() / np.sqrt(len(rows)), abs=1e-9)
    assert result.standard_errors != pytest.approx(plain.standard_errors, rel=0.01)


def test_weighted_two_way_fit_equals_least_squares() -> None:
    """Quality, errors and leverage of equal weights against ordinary least squares with dummies."""
    rng = np.random.default_rng(3)
    item = np.repeat(np.arange(15), 4)
    rater = np.concatenate([rng.permutation(6)[:4] for _ in range(15)])
    value = rng.normal(size=15)[item] + rng.normal(size=6)[rater] + rng.normal(size=60)
    result = aggregate.p910(rater, item, value, shrinkage=True)
    assert result.inconsistency is not None
    assert result.bias is not None
    weight = 1.0 / np.asarray(result.inconsistency)[rater_places(result, rater)] ** 2
    columns = np.zeros((61, 21))
    columns[np.arange(60), item] = 1.0
    columns[np.arange(60), 15 + rater] = 1.0
    columns[60, 15:] = 1.0  # biases with mean zero
    root = np.sqrt(np.append(weight, 1e8))
    solved, *_ = np.linalg.lstsq(columns * root[:, None], np.append(value, 0.0) * root, rcond=None)
    covariance = np.linalg.inv((columns * root[:, None] ** 2).T @ columns)
    assert result.values == pytest.approx(solved[list(result.items)], abs=2e-3)
    assert result.standard_errors == pytest.approx(np.sqrt(np.diag(covariance))[list(result.items)], rel=2e-3)


def rater_places(found: Aggregate, rater: npt.NDArray[np.int64]) -> list[int]:
    return [list(found.raters).index(r) for r in rater.tolist()]


def test_p910_does_not_depend_on_order_or_offset() -> None:
    rater, item, value = ratings(golden.SPARSE)
    order = np.random.default_rng(0).permutation(len(rater))
    plain = aggregate.p910(rater, item, value)
    moved = aggregate.p910([rater[i] for i in order], [item[i] for i in order], value[order] + 1000.0)
    back = {name: v - 1000.0 for name, v in zip(moved.items, moved.values, strict=True)}
    assert [back[name] for name in plain.items] == pytest.approx(plain.values.tolist(), abs=1e-6)


def test_p910_says_when_a_rater_takes_over_and_a_floor_stops_it() -> None:
    # Rater z agrees with the consensus to the last digit, so the fit closes in on z.
    (rater, item, value), truth = planted(1, 60, 10, 4)
    rater, item = [*rater, *["z"] * 60], [*item, *range(60)]
    value = np.concatenate([value, truth["quality"]])
    free = aggregate.p910(rater, item, value)
    assert any("inconsistency near zero" in note for note in free.notes)
    floored = aggregate.p910(rater, item, value, floor=0.2)
    assert not any("inconsistency near zero" in note for note in floored.notes)
    assert floored.standard_errors.min() > 0.05
    assert free.standard_errors.min() < 1e-3


def test_p910_with_single_ratings_is_the_mean_with_a_pooled_error() -> None:
    rng = np.random.default_rng(0)
    n = 10_000
    value = rng.normal(size=n)
    result = aggregate.p910(np.arange(n), np.arange(n) % 1000, value)
    assert result.values == pytest.approx(value.reshape(10, 1000).mean(axis=0))
    assert result.standard_errors == pytest.approx(np.full(1000, result.standard_errors[0]))
    assert result.inconsistency is not None
    assert np.isnan(result.inconsistency).all()
    assert any("10000 raters gave one rating" in note for note in result.notes)
    assert any("1000 unlinked parts" in note for note in result.notes)
    assert result.to_json()["raters"][0]["bias"] is None


def test_p910_takes_repeats_as_further_ratings() -> None:
    rater, item, value = ratings(golden.COMPLETE)
    twice = aggregate.p910([*rater, *rater], [*item, *item], np.concatenate([value, value]))
    once = aggregate.p910(rater, item, value)
    assert twice.values == pytest.approx(once.values, abs=1e-7)
    assert twice.standard_errors == pytest.approx(once.standard_errors / np.sqrt(2), abs=1e-7)


@pytest.mark.parametrize("name", ["bt500", "p913", "p910"])
def test_edges(name: str) -> None:
    method = getattr(aggregate, name)
    assert len(method([], [], []).items) == 0
    each = method(["a"], ["x"], [3.0])
    assert each.values == pytest.approx([3.0])
    flat = method(list("aabb"), list("xyxy"), [2.0] * 4)
    assert flat.values == pytest.approx([2.0, 2.0])
    holes = method(list("aabb"), list("xyxy"), [1.0, None, 2.0, float("inf")])
    assert holes.left_out == 2
    assert holes.values == pytest.approx([1.5])


def test_misuse_is_refused() -> None:
    with pytest.raises(InputError, match="standard deviation"):
        aggregate.bt500(["a"], ["x"], [1.0], sd="robust")  # type: ignore[arg-type]  # the error is the point
    with pytest.raises(InputError, match="share"):
        aggregate.bt500(["a"], ["x"], [1.0], of="some")  # type: ignore[arg-type]  # the error is the point
    with pytest.raises(InputError, match="tolerance"):
        aggregate.p910(["a"], ["x"], [1.0], tolerance=0.0)
